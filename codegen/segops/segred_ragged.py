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

from collections.abc import Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_total, team_total
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import SegmentTeamShape, SubGroupSize
from runelift.codegen.plan.views import all_of, lit, op
from runelift.codegen.segops.ragged import begin_segment, expect, ragged_of, segment_of
from runelift.codegen.segops.segred_bins import segred_bins
from runelift.codegen.segops.segred_merge import segred_merge
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import SegRed
from runelift.ir.types import i64


def segred_ragged(lowering: launches.Lowering, exp: SegRed) -> None:
    """Add the kernels of a reduction over a ragged space, as its version says."""
    match ragged_of(exp).sharing:
        case Sharing.ROW:
            _by_rows(lowering, exp)
        case Sharing.LANES:
            _by_teams(lowering, exp, alone=False)
        case Sharing.GROUP:
            _by_teams(lowering, exp, alone=True)
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
        each = segment_of(k, exp, totals, outs, outer[0])
        each.fold(each.fold_lanes(lit(0), each.width), each.width, lit(1))
        expect(k, ragged_of(exp), k.scalar(exp.space[0].width))
        k.emit(*launches.writes(outs, outer, totals))

    launches.each_point(lowering, k, exp.space[:1], row, "ragged_rows", busy=True)


@dataclass(frozen=True, slots=True)
class _Team:
    """The work-items that share a segment: ``lanes`` neighbours, or a group ``alone``."""

    k: KernelBuilder
    shape: SegmentTeamShape
    subgroup: VName

    @property
    def lanes(self) -> imp.Var:
        """The number of work-items."""
        return imp.Var(self.shape.lanes)

    @property
    def lane(self) -> Exp:
        """The place of a work-item in its team."""
        return launches.LID if self.shape.alone else op(
            "and", launches.LID, op("sub", self.lanes, lit(1)))

    @property
    def leads(self) -> Exp:
        """True in the work-item that has the total of the team."""
        return IS_FIRST if self.shape.alone else op("eq", self.lane, lit(0))

    def total(self, exp: SegRed, totals: Sequence[Sequence[imp.Var]]) -> list[imp.Var]:
        """The combined totals of a team, in order, valid in the work-item that leads it."""
        k, found = self.k, list[imp.Var]()
        arrays = launches.local_arrays(k, exp.ops, Size.var(self.shape.group))
        for op_, mems, total in zip(exp.ops, arrays, totals, strict=True):
            found += (group_total(k, op_, total, mems, self.subgroup) if self.shape.alone else
                      team_total(k, op_, total, mems, self.lanes, self.subgroup))
        return found


def _by_teams(lowering: launches.Lowering, exp: SegRed, *, alone: bool) -> None:
    """Add a kernel in which neighbours share a segment, or a group has it ``alone``."""
    k, fresh = lowering.builder(), lowering.names.fresh
    segments = lowering.size(exp.space[0].width)
    shape = SegmentTeamShape(
        fresh("group"), fresh("lanes"), segments, lowering.size(ragged_of(exp).total),
        launches.item_bytes(exp.ops), alone, lowering.group_size,
        i64(0) if alone else lowering.setting(Quantity.LANES))
    team = _Team(k, shape, fresh("subgroup"))
    lowering.steps += [shape, SubGroupSize(team.subgroup, shape.group)]
    k.constants = [shape.group, team.subgroup, shape.lanes]
    _reduce_by_team(lowering, exp, team)
    group = Size.var(shape.group)
    k.code = list(insert_barriers(k.code, [s.name for s in k.scratch], constants=k.constants))
    lowering.build_for_fixed(k)
    lowering.launch(k, "ragged_groups" if alone else "ragged_lanes", segments if alone else
                    ceil_div(segments * Size.var(shape.lanes), group), group, fits=True)


def _reduce_by_team(lowering: launches.Lowering, exp: SegRed, team: _Team) -> None:
    """Emit the work of a team on its segment; the last teams of a launch may have none."""
    k, outs = team.k, lowering.results
    if team.shape.alone:
        number: Exp = k.declare("segment", Prim.I64, launches.GROUP_ID)
        exists = None
    else:
        number = k.declare("segment", Prim.I64, op("quot", launches.GID, team.lanes))
        exists = k.declare("exists", Prim.BOOL, op("lt", number, k.scalar(exp.space[0].width)))
    known = number if exists is None else k.declare("known", Prim.I64, imp.Select(
        exists, number, lit(0), Prim.I64))
    exp = begin_segment(k, exp, known)
    totals = [launches.scalars(k.neutral(o)) for o in exp.ops]
    # the host may look for failures of the pass over lengths after this launch
    fine = op("lt", imp.WorkItem(imp.Id.FAILURE), lit(0))
    each = segment_of(k, exp, totals, outs, number, k.declare("takes", Prim.BOOL, (
        fine if exists is None else all_of(exists, fine))))
    each.fold_part(team.lane, team.lanes)
    expect(k, ragged_of(exp), op("mul", k.scalar(exp.space[0].width), team.lanes), team.lanes)
    found = team.total(exp, totals)
    leads = team.leads if exists is None else all_of(exists, team.leads)
    k.emit(imp.If(leads, tuple(out.write([number], value)
                               for out, value in zip(outs, found, strict=False))))
