"""Checks of results while a program is tuned, by comparison with the default version.

A choice of versions is checked once on each dataset, on the device.  The default version is the
reference, so that it is never the one to blame.  What it should compute itself is known where a
dataset has an expected output
(:meth:`~runelift.runtime.tuner.measure.measurable.Measurable.unexpected`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.prim import Prim
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.run import Outcome
from runelift.runtime.tuner.replay.compare_results import (
    Differences,
    VersionPair,
    computes_with_floats,
    float_inputs,
)
from runelift.runtime.tuner.workers.placed import bound

if TYPE_CHECKING:
    from runelift.runtime.programs.program import Program
    from runelift.runtime.tuner.measure.measurable import Args, Force, Thresholds

MEMORY_SHARE = 8
"""One part in so many of the device's memory is for reference results of all datasets."""
_PAIR = VersionPair("", 0, 1)

Choice: TypeAlias = tuple[Any, ...]
"""Forced versions and thresholds, as a key."""


class WrongResults(UserError):
    """The results of versions differ from the right results."""


@dataclass(slots=True)
class _Reference:
    """The results by default on some arguments, and the choices that were checked with them.

    ``results`` are missing if the default version fails, or there is no room for them.
    """

    args: Args
    results: Sequence[Any] | None = None
    size: int = 0
    checked: dict[Choice, str | None] = field(default_factory=dict)


class ResultChecks:
    """The reference results of datasets, and what was found."""

    def __init__(self) -> None:
        self._references: dict[tuple[str, int], _Reference] = {}

    def drop(self, args: Args) -> None:
        """Forget everything about arguments that are needed no more."""
        for key in [key for key, each in self._references.items() if each.args is args]:
            del self._references[key]

    def check(self, program: Program, entry: str, args: Args, force: Force,
              thresholds: Thresholds, default: Thresholds, results: Sequence[Any]) -> None:
        """WrongResults if ``results`` of a run differ from the results by default.

        It has seven parameters, as a run is named by four of them.
        """
        known = self._references.get((entry, id(args)))
        if known is None:
            known = self._references[entry, id(args)] = _Reference(args)
            by_default = not force and thresholds == default
            self._take(program, known, results if by_default else _results(
                program, entry, args, default))
        choice = (*sorted(force.items()), "", *sorted(thresholds.items()))
        if choice not in known.checked:
            known.checked[choice] = None if known.results is None else _difference(
                program, entry, args, known.results, results)
        if (how := known.checked[choice]) is not None:
            raise WrongResults(f"the results differ from those of the default version: {how}")

    def _take(self, program: Program, known: _Reference, results: Sequence[Any] | None) -> None:
        """Keep reference results, if there is room for them."""
        if results is None:
            return
        known.size = sum(value[0].size for value in results if _is_array(value))
        used = sum(each.size for each in self._references.values())
        if used <= program.device.info.global_bytes // MEMORY_SHARE:
            known.results = results
        else:
            known.size = 0


def _results(program: Program, entry: str, args: Args, default: Thresholds
             ) -> Sequence[Any] | None:
    loaded = program.loaded
    try:
        given = bound(program, entry, args)
        outcome: Outcome = loaded.command_buffer.call_of(
            loaded.executable(entry), given, default, {}).perform(given)
    except (UserError, CompilerLimitation):
        return None
    return outcome.results


def _is_array(value: Any) -> bool:
    return isinstance(value, tuple) and isinstance(value[0], Buffer)


def _difference(program: Program, entry: str, args: Args, expected: Sequence[Any],
                found: Sequence[Any]) -> str | None:
    """The first difference of results in words, if it is more than rounding."""
    loaded, device = program.loaded, program.device
    plan = loaded.plan(entry)
    differences = Differences(device, device.plain, loaded.executable(entry).watch)
    differences.take_inputs(*float_inputs(plan, bound(program, entry, args)))
    rounded = computes_with_floats(site.launch.kernel for site in loaded.executable(entry).sites)
    for number, (one, other, spec) in enumerate(zip(expected, found, plan.results, strict=True)):
        what = f"value {number}" if len(expected) > 1 else "the value"
        if not _is_array(one):
            differences.scalars(_PAIR, spec.prim, one, other, rounded=rounded)
        elif one[2] != other[2]:
            return f"{what} has shape {_shape(other[2])}, not {_shape(one[2])}"
        else:
            differences.arrays(_PAIR, Prim(one[1]), one[0], other[0],
                               math.prod(max(0, int(size)) for size in one[2]), rounded=rounded)
        differences.settle()
        if (how := differences.differing.get(_PAIR)) is not None:
            return f"{how} of {what}" if "elements" in how else f"{how} in {what}"
    return None


def _shape(sizes: Sequence[int]) -> str:
    return "".join(f"[{size}]" for size in sizes)
