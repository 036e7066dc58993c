"""Irregular nested parallelism: points that run one after the other.

A work-item cannot make an array whose size has no bound before its kernel starts.  Such a kernel
becomes a loop of the host over its points.  The body of the loop is flattened like any other code
of the host, so that the parallelism inside is used::

    r = segmap ⟨i < w⟩ { e }
    ⇒ r = loop (r = replicate w 0) for i < w do s; r with [i] = x      ∅ ⊢ e ⇒ s; x

Other segmented operations read what such a loop made.
"""

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Type, array_of, elem_of, row_of, shape_of, zero
from runelift.rewrite.flatten.flattener import Flattener
from runelift.rewrite.flatten.nest import Nest, whole


def in_turn(flattener: Flattener, stm: ir.Stm, kernel: ir.SegOp) -> tuple[ir.Stm, ...]:
    """Statements of the host with the meaning of ``stm``, whose points do not run at once."""
    if isinstance(kernel, ir.SegAccumulate):
        raise CompilerLimitation("A function that writes to an accumulator makes an array whose "
                                 "size is not known before it runs, or calls one that calls "
                                 "itself.")
    flattener.learn_body(kernel.body)
    flattener.learn_params(ir.Param(dim.index, Prim.I64) for dim in kernel.space)
    if isinstance(kernel, ir.SegMap):
        return _loop(flattener, stm, kernel.space, kernel.body)
    widths = tuple(dim.width for dim in kernel.space)
    types = _operands(flattener, kernel)
    arrays = tuple(flattener.fresh("operand", array_of(widths, t)) for t in types)
    points = _loop(flattener, ir.Stm(arrays, kernel, loc=stm.loc), kernel.space, kernel.body)
    space = tuple(ir.SegDim(flattener.names.fresh(dim.index), dim.width) for dim in kernel.space)
    read = ir.Body(*_elements(flattener, arrays, space, types))
    return (*points, replace(stm, exp=replace(kernel, space=space, body=read)))


def _operands(flattener: Flattener,
              kernel: ir.SegRed | ir.SegScan | ir.SegScatter | ir.SegHist) -> tuple[Type, ...]:
    """The types of what the body of an operation returns."""
    match kernel:
        case ir.SegScatter(dests=dests):
            return tuple(t for dest in dests for t in (
                *[Prim.I64] * dest.rank, row_of(flattener.types[dest.array], dest.rank)))
        case ir.SegHist(ops=ops):
            return tuple(t for op in ops for t in (Prim.I64, *op.op.lam.ret))
    return kernel.ret


def _elements(flattener: Flattener, arrays: tuple[ir.Param, ...], space: ir.Space,
              types: tuple[Type, ...]) -> tuple[tuple[ir.Stm, ...], tuple[Atom, ...]]:
    """The element of each array at a point, and the names of the elements."""
    indices = tuple(dim.index for dim in space)
    stms = tuple(ir.Stm((flattener.fresh("x", type_),),
                     ir.Index(array.name, (*indices, *map(whole, shape_of(type_)))))
                 for array, type_ in zip(arrays, types, strict=True))
    return stms, tuple(stm.pat[0].name for stm in stms)


def _loop(flattener: Flattener, stm: ir.Stm, space: ir.Space, body: ir.Body) -> tuple[ir.Stm, ...]:
    """A loop over all points that collects the results of ``body`` in ``stm.pat``."""
    blank = flattener.copies(stm.pat)
    start = tuple(ir.Stm((p,), ir.Replicate(shape_of(p.type), zero(elem_of(p.type))))
                  for p in blank)
    loop = _level(flattener, space, (), body, blank)
    return (*start, ir.Stm(stm.pat, loop, stm.attrs, stm.loc))


def _level(flattener: Flattener, space: ir.Space, outer: ir.Space, body: ir.Body,
           arrays: tuple[ir.Param, ...]) -> ir.Loop:
    """The loop over the first dimension of ``space``, inside of those over ``outer``."""
    carried = flattener.copies(arrays)
    around = (*outer, space[0])
    if space[1:]:
        results = flattener.copies(arrays)
        stms: tuple[ir.Stm, ...] = (ir.Stm(results, _level(flattener, space[1:], around, body,
                                                     carried)),)
    else:
        stms, results = _point(flattener, around, body, carried)
    return ir.Loop(tuple(ir.LoopParam(p, a.name) for p, a in zip(carried, arrays, strict=True)),
                ir.ForLoop(space[0].index, space[0].width),
                ir.Body(stms, tuple(p.name for p in results)))


def _point(flattener: Flattener, space: ir.Space, body: ir.Body,
           arrays: tuple[ir.Param, ...]) -> tuple[tuple[ir.Stm, ...], tuple[ir.Param, ...]]:
    """The code of one point, and the arrays with its results."""
    here = replace(flattener, unwanted=flattener.unwanted | {"sequential"})
    flat, _ = here.body(Nest(), body)
    indices = tuple(dim.index for dim in space)
    results = flattener.copies(arrays)
    writes = []
    for result, array, value in zip(results, arrays, flat.result, strict=True):
        row = map(whole, shape_of(array.type)[len(space):])
        writes.append(ir.Stm((result,), ir.Update(array.name, (*indices, *row), value)))
    return (*flat.stms, *writes), results
