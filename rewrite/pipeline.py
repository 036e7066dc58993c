"""The passes from core to core, in order, and the runner that checks after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from runelift.ir.check import check
from runelift.ir.errors import CompilerBug
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.bounds import remove_checks
from runelift.rewrite.fuse import fuse
from runelift.rewrite.simplify import simplify


@dataclass(frozen=True, slots=True)
class Pass:
    """A named function from programs to programs."""

    name: str
    description: str
    run: Callable[[Program, Names], Program]


SIMPLIFY = Pass("simplify", "copy propagation, rules, common subexpressions, dead code", simplify)
FUSE = Pass("fuse", "fuse maps into the operations that read their results", fuse)
BOUNDS = Pass("bounds", "remove checks that cannot fail", remove_checks)

STANDARD: tuple[Pass, ...] = (
    SIMPLIFY,  # first, so that fusion sees producers and consumers without copies in between
    FUSE,
    SIMPLIFY,
)
AFTER_FLATTENING: tuple[Pass, ...] = (
    SIMPLIFY,
    BOUNDS,
    SIMPLIFY,
)

Watch = Callable[[Pass, Program], None]


def run_passes(passes: Iterable[Pass], program: Program, names: Names, *, phase: str,
               watch: Watch | None = None) -> Program:
    """``program`` after the passes; CompilerBug names a pass whose result is not well formed."""
    check(program, phase)
    for each in passes:
        program = each.run(program, names)
        try:
            check(program, phase)
        except CompilerBug as bug:
            raise CompilerBug(f"after pass '{each.name}': {bug}") from bug
        if watch is not None:
            watch(each, program)
    return program


def optimise(program: Program, names: Names, *, watch: Watch | None = None) -> Program:
    """The core program after :data:`STANDARD`."""
    return run_passes(STANDARD, program, names, phase="core", watch=watch)


def clean(program: Program, names: Names, *, watch: Watch | None = None) -> Program:
    """The versioned program after :data:`AFTER_FLATTENING`."""
    return run_passes(AFTER_FLATTENING, program, names, phase="versioned", watch=watch)
