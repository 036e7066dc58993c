"""Offsets of segments that no kernel of the device reads are not computed.

The version by bounded parts names the offsets of its segments, as other devices need them.  Bins
(:mod:`~runelift.codegen.segops.segred_bins`) need none for results that are totals.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.ragged import Ragged, Sharing
from runelift.ir.traverse import bodies_of, free_vars, map_inside, statements_at_host


def without_unread_offsets(fun: ir.Fun) -> ir.Fun:
    """``fun`` without the offsets, and the scans for them, that bins do not read."""
    unread = {ragged.offsets for stm in statements_at_host(fun.body)
              if (ragged := _binned(stm.exp)) is not None and ragged.offsets is not None}
    return replace(fun, body=_without(fun.body, unread)) if unread else fun


def _binned(exp: ir.Exp) -> Ragged | None:
    """The widths of a reduction by bins whose only results are totals; None for other code."""
    if not isinstance(exp, ir.SegRed) or len(exp.ret) > sum(len(o.neutral) for o in exp.ops):
        return None
    ragged = exp.space[-1].ragged if exp.space else None
    return ragged if ragged is not None and ragged.sharing is Sharing.MERGE else None


def _without(body: ir.Body, unread: Set[VName]) -> ir.Body:
    """A body at host level whose bins have no offsets, and without scans that nothing reads."""
    used, stms = {atom for atom in body.result if isinstance(atom, VName)}, list[ir.Stm]()
    for stm in reversed(body.stms):
        stm = replace(stm, exp=_without_offsets(stm.exp, unread))
        if isinstance(stm.exp, ir.SegScan) and all(
                p.name in unread and p.name not in used for p in stm.pat):
            continue
        used |= free_vars(stm)
        stms.append(stm)
    return ir.Body(tuple(reversed(stms)), body.result)


def _without_offsets(exp: ir.Exp, unread: Set[VName]) -> ir.Exp:
    ragged = _binned(exp)
    if ragged is not None and isinstance(exp, ir.SegRed):
        space = (*exp.space[:-1], replace(exp.space[-1], extent=replace(ragged, offsets=None)))
        return replace(exp, space=space)
    if isinstance(exp, ir.SEGOPS) or not bodies_of(exp):
        return exp
    return map_inside(exp, lambda inner: _without(inner, unread), lambda lam: lam)
