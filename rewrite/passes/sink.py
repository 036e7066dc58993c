"""Elements that only kernels need, read by those kernels themselves."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by, root_of
from runelift.ir.base.by_identity import by_identity
from runelift.ir.names import Names, VName
from runelift.ir.traverse import free_vars, rename_body, substitute_body
from runelift.rewrite.engine.rule import rule
from runelift.rewrite.engine.scalar_code import is_scalar, is_scalar_code, may_fail

KERNELS = (ir.SegMap, ir.SegRed, ir.SegScan, ir.SegScatter, ir.SegHist, ir.SegAccumulate)


@rule(ir.Index, ir.If)
def sink_elements(body: ir.Body, own: Set[VName], names: Names) -> tuple[ir.Stm, ...] | None:
    """x = xs[k]; … segmap (f x) … ⇒ … segmap (let x = xs[k] in f x) …

    Provided: this body may change the memory of xs: it has made it, or it is one of ``own``, the
    parameters of its loop.  It does not change it before all that need x have run, which are
    kernels.
    Because: else the host would copy the element to where it is safe, or wait for it at a branch.
    Does not handle: kernels that are chosen among versions, or that have loops.
    """
    sunk = _sinkable(body, own | {p.name for stm in body.stms for p in stm.pat})
    if not sunk:
        return None
    return tuple(_with_code(stm, sunk, names) for stm in body.stms
                 if not stm.pat or stm.pat[0].name not in sunk)


def _sinkable(body: ir.Body, own: Set[VName]) -> dict[VName, ir.Stm]:
    """The statements that can go into the kernels that need them, in order, by their names."""
    stms, found = body.stms, dict[VName, ir.Stm]()
    for stm in stms:
        if len(stm.pat) == 1 and is_scalar(stm) and not may_fail(stm.exp) and (
                not own.isdisjoint(_read_by(stm)) or not found.keys().isdisjoint(free_vars(stm))):
            found[stm.pat[0].name] = stm
    if not found:
        return found
    defs = {p.name: stm for stm in stms for p in stm.pat}
    place = {p.name: n for n, stm in enumerate(stms) for p in stm.pat}
    last = dict[VName, int]()
    """The last place where a statement that can go is needed, for each such statement."""
    for name, stm in reversed(found.items()):
        users = [n for n, each in enumerate(stms) if name in free_vars(each)]
        ends = [_end(stms[n], n, name, last) for n in users]
        if name in body.result or not ends or None in ends:
            continue
        end = max(n for n in ends if n is not None)
        arrays = {root_of(array, defs) for array in _read_by(stm)}
        if not any(root_of(each, defs) in arrays for between in stms[place[name] + 1:end + 1]
                   for each in consumed_by(between)):
            last[name] = end
    return _with_elements({name: stm for name, stm in found.items() if name in last})


def _with_elements(found: Mapping[VName, ir.Stm]) -> dict[VName, ir.Stm]:
    """The statements that read an element, or need one that does."""
    kept = dict[VName, ir.Stm]()
    for name, stm in found.items():
        if _read_by(stm) or not kept.keys().isdisjoint(free_vars(stm)):
            kept[name] = stm
    return kept


def _end(stm: ir.Stm, place: int, name: VName, last: Mapping[VName, int]) -> int | None:
    """The last place where a statement needs ``name``, if it can have it inside."""
    exp = stm.exp
    if isinstance(exp, KERNELS):
        fits = (exp.level is ir.Level.GRID and is_scalar_code(exp.body.stms)
                and name not in free_vars(replace(stm, exp=replace(exp, body=ir.Body((), ())))))
        return place if fits else None
    return last.get(stm.pat[0].name) if stm.pat else None


@by_identity
def _read_by(stm: ir.Stm) -> frozenset[VName]:
    """The arrays of which scalar code reads elements."""
    match stm.exp:
        case ir.Index(array):
            return frozenset((array,))
        case ir.If(_, then_, else_):
            return frozenset(array for side in (then_, else_) for inner in side.stms
                             for array in _read_by(inner))
    return frozenset()


def _with_code(stm: ir.Stm, sunk: Mapping[VName, ir.Stm], names: Names) -> ir.Stm:
    """A statement; a kernel has the statements of ``sunk`` that it needs inside."""
    exp = stm.exp
    if not isinstance(exp, KERNELS):
        return stm
    needed = free_vars(exp.body) & sunk.keys()
    code = list[ir.Stm]()
    for name, each in reversed(tuple(sunk.items())):
        if name in needed:
            needed |= free_vars(each) & sunk.keys()
            code.insert(0, each)
    if not code:
        return stm
    own = rename_body(ir.Body(tuple(code), tuple(each.pat[0].name for each in code)), names)
    inner = substitute_body(exp.body, {each.pat[0].name: atom for each, atom in zip(
        code, own.result, strict=True)})
    return replace(stm, exp=replace(exp, body=ir.Body((*own.stms, *inner.stms), inner.result)))
