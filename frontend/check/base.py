"""The common part of inference: names in scope, solved types, and the wording of errors."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.frontend.check import foreign
from runelift.frontend.check.advice import (
    OF_OPERATORS,
    OF_ROLE,
    advice,
    arity,
    component_names,
)
from runelift.frontend.check.aliases import Origin
from runelift.frontend.check.arguments import (
    DERIVATIVES,
    composed,
    curried,
    elementwise,
    exchanged,
    function_given,
    labelled,
    lacks_inner,
    of_one_type,
    reordered,
    uncurried,
)
from runelift.frontend.check.conversions import either
from runelift.frontend.check.exhaustive import no_constructor
from runelift.frontend.check.forms import COMPOSITIONS, call_text, tail
from runelift.frontend.check.size_hints import (
    bracketed,
    column,
    of_dimensions,
    ranged,
    size_advice,
)
from runelift.frontend.check.suffixes import require_room, suffixed
from runelift.frontend.check.types import Abbreviation, Scheme, prelude_scheme
from runelift.frontend.check.unify import (
    ConsumingFunction,
    FunctionalType,
    InfiniteType,
    IrregularType,
    SizeMismatch,
    SizeOfCall,
    Substitution,
    TypeMismatch,
)
from runelift.frontend.check.unknown_names import functions, of_hidden, of_literal, unknown
from runelift.frontend.check.wording import DECLARED, Wording
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.layered import Layered
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.prelude import FUNCTIONS, signature
from runelift.frontend.syntax.types import (
    UNIT,
    Array,
    Arrow,
    Sum,
    Tuple,
    Type,
    params_in,
    payload,
    replace_names,
    show,
    with_changing,
)
from runelift.ir.base.errors import (
    Code,
    Diagnostic,
    Label,
    ProgramError,
    Replacement,
)
from runelift.ir.base.source import Span
from runelift.ir.names import Names, VName
from runelift.ir.prim import FLOATS, NUMBERS
from runelift.ir.sizes import Size

SizeMaker: TypeAlias = Callable[[], Size]
"""Makes the size of an array type that does not name one."""


_BREAK = "A loop ends by its condition: loop x = a while c do e"
_NAME_SIZES = ("A size that is another one for each call must have a name on both sides: name the "
               "parameter in the function's type, and the size in the lambda, as in "
               "(n: i64) -> [n]t -> u and \\n (xs: [n]t) -> e.")
"""The cure of a size that only a call knows."""

IRREGULAR_HINTS = ("If all have the same size, say so in the function: (e :> [n]t).",
                   "If not, join them: flatmap' f xs has their lengths, flags, offsets and data.")
"""The cures of rows that may differ in size."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The type of a name in scope.  ``size`` is its value as a size, if it is an i64.

    ``local``: a pattern has bound it, so parts of its type may be still unknown.  ``top``: it is a
    declaration, which the whole program knows under its name.
    """

    scheme: Scheme
    size: Size | None = None
    span: Span | None = None
    local: bool = False
    top: bool = False


@dataclass(slots=True)
class Scope:
    """The names in scope: local names of a declaration, and the declarations, which all share."""

    values: Layered[str, Binding] = field(default_factory=Layered)
    sizes: dict[str, Size] = field(default_factory=dict)
    types: dict[str, VName] = field(default_factory=dict)
    top: dict[str, Binding] = field(default_factory=dict)
    top_sizes: set[VName] = field(default_factory=set)
    """The names in the sizes that declarations stand for."""

    def copy(self) -> Scope:
        """A scope that can be extended without changing this one."""
        return Scope(self.values.child(), dict(self.sizes), dict(self.types), self.top,
                     self.top_sizes)

    def find(self, name: str) -> Binding | None:
        """The binding of a name; None if it is not in scope."""
        return self.values.get(name) or self.top.get(name)

    def declare(self, name: str, binding: Binding) -> None:
        """Add a declaration."""
        self.top[name] = binding
        if binding.size is not None:
            self.top_sizes |= binding.size.variables()


class Base(ABC):
    """The state of checking one module."""

    def __init__(self) -> None:
        self.names = Names()
        self.solved = Substitution(self.names)
        self.scope = Scope()
        self.abbreviations: dict[str, Abbreviation] = {}
        self.errors: list[Diagnostic] = []
        self.broken: set[str] = set()
        self.later: dict[str, ast.ValDec] = {}
        """The values that are declared later on, by name."""
        self.declared = ""
        """The top-level name whose declaration is being checked."""
        self._typed: list[ast.Exp | ast.Pattern | ast.ValDec] = []
        self._binders: list[ast.SizeParam] = []
        self._operators: list[ast.BinExp | ast.OpSection] = []
        self._negated: set[int] = set()
        self._coerced: list[VName] = []
        """The sizes ``[]`` of coercions in the function that is being checked."""
        self._looping = False
        """True while a value that a loop carries is inferred: coercions may change its sizes."""
        self._written: dict[Hashable, tuple[VName, ast.Exp | None]] = {}
        """The sizes that are expressions, by structure; a result's size may be written nowhere."""
        self._bound: set[VName] = set()
        """The sizes that patterns and size parameters of the top-level declaration bind."""
        self._computed: set[VName] = set()
        """Sizes of results that are expressions over the arguments: equal for equal calls."""
        self._advising = 0
        """Above 0 while a wrong call is checked again for advice."""
        self._holes: set[Span] = set()
        """The holes that have been reported: a function may be checked more than once."""
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

    def _irregular(self, found: Type, span: Span, call: ast.Exp | None) -> ProgramError:
        """An error: a function's results cannot be elements of an array, or replace them."""
        if isinstance(call, ast.BinExp) and str(call.op) in COMPOSITIONS:
            return self._error(
                "ambiguous-size", span, f"What {span.text} returns has another size each time, so "
                "nothing decides about the type of the function that takes it.",
                "Apply the functions one after the other: x |> f |> g.")
        return self._error(
            "irregular-array", span, f"{call_text(call, span)}Its results may have another "
            f"size each time, so they cannot be array elements or the like: {self._show(found)}.",
            *IRREGULAR_HINTS)

    def expect(self, expected: Type, found: Type, span: Span, what: str,
               call: ast.Exp | None = None, hint: str = "",
               because: Span | Label | None = None) -> None:
        """Unify, or say which type was expected (as ``what``) and which was found.

        Each parameter is a part of the error message, so there are many.
        ``call`` is the application that this is an argument of; ``hint`` says what else to do.
        ``because`` is the place that decides which type is expected, perhaps with a label.
        """
        try:
            self.solved.unify(expected, found)
        except FunctionalType:
            raise self._error(
                "function-not-allowed", span, f"{call_text(call, span)}A value of functional type "
                f"cannot be {what} here.", arity(call) or curried(self, call, span) or
                f"Its type is {self._show(found)}: an argument may be missing.") from None
        except IrregularType:
            raise self._irregular(found, span, call) from None
        except TypeMismatch as error:
            self._require_complete(found, span)
            self._require_values(expected, span)
            wanted, given = self.solved.resolve(expected), self.solved.resolve(found)
            require_room(self._typed, wanted, given)
            words = self._wording()
            first = because.text if isinstance(because, Span) else ""
            advised = bracketed(self._typed) or hint or (_BREAK if first == "break" else "") or (
                suffixed(self.solved, self._typed, self.scope.find, wanted, given, call or because)
                or self._advice(expected, found, span, call))
            advised = uncurried(self, self._typed, span, advised) or advised
            if isinstance(error, ConsumingFunction):
                advised = "Leave the star out of the parameter's type, and return a new value."
            labels, notes = self._about(call)
            if wanted in NUMBERS and given in NUMBERS:
                notes += of_one_type(self._typed, labels)
            labels += self._reason(expected, span, call, because)
            raise self._error(
                "type-mismatch", span,
                call_text(call, span) + words.mismatch(expected, found, what)
                + " Occurs check: a type cannot contain itself." * isinstance(error, InfiniteType)
                + " A function that consumes its argument does not do for one that does not."
                * isinstance(error, ConsumingFunction),
                *filter(None, [advised or OF_ROLE.get(what), *notes]), labels=labels
                ) from None
        except SizeMismatch as error:
            words = self._wording()
            left, right = words.size(error.left), words.size(error.right)
            if isinstance(error, SizeOfCall):
                hint = hint or _NAME_SIZES
            one = bracketed(self._typed)
            labels, notes = self._about(call)
            labels += self._reason(expected, span, call, because)
            own = of_dimensions(call, span, left, right)
            rows = column(span)
            declared = ([self._declare(found, because.span)] if what == DECLARED and not rows
                        and isinstance(because, Label) and not self.solved.specified else [])
            said = () if one else (() if what == "an element" else self._filtered(
                call, span, all((left, right)))) or rows or self._transposed(
                    span, left, right) or own.hints or size_advice(
                        self.solved, error.left, error.right, (left, right), what, span)
            end = ranged(self.solved, self._typed, error.left, error.right,
                         next(iter((*declared, *said)), ""))
            raise self._error(
                "size-mismatch", span, call_text(call, span)
                + f'Sizes "{left or "[]"}" and "{right or "[]"}" do not match. '
                + words.mismatch(expected, found, what),
                *filter(None, [one or hint]), *([end, *notes] if end else [
                    *declared, *notes, *said]), labels=(*labels, *own.labels)) from None

    def _transposed(self, span: Span, left: str, right: str) -> list[str]:
        """The hint that a row stands for a column: the elements of a transposed array are meant."""
        binding, words = self.scope.find(span.text), self._wording()
        for exp in reversed(self._typed):
            if binding is None or not isinstance(exp, ast.Apply) or exp.fun.span.text != "map":
                continue
            match exp.args:
                case (ast.LambdaExp(_, (ast.PatName(place),)), array) if (
                        place == binding.span and array.type is not None):
                    match self.solved.resolve(array.type):
                        case Array(rows, Array(columns)) if (
                                words.size(rows), words.size(columns)) == (left, right):
                            new = f"transpose {foreign.argument(array.span.text)}"
                            return [Replacement(f"Columns of {array.span.text} have the size "
                                                f"{left}: {new}", f"({new})", array.span)]
        return []

    def _require_complete(self, found: Type, span: Span) -> None:
        """Refuse a local name of what lacks an argument where it is defined, not where it is used.

        That is only sure if the last of the given arguments is for the last parameter.
        """
        binding = self.scope.find(span.text)
        if self._advising or binding is None or not isinstance(self.solved.head(found), Arrow):
            return
        value = self._defined(binding.span)
        if isinstance(value, ast.Apply) and lacks_inner(self, value):
            raise self._lacking(value, Label(span, "used as a value here"))
        if value is not None:
            self._require_seed(value, Label(span, "used as a value here"))

    def _defined(self, place: Span | None) -> ast.Exp | None:
        """The value of the pattern that is, or has a name, at a place; None if no 'let' has it."""
        return next((each.value for each in reversed(self._typed) if place is not None
                     and isinstance(each, ast.LetPat) and place in each.pattern.span), None)

    def _value_of(self, name: str) -> ast.Exp | None:
        """The value of the pattern that has a name in scope; None if no 'let' has it."""
        binding = self.scope.find(name)
        return None if binding is None else self._defined(binding.span)

    def _require_seed(self, value: ast.Exp, *labels: Label) -> None:
        """Refuse a derivative without its seed as a value."""
        if isinstance(value, ast.Apply) and (
                value.fun.span.text in DERIVATIVES and len(value.args) == 2):
            raise self._lacking(value, *labels)

    def _lacking(self, value: ast.Apply, *labels: Label) -> ProgramError:
        """An error: a call lacks an argument where a value is needed."""
        noted, hints = self._about(value)
        text, domain = value.span.text, self.solved.head(value.type or UNIT)
        if value.fun.span.text in DERIVATIVES and isinstance(domain, Arrow):
            hint = f"A seed is missing behind its arguments, as 1 in: {text} 1"
            one = self.solved.head(domain.domain) in FLOATS
            hints = (Replacement(hint, f"{text} 1", value.span) if one else hint, *hints)
        return self._error(
            "type-mismatch", value.span, f'"{value.fun.span.text}" lacks an argument, so this '
            "is a function and no value.", *hints, labels=(*noted, *labels))

    def _require_values(self, expected: Type, span: Span) -> None:
        """Refuse a constructor with another number of values than its type has."""
        wanted = self.solved.resolve(expected)
        known = dict(wanted.fields) if isinstance(wanted, Sum) else {}
        for exp in self._typed if known else ():
            if isinstance(wanted, Sum) and isinstance(exp, ast.Constr) and (
                    exp.name not in known and exp.span == span):
                raise no_constructor("type-mismatch", exp.name, wanted, span)
            if isinstance(exp, ast.Constr) and exp.name in known and (
                    exp.span.source is span.source and span.start <= exp.span.start < span.end):
                types = payload(known[exp.name])
                if len(types) != len(exp.args):
                    raise self._error(
                        "type-mismatch", exp.span, f"'#{exp.name}' has {len(types)} "
                        f"value{'s' * (len(types) != 1)}, but here it gets {len(exp.args)}.",
                        "It is declared as "
                        f"{' '.join([f'#{exp.name}', *(self._show(each) for each in types)])}.")

    def _filtered(self, call: ast.Exp | None, span: Span, named: bool) -> list[str]:
        """The hint about an array that has another length because it was filtered."""
        exps = call.args if isinstance(call, ast.Apply) else ()
        texts = [span.text, *(arg.span.text for arg in exps)]
        for name in list(texts):
            value = self._value_of(name)
            texts += [value.span.text] if value is not None else []
        makers = [found[1] for text in texts
                  if (found := re.search(r"(?:^|\|>\s*)(filter|partition2?)\b[^|]*"
                                     r"(?:\|>\s*map\b[^|]*)*$", text))]
        if not makers or (named and "filter" in makers):
            return []
        if call is None:
            return ["How many elements it keeps is known only to the running program."]
        together = "Filter the arrays together: unzip (filter (\\(x, y) -> e) (zip xs ys))."
        return [f"Only the running program knows how many elements {makers[0]} keeps.",
                *[together] * (makers[0] == "filter")]

    def _component(self, found: Type, span: Span) -> str | None:
        """The hint about a name of a tuple that stands where a component is meant."""
        value, type_ = self._value_of(span.text), self.solved.resolve(found)
        if not isinstance(type_, Tuple) or value is None:
            return None
        return (f"It is a tuple: let ({component_names(type_)}) = {value.span.text} names its "
                "components.")

    def _advice(self, expected: Type, found: Type, span: Span, call: ast.Exp | None
                ) -> str | None:
        """The likely intention where a type is wrong; None if it is unclear."""
        given = isinstance(call, ast.Apply) and any(arg.span == span for arg in call.args)
        first = call if given and not self._advising else None
        self._advising += 1
        try:
            said = either(reordered(self, first), advice(
                self.solved, expected, found, span.text, call))
            said = said or composed(self, call) if self._advising == 1 else said
            said = self._component(found, span) or said if isinstance(call, ast.BinExp) else said
            if self._advising == 1 and (said is None or said == OF_OPERATORS):
                said = elementwise(self, call, self._typed) or said
            if self._advising == 1:
                said = exchanged(self, self._typed, expected, found, span, said)
            return said or of_hidden(self, found) or of_literal(
                self, expected, span.text) or function_given(
                self, expected, found, span.text, first)
        finally:
            self._advising -= 1

    def _reason(self, expected: Type, span: Span, call: ast.Exp | None,
                because: Span | Label | None) -> tuple[Label, ...]:
        """The origin of the expected type, if that is another place."""
        if isinstance(call, ast.BinExp) and span == call.right.span:
            because = call.left.span
        if isinstance(because, Label):
            return (because,)
        if because is None or because == span:
            return ()
        return (Label(because, f"because this is {self._noun(expected)}"),)

    def expect_result(self, declared: Type, found: Type, body: ast.Exp, place: Span,
                      specified: str = "") -> None:
        """Unify the type that a function declares at ``place`` with that of its body.

        ``specified``: it is a member of a module, and the place is in the module's type.
        """
        if not specified:
            self.expect(declared, found, tail(body).span, DECLARED,
                        because=Label(place, "declared here"))
            return
        binding = self.scope.find(str(body.name)) if isinstance(body, ast.Name) else None
        self.solved.specified = True
        try:
            self.expect(declared, found, (binding and binding.span) or place,
                        f"member '{specified}'", because=Label(place, "specified here"))
        finally:
            self.solved.specified = False

    def _declare(self, found: Type, place: Span) -> str:
        """The hint to declare a result as it is; sizes of inner names have no name there."""
        known = {v for size in self.scope.sizes.values() for v in size.variables()}
        known |= {v for binding in self.scope.values.values() if binding.size is not None
                  for v in binding.size.variables()}
        words = self._wording()
        new = show(self.solved.resolve(found), lambda size: words.size(size)
                   if size.variables() <= known else "")
        return Replacement(f"If the body is right, declare its type: {new}", new, place)

    def _not_applicable(self, exp: ast.Exp, type_: Type, number: int,
                        args: tuple[ast.Exp, ...]) -> ProgramError:
        """An error: the rest of ``exp`` after ``number`` arguments is no function."""
        match exp:
            case ast.BinExp(_, name) | ast.OpSection(_, name):
                shown = f'"{name}"'
            case ast.Apply(_, fun):
                shown = f'"{fun.span.text}"'
            case _:
                shown = f'"{exp.span.text}"'
        labels, hints = self._about(exp)
        behind = args[number]
        operator = foreign.OPERATORS.get(behind.span.text)
        if isinstance(behind, ast.Name) and operator is None and not self._is_known(
                behind.span.text) and behind.span.text != "as" and (
                    re.match(r"\s" if behind.span.text.lower() in foreign.SUFFIXES else r"[\s\d]",
                             behind.span.source.text[behind.span.start - 1])):
            self._lookup(behind.name, behind.span)
        if number == 0:
            return self._error(
                "not-a-function", args[0].span, f'Cannot apply {shown} to "{args[0].span.text}". '
                f"{shown} is no function, but {self._noun(type_)}.",
                *filter(None, [foreign.misapplied(
                    exp, self.solved.resolve(type_), functions(self))]
                        if isinstance(exp, ast.Apply) else []),
                labels=labels)
        if operator is not None:
            hints = (Replacement(f"The operator is {operator}.", operator),)
        return self._error(
            "too-many-arguments", args[number].span, f"Cannot apply {shown} to {len(args)} "
            f"arguments. It takes {number} argument{'s' * (number != 1)}, and returns "
            f"{self._noun(type_)}.", *filter(None, [
                arity(exp) or labelled(exp) or (
                    foreign.swallowed(exp, number) if isinstance(exp, ast.Apply) else None)]),
            *hints,
            labels=labels)

    def _about(self, call: ast.Exp | None) -> tuple[tuple[Label, ...], tuple[str, ...]]:
        """The type of the function of a call: a label if the program defines it, or a hint."""
        fun = call.fun if isinstance(call, ast.Apply) else call
        if not isinstance(fun, ast.Name):
            return (), ()
        binding = self.scope.find(str(fun.name))
        if binding is None:
            text = signature(fun.name.quals, fun.name.name)
            return (), () if text is None else (f"{fun.name} has type {text}",)
        shown = f"{fun.name} has type {self._show(binding.scheme.type)}"
        if binding.span is None or binding.span.source != fun.span.source:
            return (), (shown,)
        return (Label(binding.span, shown),), ()

    def _wording(self) -> Wording:
        return Wording(self.solved, self.scope.types,
                       {name: exp.span.text for name, exp in self._written.values() if exp})

    def _show(self, type_: Type) -> str:
        return self._wording().type(type_)

    def _noun(self, type_: Type) -> str:
        """A type as a noun phrase in a message."""
        return self._wording().noun(type_)

    def join(self, left: Type, right: Type, span: Span, what: str,
             because: Span | None = None) -> Type:
        """The type of a value of either type; ``what`` has the second, ``because`` the first."""
        if self.solved.head(left) is self.solved.head(right):
            return left
        state = self.solved.snapshot()
        try:
            return self.solved.join(left, right)
        except (TypeMismatch, SizeMismatch):
            self.solved.restore(state)
            self.expect(left, right, span, what, because=because)
        raise self._error("type-mismatch", span, f"{what.capitalize()} of type "
                          f"{self._show(right)} does not go with {self._show(left)}.")

    def no_function(self, type_: Type, span: Span, role: str, *hints: str) -> None:
        """Refuse a type that is or may become a function type, with the reason ``role``."""
        try:
            self.solved.no_function(type_)
        except FunctionalType:
            raise self._error(
                "function-not-allowed", span,
                f"A value of functional type cannot be {role}.", *hints) from None

    def _is_known(self, name: str) -> bool:
        """True if an unqualified name is bound, or was bound by an erroneous declaration."""
        return (self.scope.find(name) is not None or name in self.broken or name in FUNCTIONS)

    def _lookup(self, name: ast.QualName, span: Span) -> Scheme:
        if not name.quals and (binding := self.scope.find(name.name)):
            return binding.scheme
        if str(name) in self.broken:
            raise ProgramError()
        if (scheme := prelude_scheme(name.quals, name.name)) is not None:
            return scheme
        if (later := self.defined_later(name)) is not None and self._calls_back(later):
            here = self.declared.rpartition(".")[2]
            raise self._error(
                "recursive-function", span, f"Functions '{here}' and '{name}' call each other. "
                "A function may call itself only.", "Make them one function, with a further "
                "argument that says which of them is meant.",
                labels=(Label(later.name_span, f"'{name}' is defined here"),))
        if (before := foreign.recursive(name.name, span)) is not None and not name.quals:
            span, hint = before
            raise self._error(
                "unknown-name", span, f"Unknown word '{span.text}'." if span.text != name.name
                else f"'{name}' is not known inside of its own definition.", hint)
        labels, hints = unknown(self, name, span)
        raise self._error("unknown-name", span, f"Unknown variable '{name}'.", *hints,
                          labels=labels)

    def defined_later(self, name: ast.QualName, user: str = "") -> ast.ValDec | None:
        """The later declaration that a name means in ``user``, or else in the present one."""
        module, dot, _ = (user or self.declared).rpartition(".")
        return self.later.get(f"{module}{dot}{name}") or self.later.get(str(name))

    def _calls_back(self, later: ast.ValDec) -> bool:
        """True if a later declaration uses the present one, directly or indirectly."""
        found, todo = {later.name}, [later]
        while todo:
            user = todo.pop()
            for node in walk(user.body):
                if not isinstance(node, ast.Name) or node.name.quals:
                    continue
                if node.name.name == self.declared:
                    return True
                used = self.defined_later(node.name, user.name)
                if used is not None and used.name not in found:
                    found.add(used.name)
                    todo.append(used)
        return False

    def _instantiate(self, scheme: Scheme, name: ast.Name | None = None) -> Type:
        if not (scheme.types or scheme.sizes or scheme.unknown):
            return scheme.type
        metas_ = {v: self.solved.meta() for v in scheme.types}
        self.solved.values |= {m.id for v, m in metas_.items() if v not in scheme.lifted}
        self.solved.regular |= {m.id for v, m in metas_.items()
                                if v not in scheme.lifted | self.solved.size_lifted}
        self.solved.of_any_size |= {m.id for v, m in metas_.items() if v in self.solved.size_lifted}
        types: dict[VName, Type] = dict(metas_)
        bound = params_in(scheme.type)
        sizes = {v: Size.var(self.names.fresh(v.base)) if v in bound
                 else self.solved.size_meta(v.base) for v in scheme.sizes}
        renamed = {v: Size.var(self.names.fresh(v.base)) for v in scheme.unknown if v in bound}
        if name is not None:
            name.sizes, name.types = sizes, types
        for old, new in (sizes | renamed).items():
            if old in self.solved.inner:
                self.solved.inner |= new.variables()
        type_ = replace_names(scheme.type, types, sizes | renamed)
        self._computed |= scheme.written.keys()
        for size, (count, _) in scheme.written.items():
            type_ = with_changing(type_, {size}, count)
        return with_changing(type_, set(scheme.unknown) - bound - scheme.written.keys())

    @abstractmethod
    def infer(self, exp: ast.Exp, expected: Type | None = None) -> Type:
        """The type of ``exp``; ``expected`` helps with functions and is not enforced."""

    @abstractmethod
    def _function(self, type_params: tuple[ast.SizeParam | ast.TypeParam, ...],
                  params: tuple[ast.Pattern, ...], ret: ast.TypeExp | None, body: ast.Exp,
                  name: str, specified: str = "", *, sealed: bool = False) -> Scheme:
        """The scheme of ``name params : ret = body``.

        Declarations and local functions have these parts in different nodes of the syntax.
        ``specified`` and ``sealed`` are of a declaration that a module type specifies.
        """
