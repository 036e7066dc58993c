"""The imperative IR: what one work-item of a kernel does.

Kernels are structured programs over scalars, private arrays, local arrays (shared by a work-group)
and global buffers.  :mod:`runelift.ir.imp.pretty` prints them, :mod:`runelift.ir.imp.check` says
whether they are well formed and :mod:`runelift.ir.imp.interpret` runs them without a device::

    Kernel ::= kernel NAME (KernelParam*) locals LocalArray* { Stm* }
    Exp    ::= name | literal | op.prim(Exp...) | convert | mem[Exp] | select | id(kind, dim)
    Stm    ::= declare | assign | store | for | while | if | barrier | shuffle | fence | atomic
             | locked | fail | comment

Scalar operations are the rows of :data:`runelift.ir.prim.OPS`, so they mean the same here as in the
core IR.  The printer to OpenCL C makes them total.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from runelift.ir.base.source import Loc
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.types import Const


class Space(Enum):
    """The address space of memory."""

    GLOBAL = "global"
    LOCAL = "local"
    PRIVATE = "private"


class Id(Enum):
    """A query of a work-item about its place in the launch.

    ``FAILURE`` is below 0 until a kernel has failed since the run began; work-items of a kernel
    that fails may see it at different times.
    """

    GLOBAL_ID = "global_id"
    LOCAL_ID = "local_id"
    GROUP_ID = "group_id"
    GLOBAL_SIZE = "global_size"
    LOCAL_SIZE = "local_size"
    NUM_GROUPS = "num_groups"
    FAILURE = "failed"

    __hash__ = object.__hash__  # as of Prim


# Expressions (pure)


@dataclass(frozen=True, slots=True)
class Var:
    """A scalar variable or scalar kernel parameter."""

    name: VName


@dataclass(frozen=True, slots=True)
class Lit:
    """A literal."""

    const: Const


@dataclass(frozen=True, slots=True)
class Apply:
    """``op.prim(args)``."""

    op: str
    prim: Prim
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Convert:
    """``convert.from.to(arg)``."""

    from_: Prim
    to: Prim
    arg: Exp


@dataclass(frozen=True, slots=True)
class Load:
    """``mem[index]``, an element of type ``prim``.  The index is inside the memory."""

    mem: VName
    index: Exp
    prim: Prim


@dataclass(frozen=True, slots=True)
class Select:
    """``cond ? then_ : else_`` of type ``prim``; only the chosen side is evaluated."""

    cond: Exp
    then_: Exp
    else_: Exp
    prim: Prim


@dataclass(frozen=True, slots=True)
class WorkItem:
    """The i64 ``kind`` in dimension ``dim``."""

    kind: Id
    dim: int = 0


Exp: TypeAlias = Var | Lit | Apply | Convert | Load | Select | WorkItem


# Statements


@dataclass(frozen=True, slots=True)
class Declare:
    """A new scalar variable; uninitialised if ``init`` is None.

    ``expected``: a value that stands for it in models of cost, if elements decide the value.
    """

    name: VName
    prim: Prim
    init: Exp | None = None
    expected: Exp | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DeclareArray:
    """A private array ``name`` of ``length`` elements: a number, or a constant of the kernel."""

    name: VName
    prim: Prim
    length: int | VName


@dataclass(frozen=True, slots=True)
class Assign:
    """``name := value``."""

    name: VName
    value: Exp


@dataclass(frozen=True, slots=True)
class Store:
    """``mem[index] := value``."""

    mem: VName
    index: Exp
    value: Exp
    prim: Prim


@dataclass(frozen=True, slots=True)
class Trips:
    """The iterations that a loop is expected to have, for models of cost.

    ``count`` iterations are spread over ``among`` runs of the loop.  The longest of them has
    ``longest``.  All are numbers that the host knows.
    """

    count: Exp
    among: Exp
    longest: Exp


@dataclass(frozen=True, slots=True)
class For:
    """``for index from start below bound by step``; all i64, step > 0.

    ``unroll``: whether it is to be unrolled in whole, or the setting that says how often.
    ``expected``: what is known about the iterations if elements decide the bound.
    """

    index: VName
    start: Exp
    bound: Exp
    step: Exp
    body: tuple[Stm, ...]
    unroll: bool | VName = False
    expected: Trips | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class While:
    """``while cond``."""

    cond: Exp
    body: tuple[Stm, ...]


@dataclass(frozen=True, slots=True)
class If:
    """``if cond then_ else_``."""

    cond: Exp
    then_: tuple[Stm, ...]
    else_: tuple[Stm, ...] = ()


class Placement(Enum):
    """The rule by which a barrier was placed, for people who ask."""

    LOWERING = "written by the lowering of the operation"
    DEPENDENCE = "as late as possible before the access that depends on an earlier one"
    BEFORE_LOOP = "before the loop, as only its first iteration needs it"
    AFTER_LOOP = "behind a loop with barriers inside, which PoCL gets wrong otherwise"
    AFTER_BRANCH = "behind a branch with barriers inside, which PoCL gets wrong otherwise"
    LONE_STORE = "between a store by the first work-item alone and a branch, which PoCL gets wrong"


@dataclass(frozen=True, slots=True)
class Barrier:
    """All work-items of the group wait here; their writes are then visible to the group.

    That holds for local and global memory; ``space`` tells the reader which one it serves.
    """

    space: Space
    placement: Placement = field(default=Placement.LOWERING, compare=False)


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``name``, a new scalar, := the ``value`` that work-item ``source`` of the group has.

    All work-items of the group reach it together, as a barrier, but it does not order memory.
    ``source`` is in the same sub-group.  A sub-group has ``subgroup`` consecutive work-items: a
    constant of the kernel and a power of two.
    """

    name: VName
    prim: Prim
    value: Exp
    source: Exp
    subgroup: VName


@dataclass(frozen=True, slots=True)
class Atomic:
    """``old := mem[index]; mem[index] := op old value``, indivisibly.

    ``op`` is a row name: add, min, max, and, or, xor; or xchg, which keeps nothing of the old
    value.  Integers of 32 or 64 bits, or add for such floats in global memory, which tells no old
    value.  ``old`` is declared if it is wanted.
    """

    op: str
    prim: Prim
    mem: VName
    index: Exp
    value: Exp
    space: Space
    old: VName | None = None


@dataclass(frozen=True, slots=True)
class AtomicUpdate:
    """``old := mem[index]; body; mem[index] := new``, repeated until no other write came between.

    Elements are compared bit by bit.  ``body`` has no barrier.  The memory has whole words of 32
    bits: an element of fewer bits is changed with the rest of its word.
    """

    mem: VName
    index: Exp
    prim: Prim
    space: Space
    old: VName
    body: tuple[Stm, ...]
    new: Exp


@dataclass(frozen=True, slots=True)
class Locked:
    """``body``, while no other work-item runs one with the same element of ``locks``.

    ``locks`` are i32s that are 0 before and after.  ``body`` has no barrier.  Elements of the
    memories ``guarded``, which are in the same ``space``, are accessed under one lock only.
    """

    locks: VName
    index: Exp
    space: Space
    guarded: tuple[VName, ...]
    body: tuple[Stm, ...]


@dataclass(frozen=True, slots=True)
class Peek:
    """Declare ``name`` as a copy of ``mem[index]``, which another group may be changing.

    Integers of 64 bits in global memory, which only atomic operations change meanwhile.
    """

    name: VName
    prim: Prim
    mem: VName
    index: Exp


@dataclass(frozen=True, slots=True)
class Fence:
    """An acquire and release fence on global memory, for all work-items of all groups.

    A work-item that sees a write after the fence also sees the writes before it.  Reads after the
    fence are no older than reads before it.
    """


@dataclass(frozen=True, slots=True)
class Fail:
    """Record failure ``code`` (an index into the kernel's messages) with i64 ``args``.

    The first failure of a run wins.  Execution goes on, so the code around keeps its accesses
    inside memory whatever happened.
    """

    code: int
    args: tuple[Exp, ...]


@dataclass(frozen=True, slots=True)
class Comment:
    """Text for the reader of the generated code."""

    text: str


Stm: TypeAlias = (
    Declare | DeclareArray | Assign | Store | For | While | If | Barrier | Shuffle | Atomic
    | AtomicUpdate | Locked | Peek | Fence | Fail | Comment
)


# Kernels


@dataclass(frozen=True, slots=True)
class BufferParam:
    """A global buffer of elements of type ``prim``."""

    name: VName
    prim: Prim
    written: bool


@dataclass(frozen=True, slots=True)
class ScalarParam:
    """A scalar argument of a kernel."""

    name: VName
    prim: Prim


@dataclass(frozen=True, slots=True)
class LocalArray:
    """Local memory of ``length`` elements; the length is known at launch.

    ``within`` names another array in whose memory this one lies.
    """

    name: VName
    prim: Prim
    length: Size
    within: VName | None = None


KernelParam: TypeAlias = BufferParam | ScalarParam


@dataclass(frozen=True, slots=True)
class Failure:
    """A message with ``{}`` for the arguments of :class:`Fail`, and the place it is about."""

    message: str
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its parameters, local memory, code, and the failures it can report.

    ``constants`` are positive i64s that are fixed when the kernel is built, so that one kernel is
    built several times.  The first of them, if there are any, is the size of the work-group.  But
    kernels whose work-items have ``width`` points each run in groups of all sizes.  ``settings``
    are fixed then too, and say how loops are unrolled: 0 leaves it to the compiler.

    ``teams``, if any, is the constant that says how many groups run side by side, as one group of
    the device.  They share barriers, but each has separate local memory.  If their number does not
    divide the groups of a launch, the launch has more groups, which touch no memory.  The constant
    ``even`` is 1 only if there are no such groups.

    ``kind`` is the form of the kernel, by which its class is known
    (:mod:`runelift.codegen.plan.kernel_classes`).
    """

    name: str
    params: tuple[KernelParam, ...]
    locals: tuple[LocalArray, ...]
    body: tuple[Stm, ...]
    failures: tuple[Failure, ...] = ()
    comment: str = field(default="", compare=False)
    constants: tuple[VName, ...] = ()
    settings: tuple[VName, ...] = ()
    teams: VName | None = None
    even: VName | None = None
    width: VName | None = None
    kind: str = field(default="", compare=False)

    @property
    def group(self) -> VName | None:
        """The constant that is the size of the work-group, if there is one."""
        return self.constants[0] if self.constants and self.width is None else None

    @property
    def built_for(self) -> tuple[VName, ...]:
        """All that is fixed when the kernel is built."""
        return (*self.constants, *self.settings)

    @property
    def local_memory(self) -> tuple[LocalArray, ...]:
        """The local arrays that do not lie within another one: one argument each."""
        return tuple(array for array in self.locals if array.within is None)
