"""Predication: updates under a condition that only the device knows.

The host would have to wait for a scalar of the device to know which branch to take.  If the
branches only update arrays at one place each, a kernel of one work-item can look at the condition,
and the host goes on.  If a branch only writes into an array, its work-items can look at the
condition.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import body_of, free_vars, stm_of
from runelift.ir.types import Atom, Const, Type, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.checks import bounds_checks
from runelift.rewrite.engine.code import Code
from runelift.rewrite.engine.outward import in_bodies_of_host
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.engine.scalar_code import total_division

SCALAR_CODE = (ir.PrimOp, ir.Convert, ir.AtomExp, ir.Index, ir.Assert)
OUTSIDE = i64(-1)
"""An index at which a scatter writes nothing."""


def predicate(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` in which the device decides about updates whose condition it computes."""
    return ir.Program(tuple(_Walk(rewriting.names, rewriting).fun(fun) for fun in program.funs))


@dataclass(slots=True)
class _Walk:
    """A walk over what the host runs; ``device`` are the scalars that kernels compute."""

    names: Names
    rewriting: Rewriting
    device: set[VName] = field(default_factory=set)
    types: dict[VName, Type] = field(default_factory=dict)

    def fun(self, fun: ir.Fun) -> ir.Fun:
        self.learn(fun.params)
        return replace(fun, body=self.body(fun.body))

    def learn(self, params: Iterable[ir.Param]) -> None:
        """Remember the types of names."""
        self.types |= {p.name: p.type for p in params}

    def body(self, body: ir.Body) -> ir.Body:
        return body_of(body, [new for stm in body.stms for new in self.statement(stm)], body.result)

    def statement(self, stm: ir.Stm) -> tuple[ir.Stm, ...]:
        self.learn(stm.pat)
        if self._from_device(stm.exp):
            self.device |= {p.name for p in stm.pat if isinstance(p.type, Prim)}
        if isinstance(stm.exp, ir.Loop | ir.Recursion):
            self.learn(p.param for p in stm.exp.params)
        stm = stm_of(stm, in_bodies_of_host(stm.exp, self.body))
        if isinstance(stm.exp, ir.If):
            for each in (predicated_updates, predicated_scatter):
                if (new := self.rewriting.tried(each, (stm,), self, stm)) is not None:
                    return new
        return (stm,)

    def _from_device(self, exp: ir.Exp) -> bool:
        match exp:
            case ir.SegMap() | ir.SegRed() | ir.SegScan():
                return True
            case ir.Index(_, dims):
                return not any(isinstance(d, ir.SliceDim) for d in dims)
            case ir.PrimOp() | ir.Convert() | ir.AtomExp():
                return not self.device.isdisjoint(free_vars(ir.Stm((), exp)))
        return False


@rule(ir.If)
def predicated_updates(walk: _Walk, stm: ir.Stm) -> tuple[ir.Stm, ...] | None:
    """if c then xs with [i] ← v else xs ⇒ segscatter xs (if c then (i, v) else (−1, 0))

    Provided: c is computed on the device.  For each result, one branch updates one element of an
    array that the other returns.  Besides, the branches compute scalars only.
    Because: a scatter writes nothing outside of the array, and the host need not wait for c.
    Does not handle: updates of rows, results that are not updated, several updates of one array.
    """
    exp = ir.node_of(stm, ir.If)
    if exp.cond not in walk.device:
        return None
    sides = [side for body in (exp.then_, exp.else_) if (side := _side(body)) is not None]
    if len(sides) != 2:
        return None
    dests: list[ir.Dest] = []
    written: list[list[ir.Update | None]] = [[], []]
    for position in range(len(exp.ret)):
        updates = [side.get(position) for side in sides]
        if (updates[0] is None) == (updates[1] is None):
            return None
        made = updates[0] or updates[1]
        other = (exp.else_ if updates[0] is not None else exp.then_).result[position]
        assert made is not None
        if made.array != other or any(d.array == made.array for d in dests):
            return None
        dests.append(ir.Dest(made.array, len(made.dims)))
        for column, update in zip(written, updates, strict=True):
            column.append(update)
    types: list[Prim] = []
    for first, second in zip(*written, strict=True):
        update = first or second
        assert update is not None
        prim = (update.value.prim if isinstance(update.value, Const)
                else _type_in((exp.then_, exp.else_), update.value)
                or elem_of(walk.types[update.value]))
        types += [*[Prim.I64] * len(update.dims), prim]
    then_, else_ = (_branch(walk, body, side, dests, types)
                    for body, side in zip((exp.then_, exp.else_), written, strict=True))
    code, one = Code(walk.names), ir.SegDim(walk.names.fresh("one"), i64(1))
    return (replace(stm, exp=ir.SegScatter(ir.Level.GRID, (one,), tuple(dests), code.as_body(
        *code.chosen(exp.cond, then_, else_, types, "cell")))),)


@rule(ir.If)
def predicated_scatter(walk: _Walk, stm: ir.Stm) -> tuple[ir.Stm, ...] | None:
    """if c then segscatter xs f else xs ⇒ segscatter xs (if c then f else (−1, 0))

    Provided: c is computed on the device.  Besides, the branch computes only scalars that the host
    knows.
    Because: a scatter writes nothing outside of the array, and the host need not wait for c.  The
    host computes the scalars in any case, dividing by 1 where it would be by 0.  Work-items check
    the assertions of the branch, and there is at least one work-item then.
    Does not handle: rows, assertions in a branch with a scatter over several dimensions.
    """
    exp = ir.node_of(stm, ir.If)
    if exp.cond not in walk.device or not isinstance(exp.cond, VName):
        return None
    for side, other in ((exp.then_, exp.else_), (exp.else_, exp.then_)):
        *before, last = side.stms or (None,)
        if last is None or not isinstance(last.exp, ir.SegScatter) or other.stms:
            continue
        into = tuple(d.array for d in last.exp.dests)
        if (side.result != tuple(p.name for p in last.pat) or other.result != into
                or last.exp.level is not ir.Level.GRID
                or any(d.rank < len(shape_of(walk.types[d.array])) for d in last.exp.dests)):
            continue
        plain = all(isinstance(s.exp, ir.PrimOp | ir.Convert | ir.AtomExp | ir.Assert)
                    and walk.device.isdisjoint(free_vars(s)) for s in before)
        early, asserts = _total([s for s in before if s is not None], walk.names)
        if plain and (not asserts or len(last.exp.space) == 1):
            return (*early, *_guarded(walk, stm, last.exp, asserts, side is exp.then_))
    return None


def _total(stms: Iterable[ir.Stm], names: Names) -> tuple[list[ir.Stm], list[ir.Stm]]:
    """Scalar code that does not fail, and the assertions that it would not have failed."""
    early, asserts = list[ir.Stm](), list[ir.Stm]()
    for stm in stms:
        exp = stm.exp
        if isinstance(exp, ir.Assert):
            asserts.append(stm)
            continue
        if isinstance(exp, ir.PrimOp) and exp.may_trap:
            safe, check, stm = total_division(stm, names)
            early += safe
            asserts.append(check)
        early.append(stm)
    return early, asserts


def _guarded(walk: _Walk, stm: ir.Stm, exp: ir.SegScatter, asserts: list[ir.Stm],
             holds: bool) -> tuple[ir.Stm, ...]:
    """The scatter whose work-items look at the condition of a branch and do what it asserts."""
    branch, names = stm.exp, walk.names
    assert isinstance(branch, ir.If)
    types: list[Prim] = []
    nothing: list[Atom] = []
    for dest in exp.dests:
        prim = elem_of(walk.types[dest.array])
        types += [*[Prim.I64] * dest.rank, prim]
        nothing += [*[OUTSIDE] * dest.rank, zero(prim)]
    before, code, space, body = Code(names), Code(names), exp.space, exp.body
    other = ir.Body((), tuple(nothing))
    if asserts:
        (dim,), inside = space, Code(names)
        space = (replace(dim, extent=before.computed("max", dim.width, i64(1), base="some")),)
        inside.emit(*asserts)
        here = inside.holds("lt", dim.index, dim.width)
        body = inside.as_body(*inside.chosen(here, body, other, types, "cell"))
    then_, else_ = (body, other) if holds else (other, body)
    body = code.as_body(*code.chosen(branch.cond, then_, else_, types, "cell"))
    return (*before.out, replace(stm, exp=replace(exp, space=space, body=body)))


def _side(body: ir.Body) -> dict[int, ir.Update] | None:
    """The element updates that are results of a branch; None if it computes other results."""
    made = {stm.pat[0].name: stm.exp for stm in body.stms if isinstance(stm.exp, ir.Update)}
    plain = all(isinstance(stm.exp, SCALAR_CODE) and all(
        isinstance(p.type, Prim) for p in stm.pat) for stm in body.stms
        if not isinstance(stm.exp, ir.Update))
    simple = all(not any(isinstance(d, ir.SliceDim) for d in u.dims) and u.array not in made
                 for u in made.values())
    if not plain or not simple or not set(made) <= set(body.result):
        return None
    return {k: made[a] for k, a in enumerate(body.result) if isinstance(a, VName) and a in made}


def _type_in(bodies: Iterable[ir.Body], name: VName) -> Prim | None:
    """The type of a scalar that is bound in one of ``bodies``."""
    return next((p.type for body in bodies for stm in body.stms for p in stm.pat
                 if p.name == name and isinstance(p.type, Prim)), None)


def _branch(walk: _Walk, body: ir.Body, written: list[ir.Update | None], dests: list[ir.Dest],
            types: list[Prim]) -> ir.Body:
    """The scalar code of a branch, which says where its updates write and what."""
    stms = [stm for stm in body.stms if not isinstance(stm.exp, ir.Update)]
    locs = {stm.exp: stm.loc for stm in body.stms}
    results: list[Atom] = []
    for dest, update in zip(dests, written, strict=True):
        prim = types[len(results) + dest.rank]
        if update is None:
            results += [*[OUTSIDE] * dest.rank, zero(prim)]
            continue
        indices = [d for d in update.dims if not isinstance(d, ir.SliceDim)]
        if update.checked:
            shape = shape_of(walk.types[update.array])
            stms += bounds_checks(walk.names, indices, shape, locs.get(update))
        results += [*indices, update.value]
    return ir.Body(tuple(stms), tuple(results))
