"""Explain the device memory of each version, for datasets, or for sizes without arrays."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from runelift.codegen.plan.memory import memory_of
from runelift.codegen.plan.plan import Interface, ValueSpec
from runelift.ir.errors import UserError
from runelift.ir.numerals import whole_number
from runelift.ir.types import Const
from runelift.runtime.commands.explained_program import planned_program
from runelift.runtime.commands.open_program import pick_entry
from runelift.runtime.commands.options import print_json
from runelift.runtime.commands.styles import show
from runelift.runtime.data.outline import outline
from runelift.runtime.memory import explained_memory
from runelift.runtime.program import Program
from runelift.runtime.testing.scripts import evaluate
from runelift.runtime.testing.test_blocks import datasets_of


def explain(args: argparse.Namespace, path: Path) -> None:
    """``runelift explain --memory``."""
    program = planned_program(args, path)
    entries = program.entries if args.entry is None else [pick_entry(program, args.entry)]
    if args.sizes and len(entries) > 1:
        raise UserError(f"--sizes are those of one --entry, of {', '.join(entries)}.")
    found = [explained_memory.ExplainedMemory(
        program.tree.entry(entry), memory_of(program.loaded.plan(entry)), {
            name: program.estimate_memory(entry, inputs) for name, inputs in _inputs(
                program, entry, args.sizes, args.only).items()
        } if program.device_info is not None else {}) for entry in entries]
    if args.json:
        print_json({each.forest.entry: explained_memory.facts(each) for each in found})
    else:
        show("\n\n".join(map(explained_memory.render, found)))
        show(f"\n{explained_memory.LEGEND}")


def _inputs(program: Program, entry: str, sizes: Sequence[str], only: str | None
                  ) -> dict[str, list[Any]]:
    """Arguments whose arrays have no elements, by the name of the input."""
    if sizes:
        return {", ".join(sizes): _of_sizes(program.interface(entry), _assigned(sizes))}
    scripts = partial(evaluate, program=program.compiled.source, device=program.device_info)
    types = [param.prim for param in program.interface(entry).params]
    return {case.dataset: outline(case.recipes(scripts, types))
            for case in datasets_of(program.compiled.source, entry)
            if only is None or only in case.dataset}


def _assigned(texts: Sequence[str]) -> dict[str, int]:
    """``NAME=N`` as given on the command line."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        number = whole_number(value)
        if not name or number is None:
            raise UserError(f"'{text:.60}' should be NAME=N: a size or a parameter, and a number "
                            "from 0.")
        found[name] = number
    return found


def _of_sizes(entry: Interface, values: Mapping[str, int]) -> list[Any]:
    """Arguments of these sizes; UserError if a size or a number is missing."""
    wanted = {name.base for name in entry.sizes} | {
        spec.name.base for spec in entry.params if spec.shape is None}
    if values.keys() != wanted:
        raise UserError(f"The sizes of '{entry.entry}' are {', '.join(sorted(wanted)) or 'none'}, "
                        f"and --sizes gives {', '.join(sorted(values))}.")
    return outline([_argument(spec, values) for spec in entry.params])


def _argument(spec: ValueSpec, values: Mapping[str, int]) -> Any:
    """A number, or zeros of which only one is stored."""
    if spec.shape is None:
        return spec.prim.dtype.type(values[spec.name.base])
    shape = [int(size.value) if isinstance(size, Const) else values[size.base]
             for size in spec.shape]
    return np.broadcast_to(np.zeros((), spec.prim.dtype), shape)
