"""Counting the work of a launch: operations, and bytes between work-items and global memory.

The kernel is followed for some work-groups, all of whose work-items are one NumPy vector.  Sizes,
identities and what is computed from them are known; elements of memory are not.

* An **operation** is a row of :data:`runelift.ir.prim.OPS` that computes a number: a sum, a root
  or a sine is one, a multiply-add two.  Comparisons, conversions and logic do not count.  Integer
  operations count if their results reach memory, so that computing indices does not.
* An **access** is an element that a work-item loads from a global buffer, or stores there.
* A branch that depends on elements counts half on each side; a side that reports a failure counts
  nothing.  A loop whose length depends on elements counts one iteration.
* Of long loops whose iterations differ, some iterations stand for all.

The bytes that a device must move at least are the compulsory traffic of Williams, Waterman and
Patterson 2009 (Roofline, section 3).  For each buffer, they reach from the first element that is
accessed to the last one.  If the accesses are fewer bytes, they are counted instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from runelift.ir import imp
from runelift.ir.imp import Exp, Id, Kernel, Stm
from runelift.ir.imp.dependence import assigned, controlling, reaching_memory
from runelift.ir.meaning import apply, convert
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim

MOST_ITEMS = 4096
"""The most work-items that are followed, if they are of more than one group."""
MOST_EXACT = 16
"""Loops of at most so many iterations are followed in whole if their iterations differ."""
SAMPLES = 8
"""The iterations that stand for all of longer loops, spread evenly."""
MOST_WHILE = 1024
"""The most iterations of a ``while`` loop that are followed."""
UNCOUNTED = frozenset({"eq", "lt", "le", "and", "or", "xor", "not", "shl", "shr", "lshr"})
"""Comparisons and logic."""

Array = np.ndarray[Any, np.dtype[Any]]
Value = Any
"""A NumPy scalar if all work-items have the same one, an array of one each, None if unknown."""


@dataclass(slots=True)
class Work:
    """The work of a launch, or of several.

    ``operations`` are by type.  ``loads`` and ``stores`` are the bytes that work-items access, by
    buffer.  ``bytes`` is the number of bytes that the device must move at least.
    """

    operations: dict[Prim, float] = field(default_factory=dict)
    loads: dict[VName, float] = field(default_factory=dict)
    stores: dict[VName, float] = field(default_factory=dict)
    bytes: float = 0.0
    data_dependent: bool = False
    """A branch or loop depends on elements."""
    sampled: bool = False
    """Only some groups or iterations were counted; they stand for all."""

    @property
    def accessed(self) -> float:
        """The bytes that all work-items access."""
        return sum(self.loads.values()) + sum(self.stores.values())

    def add(self, other: Work, times: float = 1.0) -> None:
        """Add ``times`` the work of a launch."""
        for prim, count in other.operations.items():
            self.operations[prim] = self.operations.get(prim, 0.0) + count * times
        for mine, others in ((self.loads, other.loads), (self.stores, other.stores)):
            for name, count in others.items():
                mine[name] = mine.get(name, 0.0) + count * times
        self.bytes += other.bytes * times
        self.data_dependent |= other.data_dependent
        self.sampled |= other.sampled


def count_work(kernel: Kernel, groups: int, group_size: int, scalars: Mapping[VName, Any],
               buffers: Mapping[VName, int]) -> Work:
    """The work of a launch with the given number and size of groups.

    ``scalars`` has the scalar arguments and the constants of the kernel, ``buffers`` the bytes of
    each buffer.
    """
    work = Work()
    if groups <= 0 or group_size <= 0:
        return work
    some = min(groups, max(1, MOST_ITEMS // group_size))
    chosen = np.unique(np.round(np.linspace(0, groups - 1, some)).astype(np.int64))
    work.sampled = len(chosen) < groups
    counter = _Counter(kernel, groups, group_size, chosen, scalars)
    with np.errstate(all="ignore"):
        counter.block(kernel.body, np.ones(len(chosen) * group_size))
    scale = groups / len(chosen)
    work.operations = {prim: count * scale for prim, count in counter.operations.items()}
    work.loads = {name: count * scale for name, count in counter.loads.items()}
    work.stores = {name: count * scale for name, count in counter.stores.items()}
    work.data_dependent = counter.data_dependent
    work.sampled |= counter.sampled
    spans = {name: prims * (1 + high - low) for name, (low, high, prims) in counter.reached.items()}
    work.bytes = sum(min(count, buffers.get(name, count), spans.get(name, count))
                     for found in (work.loads, work.stores) for name, count in found.items())
    return work


class _Counter:
    """Some work-groups of a launch, followed together, and the work counted so far."""

    def __init__(self, kernel: Kernel, groups: int, group_size: int, chosen: Array,
                 scalars: Mapping[VName, Any]) -> None:
        self.operations: defaultdict[Prim, float] = defaultdict(float)
        self.loads: defaultdict[VName, float] = defaultdict(float)
        self.stores: defaultdict[VName, float] = defaultdict(float)
        self.data_dependent = self.sampled = False
        self.reached: dict[VName, tuple[int, int, int]] = {}
        """The first and the last index in each buffer, and the bytes of an element."""
        self._unbounded = set[VName]()
        self._global = {p.name for p in kernel.params if isinstance(p, imp.BufferParam)}
        self._meaningful = reaching_memory(kernel.body)
        self._values: dict[VName, Value] = {
            p.name: p.prim.dtype.type(scalars[p.name]) for p in kernel.params
            if isinstance(p, imp.ScalarParam) and p.name in scalars}
        for name in kernel.built_for:
            self._values[name] = np.int64(scalars.get(name, 1))
        local = np.tile(np.arange(group_size, dtype=np.int64), len(chosen))
        group = np.repeat(chosen, group_size)
        self._ids: dict[Id, Value] = {
            Id.LOCAL_ID: local, Id.GROUP_ID: group, Id.GLOBAL_ID: group * group_size + local,
            Id.LOCAL_SIZE: np.int64(group_size), Id.NUM_GROUPS: np.int64(groups),
            Id.GLOBAL_SIZE: np.int64(groups * group_size), Id.FAILURE: np.int64(-1)}
        self._controlling: dict[int, frozenset[VName]] = {}

    # Statements.  ``weight`` says for how many executions each work-item stands.

    def block(self, stms: Sequence[Stm], weight: Array) -> None:
        """Count the work of statements, for work-items with weights."""
        total = float(weight.sum())
        if total <= 0:
            return
        for stm in stms:
            match stm:
                case imp.Declare(name, _, init):
                    self._values[name] = None if init is None else self._value(
                        init, weight, total, counts=name in self._meaningful)
                case imp.Assign(name, value):
                    found = self._value(value, weight, total, counts=name in self._meaningful)
                    self._assign(name, found, weight)
                case imp.Store(mem, index, value, prim):
                    place = self._value(index, weight, total)
                    self._value(value, weight, total, counts=True)
                    self._stored(mem, prim, total, place, weight)
                case imp.For():
                    self._for(stm, weight, total)
                case imp.While():
                    self._while(stm, weight, total)
                case imp.If(cond, then_, else_):
                    self._branch(self._value(cond, weight, total), then_, else_, weight)
                case imp.Shuffle(name, _, value, source):
                    self._value(value, weight, total, counts=True)
                    self._value(source, weight, total)
                    self._values[name] = None
                case imp.Atomic(op, prim, mem, index, value, _, old):
                    place = self._value(index, weight, total)
                    self._value(value, weight, total, counts=True)
                    self._loaded(mem, prim, total, place, weight)
                    self._stored(mem, prim, total, place, weight)
                    if op not in UNCOUNTED and op != "xchg":
                        self.operations[prim] += total
                    if old is not None:
                        self._values[old] = None
                case imp.AtomicUpdate(mem, index, prim, _, old, body, new):
                    place = self._value(index, weight, total)
                    self._loaded(mem, prim, total, place, weight)
                    self._values[old] = None
                    self.block(body, weight)
                    self._value(new, weight, total, counts=True)
                    self._stored(mem, prim, total, place, weight)
                case imp.Locked(locks, index, body=body):
                    place = self._value(index, weight, total)
                    self._loaded(locks, Prim.I32, total, place, weight)
                    self._stored(locks, Prim.I32, total, place, weight)
                    self.block(body, weight)
                case imp.Peek(name, prim, mem, index):
                    place = self._value(index, weight, total)
                    self._loaded(mem, prim, total, place, weight)
                    self._values[name] = None
                case _:
                    pass

    def _assign(self, name: VName, found: Value, weight: Array) -> None:
        """Assign to a variable in the active work-items; other work-items keep its value."""
        here = weight > 0
        if not here.all():
            before = self._values.get(name)
            found = None if found is None or before is None else np.where(here, found, before)
        self._values[name] = found

    def _branch(self, cond: Value, then_: Sequence[Stm], else_: Sequence[Stm], weight: Array
                ) -> None:
        if cond is not None:
            holds = np.broadcast_to(cond, weight.shape)
            self.block(then_, np.where(holds, weight, 0.0))
            self.block(else_, np.where(holds, 0.0, weight))
            return
        fails = [any(isinstance(s, imp.Fail) for s in side) for side in (then_, else_)]
        self.data_dependent |= not any(fails)
        shares = {(True, False): (0.0, 1.0), (False, True): (1.0, 0.0)}.get(
            (fails[0], fails[1]), (0.5, 0.5))
        for side, share in zip((then_, else_), shares, strict=True):
            self.block(side, weight * share)
        self._forget((*then_, *else_))

    def _for(self, loop: imp.For, weight: Array, total: float) -> None:
        start, bound, step = (self._value(e, weight, total)
                              for e in (loop.start, loop.bound, loop.step))
        if start is None or bound is None or step is None:
            self.data_dependent = True
            self._one_iteration(loop, weight, None)
            return
        trips = np.broadcast_to(np.maximum(0, -((start - bound) // step)), weight.shape)
        if self._control(loop.body).isdisjoint({loop.index, *assigned(loop.body)}):
            for here in (start, start + np.maximum(0, trips - 1) * step):  # indices lie between
                self._one_iteration(loop, weight * trips / 2, here)
        elif (most := int(np.where(weight > 0, trips, 0).max())) <= MOST_EXACT:
            for number in range(most):
                self._values[loop.index] = start + number * step
                self.block(loop.body, np.where(number < trips, weight, 0.0))
        else:
            self.sampled = True
            for number in range(SAMPLES):
                self._forget(loop.body)
                here = np.round(number / (SAMPLES - 1) * np.maximum(0, trips - 1)).astype(np.int64)
                self._values[loop.index] = start + here * step
                self.block(loop.body, weight * trips / SAMPLES)
            self._forget(loop.body)

    def _one_iteration(self, loop: imp.For, weight: Array, index: Value) -> None:
        """Follow an iteration that stands for several."""
        self._forget(loop.body)
        self._values[loop.index] = index
        self.block(loop.body, weight)
        self._forget(loop.body)

    def _while(self, loop: imp.While, weight: Array, total: float) -> None:
        for _ in range(MOST_WHILE):
            holds = self._value(loop.cond, weight, total)
            if holds is None:
                break
            weight = np.where(np.broadcast_to(holds, weight.shape), weight, 0.0)
            if not weight.any():
                return
            self.block(loop.body, weight)
        self.data_dependent = True
        self.block(loop.body, weight)
        self._forget(loop.body)

    def _forget(self, stms: Sequence[Stm]) -> None:
        """Forget the values of the variables that statements assign to."""
        for name in assigned(stms):
            self._values[name] = None

    def _control(self, body: Sequence[Stm]) -> frozenset[VName]:
        """The variables on which it depends how often the parts of a body run."""
        found = self._controlling.get(id(body))
        if found is None:
            found = self._controlling[id(body)] = controlling(body)
        return found

    # Expressions

    def _value(self, exp: Exp, weight: Array, total: float, *, counts: bool = False) -> Value:
        """The value of an expression, which is evaluated; ``counts``: its integers are data."""
        match exp:
            case imp.Var(name):
                return self._values.get(name)
            case imp.Lit(const):
                return const.prim.dtype.type(const.value)
            case imp.Apply(op, prim, args):
                values = [self._value(arg, weight, total, counts=counts) for arg in args]
                if op not in UNCOUNTED and not OPS[op].predicate and (counts or prim.is_float):
                    self.operations[prim] += total
                if any(value is None for value in values):
                    return self._settled(op, prim, values)
                return apply(op, prim, *values)
            case imp.Convert(_, to, arg):
                value = self._value(arg, weight, total, counts=counts)
                return None if value is None else convert(value, to)
            case imp.Load(mem, index, prim):
                self._loaded(mem, prim, total, self._value(index, weight, total), weight)
                return None
            case imp.Select(cond, then_, else_):
                return self._select(self._value(cond, weight, total), then_, else_, weight, counts)
            case imp.WorkItem(kind, dim):
                return self._ids[kind] if dim == 0 else np.int64(
                    kind in (Id.LOCAL_SIZE, Id.NUM_GROUPS, Id.GLOBAL_SIZE))
        return None

    def _settled(self, op: str, prim: Prim, values: Sequence[Value]) -> Value:
        """The value of a connective whose operands are not all known."""
        if prim is Prim.BOOL and op in ("and", "or"):
            for value in values:
                if value is not None and np.all(value == (op == "or")):
                    return value
        return None

    def _select(self, cond: Value, then_: Exp, else_: Exp, weight: Array, counts: bool) -> Value:
        if cond is None:
            shares: list[Any] = [0.5, 0.5]
            self.data_dependent = True
        else:
            shares = [np.where(cond, 1.0, 0.0), np.where(cond, 0.0, 1.0)]
        first, second = (
            self._value(side, weight * share, float((weight * share).sum()), counts=counts)
            for side, share in zip((then_, else_), shares, strict=True))
        if cond is None or first is None or second is None:
            return None
        return np.where(cond, first, second)

    def _loaded(self, mem: VName, prim: Prim, total: float, place: Value, weight: Array) -> None:
        if mem in self._global:
            self.loads[mem] += total * prim.bytes
            self._reach(mem, prim, place, weight)

    def _stored(self, mem: VName, prim: Prim, total: float, place: Value, weight: Array) -> None:
        if mem in self._global:
            self.stores[mem] += total * prim.bytes
            self._reach(mem, prim, place, weight)

    def _reach(self, mem: VName, prim: Prim, place: Value, weight: Array) -> None:
        """Note which elements are accessed; all elements if the index is unknown."""
        if place is None:
            self._unbounded.add(mem)
        if mem in self._unbounded:
            self.reached.pop(mem, None)
            return
        here = np.broadcast_to(place, weight.shape)[weight > 0]
        low, high, _ = self.reached.get(mem, (int(here.min()), int(here.max()), 0))
        self.reached[mem] = min(low, int(here.min())), max(high, int(here.max())), prim.bytes
