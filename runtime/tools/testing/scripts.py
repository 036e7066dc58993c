"""Inputs of tests computed by scripts, on the device of the program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from runelift.ir.base.errors import Diagnostic, ProgramError, UserError
from runelift.ir.base.files import read_bytes
from runelift.ir.base.source import Source
from runelift.runtime.data import lengths
from runelift.runtime.data.text import Reader, Value, prim_of
from runelift.runtime.data.values import load_values
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.programs.program import Program

if TYPE_CHECKING:
    from runelift.frontend.scripts import Given

POLICY = "moderate"
"""A script runs once: one version will do."""


def evaluate(script: Source, program: Source, device: DeviceInfo | None) -> list[Value]:
    """The parts of the value of a script in ``program``; UserError if it is wrong or fails.

    The interpreter runs it where there is no device.  Files lie beside the program.
    """
    # late: start-up; a program that is kept needs no compiler
    from runelift.runtime.compilation.script import ENTRY, compile_script, given

    asked = given(script)
    values = [_value(each, Path(program.name).parent) for each in asked]
    compiled = compile_script(program, script, asked, [_type(v) for v in values], policy=POLICY)
    runner = Program(compiled, device, policy=POLICY)
    runner.loaded.stores_plans = False  # no later run has this script
    return runner.run(ENTRY, [part for value in values for part in value])[0]


def _value(asked: Given, folder: Path) -> Sequence[Value]:
    """The parts of a value that a script is given."""
    path = folder / asked.argument
    match asked.builtin:
        case "loaddata":
            return load_values(path)
        case "loadbytes":
            return [np.frombuffer(read_bytes(path), np.uint8)]
        case "ragged":
            return [_lengths(asked)]
        case _:
            return [Reader(asked.span.source, asked.span.start, asked.span.end).value()]


def _lengths(asked: Given) -> Value:
    """The lengths that a script asks for; ProgramError where it does."""
    try:
        return lengths.parse(asked.argument)
    except UserError as error:
        raise ProgramError(Diagnostic("malformed-data", asked.span, str(error))) from None


def _type(parts: Sequence[Value]) -> str:
    """The type of a value, a tuple if it has several parts or none."""
    types = ["[]" * np.ndim(part) + prim_of(part).value for part in parts]
    return types[0] if len(types) == 1 else f"({', '.join(types)})"
