"""Coalesced reads: arrays that are read across their rows are transposed before.

Neighbouring work-items have neighbouring values of the last index of their space.  If that index
picks a row, ``xss[i, j]``, they read far apart; in a transposed copy they read neighbours.  Copies
are made for two reasons.

* A loop of the host reads such an array, unchanged, in all iterations.  The copy is made once.
* A work-item walks along its row.  Caches serve such reads, but more slowly than coalesced reads,
  and worse if there are too many rows for the cache.  A copy costs about as much as one coalesced
  walk saves.  So two walks along a row pay for it: by points that differ in another index, or along
  several arrays.  Rows within a cache line, and few rows, stay as they are.  The host decides that
  when it knows the sizes.

Kernels that copy what they need to local memory do without
(:mod:`~runelift.codegen.segops.segred_blocked`, :mod:`~runelift.codegen.segops.product_tiles`).

The copy is *lazy*.  It is announced where the array becomes known.  The first kernel that reads it
makes it, within its version.  All later kernels find it there.

Source: Henriksen 2017, "Design and Implementation of the Futhark Programming Language".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from runelift.codegen.segops.segments import segments_of_map
from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_in, root_of
from runelift.ir.analysis.patterns import WHOLE, references
from runelift.ir.analysis.products import product_of
from runelift.ir.analysis.sharing import sharing
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    bodies_inside,
    bodies_of,
    free_vars,
    map_inside,
    statements_inside,
    substitute_stm,
)
from runelift.ir.types import ArrayType, Atom, Type, elem_of, shape_of

LAZY = "lazy"
"""The attribute of a copy that is made when a kernel is about to read it, and kept."""
ONLY_IF_LONG = "long"
"""The attribute of a copy that is only made if rows are long; else the array itself is used."""
CONTIGUOUS_ALONG = "along "
"""The attribute with the dimension along which a copy is contiguous begins like this."""

CARRIED_LAYOUT = "carried "
"""The attribute of a loop whose iterations hand on an array in an interleaved layout begins like
this.

The number of the loop parameter follows, and the number of dimensions that vary fastest.
"""

WALKED_TOGETHER = "beside "
"""The attribute with the number of arrays that the same work-items walk along begins like this.

If they are many, no cache holds the next elements of all, and fewer reads pay for a copy.
"""
BYTES_PER_READ = 4
"""A copy pays if each element is read more than once per this many of its bytes.

A copy takes longer for longer elements; walking along rows does not.
"""
LOOP_READS = 8
"""The assumed number of reads of an element in a loop that does not walk along the array."""

Wish: TypeAlias = tuple[VName, int]
"""An array, and the dimension along which it should be contiguous."""


@dataclass(frozen=True, slots=True)
class _Reads:
    """The number of reads of each element, and of arrays read at the same time.

    ``lasting``: a loop of the host repeats the reads.
    """

    times: int
    beside: int
    lasting: bool = False

    def after(self, other: _Reads) -> _Reads:
        """The combined reads of two kernels that both run."""
        return replace(self.instead_of(other), times=self.times + other.times)

    def instead_of(self, other: _Reads) -> _Reads:
        """The combined reads of two kernels of which only one runs."""
        return _Reads(max(self.times, other.times), max(self.beside, other.beside),
                      self.lasting or other.lasting)


HOST_LOOP_READS = _Reads(LOOP_READS, 1, lasting=True)


def coalesce(fun: ir.Fun, names: Names) -> ir.Fun:
    """The function with transposed copies, to be made when they are needed."""
    return replace(fun, body=_Coalescer(names, fun).body(fun.body, fun.params))


def attribute_number(stm: ir.Stm, attribute: str) -> int:
    """The number in an attribute of a lazy copy that begins like this; 1 without it."""
    return next((int(attr.removeprefix(attribute)) for attr in stm.attrs
                 if attr.startswith(attribute)), 1)


class _Coalescer:
    """The walk that adds lazy copies to code of the host."""

    def __init__(self, names: Names, fun: ir.Fun) -> None:
        self.names = names
        self.types: dict[VName, Type] = {p.name: p.type for p in fun.params}
        self.defs: dict[VName, ir.Stm] = {}
        self.known: dict[int, tuple[ir.SegOp, dict[Wish, _Reads]]] = {}
        self._collect(fun.body)

    def _collect(self, body: ir.Body) -> None:
        """Note the types and definitions of all that the host knows."""
        for stm in body.stms:
            self.types |= {p.name: p.type for p in stm.pat}
            self.defs |= {p.name: stm for p in stm.pat}
            if isinstance(stm.exp, ir.Loop | ir.Recursion):
                self.types |= {p.param.name: p.param.type for p in stm.exp.params}
            if isinstance(stm.exp, ir.Loop) and isinstance(stm.exp.form, ir.ForLoop):
                self.types[stm.exp.form.index] = Prim.I64
            for inner in () if isinstance(stm.exp, ir.SEGOPS) else bodies_of(stm.exp):
                self._collect(inner)

    def body(self, body: ir.Body, known: Sequence[ir.Param], *, looped: bool = False) -> ir.Body:
        """The body with lazy copies of the arrays ``known`` and of the arrays bound in the body.

        ``looped``: it runs in a loop.  Copies that only one iteration reads are not made: they
        would keep one kernel from running all iterations.
        """
        wanted = self.wanted(body, once=not looped)
        own = {p.name for p in known if _is_matrix(p)}
        stms: list[ir.Stm] = []
        copies: dict[Wish, VName] = {}
        for stm in body.stms:
            wishes = {w for w in self.wishes(stm) if w[0] in own and w in wanted}
            for wish in sorted(wishes - copies.keys(), key=lambda w: (w[0].tag, w[1])):
                if not self.is_overwritten(wish, body):
                    lazy_copy = self.lazy_copy(wish, wanted[wish])
                    copies[wish] = lazy_copy.pat[0].name
                    stms.append(lazy_copy)
            stms.append(self.inside(self.with_copies(stm, copies), looped=looped))
            own |= {p.name for p in stm.pat if _is_matrix(p)}
        return replace(body, stms=tuple(stms))

    def is_overwritten(self, wish: Wish, body: ir.Body) -> bool:
        """True if a body overwrites an array before the last kernel that wants a copy."""
        last = max(place for place, stm in enumerate(body.stms) if wish in self.wishes(stm))
        until = ir.Body(body.stms[:last + 1], ())
        root = root_of(wish[0], self.defs)
        return any(root_of(name, self.defs) == root for name in consumed_in(until))

    def wanted(self, body: ir.Body, *, once: bool) -> dict[Wish, tuple[str, ...]]:
        """The wishes in a body that are worth a copy, each with attributes for its conditions.

        ``once``: also the wishes of kernels that no loop launches.
        """
        wanted = dict[Wish, tuple[str, ...]]()
        for (array, dim), walk in self.wishes_in(body).items():
            if walk.lasting:
                wanted[array, dim] = ()
            elif once and walk.times > elem_of(self.types[array]).bytes // BYTES_PER_READ:
                wanted[array, dim] = (ONLY_IF_LONG,)
            elif once and walk.beside > 1:
                wanted[array, dim] = (ONLY_IF_LONG, f"{WALKED_TOGETHER}{walk.beside}")
        return wanted

    def lazy_copy(self, wish: Wish, conditions: tuple[str, ...]) -> ir.Stm:
        """The statement that stands for a lazy copy."""
        array, dim = wish
        copy = ir.Param(self.names.fresh(array), self.types[array])
        self.types[copy.name] = copy.type
        return ir.Stm((copy,), ir.Copy(array), (LAZY, *conditions, f"{CONTIGUOUS_ALONG}{dim}"))

    def inside(self, stm: ir.Stm, *, looped: bool) -> ir.Stm:
        """The statement with lazy copies in the bodies that the host runs."""
        match stm.exp:
            case (ir.SegMap() | ir.SegRed() | ir.SegScan() | ir.SegScatter() | ir.SegHist()
                  | ir.SegAccumulate()):
                return stm
            case ir.Loop(params, _, body):
                known, looped = [p.param for p in params], True
                layouts = tuple(
                    f"{CARRIED_LAYOUT}{place} {outer}" for place, param in enumerate(known)
                    if (outer := self.carried_layout(param, body.result[place], body)))
                stm = replace(stm, attrs=(*stm.attrs, *layouts))
            case ir.Recursion(params=params):
                known, looped = [p.param for p in params], True
            case _:
                known = []
        return replace(stm, exp=map_inside(
            stm.exp, lambda body: self.body(body, known, looped=looped), _as_it_is))

    def carried_layout(self, param: ir.Param, result: Atom, body: ir.Body) -> int:
        """The number of dimensions in which work-items divide an array that a loop carries.

        0 if they do not each make a part of it, or do not each walk along their part alone.
        """
        made = next((s for s in body.stms if any(p.name == result for p in s.pat)), None)
        if made is None or not isinstance(made.exp,
                                          ir.SegMap) or made.exp.level is not ir.Level.GRID:
            return 0
        outer = len(made.exp.space)
        alone = outer < len(shape_of(param.type)) and all(
            isinstance(stm.exp, ir.SEGOPS) and (param.name, outer - 1) in self.wishes(stm)
            for stm in body.stms if param.name in free_vars(stm))
        return outer if alone else 0

    def wishes_in(self, body: ir.Body, *, looped: bool = False) -> dict[Wish, _Reads]:
        """The wishes of the kernels that a body launches, all after each other."""
        found = dict[Wish, _Reads]()
        for stm in body.stms:
            for wish, walk in self.wishes(stm, looped=looped).items():
                found[wish] = found[wish].after(walk) if wish in found else walk
        return found

    def wishes(self, stm: ir.Stm, *, looped: bool = False) -> dict[Wish, _Reads]:
        """The wishes of the kernels that a statement launches, each with its reads.

        Only one version or branch runs, so their reads are not added up.  ``looped``: a loop around
        launches the kernels again and again, so the wishes are lasting.
        """
        if isinstance(stm.exp, ir.SEGOPS):
            grid = stm.exp.level is ir.Level.GRID
            return self.wishes_of(stm.exp, looped=looped) if grid else {}
        found = dict[Wish, _Reads]()
        if isinstance(stm.exp, ir.Recursion):  # its calls share no copy of an array from outside
            return found
        for body in bodies_of(stm.exp):
            inner = self.wishes_in(body, looped=looped or isinstance(stm.exp, ir.Loop))
            for wish, walk in inner.items():
                found[wish] = found[wish].instead_of(walk) if wish in found else walk
        return found

    def wishes_of(self, kernel: ir.SegOp, *, looped: bool) -> dict[Wish, _Reads]:
        """The arrays that a kernel should read coalesced, each as a wish with its reads."""
        if looped:
            return dict.fromkeys(_wishes_of(kernel), HOST_LOOP_READS)
        if id(kernel) not in self.known:
            self.known[id(kernel)] = kernel, self.walks(kernel)
        return self.known[id(kernel)][1]

    def walks(self, kernel: ir.SegOp) -> dict[Wish, _Reads]:
        """The arrays whose rows a kernel's work-items walk along, each as a wish with its reads."""
        loops = any(isinstance(stm.exp, (ir.Loop, *ir.SOACS))
                    for stm in statements_inside([kernel.body]))
        if not loops or self.uses_local_memory(kernel):
            return {}
        fast, others = kernel.space[-1].index, set[VName]()
        points = {dim.index for dim in kernel.space[:-1]}
        found = dict[Wish, dict[frozenset[VName], int]]()
        for each in references(kernel, self.types.__getitem__):
            picked = [place for place, dim in enumerate(each.dims)
                      if fast in dim.points | dim.counters]
            walked = each.counters - {fast}
            if len(picked) > 1 or len(each.dims) - 1 in picked:
                others.add(each.array)
            elif picked and any(dim.counters & walked or dim == WHOLE
                                for dim in each.dims[picked[0] + 1:]):
                again = not points <= each.points or any(
                    loop.isdisjoint(walked) for loop in each.around)
                times = found.setdefault((each.array, picked[0]), {})
                times[walked] = LOOP_READS if again else max(times.get(walked, 0), 1)
        arrays = [array for array, _ in found]
        return {wish: _Reads(sum(times.values()), len(found)) for wish, times in found.items()
                if wish[0] not in others and arrays.count(wish[0]) == 1}

    def uses_local_memory(self, kernel: ir.SegOp) -> bool:
        """True if a kernel copies elements that its work-items have in common to local memory."""
        match kernel:
            case ir.SegRed():
                return sharing(self.types.__getitem__, kernel) is not None
            case ir.SegMap():
                segments = segments_of_map(kernel, self.names)
                return product_of(kernel) is not None or (
                    segments is not None
                    and sharing(self.types.__getitem__, segments.exp) is not None)
        return False

    def with_copies(self, stm: ir.Stm, copies: Mapping[Wish, VName], *,
                    looped: bool = False) -> ir.Stm:
        """The statement with the copies in kernels that wish for them."""
        if isinstance(stm.exp, ir.SEGOPS):
            if not copies or stm.exp.level is not ir.Level.GRID:
                return stm
            wishes = self.wishes_of(stm.exp, looped=looped)
            return substitute_stm(stm, {wish[0]: copy for wish, copy in copies.items()
                                        if wish in wishes})
        if isinstance(stm.exp, ir.Recursion):
            return stm
        looped |= isinstance(stm.exp, ir.Loop)

        def inner(body: ir.Body) -> ir.Body:
            return replace(body, stms=tuple(self.with_copies(s, copies, looped=looped)
                                            for s in body.stms))

        return replace(stm, exp=map_inside(stm.exp, inner, _as_it_is)) if copies else stm


def _is_matrix(param: ir.Param) -> bool:
    return isinstance(param.type, ArrayType) and len(param.type.shape) > 1


def _as_it_is(lam: ir.Lambda) -> ir.Lambda:
    return lam


def _wishes_of(kernel: ir.SegOp) -> Iterator[Wish]:
    """The arrays around a kernel that its neighbouring work-items read far apart."""
    fast = {kernel.space[-1].index}
    bodies = bodies_inside(kernel)
    around = {v for body in bodies for v in free_vars(body)}
    for stm in statements_inside(bodies):
        match stm.exp:
            case ir.PrimOp("add" | "sub", _, args) if len(fast.intersection(args)) == 1:
                fast.add(stm.pat[0].name)
            case ir.Index(array, dims) if array in around:
                picked = [place for place, dim in enumerate(dims) if dim in fast]
                if picked and picked[-1] != len(dims) - 1:
                    yield array, picked[-1]
