"""The front of time and device memory, as text, as rows of a table, and as facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tuner.fit.cross_validation import finite
from runelift.runtime.tuner.fit.memory_front import MemoryChoice
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.versions.version_names import names_of_plan


def front_rows(entry: EntryTuning) -> list[list[str]]:
    """The choices by ascending memory, the head first; a star marks the one that was taken."""
    front = entry.front
    if front is None:
        return []
    names = list(front.taken.times)
    choices = front.with_taken
    versions = [_versions(entry, choice) for choice in choices]
    return [["", "memory", *names, "versions"], *(
        ["*" if choice is front.taken else "",
         ("at least " if front.unknown else "") + show_bytes(choice.greatest),
         *(f"{show_seconds(choice.times[name])}, {show_bytes(choice.bytes[name])}"
           for name in names), run]
        for choice, run in zip(choices, versions, strict=True))]


def _versions(entry: EntryTuning, choice: MemoryChoice) -> str:
    found = dict[str, None]()
    for dataset in entry.costs.compact().datasets:
        for tree in entry.forest.trees:
            for point in dataset.by_site().get(tree.name, ()):
                for each, index in point.reached(choice.thresholds):
                    if label := each.site.alternatives[index].label:
                        found[label] = None
    return " ".join(sorted(found, key=lambda label: int(label[1:])))


def notes(entry: EntryTuning) -> Iterator[str]:
    """Remarks on the memory front of an entry point."""
    if entry.front is not None:
        for name, reason in entry.front.unknown.items():
            yield f"{name}: not all memory is known before a run: {reason}"
        yield from _unmeasured(entry)


def _unmeasured(entry: EntryTuning) -> Iterator[str]:
    """The datasets and versions without a time: no choice with these is in the front."""
    assert entry.front is not None
    compared = entry.front.taken.times
    versions = dict[str, dict[str, None]]()
    for run in entry.measurements.runs:
        if run.error is not None:
            versions.setdefault(run.dataset, {})[names_of_plan(
                entry.forest, run.left_out or run.force)] = None
    for name in dict.fromkeys([*entry.measurements.datasets, *entry.measurements.left_out]):
        if name not in compared:
            yield f"{name}: not in the front, as no choice was measured there completely"
        elif name in versions:
            yield (f"{name}: {', '.join(versions[name])} not measured; choices that run this there "
                   "are not in the front")


def render_fronts(entries: Sequence[EntryTuning]) -> str:
    """The fronts of entry points as text; nothing if there are none."""
    return "\n\n".join(
        "\n".join([f"{entry.forest.entry}: time and device memory (by ascending memory; * taken)",
                   table(front_rows(entry), "  "), *(f"  note: {note}" for note in notes(entry))])
        for entry in entries if entry.front is not None)


def front_facts(entry: EntryTuning) -> dict[str, Any] | None:
    """The memory front of an entry point as a JSON object; None if it was not computed."""
    if entry.front is None:
        return None
    return {"unknown": dict(entry.front.unknown), "choices": [
        {"bytes": choice.greatest, "score": finite(choice.score),
         "thresholds": dict(choice.thresholds), "taken": choice is entry.front.taken,
         "datasets": {name: {"seconds": seconds, "bytes": choice.bytes[name]}
                      for name, seconds in choice.times.items()}}
        for choice in entry.front.with_taken]}
