"""Hints about unknown names: what is near, in a module, of another language, or defined later."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from runelift.frontend.check import around, foreign
from runelift.frontend.check.types import PRIMS
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.prelude import FUNCTIONS, member, members
from runelift.frontend.syntax.types import Array, Record, Sum
from runelift.ir.base.errors import Label, Replacement, did_you_mean
from runelift.ir.base.source import Span

if TYPE_CHECKING:
    from runelift.frontend.check.base import Base


def unknown(checker: Base, name: ast.QualName, span: Span) -> tuple[tuple[Label, ...], list[str]]:
    """Hints about the likely meaning of an unknown name."""
    if (later := checker.later.get(str(name))) is not None:
        return (Label(later.name_span, "defined only here"),), [
            "Move the definition before its use."]
    if name.quals:
        known = members(name.quals[0]) if name.quals[0] in PRIMS else {}
        if name.name in foreign.MEMBERS and known:
            return (), [foreign.MEMBERS[name.name]]
        if (short := foreign.SHORT.get(name.name, "")) in known:
            return (), [did_you_mean(f"{name.quals[0]}.{short}", span, str(name))]
        near = ['.'.join((*name.quals, each))
                for each in difflib.get_close_matches(name.name, known, n=1)]
        return (), [did_you_mean(each, span, str(name)) for each in near]
    if hints := foreign.bars(span) or around.meant(name.name, span):
        return (), [foreign.for_floats(each, span) for each in hints]
    base = checker.scope.find(name.name.rstrip("'"))
    if name.name[-1] == "'" and base is not None and (
            isinstance(matrix := checker.solved.resolve(base.scheme.type), Array)
            and isinstance(matrix.elem, Array)):
        new = f"transpose {name.name.rstrip(chr(39))}"
        return (), [Replacement(f"A matrix is transposed by a function: {new}", f"({new})")]
    owners = [prim for prim in ("i32", "f32", "f64") if member(prim, name.name) is not None]
    present = [prim for prim in PRIMS if member(prim, name.name) is not None
               and re.search(rf"\b{prim}\b", span.source.text)] if owners else []
    if len(present) == 1:
        new = f"{present[0]}.{name}"
        return (), [Replacement(f"Write {new}.", new)]
    if owners:
        return (), [f"Write {' or '.join(f'{prim}.{name}' for prim in owners)}."]
    short = foreign.SHORT.get(name.name, name.name.removesuffix("f"))
    short = foreign.SHORT.get(short, short)
    if short != name.name and member("f32", short) is not None:
        hint = Replacement(f"Write f32.{short}.", f"f32.{short}")
        return (), [foreign.for_floats(hint, span)]
    if said := _of_module(checker, name.name, span):
        return (), [said]
    inside = [each for each in checker.scope.top if each.endswith(f".{name}")]
    if len(inside) == 1:
        return (), [did_you_mean(inside[0], span, name.name)]
    if said := _of_type(checker, name.name, span):
        return (), [said]
    plain = (each for each in FUNCTIONS if "." not in each.lstrip("."))
    names = (*checker.scope.values, *checker.scope.top, *plain)
    near = difflib.get_close_matches(name.name, names, n=1, cutoff=0.7)
    near = [each for each in FUNCTIONS if sorted(each) == sorted(name.name)] or near
    near = near if len(name.name) > 5 or (
        len(name.name) > 1 and near and near[0][0].lower() == name.name[0].lower()) else []
    return (), [did_you_mean(each, span, str(name)) for each in near] or (
        foreign.in_function(name.name, span))


def _of_module(checker: Base, name: str, span: Span) -> str | None:
    """The hint for ``name.member`` where a module of a similar name has the member."""
    member_ = re.compile(r"\.([\w']+)").match(span.source.text, span.end)
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
