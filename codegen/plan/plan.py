"""The host plan: the steps by which the host runs one entry point.

A plan is a structured program over host scalars, device buffers and views of them.
:mod:`~runelift.codegen.hostplan.host` makes it from the versioned IR.  It asks
:mod:`~runelift.codegen.hostplan.dispatch` to lower each segmented operation into steps.
:mod:`~runelift.codegen.emit.python` prints a plan as straight-line Python.  Steps that divide the
work of a launch are in :mod:`~runelift.codegen.plan.shapes`.

Buffers hold elements in row-major order.  Sizes are :class:`runelift.ir.sizes.Size` over host
scalars of type i64; :data:`GROUP_SIZE` and the like are variables that the runtime binds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from runelift.codegen.plan.parameters import Parameter, Quantity
from runelift.codegen.plan.shapes import GroupShape, Shape
from runelift.ir import imp
from runelift.ir.base.source import Loc
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.types import Atom, i64

GROUP_SIZE = VName("group_size", 0)
"""The default number of work-items in a work-group on the device that runs."""
NUM_GROUPS = VName("num_groups", 0)
"""The default number of work-groups of a kernel whose work-items loop."""
SEQUENTIAL_SEGMENT = VName("sequential_segment", 0)
"""The greatest length of a segment that one work-item reduces or scans alone on the device."""
LOCAL_BYTES = VName("local_bytes", 0)
"""The bytes of local memory that a work-group can have on the device."""
MAX_GROUP = VName("max_group", 0)
"""The most work-items that a work-group can have on the device."""
COUNTERS = VName("counters", 0)
"""A buffer of NUM_GROUPS i32s that are 0 before and after every kernel."""
DEVICE_SIZES = (GROUP_SIZE, NUM_GROUPS, SEQUENTIAL_SEGMENT, LOCAL_BYTES, MAX_GROUP)
PARAMETER_DEFAULTS: dict[Quantity, Atom] = {
    Quantity.GROUP: GROUP_SIZE, Quantity.GROUPS: NUM_GROUPS, Quantity.SHORT: SEQUENTIAL_SEGMENT}
"""The values of parameters that no tuning file sets.

Any other parameter is 0, which leaves it to the host.
"""


NO_BYTES = Size(())
FROM_START: imp.Exp = imp.Lit(i64(0))

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
    start: imp.Exp = FROM_START


@dataclass(frozen=True, slots=True)
class Read:
    """Read element ``index`` of ``buffer`` into the host scalar ``name``; waits for the device."""

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
    """``name := convert.from_.to(arg)`` on host scalars."""

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
class SlabSize:
    """``name := slab_size(bytes, longest)``: the elements of a run of segments.

    An element takes so many bytes.  A run fits into memory beside a segment of ``longest``.
    """

    name: VName
    bytes: Atom
    longest: Atom


@dataclass(frozen=True, slots=True)
class Bind:
    """``target := source`` for scalars and buffers alike (a loop's or branch's results)."""

    target: VName
    source: Atom


@dataclass(frozen=True, slots=True)
class LazyCopy:
    """``name`` is a buffer without contents yet; the steps that need it fill it first."""

    name: VName


@dataclass(frozen=True, slots=True)
class Fill:
    """Steps that make the lazy copy ``name``, unless it has been made before."""

    name: VName
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Fail at ``loc`` unless ``cond`` holds; ``args`` stand for the ``{}`` in ``message``."""

    cond: Atom
    message: str
    args: tuple[Atom, ...]
    loc: Loc | None = None


# Kernels


class FactsFlow(NamedTuple):
    """A kernel that finds facts about lengths: the numbers of two arguments.

    ``target`` gets facts about the lengths in ``source``, or about lengths that ``source`` has
    facts about.  It may have room for the first fact alone.
    """

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel with one argument per parameter of the kernel, in order.

    ``groups`` work-groups of ``group`` work-items.  A launch of 0 groups does nothing.  The host
    knows the constants of the kernel by their names; a kernel is built for their values.  If the
    kernel has teams, a group of the device is that many of these groups.

    The device must have ``local_bytes`` bytes of local memory for a group.  They are none if what
    the kernel has there was chosen to fit.  The size ``shaped``, if there is one, is 0 if the
    device can have no such groups.  ``branch`` names the branches of the operation around.
    ``facts``: the launch finds facts about lengths, which predictions follow.
    """

    kernel: imp.Kernel
    args: tuple[Atom, ...]
    groups: Size
    group: Size
    loc: Loc | None = None
    local_bytes: Size = NO_BYTES
    shaped: VName | None = None
    branch: str = ""
    facts: FactsFlow | None = None

    def __str__(self) -> str:
        return self.kernel.name + (f" ({self.branch})" if self.branch else "")

    def needed(self) -> set[VName]:
        """The sizes that tell whether it is possible."""
        return {*self.local_bytes.variables(), *([self.shaped] if self.shaped else ())}


@dataclass(frozen=True, slots=True)
class AllocScanStatus:
    """``name`` is the device's buffer of scan status words: ``words`` u64s or more.

    See :mod:`runelift.codegen.segops.segscan_single_pass`, its only user.
    """

    name: VName
    words: Size


# Control


@dataclass(frozen=True, slots=True)
class Operation:
    """The steps of one segmented operation, which depend on its parameters.

    They can be run again: they release nothing that they read, and buffers that they need or write
    exist before.  ``early`` are the choices for them that precede the choice of a version.
    """

    name: str
    parameters: tuple[Parameter, ...]
    steps: tuple[Step, ...]
    early: tuple[GroupShape, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """``if cond then_ else_``."""

    cond: Atom
    then_: tuple[Step, ...]
    else_: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class LoopScalars:
    """The scalars of the host that change from one iteration of a loop to the next.

    Iterations hand on ``carried``.  From these scalars and the index, ``steps`` compute further
    arguments of kernels, and then the next ``carried``.  ``columns`` are all arguments of kernels,
    with types.
    """

    carried: tuple[VName, ...]
    columns: tuple[tuple[VName, Prim], ...]
    steps: tuple[Step, ...]
    following: tuple[Bind, ...]


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """``for index below bound``.

    ``carried``: the buffers that iterations hand on, if all iterations launch the same kernels
    (:func:`runelift.codegen.plan.steady_loops.may_persist`), else None.  ``scalars``: scalars that
    only kernels of such a loop need, so that its body does not compute them.  ``alike``: what
    the host knows before an iteration does not differ between iterations, but for the index.
    """

    index: VName
    bound: Atom
    body: tuple[Step, ...]
    carried: tuple[VName, ...] | None = None
    scalars: LoopScalars | None = None
    alike: bool = False


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """``while cond``: the body sets ``cond`` again.

    ``in_buffer``: ``cond`` is a buffer whose only element is the condition.  ``carried`` is as in
    counted loops, and needs the condition in a buffer.
    """

    cond: VName
    body: tuple[Step, ...]
    in_buffer: bool = False
    carried: tuple[VName, ...] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Apply a function of the plan to ``args``, and bind its results to ``outs``.

    An array of ``args`` is a row-major buffer, which the function only reads.  The caller is the
    only owner of the buffers among ``outs``.  It hands the names ``last`` on, as they have their
    last use here: the function releases their memory.
    """

    function: VName
    args: tuple[Atom, ...]
    outs: tuple[ValueSpec, ...]
    loc: Loc | None = None
    last: tuple[VName, ...] = ()


@dataclass(frozen=True, slots=True)
class Recursion:
    """A function of the plan that calls itself, and the call of it from outside.

    ``body`` binds ``results``.  It may read what is bound before the function.
    """

    params: tuple[ValueSpec, ...]
    body: tuple[Step, ...]
    results: tuple[VName, ...]
    call: Call


@dataclass(frozen=True, slots=True)
class Need:
    """One of ``launches`` must be possible on the device.

    Several launches stand in branches, of which the host takes one that is possible.  ``when`` are
    scalars of the host and the values that they have where there is a need.
    """

    launches: tuple[Launch, ...]
    when: tuple[tuple[VName, bool], ...] = ()

    def __str__(self) -> str:
        return " or ".join(map(str, self.launches))

    def names(self) -> set[VName]:
        """The scalars that tell whether there is a need, and whether it is met."""
        return {cond for cond, _ in self.when}.union(*(each.needed() for each in self.launches))


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """One code version: its guard, its needs on the device, and its steps.

    The version is infeasible if one of its ``needs`` is not met.  ``infeasible`` is the reason why
    code generation gave the version up, if it did.
    """

    guard: Guard | None
    kind: Kind
    steps: tuple[Step, ...]
    needs: tuple[Need, ...] = ()
    infeasible: str | None = None


@dataclass(frozen=True, slots=True)
class Choose:
    """One encounter: run the first feasible version whose guard holds.

    ``sizes`` are the host scalars that the record of the encounter keeps, ``results`` what every
    version computes.  ``costs`` is the text of functions that predict the time of each version, and
    ``facts`` are the host scalars that they take (:mod:`runelift.codegen.cost.version_costs`).
    """

    site: str
    versions: tuple[PlanVersion, ...]
    sizes: tuple[VName, ...]
    results: tuple[ValueSpec, ...] = ()
    facts: tuple[VName, ...] = ()
    costs: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """From here on, the versions chosen at ``sites`` cannot be abandoned.

    They have changed memory that the other versions would read.
    """

    sites: tuple[str, ...]


Step: TypeAlias = (
    Alloc | Release | CopyBuffer | Read | Compute | ConvertScalar | ComputeSize | SlabSize
    | Bind | LazyCopy | Fill | Check | Launch | Shape | AllocScanStatus | Operation | Branch
    | CountedLoop | WhileLoop | Choose | Commit | Call | Recursion
)


def set_by(step: Step) -> VName | None:
    """The scalar or name that a step itself binds; None if it binds neither."""
    match step:
        case (Read(name) | Compute(name) | ConvertScalar(name) | ComputeSize(name)
              | SlabSize(name) | Bind(name)):
            return name
    return None


def sets(step: Step) -> Iterator[VName]:
    """The scalars and sizes that a step itself sets."""
    if name := set_by(step):
        yield name
    if isinstance(step, Shape):
        yield from step.names()
    if isinstance(step, Call | Recursion):
        call = step if isinstance(step, Call) else step.call
        yield from (out.name for out in call.outs if out.shape is None)


@dataclass(frozen=True, slots=True)
class ValueSpec:
    """An argument or result: a scalar of type ``prim``, or an array if there is a ``shape``."""

    name: VName
    prim: Prim
    shape: tuple[Atom, ...] | None


@dataclass(frozen=True, slots=True)
class Interface:
    """The entry point's name, size parameters and parameters.

    Size parameters are bound from the shapes of the arguments, which must agree.
    """

    entry: str
    sizes: tuple[VName, ...]
    params: tuple[ValueSpec, ...]


@dataclass(frozen=True, slots=True)
class Plan(Interface):
    """The host plan of an entry point: its interface, results and steps.

    ``works`` has the texts of the formulas of work that costs of versions call, by kernel.
    """

    results: tuple[ValueSpec, ...]
    steps: tuple[Step, ...]
    works: Mapping[str, str] = field(default_factory=dict, hash=False)


def bodies(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The steps inside of a step: its branches, loop body, or versions that can run."""
    match step:
        case Branch(_, then_, else_):
            return then_, else_
        case CountedLoop() | WhileLoop() | Recursion():
            return (step.body,)
        case Fill(_, steps) | Operation(_, _, steps):
            return (steps,)
        case Choose(_, versions):
            return tuple(v.steps for v in versions if v.infeasible is None)
    return ()


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, and all steps inside them."""
    left = [*steps][::-1]
    while left:
        step = left.pop()
        yield step
        inside = [each for body in bodies(step) for each in body]
        left += reversed(inside)


def set_in(steps: Iterable[Step]) -> Iterator[VName]:
    """The scalars and names that steps, and all steps inside them, bind."""
    return (name for step in all_steps(steps) if (name := set_by(step)) is not None)


def apart_from_fills(steps: Iterable[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The fills among the steps of an operation and of its branches, then all other steps."""
    fills, others = list[Step](), list[Step]()
    for step in steps:
        match step:
            case Fill():
                fills.append(step)
            case Branch(cond, then_, else_):
                (first, then_), (second, else_) = map(apart_from_fills, (then_, else_))
                fills += (*first, *second)
                others.append(Branch(cond, then_, else_))
            case _:
                others.append(step)
    return tuple(fills), tuple(others)


def kernels(steps: Iterable[Step]) -> Iterator[imp.Kernel]:
    """The kernels that steps launch, in all branches, loops and versions, each once."""
    found = (step.kernel for step in all_steps(steps) if isinstance(step, Launch))
    return iter({kernel.name: kernel for kernel in found}.values())


def operations(steps: Iterable[Step]) -> Iterator[Operation]:
    """The operations among the steps and inside of them, each once.

    The steps that fill a stored margin may stand in several versions.
    """
    found = (step for step in all_steps(steps) if isinstance(step, Operation))
    return iter({operation.name: operation for operation in found}.values())


def parameters(steps: Iterable[Step]) -> tuple[Parameter, ...]:
    """The parameters of all operations, in order."""
    return tuple(p for operation in operations(steps) for p in operation.parameters)
