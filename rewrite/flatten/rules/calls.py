"""Functions that call themselves: rule G22 at the level of the host."""

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.rewrite.flatten.book import flattening
from runelift.rewrite.flatten.nest import Nest
from runelift.rewrite.flatten.walk import Walk


@flattening("G22", ir.Recursion, ir.Call)
def recursion_at_top(walk: Walk, stm: ir.Stm) -> str | None:
    """∅ ⊢ recursive f (p = a) do e ⇒ recursive f (p = a) do (∅ ⊢ e)      ∅ ⊢ f a ⇒ f a

    A kernel has no stack, so points of a nest that call f run in turn
    (:mod:`runelift.rewrite.flatten.irregular`).
    """
    if walk.nest.space:
        return "kernels never recurse: its points run in turn"
    if isinstance(stm.exp, ir.Recursion):
        walk.flattener.derivation.fired("G22", stm, "a function of the host")
        with walk.flattener.derivation.inside():
            body, _ = walk.flattener.body(Nest(), stm.exp.body)
        stm = replace(stm, exp=replace(stm.exp, body=body))
    walk.emit(stm)
    return None
