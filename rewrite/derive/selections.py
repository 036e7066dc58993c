"""Derivatives of selections: operators whose result is one of their operands, such as argmin."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.activity import spread
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import FALSE, TRUE, Atom, array_of, i64, row_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import Reduction, is_plain, operator_of
from runelift.rewrite.derive.walk import Back, Entry, Forward, Reverse
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule

NOWHERE = i64(-1)
"""The index of a neutral element, and of an element that a histogram begins with."""


class _Selected(NamedTuple):
    """Results of a selection that vary, with their inputs, and where in these the winners are."""

    places: VName
    results: tuple[VName, ...]
    inputs: tuple[VName, ...]
    dests: tuple[VName, ...]


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def forward_selection(walk: Forward, stm: ir.Stm, exp: Reduction) -> bool:
    """r = reduce ⊕ e xs ⇒ ṙ = ẋs[k], where ⊕ carries the index k of the operand that it selects

    Provided: on every path, the results of ⊕ that vary are its left or its right operand.
    Because: the choice has no derivative.  Scans and histograms likewise.
    """
    active = spread(ir.Body((stm,), tuple(p.name for p in stm.pat)), set(walk.tan))
    found = _selected(walk.emit, stm, exp, active)
    if found is None:
        return False
    for number, (result, given) in enumerate(zip(found.results, found.inputs, strict=True)):
        walk.tan[result] = _read(walk.emit, exp, found.places, walk.array(given),
                                 walk.array(found.dests[number]) if found.dests else None)
    return True


def _read(emit: Emitter, exp: ir.Exp, places: VName, tangents: VName, old: VName | None) -> Atom:
    """Tangents at places.  Where nothing was selected, the tangents ``old``, else zeros."""
    def at(k: Atom, otherwise: Atom) -> tuple[VName, ...]:
        return emit.choice(emit.size_op("le", i64(0), k), lambda: (emit.index(tangents, k),),
                           lambda: (otherwise,))

    if old is not None:
        return emit.map([places, old], at)[0]
    zeros = emit.zeros(row_of(emit.types[tangents]))
    if isinstance(exp, ir.Redomap):
        return at(places, zeros)[0]
    return emit.map([places], lambda k: at(k, zeros))[0]


@rule(ir.Redomap, ir.Scanomap, ir.Hist)
def reverse_selection(walk: Reverse, stm: ir.Stm, exp: Reduction) -> Back | None:
    """r = reduce ⊕ e xs ⇒ x̄s[k] += r̄, where ⊕ carries the index k of the operand that it selects

    Provided: on every path, the results of ⊕ that vary are its left or its right operand.
    Because: the transposition of forward_selection.  Scans and histograms likewise.
    """
    found = _selected(walk.emit, stm, exp, [walk.varies(p.name) for p in stm.pat])
    if found is None:
        return None

    def back() -> None:
        emit = walk.emit
        for number, (result, given) in enumerate(zip(found.results, found.inputs, strict=True)):
            adjoint = walk.take(result)
            if adjoint is None:
                continue
            if found.dests and walk.varies(found.dests[number]):
                walk.keep_unwon(found.dests[number], found.places, emit.name(adjoint))
            walk.add_at(given, Entry((found.places,), adjoint, sure=False))

    return back


def _selected(emit: Emitter, stm: ir.Stm, exp: Reduction, active: Sequence[bool]
              ) -> _Selected | None:
    """Append the statement with indices of winners; None if it selects no operand."""
    if not is_plain(exp) or not any(active):
        return None
    hist = exp.ops[0] if isinstance(exp, ir.Hist) else None
    op = _with_places(emit, operator_of(exp), active, comm=hist is not None)
    if op is None:
        return None
    arrays = (*exp.arrays, emit.counting(exp.width))
    dests: tuple[VName, ...] = ()
    ops: tuple[ir.Operator, ...] | tuple[ir.HistOp, ...] = (op,)
    type_ = Prim.I64 if isinstance(exp, ir.Redomap) else array_of((exp.width,), Prim.I64)
    if hist is not None:
        type_ = array_of((hist.bins,), Prim.I64)
        before = emit.one(ir.Replicate((hist.bins,), NOWHERE), type_, "places")
        dests, ops = hist.dests, (ir.HistOp(hist.bins, (*hist.dests, before), op),)
    same = emit.same(arrays)
    places = emit.fresh("places", type_)
    emit.add(replace(stm, pat=(*stm.pat, places), exp=replace(
        exp, ops=ops, lam=same, arrays=arrays)))  # type: ignore[arg-type]
    inputs = exp.arrays[1:] if hist is not None else exp.arrays
    return _Selected(places.name, pick([p.name for p in stm.pat], active), pick(inputs, active),
                     pick(dests, active) if dests else ())


def _with_places(emit: Emitter, op: ir.Operator, active: Sequence[bool], *, comm: bool
                 ) -> ir.Operator | None:
    """The operator on elements with indices, if it selects one of both by all parts that vary.

    Of equal elements the left one may win, so reductions do not exchange its operands.
    """
    copy, count = emit.copied(op.lam), len(op.neutral)
    left, right = copy.params[:count], copy.params[count:]
    i, j = emit.fresh("i", Prim.I64), emit.fresh("j", Prim.I64)

    with emit.block() as stms:
        for stm in copy.body.stms:
            emit.add(stm)
        is_left = _is_left(emit, copy.body.stms, *(pick(atoms, active) for atoms in (
            copy.body.result, [p.name for p in left], [p.name for p in right])))
        if is_left is None:
            return None
        (place,) = emit.choice(is_left, lambda: (i.name,), lambda: (j.name,))
    lam = ir.Lambda((*left, i, *right, j), ir.Body(tuple(stms), (*copy.body.result, place)),
                    (*op.lam.ret, Prim.I64))
    return ir.Operator(lam, (*op.neutral, NOWHERE), comm)


def _is_left(emit: Emitter, stms: Sequence[ir.Stm], atoms: Sequence[Atom],
             lefts: Sequence[Atom], rights: Sequence[Atom]) -> Atom | None:
    """True if ``atoms``, which ``stms`` make, are ``lefts``; None if they may be a mixture."""
    made = {p.name: stm.exp for stm in stms for p in stm.pat}

    def origin(atom: Atom) -> Atom:
        exp = made.get(atom) if isinstance(atom, VName) else None
        return origin(exp.atom) if isinstance(exp, ir.AtomExp) else atom

    atoms = tuple(map(origin, atoms))
    if atoms in (lefts, rights):
        return TRUE if atoms == lefts else FALSE
    choices = (made.get(atom) for atom in atoms if isinstance(atom, VName))
    cond = next((exp.cond for exp in choices if isinstance(exp, ir.If)), None)
    if cond is None:
        return None
    alike = [(stm.pat, stm.exp) for stm in stms
             if isinstance(stm.exp, ir.If) and stm.exp.cond == cond]
    sides = []
    for bodies in ([exp.then_ for _, exp in alike], [exp.else_ for _, exp in alike]):
        joined = ir.Body(tuple(stm for body in bodies for stm in body.stms),
                         tuple(atom for body in bodies for atom in body.result))
        copy = emit.copied(ir.Lambda((), joined, ()), asserts=False).body
        given = dict(zip((p.name for pat, _ in alike for p in pat), copy.result, strict=True))
        with emit.block() as inside:
            for stm in copy.stms:
                emit.add(stm)
            found = _is_left(emit, (*stms, *copy.stms), [
                given.get(atom, atom) if isinstance(atom, VName) else atom for atom in atoms],
                lefts, rights)
        if found is None:
            return None
        sides.append(ir.Body(tuple(inside), (found,)))
    return emit.one(ir.If(cond, sides[0], sides[1], (Prim.BOOL,)), Prim.BOOL)
