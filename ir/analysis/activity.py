"""The names of a body that vary with given names: all that an adjoint may reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runelift.ir import syntax as ir
from runelift.ir.analysis.operands import LINEAR, operands, passes
from runelift.ir.names import VName
from runelift.ir.partials import is_flat_at
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom

FLAT = ir.Iota | ir.Assert | ir.LengthFacts | ir.SlabSize | ir.SegmentLength
"""Expressions whose results do not vary with any number."""


def spread(body: ir.Body, varied: set[VName]) -> list[bool]:
    """Add the names of a body that vary with ``varied``; True for the results that do."""
    for stm in body.stms:
        found = _results(stm, varied)
        varied.update(p.name for p, varies in zip(stm.pat, found, strict=True) if varies)
    return _varies(body.result, varied)


def _varies(atoms: Iterable[Atom], varied: set[VName]) -> list[bool]:
    return [atom in varied for atom in atoms]


def _results(stm: ir.Stm, varied: set[VName]) -> list[bool]:
    """The results of a statement that vary."""
    exp = stm.exp
    match exp:
        case ir.PrimOp(op, prim, args):
            return [not is_flat_at(op, prim) and any(_varies(args, varied))]
        case ir.Convert(arg=arg):
            return [passes(exp) and arg in varied]
        case ir.If(_, then_, else_):
            pairs = zip(spread(then_, varied), spread(else_, varied), strict=True)
            return [left or right for left, right in pairs]
        case ir.Loop(params, _, body):
            return _carried([p.param.name for p in params],
                            _varies((p.init for p in params), varied), body, varied)
        case ir.Map(_, lam, arrays):
            return _applied(lam, _varies(arrays, varied), varied)
        case ir.Redomap(_, ops, lam, arrays) | ir.Scanomap(_, ops, lam, arrays):
            mapped = _applied(lam, _varies(arrays, varied), varied)
            return _combined(ops, mapped, varied)
        case ir.Hist(_, hists, lam, arrays):
            mapped = _applied(lam, _varies(arrays, varied), varied)[len(hists):]
            dests = _varies((d for each in hists for d in each.dests), varied)
            both = [a or b for a, b in zip(mapped, dests, strict=True)]
            return _combined([each.op for each in hists], both, varied)
        case ir.Scatter(_, lam, arrays, dests):
            mapped = _applied(lam, _varies(arrays, varied), varied)
            found = []
            for dest in dests:
                found.append(mapped[dest.rank] or dest.array in varied)
                mapped = mapped[dest.rank + 1:]
            return found
        case ir.Accumulate(_, dests, _, lam, arrays):
            _applied(lam, [False, *_varies(arrays, varied)], varied)
            written = lam.params[0].name in varied
            return [written or varies for varies in _varies(dests, varied)]
        case ir.AccWrite(acc, _, _, values):
            if any(_varies(values, varied)):
                varied.add(acc)
            return [True]
        case ir.WithVjp(args=args):
            return [any(_varies(args, varied))] * len(stm.pat)
    if isinstance(exp, LINEAR):
        return [any(_varies(operands(exp), varied))] * len(stm.pat)
    # Other results vary with all that they are made of: without a rule, that is an error.
    return [not isinstance(exp, FLAT) and not varied.isdisjoint(free_vars(exp))] * len(stm.pat)


def _applied(lam: ir.Lambda, args: Sequence[bool], varied: set[VName]) -> list[bool]:
    varied.update(p.name for p, varies in zip(lam.params, args, strict=True) if varies)
    return spread(lam.body, varied)


def _carried(names: Sequence[VName], start: list[bool], body: ir.Body, varied: set[VName]
             ) -> list[bool]:
    """The names that vary when their values go through a body again and again."""
    found = start
    while True:
        varied.update(name for name, varies in zip(names, found, strict=True) if varies)
        after = [a or b for a, b in zip(found, spread(body, varied), strict=True)]
        if after == found:
            return found
        found = after


def _combined(ops: Iterable[ir.Operator], mapped: list[bool], varied: set[VName]) -> list[bool]:
    """The results of operators, then what else there is."""
    found: list[bool] = []
    for op in ops:
        count = len(op.neutral)
        names = [p.name for p in op.lam.params]
        part, mapped = mapped[:count], mapped[count:]
        while True:
            varied.update(name for name, varies in zip(names, part * 2, strict=True) if varies)
            after = [a or b for a, b in zip(part, spread(op.lam.body, varied), strict=True)]
            if after == part:
                break
            part = after
        found += part
    return found + mapped
