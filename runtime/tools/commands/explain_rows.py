"""Explain versions for rows of different lengths: by pictures, and what decides for datasets.

Pictures have work-items, elements and idle steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir import guards
from runelift.ir.base.errors import UserError
from runelift.ir.guards import Kind
from runelift.ir.length_facts import length_facts
from runelift.ir.ragged import Fact
from runelift.runtime.predictions.predict import PredictedChoice, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.records.format import table
from runelift.runtime.tools.commands.explain_cost import predicted_program
from runelift.runtime.tools.commands.explained_program import (
    inputs_of,
    lengths_of_rows,
    planned_program,
)
from runelift.runtime.tools.commands.open_program import entries_of
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation import segments
from runelift.runtime.tools.predictions.call import UNKNOWN, at_least, verdict
from runelift.runtime.versions.forest import Alternative, Site, forest_of
from runelift.runtime.versions.version_names import described_version, version_name

MOST_ROWS, MOST_LENGTH = 40, 120
"""The most rows of a picture, and the longest row."""
ABREAST = 32
"""The neighbours that wait for each other on a device whose work-items run in lockstep."""
HEAD = ("version", "parallelism", "waste", "predicted")
LEGEND = ("* runs by default.  Parallelism is the number of all steps by the steps that a work-item"
          " makes for the longest row.  In versions with parts of bounded size, it is the number "
          "of all steps.  Waste is issued steps over elements, from lengths alone: 1 is none.  "
          "Times are predicted, not measured.")


@dataclass(frozen=True, slots=True)
class _Found:
    """A choice for rows of different lengths, in a dataset.

    ``lengths`` has parameters by name; it is empty if the program computes the lengths.
    ``facts`` are the number of rows, and the facts about all lengths together.
    """

    dataset: str
    site: Site
    choice: PredictedChoice
    facts: tuple[int, ...]
    lengths: Mapping[str, segments.Lengths]
    abreast: int

    def versions(self) -> Iterator[tuple[Alternative, int | None, float | None]]:
        """The versions with parallelism and waste; None for what is unknown."""
        steps = self.facts[0] + self.facts[1 + Fact.TOTAL]
        for alternative, par in zip(self.site.alternatives, self.choice.pars, strict=True):
            slabs = alternative.kind is Kind.SLABS
            yield (alternative, None if slabs else par if alternative.guard else steps,
                   segments.waste(alternative.kind.value, list(self.lengths.values()),
                                  self.abreast))


def ragged(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain --ragged``."""
    loaded, device = predicted_program(args, path)
    entries = entries_of(args, loaded.compiled.interfaces)
    if args.lengths and len(entries) > 1:
        raise UserError(f"--lengths are those of one --entry, of {', '.join(entries)}.")
    found = [each for entry in entries for each in _choices(args, loaded, entry)]
    if not found:
        raise UserError(_nothing(loaded, entries, path))
    if args.json:
        print_json({"device": device, "choices": [_facts(each) for each in found]})
        return
    show(f"Predicted for {device}")
    for each in found:
        show("\n".join(_lines(each)))
    show(f"\n{LEGEND}" + UNKNOWN * any(
        version.totals is not None and version.totals.partial
        for each in found for version in each.choice.versions))


def _nothing(loaded: LoadedProgram, entries: Sequence[str], path: Path) -> str:
    """The reason why there is nothing to tell about lengths."""
    if any(segments.about(site) for entry in entries for site in _sites(loaded, entry).values()):
        return (f"No dataset of '{path}' says what decides: facts about lengths are found when the "
                "program runs.  'runelift run --record' prints them, and --lengths 3,0,5,1 draws "
                "any rows.")
    return (f"No choice of '{path}' depends on the lengths of rows.  'runelift explain {path}' "
            "says which rules made its versions.")


def _sites(loaded: LoadedProgram, entry: str) -> Mapping[str, Site]:
    return forest_of(loaded.compiled.versioned_entry(entry)).entry(entry).sites()


def _choices(args: argparse.Namespace, loaded: LoadedProgram, entry: str) -> Iterator[_Found]:
    """The choices of an entry point that depend on lengths, for each dataset."""
    sites = _sites(loaded, entry)
    if not any(map(segments.about, sites.values())):
        return
    known = loaded.executable(entry).given_lengths
    for dataset, given in inputs_of(loaded, entry, args.sizes, args.only, args.lengths).items():
        arrays = {spec.name.base: np.ravel(value) for spec, value in zip(
            loaded.interface(entry).params, given, strict=True) if spec.name in known}
        for choice in predict_call(loaded, entry, given).choices:
            if (about := segments.about(site := sites[choice.site])) is not None:
                facts = tuple(size.value({name: choice.sizes[str(name)]
                                          for name in size.variables()}) for size in about.sizes())
                yield _Found(dataset, site, choice, facts, _decisive(about, choice, facts, arrays),
                             ABREAST if loaded.device.info.interleaves else 1)


def _decisive(about: guards.Lengths, choice: PredictedChoice, facts: tuple[int, ...],
              arrays: Mapping[str, segments.Lengths]) -> dict[str, segments.Lengths]:
    """The arrays that have the facts of a choice, in sum; none if a length is computed.

    A map with several widths has facts about each.
    """
    values = [{choice.sizes[str(name)] for name in size.variables()} for size in about.sizes()]
    found = {name: lengths for name, lengths in arrays.items() if all(
        fact in some for fact, some in zip(_all_facts(lengths), values, strict=True))}
    together = zip(*map(_all_facts, found.values()), strict=True)
    sums = tuple(max(each) if number == 0 else sum(each) for number, each in enumerate(together))
    return found if sums == facts else {}


def _all_facts(lengths: segments.Lengths) -> list[int]:
    return [len(lengths), *length_facts(lengths).tolist()]


def _lines(found: _Found) -> Iterator[str]:
    count, total, longest = found.facts[0], *found.facts[1:3]
    known = "" if found.lengths else (
        f", computed lengths up to {longest:,}, mean {_mean(total, count)}")
    yield f"\n{found.site.name}, {found.dataset}: {count:,} rows{known}"
    for name, lengths in found.lengths.items():
        low, high = min(lengths, default=0), max(lengths, default=0)
        yield (f"  {name} has lengths {low:,} to {high:,}, mean {_mean(int(lengths.sum()), count)}"
               if low < high else
               f"  {name} has {f'lengths {low:,} alone' if count else 'no lengths'}")
        yield from (f"  {line}" for line in segments.class_lines(lengths))
    rows = [list(HEAD)]
    for predicted, (alternative, par, wasted) in zip(
            found.choice.versions, found.versions(), strict=True):
        mark = "* " if predicted.number == found.choice.chosen else "  "
        rows.append([mark + described_version(alternative), "-" if par is None else f"{par:,}",
                     "-" if wasted is None else f"{wasted:.3g}",
                     "cannot run" if predicted.totals is None else at_least(predicted.totals)])
    yield table(rows, "  ")
    yield f"    {verdict(found.site, found.choice)}"


def _mean(total: int, count: int) -> str:
    mean = total / max(count, 1)
    return f"{mean:,.0f}" if mean >= 999.5 else f"{mean:.3g}"


def _facts(found: _Found) -> dict[str, Any]:
    chosen = found.choice.chosen
    return {
        "site": found.site.name, "dataset": found.dataset, "rows": found.facts[0],
        **{fact.name.lower(): found.facts[1 + fact] for fact in Fact},
        "counts": {name: segments.class_counts(lengths) for name, lengths in found.lengths.items()},
        "chosen": version_name(found.site.alternatives[chosen]) if chosen >= 0 else None,
        "why": verdict(found.site, found.choice),
        "versions": [{
            "name": version_name(alternative), "kind": alternative.kind.value,
            "parallelism": par, "waste": wasted,
            "predicted_seconds": None if predicted.totals is None else predicted.seconds}
            for predicted, (alternative, par, wasted) in zip(
                found.choice.versions, found.versions(), strict=True)]}


# Pictures


def lengths(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain --lengths``."""
    wanted = lengths_of_rows(args.lengths).tolist()
    if not 1 <= len(wanted) <= MOST_ROWS or max(wanted) > MOST_LENGTH:
        raise UserError(f"A picture has 1 to {MOST_ROWS} rows, and at most {MOST_LENGTH} elements "
                        "in a row.")
    program = planned_program(args, path)
    found = [each for entry in entries_of(args, program.entries)
             for each in segments.drawn(program.tree.entry(entry), wanted)]
    if not found:
        raise UserError(f"No choice of '{path}' depends on the lengths of rows: pictures are of "
                        "versions of such choices.")
    if args.json:
        print_json([{"site": each.site, "name": each.version, "waste": each.picture.waste,
                     **asdict(each.picture)} for each in found])
        return
    show("\n".join(segments.drawing_lines(found, wanted)))
