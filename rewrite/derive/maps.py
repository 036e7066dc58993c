"""Derivatives of maps."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import binders
from runelift.ir.types import TRUE, Atom, array_of, row_of, shape_of
from runelift.rewrite.derive.accumulation import Swept, accumulated, written_inside
from runelift.rewrite.derive.control import Branch, joined
from runelift.rewrite.derive.walk import (
    Back,
    Entry,
    Forward,
    Reverse,
    View,
    Written,
    forward,
)
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule


@forward(ir.Map)
def forward_map(walk: Forward, stm: ir.Stm, exp: ir.Map) -> None:
    """ys = map f xs ⇒ ys, ẏs = map (λx ẋ → (f x, ẏ)) xs ẋs"""
    active = [walk.tangent(a) is not None for a in exp.arrays]
    derived = walk.lam(exp.lam, active)
    wanted = [t is not None for t in derived.results]
    tangents = tuple(p for p in derived.tangents if p is not None)
    arrays = tuple(map(walk.array, pick(exp.arrays, active)))
    results = tuple(t for t in derived.results if t is not None)
    lam = ir.Lambda((*exp.lam.params, *tangents),
                    ir.Body(derived.stms, (*exp.lam.body.result, *results)),
                    (*exp.lam.ret, *pick(exp.lam.ret, wanted)))
    walk.add_both(stm, walk.pattern(stm, wanted),
                  ir.Map(exp.width, lam, (*exp.arrays, *arrays)))


@dataclass(slots=True)
class _Returned:
    """The results of the map of a return sweep, and what becomes of each."""

    values: list[Atom] = field(default_factory=list)
    inputs: list[tuple[VName, int]] = field(default_factory=list)
    sums: list[tuple[VName, int]] = field(default_factory=list)
    entries: list[tuple[VName, Entry, int]] = field(default_factory=list)

    def put(self, *values: Atom) -> int:
        """Return values; the place of the first."""
        self.values += values
        return len(self.values) - len(values)

    def apart(self, walk: Reverse) -> list[int]:
        """The places of whole arrays that are summed: maps apart fuse with their sums."""
        return [place for _, place in self.sums
                if shape_of(walk.emit.type(self.values[place])) and len(self.values) > 1]


@rule(ir.Map)
def reverse_map(walk: Reverse, stm: ir.Stm, exp: ir.Map) -> Back:
    """ys = map f xs ⇒ x̄s += map (λx ȳ → x̄) xs ȳs

    Because: elements do not depend on each other.  An adjoint of a free name is one more result:
    sums of scalars and whole arrays, a histogram of elements at computed places.  Reads by loops,
    maps and slices of varying length go to an accumulator.  Where there is an accumulator, only the
    element of a map inside runs again that has the only adjoint.
    Source: Schenck, Rønning, Henriksen and Oancea 2022, "AD for an array language with nested
    parallelism".
    """
    walk.emit.add(stm)

    def back() -> None:
        emit = walk.emit
        if (entry := _only(walk, stm)) is not None:
            _at_place(walk, stm, exp, entry)
            return
        seeds = [walk.take(p.name) for p in stm.pat]
        given = [emit.name(seed) for seed in seeds if seed is not None]
        if writes := bool(walk.written):
            given.append(emit.counting(exp.width))

        def sweep(written: dict[VName, Written]) -> Swept:
            lam = walk.copied(exp.lam)
            params = tuple(emit.fresh("adj", row_of(emit.types[a])) for a in given)
            rows = iter(params)
            outer, walk.inner = walk.inner, set(binders(lam))
            if outer is None:
                walk.first = min((name.tag for name in walk.inner), default=None)
            else:
                walk.rows |= zip((p.name for p in lam.params), exp.arrays, strict=True)
            if writes:
                walk.views |= {p.name: View(a, (params[-1].name,), sure=True)
                               for p, a in zip(lam.params, exp.arrays, strict=True)}
            with emit.block() as stms, walk.writing(written):
                found = walk.sweep(lam.body,
                                   [None if s is None else next(rows).name for s in seeds])
                for param in lam.params if writes else ():
                    if param.name in found and walk.write(param.name, Entry(
                            (), walk.dense(param.name, found[param.name]), sure=True)):
                        del found[param.name]
            for name in () if outer is None else found:
                walk.loops_over(name, exp.width)
            walk.inner = outer
            if outer is None:
                walk.first = None
            return Swept(lam, params, stms, found)

        arrays = (*exp.arrays, *given)
        swept = (written_inside if walk.inner is not None else accumulated)(
            walk, exp.width, arrays, sweep)
        with emit.block(swept.stms):
            returned = _returned(walk, exp, swept)
        if not returned.values:
            return
        ret = tuple(map(emit.type, returned.values))
        again = ir.Lambda((*swept.lam.params, *swept.seeds),
                          ir.Body(tuple(swept.stms), tuple(returned.values)), ret)
        _received(walk, returned, _mapped(walk, exp.width, again, arrays, returned.apart(walk)))

    return back


def _only(walk: Reverse, stm: ir.Stm) -> Entry | None:
    """The only entry of the adjoints of the results of a map, where there are accumulators."""
    found = [walk.adj[p.name] for p in stm.pat if walk.has(p.name)]
    entries = [entry for adjoint in found for entry in adjoint.entries]
    if not walk.written or any(a.dense is not None for a in found) or len(entries) != 1:
        return None
    (entry,) = entries
    is_one = len(entry.places) == 1 and not shape_of(walk.emit.type(entry.places[0]))
    return entry if is_one else None


def _at_place(walk: Reverse, stm: ir.Stm, exp: ir.Map, entry: Entry) -> None:
    """Append the return sweep of one element of a map."""
    emit, (place,) = walk.emit, entry.places
    seeds = [entry.value if walk.adj.pop(p.name, None) else None for p in stm.pat]
    lam = walk.copied(exp.lam)
    elements = tuple(
        ir.Stm((p,), ir.Index(a, emit.dims(a, (place,)), False), (), stm.loc)
        for p, a in zip(lam.params, exp.arrays, strict=True))
    element = ir.Body((*elements, *lam.body.stms), lam.body.result)
    inside: Atom = TRUE if entry.sure else emit.inside(entry.places, (exp.width,))
    joined(walk, inside, (Branch.of(walk, element, seeds),
                          Branch([], {}, set(), dict(walk.written))))


def _mapped(walk: Reverse, width: Atom, lam: ir.Lambda, arrays: tuple[VName, ...],
            apart: Sequence[int]) -> list[VName]:
    """The results of a map; for each place of ``apart`` there is another map."""
    together = [k for k in range(len(lam.ret)) if k not in apart]
    names: dict[int, VName] = {}
    for places in (together, *([k] for k in apart)):
        if places:
            one = lam if places is together else walk.emit.copied(lam)
            ret = tuple(one.ret[k] for k in places)
            body = ir.Body(one.body.stms, tuple(one.body.result[k] for k in places))
            node = ir.Map(width, ir.Lambda(one.params, body, ret), arrays)
            found = walk.emit.bind(node, [array_of((width,), t) for t in ret], "adjs")
            names |= dict(zip(places, found, strict=True))
    return [names[k] for k in range(len(lam.ret))]


def _returned(walk: Reverse, exp: ir.Map, swept: Swept) -> _Returned:
    """The adjoints of inputs and of free names as results of a lambda."""
    returned, found = _Returned(), swept.found
    local = {*binders(swept.lam), *(p.name for each in swept.stms for p in each.pat)}
    for param, array in zip(swept.lam.params, exp.arrays, strict=True):
        adjoint = found.pop(param.name, None)
        if adjoint is not None and walk.varies(array):
            returned.inputs.append((array, returned.put(walk.dense(param.name, adjoint))))
    for name, adjoint in found.items():
        if not walk.varies(name):
            continue
        if not walk.are_visible(adjoint, local):
            returned.sums.append((name, returned.put(walk.dense(name, adjoint))))
            continue
        for entry in adjoint.entries:
            returned.entries.append((name, entry, returned.put(*entry.atoms)))
    return returned


def _received(walk: Reverse, returned: _Returned, names: Sequence[VName]) -> None:
    """Add the results of the map of a return sweep to adjoints."""
    for array, place in returned.inputs:
        walk.add(array, names[place])
    for name, place in returned.sums:
        walk.add(name, walk.emit.summed(names[place]))
    for name, entry, place in returned.entries:
        walk.add_at(name, entry.of(names[place:]))


