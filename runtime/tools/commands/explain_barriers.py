"""Explain the barriers of kernels: ``runelift explain barriers``."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from pathlib import Path

from runelift.codegen.passes.access_graph import dot
from runelift.codegen.passes.barrier_reasons import ExplainedKernel, explain_barriers, facts_of
from runelift.codegen.plan.plan import kernels
from runelift.ir.base.errors import UserError
from runelift.ir.base.written_files import write_atomically
from runelift.ir.imp.traverse import has_barriers
from runelift.runtime.tools.commands.explained_program import planned_program
from runelift.runtime.tools.commands.open_program import pick_entry
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show


def explain(args: argparse.Namespace, path: Path) -> None:
    """Print the barriers of the kernels of a program, and draw their graphs if told to."""
    program = planned_program(args, path)
    info = program.device_info
    entries = program.entries if args.entry is None else [pick_entry(program, args.entry)]
    found: list[ExplainedKernel] = []
    names: list[str] = []
    for entry in entries:
        plan, origins = program.compiled.explained_plan(
            entry, interleave=info is None or info.interleaves,
            coherent=info is None or info.coherent)
        own = {kernel.name: kernel for kernel in kernels(plan.steps)}
        names += own
        found += [explain_barriers(kernel, origins) for kernel in own.values()
                  if args.kernel == kernel.name or (
                      args.kernel is None and has_barriers(kernel.body))]
    if args.kernel is not None and not found:
        near = difflib.get_close_matches(args.kernel, names, n=3, cutoff=0.3) or names[:3]
        raise UserError(f"The program has no kernel '{args.kernel:.80}'"
                        + (f", but {', '.join(near)}." if near else "."))
    if args.dot is not None:
        _draw(args.dot, found)
    if args.json:
        print_json([facts_of(each) for each in found])
    else:
        show("\n\n".join(_text(found, len(names))))


def _text(found: list[ExplainedKernel], total: int) -> Iterator[str]:
    """The explanations, and the numbers of kernels."""
    yield from (each.render() for each in found)
    barriers = sum(len(each.barriers) for each in found)
    yield f"{barriers} barriers in {len(found)} of {total} kernels"


def _draw(path: Path, found: list[ExplainedKernel]) -> None:
    """Write the graphs of these kernels for Graphviz."""
    write_atomically(path, "\n".join(map(dot, found)) + "\n")
