"""Hints about sizes that are not known to be equal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from runelift.frontend.check.foreign import argument
from runelift.frontend.check.unify import Substitution
from runelift.frontend.check.wording import DECLARED
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node
from runelift.frontend.syntax.types import Array
from runelift.ir.base.errors import Label, Replacement
from runelift.ir.base.source import Span
from runelift.ir.sizes import Applied, Size

_COUNTED_BACK = re.compile(r"\[([^\[\]:]*):-(\d+)\]$")
"""A slice to the last elements but some, as in other languages."""


def size_advice(solved: Substitution, left: Size, right: Size, names: tuple[str, str],
                what: str, span: Span) -> list[str]:
    """Advice about two sizes of ``what`` at a place that are not known to be equal."""
    for size, name in zip((left, right), names, strict=True):
        if name and (free := sorted(size.variables() & solved.flexible)):
            return [f"No equation is solved for {free[0].base}: the size of the argument must be "
                    "written as the declaration says it, which a size coercion can do."]
    if counted_back := _COUNTED_BACK.search(span.text):
        array, (first, back) = span.text[:counted_back.start()], counted_back.groups()
        said = f"A bound counts from the first element: [{first}:length {argument(array)} - {back}]"
        new = f"init {argument(array)}"
        return [Replacement(f"All elements but the last are: {new}", f"({new})", span, said)
                if not first and back == "1" else said]
    by = (left - right).constant
    if by and (left.variables() or right.variables()):
        return [f"They differ by {abs(by)}, so they are never equal: take a slice of one of them."
                ] * (what != DECLARED)
    if left.constant is not None and right.constant is not None:
        return ["All elements of an array have one size: fill the shorter ones up."
                ] * (what == "an element")
    if all(names) and len((left - right).variables()) == 1 and not any(
            isinstance(factor, Applied) for term, _ in (left - right).terms for factor in term):
        return []  # equal for few numbers only
    shown = [name for name in names if name]
    hints = [] if len(shown) == 2 else ["A size [] has no name, or is known only to the running "
                                        "program."]
    if shown:
        hints.append(f"If they are equal, say so with a size coercion: e :> [{shown[0]}]t.")
    return hints


class OwnSizes(NamedTuple):
    """Hints about two size parameters of a declaration, and the place of these."""

    hints: Sequence[str] = ()
    labels: tuple[Label, ...] = ()


def of_dimensions(call: ast.Exp | None, span: Span, left: str, right: str) -> OwnSizes:
    """The hints about two size parameters of a function, which are equal only by chance."""
    text = span.source.text
    heads = list(re.finditer(r"^(?:def|entry)\s+[\w']+\s*((?:\s*\[[\w']+\])+)",
                             text[:span.start], re.MULTILINE))
    own = set(re.findall(r"[\w']+", heads[-1][1])) if heads else set()
    if call is None or not {left, right} <= own:
        return OwnSizes()
    if isinstance(call, ast.Apply) and call.fun.span.text in ("reduce", "scan") and (
            len(call.args) == 3 and span == call.args[2].span):
        return OwnSizes(["The neutral element has the sizes of an element of the array."])
    if span.text.startswith("transpose "):
        return OwnSizes(["map goes along the rows: it may fit without transpose."])
    if re.search(r"\]\s*\[", text[heads[-1].end():span.start]):
        return OwnSizes([f"{left} and {right} are two sizes: another dimension may be meant."])
    place = Span(span.source, heads[-1].start(1), heads[-1].end(1))
    return OwnSizes([f"If {left} and {right} are always equal, declare both as [{left}]."],
                    (Label(place, f"{left} and {right} are any two sizes"),))


def bracketed(typed: Sequence[Node]) -> Replacement | None:
    """The hint for a range in brackets, which is an array of one array; None if there is none."""
    for exp in typed:
        match exp:
            case ast.ArrayExp(_, (ast.Range(inner),)):
                return Replacement(f"A range is an array without brackets: {inner.text}",
                                   f"({inner.text})", exp.span)
    return None


def ranged(solved: Substitution, typed: Sequence[Node], left: Size, right: Size, otherwise: str
           ) -> Replacement | None:
    """The hint for a range that includes its end, or leaves it out, against what is meant.

    ``otherwise`` is the hint if that is no cure.  None if no range has the longer or shorter size.
    """
    by = (left - right).constant
    if by not in (1, -1):
        return None
    longer, shorter = (left, right) if by == 1 else (right, left)
    hint = otherwise
    for old, kind, does, size in (("..<", "...", "leaves out", shorter),
                                  ("...", "..<", "includes", longer)):
        for exp in typed:
            if isinstance(exp, ast.Range) and exp.kind == old and exp.type is not None:
                type_, new = solved.resolve(exp.type), exp.span.text.replace(old, kind)
                if isinstance(type_, Array) and type_.size == size:
                    hint = Replacement(f"A range with '{old}' {does} its end: {new}", new,
                                       exp.span, hint)
    return hint if isinstance(hint, Replacement) and hint is not otherwise else None


def column(span: Span) -> list[str]:
    """The hint for ``xss[:][k]``, which is a row; nothing for another text from ``span`` on."""
    end = span.source.text.find("\n", span.end)
    pattern = re.compile(r"\[\s*:\s*\]\[([^\[\]\n]*)\]")
    before = span.source.text.rfind("\n", 0, span.start) + 1
    found = pattern.search(span.source.text, span.start, end if end >= 0 else len(
        span.source.text)) or pattern.search(span.source.text, before, span.start)
    if found is None:
        return []
    new = f"[:, {found[1]}]"
    return [Replacement(f"Behind [:] an index is of all rows again; a column is {new}.", new,
                        Span(span.source, found.start(), found.end()))]
