"""Compilation of scripts of test blocks, as entry points of their programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from runelift.frontend.load import checked
from runelift.frontend.scripts import ENTRY, Given, entry_point, given
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_module

__all__ = ["ENTRY", "compile_script", "given"]


def compile_script(program: Source, script: Source, asked: Sequence[Given], types: Sequence[str],
                   *, policy: str) -> Compiled:
    """Compile ``program`` with an entry point :data:`ENTRY` that computes a script.

    The arguments that the script ``asked`` for have these ``types``.
    """
    module = checked(program, partial(entry_point, script, asked, types))
    return compile_module(program, module, policy=policy, rewriting=Rewriting(Names()))
