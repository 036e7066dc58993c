"""Facts about lengths of segments, computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from runelift.ir.ragged import MOST_ELEMENTS, Fact


def length_facts(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The facts about lengths, a [4]i64; a length below 0 counts as 0."""
    lengths = np.maximum(lengths, 0).astype(np.int64, copy=False)
    found = np.zeros(len(Fact), np.int64)
    found[Fact.LONGEST], found[Fact.LIVE] = lengths.max(initial=0), np.count_nonzero(lengths)
    wraps = int(found[Fact.LONGEST]) * len(lengths) > np.iinfo(np.int64).max
    found[Fact.TOTAL] = min(sum(map(int, lengths)), MOST_ELEMENTS) if wraps else lengths.sum()
    found[Fact.SQUARES] = (lengths * lengths).sum()
    return found
