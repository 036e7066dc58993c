"""Two tunings side by side: what differs, and which one is faster, with an interval.

They come from two tuning files with their facts, or from two logs.  What their programs took was
measured at two times, so a change of the machine counts as a difference.  Runs in turn
(:mod:`~runelift.runtime.tuner.measure.side_by_side`) know better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.ir.base.numerals import counted
from runelift.runtime.records.format import dataset_label, show_seconds, table
from runelift.runtime.records.statistics import Ratio, median, ratio_of_medians
from runelift.runtime.research.forest_of_log import logged_forest
from runelift.runtime.tools.reports.text import show_threshold
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import Measurements, made_for, read_log
from runelift.runtime.tuner.costs.noise import forced_seconds
from runelift.runtime.tuner.fit.fit import fit
from runelift.runtime.tuner.measure.side_by_side import TUNED
from runelift.runtime.tuner.measure.turns import halves_agree
from runelift.runtime.tuner.strategies.nodes import all_false
from runelift.runtime.versions.tuning_file import facts_path, read_facts, read_tuning

NOT_IN_TURN = "not run in turn"
"""The verdict on times of two moments."""
LOG = ".log"
FACTS = {"program_sha256": "program", "device": "device", "platform": "platform",
         "driver": "driver", "policy": "policy", "written": "date"}
"""Facts that are compared, and their names."""
MOST_SITES = 3
"""Sites with size guards that are named at most."""
SHOWN = 16
"""Letters of a hash that are shown."""


@dataclass(frozen=True, slots=True)
class TimesOfTwo:
    """Seconds of runs of a dataset with two tunings, and the versions that ran."""

    dataset: str
    seconds: tuple[Sequence[float], Sequence[float]]
    versions: tuple[str, str] = ("", "")
    paired: bool = False

    @property
    def speedup(self) -> Ratio:
        """The speed of the second relative to the first, with limits."""
        return ratio_of_medians([(self.seconds[0], self.seconds[1])], paired=self.paired)

    @property
    def verdict(self) -> str:
        """The faster one, if that is certain: of runs in turn only.

        Times of two moments tell as much of other work on the machine as of the tunings.
        """
        ratio, low, high = self.speedup
        if math.isnan(ratio):
            return "not measured"
        if not self.paired:
            return NOT_IN_TURN
        if not halves_agree(*self.seconds):
            return "not certain"
        return "second faster" if low > 1 else "first faster" if high < 1 else "not certain"


@dataclass(frozen=True, slots=True)
class TwoTunings:
    """Two tunings: rows of facts and values that differ, and the times of datasets.

    ``what`` says what was run for the times.
    """

    names: tuple[str, str]
    facts: Sequence[tuple[str, str, str]]
    values: Sequence[tuple[str, str, str]]
    times: Sequence[TimesOfTwo]
    what: str
    same: int = 0


def two_tunings(first: Path, second: Path) -> TwoTunings:
    """The differences of two tuning files, or of two logs."""
    if first.suffix == second.suffix == LOG:
        return _of_logs(first, second)
    if LOG in (first.suffix, second.suffix):
        raise UserError("A tuning file cannot be compared with a log: give two of a kind.")
    return _of_files(first, second)


def beside_default(tuning: Path) -> TwoTunings:
    """The changes of a tuning file to the default; nothing was run."""
    return TwoTunings(("default", tuning.name), [], [
        (name, "default", show_threshold(value)) for name, value in read_tuning(tuning).items()],
        [], "")


# Tuning files


def _of_files(first: Path, second: Path) -> TwoTunings:
    files = first, second
    one, other = map(read_tuning, files)
    facts = [read_facts(facts_path(file)) if facts_path(file).exists() else {} for file in files]
    values, same = _differing(one, other)
    guards = [_guarded_sites(each) for each in facts]
    if guards[0] != guards[1]:
        values.append(("size guards at", guards[0] or "none", guards[1] or "none"))
    times = [_tuned_times(each) for each in facts]
    return TwoTunings(
        _names(first, second), _facts_of(*facts), values,
        [TimesOfTwo(name, (times[0][name][0], times[1][name][0]),
                    (times[0][name][1], times[1][name][1]))
         for name in times[0] if name in times[1]],
        "the tuned program, when each tuning ended", same)


def _differing(one: Mapping[str, int], other: Mapping[str, int]
               ) -> tuple[list[tuple[str, str, str]], int]:
    """The values that differ, by name, and the number of equal values."""
    names = dict.fromkeys([*one, *other])
    found = [(name, _value(one, name), _value(other, name)) for name in names
             if one.get(name) != other.get(name)]
    return found, len(names) - len(found)


def _value(values: Mapping[str, int], name: str) -> str:
    return show_threshold(values[name]) if name in values else "default"


def _guarded_sites(facts: Mapping[str, Any]) -> str:
    guards = facts.get("guards")
    sites = guards.get("sites") if isinstance(guards, Mapping) else None
    if not isinstance(sites, Mapping) or not sites:
        return ""
    names = list(sites)
    return ", ".join(names) if len(names) < MOST_SITES else (
        f"{', '.join(names[:MOST_SITES - 1])} and {len(names) - MOST_SITES + 1} more")


def _facts_of(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(name, str(one.get(key, "not said"))[:SHOWN if key == "program_sha256" else None],
             str(other.get(key, "not said"))[:SHOWN if key == "program_sha256" else None])
            for key, name in FACTS.items() if one.get(key) != other.get(key)]


def _tuned_times(facts: Mapping[str, Any]) -> dict[str, tuple[list[float], str]]:
    """The seconds of the tuned program and its versions, by dataset."""
    found = dict[str, tuple[list[float], str]]()
    final = facts.get("final")
    for each in final if isinstance(final, list) else ():
        if not isinstance(each, Mapping) or not all(
                isinstance(each.get(name), str) for name in ("entry", "dataset")):
            continue  # damaged
        seconds, versions = (_of_tuned(each, name) for name in ("seconds", "versions"))
        if are_seconds(seconds):
            found[dataset_label(each["entry"], each["dataset"])] = (
                [float(value) for value in seconds], ", ".join(map(str, versions)))
    return found


def _of_tuned(final: Mapping[str, Any], name: str) -> list[Any]:
    """A list that facts have about the tuned program; empty if they are damaged."""
    found = final.get(name)
    mine = found.get(TUNED) if isinstance(found, Mapping) else None
    return mine if isinstance(mine, list) else []


def are_seconds(found: object) -> bool:
    """Test whether a value that was read is a list of times."""
    return isinstance(found, list) and found != [] and all(
        isinstance(each, int | float) and not isinstance(each, bool)
        and 0 < each < math.inf for each in found)


# Logs


def _of_logs(first: Path, second: Path) -> TwoTunings:
    logs = read_log(first), read_log(second)
    values, times, same = list[tuple[str, str, str]](), list[TimesOfTwo](), 0
    for entry in logs[0]:
        if entry not in logs[1]:
            continue
        one, other = logs[0][entry], logs[1][entry]
        changed, equal = _differing(_fitted(one), _fitted(other))
        values, same = [*values, *changed], same + equal
        best = _best_versions(one), _best_versions(other)
        times += [TimesOfTwo(dataset_label(entry, name), (best[0][name][1], best[1][name][1]),
                             (best[0][name][0], best[1][name][0]))
                  for name in best[0] if name in best[1]]
    runs = [", ".join(sorted(made_for(path))) or "not said" for path in (first, second)]
    facts = [("runs of", *runs)] if runs[0] != runs[1] else []
    return TwoTunings(_names(first, second), facts, values, times,  # type: ignore[arg-type]
                      "the best single version of each log", same)


def _fitted(measurements: Measurements) -> dict[str, int]:
    """The thresholds that fit the runs of a log."""
    forest = logged_forest(measurements)
    return fit(costs_of(forest, measurements), all_false(forest)).thresholds


def _best_versions(measurements: Measurements) -> dict[str, tuple[str, list[float]]]:
    """The quickest plan of each dataset: its versions, and the seconds of its runs."""
    return {dataset: min(plans.items(), key=lambda each: median(each[1])) for dataset, plans in
            forced_seconds(logged_forest(measurements), measurements).items()}


def _names(first: Path, second: Path) -> tuple[str, str]:
    """The names of files, with their folders if they are equal."""
    return (first.name, second.name) if first.name != second.name else (str(first), str(second))


# As text


def render_two(found: TwoTunings) -> str:
    """The verdict, the times, and what differs, as text."""
    lines = [sentence(found)]
    if found.times:
        lines += [f"  Times of {found.what}:", table(time_rows(found), "  ")]
    if found.facts:
        lines += ["", "They are of different:", table([["", *found.names], *map(list, found.facts)],
                                                      "  ")]
    lines += ["", _changed(found)]
    if found.values:
        lines.append(table([["", *found.names], *map(list, found.values)], "  "))
    return "\n".join(lines)


def _changed(found: TwoTunings) -> str:
    if not found.values:
        return "All values are equal."
    equal = f" ({found.same} are equal)" if found.same else ""
    return f"Values that differ{equal}:"


def time_rows(found: TwoTunings) -> list[list[str]]:
    """A row for each dataset, the head first."""
    rows = [["dataset", "first", "second", "speed", "95 % sure", "verdict", "first runs",
             "second runs"]]
    for each in found.times:
        ratio, low, high = each.speedup
        known = not math.isnan(low)
        limits = f"{low:.2f} to {high:.2f}×" if known and each.paired else ""
        rows.append([each.dataset, *(show_seconds(median(list(side))) for side in each.seconds),
                     f"{ratio:.2f}×" if known else "-", limits, each.verdict, *each.versions])
    kept = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    return [[row[k] for k in kept] for row in rows]


def sentence(found: TwoTunings) -> str:
    """The verdict: which of the two is faster, and on how many datasets that is certain."""
    one, other = found.names
    known = [each for each in found.times if not math.isnan(each.speedup[0])]
    if not known:
        return f"There are no times to compare {other} with {one}: no dataset has them for both."
    ratio = math.exp(sum(math.log(each.speedup[0]) for each in known) / len(known))
    faster, slower = (sum(each.verdict == word for each in known)
                      for word in ("second faster", "first faster"))
    datasets = counted(len(known), "dataset")
    if not any(each.paired for each in known):
        return (f"{other} took {1 / ratio:.2f}× the time of {one} in the geometric mean of "
                f"{datasets}, at another moment.  The load of the machine may explain that: "
                "'runelift tune-compare PROGRAM A B' runs both in turn.")
    if not faster and not slower:
        return (f"Neither {one} nor {other} is certainly faster on any of "
                f"{datasets}; the second is {ratio:.2f}× as fast in the geometric mean.")
    return (f"{other} is {ratio:.2f}× as fast as {one} in the geometric mean of "
            f"{datasets}: certainly faster on {faster}, certainly slower on {slower}.")


def facts_of_two(found: TwoTunings) -> dict[str, Any]:
    """The comparison for a program to read; speeds are of the second relative to the first."""
    return {"names": list(found.names), "compared": found.what,
            "facts": [list(each) for each in found.facts],
            "values": [list(each) for each in found.values],
            "datasets": list(_dataset_facts(found))}


def _dataset_facts(found: TwoTunings) -> Iterator[dict[str, Any]]:
    for each in found.times:
        ratio, low, high = each.speedup
        yield {"dataset": each.dataset, "in_turn": each.paired,
               "seconds": [list(side) for side in each.seconds],
               "versions": list(each.versions), "speedup": ratio, "low": low, "high": high,
               "verdict": each.verdict}
