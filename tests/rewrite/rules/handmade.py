"""Small programs in the IR itself, for rules that no source program brings about directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import (
    Body,
    Dest,
    Exp,
    Fun,
    Hist,
    HistOp,
    Index,
    Lambda,
    Level,
    Operator,
    Param,
    PrimOp,
    Program,
    Redomap,
    Replicate,
    Reshape,
    Scatter,
    SegDim,
    SegMap,
    Stm,
    Version,
    Versions,
)
from runelift.ir.types import ArrayType, Const, Type, i64

I32, I64 = Prim.I32, Prim.I64
VALUES = np.array([3, 1, 4], np.int32)
PLACES = np.array([2, 0, 7])


def name(text: str) -> VName:
    base, tag = text.rsplit("_", 1)
    return VName(base, int(tag))


N, M = name("n_1"), name("m_2")
XS, IS = Param(name("xs_3"), ArrayType(I32, (N,))), Param(name("is_4"), ArrayType(I64, (N,)))
ROW = ArrayType(I32, (N,))


def param(text: str, type_: Type = I32) -> Param:
    return Param(name(text), type_)


def let(pat: Sequence[Param], exp: Exp) -> Stm:
    return Stm(tuple(pat), exp)


def program(stms: Sequence[Stm], *results: Param) -> Program:
    params = (Param(N, I64), XS, IS)
    outs = tuple(Param(VName("out", 900 + k), r.type) for k, r in enumerate(results))
    body = Body(tuple(stms), tuple(r.name for r in results))
    return Program((Fun("main", params, outs, body, sizes=1),))


def adder(first: int) -> Operator:
    x, y, z = (param(f"a_{first + k}") for k in range(3))
    body = Body((let([z], PrimOp("add", I32, (x.name, y.name))),), (z.name,))
    return Operator(Lambda((x, y), body, (I32,)), (Const(0, I32),), True)


def doubling(first: int) -> Lambda:
    x, y = param(f"d_{first}"), param(f"d_{first + 1}")
    body = Body((let([y], PrimOp("mul", I32, (x.name, Const(2, I32)))),), (x.name, y.name))
    return Lambda((x,), body, (I32, I32))


def redomap(first: int) -> Redomap:
    return Redomap(N, (adder(first),), doubling(first + 10), (XS.name,))


def index_reshape() -> Program:
    k, ys, rs = param("k_10", I64), param("ys_11", ArrayType(I32, (name("k_10"),))), param("r_12")
    stms = [let([k], PrimOp("max", I64, (N, i64(0)))), let([ys], Reshape((k.name,), XS.name)),
            let([rs], Index(ys.name, (i64(1),), True))]
    return program(stms, rs)


def reshape_replicate() -> Program:
    rs, ys = param("rs_10", ROW), param("ys_11", ArrayType(I32, (N, i64(1))))
    return program([let([rs], Replicate((N,), Const(7, I32))),
                    let([ys], Reshape((N, i64(1)), rs.name))], ys)


def unused_redomap_result() -> Program:
    s, ys = param("s_10"), param("ys_11", ROW)
    return program([let([s, ys], redomap(20))], s)


def without_operators() -> Program:
    s, ys = param("s_10"), param("ys_11", ROW)
    return program([let([s, ys], redomap(20))], ys)


def _scatter_lambda(values: int) -> Lambda:
    i, x = param("i_30", I64), param("x_31")
    result = tuple(a for _ in range(values) for a in (i.name, x.name))
    return Lambda((i, x), Body((), result), (I64, I32) * values)


def unused_scatter_result() -> Program:
    rs, qs = param("rs_10", ROW), param("qs_11", ROW)
    ys, zs = param("ys_12", ROW), param("zs_13", ROW)
    exp = Scatter(N, _scatter_lambda(2), (IS.name, XS.name), (Dest(rs.name, 1), Dest(qs.name, 1)))
    return program([let([rs], Replicate((N,), Const(0, I32))),
                    let([qs], Replicate((N,), Const(1, I32))), let([ys, zs], exp)], zs)


def unused_hist_result() -> Program:
    rs, qs = param("rs_10", ROW), param("qs_11", ROW)
    ys, zs = param("ys_12", ROW), param("zs_13", ROW)
    i, x = param("i_30", I64), param("x_31")
    lam = Lambda((i, x), Body((), (i.name, i.name, x.name, x.name)), (I64, I64, I32, I32))
    ops = (HistOp(N, (rs.name,), adder(40)), HistOp(N, (qs.name,), adder(50)))
    return program([let([rs], Replicate((N,), Const(0, I32))),
                    let([qs], Replicate((N,), Const(1, I32))),
                    let([ys, zs], Hist(N, ops, lam, (IS.name, XS.name)))], ys)


def _points(first: int) -> SegMap:
    i, x, y = name(f"i_{first}"), param(f"x_{first + 1}"), param(f"y_{first + 2}")
    body = Body((let([x], Index(XS.name, (i,))), let([y], PrimOp("mul", I32, (x.name, x.name)))),
                (x.name, y.name))
    return SegMap(Level.GRID, (SegDim(i, N),), body, (I32, I32))


def unused_segmented_result() -> Program:
    ys, zs = param("ys_12", ROW), param("zs_13", ROW)
    return program([let([ys, zs], _points(20))], zs)


def unused_version_result() -> Program:
    ys, zs = param("ys_12", ROW), param("zs_13", ROW)
    alternatives = []
    for first, guard in ((30, Guard("main.t", "t", Kind.OUTER, Size.var(N))), (60, None)):
        a, b = param(f"a_{first}", ROW), param(f"b_{first + 1}", ROW)
        body = Body((let([a, b], _points(first + 10)),), (a.name, b.name))
        alternatives.append(Version(guard, Kind.OUTER if guard else Kind.FLAT, body))
    return program([let([ys, zs], Versions("v", tuple(alternatives), (ROW, ROW)))], ys)


HANDMADE = {f.__name__: f for f in (
    index_reshape, reshape_replicate, unused_redomap_result, without_operators,
    unused_scatter_result, unused_hist_result, unused_segmented_result, unused_version_result)}
VERSIONED = {"unused_segmented_result", "unused_version_result"}
ARGUMENTS: list[Any] = [VALUES, PLACES]
