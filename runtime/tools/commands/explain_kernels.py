"""Explain what a program becomes on a device: kernels, their barriers, parameters and memory."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runelift.codegen.passes.access_graph import dot
from runelift.codegen.passes.barrier_reasons import ExplainedKernel, explain_barriers, facts_of
from runelift.codegen.plan import kernel_classes
from runelift.codegen.plan.memory import memory_of
from runelift.codegen.plan.plan import kernels as kernels_of
from runelift.ir.analysis import patterns
from runelift.ir.base.errors import UserError
from runelift.ir.base.written_files import write_atomically
from runelift.ir.imp.traverse import has_barriers
from runelift.runtime.predictions.predict import predict_versions
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.explained_program import (
    compiled_source,
    inputs_of,
    planned_program,
)
from runelift.runtime.tools.commands.open_program import entries_of, pick_entry
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.explanation import memory as explained_memory
from runelift.runtime.tools.explanation import spaces as explained_spaces


def access(args: argparse.Namespace, path: Path) -> None:
    """Explain the class of each reference to an array."""
    compiled = compiled_source(args, path)
    known = {fun.name: fun for fun in compiled.versioned.funs}
    funs = [known[name] for name in entries_of(args, known)]
    if args.json:
        print_json({fun.name: [
            {"kernel": each.name, "at": str(each.loc), "references": [
                {"reference": str(r), "array": r.array.base, "class": r.pattern.title}
                for r in each.references]} for each in patterns.accesses(fun)] for fun in funs})
    else:
        show("\n\n".join(f"{fun.name}\n" + patterns.render(patterns.accesses(fun))
                         for fun in funs))


def kernels(args: argparse.Namespace, path: Path) -> None:
    """Explain the classes of the kernels of each version, launches, and stored intermediates."""
    program = planned_program(args, path)
    works = [(entry, kernel_classes.work_of(program.compiled.plan(
        entry, checked=False, costed=False, **_kind(program))))
        for entry in entries_of(args, program.entries)]
    if args.json:
        print_json({entry: asdict(work) for entry, work in works})
    else:
        show(kernel_classes.render(works))


def _kind(program: Program) -> dict[str, Any]:
    """The kind of plan that the device of a program gets; without a device, that of a GPU."""
    info = program.device_info
    return {"interleave": info is None or info.interleaves,
            "coherent": info is None or info.coherent}


def parameters(args: argparse.Namespace, path: Path) -> None:
    """Explain the parameters of kernels on a device, and the constraints on them."""
    program = planned_program(args, path)
    if program.device_info is None:
        raise UserError("What parameters can be depends on the device, and there is none here; "
                        "'runelift doctor' says why.")
    numbers = explained_spaces.numbers_of_points(program.compiled)
    spaces = program.spaces(None if args.entry is None else pick_entry(program, args.entry))
    if args.json:
        print_json(explained_spaces.facts(spaces, numbers))
    else:
        show(explained_spaces.render(spaces, numbers))


# Memory


def memory(args: argparse.Namespace, path: Path) -> None:
    """Explain the device memory of each version, for datasets, or for sizes without arrays."""
    program = planned_program(args, path)
    entries = entries_of(args, program.entries)
    if (args.sizes or args.lengths) and len(entries) > 1:
        raise UserError(f"--sizes and --lengths are those of one --entry, of "
                        f"{', '.join(entries)}.")
    found = [_memory_of(args, program, entry) for entry in entries]
    if args.json:
        print_json({each.forest.entry: explained_memory.facts(each) for each in found})
    else:
        show("\n\n".join(map(explained_memory.render, found)))
        show(f"\n{explained_memory.LEGEND}")


def _memory_of(args: argparse.Namespace, program: Program, entry: str
               ) -> explained_memory.ExplainedMemory:
    forest, loaded = program.tree.entry(entry), program.loaded
    inputs = {} if program.device_info is None else inputs_of(
        loaded, entry, args.sizes, args.only, args.lengths)
    return explained_memory.ExplainedMemory(
        forest, memory_of(loaded.plan(entry)),
        {name: program.estimate_memory(entry, given) for name, given in inputs.items()},
        {name: predict_versions(loaded, forest, given) for name, given in inputs.items()})


# Barriers


def barriers(args: argparse.Namespace, path: Path) -> None:
    """Explain the barriers of the kernels of a program, and draw their graphs if told to."""
    program = planned_program(args, path)
    found: list[ExplainedKernel] = []
    names: list[str] = []
    for entry in entries_of(args, program.entries):
        plan, origins = program.compiled.explained_plan(entry, **_kind(program))
        own = {kernel.name: kernel for kernel in kernels_of(plan.steps)}
        names += own
        found += [explain_barriers(kernel, origins) for kernel in own.values()
                  if args.kernel == kernel.name or (
                      args.kernel is None and has_barriers(kernel.body))]
    if args.kernel is not None and not found:
        near = difflib.get_close_matches(args.kernel, names, n=3, cutoff=0.3) or names[:3]
        raise UserError(f"The program has no kernel '{args.kernel:.80}'"
                        + (f", but {', '.join(near)}." if near else "."))
    if args.dot is not None:
        write_atomically(args.dot, "\n".join(map(dot, found)) + "\n")
    if args.json:
        print_json([facts_of(each) for each in found])
    else:
        show("\n\n".join(_text(found, len(names))))


def _text(found: Sequence[ExplainedKernel], total: int) -> Iterator[str]:
    yield from (each.render() for each in found)
    count = sum(len(each.barriers) for each in found)
    yield f"{count} barriers in {len(found)} of {total} kernels"
