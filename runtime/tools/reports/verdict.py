"""The verdict of a tuning: what was gained, how certain that is, and what runs on each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runelift.ir.base.numerals import counted
from runelift.runtime.records.format import dataset_label, show_seconds, table
from runelift.runtime.records.statistics import ENOUGH, UNKNOWN, Ratio
from runelift.runtime.tools.reports.text import show_gain
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.measure.side_by_side import (
    BEST,
    DEFAULT,
    TUNED,
    SideBySide,
    speedup,
)
from runelift.runtime.tuner.measure.turns import halves_agree
from runelift.runtime.tuner.result import Tuning
from runelift.runtime.tuner.strategies.tune_by_search import SearchTuning

CERTAIN, UNCERTAIN, SAME, MISSING = "certain", "not certain", "no change", "not measured"
"""Words for how certain the difference of two times is."""
PREDICTED = "predicted"
"""The word for a difference that records foretell, of runs that were not made."""
SLOWER = "slower"
"""The word for a dataset that is certainly slower than by default."""
NOTABLE = 0.005
"""Fraction from which on a difference is shown as a gain."""
LEFT = 0.02
"""Fraction from which on the best single version is said to be better, where limits are close.

Limits are close if they are within twice that.  Other limits tell which is faster if they do not
hold 1.
"""
ROWS = 5
"""Datasets that the verdict shows at most; of more, it shows one less and their number."""
MORE = "-v: the threshold tree, times of every version, notes"
"""The line below the verdict."""


@dataclass(frozen=True, slots=True)
class Change:
    """Times of a dataset, in seconds, before and after tuning.

    ``final`` has the runs of default, tuned and best version in turn, if these were made.
    ``guarded``: size guards come before the thresholds of its entry point.
    """

    dataset: str
    before: float
    after: float
    certainty: str
    final: SideBySide | None = None
    guarded: bool = False

    @property
    def size(self) -> float:
        """The distance of the two times, as a logarithm of their ratio."""
        if not (self.before and self.after and math.isfinite(self.before + self.after)):
            return 0.0
        return abs(math.log(self.after / self.before))

    @property
    def best(self) -> float:
        """The seconds of the best single version; NaN if it did not run in paired runs."""
        return self.final.median(BEST) if self.final else math.nan

    @property
    def speedup(self) -> Ratio:
        """The speed relative to that before, with limits, if there were runs in turn."""
        return speedup([self.final]) if self.final else UNKNOWN

    @property
    def chosen_by_guards(self) -> bool:
        """True if size guards lead to other versions than by default."""
        return self.guarded and self.versions(TUNED) != self.versions(DEFAULT)

    def versions(self, choice: str) -> tuple[str, ...]:
        """The versions that run with a choice, as far as runs have shown."""
        return self.final.versions.get(choice, ()) if self.final else ()


def changes(tuning: Tuning, parameters: Sequence[ParameterTuning] = (),
            guards: Sequence[ConfirmedSizeGuards] = (), final: Sequence[SideBySide] = ()
            ) -> list[Change]:
    """The changes by thresholds, parameters and size guards together, by dataset.

    Where the result ran beside the default in the end, those times count.  Times with parameters or
    size guards that were dropped do not count.
    """
    later = {each.entry: [each.verified] for each in parameters if each.chosen}
    guarded = dict[str, float]()
    for guard in guards:
        if guard.finer:
            later.setdefault(guard.entry, []).append(guard.verified)
            guarded |= guard.after
    found = list[Change]()
    for entry in tuning.entries:
        name, fit = entry.forest.entry, entry.fit
        names = [*entry.measurements.datasets, *entry.measurements.left_out]
        predicted = {each: (fit.default[each], guarded.get(each, fit.predicted[each]))
                     if each in fit.predicted else (math.nan, math.nan) for each in names}
        found += _changes(name, predicted, [entry.verified, *later.pop(name, [])])
    for name, stages in later.items():
        found += _changes(name, {}, stages)
    by_dataset = {dataset_label(each.entry, each.dataset): each for each in final or tuning.final}
    of_guards = {guard.entry for guard in guards if guard.finer}
    concluded = [_finally(change, by_dataset.pop(change.dataset, None), of_guards)
                 for change in found] + [
        _finally(Change(label, math.nan, math.nan, MISSING), each, of_guards)
        for label, each in by_dataset.items()]
    return list(_by_one_clock(concluded))


def _by_one_clock(found: Sequence[Change]) -> Iterator[Change]:
    """The changes with times of one clock: where some ran in turn, no other times stand beside."""
    in_turn = any(change.final is not None for change in found)
    for change in found:
        yield change if change.final is not None or not in_turn else replace(
            change, before=math.nan, after=math.nan, certainty=MISSING)


def _finally(change: Change, final: SideBySide | None, guarded: set[str]) -> Change:
    """The change by runs in turn; with few of these, earlier comparisons say how certain it is."""
    if final is None or not (final.seconds.get(DEFAULT) and final.seconds.get(TUNED)):
        return change
    before, after = final.median(DEFAULT), final.median(TUNED)
    ratio, low, high = speedup([final])
    certainty = (SAME if final.same(DEFAULT, TUNED) else CERTAIN if low > 1 else
                 SLOWER if high < 1 else UNCERTAIN)
    if certainty in (CERTAIN, SLOWER) and not halves_agree(
            final.seconds[DEFAULT], final.seconds[TUNED]):
        certainty = UNCERTAIN
    if certainty == UNCERTAIN and final.rounds < ENOUGH and change.certainty == CERTAIN:
        certainty = CERTAIN
    if certainty != SAME and abs(ratio - 1) < NOTABLE:
        certainty = SAME
    return replace(change, before=before, after=after, certainty=certainty, final=final,
                   guarded=final.entry in guarded)


def changes_by_search(found: Sequence[SearchTuning]) -> list[Change]:
    """The changes by thresholds that searches found, by dataset."""
    return [change for each in found for change in _changes(
        each.forest.entry, {},
        [{} if each.kept_default is not None else each.verified])]


def _changes(entry: str, predicted: Mapping[str, tuple[float, float]],
             stages: Sequence[Mapping[str, PairedTimes]]) -> Iterator[Change]:
    """The changes of an entry point.  Measured times take precedence over predicted times."""
    for name in dict.fromkeys([*predicted, *(each for stage in stages for each in stage)]):
        runs = [stage[name] for stage in stages if name in stage]
        before, after = predicted.get(name, (math.nan, math.nan))
        certainty = MISSING if math.isnan(after) else SAME if before == after else PREDICTED
        if runs:
            # A later stage compares with the choice of the stage before it, so gains multiply.
            gain = math.prod(each.gain for each in runs)
            before = runs[0].default.median
            after = before / gain
            certainty = (SAME if round(gain, 2) == 1 else
                         CERTAIN if any(each.faster for each in runs) else UNCERTAIN)
        yield Change(dataset_label(entry, name), before, after, certainty)


# As text


def verdict(title: str, found: Sequence[Change], written: str, *, whole: bool = False) -> str:
    """The verdict as text; ``title`` is the program and device, ``written`` the last line.

    Of many datasets, the datasets with the largest changes are shown.  With ``whole``, all are
    shown.
    """
    shown = list(found)
    if len(found) > ROWS and not whole:
        largest = sorted(found, key=lambda each: -each.size)[:ROWS - 1]
        shown = [each for each in found if each in largest]
    lines = [title, *sentences(found)]
    if shown:
        head, *body = verdict_rows(shown)
        text = table([head[:4], *(row[:4] for row in body)], "  ", whole=True).splitlines()
        wide = max(len(row[4]) for row in (head, *body))
        last = max(len(row[5]) for row in (head, *body))
        lines += [f"{line}  {row[4].ljust(wide)}  {row[5].rjust(last)}  {row[6]}".rstrip()
                  for line, row in zip(text, (head, *body), strict=True)]
    if guarded := [each.dataset for each in shown if each.chosen_by_guards]:
        lines.append(f"  Size guards choose the versions of {', '.join(guarded)}.")
    if len(shown) < len(found):
        lines.append(f"  … and {len(found) - len(shown)} more (-v shows all)")
    return "\n".join([*lines, written])


def verdict_rows(found: Sequence[Change]) -> list[list[str]]:
    """The final choice of each dataset, the head first, short enough for a terminal."""
    rows = [["dataset", "default", "tuned", "gain", "", "best version", "runs"]]
    rows += [[each.dataset, show_seconds(each.before), show_seconds(each.after),
              show_gain(each.before, each.after), each.certainty,
              f"{_short(each.versions(BEST), 2)} {show_seconds(each.best)}"
              if math.isfinite(each.best) else "", _short(each.versions(TUNED), 3)]
             for each in found]
    rows[0] = [head if column < 5 or any(row[column] for row in rows[1:]) else ""
               for column, head in enumerate(rows[0])]
    return rows


def _short(versions: Sequence[str], most: int) -> str:
    """The names of some versions, and how many there are more, in little room.

    >>> _short(["V1", "V2 ×7", "V5"], 3), _short(["V1", "V2", "V5", "V9"], 2)
    ('V1 V2×7 V5', 'V1 +3')
    """
    shown = [each.replace(" ", "") for each in versions]
    if len(shown) > most:
        shown = [*shown[:most - 1], f"+{len(shown) - most + 1}"]
    return " ".join(shown)


def best_version(change: Change, versions: int) -> str:
    """The best single version of a dataset, and its time."""
    if not math.isfinite(change.best):
        return ""
    return f"{named(change.versions(BEST), versions)} {show_seconds(change.best)}"


def named(versions: Sequence[str], most: int) -> str:
    """The names of some versions, and how many there are more.

    >>> named(["V1", "V2 ×7", "V5"], 3), named(["V1", "V2", "V5", "V9"], 3)
    ('V1, V2 ×7, V5', 'V1, V2 and 2 more')
    """
    if len(versions) <= most:
        return ", ".join(versions)
    return f"{', '.join(versions[:most - 1])} and {len(versions) - most + 1} more"


def sentences(found: Sequence[Change]) -> list[str]:
    """One or two plain sentences: what was gained, how much, and how certain that is.

    >>> sentences([])
    ['Nothing was changed.']
    """
    known = [each for each in found if math.isfinite(each.before + each.after)]
    if not found:  # there is one version, and its parameters stay
        return ["Nothing was changed."]
    if not known:
        return ["Nothing can be said: no dataset has times of all versions."]
    before, after = sum(each.before for each in known), sum(each.after for each in known)
    counts = Counter(each.certainty for each in found)
    on = counted(len(found), "dataset")
    if counts[SAME] + counts[MISSING] == len(found):
        run = "run" if counts[SAME] > 1 else "runs"
        others = f", {counts[MISSING]} not measured" if counts[MISSING] else ""
        one = any(each.final for each in known) and not any(
            each.versions(choice) for each in known for choice in (DEFAULT, BEST))
        return [f"Nothing was gained: {counted(counts[SAME], 'dataset')} {run} as before{others}.",
                *["These runs met no choice between versions, so thresholds decide nothing."] * one,
                *_left(known)]
    if counts[PREDICTED] and not counts[CERTAIN] + counts[UNCERTAIN] + counts[SLOWER]:
        return [f"By the records, {on} would take {show_seconds(after)} instead of "
                f"{show_seconds(before)} in all, tuned: {show_gain(before, after)} as fast.  "
                "Nothing was run to compare."]
    if not counts[CERTAIN]:
        lines = [f"No certain gain on {on}: {_listed(counts)}."]
        return [*lines, *_left(known)]
    gain = f"{show_gain(before, after)} as fast{_confidence(known)}"
    times = f"{show_seconds(after)} instead of {show_seconds(before)}"
    if len(found) == 1:
        return [f"Tuned, {on} is certainly faster: {gain}, {times}.", *_left(known)]
    return [f"Tuned, {on} take {times} in all: {gain}; {_listed(counts)}.", *_left(known)]


def _listed(counts: Mapping[str, int]) -> str:
    """The numbers of datasets that are faster, for certain or not.

    >>> _listed({"certain": 2, "no change": 1})
    '2 certainly faster, 1 as before'
    """
    words = {CERTAIN: "certainly faster", UNCERTAIN: "not certain", SAME: "as before",
             SLOWER: "slower", PREDICTED: "predicted", MISSING: "not measured"}
    return ", ".join(f"{counts[each]} {word}" for each, word in words.items() if counts.get(each))


def _confidence(known: Sequence[Change]) -> str:
    """The limits of the gain in all, if all datasets ran in turn."""
    runs = [each.final for each in known if each.final is not None]
    if len(runs) < len(known) or any(each.rounds < ENOUGH for each in runs):
        return ""
    _, low, high = speedup(runs)
    return f" (95 % sure: {low:.2f}× to {high:.2f}×)"


def _left(known: Sequence[Change]) -> Iterator[str]:
    """A sentence that compares the tuned program with the best single version of each dataset.

    No sentence if this was not measured for all datasets.
    """
    runs = [each.final for each in known if each.final is not None and each.final.seconds.get(BEST)]
    ratio, low, high = speedup(runs, BEST, TUNED) if len(runs) == len(known) else UNKNOWN
    if math.isnan(ratio):
        return
    limits = f"95 % sure: {low:.2f}× to {high:.2f}×"
    close = low > 1 - 2 * LEFT and high < 1 + 2 * LEFT
    least = LEFT if close else 0.0
    if low > 1 + least:
        yield (f"The best single version of each dataset would be {ratio:.2f}× as fast as that "
               f"({limits}); no choice by sizes was certainly as good.")
    elif high < 1 - least:
        yield (f"That is {1 / ratio:.2f}× as fast as the best single version of each dataset "
               f"(95 % sure: {1 / high:.2f}× to {1 / low:.2f}×): several versions share a run, or "
               "parameters help.")
    elif close:
        yield "That is as fast as the best single version of each dataset."
    else:
        yield ("Whether the best single version of each dataset is faster cannot be told "
               f"({limits} as fast).")


def written_line(output: Path, *, used: bool, log: bool, pages: Sequence[Path] = ()) -> str:
    """The files that were written; ``used``: later runs find them without an option."""
    use = "used from now on" if used else f"use it with --tuning {output}"
    files = [f"{output} ({use})", ".json", *([".log"] if log else []), *map(str, pages)]
    return f"Written: {', '.join(files)}"
