"""Coalesced reads: arrays that a loop reads across their rows are transposed before it.

Neighbouring work-items have neighbouring values of the last index of their space.  Where that
index picks a row, ``xss[i, j]``, they read far apart; in a transposed copy they read side by side.
One pass over an array does not pay for the copy on a GPU with caches, but a loop makes many: so
arrays that a loop of the host reads like this, and that are the same in all its iterations, are
copied once, when a version that wants it so runs for the first time (Henriksen 2017, "Design and
Implementation of the Futhark Programming Language", which transposes for every kernel).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from runelift.ir.consumption import consumed_in
from runelift.ir.names import Names, VName
from runelift.ir.syntax import (
    SEGOPS,
    ArrayType,
    Body,
    Copy,
    Fun,
    Index,
    Lambda,
    Level,
    Loop,
    Param,
    PrimOp,
    Rearrange,
    SegOp,
    Stm,
    Type,
)
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of, map_inside, substitute_stm

PROMISED = "promised"
"""The attribute of a copy that is made when a kernel is about to read it, and kept."""

Wish: TypeAlias = tuple[VName, int]
"""An array, and the dimension along which it should be contiguous."""


def coalesce(fun: Fun, names: Names) -> Fun:
    """The function with transposed copies, to be made when they are needed, before its loops."""
    types = {p.name: p.type for p in fun.params}
    return replace(fun, body=_Coalescer(names, types).body(fun.body))


@dataclass(slots=True)
class _Coalescer:
    """The code that the host runs, with the types of what is known there."""

    names: Names
    types: dict[VName, Type] = field(default_factory=dict)

    def body(self, body: Body) -> Body:
        stms: list[Stm] = []
        for stm in body.stms:
            if isinstance(stm.exp, Loop):
                before, exp = self.loop(stm.exp)
                stms += [*before, replace(stm, exp=exp)]
            elif isinstance(stm.exp, SEGOPS):
                stms.append(stm)
            else:
                stms.append(replace(stm, exp=map_inside(stm.exp, self.body, _as_it_is)))
            self.types |= {p.name: p.type for p in stm.pat}
        return replace(body, stms=tuple(stms))

    def loop(self, loop: Loop) -> tuple[list[Stm], Loop]:
        """The copies that a loop wishes for, and the loop that uses them."""
        before: list[Stm] = []
        kept = self.types.keys() - consumed_in(loop.body)
        for wish in sorted(set(_wishes(loop.body)), key=lambda w: (w[0].tag, w[1])):
            if wish[0] in kept:
                stms, view = self._transposed(*wish)
                before += stms
                loop = replace(loop, body=_granted(loop.body, wish, view))
        self.types |= {p.param.name: p.param.type for p in loop.params}
        return before, replace(loop, body=self.body(loop.body))

    def _transposed(self, array: VName, dim: int) -> tuple[list[Stm], VName]:
        """A copy in which ``dim`` is contiguous, seen in the shape of the original."""
        type_ = self.types[array]
        assert isinstance(type_, ArrayType)
        there = [*(d for d in range(len(type_.shape)) if d != dim), dim]
        back = [there.index(d) for d in range(len(there))]
        turned = ArrayType(type_.elem, tuple(type_.shape[d] for d in there))
        view, copy, result = (self.names.fresh(array) for _ in range(3))
        return [Stm((Param(view, turned),), Rearrange(tuple(there), array)),
                Stm((Param(copy, turned),), Copy(view), (PROMISED,)),
                Stm((Param(result, type_),), Rearrange(tuple(back), copy))], result


def _as_it_is(lam: Lambda) -> Lambda:
    return lam


def _kernels(body: Body) -> Iterator[SegOp]:
    """The operations of the grid that a body launches."""
    for stm in body.stms:
        if isinstance(stm.exp, SEGOPS):
            if stm.exp.level is Level.GRID:
                yield stm.exp
        else:
            for inner in bodies_of(stm.exp):
                yield from _kernels(inner)


def _wishes(body: Body) -> Iterator[Wish]:
    for kernel in _kernels(body):
        yield from _wishes_of(kernel)


def _wishes_of(kernel: SegOp) -> Iterator[Wish]:
    """The arrays around a kernel that its neighbouring work-items read far apart."""
    fast = {kernel.space[-1].index}
    bodies = [*bodies_of(kernel), *(lam.body for lam in lambdas_of(kernel))]
    around = {v for body in bodies for v in free_vars(body)}
    for stm in _statements(bodies):
        match stm.exp:
            case PrimOp("add" | "sub", _, args) if len(fast.intersection(args)) == 1:
                fast.add(stm.pat[0].name)
            case Index(array, dims) if array in around:
                picked = [place for place, dim in enumerate(dims) if dim in fast]
                if picked and picked[-1] != len(dims) - 1:
                    yield array, picked[-1]


def _statements(bodies: list[Body]) -> Iterator[Stm]:
    for body in bodies:
        for stm in body.stms:
            yield stm
            yield from _statements([*bodies_of(stm.exp),
                                    *(lam.body for lam in lambdas_of(stm.exp))])


def _granted(body: Body, wish: Wish, view: VName) -> Body:
    """The body with ``view`` in place of the array in kernels that wish for it."""
    stms: list[Stm] = []
    for stm in body.stms:
        if not isinstance(stm.exp, SEGOPS):
            exp = map_inside(stm.exp, lambda b: _granted(b, wish, view), _as_it_is)
            stms.append(replace(stm, exp=exp))
        elif stm.exp.level is Level.GRID and wish in _wishes_of(stm.exp):
            stms.append(substitute_stm(stm, {wish[0]: view}))
        else:
            stms.append(stm)
    return replace(body, stms=tuple(stms))
