"""Random data from types: the same specification and seed give the same data everywhere.

Only the bit generator of NumPy is used, whose stream is fixed, and not its distributions,
which may change between releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from runelift.ir.errors import UserError
from runelift.ir.prim import Prim
from runelift.ir.source import Source
from runelift.runtime.data.text import Reader, Spec, Value


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest number to generate (a float's greatest is never reached)."""

    low: int | float
    high: int | float


def parse_spec(text: str) -> Spec | Value:
    """A type such as ``[10][20]f32``, or a value in text syntax."""
    reader = Reader(Source("dataset", text))
    found = reader.spec_or_value()
    if not reader.at_end():
        reader.fail("Expected one type, such as [10]f32, or one value; here it is neither.")
    return found


def parse_bounds(prim: Prim, text: str) -> Bounds:
    """``low:high``, both in the range of ``prim``."""
    low, colon, high = text.partition(":")
    number = float if prim.is_float else int
    try:
        bounds = Bounds(number(low), number(high))
    except ValueError:
        colon = ""
    if not colon:
        raise UserError(f"Bounds of {prim} are written as LOW:HIGH, not '{text}'.")
    if bounds.low > bounds.high:
        raise UserError(f"Of the bounds '{text}' the first is larger.")
    if not prim.least <= bounds.low <= bounds.high <= prim.greatest:
        raise UserError(f"The bounds '{text}' do not fit in {prim}.")
    return bounds


class Generator:
    """Makes up values of given types from a seed."""

    def __init__(self, seed: int = 0, bounds: Mapping[Prim, Bounds] | None = None) -> None:
        self._bits = np.random.PCG64(seed)
        self._bounds = dict(bounds or {})

    def value(self, spec: Spec) -> Value:
        """A value of type ``spec``: uniform over the bounds, by default all integers, [0, 1)."""
        bounds = self._bounds.get(spec.prim)
        count = math.prod(spec.shape)
        if spec.prim is Prim.BOOL:
            flat = (self._raw(count, np.uint8) & 1).astype(bool)
        elif spec.prim.is_float:
            flat = self._unit(count, spec.prim)
            if bounds is not None:
                scaled = flat.astype(np.float64) * (bounds.high - bounds.low) + bounds.low
                flat = scaled.astype(spec.prim.dtype)
        elif bounds is None:
            flat = self._raw(count, np.dtype(f"u{spec.prim.bytes}")).view(spec.prim.dtype)
        else:
            width = int(bounds.high) - int(bounds.low) + 1
            raw = self._raw(count, np.uint64)
            offset = raw if width == 1 << 64 else raw % np.uint64(width)
            low = np.array(int(bounds.low) % (1 << 64), np.uint64)
            flat = (offset + low).astype(spec.prim.dtype)
        return flat.reshape(spec.shape)[()]

    def values(self, specs: Iterable[Spec | Value]) -> list[Value]:
        """A value for each type; values stay what they are."""
        return [self.value(spec) if isinstance(spec, Spec) else spec for spec in specs]

    def _raw(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """``count`` unsigned integers of random bits."""
        dtype = np.dtype(dtype)
        words = self._bits.random_raw(-(-count * dtype.itemsize // 8))
        stored = np.asarray(words).astype("<u8").view(dtype.newbyteorder("<"))
        kept: np.ndarray[Any, Any] = stored[:count].astype(dtype)
        return kept

    def _unit(self, count: int, prim: Prim) -> np.ndarray[Any, Any]:
        """``count`` floats in [0, 1)."""
        if prim is Prim.F32:
            return (self._raw(count, np.uint32) >> 8).astype(np.float32) * np.float32(2.0**-24)
        return (self._raw(count, np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
