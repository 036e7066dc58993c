"""The host plan: what the host does to run one entry point.

A plan is a structured program over host scalars, device buffers and views of them.  It is
made from the versioned IR by :mod:`~runelift.codegen.host`, which asks
:mod:`~runelift.codegen.kernels` to lower each segmented operation into steps of this very
language, and it is printed as straight-line Python by :mod:`~runelift.codegen.python`.

Buffers hold elements in row-major order.  Sizes are :class:`runelift.ir.sizes.Size` over host
scalars of type i64; :data:`GROUP_SIZE` and the like are variables that the runtime binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from runelift.codegen.parameters import Parameter, Quantity
from runelift.ir import imp
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.source import Loc
from runelift.ir.types import Atom, i64

GROUP_SIZE = VName("group_size", 0)
"""The default number of work-items in a work-group on the device that runs."""
NUM_GROUPS = VName("num_groups", 0)
"""The default number of work-groups of a kernel whose work-items loop."""
SEQUENTIAL_SEGMENT = VName("sequential_segment", 0)
"""Up to which length a work-item reduces or scans a whole segment alone on the device."""
LOCAL_BYTES = VName("local_bytes", 0)
"""How much local memory a work-group can have on the device."""
COUNTERS = VName("counters", 0)
"""A buffer of NUM_GROUPS i32s that are 0 before and after every kernel."""
COHERENT = VName("coherent", 0)
"""1 where groups see, after a fence, what others wrote in the same launch, else 0."""
DEVICE_SIZES = (GROUP_SIZE, NUM_GROUPS, SEQUENTIAL_SEGMENT, LOCAL_BYTES, COHERENT)
DEFAULTS: dict[Quantity, Atom] = {
    Quantity.GROUP: GROUP_SIZE, Quantity.GROUPS: NUM_GROUPS, Quantity.SHORT: SEQUENTIAL_SEGMENT}
"""What a parameter is where nobody has chosen; others are 0, which leaves it to the host."""


NOTHING = Size(())
START: imp.Exp = imp.Lit(i64(0))

# Buffers


@dataclass(frozen=True, slots=True)
class Alloc:
    """A buffer of ``count`` elements (at least one is allocated) from the pool."""

    name: VName
    prim: Prim
    count: Size


@dataclass(frozen=True, slots=True)
class Release:
    """The last use of ``names`` has been; their memory may be used again."""

    names: tuple[VName, ...]


@dataclass(frozen=True, slots=True)
class CopyBuffer:
    """Copy ``count`` elements, from ``start`` on in ``source``, to the start of ``target``."""

    target: VName
    source: VName
    prim: Prim
    count: Size
    start: imp.Exp = START


@dataclass(frozen=True, slots=True)
class Read:
    """Read element ``index`` of a buffer into a host scalar; waits for the device."""

    name: VName
    prim: Prim
    buffer: VName
    index: imp.Exp


# Scalars


@dataclass(frozen=True, slots=True)
class Compute:
    """``name := op.prim(args)`` on host scalars; division by zero fails at ``loc``."""

    name: VName
    op: str
    prim: Prim
    args: tuple[Atom, ...]
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class ConvertScalar:
    """``name := convert.from.to(arg)``."""

    name: VName
    from_: Prim
    to: Prim
    arg: Atom


@dataclass(frozen=True, slots=True)
class ComputeSize:
    """``name := size``."""

    name: VName
    size: Size


@dataclass(frozen=True, slots=True)
class Bind:
    """``target := source`` for scalars and buffers alike (a loop's or branch's results)."""

    target: VName
    source: Atom


@dataclass(frozen=True, slots=True)
class Promise:
    """There is nothing in buffer ``name`` yet; whoever needs it fills it before."""

    name: VName


@dataclass(frozen=True, slots=True)
class Fill:
    """Steps that make the promised buffer ``name``, unless that was done before."""

    name: VName
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Fail with ``message`` (``{}`` for the args) unless ``cond``."""

    cond: Atom
    message: str
    args: tuple[Atom, ...]
    loc: Loc | None = None


# Kernels


@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel with one argument per parameter of the kernel, in order.

    ``groups`` work-groups of ``group`` work-items.  A launch of 0 groups does nothing.  The host
    knows the kernel's constants under the same names; a kernel is built for their values.  If it
    has teams, groups of the device are that many of these.
    """

    kernel: imp.Kernel
    args: tuple[Atom, ...]
    groups: Size
    group: Size
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """How the work-items of a group share ``points``: ``size`` elements each, in private memory.

    ``whole`` is 1 where the work-items have exactly the points, else 0.
    """

    size: VName
    whole: VName
    points: Size


@dataclass(frozen=True, slots=True)
class ShareOut:
    """Choose the size of a work-group (a power of two) and of the chunks of its work-items.

    ``group`` is 0 where the device cannot have chunks as long as that.
    ``staged`` is 1 where work-items better reach chunks of global memory by way of local memory.
    ``subgroup`` work-items in a row can hand each other values, if it is not 1.
    ``loops`` are numbers of points that the work-items share in loops of any length, ``rows`` the
    numbers and lengths of rows that they reduce, several to a row if there are few; ``groups`` is
    how many groups there are.  ``wanted`` says how large the group and how long chunks should be,
    0 for any.  ``teams``: such groups can be smaller than the device likes, see :class:`Teams`.
    ``apart``: how many indices count the rows of work-items that hand nothing to each other; 0 for
    others.
    """

    group: VName
    staged: VName
    subgroup: VName
    chunks: tuple[Chunk, ...]
    loops: tuple[Size, ...]
    rows: tuple[tuple[Size, Size], ...]
    groups: Size
    wanted: tuple[Atom, Atom] = (i64(0), i64(0))
    teams: bool = False
    apart: int = 0

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (self.group, self.staged, self.subgroup,
                *(n for c in self.chunks for n in (c.size, c.whole)))

    def sizes(self) -> tuple[Size, ...]:
        """What the choice depends on."""
        return (*(c.points for c in self.chunks), *self.loops, *chain(*self.rows), self.groups)


@dataclass(frozen=True, slots=True)
class Teams:
    """``teams`` := how many of the ``groups`` run side by side, as one group of the device.

    They have ``group`` work-items and ``bytes`` of local memory each.  ``even`` is 1 where there is
    a group for each team, else 0.  ``wanted`` says how many there should be, 0 for any.  ``apart``
    as in :class:`ShareOut`.
    """

    teams: VName
    even: VName
    group: VName
    groups: Size
    bytes: Size
    wanted: Atom
    apart: int = 0


@dataclass(frozen=True, slots=True)
class SubGroup:
    """``subgroup`` := how many work-items in a row of a group can hand each other values.

    It is 1 where they cannot, or where groups of that size gain nothing by it.
    """

    subgroup: VName
    group: VName


@dataclass(frozen=True, slots=True)
class Spread:
    """``group`` := how large groups should be so that all compute units have some of ``points``.

    They have ``most`` work-items at most.
    """

    group: VName
    most: VName
    points: Size


@dataclass(frozen=True, slots=True)
class Width:
    """``width`` := how many points of a map a work-item has, ``most`` at most.

    There are ``points`` in all; in several dimensions those of a work-item are neighbours among
    ``rows``, each of ``beside`` points.  A point loads and stores ``bytes`` bytes; if it
    ``shares``, its neighbours may load the same ones.  ``wanted`` says how many there should be,
    0 for any.
    """

    width: VName
    points: Size
    rows: Size
    beside: Size
    bytes: int
    shares: bool
    most: int
    wanted: Atom


@dataclass(frozen=True, slots=True)
class Tile:
    """Choose how groups share ``points`` elements of ``bytes`` bytes in tiles.

    A tile has ``chunk`` elements for each of ``group`` work-items; ``staged`` as in ShareOut.
    Groups look back at ``window`` earlier tiles and ask no more than ``patience`` times for their
    totals; ``patience`` is 0 where they had better not wait for each other.  ``wanted`` says how
    large groups and how long chunks should be, 0 for any.
    """

    group: VName
    staged: VName
    chunk: VName
    window: VName
    patience: VName
    points: VName
    bytes: int
    wanted: tuple[Atom, Atom] = (i64(0), i64(0))

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (self.group, self.staged, self.chunk, self.window, self.patience)


@dataclass(frozen=True, slots=True)
class Statuses:
    """``name`` is the device's buffer for what groups tell each other: ``words`` u64s or more.

    See :mod:`runelift.codegen.look_back`, which alone uses it.
    """

    name: VName
    words: Size


@dataclass(frozen=True, slots=True)
class Block:
    """Choose how groups share the last two dimensions of a product, in blocks.

    A group has ``side`` x ``side`` work-items (``group`` in all), each of them ``rows`` x
    ``columns`` points (``cells`` in all), and goes through the reduction ``depth`` elements at a
    time.  ``rows`` is 0 where blocks are not worth while.  Where there are few blocks, the
    reduction of ``length`` elements is done in ``pieces``, by a group for each.  There is local
    memory for ``slabs``: if for two, the next is put there while the last is combined.  ``bytes``
    are those of an element along the height and along the width.  ``wanted`` says what side, rows
    and columns should be, 0 for any.
    """

    group: VName
    side: VName
    rows: VName
    columns: VName
    depth: VName
    cells: VName
    slabs: VName
    pieces: VName
    height: Size
    width: Size
    batch: Size
    length: Size
    bytes: tuple[int, int]
    wanted: tuple[Atom, Atom, Atom] = (i64(0), i64(0), i64(0))

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.group, self.side, self.rows, self.columns, self.depth, self.cells, self.slabs)

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.pieces)


@dataclass(frozen=True, slots=True)
class Box:
    """What a group brings to local memory of an array, of elements of so many ``bytes``.

    ``sides`` says for each dimension whether the segments of a work-item, the elements that are
    combined at a time, neighbouring work-items and the iterations of a tile walk it (1) or not.
    """

    bytes: int
    sides: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Coarse:
    """Choose how groups share segments that are reduced together.

    A work-item has ``points`` segments and combines ``steps`` elements of each at a time
    (``cells`` together).  A ``group`` has ``across`` work-items for neighbouring segments, and
    ``split`` for each of those.  ``points`` is 0 where this is not worth while.  There are
    ``batch`` times ``height`` times ``width`` segments of ``length`` elements; ``height`` is 0
    where a work-item's segments lie in the last dimension.  ``slides`` is 1 if neighbouring
    segments share most elements, ``roots`` if something is divided by roots, which several points
    make quicker (:mod:`~runelift.codegen.roots`).  ``loops``: how many loops are around each other
    at an element, for each of which a work-item keeps values for all cells.  The totals of a
    segment have so many ``bytes``.  Of the arrays in ``boxes``, a group may bring what it needs for
    ``tile`` iterations of such a loop to local memory; ``tile`` is 0 where it does not.  ``wanted``
    says what group, points, steps, split and tile should be, 0 for any.
    """

    group: VName
    across: VName
    split: VName
    points: VName
    steps: VName
    cells: VName
    tile: VName
    height: Size
    width: Size
    batch: Size
    length: Size
    slides: bool
    bytes: int
    wanted: tuple[Atom, Atom, Atom, Atom, Atom]
    roots: bool = False
    loops: int = 0
    boxes: tuple[Box, ...] = ()

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, and that kernels are built for, in order."""
        return (self.group, self.across, self.split, self.points, self.steps, self.cells,
                self.tile)


@dataclass(frozen=True, slots=True)
class Strip:
    """Choose how reductions down the columns of matrices are shared.

    A work-item (``group`` is 1) has ``columns`` neighbouring columns, of ``width`` in each of
    ``batch`` matrices, and one of ``pieces`` parts of the ``length`` rows.  ``columns`` is 0 where
    the device has nothing of it.
    """

    group: VName
    columns: VName
    pieces: VName
    width: Size
    batch: Size
    length: Size

    def constants(self) -> tuple[VName, ...]:
        """The sizes that kernels are built for."""
        return (self.group, self.columns)

    def names(self) -> tuple[VName, ...]:
        """The sizes that are set, in order."""
        return (*self.constants(), self.pieces)


# Control


@dataclass(frozen=True, slots=True)
class Operation:
    """The steps of one segmented operation, which depend on its parameters.

    They can be run again: they read nothing that they release, and what they need and write is
    there before.  ``early`` are choices that were made before the version was, for them.
    """

    name: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    early: tuple[ShareOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """``if cond then_ else_``."""

    cond: Atom
    then_: tuple[Step, ...]
    else_: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """The scalars of the host that change from one iteration of a loop to the next.

    ``carried`` are handed on.  ``steps`` compute from those and the index what kernels are given
    besides, and then the next ``carried``; ``columns`` are all that kernels are given, with types.
    """

    carried: tuple[VName, ...]
    columns: tuple[tuple[VName, Prim], ...]
    steps: tuple[Step, ...]
    following: tuple[Bind, ...]


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """``for index below bound``.

    ``carried``: the buffers that iterations hand on, if all iterations launch the same kernels
    (:func:`runelift.codegen.persistent.may_persist`), else None.  ``course``: the scalars that
    only kernels of such a loop need, so that its body does not compute them.
    """

    index: VName
    bound: Atom
    body: tuple[Step, ...]
    carried: tuple[VName, ...] | None = None
    course: Course | None = None


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """``while cond``: the body sets ``cond`` again.

    ``in_cell``: whether ``cond`` is a buffer whose only element says so.  ``carried`` is as of
    counted loops; they need the condition in a buffer.
    """

    cond: VName
    body: tuple[Step, ...]
    in_cell: bool = False
    carried: tuple[VName, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """One alternative: its guard, what it needs of the device, and its steps.

    ``local_bytes`` is the local memory that its most demanding kernel needs; the version is
    infeasible where the device has less, or where one of the sizes ``groups`` is 0.
    ``infeasible`` is why code generation gave the version up, if it did.
    """

    guard: Guard | None
    kind: Kind
    steps: tuple[Step, ...]
    local_bytes: Size = NOTHING
    infeasible: str | None = None
    groups: tuple[VName, ...] = ()


@dataclass(frozen=True, slots=True)
class Choose:
    """One encounter: run the first feasible version whose guard holds.

    ``sizes`` are the host scalars that the record of the encounter keeps, ``results`` what every
    version computes.
    """

    site: str
    versions: tuple[PlanVersion, ...]
    sizes: tuple[VName, ...]
    results: tuple[ValueSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Settle:
    """From here on the versions that were chosen at ``sites`` cannot be given up.

    They have changed memory that the other versions would read.
    """

    sites: tuple[str, ...]


Sharing: TypeAlias = ShareOut | Teams | SubGroup | Spread | Width | Tile | Block | Strip | Coarse
"""What the runtime decides about the work of a launch."""
Step: TypeAlias = (
    Alloc | Release | CopyBuffer | Read | Compute | ConvertScalar | ComputeSize | Bind
    | Promise | Fill | Check | Launch | Sharing | Statuses | Operation | Branch | CountedLoop
    | WhileLoop | Choose | Settle
)


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """How an argument or result looks from outside: a scalar or an array and its shape."""

    name: VName
    prim: Prim
    shape: tuple[Atom, ...] | None


@dataclass(frozen=True, slots=True)
class Interface:
    """What a caller of an entry point gives.

    Size parameters are bound from the shapes of the arguments, which must agree.
    """

    entry: str
    sizes: tuple[VName, ...]
    params: tuple[ValueSpec, ...]


@dataclass(frozen=True, slots=True)
class Plan(Interface):
    """The plan of an entry point."""

    results: tuple[ValueSpec, ...]
    steps: tuple[Step, ...]


def bodies(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The steps inside of a step: its branches, loop body, or versions that can run."""
    match step:
        case Branch(_, then_, else_):
            return then_, else_
        case CountedLoop() | WhileLoop():
            return (step.body,)
        case Fill(_, steps) | Operation(_, _, steps):
            return (steps,)
        case Choose(_, versions):
            return tuple(v.steps for v in versions if v.infeasible is None)
    return ()


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, and those inside of them."""
    for step in steps:
        yield step
        for body in bodies(step):
            yield from all_steps(body)


def kernels(steps: Iterable[Step]) -> Iterator[imp.Kernel]:
    """The kernels that steps launch, in all branches, loops and versions."""
    return (step.kernel for step in all_steps(steps) if isinstance(step, Launch))


def operations(steps: Iterable[Step]) -> Iterator[Operation]:
    """The operations among the steps and inside of them."""
    return (step for step in all_steps(steps) if isinstance(step, Operation))


def parameters(steps: Iterable[Step]) -> tuple[Parameter, ...]:
    """The parameters of all operations, in order."""
    return tuple(p for operation in operations(steps) for p in operation.parameters)
