"""Successive halving: the better half of candidates is measured again, and of that the better half.

So most of the time goes to candidates that are hard to tell apart.

Source: Karnin, Koren and Somekh 2013, "Almost optimal exploration in multi-armed bandits".
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

Candidate = TypeVar("Candidate")
Request = TypeVar("Request")
Answer = TypeVar("Answer")
Result = TypeVar("Result")
Measuring: TypeAlias = Callable[[Sequence[Candidate], int],
                                Generator[Request, Answer, Sequence[Candidate] | None]]
"""Measures candidates in a round with this number.

The result has the candidates that are still worth a try, the best first; None if time is over.
"""


def halve(candidates: Sequence[Candidate], finalists: int,
          measuring: Measuring[Candidate, Request, Answer],
          enough: Callable[[Sequence[Candidate], Sequence[Candidate]], bool]
          ) -> Generator[Request, Answer, Sequence[Candidate]]:
    """Halve candidates down to ``finalists``; the result is a ranking.

    It ends when it is said to be ``enough``, by the candidates of a round and their ranking.
    """
    number = 0
    while candidates:
        ranked = yield from measuring(candidates, number)
        if ranked is None:
            break
        if enough(candidates, ranked):
            return ranked
        candidates, number = ranked[:max(finalists, len(ranked) // 2)], number + 1
    return candidates


def near_and_drawn(drawn: Iterator[Candidate], near: Iterable[Iterator[Candidate]], share: float
                   ) -> Iterator[Candidate]:
    """Drawn candidates, and a ``share`` of candidates near good candidates, of each in turn."""
    sources, due = [*near], 0.0
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


def finish(search: Generator[None, None, Result]) -> Result:
    """The result of a search that asks for nothing."""
    while True:
        try:
            next(search)
        except StopIteration as end:
            result: Result = end.value
            return result
