"""The syntax tree of the module language, which holds that of declarations.

The parser makes it and :mod:`runelift.frontend.modules.modules` evaluates it away; the result is
a
:class:`~runelift.frontend.syntax.ast.Flat` program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runelift.frontend.syntax.ast import QualName, SizeParam, TypeDec, TypeExp, TypeParam, ValDec
from runelift.frontend.syntax.nodes import Node
from runelift.ir.base.errors import Diagnostic


@dataclass(slots=True, eq=False)
class ModName(Node):
    """``M``, ``M.N``."""

    name: QualName


@dataclass(slots=True, eq=False)
class ModBody(Node):
    """``{ decs }``."""

    decs: tuple[Dec, ...]


@dataclass(slots=True, eq=False)
class ModApply(Node):
    """``F M``: a parametric module applied to a module."""

    fun: ModExp
    arg: ModExp


@dataclass(slots=True, eq=False)
class ModAscript(Node):
    """``M : S``: only what ``S`` lists can be seen."""

    mod: ModExp
    sig: SigExp


@dataclass(slots=True, eq=False)
class ModLambda(Node):
    """``\\(P: S) -> M``."""

    param: str
    sig: SigExp
    body: ModExp


@dataclass(slots=True, eq=False)
class ModImport(Node):
    """``import "path"``: the module that a file is."""

    path: str


ModExp: TypeAlias = ModName | ModBody | ModApply | ModAscript | ModLambda | ModImport


@dataclass(slots=True, eq=False)
class SigName(Node):
    """``S``, ``M.S``."""

    name: QualName


@dataclass(slots=True, eq=False)
class SigBody(Node):
    """``{ specs }``."""

    specs: tuple[Spec, ...]


@dataclass(slots=True, eq=False)
class SigWith(Node):
    """``S with t 'a = u``."""

    sig: SigExp
    name: QualName
    type_params: tuple[SizeParam | TypeParam, ...]
    definition: TypeExp


@dataclass(slots=True, eq=False)
class SigArrow(Node):
    """``(P: S) -> T``."""

    param: str | None
    domain: SigExp
    codomain: SigExp


SigExp: TypeAlias = SigName | SigBody | SigWith | SigArrow


@dataclass(slots=True, eq=False)
class ValSpec(Node):
    """``val f 'a : t``."""

    name: str
    type_params: tuple[SizeParam | TypeParam, ...]
    type_exp: TypeExp


@dataclass(slots=True, eq=False)
class TypeSpec(Node):
    """``type t 'a``, abstract, or ``type t = u``."""

    name: str
    type_params: tuple[SizeParam | TypeParam, ...]
    definition: TypeExp | None
    kind: str = ""


@dataclass(slots=True, eq=False)
class ModSpec(Node):
    """``module M : S``."""

    name: str
    sig: SigExp


@dataclass(slots=True, eq=False)
class IncludeSpec(Node):
    """``include S``."""

    sig: SigExp


Spec: TypeAlias = ValSpec | TypeSpec | ModSpec | IncludeSpec


@dataclass(slots=True, eq=False)
class ModDec(Node):
    """``module M = ...``; parameters and ascription are part of ``mod``."""

    name: str
    mod: ModExp


@dataclass(slots=True, eq=False)
class SigDec(Node):
    """``module type S = ...``."""

    name: str
    sig: SigExp


@dataclass(slots=True, eq=False)
class OpenDec(Node):
    """``open M``, or ``import "path"`` on its own."""

    mod: ModExp


@dataclass(slots=True, eq=False)
class LocalDec(Node):
    """``local dec``: not seen from outside."""

    dec: Dec


@dataclass(slots=True, eq=False)
class BrokenDec(Node):
    """A declaration that cannot be parsed, or whose text means nothing."""


Dec: TypeAlias = ValDec | TypeDec | ModDec | SigDec | OpenDec | LocalDec | BrokenDec


@dataclass(slots=True, eq=False)
class Module(Node):
    """A source file.

    ``errors`` are the errors of the parser.  If it is ``in_doubt``, they leave open what the other
    declarations are, so that these cannot be checked.
    """

    decs: tuple[Dec, ...]
    errors: tuple[Diagnostic, ...] = ()
    in_doubt: bool = False
