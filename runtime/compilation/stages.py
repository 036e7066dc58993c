"""The text of a program at each stage of compilation."""

from __future__ import annotations

from collections.abc import Callable

from runelift.codegen.emit.opencl import opencl_program
from runelift.codegen.emit.python import python_source
from runelift.codegen.plan.plan import Plan, kernels
from runelift.ir.base.deep import deeply
from runelift.ir.base.errors import UserError
from runelift.ir.imp.pretty import pretty as pretty_kernels
from runelift.ir.names import Names
from runelift.ir.pretty import pretty
from runelift.ir.traverse import program_names
from runelift.rewrite.pipeline import expanded
from runelift.runtime.compilation.compiled import Compiled


@deeply
def stage_text(compiled: Compiled, stage: str, plan: Callable[[], Plan]) -> str:
    """The text of a program at a stage; UserError if there is no such stage.

    ``plan`` makes the host plan of an entry point, for the stages that need one.
    """
    match stage:
        case "core":
            return pretty(compiled.core)
        case "derived":
            return pretty(expanded(compiled.core, Names.above(program_names(compiled.core))))
        case "opt":
            return pretty(compiled.optimised)
        case "flat":
            return pretty(compiled.versioned)
        case "imp":
            return pretty_kernels(kernels(plan().steps))
        case "kernels":
            return opencl_program(kernels(plan().steps), {})
        case "host":
            return python_source(plan()).source
        case _:
            raise UserError(f"Unknown stage '{stage}'.")
