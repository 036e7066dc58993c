"""Choice of the lowering of a segmented operation: the place where each is lowered.

| construct | lowered by | if |
| --- | --- | --- |
| ``SegMap(GROUP)`` | :mod:`~runelift.codegen.intragroup.group_version` | always |
| ``SegMap`` | :mod:`~runelift.codegen.segops` | points do related or little work |
| ``SegMap`` | :func:`_segmap_items` here: a work-item per point | else |
| ``SegRed``, ``SegScan``, ``SegHist`` | :mod:`~runelift.codegen.segops` | always |
| ``SegScatter`` | :func:`_segscatter` here: a work-item per point | always |
| ``SegAccumulate`` | :func:`_segaccumulate` here: a work-item per point | always |

The table in :mod:`~runelift.codegen.segops` states which module of that folder is taken when.
Several lowerings of one operation become branches of the host plan: the host decides among them
when it knows the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from runelift.codegen.intragroup.group_version import lower_group
from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import PlanEnv, Scratch, Value, is_small
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Parameters
from runelift.codegen.segops.hist_parts import atomic_update
from runelift.codegen.segops.packed_scan import PackedScan
from runelift.codegen.segops.products import lower_product
from runelift.codegen.segops.ragged_facts import lower_facts
from runelift.codegen.segops.seghist import seghist
from runelift.codegen.segops.segmap_wide import lower_wide
from runelift.codegen.segops.segments import segments_of_map
from runelift.codegen.segops.segred import segred
from runelift.codegen.segops.segred_blocked import lower_blocked
from runelift.codegen.segops.segred_columns import (
    columns_of_map,
    columns_of_product,
    columns_of_reduction,
    reduce_columns,
)
from runelift.codegen.segops.segred_ragged import segred_ragged
from runelift.codegen.segops.segscan_ragged import segscan_ragged
from runelift.codegen.segops.segscan_two_pass import segscan
from runelift.codegen.segops.transpose import lower_transposition, transposition_of
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.analysis.length_sums import sum_of_lengths
from runelift.ir.analysis.products import Product, is_cheap, product_of
from runelift.ir.base.errors import CompilerBug
from runelift.ir.guards import Lengths
from runelift.ir.imp import Exp
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.sizes import Size, product
from runelift.ir.types import Atom, array_of, elem_of, i64, shape_of

REGISTER_ARRAYS_BYTES = 256
"""Kernels are built for the lengths of a work-item's arrays if these have up to this many bytes."""


def lower_segop(stm: ir.Stm, env: PlanEnv, names: Names,
                parameters: Parameters | None = None, lengths: Lengths | None = None,
                checks: ir.SegMap | None = None) -> tuple[plan.Step, ...]:
    """The kernels and launches of a segmented operation at host level.

    The results are row-major buffers under the names of the pattern.  For scatters and histograms
    they hold the destinations already.  ``parameters`` collects the parameters that the steps ask
    for.  ``lengths`` are facts about inner loops, for models of cost.  A scatter makes ``checks``,
    too.  CompilerLimitation if there is no kernel for the operation.
    """
    lowering = launches.Lowering(stm, env, names, parameters, lengths=lengths, checks=checks)
    if (found := sum_of_lengths(stm.exp)) is not None:
        lowering.added = found.lengths, stm.pat[found.place].name
    match stm.exp:
        case ir.SegMap(ir.Level.GROUP):
            lower_group(lowering, stm.exp)
        case ir.SegMap():
            _segmap(lowering, stm.exp)
        case ir.SegRed():
            _segred(lowering, stm.exp)
        case ir.SegScan(space=(*_, ir.SegDim(extent=Ragged()))):
            segscan_ragged(lowering, stm.exp)
        case ir.SegScan():
            segscan(lowering, stm.exp, partial(_rows_by_groups, lowering, stm.exp))
        case ir.SegScatter():
            _segscatter(lowering, stm.exp)
        case ir.SegHist():
            seghist(lowering, stm.exp)
        case ir.SegAccumulate():
            _segaccumulate(lowering, stm.exp)
        case _:
            raise CompilerBug(f"{type(stm.exp).__name__} is no segmented operation")
    return lowering.done()


def lower_length_facts(stm: ir.Stm, exp: ir.LengthFacts, checks: ir.SegMap | None, segments: Size,
                       env: PlanEnv, names: Names, parameters: Parameters) -> tuple[plan.Step, ...]:
    """The kernels and launches that find facts about the lengths of ``segments`` segments.

    They also make ``checks`` at each segment.
    """
    lowering = launches.Lowering(stm, env, names, parameters)
    lower_facts(lowering, exp.lengths, segments, checks)
    return lowering.done()


def lower_packing(stm: ir.Stm, scanned: Sequence[ir.Param], scatter: ir.SegScatter, env: PlanEnv,
                  names: Names, parameters: Parameters | None = None) -> tuple[plan.Step, ...]:
    """The kernels and launches of a scan whose results ``scanned`` are the places of a scatter.

    The first results of ``stm`` get the last counts.  The further results are the destinations.
    """
    assert isinstance(stm.exp, ir.SegScan)
    lowering = launches.Lowering(stm, env, names, parameters)
    segscan(lowering, stm.exp, packed=PackedScan(scanned, scatter))
    return lowering.done()


def _segmap(lowering: launches.Lowering, exp: ir.SegMap) -> None:
    """Add kernels with a work-item per point, or with blocks for products and transpositions."""
    if (copied := transposition_of(lowering, exp)) is not None:
        lower_transposition(lowering, copied,
                            launches.branch(lowering, lambda: _segmap_plain(lowering, exp),
                                            "no tiles"))
    elif (found := product_of(exp)) is not None:
        lower_product(lowering, found,
                      launches.branch(lowering, lambda: _segmap_strips(lowering, exp, found),
                                      "no blocks"))
    else:
        _segmap_shared(lowering, exp)


def _segmap_strips(lowering: launches.Lowering, exp: ir.SegMap, found: Product) -> None:
    """Add the kernels of a product without blocks: in strips of columns, or as for other maps."""
    if len(found.walks) == 1:
        _segmap_points(lowering, exp)
    elif lowering.interleave or (columns := columns_of_product(lowering, found)) is None:
        _segmap_shared(lowering, exp)
    else:
        reduce_columns(lowering, exp.space, columns,
                       launches.branch(lowering, lambda: _segmap_shared(lowering, exp),
                                       "no strips"))


def _segmap_shared(lowering: launches.Lowering, exp: ir.SegMap) -> None:
    """Add kernels in which points that reduce the same elements share them, or plain kernels."""
    lower_blocked(lowering, segments_of_map(exp, lowering.names),
                  lambda: _segmap_points(lowering, exp))


def _segmap_points(lowering: launches.Lowering, exp: ir.SegMap) -> None:
    """Add kernels with a work-item per point, or per strip of neighbouring columns."""
    columns = None if lowering.interleave else columns_of_map(lowering, exp)
    if columns is None:
        _segmap_plain(lowering, exp)
    else:
        reduce_columns(lowering, exp.space, columns,
                       launches.branch(lowering, lambda: _segmap_plain(lowering, exp), "no strips"))


def _segmap_plain(lowering: launches.Lowering, exp: ir.SegMap) -> None:
    """Add kernels with a work-item per point, or for several points without loops.

    Small arrays of a work-item are in registers.
    """
    if not lower_wide(lowering, exp):
        steps, arrays = _with_arrays(lowering, lambda: _segmap_items(lowering, exp, "segmap"))
        arrays += _carried(lowering, exp)
        _or_small(lowering, steps, arrays, lambda: _segmap_items(lowering, exp, "segmap_small"))


def _with_arrays(lowering: launches.Lowering, make: Callable[[], None]
                 ) -> tuple[tuple[plan.Step, ...], list[tuple[Size, Prim]]]:
    """The steps that ``make`` adds, and the arrays of a work-item outside private memory."""
    lowering.scratch = tuple[Scratch, ...]()
    steps = launches.branch(lowering, make)
    return steps, [(s.count, s.prim) for s in lowering.scratch]


def _or_small(lowering: launches.Lowering, steps: tuple[plan.Step, ...],
              arrays: Sequence[tuple[Size, Prim]], make: Callable[[], None]) -> None:
    """Add ``steps``, or the steps that ``make`` adds if all arrays of a work-item are small.

    The kernels of ``make`` are built for the sizes of the arrays.  Compilers keep an array in
    registers only if its length and all indices are constants.
    """
    sizes = {v for count, _ in arrays for v in count.variables()}
    if not arrays or not sizes.isdisjoint(lowering.host_chosen):
        lowering.steps += steps
        return
    need = Size.of(0)
    for count, prim in arrays:
        need = need + count * prim.bytes
    if need.constant is not None and need.constant > REGISTER_ARRAYS_BYTES:
        lowering.steps += steps
        return
    lowering.fixed = tuple(sorted(sizes, key=lambda n: n.tag))
    small = launches.branch(lowering, make, "small arrays")
    lowering.fixed = None
    launches.choose_by_length(lowering, need, small, steps, i64(REGISTER_ARRAYS_BYTES))


def _carried(lowering: launches.Lowering, exp: ir.SegMap) -> list[tuple[Size, Prim]]:
    """The sizes and element types of results that loops carry, without private arrays."""
    looped = {p.name for stm in exp.body.stms if isinstance(stm.exp, ir.Loop) for p in stm.pat}
    found = [(product([lowering.size(s) for s in shape_of(param.type)[len(exp.space):]]),
              elem_of(param.type))
             for param, atom in zip(lowering.stm.pat, exp.body.result, strict=True)
             if atom in looped and len(shape_of(param.type)) > len(exp.space)]
    return [(count, prim) for count, prim in found if not is_small(prim, count)]


def _segmap_items(lowering: launches.Lowering, exp: ir.SegMap, kind: str) -> None:
    k = lowering.builder()
    outs = lowering.results
    launches.each_point(lowering, k, exp.space,
                        lambda ix: launches.run_point(k, exp.body, outs, ix), kind,
               busy=not is_cheap(exp.body))


def _segred(lowering: launches.Lowering, exp: ir.SegRed) -> None:
    """Add kernels that reduce each segment by itself, or strips of neighbouring columns."""
    if exp.space and exp.space[-1].ragged is not None:
        _in_registers(lowering, partial(segred_ragged, lowering, exp))
        return
    columns = columns_of_reduction(exp)
    if columns is None:
        _segred_elements(lowering, exp)
    else:
        reduce_columns(lowering, exp.space[:-1], columns,
                       launches.branch(lowering, lambda: _segred_elements(lowering, exp),
                                       "no strips"))


def _segred_elements(lowering: launches.Lowering, exp: ir.SegRed) -> None:
    """Add kernels that reduce each segment by itself; small private arrays are in registers."""
    reduces = len(exp.ret) == sum(len(op.lam.ret) for op in exp.ops)

    def make() -> None:
        segred(lowering, exp, partial(_rows_by_groups, lowering, exp) if reduces else None)

    _in_registers(lowering, make)


def _in_registers(lowering: launches.Lowering, make: Callable[[], None]) -> None:
    """Add the kernels that ``make`` adds; small private arrays are in registers."""
    steps, arrays = _with_arrays(lowering, make)
    _or_small(lowering, steps, arrays, make)


def _rows_by_groups(lowering: launches.Lowering, exp: ir.SegRed | ir.SegScan) -> None:
    """Add an intra-group version of the segments; a group takes several short segments.

    A post-map of a scan is a map of the group there, which keeps the scanned values in registers.
    """
    *outer, last = exp.space
    reduced = sum(len(op.lam.ret) for op in exp.ops) if isinstance(exp, ir.SegRed) else 0
    pat = tuple(ir.Param(lowering.names.fresh("row"), type_) for type_ in (
        *exp.ret[:reduced], *(array_of((last.width,), type_) for type_ in exp.ret[reduced:])))
    stms: tuple[ir.Stm, ...] = (ir.Stm(pat, replace(exp, level=ir.Level.LOCAL, space=(last,)),
                                       loc=lowering.stm.loc),)
    if isinstance(exp, ir.SegScan) and (exp.post or exp.backwards):
        stms = _scan_and_map(lowering, exp, last, pat)
        pat = stms[-1].pat
    lower_group(lowering, ir.SegMap(
        ir.Level.GROUP, tuple(outer), ir.Body(stms, tuple(p.name for p in pat)),
        tuple(p.type for p in pat)))


def _scan_and_map(lowering: launches.Lowering, exp: ir.SegScan, last: ir.SegDim,
                  pat: tuple[ir.Param, ...]) -> tuple[ir.Stm, ...]:
    """Statements of a group for a row: a scan from its first point on, and a map of its results.

    ``pat`` are the results of the scan.  The map reads them from the last on, if the scan should
    go backwards, and does the work of a post-map.
    """
    fresh, loc, index = lowering.names.fresh, lowering.stm.loc, last.index
    end, place = fresh("end"), fresh("place")

    def turned(result: VName, place: VName) -> tuple[ir.Stm, ...]:
        return tuple(ir.Stm((ir.Param(name, Prim.I64),), ir.PrimOp("sub", Prim.I64, args))
                     for name, args in ((end, (last.width, i64(1))), (result, (end, place))))

    scanned = replace(exp, level=ir.Level.LOCAL, space=(last,), post=None, backwards=False)
    if exp.backwards:
        scanned = replace(scanned, space=(ir.SegDim(place, last.width),), body=ir.Body(
            (*turned(index, place), *exp.body.stms), exp.body.result))
    values = tuple(ir.Param(fresh("value"), type_) for type_ in exp.ret)
    if exp.post is not None:
        values = (*exp.post.params, *values[len(exp.post.params):])
    code = [*(turned(place, index) if exp.backwards else ()), *(
        ir.Stm((value,), ir.Index(row.name, (place if exp.backwards else index,)))
        for value, row in zip(values, pat, strict=True))]
    result: tuple[Atom, ...] = tuple(value.name for value in values)
    if exp.post is not None:
        code += exp.post.body.stms
        result = (*exp.post.body.result, *result[len(exp.post.params):])
    made = tuple(ir.Param(fresh("row"), array_of((last.width,), type_)) for type_ in exp.stored)
    return (ir.Stm(pat, scanned, loc=loc), ir.Stm(made, ir.SegMap(
        ir.Level.LOCAL, (last,), ir.Body(tuple(code), result), exp.stored), loc=loc))


def _segscatter(lowering: launches.Lowering, exp: ir.SegScatter) -> None:
    k = lowering.builder()
    outs = lowering.results
    launches.each_point(lowering, k, exp.space,
               lambda ix: k.write_inside(outs, [d.rank for d in exp.dests], k.body(exp.body)),
               "segscatter")


def _segaccumulate(lowering: launches.Lowering, exp: ir.SegAccumulate) -> None:
    """Add kernels whose writes replace elements in any order, or are atomic updates."""
    k = lowering.builder()
    outs = lowering.results

    def point(indices: Sequence[Exp]) -> None:
        def write(index: Exp, values: list[Value]) -> None:
            place = [*indices[:-1], index]
            for op in exp.ops:
                atomic_update(k, op, outs[0], place, values[0], imp.Space.GLOBAL)
            if not exp.ops:
                k.write_inside(outs, [len(place)] * len(outs),
                               [part for value in values for part in (*place, value)])

        k.bind_accumulator(exp.acc, write)
        k.body(exp.body)

    launches.each_point(lowering, k, exp.space, point, "segaccumulate")
