"""The rule that says which version of a site runs: the first whose guard holds, else the last.

Versions that cannot run are left out.  A guard holds if its threshold is at most the parallelism
that it compares.  The threshold 0 stands for the default: ``untuned`` of
:class:`~runelift.ir.guards.Guard`.  That may be 0 as well.  Then predicted times decide, and the
guard holds unless it is *scarce* (:mod:`runelift.runtime.versions.choose`).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from runelift.ir.guards import Guard

Array: TypeAlias = np.ndarray[Any, Any]


class GuardTest(NamedTuple):
    """The test in front of a version: the guard's name, or None, and its default threshold."""

    version: int
    guard: str | None
    untuned: int


def guard_tests(guards: Iterable[Guard | None]) -> tuple[GuardTest, ...]:
    """The tests of the versions of a site, given the guard of each."""
    return tuple(GuardTest(version, None, 0) if guard is None
                 else GuardTest(version, guard.name, guard.untuned)
                 for version, guard in enumerate(guards))


def version_to_run(tests: Iterable[GuardTest], feasible: Collection[int], par: Mapping[str, int],
                   thresholds: Mapping[str, int], scarce: Container[str]) -> int:
    """The version that runs at an encounter; at least one must be feasible.

    ``par`` is the parallelism that guards compare with their ``thresholds``, by their names.

    >>> tests = [GuardTest(0, "outer", 0), GuardTest(1, "inner", 0), GuardTest(2, None, 0)]
    >>> par = {"outer": 50, "inner": 900}
    >>> version_to_run(tests, {0, 1, 2}, par, {"outer": 64, "inner": 512}, {"outer"})
    1
    >>> version_to_run(tests, {0, 2}, par, {"outer": 64, "inner": 512}, {"outer"})
    2
    >>> version_to_run(tests, {0, 1, 2}, par, {"outer": 0, "inner": 1024}, {"inner"})
    0
    """
    for version, guard, untuned in tests:
        if version in feasible:
            if guard is None:
                return version
            least = thresholds[guard] or untuned
            if least <= par[guard] if least else guard not in scarce:
                return version
    return max(feasible)


def guard_holds(guard: Guard, par: Mapping[str, int], thresholds: Mapping[str, int],
                scarce: Container[str]) -> bool:
    """True if the version behind a guard would run, were there another one after it."""
    return version_to_run(guard_tests([guard, None]), (0, 1), par, thresholds, scarce) == 0


def versions_to_run(least: Sequence[int], par: Array, unset: Array, feasible: Array) -> Array:
    """The versions that run at many encounters of a site, one row each.

    The first versions have guards.  ``least`` are their thresholds.  ``par`` and ``unset`` have a
    column for each guard, ``feasible`` one for each version.  ``unset`` says whether a guard holds
    under the threshold 0.

    >>> par, unset = np.array([[50, 900], [70, 900]]), np.array([[False, True], [True, False]])
    >>> versions_to_run([64, 512], par, unset, np.array([[True, True, True]] * 2))
    array([1, 0])
    >>> versions_to_run([0, 0], par, unset, np.array([[True, False, True], [False, True, True]]))
    array([2, 2])
    """
    limits = np.array(least, np.int64)
    runs = feasible.copy()
    runs[:, :len(limits)] &= np.where(limits == 0, unset, par >= limits)
    found: Array = runs.argmax(axis=1)
    held = runs.any(axis=1)
    if not held.all():
        last = feasible.shape[1] - 1 - feasible[:, ::-1].argmax(axis=1)
        found = np.where(held, found, last)
    return found
