"""Kinds of operators, and statements that are taken apart before they are derived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.operators import is_identity
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Type, array_of, shape_of
from runelift.rewrite.derive.emitter import Emitter

Reduction = ir.Fold | ir.Hist


def is_sum(op: ir.Operator) -> bool:
    """True for ``+`` on numbers, and on arrays of them of any rank."""
    match op.primitive, op.vector:
        case ("add", _), _:
            return True
        case _, ir.Map() as inner:
            return is_sum(ir.Operator(inner.lam, ()))
    return False


def operator_of(exp: Reduction) -> ir.Operator:
    """The first operator of a node."""
    return exp.ops[0].op if isinstance(exp, ir.Hist) else exp.ops[0]


def is_plain(exp: Reduction | ir.Scatter) -> bool:
    """True if a node combines or writes its inputs, with one operator or destination."""
    if not is_identity(exp.lam):
        return False
    if isinstance(exp, ir.Scatter):
        return len(exp.dests) == 1
    if isinstance(exp, ir.Hist):
        return len(exp.ops) == 1
    return len(exp.ops) == 1 and len(exp.lam.ret) == len(exp.ops[0].neutral)


def is_plain_sum(exp: Reduction) -> bool:
    """True if a node only sums its inputs."""
    return is_plain(exp) and is_sum(operator_of(exp))


def is_plain_extreme(exp: Reduction) -> bool:
    """True if a node only finds the minimum or maximum of its inputs."""
    found = operator_of(exp).primitive if is_plain(exp) else None
    return found is not None and found[0] in ("min", "max")


def is_plain_vector(exp: Reduction) -> bool:
    """True if a node only combines its inputs, each column of them by itself."""
    return is_plain(exp) and operator_of(exp).vector is not None


def _mapped(emit: Emitter, exp: Reduction | ir.Scatter) -> list[VName]:
    """The arrays that the lambda of a node makes."""
    if is_identity(exp.lam):
        return list(exp.arrays)
    types = [array_of((exp.width,), type_) for type_ in exp.lam.ret]
    return list(emit.bind(ir.Map(exp.width, exp.lam, exp.arrays), types, "ys"))


def split(emit: Emitter, stm: ir.Stm) -> list[ir.Stm]:
    """The map of a reduction, a scan, a histogram or a scatter, and a statement per operator."""
    exp = stm.exp
    assert isinstance(exp, ir.Redomap | ir.Scanomap | ir.Hist | ir.Scatter)
    pat = list(stm.pat)
    with emit.block() as stms:
        arrays = _mapped(emit, exp)

        def part(node: ir.Exp, count: int) -> None:
            emit.add(replace(stm, pat=tuple(pat[:count]), exp=node))
            del pat[:count]

        if isinstance(exp, ir.Hist):
            bins, arrays = arrays[:len(exp.ops)], arrays[len(exp.ops):]
            for bin_, hist in zip(bins, exp.ops, strict=True):
                count = len(hist.dests)
                taken = (bin_, *arrays[:count])
                part(ir.Hist(exp.width, (hist,), emit.same(taken), taken), count)
                del arrays[:count]
        elif isinstance(exp, ir.Scatter):
            for dest in exp.dests:
                taken = tuple(arrays[:dest.rank + 1])
                part(ir.Scatter(exp.width, emit.same(taken), taken, (dest,)), 1)
                del arrays[:dest.rank + 1]
        else:
            for op in exp.ops:
                count = len(op.neutral)
                taken = tuple(arrays[:count])
                part(replace(exp, ops=(op,), lam=emit.same(taken), arrays=taken), count)
                del arrays[:count]
            for param, array in zip(pat, arrays, strict=True):
                emit.add(replace(stm, pat=(param,), exp=ir.AtomExp(array)))
    return stms


def interchanged(emit: Emitter, stm: ir.Stm) -> list[ir.Stm]:
    """A plain node with a vector operator as a map over columns."""
    exp = stm.exp
    assert isinstance(exp, ir.Redomap | ir.Scanomap | ir.Hist)
    op = operator_of(exp)
    inner = op.vector
    assert inner is not None
    count = len(op.neutral)
    with emit.block() as stms:
        neutral = [emit.name(a) for a in op.neutral]
        first = exp.arrays[:1] if isinstance(exp, ir.Hist) else ()
        dests = exp.ops[0].dests if isinstance(exp, ir.Hist) else ()
        columns = [emit.rearranged(a, (1, 0)) for a in (*exp.arrays[len(first):], *dests)]

        def column(*rows: VName) -> Sequence[Atom]:
            inside = ir.Operator(emit.copied(inner.lam), rows[:count], op.comm)
            values, into = rows[count:2 * count], rows[2 * count:]
            taken = (*first, *values)
            node: ir.Exp
            if isinstance(exp, ir.Hist):
                hist = ir.HistOp(exp.ops[0].bins, into, inside)
                node = ir.Hist(exp.width, (hist,), emit.same(taken), taken)
                types: Sequence[Type] = [emit.types[d] for d in into]
            else:
                node = replace(exp, ops=(inside,), lam=emit.same(taken), arrays=taken)
                outer = (exp.width,) if isinstance(exp, ir.Scanomap) else ()
                types = [array_of(outer, t) for t in inside.lam.ret]
            return emit.bind(node, types, "r")

        found = emit.map([*neutral, *columns], column, width=inner.width)
        for param, name in zip(stm.pat, found, strict=True):
            node: ir.Exp = ir.AtomExp(name)
            if not isinstance(exp, ir.Redomap):
                rank = len(shape_of(param.type))
                node = ir.Rearrange((1, 0, *range(2, rank)), name)
            emit.add(replace(stm, pat=(param,), exp=node))
    return stms


def sequential(emit: Emitter, stm: ir.Stm) -> list[ir.Stm]:
    """A reduction, scan or histogram as a loop over its elements, one for each operator."""
    exp = stm.exp
    if not isinstance(exp, ir.Redomap | ir.Scanomap | ir.Hist):
        return [stm]
    if not is_plain(exp):
        return [each for part in split(emit, stm) for each in sequential(emit, part)]
    op = operator_of(exp)
    count = len(op.neutral)
    with emit.block() as stms:
        index = emit.fresh("i", Prim.I64)
        types = list(op.lam.ret)
        starts: list[Atom] = list(op.neutral)
        if isinstance(exp, ir.Hist):
            starts, types = list(exp.ops[0].dests), [emit.types[d] for d in exp.ops[0].dests]
        outs = [array_of((exp.width,), t) for t in types] if isinstance(exp, ir.Scanomap) else []
        starts += [emit.zeros(type_) for type_ in outs]
        params = [emit.fresh("acc", type_) for type_ in (*types, *outs)]
        with emit.block() as body:
            values = [emit.index(a, index.name) for a in exp.arrays]
            held = [p.name for p in params]
            if isinstance(exp, ir.Hist):
                results = _binned(emit, exp, op, values, held)
            else:
                new = emit.inline(op.lam, [*held[:count], *values])
                results = [*new, *(emit.update(out, (index.name,), v)
                                   for out, v in zip(held[count:], new, strict=False))]
        carried = tuple(ir.LoopParam(p, s) for p, s in zip(params, starts, strict=True))
        names = emit.bind(ir.Loop(carried, ir.ForLoop(index.name, exp.width),
                                  ir.Body(tuple(body), tuple(results))),
                          [p.type for p in params], "r")
        for param, name in zip(stm.pat, names[count if outs else 0:], strict=True):
            emit.add(replace(stm, pat=(param,), exp=ir.AtomExp(name)))
    return stms


def _binned(emit: Emitter, exp: ir.Hist, op: ir.Operator, values: Sequence[Atom],
            held: Sequence[VName]) -> list[Atom]:
    """The destinations after one element, whose bin comes first."""
    bin_, *rest = values
    inside = emit.inside((bin_,), (exp.ops[0].bins,))

    def changed() -> list[Atom]:
        old = [emit.index(dest, bin_) for dest in held]
        new = emit.inline(op.lam, [*old, *rest])
        return [emit.update(dest, (bin_,), value) for dest, value in zip(held, new, strict=True)]

    return list(emit.choice(inside, changed, lambda: list(held)))

