"""Fewer launches: separate launches of the host become part of a kernel beside them.

In loops of small kernels a launch costs more than what it does.  Once nests are flattened, the
statements of a host body show the launches:

* each segmented operation,
* each array that is filled or copied to be overwritten,
* each element that is read to be handed to kernels.

Flattening and fusion have done before what needs no such knowledge.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import body_of, free_vars, statements_inside, stm_of
from runelift.ir.types import Atom, elem_of, shape_of, zero
from runelift.rewrite.engine.outward import each_at_host, each_body, in_bodies_of_host
from runelift.rewrite.engine.pick import pick, users
from runelift.rewrite.engine.rule import Rewriting, Rule, rule
from runelift.rewrite.engine.scalar_code import body_may_fail, is_scalar_code, may_fail
from runelift.rewrite.passes.before_loops import facts_before_loop
from runelift.rewrite.passes.fuse import ALONE
from runelift.rewrite.passes.joined_kernels import (
    Stms,
    at_points,
    elements_of,
    fed,
    is_calm,
    keeps,
    used_besides,
)
from runelift.rewrite.passes.scan_launches import scan_backwards, scan_with_map
from runelift.rewrite.passes.sink import sink_elements


def save_launches(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with fewer launches by the host."""
    defs = {p.name: stm.exp for fun in program.funs for stm in statements_inside((fun.body,))
            if isinstance(stm.exp, ir.PrimOp) for p in stm.pat}
    program = each_body(program, lambda body: each_at_host(body, partial(_ahead, rewriting)))
    return each_body(program, _Walk(rewriting, defs).body)


def _ahead(rewriting: Rewriting, stm: ir.Stm) -> tuple[ir.Stm, ...]:
    """A statement; the descriptors that a loop makes anew in each iteration are before the loop."""
    found = rewriting.tried(facts_before_loop, (stm,), stm, rewriting.names) if isinstance(
        stm.exp, facts_before_loop.heads) else None
    return (stm,) if found is None else found


@dataclass(frozen=True, slots=True)
class _Walk:
    """The walk of this pass over code that the host runs.

    ``defs`` are the operations on scalars in all of the program.
    """

    rewriting: Rewriting
    defs: Mapping[VName, ir.PrimOp]

    def body(self, body: ir.Body, own: Set[VName] = frozenset()) -> ir.Body:
        """A body of the host, inner bodies first; ``own`` are the parameters of its loop."""
        stms = [stm_of(stm, self._inside(stm.exp)) for stm in body.stms]
        body = body_of(body, stms, body.result)
        body = self._everywhere(scatter_with_map, body)
        body = self._everywhere(scan_backwards, body, self.defs)
        for each in (scan_with_map, copy_beside, fill_together):
            body = self._everywhere(each, body)
        sunk = self.rewriting.tried(sink_elements, body.stms, body, own, self.rewriting.names)
        body = body if sunk is None else ir.Body(sunk, body.result)
        return self._everywhere(read_together, body)

    def _inside(self, exp: ir.Exp) -> ir.Exp:
        """An expression that the host runs, with the bodies inside."""
        own = frozenset(p.param.name for p in exp.params) if isinstance(
            exp, ir.Loop | ir.Recursion) else frozenset()
        return in_bodies_of_host(exp, lambda body: self.body(body, own))

    def _everywhere(self, each: Rule, body: ir.Body, *facts: Mapping[VName, ir.PrimOp]) -> ir.Body:
        """The body after a rule was tried on all statements."""
        place = 0
        while place < len(body.stms):
            new = self.rewriting.tried(
                each, body.stms, body, place, self.rewriting.names, *facts) if isinstance(
                    body.stms[place].exp, each.heads) else None
            if new is None:
                place += 1
                continue
            place = max(0, place + min(0, len(new) - len(body.stms)))
            body = ir.Body(new, body.result)
        return body


@rule(ir.SegScatter)
def scatter_with_map(body: ir.Body, place: int, names: Names) -> Stms | None:
    """ys = segmap f; d' = segscatter d (g ys) ⇒ a = scratch; (d', ys) = segscatter (d, a) (g f, f)

    Provided: the scatter reads ys element by element, nothing else reads it before, and neither
    writes to what f reads.  f is scalar code; not both may fail.
    Because: each work-item writes f at its place in a, so a becomes ys, which may be needed later.
    """
    stms, scatter = body.stms, body.stms[place]
    exp = ir.node_of(scatter, ir.SegScatter)
    elements = elements_of(exp.body, exp.space)
    defs = {p.name: stm for stm in stms for p in stm.pat}
    others = used_besides(scatter, elements)
    for number in range(place - 1, -1, -1):
        made = stms[number]
        results = {p.name for p in made.pat}
        if results.isdisjoint(elements.values()) or not results.isdisjoint(others):
            continue
        if _fits(made, scatter) and _can_move(made, stms[number + 1:place + 1], defs):
            later = free_vars(ir.Body(stms[place + 1:], body.result))
            needed = [p for p in made.pat if p.name in later]
            return (*stms[:number], *stms[number + 1:place],
                    *_scattered(made, scatter, elements, needed, names), *stms[place + 1:])
    return None


def _fits(made: ir.Stm, scatter: ir.Stm) -> bool:
    """True if a statement is a map whose work-items can also do the work of a scatter."""
    one, two = made.exp, scatter.exp
    if not isinstance(one, ir.SegMap) or not isinstance(two, ir.SegScatter):
        return False
    return (one.level is two.level is ir.Level.GRID
            and [d.extent for d in one.space] == [d.extent for d in two.space]
            and all(isinstance(t, Prim) for t in one.ret) and is_scalar_code(one.body.stms)
            and not (body_may_fail(one.body) and (
                body_may_fail(two.body) or not is_scalar_code(two.body.stms)))
            and not ALONE & (set(made.attrs) ^ set(scatter.attrs)))


def _can_move(stm: ir.Stm, over: Sequence[ir.Stm], defs: Mapping[VName, ir.Stm]) -> bool:
    """True if a map may run as part of the last of the statements behind it."""
    results, fails = {p.name for p in stm.pat}, may_fail(stm.exp)
    return keeps(over, stm, defs) and not any(
        results & free_vars(each) or (fails and not is_calm(each.exp)) for each in over[:-1])


def _scattered(made: ir.Stm, scatter: ir.Stm, elements: Mapping[VName, VName],
               needed: Sequence[ir.Param],
               names: Names) -> Iterator[ir.Stm]:
    """The scatter that does the map, too, and also returns the ``needed`` results of the map."""
    one, two = ir.node_of(made, ir.SegMap), ir.node_of(scatter, ir.SegScatter)
    indices = tuple(d.index for d in two.space)
    first = at_points(one.body, one.space, two.space)
    value = {p.name: atom for p, atom in zip(made.pat, first.result, strict=True)}
    second = fed(two.body, elements, value)
    dests, written = list(two.dests), list[Atom]()
    for param in needed:
        scratch = ir.Param(names.fresh(param.name), param.type)
        yield ir.Stm((scratch,), ir.Replicate(shape_of(param.type), zero(elem_of(param.type))),
                  (SCRATCH,), made.loc)
        dests.append(ir.Dest(scratch.name, len(indices)))
        written += [*indices, value[param.name]]
    yield replace(scatter, pat=(*scatter.pat, *needed), exp=replace(
        two, dests=tuple(dests),
        body=ir.Body((*first.stms, *second.stms), (*second.result, *written))))


@rule(ir.Copy)
def copy_beside(body: ir.Body, place: int, _names: Names) -> Stms | None:
    """ys = segscan ⊕ (f xs[i]); c = copy xs ⇒ (ys, c) = segscan ⊕ (f xs[i], xs[i])

    Provided: the operation reads all of xs element by element, and nothing needs c before.  c is
    changed while xs is needed, so that the copy is not for nothing.
    """
    stms, stm = body.stms, body.stms[place]
    exp, (param,) = stm.exp, stm.pat
    assert isinstance(exp, ir.Copy)
    changed = any(param.name in consumed_by(each) for each in stms[place + 1:])
    if not changed or exp.array not in free_vars(ir.Body(stms[place + 1:], body.result)):
        return None
    for number, beside in enumerate(stms):
        if number > place and param.name in free_vars(beside):
            break
        element = _reads_all(beside, exp.array, param)
        if element is not None:
            assert isinstance(beside.exp, ir.SegMap | ir.SegScan)
            inner = beside.exp.body
            wider = replace(beside, pat=(*beside.pat, param), exp=replace(
                beside.exp, body=ir.Body(inner.stms, (*inner.result, element)),
                ret=(*beside.exp.ret, elem_of(param.type))))
            return tuple(wider if n == number else each
                         for n, each in enumerate(stms) if n != place)
    return None


def _reads_all(stm: ir.Stm, array: VName, like: ir.Param) -> VName | None:
    """The name of an array's element at a point, if a map or scan reads it at all points."""
    match stm.exp:
        case (ir.SegMap(ir.Level.GRID, space, inner)
              | ir.SegScan(ir.Level.GRID, space, _, inner)) if (
                tuple(d.extent for d in space) == shape_of(like.type)
                and is_scalar_code(inner.stms) and not ALONE & set(stm.attrs)):
            return next((name for name, read in elements_of(inner, space).items() if read == array),
                        None)
    return None


@rule(ir.SegScatter)
def fill_together(body: ir.Body, place: int, names: Names) -> Stms | None:
    """a = replicate s x; b = replicate s y; … segscatter (a, b) … ⇒ (a, b) = segmap s (x, y); …

    Provided: nothing else uses a and b.
    Because: an array that is overwritten has to be filled before, and one kernel can fill several.
    """
    exp = ir.node_of(body.stms[place], ir.SegScatter)
    uses, into = users(body.stms, body.result), [d.array for d in exp.dests]
    fills = [(n, stm) for n, stm in enumerate(body.stms[:place])
             if isinstance(stm.exp, ir.Replicate) and not settings(stm) and stm.pat[0].name in into
             and uses[stm.pat[0].name] == 1
             and len(stm.exp.shape) == len(shape_of(stm.pat[0].type))]
    for number, stm in fills:
        shape = shape_of(stm.pat[0].type)
        alike = [n for n, each in fills if shape_of(each.pat[0].type) == shape]
        if len(alike) > 1 and number == alike[0]:
            filled = _filled([body.stms[n] for n in alike], names)
            return tuple(filled if n == alike[-1] else each
                         for n, each in enumerate(body.stms) if n not in alike[:-1])
    return None


@rule(ir.If)
def read_together(body: ir.Body, place: int, _names: Names) -> Stms | None:
    """x = if c then a else ys[i]; …; y = if c then b else zs[j] ⇒ (x, y) = if c then … else …; …

    Provided: branches are scalar code without failures that reads elements.  The second one needs
        nothing that is made or changed between.
    Because: the host waits once for all elements that it reads at a time.
    """
    stms, stm = body.stms, body.stms[place]
    if not _reads_elements(stm):
        return None
    needed, cond = free_vars(stm), ir.node_of(stm, ir.If).cond
    defs = {p.name: each for each in stms for p in each.pat}
    for number in range(place - 1, -1, -1):
        other = stms[number]
        if isinstance(other.exp, ir.If) and _reads_elements(other) and (
                other.exp.cond == cond) and not needed & {p.name for p in other.pat}:
            return (*stms[:number], _together(other, stm), *stms[number + 1:place],
                    *stms[place + 1:])
        if needed & {p.name for p in other.pat} or not keeps((other,), stm, defs):
            return None
    return None


def _reads_elements(stm: ir.Stm) -> bool:
    """True for a branch whose sides are scalar code that may not fail, and read elements."""
    exp = ir.node_of(stm, ir.If)
    sides = exp.then_, exp.else_
    return all(isinstance(t, Prim) for t in exp.ret) and all(
        is_scalar_code(side.stms) and not body_may_fail(side) for side in sides) and any(
        isinstance(each.exp, ir.Index) for side in sides for each in side.stms)


def _together(one: ir.Stm, two: ir.Stm) -> ir.Stm:
    """Two branches on one condition, joined to a single branch."""
    first, second = ir.node_of(one, ir.If), ir.node_of(two, ir.If)
    sides = [ir.Body(_reads_first((*a.stms, *b.stms)), (*a.result, *b.result)) for a, b in (
        (first.then_, second.then_), (first.else_, second.else_))]
    return replace(one, pat=(*one.pat, *two.pat), exp=ir.If(
        first.cond, sides[0], sides[1], (*first.ret, *second.ret)))


def _reads_first(stms: Stms) -> Stms:
    """Scalar code that begins with elements of places that are known."""
    made = {p.name for stm in stms for p in stm.pat}
    early = [isinstance(stm.exp, ir.Index) and made.isdisjoint(free_vars(stm.exp)) for stm in stms]
    return (*pick(stms, early), *pick(stms, [not each for each in early]))


def _filled(fills: Sequence[ir.Stm], names: Names) -> ir.Stm:
    """One map for arrays of the same shape, each of which repeats a scalar."""
    pat = tuple(stm.pat[0] for stm in fills)
    space = tuple(ir.SegDim(names.fresh("i"), size) for size in shape_of(pat[0].type))
    values = tuple(ir.node_of(stm, ir.Replicate).value for stm in fills)
    return ir.Stm(pat, ir.SegMap(ir.Level.GRID, space, ir.Body((), values),
                           tuple(elem_of(p.type) for p in pat)), (), fills[0].loc)
