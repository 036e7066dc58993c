"""From values to places along an axis, and the values that are written beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TICKS = 6
"""About how many values are written beside an axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The quantity of an axis: a label with its unit, and a function that writes values.

    ``names`` are words for values that are no numbers, such as a threshold that is never reached.
    """

    label: str
    write: Callable[[float], str]
    logarithmic: bool = False
    names: tuple[tuple[float, str], ...] = ()
    zero: bool = True
    """True if zero is on the axis, whatever the values are."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Places ``start`` to ``end`` for the values ``low`` to ``high``.

    >>> half = Scale(1.0, 100.0, 0.0, 50.0, logarithmic=True)
    >>> half(10.0), half.ticks()
    (25.0, [1.0, 10.0, 100.0])
    >>> Scale(0.0, 9.0, 0.0, 90.0).ticks()
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, logarithmic: bool,
             zero: bool = True) -> Scale:
        """A scale that has room for all values, and for ``zero`` unless it is logarithmic."""
        found = [v for v in values if math.isfinite(v) and (v > 0 or not logarithmic)]
        low, high = min(found, default=1.0), max(found, default=1.0)
        if logarithmic:
            room = (high / low) ** 0.04 if high > low else 2.0
            return cls(low / room, high * room, start, end, True)
        if zero:
            low, high = min(low, 0.0), max(high, 0.0)
        return cls(low, high + 0.04 * (high - low) if high > low else low + 1.0, start, end)

    def __call__(self, value: float) -> float:
        """The position on the page of a value."""
        if self.logarithmic:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round numbers within the scale, to be labelled."""
        if self.logarithmic and len(powers := self._powers()) > 1:
            return powers
        step = _round((self.high - self.low) / (TICKS - 1))
        first = math.ceil(self.low / step - 1e-9)
        return [round(k * step, 12) for k in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _powers(self) -> list[float]:
        """Powers of ten, every second, third, ... if they are many; 1, 2 and 5 if they are few."""
        first, last = (math.log10(each) for each in (self.low, self.high))
        powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
        step = -(-len(powers) // TICKS) or 1
        few = len(powers) < 3
        found = [factor * 10.0**k for k in (range(math.floor(first), math.floor(last) + 1) if few
                                            else powers[::step])
                 for factor in ((1, 2, 5) if few else (1,))]
        return [each for each in found
                if self.low * (1 - 1e-9) <= each <= self.high * (1 + 1e-9)]


def _round(step: float) -> float:
    """1, 2 or 5 times a power of ten, at least ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0)
                if factor * power >= step * (1 - 1e-9))
