"""The rule which version of a site runs: its laws, and its four users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.guards import UNREACHED, Guard, Kind
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.tuner.costs.cost_model import EncounterCosts
from runelift.runtime.tuner.costs.host_device_time import Cost
from runelift.runtime.versions.forest import Alternative, Site
from runelift.runtime.versions.guard_chain import (
    GuardTest,
    guard_holds,
    guard_tests,
    version_to_run,
    versions_to_run,
)

PAR = 10
THRESHOLDS = [0, PAR - 1, PAR, PAR + 1]


class Case(NamedTuple):
    """An encounter with versions that are feasible, and thresholds of all guards."""

    feasible: tuple[bool, ...]
    least: tuple[int, ...]
    unset: tuple[bool, ...]

    @property
    def able(self) -> list[int]:
        return [k for k, each in enumerate(self.feasible) if each]

    def holds(self, version: int) -> bool:
        """By the definition of a guard; versions beyond the last guard have none."""
        return version >= len(self.least) or (
            self.least[version] <= PAR if self.least[version] else self.unset[version])

    def chosen(self) -> int:
        tests = guard_tests(guards(len(self.feasible), len(self.least)))
        names = [f"g{k}" for k in range(len(self.least))]
        return version_to_run(tests, self.able, dict.fromkeys(names, PAR),
                              dict(zip(names, self.least, strict=True)),
                              {name for name, each in zip(names, self.unset, strict=True)
                               if not each})


def guards(versions: int, guarded: int, kind: Kind = Kind.OUTER, default: int | None = None
           ) -> list[Guard | None]:
    return [Guard(f"g{k}", f"g{k}", kind, Size.var(VName("n", 0)), default)
            if k < guarded else None for k in range(versions)]


def cases(versions: int, guarded: int) -> Iterator[Case]:
    """All small cases; at least one version is feasible."""
    for feasible in product([False, True], repeat=versions):
        for least in product(THRESHOLDS, repeat=guarded):
            for unset in product([False, True], repeat=guarded):
                if any(feasible):
                    yield Case(feasible, least, unset)


SMALL = [case for versions, guarded in [(1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (4, 2)]
         for case in cases(versions, guarded)]


def test_the_first_feasible_version_runs_whose_guard_holds() -> None:
    for case in SMALL:
        held = [k for k in case.able if case.holds(k)]
        assert case.chosen() == (held[0] if held else case.able[-1]), case


def test_the_rule_for_arrays_is_that_for_one_encounter() -> None:
    """All small cases, those with equal thresholds in one array."""
    groups: dict[tuple[int, tuple[int, ...]], list[Case]] = {}
    for case in SMALL:
        groups.setdefault((len(case.feasible), case.least), []).append(case)
    for (_, least), rows in groups.items():
        found = versions_to_run(least, *arrays(rows, [[PAR] * len(least)] * len(rows)))
        assert found.tolist() == [case.chosen() for case in rows]


def arrays(rows: Sequence[Case], par: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
    shape = len(rows), len(rows[0].least)
    return (np.array(par, np.int64).reshape(shape),
            np.array([case.unset for case in rows], bool).reshape(shape),
            np.array([case.feasible for case in rows], bool))


@given(st.data())
def test_the_rules_agree_on_encounters_with_different_sizes(data: st.DataObject) -> None:
    versions = data.draw(st.integers(1, 5))
    guarded = data.draw(st.integers(0, versions))
    number = st.sampled_from([0, 1, 7, 8, 9, 1 << 40, UNREACHED])
    least = data.draw(st.tuples(*[number] * guarded))
    row = st.tuples(st.tuples(*[st.booleans()] * versions).filter(any),
                    st.tuples(*[number] * guarded), st.tuples(*[st.booleans()] * guarded))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    tests = guard_tests(guards(versions, guarded))
    names = [f"g{k}" for k in range(guarded)]
    thresholds = dict(zip(names, least, strict=True))
    assert versions_to_run(least, *arrays(
        [Case(feasible, least, unset) for feasible, _, unset in rows],
        [par for _, par, _ in rows])).tolist() == [version_to_run(
            tests, [k for k, able in enumerate(feasible) if able],
            dict(zip(names, par, strict=True)), thresholds,
            [name for name, holds in zip(names, unset, strict=True) if not holds])
            for feasible, par, unset in rows]


def test_0_stands_for_the_default_of_a_guard() -> None:
    """That is a number for rewritten versions, and predicted times for others."""
    par, untuned = {"g0": PAR}, {"g0": 0}
    for scarce in ((), ("g0",)):
        for default, holds in [(None, False), (PAR, True), (PAR + 1, False)]:
            guard, _ = guards(2, 1, Kind.REWRITTEN, default)
            assert guard is not None
            assert guard_holds(guard, par, untuned, scarce) == holds
        guard, _ = guards(2, 1)
        assert guard is not None
        assert guard_holds(guard, par, untuned, scarce) == (not scarce)
        assert guard_holds(guard, par, {"g0": PAR}, scarce)
        assert not guard_holds(guard, par, {"g0": PAR + 1}, scarce)
    assert guard_tests(guards(2, 1, Kind.REWRITTEN)) == (
        GuardTest(0, "g0", UNREACHED), GuardTest(1, None, 0))


def test_costs_know_which_guard_decides_and_what_runs_otherwise() -> None:
    """A guard decides if the version depends on it; both sides are those of the definition."""
    for case in SMALL:
        point = encounter(case)
        thresholds = {f"g{k}": least for k, least in enumerate(case.least)}
        assert point.choose(thresholds) == case.chosen()
        for k in range(len(case.least)):
            before = [j for j in case.able if j < k and case.holds(j)]
            after = [j for j in case.able if j > k]
            assert point.decides(k, thresholds) == (
                k in case.able and bool(after) and not before), case
            if k in case.able:
                holding, failing = point.sides(k, thresholds)
                held = [j for j in after if case.holds(j)]
                assert holding == Cost(float(k))
                assert failing == Cost(float(held[0] if held else after[-1])
                                       if after else float("inf"))


def encounter(case: Case) -> EncounterCosts:
    """An encounter whose versions take as many seconds as their numbers say."""
    chain = guards(len(case.feasible), len(case.least))
    site = Site("s", 0, tuple(Alternative(guard, Kind.OUTER, f"V{k + 1}", ())
                              for k, guard in enumerate(chain)))
    return EncounterCosts(
        site, {"n": PAR}, {f"g{k}": PAR for k in range(len(case.least))}, frozenset(case.able),
        {k: Cost(float(k)) for k in case.able}, {},
        frozenset(f"g{k}" for k, holds in enumerate(case.unset) if not holds))
