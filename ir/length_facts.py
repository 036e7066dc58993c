"""Facts about lengths of segments, computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from runelift.ir.ragged import CLASSES, FACTS, Fact

_POWERS = 1 << np.arange(CLASSES - 1, dtype=np.int64)


def length_facts(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The facts about lengths, an [FACTS]i64; a length below 0 counts as 0."""
    lengths = np.maximum(lengths, 0).astype(np.int64, copy=False)
    found = np.zeros(FACTS, np.int64)
    found[Fact.TOTAL], found[Fact.SQUARES] = lengths.sum(), (lengths * lengths).sum()
    found[Fact.LONGEST], found[Fact.LIVE] = lengths.max(initial=0), np.count_nonzero(lengths)
    found[len(Fact):] = np.bincount(np.searchsorted(_POWERS, lengths), minlength=CLASSES)
    return found
