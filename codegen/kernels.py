"""Segmented operations to kernels and the steps that launch them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from runelift.codegen import plan
from runelift.codegen.builder import PlanEnv, Scratch, Value
from runelift.codegen.lowering import KernelBuilder
from runelift.codegen.views import View, flat_index, lit, op, row_major, unflat_index
from runelift.ir import imp
from runelift.ir.errors import CompilerBug, CompilerLimitation
from runelift.ir.imp import Exp
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, greatest, least, product
from runelift.ir.syntax import (
    Atom,
    Body,
    HistOp,
    Level,
    Operator,
    Param,
    PrimOp,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    Space,
    Stm,
    Type,
    elem_of,
    i64,
    shape_of,
)

SMALL_BYTES = 256
"""Kernels are built for the size of a work-item's arrays up to this many bytes in all."""
GROUP = Size.var(plan.GROUP_SIZE)
GROUPS = Size.var(plan.NUM_GROUPS)
LID, LSIZE = imp.WorkItem(imp.Id.LOCAL_ID), imp.WorkItem(imp.Id.LOCAL_SIZE)
GID, GSIZE = imp.WorkItem(imp.Id.GLOBAL_ID), imp.WorkItem(imp.Id.GLOBAL_SIZE)
GROUP_ID, NUM = imp.WorkItem(imp.Id.GROUP_ID), imp.WorkItem(imp.Id.NUM_GROUPS)


@dataclass(frozen=True, slots=True)
class Lowered:
    """The steps of an operation, and the local memory that its kernels need."""

    steps: tuple[plan.Step, ...]
    local_bytes: Size


@dataclass(slots=True)
class Lowering:
    """What the lowering of one statement shares."""

    stm: Stm
    env: PlanEnv
    names: Names
    steps: list[plan.Step] = field(default_factory=list)
    temporaries: list[VName] = field(default_factory=list)
    local_bytes: Size = plan.NOTHING
    outs: dict[VName, View] = field(default_factory=dict)

    def builder(self) -> KernelBuilder:
        """A kernel to be built."""
        return KernelBuilder(self.names, self, loc=self.stm.loc)

    def type(self, name: VName) -> Type:
        """The type of a host name, or of a buffer of this lowering."""
        return self.env.type(name)

    def view(self, name: VName) -> View:
        """The view of a host array."""
        return self.env.view(name)

    def size(self, atom: Atom) -> Size:
        """A width as the host knows it."""
        return Size.var(atom) if isinstance(atom, VName) else Size.of(int(atom.value))

    def result(self, param: Param, k: KernelBuilder) -> View:
        """The buffer of a result."""
        shape = tuple(k.scalar(s) for s in shape_of(param.type))
        return row_major(param.name, elem_of(param.type), shape)

    def temporary(self, base: str, prim: Prim, count: Size) -> VName:
        """A buffer that lives as long as this operation."""
        name = self.names.fresh(base)
        self.steps.append(plan.Alloc(name, prim, count))
        self.temporaries.append(name)
        return name

    def launch(self, k: KernelBuilder, kind: str, groups: Size, group: Size = GROUP,
               prims: dict[VName, Prim] | None = None) -> None:
        """Finish a kernel and launch it."""
        for scratch in k.scratch:
            count = scratch.count * groups * group
            self.steps.append(plan.Alloc(scratch.name, scratch.prim, count))
            self.temporaries.append(scratch.name)
        kernel, args = finish(k, kind, self.stm, self.env)
        total = Size.of(0)
        for array in kernel.local_memory:
            total = total + array.length * array.prim.bytes
        self.local_bytes = total if not self.local_bytes.terms else _larger(self.local_bytes, total)
        self.steps.append(plan.Launch(kernel, args, groups, group, self.stm.loc))

    def done(self) -> Lowered:
        """The steps, with the temporaries released."""
        if self.temporaries:
            self.steps.append(plan.Release(tuple(self.temporaries)))
        return Lowered(tuple(self.steps), self.local_bytes)


def _larger(left: Size, right: Size) -> Size:
    return left if left == right else greatest(left, right)


def lower_segop(stm: Stm, env: PlanEnv, names: Names) -> Lowered:
    """The kernels and launches of a segmented operation at host level.

    The results are row-major buffers under the names of the pattern; for scatters and
    histograms they hold the destinations already.  CompilerLimitation if there is no kernel
    for the operation.
    """
    from runelift.codegen.intragroup import lower_group

    lowering = Lowering(stm, env, names)
    match stm.exp:
        case SegMap(Level.GROUP):
            lower_group(lowering, stm.exp)
        case SegMap():
            _segmap(lowering, stm.exp)
        case SegRed():
            _segred(lowering, stm.exp)
        case SegScan():
            _segscan(lowering, stm.exp)
        case SegScatter():
            _segscatter(lowering, stm.exp)
        case SegHist():
            _seghist(lowering, stm.exp)
        case _:
            raise CompilerBug(f"{type(stm.exp).__name__} is no segmented operation")
    return lowering.done()


# Finishing a kernel


def finish(k: KernelBuilder, kind: str, stm: Stm, env: PlanEnv) -> tuple[imp.Kernel,
                                                                       tuple[Atom, ...]]:
    """The kernel with a parameter for every name it does not bind, and the arguments."""
    local = {array.name for array in k.locals}
    used = _Names()
    used.stms(tuple(k.code))
    code = (*env.prologue(sorted(used.used - used.bound, key=lambda n: n.tag)), *k.code)
    scan = _Names()
    scan.stms(code)
    buffers = {m: p for m, p in scan.memories.items() if m not in scan.bound and m not in local}
    scalars = sorted(scan.used - scan.bound - set(buffers) - local - set(k.constants),
                     key=lambda n: n.tag)
    params: list[imp.KernelParam] = [
        imp.BufferParam(m, p, m in scan.written)
        for m, p in sorted(buffers.items(), key=lambda b: b[0].tag)]
    params += [imp.ScalarParam(name, elem_of(env.type(name))) for name in scalars]
    base = stm.pat[0].name.base if stm.pat else "effect"
    name = f"{kind}_{base}_{k.names.fresh('k').tag}"
    comment = f"{kind} for {', '.join(p.name.base for p in stm.pat) or 'its checks'}"
    if stm.loc is not None:
        comment += f" at {stm.loc}"
    kernel = imp.Kernel(name, tuple(params), tuple(k.locals), code, tuple(k.failures),
                        comment, tuple(k.constants))
    return kernel, tuple(p.name for p in params)


class _Names:
    """The names that code uses, binds, reads and writes."""

    def __init__(self) -> None:
        self.used: set[VName] = set()
        self.bound: set[VName] = set()
        self.written: set[VName] = set()
        self.memories: dict[VName, Prim] = {}

    def exp(self, exp: Exp) -> None:
        match exp:
            case imp.Var(name):
                self.used.add(name)
            case imp.Load(mem, index, prim):
                self.memories[mem] = prim
                self.exp(index)
            case imp.Apply(_, _, args):
                for arg in args:
                    self.exp(arg)
            case imp.Convert(_, _, arg):
                self.exp(arg)
            case imp.Select(cond, then_, else_):
                for part in (cond, then_, else_):
                    self.exp(part)

    def stms(self, stms: tuple[imp.Stm, ...]) -> None:
        for stm in stms:
            self.stm(stm)

    def _write(self, mem: VName, prim: Prim) -> None:
        self.memories[mem] = prim
        self.written.add(mem)

    def stm(self, stm: imp.Stm) -> None:
        match stm:
            case imp.Declare(name, _, init):
                self.bound.add(name)
                if init is not None:
                    self.exp(init)
            case imp.DeclareArray(name):
                self.bound.add(name)
            case imp.Assign(name, value):
                self.used.add(name)
                self.exp(value)
            case imp.Store(mem, index, value, prim):
                self._write(mem, prim)
                self.exp(index)
                self.exp(value)
            case imp.For(index, start, bound, step, body):
                self.bound.add(index)
                for part in (start, bound, step):
                    self.exp(part)
                self.stms(body)
            case imp.While(cond, body):
                self.exp(cond)
                self.stms(body)
            case imp.If(cond, then_, else_):
                self.exp(cond)
                self.stms(then_)
                self.stms(else_)
            case imp.Atomic(_, prim, mem, index, value):
                self._write(mem, prim)
                self.exp(index)
                self.exp(value)
            case imp.AtomicUpdate(mem, index, prim, _, old, body, new):
                self._write(mem, prim)
                self.bound.add(old)
                self.exp(index)
                self.stms(body)
                self.exp(new)
            case imp.Fail(_, args):
                for arg in args:
                    self.exp(arg)


# Work-items and points


def widths(k: KernelBuilder, space: Space) -> tuple[Exp, ...]:
    """The widths of a space as expressions."""
    return tuple(k.scalar(dim.width) for dim in space)


def total(lowering: Lowering, space: Space) -> Size:
    """How many points a space has."""
    return product([lowering.size(dim.width) for dim in space])


def bind_point(k: KernelBuilder, space: Space, indices: Sequence[Exp]) -> None:
    """Bind the indices of a space."""
    for dim, index in zip(space, indices, strict=True):
        k.bind_scalar(Param(dim.index, Prim.I64), index)


def each_point(lowering: Lowering, k: KernelBuilder, space: Space,
               body: Callable[[list[Exp]], None], kind: str,
               fixed: Sequence[VName] = ()) -> None:
    """A kernel that runs ``body`` at every point; the last dimension varies fastest.

    Where the body needs scratch memory, the grid is capped and work-items loop.  The kernel is
    built for the values of the sizes ``fixed``.
    """
    shape = widths(k, space)
    points: Exp = lit(1)
    for size in shape:
        points = op("mul", points, size)

    with k.block() as code:
        position = k.declare("point", Prim.I64)
        indices = unflat_index(position, shape)
        bind_point(k, space, indices)
        body([k.scalar(dim.index) for dim in space])
    declare, *rest = code
    assert isinstance(declare, imp.Declare)
    if k.scratch:
        k.emit(imp.For(declare.name, GID, points, GSIZE, tuple(rest)))
        groups = _capped(lowering, space)
    else:
        k.emit(imp.Declare(declare.name, Prim.I64, GID))
        k.emit(imp.If(op("lt", position, points), tuple(rest)))
        groups = ceil_div(total(lowering, space), GROUP)
    if k.lengths:
        k.constants = [plan.GROUP_SIZE, *fixed, *k.lengths]
        lowering.steps += [plan.ComputeSize(name, size) for name, size in k.lengths.items()]
    lowering.launch(k, kind, groups)


def _capped(lowering: Lowering, space: Space) -> Size:
    return least(ceil_div(total(lowering, space), GROUP), GROUPS)


def store_results(k: KernelBuilder, outs: Sequence[View], indices: Sequence[Exp],
                  values: Sequence[Value | None]) -> None:
    """Write the results of a point that are not in place already."""
    for out, value in zip(outs, values, strict=True):
        if value is not None:
            k.store(out, indices, value)


def run_point(k: KernelBuilder, body: Body, outs: Sequence[View],
              indices: Sequence[Exp]) -> None:
    """The body of a point, its results written to ``outs``."""
    rows = [out.row(*indices) if len(out.shape) > len(indices) else None for out in outs]
    store_results(k, outs, indices, k.body_into(body, rows))


# SegMap, SegScatter


def _segmap(lowering: Lowering, exp: SegMap) -> None:
    """A work-item per point; small arrays of its own are in registers, see :func:`_fix_sizes`."""
    scratch: list[Scratch] = []
    steps = _branch(lowering, lambda: scratch.extend(_segmap_items(lowering, exp).scratch))
    sizes = {v for s in scratch for v in s.count.variables()}
    if not scratch or not sizes.isdisjoint(plan.DEVICE_SIZES):
        lowering.steps += steps
        return
    small = _branch(lowering, lambda: _fix_sizes(lowering, exp, sizes))
    need = Size.of(0)
    for array in scratch:
        need = need + array.count * array.prim.bytes
    _choose_by_length(lowering, need, small, steps, i64(SMALL_BYTES))


def _segmap_items(lowering: Lowering, exp: SegMap) -> KernelBuilder:
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    each_point(lowering, k, exp.space, lambda ix: run_point(k, exp.body, outs, ix), "segmap")
    return k


def _fix_sizes(lowering: Lowering, exp: SegMap, sizes: set[VName]) -> None:
    """The same for arrays so small that the kernel is built for their very size.

    Compilers keep an array in registers only if its length and all indices are constants.
    """
    k = lowering.builder()
    k.fixing = True
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    each_point(lowering, k, exp.space, lambda ix: run_point(k, exp.body, outs, ix),
               "segmap_small", sorted(sizes, key=lambda n: n.tag))


def _segscatter(lowering: Lowering, exp: SegScatter) -> None:
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    each_point(lowering, k, exp.space,
               lambda ix: k.write_inside(outs, [d.rank for d in exp.dests], k.body(exp.body)),
               "segscatter")


# SegRed


def local_arrays(k: KernelBuilder, ops: Sequence[Operator], length: Size) -> list[list[VName]]:
    """Local memory for one partial result per work-item and operator."""
    arrays: list[list[VName]] = []
    for op_ in ops:
        arrays.append([])
        for type_ in op_.lam.ret:
            name = k.names.fresh("local")
            k.locals.append(imp.LocalArray(name, require_scalar(type_), length))
            arrays[-1].append(name)
    return arrays


def require_scalar(type_: Type) -> Prim:
    """The primitive type of an operator's value."""
    if not isinstance(type_, Prim):
        raise CompilerLimitation("an operator over arrays cannot run in parallel")
    return type_


def scalars(totals: Sequence[imp.Var | View]) -> list[imp.Var]:
    """Accumulators, all of which are variables."""
    found = [t for t in totals if isinstance(t, imp.Var)]
    if len(found) != len(totals):
        raise CompilerLimitation("an operator over arrays cannot run in parallel")
    return found


def tree_reduce(k: KernelBuilder, op_: Operator, arrays: Sequence[VName],
                totals: Sequence[imp.Var]) -> None:
    """Combine the work-items' totals in local memory, in order; work-item 0 has the result.

    Log-step: at distance d, work-item i (a multiple of 2d) takes in the total of i + d.  The
    levels are counted because PoCL 3.0 gives wrong sums for a while loop around the barrier.
    """
    prims = [require_scalar(t) for t in op_.lam.ret]
    for mem, total_, prim in zip(arrays, totals, prims, strict=True):
        k.emit(imp.Store(mem, LID, total_, prim))
    k.emit(imp.Barrier(imp.Space.LOCAL))
    levels = op("sub", lit(64), imp.Apply("clz", Prim.I64, (op("sub", LSIZE, lit(1)),)))

    def level(number: Exp) -> None:
        distance = k.declare("distance", Prim.I64, imp.Apply("shl", Prim.I64, (lit(1), number)))
        partner = op("add", LID, distance)
        with k.block() as active:
            mine: list[Value] = [k.declare("left", p, imp.Load(m, LID, p))
                                 for m, p in zip(arrays, prims, strict=True)]
            other: list[Value] = [k.declare("right", p, imp.Load(m, partner, p))
                                  for m, p in zip(arrays, prims, strict=True)]
            for mem, prim, value in zip(arrays, prims, k.apply(op_.lam, [*mine, *other]),
                                        strict=True):
                assert not isinstance(value, View)
                k.emit(imp.Store(mem, LID, value, prim))
        multiple = imp.Apply("eq", Prim.I64, (
            op("rem", LID, op("mul", distance, lit(2))), lit(0)))
        within = imp.Apply("lt", Prim.I64, (partner, LSIZE))
        k.emit(imp.If(imp.Apply("and", Prim.BOOL, (multiple, within)), tuple(active)))
        k.emit(imp.Barrier(imp.Space.LOCAL))

    k.loop(levels, level, base="level")


def _fold_range(k: KernelBuilder, exp: SegRed, totals: Sequence[Sequence[imp.Var]],
                outs: Sequence[View], outer: Sequence[Exp], start: Exp, bound: Exp,
                step: Exp) -> None:
    """Fold the elements start, start + step, ... of a segment; store the map's other results."""
    def element(index: Exp) -> None:
        bind_point(k, exp.space, [*outer, index])
        values = k.body(exp.body)
        count = sum(len(t) for t in totals)
        store_results(k, outs, [*outer, index], values[count:])
        rest = values
        for op_, total_ in zip(exp.ops, totals, strict=True):
            k.accumulate(op_, total_, rest[: len(total_)])
            rest = rest[len(total_):]

    k.loop(bound, element, start=start, step=step, base="e")


LEAST_SHARE = 8
"""Elements per work-item below which a segment gets no further group."""


def _segred(lowering: Lowering, exp: SegRed) -> None:
    """Small segments by work-items, medium ones by groups, few large ones by several groups each.

    Henriksen, Larsen and Oancea, "Compiling generalized histograms and segmented reductions",
    section 3, has the same three cases.
    """
    length = lowering.size(exp.space[-1].width)
    if len(exp.space) == 1:
        _segred_shared(lowering, exp, _groups_per_segment(lowering, exp))
        return
    short = _branch(lowering, lambda: _segred_items(lowering, exp))
    long = _branch(lowering, lambda: _segred_long(lowering, exp))
    _choose_by_length(lowering, length, short, long)


def _segred_long(lowering: Lowering, exp: SegRed) -> None:
    per = _groups_per_segment(lowering, exp)
    medium = _branch(lowering, lambda: _segred_groups(lowering, exp))
    large = _branch(lowering, lambda: _segred_shared(lowering, exp, per))
    one = lowering.names.fresh("one")
    lowering.steps += [plan.Compute(one, "le", Prim.I64, (per, i64(1))),
                       plan.Branch(one, medium, large)]


def _groups_per_segment(lowering: Lowering, exp: SegRed) -> VName:
    """As many groups as the device wants for all segments, but enough work for each work-item."""
    length, segments = lowering.size(exp.space[-1].width), total(lowering, exp.space[:-1])
    useful = greatest(Size.of(1), ceil_div(length, GROUP * LEAST_SHARE))
    wanted = ceil_div(GROUPS, greatest(Size.of(1), segments))
    per = lowering.names.fresh("per_segment")
    lowering.steps.append(plan.ComputeSize(per, least(useful, wanted)))
    lowering.env = _WithScalar(lowering.env, per)
    return per


def _branch(lowering: Lowering, make: Callable[[], None]) -> tuple[plan.Step, ...]:
    """The steps that ``make`` adds, as a block of their own."""
    outer, lowering.steps = lowering.steps, []
    held, lowering.temporaries = lowering.temporaries, []
    make()
    if lowering.temporaries:
        lowering.steps.append(plan.Release(tuple(lowering.temporaries)))
    steps, lowering.steps = tuple(lowering.steps), outer
    lowering.temporaries = held
    return steps


def _choose_by_length(lowering: Lowering, length: Size, short: tuple[plan.Step, ...],
                      long: tuple[plan.Step, ...], most: Atom = plan.SEQUENTIAL_SEGMENT) -> None:
    size, cond = lowering.names.fresh("length"), lowering.names.fresh("short")
    lowering.steps += [
        plan.ComputeSize(size, length),
        plan.Compute(cond, "le", Prim.I64, (size, most)),
        plan.Branch(cond, short, long),
    ]


def _segred_items(lowering: Lowering, exp: SegRed) -> None:
    """One work-item per segment."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]

    def segment(outer: list[Exp]) -> None:
        totals = [k.neutral(o) for o in exp.ops]
        count = sum(len(t) for t in totals)
        width = k.scalar(exp.space[-1].width)
        _fold_range(k, exp, [scalars(t) for t in totals], outs[count:], outer, lit(0), width,
                    lit(1))
        for out, total_ in zip(outs, [t for ts in totals for t in ts], strict=False):
            k.store(out, outer, total_)

    each_point(lowering, k, exp.space[:-1], segment, "segred_small")


def _segred_groups(lowering: Lowering, exp: SegRed) -> None:
    """One work-group per segment: its work-items fold, then combine in local memory."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    outer_shape = widths(k, exp.space[:-1])
    arrays = local_arrays(k, exp.ops, GROUP)
    held = k.declare("segment", Prim.I64, GROUP_ID)
    outer = [k.declare("o", Prim.I64, i) for i in unflat_index(held, outer_shape)]
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    width = k.scalar(exp.space[-1].width)
    count = sum(len(t) for t in totals)
    _fold_items(k, exp, totals, outs[count:], outer, width, LID, LSIZE)
    place = iter(outs)
    for op_, mems, total_ in zip(exp.ops, arrays, totals, strict=True):
        tree_reduce(k, op_, mems, total_)
        with k.block() as write:
            for mem, type_ in zip(mems, op_.lam.ret, strict=True):
                k.emit(next(place).write(outer, imp.Load(mem, lit(0), require_scalar(type_))))
        k.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, lit(0))), tuple(write)))
    lowering.launch(k, "segred_large", total(lowering, exp.space[:-1]))


def _fold_items(k: KernelBuilder, exp: SegRed, totals: Sequence[Sequence[imp.Var]],
                outs: Sequence[View], outer: Sequence[Exp], width: Exp, item: Exp,
                items: Exp) -> None:
    """Each of ``items`` work-items folds its share: strided if the operators commute."""
    if all(o.comm for o in exp.ops):
        _fold_range(k, exp, totals, outs, outer, item, width, items)
        return
    chunk = k.declare("chunk", Prim.I64, op("quot", op("sub", op("add", width, items), lit(1)),
                                            items))
    start = k.declare("start", Prim.I64, op("mul", item, chunk))
    end = k.declare("end", Prim.I64, imp.Apply("min", Prim.I64, (op("add", start, chunk), width)))
    _fold_range(k, exp, totals, outs, outer, start, end, lit(1))


def _segred_shared(lowering: Lowering, exp: SegRed, per_segment: VName) -> None:
    """Several groups per segment make partial results, one more group each combines them."""
    groups = total(lowering, exp.space[:-1]) * Size.var(per_segment)
    partials = [[lowering.temporary("partial", require_scalar(t), groups) for t in o.lam.ret]
                for o in exp.ops]
    k = lowering.builder()
    results = [lowering.result(p, k) for p in lowering.stm.pat]
    arrays = local_arrays(k, exp.ops, GROUP)
    per = k.scalar(per_segment)
    segment = k.declare("segment", Prim.I64, op("quot", GROUP_ID, per))
    part = k.declare("part", Prim.I64, op("rem", GROUP_ID, per))
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, widths(k, exp.space[:-1]))]
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    count = sum(len(t) for t in totals)
    item = k.declare("item", Prim.I64, op("add", op("mul", part, LSIZE), LID))
    _fold_items(k, exp, totals, results[count:], outer, k.scalar(exp.space[-1].width), item,
                op("mul", per, LSIZE))
    for op_, mems, total_, out in zip(exp.ops, arrays, totals, partials, strict=True):
        tree_reduce(k, op_, mems, total_)
        stores = tuple(imp.Store(o, GROUP_ID, imp.Load(m, lit(0), require_scalar(t)),
                                 require_scalar(t))
                       for o, m, t in zip(out, mems, op_.lam.ret, strict=True))
        k.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, lit(0))), stores))
    lowering.launch(k, "segred", groups)
    _combine_partials(lowering, exp, partials, per_segment)


def _combine_partials(lowering: Lowering, exp: SegRed, partials: list[list[VName]],
                      per_segment: VName) -> None:
    """One group per segment combines its partial results in order."""
    k = lowering.builder()
    results = iter([lowering.result(p, k) for p in lowering.stm.pat])
    arrays = local_arrays(k, exp.ops, GROUP)
    count = k.scalar(per_segment)
    segment = k.declare("segment", Prim.I64, GROUP_ID)
    outer = [k.declare("o", Prim.I64, i)
             for i in unflat_index(segment, widths(k, exp.space[:-1]))]
    first = k.declare("first", Prim.I64, op("mul", segment, count))
    chunk = k.declare("chunk", Prim.I64, op("quot", op("sub", op("add", count, LSIZE), lit(1)),
                                            LSIZE))
    start = k.declare("start", Prim.I64, op("mul", LID, chunk))
    end = k.declare("end", Prim.I64, imp.Apply("min", Prim.I64, (op("add", start, chunk), count)))
    for op_, mems, sources in zip(exp.ops, arrays, partials, strict=True):
        totals = scalars(k.neutral(op_))
        prims = [require_scalar(t) for t in op_.lam.ret]

        def fold(i: Exp, op_: Operator = op_, totals: list[imp.Var] = totals,
                 sources: list[VName] = sources, prims: list[Prim] = prims) -> None:
            values = [k.declare("partial", p, imp.Load(s, op("add", first, i), p))
                      for s, p in zip(sources, prims, strict=True)]
            k.accumulate(op_, totals, values)

        k.loop(end, fold, start=start)
        tree_reduce(k, op_, mems, totals)
        with k.block() as write:
            for mem, prim in zip(mems, prims, strict=True):
                k.emit(next(results).write(outer, imp.Load(mem, lit(0), prim)))
        k.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, lit(0))), tuple(write)))
    lowering.launch(k, "segred_final", total(lowering, exp.space[:-1]))


@dataclass(frozen=True, slots=True)
class _WithScalar:
    """A host environment with one more i64."""

    env: PlanEnv
    name: VName

    def type(self, name: VName) -> Type:
        return Prim.I64 if name == self.name else self.env.type(name)

    def view(self, name: VName) -> View:
        return self.env.view(name)

    def prologue(self, used: Iterable[VName]) -> list[imp.Declare]:
        return self.env.prologue(used)


# SegScan


def _segscan(lowering: Lowering, exp: SegScan) -> None:
    if len(exp.space) == 1:
        _segscan_passes(lowering, exp)
        return
    length = lowering.size(exp.space[-1].width)
    short = _branch(lowering, lambda: _segscan_items(lowering, exp))
    long = _branch(lowering, lambda: _segscan_passes(lowering, exp))
    _choose_by_length(lowering, length, short, long)


def scan_element(k: KernelBuilder, exp: SegScan, totals: Sequence[Sequence[imp.Var]],
                 outs: Sequence[View], indices: Sequence[Exp]) -> None:
    """Take one element into the running totals and store them, and the map's other results."""
    bind_point(k, exp.space, indices)
    values = k.body(exp.body)
    count = sum(len(t) for t in totals)
    store_results(k, outs[count:], indices, values[count:])
    rest, place = values, iter(outs)
    for op_, total_ in zip(exp.ops, totals, strict=True):
        k.accumulate(op_, total_, rest[: len(total_)])
        rest = rest[len(total_):]
        for t in total_:
            k.store(next(place), indices, t)


def reset(k: KernelBuilder, ops: Sequence[Operator], totals: Sequence[Sequence[imp.Var]]) -> None:
    """Start a new segment."""
    for op_, total_ in zip(ops, totals, strict=True):
        for t, atom in zip(total_, op_.neutral, strict=True):
            k.emit(imp.Assign(t.name, k.scalar(atom)))


def _segscan_items(lowering: Lowering, exp: SegScan) -> None:
    """One work-item per segment."""
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]

    def segment(outer: list[Exp]) -> None:
        totals = [scalars(k.neutral(o)) for o in exp.ops]
        k.loop(k.scalar(exp.space[-1].width),
               lambda i: scan_element(k, exp, totals, outs, [*outer, i]), base="e")

    each_point(lowering, k, exp.space[:-1], segment, "segscan_small")


@dataclass(slots=True)
class ScanShape:
    """How work-items share a flat index space: contiguous chunks, and where segments start."""

    shape: tuple[Exp, ...]
    chunk: Exp
    start: Exp
    end: Exp

    def starts_segment(self, position: Exp) -> Exp:
        """Whether ``position`` is the first of its segment."""
        return imp.Apply("eq", Prim.I64, (op("rem", position, self.shape[-1]), lit(0)))


def share(k: KernelBuilder, shape: tuple[Exp, ...], item: Exp, items: Exp) -> ScanShape:
    """The chunk of a work-item."""
    points: Exp = lit(1)
    for size in shape:
        points = op("mul", points, size)
    chunk = k.declare("chunk", Prim.I64, op("quot", op("sub", op("add", points, items), lit(1)),
                                            items))
    start = k.declare("start", Prim.I64, op("mul", item, chunk))
    end = k.declare("end", Prim.I64, imp.Apply("min", Prim.I64, (op("add", start, chunk), points)))
    return ScanShape(shape, chunk, start, end)


def scan_chunk(k: KernelBuilder, exp: SegScan, part: ScanShape,
               outs: Sequence[View]) -> tuple[list[list[imp.Var]], imp.Var]:
    """Scan a chunk on its own: its totals, and whether a segment starts inside of it."""
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    fresh = k.declare("fresh", Prim.BOOL, _false())

    def element(position: Exp) -> None:
        with k.block() as begin:
            reset(k, exp.ops, totals)
            k.emit(imp.Assign(fresh.name, _true()))
        k.emit(imp.If(part.starts_segment(position), tuple(begin)))
        indices = [k.declare("p", Prim.I64, i) for i in unflat_index(position, part.shape)]
        scan_element(k, exp, totals, outs, indices)

    k.loop(part.end, element, start=part.start, base="p")
    return totals, fresh


def add_carry(k: KernelBuilder, exp: SegScan, part: ScanShape, outs: Sequence[View],
              carry: Sequence[Sequence[Value]]) -> None:
    """Take the carry into the elements before the first segment start of the chunk."""
    going = k.declare("going", Prim.BOOL, _true())
    position = k.declare("position", Prim.I64, part.start)
    with k.block() as step:
        with k.block() as stop:
            k.emit(imp.Assign(going.name, _false()))
        with k.block() as combine:
            indices = [k.declare("p", Prim.I64, i) for i in unflat_index(position, part.shape)]
            place = iter(outs)
            for op_, values in zip(exp.ops, carry, strict=True):
                targets = [next(place) for _ in values]
                held: list[Value] = [k.declare("x", t.prim, t.read(indices)) for t in targets]
                results = k.apply(op_.lam, [*values, *held])
                for target, value in zip(targets, results, strict=True):
                    k.store(target, indices, value)
        k.emit(imp.If(part.starts_segment(position), tuple(stop), tuple(combine)))
        k.emit(imp.Assign(position.name, op("add", position, lit(1))))
    inside = imp.Apply("lt", Prim.I64, (position, part.end))
    k.emit(imp.While(imp.Apply("and", Prim.BOOL, (going, inside)), tuple(step)))


def _segscan_passes(lowering: Lowering, exp: SegScan) -> None:
    """Three kernels: chunks on their own, a scan of the chunks' totals, the carries added."""
    items = GROUPS * GROUP
    prims = [[require_scalar(t) for t in o.lam.ret] for o in exp.ops]
    sums = [[lowering.temporary("sum", p, items) for p in ps] for ps in prims]
    flags = lowering.temporary("flag", Prim.BOOL, items)
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    part = share(k, widths(k, exp.space), GID, GSIZE)
    totals, fresh = scan_chunk(k, exp, part, outs)
    for mems, total_, ps in zip(sums, totals, prims, strict=True):
        for mem, t, p in zip(mems, total_, ps, strict=True):
            k.emit(imp.Store(mem, GID, t, p))
    k.emit(imp.Store(flags, GID, fresh, Prim.BOOL))
    lowering.launch(k, "segscan_chunks", GROUPS)
    _scan_totals(lowering, exp, sums, flags, prims)
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]
    part = share(k, widths(k, exp.space), GID, GSIZE)
    before = op("sub", GID, lit(1))
    with k.block() as code:
        carry: list[list[Value]] = [[k.declare("carry", p, imp.Load(m, before, p))
                                     for m, p in zip(mems, ps, strict=True)]
                                    for mems, ps in zip(sums, prims, strict=True)]
        add_carry(k, exp, part, outs, carry)
    k.emit(imp.If(imp.Apply("lt", Prim.I64, (lit(0), GID)), tuple(code)))
    lowering.launch(k, "segscan_carry", GROUPS)


def _scan_totals(lowering: Lowering, exp: SegScan, sums: list[list[VName]], flags: VName,
                 prims: list[list[Prim]]) -> None:
    """One group scans the chunks' totals in place: per-item runs, then a scan of the runs."""
    k = lowering.builder()
    number = lowering.names.fresh("items")
    lowering.steps.append(plan.ComputeSize(number, GROUPS * GROUP))
    lowering.env = _WithScalar(lowering.env, number)
    k.types[number] = Prim.I64
    part = share(k, (imp.Var(number),), LID, LSIZE)
    arrays = local_arrays(k, exp.ops, GROUP)
    opened = k.names.fresh("opened")
    k.locals.append(imp.LocalArray(opened, Prim.BOOL, GROUP))
    totals = [scalars(k.neutral(o)) for o in exp.ops]
    fresh = k.declare("fresh", Prim.BOOL, _false())

    def run(position: Exp) -> None:
        flag = k.declare("flag", Prim.BOOL, imp.Load(flags, position, Prim.BOOL))
        with k.block() as begin:
            reset(k, exp.ops, totals)
            k.emit(imp.Assign(fresh.name, _true()))
        k.emit(imp.If(flag, tuple(begin)))
        for op_, total_, mems, ps in zip(exp.ops, totals, sums, prims, strict=True):
            values = [k.declare("x", p, imp.Load(m, position, p))
                      for m, p in zip(mems, ps, strict=True)]
            k.accumulate(op_, total_, values)
            for m, t, p in zip(mems, total_, ps, strict=True):
                k.emit(imp.Store(m, position, t, p))

    k.loop(part.end, run, start=part.start, base="p")
    carry = scan_group(k, exp.ops, arrays, opened, totals, fresh)
    going = k.declare("going", Prim.BOOL, imp.Apply("lt", Prim.I64, (lit(0), LID)))
    position = k.declare("position", Prim.I64, part.start)
    with k.block() as step:
        with k.block() as stop:
            k.emit(imp.Assign(going.name, _false()))
        with k.block() as combine:
            for op_, values, mems, ps in zip(exp.ops, carry, sums, prims, strict=True):
                held: list[Value] = [k.declare("x", p, imp.Load(m, position, p))
                                     for m, p in zip(mems, ps, strict=True)]
                for m, p, v in zip(mems, ps, k.apply(op_.lam, [*values, *held]), strict=True):
                    assert not isinstance(v, View)
                    k.emit(imp.Store(m, position, v, p))
        k.emit(imp.If(imp.Load(flags, position, Prim.BOOL), tuple(stop), tuple(combine)))
        k.emit(imp.Assign(position.name, op("add", position, lit(1))))
    k.emit(imp.While(imp.Apply("and", Prim.BOOL, (
        going, imp.Apply("lt", Prim.I64, (position, part.end)))), tuple(step)))
    lowering.launch(k, "segscan_totals", Size.of(1))


def scan_group(k: KernelBuilder, ops: Sequence[Operator], arrays: Sequence[Sequence[VName]],
               opened: VName, totals: Sequence[Sequence[imp.Var]],
               fresh: imp.Var) -> list[list[Value]]:
    """The carry into each work-item: the scan of the totals of those before it.

    Work-item 0 scans the totals of the group one after the other; a total whose chunk opened a
    segment does not take in those before it.
    """
    for mems, total_, op_ in zip(arrays, totals, ops, strict=True):
        for m, t, type_ in zip(mems, total_, op_.lam.ret, strict=True):
            k.emit(imp.Store(m, LID, t, require_scalar(type_)))
    k.emit(imp.Store(opened, LID, fresh, Prim.BOOL), imp.Barrier(imp.Space.LOCAL))

    def take(i: Exp) -> None:
        with k.block() as combine:
            for op_, mems in zip(ops, arrays, strict=True):
                ps = [require_scalar(t) for t in op_.lam.ret]
                left: list[Value] = [k.declare("left", p, imp.Load(m, op("sub", i, lit(1)), p))
                                     for m, p in zip(mems, ps, strict=True)]
                right: list[Value] = [k.declare("right", p, imp.Load(m, i, p))
                                      for m, p in zip(mems, ps, strict=True)]
                for m, p, v in zip(mems, ps, k.apply(op_.lam, [*left, *right]), strict=True):
                    assert not isinstance(v, View)
                    k.emit(imp.Store(m, i, v, p))
        k.emit(imp.If(imp.Load(opened, i, Prim.BOOL), (), tuple(combine)))

    with k.block() as first:
        k.loop(LSIZE, take, start=lit(1))
    k.emit(imp.If(imp.Apply("eq", Prim.I64, (LID, lit(0))), tuple(first)),
           imp.Barrier(imp.Space.LOCAL))
    before = imp.Select(imp.Apply("lt", Prim.I64, (lit(0), LID)), op("sub", LID, lit(1)), lit(0),
                        Prim.I64)
    carry: list[list[Value]] = [
        [k.declare("carry", require_scalar(t), imp.Load(m, before, require_scalar(t)))
         for m, t in zip(mems, op_.lam.ret, strict=True)]
        for op_, mems in zip(ops, arrays, strict=True)]
    k.emit(imp.Barrier(imp.Space.LOCAL))
    return carry


def _true() -> Exp:
    from runelift.ir.syntax import TRUE

    return imp.Lit(TRUE)


def _false() -> Exp:
    from runelift.ir.syntax import FALSE

    return imp.Lit(FALSE)


# SegHist


NATIVE = frozenset({"add", "min", "max", "and", "or", "xor"})


def native_operation(op_: Operator) -> str | None:
    """The atomic instruction that an operator is, if there is one."""
    if len(op_.lam.ret) != 1 or len(op_.lam.body.stms) != 1:
        return None
    (stm,) = op_.lam.body.stms
    match stm.exp:
        case PrimOp(name, prim, args):
            if (name in NATIVE and prim.is_int and prim.bits >= 32
                    and set(args) == {p.name for p in op_.lam.params}
                    and op_.lam.body.result == (stm.pat[0].name,)):
                return name
    return None


def _seghist(lowering: Lowering, exp: SegHist) -> None:
    lockable = all(len(o.op.lam.ret) == 1 and isinstance(t := o.op.lam.ret[0], Prim)
                   and t.bits >= 32 for o in exp.ops)
    k = lowering.builder()
    outs = [lowering.result(p, k) for p in lowering.stm.pat]

    def update(indices: Sequence[Exp]) -> None:
        values = k.body(exp.body)
        bins, rest, place = values[: len(exp.ops)], values[len(exp.ops):], list(outs)
        for op_, bin_ in zip(exp.ops, bins, strict=True):
            count = len(op_.dests)
            assert not isinstance(bin_, View)
            where = [*indices[:-1], bin_]
            if lockable:
                _atomic(k, op_, place[0], where, rest[0])
            else:
                k.combine_inside(op_.op, k.scalar(op_.bins), place[:count], where, rest[:count])
            rest, place = rest[count:], place[count:]

    if lockable:
        each_point(lowering, k, exp.space, update, "seghist")
        return

    def segment(outer: list[Exp]) -> None:
        def element(i: Exp) -> None:
            bind_point(k, exp.space, [*outer, i])
            update([*outer, i])
        k.loop(k.scalar(exp.space[-1].width), element, base="e")

    if len(exp.space) > 1:
        each_point(lowering, k, exp.space[:-1], segment, "seghist_sequential")
    else:
        segment([])
        lowering.launch(k, "seghist_sequential", Size.of(1), Size.of(1))


def _atomic(k: KernelBuilder, op_: HistOp, out: View, indices: Sequence[Exp],
            value: Value) -> None:
    """An update that other work-items may do to the same element at the same time."""
    assert not isinstance(value, View)
    assert out.mem is not None
    (type_,) = op_.op.lam.ret
    prim = require_scalar(type_)
    place = flat_index(indices, out.shape)
    with k.block() as code:
        if (native := native_operation(op_.op)) is not None:
            k.emit(imp.Atomic(native, prim, out.mem, place, value, imp.Space.GLOBAL))
        else:
            old = k.names.fresh("old")
            with k.block() as body:
                (new,) = k.apply(op_.op.lam, [imp.Var(old), value])
            assert not isinstance(new, View)
            k.emit(imp.AtomicUpdate(out.mem, place, prim, imp.Space.GLOBAL, old, tuple(body), new))
    last, bins = indices[-1], k.scalar(op_.bins)
    inside = imp.Apply("and", Prim.BOOL, (imp.Apply("le", Prim.I64, (lit(0), last)),
                                          imp.Apply("lt", Prim.I64, (last, bins))))
    k.emit(imp.If(inside, tuple(code)))


def kernels_of(steps: Sequence[plan.Step]) -> Iterator[imp.Kernel]:
    """The kernels that steps launch, also inside control flow but not in other versions."""
    for step in steps:
        match step:
            case plan.Launch(kernel):
                yield kernel
            case plan.Branch(_, then_, else_):
                yield from kernels_of(then_)
                yield from kernels_of(else_)
            case plan.CountedLoop(_, _, body) | plan.WhileLoop(_, body):
                yield from kernels_of(body)
