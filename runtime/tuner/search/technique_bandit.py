"""A bandit that gives each try to one of several techniques (Ansel et al., PACT 2014).

It is the technique with the best record of late, plus a bonus for one that had few tries.  A record
counts for more the later an improvement came (area under the curve).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

Technique = TypeVar("Technique")


class TechniqueBandit(Generic[Technique]):
    """Techniques that compete for tries, judged by their uses among the last ``window``.

    ``exploration`` weighs the bonus for techniques that are used little.
    """

    def __init__(self, techniques: Sequence[Technique], window: int, exploration: float) -> None:
        self._techniques = techniques
        self._exploration = exploration
        self._recent: deque[tuple[Technique, bool]] = deque(maxlen=window)

    def choose(self) -> Technique:
        """The technique for the next try.  Of equally good techniques, it is the first."""
        return max(self._techniques, key=self._worth)

    def note(self, technique: Technique, better: bool) -> None:
        """Note if a try of a technique was better than all before."""
        self._recent.append((technique, better))

    def _worth(self, technique: Technique) -> float:
        uses = [better for each, better in self._recent if each is technique]
        if not uses:
            return math.inf
        return credit(uses) + self._exploration * math.sqrt(
            2 * math.log2(len(self._recent)) / len(uses))


def credit(uses: Sequence[bool]) -> float:
    """The area under the curve that goes up with every improvement, from 0 to 1.

    >>> credit([True, False]), credit([False, True])
    (0.3333333333333333, 0.6666666666666666)
    """
    count = len(uses)
    return 2 * sum(k for k, better in enumerate(uses, start=1) if better) / (count * (count + 1))
