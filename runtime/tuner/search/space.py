"""Spaces: the candidates of a search, in the order in which they are worth a try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

Candidate = TypeVar("Candidate")


class Space(Protocol[Candidate]):
    """The candidates of a search."""

    def first(self) -> Iterator[Candidate]:
        """The candidates to begin with."""

    def draw(self) -> Iterator[Candidate]:
        """Candidates at random."""

    def near(self, known: Candidate) -> Iterator[Candidate]:
        """Candidates like a known one."""

    def all(self) -> Iterator[Candidate] | None:
        """All candidates; None if there is no list of them."""


def near_and_drawn(space: Space[Candidate], parents: Sequence[Candidate], share: float
                   ) -> Iterator[Candidate]:
    """Drawn candidates, and a ``share`` of candidates near the ``parents`` in turn."""
    sources, drawn, due = [space.near(each) for each in parents], space.draw(), 0.0
    while True:
        due += share if sources else 0.0
        found = next(sources[0] if due >= 1 else drawn, None)
        if due >= 1:
            due -= 1
            sources = sources[1:] + sources[:1] if found is not None else sources[1:]
        elif found is None and not sources:
            return
        if found is not None:
            yield found
