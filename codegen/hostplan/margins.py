"""Stored margins: padded arrays that reductions read again and again.

A pad is a view: each element that is read of it costs tests, and vector loads need neighbours in
memory.  So what reductions read is stored with its margin, which takes little more memory than the
array.

Blocks of products (:mod:`~runelift.codegen.segops.product_tiles`) fetch an element once for many
uses, so they test.  What they read is a lazy copy, which only other kernels make.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from runelift.codegen.hostplan.coalescing import LAZY
from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import root_of
from runelift.ir.analysis.products import product_of
from runelift.ir.names import Names, VName
from runelift.ir.traverse import (
    bodies_inside,
    bodies_of,
    free_vars,
    map_inside,
    statements_at_host,
    statements_inside,
)

REDUCING = (ir.Redomap, ir.SegRed, ir.Loop)


def store_margins(fun: ir.Fun, names: Names, *, lazily: bool = False) -> ir.Fun:
    """``fun`` with a copy of each pad at host level that a reduction reads.

    ``lazily``: pads that products read, outside of loops, are only marked as lazy copies.
    """
    defs = {p.name: stm for stm in statements_at_host(fun.body) for p in stm.pat}
    read = _read_again(fun.body, defs)
    wanted = {name for name, stm in defs.items() if isinstance(stm.exp, ir.Pad) and name in read}
    lazy = wanted & _tested(fun.body, defs) if lazily else set[VName]()
    return replace(fun, body=_stored(fun.body, wanted, lazy, names)) if wanted else fun


def _tested(body: ir.Body, defs: dict[VName, ir.Stm]) -> set[VName]:
    """The arrays, made outside of loops, that products of several dimensions read."""
    found: set[VName] = set()
    for stm in statements_at_host(body):
        if isinstance(stm.exp, ir.SegMap) and stm.exp.level is ir.Level.GRID and (
                product := product_of(stm.exp)) is not None and len(product.walks) > 1:
            for name in free_vars(stm):
                found |= set(_behind(name, defs))
    loops = [stm.exp.body for stm in statements_at_host(body) if isinstance(stm.exp, ir.Loop)]
    return found - {p.name for loop in loops for stm in statements_at_host(loop) for p in stm.pat}


def _read_again(body: ir.Body, defs: dict[VName, ir.Stm]) -> set[VName]:
    """The arrays that operations with reductions read, and the arrays behind such views."""
    found: set[VName] = set()
    for stm in statements_at_host(body):
        if isinstance(stm.exp, ir.SEGOPS) and any(
                isinstance(each.exp, REDUCING)
                for each in (stm, *statements_inside(bodies_inside(stm.exp)))):
            for name in free_vars(stm):
                found |= set(_behind(name, defs))
    return found


def _behind(name: VName, defs: dict[VName, ir.Stm]) -> Iterable[VName]:
    """``name``, and the arrays that it is a view of, up to the first pad."""
    while True:
        yield name
        made = defs.get(name)
        if made is None or isinstance(made.exp, ir.Pad) or root_of(name, {name: made}) == name:
            return
        name = root_of(name, {name: made})


def _stored(body: ir.Body, wanted: Set[VName], lazy: Set[VName], names: Names) -> ir.Body:
    """A body at host level that stores the pads ``wanted``, and makes lazy copies of ``lazy``."""
    stms: list[ir.Stm] = []
    for stm in body.stms:
        if isinstance(stm.exp, ir.Pad) and stm.pat[0].name in lazy:
            stms.append(replace(stm, attrs=(*stm.attrs, LAZY)))
        elif isinstance(stm.exp, ir.Pad) and stm.pat[0].name in wanted:
            (param,) = stm.pat
            view = ir.Param(names.fresh(param.name), param.type)
            stms += [replace(stm, pat=(view,)), ir.Stm((param,), ir.Copy(view.name), loc=stm.loc)]
        elif isinstance(stm.exp, ir.SEGOPS) or not bodies_of(stm.exp):
            stms.append(stm)
        else:
            stms.append(replace(stm, exp=map_inside(
                stm.exp, lambda inner: _stored(inner, wanted, lazy, names), lambda lam: lam)))
    return ir.Body(tuple(stms), body.result)
