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

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by, root_of
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.analysis.products import is_cheap
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    body_of,
    free_vars,
    map_inside,
    needed_for,
    rename_body,
    statements_inside,
    stm_of,
    substitute_body,
)
from runelift.ir.types import Atom, Const, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.outward import each_body
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import Rewriting, Rule, rule
from runelift.rewrite.engine.scalar_code import (
    body_may_fail,
    is_scalar_code,
    may_fail,
    needed_or_failing,
)
from runelift.rewrite.passes.fuse import ALONE
from runelift.rewrite.passes.sink import sink_elements

Stms: TypeAlias = tuple[ir.Stm, ...]

IN_PLACE = (ir.Update, ir.Concat, ir.Rearrange)
"""Expressions for which maps make their results in place, and scans do not."""


def save_launches(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with fewer launches by the host."""
    defs = {p.name: stm.exp for fun in program.funs for stm in statements_inside((fun.body,))
            if isinstance(stm.exp, ir.PrimOp) for p in stm.pat}
    return each_body(program, _Walk(rewriting, defs).body)


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
        if self.rewriting.permits(sink_elements):
            sunk: Stms | None = sink_elements.apply(body, own, self.rewriting.names)
            if sunk is not None:
                self.rewriting.record(sink_elements, body.stms, sunk)
                body = ir.Body(sunk, body.result)
        return self._everywhere(read_together, body)

    def _inside(self, exp: ir.Exp) -> ir.Exp:
        """An expression that the host runs, with the bodies inside."""
        if isinstance(exp, ir.Loop | ir.Recursion):
            own = frozenset(p.param.name for p in exp.params)
            body = self.body(exp.body, own)
            return exp if body is exp.body else replace(exp, body=body)
        if isinstance(exp, ir.If | ir.Versions):
            return map_inside(exp, self.body, lambda lam: lam)
        return exp

    def _everywhere(self, each: Rule, body: ir.Body, *facts: Mapping[VName, ir.PrimOp]) -> ir.Body:
        """The body after a rule was tried on all statements."""
        place = 0
        while place < len(body.stms):
            new: Stms | None = None
            if isinstance(body.stms[place].exp, each.heads) and self.rewriting.permits(each):
                new = each.apply(body, place, self.rewriting.names, *facts)
            if new is None:
                place += 1
                continue
            self.rewriting.record(each, body.stms, new)
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
    elements = _elements(exp.body, exp.space)
    defs = {p.name: stm for stm in stms for p in stm.pat}
    others = free_vars(replace(scatter, exp=replace(exp, body=ir.Body(
        _without(exp.body.stms, elements), exp.body.result))))
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
    exp = ir.node_of(stm, ir.SegMap)
    results, fails = {p.name for p in stm.pat}, body_may_fail(exp.body)
    read = {root_of(name, defs) for name in free_vars(stm)}
    if any(results & free_vars(each) or (fails and not _is_calm(each.exp)) for each in over[:-1]):
        return False
    return not any(root_of(name, defs) in read for each in over for name in consumed_by(each))


def _is_calm(exp: ir.Exp) -> bool:
    """True if the host's work for it neither fails nor takes long."""
    return isinstance(exp, ir.Replicate | ir.Copy | ir.Iota | ir.AtomExp | ir.Convert) or (
        isinstance(exp, ir.PrimOp) and not exp.may_trap)


def _scattered(made: ir.Stm, scatter: ir.Stm, elements: Mapping[VName, VName],
               needed: Sequence[ir.Param],
               names: Names) -> Iterator[ir.Stm]:
    """The scatter that does the map, too, and also returns the ``needed`` results of the map."""
    one, two = made.exp, scatter.exp
    assert isinstance(one, ir.SegMap)
    assert isinstance(two, ir.SegScatter)
    indices = tuple(d.index for d in two.space)
    first = substitute_body(one.body, {d.index: index for d, index in zip(
        one.space, indices, strict=True)})
    value = {p.name: atom for p, atom in zip(made.pat, first.result, strict=True)}
    fed = {element: value[array] for element, array in elements.items() if array in value}
    second = substitute_body(ir.Body(_without(two.body.stms, fed), two.body.result), fed)
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


@rule(ir.SegMap)
def scan_with_map(body: ir.Body, place: int, names: Names) -> Stms | None:
    """ys = segscan ⊕ f; zs = segmap g ys[i] ⇒ (ys, zs) = segscan ⊕ f post (λy → (y, g y))

    Provided: the map reads ys at the very point only, and nothing that is made of ys.  It is scalar
    code, and no update or other layout takes its results.  No failure moves past another.
    Because: the scan has each y in a register.  If nothing else needs ys, it is not in memory.
    Source: Futhark 0.26, `SegPostOp`.
    """
    stms, reader = body.stms, body.stms[place]
    exp = ir.node_of(reader, ir.SegMap)
    elements = _elements(exp.body, exp.space)
    others = free_vars(replace(reader, exp=replace(exp, body=ir.Body(
        _without(exp.body.stms, elements), exp.body.result))))
    made = {p.name for p in reader.pat}
    if (exp.level is not ir.Level.GRID or settings(reader) or not is_scalar_code(exp.body.stms)
            or not all(isinstance(t, Prim) for t in exp.ret)
            or any(isinstance(each.exp, IN_PLACE) and made & free_vars(each)
                   for each in stms[place + 1:])):
        return None
    for number in range(place - 1, -1, -1):
        scan = stms[number]
        results = {p.name for p in scan.pat}
        if (not isinstance(scan.exp, ir.SegScan) or results.isdisjoint(elements.values())
                or results & others or ALONE & {*scan.attrs, *reader.attrs}
                or any(d.ragged is not None for d in scan.exp.space)
                or [d.extent for d in scan.exp.space] != [d.extent for d in exp.space]):
            continue
        early, late = list[ir.Stm](), list[ir.Stm]()
        for each in stms[number + 1:place]:
            needs = free_vars(each)
            (early if results.isdisjoint(needs) else late).append(each)
            if late and late[-1] is each:
                results |= {p.name for p in each.pat}
        joined = _scanned(scan, reader, elements, free_vars(
            ir.Body((*late, *stms[place + 1:]), body.result)), names)
        if joined is not None and results.isdisjoint(free_vars(joined)) and _can_meet(
                early, scan, late, reader, {p.name: stm for stm in stms for p in stm.pat}):
            return (*stms[:number], *early, joined, *late, *stms[place + 1:])
    return None


def _can_meet(early: Sequence[ir.Stm], scan: ir.Stm, late: Sequence[ir.Stm], reader: ir.Stm,
              defs: Mapping[VName, ir.Stm]) -> bool:
    """True if a scan may move behind ``early`` statements, and a map before ``late`` statements."""
    for stm, over in ((scan, early), (reader, late)):
        read = {root_of(name, defs) for name in free_vars(stm)}
        if any(root_of(name, defs) in read for each in over for name in consumed_by(each)):
            return False
        if may_fail(stm.exp) and not all(_is_calm(each.exp) for each in over):
            return False
    return not any(isinstance(each.exp, ir.Assert) for each in late)


def _scanned(scan: ir.Stm, reader: ir.Stm, elements: Mapping[VName, VName], later: Set[VName],
             names: Names) -> ir.Stm | None:
    """The scan with the map behind it, and the results that are needed ``later``.

    None if the map reads what the scan's body computes besides, and that is not to be repeated.
    """
    one, two = ir.node_of(scan, ir.SegScan), ir.node_of(reader, ir.SegMap)
    count = sum(len(op.neutral) for op in one.ops)
    params = tuple(ir.Param(names.fresh("scanned"), t) for t in one.ret[:count])
    post = one.post or ir.Lambda(params, ir.Body((), tuple(p.name for p in params)),
                                 one.ret[:count])
    value = {p.name: atom for p, atom in zip(scan.pat, post.body.result, strict=False)}
    stms, mapped = list(post.body.stms), scan.pat[len(value):]
    if not {p.name for p in mapped}.isdisjoint(elements.values()):
        if not is_cheap(one.body) or body_may_fail(one.body):
            return None
        again = rename_body(one.body, names)
        value |= {p.name: atom for p, atom in zip(mapped, again.result[count:], strict=True)}
        stms += needed_for(again.stms, (value[a] for a in elements.values() if a in value))
    then = substitute_body(two.body, {d.index: own.index for d, own in zip(
        two.space, one.space, strict=True)})
    fed = {element: value[array] for element, array in elements.items() if array in value}
    then = substitute_body(ir.Body(_without(then.stms, fed), then.result), fed)
    stored = [p for p in scan.pat[:len(post.ret)] if p.name in later]
    results = (*(value[p.name] for p in stored), *then.result)
    kept = [p.name in later for p in mapped]
    own = [True] * count + kept
    return replace(scan, pat=(*stored, *reader.pat, *pick(mapped, kept)), exp=replace(
        one, body=ir.Body(one.body.stms, pick(one.body.result, own)), ret=pick(one.ret, own),
        post=ir.Lambda(post.params, ir.Body((*stms, *then.stms), results),
                       (*(elem_of(p.type) for p in stored), *two.ret))))


@rule(ir.SegScan)
def scan_backwards(body: ir.Body, place: int, names: Names, defs: Mapping[VName, ir.PrimOp]
                   ) -> Stms | None:
    """ys = segscan ⊕ f[n−1−i]; … ys[n−1−j] … ⇒ ys = backwards segscan ⊕ f[i]; … ys[j] …

    Provided: each reader of ys counts from its last element.  It is a view, or a kernel of the
    same body, but no scan from the first element.
    Because: no kernel then turns what is scanned, and a map of it may join the scan.
    """
    stm = body.stms[place]
    exp, results = ir.node_of(stm, ir.SegScan), {p.name for p in stm.pat}
    if (exp.level is not ir.Level.GRID or exp.space[-1].ragged is not None or exp.backwards
            or exp.post is not None or not results.isdisjoint(body.result)):
        return None
    after = list[ir.Stm]()
    for each in body.stms[place + 1:]:
        turned = each if results.isdisjoint(free_vars(each)) else _turned(each, results, exp, defs)
        if turned is None:
            return None
        after.append(turned)
    if all(one is two for one, two in zip(after, body.stms[place + 1:], strict=True)):
        return None
    index, (end, other) = exp.space[-1].index, (names.fresh("end"), names.fresh("turned"))
    mirrors = {p.name for inner in exp.body.stms for p in inner.pat
               if _mirrored(p.name, exp.space[-1].width, defs) == index}
    then = substitute_body(ir.Body(_without(exp.body.stms, mirrors), exp.body.result),
                           {**dict.fromkeys(mirrors, index), index: other})
    before = (ir.Stm((ir.Param(end, Prim.I64),), ir.PrimOp(
                  "sub", Prim.I64, (exp.space[-1].width, i64(1)))),
              ir.Stm((ir.Param(other, Prim.I64),), ir.PrimOp("sub", Prim.I64, (end, index))))
    scan = replace(stm, exp=replace(exp, backwards=True, body=ir.Body(
        needed_or_failing((*before, *then.stms), then.result), then.result)))
    return (*body.stms[:place], scan, *after)


def _turned(stm: ir.Stm, results: Set[VName], scan: ir.SegScan, defs: Mapping[VName, ir.PrimOp]
            ) -> ir.Stm | None:
    """A reader of a scan that counted from the last element, and now does from the first."""
    last, width, exp = len(scan.space) - 1, scan.space[-1].width, stm.exp
    if isinstance(exp, ir.Index) and len(exp.dims) == 1 and exp.array in results:
        (dim,) = exp.dims
        whole = isinstance(dim, ir.SliceDim) and dim.count == width and dim.stride == i64(-1)
        if isinstance(dim, ir.SliceDim) and whole and _is_end(dim.start, width, defs):
            return replace(stm, exp=ir.AtomExp(exp.array))
    if (not isinstance(exp, ir.SEGOPS) or exp.level is not ir.Level.GRID
            or (isinstance(exp, ir.SegScan) and not exp.backwards) or not results.isdisjoint(
                free_vars(replace(stm, exp=replace(exp, body=ir.Body((), ())))))):
        return None
    stms = list[ir.Stm]()
    for inner in exp.body.stms:
        read = inner.exp
        if isinstance(read, ir.Index) and read.array in results:
            place = _mirrored(read.dims[last], width, defs)
            if place is None:
                return None
            stms.append(replace(inner, exp=replace(read, dims=(
                *read.dims[:last], place, *read.dims[last + 1:]))))
        elif results.isdisjoint(free_vars(inner)):
            stms.append(inner)
        else:
            return None
    return replace(stm, exp=replace(exp, body=ir.Body(
        needed_or_failing(stms, exp.body.result), exp.body.result)))


def _mirrored(place: object, width: Atom, defs: Mapping[VName, ir.PrimOp]) -> Atom | None:
    """The count from the first element if ``place`` counts from the last of so many elements."""
    made = defs.get(place) if isinstance(place, VName) else None
    match made:
        case ir.PrimOp("sub", Prim.I64, (end, index)) if _is_end(end, width, defs):
            return index
        case ir.PrimOp("add", Prim.I64, (end, VName() as negative)) if (
                _is_end(end, width, defs) and negative in defs):
            match defs[negative]:
                case ir.PrimOp("mul", Prim.I64, (index, factor)) if factor == i64(-1):
                    return index
    return None


def _is_end(place: Atom, width: Atom, defs: Mapping[VName, ir.PrimOp]) -> bool:
    """True for the last index below ``width``."""
    if isinstance(place, VName):
        return place in defs and defs[place] == ir.PrimOp("sub", Prim.I64, (width, i64(1)))
    return isinstance(width, Const) and place == i64(int(width.value) - 1)


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
            return next((name for name, read in _elements(inner, space).items() if read == array),
                        None)
    return None


@rule(ir.SegScatter)
def fill_together(body: ir.Body, place: int, names: Names) -> Stms | None:
    """a = replicate s x; b = replicate s y; … segscatter (a, b) … ⇒ (a, b) = segmap s (x, y); …

    Provided: nothing else uses a and b.
    Because: an array that is overwritten has to be filled before, and one kernel can fill several.
    """
    exp = ir.node_of(body.stms[place], ir.SegScatter)
    uses = Counter(name for stm in body.stms for name in free_vars(stm))
    uses.update(a for a in body.result if isinstance(a, VName))
    into = [d.array for d in exp.dests]
    fills = [(n, stm) for n, stm in enumerate(body.stms[:place])
             if isinstance(stm.exp, ir.Replicate) and not settings(stm) and stm.pat[0].name in into
             and uses[stm.pat[0].name] == 1 and not _is_row(stm)]
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
    needed, defs = free_vars(stm), {p.name: each for each in stms for p in each.pat}
    roots = {root_of(name, defs) for name in needed}
    for number in range(place - 1, -1, -1):
        other = stms[number]
        if isinstance(other.exp, ir.If) and _reads_elements(other) and (
                other.exp.cond == _if(stm).cond) and not needed & {p.name for p in other.pat}:
            return (*stms[:number], _together(other, stm), *stms[number + 1:place],
                    *stms[place + 1:])
        if needed & {p.name for p in other.pat} or any(
                root_of(name, defs) in roots for name in consumed_by(other)):
            return None
    return None


def _if(stm: ir.Stm) -> ir.If:
    assert isinstance(stm.exp, ir.If)
    return stm.exp


def _reads_elements(stm: ir.Stm) -> bool:
    """True for a branch whose sides are scalar code that may not fail, and read elements."""
    sides = _if(stm).then_, _if(stm).else_
    return all(isinstance(t, Prim) for t in _if(stm).ret) and all(
        is_scalar_code(side.stms) and not body_may_fail(side) for side in sides) and any(
        isinstance(each.exp, ir.Index) for side in sides for each in side.stms)


def _together(one: ir.Stm, two: ir.Stm) -> ir.Stm:
    """Two branches on one condition, joined to a single branch."""
    first, second = _if(one), _if(two)
    sides = [ir.Body(_reads_first((*a.stms, *b.stms)), (*a.result, *b.result)) for a, b in (
        (first.then_, second.then_), (first.else_, second.else_))]
    return replace(one, pat=(*one.pat, *two.pat), exp=ir.If(
        first.cond, sides[0], sides[1], (*first.ret, *second.ret)))


def _reads_first(stms: Stms) -> Stms:
    """Scalar code that begins with elements of places that are known."""
    made = {p.name for stm in stms for p in stm.pat}
    early = [isinstance(stm.exp, ir.Index) and made.isdisjoint(free_vars(stm.exp)) for stm in stms]
    return (*pick(stms, early), *pick(stms, [not each for each in early]))


def _is_row(stm: ir.Stm) -> bool:
    """True if an array repeats arrays, and not a scalar."""
    (param,), exp = stm.pat, stm.exp
    assert isinstance(exp, ir.Replicate)
    return len(exp.shape) < len(shape_of(param.type))


def _filled(fills: Sequence[ir.Stm], names: Names) -> ir.Stm:
    """One map for arrays of the same shape, each of which repeats a scalar."""
    pat = tuple(stm.pat[0] for stm in fills)
    space = tuple(ir.SegDim(names.fresh("i"), size) for size in shape_of(pat[0].type))
    values = tuple(stm.exp.value for stm in fills if isinstance(stm.exp, ir.Replicate))
    return ir.Stm(pat, ir.SegMap(ir.Level.GRID, space, ir.Body((), values),
                           tuple(elem_of(p.type) for p in pat)), (), fills[0].loc)


def _without(stms: Stms, names: Container[VName]) -> Stms:
    """The statements without each statement that binds one of ``names``."""
    return tuple(stm for stm in stms if not stm.pat or stm.pat[0].name not in names)


def _elements(body: ir.Body, space: Sequence[ir.SegDim]) -> dict[VName, VName]:
    """The arrays that are read at the very point, by the names of their elements."""
    here = tuple(d.index for d in space)
    return {stm.pat[0].name: stm.exp.array for stm in body.stms
            if isinstance(stm.exp, ir.Index) and stm.exp.dims == here}
