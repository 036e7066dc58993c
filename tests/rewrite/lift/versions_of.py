"""Programs with versions that are written by hand, as schedules would make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import runelift
from runelift.frontend.load import load
from runelift.ir.base.source import Source
from runelift.ir.constraints import Constraint
from runelift.ir.names import Names
from runelift.ir.syntax import Fun, Program
from runelift.rewrite.flattening import flatten
from runelift.rewrite.lift.alternatives import Merged, Rewritten, with_alternatives
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.compilation.entry_stages import EntryStages
from runelift.runtime.programs.program import Program as Compiled

Needs: TypeAlias = Callable[[Fun], Sequence[Constraint]]


def nothing(fun: Fun) -> Sequence[Constraint]:
    return ()


def merged(text: str, *others: tuple[str, Needs], asked: bool = False) -> tuple[Merged, Names]:
    """A program with other texts of it as versions, which need what a function says of them."""
    names = Names()
    original, *found = (optimise(load(Source("hand", each), names), names).funs[0]
                        for each in (text, *(other for other, _ in others)))
    rewritten = [Rewritten((f"main.ys by_hand({number})",), fun, tuple(needs(fun)), asked)
                 for number, (fun, (_, needs)) in enumerate(zip(found, others, strict=True))]
    return with_alternatives(original, rewritten, names), names


def compiled(text: str, made: Merged, names: Names, device: str = "pocl") -> Compiled:
    """The program with these versions, for a device."""
    versioned = clean(flatten(Program((made.fun,)), names), names)
    program = runelift.compile(text, device=device, tuning={})
    stages = program.compiled.stages()[1]
    stages[made.fun.name] = EntryStages(made.fun, versioned.funs[0], names)
    program.compiled.plans.clear()
    return program
