"""Parts that all searches share: halving, budgets and traces."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice

import numpy as np

from runelift.runtime.tuner.search.budget import Budget
from runelift.runtime.tuner.search.halving import finish, halve, near_and_drawn
from runelift.runtime.tuner.search.trace import Best, Convergence, note
from runelift.runtime.tuner.strategies.indices import IndexSpace


class Numbers:
    """Even numbers are drawn, odd numbers are near; after ``most`` there are no more."""

    def __init__(self, most: int) -> None:
        self.most = most

    def draw(self) -> Iterator[int]:
        return iter(range(0, self.most, 2))

    def near(self, known: int) -> Iterator[int]:
        return (known + k for k in range(1, self.most, 2))


def test_near_candidates_have_their_share_in_turn() -> None:
    def mixed(numbers: Numbers, parents: Sequence[int]) -> Iterator[int]:
        return near_and_drawn(numbers.draw(), map(numbers.near, parents), 0.5)

    assert list(islice(mixed(Numbers(100), [100, 200]), 8)) == [0, 101, 2, 201, 4, 103, 6, 203]
    assert list(mixed(Numbers(4), [])) == [0, 2]
    assert list(mixed(Numbers(4), [10])) == [0, 11, 2, 13]


def test_vectors_of_indices_are_drawn_alike() -> None:
    space = IndexSpace(("a", "b"), ((1, 2), (1, 2, 3)), np.random.default_rng(0))
    known = {tuple(each) for each in space.all()}
    assert len(known) == 6
    assert {tuple(each) for each in islice(space.draw(), 60)} == known
    assert {tuple(each) for each in islice(space.near(space.all_false()), 20)} <= known


def test_the_better_half_goes_on_until_it_is_enough() -> None:
    rounds = list[list[int]]()

    def measure(candidates: Sequence[int], number: int) -> Generator[str, float, list[int] | None]:
        assert number == len(rounds)
        rounds.append(list(candidates))
        assert (yield "seconds?") == 2.0
        return sorted(candidates)

    results = list[Sequence[int]]()

    def whole() -> Generator[str, float, None]:
        results.append((yield from halve([7, 3, 9, 1, 5, 8, 2], 2, measure,
                                         lambda alive, _: len(alive) <= 2)))

    search = whole()
    assert next(search) == "seconds?"
    with suppress(StopIteration):
        while True:
            search.send(2.0)
    assert results == [[1, 2]]
    assert rounds == [[7, 3, 9, 1, 5, 8, 2], [1, 2, 3], [1, 2]]


def test_halving_ends_when_time_is_over() -> None:
    def measure(candidates: Sequence[int], number: int) -> Generator[None, None, list[int] | None]:
        yield from ()
        return None if number else sorted(candidates)

    assert finish(halve([4, 3, 2, 1], 1, measure, lambda *_: False)) == [1, 2]
    assert finish(halve(list[int](), 1, measure, lambda *_: False)) == []


def test_a_budget_is_spent_by_runs_or_seconds() -> None:
    assert not Budget().spent(1 << 30, 1e9)
    assert [Budget(runs=3).spent(runs, 0.0) for runs in (2, 3)] == [False, True]
    assert [Budget(seconds=1.5).spent(0, seconds) for seconds in (1.4, 1.5)] == [False, True]


def test_a_trace_has_what_got_better() -> None:
    trace = list[Best]()
    for runs, score in zip(count(1), (3.0, 4.0, 2.0, 2.0, 1.0), strict=False):
        note(trace, Best(runs, float(runs), score))
    assert [(each.runs, each.score) for each in trace] == [(1, 3.0), (3, 2.0), (5, 1.0)]
    found = Convergence.of([(each, False) for each in trace])
    assert found.search == [(1, 1.0), (3, 1.0), (5, 1.0)]
    assert found.random_mean == []
