"""Lengths of the rows of ragged data: drawn from a named shape, equal on all machines.

Each shape is hard for some way of running rows of different lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.data.dataset import Generator
from runelift.runtime.data.text import Spec

Lengths: TypeAlias = NDArray[np.int64]
_Floats: TypeAlias = NDArray[np.float64]
POWER = 1.2
"""The exponent of the power law: a row has at least k elements with probability k^-1.2."""
MOST = 1 << 53
"""The greatest length that can be asked for: shapes compute lengths as f64."""
FEW = 4
"""The greatest length of the rows beside a long one."""


def _geometric(u: _Floats, cap: int) -> _Floats:
    """Lengths from 0 on with a mean of about an eighth of the cap."""
    mean = cap / 8
    return np.floor(np.log1p(-u) / np.log(mean / (mean + 1))) if cap else np.zeros_like(u)


def _one(u: _Floats, cap: int) -> _Floats:
    found = np.floor(u * (FEW + 1))
    found[len(u) // 2:len(u) // 2 + 1] = cap
    return found


SHAPES: Mapping[str, Callable[[_Floats, int], Any]] = {
    "uniform": lambda u, cap: 1 + np.floor(u * cap),
    "equal": lambda u, cap: np.full(len(u), cap),
    "geometric": _geometric,
    "power": lambda u, cap: np.floor((1 - u) ** (-1 / POWER)),
    "one": _one,
    "empty": lambda u, cap: np.zeros(len(u)),
    "alternating": lambda u, cap: np.arange(len(u)) % 2 * cap,
    "ascending": lambda u, cap: np.arange(len(u)) + 1,
}
"""The shapes by name: functions of uniform numbers in [0, 1), one for each row, and of the cap."""


def draw(n: int, shape: str, cap: int, seed: int = 0) -> Lengths:
    """The lengths of ``n`` rows, from 0 to ``cap``; UserError if they cannot be drawn."""
    if shape not in SHAPES:
        raise UserError(f"'{shape}' is no shape of lengths: there are {', '.join(SHAPES)}.")
    if n < 0 or not 0 <= cap <= MOST:
        raise UserError("The number of rows is at least 0, and the greatest length from 0 to "
                        f"{MOST:,}, not {n:,} and {cap:,}.")
    uniform = np.asarray(Generator(seed).value(Spec((n,), Prim.F64)), np.float64)
    found: Lengths = np.minimum(SHAPES[shape](uniform, cap), cap).astype(np.int64)
    return found


def parse(text: str) -> Lengths:
    """The lengths that ``N SHAPE CAP`` or ``N SHAPE CAP SEED`` asks for; UserError if malformed."""
    words = text.split()
    try:
        n, (cap, *seed) = int(words[0]), map(int, words[2:])
        if len(seed) > 1 or min(seed, default=0) < 0:
            raise ValueError
    except (ValueError, IndexError):
        raise UserError(f"Lengths are written as N SHAPE CAP or N SHAPE CAP SEED, not '{text}'."
                        ) from None
    return draw(n, words[1], cap, *seed)
