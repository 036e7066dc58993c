"""Explain the device memory of each version, for datasets, or for sizes without arrays."""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.codegen.plan.memory import memory_of
from runelift.ir.base.errors import UserError
from runelift.runtime.predictions.predict import predict_versions
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.explained_program import inputs_of, planned_program
from runelift.runtime.tools.commands.open_program import pick_entry
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation import memory as explained_memory


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain memory``."""
    program = planned_program(args, path)
    entries = program.entries if args.entry is None else [pick_entry(program, args.entry)]
    if args.sizes and len(entries) > 1:
        raise UserError(f"--sizes are those of one --entry, of {', '.join(entries)}.")
    found = [_explained(args, program, entry) for entry in entries]
    if args.json:
        print_json({each.forest.entry: explained_memory.facts(each) for each in found})
    else:
        show("\n\n".join(map(explained_memory.render, found)))
        show(f"\n{explained_memory.LEGEND}")


def _explained(args: argparse.Namespace, program: Program, entry: str
               ) -> explained_memory.ExplainedMemory:
    forest, loaded = program.tree.entry(entry), program.loaded
    inputs = {} if program.device_info is None else inputs_of(
        loaded, entry, args.sizes, args.only)
    return explained_memory.ExplainedMemory(
        forest, memory_of(loaded.plan(entry)),
        {name: program.estimate_memory(entry, given) for name, given in inputs.items()},
        {name: predict_versions(loaded, forest, given) for name, given in inputs.items()})
