"""The order of versions: thresholds first, then predicted times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import VersionUnavailable
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.versions.choose import (
    NEVER,
    UNMET,
    KnownChoices,
    RequiredVersions,
    VersionChooser,
)

DEVICE: Any = SimpleNamespace(local_bytes=1000)
SECONDS = st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0]), min_size=1, max_size=5)
INFINITE = float("inf")


def guarded(name: str, *kinds: Kind, default: int | None = None,
            infeasible: Mapping[int, str] | None = None) -> Any:
    """A site with a guard of each kind, and a last version without one."""
    guards = [Guard(f"{name}{k}", f"{name}{k}", kind, Size.var(VName("n", 0)), default)
              for k, kind in enumerate(kinds)]
    return SimpleNamespace(site=name, versions=[
        SimpleNamespace(guard=guard, infeasible=(infeasible or {}).get(k), needs=())
        for k, guard in enumerate((*guards, None))])


def outer(count: int, **options: Any) -> Any:
    """A site of so many versions, all of whose guards have predicted times."""
    return guarded("s", *[Kind.OUTER] * (count - 1), **options)


class Predicting:
    """Predicts what a function of the site and the facts says, and counts the questions."""

    def __init__(self, seconds: Callable[..., Sequence[float]]) -> None:
        self.seconds, self.asked = seconds, 0

    def versions(self, number: int, facts: tuple[Any, ...], choosing: VersionChooser
                 ) -> Sequence[float]:
        self.asked += 1
        return self.seconds(number, facts, choosing)


def chooser(sites: Sequence[Any], seconds: Sequence[float] | Predicting,
            thresholds: Mapping[str, int] | None = None, force: Mapping[str, int] | None = None,
            infeasible: dict[str, str] | None = None) -> VersionChooser:
    predicting = seconds if isinstance(seconds, Predicting) else Predicting(lambda *_: seconds)
    return VersionChooser(sites, DEVICE, thresholds or {}, force or {}, KnownChoices(),
                          infeasible or {}, predicting)


def order(choosing: VersionChooser, local: Mapping[int, tuple[int, ...]] | None = None
          ) -> list[int]:
    """The order at the first site, where all guards compare with 10."""
    count = len(choosing._sites[0].versions)
    return choosing.versions(0, (10,) * count, (), tuple(
        (local or {}).get(k, ()) for k in range(count)), {})


@given(SECONDS)
def test_without_thresholds_the_quickest_comes_first(seconds: list[float]) -> None:
    found = order(chooser([outer(len(seconds))], seconds))
    assert found == sorted(range(len(seconds)), key=seconds.__getitem__)


@given(SECONDS, st.data())
def test_versions_that_cannot_run_are_no_rivals(seconds: list[float], data: st.DataObject) -> None:
    """They cannot be compiled, or need too much local memory, or were given up, or have needs."""
    numbers = st.sets(st.sampled_from(range(len(seconds))))
    compiled, given_up, local, needs = (data.draw(numbers) for _ in range(4))
    choosing = chooser([outer(len(seconds), infeasible=dict.fromkeys(compiled, "too long"))],
                       seconds, infeasible={f"s/{k}": "it failed" for k in given_up})
    found = order(choosing, {**dict.fromkeys(local, (7, 1001)), **dict.fromkeys(needs, UNMET)})
    able = set(range(len(seconds))) - compiled - given_up - local - needs
    assert found == sorted(able, key=seconds.__getitem__)


@given(SECONDS, st.data())
def test_thresholds_go_before_predicted_times(seconds: list[float], data: st.DataObject) -> None:
    """A guard with a threshold holds by it alone; others by the times of all that follow."""
    last = len(seconds) - 1
    thresholds = {f"s{k}": data.draw(st.sampled_from([5, 10, 11, NEVER]))
                  for k in data.draw(st.sets(st.integers(0, last))) if k < last}
    first = next(k for k in range(last + 1) if k == last or (
        thresholds[f"s{k}"] <= 10 if f"s{k}" in thresholds
        else seconds[k] <= min(seconds[k + 1:])))
    found = order(chooser([outer(len(seconds))], seconds, thresholds))
    assert found[0] == first
    assert sorted(found) == list(range(last + 1))


def test_a_threshold_of_0_stands_for_predicted_times() -> None:
    site = outer(3)
    for thresholds in ({}, {"s0": 0}, {"s0": 0, "s1": 0}):
        assert order(chooser([site], [3.0, 1.0, 2.0], thresholds)) == [1, 2, 0]
    assert order(chooser([site], [3.0, 1.0, 2.0], {"s0": 1, "s1": 0})) == [0, 1, 2]


@pytest.mark.parametrize(("default", "thresholds", "first"), [
    (None, {}, 1), (None, {"s0": 10}, 0), (None, {"s0": 11}, 1), (10, {}, 0), (11, {}, 1),
    (11, {"s0": 3}, 0)])
def test_rewritten_versions_run_by_thresholds_only(default: int | None, thresholds: dict[str, int],
                                                   first: int) -> None:
    site = guarded("s", Kind.REWRITTEN, default=default)
    for seconds in ([1.0, 2.0], [2.0, 1.0]):
        choosing = chooser([site], seconds, thresholds)
        assert order(choosing)[0] == first
        assert choosing.scarce(0, (), [0, 1]) == ()


@given(SECONDS)
def test_scarce_guards_are_those_that_do_not_hold(seconds: list[float]) -> None:
    """An order follows from them: the first guard that is not scarce."""
    choosing = chooser([outer(len(seconds))], seconds)
    scarce = choosing.scarce(0, (), range(len(seconds)))
    assert order(choosing)[0] == next(
        k for k in range(len(seconds)) if f"s{k}" not in scarce)
    assert set(scarce) == {f"s{k}" for k in range(len(seconds) - 1)
                           if seconds[k] > min(seconds[k + 1:])}


def test_versions_that_cannot_run_make_no_guard_scarce() -> None:
    choosing = chooser([outer(3)], [2.0, 1.0, 3.0])
    assert choosing.scarce(0, (), [0, 1, 2]) == ("s0",)
    assert choosing.scarce(0, (), [0, 2]) == ()


def test_forced_versions_come_before_all() -> None:
    site = outer(3)
    assert order(chooser([site], [1.0, 2.0, 3.0], {"s0": 1}, {"s": 1})) == [1, 2, 0]
    choosing = chooser([site], [1.0, 2.0, 3.0], force=RequiredVersions(s=1))
    with pytest.raises(VersionUnavailable):
        order(choosing, {1: (NEVER,)})


def test_times_are_predicted_once_for_equal_facts() -> None:
    predicting = Predicting(lambda number, facts, choosing: [facts[0], 2.0])
    choosing = chooser([outer(2)], predicting)
    asked = [choosing.versions(0, (1, 0), (seconds,), ((), ()), {})[0]
             for seconds in (1.0, 3.0, 1.0, 3.0, 2.0)]
    assert asked == [0, 1, 0, 1, 0]
    assert predicting.asked == 3


def test_nothing_is_predicted_where_thresholds_decide() -> None:
    predicting = Predicting(lambda *_: pytest.fail("it was predicted"))
    assert order(chooser([outer(3)], predicting, {"s0": 11, "s1": 10})) == [1, 2, 0]
    assert order(chooser([outer(1)], predicting)) == [0]


@pytest.mark.parametrize(("thresholds", "first"), [({}, 1), ({"i0": 1}, 0), ({"i0": 99}, 1)])
def test_outer_choices_see_the_thresholds_of_inner_ones(thresholds: dict[str, int], first: int
                                                        ) -> None:
    """The last outer version holds a choice, whose first version is slow."""
    inner = guarded("i", Kind.INTRA)

    def seconds(number: int, facts: tuple[Any, ...], choosing: VersionChooser) -> Sequence[float]:
        return [9.0, 1.0] if number == 1 else [
            5.0, choosing.expected(1, (10, 0), facts, ((), ()))]

    choosing = chooser([guarded("s", Kind.OUTER), inner], Predicting(seconds), thresholds)
    assert order(choosing)[0] == first


def test_a_choice_of_versions_none_of_which_can_run_takes_forever() -> None:
    choosing = chooser([outer(2, infeasible={0: "no", 1: "no"})], [1.0, 1.0])
    assert choosing.expected(0, (1, 0), (), ((), ())) == INFINITE
    assert order(choosing) == []
