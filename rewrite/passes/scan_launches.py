"""Fewer launches with scans: a map behind a scan joins it, and a scan may run backwards."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.products import is_cheap
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, needed_for, rename_body, substitute_body
from runelift.ir.types import Atom, Const, elem_of, i64
from runelift.rewrite.engine.code import Code
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule
from runelift.rewrite.engine.scalar_code import (
    body_may_fail,
    is_scalar_code,
    may_fail,
    needed_or_failing,
)
from runelift.rewrite.passes.fuse import ALONE
from runelift.rewrite.passes.joined_kernels import (
    Stms,
    at_points,
    elements_of,
    fed,
    is_calm,
    keeps,
    used_besides,
    without,
)

IN_PLACE = (ir.Update, ir.Concat, ir.Rearrange)
"""Expressions for which maps make their results in place, and scans do not."""


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
    elements = elements_of(exp.body, exp.space)
    others = used_besides(reader, elements)
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
        if not keeps(over, stm, defs):
            return False
        if may_fail(stm.exp) and not all(is_calm(each.exp) for each in over):
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
    then = fed(at_points(two.body, two.space, one.space), elements, value)
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
    index, width, code = exp.space[-1].index, exp.space[-1].width, Code(names)
    other = code.computed("sub", code.computed("sub", width, i64(1), base="end"), index,
                          base="turned")
    mirrors = {p.name for inner in exp.body.stms for p in inner.pat
               if _mirrored(p.name, width, defs) == index}
    then = substitute_body(ir.Body(without(exp.body.stms, mirrors), exp.body.result),
                           {**dict.fromkeys(mirrors, index), index: other})
    scan = replace(stm, exp=replace(exp, backwards=True, body=ir.Body(
        needed_or_failing((*code.out, *then.stms), then.result), then.result)))
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
