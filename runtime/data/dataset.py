"""Random data from types: the same specification and seed give the same data everywhere.

Only the bit generator of NumPy is used, whose stream is fixed.  Its distributions may change
between releases.  The stream can be entered anywhere (Brown 1994, Random number generation with
arbitrary stride).  So threads make parts of an array.  A few bytes describe an array that another
process can make (:class:`RandomArray`).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from runelift.ir.base.array_limits import impossible
from runelift.ir.base.errors import UserError
from runelift.ir.base.files import most_bytes
from runelift.ir.base.source import Source
from runelift.ir.prim import Prim
from runelift.runtime.data.text import Reader, Spec, Value
from runelift.runtime.memory.byte_sizes import show_bytes

RANDOM_CHUNK = 1 << 16
"""The number of 64-bit words converted at a time, such that they fit in a core's cache."""
WORDS_PER_THREAD = 1 << 18
"""The least number of words for each thread."""
MOST_THREADS = 8
"""The most threads: more of them do not make memory faster."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest number to generate; floats do not reach the greatest."""

    low: int | float
    high: int | float


_NAMED_SIZE = re.compile(r"\s*(\[\d+\])*\[\s*[A-Za-z_]\w*\][\[a-z]")


def parse_spec(text: str) -> Spec | Value:
    """A type such as ``[10][20]f32``, or a value in text syntax."""
    reader = Reader(Source("dataset", text))
    if _NAMED_SIZE.match(text):
        reader.fail("Sizes of random data are numbers, such as [10]f32.")
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


@dataclass(frozen=True, slots=True)
class RandomArray:
    """An array of random numbers that is not made yet; ``np.asarray`` makes it.

    Its bits come from the stream of ``seed``, from the word of 64 bits with the number ``start``.
    """

    spec: Spec
    bounds: Bounds | None
    seed: int
    start: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the array."""
        return self.spec.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.spec.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return self.spec.prim.dtype

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return math.prod(self.shape) * self.spec.prim.bytes

    @property
    def words(self) -> int:
        """The number of 64-bit words of the stream for all elements."""
        return -(-math.prod(self.shape) // self._per_word)

    @property
    def _per_word(self) -> int:
        """The elements made from one word; integers with bounds need all of its bits."""
        narrow = self.bounds is None or self.spec.prim.is_float
        return 8 // self.spec.prim.bytes if narrow else 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """A new array; UserError if it is too large for this machine."""
        if reason := impossible(self.shape, self.spec.prim.bytes):
            raise UserError(f"{self.spec}: {reason}")
        if self.nbytes > most_bytes():
            raise UserError(f"{self.spec}: the array takes {show_bytes(self.nbytes)}, which is "
                            f"more than half of the memory of this machine.")
        made, words = np.empty(math.prod(self.shape), self.dtype), self.words
        threads = max(1, min(MOST_THREADS, os.cpu_count() or 1, words // WORDS_PER_THREAD))
        ends = [words * k // threads for k in range(threads + 1)]
        if threads == 1:
            self._fill(made, *ends)
        else:
            # late: start-up; it imports much else
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(threads) as pool:
                for done in [pool.submit(self._fill, made, *part) for part in pairwise(ends)]:
                    done.result()
        return made.reshape(self.shape).astype(dtype or self.dtype, copy=False)

    def _fill(self, made: np.ndarray[Any, Any], first: int, last: int) -> None:
        """Make the numbers of the words from ``first`` to before ``last``."""
        bits, numbers = np.random.PCG64(self.seed), self._per_word
        bits.advance(self.start + first)
        for at in range(first, last, RANDOM_CHUNK):
            words = np.asarray(bits.random_raw(min(RANDOM_CHUNK, last - at)))
            self._put(words, made[at * numbers:(at + len(words)) * numbers])

    def _put(self, words: np.ndarray[Any, Any], made: np.ndarray[Any, Any]) -> None:
        """Make numbers from random bits: uniform over the bounds, by default all integers, [0, 1).

        Few operations without temporary arrays are fastest for several threads.
        """
        prim, bounds = self.spec.prim, self.bounds
        if prim is Prim.BOOL:
            made[:] = _parts(words, np.uint8)[:len(made)] & 1
        elif prim.is_float:
            bits = _parts(words, f"u{prim.bytes}")[:len(made)]
            unused = prim.bits - prim.mantissa
            bits >>= unused
            made[:] = bits
            made *= 2.0 ** -prim.mantissa
            if bounds is not None:
                made[:] = made.astype(np.float64) * (bounds.high - bounds.low) + bounds.low
        elif bounds is None:
            made[:] = _parts(words, f"u{prim.bytes}")[:len(made)].view(prim.dtype)
        else:
            width = int(bounds.high) - int(bounds.low) + 1
            offset = words if width == 1 << 64 else words % np.uint64(width)
            low = np.array(int(bounds.low) % (1 << 64), np.uint64)
            made[:] = (offset + low).astype(prim.dtype)


def _parts(words: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """The bits of words as unsigned integers, low bits first, without a copy if possible."""
    dtype = np.dtype(dtype)
    parts: np.ndarray[Any, Any] = words.astype("<u8", copy=False).view(dtype.newbyteorder("<"))
    return parts.astype(dtype, copy=False)


class Generator:
    """A generator of random values of given types from a seed."""

    def __init__(self, seed: int = 0, bounds: Mapping[Prim, Bounds] | None = None) -> None:
        self._seed = seed
        self._bounds = dict(bounds or {})
        self._drawn = 0

    def drawn(self, spec: Spec) -> RandomArray:
        """The next value, of type ``spec``, which ``np.asarray`` makes."""
        found = RandomArray(spec, self._bounds.get(spec.prim), self._seed, self._drawn)
        self._drawn += found.words
        return found

    def value(self, spec: Spec) -> Value:
        """The next value, uniform over the bounds of its type; by default all integers, [0, 1)."""
        return np.asarray(self.drawn(spec))[()]

    def values(self, specs: Iterable[Spec | Value]) -> list[Value]:
        """A random value for each type; values are kept."""
        return [self.value(spec) if isinstance(spec, Spec) else spec for spec in specs]

    def recipes(self, specs: Iterable[Spec | Value]) -> list[Value | RandomArray]:
        """A random value for each type as :meth:`values`, but arrays are made later."""
        return [spec if not isinstance(spec, Spec) else
                self.drawn(spec) if spec.shape else self.value(spec) for spec in specs]
