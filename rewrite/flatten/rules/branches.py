"""Branches whose points part: rule G19."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, substitute_body, substitute_type
from runelift.ir.types import Atom, Type, array_of, as_name, elem_of, i64, shape_of
from runelift.rewrite.engine.pick import Item, names_in, pick
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.nest import Elements, Nest, show_nest
from runelift.rewrite.flatten.parallelism import called_in, has_parallelism, is_parallel
from runelift.rewrite.flatten.restriction import (
    Partition,
    Restricted,
    chosen_points,
    other_points,
    partition,
    place_of,
    places_of,
    restricted,
)
from runelift.rewrite.flatten.rules.common import Results, attempted, zeros
from runelift.rewrite.flatten.segments import bind_parts, define_number, element_of, over_elements
from runelift.rewrite.flatten.walk import Walk

HELP = "each work-item takes its branch; a partition of the points before the map makes two maps"
"""The reason why a branch with parallelism has no parts, and what would give it some."""


class _Kind(Enum):
    """The kind of a result: a scalar, an array of one shape, or an array of any length."""

    SCALAR = 0
    REGULAR = 1
    SEGMENTS = 2


class _Branch(NamedTuple):
    """The results of a branch at its points, as results of the host, in order.

    These are scalars at their places among all points, arrays of one shape, and what the elements
    of arrays of any length are made from.
    """

    scalars: tuple[ir.Param, ...]
    arrays: tuple[ir.Param, ...]
    elements: _Elements


class _Elements(NamedTuple):
    """Arrays of any length, as a branch defines them at ``point`` of its points.

    ``hosts`` are the results of the host for names that the host binds inside of the branch.
    """

    nest: Nest
    point: VName
    arrays: tuple[VName, ...]
    hosts: Mapping[VName, Atom]

    def element(self, walk: Walk, inner: Elements, place: ir.Body, number: int) -> ir.Body:
        """The element of an array at a point and index of ``inner``, and ``place`` in the branch.

        Its definitions are its own, as they hold at points of the branch only.
        """
        (at,) = place.result
        nest = Nest((), MappingProxyType({**self.nest.defs, **inner.nest.defs})).define([
            *place.stms, ir.Stm((ir.Param(self.point, Prim.I64),), ir.AtomExp(at))])
        found = element_of(walk, nest, self.arrays[number], inner.at)
        body = nest.kernel_body(found.stms, found.result)
        return walk.flattener.copy_body(substitute_body(body, self.hosts))


@flattening("G19", ir.If)
def branch_partition(walk: Walk, stm: ir.Stm, branch: ir.If) -> str | None:
    """Σ ⊢ if c then e else f ⇒ if k > 0 then (Σ | c ⊢ e); if k < n then (Σ | ¬c ⊢ f); gather

    The k points of Σ where c holds come first, in order.  A branch runs over its points, and only
    if it has any, so recursion ends.  Arrays of any length are not stored by a branch: the gather
    computes Σ ▷ l ⊢ if c then x else y for elements x of e and y of f.

    Provided a branch calls a function that calls itself, makes an array of any length in parallel,
    or has parallelism whose width differs between points.  In a function that calls itself,
    parallelism or length is enough.
    """
    sides = (branch.then_, branch.else_)
    if not walk.nest.space or walk.level is not ir.Level.GRID:
        return Unlike("it stands in no nest over the grid")
    parallel, sized = any(map(has_parallelism, sides)), _has_sizes(stm)
    if not any(map(called_in, sides)) and not (parallel and sized) and not any(
            _has_segments(walk, side) for side in sides) and not (
            walk.flattener.lifted and (parallel or sized or not all(
                walk.regular(p.type) for p in stm.pat))):
        return HELP if parallel else Unlike("each work-item can take its branch")
    kinds = [_kind(walk, stm, p.type) for p in stm.pat]
    if None in kinds:
        return "its result is an array of rows, which differ in number"
    if why := walk.make_known(free_vars(stm), checks=True):
        return why
    note = f"each branch runs over its points of {show_nest(walk.nest)}"
    return attempted(walk, "G19", stm, note, lambda front: _emit(
        front, stm, [kind for kind in kinds if kind is not None]))


def _has_segments(walk: Walk, body: ir.Body, differing: Set[VName] = frozenset()) -> bool:
    """True if a parallel operation in a branch has a width that differs between points of Σ.

    ``differing`` are names bound inside of the branch whose values differ.
    """
    known = set(differing)

    def differs(atom: Atom) -> bool:
        return atom in known or not walk.invariant(atom)

    for stm in body.stms:
        if is_parallel(stm):
            match stm.exp:
                case ir.Loop(params=params, body=inside):
                    inner = {p.param.name for p in params if differs(p.init)}
                    if _has_segments(walk, inside, known | inner):
                        return True
                case ir.If(then_=then_, else_=else_):
                    if any(_has_segments(walk, side, known) for side in (then_, else_)):
                        return True
                case exp if isinstance(exp, ir.SOACS):
                    inner = {p.name for p, array in zip(exp.lam.params, exp.arrays, strict=True)
                             if differs(array)}
                    if differs(exp.width) or _has_segments(walk, exp.lam.body, known | inner):
                        return True
        if any(map(differs, free_vars(stm))):
            known.update(p.name for p in stm.pat)
    return False


def _has_sizes(stm: ir.Stm) -> bool:
    """True if results are sizes of other results."""
    own = {p.name for p in stm.pat}
    return any(size in own for p in stm.pat for size in shape_of(p.type))


def _kind(walk: Walk, stm: ir.Stm, type_: Type) -> _Kind | None:
    """The kind of a result; None if it has no form here."""
    own = {p.name for p in stm.pat}
    if isinstance(type_, Prim):
        return _Kind.SCALAR
    if walk.regular(type_) and not own.intersection(shape_of(type_)):
        return _Kind.REGULAR
    return _Kind.SEGMENTS if len(shape_of(type_)) == 1 else None


def _of(kind: _Kind, kinds: Sequence[_Kind], items: Sequence[Item]) -> tuple[Item, ...]:
    """The items of the results of a kind."""
    return pick(items, [each is kind for each in kinds])


def _emit(walk: Walk, stm: ir.Stm, kinds: list[_Kind]) -> str | None:
    """Emit the partition and the branches, and bind the results; the reason if impossible."""
    branch = ir.node_of(stm, ir.If)
    parts = partition(walk, branch.cond, _stored_lengths(walk, stm, kinds))
    scalars = _of(_Kind.SCALAR, kinds, stm.pat)
    dests = [ir.Param(walk.emitted(p.name.base, type_, zeros(type_), (SCRATCH,)), type_)
        for p in scalars for type_ in [array_of((parts.count,), p.type)]]
    sides = list[_Branch]()
    for body, (points, count) in ((branch.then_, (chosen_points(walk, parts), parts.chosen)),
                                  (branch.else_, other_points(walk, parts))):
        side = _branch(walk, stm, kinds, body, (points, count), dests)
        if isinstance(side, str):
            return side
        dests = list(side.scalars)
        sides.append(side)
    for param, host in zip(scalars, dests, strict=True):
        walk.bind_flat([param], [host])
    _gather(walk, stm, kinds, parts, sides)
    return None


def _stored_lengths(walk: Walk, stm: ir.Stm, kinds: list[_Kind]) -> VName | None:
    """Lengths of a result that are stored in one dimension, if their offsets are not known."""
    sizes = [size for p in _of(_Kind.SEGMENTS, kinds, stm.pat) for size in shape_of(p.type)]
    return next((size for size in sizes if isinstance(size, VName) and walk.flattener.lifted
                 and len(walk.nest.space) == 1 and size not in walk.nest.segments
                 and walk.nest.expanded(size) is not None), None)


def _branch(walk: Walk, stm: ir.Stm, kinds: list[_Kind], body: ir.Body,
            over: tuple[VName, VName], dests: list[ir.Param]) -> _Branch | str:
    """Emit a branch over some points, as a branch of the host; the reason if impossible."""
    points, count = over
    flattener = walk.flattener
    found = restricted(walk, points, count)
    inner, checked = Walk(flattener, found.nest), frozenset(flattener.checked)
    inner.delayed = _only_results(body)
    inner.statements(body)
    flattener.checked.intersection_update(checked)  # at the points of the branch only
    scalars, rows, arrays = (_of(kind, kinds, body.result) for kind in _Kind)
    inner.look_ahead(names_in(scalars))
    uniform = _of(_Kind.REGULAR, kinds, stm.pat)
    flattener.learn_atoms(rows, [param.type for param in uniform])
    if why := inner.make_arrays_known((*rows, *arrays)):
        return why
    regular = [(param.name, array_of((count,), param.type), inner.expand(name, param.type))
               for param, name in zip(uniform, rows, strict=True)]
    written = _written(inner, found.number, scalars, dests)
    taken = Results(flattener)
    for dest, result in zip(dests, written, strict=True):
        taken.keep(dest, result.name)
    for base, type_, value in regular:
        taken.add(base, type_, value, type_)
    elements = _elements(inner, found, tuple(map(as_name, arrays)), taken)
    taken.emit(walk, count, inner.out)
    after, rest = taken.params[:len(dests)], taken.params[len(dests):]
    return _Branch(tuple(after), tuple(rest[:len(regular)]), elements)


def _only_results(body: ir.Body) -> frozenset[VName]:
    """The results that nothing else in a body uses."""
    used = {name for stm in body.stms for name in free_vars(stm)}
    return frozenset(names_in(body.result) - used)


def _elements(inner: Walk, found: Restricted, arrays: tuple[VName, ...], taken: Results
              ) -> _Elements:
    """The arrays of any length of a branch; adds results for what the host binds inside."""
    types, (index,) = inner.flattener.types, inner.nest.indices
    defs = {name: stm for name, stm in inner.nest.defs.items() if name != found.number}
    known = _Elements(Nest((), MappingProxyType(defs)), index, arrays, {})
    inside = {p.name: None for stm in inner.out for p in stm.pat}
    needed, at = set[VName](), inner.fresh("j", Prim.I64)
    for array in arrays:
        body = element_of(inner, known.nest, array, at.name)
        needed |= free_vars(known.nest.kernel_body(body.stms, body.result))
    needed &= inside.keys()
    for name in reversed(inside):  # sizes are bound before arrays that have them
        if name in needed:
            needed |= names_in(shape_of(types[name]))
    hosts = dict[VName, Atom]()
    for name in inside:
        if name in needed:
            type_ = substitute_type(types[name], hosts)
            empty = array_of(tuple(i64(0) if size in hosts.values() else size
                                   for size in shape_of(type_)), elem_of(type_))
            hosts[name] = taken.add(name, type_, name, empty)
    return known._replace(hosts=hosts)


def _written(inner: Walk, number: VName, atoms: Sequence[Atom], dests: list[ir.Param]
             ) -> tuple[ir.Param, ...]:
    """The arrays over all points with the scalars of some; what waits runs in the kernel."""
    if not atoms:
        inner.flush()
        return ()
    values = tuple(a for atom in atoms for a in (number, atom))
    space, kernel = inner.kernel(inner.nest, tuple(inner.pending), values)
    inner.pending = []
    written = inner.flattener.copies(dests)
    inner.emit(ir.Stm(written, ir.SegScatter(
        inner.level, space, tuple(ir.Dest(p.name, 1) for p in dests), kernel)))
    return written


def _gather(walk: Walk, stm: ir.Stm, kinds: list[_Kind], parts: Partition,
            branches: list[_Branch]) -> None:
    """Bind the arrays of both branches: all of one shape joined, segments made in order."""
    if _Kind.REGULAR in kinds:
        found = place_of(walk, parts, define_number(walk))
        walk.definitions.emit(*found.stms)
        for param, *each in zip(_of(_Kind.REGULAR, kinds, stm.pat),
                                *(branch.arrays for branch in branches), strict=True):
            both = walk.joined([p.name for p in each], parts.count)
            walk.nest = walk.nest.define([ir.Stm((param,), ir.Index(
                both, (*found.result, *map(whole, shape_of(param.type)))))])
    segments = _of(_Kind.SEGMENTS, kinds, stm.pat)
    sides = [branch.elements for branch in branches]
    for (size,) in dict.fromkeys(shape_of(p.type) for p in segments):
        some = [n for n, p in enumerate(segments) if shape_of(p.type) == (size,)]
        pat = [segments[n] for n in some]
        host = over_elements(walk, as_name(size), pat, partial(
            _either, walk, parts, sides, dict(zip(some, pat, strict=True))))
        bind_parts(walk, pat, host, as_name(size))


def _either(walk: Walk, parts: Partition, sides: list[_Elements],
            arrays: Mapping[int, ir.Param], inner: Elements) -> ir.Body:
    """Elements of numbered arrays: each as the branch that its point takes makes it."""
    stms = list[ir.Stm]()
    for number, array in arrays.items():
        first, second = (side.element(walk, inner, place, number) for side, place in zip(
            sides, places_of(walk, parts, inner.number), strict=True))
        found = walk.fresh(array.name.base, elem_of(array.type))
        stms.append(ir.Stm((found,), ir.If(parts.cond, first, second, (found.type,))))
    return inner.kernel_body(ir.Body(tuple(stms), tuple(s.pat[0].name for s in stms)))
