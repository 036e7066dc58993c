"""Descriptors of segments that are equal in all iterations of a loop, made before the loop."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_in
from runelift.ir.analysis.placement import REPEATABLE
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, needed_for
from runelift.ir.types import Const, i64
from runelift.rewrite.engine.code import Code
from runelift.rewrite.engine.rule import rule
from runelift.rewrite.engine.scalar_code import body_may_fail, is_scalar_code, may_fail


@rule(ir.Loop)
def facts_before_loop(stm: ir.Stm, names: Names) -> tuple[ir.Stm, ...] | None:
    """loop x = a for i < n do let f = facts l in e ⇒ let f = facts l in loop x = a for i < n do e

    Provided: neither x nor i occurs in l, and nothing consumes what l needs.  Checks of l move,
        too; they hold if the loop has no iteration.  Nothing that stays before them may fail.
        Offsets move like facts.
    Because: the host waits for facts.
    Does not handle: descriptors inside of a version, which the host may not choose.
    """
    loop = ir.node_of(stm, ir.Loop)
    if not any(map(_is_descriptor, loop.body.stms)):
        return None
    stays = {*(p.param.name for p in loop.params), *consumed_in(loop.body)}
    if isinstance(loop.form, ir.ForLoop):
        stays.add(loop.form.index)
    leaving, calm = list[ir.Stm](), True
    for each in loop.body.stms:
        if free_vars(each).isdisjoint(stays) and _may_leave(each.exp, calm=calm):
            leaving.append(each)
        else:
            stays.update(p.name for p in each.pat)
            calm = calm and not may_fail(each.exp)
    moved = _with_checks(leaving)
    if not moved:
        return None
    before, ids = Code(names), set(map(id, moved))
    idle = _idle(before, loop) if any(not each.pat for each in moved) else None
    before.emit(*(each if idle is None or each.pat else _unless(idle, each, names)
                  for each in moved))
    body = ir.Body(tuple(s for s in loop.body.stms if id(s) not in ids), loop.body.result)
    return (*before.out, replace(stm, exp=replace(loop, body=body)))


def _is_descriptor(stm: ir.Stm) -> bool:
    return isinstance(stm.exp, ir.LengthFacts) or REPEATABLE in stm.attrs


def _may_leave(exp: ir.Exp, *, calm: bool) -> bool:
    """True for scalars of the host, for facts, and for kernels of scalar code.

    ``calm``: nothing before it may fail.  Then kernels may have assertions.
    """
    match exp:
        case ir.LengthFacts():
            return calm
        case ir.Index(_, dims, False):
            return all(not isinstance(dim, ir.SliceDim) for dim in dims)
        case ir.SegMap(ir.Level.GRID, _, body) | ir.SegScan(ir.Level.GRID, body=body):
            checks = [each for each in body.stms if isinstance(each.exp, ir.Assert)]
            return is_scalar_code(body.stms) and (calm or not checks) and not body_may_fail(
                ir.Body(tuple(each for each in body.stms if each not in checks), body.result))
    return isinstance(exp, ir.PrimOp | ir.Convert | ir.AtomExp) and not may_fail(exp)


def _with_checks(leaving: Sequence[ir.Stm]) -> list[ir.Stm]:
    """The descriptors with what they need, the elements of facts, and the checks before facts."""
    facts = [n for n, each in enumerate(leaving) if isinstance(each.exp, ir.LengthFacts)]
    made = {leaving[n].pat[0].name for n in facts}
    wanted = {p.name for each in leaving for p in each.pat if _is_descriptor(each) or (
        isinstance(each.exp, ir.Index) and each.exp.array in made)}
    checks = [each for each in leaving[:max(facts, default=0)] if not each.pat]
    wanted.update(name for each in checks for name in free_vars(each))
    needed = {id(each) for each in (*needed_for(leaving, wanted), *checks)}
    return [each for each in leaving if id(each) in needed]


def _idle(code: Code, loop: ir.Loop) -> VName | None:
    """True if the loop has no iteration; None if it always has."""
    match loop.form:
        case ir.ForLoop(bound=Const(value=trips)) if trips > 0:
            return None
        case ir.ForLoop(bound=bound):
            return code.holds("le", bound, i64(0), base="idle")
        case ir.WhileLoop(cond):
            first = next(p.init for p in loop.params if p.param.name == cond)
            return code.emitted("idle", Prim.BOOL, ir.PrimOp("not", Prim.BOOL, (first,)))


def _unless(idle: VName, stm: ir.Stm, names: Names) -> ir.Stm:
    """Checks at points, which hold if a condition does."""
    exp, code = ir.node_of(stm, ir.SegMap), Code(names)
    for each in exp.body.stms:
        if isinstance(each.exp, ir.Assert):
            fine = code.holds("or", idle, each.exp.cond, Prim.BOOL, base="fine")
            each = replace(each, exp=replace(each.exp, cond=fine))
        code.emit(each)
    return replace(stm, exp=replace(exp, body=ir.Body(tuple(code.out), exp.body.result)))
