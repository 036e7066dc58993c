"""Checkpoints: a loop in segments, so that only the state at the start of each one is kept."""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.prim import Prim
from runelift.ir.traverse import map_inside
from runelift.ir.types import Atom, Const, i64
from runelift.rewrite.derive.emitter import Emitter


def checkpointed(fun: ir.Fun, levels: int) -> ir.Fun:
    """A function whose loops of the host have checkpoints in reverse mode, in so many levels.

    Loops that ask for levels themselves stay as they are.  It is the same object if none is left.
    """
    def body(found: ir.Body, *, is_reverse: bool) -> ir.Body:
        stms = tuple(statement(stm, is_reverse) for stm in found.stms)
        return found if all(map(operator.is_, stms, found.stms)) else replace(found, stms=stms)

    def statement(stm: ir.Stm, is_reverse: bool) -> ir.Stm:
        exp = stm.exp
        if isinstance(exp, ir.Loop) and is_reverse:
            asked = stm.asked("stripmine")
            return stm if asked else replace(stm, attrs=(*stm.attrs, f"stripmine({levels})"))
        if not isinstance(exp, (*ir.DERIVATIVES, ir.If, ir.Loop)):
            return stm
        inside = partial(body, is_reverse=is_reverse or isinstance(exp, ir.Vjp))
        made = map_inside(exp, inside, lambda lam: replace(lam, body=inside(lam.body)))
        return stm if made == exp else replace(stm, exp=made)

    changed = body(fun.body, is_reverse=False)
    return fun if changed is fun.body else replace(fun, body=changed)


def masked(emit: Emitter, stm: ir.Stm, most: int) -> list[ir.Stm]:
    """A while loop as a for loop of so many iterations, which fails if it would go on.

    Iterations behind its end change nothing.
    """
    loop = stm.exp
    assert isinstance(loop, ir.Loop)
    assert isinstance(loop.form, ir.WhileLoop)
    params = tuple(p.param for p in loop.params)
    types, results = tuple(p.type for p in params), emit.like(params)
    same = ir.Body((), tuple(p.name for p in params))
    step = ir.If(loop.form.cond, loop.body, same, types)
    body = ir.Body((ir.Stm(results, step, (), stm.loc),), tuple(p.name for p in results))
    index = emit.fresh("i", Prim.I64)
    whole = replace(loop, form=ir.ForLoop(index.name, i64(most)), body=body)
    with emit.block() as stms:
        emit.add(replace(stm, exp=whole))
        goes_on = next(p.name for p, old in zip(stm.pat, params, strict=True)
                       if old.name == loop.form.cond)
        ended = emit.op("not", Prim.BOOL, goes_on)
        emit.add(ir.Stm((), ir.Assert(ended, failures.BOUND, (i64(most),)), (), stm.loc))
    return stms


def in_segments(emit: Emitter, stm: ir.Stm, levels: int) -> list[ir.Stm]:
    """A for loop as a loop over segments, in so many levels.

    The tape of the outer loop has a state for each segment.  The return sweep runs a segment again
    and keeps one tape meanwhile.
    """
    loop = stm.exp
    assert isinstance(loop, ir.Loop)
    assert isinstance(loop.form, ir.ForLoop)
    attrs = tuple(attr for attr in stm.attrs if not attr.startswith("stripmine("))
    if levels > 1:
        attrs = (*attrs, f"stripmine({levels - 1})")
    index = loop.form.index
    place = emit.fresh(index, Prim.I64)
    segment = emit.fresh("segment", Prim.I64)
    outer = emit.like(p.param for p in loop.params)
    with emit.block() as before:
        count = emit.size_op("max", i64(0), loop.form.bound)
        name = (stm.loc and stm.loc.name) or loop.params[0].param.name.base
        length = emit.one(ir.SegmentLength(_length(emit, count, levels)), Prim.I64, name)
        above = emit.size_op("add", count, emit.size_op("sub", length, i64(1)))
        segments = emit.size_op("quot", above, length)
    with emit.block() as stms:
        start = emit.size_op("mul", segment.name, length)
        size = emit.size_op("min", length, emit.size_op("sub", count, start))
        with emit.block() as body:
            emit.add(ir.Stm((ir.Param(index, Prim.I64),),
                            ir.PrimOp("add", Prim.I64, (start, place.name))))
            body += loop.body.stms
        carried = tuple(ir.LoopParam(p.param, o.name)
                        for p, o in zip(loop.params, outer, strict=True))
        results = emit.like(p.param for p in loop.params)
        emit.add(ir.Stm(results, ir.Loop(carried, ir.ForLoop(place.name, size),
                                         ir.Body(tuple(body), loop.body.result)),
                        attrs, stm.loc))
    around = tuple(ir.LoopParam(o, p.init) for o, p in zip(outer, loop.params, strict=True))
    whole = ir.Loop(around, ir.ForLoop(segment.name, segments),
                    ir.Body(tuple(stms), tuple(p.name for p in results)))
    return [*before, replace(stm, exp=whole, attrs=())]


def _length(emit: Emitter, count: Atom, levels: int) -> Atom:
    """The likely iterations of a segment: the least number from count^(k / (k + 1)) on."""
    number = emit.one(ir.Convert(Prim.I64, Prim.F64, count), Prim.F64)
    power = (emit.op("sqrt", Prim.F64, number) if levels == 1 else
             emit.op("pow", Prim.F64, number, Const(levels / (levels + 1), Prim.F64)))
    up = emit.op("ceil", Prim.F64, power)
    return emit.size_op("max", i64(1), emit.one(ir.Convert(Prim.F64, Prim.I64, up), Prim.I64))
