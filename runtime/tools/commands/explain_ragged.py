"""Explain what decides where the rows of datasets have different lengths."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir.base.errors import UserError
from runelift.ir.length_facts import length_facts
from runelift.ir.ragged import Fact
from runelift.runtime.predictions.predict import PredictedChoice, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tools.commands.explain_cost import predicted_program
from runelift.runtime.tools.commands.explained_program import entries_of, inputs_of
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation.segments import (
    Lengths,
    class_counts,
    class_lines,
    waste,
)
from runelift.runtime.tools.predictions.call import verdict
from runelift.runtime.versions.forest import Alternative, Site, forest_of
from runelift.runtime.versions.version_names import described_version, version_name

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
    lengths: Lengths
    site: Site
    choice: PredictedChoice
    abreast: int

    def versions(self) -> Iterator[tuple[Alternative, int, float | None]]:
        """The versions with their average parallelism and their waste."""
        for alternative, par in zip(self.site.alternatives, self.choice.pars, strict=True):
            steps = len(self.lengths) + int(np.maximum(self.lengths, 0).sum())
            yield (alternative, par if alternative.guard else steps,
                   waste(alternative.kind.value, self.lengths, self.abreast))


def explain(args: argparse.Namespace, path: Path) -> None:
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


def _is_about(site: Site, choice: PredictedChoice, lengths: Lengths) -> bool:
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
    yield from (f"  {line}" for line in class_lines(lengths))
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
        "counts": class_counts(found.lengths),
        "chosen": version_name(found.site.alternatives[chosen]) if chosen >= 0 else None,
        "why": verdict(found.site, found.choice),
        "versions": [{
            "name": version_name(alternative), "kind": alternative.kind.value,
            "parallelism": par, "waste": wasted,
            "predicted_seconds": None if predicted.totals is None else predicted.seconds}
            for predicted, (alternative, par, wasted) in zip(
                found.choice.versions, found.versions(), strict=True)]}
