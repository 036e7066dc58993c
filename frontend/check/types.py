"""Type expressions of the source made into types."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from runelift.frontend.check import foreign
from runelift.frontend.check.restrictions import constructive_sizes
from runelift.frontend.check.stars import unique_parts
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.parser import parse_type
from runelift.frontend.syntax.prelude import ACCUMULATOR, LIFTED, signature
from runelift.ir.base.errors import Diagnostic, ProgramError, Replacement, did_you_mean
from runelift.ir.base.source import Span
from runelift.ir.names import NAMELESS, Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, applied, written

PRIMS = {prim.value: prim for prim in Prim}


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """``type t [n] 'a = definition``."""

    sizes: tuple[VName, ...]
    types: tuple[VName, ...]
    definition: ty.Type
    kind: str = ""
    """``~`` if sizes, ``^`` if functions may be inside."""
    anonymous: tuple[VName, ...] = ()
    """The sizes of ``[]`` and ``?[n].t`` in the definition: new sizes each time it is used."""
    hidden: bool = False
    """True if programs do not know the definition."""

    def applied(self, sizes: Iterable[Size], types: Iterable[ty.Type],
                anonymous: Callable[[], Size]) -> ty.Type:
        """The definition with these arguments; ``anonymous`` makes the size of ``[]``."""
        return ty.replace_names(self.definition, dict(zip(self.types, types, strict=True)),
                             dict(zip(self.sizes, sizes, strict=True))
                             | {v: anonymous() for v in self.anonymous})


Expression: TypeAlias = "tuple[int, Hashable | None]"
"""An expression over the first parameters: their number, and the structure of the expression.

In the structure, numbers stand for the names of the parameters.  It is None if it has other names.
The number is 0 for size parameters, and -1 for the body.
"""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A type that is generic in ``types``, ``sizes`` and ``unknown`` sizes.

    Each use of the name replaces these by fresh variables.
    """

    type: ty.Type
    types: tuple[VName, ...] = ()
    sizes: tuple[VName, ...] = ()
    unknown: tuple[VName, ...] = ()
    lifted: frozenset[VName] = frozenset()
    """The type parameters that may stand for functions."""
    written: Mapping[VName, Expression] = field(default_factory=dict, hash=False)
    """The unknown sizes that are expressions over the parameters."""


def changing(names: Names, exists: set[VName]) -> Callable[[], Size]:
    """A function that makes a fresh size, different in each call, and adds it to ``exists``."""
    def make() -> Size:
        name = names.fresh(NAMELESS)
        exists.add(name)
        return Size.var(name)
    return make


@dataclass(frozen=True, slots=True)
class Own:
    """A name that a type itself binds: the value of the name as a size, and its type."""

    size: Size
    type: ty.Type = Prim.I64


SizeOf = Callable[[ast.Exp, Mapping[str, Own]], Size]
"""The size that a size expression is, given the names that the type itself binds."""


@dataclass(frozen=True, slots=True)
class TypeReader:
    """A reader of type expressions: names of types in scope, and the meaning of size expressions.

    ``anonymous`` makes the size of ``[]t``.
    """

    abbreviations: Mapping[str, Abbreviation]
    variables: Mapping[str, VName]
    size: SizeOf
    anonymous: Callable[[], Size]
    names: Names
    lifted: Collection[VName] = ()
    broken: Collection[str] = ()
    """Names whose declaration is wrong; errors that follow from it are not reported."""
    bound: Mapping[str, Own] = field(default_factory=dict)
    """The names of ``?[n].t`` and ``(n: i64) -> t`` around."""
    of_result: bool = False
    """True in the result of a function type, whose sizes may differ from call to call."""

    def read(self, exp: ast.TypeExp) -> ty.Type:
        """The type that ``exp`` denotes; ProgramError if it names an unknown type."""
        match exp:
            case ast.TypeName(span, name, args):
                return self._named(span, str(name), args)
            case ast.TypeArray(_, size, elem):
                self._check_element(elem)
                return ty.Array(self._size(size), self.read(elem))
            case ast.TypeTuple(_, items):
                return ty.Tuple(tuple(map(self.read, items)))
            case ast.TypeRecord(span, fields):
                if len(dict(fields)) < len(fields):
                    raise ProgramError(Diagnostic(
                        "duplicate-name", span, "A record type has a field twice."))
                return ty.Record(tuple(sorted((n, self.read(t)) for n, t in fields)))
            case ast.TypeSum(_, constructors):
                return ty.Sum(tuple((name, ty.Tuple(tuple(map(self.read, args))))
                                 for name, args in constructors))
            case ast.TypeUnique(_, inner):
                return self.read(inner)
            case ast.TypeArrow(_, param, domain, codomain):
                if param in self.bound:
                    raise ProgramError(Diagnostic(
                        "duplicate-name", exp.span, f"'{param}' is bound twice in a type."))
                bound = self.names.fresh(param) if param else None
                taken = dataclasses.replace(self, of_result=False).read(domain)
                within = self if bound is None or param is None else self._with({
                    param: Own(Size.var(bound), taken)})
                exists: set[VName] = set()
                if not isinstance(codomain, ast.TypeArrow):
                    within = dataclasses.replace(within, anonymous=changing(self.names, exists),
                                                 of_result=True)
                return ty.Arrow(taken, within.read(codomain), unique_parts(domain),
                                unique_parts(codomain), bound, frozenset(exists))
            case ast.TypeExists(_, sizes, inner):
                own = {name: Own(self.anonymous()) for name in sizes}
                type_ = self._with(own).read(inner)
                for label, made in own.items():
                    if not made.size.variables() <= constructive_sizes(type_):
                        raise ProgramError(Diagnostic(
                            "unused-existential", exp.span,
                            f'Existential size "{label}" not used as array size.'))
                return type_

    def _check_element(self, exp: ast.TypeExp) -> None:
        """Refuse arrays whose elements may have sizes or functions inside."""
        for part in ast.held(exp):
            if isinstance(part, ast.TypeArrow):
                raise ProgramError(Diagnostic(
                    "function-not-allowed", part.span, "Cannot create array with elements that "
                    "hold functions.", hints=("Pass one function that takes an index.",)))
            if not isinstance(part, ast.TypeName):
                continue
            name = str(part.name)
            variable, short = self.variables.get(name), self.abbreviations.get(name)
            if variable in self.lifted or (variable is None and short is not None and short.kind):
                raise ProgramError(Diagnostic(
                    "lifted-element", part.span, f'Cannot create array with elements of type '
                    f'"{name}", which is lifted: its values might hold functions or differ in '
                    "size."))

    def _with(self, names: dict[str, Own]) -> TypeReader:
        return dataclasses.replace(self, bound={**self.bound, **names})

    def _size(self, exp: ast.Exp | None) -> Size:
        """The size that an expression of a type denotes; without an expression, a new unknown size.

        The size is a polynomial over parameters of type i64.  In the type of a result, any other
        expression denotes a new unknown size, which may differ in each call.
        """
        if exp is None:
            return self.anonymous()
        if isinstance(exp, ast.Name) and (found := self.bound.get(str(exp.name))) and (
                found.type is Prim.I64):
            return found.size
        size = self.size(exp, self.bound)
        named = [self.bound[str(node.name)].size for node in walk(exp)
                 if isinstance(node, ast.Name) and str(node.name) in self.bound]
        if all(own.variables() <= size.variables() for own in named):
            return size
        if self.of_result:
            return self.anonymous()
        raise ProgramError(Diagnostic(
            "unsupported-feature", exp.span, "Runelift has no parameters of function types whose "
            "size is computed from another parameter that is no integer.",
            hints=("Write [] for the size, or give the size as a separate parameter.",)))

    def _named(self, span: Span, name: str,
               args: tuple[ast.TypeExp | ast.SizeArg, ...]) -> ty.Type:
        if name in self.variables:
            return ty.TypeVar(self.variables[name])
        if name in self.abbreviations:
            short = self.abbreviations[name]
            sizes = [a for a in args if isinstance(a, ast.SizeArg)]
            types = [a for a in args if not isinstance(a, ast.SizeArg)]
            if len(sizes) != len(short.sizes) or len(types) != len(short.types):
                raise ProgramError(Diagnostic(
                    "type-arguments", span, f"Type '{name}' takes "
                    f"{_counted(short.sizes, short.types)}, not {_counted(sizes, types)}.",
                    hints=_with_arguments(span, name, short, args)))
            given = [self._size(a.size) for a in sizes], [self.read(a) for a in types]
            if short.hidden:
                return ty.Abstract.of(name, *given)
            return short.applied(*given, self.anonymous)
        if name in ("acc", ACCUMULATOR):
            if len(args) != 1 or isinstance(args[0], ast.SizeArg):
                raise ProgramError(Diagnostic(
                    "type-arguments", span, "Type 'acc' takes the type of an array.",
                    hints=("An accumulator for an array xs: [n]i32 is of type acc ([n]i32).",)))
            return accumulator(self.read(args[0]))
        if name in PRIMS and args:
            raise ProgramError(Diagnostic(
                "type-arguments", span, f"Type '{name}' takes no arguments.",
                hints=(foreign.array(name, span),)))
        if name in PRIMS:
            return PRIMS[name]
        if name in self.broken:
            raise ProgramError()
        known = [*self.variables, *self.abbreviations, *PRIMS]
        near = [each for each in (*self.abbreviations, *PRIMS) if each.lower() == name.lower()]
        hints = (foreign.type_meant(name, span) if not near and foreign.is_type(name) else tuple(
            did_you_mean(each, span, name)
            for each in near or difflib.get_close_matches(name, known, n=1)))
        if said := foreign.bounds(span) or (None if hints else foreign.consed(name, span)):
            hints = (said,)
        if not hints and re.search(r"->\s*[\w.\[\]]+\s*:\s*$", span.source.text[:span.start]):
            hints = (r"The type of a result stands before the arrow: \(x: t): u -> e",)
        own = re.findall(r"^\s*(?:local\s+)?(type|def|entry|let)\b[~^]?\s*([\w']+)",
                         span.source.text[:span.start], re.MULTILINE)
        if own and own[-1] == ("type", name):
            hints = ("A type cannot contain itself: keep its values in an array, and in each the "
                     "indices of those inside.",)
        if not hints and len(name) == 1:
            hints = (f"If it stands for any type, declare it as a type parameter: '{name}",)
        raise ProgramError(Diagnostic("unknown-type", span, f'Unknown type "{name}".',
                                      hints=hints))


def accumulator(array: ty.Type) -> ty.Type:
    """The type of accumulators for arrays of a type."""
    return ty.Abstract.of(ACCUMULATOR, (), (array,))


def _with_arguments(span: Span, name: str, short: Abbreviation,
                    args: Sequence[ast.TypeExp | ast.SizeArg]) -> tuple[str, ...]:
    """The hint to write the arguments of a type that it declares, where it has ``args``.

    Sizes without arguments are the size parameters of the function, or unknown.
    """
    if short.types and not args:
        types = [f"'{each.base}" for each in short.types]
        return (f"Its types stand behind it: {' '.join([name, *['[n]' for _ in short.sizes]])} "
                f"with a type for {' and '.join(types)}.",)
    head = re.search(r"(?:^|\n)[ \t]*(?:def|entry|let)[ \t]+[\w']+((?:\s*\[[\w']+\])+)[^=]*$",
                     span.source.text[:span.start])
    known = re.findall(r"[\w']+", head[1]) if head is not None else []
    wanted = [each.base for each in short.sizes]
    if len(args) == len(wanted) + len(short.types) and short.sizes:
        texts = [each.span.text for each in args]
        new = " ".join([name, *(text if text[0] == "[" else f"[{text}]"
                                for text in texts[:len(wanted)]), *texts[len(wanted):]])
        return (Replacement(f"A size stands in brackets: {new}", new, span),)
    if args or short.types:
        return ()
    if not set(wanted) <= set(known):
        wanted = [""] * len(wanted)
    new = " ".join([name, *(f"[{each}]" for each in wanted)])
    return (Replacement(f"Write {new}.", new) if span.text == name else f"Write {new}.",)


def _counted(sizes: Sized, types: Sized) -> str:
    """The numbers of sizes and types, in words."""
    found = [f"{len(each)} {what}{'s' * (len(each) != 1)}"
             for each, what in ((sizes, "size"), (types, "type")) if each]
    return " and ".join(found) or "nothing"


_PRELUDE_NAMES = Names(1_000_000)


@cache
def prelude_scheme(quals: tuple[str, ...], name: str) -> Scheme | None:
    """The type scheme of a built-in name; None if the name is not built in.

    In a signature, a lower-case word that is no primitive type is a type parameter.
    """
    text = signature(quals, name)
    if text is None:
        return None
    types: dict[str, VName] = {}
    sizes: dict[str, VName] = {}
    unknown: list[VName] = []
    exists: dict[str, VName] = {}

    def size(exp: ast.Exp) -> Size:
        match exp:
            case ast.Name(_, ast.QualName(_, local)) if local in exists:
                return Size.var(exists[local])
            case ast.Name(_, qual):
                return Size.var(sizes.setdefault(str(qual), _PRELUDE_NAMES.fresh(str(qual))))
            case ast.Literal(_, value):
                return Size.of(int(value))
            case ast.BinExp(_, op, left, right):
                return (written if str(op) in ("+", "-", "*") else applied)(
                    str(op), size(left), size(right))
        raise AssertionError(f"size in the signature of {name}")

    def anonymous() -> Size:
        unknown.append(_PRELUDE_NAMES.fresh("unknown"))
        return Size.var(unknown[-1])

    def given(exp: ast.TypeExp) -> ty.Type:
        """A parameter; sizes that calls of it compute anew are its own."""
        count = len(unknown)
        found = read(exp)
        own = unknown[count:] if isinstance(found, ty.Arrow) else []
        del unknown[len(unknown) - len(own):]
        return ty.with_changing(found, own)

    def read(exp: ast.TypeExp) -> ty.Type:
        match exp:
            case ast.TypeArrow(_, param, domain, codomain):
                bound = sizes.setdefault(param, _PRELUDE_NAMES.fresh(param)) if param else None
                return ty.Arrow(given(domain), read(codomain), unique_parts(domain),
                             unique_parts(codomain), bound)
            case ast.TypeName(_, qual, (ast.TypeArray() as array,)) if str(qual) == ACCUMULATOR:
                return accumulator(read(array))
            case ast.TypeName(_, qual) if str(qual) not in PRIMS:
                word = str(qual)
                return ty.TypeVar(types.setdefault(word, _PRELUDE_NAMES.fresh(word)))
            case ast.TypeArray(_, length, elem):
                return ty.Array(anonymous() if length is None else size(length), read(elem))
            case ast.TypeTuple(_, items):
                return ty.Tuple(tuple(map(read, items)))
            case ast.TypeUnique(_, inner):
                return read(inner)
            case ast.TypeExists(_, names, inner):
                exists.update((each, _PRELUDE_NAMES.fresh(each)) for each in names)
                unknown.extend(exists[each] for each in names)
                return read(inner)
            case ast.TypeName(_, qual):
                return PRIMS[str(qual)]
        raise AssertionError(f"type in the signature of {name}")

    type_ = read(parse_type(text))
    lifted = frozenset(types.values()) if name in LIFTED else frozenset()
    return Scheme(type_, tuple(types.values()), tuple(sizes.values()), tuple(unknown), lifted)
