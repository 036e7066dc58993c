"""Hints about unknown names: what is near, in a module, of another language, or defined later.

Also hints about functions that are hidden, and about values of hidden types.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from runelift.frontend.check import around, foreign
from runelift.frontend.check.arguments import elem_of
from runelift.frontend.check.conversions import floats_of
from runelift.frontend.check.types import PRIMS
from runelift.frontend.modules.library import library_names
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.advice import SIGNATURE, for_floats
from runelift.frontend.syntax.prelude import FUNCTIONS, LIBRARY_MODULES, member, members
from runelift.frontend.syntax.types import Abstract, Array, Arrow, Record, Sum, Type
from runelift.ir.base.errors import Label, Replacement, did_you_mean
from runelift.ir.base.source import Span
from runelift.ir.prim import FLOATS, NUMBERS, Prim

if TYPE_CHECKING:
    from runelift.frontend.check.base import Base


def unknown(checker: Base, name: ast.QualName, span: Span) -> tuple[tuple[Label, ...], list[str]]:
    """Hints about the likely meaning of an unknown name."""
    if signed := re.compile(r"\n(([a-z_][\w']*)\s*:[^=\n]*)\n").match(
            span.source.text, span.start - 1):
        return (), [Replacement(SIGNATURE, f"-- {signed[1]}",
                                Span(span.source, signed.start(1), signed.end(1)))]
    if (later := checker.defined_later(name)) is not None:
        return (Label(later.name_span, "defined only here"),), [
            "Move the definition before its use."]
    if str(name) == checker.declared.rpartition(".")[2]:
        return (), ["Only a declaration that has parameters can name itself."]
    if not name.quals and (ended := _ended(checker, name.name, span)):
        return ended
    if name.quals:
        known = members(name.quals[0]) if name.quals[0] in PRIMS else {}
        if name.name in foreign.MEMBERS and known:
            return (), [foreign.MEMBERS[name.name]]
        if (short := foreign.SHORT.get(name.name, "")) in known:
            return (), [did_you_mean(f"{name.quals[0]}.{short}", span, str(name))]
        prim = foreign.CONVERSIONS.get(name.name) or foreign.TYPES.get(name.name, "")
        if known and prim in PRIMS:
            return (), [did_you_mean(f"{name.quals[0]}.{prim}", span, str(name))]
        if member("f64", name.name) is not None and (one := around.call_behind(span, 1)):
            prim = str(floats_of(span.source.text))
            new = f"{prim}.{name.name} ({prim}.{name.quals[0]} {one[0][0]})"
            told = f"Only floats have {name.name}: {new}"
            return (), [Replacement(told, new, Span(span.source, span.start, one[1]), told)]
        alike = [each for each in known if each.lower() == name.name.lower()]
        near = ['.'.join((*name.quals, each))
                for each in alike or difflib.get_close_matches(name.name, known, n=1)]
        return (), [did_you_mean(each, span, str(name)) for each in near]
    if hints := foreign.bars(span) or around.meant(name.name, span):
        return (), [for_floats(each, span.source) for each in hints]
    base = checker.scope.find(name.name.rstrip("'"))
    if name.name[-1] == "'" and base is not None and (
            isinstance(matrix := checker.solved.resolve(base.scheme.type), Array)
            and isinstance(matrix.elem, Array)):
        new = f"transpose {name.name.rstrip(chr(39))}"
        return (), [Replacement(f"A matrix is transposed by a function: {new}", f"({new})")]
    if name.name[-1] == "'" and base is not None and isinstance(base.scheme.type, Arrow) and (
            one := around.call_behind(span, 1)) and base.scheme.type.domain in FLOATS:
        new = f"vjp {name.name[:-1]} {one[0][0]} 1"
        return (), [Replacement(f"The derivative is: {new}", f"({new})",
                                Span(span.source, span.start, one[1]))]
    if name.name[-1] == "'" and (name.name.rstrip("'") in {*FUNCTIONS, *library_names()} or (
            base is not None and isinstance(base.scheme.type, Arrow))):
        return (), [did_you_mean(name.name.rstrip("'"), span, name.name)]
    owners = [prim for prim in ("i32", "f32", "f64") if member(prim, name.name) is not None]
    present = [prim for prim in PRIMS if member(prim, name.name) is not None
               and re.search(rf"\b{prim}\b", span.source.text)] if owners else []
    if typed := _of_argument(checker, name.name, present, span):
        return (), [typed]
    if owners:
        return (), [f"Write {' or '.join(f'{prim}.{name}' for prim in owners)}."]
    short = foreign.SHORT.get(name.name, name.name.removesuffix("f"))
    short = foreign.SHORT.get(short, short)
    if short != name.name and member("f32", short) is not None:
        prim = for_floats("f32", span.source)
        return (), [_of_type_of_numbers(checker, f"{prim}.{short}", span)]
    if said := (_of_module(checker, name.name, span) or _of_form(checker, name.name, span)
                or _converting(checker, name.name, span)):
        return (), [said]
    inside = [each for each in checker.scope.top if each.endswith(f".{name}")]
    if len(inside) == 1:
        return (), [did_you_mean(inside[0], span, name.name)]
    if said := _of_type(checker, name.name, span):
        return (), [said]
    alike = [each for each in (*checker.scope.values, *checker.scope.top)
             if each.lower() == name.name.lower()]
    if len(alike) == 1:
        return (), [did_you_mean(alike[0], span, name.name)]
    if name.name in LIBRARY_MODULES["lift"]:
        return (), [did_you_mean(f"lift.{name.name}", span, name.name)]
    functions = (*FUNCTIONS, *library_names())
    plain = (each for each in functions if "." not in each.lstrip("."))
    own = (*checker.scope.values, *checker.scope.top)
    near = difflib.get_close_matches(name.name, own, n=1, cutoff=0.7) or (
        difflib.get_close_matches(name.name, [*plain], n=1, cutoff=0.75))
    near = [each for each in functions if sorted(each) == sorted(name.name)] or near
    near = near if len(name.name) > 5 or (
        len(name.name) > 1 and near and near[0][0].lower() == name.name[0].lower()) else []
    return (), [did_you_mean(each, span, str(name)) for each in near] or (
        foreign.in_function(name.name, span))


def _ended(checker: Base, name: str, span: Span) -> tuple[tuple[Label, ...], list[str]] | None:
    """The hint about a name of an expression that has ended; None if there is no such name.

    A loop's value has the names of the loop's pattern.
    """
    place = next((each.span for each in reversed(checker._typed) if isinstance(each, ast.PatName)
                  and each.name == name and each.span.source is span.source
                  and each.span.end <= span.start), None)
    if place is None:
        return None
    label = (Label(place, f"'{name}' is bound here, and ends with this expression"),)
    for exp in reversed(checker._typed):
        if isinstance(exp, ast.LoopExp) and place in exp.pattern.span:
            new = exp.pattern.span.text
            hint: str = f"The value of the loop gets its names anew: let {new} = loop ..."
            outer = next((each.pattern.span for each in checker._typed if isinstance(
                each, ast.LetPat) and each.value is exp), None)
            if outer is not None and outer.text.isidentifier() and new == name:
                hint = Replacement(f"The value of the loop is {outer.text}.", outer.text)
            elif outer is not None and len(re.findall(
                    rf"\b{re.escape(outer.text)}\b", span.source.text)) == 1:
                hint = Replacement(hint, new, outer, hint)
            return label, [hint]
    return label, ["A name is known only inside of the expression that binds it."]


def _type_of(checker: Base, text: str) -> Type | None:
    """The type of a name in scope; None if there is no such."""
    binding = checker.scope.find(text)
    return None if binding is None else checker.solved.resolve(binding.scheme.type)


def _of_argument(checker: Base, name: str, present: Sequence[str], span: Span
                 ) -> Replacement | None:
    """The hint that a function is a member of a type of numbers.

    That is the type of its argument, or else the one that is ``present`` in the program and cures.
    """
    one = around.call_behind(span, 1) or around.call_behind(span, 2)
    type_ = None if one is None else _type_of(checker, one[0][0])
    elem = None if type_ is None else elem_of(type_)
    if elem in NUMBERS and member(str(elem), name) is not None:
        present = [str(elem)]
    elif elem is Prim.BOOL and name == "sum" and len(present) > 1:
        present = ["i64"]
    if len(present) == 1:
        return _of_type_of_numbers(checker, f"{present[0]}.{name}", span)
    if one is None or len(present) < 2:
        return None
    place = Span(span.source, span.start, one[1])
    texts = [f"{prim}.{name}{place.text[len(span.text):]}" for prim in present]
    plain = f"Write {' or '.join(f'{prim}.{name}' for prim in present)}."
    return _candidates([(f"Write {each}.", each) for each in texts], place, plain)


def _of_type_of_numbers(checker: Base, new: str, span: Span) -> Replacement:
    """The hint for ``max xs`` or ``max(a, b)``: ``new``, with its arguments if they tell more."""
    prim, _, member_ = new.partition(".")
    hint = Replacement(f"Write {new}.", new, None, f"Write {new}.")
    one = around.call_behind(span, 1)
    type_ = None if one is None else _type_of(checker, one[0][0])
    if one is not None and isinstance(type_, Array):
        place, text = Span(span.source, span.start, one[1]), one[0][0]
        whole = {"max": "maximum", "min": "minimum"}.get(member_, member_)
        if whole in ("maximum", "minimum", "sum", "product"):
            if type_.elem is Prim.BOOL and whole == "sum":
                text = f"(map {prim}.bool {text})"
            rows = isinstance(type_.elem, Array)
            parts = [f"{prim}.{whole} {text}"] if not rows else [
                f"map {prim}.{whole} {text}", f"{prim}.{whole} (flatten {text})"]
            return _candidates([(f"Write {each}.", each) for each in parts], place)
        if isinstance(type_.elem, Prim):
            mapped = f"map {new} {text}"
            return Replacement(f"It takes single values: {mapped}", mapped, place, hint)
    for count in (2, 3):
        if (several := around.call_behind(span, count)) is not None and (
                span.source.text[span.end] == "("):
            called = " ".join([new, *several[0]])
            return Replacement(f"Write {called}.", called,
                               Span(span.source, span.start, several[1]), hint)
    return hint


def _candidates(said: Sequence[tuple[str, str]], place: Span, plain: str = "") -> Replacement:
    """The first of several hints whose text cures, or else a ``plain`` one."""
    hint, new = said[0]
    rest = _candidates(said[1:], place, plain) if len(said) > 1 else plain
    return Replacement(hint, new, place, rest)


def _of_form(checker: Base, name: str, span: Span) -> str | None:
    """The hint for ``x r`` of a record with the field, ``let a[3] = e``, or ``loop x for``."""
    if re.search(r"\blet\s+$", span.source.text[:span.start]) and (
            sizes := re.compile(r"(\[[^\[\]\n]*\])+(?=\s*=\s*[\[{])").match(
                span.source.text, span.end)):
        return Replacement(f"A name is defined without the sizes of its value: let {name} = e",
                           name, Span(span.source, span.start, sizes.end()))
    if re.search(r"\bloop\s+$", span.source.text[:span.start]):
        return f"A loop says what it begins with: loop {name} = a for i < n do e"
    if re.search(r"\b(map|filter|all|any)\s+$", span.source.text[:span.start]) and any(
            isinstance(each.definition, Record) and name in dict(each.definition.fields)
            for each in checker.abbreviations.values()):
        return Replacement(f"A function that takes a field is written (.{name}).", f"(.{name})")
    one = around.call_behind(span, 1)
    type_ = None if one is None else _type_of(checker, one[0][0])
    if one is None or not isinstance(type_, Record) or name not in dict(type_.fields):
        return None
    new = f"{one[0][0]}.{name}"
    return Replacement(f"A field is written: {new}", new, Span(span.source, span.start, one[1]))


_CONVERTING = re.compile(r"(?:to_?|as_?|from_?\w+_?to_?|\w+_to_?|\w+2)(f16|f32|f64|[iu]\d+|int\d*|"
                         r"float\d*|double)", re.IGNORECASE)


def _converting(checker: Base, name: str, span: Span) -> str | None:
    """The hint for a conversion such as ``to_f32 x``."""
    found, one = _CONVERTING.fullmatch(name), around.call_behind(span, 1)
    if found is None:
        return None
    to = foreign.CONVERSIONS.get(found[1].lower()) or foreign.TYPES.get(found[1].lower(), "")
    type_ = None if one is None else _type_of(checker, one[0][0])
    if one is None or not isinstance(type_, Prim) or to not in PRIMS:
        return "A conversion names both types: f32.i64 x"
    new = f"{to}.{type_} {one[0][0]}"
    return Replacement(f"A conversion names both types: {new}", new,
                       Span(span.source, span.start, one[1]))


def _of_module(checker: Base, name: str, span: Span) -> str | None:
    """The hint for a module as a value, or for a member of a module with a similar name."""
    member_ = re.compile(r"\.([\w']+)").match(span.source.text, span.end)
    if re.search(rf"^[ \t]*(local[ \t]+)?module[ \t]+{re.escape(name)}\b", span.source.text,
                 re.MULTILINE):
        return (f"'{name}' is a module, and no value: a module is applied by module m = f n, and "
                "its members are m.x")
    if member_ is None:
        return None
    whole = Span(span.source, span.start, member_.end())
    known = [each for each in checker.scope.top if each.endswith(member_[0])]
    typed = [each for each in known for prim in PRIMS
             if f"_{prim}." in each and re.search(rf"\b{prim}\b", span.source.text)]
    known = [re.sub(r"^([\w']+)\.", "", each) if re.search(
        rf'import "[^"]*\b{each.partition(".")[0]}"', span.source.text) else each
        for each in typed or known]
    near = difflib.get_close_matches(whole.text, known, n=1)
    return Replacement(f"Did you mean '{near[0]}'?", near[0], whole) if near else None


def _of_type(checker: Base, name: str, span: Span) -> str | None:
    """The hint for the name of a type or of a constructor that is used as a value."""
    if (type_ := checker.abbreviations.get(name)) is not None:
        body = type_.definition
        if isinstance(body, Record):
            fields = ", ".join(f"{label} = ..." for label, _ in body.fields)
            return f"'{name}' is a type.  Its values are written {{{fields}}}."
        return (f"'{name}' is a type, {checker._show(body)}, and no function: a value is written "
                "without it.")
    for short in checker.abbreviations.values():
        known = short.definition.fields if isinstance(short.definition, Sum) else ()
        if near := next((c for c, _ in known if c.lower() == name.lower()), None):
            return did_you_mean(f"#{near}", span, name)
    return None


def functions(checker: Base) -> set[str]:
    """The names of the functions of the prelude and the program."""
    return {*FUNCTIONS, *library_names(), *(
        name for name, binding in checker.scope.top.items()
        if isinstance(binding.scheme.type, Arrow))}


def of_literal(checker: Base, expected: Type, text: str) -> str | None:
    """The hint for a number where the type of a module is wanted: the module's conversion."""
    wanted = checker.solved.resolve(expected)
    if not isinstance(wanted, Abstract) or not re.fullmatch(r"-?\d+(\.\d+)?", text):
        return None
    module = wanted.shown.rpartition(".")[0]
    prims = ("f64", "f32") if "." in text else ("i64", "i32", "f64", "f32")
    found = (f"{module}.{prim}" for prim in prims if (
        binding := checker.scope.top.get(f"{module}.{prim}")) is not None and isinstance(
            binding.scheme.type, Arrow) and binding.scheme.type.codomain == wanted)
    new = next((f"{each} {foreign.argument(text)}" for each in found), None)
    return new and Replacement(f"{wanted.shown} is no type of literals: {new}", f"({new})")


def of_hidden(checker: Base, found: Type) -> str | None:
    """The hint about a value whose type a module hides: the functions that take it."""
    given = checker.solved.resolve(found)
    if not isinstance(given, Abstract):
        return None
    module, _, type_name = given.shown.rpartition(".")
    functions = {name: type_.codomain for name, binding in checker.scope.top.items()
                 if name.startswith(f"{module}.")
                 and isinstance(type_ := binding.scheme.type, Arrow) and type_.domain == given}
    names = list(dict.fromkeys(re.sub(r"'\d+$", "", name) for name, result in functions.items()
                               if result != given or functions.keys() == {name}))
    hint = f"The module type hides what {given.shown} is."
    return f"{hint}  Use {' or '.join(names)}, or show it: with {type_name} = ..." if (
        names) else hint
