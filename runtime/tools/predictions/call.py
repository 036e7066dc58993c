"""The predicted cost of each version, for people and for programs that read it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.predictions.predict import BOUNDS, PredictedChoice, Prediction, Totals
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.versions.forest import Alternative, Forest, Site
from runelift.runtime.versions.size_names import show_name
from runelift.runtime.versions.version_names import described_version, labels, version_name

STAR = "* runs by default.  "
BYTES = "Bytes are those that move between memory and chip, as estimated from sizes.  "
LONGEST = "'longest' has the steps of the work-item with most.  "
PREDICTED = "All costs are predicted, not measured."
UNKNOWN = ("  With ≥, launches whose sizes the program computes count as starts alone.  Loops "
           "whose length it computes count once, and so do functions that call themselves.")
HEAD = ("version", "launches", "bytes", "operations", "longest", "predicted", "bound by")
MOST = 8
"""The most encounters of a choice that are shown."""


@dataclass(frozen=True, slots=True)
class ExplainedCost:
    """The predicted cost of an entry point's call: ``label`` names its input."""

    forest: Forest
    label: str
    prediction: Prediction

    def met(self) -> Iterator[tuple[Site, list[PredictedChoice]]]:
        """The choices that are met, parents first, each with its encounters."""
        for name, site in self.forest.sites().items():
            if found := [each for each in self.prediction.choices if each.site == name]:
                yield site, found


def advantage(choice: PredictedChoice) -> tuple[float, int | None]:
    """The time of the next best version by that of the chosen one, and its number.

    It is infinite, without a number, if no other version can run, and 1 if none does anything.
    """
    others = [each for each in choice.versions
              if each.number != choice.chosen and each.totals is not None]
    if not others or choice.chosen < 0:
        return math.inf, None
    best = min(others, key=lambda each: each.seconds)
    own = choice.versions[choice.chosen].seconds
    if not own:
        return (math.inf if best.seconds else 1.0), best.number
    return best.seconds / own, best.number


# As text


def render(found: ExplainedCost) -> str:
    """The cost of a call as text."""
    return "\n".join(_lines(found))


def legend(found: Collection[ExplainedCost]) -> str:
    """The line below calls, which tells about marks and columns if there are versions."""
    choices = any(each.prediction.choices for each in found)
    return (STAR * choices + BYTES + LONGEST * choices + PREDICTED
            + UNKNOWN * any(map(_has_unknown, found)))


def _has_unknown(found: ExplainedCost) -> bool:
    """True if a number of a call, or of a version that could run, is only the least."""
    versions = [version.totals for choice in found.prediction.choices
                for version in choice.versions]
    return any(totals is not None and totals.partial
               for totals in (found.prediction.totals, *versions))


def _lines(found: ExplainedCost) -> Iterator[str]:
    yield f"{found.forest.entry}, {found.label}: {_summary(found.prediction.totals)}"
    around = _around(found.forest)
    for site, choices in found.met():
        place = f" [{site.place}]" if site.place else ""
        inside = f", in {around[site.name]}" if site.name in around else ""
        for choice in choices[:MOST]:
            sizes = ", ".join(f"{show_name(name, found.forest.shown)} = {value:,}"
                              for name, value in choice.sizes.items())
            yield f"  {site.name}{place}{inside}" + (f": {sizes}" if sizes else "")
            yield table(rows(site, choice), "  ")
            yield f"    {verdict(site, choice)}"
        if len(choices) > MOST:
            yield f"  {site.name}: met at {len(choices) - MOST} further sizes"
    yield from _unmet(found)


def _unmet(found: ExplainedCost) -> Iterator[str]:
    """The choices that cannot be predicted."""
    for name, site in found.forest.sites().items():
        if name in found.prediction.unknown:
            place = f" [{site.place}]" if site.place else ""
            yield f"  {name}{place}: what decides is found when the program runs"


def _summary(totals: Totals) -> str:
    launches = round(totals.launches)
    known = f" ({round(totals.unknown):,} of unknown size)" if totals.unknown else ""
    return (f"predicted {at_least(totals)}, {'≥ ' * bool(totals.loops)}{launches:,} "
            f"launch{'es' * (launches != 1)}{known}, {show_bytes(round(totals.bytes))}, "
            f"bound by {BOUNDS[totals.bound]}")


def _around(forest: Forest) -> dict[str, str]:
    return {inner.name: version_name(alternative) for site in forest.sites().values()
            for alternative in site.alternatives for inner in alternative.sites}


def rows(site: Site, choice: PredictedChoice, unmarked: str = "  ") -> list[list[str]]:
    """The cost of each version, the head first; a star marks the version that runs."""
    return [[*HEAD], *(
        [("* " if version.number == choice.chosen else unmarked) + described_version(alternative),
         *cells(version.totals)]
        for version, alternative in zip(choice.versions, site.alternatives, strict=True))]


def obstacles(site: Site, choice: PredictedChoice,
              name: Callable[[Alternative], str] = version_name) -> list[str]:
    """The versions that cannot run, and why."""
    return [f"{name(alternative)}: {version.obstacle}"
            for version, alternative in zip(choice.versions, site.alternatives, strict=True)
            if version.obstacle]


def cells(totals: Totals | None) -> list[str]:
    """The cost of a version in the columns of :data:`HEAD`, but for the first."""
    if totals is None:
        return [*("-" * (len(HEAD) - 2)), "cannot run"]
    return [f"{round(totals.launches):,}", show_bytes(round(totals.bytes)),
            show_count(totals.operations), show_count(totals.longest),
            at_least(totals), BOUNDS[totals.bound]]


def at_least(totals: Totals) -> str:
    """A predicted time; it is the least where launches of unknown size count as starts alone."""
    return "≥ " * totals.partial + show_seconds(totals.seconds)


def show_count(value: float) -> str:
    """A count with three digits.

    >>> show_count(12), show_count(1_234_567), show_count(8e12)
    ('12', '1.23 M', '8.00 T')
    """
    unit = ""
    for unit in ("", "k", "M", "G", "T", "P"):  # noqa: B007
        if value < 999.5:
            break
        value /= 1000
    if not unit:
        return f"{value:.0f}"
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def verdict(site: Site, choice: PredictedChoice) -> str:
    """By how much the chosen version wins; reasons of versions that cannot run.

    Where launches of unknown size count as starts alone, a factor is the least, or unknown.
    """
    if choice.chosen < 0:
        said = "no version can run"
    else:
        factor, other = advantage(choice)
        runs = _verb(site, choice.chosen, "run")
        if other is None:
            said = f"{runs}: no other version can"
        elif math.isinf(factor):
            said = f"{runs}: it has nothing to do, and {_other(site, other)} has"
        else:
            takes = _verb(site, other, "take") + _sure(choice, other)
            said = (f"{runs}, though {takes} {factor:.2f} of its time" if factor < 1 else
                    f"{runs}: {takes} {factor:.2f} times as long")
    return "; ".join([said, *obstacles(site, choice)])


def _sure(choice: PredictedChoice, other: int) -> str:
    """The certainty of the factor between the chosen version and another one, in words."""
    chosen, rival = (choice.versions[number].totals for number in (choice.chosen, other))
    if chosen is not None and chosen.partial:
        return ", as far as sizes are known,"
    return " at least" if rival is not None and rival.partial else ""


def _verb(site: Site, number: int, verb: str) -> str:
    """The name of a version, or of several inside of it, with a verb."""
    alternative = site.alternatives[number]
    return f"{version_name(alternative)} {verb}{'s' * (len(labels(alternative)) == 1)}"


def _other(site: Site, number: int) -> str:
    return version_name(site.alternatives[number])


# As facts


def facts(found: ExplainedCost) -> dict[str, Any]:
    """The predicted cost of a call as a JSON object: totals and choices; times in seconds."""
    return {**_facts_of(found.prediction.totals), "choices": [
        _choice_facts(site, choice) for site, choices in found.met() for choice in choices]}


def _choice_facts(site: Site, choice: PredictedChoice) -> dict[str, Any]:
    factor, other = advantage(choice)
    return {
        "site": site.name, "place": site.place or None, "sizes": dict(choice.sizes),
        "chosen": version_name(site.alternatives[choice.chosen]) if choice.chosen >= 0 else None,
        "next": None if other is None else {
            "version": _other(site, other), "factor": factor if math.isfinite(factor) else None},
        "versions": [{
            "name": version_name(alternative), "kind": version.kind.value,
            "obstacle": version.obstacle or None,
            **({} if version.totals is None else _facts_of(version.totals))}
            for version, alternative in zip(choice.versions, site.alternatives, strict=True)]}


def _facts_of(totals: Totals) -> dict[str, Any]:
    return {"predicted_seconds": totals.seconds, "launches": totals.launches,
            "unknown_launches": totals.unknown, "unknown_loops": totals.loops,
            "bytes": totals.bytes, "operations": totals.operations,
            "longest_work_item": totals.longest, "bound": BOUNDS[totals.bound],
            "parts": {words: getattr(totals, name) for name, words in BOUNDS.items()}}
