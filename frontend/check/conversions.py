"""Advice about numbers of a wrong type: conversions, comparisons, and which operand to convert."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import accumulate

from runelift.frontend.check.foreign import argument
from runelift.frontend.check.unify import Substitution
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.prelude import member
from runelift.frontend.syntax.types import Array, MetaVar, Type
from runelift.ir.base.errors import Replacement
from runelift.ir.base.source import Span
from runelift.ir.prim import FLOATS, INTS, NUMBERS, Prim

ONE_TYPE = "{} combines two values of one type: convert the elements by map first."
_DECLARATION = re.compile(r"^(?:def|entry)\b", re.MULTILINE)
FOLDS = frozenset({"reduce", "reduce_comm", "scan", "foldl", "foldr"})


def either(order: str | None, said: str | None) -> str | None:
    """The hint that arguments fit in another ``order``, or what is said of one of them.

    An integer of another type is rather converted.
    """
    if isinstance(order, Replacement) and isinstance(said, Replacement) and re.match(
            r"Convert it(s elements)?: (map )?i64\.[iu]\d", said):
        return Replacement(said, said.new, said.span, order)
    if isinstance(order, Replacement):
        return Replacement(order, order.new, order.span, said or "")
    return order or said


def of_number(solved: Substitution, wanted: Type, given: Type, text: str, call: ast.Exp | None
            ) -> str | None:
    """The advice to convert a number; None if it is about something else."""
    match wanted, given:
        case Prim(), Prim() if wanted in NUMBERS and (
                literal := re.fullmatch(r"(\d+(?:\.\d+)?)[iuf]\d+", text)) and (
                    wanted in FLOATS or "." not in text):
            return Replacement(f"Write {literal[1]}{wanted}.", f"{literal[1]}{wanted}")
        case Prim(), Prim() if wanted in NUMBERS and given in NUMBERS:
            return _converted(wanted, given, text, call)
        case Array(_, Prim() as elem), Array(_, Prim() as other) if (
                elem is not other and elem in NUMBERS and other in NUMBERS):
            said = written("Convert its elements", text, f"map {elem}.{other}")
            if isinstance(call, ast.Apply) and (named := re.fullmatch(
                    rf"([iuf]\d+)\.{elem}", call.args[0].span.text)) and named[1] != other.value:
                return Replacement(f"A conversion names both types: {named[1]}.{other}",
                                   f"{named[1]}.{other}", call.args[0].span)
            if _divides(elem, other, text, call):
                return f"{said}.  Convert the operands of / if the fraction counts."
            return _cut_off(said) if call is None and elem in INTS and other in FLOATS else said
        case Array(), Array() if isinstance(call, ast.Apply) and call.fun.span.text in FOLDS:
            return None
        case Array(_, Prim() as elem), Array(_, Prim.BOOL) if elem in NUMBERS:
            return written("Convert its elements", text, f"map {elem}.bool")
        case Array(_, Prim.BOOL), Array(_, Prim() as other) if other in NUMBERS:
            return written("Compare its elements with a number", text, "map (!= 0)")
        case Prim(), MetaVar() if (wanted in INTS and isinstance(call, ast.BinExp)
                                   and is_float(solved, given)):
            whole = _whole(text)
            return _float_of(
                call.left.span.text, wanted, "Convert the other operand", call.left.span,
                (f"An integer has no point: {whole}", whole) if whole else None, known=call)
        case Prim(), MetaVar() if wanted in INTS and is_float(solved, given) and (
                whole := _whole(text)):
            return Replacement(f"It is a float, and an integer is written {whole}.", whole)
        case Prim(), MetaVar() if wanted in INTS and is_float(solved, given) and (
                large := re.search(r"\b\d+(\.\d*)?[eE]\d+\b", text)) and (
                    whole := _whole(large[0])):
            return Replacement(f"{large[0]} is a float, and an integer is written {whole}.",
                               text.replace(large[0], whole))
        case Array(_, MetaVar() as elem), Array(_, Prim() as other) if (
                other in INTS and is_float(solved, elem)):
            return _float_of(text, other, "Convert its elements", known=call, each="map ")
        case MetaVar(), Prim() if given in INTS and is_float(solved, wanted):
            return _float_of(text, given, known=call)
        case MetaVar(), MetaVar() if is_one_of(INTS, solved, wanted) and is_float(solved, given):
            return "An integer has no point."
        case MetaVar(), Prim() if given in FLOATS and isinstance(call, ast.BinExp) and (
                by := {"<<": "*", ">>": "/"}.get(str(call.op))):
            new = f"{argument(call.left.span.text)} {by} 2 ** {argument(call.right.span.text)}"
            return Replacement(f"{call.op} is of the bits of integers: {new}", new, call.span)
        case MetaVar(), Prim() if given in FLOATS and is_one_of(INTS, solved, wanted):
            return written("Convert it", text, f"i64.{given}")
        case MetaVar(), Prim.BOOL if isinstance(call, ast.BinExp) and (
                connected := {"&": "&&", "|": "||", "^": "!="}.get(str(call.op))):
            return Replacement(f"Conditions are connected by {connected}.", connected,
                               call.op_span)
        case (Prim() | MetaVar()), Prim.BOOL if isinstance(call, ast.BinExp) and (
                wanted in NUMBERS or is_one_of(NUMBERS, solved, wanted)):
            return written("Convert it", text,
                            f"{wanted if isinstance(wanted, Prim) else 'i32'}.bool")
        case Prim.BOOL, (Prim() | MetaVar()) if (given in INTS or given in FLOATS) and isinstance(
                call, ast.Apply) and (rest := re.compile(
                    r"\s*(?:[=!]=|[<>]=?)\s*[\w.']+").match(call.span.source.text, call.span.end)):
            new = f"{call.fun.span.text} ({text}{rest[0]})"
            return Replacement(f"A call comes before an operator: {new}", new, Span(
                call.span.source, call.span.start, rest.end()))
        case Prim.BOOL, Prim() if given in INTS and (inverted := re.fullmatch(r"!\s*(.+)", text)):
            new = f"{argument(inverted[1])} == 0"
            return Replacement(f"An integer is compared with 0: {new}", f"({new})")
        case Prim.BOOL, (Prim() | MetaVar()) if given in INTS or given in FLOATS:
            return written("Compare it with a number", text)
    return None


def floats_of(program: str) -> Prim:
    """The type of a program's floats: of 64 bits, unless it names only floats of 32 bits."""
    return Prim.F32 if "f32" in program and "f64" not in program else Prim.F64


def coerced(declared: Type, found: Type, text: str, span: Span) -> str:
    """The hint for a size coercion at ``span`` to elements of another type; "" for another one."""
    match declared, found:
        case Array(_, Prim() as wanted), Array(_, Prim() as given) if (
                wanted is not given and {wanted, given} <= {*NUMBERS}):
            new = f"map {wanted}.{given} {argument(text)}"
            return Replacement(f"A coercion is of sizes only; elements are converted: {new}",
                               f"({new})", span)
    return ""


def _float_of(text: str, given: Prim, advice: str = "Convert it", span: Span | None = None,
              last: tuple[str, str] | None = None, known: ast.Exp | None = None,
              each: str = "") -> str:
    """The advice to write an integer as a float, of 64 bits or else of 32.

    The declaration around ``known`` decides: 32 bits come first if it names only such floats.  The
    other width follows only if that declaration names it.  If it names no float, the whole program
    counts.  ``last`` is a hint with its text; it follows if neither width cures.
    """
    program = "" if known is None else known.span.source.text
    if known is not None:
        begins = [each.start() for each in _DECLARATION.finditer(program, 0, known.span.start)]
        ends = _DECLARATION.search(program, known.span.end)
        own = program[begins[-1] if begins else 0:ends.start() if ends else None]
        program = own if "f32" in own or "f64" in own else program
    both = (Prim.F32, Prim.F64) if floats_of(program) is Prim.F32 else (Prim.F64, Prim.F32)
    wide, narrow = (written(advice, text, f"{each}{prim}.{given}") for prim in both)
    if not isinstance(wide, Replacement) or not isinstance(narrow, Replacement):
        return wide
    rest = str(wide) if last is None else Replacement(*last, None, str(wide))
    other = Replacement(narrow, narrow.new, span, rest) if str(both[1]) in program else rest
    return Replacement(wide, wide.new, span, other)


def _whole(text: str) -> str | None:
    """An integer that is written as a float, without point and exponent."""
    if re.fullmatch(r"\d+(\.\d*)?(e\+?\d)?\d?", text, re.IGNORECASE) and (
            float(text).is_integer()):
        return str(int(float(text)))
    return None


def _divides(wanted: Prim, given: Prim, text: str, call: ast.Exp | None) -> bool:
    """True if a result of integers is to be floats and a division in it has lost the fraction."""
    return call is None and wanted in FLOATS and given in INTS and (
        re.search(r"(?<!/)/(?!/)", text) is not None)


def _in_fold(call: ast.BinExp) -> str:
    """The advice about an operation in the function of a fold; "" for another operation."""
    before = call.span.source.text[:call.span.start]
    found = re.search(r"\b(reduce|reduce_comm|scan|foldl|foldr)\s*\(\\[^\n]*->[^\n]*$", before)
    if found is None:
        return ""
    order = {"foldl": r"\acc x -> e", "foldr": r"\x acc -> e"}.get(found[1])
    return f"The function of {found[1]} is written {order}." if order else (
        ONE_TYPE.format(found[1]))


def _converted(wanted: Prim, given: Prim, text: str, call: ast.Exp | None) -> str:
    """The advice to write a number of the type ``given`` as one of the type ``wanted``."""
    constant = re.fullmatch(rf"{given}\.(\w+)", text)
    if constant and member(str(wanted), constant[1]) is not None:
        return Replacement(f"Write {wanted}.{constant[1]}.", f"{wanted}.{constant[1]}")
    said = written("Convert it", text, f"{wanted}.{given}")
    cuts = wanted in INTS and given in FLOATS and not re.match(
        rf"{given}\.(floor|ceil|round|trunc)\b", text)
    fold = re.search(r"(?:^|\|>\s*)(reduce|reduce_comm)\s*\(\\(?!.*\|>)", text, re.DOTALL)
    if call is None and fold and {wanted, given} & {*INTS}:
        return f"{ONE_TYPE.format(fold[1])[:-1]}, or write foldl, which is sequential."
    if _divides(wanted, given, text, call):
        return f"{said}.  Convert the operands of / if the fraction counts."
    if isinstance(call, ast.BinExp):
        place = (call.right if text == call.left.span.text else call.left).span
        other = written("Convert the other operand", place.text, f"{given}.{wanted}")
        if isinstance(other, Replacement):
            other = Replacement(other, other.new, place, _in_fold(call))
        if re.match(rf"\(*{given}\.{wanted}\b", text):  # it was just converted
            return _in_fold(call) or other
        return other if cuts else said if not isinstance(said, Replacement) else (
            Replacement(said, said.new, said.span, other))
    if not cuts:
        return said
    of_type = isinstance(call, ast.Apply) and call.fun.span.text.startswith(f"{wanted}.")
    return _cut_off(said) if call is None or of_type else said


def _cut_off(advice: str) -> str:
    """Advice to convert floats to integers where it is unclear which of both types is meant."""
    return f"If the fraction may be cut off, convert: {advice.partition(': ')[2]}"


def is_one_of(prims: Collection[Prim], solved: Substitution, type_: Type) -> bool:
    """True if a type that is yet to be found is one of ``prims``."""
    return isinstance(type_, MetaVar) and (
        solved.allowed.get(type_.id) or {Prim.BOOL}) <= {*prims}


def is_float(solved: Substitution, type_: Type) -> bool:
    """True if a type that is yet to be found is one of floats."""
    return isinstance(type_, MetaVar) and solved.allowed.get(type_.id) == frozenset(FLOATS)


def written(advice: str, text: str, function: str = "") -> str:
    """The advice to apply a function to an expression, or without one to compare it with 0.

    The place of an operation begins behind the parentheses of its first operand, and ends before
    the parentheses of its last operand.  It is no place for another text then.
    """
    depths = list(accumulate((c == "(") - (c == ")") for c in text))
    lost = -min(0, *depths), depths[-1] - min(0, *depths)
    text = "(" * lost[0] + text + ")" * lost[1]
    new = f"{function} {argument(text)}" if function else f"{text} != 0"
    hint = f"{advice}: {new}"
    return hint if any(lost) else Replacement(hint, f"({new})")
