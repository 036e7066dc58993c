"""Promises: laws that a construct needs of its operator, and cannot see.

``reduce`` splits its array anywhere, and begins each part with the neutral element.  So it promises
on behalf of its operator that this makes no difference.  :data:`PROMISES` has what each construct
promises.  A broken promise is no error: results then depend on how a device splits the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.prim import OPS
from runelift.ir.traverse import free_vars
from runelift.ir.types import Const


class Promise(Enum):
    """A promised law of an operator, such as associativity."""

    NEUTRAL = "neutral"
    ASSOCIATIVE = "associative"
    COMMUTATIVE = "commutative"


_LAWS = (Promise.ASSOCIATIVE, Promise.NEUTRAL)
PROMISES: dict[type[ir.Exp], tuple[str, tuple[Promise, ...]]] = {
    ir.Redomap: ("reduce", _LAWS),
    ir.Scanomap: ("scan", _LAWS),
    ir.Hist: ("reduce_by_index", (*_LAWS, Promise.COMMUTATIVE)),
    ir.Accumulate: ("reduce_by_index_stream", (*_LAWS, Promise.COMMUTATIVE)),
}
"""By construct: its name, and what it promises of its operators."""

IDEMPOTENT = frozenset({"min", "max", "and", "or"})
"""Operations for which an element counts no more if it comes twice."""
ASSOCIATIVE = IDEMPOTENT | {"add", "mul", "xor"}
"""Operations that are known to be associative."""


class Promised(NamedTuple):
    """An operator of a construct, and what the construct promises of it."""

    construct: str
    op: ir.Operator
    promises: tuple[Promise, ...]


def promised(exp: ir.Exp) -> Iterator[Promised]:
    """The operators and arguments in an expression that promises may be about."""
    construct, laws = PROMISES.get(type(exp), ("", ()))
    match exp:
        case ir.Redomap(_, ops) | ir.Scanomap(_, ops) | ir.Accumulate(_, _, ops):
            found = ops
        case ir.Hist(_, hists):
            found = tuple(hist.op for hist in hists)
        case _:
            return
    for op in found:
        also = (Promise.COMMUTATIVE,) if op.comm and Promise.COMMUTATIVE not in laws else ()
        yield Promised(construct, op, (*laws, *also))


def component(op: ir.Operator, k: int) -> ir.Operator | None:
    """The operator on one component, if it has a constant neutral element and uses no other."""
    if not isinstance(op.neutral[k], Const):
        return None
    result = op.lam.body.result[k]
    stms = tuple(stm for stm in op.lam.body.stms if stm.pat[0].name == result)
    pair = op.lam.params[k], op.lam.params[k + len(op.neutral)]
    lam = ir.Lambda(pair, ir.Body(stms, (result,)), (op.lam.ret[k],))
    return None if free_vars(lam) else ir.Operator(lam, (op.neutral[k],), op.comm)


def doubtful(stm: ir.Stm) -> bool:
    """True if an operator of a statement may break a promise by laws of arithmetic."""
    for each in promised(stm.exp):
        for k in range(len(each.op.neutral)):
            part = component(each.op, k)
            if part is None or part.primitive is None:
                continue
            name, prim = part.primitive
            law, (neutral,) = OPS[name].neutral, part.neutral
            right = law is None or not isinstance(neutral, Const) or neutral.value == law(prim)
            if name not in ASSOCIATIVE or not (right or name in IDEMPOTENT):
                return True
    return False
