"""Lengths of segments by powers of two, and the steps that each version wastes on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

Lengths: TypeAlias = np.ndarray[Any, Any]
LANES = 8
"""The neighbours that share a segment."""
WIDTH = 40
"""The blocks of the most frequent class."""
_POWERS = 1 << np.arange(63, dtype=np.int64)


def class_counts(lengths: Lengths) -> list[int]:
    """The lengths l with ``ceil(log2 l) == k`` by k; class 0 has lengths below 1, too."""
    found: list[int] = np.bincount(np.searchsorted(_POWERS, lengths)).tolist()
    return found


def class_lines(lengths: Lengths) -> Iterator[str]:
    """A line of blocks for each power of two from the shortest length to the longest.

    >>> print("\\n".join(class_lines(np.array([1, 1, 1, 1, 3, 4]))))
    up to 1  ████████████████████████████████████████ 4
    up to 2   0
    up to 4  ████████████████████ 2
    """
    if not len(lengths):
        return
    counts = class_counts(lengths)
    some = [k for k, count in enumerate(counts) if count]
    texts = {k: f"up to {1 << k:,}" for k in range(some[0], some[-1] + 1)}
    width = max(map(len, texts.values()))
    for k, text in texts.items():
        yield f"{text:<{width}}  {'█' * -(-counts[k] * WIDTH // max(counts))} {counts[k]:,}"


def _together(steps: Lengths, abreast: int) -> int:
    """The steps that are issued where ``abreast`` neighbours wait for the longest of them."""
    padded = np.zeros(-(-len(steps) // abreast) * abreast, np.int64)
    padded[:len(steps)] = steps
    return int(padded.reshape(-1, abreast).max(axis=1, initial=0).sum()) * abreast


def _shared(lengths: Lengths, workers: int) -> Lengths:
    return -(-lengths // workers)


ISSUED: Mapping[str, Callable[[Lengths, int], int]] = {
    "row": _together,
    "lanes": lambda lengths, abreast: LANES * _together(
        _shared(lengths, LANES), max(abreast // LANES, 1)),
    "group": lambda lengths, abreast: abreast * int(_shared(lengths, abreast).sum()),
    "slabs": lambda lengths, abreast: int(lengths.sum()) + len(lengths),
    "merge": lambda lengths, abreast: int(lengths.sum()) + len(lengths),
    "flat": lambda lengths, abreast: int(lengths.sum()) + len(lengths),
}
"""The steps that a version issues, where so many work-items run abreast.

Ends of segments are steps of ``slabs``, ``merge`` and ``flat``.
"""


def waste(version: str, lengths: Lengths, abreast: int) -> float | None:
    """Issued steps over elements, at least 1; None without elements, or for other versions."""
    lengths = np.maximum(lengths, 0)
    total = int(lengths.sum())
    return ISSUED[version](lengths, abreast) / total if total and version in ISSUED else None
