"""The datasets that ``runelift autotune`` tunes for, and the datasets that it keeps out."""

from __future__ import annotations

import argparse

from runelift.ir.base.errors import UserError
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.bench import DatasetOptions, inputs
from runelift.runtime.tools.commands.tuning_request import TuningRequest
from runelift.runtime.tools.testing.test_blocks import training_of, validation_of
from runelift.runtime.tuner.measure.protocols import Dataset


def tuning_datasets(args: argparse.Namespace | DatasetOptions, program: Program
                    ) -> list[Dataset]:
    """The datasets that the command line asks to tune for.

    An entry point may only have cases without a name.  It is left out if another entry point has
    named cases.  Such cases are quick tests, and not worth tuning for.
    """
    asked = args.entry is not None or args.input is not None
    worth = {entry for case in training_of(program.compiled.source)
             for entry in case.entries}
    return [Dataset(name, entry, arguments, expected)
            for entry, name, arguments, expected in inputs(args, program, training_of)
            if asked or entry in worth]


def kept_out(request: TuningRequest, program: Program) -> list[Dataset]:
    """The datasets of ``--validate``."""
    if not request.validate:
        return []
    if request.input is not None:
        raise UserError("--validate runs the datasets that a program keeps out of tuning, not an "
                        "--input.")
    return [Dataset(name, entry, arguments, expected)
            for entry, name, arguments, expected in inputs(request, program, validation_of)]
