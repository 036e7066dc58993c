"""Warnings of promises that a program does not keep: what they say, and where."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator

from runelift.ir import syntax as ir
from runelift.ir.base.errors import Diagnostic, ProgramWarning
from runelift.ir.base.source import Source, in_source
from runelift.ir.prim import OPS, Prim
from runelift.ir.promise_checks import Breach, Clash, PromiseRun, drawn_breach, known_breach
from runelift.ir.promises import Promise, Promised, promised
from runelift.ir.traverse import statements_inside

_PROMISED = {
    Promise.ASSOCIATIVE: "The operator of {} is not associative: {}.",
    Promise.COMMUTATIVE: "The operator of {} is not commutative: {}.",
    Promise.NEUTRAL: "The neutral element of {} is not neutral: {}.",
}
_DEPENDS = "Results depend on how the work is split, and so on the device."


def broken_promises(program: ir.Program, source: Source, *, drawn: bool = False
                    ) -> Iterator[Diagnostic]:
    """A warning for each operator of ``source`` that breaks a promise by laws of arithmetic.

    ``drawn``: also for each operator that breaks one for random small values.
    """
    told: set[object] = set()
    for stm in statements_inside([fun.body for fun in program.funs]):
        for each in promised(stm.exp):
            found = known_breach(each)
            if found is None and drawn:
                found = drawn_breach(each)
            if found is None:
                continue
            place = _diagnostic(stm, each.construct, found, source, each)
            if place is not None and place.span not in told:
                told.add(place.span)
                yield place


def promise_run(source: Source, tell: Callable[[Diagnostic], None]) -> PromiseRun:
    """An interpreter that tells of each promise that is broken for the values of a run."""
    def told(stm: ir.Stm, construct: str, found: Breach | Clash) -> None:
        if (diagnostic := _diagnostic(stm, construct, found, source)) is not None:
            tell(diagnostic)
    return PromiseRun(told)


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Warn of what is wrong."""
    for each in diagnostics:
        warnings.warn(ProgramWarning(each), stacklevel=3)


def _diagnostic(stm: ir.Stm, construct: str, found: Breach | Clash, source: Source,
                each: Promised | None = None) -> Diagnostic | None:
    """The warning, at the place in ``source``; None if the statement has none there."""
    places = [] if stm.loc is None else in_source(stm.loc, source)
    span = places[0].span([source]) if places else None
    if span is None:
        return None
    if isinstance(found, Clash):
        at = "".join(f"[{index}]" for index in found.place)
        return Diagnostic(
            "broken-promise", span, f"Two elements are scattered to {at}: {found.first} and "
            f"{found.second}.  Either may win.", severity="warning",
            hints=("Use reduce_by_index, whose operator decides.",))
    hint = _DEPENDS
    if found.promise is Promise.NEUTRAL and each is not None and (
            neutral := _neutral_of(each.op)) is not None:
        hint = f"The neutral element of this operator is {neutral}.  {_DEPENDS}"
    elif found.promise is Promise.ASSOCIATIVE:
        hint = f"A loop goes from left to right.  {_DEPENDS}"
    return Diagnostic("broken-promise", span,
                      _PROMISED[found.promise].format(construct, found.example),
                      hints=(hint,), severity="warning")


def _neutral_of(op: ir.Operator) -> str | None:
    """The neutral element that a primitive operator has, if it has one for all types."""
    if op.primitive is None:
        return None
    name, prim = op.primitive
    law = OPS[name].neutral
    return None if law is None else str(law(prim)).lower() if prim is Prim.BOOL else str(law(prim))
