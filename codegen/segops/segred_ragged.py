"""Segmented reductions over the grid whose segments differ in length.

The version says who shares the elements of a segment (:class:`~runelift.ir.ragged.Sharing`):

- *row* (``ragged_rows``): a work-item per segment.  The bound of its loop is a load;
- *lanes* (``ragged_lanes``): some neighbours per segment, as many as a mean segment wants.  They
  combine their totals by shuffles or in local memory;
- *group* (``ragged_groups``): a group per segment, as in :mod:`~runelift.codegen.segops.segred`;
- *merge*: parts of bounded size, whatever the lengths are.  On devices with coalesced accesses
  segments go to teams by their lengths (:mod:`~runelift.codegen.segops.segred_bins`).  Elsewhere
  work-items have equal parts of all elements and segments
  (:mod:`~runelift.codegen.segops.segred_merge`).

Further results of the map are flat: element j of segment i is at ``offsets[i] + j``.
"""

from __future__ import annotations

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_total
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan.shapes import SegmentTeamShape, SubGroupSize
from runelift.codegen.plan.views import lit, op
from runelift.codegen.segops.ragged import begin_segment, ragged_of, segment_of, trips_of
from runelift.codegen.segops.segred_bins import segred_bins, segred_lanes
from runelift.codegen.segops.segred_merge import segred_merge
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.sizes import Size
from runelift.ir.syntax import SegRed
from runelift.ir.types import i64


def segred_ragged(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add the kernels of a reduction over a ragged space, as its version says."""
    match ragged_of(exp).sharing:
        case Sharing.ROW:
            _by_rows(lowering, exp)
        case Sharing.LANES:
            segred_lanes(lowering, exp)
        case Sharing.GROUP:
            _by_groups(lowering, exp)
        case Sharing.MERGE:
            (segred_bins if lowering.interleave else segred_merge)(lowering, exp)
        case other:
            raise CompilerBug(f"no reduction is shared by {other.value}")


def _by_rows(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add a kernel with one work-item per segment."""
    k = lowering.builder()
    outs = lowering.results

    def row(outer: list[Exp]) -> None:
        totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
        each = segment_of(k, exp, totals, outs, outer[0], trips=trips_of(
            k, ragged_of(exp), k.scalar(exp.space[0].width)))
        each.fold_run(lit(0), each.width)
        k.emit(*launches.writes(outs, outer, totals))

    launches.each_point(lowering, k, exp.space[:1], row, "ragged_rows", busy=True)


def _by_groups(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add a kernel in which a group has a segment."""
    k, fresh, outs = lowering.builder(), lowering.names.fresh, lowering.results
    segments = lowering.size(exp.space[0].width)
    shape = SegmentTeamShape(
        fresh("group"), fresh("lanes"), segments, lowering.size(ragged_of(exp).total),
        launches.item_bytes(exp.ops), True, lowering.group_size, i64(0))
    subgroup, group = fresh("subgroup"), Size.var(shape.group)
    lowering.steps += [shape, SubGroupSize(subgroup, shape.group)]
    k.constants = [shape.group, subgroup, shape.lanes]
    number = k.declare("segment", Prim.I64, launches.GROUP_ID)
    exp = begin_segment(k, exp, number)
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    # the host may look for failures of the pass over lengths after this launch
    fine = k.declare("takes", Prim.BOOL, op("lt", imp.WorkItem(imp.Id.FAILURE), lit(0)))
    lanes = imp.Var(shape.lanes)
    trips = trips_of(k, ragged_of(exp), op("mul", k.scalar(exp.space[0].width), lanes), lanes)
    segment_of(k, exp, totals, outs, number, fine, trips).fold_part(launches.LID, lanes)
    arrays = launches.local_arrays(k, exp.ops, group)
    found = [t for o, ts, ms in zip(exp.ops, totals, arrays, strict=True)
             for t in group_total(k, o, ts, ms, subgroup)]
    k.emit(imp.If(IS_FIRST, launches.writes(outs, [number], [found])))
    k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], constants=k.constants))
    lowering.build_for_fixed(k)
    lowering.launch(k, "ragged_groups", segments, group, fits=True)
