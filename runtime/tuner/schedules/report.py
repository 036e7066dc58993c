"""The result of a search over schedules, in words and as facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runelift.runtime.records.format import show_seconds
from runelift.runtime.tuner.search.trace import Convergence

if TYPE_CHECKING:
    from runelift.runtime.tuner.schedules.search import ScheduleSearch


def render_schedules(entry: str, search: ScheduleSearch) -> str:
    """The schedules that became versions, and what happened to all other schedules."""
    return "\n".join(_lines(entry, search))


def _lines(entry: str, search: ScheduleSearch) -> Iterator[str]:
    measured = [each for each in search.candidates if each.times]
    spent = show_seconds(search.advances[-1].seconds) if search.advances else "no time"
    yield (f"Schedules of {entry}: {len(search.winners)} of {len(measured)} are versions now "
           f"({search.made} runs, {spent})")
    for each in search.winners:
        times = ", ".join(f"{name} {ratio:.3g}" for name, ratio in each.ratios.items())
        yield f"  {each.drawn}"
        yield f"    time relative to the program without it: {times}"
    yield from _course(search.convergence)
    for each in search.unused:
        yield f"  dropped, as thresholds choose it nowhere: {each.drawn}"
    if slow := sum(bool(each.slow) for each in search.candidates):
        yield f"  stopped because they took too long on a dataset: {slow}"
    failed = ", ".join(f"{count} {why}" for why, count in search.failures.most_common())
    yield (f"  failed later: {sum(search.failures.values())} of {len(search.candidates)}"
           f"{f' ({failed})' if failed else ''}")
    refused = search.drawing.refused
    if refused:
        reasons = ", ".join(f"{count} {why.value}" for why, count in refused.most_common())
        yield f"  not tried, of {refused.total() + len(search.candidates)} drawn: {reasons}"


def _course(found: Convergence) -> Iterator[str]:
    """The runs after which the search was at its best, and random drawing would have been."""
    best = found.search[-1][1] if found.search else 1.0
    if best == 1:
        return
    first = next(runs for runs, score in found.search if score == best)
    line = f"  best in first comparisons: {best:.3g} after {first} runs"
    if (alone := found.runs_at_random()) is not None:
        line += f"; random drawing is expected to be there after {alone}"
    elif found.random_mean:
        runs, score = found.random_mean[-1]
        line += f"; random drawing is expected to be at {score:.3g} after {runs}"
    yield line


def schedule_facts(search: ScheduleSearch) -> dict[str, Any]:
    """The schedules for the JSON file, with all that was measured and how the best score fell."""
    return {
        "winners": [each.drawn.schedule.text.splitlines() for each in search.winners],
        "unused": [each.drawn.schedule.text.splitlines() for each in search.unused],
        "measured": [{"schedule": each.drawn.schedule.text.splitlines(),
                      "times": dict(each.ratios), "slow": sorted(each.slow), "failed": each.failed}
                     for each in search.candidates if each.times or each.failed],
        "refused": {why.value: count for why, count in search.drawing.refused.items()},
        "failed_share": search.failed_share,
        "convergence": search.convergence.facts(),
        "advances": [each._asdict() for each in search.advances]}
