"""Inputs of tests computed by scripts, on the device of the program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runelift.ir.base.errors import Diagnostic, ProgramError, UserError
from runelift.ir.base.files import read_bytes
from runelift.ir.base.source import Source
from runelift.runtime.data import lengths
from runelift.runtime.data.pictures import read_picture
from runelift.runtime.data.sounds import read_sound
from runelift.runtime.data.text import Reader, Value, prim_of
from runelift.runtime.data.values import load_values
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.programs.program import Program

if TYPE_CHECKING:
    from runelift.frontend.scripts import Given, Part
    from runelift.frontend.syntax.types import Type

POLICY = "moderate"
"""A script runs once: one version will do."""


class Script(NamedTuple):
    """A script that is compiled: its type, its program, and the values that it is given."""

    type: Type
    program: Program
    given: tuple[Value, ...]

    def run(self, *further: Value) -> list[Value]:
        """The parts of the value; ``further`` are the parts of a state for a step."""
        (entry,) = self.program.entries
        return self.program.run(entry, [*self.given, *further])[0]


def evaluate(script: Source, program: Source, device: DeviceInfo | None) -> list[Value]:
    """The parts of the value of a script in ``program``; UserError if it is wrong or fails.

    The interpreter runs it where there is no device.  Files lie beside the program.
    """
    return compiled(script, program, device).run()


def compiled(script: Source, program: Source, device: DeviceInfo | None,
             part: Part | None = None) -> Script:
    """A script, or a part of it, compiled for a device."""
    # late: start-up; a program that is kept needs no compiler
    from runelift.runtime.compilation.script import Part, compile_script, given

    asked = given(script)
    values = [value_of(each, program) for each in asked]
    made, type_ = compile_script(program, script, asked, [type_of(v) for v in values],
                                 policy=POLICY, part=part or Part.VALUE)
    runner = Program(made, device, policy=POLICY)
    runner.loaded.stores_plans = False  # no later run has this script
    return Script(type_, runner, tuple(part for value in values for part in value))


def value_of(asked: Given, program: Source) -> Sequence[Value]:
    """The parts of a value that a script of a program is given; files lie beside the program."""
    path = Path(program.name).parent / asked.argument
    match asked.builtin:
        case "loaddata":
            return load_values(path)
        case "loadbytes":
            return [np.frombuffer(read_bytes(path), np.uint8)]
        case "loadimg":
            return [read_picture(path)]
        case "loadaudio":
            return [read_sound(path)]
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


def type_of(parts: Sequence[Value]) -> str:
    """The type of a value, a tuple if it has several parts or none."""
    types = ["[]" * np.ndim(part) + prim_of(part).value for part in parts]
    return types[0] if len(types) == 1 else f"({', '.join(types)})"
