"""Lifted functions: functions that call themselves, for many points at once (rules G22, G23).

f takes values, f↑ takes k points of values.  An argument has a form:

- ``FIXED``: all calls have the value of the outermost call, which is the same at all points.
  f↑ knows it from outside.
- ``EACH``: an array of k values of one shape.
- ``SEGMENTS``: an array of scalars whose length differs between points.  f↑ takes the array that
  has them, and k places where they start: a slice is no copy.

A result is ``EACH``, or ``SEGMENTS``: the elements of all points, one point after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import free_vars, needed_for


class Form(Enum):
    """The form that an argument or result has in a lifted function."""

    FIXED = "fixed"
    EACH = "each"
    SEGMENTS = "segments"


@dataclass(frozen=True, slots=True)
class Lifted:
    """A lifted function: its name, and the forms of its arguments and results."""

    name: VName
    params: tuple[Form, ...]
    results: tuple[Form, ...]


def joined_calls(body: ir.Body, lifted: Mapping[VName, Lifted]
                 ) -> tuple[ir.Body, dict[VName, tuple[ir.Stm, ...]]]:
    """``body`` with calls that can be made together behind each other, and a list of them.

    The list has the second and later calls by the first result of the first call.  No such call
    needs another call of the list, and no check stands between them.
    """
    stms, partners, place = list(body.stms), dict[VName, tuple[ir.Stm, ...]](), 0
    if not lifted:
        return body, partners
    while place < len(stms):
        first = stms[place]
        if isinstance(first.exp, ir.Call) and first.exp.function in lifted and first.pat:
            group, rest = _group(first, stms[place + 1 :], first.exp.function)
            if len(group) > 1:
                partners[first.pat[0].name] = tuple(group[1:])
                args = [a for stm in group for a in free_vars(stm.exp)]
                before = needed_for(rest, args)
                stms[place:] = [*before, *group, *(s for s in rest if s not in before)]
                place += len(before)
            place += len(group) - 1
        place += 1
    return ir.Body(tuple(stms), body.result), partners


def _group(first: ir.Stm, stms: list[ir.Stm], function: VName
           ) -> tuple[list[ir.Stm], list[ir.Stm]]:
    """``first`` with calls of its function that do not need it, and all other statements."""
    group, rest, waits, checked = [first], list[ir.Stm](), {p.name for p in first.pat}, False
    for stm in stms:
        checked = checked or isinstance(stm.exp, ir.Assert)
        needs = bool(waits & free_vars(stm))
        if not checked and not needs and isinstance(stm.exp, ir.Call) and stm.pat and (
                stm.exp.function == function):
            group.append(stm)
            waits |= {p.name for p in stm.pat}
        else:
            rest.append(stm)
            waits |= {p.name for p in stm.pat} if needs else set()
    return group, rest
