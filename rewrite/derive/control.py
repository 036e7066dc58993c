"""Derivatives of branches and loops."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.base.errors import NoDerivative
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import binders, free_vars
from runelift.ir.types import Atom, Type, array_of, elem_of, i64, shape_of
from runelift.rewrite.derive.checkpoints import in_segments, masked
from runelift.rewrite.derive.tapes import Tape
from runelift.rewrite.derive.walk import (
    Adjoint,
    Back,
    Entry,
    Forward,
    Found,
    Reverse,
    Written,
    blank,
    forward,
    transposed,
)
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule


@forward(ir.If)
def forward_branch(walk: Forward, stm: ir.Stm, exp: ir.If) -> None:
    """y = if c then a else b ⇒ y, ẏ = if c then (a, ȧ) else (b, ḃ)"""
    both = [walk.lam(ir.Lambda((), body, exp.ret), ()) for body in (exp.then_, exp.else_)]
    wanted = [any(t is not None for t in pair)
              for pair in zip(*(each.results for each in both), strict=True)]
    bodies = []
    for derived, body in zip(both, (exp.then_, exp.else_), strict=True):
        own = [p.type if r is None else walk.emit.type(r)
               for p, r in zip(stm.pat, body.result, strict=True)]
        stms, tangents = walk.filled(derived, own, wanted)
        bodies.append(ir.Body(stms, (*body.result, *tangents)))
    walk.add_both(stm, walk.pattern(stm, wanted), ir.If(
        exp.cond, bodies[0], bodies[1], (*exp.ret, *pick(exp.ret, wanted))))


@forward(ir.Loop)
def forward_loop(walk: Forward, stm: ir.Stm, exp: ir.Loop) -> None:
    """ys = loop x = a do e ⇒ ys, ẏs = loop (x, ẋ) = (a, ȧ) do (e, ė)

    Because: the parameters that have tangents are a fixed point.
    """
    params = tuple(p.param for p in exp.params)
    types = tuple(p.type for p in params)
    derived, active = walk.fixed_point(ir.Lambda(params, exp.body, types), [
        walk.tangent(p.init) is not None for p in exp.params])
    stms, results = walk.filled(derived, types, active)
    tangents = tuple(ir.LoopParam(t, walk.full(p.init)) for p, t in zip(
        exp.params, derived.tangents, strict=True) if t is not None)
    walk.add_both(stm, walk.pattern(stm, active), ir.Loop(
        (*exp.params, *tangents), exp.form, ir.Body(stms, (*exp.body.result, *results))))


@transposed(ir.If)
def reverse_branch(walk: Reverse, stm: ir.Stm, exp: ir.If, *seeds: Atom | None) -> None:
    """y = if c then a else b ⇒ x̄ += if c then (x̄ by a) else (x̄ by b), for free names x

    Because: the branch that was not taken is not evaluated, in neither sweep.
    """
    joined(walk, exp.cond, [Branch.of(walk, walk.again(body), seeds)
                            for body in (exp.then_, exp.else_)])


@dataclass(slots=True)
class Branch:
    """A branch of a return sweep: statements, adjoints, names, and writes; then its results."""

    stms: list[ir.Stm]
    found: Found
    local: set[VName]
    written: dict[VName, Written]
    values: list[Atom] = field(default_factory=list)

    @classmethod
    def of(cls, walk: Reverse, body: ir.Body, seeds: Iterable[Atom | None]) -> Branch:
        """The branch with both sweeps of a body, whose results have these adjoints."""
        with walk.emit.block() as stms, walk.writing(dict(walk.written)) as written:
            found = walk.sweep(body, seeds)
        return cls(stms, {n: a for n, a in found.items() if walk.varies(n)}, set(binders(body)),
                   written)


def joined(walk: Reverse, cond: Atom, branches: Sequence[Branch]) -> None:
    """Append the branch of the return sweep, and add its results to adjoints."""
    emit = walk.emit
    whole: list[VName] = []
    entries: list[tuple[VName, Entry, int]] = []
    for name in dict.fromkeys(name for each in branches for name in each.found):
        parts = [each.found.get(name, Adjoint()) for each in branches]
        local = {p.name for each in branches for stm in each.stms for p in stm.pat}
        local.update(*(each.local for each in branches))
        if not all(walk.are_visible(part, local) for part in parts):
            whole.append(name)
            for each, part in zip(branches, parts, strict=True):
                with emit.block(each.stms):
                    each.values.append(walk.dense(name, part))
    for mine, other in (branches, branches[::-1]):
        for name, adjoint in mine.found.items():
            for entry in () if name in whole else adjoint.entries:
                entries.append((name, entry, len(mine.values)))
                mine.values += entry.atoms
                with emit.block(other.stms):
                    other.values += [blank(emit, atom, place=atom is not entry.value)
                                     for atom in entry.atoms]
    wrote = [n for n, before in walk.written.items()
             if any(each.written[n] != before for each in branches)]
    for each in branches:
        each.values += [each.written[n].token for n in wrote]
    if not branches[0].values:
        return
    types: list[Type] = [emit.types[name] for name in whole]
    types += [emit.type(a) for _, entry, _ in entries for a in entry.atoms]
    types += [Prim.BOOL] * len(wrote)
    bodies = [ir.Body(tuple(each.stms), tuple(each.values)) for each in branches]
    names = emit.bind(ir.If(cond, bodies[0], bodies[1], tuple(types)), types, "adj")
    for name, result in zip(whole, names, strict=False):
        walk.add(name, result)
    for name, entry, place in entries:
        walk.add_at(name, entry.of(names[place:], sure=False))
    for name, token in zip(wrote, names[len(names) - len(wrote):], strict=True):
        walk.wrote(name, token)


@rule(ir.Loop)
def reverse_loop(walk: Reverse, stm: ir.Stm, exp: ir.Loop) -> Back:
    """ys = loop x = a for i < n do e ⇒ x̄ = loop x̄ = ȳs for i from n - 1 to 0 do x̄ by e,
    ā += x̄

    Provided: no size of a carried array changes.  A while loop runs for its count first; with the
    attribute ``bound(n)`` it has n iterations, masked behind its end.
    Because: the values that iterations begin with are kept, as far as the return sweep needs them.
    With the attribute ``stripmine(k)`` the loop is cut in segments before, in k levels.
    """
    own = {p.param.name for p in exp.params}
    if any(size in own for p in exp.params for size in shape_of(p.param.type)):
        raise NoDerivative("This loop carries arrays whose size changes.", stm.loc)
    if isinstance(exp.form, ir.WhileLoop):
        if most := stm.asked("bound"):
            return walk.instead(masked(walk.emit, stm, most))
        exp = _counted(walk, exp)
    loop = replace(stm, exp=exp)
    if levels := stm.asked("stripmine"):
        return walk.instead(in_segments(walk.emit, loop, levels))
    walk.emit.add(loop)
    stms = walk.emit.stms
    return lambda: _ReturnLoop(walk, loop, stms).run()


def _counted(walk: Reverse, loop: ir.Loop) -> ir.Loop:
    """A while loop as a for loop, after a loop that counts the iterations."""
    emit = walk.emit
    count = emit.fresh("count", Prim.I64)
    copy = emit.copied(ir.Lambda(tuple(p.param for p in loop.params), loop.body, ()))
    assert isinstance(loop.form, ir.WhileLoop)
    place = [p.param.name for p in loop.params].index(loop.form.cond)
    with emit.block(list(copy.body.stms)) as stms:
        more = emit.size_op("add", count.name, i64(1))
    inits = (*(p.init for p in loop.params), i64(0))
    carried = tuple(map(ir.LoopParam, (*copy.params, count), inits))
    counting = ir.Loop(carried, ir.WhileLoop(copy.params[place].name),
                       ir.Body(tuple(stms), (*copy.body.result, more)))
    *_, total = emit.bind(counting, [p.param.type for p in carried], "count")
    index = emit.fresh("i", Prim.I64)
    return replace(loop, form=ir.ForLoop(index.name, total))


class _ReturnLoop:
    """The loop of a return sweep under construction."""

    def __init__(self, walk: Reverse, stm: ir.Stm, sweep: list[ir.Stm]) -> None:
        self.walk, self.stm, self.sweep = walk, stm, sweep
        assert isinstance(stm.exp, ir.Loop)
        assert isinstance(stm.exp.form, ir.ForLoop)
        self.loop, self.form = stm.exp, stm.exp.form
        self.params = [p.param for p in stm.exp.params]
        self.entries: list[tuple[VName, Entry]] = []
        self.tokens: dict[VName, ir.Param] = {}
        """The tokens that an iteration starts with, for each adjoint that an accumulator sums."""

    def run(self) -> None:
        """Append the loop, and add its results to adjoints."""
        walk, emit = self.walk, self.walk.emit
        seeds = [walk.take(p.name) for p in self.stm.pat]
        active = [k for k, seed in enumerate(seeds) if seed is not None]
        free: list[VName] = []
        while True:
            index = emit.fresh(self.form.index, Prim.I64)
            copy = walk.copied(ir.Lambda((*self.params, ir.Param(self.form.index, Prim.I64)),
                                         self.loop.body, ()))
            *params, index = copy.params
            adjoints = [emit.fresh(params[k].name.base + "_adj", params[k].type) for k in active]
            outer = [emit.fresh(name.base + "_adj", emit.types[name]) for name in free]
            given = dict(zip(active, adjoints, strict=True))
            self.tokens = {n: emit.fresh("acc", Prim.BOOL) for n in walk.written}
            with emit.block() as stms, walk.writing({
                    n: walk.written[n]._replace(token=p.name) for n, p in self.tokens.items()
                    }) as written:
                found = walk.sweep(
                    copy.body, [given[k].name if k in given else None for k in range(len(params))],
                    {n: Adjoint(p.name) for n, p in zip(free, outer, strict=True)})
                more = [k for k, p in enumerate(params) if p.name in found and k not in active]
                names = {p.name for p in params}
                local = {*binders(copy), *(p.name for each in stms for p in each.pat)}
                outside = [n for n in found if n not in free and n not in names and walk.varies(n)]
                listed = {n: found[n] for n in outside if self._is_list(n, found[n], local)}
                others = [n for n in outside if n not in listed]
                if not more and not others:
                    results = [walk.dense(name, found.get(name, Adjoint()))
                               for name in (*(params[k].name for k in active), *free)]
                    break
            active, free = sorted([*active, *more]), [*free, *others]
        for name in (*free, *listed):
            walk.loops_over(name, self.form.bound)
        self.entries = [(n, each) for n, adjoint in listed.items() for each in adjoint.entries]
        self.tokens = {n: p for n, p in self.tokens.items() if written[n].token != p.name}
        results += [written[n].token for n in self.tokens]
        inits = [emit.or_zeros(seeds[k], self.stm.pat[k].type) for k in active]
        inits += [emit.or_zeros(walk.take(name), emit.types[name]) for name in free]
        inits += [walk.written[n].token for n in self.tokens]
        self._emit(params, index, ir.Body(tuple(stms), tuple(results)),
                   [ir.LoopParam(p, init) for p, init in
                    zip((*adjoints, *outer, *self.tokens.values()), inits, strict=True)],
                   active, free)

    def _is_list(self, name: VName, adjoint: Adjoint, local: set[VName]) -> bool:
        """True if an adjoint is a list of entries in each iteration, of an array around a map."""
        return self.walk.is_outside(name) and self.walk.are_visible(adjoint, local)

    def _list(self, count: Atom) -> list[ir.Param]:
        """Arrays of the entries of all iterations."""
        emit = self.walk.emit
        return [emit.fresh("list", array_of((count, *shape_of(type_)), elem_of(type_)))
                for _, entry in self.entries for type_ in map(emit.type, entry.atoms)]

    def _emit(self, params: Sequence[ir.Param], index: ir.Param, body: ir.Body,
              carried: Sequence[ir.LoopParam], active: Sequence[int], free: Sequence[VName]
              ) -> None:
        walk, emit = self.walk, self.walk.emit
        needed = free_vars(body)
        tape = Tape(emit, self.stm, [k for k, p in enumerate(params) if p.name in needed])
        count = tape.fill(self.stm, self.sweep)
        counter = emit.fresh("i", Prim.I64)
        with emit.block() as stms:
            last = emit.size_op("sub", count, i64(1))
            emit.add(ir.Stm((index,), ir.PrimOp("sub", Prim.I64, (last, counter.name))))
            walk.counters.add(index.name)
            restored = tape.read(params, index.name)
            stms += body.stms
            lists = self._list(count)
            atoms = [a for _, entry in self.entries for a in entry.atoms]
            listed = [emit.update(p.name, (index.name,), atom)
                      for p, atom in zip(lists, atoms, strict=True)]
        blanks = [ir.LoopParam(p, emit.zeros(p.type)) for p in lists]
        loop = ir.Loop((*carried, *blanks, *(param for param, _ in restored)),
                       ir.ForLoop(counter.name, count),
                       ir.Body(tuple(stms), (*body.result, *listed,
                                             *(after for _, after in restored))))
        names = emit.bind(loop, [p.param.type for p in loop.params], "adj")
        done = iter(names[len(carried):])
        for name, entry in self.entries:
            walk.add_at(name, entry.of([next(done) for _ in entry.atoms]))
        for free_name, name in zip(free, names[len(active):], strict=False):
            walk.adj[free_name] = Adjoint(name)
        for array, name in zip(self.tokens, names[len(active) + len(free):], strict=False):
            walk.wrote(array, name)
        for k, name in zip(active, names, strict=False):
            walk.add(self.loop.params[k].init, name)
