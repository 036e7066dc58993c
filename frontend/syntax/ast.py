"""The surface syntax tree, without modules (:mod:`runelift.frontend.syntax.module_ast`).

Nodes follow Futhark's grammar, carry their source span and compare by identity.  The parser
leaves ``Exp.type`` and ``Pattern.type`` as None; the type checker fills them in (see
:mod:`runelift.frontend.syntax.types`), and the elaborator reads them.  Types, patterns and
expressions are one grammar, as they may contain each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.frontend.syntax.nodes import Node
from runelift.frontend.syntax.types import Type
from runelift.ir.base.errors import Diagnostic
from runelift.ir.base.source import Source, Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size


@dataclass(frozen=True, slots=True)
class QualName:
    """``f32.sum`` is ``QualName(("f32",), "sum")``; operators are names too (``"+"``)."""

    quals: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.quals, self.name))


# Type expressions


@dataclass(slots=True, eq=False)
class TypeName(Node):
    """``t``, ``M.t``, or ``t [n] a`` applied to arguments."""

    name: QualName
    args: tuple[TypeExp | SizeArg, ...] = ()


@dataclass(slots=True, eq=False)
class SizeArg(Node):
    """``[e]`` or ``[]`` as an argument of a type name."""

    size: Exp | None


@dataclass(slots=True, eq=False)
class TypeArray(Node):
    """``[e]t``, or ``[]t`` if ``size`` is None."""

    size: Exp | None
    elem: TypeExp


@dataclass(slots=True, eq=False)
class TypeTuple(Node):
    """``(t, u)``; the unit type is an empty tuple."""

    items: tuple[TypeExp, ...]


@dataclass(slots=True, eq=False)
class TypeRecord(Node):
    """``{x: t, y: u}``."""

    fields: tuple[tuple[str, TypeExp], ...]


@dataclass(slots=True, eq=False)
class TypeSum(Node):
    """``#a t u | #b``."""

    constructors: tuple[tuple[str, tuple[TypeExp, ...]], ...]


@dataclass(slots=True, eq=False)
class TypeArrow(Node):
    """``t -> u`` or ``(x: t) -> u``."""

    param: str | None
    domain: TypeExp
    codomain: TypeExp


@dataclass(slots=True, eq=False)
class TypeUnique(Node):
    """``*t``: consumed when a parameter, fresh when a result."""

    type_: TypeExp


@dataclass(slots=True, eq=False)
class TypeExists(Node):
    """``?[n].t``."""

    sizes: tuple[str, ...]
    type_: TypeExp


TypeExp: TypeAlias = (
    TypeName | TypeArray | TypeTuple | TypeRecord | TypeSum | TypeArrow | TypeUnique | TypeExists
)


@dataclass(slots=True, eq=False)
class SizeParam(Node):
    """``[n]`` among the parameters of a function or the binders of a let.

    ``size`` is the name that the type checker gives it in types.  ``known`` is the size that it
    finds for the binder of a let.
    """

    name: str
    size: VName | None = field(default=None, kw_only=True)
    known: Size | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class TypeParam(Node):
    """``'a``, ``'~a`` (unlifted but of any size) or ``'^a`` (may be a function)."""

    name: str
    kind: str = ""


# Patterns


@dataclass(slots=True, eq=False)
class Pattern(Node):
    """Base of the patterns; ``type`` is filled in by the type checker."""

    type: Type | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class PatName(Pattern):
    """``x``.  ``size`` is the name that its value has in types, if it is an i64."""

    name: str
    size: VName | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class PatWild(Pattern):
    """``_``."""


@dataclass(slots=True, eq=False)
class PatTuple(Pattern):
    """``(p, q)``; ``()`` is an empty one."""

    items: tuple[Pattern, ...]


@dataclass(slots=True, eq=False)
class PatRecord(Pattern):
    """``{x = p, y}``; a pun is a field with a :class:`PatName` of the same name."""

    fields: tuple[tuple[str, Pattern], ...]


@dataclass(slots=True, eq=False)
class PatConstr(Pattern):
    """``#a p q``."""

    name: str
    items: tuple[Pattern, ...]


@dataclass(slots=True, eq=False)
class PatLiteral(Pattern):
    """A number, boolean or character."""

    literal: Literal


@dataclass(slots=True, eq=False)
class PatAscript(Pattern):
    """``p: t``."""

    pattern: Pattern
    type_exp: TypeExp


# Expressions


@dataclass(slots=True, eq=False)
class Exp(Node):
    """Base of the expressions; the type checker fills in ``type``, and ``as_size`` if a size that
    nothing else names stands for the value.
    """

    type: Type | None = field(default=None, kw_only=True)
    as_size: VName | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class Literal(Exp):
    """A number or boolean; ``prim`` is its suffix, or None if the use decides.

    ``value`` is an int for a literal written without point or exponent (it may still become a
    float), a float or a bool otherwise.
    """

    value: int | float | bool
    prim: Prim | None


@dataclass(slots=True, eq=False)
class Hole(Exp):
    """``???``, in place of an expression of any type: a program that comes to it fails.

    It is ``written`` in the source, or stands where a program never comes to.
    """

    written: bool = True


@dataclass(slots=True, eq=False)
class StringLit(Exp):
    """``"text"``: an array of u8, UTF-8.  ``'c'`` is a :class:`Literal`."""

    value: bytes


@dataclass(slots=True, eq=False)
class Name(Exp):
    """A variable, function or operator: ``x``, ``f32.sum``, ``(+)``.

    ``sizes`` and ``types`` are the implicit arguments of a function: the type checker says what
    its size parameters and type parameters stand for here.
    """

    name: QualName
    sizes: dict[VName, Size] = field(default_factory=dict, kw_only=True)
    types: dict[VName, Type] = field(default_factory=dict, kw_only=True)


@dataclass(slots=True, eq=False)
class TupleExp(Exp):
    """``(e, f)``; ``()`` is an empty one."""

    items: tuple[Exp, ...]


@dataclass(slots=True, eq=False)
class RecordExp(Exp):
    """``{x = e, y = f}``; the pun ``{x}`` is parsed as ``{x = x}``."""

    fields: tuple[tuple[str, Exp], ...]


@dataclass(slots=True, eq=False)
class ArrayExp(Exp):
    """``[e, f]``."""

    items: tuple[Exp, ...]


@dataclass(slots=True, eq=False)
class Range(Exp):
    """``first..second<last``: ``kind`` is ``"..."`` (to), ``"..<"`` (below), ``"..>"`` (above)."""

    first: Exp
    second: Exp | None
    kind: str
    last: Exp


@dataclass(slots=True, eq=False)
class Project(Exp):
    """``e.x``; tuples have fields ``0``, ``1``, ..."""

    record: Exp
    field_name: str


@dataclass(slots=True, eq=False)
class SliceExp(Node):
    """``i:j:s`` in an index; every part may be missing."""

    start: Exp | None
    stop: Exp | None
    step: Exp | None


IndexDim: TypeAlias = "Exp | SliceExp"


@dataclass(slots=True, eq=False)
class IndexExp(Exp):
    """``a[i, j:k]``; inner dimensions without an index stay whole."""

    array: Exp
    dims: tuple[IndexDim, ...]


@dataclass(slots=True, eq=False)
class UpdateExp(Exp):
    """``a with [i, j] = e``: consumes ``a``."""

    array: Exp
    dims: tuple[IndexDim, ...]
    value: Exp


@dataclass(slots=True, eq=False)
class RecordUpdate(Exp):
    """``r with x.y = e``."""

    record: Exp
    path: tuple[str, ...]
    value: Exp


@dataclass(slots=True, eq=False)
class Apply(Exp):
    """``f x y``: a function applied to one or more arguments, perhaps partially."""

    fun: Exp
    args: tuple[Exp, ...]


@dataclass(slots=True, eq=False)
class BinExp(Exp):
    """``e ⊕ f``.  ``op`` may be qualified or a backticked name; ``&&`` and ``||`` are lazy.

    ``|>`` and ``<|`` and the compositions ``>->`` and ``<-<`` are operators too.  ``operator`` is
    the name as the type checker has found it, unless it is arithmetic.
    """

    op: QualName
    left: Exp
    right: Exp
    op_span: Span
    op_type: Type | None = field(default=None, kw_only=True)
    operator: Name | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class Negate(Exp):
    """``-e``."""

    arg: Exp


@dataclass(slots=True, eq=False)
class Not(Exp):
    """``!e``, on booleans and integers."""

    arg: Exp


@dataclass(slots=True, eq=False)
class LambdaExp(Exp):
    """``\\p q : t -> e``."""

    params: tuple[Pattern, ...]
    ret: TypeExp | None
    body: Exp


@dataclass(slots=True, eq=False)
class OpSection(Exp):
    """``(⊕)``, ``(e ⊕)`` or ``(⊕ e)``: at most one of ``left`` and ``right`` is there.

    ``operator`` is as in :class:`BinExp`.
    """

    op: QualName
    left: Exp | None = None
    right: Exp | None = None
    op_type: Type | None = field(default=None, kw_only=True)
    operator: Name | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class ProjectSection(Exp):
    """``(.x.y)``."""

    path: tuple[str, ...]


@dataclass(slots=True, eq=False)
class IndexSection(Exp):
    """``(.[i, j])``."""

    dims: tuple[IndexDim, ...]


@dataclass(slots=True, eq=False)
class IfExp(Exp):
    """``if c then e else f``."""

    cond: Exp
    then_: Exp
    else_: Exp


@dataclass(slots=True, eq=False)
class Constr(Exp):
    """``#a e f``: a value of a sum type."""

    name: str
    args: tuple[Exp, ...] = ()


@dataclass(slots=True, eq=False)
class LocalOpen(Exp):
    """``M.(e)``: the names of ``M`` are in scope in ``e``.

    Evaluated away with the modules; ``module`` is a path of names, parsed as an expression.
    """

    module: Exp
    body: Exp


@dataclass(slots=True, eq=False)
class Case(Node):
    """``case p -> e``."""

    pattern: Pattern
    body: Exp


@dataclass(slots=True, eq=False)
class MatchExp(Exp):
    """``match e case p -> f ...``: the first case whose pattern fits."""

    value: Exp
    cases: tuple[Case, ...]


@dataclass(slots=True, eq=False)
class LetPat(Exp):
    """``let [n] p = e in f``."""

    sizes: tuple[SizeParam, ...]
    pattern: Pattern
    value: Exp
    body: Exp


@dataclass(slots=True, eq=False)
class LetFun(Exp):
    """``let f [n] 'a p q : t = e in rest``."""

    name: str
    type_params: tuple[SizeParam | TypeParam, ...]
    params: tuple[Pattern, ...]
    ret: TypeExp | None
    value: Exp
    body: Exp


@dataclass(slots=True, eq=False)
class LetWith(Exp):
    """``let a[i] = e in f``: a new ``a`` for ``f``; consumes the old one."""

    name: str
    name_span: Span
    dims: tuple[IndexDim, ...]
    value: Exp
    body: Exp


@dataclass(slots=True, eq=False)
class ForForm(Node):
    """``for x < bound``; the type of ``x`` is that of the bound."""

    pattern: PatName
    bound: Exp


@dataclass(slots=True, eq=False)
class ForInForm(Node):
    """``for p in e``."""

    pattern: Pattern
    array: Exp


@dataclass(slots=True, eq=False)
class WhileForm(Node):
    """``while e``."""

    cond: Exp


@dataclass(slots=True, eq=False)
class LoopExp(Exp):
    """``loop p = e for ... do body``; without ``= e`` the pattern's names are the values."""

    pattern: Pattern
    init: Exp | None
    form: ForForm | ForInForm | WhileForm
    body: Exp


@dataclass(slots=True, eq=False)
class Ascript(Exp):
    """``e: t``: a static claim."""

    value: Exp
    type_exp: TypeExp


@dataclass(slots=True, eq=False)
class Coerce(Exp):
    """``e :> t``: sizes are checked at run time."""

    value: Exp
    type_exp: TypeExp


@dataclass(slots=True, eq=False)
class AssertExp(Exp):
    """``assert c e``."""

    cond: Exp
    value: Exp


@dataclass(slots=True, eq=False)
class AttrExp(Exp):
    """``#[attr] e``; the attribute is kept as written, without blanks."""

    attr: str
    value: Exp


# Declarations


@dataclass(slots=True, eq=False)
class ValDec(Node):
    """``def``, ``let`` or ``entry``: a function, or a constant if it has no parameters.

    ``specified``: it has the type that a module type asks for its member of this name.
    ``only_checks``: nothing uses it.  ``sealed``: its type may hide that of its body.
    ``instance``: it is of a parametric module that was checked for any argument.  ``recursive``:
    it names itself, other than in calls that are loops.
    """

    name: str
    name_span: Span
    entry: bool
    type_params: tuple[SizeParam | TypeParam, ...]
    params: tuple[Pattern, ...]
    ret: TypeExp | None
    body: Exp
    attrs: tuple[str, ...] = ()
    specified: str = field(default="", kw_only=True)
    only_checks: bool = field(default=False, kw_only=True)
    sealed: bool = field(default=False, kw_only=True)
    instance: bool = field(default=False, kw_only=True)
    recursive: bool = field(default=False, kw_only=True)
    type: Type | None = field(default=None, kw_only=True)


@dataclass(slots=True, eq=False)
class TypeDec(Node):
    """``type t [n] 'a = u``; ``kind`` is the ``~`` or ``^`` after ``type``.

    ``hidden``: a module type hides its definition.
    """

    name: str
    type_params: tuple[SizeParam | TypeParam, ...]
    definition: TypeExp
    kind: str = ""
    hidden: bool = field(default=False, kw_only=True)


CoreDec: TypeAlias = ValDec | TypeDec
"""A declaration after the modules have been evaluated away."""


@dataclass(slots=True, eq=False)
class Flat(Node):
    """A program without modules (:mod:`runelift.frontend.modules.modules`), and the files it
    imports.

    ``only`` is the entry point that is wanted, if not all are.  ``errors`` are the errors found so
    far, ``broken`` the names of the declarations that have them.
    """

    decs: tuple[CoreDec, ...]
    imports: tuple[Source, ...] = ()
    only: str = ""
    errors: tuple[Diagnostic, ...] = ()
    broken: frozenset[str] = frozenset()

    @property
    def entry_points(self) -> tuple[ValDec, ...]:
        """The declarations marked as entry points, and the one called ``main``."""
        return tuple(dec for dec in self.decs if isinstance(dec, ValDec)
                     and (dec.name == self.only if self.only else dec.entry or dec.name == "main"))


def held(exp: TypeExp) -> Iterator[TypeExp]:
    """``exp``, and the types of the parts that its values hold: of components, fields, elements."""
    yield exp
    match exp:
        case TypeTuple(_, items):
            parts: tuple[TypeExp, ...] = items
        case TypeRecord(_, fields):
            parts = tuple(part for _, part in fields)
        case TypeSum(_, constructors):
            parts = tuple(part for _, payload in constructors for part in payload)
        case TypeArray(_, _, part) | TypeUnique(_, part) | TypeExists(_, _, part):
            parts = (part,)
        case _:
            parts = ()
    for part in parts:
        yield from held(part)
