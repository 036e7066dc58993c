"""Advice about types that do not fit: what a program is likely to mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runelift.frontend.check.arguments import DERIVATIVES, elem_of, of_rows
from runelift.frontend.check.conversions import (
    FOLDS,
    ONE_TYPE,
    is_float,
    is_one_of,
    of_number,
)
from runelift.frontend.check.foreign import ADVICE, ATOM, OPERATORS, argument, shipped
from runelift.frontend.check.unify import Substitution
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.advice import FUNCTION
from runelift.frontend.syntax.attributes import KNOWN
from runelift.frontend.syntax.prelude import FUNCTIONS, member
from runelift.frontend.syntax.types import (
    UNIT,
    Abstract,
    Array,
    Arrow,
    MetaVar,
    Record,
    Tuple,
    Type,
    TypeVar,
    show,
)
from runelift.ir.base.errors import Replacement
from runelift.ir.base.source import Span
from runelift.ir.names import NAMELESS
from runelift.ir.prim import FLOATS, INTS, NUMBERS, Prim

OF_ROLE = {"the next value of the loop":
           "The body gives the next values of all parameters of the loop, in their order."}
"""Advice about an expression of a wrong type, by its role."""
_APART = r"A tuple is taken apart by its parameter: \(x, y) -> e"
OF_OPERATORS = "Operators work on single values; map and map2 apply them to all elements."


def advice(solved: Substitution, expected: Type, found: Type, text: str,
           call: ast.Exp | None) -> str | None:
    """The likely intention if ``found``, the type of ``text``, does not fit; None if unclear."""
    wanted, given = solved.resolve(expected), solved.resolve(found)
    if isinstance(call, ast.OpSection) and isinstance(call.right, ast.BinExp):
        return _two_operators(call, call.right)
    if isinstance(call, ast.BinExp) and (
            said := _chained(call) or _negated(call, given, text) or _power(solved, call, given)):
        return said
    if isinstance(call, ast.BinExp) and isinstance(given, Arrow) and re.search(
            r"\|>\s*$", call.span.source.text[:call.span.start]):
        return f"{call.op} comes before |>: what goes through a pipe stands in parentheses."
    if isinstance(call, ast.Apply) and call.fun.span.text == "tabulate" and (
            several := arity(call)):
        return several
    if (attribute := re.match(r"#(\w+)\s", text)) and attribute[1] in KNOWN:
        new = f"#[{attribute[1]}]{text[attribute.end(1):]}"
        return Replacement(f"An attribute is written #[{attribute[1]}].", new)
    if said := _argument(solved, wanted, given, text, call) or _joined(wanted, given, text, call):
        return said
    return (of_number(solved, wanted, given, text, call) or _composite(
        solved, wanted, given, text, call) or _of_array(solved, wanted, given, text, call))


def _joined(wanted: Type, given: Type, text: str, call: ast.Exp | None) -> str | None:
    """The advice about ``flatmap``: what its function returns, and which result is the data."""
    match wanted, given:
        case Array(), Tuple(items) if len(items) > 3 and re.match(r"\(?flatmap'?\s", text):
            new = f"{text}.3" if text[0] == "(" else f"({text}).3"
            return Replacement(f"Lengths, flags and offsets are its first results: {new}", new)
        case Arrow(codomain=Tuple()), Arrow(codomain=Array()) if isinstance(
                call, ast.Apply) and call.fun.span.text == "flatmap":
            return Replacement("A function that returns rows alone is for flatmap'.", "flatmap'",
                               call.fun.span)
    return None


def _composite(solved: Substitution, wanted: Type, given: Type, text: str, call: ast.Exp | None
               ) -> str | None:
    """The advice about tuples, records, hidden types and functions; None if unclear."""
    match wanted, given:
        case Array() | Prim(), Tuple(items) if isinstance(call, ast.Apply) and len(call.args) > 1:
            return _apart(solved, call, text)
        case Record(fields), Tuple():
            return f"A record is written {{{', '.join(f'{label} = ...' for label, _ in fields)}}}."
        case Tuple() | Record(), (Prim() | MetaVar()) if isinstance(call, ast.Apply) and (
                call.fun.span.text in FOLDS and text == call.args[-1 - (
                    len(call.args) == 3)].span.text):
            return _neutral(solved, wanted, call.args[-1 - (len(call.args) == 3)])
        case Abstract(), Prim():
            return ("The module type hides this type: say what it is, as in "
                    f"(S with {wanted.shown.rpartition('.')[2]} = {given}).")
        case Arrow(), Arrow() if text in ("and", "or") and isinstance(call, ast.Apply):
            return Replacement(f"The operator is {OPERATORS[text]}.", f"({OPERATORS[text]})")
        case Arrow(), Arrow():
            return _folded(call, given) or arity(call, given) or _result(wanted, given)
        case Record(fields), Record(others) if dict(fields).keys() != dict(others).keys():
            return _field_difference(dict(fields), dict(others))
        case _, Arrow(_, Arrow()) if isinstance(call, ast.BinExp) and isinstance(
                call.left, ast.Name) and text == call.left.span.text:
            hint, right = "", call.right.fun if isinstance(call.right, ast.Apply) else call.right
            for place in (call.op_span, call.op_span.to(right.span)):
                new = f"({place.text})"
                hint = Replacement(f"An operator as an argument stands in parentheses: {new}", new,
                                   place, hint)
            return hint
        case Tuple(items), _ if isinstance(call, ast.Apply) and len(call.args) == len(items):
            args = ", ".join(arg.span.text for arg in call.args)
            new = f"{call.fun.span.text} ({args})"
            return Replacement(f"The function takes one tuple: {new}", new, call.span)
        case _, Tuple(items) if isinstance(call, ast.Apply) and len(call.args) == 1 and items:
            if (apart := _apart(solved, call, text)) is not None:
                return Replacement("Arguments stand behind the function without commas: f x y",
                                   f"{call.fun.span.text} {apart.new}", call.span)
            new = " ".join(f"{text}.{k}" for k in range(len(items)))
            return Replacement(f"Components are arguments one by one: {new}",
                               f"{call.fun.span.text} {new}", call.span,
                               f"It is a tuple, whose first component is {text}.0.") if (
                                   text.isidentifier()) else None
    return None


def _of_array(solved: Substitution, wanted: Type, given: Type, text: str, call: ast.Exp | None
              ) -> str | None:
    """The advice about arrays and the operands of operators; None if unclear."""
    match wanted, given:
        case (Array(_, Prim.U8), Prim() as number) | (Prim() as number, Array(_, Prim.U8)) if (
                call is None and number in FLOATS):
            return f"A text is no number; {number}.nan stands for a missing number."
        case Prim(), Tuple() if call is None and given not in (UNIT, wanted):
            return (f"It is a tuple, of which 'let ({component_names(given)}) = e in x' takes a "
                    "component.")
        case MetaVar(meta), TypeVar(name) if meta in solved.allowed:
            return (f"'{name.base}' may be any type, and not all have operators: "
                    "take a function as an argument, or name the type.")
        case Array(_, Prim()), Array(_, Array()) if call is None and (
                listed := re.fullmatch(r"\[([\w'.]+(?:\s*,\s*[\w'.]+)+)\]", text)):
            joined = " ++ ".join(re.split(r"\s*,\s*", listed[1]))
            return Replacement(f"Arrays are joined by ++: {joined}", joined)
        case Array(_, elem), Array(_, Array()) if isinstance(
                call, ast.Apply | ast.Name) and (
                    elem in NUMBERS or is_one_of(NUMBERS, solved, elem)):
            return of_rows(call, text)
        case (Prim() | MetaVar()), Array() if isinstance(call, ast.Apply) and (
                call.fun.span.text in FOLDS and len(call.args) == 2):
            return "The neutral element stands between the operator and the array."
        case Array(_, Tuple(items)), Array(_, Tuple(others)) if isinstance(
                call, ast.Apply) and re.fullmatch(r"unzip\d?", call.fun.span.text) and len(
                    items) != len(others):
            return _counted(call.fun, "unzip", f"tuples of {len(others)}", len(others))
        case Array(), Array() if isinstance(call, ast.Apply) and isinstance(
                call.args[0], ast.LambdaExp) and call.fun.span.text in FOLDS:
            if isinstance(given.elem, Tuple | Record) and not isinstance(
                    wanted.elem, Tuple | Record) and len(call.args) == 3 and all(
                        _taken_apart(call.args[0], each) for each in call.args[0].params):
                return _neutral(solved, given.elem, call.args[1])
            return ONE_TYPE.format(call.fun.span.text)
        case Arrow(codomain=Prim.BOOL), Arrow(codomain=number) if isinstance(
                call, ast.Apply) and (number in NUMBERS or is_one_of(NUMBERS, solved, number)):
            body = next((arg.body.span for arg in call.args if arg.span.text == text
                         and isinstance(arg, ast.LambdaExp)), None)
            if body is None:
                return None
            compared = f"{body.text} != 0"
            return Replacement(f"A condition is a bool: {compared}", compared, body)
        case Arrow(), Array(_, Prim.BOOL) if isinstance(call, ast.Apply) and (
                new := {"any": "or", "all": "and"}.get(call.fun.span.text)):
            return f"Write {new} {argument(text)}."
        case Array(_, Record(fields)), Array(_, Tuple(items)) if len(fields) == len(items):
            names = ", ".join(label for label, _ in fields)
            return rf"Make records of the tuples: map (\({names}) -> {{{names}}}) xs"
        case Array(), (Prim() | MetaVar()) if _joins(call, text) and (
                given in NUMBERS or is_one_of(NUMBERS, solved, given)):
            return _repeated(solved, wanted, given, text, call)
        case (Prim() | MetaVar()), Tuple(items) if isinstance(call, ast.BinExp):
            if isinstance(call.left, ast.Name) and isinstance(call.right, ast.Name):
                new = ", ".join(f"{call.left.span.text}.{k} {call.op} {call.right.span.text}.{k}"
                                for k in range(len(items)))
                return Replacement(f"Operators work on single values: ({new})", f"({new})",
                                   call.span, _APART)
            if not re.fullmatch(r"[\w']+", text):
                return f"A component of a tuple is written: ({text}).0"
            return _APART
        case (Prim() | MetaVar()), Array() if isinstance(call, ast.BinExp | ast.Negate | ast.Not):
            return OF_OPERATORS
    return None


def _argument(solved: Substitution, wanted: Type, given: Type, text: str, call: ast.Exp | None
              ) -> str | None:
    """The advice about a number or ``()`` as an argument that cannot be one; None if unclear."""
    name = call.fun.span.text if isinstance(call, ast.Apply) else ""
    if name in DERIVATIVES and isinstance(given, Arrow):
        return f"The seed is of the type of the function's result, {_like(solved, given.codomain)}."
    if name in DERIVATIVES and isinstance(call, ast.Apply) and text == call.args[-1].span.text:
        whose = "argument" if name[0] == "j" else "result"
        return f"The seed is of the type of the function's {whose}, {_like(solved, wanted)}."
    reduces = re.fullmatch(r"(\w+\.)(max|min)(imum)?", name)
    if reduces and isinstance(call, ast.Apply):
        new = reduces[1] + reduces[2]
        if reduces[3] and len(call.args) == 2 and not isinstance(given, Array):
            return Replacement(f"Two numbers are compared by {new}.", new, call.fun.span)
        if not reduces[3] and len(call.args) == 1 and isinstance(given, Array):
            return Replacement(f"All elements of an array are compared by {new}imum.",
                               f"{new}imum", call.fun.span)
    if wanted is Prim.U8 and isinstance(given, Array) and (char := re.fullmatch(r'"(.)"', text)):
        return Replacement(f"A character stands in single quotes: '{char[1]}'", f"'{char[1]}'")
    if isinstance(call, ast.BinExp) and wanted in NUMBERS and (
            quoted := re.fullmatch(r'"(-?\d[\d.]*)"', text)):
        return Replacement(f"A number has no quotes: {quoted[1]}", quoted[1])
    if isinstance(call, ast.BinExp) and str(call.op) in ("+", "^", "&", "<>") and isinstance(
            given, Array) and wanted not in NUMBERS and (
                isinstance(call.left, _ARRAYS) or isinstance(call.right, _ARRAYS)):
        return Replacement("Arrays are joined by ++.", "++", call.op_span)
    if isinstance(call, ast.OpSection) and str(call.op) == "||" and text:
        return Replacement(FUNCTION, "\\_ -> " + text, call.span)
    if isinstance(call, ast.OpSection) and str(call.op) == "&" and text:
        return "There are no references: leave '&' out."
    if name in FOLDS and (extreme := re.fullmatch(r"(\w+)\.(max|min)", text)) and isinstance(
            call, ast.Apply) and text != call.args[0].span.text:
        kind, new = (("largest", "highest") if extreme[2] == "max" else ("smallest", "lowest"))
        new = f"{extreme[1]}.{new}"
        return Replacement(f"The {kind} number is {new}.", new)
    if isinstance(given, Arrow) and text == "null":
        return ADVICE[text]
    if isinstance(call, ast.Apply) and (isinstance(given, Array) or len(call.args) == 1) and (
            named := _for_other_type(name, wanted, given)):
        return Replacement(f"For {show(elem_of(given))} it is {named}.", named, call.fun.span,
                           of_number(solved, wanted, given, text, call) or "")
    if name == "unflatten" and isinstance(call, ast.Apply) and len(call.args) == 3:
        rows, columns, array = (argument(arg.span.text) for arg in call.args)
        return ("The sizes stand in the type of its one argument: "
                f"unflatten ({array} :> [{rows} * {columns}]t)")
    if name == "split" and isinstance(call, ast.Apply) and len(call.args) == 2:
        count, array = (argument(arg.span.text) for arg in call.args)
        new = f"(take {count} {array}, drop {count} {array})"
        return Replacement(f"It has no number; write {new}.", new, call.span)
    conversion = re.fullmatch(r"([iuf]\d+)\.([iuf]\d+)", name)
    if conversion and isinstance(call, ast.Apply) and isinstance(given, Prim) and given in NUMBERS:
        to = conversion[2] if given.value == conversion[1] else conversion[1]
        new = f"{to}.{given}"
        return Replacement(f"A conversion names both types: {new}", new, call.fun.span)
    if isinstance(call, ast.Apply) and not isinstance(elem_of(wanted), Record) and (
            zipped := _unzipped(call)):
        return zipped
    if text.startswith("jvp ") and call is None and isinstance(wanted, Array):
        new = re.sub(r"^jvp (\([^()]*\)|\S+) (\([^()]*\)|\S+) .*$", r"vjp \1 \2 1", text)
        return Replacement(f"jvp goes along one direction, and the gradient is: {new}", new)
    if text.partition(" ")[0] in DERIVATIVES and isinstance(given, Arrow):
        return f"A seed is missing behind its arguments, as 1 in: {text} 1"
    if given == UNIT and isinstance(call, ast.Apply) and len(call.args) == 1:
        return Replacement(f"A function without its arguments is written alone: {name}", name,
                           call.span)
    if isinstance(wanted, Arrow) and (sign := re.fullmatch(r"-\s*([\w.]+)", text)):
        new = f"\\x -> x - {sign[1]}"
        return Replacement(f"{text} is a number, and a function that subtracts is {new}",
                           new if call is not None and f"({text})" in call.span.text
                           else f"({new})")
    is_bool = wanted is Prim.BOOL or (
        isinstance(wanted, MetaVar) and solved.allowed.get(wanted.id) == frozenset((Prim.BOOL,)))
    if is_bool and (new := {"0": "false", "1": "true"}.get(text, "")):
        return Replacement(f"A bool is true or false: {new}", new)
    return None


def _for_other_type(name: str, wanted: Type, given: Type) -> str:
    """The function of the given type, where one of another type is called; "" if unclear."""
    old, new = elem_of(wanted), elem_of(given)
    if new in (Prim.I8, Prim.U8, Prim.I16, Prim.U16):
        return ""  # a sum of them would be too small
    if not any(old in kind and new in kind and old is not new for kind in (INTS, FLOATS)):
        return ""
    owner, _, part = name.rpartition(".")
    if owner == str(old) and member(str(new), part) is not None:
        return f"{new}.{part}"
    other = name.replace(f"_{old}", f"_{new}")
    return other if other != name and other.partition(".")[0] in shipped() else ""


def _like(solved: Substitution, type_: Type) -> str:
    """A type with an example of a value."""
    shown = show(type_, lambda size: size.render(lambda v: v.base),
                 lambda meta: "f64" if is_float(solved, meta) else "i32")
    match type_:
        case Array(size, Prim()) if size.variable is not None and size.variable.base != NAMELESS:
            return f"{shown}: replicate {size.variable.base} 1"
        case Prim() | MetaVar():
            return f"{shown}: 1"
    return shown


_ARRAYS = (ast.ArrayExp, ast.StringLit)
_REDUCTIONS = frozenset({"reduce", "reduce_comm", "scan", "hist", "reduce_by_index"})
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_COMPARISON = re.compile(r"\s*(?:[<>]=?|[=!]=)(?=[\s\w(-])")
_COMPARED = re.compile(r"(?<![-|<>&*])(?:[<>]=?|[=!]=)\s*$")


def _chained(call: ast.BinExp) -> str | None:
    """The advice for ``a < b < c`` or ``a == b & c != d``; None if it is another expression."""
    left, place = call.left, call.span
    inner = call if _COMPARED.search(place.source.text[:place.start]) else call.right
    if (isinstance(inner, ast.BinExp) and str(inner.op) in ("&", "|")
            and (inner is call or str(call.op) in COMPARISONS)
            and _COMPARISON.match(place.source.text, place.end)):
        new = 2 * str(inner.op)
        return Replacement(f"Comparisons are connected by {new}.", new, inner.op_span)
    if not (isinstance(left, ast.BinExp) and {str(call.op), str(left.op)} <= COMPARISONS):
        return None
    middle = left.right
    if isinstance(middle, ast.BinExp) and str(middle.op) in ("&", "|"):
        new = 2 * str(middle.op)
        return Replacement(f"Comparisons are connected by {new}.", new, middle.op_span)
    new = f"{left.span.text} && {left.right.span.text} {call.op} {call.right.span.text}"
    return Replacement(f"Write both comparisons: {new}", new, call.span)


def _two_operators(section: ast.OpSection, rest: ast.BinExp) -> str:
    """The advice for ``(% 2 == 0)``, a section with two operators."""
    new = f"\\x -> x {section.op} {rest.span.text}"
    text, place = section.span.source.text, section.span
    alone = text[place.start - 1:place.start] == "(" and text[place.end:place.end + 1] == ")"
    return Replacement(f"A section has one operator: {new}", new if alone else f"({new})", place)


def _negated(call: ast.BinExp, left: Type, function: str) -> str | None:
    """The advice for ``f -1``, which is a subtraction from ``function``, of type ``left``."""
    source = call.span.source
    end = next((each.span.end for each in (call.right, call.left)
                if each.span.text == function), call.span.end)
    start = re.compile(r"\s+(?=-[\w(])").match(source.text, end)
    hint: str = ""
    for more in (rf"(?:[ \t]+(?:{ATOM}))+", rf"(?:\s*[*/%]\s*(?:{ATOM}))*"):
        if isinstance(left, Arrow) and start is not None and (
                found := re.compile(rf"(-(?:{ATOM})){more}").match(source.text, start.end())):
            alone = f", or ({found[1]}) alone" * bool(re.search(r"[*/%]", found[0][len(found[1]):]))
            hint = Replacement(f"A negative argument stands in parentheses: ({found[0]}){alone}",
                               f"({found[0]})", Span(source, found.start(), found.end()), hint)
    return hint or None


def _power(solved: Substitution, call: ast.BinExp, operand: Type) -> str | None:
    """The advice for ``x ^ 2`` of numbers that are no integers: it is no power."""
    if str(call.op) == "^" and (operand in FLOATS or is_float(solved, operand)):
        hint = "A power is written **, and ^ is an operation on bits."
        return Replacement(hint, "**", call.op_span, hint)
    return None


def _apart(solved: Substitution, call: ast.Apply, text: str) -> Replacement | None:
    """The advice to write each component of a tuple as an argument; None if these are too many."""
    items = next((arg.items for arg in call.args
                  if isinstance(arg, ast.TupleExp) and arg.span.text == text), None)
    type_, free = call.fun.type, 1 - len(call.args)
    while type_ is not None and isinstance(arrow := solved.head(type_), Arrow):
        type_, free = arrow.codomain, free + 1
    if items is None:
        return None
    texts = [argument(item.span.text) for item in items]
    if len(items) > free:
        return nested(call, [*texts, argument(call.args[-1].span.text)]) if (
            call.fun.span.text == "replicate" and len(call.args) == 2) else None
    new = " ".join(texts)
    return Replacement(f"Arguments stand behind each other, without a tuple: {new}", new)


def nested(call: ast.Apply, args: Sequence[str]) -> Replacement:
    """The advice to write ``replicate n (replicate m x)`` for an array of arrays."""
    new = args[-1]
    for size in reversed(args[:-1]):
        new = f"replicate {size} {argument(new)}"
    return Replacement(f"Each size has its own replicate: {new}", new, call.span)


def arity(call: ast.Exp | None, function: Type | None = None) -> str | None:
    """The advice to write ``map2`` for ``map`` with two arrays; None if it is another call.

    ``function``: the type of the function that is mapped, if it does not fit.
    """
    if isinstance(call, ast.Apply) and len(call.args) == 2 and (zipped := _unzipped(call)):
        return zipped
    if isinstance(call, ast.Apply) and call.fun.span.text == "tabulate" and (
            len(call.args) in (3, 4)):
        new = f"tabulate_{len(call.args) - 1}d"
        return Replacement(f"For {len(call.args) - 1} sizes write {new}.", new, call.fun.span)
    if isinstance(call, ast.Apply) and call.fun.span.text == "iota" and len(call.args) == 2:
        new = "..<".join(argument(arg.span.text) for arg in call.args)
        return Replacement(f"A range from another number than 0 is: {new}", f"({new})", call.span)
    if isinstance(call, ast.Apply) and call.fun.span.text == "replicate" and len(call.args) > 2:
        return nested(call, [argument(arg.span.text) for arg in call.args])
    if not isinstance(call, ast.Apply) or not (
            named := re.fullmatch(r"(map|zip)(\d?)", call.fun.span.text)):
        return None
    maps = named[1] == "map"
    if maps and len(call.args) > 2 and isinstance(call.args[1], ast.Literal):
        new = f"({call.args[0].span.text} {call.args[1].span.text})"
        return Replacement(f"A function with its first argument stands in parentheses: {new}", new,
                           call.args[0].span.to(call.args[1].span))
    arrays, params = len(call.args) - maps, 0
    while isinstance(function, Arrow):
        function, params = function.codomain, params + 1
    if arrays == int(named[2] or 2 - maps) or (params and params != arrays):
        return None
    if maps and arrays > 1 and isinstance(call.args[0], ast.LambdaExp) and len(
            call.args[0].params) == 1 and isinstance(call.args[0].params[0], ast.PatTuple):
        zipped = " ".join([f"zip{arrays}" if arrays > 2 else "zip",
                           *(argument(arg.span.text) for arg in call.args[1:])])
        new = f"map {argument(call.args[0].span.text)} ({zipped})"
        return Replacement(f"A function of tuples goes along {zipped}.", new, call.span)
    what = "several arrays" if maps and arrays > 1 else f"{arrays} array{'s' * (arrays > 1)}"
    return _counted(call.fun, named[1], what, arrays)


def of_each(fun: ast.Exp, value: Type) -> str:
    """The advice for ``xs |> (* 2)``, whose value is an array; nothing for another pipe."""
    if not isinstance(fun, ast.OpSection | ast.LambdaExp) or not isinstance(value, Array):
        return ""
    source, new = fun.span.source, f"map ({fun.span.text.strip('()')})"
    grouped = source.text[fun.span.start - 1:fun.span.start] == "("
    place = Span(source, fun.span.start - grouped, fun.span.end + grouped)
    return Replacement(f"A function of each element is mapped: {new}", new, place)


def with_piped(fun: ast.Exp) -> str:
    """The advice for ``xs |> reduce (+) 0 xs``, which has the array twice."""
    if not isinstance(fun, ast.Apply):
        return ""
    new = fun.span.source.text[fun.span.start:fun.args[-1].span.start].rstrip(" (")
    return Replacement(f"The pipe gives the last argument: {new}", new, fun.span)


def without_neutral(fun: ast.Exp) -> str:
    """The advice for ``xs |> reduce (+)``; nothing for another function behind a pipe."""
    if isinstance(fun, ast.Apply) and fun.fun.span.text in FOLDS and len(fun.args) == 1:
        return f"The neutral element stands behind the operator: {fun.span.text} 0"
    return ""


def _unzipped(call: ast.Apply) -> str | None:
    """The advice to give the arrays to ``map2``, not what ``zip`` makes of them."""
    if not re.fullmatch(r"map\d?", call.fun.span.text) or len(call.args) != 2:
        return None
    function, arrays = call.args
    if not isinstance(arrays, ast.Apply) or not re.fullmatch(r"zip\d?", arrays.fun.span.text):
        return None
    shown = function.span.text if function.span.text[0] == "(" else argument(function.span.text)
    new = " ".join([f"map{len(arrays.args)}", shown,
                    *(argument(each.span.text) for each in arrays.args)])
    return Replacement(f"It takes arrays, and not what zip makes of them: {new}", new, call.span)


def _counted(function: ast.Exp, name: str, what: str, number: int) -> str | None:
    """The advice to write ``zip3`` or the like for a ``number`` of values, called ``what``."""
    new = f"{name}{number}" if number > 2 - (name == "map") else name
    return Replacement(f"For {what} write {new}.", new, function.span) if new in FUNCTIONS else None


def component_names(type_: Tuple) -> str:
    """Names for the components of a tuple, as a pattern has them."""
    return ", ".join("xyzuvw"[:len(type_.items)]) if len(type_.items) < 7 else "x, y, ..."


def _taken_apart(function: ast.LambdaExp, param: ast.Pattern) -> bool:
    """True if a function asks for parts of a parameter, by a pattern or by names of fields."""
    return isinstance(param, ast.PatTuple | ast.PatRecord) or re.search(
        rf"(?<![\w'.]){re.escape(param.span.text)}\.\w", function.body.span.text) is not None


def _neutral(solved: Substitution, wanted: Tuple | Record, neutral: ast.Exp) -> str:
    """The advice about a neutral element that is a single value, and elements that are not."""
    text = neutral.span.text
    parts = [part for _, part in wanted.fields] if isinstance(wanted, Record) else wanted.items
    new = f"({', '.join([text] * len(parts))})" if isinstance(wanted, Tuple) else (
        f"{{{', '.join(f'{label} = {text}' for label, _ in wanted.fields)}}}")
    hint = f"The neutral element has the parts of an element, as in {new}."
    plain = all(part in NUMBERS or is_one_of(NUMBERS, solved, part) for part in parts)
    return Replacement(hint, new, neutral.span) if plain and text == "0" else hint


def _result(wanted: Type, given: Type) -> str | None:
    """The advice about fields that the result of a function has or lacks; None if it is another."""
    while isinstance(wanted, Arrow) and isinstance(given, Arrow):
        wanted, given = wanted.codomain, given.codomain
    if isinstance(wanted, Record) and isinstance(given, Record) and (
            said := _field_difference(dict(wanted.fields), dict(given.fields))):
        return f"The function's result: {said[0].lower()}{said[1:]}"
    return None


def _folded(call: ast.Exp | None, operator: Arrow) -> str | None:
    """The advice about an operator that takes another type than it returns; None if unclear."""
    name = call.fun.span.text if isinstance(call, ast.Apply) else ""
    if name not in _REDUCTIONS or not isinstance(call, ast.Apply) or not isinstance(
            operator.codomain, Arrow):
        return None
    left, right, result = operator.domain, operator.codomain.domain, operator.codomain.codomain
    if left == right or result not in (left, right):
        return None
    hint = ONE_TYPE.format(name)
    if name not in FOLDS or name == "scan":
        return hint
    new = "foldl" if result == left else "foldr"
    return Replacement(f"{hint[:-1]}, or write {new}, which is sequential.", new, call.fun.span)


def _repeated(solved: Substitution, wanted: Array, given: Type, text: str, call: ast.Exp | None
              ) -> str | None:
    """The advice for a number in place of an array of numbers; None if it is of another type."""
    if isinstance(given, Prim) and isinstance(wanted.elem, Prim) and given is not wanted.elem:
        return ("A program makes no text of a number: return the number itself."
                if wanted.elem is Prim.U8 else None)
    size, name = wanted.size.variable, call.fun.span.text if isinstance(call, ast.Apply) else ""
    if name not in FUNCTIONS and (size is None or size in solved.flexible):
        return Replacement(f"An array of one element is written [{text}].", f"[{text}]")
    if not isinstance(call, ast.Apply):
        return None
    new = f"map (const {argument(text)}) {argument(call.args[-2].span.text)}"
    constant = Replacement(f"An array of equal elements is: {new}", f"({new})") if len(
        call.args) > 2 else ""
    if re.fullmatch(r"map\d?|filter|zip\d?", call.fun.span.text):
        return Replacement(f"All indices below it are: iota {argument(text)}",
                           f"(iota {argument(text)})", None, constant)
    return constant or None


def _joins(call: ast.Exp | None, text: str) -> bool:
    """True if ``text`` stands where an array is joined, or is the last of several arguments."""
    if isinstance(call, ast.BinExp):
        return str(call.op) == "++"
    return isinstance(call, ast.Apply) and len(call.args) > 1 and text == call.args[-1].span.text


def _field_difference(wanted: Mapping[str, Type], given: Mapping[str, Type]) -> str:
    """The fields that are missing, and the fields that should not be there."""
    missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
    said = [f"{what} {', '.join(names)}." for what, names in
            (("It lacks", missing), ("There is no", extra)) if names]
    return "  ".join(said)
