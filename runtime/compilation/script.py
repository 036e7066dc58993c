"""Scripts of test blocks, compiled as entry points of the programs that they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from runelift.frontend.load import checked
from runelift.frontend.scripts import ENTRY, Given, entry_point, given
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_module

__all__ = ["ENTRY", "compile_script", "given"]


def compile_script(program: Source, script: Source, asked: Sequence[Given], types: Sequence[str],
                   *, policy: str) -> Compiled:
    """``program`` with the entry point :data:`ENTRY`, which has the value of a script.

    The script is given values of these ``types`` for what it ``asked`` for.
    """
    module = checked(program, partial(entry_point, script, asked, types))
    return compile_module(program, module, policy=policy, rewriting=Rewriting(Names()))
