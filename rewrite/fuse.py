"""Fusion: a map whose results only the next operation reads becomes part of it.

Producer and consumer have the same width and the consumer reads the producer's results element
by element.  What else reads them keeps them as further results of the fused operation.  The
producer moves down to the consumer, which is safe because meaning is by value.

Source: Henriksen, Design and Implementation of the Futhark Programming Language, 2017, ch. 5.
"""

from __future__ import annotations

from dataclasses import replace

from runelift.ir.names import Names, VName
from runelift.ir.syntax import (
    Body,
    Hist,
    Lambda,
    Map,
    Param,
    Program,
    Redomap,
    Scanomap,
    Scatter,
    Soac,
    Stm,
)
from runelift.ir.traverse import free_vars, map_inside, rename_lambda, substitute_lambda

CONSUMERS = (Map, Redomap, Scanomap, Scatter, Hist)


def fuse(program: Program, names: Names) -> Program:
    """``program`` with producers fused into consumers, innermost bodies first."""
    return Program(tuple(replace(fun, body=_fuse_body(fun.body, names)) for fun in program.funs))


def _fuse_body(body: Body, names: Names) -> Body:
    stms = [Stm(s.pat, map_inside(s.exp, lambda b: _fuse_body(b, names),
                                  lambda lam: _fuse_lambda(lam, names)), s.attrs, s.loc)
            for s in body.stms]
    changed = True
    while changed:
        changed = False
        for position in range(len(stms) - 1, -1, -1):
            fused = _fuse_into(stms, position, body, names)
            if fused is not None:
                stms = fused
                changed = True
                break
    return Body(tuple(stms), body.result)


def _fuse_lambda(lam: Lambda, names: Names) -> Lambda:
    return Lambda(lam.params, _fuse_body(lam.body, names), lam.ret)


def _fuse_into(stms: list[Stm], position: int, body: Body, names: Names) -> list[Stm] | None:
    """The statements with a producer fused into the consumer at ``position``, if there is one."""
    consumer = stms[position]
    soac = consumer.exp
    if not isinstance(soac, CONSUMERS) or "sequential" in consumer.attrs:
        return None
    for number in range(position - 1, -1, -1):
        producer = stms[number]
        if not isinstance(producer.exp, Map) or producer.exp.width != soac.width:
            continue
        made = {p.name for p in producer.pat}
        if not made & set(soac.arrays) or made & _other_uses(soac):
            continue
        between = stms[number + 1 : position]
        elsewhere = {n for s in (*between, *stms[position + 1 :]) for n in free_vars(s)}
        elsewhere |= {a for a in body.result if isinstance(a, VName)}
        extra = [p for p in producer.pat if p.name in elsewhere]
        if extra and (made & {n for s in between for n in free_vars(s)}
                      or isinstance(soac, Scatter | Hist)):
            continue
        fused = _fused(producer, producer.exp, soac, extra, names)
        pat = (*consumer.pat, *extra)
        attrs = tuple(dict.fromkeys((*consumer.attrs, *producer.attrs)))
        stm = Stm(pat, fused, attrs, consumer.loc)
        return [*stms[:number], *between, stm, *stms[position + 1 :]]
    return None


def _other_uses(soac: Soac) -> set[VName]:
    """What an operation uses other than element by element."""
    used = free_vars(soac.lam)
    match soac:
        case Redomap(ops=ops) | Scanomap(ops=ops):
            for op in ops:
                used |= free_vars(op.lam) | {a for a in op.neutral if isinstance(a, VName)}
        case Scatter(dests=dests):
            used |= {d.array for d in dests}
        case Hist(ops=hist_ops):
            for hist in hist_ops:
                used |= free_vars(hist.op.lam) | set(hist.dests)
    return used


def _fused(stm: Stm, producer: Map, consumer: Soac, extra: list[Param], names: Names) -> Soac:
    """``consumer (f, ...) ∘ producer g``: g's statements, then f's on its results."""
    first = rename_lambda(producer.lam, names)
    values = dict(zip((p.name for p in stm.pat), first.body.result, strict=True))
    inner = {p.name: values[a] for p, a in zip(consumer.lam.params, consumer.arrays, strict=True)
             if a in values}
    second = substitute_lambda(consumer.lam, inner)
    inputs = list(zip(first.params, producer.arrays, strict=True))
    inputs += [(p, a) for p, a in zip(second.params, consumer.arrays, strict=True)
               if a not in values]
    merged, renamed = _merge_inputs(inputs)
    result = (*second.body.result, *(values[p.name] for p in extra))
    ret = (*second.ret, *(first.ret[[q.name for q in stm.pat].index(p.name)] for p in extra))
    lam = Lambda(tuple(p for p, _ in merged),
                 Body((*first.body.stms, *second.body.stms), result), ret)
    lam = substitute_lambda(lam, renamed)
    return replace(consumer, lam=lam, arrays=tuple(a for _, a in merged))


def _merge_inputs(inputs: list[tuple[Param, VName]]) -> tuple[list[tuple[Param, VName]],
                                                             dict[VName, VName]]:
    """Inputs that are the same array become one."""
    first: dict[VName, Param] = {}
    merged: list[tuple[Param, VName]] = []
    renamed: dict[VName, VName] = {}
    for param, array in inputs:
        if array in first:
            renamed[param.name] = first[array].name
        else:
            first[array] = param
            merged.append((param, array))
    return merged, renamed
