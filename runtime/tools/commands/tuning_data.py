"""The datasets that ``runelift autotune`` tunes for, and the datasets that it keeps out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.source import Source
from runelift.runtime.programs.program import Program
from runelift.runtime.records.format import dataset_label
from runelift.runtime.tools.commands.bench import inputs
from runelift.runtime.tools.commands.tuning_request import TuningRequest
from runelift.runtime.tools.testing.test_blocks import (
    Case,
    training_of,
    unreadable,
    validation_of,
)
from runelift.runtime.tuner.measure.protocols import Dataset


def tuning_datasets(args: argparse.Namespace | TuningRequest, program: Program
                    ) -> list[Dataset]:
    """The datasets that the command line asks to tune for.

    An entry point may only have cases without a name.  It is left out if another entry point has
    named cases.  Such cases are quick tests, and not worth tuning for.
    """
    _require_readable(args, program.compiled.source)
    asked = args.entry is not None or args.input is not None
    worth = {entry for case in training_of(program.compiled.source)
             for entry in case.entries}
    return [each for each in inputs(args, program, _usable) if asked or each.entry in worth]


def _usable(source: Source, entry: str) -> list[Case]:
    """The cases to tune for whose files can be read."""
    return [case for case in training_of(source, entry) if unreadable(case, source) is None]


def _require_readable(args: argparse.Namespace | TuningRequest, source: Source) -> None:
    """Raise UserError if there are datasets, but no files of any can be read."""
    reasons = [(case.dataset, unreadable(case, source)) for case in training_of(source, args.entry)
               if args.input is None and (args.only is None or args.only in case.dataset)]
    if reasons and all(why is not None for _, why in reasons):
        raise UserError("No dataset can be read: " + "; ".join(
            f"{name}: {why}" for name, why in reasons))


def unusable_inputs(request: TuningRequest) -> dict[str, str]:
    """The datasets whose files cannot be read, and why; looked at before anything runs."""
    if request.replay is not None:
        return {}
    if request.input is not None:
        require_file(request.input)
        return {}
    source = read_source(require_file(request.program))
    return {dataset_label(entry, case.dataset): why for case in training_of(source, request.entry)
            if (request.only is None or request.only in case.dataset)
            and (why := unreadable(case, source)) is not None
            for entry in case.entries if request.entry in (None, entry)}


def missing_lines(missing: Mapping[str, str]) -> Iterator[str]:
    """A line for each dataset that is tuned without."""
    for name, why in missing.items():
        yield f"Tuned without {name}: {why}"


def kept_out(request: TuningRequest, program: Program) -> list[Dataset]:
    """The datasets of ``--validate``."""
    return inputs(request, program, validation_of) if request.validate else []
