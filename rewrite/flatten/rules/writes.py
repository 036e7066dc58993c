"""Scatters, histograms, updates and concatenations under a nest: rule G1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.operators import identity, is_identity
from runelift.ir.prim import Prim
from runelift.ir.traverse import substitute_body
from runelift.ir.types import Atom, array_of, as_name, row_of, shape_of
from runelift.rewrite.engine.checks import bounds_checks
from runelift.rewrite.engine.columns import transposition
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import has_parallelism, is_atomic, scalar_operator
from runelift.rewrite.flatten.rules.common import (
    emit_with_nest,
    enter,
    irregular,
    split_lambda,
    transposed,
    uneven,
)
from runelift.rewrite.flatten.rules.reductions import element_of_replicate, operator_needs_nest
from runelift.rewrite.flatten.walk import Walk


@flattening("G1", ir.Scatter)
def scatter_under_nest(walk: Walk, stm: ir.Stm, soac: ir.Scatter) -> str | None:
    """Σ ⊢ scatter d is vs ⇒ segscatter (Σ, ⟨i ∈ is, v ∈ vs⟩) d' (Σ's indices, i) v

    d' is d expanded by Σ.  A map part with parallelism is split off first.
    """
    if why := irregular(walk, stm):
        return why
    stm, soac = _split_off(walk, stm, soac)
    if why := walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    depth = len(walk.nest.space)
    dests: list[ir.Dest] = []
    result: list[Atom] = []
    values = list(soac.lam.body.result)
    for dest in soac.dests:
        array = as_name(walk.expand(dest.array, walk.flattener.types[dest.array]))
        dests.append(ir.Dest(array, depth + dest.rank))
        result += [*walk.nest.indices, *values[: dest.rank + 1]]
        values = values[dest.rank + 1 :]
    space, body = walk.kernel(nest, soac.lam.body.stms, tuple(result))
    walk.flattener.derivation.fired("G1", stm, f"segscatter over {show_nest(nest)}")
    emit_with_nest(walk, stm, walk.nest, ir.SegScatter(walk.level, space, tuple(dests), body))
    return None


@flattening("G1", ir.Accumulate)
def accumulate_under_nest(walk: Walk, stm: ir.Stm, soac: ir.Accumulate) -> str | None:
    """Σ ⊢ accumulate d e xs ⇒ segaccumulate (Σ, ⟨x ∈ xs⟩) d' e      d' is d over Σ

    Provided: there is no operator, or an atomic update performs it.
    """
    if walk.level is not ir.Level.GRID:
        return "one work-item of a group makes all writes of an accumulator"
    if why := uneven(walk, stm, soac.width):
        return why
    if not all(map(is_atomic, soac.ops)):
        return "no atomic update performs the operator of an accumulator"
    if why := operator_needs_nest(walk, soac.ops) or walk.prepare(stm):
        return why
    acc, *params = soac.lam.params
    rows = ir.Lambda(tuple(params), soac.lam.body, soac.lam.ret)
    nest = enter(walk, soac.width, rows, soac.arrays)
    dests = tuple(as_name(walk.expand(d, walk.flattener.types[d])) for d in soac.dests)
    space, body = walk.kernel(nest, soac.lam.body.stms, soac.lam.body.result)
    fresh = walk.fresh(acc.name.base, acc.type)
    walk.flattener.derivation.fired("G1", stm, f"segaccumulate over {show_nest(nest)}")
    emit_with_nest(walk, stm, walk.nest, ir.SegAccumulate(
        walk.level, space, fresh.name, dests, walk.flattener.copy_operators(soac.ops),
        substitute_body(body, {acc.name: fresh.name})))
    return None


@flattening("G4", ir.Hist)
def vector_hist_interchange(walk: Walk, stm: ir.Stm, soac: ir.Hist) -> str | None:
    """Σ ⊢ hist dss (map ⊕) es is vss ⇒ Σ ⊢ map (λ ds vs → hist ds ⊕ e is vs) over the columns

    Columns of dss and vss, whose results are transposed back; e is any element of es.
    """
    inner = soac.ops[0].op.vector if len(soac.ops) == 1 else None
    if inner is None or "sequential" in stm.attrs:
        return Unlike("its operator is no map over vectors")
    (op,) = soac.ops
    if any(not walk.invariant(a) for a in (soac.width, op.bins, inner.width)):
        return "the vectors have another length at each point of the nest"
    if not is_identity(soac.lam):
        _, split = split_lambda(walk, stm, soac)
        walk.need(p.name for p in split.pat)
        walk.statement(split)
        soac = replace(soac, arrays=tuple(p.name for p in split.pat))
    bins, *values = soac.arrays
    neutral = tuple(element_of_replicate(walk, atom) for atom in op.op.neutral)
    columns = [transposed(walk, array, stm.loc) for array in (*op.dests, *values)]
    params = tuple(walk.fresh("column", row_of(column.type)) for column in columns)
    dests, mapped = params[: len(op.dests)], params[len(op.dests) :]
    elements = (walk.fresh("bin", Prim.I64), *(walk.fresh("x", row_of(p.type)) for p in mapped))
    scalar = ir.HistOp(op.bins, tuple(p.name for p in dests),
                    ir.Operator(inner.lam, neutral, op.op.comm))
    hist = ir.Hist(soac.width, (scalar,), identity(elements), (bins, *(p.name for p in mapped)))
    counted = tuple(walk.fresh(p.name.base, p.type) for p in dests)
    lam = ir.Lambda(params, ir.Body((ir.Stm(counted, hist, stm.attrs, stm.loc),),
                              tuple(p.name for p in counted)), tuple(p.type for p in counted))
    rows = tuple(walk.fresh(p.name.base, array_of((inner.width,), p.type)) for p in counted)
    walk.flattener.derivation.fired("G4", stm, "the map of the operator goes outside")
    walk.need(p.name for p in rows)
    with walk.flattener.derivation.inside():
        walk.statement(ir.Stm(rows, ir.Map(inner.width, lam, tuple(c.name for c in columns)),
                           stm.attrs, stm.loc))
        for param, row in zip(stm.pat, rows, strict=True):
            walk.statement(ir.Stm((param,), transposition(row.name, row.type), loc=stm.loc))
    return None


@flattening("G1", ir.Hist)
def hist_under_nest(walk: Walk, stm: ir.Stm, soac: ir.Hist) -> str | None:
    """Σ ⊢ hist d ⊕ e is vs ⇒ seghist (Σ, ⟨i ∈ is, v ∈ vs⟩) d' ⊕ e i v      d' is d over Σ"""
    if why := irregular(walk, stm):
        return why
    if not all(scalar_operator(op.op) for op in soac.ops):
        return "its operator works on arrays"
    if why := operator_needs_nest(walk, tuple(op.op for op in soac.ops)):
        return why
    stm, soac = _split_off(walk, stm, soac)
    if why := walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    ops: list[ir.HistOp] = []
    for op in soac.ops:
        dests = tuple(as_name(walk.expand(d, walk.flattener.types[d])) for d in op.dests)
        (operator,) = walk.flattener.copy_operators((op.op,))
        ops.append(ir.HistOp(op.bins, dests, operator))
    space, body = walk.kernel(nest, soac.lam.body.stms, soac.lam.body.result)
    walk.flattener.derivation.fired("G1", stm, f"seghist over {show_nest(nest)}")
    emit_with_nest(walk, stm, walk.nest, ir.SegHist(walk.level, space, tuple(ops), body))
    return None


Write = TypeVar("Write", ir.Scatter, ir.Hist)


def _split_off(walk: Walk, stm: ir.Stm, soac: Write) -> tuple[ir.Stm, Write]:
    """Flatten the parallelism in the lambda of a write; the statement and write without it."""
    if not has_parallelism(soac.lam.body):
        return stm, soac
    lam, split = split_lambda(walk, stm, soac)
    with walk.flattener.derivation.inside():
        walk.need(p.name for p in split.pat)
        walk.statement(split)
    soac = replace(soac, lam=lam, arrays=tuple(p.name for p in split.pat))
    return replace(stm, exp=soac), soac


@flattening("G1", ir.Update)
def update_under_nest(walk: Walk, stm: ir.Stm, update: ir.Update) -> str | None:
    """Σ ⊢ xs with [d] <- v ⇒ segscatter Σ xs' (Σ's indices, d) v

    A slice adds its dimensions to the space.  Bounds are checked in the kernel.
    """
    if not walk.nest.space:
        return Unlike("it is outside of all nests")
    (param,) = stm.pat
    if not walk.regular(param.type):
        return "the array has another shape at each point of the nest"
    slices = [dim for dim in update.dims if isinstance(dim, ir.SliceDim)]
    if any(not walk.invariant(dim.count) for dim in slices):
        return "the slice has another length at each point of the nest"
    if why := walk.prepare(stm):
        return why
    flattener = walk.flattener
    array = as_name(walk.expand(update.array, param.type))
    inner = tuple(ir.SegDim(flattener.names.fresh("k"), dim.count) for dim in slices)
    code, remaining, value = Code(flattener), iter(inner), update.value
    indices = [_position(code, dim, remaining) for dim in update.dims]
    if update.checked:
        code.emit(*bounds_checks(flattener.names, update.dims, shape_of(param.type), stm.loc))
    if inner and isinstance(value, VName):
        value = code.read(value, *(dim.index for dim in inner), base="value")
    nest = Nest((*walk.nest.space, *inner), walk.nest.defs)
    space, body = walk.kernel(nest, tuple(code.out), (*walk.nest.indices, *indices, value))
    dest = ir.Dest(array, len(walk.nest.space) + len(indices))
    flattener.derivation.fired("G1", stm, "segscatter of the new elements")
    emit_with_nest(walk, stm, walk.nest, ir.SegScatter(walk.level, space, (dest,), body))
    return None


def _position(code: Code, dim: ir.Dim, inner: Iterator[ir.SegDim]) -> Atom:
    """The index that ``dim`` selects: itself, or start + k * stride of its dimension."""
    if not isinstance(dim, ir.SliceDim):
        return dim
    scaled = code.computed("mul", next(inner).index, dim.stride, base="offset")
    return code.computed("add", dim.start, scaled, base="index")


@flattening("G1", ir.Concat)
def concat_under_nest(walk: Walk, stm: ir.Stm, concat: ir.Concat) -> str | None:
    """Σ ⊢ concat xs ys ⇒ concat along a dimension deeper by the depth of Σ, of xs' and ys'"""
    if not walk.nest.space:
        return Unlike("it is outside of all nests")
    (param,) = stm.pat
    arrays = [(array, walk.flattener.types[array]) for array in concat.arrays]
    if not walk.regular(param.type) or any(not walk.regular(type_) for _, type_ in arrays):
        return "an array has another shape at each point of the nest"
    if why := walk.prepare(stm):
        return why
    expanded = tuple(as_name(walk.expand(array, type_)) for array, type_ in arrays)
    walk.flattener.derivation.fired("G1", stm, "concat of the expanded arrays")
    emit_with_nest(walk, stm, walk.nest,
                   ir.Concat(concat.dim + len(walk.nest.space), expanded, concat.size))
    return None
