"""Explain the classes of the kernels of each version, launches, and stored intermediates."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from runelift.codegen.plan.kernel_classes import render, work_of
from runelift.runtime.tools.commands.explained_program import planned_program
from runelift.runtime.tools.commands.open_program import pick_entry
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain kernels``."""
    program = planned_program(args, path)
    info = program.device_info
    entries = program.entries if args.entry is None else [pick_entry(program, args.entry)]
    works = [(entry, work_of(program.compiled.plan(
        entry, interleave=info is None or info.interleaves,
        coherent=info is None or info.coherent, checked=False))) for entry in entries]
    if args.json:
        print_json({entry: asdict(work) for entry, work in works})
    else:
        show(render(works))
