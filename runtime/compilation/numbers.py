"""Start values of program parameters that rewrite points name: values with which points match.

A parameter without a given value is 16, where that fits.  Otherwise it is the nearest number that
does, powers of two first.  Numbers are found by trying the points, as conditions of a point may
follow from the points before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from math import log2

from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names, is_skip_name
from runelift.ir.points import DEFAULT, with_rules
from runelift.ir.syntax import Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.outside.apply import OutsideRules
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.scheduling import Asked, Fits, Scheduling
from runelift.rewrite.pipeline import optimise
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.entry_points import asked_of
from runelift.runtime.rules.load import load_rules

LARGEST_TRIED = 64
"""All numbers up to it are tried, and larger powers of two."""
LARGEST_POWER = 1024
"""The largest power of two that is tried."""
MOST_TRIES = 64
"""The most times that a program is rewritten to find the numbers of its points."""


def nearness(number: int) -> tuple[bool, bool, float, int]:
    """The order in which numbers are preferred: powers of two first, near numbers first.

    >>> sorted((1, 2, 3, 5, 10, 16, 32), key=nearness)
    [16, 2, 32, 10, 5, 3, 1]
    """
    return number == 1, bool(number & number - 1), max(0.0, log2(number / DEFAULT)) * 8 + max(
        0.0, log2(DEFAULT / number)), number


TRIED = tuple(sorted({*range(1, LARGEST_TRIED + 1),
                      *(1 << k for k in range(LARGEST_POWER.bit_length()))}, key=nearness))
"""The numbers that are tried, in order."""


def start_values(program: Program, names: Names, schedule: Source | None,
                 given: Mapping[str, int], free: Iterable[str], rules: Source | None
                 ) -> dict[str, int]:
    """Values for ``free`` parameters with which all points match; the default where none do.

    The points are of a schedule, or of the program.  ``given`` are the values of the other
    parameters.
    """
    asked, values = asked_of(schedule, given, rules), dict[str, int]()
    if asked.schedule is None:
        return _start_values(program, names, asked, free, load_rules(rules))
    for each in (asked.schedule, *asked.schedule.versions):
        named = {name for step in each.steps for name in step.request.names}
        own = named & set(free) - values.keys()
        values |= _start_values(program, names, replace(asked, schedule=replace(
            each, versions=()), values={**asked.values, **values}), own, load_rules(rules))
    return values


def _start_values(program: Program, names: Names, asked: Asked, free: Iterable[str],
                  outside: OutsideRules) -> dict[str, int]:
    values = dict.fromkeys(free, DEFAULT)
    allowed = dict[str, list[int]]()
    for _ in range(MOST_TRIES):
        fits = _tried(program, names, asked, values, outside)
        if fits.matched:
            return values
        for name, found in fits.numbers.items():
            allowed[name] = [each for each in allowed.get(name, TRIED) if each in found]
            if not allowed[name]:
                return dict.fromkeys(values, DEFAULT)
            values[name] = allowed[name][0]
        if not fits.numbers:
            return dict.fromkeys(values, DEFAULT)
    return dict.fromkeys(values, DEFAULT)


def fitting_values(compiled: Compiled) -> dict[str, list[int]]:
    """All tried values of the parameters that points of a program name.

    They fit where the other parameters have the values that they have.
    """
    asked = asked_of(compiled.schedule, compiled.numbers, compiled.rules)
    wanted = {name: value for name, value in compiled.numbers.items() if not is_skip_name(name)}
    return {name: sorted(found) for name, found in _tried(
        compiled.core, compiled.names, asked, wanted, load_rules(compiled.rules),
        all_steps=True).numbers.items()}


def _tried(program: Program, names: Names, asked: Asked, values: Mapping[str, int],
           outside: OutsideRules, *, all_steps: bool = False) -> Fits:
    """The numbers that fit at the first step that does not match with these values, or at all."""
    fits = Fits(frozenset(values), TRIED, all_steps=all_steps)
    points = Scheduling({**BOOK, **outside.points},
                        replace(asked, values={**asked.values, **values}), needs=[], fits=fits)
    with warnings.catch_warnings(), with_rules(outside.points):
        warnings.simplefilter("ignore")  # the compilation that follows warns
        try:
            own = copy(names)
            optimise(program, own, Rewriting(own, outside=outside.always), points=points)
        except ProgramError:
            fits.matched = False
    return fits
