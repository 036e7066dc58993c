"""Running kernels without a device, work-item by work-item: what a kernel means.

Groups run one after the other; within a group, every work-item runs up to the next barrier.
What a device would not notice is an error here: an access outside of memory, two work-items that
touch a cell without a barrier between, one of them writing, a barrier to which only some
work-items come, the value of a variable that was never set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from runelift.ir import imp
from runelift.ir.errors import CompilerBug
from runelift.ir.imp import Exp, Id, Kernel, Space, Stm
from runelift.ir.imp.pretty import pretty_statement
from runelift.ir.names import VName
from runelift.ir.prim import Prim, apply, convert

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is run: the arguments by parameter, and the values of its constants.

    ``args`` has a NumPy array of one dimension for each buffer, which is changed in place, and a
    number for each scalar; ``lengths`` the number of elements of each local array.
    """

    groups: int
    group_size: int
    args: Mapping[VName, Any]
    constants: Mapping[VName, int] = field(default_factory=dict)
    lengths: Mapping[VName, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reported:
    """The failure of the program that a kernel found."""

    code: int
    args: tuple[int, ...]


def run(kernel: Kernel, launch: Launch) -> Reported | None:
    """Run a kernel; the first failure of the program that it reported.

    CompilerBug if the kernel does what no kernel may do.
    """
    machine = _Machine(kernel, launch)
    for group in range(launch.groups):
        machine.group(group)
    return machine.reported


@dataclass(slots=True)
class _Memory:
    """Cells, and who touched them since the group's last barrier."""

    name: VName
    prim: Prim
    space: Space
    cells: Array
    writers: dict[int, int] = field(default_factory=dict)
    readers: dict[int, set[int]] = field(default_factory=dict)

    def forget(self) -> None:
        """A barrier: what happened before is visible to all."""
        self.writers.clear()
        self.readers.clear()


ATOMIC = -1
"""Stands for the writer of a cell that was changed by an atomic operation."""


class _Machine:
    def __init__(self, kernel: Kernel, launch: Launch) -> None:
        self.kernel = kernel
        self.launch = launch
        self.reported: Reported | None = None
        self.owners: dict[tuple[VName, int], int] = {}
        self.fenced = any(isinstance(s, imp.Fence) for s in imp.statements(kernel.body))
        self.buffers = {
            p.name: _Memory(p.name, p.prim, Space.GLOBAL, launch.args[p.name])
            for p in kernel.params if isinstance(p, imp.BufferParam)}
        self.scalars: dict[VName, Any] = {
            p.name: p.prim.dtype.type(launch.args[p.name])
            for p in kernel.params if isinstance(p, imp.ScalarParam)}
        self.scalars |= {name: np.int64(value) for name, value in launch.constants.items()}

    def bug(self, what: str, stm: Stm | None) -> CompilerBug:
        at = "" if stm is None else f" in '{pretty_statement(stm).splitlines()[0]}'"
        return CompilerBug(f"kernel '{self.kernel.name}'{at}: {what}")

    def group(self, number: int) -> None:
        """Run the work-items of a group, from barrier to barrier."""
        memories = dict(self.buffers)
        for array in self.kernel.local_memory:
            cells = np.zeros(self.launch.lengths[array.name], array.prim.dtype)
            memories[array.name] = _Memory(array.name, array.prim, Space.LOCAL, cells)
        for array in self.kernel.locals:
            if array.within is not None:
                place = memories[array.within].cells.view(np.uint8)
                usable = len(place) // array.prim.bytes * array.prim.bytes
                memories[array.name] = _Memory(array.name, array.prim, Space.LOCAL,
                                               place[:usable].view(array.prim.dtype))
        items = [_Item(self, number, k, memories) for k in range(self.launch.group_size)]
        running = [item.block(self.kernel.body) for item in items]
        while running:
            met = [next(code, None) for code in running]
            at = {id(barrier) for barrier in met}
            if len(at) > 1:
                barrier = next(b for b in met if b is not None)
                raise self.bug("only some work-items come to a barrier", barrier)
            for memory in memories.values():
                memory.forget()
            if met[0] is None:
                return

    def shared_write(self, memory: _Memory, index: int, group: int, stm: Stm) -> None:
        """Groups may not meet in a cell, unless the kernel orders them by fences."""
        if memory.space is Space.GLOBAL and not self.fenced:
            owner = self.owners.setdefault((memory.name, index), group)
            if owner != group:
                raise self.bug(f"groups {owner} and {group} both write {memory.name}[{index}]", stm)


@dataclass(slots=True)
class _Item:
    """A work-item: its variables and private arrays."""

    machine: _Machine
    group: int
    number: int
    memories: dict[VName, _Memory]
    values: dict[VName, Any] = field(default_factory=dict)
    place: Stm | None = None

    def __post_init__(self) -> None:
        """Private arrays are the work-item's own."""
        self.memories = dict(self.memories)
        self.values = dict(self.machine.scalars)

    def bug(self, what: str) -> CompilerBug:
        return self.machine.bug(f"work-item {self.number} of group {self.group} {what}", self.place)

    # Statements

    def block(self, stms: Sequence[Stm]) -> Iterator[imp.Barrier]:
        """Run statements; stops at barriers."""
        for stm in stms:
            self.place = stm
            match stm:
                case imp.Barrier():
                    yield stm
                case imp.For(index, start, bound, step, body):
                    value, end, by = (self.value(e) for e in (start, bound, step))
                    while value < end:
                        self.values[index] = np.int64(value)
                        yield from self.block(body)
                        value += by
                case imp.While(cond, body):
                    while self.value(cond):
                        yield from self.block(body)
                        self.place = stm
                case imp.If(cond, then_, else_):
                    yield from self.block(then_ if self.value(cond) else else_)
                case _:
                    self.simple(stm)

    def simple(self, stm: Stm) -> None:
        """A statement that no barrier interrupts."""
        match stm:
            case imp.Declare(name, _, init):
                self.values[name] = None if init is None else self.value(init)
            case imp.DeclareArray(name, prim, length):
                count = length if isinstance(length, int) else int(self.values[length])
                self.memories[name] = _Memory(name, prim, Space.PRIVATE,
                                              np.zeros(count, prim.dtype))
            case imp.Assign(name, value):
                self.values[name] = self.value(value)
            case imp.Store(mem, index, value):
                held = self.value(value)
                memory, cell = self.cell(mem, index)
                self.write(memory, cell, held)
            case imp.Atomic(op, prim, mem, index, value, _, old):
                given = self.value(value)
                memory, cell = self.cell(mem, index)
                self.touch_atomically(memory, cell)
                if old is not None:
                    self.values[old] = memory.cells[cell]
                memory.cells[cell] = apply(op, prim, memory.cells[cell], given)
            case imp.AtomicUpdate(mem, index, _, _, old, body, new):
                memory, cell = self.cell(mem, index)
                self.touch_atomically(memory, cell)
                self.values[old] = memory.cells[cell]
                for inner in body:
                    for _ in self.block((inner,)):
                        raise self.bug("meets a barrier within an atomic update")
                memory.cells[cell] = self.value(new)
            case imp.Fail(code, args):
                found = Reported(code, tuple(int(self.value(a)) for a in args))
                self.machine.reported = self.machine.reported or found
            case _:
                pass

    # Memory

    def cell(self, mem: VName, index: Exp) -> tuple[_Memory, int]:
        """A memory and a position inside of it."""
        memory, position = self.memories[mem], int(self.value(index))
        if not 0 <= position < len(memory.cells):
            raise self.bug(f"reaches for {mem}[{position}] of {len(memory.cells)} elements")
        return memory, position

    def write(self, memory: _Memory, cell: int, value: Any) -> None:
        """Set a cell."""
        if memory.space is not Space.PRIVATE:
            others = memory.readers.get(cell, set()) - {self.number}
            writer = memory.writers.setdefault(cell, self.number)
            if others or writer != self.number:
                raise self.bug(f"writes {memory.name}[{cell}], which work-item "
                               f"{min(others, default=writer)} uses before the next barrier")
            assert self.place is not None
            self.machine.shared_write(memory, cell, self.group, self.place)
        memory.cells[cell] = value

    def read(self, memory: _Memory, cell: int) -> Any:
        """The value of a cell."""
        if memory.space is not Space.PRIVATE:
            if memory.writers.get(cell, self.number) != self.number:
                raise self.bug(f"reads {memory.name}[{cell}], which work-item "
                               f"{memory.writers[cell]} writes before the next barrier")
            memory.readers.setdefault(cell, set()).add(self.number)
        return memory.cells[cell]

    def touch_atomically(self, memory: _Memory, cell: int) -> None:
        """Atomic operations may meet each other, but no others."""
        readers = memory.readers.get(cell, set()) - {self.number}
        if readers or memory.writers.setdefault(cell, ATOMIC) != ATOMIC:
            raise self.bug(f"changes {memory.name}[{cell}] atomically, which others use plainly")

    # Expressions

    def value(self, exp: Exp) -> Any:
        """The value of an expression, of its NumPy type."""
        match exp:
            case imp.Var(name):
                found = self.values[name]
                if found is None:
                    raise self.bug(f"uses {name}, which was never set")
                return found
            case imp.Lit(const):
                return const.prim.dtype.type(const.value)
            case imp.Apply("and" | "or" as op, Prim.BOOL, (left, right)):
                first = bool(self.value(left))
                return self.value(right) if first == (op == "and") else np.bool_(first)
            case imp.Apply(op, prim, args):
                return apply(op, prim, *(self.value(a) for a in args))
            case imp.Convert(_, to, arg):
                return convert(self.value(arg), to)
            case imp.Load(mem, index):
                return self.read(*self.cell(mem, index))
            case imp.Select(cond, then_, else_):
                return self.value(then_ if self.value(cond) else else_)
            case imp.WorkItem(kind, dim):
                return np.int64(self._id(kind) if dim == 0 else self._only(kind))

    def _id(self, kind: Id) -> int:
        launch = self.machine.launch
        size = launch.group_size
        return {
            Id.LOCAL_ID: self.number, Id.GROUP_ID: self.group, Id.LOCAL_SIZE: size,
            Id.NUM_GROUPS: launch.groups, Id.GLOBAL_SIZE: launch.groups * size,
            Id.GLOBAL_ID: self.group * size + self.number,
        }[kind]

    @staticmethod
    def _only(kind: Id) -> int:
        """Other dimensions than the first have one member."""
        return int(kind in (Id.LOCAL_SIZE, Id.NUM_GROUPS, Id.GLOBAL_SIZE))
