"""Launches under construction: helpers for the lowering of all segmented operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from runelift.codegen.kernel.kernel_builder import CodeBuilder, PlanEnv, Scratch, Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.invariant_checks import with_early_checks
from runelift.codegen.passes.trips import with_trips
from runelift.codegen.passes.unrolling import has_loops, unroll_private_arrays, with_unroll_factor
from runelift.codegen.plan import plan
from runelift.codegen.plan.needs import needs
from runelift.codegen.plan.parameters import Parameters, Quantity
from runelift.codegen.plan.shapes import GroupShape, GroupSize, SubGroupSize
from runelift.codegen.plan.views import View, ceil_quot, op, unflat_index, volume
from runelift.ir import imp
from runelift.ir.analysis.blocks import blocks_of
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.guards import Lengths
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import evaluated, statements, variables
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least, product
from runelift.ir.syntax import Body, Lambda, Operator, Param, SegMap, Space, Stm
from runelift.ir.types import Atom, Type, as_name, elem_of, i64

LID, LSIZE = imp.WorkItem(imp.Id.LOCAL_ID), imp.WorkItem(imp.Id.LOCAL_SIZE)
GID, GSIZE = imp.WorkItem(imp.Id.GLOBAL_ID), imp.WorkItem(imp.Id.GLOBAL_SIZE)
GROUP_ID, GROUP_COUNT = imp.WorkItem(imp.Id.GROUP_ID), imp.WorkItem(imp.Id.NUM_GROUPS)
LEAST_ELEMENTS = 8
"""The least elements per work-item for which a segment gets a further group, if they cost little.
"""
ITEM_BYTES = 32
"""So many bytes of local memory for each work-item are there in groups of any usual size."""
GROUP_BYTES = 16
"""The bytes of local memory for what a group notes besides partial results."""


@dataclass(slots=True)
class Lowering:
    """The state of the lowering of one statement.

    Without ``parameters`` there is nothing to choose, and defaults of the device hold.  If
    ``fixed`` is not None, kernels are built for the values of these sizes, so that arrays of a
    work-item are private.  Otherwise such arrays are in ``scratch`` memory, which all kernels
    share.  ``scalars`` are i64s that the steps compute.  ``testing``: kernels test margins of
    arrays, and do not read stored margins.  ``route`` names the branches around what is being
    lowered.  ``lengths`` are facts about the loops of work-items whose bounds elements decide.
    ``added`` are lengths that the operation adds, and the buffer of their sum.  ``checks`` have
    no results; a kernel with a work-item for each point makes them as well.
    """

    stm: Stm
    env: PlanEnv
    names: Names
    parameters: Parameters | None = None
    steps: list[plan.Step] = field(default_factory=list)
    temporaries: list[VName] = field(default_factory=list)
    scalars: set[VName] = field(default_factory=set)
    fixed: tuple[VName, ...] | None = None
    scratch: tuple[Scratch, ...] = ()
    testing: bool = False
    route: tuple[str, ...] = ()
    lengths: Lengths | None = None
    added: tuple[VName, VName] | None = None
    checks: SegMap | None = None

    def builder(self) -> KernelBuilder:
        """A kernel to be built."""
        return KernelBuilder(self.names, self, loc=self.stm.loc, fixing=self.fixed is not None)

    @property
    def interleave(self) -> bool:
        """True if neighbouring work-items should access neighbouring elements."""
        return self.env.interleave

    @property
    def coherent(self) -> bool:
        """True if groups see, after a fence, what other groups wrote in the same launch."""
        return self.env.coherent

    def setting(self, quantity: Quantity) -> Atom:
        """A parameter of the operation, or its default if the operation has none."""
        if self.parameters is None:
            return plan.PARAMETER_DEFAULTS.get(quantity, i64(0))
        return self.parameters.variable(quantity)

    def unroll_factor(self) -> Atom:
        """The unroll factor of the innermost loop: what a schedule asks for, or a parameter."""
        asked = blocks_of(self.stm)
        return (self.scalar("unroll", Size.of(asked.unroll))
                if asked is not None and asked.unroll else self.setting(Quantity.UNROLL))

    @property
    def group_size(self) -> VName:
        """The number of work-items of a group, where no kernel needs a certain number."""
        return as_name(self.setting(Quantity.GROUP))

    @property
    def host_chosen(self) -> set[VName]:
        """The sizes that follow from the device, or are parameters."""
        found = () if self.parameters is None else self.parameters.found.values()
        return {*plan.DEVICE_SIZES, *(p.variable for p in found)}

    @property
    def group(self) -> Size:
        """:attr:`group_size` as a size."""
        return Size.var(self.group_size)

    @property
    def groups(self) -> Size:
        """The number of groups of kernels whose work-items loop."""
        return self.size(self.setting(Quantity.GROUPS))

    def type(self, name: VName) -> Type:
        """The type of a host name, or of a number of this lowering."""
        return Prim.I64 if name in self.scalars else self.env.type(name)

    def view(self, name: VName) -> View:
        """The view of a host array, or of its stored copy if there is one."""
        view = self.env.view(name)
        return view if view.stored is None or self.testing else view.stored

    def size(self, atom: Atom) -> Size:
        """A width as the host knows it."""
        return Size.var(atom) if isinstance(atom, VName) else Size.of(int(atom.value))

    @property
    def results(self) -> list[View]:
        """The views of the results."""
        return [self.view(param.name) for param in self.stm.pat]

    def temporary(self, base: str, prim: Prim, count: Size) -> VName:
        """A buffer that lives as long as this operation."""
        name = self.names.fresh(base)
        self.steps.append(plan.Alloc(name, prim, count))
        self.temporaries.append(name)
        return name

    def scalar(self, base: str, size: Size) -> VName:
        """A number that the host computes and the kernels may use."""
        name = self.names.fresh(base)
        self._define(name, size)
        return name

    def _define(self, name: VName, size: Size) -> None:
        self.steps.append(plan.ComputeSize(name, size))
        self.scalars.add(name)

    def launch(self, k: KernelBuilder, kind: str, groups: Size, group: Size | None = None,
               *, fits: bool = False, shaped: VName | None = None,
               aliases: Mapping[VName, VName] | None = None) -> None:
        """Finish a kernel and launch it.

        ``fits``: its local memory has been chosen to fit, and sets no limit on the device.
        ``shaped`` is as in :class:`~runelift.codegen.plan.plan.Launch`.  ``aliases``: further names
        of buffers in the kernel, for elements of another type.
        """
        group = group or self.group
        self.scratch = tuple(k.scratch) or self.scratch
        for scratch in k.scratch:
            count = scratch.count * groups * group
            self.steps.append(plan.Alloc(scratch.name, scratch.prim, count))
            self.temporaries.append(scratch.name)
            if scratch.stride is not None:
                self._define(scratch.stride, scratch.count)
        k.settle_failures()
        k.code = with_early_checks(k.code)
        if self.interleave:
            k.code = unroll_private_arrays(k.code)
        if self.parameters is not None and has_loops(k.code, k.constants):
            k.settings = k.settings or [as_name(self.setting(Quantity.UNROLL))]
            k.code = with_unroll_factor(k.settings[0], k.code, k.constants)
        if self.lengths is not None:
            k.code = with_trips(k.code, self._trips(k, self.lengths))
        kernel, args = finish(k, kind, self)
        if aliases:
            args = tuple(aliases.get(as_name(arg), arg) for arg in args)
        total = Size.of(0)
        for array in kernel.local_memory if not fits else ():
            total = total + array.length * array.prim.bytes
        self.steps.append(plan.Launch(kernel, args, groups, group, self.stm.loc, total, shaped,
                                      ", ".join(self.route), self._flow(args)))

    def _flow(self, args: Sequence[Atom]) -> plan.FactsFlow | None:
        """The way of a sum of lengths through a launch, perhaps from or to a temporary buffer."""
        if self.added is None:
            return None
        between = next((name for name in self.temporaries if name in args), None)
        source, target = (name if name in args else between for name in self.added)
        if source is None or target is None or source == target:
            return None
        return plan.FactsFlow(args.index(source), args.index(target))

    def _trips(self, k: KernelBuilder, lengths: Lengths) -> imp.Trips:
        """The iterations of a loop over a segment that one work-item runs."""
        count, among, longest = (k.scalar(size.variable or self.scalar("trips", size)) for size in (
            lengths.total, lengths.count, lengths.longest))
        return imp.Trips(count, among, longest)

    def build_for_fixed(self, k: KernelBuilder) -> None:
        """Build a kernel for the sizes that are fixed, if it has arrays of such sizes."""
        if k.lengths:
            k.constants += [*(self.fixed or ()), *k.lengths]
            self.steps += [plan.ComputeSize(name, size) for name, size in k.lengths.items()]

    def builder_of_groups(self) -> KernelBuilder:
        """A kernel to be built for the size of its groups and of their sub-groups."""
        k = self.builder()
        k.constants = [self.names.fresh("group"), self.names.fresh("subgroup")]
        return k

    def launch_groups(self, k: KernelBuilder, kind: str, groups: Size,
                      group: Size | None = None, *, fits: bool = False) -> None:
        """Finish and launch what :meth:`builder_of_groups` began."""
        size, subgroup = k.constants
        self._define(size, group or self.group)
        self.steps.append(SubGroupSize(subgroup, size))
        self.build_for_fixed(k)
        self.launch(k, kind, groups, group, fits=fits)

    def done(self) -> tuple[plan.Step, ...]:
        """The steps, with the temporaries released."""
        if self.temporaries:
            self.steps.append(plan.Release(tuple(self.temporaries)))
        return tuple(self.steps)


def finish(k: KernelBuilder, kind: str, lowering: Lowering
           ) -> tuple[imp.Kernel, tuple[Atom, ...]]:
    """The kernel with a parameter for every name it does not bind, and the arguments."""
    local, stm = {array.name for array in k.locals}, lowering.stm
    scan = _Names()
    scan.add(k.code)
    prologue = lowering.env.prologue(sorted(scan.used - scan.bound, key=lambda n: n.tag))
    scan.add(prologue)
    code = (*prologue, *k.code)
    buffers = {m: p for m, p in scan.memories.items() if m not in scan.bound and m not in local}
    scalars = sorted(scan.used - scan.bound - set(buffers) - local - set(k.constants),
                     key=lambda n: n.tag)
    params: list[imp.KernelParam] = [
        imp.BufferParam(m, p, m in scan.written)
        for m, p in sorted(buffers.items(), key=lambda b: b[0].tag)]
    params += [imp.ScalarParam(name, elem_of(lowering.type(name))) for name in scalars]
    base = stm.pat[0].name.base if stm.pat else "effect"
    name = f"{kind}_{base}_{k.names.fresh('k').tag}"
    comment = f"{kind} for {', '.join(p.name.base for p in stm.pat) or 'its checks'}"
    if stm.loc is not None:
        comment += f" at {stm.loc}"
        if k.origins is not None:
            k.origins.note(code, stm.loc)  # what no statement inside of it has brought
    kernel = imp.Kernel(name, tuple(params), tuple(k.locals), code, tuple(k.failures),
                        comment, tuple(k.constants), tuple(k.settings), k.teams, k.even,
                        k.width, kind)
    return kernel, tuple(p.name for p in params)


@dataclass(slots=True)
class _Names:
    """The names that code uses, binds, reads and writes."""

    used: set[VName] = field(default_factory=set)
    bound: set[VName] = field(default_factory=set)
    written: set[VName] = field(default_factory=set)
    memories: dict[VName, Prim] = field(default_factory=dict)

    def add(self, code: Iterable[imp.Stm]) -> None:
        """Add the names in some code."""
        inside = statements(code)
        for stm in inside:
            self._names(stm)
        for exp in evaluated(inside):
            if isinstance(exp, imp.Var):
                self.used.add(exp.name)
            elif isinstance(exp, imp.Load):
                self.memories[exp.mem] = exp.prim

    def _names(self, stm: imp.Stm) -> None:
        """Collect the names that the statement itself binds and writes."""
        match stm:
            case imp.For(name, expected=trips):
                self.bound.add(name)
                if trips is not None:
                    self.used |= variables(trips.count) | variables(trips.among) | variables(
                        trips.longest)
            case imp.Declare(name, expected=expected):
                self.bound.add(name)
                self.used |= set() if expected is None else variables(expected)
            case imp.DeclareArray(name):
                self.bound.add(name)
            case imp.Peek(name, prim, mem):
                self.bound.add(name)
                self.memories[mem] = prim
                self.written.add(mem)
            case imp.Shuffle(name):
                self.bound.add(name)
            case imp.Assign(name):
                self.used.add(name)
            case imp.Locked(locks):
                self.memories[locks] = Prim.I32
                self.written.add(locks)
            case imp.Store(mem, prim=prim) | imp.Atomic(mem=mem, prim=prim) | imp.AtomicUpdate(
                    mem, prim=prim):
                self.memories[mem] = prim
                self.written.add(mem)
                if not isinstance(stm, imp.Store) and stm.old is not None:
                    self.bound.add(stm.old)


def widths(k: KernelBuilder, space: Space) -> tuple[Exp, ...]:
    """The widths of a space as expressions."""
    return tuple(k.scalar(dim.width) for dim in space)


def total(lowering: Lowering, space: Space) -> Size:
    """The number of points of a space."""
    return product([lowering.size(dim.width) for dim in space])


def bind_point(k: CodeBuilder, space: Space, indices: Sequence[Exp]) -> None:
    """Bind the indices of a space to expressions."""
    for dim, index in zip(space, indices, strict=True):
        k.bind_scalar(Param(dim.index, Prim.I64), index)


def unflat(k: CodeBuilder, position: Exp, shape: Sequence[Exp]) -> list[Exp]:
    """The indices of a position as :func:`~.unflat_index`, with each quotient computed once."""
    return unflat_index(position, shape, lambda exp: k.declare("above", Prim.I64, exp))


def each_point(lowering: Lowering, k: KernelBuilder, space: Space,
               body: Callable[[list[Exp]], None], kind: str, *, busy: bool = False) -> None:
    """Add a kernel that runs ``body`` at every point; the last dimension varies fastest.

    If the body needs scratch memory, the grid is capped and work-items loop.  ``busy``: a point
    takes so long that all compute units should have some.  Devices that run work-items in lockstep
    want large groups nevertheless.  The kernel also makes the checks of the lowering.
    """
    runs = [_points(k, space, lambda: body([k.scalar(dim.index) for dim in space]))]
    most = total(lowering, space)
    if (checks := lowering.checks) is not None:
        runs.append(_points(k, checks.space, lambda: k.body(checks.body)))
        most = greatest(most, total(lowering, checks.space))
    name = _group_name(lowering, space, alone=bool(k.scratch), busy=busy)
    group = Size.var(name)
    groups = ceil_div(most, group)
    for position, points, code in runs:
        if k.scratch:
            k.emit(imp.For(position.name, GID, points, GSIZE, code))
        else:
            k.emit(imp.Declare(position.name, Prim.I64, GID))
            k.emit(imp.If(op("lt", position, points), code))
    if k.scratch:
        groups = least(groups, lowering.groups)
    if k.lengths:
        k.constants = [name]
        lowering.build_for_fixed(k)
    lowering.launch(k, kind, groups, group)


def _points(k: KernelBuilder, space: Space, body: Callable[[], object]
            ) -> tuple[imp.Var, Exp, tuple[imp.Stm, ...]]:
    """The number of a point, which is not set, the number of points, and the code of one."""
    shape = widths(k, space)
    with k.block() as code:
        position = k.declare("point", Prim.I64)
        bind_point(k, space, unflat(k, position, shape))
        body()
    return position, volume(shape), tuple(code[1:])


def _group_name(lowering: Lowering, space: Space, *, alone: bool, busy: bool) -> VName:
    """The size of the groups of a kernel.

    ``alone``: work-items keep arrays in scratch memory.  A work-item that runs by itself then is a
    group, so that there are few of them, whose arrays stay in the cache.
    """
    if lowering.interleave or not (alone or busy):
        return lowering.group_size
    if not alone:
        return spread_group(lowering, total(lowering, space))
    name = lowering.names.fresh("group")
    lowering.steps.append(plan.ComputeSize(name, Size.of(1)))
    return name


def spread_group(lowering: Lowering, items: Size) -> VName:
    """The size of groups that give all compute units some of the work-items."""
    name = lowering.names.fresh("group")
    lowering.steps.append(GroupSize(name, lowering.group_size, items))
    return name


def store_results(k: CodeBuilder, outs: Sequence[View], indices: Sequence[Exp],
                  values: Sequence[Value | None]) -> None:
    """Write the results of a point that are not in place already."""
    for out, value in zip(outs, values, strict=True):
        if value is not None:
            k.store(out, indices, value)


def writes(outs: Sequence[View], indices: Sequence[Exp], totals: Sequence[Sequence[Exp]]
           ) -> tuple[imp.Stm, ...]:
    """The stores of totals, per operator and value, in the first of ``outs``."""
    return tuple(out.write(indices, total) for out, total in zip(
        outs, (t for ts in totals for t in ts), strict=False))


def store_scanned(k: KernelBuilder, post: Lambda | None, outs: Sequence[View],
                  indices: Sequence[Exp], totals: Sequence[Sequence[Exp]]) -> None:
    """Write the scanned values of a point, or what a post-map makes of them, to the first outs."""
    values: list[Value] = [t for ts in totals for t in ts]
    if post is not None:
        values = k.apply(post, values)
    store_results(k, outs[:len(values)], indices, values)


def elements(mems: Sequence[VName], place: Exp, prims: Sequence[Prim]) -> list[Exp]:
    """The elements of arrays at a place."""
    return [imp.Load(mem, place, prim) for mem, prim in zip(mems, prims, strict=True)]


def loaded(k: CodeBuilder, base: str, mems: Sequence[VName], place: Exp, prims: Sequence[Prim]
           ) -> list[imp.Var]:
    """Variables that have the elements of arrays at a place."""
    return [k.declare(base, prim, element)
            for prim, element in zip(prims, elements(mems, place, prims), strict=True)]


def stores(mems: Sequence[VName], place: Exp, values: Sequence[Exp], prims: Sequence[Prim]
           ) -> tuple[imp.Stm, ...]:
    """The stores of values in arrays at a place."""
    return tuple(imp.Store(mem, place, value, prim)
                 for mem, value, prim in zip(mems, values, prims, strict=True))


def run_point(k: KernelBuilder, body: Body, outs: Sequence[View],
              indices: Sequence[Exp]) -> None:
    """Emit the body of a point, and writes of its results to ``outs``."""
    rows = [out.row(*indices) if len(out.shape) > len(indices) else None for out in outs]
    store_results(k, outs, indices, k.body_into(body, rows))


def branch(lowering: Lowering, make: Callable[[], None], name: str = "") -> tuple[plan.Step, ...]:
    """The steps that ``make`` adds, as a separate block, whose launches are known by its name."""
    outer, lowering.steps = lowering.steps, []
    held, lowering.temporaries = lowering.temporaries, []
    route = lowering.route
    lowering.route = (*route, name) if name else route
    try:
        make()
        if lowering.temporaries:
            lowering.steps.append(plan.Release(tuple(lowering.temporaries)))
        return tuple(lowering.steps)
    finally:
        lowering.steps, lowering.temporaries, lowering.route = outer, held, route


def choose(lowering: Lowering, cond: Atom, then_: tuple[plan.Step, ...],
           else_: tuple[plan.Step, ...]) -> None:
    """Run ``then_`` if ``cond`` holds, else ``else_``; only one if the other cannot be compiled.

    Both have the same results.  The shapes of groups that tell what is possible are chosen before.
    """
    wanted, others = _needs_of(then_), _needs_of(else_)
    if wanted != others:
        names = {name for need in (*wanted, *others) for name in need.names()}
        shapes = [step for step in (*then_, *else_) if isinstance(step, GroupShape)
                  and not names.isdisjoint(step.names())]
        lowering.steps += shapes
        then_, else_ = (tuple(s for s in side if s not in shapes) for side in (then_, else_))
        for need in wanted:
            cond = _decide(lowering, "and", Prim.BOOL, cond, _is_met(lowering, need))
        for need in others:
            unmet = _decide(lowering, "not", Prim.BOOL, _is_met(lowering, need))
            cond = _decide(lowering, "or", Prim.BOOL, cond, unmet)
    lowering.steps.append(plan.Branch(cond, then_, else_))


def _needs_of(branch_: tuple[plan.Step, ...]) -> tuple[plan.Need, ...]:
    """The needs of a branch of an operation that are known before it, or can be."""
    inside = {name for step in plan.all_steps(branch_) for name in plan.sets(step)}
    inside -= {name for step in branch_ if isinstance(step, GroupShape) for name in step.names()}
    return needs((plan.Operation("", (), branch_),), lambda name: name not in inside)


def _is_met(lowering: Lowering, need: plan.Need) -> VName:
    """True on the host if one of the launches is possible."""
    possible = list[VName]()
    for bytes_, shaped in dict.fromkeys((each.local_bytes, each.shaped) for each in need.launches):
        size = lowering.scalar("bytes", bytes_)
        found = _decide(lowering, "le", Prim.I64, size, plan.LOCAL_BYTES)
        if shaped is not None:
            exists = _decide(lowering, "lt", Prim.I64, i64(0), shaped)
            found = _decide(lowering, "and", Prim.BOOL, found, exists)
        possible.append(found)
    return reduce(lambda one, other: _decide(lowering, "or", Prim.BOOL, one, other), possible)


def _decide(lowering: Lowering, op_: str, prim: Prim, *args: Atom) -> VName:
    """A truth value that the host works out from values of a type."""
    name = lowering.names.fresh("possible")
    lowering.steps.append(plan.Compute(name, op_, prim, args))
    return name


def choose_by_length(lowering: Lowering, length: Size, short: tuple[plan.Step, ...],
                     long: tuple[plan.Step, ...], most: Atom | None = None) -> None:
    """Choose ``short`` if the length is at most ``most``, as :func:`is_short`, else ``long``."""
    choose(lowering, is_short(lowering, length, most), short, long)


def is_short(lowering: Lowering, length: Size, most: Atom | None = None) -> VName:
    """True on the host if a length is at most ``most``.

    The default is the length of a segment that a work-item should go through alone.
    """
    size, cond = lowering.names.fresh("length"), lowering.names.fresh("short")
    lowering.steps += [
        plan.ComputeSize(size, length),
        plan.Compute(cond, "le", Prim.I64, (size, most or lowering.setting(Quantity.SHORT)))]
    return cond


def item_bytes(ops: Sequence[Operator]) -> int:
    """The bytes of a partial result."""
    return sum(prim.bytes for o in ops for prim in prims_of(o))


def roomy_group(lowering: Lowering, ops: Sequence[Operator]) -> Size:
    """The size of groups whose work-items each have room in local memory for a partial result.

    That is the usual size, unless partial results are so large that it may not fit.
    """
    bytes_ = item_bytes(ops)
    if bytes_ <= ITEM_BYTES:
        return lowering.group
    room = ceil_div(Size.var(plan.LOCAL_BYTES) - GROUP_BYTES - bytes_ + 1, Size.of(bytes_))
    return Size.var(lowering.scalar("roomy", greatest(Size.of(1), least(lowering.group, room))))


def require_scalar(type_: Type) -> Prim:
    """The primitive type of an operator's value; CompilerLimitation if it is an array."""
    if not isinstance(type_, Prim):
        raise CompilerLimitation("an operator over arrays cannot run in parallel")
    return type_


def prims_of(operator: Operator) -> list[Prim]:
    """The types of an operator's values, which are scalars."""
    return [require_scalar(type_) for type_ in operator.lam.ret]


def scalars(totals: Sequence[imp.Var | View]) -> list[imp.Var]:
    """Accumulators that are all variables; CompilerLimitation if one is an array."""
    found = [t for t in totals if isinstance(t, imp.Var)]
    if len(found) != len(totals):
        raise CompilerLimitation("an operator over arrays cannot run in parallel")
    return found


def local_arrays(k: KernelBuilder, ops: Sequence[Operator], length: Size) -> list[list[VName]]:
    """Local arrays with one partial result per work-item, for each operator."""
    arrays: list[list[VName]] = []
    for op_ in ops:
        arrays.append([])
        for prim in prims_of(op_):
            name = k.names.fresh("local")
            k.locals.append(imp.LocalArray(name, prim, length))
            arrays[-1].append(name)
    return arrays


@dataclass(frozen=True, slots=True)
class Part:
    """The elements from ``start`` up to ``end``."""

    start: Exp
    end: Exp


def even_part(k: KernelBuilder, points: Exp, item: Exp, items: Exp) -> Part:
    """The part of ``points`` for work-item ``item`` if ``items`` work-items divide them evenly."""
    chunk = k.declare("chunk", Prim.I64, ceil_quot(points, items))
    start = k.declare("start", Prim.I64, op("mul", item, chunk))
    end = k.declare("end", Prim.I64, op("min", op("add", start, chunk), points))
    return Part(start, end)


def reset(k: KernelBuilder, ops: Sequence[Operator], totals: Sequence[Sequence[imp.Var]]) -> None:
    """Emit assignments of the neutral elements to totals."""
    for op_, total_ in zip(ops, totals, strict=True):
        for t, atom in zip(total_, op_.neutral, strict=True):
            k.emit(imp.Assign(t.name, k.scalar(atom)))
