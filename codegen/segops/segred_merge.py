"""Reductions of segments by parts of a merge path, on devices without coalesced accesses.

A work-item folds a part of the path (``merge_parts``, :mod:`~runelift.codegen.segops.merge_parts`).
It stores the totals of segments, where the path ends a segment.  One group completes the first
segments that end in parts (``merge_joined``).
"""

from __future__ import annotations

from functools import partial

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import combined
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan.views import lit, op
from runelift.codegen.segops.merge_parts import (
    PartOfItem,
    Parts,
    if_several,
    join,
    parts_of_items,
)
from runelift.codegen.segops.merge_path import Totals
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.syntax import SegRed


def segred_merge(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add the kernels of a reduction along a merge path."""
    parts = parts_of_items(lowering, exp)
    fold_parts(lowering, parts, stored=True)
    if_several(lowering, parts, lambda: join(lowering, parts, partial(_complete, lowering, parts)))


def _complete(lowering: launches.Lowering, parts: Parts, k: KernelBuilder, part: Exp,
              before: Totals) -> None:
    """Emit the completion of the first segment that ends in a part."""
    first = k.declare("first", Prim.I64, imp.Load(parts.firsts, part, Prim.I64))
    outs = lowering.results
    with k.when(op("le", lit(0), first)):
        place = iter(outs)
        held = [[k.declare("held", p, next(place).read([first])) for p in ps] for ps in parts.prims]
        k.emit(*combined(k, parts.exp.ops, before, held), *launches.writes(outs, [first], held))


def fold_parts(lowering: launches.Lowering, parts: Parts, *, stored: bool) -> None:
    """Add a kernel whose work-items fold their parts; the totals of segments are ``stored``."""
    exp, k, outs = parts.exp, lowering.builder(), lowering.results
    part = PartOfItem(k, parts, outs[sum(len(ps) for ps in parts.prims):] if stored else ())
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]

    def fold(segment: Exp, until: Exp) -> None:
        start = k.declare("start", Prim.I64, part.path.offset(segment))
        each = part.path.segment(totals, segment, start)
        bound = k.declare("until", Prim.I64, op("sub", until, start))
        index = k.declare("index", Prim.I64, op("sub", part.element, start))
        each.fold_run(index, bound, part=True)

    def finish(segment: Exp) -> None:
        if stored:
            k.emit(*launches.writes(outs, [segment], totals))
        launches.reset(k, exp.ops, totals)

    part.each(fold, finish)
    part.leave(totals)
    part.launch(lowering, "merge_parts")
