"""Explain the device memory of each version, for datasets, or for sizes without arrays."""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.codegen.plan.memory import memory_of
from runelift.ir.errors import UserError
from runelift.runtime.commands.explained_program import inputs_of, planned_program
from runelift.runtime.commands.open_program import pick_entry
from runelift.runtime.commands.options import print_json
from runelift.runtime.commands.styles import show
from runelift.runtime.cost.predict import predict_versions
from runelift.runtime.memory import explained_memory
from runelift.runtime.program import Program


def explain(args: argparse.Namespace, path: Path) -> None:
    """``runelift explain --memory``."""
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
