"""What all of inference shares: names in scope, what is solved, and how errors are said."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.frontend import ast
from runelift.frontend.check.aliases import Origin
from runelift.frontend.check.types import (
    Abbreviation,
    Scheme,
    prelude_scheme,
)
from runelift.frontend.check.unify import (
    FunctionalType,
    SizeMismatch,
    Substitution,
    TypeMismatch,
    params_in,
    products_in,
    replace_names,
)
from runelift.frontend.prelude import FUNCTIONS, UNSUPPORTED
from runelift.frontend.types import (
    MetaVar,
    Sum,
    Type,
    show,
)
from runelift.ir.errors import Code, Diagnostic, Label, ProgramError
from runelift.ir.names import Names, VName
from runelift.ir.prim import FLOATS, INTS
from runelift.ir.sizes import Size
from runelift.ir.source import Span

SizeMaker: TypeAlias = Callable[[], Size]
"""Makes the size of an array type that does not name one."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name in scope stands for.  ``size`` is its value as a size, if it is an i64.

    ``local``: a pattern has bound it, so its type may have parts that are still to be found;
    ``top``: it is a declaration, which the whole program knows under its name.
    """

    scheme: Scheme
    size: Size | None = None
    span: Span | None = None
    local: bool = False
    top: bool = False


@dataclass(slots=True)
class Scope:
    """The names in scope, innermost last."""

    values: dict[str, Binding] = field(default_factory=dict)
    sizes: dict[str, Size] = field(default_factory=dict)
    types: dict[str, VName] = field(default_factory=dict)

    def copy(self) -> Scope:
        """A scope that can be extended without changing this one."""
        return Scope(dict(self.values), dict(self.sizes), dict(self.types))


_WHOLE = {"a value": "Expression", "the declared result": "Function body",
          "the next value of the loop": "Loop body"}
"""What an expression of a wrong type is called."""


class Base(ABC):
    """The state of checking one module."""

    def __init__(self) -> None:
        self.names = Names()
        self.solved = Substitution(self.names)
        self.scope = Scope()
        self.abbreviations: dict[str, Abbreviation] = {}
        self.errors: list[Diagnostic] = []
        self.broken: set[str] = set()
        self.declared = ""
        """The top-level name whose declaration is being checked."""
        self._typed: list[ast.Exp | ast.Pattern | ast.ValDec] = []
        self._binders: list[ast.SizeParam] = []
        self._operators: list[ast.BinExp | ast.OpSection] = []
        self._negated: set[int] = set()
        self._constants: dict[str, Origin] = {}

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        """A scope whose names are forgotten at its end."""
        outer, self.scope = self.scope, self.scope.copy()
        try:
            yield
        finally:
            self.scope = outer

    def _error(self, code: Code, span: Span, message: str, *hints: str,
               labels: tuple[Label, ...] = ()) -> ProgramError:
        return ProgramError(Diagnostic(code, span, message, labels, hints))

    def expect(self, expected: Type, found: Type, span: Span, what: str,
               call: str = "") -> None:
        """Unify, or say which type was expected (as ``what``) and which was found.

        ``call`` says of which function this is an argument.
        """
        try:
            self.solved.unify(expected, found)
            return
        except FunctionalType:
            raise self._error("function-not-allowed", span, f"{call}A value of functional type "
                              f"cannot be {what} here.") from None
        except TypeMismatch:
            code: Code = "type-mismatch"
            why = ""
            hints = []
        except SizeMismatch as error:
            left, right = (s.render(lambda v: v.base) for s in (error.left, error.right))
            code = "size-mismatch"
            why = f'Sizes "{left}" and "{right}" do not match. '
            hints = [f"If they are equal, say so with a size coercion: e :> [{left}]t."]
        wanted, given = self._show(expected), self._show(found)
        start = f"{call}{why}"
        if what in _WHOLE:
            text = f"{start}{_WHOLE[what]} does not have expected type {wanted}, but {given}."
        else:
            text = f"{start}Expected {what} of type {wanted}, found {given}."
        raise self._error(code, span, text, *hints)

    def _show(self, type_: Type) -> str:
        type_ = self.solved.resolve(type_)
        if isinstance(type_, MetaVar):
            allowed = self.solved.allowed.get(type_.id)
            if (required := self.solved.required.get(type_.id)) is not None:
                known = required.kind(tuple((name, self.solved.resolve(member))
                                            for name, member in required.members))
                return show(known).removesuffix("}") + ("" if required.kind is Sum else ", ...}")
            if allowed is not None:
                return "a float" if allowed <= set(FLOATS) else (
                    "an integer" if allowed <= set(INTS) else "a number")
        return show(type_)

    def join(self, left: Type, right: Type, span: Span, what: str) -> Type:
        """The type of a value of either type; ``what`` has the second."""
        try:
            return self.solved.join(left, right)
        except (TypeMismatch, SizeMismatch):
            self.expect(left, right, span, what)
        raise self._error("type-mismatch", span, f"{what.capitalize()} of type "
                          f"{self._show(right)} does not go with {self._show(left)}.")

    def no_function(self, type_: Type, span: Span, where: str) -> None:
        """An error if a value is or will be a function."""
        try:
            self.solved.no_function(type_)
        except FunctionalType:
            raise self._error(
                "function-not-allowed", span,
                f"A value of functional type cannot be that of {where}.") from None

    def _lookup(self, name: ast.QualName, span: Span) -> Scheme:
        if not name.quals and (binding := self.scope.values.get(name.name)):
            return binding.scheme
        if str(name) in self.broken:
            raise ProgramError()
        if (scheme := prelude_scheme(name.quals, name.name)) is not None:
            return scheme
        if name.name == self.declared:
            raise self._error("recursive-function", span, f"Function '{name}' calls itself, but "
                              "functions cannot be recursive.", "Write a loop.")
        if (what := UNSUPPORTED.get(name.name)) is not None:
            raise self._error("unsupported-feature", span, f"Runelift has no {what} ({name}).")
        known = [*self.scope.values, *FUNCTIONS]
        near = difflib.get_close_matches(name.name, known, n=1)
        hints = (f"Did you mean '{near[0]}'?",) if near and not name.quals else ()
        raise self._error("unknown-name", span, f"Unknown variable '{name}'.", *hints)

    def _instantiate(self, scheme: Scheme, name: ast.Name | None = None) -> Type:
        if not (scheme.types or scheme.sizes or scheme.unknown):
            return scheme.type
        metas_ = {v: self.solved.meta() for v in scheme.types}
        self.solved.values |= {m.id for v, m in metas_.items() if v not in scheme.lifted}
        types: dict[VName, Type] = dict(metas_)
        bound = params_in(scheme.type)
        sizes = {v: Size.var(self.names.fresh(v.base)) if v in bound
                 else self.solved.size_meta(v.base) for v in scheme.sizes}
        if name is not None:
            name.sizes = sizes
            if name.name.name.startswith("unflatten"):
                self.solved.ordered |= {v for size in sizes.values() for v in size.variables()}
        sizes = sizes | {v: self.solved.unknown_size(v.base) for v in scheme.unknown}
        return replace_names(scheme.type, types, sizes)

    def _note_products(self, fun: ast.Exp, type_: Type) -> None:
        """Note the products in what a function of the program is or returns."""
        if not isinstance(fun, ast.Name) or fun.name.quals:
            return
        binding = self.scope.values.get(fun.name.name)
        if binding is not None and binding.top and any(products_in(binding.scheme.type)):
            self.solved.note_products(self.solved.resolve(type_))
        elif binding is None and fun.name.name.startswith("flatten"):
            self.solved.products.append(tuple(fun.sizes.values()))

    @abstractmethod
    def infer(self, exp: ast.Exp, expected: Type | None = None) -> Type:
        """The type of ``exp``; ``expected`` helps with functions and is not enforced."""
