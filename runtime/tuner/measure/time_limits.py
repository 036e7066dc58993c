"""Time limits of runs while a program is tuned."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass

from runelift.ir.base.errors import CompilerLimitation, UserError

UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
UNLIMITED = "none"
TOO_LONG = "timeout: not over after"
"""The begin of the reason of a run that was stopped, not of its build."""


class RunStopped(CompilerLimitation):
    """A run was ended after so many ``seconds``, or ended its process.

    ``during`` names the version (``site/index``), ``par`` says what its guard compares with, and
    ``best`` what the best version took, where that is known.  If the process was ``killed`` from
    outside, the run may do no harm when it is made again.
    """

    killed = False

    def __init__(self, reason: str, during: str | None = None, par: int | None = None,
                 seconds: float = 0.0, best: float | None = None) -> None:
        super().__init__(reason)
        self.during = during
        self.par = par
        self.seconds = seconds
        self.best = best


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The limit of runs: ``factor`` times the quickest on the inputs, at least ``least`` seconds.

    No run takes more than ``most``.

    Stopping one costs about as much as ``least``: a process has to be started anew.  The first run
    on inputs is that of the default version, without which there would be no result at all; it is
    given ``first`` seconds.  At the ``end``, a time of :func:`time.perf_counter`, the budget of the
    tuning is spent: runs take ``least`` seconds more at most.
    """

    factor: float = 10.0
    least: float = 2.0
    most: float = math.inf
    first: float = 600.0
    end: float = math.inf

    def after(self, quickest: float | None) -> float:
        """The seconds that a run may take if the quickest so far took so many."""
        seconds = self.first if quickest is None else min(
            max(self.least, self.factor * quickest), self.most)
        if math.isinf(self.end):
            return seconds
        return min(seconds, max(self.least, self.end - time.perf_counter()))


def parse_time_limit(text: str, default: TimeLimit | None = None) -> TimeLimit:
    """The limit that a user means: a time with its unit, a factor, or none at all.

    >>> parse_time_limit("5s").most, parse_time_limit("500ms").most, parse_time_limit("3x").factor
    (5.0, 0.5, 3.0)
    >>> parse_time_limit("none").after(1e-3)
    inf
    >>> parse_time_limit("5s").after(1e-3)
    5.0
    """
    default = default or TimeLimit()
    if text == UNLIMITED:
        return TimeLimit(math.inf, math.inf, math.inf, math.inf)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min|x)", text)
    if match is None or not float(match[1]):
        raise UserError(f"'{text}' is no time limit: give a time (5s, 500ms), how many times as "
                        "long as the best a run may take (10x), or 'none'.")
    number = float(match[1])
    if match[2] == "x":
        return TimeLimit(number, default.least, first=default.first)
    seconds = number * UNITS[match[2]]
    return TimeLimit(math.inf, seconds, seconds, seconds)
