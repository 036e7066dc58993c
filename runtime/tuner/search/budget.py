"""The budget of a search, in runs or in seconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runelift.ir.base.errors import UserError
from runelift.ir.base.numerals import whole_number


@dataclass(frozen=True, slots=True)
class Budget:
    """The number of runs (of one dataset each) and the seconds of them that are allowed."""

    runs: int | None = None
    seconds: float | None = None

    def spent(self, runs: int, seconds: float) -> bool:
        """True if no further run is allowed after so many runs and seconds."""
        return ((self.runs is not None and runs >= self.runs)
                or (self.seconds is not None and seconds >= self.seconds))


def parse_budget(text: str) -> Budget:
    """The budget that a user means: a number of runs, or a time with its unit.

    >>> parse_budget("200"), parse_budget("1.5s"), parse_budget("500ms"), parse_budget("2min")
    ... # doctest: +NORMALIZE_WHITESPACE
    (Budget(runs=200, seconds=None), Budget(runs=None, seconds=1.5),
     Budget(runs=None, seconds=0.5), Budget(runs=None, seconds=120.0))
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min)", text)
    if match:
        return Budget(seconds=float(match[1]) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[match[2]])
    if (runs := whole_number(text)) is not None:
        return Budget(runs=runs)
    raise UserError(f"'{text}' is no budget: give a number of runs (200) or a time (30s).")


class BudgetSpent(Exception):
    """No further run is allowed."""
