"""Accesses of a work-group's operations: does a point read only its own elements?"""

from __future__ import annotations

from collections.abc import Iterator

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import free_vars


def own_elements(body: ir.Body, space: ir.Space) -> set[VName]:
    """The arrays of which a point reads no element but that at its indices."""
    own, others = set[VName](), {a for a in body.result if isinstance(a, VName)}
    indices = tuple(dim.index for dim in space)
    for stm in body.stms:
        if isinstance(stm.exp, ir.Index) and stm.exp.dims == indices:
            own.add(stm.exp.array)
        else:
            others |= free_vars(stm)
    return own - others


def exchanged_arrays(body: ir.Body) -> set[VName]:
    """The arrays whose elements work-items of a group exchange in ``body``."""
    found: set[VName] = set()
    for stm in body.stms:
        match stm.exp:
            case (ir.SegMap(_, space, inner) | ir.SegRed(_, space, _, inner)
                  | ir.SegScan(_, space, _, inner) | ir.SegScatter(_, space, _, inner)):
                reduces = isinstance(stm.exp, ir.SegRed) and len(space) > 1
                found |= free_vars(inner) - (set() if reduces else own_elements(inner, space))
            case ir.SegHist(_, _, _, inner):
                found |= free_vars(inner)
            case ir.If(_, then_, else_):
                found |= exchanged_arrays(then_) | exchanged_arrays(else_)
            case ir.Loop(_, _, inner):
                found |= exchanged_arrays(inner)
            case ir.AtomExp():
                pass
            case _:
                found |= free_vars(stm)
    return found


def scanned_spaces(body: ir.Body) -> Iterator[ir.Space]:
    """The spaces whose points must be divided in order."""
    for stm in body.stms:
        match stm.exp:
            case ir.SegScan(_, space):
                yield space
            case ir.SegRed(_, space, ops) if len(space) == 1 and not all(o.comm for o in ops):
                yield space
            case ir.If(_, then_, else_):
                yield from scanned_spaces(then_)
                yield from scanned_spaces(else_)
            case ir.Loop(_, _, inner):
                yield from scanned_spaces(inner)
