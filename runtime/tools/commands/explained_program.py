"""The program that ``runelift explain`` is about, compiled as far as an explanation needs it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source
from runelift.ir.base.numerals import whole_number
from runelift.ir.names import VName
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.lengths import MOST, Lengths, parse
from runelift.runtime.data.outline import arguments_of_sizes, assigned
from runelift.runtime.predictions.predict import outlined
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.open_program import require_entry
from runelift.runtime.tools.commands.rewriting_options import rewriting_of, rules_of
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import datasets_of
from runelift.runtime.versions.tuning_file import schedule_of

MOST_SHOWN = 8
"""The lengths that a label shows."""


def lengths_of_rows(text: str) -> Lengths:
    """The lengths that ``3,0,5,1`` or ``N SHAPE CAP`` asks for; UserError if malformed."""
    if " " in text.strip():
        return parse(text)
    found = [whole_number(each.strip()) for each in text.split(",")]
    if any(each is None or each > MOST for each in found):
        raise UserError(f"'{text:.60}' should be lengths from 0 on, as in --lengths 3,0,5,1, or "
                        "N SHAPE CAP, as in --lengths '1000 power 64'.")
    return np.array(found, np.int64)


def _label(rows: str) -> str:
    """The lengths; of a long list its begin, and how many they are."""
    each = rows.split(",")
    more = f", … ({len(each)})" if len(each) > MOST_SHOWN else ""
    return f"rows of {','.join(each[:MOST_SHOWN])}{more}"


def _arguments_of_rows(loaded: LoadedProgram, entry: str, sizes: Mapping[str, int], rows: str
                       ) -> list[Any]:
    """Arguments with these sizes, where all arrays of lengths that decide are ``rows``."""
    interface, lengths = loaded.interface(entry), lengths_of_rows(rows)
    known = {number: spec.shape[0] for number, spec in enumerate(interface.params)
             if spec.name in loaded.executable(entry).given_lengths
             and spec.shape is not None and len(spec.shape) == 1}
    if not known:
        raise UserError(f"No argument of '{entry}' is an array of lengths, of one dimension, that "
                        "decides between versions.")
    counts = {size.base: len(lengths) for size in known.values() if isinstance(size, VName)}
    if both := sorted(counts.keys() & sizes):
        raise UserError(f"'{both[0]}' is the number of --lengths, {len(lengths):,}: leave it out "
                        "of --sizes.")
    given = arguments_of_sizes(interface, sizes, counts)
    return [lengths if number in known else value for number, value in enumerate(given)]


def planned_program(args: argparse.Namespace, path: Path) -> Program:
    """The program compiled for a device, without a tuning file; it cannot be run."""
    made = compile_program(path, device=args.device, tuning={}, policy=args.policy, runs=False,
                           rules=args.rules, schedule=args.file)
    require_entry(made.entries)
    return made


def compiled_source(args: argparse.Namespace, path: Path, rewriting: Rewriting | None = None
                    ) -> Compiled:
    """The program without a device, by a watched optimiser."""
    made = compile_source(read_source(path), policy=args.policy,
                          rewriting=rewriting or rewriting_of(args),
                          rules=rules_of(args), schedule=schedule_of(args.file))
    require_entry(made.interfaces)
    return made


def inputs_of(loaded: LoadedProgram, entry: str, sizes: Sequence[str], only: str | None,
              rows: str | None = None) -> dict[str, list[Any]]:
    """Arguments by name: of ``sizes`` if any, or of the lengths of ``rows``, else of datasets.

    Only the lengths that decide have elements.
    """
    compiled, interface = loaded.compiled, loaded.interface(entry)
    if rows is not None:
        return {_label(rows): _arguments_of_rows(loaded, entry, assigned(sizes), rows)}
    if sizes:
        return {", ".join(sizes): arguments_of_sizes(interface, assigned(sizes))}
    here = loaded.info if loaded.info is not None and loaded.info.handle is not None else None
    scripts = partial(evaluate, program=compiled.source, device=here)
    types = [param.prim for param in interface.params]
    return {case.dataset: outlined(loaded, entry, case.recipes(scripts, types))
            for case in datasets_of(compiled.source, entry)
            if only is None or only in case.dataset}
