"""The host plan of a versioned function.

Arrays live in buffers.  Scalars live on the host, except for those that a kernel made and the
host need not know (:mod:`runelift.codegen.residence`): they are *deferred*, and each kernel that
uses one computes it from the buffers where it comes from.

Layout operations make views and cost nothing; an array is copied only where a row-major buffer
of its own is needed: at the edges of loops, branches and versions, and for results.  An update
is done in place when the operand's buffer was made in the same body and nothing else looks at it
later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

from runelift.codegen import plan
from runelift.codegen.coalesce import (
    ALONG,
    BESIDE,
    CARRIED,
    LONG,
    PROMISED,
    coalesce,
    number,
)
from runelift.codegen.kernels import lower_segop
from runelift.codegen.liveness import release_dead
from runelift.codegen.persistent import may_persist
from runelift.codegen.promises import Promises
from runelift.codegen.residence import residence
from runelift.codegen.views import interleaved, iota, replicate
from runelift.ir import failures, imp
from runelift.ir.consumption import consumed_in, idle_copies, root_of
from runelift.ir.errors import CompilerLimitation
from runelift.ir.lookahead import with_uses_after
from runelift.ir.names import Names, VName
from runelift.ir.placement import MOVED, PLACED, SCRATCH
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, greatest, product
from runelift.ir.syntax import (
    ArrayLit,
    Assert,
    AtomExp,
    Body,
    Concat,
    Convert,
    Copy,
    Dest,
    Dim,
    ForLoop,
    Fun,
    If,
    Index,
    Iota,
    Level,
    Loop,
    Param,
    PrimOp,
    Rearrange,
    Replicate,
    Reshape,
    SegDim,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    SegScatter,
    SliceDim,
    Stm,
    Update,
    Versions,
    WhileLoop,
)
from runelift.ir.traverse import free_vars
from runelift.ir.types import ArrayType, Atom, Type, array_of, elem_of, i64, shape_of

NONE: Mapping[VName, int] = MappingProxyType({})
"""All arrays lie row by row."""

FEW = 4
"""Arrays of up to so many elements, or of so many work-items, gain nothing by interleaving."""


def interface(fun: Fun) -> plan.Interface:
    """What a caller of an entry point gives."""
    return plan.Interface(fun.name, tuple(p.name for p in fun.params[: fun.sizes]),
                          tuple(_spec(p) for p in fun.params[fun.sizes:]))


def plan_fun(fun: Fun, names: Names, *, interleave: bool = False,
             coherent: bool = False) -> plan.Plan:
    """The plan of an entry point; CompilerLimitation if no version of it can be compiled.

    ``interleave``: arrays that neighbouring work-items make lie interleaved in memory, so that
    the device writes elements of the same index together.  ``coherent``: one kernel can run all
    iterations of a loop.
    """
    if interleave:
        fun = coalesce(fun, names)
    host = HostBuilder(names, residence(fun, coherent=coherent), fun.name, interleave)
    for param in fun.params:
        host.bind_input(param)
    results = host.body(fun.body, frozenset())
    hidden = {size for p in fun.results for size in shape_of(p.type)}
    renamed = dict(zip((p.name for p in fun.results), fun.body.result, strict=True))
    specs: list[plan.ValueSpec] = []
    scalars: list[tuple[VName, Atom]] = []
    for param, atom in zip(fun.results, results, strict=True):
        if param.name in hidden:
            continue
        if isinstance(param.type, Prim):
            held = names.fresh(param.name)
            scalars.append((held, atom))
            specs.append(plan.ValueSpec(held, param.type, None))
        else:
            assert isinstance(atom, VName)
            shape = tuple(renamed.get(s, s) if isinstance(s, VName) else s
                          for s in param.type.shape)
            specs.append(plan.ValueSpec(host.any_buffer(atom), param.type.elem, shape))
    host.read_back(scalars)
    given = interface(fun)
    return release_dead(plan.Plan(given.entry, given.sizes, given.params, tuple(specs),
                                  tuple(host.steps)))


def _spec(param: Param) -> plan.ValueSpec:
    shape = param.type.shape if isinstance(param.type, ArrayType) else None
    return plan.ValueSpec(param.name, elem_of(param.type), shape)


def _early(steps: tuple[plan.Step, ...], known: Set[VName]) -> tuple[
        list[plan.ShareOut], tuple[plan.Step, ...]]:
    """The choices of group sizes that can be made before a version is chosen, and the rest."""
    found, rest = list[plan.ShareOut](), list[plan.Step]()
    for step in steps:
        if isinstance(step, plan.Operation):
            early = tuple(s for s in step.steps if isinstance(s, plan.ShareOut)
                          and all(set(size.variables()) <= known for size in s.sizes()))
            found += early
            step = replace(step, early=early,
                           steps=tuple(s for s in step.steps if s not in early))
        rest.append(step)
    return found, tuple(rest)


@dataclass(slots=True)
class HostBuilder(Promises):
    """The steps of the statements that the host runs."""

    # Bodies

    def body(self, body: Body, used_after: Set[VName]) -> tuple[Atom, ...]:
        """The steps of a body; its results."""
        self.idle |= idle_copies(body)
        followed = with_uses_after(body, used_after)
        for place, (stm, after) in enumerate(followed):
            self.later.append(after)
            if isinstance(stm.exp, SegMap):
                self.place_results(followed, place)
            self.statement(stm)
            self.later.pop()
        return body.result

    def statement(self, stm: Stm) -> None:
        """The steps of one statement."""
        for param in stm.pat:
            self.types[param.name] = param.type
        match stm.exp:
            case PrimOp(op, prim, args) if not stm.exp.may_trap and self.defers(stm, args):
                self.defer(stm, imp.Apply(op, prim, tuple(map(self.scalar, args))))
            case Convert(from_, to, arg) if self.defers(stm, (arg,)):
                self.defer(stm, imp.Convert(from_, to, self.scalar(arg)))
            case AtomExp(atom) if self.defers(stm, (atom,)):
                self.defer(stm, self.scalar(atom))
            case PrimOp(name, prim, args):
                self.emit(plan.Compute(stm.pat[0].name, name, prim, args, stm.loc))
            case Convert(from_, to, arg):
                self.emit(plan.ConvertScalar(stm.pat[0].name, from_, to, arg))
            case AtomExp(atom):
                if isinstance(atom, VName) and atom in self.views:
                    self.bind_view(stm.pat[0], self.views[atom])
                else:
                    self.emit(plan.Bind(stm.pat[0].name, atom))
            case Index():
                self._index(stm, stm.exp)
            case Update():
                self._update(stm, stm.exp)
            case Iota(count, start, step, prim):
                self.bind_view(stm.pat[0], iota(prim, self.scalar(count), self.scalar(start),
                                                self.scalar(step)))
            case Replicate() if SCRATCH in stm.attrs:
                self.allocate(stm.pat[0])
            case Replicate(shape, value):
                self._replicate(stm, shape, value)
            case Rearrange(perm, array):
                self.bind_view(stm.pat[0], self.views[array].rearrange(perm))
                if array in self.places.waiting:
                    self.places.waiting.add(stm.pat[0].name)
            case Reshape(shape, array):
                self._check_reshape(stm, shape, array)
                self.bind_view(stm.pat[0], self.views[array].reshape(
                    tuple(self.scalar(s) for s in shape)))
            case Copy(array) if PROMISED in stm.attrs:
                self.promise(stm.pat[0], array, number(stm, ALONG),
                             beside=number(stm, BESIDE) if LONG in stm.attrs else None)
            case Copy(array) if stm.pat[0].name in self.idle and self.views[array].unit:
                self.bind_view(stm.pat[0], self.views[array])
            case Copy(array):
                self.adopt(stm.pat[0], self.own_buffer(array))
            case Concat(dim, arrays, _):
                self._concat(stm, dim, arrays)
            case ArrayLit(elems, row):
                self._literal(stm, elems, row)
            case Assert(cond, message, args):
                self.emit(plan.Check(cond, message, args, stm.loc))
            case If():
                self._branch(stm, stm.exp)
            case Loop():
                self._loop(stm, stm.exp)
            case Versions():
                self._versions(stm, stm.exp)
            case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist():
                self._segop(stm, stm.exp)
            case _:
                self._sequential(stm)

    # Kernels

    def segop(self, stm: Stm) -> None:
        """The steps of a segmented operation whose result buffers exist."""
        parameters = self.new_operation(stm.pat)
        lowered = lower_segop(stm, self, self.names, parameters)
        self.fill(_buffers(lowered.steps))
        self.local_bytes.append(lowered.local_bytes)
        found = tuple(parameters.found.values())
        self.types |= {p.variable: Prim.I64 for p in found}
        self.emit(plan.Operation(parameters.operation, found, lowered.steps))

    def _segop(self, stm: Stm, exp: SegOp) -> None:
        # A scalar result arrives in a buffer of one element, under a name of its own.
        scalars = [p.name for p in stm.pat]
        pat = tuple(Param(self.names.fresh(p.name), p.type) if isinstance(p.type, Prim) else p
                    for p in stm.pat)
        stm = replace(stm, pat=pat)
        match exp:
            case SegScatter(_, _, dests):
                self._destinations(stm, [d.array for d in dests])
            case SegHist(_, _, ops):
                self._destinations(stm, [d for o in ops for d in o.dests])
            case _:
                for param in pat:
                    self._make_room(param, exp)
        self.segop(stm)
        self.settle(p.name for p in pat)
        for name, param in zip(scalars, pat, strict=True):
            if isinstance(param.type, Prim):
                self.scalar_result(name, param.type, param.name)

    def _make_room(self, param: Param, exp: SegOp) -> None:
        """A buffer for a result; arrays that work-items make one each may be interleaved."""
        if (given := self.places.given.pop(param.name, None)) is not None:
            self.bind_view(param, given)
            self.places.waiting.add(param.name)
            return
        view = self.allocate(param)
        match exp:
            case SegMap(Level.GRID, space) if self.interleave:
                if self._interleaves(param.type, len(space)):
                    self.bind_view(param, interleaved(param.name, view.prim, view.shape,
                                                      len(space)))

    def _interleaves(self, type_: Type, outer: int) -> bool:
        """Whether an array whose ``outer`` dimensions are made side by side should lie so."""
        shape = [self.size(s) for s in shape_of(type_)]
        return all(n.constant is None or n.constant > FEW
                   for n in (product(shape[:outer]), product(shape[outer:])))

    def _destinations(self, stm: Stm, arrays: Sequence[VName]) -> None:
        """The operand's own buffer where nobody else looks at it, else a copy.

        The kernel's work-items run in any order, so it must not read what it overwrites.
        """
        read = self.read_by(stm.exp)
        taken: set[VName] = set()
        for param, array in zip(stm.pat, arrays, strict=True):
            mem = self.views[array].mem
            if (mem is not None and mem not in taken and self.views[array].dense
                    and self.dead(array)
                    and not any(self.touches(self.views[name], mem) for name in read)):
                taken.add(mem)
                self.adopt(param, mem)
            else:
                self.adopt(param, self.copy(array))

    def _sequential(self, stm: Stm) -> None:
        """A statement that only one work-item can run."""
        one = SegDim(self.names.fresh("one"), i64(1))
        pat = tuple(Param(self.names.fresh(p.name), array_of((i64(1),), p.type)) for p in stm.pat)
        kernel = SegMap(Level.GRID, (one,), Body((stm,), tuple(p.name for p in stm.pat)),
                        tuple(p.type for p in stm.pat))
        for param in stm.pat:
            del self.types[param.name]
        self.statement(Stm(pat, kernel, stm.attrs, stm.loc))
        for param, array in zip(stm.pat, pat, strict=True):
            self.types[param.name] = param.type
            if isinstance(param.type, Prim):
                self.scalar_result(param.name, param.type, array.name)
            else:
                self.bind_view(param, self.views[array.name].reshape(self.shape(param.type)))

    # Scalars and views

    def _index(self, stm: Stm, exp: Index) -> None:
        view, (param,) = self.views[exp.array], stm.pat
        if exp.checked:
            self._check_bounds(exp, stm)
        dims = [self.dim(dim) for dim in exp.dims]
        if isinstance(param.type, ArrayType):
            self.places.arrays[param.name] = exp.array
            self.bind_view(param, view.slice(dims))
            return
        indices = [d for d in dims if not isinstance(d, tuple)]
        if view.mem is None:
            buffer = self.copy(exp.array)
            view = self.views[buffer]
        assert view.mem is not None
        if param.name in self.residence.needed:
            self.emit(plan.Read(param.name, param.type, view.mem, view.at(indices)))
        else:  # a copy, because the array may be updated in place
            held = self.names.fresh(param.name)
            self.emit(plan.Alloc(held, param.type, Size.of(1)),
                      plan.CopyBuffer(held, view.mem, param.type, Size.of(1), view.at(indices)))
            self.scalar_result(param.name, param.type, held)

    def _check_bounds(self, exp: Index | Update, stm: Stm) -> None:
        shape = shape_of(self.types[exp.array])
        written = [self._written(dim) for dim in exp.dims]
        message = failures.access([len(each) for each in written])
        values = (*(value for each in written for value in each), *shape)
        for dim, size in zip(exp.dims, shape, strict=True):
            if isinstance(dim, SliceDim):
                if dim.start == i64(0) and dim.count == size and dim.stride == i64(1):
                    continue
                steps = self.compute("sub", dim.count, i64(1))
                last = self.compute("add", dim.start, self.compute("mul", steps, dim.stride))
                inside = self.compute("and", self._within(dim.start, size),
                                      self._within(last, size), prim=Prim.BOOL)
                empty = self.compute("eq", dim.count, i64(0))
                some = self.compute("lt", i64(0), dim.count)
                fine = self.compute("or", empty, self.compute("and", some, inside, prim=Prim.BOOL),
                                    prim=Prim.BOOL)
            else:
                fine = self._within(dim, size)
            self.emit(plan.Check(fine, message, values, stm.loc))

    def _written(self, dim: Dim) -> tuple[Atom, ...]:
        """A dimension of an access as a program writes it: an index, or start, stop and step."""
        if not isinstance(dim, SliceDim):
            return (dim,)
        if dim.stride == i64(1):
            return dim.start, self.compute("add", dim.start, dim.count)
        stop = self.compute("add", dim.start, self.compute("mul", dim.count, dim.stride))
        return dim.start, stop, dim.stride

    def _within(self, index: Atom, size: Atom) -> VName:
        return self.compute("and", self.compute("le", i64(0), index),
                            self.compute("lt", index, size), prim=Prim.BOOL)

    def _check_reshape(self, stm: Stm, shape: tuple[Atom, ...], array: VName) -> None:
        old = shape_of(self.types[array])
        if product([self.size(s) for s in shape]) == product([self.size(s) for s in old]):
            return
        sizes = [self.names.fresh("size"), self.names.fresh("size")]
        for name, atoms in zip(sizes, (shape, old), strict=True):
            self.types[name] = Prim.I64
            self.emit(plan.ComputeSize(name, product([self.size(s) for s in atoms])))
        same = self.compute("eq", sizes[0], sizes[1])
        self.emit(plan.Check(same, failures.RESHAPE, (sizes[1], sizes[0]), stm.loc))

    def _replicate(self, stm: Stm, shape: tuple[Atom, ...], value: Atom) -> None:
        (param,) = stm.pat
        outer = tuple(self.scalar(s) for s in shape)
        if isinstance(value, VName) and value in self.views:
            inner = self.views[value]
            if inner.mem is not None and inner.mem in self.owned[-1]:
                inner = self.views[self.copy(value)]
            self.bind_view(param, replicate(elem_of(param.type), outer, inner))
        else:
            self.bind_view(param, replicate(elem_of(param.type), outer, self.scalar(value)))

    # Arrays

    def _update(self, stm: Stm, exp: Update) -> None:
        (param,) = stm.pat
        if PLACED in stm.attrs and self.is_in_place(exp):
            mem = self.views[exp.array].mem
            assert mem is not None
            self.adopt(param, mem)
            return
        if exp.checked:
            self._check_bounds(exp, stm)
        slices = [d for d in exp.dims if isinstance(d, SliceDim)]
        inner = tuple(SegDim(self.names.fresh("k"), d.count) for d in slices) or (
            SegDim(self.names.fresh("one"), i64(1)),)
        stms: list[Stm] = []
        indices: list[Atom] = []
        place = iter(inner)
        for dim in exp.dims:
            if not isinstance(dim, SliceDim):
                indices.append(dim)
                continue
            scaled, at = self.names.fresh("o"), self.names.fresh("at")
            index = next(place).index
            stms += [Stm((Param(scaled, Prim.I64),), PrimOp("mul", Prim.I64, (index, dim.stride))),
                     Stm((Param(at, Prim.I64),), PrimOp("add", Prim.I64, (dim.start, scaled)))]
            indices.append(at)
        value = exp.value
        if slices and isinstance(value, VName):
            source = value
            if self.touches(self.views[value], self.views[exp.array].mem or value):
                source = self.copy(value)
            element = self.names.fresh("x")
            stms.append(Stm((Param(element, elem_of(param.type)),),
                            Index(source, tuple(d.index for d in inner))))
            value = element
        body = Body(tuple(stms), (*indices, value))
        dest = (Dest(exp.array, len(indices)),)
        self._segop(Stm(stm.pat, SegScatter(Level.GRID, inner, dest, body), stm.attrs, stm.loc),
                    SegScatter(Level.GRID, inner, dest, body))

    def _concat(self, stm: Stm, dim: int, arrays: tuple[VName, ...]) -> None:
        (param,) = stm.pat
        self.allocate(param)
        start: Atom = i64(0)
        whole = self.views[param.name]
        for array in arrays:
            shape = shape_of(self.types[array])
            dims = tuple(SegDim(self.names.fresh("i"), s) for s in shape)
            at = self.names.fresh("at")
            element = self.names.fresh("x")
            body = Body((
                Stm((Param(at, Prim.I64),), PrimOp("add", Prim.I64, (dims[dim].index, start))),
                Stm((Param(element, elem_of(param.type)),),
                    Index(array, tuple(d.index for d in dims)))),
                (*(at if k == dim else d.index for k, d in enumerate(dims)), element))
            part = SegScatter(Level.GRID, dims, (Dest(param.name, len(dims)),), body)
            self.segop(Stm((param,), part, loc=stm.loc))
            start = self.compute("add", start, shape[dim])
        self.views[param.name] = whole

    def _literal(self, stm: Stm, elems: tuple[Atom, ...], row: Type) -> None:
        (param,) = stm.pat
        self.allocate(param)
        rows = shape_of(row)
        for k, elem in enumerate(elems):
            dims = tuple(SegDim(self.names.fresh("i"), s) for s in rows) or (
                SegDim(self.names.fresh("one"), i64(1)),)
            stms: tuple[Stm, ...] = ()
            value: Atom = elem
            if rows and isinstance(elem, VName):
                value = self.names.fresh("x")
                stms = (Stm((Param(value, elem_of(row)),),
                            Index(elem, tuple(d.index for d in dims))),)
            indices: tuple[Atom, ...] = (i64(k), *(d.index for d in dims if rows))
            body = Body(stms, (*indices, value))
            part = SegScatter(Level.GRID, dims, (Dest(param.name, 1 + len(rows)),), body)
            self.segop(Stm((param,), part, loc=stm.loc))

    # Control

    def _side(self, body: Body, pat: Sequence[Param], inherited: Set[VName],
              site: str | None = None) -> tuple[plan.Step, ...]:
        """A branch or version: its results end up under the names of ``pat``."""
        with self.block(inherited, site) as steps:
            results = self.body(body, self.later[-1])
            self._bind_results(pat, results)
        return tuple(steps)

    def _bind_results(self, pat: Sequence[Param], results: Sequence[Atom],
                      outers: Mapping[VName, int] = NONE) -> None:
        taken: set[VName] = set()
        held = self.hand_on(pat, results)
        for param, atom in zip(pat, results, strict=True):
            if isinstance(param.type, Prim):
                if param.name not in self.residence.cells:
                    held.append((param.name, atom))
                continue
            assert isinstance(atom, VName)
            outer = outers.get(param.name, 0)
            buffer = self.own_buffer(atom, shared=True, outer=outer)
            if buffer in taken:
                buffer = self.copy(atom, outer)
            taken.add(buffer)
            held.append((param.name, buffer))
        self.parallel_bind(held)

    def parallel_bind(self, pairs: Sequence[tuple[VName, Atom]]) -> None:
        """Bind all targets at once: a source may be another's target."""
        targets = {target for target, _ in pairs}
        moved: list[tuple[VName, Atom]] = []
        for target, source in pairs:
            if source in targets and source != target:
                fresh = self.names.fresh("held")
                self.emit(plan.Bind(fresh, source))
                moved.append((target, fresh))
            elif source != target:
                moved.append((target, source))
        self.emit(*(plan.Bind(target, source) for target, source in moved))

    def _own_results(self, pat: Sequence[Param], borrowed: Set[VName] = frozenset(),
                     outers: Mapping[VName, int] = NONE) -> None:
        """Names of buffers that this body owns, but for those that may be somebody else's."""
        for param in pat:
            if isinstance(param.type, ArrayType):
                if param.name not in borrowed:
                    self.owned[-1].add(param.name)
                self.bind_view(param, interleaved(param.name, param.type.elem, self.shape(
                    param.type), outers.get(param.name, 0)))

    def _branch(self, stm: Stm, exp: If) -> None:
        then_ = self._side(exp.then_, stm.pat, self.owned[-1])
        else_ = self._side(exp.else_, stm.pat, self.owned[-1])
        self.emit(plan.Branch(exp.cond, then_, else_))
        self._own_results(stm.pat)

    def _loop(self, stm: Stm, exp: Loop) -> None:
        taken, only_read, borrowed = set[VName](), _only_read(exp), set[VName]()
        params = [p.param for p in exp.params]
        outers = self._outers(stm.attrs, params)
        start = self.hand_on(params, [p.init for p in exp.params])
        self.later.append(self.later[-1] | free_vars(exp.body))
        for p in exp.params:
            self.types[p.param.name] = p.param.type
            if isinstance(p.param.type, Prim):
                if p.param.name not in self.cells:
                    start.append((p.param.name, p.init))
                continue
            assert isinstance(p.init, VName)
            outer = outers.get(p.param.name, 0)
            if p.param.name in only_read and self.is_input(p.init) and not outer:
                borrowed.add(p.param.name)
                start.append((p.param.name, self.any_buffer(p.init)))
                continue
            buffer = self.own_buffer(p.init, outer=outer)
            if buffer in taken:
                buffer = self.copy(p.init, outer)
            taken.add(buffer)
            start.append((p.param.name, buffer))
        self.later.pop()
        self.parallel_bind(start)
        with self.block() as steps:
            self._own_results(params, borrowed, outers)
            if isinstance(exp.form, ForLoop):
                self.types[exp.form.index] = Prim.I64
                self.indices.add(exp.form.index)
            results = self.body(exp.body, frozenset())
            self._bind_results(params, results, outers)
        self._rounds(exp.form, params, tuple(steps))
        pairs = list(zip(stm.pat, params, strict=True))
        self.parallel_bind([(out.name, p.name) for out, p in pairs if p.name not in self.cells])
        for out, param in pairs:
            if (cell := self.cells.get(param.name)) is not None:
                self.scalar_result(out.name, elem_of(out.type), cell)
        self._own_results(stm.pat, {out.name for out, p in pairs if p.name in borrowed},
                          {out.name: outers[p.name] for out, p in pairs if p.name in outers})

    def _outers(self, attrs: Sequence[str], params: Sequence[Param]) -> dict[VName, int]:
        """How many dimensions vary fastest of the arrays of a loop that do not lie row by row."""
        found = dict[VName, int]()
        for attr in attrs:
            if attr.startswith(CARRIED):
                place, outer = map(int, attr.removeprefix(CARRIED).split())
                if self._interleaves(params[place].type, outer):
                    found[params[place].name] = outer
        return found

    def _rounds(self, form: ForLoop | WhileLoop, params: Sequence[Param],
                body: tuple[plan.Step, ...]) -> None:
        """A loop; one kernel may run it if all that iterations hand on is in buffers."""
        held = [self.cells.get(p.name, p.name) for p in params
                if isinstance(p.type, ArrayType) or p.name in self.cells]
        carried = tuple(held) if len(held) == len(params) else None
        if isinstance(form, ForLoop):
            steady = may_persist(body, form.index)
            self.emit(plan.CountedLoop(form.index, form.bound, body, carried if steady else None))
        elif (cell := self.cells.get(form.cond)) is not None:
            self.emit(plan.WhileLoop(cell, body, True, carried if may_persist(body) else None))
        else:
            self.emit(plan.WhileLoop(form.cond, body))

    def _versions(self, stm: Stm, exp: Versions) -> None:
        versions: list[plan.PlanVersion] = []
        reasons: list[str] = []
        updated = {mem for version in exp.alternatives for array in _moved_into(version.body)
                   if array in self.views and (mem := self.views[array].mem) is not None
                   and mem in self.owned[-1]}
        for version in exp.alternatives:
            outer, self.local_bytes = self.local_bytes, []
            views, types = dict(self.views), dict(self.types)
            try:
                steps = self._side(version.body, stm.pat, updated, exp.site)
                shares, steps = _early(steps, types.keys() | set(plan.DEVICE_SIZES))
                self.emit(*shares)
                known = types.keys() | set(plan.DEVICE_SIZES) | {
                    n for share in shares for n in share.names()} | {
                    p.variable for p in plan.parameters(steps)}
                need = greatest(Size.of(0), *(
                    size for size in self.local_bytes if set(size.variables()) <= known))
                groups = tuple(share.group for share in shares)
                versions.append(plan.PlanVersion(version.guard, version.kind, steps, need,
                                                 groups=groups))
            except CompilerLimitation as limitation:
                reasons.append(str(limitation))
                self.views, self.types = views, types
                versions.append(plan.PlanVersion(version.guard, version.kind, (),
                                                 infeasible=str(limitation)))
            self.local_bytes = outer
        if all(v.infeasible for v in versions):
            raise CompilerLimitation(reasons[-1])
        sizes = {v for version in exp.alternatives if version.guard is not None
                 for size in (version.guard.par, version.guard.group, version.guard.groups)
                 if size is not None for v in size.variables()}
        recorded = tuple(sorted(sizes, key=lambda n: n.tag))
        results = tuple(plan.ValueSpec(self.cells[p.name], elem_of(p.type), (i64(1),))
                        if p.name in self.cells else _spec(p) for p in stm.pat)
        self.emit(plan.Choose(exp.site, tuple(versions), recorded, results))
        self._own_results(stm.pat)


def _buffers(steps: Iterable[plan.Step]) -> set[VName]:
    """What the kernels that steps launch are given."""
    return {arg for step in plan.all_steps(steps) if isinstance(step, plan.Launch)
            for arg in step.args if isinstance(arg, VName)}


def _moved_into(body: Body) -> Iterator[VName]:
    """The arrays that versions update as the last thing that they do."""
    for stm in body.stms:
        if isinstance(stm.exp, Update) and MOVED in stm.attrs:
            yield stm.exp.array
        elif isinstance(stm.exp, Versions):
            for version in stm.exp.alternatives:
                yield from _moved_into(version.body)


def _only_read(exp: Loop) -> set[VName]:
    """The arrays of a loop that its body neither updates nor hands on."""
    defs = {p.name: stm for stm in exp.body.stms for p in stm.pat}
    handed = {root_of(a, defs) for a in exp.body.result if isinstance(a, VName)}
    return {p.param.name for p in exp.params} - consumed_in(exp.body) - handed
