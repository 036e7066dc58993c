"""Explain versions for rows of different lengths: by pictures, and what decides for datasets.

Pictures have work-items, elements and idle steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runelift.ir.base.errors import UserError
from runelift.ir.base.numerals import whole_number
from runelift.ir.length_facts import length_facts
from runelift.ir.ragged import Fact
from runelift.runtime.predictions.predict import PredictedChoice, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tools.commands.explain_cost import predicted_program
from runelift.runtime.tools.commands.explained_program import inputs_of, planned_program
from runelift.runtime.tools.commands.open_program import entries_of
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation import segments
from runelift.runtime.tools.predictions.call import verdict
from runelift.runtime.versions.forest import Alternative, Forest, Site, forest_of
from runelift.runtime.versions.version_names import described_version, version_name

MOST_ROWS, MOST_LENGTH = 40, 120
"""The most rows of a picture, and the longest row."""
ABREAST = 32
"""The neighbours that wait for each other on a device whose work-items run in lockstep."""
HEAD = ("version", "parallelism", "waste", "predicted")
LEGEND = ("* runs by default.  Parallelism is work through the longest row's part of it.  Waste is "
          "issued steps over elements.  Times are predicted, not measured.")


@dataclass(frozen=True, slots=True)
class _Found:
    """A choice for rows whose ``lengths`` are the parameter ``name``, in a dataset."""

    dataset: str
    name: str
    lengths: segments.Lengths
    site: Site
    choice: PredictedChoice
    abreast: int

    def versions(self) -> Iterator[tuple[Alternative, int, float | None]]:
        for alternative, par in zip(self.site.alternatives, self.choice.pars, strict=True):
            steps = len(self.lengths) + int(np.maximum(self.lengths, 0).sum())
            yield (alternative, par if alternative.guard else steps,
                   segments.waste(alternative.kind.value, self.lengths, self.abreast))


def ragged(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain --ragged``."""
    loaded, device = predicted_program(args, path)
    found = [each for entry in entries_of(args, loaded.compiled.interfaces)
             for each in _choices(args, loaded, entry)]
    if not found:
        raise UserError(f"No dataset of '{path}' has lengths of rows as an argument, on which "
                        "a choice of versions depends.  --lengths 3,0,5,1 draws any rows.")
    if args.json:
        print_json({"device": device, "choices": [_facts(each) for each in found]})
        return
    show(f"Predicted for {device}")
    for each in found:
        show("\n".join(_lines(each)))
    show(f"\n{LEGEND}")


def _choices(args: argparse.Namespace, loaded: LoadedProgram, entry: str) -> Iterator[_Found]:
    """The choices of an entry point that depend on lengths of datasets."""
    forest = forest_of(loaded.compiled.versioned_entry(entry)).entry(entry)
    known, sites = loaded.executable(entry).given_lengths, forest.sites()
    for dataset, given in inputs_of(loaded, entry, [], args.only).items():
        arrays = {spec.name.base: value for spec, value in zip(
            loaded.interface(entry).params, given, strict=True) if spec.name in known}
        for choice in predict_call(loaded, entry, given).choices if arrays else ():
            site = sites[choice.site]
            for name, lengths in arrays.items():
                if _is_about(site, choice, lengths):
                    yield _Found(dataset, name, lengths, site, choice,
                                 ABREAST if loaded.device.info.interleaves else 1)


def _is_about(site: Site, choice: PredictedChoice, lengths: segments.Lengths) -> bool:
    """True if the guards of a choice have the facts about these lengths."""
    about = next((each.guard.lengths for each in site.alternatives
                  if each.guard is not None and each.guard.lengths is not None), None)
    if about is None:
        return False
    wanted = [len(lengths), *length_facts(lengths).tolist()]
    names = [size.variable for size in about.sizes()]
    return [None if name is None else choice.sizes.get(str(name)) for name in names] == wanted


def _lines(found: _Found) -> Iterator[str]:
    lengths = found.lengths
    yield (f"\n{found.site.name}, {found.dataset}: {len(lengths):,} rows, {found.name} has "
           f"lengths {min(lengths, default=0):,} to {max(lengths, default=0):,}, "
           f"mean {float(lengths.mean()) if len(lengths) else 0:.3g}")
    yield from (f"  {line}" for line in segments.class_lines(lengths))
    rows = [list(HEAD)]
    for predicted, (alternative, par, wasted) in zip(
            found.choice.versions, found.versions(), strict=True):
        mark = "* " if predicted.number == found.choice.chosen else "  "
        rows.append([mark + described_version(alternative), f"{par:,}",
                     "-" if wasted is None else f"{wasted:.3g}",
                     "cannot run" if predicted.totals is None else show_seconds(predicted.seconds)])
    yield table(rows, "  ")
    yield f"    {verdict(found.site, found.choice)}"


def _facts(found: _Found) -> dict[str, Any]:
    facts = length_facts(found.lengths)
    chosen = found.choice.chosen
    return {
        "site": found.site.name, "dataset": found.dataset, "lengths": found.name,
        "rows": len(found.lengths),
        **{fact.name.lower(): int(facts[fact]) for fact in Fact},
        "counts": segments.class_counts(found.lengths),
        "chosen": version_name(found.site.alternatives[chosen]) if chosen >= 0 else None,
        "why": verdict(found.site, found.choice),
        "versions": [{
            "name": version_name(alternative), "kind": alternative.kind.value,
            "parallelism": par, "waste": wasted,
            "predicted_seconds": None if predicted.totals is None else predicted.seconds}
            for predicted, (alternative, par, wasted) in zip(
                found.choice.versions, found.versions(), strict=True)]}


# Pictures


class Drawn(NamedTuple):
    """A version of a site with its picture."""

    site: str
    version: str
    picture: segments.Picture


def lengths(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain --lengths``."""
    wanted = [_length(each) for each in args.lengths.split(",")]
    if len(wanted) > MOST_ROWS:
        raise UserError(f"A picture has at most {MOST_ROWS} rows.")
    program = planned_program(args, path)
    found = [each for entry in entries_of(args, program.entries)
             for each in _drawn(program.tree.entry(entry), wanted)]
    if not found:
        raise UserError(f"No version of '{path}' is chosen by lengths of rows: pictures are of "
                        "such versions.")
    if args.json:
        print_json([{"site": each.site, "name": each.version, "waste": _finite(each.picture),
                     **asdict(each.picture)} for each in found])
        return
    for site in dict.fromkeys(each.site for each in found):
        show(f"{site}: rows of {', '.join(map(str, wanted))} elements")
        for each in found:
            if each.site == site:
                show("\n".join(_picture_lines(each)))


def _length(text: str) -> int:
    found = whole_number(text.strip())
    if found is None or found > MOST_LENGTH:
        raise UserError(f"'{text:.40}' should be a length from 0 to {MOST_LENGTH}, as in "
                        "--lengths 3,0,5,1.")
    return found


def _drawn(forest: Forest, lengths: list[int]) -> Iterator[Drawn]:
    """The versions of an entry point for rows whose lengths differ."""
    for name, site in forest.sites().items():
        if any(each.guard is not None and each.guard.lengths for each in site.alternatives):
            for each in site.alternatives:
                if each.kind.value in segments.VERSIONS:
                    yield Drawn(name, version_name(each),
                                segments.picture(each.kind.value, lengths))


def _picture_lines(drawn: Drawn) -> Iterator[str]:
    """The picture of a version with its name and its waste."""
    found = drawn.picture
    wasted = _finite(found)
    more = "" if wasted is None else f"; {found.issued} steps, {wasted:.2g} times as many as needed"
    yield f"\n  {drawn.version} ({found.version}): {found.meaning}{more}"
    yield from (f"    {number:>2} {line}".rstrip() for number, line in enumerate(found.lines))


def _finite(found: segments.Picture) -> float | None:
    """The waste; None if no step is useful."""
    return found.waste if found.useful else None
