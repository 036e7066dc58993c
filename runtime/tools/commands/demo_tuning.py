"""The tuning that ``runelift demo`` shows, and what is said about it.

It is apart from the command, which works without OpenCL.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runelift.runtime.programs.program import Program
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tools.commands import INTERRUPTED, autotune, tuning_options
from runelift.runtime.tools.commands.demo import PROGRAM, source_lines
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.tuning_output import write_results
from runelift.runtime.tools.commands.tuning_request import TuningRequest
from runelift.runtime.tools.reports.verdict import CERTAIN, SLOWER, Change, changes
from runelift.runtime.tuner.analysis.winners import standings
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.result import EntryTuning
from runelift.runtime.tuner.state import State

KINDS = {"outer": "one work-item adds up a row", "intra": "one work-group adds up a row",
         "flat": "all work-items share all elements"}
"""The versions of the program in words, by their kinds."""
NOTABLE = 1.05
"""The gain from which on the text speaks of one."""


def tuned(args: argparse.Namespace, path: Path) -> int:
    """Tune the program and print the results."""
    started = time.perf_counter()

    if not args.json:
        show(f"The squares of each row of a matrix are added (the example {path.stem}):\n\n"
             + "\n".join(source_lines(path)) + "\n")
    parser = argparse.ArgumentParser()
    tuning_options.configure(parser)
    options = [str(path), "--no-parameters"]
    if args.keep is not None:
        options += ["--html", str(path.with_suffix(".html"))]
    if args.device is not None:
        options += ["--device", args.device]
    request = TuningRequest.of(parser.parse_args(options))
    with autotune.tuned(request) as result:
        state = result.state
        assert state is not None
        if not state.measured:
            show("runelift: nothing was measured.", sys.stderr)
            return INTERRUPTED if state.interrupted else 1
        if args.keep is not None:
            write_results(request, result, state, {})
        demo = Demo.of(result.program, state, time.perf_counter() - started)
        if args.json:
            print_json(demo.facts())
        else:
            show("\n".join(demo.lines()))
        return INTERRUPTED if state.interrupted else 0


@dataclass(frozen=True, slots=True)
class Demo:
    """The results of a tuning: times of versions, the changes, and paired runs of them."""

    device: str
    seconds: float
    runs: int
    entry: EntryTuning
    changes: list[Change]
    verified: Mapping[str, PairedTimes]

    @classmethod
    def of(cls, program: Program, state: State, seconds: float) -> Demo:
        """The results of a tuning of a program with one entry point."""
        entry, = state.thresholds.entries
        stages = [entry.verified, *(each.verified for each in state.guards)]
        assert program.device_info is not None
        return cls(program.device_info.label, seconds, entry.program_runs, entry,
                   changes(state.thresholds, state.parameters, state.guards, state.final),
                   {name: both for stage in stages for name, both in stage.items()})

    def times(self) -> dict[str, dict[str, float]]:
        """The device time by version, then by dataset; infinite if a version cannot run."""
        found: dict[str, dict[str, float]] = {}
        for dataset in self.entry.costs.datasets:
            for label, each in standings(self.entry.forest, dataset,
                                         self.entry.choice).items():
                found.setdefault(label, {})[dataset.name] = each.seconds
        return found

    def fastest(self) -> dict[str, str]:
        """The version that takes least, by dataset."""
        times = self.times()
        return {each.name: min(times, key=lambda label: times[label].get(each.name, math.inf))
                for each in self.entry.costs.datasets}

    def facts(self) -> dict[str, Any]:
        """The JSON object that ``--json`` prints."""
        return {"program": PROGRAM, "device": self.device, "seconds": self.seconds,
                "runs": self.runs, "conclusion": list(self.conclusion()),
                "versions": {label: {name: seconds if math.isfinite(seconds) else None
                                     for name, seconds in times.items()}
                             for label, times in self.times().items()},
                "changes": [asdict(each) for each in self.changes],
                "verified": {name: asdict(both) for name, both in self.verified.items()}}

    def lines(self) -> Iterator[str]:
        """The text: a table, what to do next, and three lines of conclusion."""
        times = self.times()
        names = [each.name for each in self.entry.costs.datasets]
        fastest = self.fastest()
        kinds = {leaf.label: KINDS[leaf.kind.value] for leaf in self.entry.forest.leaves()}
        yield f"Time of each version on {self.device} (* the fastest):"
        yield table([["version", *names], *(
            [f"{label} {kinds[label]}", *(_cell(each.get(name, math.inf), fastest[name] == label)
                                          for name in names)]
            for label, each in times.items())], "  ")
        yield ""
        yield ("Next: 'runelift autotune FILE' does this for a program of yours, 'runelift explain "
               "FILE' shows where versions come from.")
        yield ""
        yield from self.conclusion()

    def conclusion(self) -> Iterator[str]:
        """Three lines: what was tried, what was gained, and how sure that is."""
        times, names = self.times(), [each.name for each in self.entry.costs.datasets]
        known = {name: [each[name] for each in times.values()
                        if math.isfinite(each.get(name, math.inf))] for name in names}
        spread = max((max(each) / min(each) for each in known.values() if each), default=1.0)
        yield (f"Tried:  {len(times)} versions of one program on {len(names)} shapes of data in "
               f"{self.seconds:.0f} s; they differ up to {spread:.1f} times"
               + (", and none is best for all." if len({*self.fastest().values()}) > 1 else "."))
        measured = [each for each in self.changes
                    if each.after and math.isfinite(each.before + each.after)]
        best = max(measured, key=lambda each: each.before / each.after, default=None)
        if best is None or best.before / best.after < NOTABLE:
            yield ("Gained: nothing to speak of over the choice without tuning, which is right "
                   "here; a wrong one would cost the factor above.")
            yield "Sure:   what tuning suggested was run beside the choice without it."
            return
        others = [each for each in self.changes if each is not best]
        worse = [each.dataset for each in others if each.certainty == SLOWER]
        yield (f"Gained: {best.dataset}: {show_seconds(best.after)} instead of "
               f"{show_seconds(best.before)}, {best.before / best.after:.2f}× as fast as without "
               "tuning; " + (f"{', '.join(worse)} got slower." if worse else
                             "no other got slower for certain."))
        yield self._sure(best)

    def _sure(self, best: Change) -> str:
        """The line about how sure a gain is, by the last comparison or the one that decided."""
        both, rounds = self.verified.get(best.dataset), best.final.rounds if best.final else 0
        _, low, high = best.speedup
        if both is not None and (math.isnan(low) or (best.certainty == CERTAIN and low <= 1)):
            rounds, low, high = both.default.count, 1 / both.high, 1 / both.low
        if math.isnan(low):
            return "Sure:   it is predicted from the runs of single versions, not measured."
        return (f"Sure:   {best.certainty}: in {rounds} rounds of runs, without and with tuning in "
                f"turn, the gain is {low:.2f} to {high:.2f} with 95 % confidence.")


def _cell(seconds: float, fastest: bool) -> str:
    return show_seconds(seconds) + (" *" if fastest else "  ")
