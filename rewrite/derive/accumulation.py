"""Adjoints that accumulators sum: of arrays that loops inside of maps read at computed places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import Mapper, free_vars, map_exp, statements_inside
from runelift.ir.types import FALSE, Atom, elem_of, shape_of
from runelift.rewrite.derive.walk import Found, Reverse, Written


@dataclass(slots=True)
class Swept:
    """The function of a map after both sweeps: parameters, statements, and adjoints."""

    lam: ir.Lambda
    seeds: tuple[ir.Param, ...]
    stms: list[ir.Stm]
    found: Found


def accumulated(walk: Reverse, width: Atom, arrays: tuple[VName, ...],
                sweep: Callable[[dict[VName, Written]], Swept]) -> Swept:
    """x̄s = accumulate (+) x̄s (λx ȳ → write i v, for each read of xs[i] by a loop) xs ȳs

    Provided: the number of iterations varies with the element, and so does a place i, by more than
    the count.  Maps and slices are such loops, too.  All reads of xs are such reads.  The function
    makes no array whose size nothing bounds before, as a loop of the host would.
    Because: no array is made for an element.  Where all elements read the same places, sums without
    atomic updates are faster.
    """
    walk.looped.clear()
    first = sweep({})
    own = {p.name for p in first.lam.params}
    names = {n for n in walk.looped & first.found.keys() - own if _is_atomic(walk, n)}
    while names:
        accs = {name: walk.emit.fresh("acc", Prim.BOOL) for name in sorted(names)}
        written = {name: Written(acc.name, acc.name) for name, acc in accs.items()}
        swept = sweep(written)
        if _is_unbounded(swept):
            break
        places, varies = _places(swept.stms), _varying(walk, swept)
        left = {n for n in names - swept.found.keys()
                if any(map(varies, places.get(accs[n].name, ())))}
        if left == names:
            for name, acc in accs.items():
                _accumulate(walk, name, width, arrays, swept,
                            ir.Lambda((acc,), ir.Body((), (written[name].token,)), (Prim.BOOL,)))
            return replace(swept, stms=_unwritten(
                swept.stms, {p.name: p.name for p in accs.values()}))
        names = left
    return first


def written_inside(walk: Reverse, width: Atom, arrays: tuple[VName, ...],
                   sweep: Callable[[dict[VName, Written]], Swept]) -> Swept:
    """The sweep of a map inside of another, whose writes move to a loop over its elements."""
    emit, before = walk.emit, walk.written
    tokens = {n: emit.fresh("acc", Prim.BOOL) for n in before}
    after = {n: before[n]._replace(token=p.name) for n, p in tokens.items()}
    swept = sweep(after)
    wrote = [n for n, p in tokens.items() if after[n].token != p.name]
    if not wrote:
        return swept
    index, types = emit.fresh("i", Prim.I64), [Prim.BOOL for _ in wrote]
    elements = (ir.Stm((p,), ir.Index(a, emit.dims(a, (index.name,)), False), (), emit.loc)
                for p, a in zip((*swept.lam.params, *swept.seeds), arrays, strict=True))
    lam = emit.copied(ir.Lambda((index, *(tokens[n] for n in wrote)), ir.Body(
        (*elements, *swept.stms), tuple(after[n].token for n in wrote)), tuple(types)))
    carried = (ir.LoopParam(p, before[n].token)
               for p, n in zip(lam.params[1:], wrote, strict=True))
    loop = ir.Loop(tuple(carried), ir.ForLoop(lam.params[0].name, width), lam.body)
    for name, token in zip(wrote, emit.bind(loop, types, "acc"), strict=True):
        walk.wrote(name, token)
    return replace(swept, stms=_unwritten(
        swept.stms, {before[n].acc: tokens[n].name for n in wrote}))


def _unwritten(stms: list[ir.Stm], first: dict[VName, VName]) -> list[ir.Stm]:
    """Statements without writes to accumulators; ``first`` has the first token of each."""
    starts = [ir.Stm((ir.Param(token, Prim.BOOL),), ir.AtomExp(FALSE)) for token in first.values()]
    return [*starts, *without_writes(stms, list(first))]


def _is_atomic(walk: Reverse, name: VName) -> bool:
    """True if atomic updates sum the elements of an array."""
    type_ = walk.emit.types[name]
    return bool(shape_of(type_)) and elem_of(type_).bits >= 32


def _is_unbounded(swept: Swept) -> bool:
    """True if a function makes an array with a size that nothing tells before, or calls another."""
    for stm in statements_inside((ir.Body(tuple(swept.stms), ()),)):
        carried = stm.exp.params if isinstance(stm.exp, ir.Loop) else ()
        params = [*stm.pat, *(p.param for p in carried)]
        own = {p.name for p in params}
        if isinstance(stm.exp, ir.Call) or any(
                size in own for p in params for size in shape_of(p.type)):
            return True
    return False


def _places(stms: Iterable[ir.Stm]) -> dict[VName, list[Atom]]:
    """The index of each write, by accumulators."""
    found: dict[VName, list[Atom]] = {}
    for stm in statements_inside((ir.Body(tuple(stms), ()),)):
        if isinstance(stm.exp, ir.AccWrite):
            found.setdefault(stm.exp.acc, []).append(stm.exp.index)
    return found


def _varying(walk: Reverse, swept: Swept) -> Callable[[Atom], bool]:
    """The test if a place depends on the element, not only by the indices of loops."""
    made = {p.name: stm for stm in statements_inside((ir.Body(tuple(swept.stms), ()),))
            for p in stm.pat}
    own = {p.name for p in swept.lam.params}

    def varies(place: Atom) -> bool:
        seen, queue = set[Atom](), [place]
        while queue:
            atom = queue.pop()
            if atom in own:
                return True
            if isinstance(atom, VName) and atom not in seen and atom not in walk.counters:
                seen.add(atom)
                match made[atom].exp if atom in made else None:
                    case ir.Iota(start=start, step=step):
                        queue += (start, step)
                    case ir.Replicate(value=value):
                        queue.append(value)
                    case exp if exp is not None:
                        queue += free_vars(exp)
        return False

    return varies


def _accumulate(walk: Reverse, name: VName, width: Atom, arrays: tuple[VName, ...], swept: Swept,
                writer: ir.Lambda) -> None:
    """Append the accumulator of an adjoint, and add its result."""
    emit = walk.emit
    type_ = emit.types[name]
    others = {acc: acc for acc in _places(swept.stms) if acc != writer.params[0].name}
    lam = replace(writer, params=(*writer.params, *swept.lam.params, *swept.seeds), body=ir.Body(
        tuple(_unwritten(swept.stms, others)), writer.body.result))
    dest = emit.flattened(emit.name(walk.take(name) or emit.zeros(type_)), len(shape_of(type_)))
    node = ir.Accumulate(width, (dest,), (emit.addition(elem_of(type_)),), emit.copied(lam), arrays)
    total = emit.one(node, emit.types[dest], "adj")
    walk.add(name, emit.reshaped(total, shape_of(type_)))


def without_writes(stms: Iterable[ir.Stm], accs: Sequence[VName]) -> list[ir.Stm]:
    """Statements without the writes to accumulators inside of them."""
    def body(found: ir.Body) -> ir.Body:
        return ir.Body(tuple(map(without, found.stms)), found.result)

    def without(stm: ir.Stm) -> ir.Stm:
        if isinstance(stm.exp, ir.AccWrite) and stm.exp.acc in accs:
            return replace(stm, exp=ir.AtomExp(stm.exp.token))
        return replace(stm, exp=map_exp(mapper, stm.exp))

    mapper = Mapper(lambda a: a, lambda name: name, body,
                    lambda lam: replace(lam, body=body(lam.body)))
    return list(map(without, stms))
