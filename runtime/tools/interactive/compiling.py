"""Compilation of what a session asks for; apart, as most that is typed is interpreted."""

from __future__ import annotations

from runelift.frontend.syntax import ast
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.pipeline import compile_module
from runelift.runtime.devices.info import select
from runelift.runtime.programs.program import Program


def program(source: Source, flat: ast.Flat, device: str | None) -> Program:
    """A checked program for a device; the cache does not keep it."""
    compiled = compile_module(source, flat, policy="all", rewriting=Rewriting(Names()))
    found = Program(compiled, select(device))
    found.loaded.stores_plans = False  # no later run has this text
    return found
