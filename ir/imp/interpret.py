"""Running kernels without a device, work-item by work-item: what a kernel means.

Groups run one after the other, or side by side where the kernel has teams.  Within a group, every
work-item runs up to the next barrier.  Mistakes that a device would not notice are errors here:

* an access outside of memory,
* a data race of two work-items: no barrier lies between their accesses,
* a data race of two groups, unless the kernel orders them by fences,
* a barrier that only some work-items reach,
* a use of a variable that was never set.

Memory that has two names is one memory in this check.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp, Id, Kernel, Stm
from runelift.ir.imp.pretty import pretty_statement
from runelift.ir.imp.traverse import statements
from runelift.ir.meaning import PLAIN, convert, operation
from runelift.ir.names import VName
from runelift.ir.prim import Prim

STATEMENTS = 4096
"""The statements between two looks at the clock."""

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel: the arguments by parameter, and the values of its constants.

    ``args`` has a number for each scalar, and a NumPy array of one dimension for each buffer, which
    is changed in place.  ``lengths`` has the number of elements of each local array.
    """

    groups: int
    group_size: int
    args: Mapping[VName, Any]
    constants: Mapping[VName, int] = field(default_factory=dict)
    lengths: Mapping[VName, int] = field(default_factory=dict)
    deadline: float = math.inf
    """The time, as of :func:`time.monotonic`, when it is given up."""
    met: Counter[int] | None = None
    """Counts the times that groups meet at each barrier, by its identity, if it is given."""


@dataclass(frozen=True, slots=True)
class Reported:
    """A failure that a kernel reported: the index of its message, and the arguments."""

    code: int
    args: tuple[int, ...]


class Race(CompilerBug):
    """Two work-items or groups access a cell of ``memory``, and nothing orders them.

    ``first`` is the statement of the ``kernel`` that came first, and ``second`` the other.
    """

    def __init__(self, message: str, kernel: str, memory: VName, first: Stm | None,
                 second: Stm | None) -> None:
        super().__init__(message)
        self.kernel, self.memory, self.first, self.second = kernel, memory, first, second


class TakesTooLong(Exception):
    """A launch takes longer than its deadline allows."""


def run(kernel: Kernel, launch: Launch) -> Reported | None:
    """Run a kernel; the first failure that it reported, or None.

    CompilerBug if the kernel does what no kernel may do, :class:`Race` if that is a data race.
    TakesTooLong if the deadline has passed.
    """
    machine = _Machine(kernel, launch)
    teams = 1 if kernel.teams is None else launch.constants[kernel.teams]
    with np.errstate(all="ignore"):
        for first in range(0, launch.groups, teams):
            machine.together(range(first, first + teams))
    return machine.reported


class _Kind(Enum):
    """The kind of an access.  Atomic accesses do not race with each other."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "atomically changes"


@dataclass(frozen=True, slots=True)
class _Under:
    """The kind of accesses under a lock; two accesses under one lock do not race."""

    locks: VName
    number: int

    @property
    def value(self) -> str:
        """The words for an access under a lock, in reports of races."""
        return f"accesses under {self.locks}[{self.number}]"


@dataclass(slots=True)
class _Log:
    """The accesses to the positions of a place: their kinds, and who made them."""

    touched: dict[int, dict[_Kind | _Under, dict[int, Stm | None]]] = field(default_factory=dict)
    """By position and kind, the statement by which each party made its latest access."""

    def touch(self, place: int, kind: _Kind | _Under, who: int, stm: Stm | None
              ) -> tuple[int, _Kind | _Under, Stm | None] | None:
        """Log an access; the first rival that races with it: work-item, kind and statement."""
        accesses = self.touched.get(place)
        if accesses is None:
            self.touched[place] = {kind: {who: stm}}
            return None
        rivals = [(other, held, by) for held, parties in accesses.items()
                  if held != kind or kind is _Kind.WRITE
                  for other, by in parties.items() if other != who]
        accesses.setdefault(kind, {})[who] = stm
        return min(rivals, key=lambda rival: rival[0], default=None)


@dataclass(slots=True)
class _Memory:
    """Cells and their accesses: by work-items since their group's last barrier, and by groups.

    Memories in one place share their logs, in which a cell covers ``granules`` positions.
    Private memory needs none, nor do groups have one in local memory.
    """

    name: VName
    cells: Array
    items: _Log | None = None
    groups: _Log | None = None
    granules: int = 1


class _Machine:
    def __init__(self, kernel: Kernel, launch: Launch) -> None:
        self.kernel = kernel
        self.launch = launch
        self.reported: Reported | None = None
        self._left = 0
        self.buffers = self._buffers()
        self.scalars: dict[VName, Any] = {
            p.name: p.prim.dtype.type(launch.args[p.name])
            for p in kernel.params if isinstance(p, imp.ScalarParam)}
        self.scalars |= {name: np.int64(value) for name, value in launch.constants.items()}

    def bug(self, what: str, stm: Stm | None) -> CompilerBug:
        at = "" if stm is None else f" in '{pretty_statement(stm).splitlines()[0]}'"
        return CompilerBug(f"kernel '{self.kernel.name}'{at}: {what}")

    def ran(self, statements: int) -> None:
        """Note that statements were run; TakesTooLong if that took too long."""
        self._left -= statements + 1
        if self._left < 0:
            self._left = STATEMENTS
            if time.monotonic() > self.launch.deadline:
                raise TakesTooLong(self.kernel.name)

    def _buffers(self) -> dict[VName, _Memory]:
        """The buffers; a buffer that is given for two parameters has one log."""
        fenced = any(isinstance(s, imp.Fence) for s in statements(self.kernel.body))
        logs: dict[int, tuple[_Log, _Log | None]] = {}
        buffers = {}
        for param in self.kernel.params:
            if isinstance(param, imp.BufferParam):
                cells = self.launch.args[param.name]
                items, groups = logs.setdefault(
                    cells.ctypes.data, (_Log(), None if fenced else _Log()))
                buffers[param.name] = _Memory(param.name, cells, items, groups)
        return buffers

    def _local_memory(self) -> dict[VName, _Memory]:
        """The local arrays of a group; an array within another shares its cells and its log."""
        memories: dict[VName, _Memory] = {}
        for array in self.kernel.local_memory:
            cells = np.zeros(self.launch.lengths[array.name], array.prim.dtype)
            memories[array.name] = _Memory(array.name, cells, _Log(), None, array.prim.bytes)
        for array in self.kernel.locals:
            if array.within is not None:
                place = memories[array.within]
                held = place.cells.view(np.uint8)
                usable = len(held) // array.prim.bytes * array.prim.bytes
                memories[array.name] = _Memory(
                    array.name, held[:usable].view(array.prim.dtype), place.items, None,
                    array.prim.bytes)
        self._coarsen(memories)
        return memories

    def _coarsen(self, memories: Mapping[VName, _Memory]) -> None:
        """Make positions in the log as coarse as the smallest elements of a place allow."""
        least: dict[int, int] = {}
        for memory in memories.values():
            least[id(memory.items)] = min(memory.granules, least.get(id(memory.items), 8))
        for memory in memories.values():
            memory.granules //= least[id(memory.items)]

    def together(self, groups: Iterable[int]) -> None:
        """Run the work-items of groups side by side, from barrier to barrier."""
        held = [(group, self.buffers | self._local_memory()) for group in groups]
        items = [_Item(self, group, k, memories) for group, memories in held
                 for k in range(self.launch.group_size)]
        running = [item.block(self.kernel.body) for item in items]
        while running:
            met = [next(code, None) for code in running]
            at = {id(barrier) for barrier in met}
            if len(at) > 1:
                barrier = next(b for b in met if b is not None)
                raise self.bug("only some work-items come to a barrier", barrier)
            if isinstance(met[0], imp.Shuffle):
                self._shuffle(met[0], items)
                continue
            if self.launch.met is not None and met[0] is not None:
                self.launch.met[id(met[0])] += len(held)
            for memory in (memory for _, memories in held for memory in memories.values()):
                if memory.items is not None:
                    memory.items.touched.clear()
            if met[0] is None:
                return

    def _shuffle(self, shuffle: imp.Shuffle, items: Sequence[_Item]) -> None:
        """Hand on what work-items offer to the work-items of their sub-group that want it.

        A work-item of a group that is too many receives the value that it offers itself.
        """
        part, size = self.launch.constants[shuffle.subgroup], self.launch.group_size
        for place, item in enumerate(items):
            if item.group >= self.launch.groups:
                item.wanted = item.number
            if item.wanted // part != item.number // part or item.wanted >= size:
                raise item.bug(f"wants a value of work-item {item.wanted}")
            item.received = items[place - item.number + item.wanted].offered


@dataclass(slots=True)
class _Item:
    """A work-item: its variables and private arrays."""

    machine: _Machine
    group: int
    number: int
    memories: dict[VName, _Memory]
    values: dict[VName, Any] = field(default_factory=dict)
    place: Stm | None = None
    offered: Any = None
    wanted: int = 0
    received: Any = None
    held: tuple[frozenset[VName], _Under] | None = None
    """The memories that the lock guards which the work-item has."""

    def __post_init__(self) -> None:
        """Copy the machine's memories and scalars: private arrays belong to one work-item."""
        self.memories = dict(self.memories)
        self.values = dict(self.machine.scalars)

    def bug(self, what: str) -> CompilerBug:
        return self.machine.bug(f"work-item {self.number} of group {self.group} {what}", self.place)

    # Statements

    def block(self, stms: Sequence[Stm]) -> Iterator[imp.Barrier | imp.Shuffle]:
        """Run statements; stops at barriers and shuffles."""
        self.machine.ran(len(stms))
        for stm in stms:
            self.place = stm
            match stm:
                case imp.Barrier():
                    yield stm
                case imp.Shuffle(name, _, value, source):
                    self.offered = self.value(value)
                    self.wanted = int(self.value(source))
                    yield stm
                    self.values[name] = self.received
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
        """Interpret a statement that no barrier interrupts."""
        match stm:
            case imp.Declare(name, _, init):
                self.values[name] = None if init is None else self.value(init)
            case imp.DeclareArray(name, prim, length):
                count = length if isinstance(length, int) else int(self.values[length])
                self.memories[name] = _Memory(name, np.zeros(count, prim.dtype))
            case imp.Assign(name, value):
                self.values[name] = self.value(value)
            case imp.Store(mem, index, value):
                held = self.value(value)
                memory, cell = self.cell(mem, index)
                self.touch(memory, cell, _Kind.WRITE)
                memory.cells[cell] = held
            case imp.Atomic(op, prim, mem, index, value, _, old):
                given = self.value(value)
                memory, cell = self.cell(mem, index)
                self.touch(memory, cell, _Kind.ATOMIC)
                if old is not None:
                    self.values[old] = memory.cells[cell]
                memory.cells[cell] = given if op == "xchg" else operation(
                    op, prim)(memory.cells[cell], given)
            case imp.Peek(name, _, mem, index):
                memory, cell = self.cell(mem, index)
                self.touch(memory, cell, _Kind.ATOMIC)
                self.values[name] = memory.cells[cell]
            case imp.AtomicUpdate(mem, index, _, _, old, body, new):
                memory, cell = self.cell(mem, index)
                self.touch(memory, cell, _Kind.ATOMIC)
                self.values[old] = memory.cells[cell]
                for inner in body:
                    for _ in self.block((inner,)):
                        raise self.bug("meets a barrier within an atomic update")
                memory.cells[cell] = self.value(new)
            case imp.Locked():
                self._locked(stm)
            case imp.Fail(code, args):
                found = Reported(code, tuple(int(self.value(a)) for a in args))
                self.machine.reported = self.machine.reported or found
            case _:
                pass

    def _locked(self, stm: imp.Locked) -> None:
        """Run what is under a lock; no other work-item has it, as they run one by one."""
        memory, cell = self.cell(stm.locks, stm.index)
        self.touch(memory, cell, _Kind.ATOMIC)
        if memory.cells[cell]:
            raise self.bug(f"finds {stm.locks}[{cell}] locked")
        self.held = frozenset(stm.guarded), _Under(stm.locks, cell)
        for _ in self.block(stm.body):
            raise self.bug("meets a barrier under a lock")
        self.held = None

    # Memory

    def cell(self, mem: VName, index: Exp) -> tuple[_Memory, int]:
        """A memory and a position inside of it."""
        memory, position = self.memories[mem], int(self.value(index))
        if not 0 <= position < len(memory.cells):
            raise self.bug(f"reaches for {mem}[{position}] of {len(memory.cells)} elements")
        return memory, position

    def touch(self, memory: _Memory, cell: int, kind: _Kind) -> None:
        """Note an access in the logs; it must not race with an earlier one."""
        how = kind if self.held is None or memory.name not in self.held[0] else self.held[1]
        for log, who, party, until in (
                (memory.items, self.number, "work-item", "before the next barrier"),
                (memory.groups, self.group, "group", "in the same launch")):
            if log is None:
                continue
            for place in (cell,) if memory.granules == 1 else range(
                    cell * memory.granules, (cell + 1) * memory.granules):
                rival = log.touch(place, how, who, self.place)
                if rival is not None:
                    found = self.bug(f"{kind.value} {memory.name}[{cell}], which {party} "
                                     f"{rival[0]} {rival[1].value} {until}")
                    raise Race(str(found), self.machine.kernel.name, memory.name, rival[2],
                               self.place)

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
                plain = PLAIN.get((op, prim))
                if plain is not None:
                    return plain(self.value(args[0]), self.value(args[1]))
                return operation(op, prim)(*(self.value(a) for a in args))
            case imp.Convert(_, to, arg):
                return convert(self.value(arg), to)
            case imp.Load(mem, index):
                memory, cell = self.cell(mem, index)
                self.touch(memory, cell, _Kind.READ)
                return memory.cells[cell]
            case imp.Select(cond, then_, else_):
                return self.value(then_ if self.value(cond) else else_)
            case imp.WorkItem(kind, dim):
                return np.int64(self._id(kind) if dim == 0 else self._only(kind))

    def _id(self, kind: Id) -> int:
        launch = self.machine.launch
        size = launch.group_size
        match kind:
            case Id.LOCAL_ID:
                return self.number
            case Id.GROUP_ID:
                return self.group
            case Id.LOCAL_SIZE:
                return size
            case Id.NUM_GROUPS:
                return launch.groups
            case Id.GLOBAL_SIZE:
                return launch.groups * size
            case Id.GLOBAL_ID:
                return self.group * size + self.number
            case Id.FAILURE:
                return -1

    @staticmethod
    def _only(kind: Id) -> int:
        """Other dimensions than the first have one member."""
        return int(kind in (Id.LOCAL_SIZE, Id.NUM_GROUPS, Id.GLOBAL_SIZE))
