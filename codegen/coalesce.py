"""Coalesced reads: arrays that are read across their rows are transposed before.

Neighbouring work-items have neighbouring values of the last index of their space.  Where that
index picks a row, ``xss[i, j]``, they read far apart; in a transposed copy they read side by side
(Henriksen 2017, "Design and Implementation of the Futhark Programming Language").  Copies are made
for two reasons.

* A loop of the host reads an array like this that is the same in all its iterations.  The copy is
  made once.
* A work-item walks along its row.  Elements of a row share what the memory hands out at a time, but
  there are so many rows under way that no cache holds what their work-items will want next.  Short
  rows are left as they are, which the host decides when it knows how long they are.

What only looks across rows once gains nothing: making the copy does just that.  Nor do kernels gain
that bring what they need to local memory (:mod:`~runelift.codegen.coarse`,
:mod:`~runelift.codegen.tiling`).

The copy is *promised* where the array becomes known: the first kernel that reads it makes it,
within its version, and all others find it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from runelift.codegen.segments import segments_of_map, sharing
from runelift.ir.consumption import consumed_in, root_of
from runelift.ir.names import Names, VName
from runelift.ir.patterns import WHOLE, references
from runelift.ir.prim import Prim
from runelift.ir.products import product_of
from runelift.ir.syntax import (
    SEGOPS,
    SOACS,
    ArrayType,
    Body,
    Copy,
    ForLoop,
    Fun,
    Index,
    Lambda,
    Level,
    Loop,
    Param,
    PrimOp,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegScatter,
    Stm,
    Type,
)
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of, map_inside, substitute_stm

PROMISED = "promised"
"""The attribute of a copy that is made when a kernel is about to read it, and kept."""
LONG = "long"
"""The attribute of one that is only made if rows are long; else it is the array itself."""
ALONG = "along "
"""What the attribute begins with that says along which dimension a copy is contiguous."""

Wish: TypeAlias = tuple[VName, int]
"""An array, and the dimension along which it should be contiguous."""


def coalesce(fun: Fun, names: Names) -> Fun:
    """The function with transposed copies, to be made when they are needed."""
    return replace(fun, body=_Coalescer(names, fun).body(fun.body, fun.params))


def along(stm: Stm) -> int:
    """The dimension along which a promised copy is contiguous."""
    (dim,) = (attr.removeprefix(ALONG) for attr in stm.attrs if attr.startswith(ALONG))
    return int(dim)


class _Coalescer:
    """The code that the host runs."""

    def __init__(self, names: Names, fun: Fun) -> None:
        self.names = names
        self.types: dict[VName, Type] = {p.name: p.type for p in fun.params}
        self.defs: dict[VName, Stm] = {}
        self._collect(fun.body)
        self.changed = {root_of(name, self.defs) for name in consumed_in(fun.body)}
        self.walked: dict[int, set[Wish]] = {}

    def _collect(self, body: Body) -> None:
        """Note the types and definitions of all that the host knows."""
        for stm in body.stms:
            self.types |= {p.name: p.type for p in stm.pat}
            self.defs |= {p.name: stm for p in stm.pat}
            if isinstance(stm.exp, Loop):
                self.types |= {p.param.name: p.param.type for p in stm.exp.params}
                if isinstance(stm.exp.form, ForLoop):
                    self.types[stm.exp.form.index] = Prim.I64
            for inner in () if isinstance(stm.exp, SEGOPS) else bodies_of(stm.exp):
                self._collect(inner)

    def body(self, body: Body, known: Sequence[Param], *, looped: bool = False) -> Body:
        """The body with promises for the arrays ``known`` and those that it makes.

        ``looped``: it runs in a loop.  Copies of what only one iteration reads are not made: they
        would keep one kernel from running all iterations.
        """
        own = {p.name for p in known if self.may_have_copies(p)}
        stms: list[Stm] = []
        granted: dict[Wish, VName] = {}
        for stm in body.stms:
            wishes = dict[Wish, bool]()
            for wish, lasting in self.wishes(stm):
                if wish[0] in own and (lasting or not looped):
                    wishes[wish] = wishes.get(wish, False) or lasting
            for wish in sorted(wishes.keys() - granted.keys(), key=lambda w: (w[0].tag, w[1])):
                promise = self.promise(wish, lasting=wishes[wish])
                granted[wish] = promise.pat[0].name
                stms.append(promise)
            stms.append(self.inside(self.granted(stm, granted), looped=looped))
            own |= {p.name for p in stm.pat if self.may_have_copies(p)}
        return replace(body, stms=tuple(stms))

    def may_have_copies(self, param: Param) -> bool:
        """Whether something is an array that could lie otherwise, and is nowhere overwritten.

        What is overwritten would have to be copied before, whether the copy is needed or not.
        """
        return (isinstance(param.type, ArrayType) and len(param.type.shape) > 1
                and root_of(param.name, self.defs) not in self.changed)

    def promise(self, wish: Wish, *, lasting: bool) -> Stm:
        """The statement that promises a copy."""
        array, dim = wish
        attrs = (PROMISED, *(() if lasting else (LONG,)), f"{ALONG}{dim}")
        copy = Param(self.names.fresh(array), self.types[array])
        self.types[copy.name] = copy.type
        return Stm((copy,), Copy(array), attrs)

    def inside(self, stm: Stm, *, looped: bool) -> Stm:
        """The statement with promises in the bodies that the host runs."""
        match stm.exp:
            case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
                return stm
            case Loop(params):
                known, looped = [p.param for p in params], True
            case _:
                known = []
        return replace(stm, exp=map_inside(
            stm.exp, lambda body: self.body(body, known, looped=looped), _as_it_is))

    def wishes(self, stm: Stm, *, looped: bool = False) -> Iterator[tuple[Wish, bool]]:
        """The wishes of the kernels that a statement launches, and whether those last.

        They do where a loop launches the kernel again and again, as ``looped`` says of what is
        around.
        """
        if isinstance(stm.exp, SEGOPS):
            if stm.exp.level is Level.GRID:
                for wish in self.wishes_of(stm.exp, looped=looped):
                    yield wish, looped
            return
        looped |= isinstance(stm.exp, Loop)
        for body in bodies_of(stm.exp):
            for inner in body.stms:
                yield from self.wishes(inner, looped=looped)

    def wishes_of(self, kernel: SegOp, *, looped: bool) -> set[Wish]:
        """The arrays around a kernel that its neighbouring work-items better read side by side."""
        return set(_wishes_of(kernel)) if looped else self.walks(kernel)

    def walks(self, kernel: SegOp) -> set[Wish]:
        """The arrays around a kernel whose rows its work-items walk along, each by itself."""
        loops = any(isinstance(stm.exp, (Loop, *SOACS)) for stm in _statements([kernel.body]))
        if not loops or self.shares(kernel):
            return set()
        fast, found, others = kernel.space[-1].index, set[Wish](), set[VName]()
        for each in references(kernel, self.types.__getitem__):
            picked = [place for place, dim in enumerate(each.dims)
                      if fast in dim.points | dim.counters]
            if not picked:
                continue
            *_, last = each.dims
            walks = last.counters - {fast} or last == WHOLE
            if len(picked) == 1 and picked[0] < len(each.dims) - 1 and walks:
                found.add((each.array, picked[0]))
            else:
                others.add(each.array)
        arrays = [array for array, _ in found]
        return {wish for wish in found if wish[0] not in others and arrays.count(wish[0]) == 1}

    def shares(self, kernel: SegOp) -> bool:
        """Whether a kernel brings to local memory what its work-items have in common."""
        match kernel:
            case SegRed():
                return sharing(self.types.__getitem__, kernel) is not None
            case SegMap():
                segments = segments_of_map(kernel, self.names)
                return product_of(kernel) is not None or (
                    segments is not None
                    and sharing(self.types.__getitem__, segments.exp) is not None)
        return False

    def granted(self, stm: Stm, copies: Mapping[Wish, VName], *, looped: bool = False) -> Stm:
        """The statement with the copies in kernels that wish for them."""
        if isinstance(stm.exp, SEGOPS):
            if not copies or stm.exp.level is not Level.GRID:
                return stm
            wishes = self.wishes_of(stm.exp, looped=looped)
            return substitute_stm(stm, {wish[0]: copy for wish, copy in copies.items()
                                        if wish in wishes})
        looped |= isinstance(stm.exp, Loop)

        def inner(body: Body) -> Body:
            return replace(body, stms=tuple(self.granted(s, copies, looped=looped)
                                            for s in body.stms))

        return replace(stm, exp=map_inside(stm.exp, inner, _as_it_is)) if copies else stm


def _as_it_is(lam: Lambda) -> Lambda:
    return lam


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
