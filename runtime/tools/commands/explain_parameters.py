"""Explain the parameters of kernels on a device, and the constraints on them."""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.explained_program import planned_program
from runelift.runtime.tools.commands.open_program import pick_entry
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation.spaces import facts, numbers_of_points, render


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain parameters``."""
    program = planned_program(args, path)
    if program.device_info is None:
        raise UserError("What parameters can be depends on the device, and there is none here; "
                        "'runelift doctor' says why.")
    numbers = numbers_of_points(program.compiled)
    spaces = program.spaces(None if args.entry is None else pick_entry(program, args.entry))
    if args.json:
        print_json(facts(spaces, numbers))
    else:
        show(render(spaces, numbers))
