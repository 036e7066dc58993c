"""What the work-items of a group compute together: scans of one value per work-item."""

from __future__ import annotations

from collections.abc import Sequence

from runelift.codegen.barriers import LID
from runelift.codegen.launches import (
    LSIZE,
    local_arrays,
)
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.views import View, lit, op
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import FALSE, TRUE, Operator, Type


def group_scan(k: KernelBuilder, operator: Operator, totals: Sequence[imp.Var], group: Size,
               fresh: imp.Var | None = None) -> list[imp.Var]:
    """The combined totals of the work-items before each one; not set for the first.

    Where ``fresh`` says that a segment starts among a work-item's elements, totals from before
    it are left out.  Log-step (Hillis and Steele 1986): after step s, a work-item has the total of
    2^s work-items.  Two arrays take turns, so that one barrier per step is enough.
    """
    prims = [_prim(t) for t in operator.lam.ret]
    mems = [local_arrays(k, [operator], group)[0] for _ in range(2)]
    flags = [_flags(k, group) for _ in range(2)] if fresh is not None else []
    own = [k.declare("own", p, t) for p, t in zip(prims, totals, strict=True)]
    opened = k.declare("opened", Prim.BOOL, fresh) if fresh is not None else None

    def publish(side: int) -> None:
        for mem, value, prim in zip(mems[side], own, prims, strict=True):
            k.emit(imp.Store(mem, LID, value, prim))
        if opened is not None:
            k.emit(imp.Store(flags[side], LID, opened, Prim.BOOL))

    def step(side: int, distance: Exp) -> None:
        before = op("sub", LID, distance)
        with k.block() as take:
            left = [k.declare("left", p, imp.Load(m, before, p))
                    for m, p in zip(mems[side], prims, strict=True)]
            combined = [k.declare("sum", p, v) for p, v in zip(
                prims, k.apply(operator.lam, [*left, *own]), strict=True)
                if not isinstance(v, View)]
            for target, value in zip(own, combined, strict=True):
                k.emit(imp.Assign(target.name, value))
        with k.block() as reach:
            if opened is None:
                k.emit(*take)
            else:
                k.emit(imp.If(imp.Apply("not", Prim.BOOL, (opened,)), (
                    *take, imp.Assign(opened.name, imp.Load(flags[side], before, Prim.BOOL)))))
        k.emit(imp.If(imp.Apply("le", Prim.I64, (distance, LID)), tuple(reach)))
        publish(1 - side)

    def two_steps(number: Exp) -> None:
        distance = k.declare("distance", Prim.I64, imp.Apply("shl", Prim.I64, (
            lit(1), op("mul", number, lit(2)))))
        step(0, distance)
        step(1, op("mul", distance, lit(2)))

    publish(0)
    steps = op("sub", lit(64), imp.Apply("clz", Prim.I64, (op("sub", LSIZE, lit(1)),)))
    k.loop(op("quot", op("add", steps, lit(1)), lit(2)), two_steps, base="step")
    before = imp.Select(imp.Apply("lt", Prim.I64, (lit(0), LID)), op("sub", LID, lit(1)), lit(0),
                        Prim.I64)
    return [k.declare("carry", p, imp.Load(m, before, p))
            for m, p in zip(mems[0], prims, strict=True)]


def _flags(k: KernelBuilder, group: Size) -> VName:
    name = k.names.fresh("flags")
    k.locals.append(imp.LocalArray(name, Prim.BOOL, group))
    return name


def _prim(type_: Type) -> Prim:
    assert isinstance(type_, Prim)
    return type_


def truth(value: bool) -> Exp:
    """A literal."""
    return imp.Lit(TRUE if value else FALSE)
