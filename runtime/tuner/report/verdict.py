"""The verdict of a tuning: at most eight lines with the gain of each dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.report.text import show_gain
from runelift.runtime.tuner.result import Tuning
from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning

CERTAIN, UNCERTAIN, SAME, MISSING = "certain", "not certain", "no change", "not measured"
"""Words for how certain the difference of two times is."""
ROWS = 5
"""Datasets that the verdict shows at most; of more, it shows one less and their number."""
MORE = "-v: the threshold tree, times of every version, notes"
"""The line below the verdict."""


@dataclass(frozen=True, slots=True)
class Change:
    """Times of a dataset, in seconds, before and after tuning."""

    dataset: str
    before: float
    after: float
    certainty: str

    @property
    def size(self) -> float:
        """The distance of the two times, as a logarithm of their ratio."""
        if not (self.before and self.after and math.isfinite(self.before + self.after)):
            return 0.0
        return abs(math.log(self.after / self.before))


def changes(tuning: Tuning, parameters: Sequence[ParameterTuning] = (),
            guards: Sequence[ConfirmedSizeGuards] = ()) -> list[Change]:
    """The changes by thresholds, parameters and size guards together, by dataset."""
    later = {each.entry: [each.verified] for each in parameters}
    guarded = dict[str, float]()
    for guard in guards:
        later.setdefault(guard.entry, []).append(guard.verified)
        guarded |= guard.after if guard.finer else {}
    found = list[Change]()
    for entry in tuning.entries:
        name, fit = entry.forest.entry, entry.fit
        names = [*entry.measurements.datasets, *entry.measurements.left_out]
        predicted = {each: (fit.default[each], guarded.get(each, fit.predicted[each]))
                     if each in fit.predicted else (math.nan, math.nan) for each in names}
        found += _changes(name, predicted, [entry.verified, *later.pop(name, [])])
    for name, stages in later.items():
        found += _changes(name, {}, stages)
    return found


def changes_by_search(found: Sequence[SearchTuning]) -> list[Change]:
    """The changes by thresholds that searches found, by dataset."""
    return [change for each in found for change in _changes(
        each.forest.entry, {},
        [{} if each.kept_default is not None else each.verified])]


def _changes(entry: str, predicted: Mapping[str, tuple[float, float]],
             stages: Sequence[Mapping[str, PairedTimes]]) -> Iterator[Change]:
    """The changes of an entry point; measured times take precedence over predicted ones."""
    for name in dict.fromkeys([*predicted, *(each for stage in stages for each in stage)]):
        label = name if entry == "main" else f"{entry}: {name}"
        runs = [stage[name] for stage in stages if name in stage]
        before, after = predicted.get(name, (math.nan, math.nan))
        certainty = MISSING if math.isnan(after) else SAME if before == after else UNCERTAIN
        if runs:
            # A later stage compares with the choice of the stage before it, so gains multiply.
            gain = math.prod(each.gain for each in runs)
            before = runs[0].default.median
            after = before / gain
            certainty = (SAME if round(gain, 2) == 1 else
                         CERTAIN if any(each.faster for each in runs) else UNCERTAIN)
        yield Change(label, before, after, certainty)


def verdict(title: str, found: Sequence[Change], written: str) -> str:
    """The verdict as text; ``title`` is the program and device, ``written`` the last line."""
    shown = list(found)
    if len(found) > ROWS:
        largest = sorted(found, key=lambda each: -each.size)[:ROWS - 1]
        shown = [each for each in found if each in largest]
    lines = [f"{title}: {_total(found)}"]
    if shown:
        rows = [[each.dataset, show_seconds(each.before), show_seconds(each.after),
                 show_gain(each.before, each.after)] for each in shown]
        text = table([["dataset", "before", "after", "gain"], *rows], "  ",
                     whole=True).splitlines()
        lines += [text[0], *(f"{line}  {each.certainty}"
                             for line, each in zip(text[1:], shown, strict=True))]
    if len(shown) < len(found):
        lines.append(f"  … and {len(found) - len(shown)} more (-v shows all)")
    return "\n".join([*lines, written])


def _total(found: Sequence[Change]) -> str:
    """The number of datasets, and the sum of their times where several are known.

    >>> _total([])
    'nothing changes'
    """
    if not found:  # there is one version, and its parameters stay
        return "nothing changes"
    text = f"{len(found)} dataset" + ("" if len(found) == 1 else "s")
    known = [each for each in found if math.isfinite(each.before + each.after)]
    if len(known) < 2:
        return text
    before, after = sum(each.before for each in known), sum(each.after for each in known)
    return (f"{text}, {show_seconds(before)} → {show_seconds(after)} in all "
            f"({show_gain(before, after)})")


def written_line(output: Path, *, used: bool, log: bool, pages: Sequence[Path] = ()) -> str:
    """The files that were written; ``used``: later runs find them without an option."""
    use = "used from now on" if used else f"use it with --tuning {output}"
    files = [f"{output} ({use})", ".json", *([".log"] if log else []), *map(str, pages)]
    return f"Written: {', '.join(files)}"
