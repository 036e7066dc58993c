"""Predicted times of versions over one size, and where another version becomes the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from runelift.runtime.predictions.predict import PredictedChoice, Prediction
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.predictions.call import show_count
from runelift.runtime.versions.forest import Forest, Site
from runelift.runtime.versions.version_names import version_name

PER_DECADE, DECADES = 4, 8
GRID = tuple(dict.fromkeys(round(10 ** (k / PER_DECADE)) for k in range(
    PER_DECADE * DECADES + 1)))
"""The sizes that are looked at: 1 to 10^8, four for each factor of ten."""
PRECISION = 0.01
"""The part of a size to which the place of a change is found."""
MOST_CHANGES = 12
"""The most changes between versions at a choice that are looked for."""


@dataclass(frozen=True, slots=True)
class Change:
    """From this size on, ``after`` takes the place of ``before``; both are numbers of versions.

    It is a change of the version that runs by ``default``, else of that which takes least.
    """

    size: int
    before: int
    after: int
    default: bool


@dataclass(frozen=True, slots=True)
class SiteCurves:
    """The versions of a site over a size: an encounter for each size that leads to the site."""

    site: Site
    points: tuple[tuple[int, PredictedChoice], ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class CostCurves:
    """The predicted times of an entry point over the size ``over``.  ``label`` has the other sizes.

    ``calls`` are the predicted times of the whole call by default.
    """

    forest: Forest
    over: str
    label: str
    calls: tuple[tuple[int, Prediction], ...]
    sites: tuple[SiteCurves, ...]


def cost_curves(forest: Forest, over: str, label: str, sizes: Sequence[int],
                at: Callable[[int], Prediction]) -> CostCurves:
    """The curves over some sizes, of which ``at`` predicts the call."""
    calls = tuple((size, at(size)) for size in sizes)
    found = []
    for name, site in forest.sites().items():
        points = tuple((size, choice) for size, call in calls
                       if (choice := heaviest(call, name)) is not None)
        if points:
            found.append(SiteCurves(site, points, tuple(
                change for default in (False, True) for change in _changes(
                    points, lambda size, name=name: heaviest(  # type: ignore[misc]
                        at(size), name), default))))
    return CostCurves(forest, over, label, calls, tuple(found))


def heaviest(call: Prediction, site: str) -> PredictedChoice | None:
    """The encounter of a choice at which the version that runs takes longest."""
    return max((each for each in call.choices if each.site == site), default=None,
               key=lambda each: each.versions[each.chosen].seconds if each.chosen >= 0 else 0.0)


def _changes(points: Sequence[tuple[int, PredictedChoice]],
             at: Callable[[int], PredictedChoice | None], default: bool) -> Iterator[Change]:
    """The places where another version runs, or takes least."""
    left = MOST_CHANGES
    for (low, first), (high, last) in pairwise(points):
        before, end = _leading(first, default), _leading(last, default)
        while before != end and left:
            left -= 1
            size, after = _next(low, high, (before, end), lambda size: (
                None if (found := at(size)) is None else _leading(found, default)))
            yield Change(size, before, after, default)
            low, before = size, after


def _next(low: int, high: int, versions: tuple[int, int], at: Callable[[int], int | None]
          ) -> tuple[int, int]:
    """The first size, about, that has not the first of two versions; and what it has."""
    before, after = versions
    while high - low > max(1, PRECISION * low):
        middle = (low + high) // 2
        found = at(middle)
        if found is None or found == before:
            low = middle
        else:
            high, after = middle, found
    return high, after


def _leading(choice: PredictedChoice, default: bool) -> int:
    return choice.chosen if default else choice.best.number


def said(curves: CostCurves) -> Iterator[str]:
    """The sizes at which the choice changes, in words."""
    for each in curves.sites:
        for size, text in changes_said(each, curves.over):
            yield f"{each.site.name}: {text} from {curves.over} = {size:,} on"


def changes_said(curves: SiteCurves, over: str) -> list[tuple[int, str]]:
    """The changes with their sizes, ascending; one that is both kinds is said once."""
    kinds: dict[tuple[int, int, int], set[bool]] = {}
    for each in curves.changes:
        kinds.setdefault((each.size, each.before, each.after), set()).add(each.default)
    found = []
    for (size, before, after), which in sorted(kinds.items()):
        names = (version_name(curves.site.alternatives[k]) if k >= 0 else "nothing"
                 for k in (before, after))
        what = "runs and takes least" if len(which) > 1 else (
            "runs" if True in which else "takes least")
        old, new = names
        found.append((size, f"{new} {what} instead of {old}"))
    return found


def facts(curves: CostCurves) -> dict[str, Any]:
    """The predicted curves as a JSON object: calls and sites over a size.

    Times are in seconds, null for versions that cannot run.
    """
    return {
        "size": curves.over, "others": curves.label,
        "calls": [{"size": size, "predicted_seconds": call.totals.seconds}
                  for size, call in curves.calls],
        "sites": [{
            "site": each.site.name,
            "points": [{"size": size, "chosen": _name(each.site, choice.chosen), "versions": {
                _name(each.site, version.number): None if version.totals is None
                else version.totals.seconds for version in choice.versions}}
                for size, choice in each.points],
            "changes": [{"size": change.size, "before": _name(each.site, change.before),
                         "after": _name(each.site, change.after),
                         "of": "default" if change.default else "best"}
                        for change in each.changes]} for each in curves.sites]}


def _name(site: Site, number: int) -> str:
    return version_name(site.alternatives[number]) if number >= 0 else ""


def tip(size: int, over: str, choice: PredictedChoice, number: int) -> str:
    """The tooltip of a point in a curve: the size and the predicted time of version ``number``."""
    totals = choice.versions[number].totals
    assert totals is not None
    runs = ", runs by default" if number == choice.chosen else ""
    return (f"{over} = {size:,}: {show_seconds(totals.seconds)}, "
            f"longest work-item {show_count(totals.longest)}{runs}")
