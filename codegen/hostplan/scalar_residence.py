"""Residence of scalars: must the host know a scalar, or can it stay on the device?

To read a scalar back, the host waits until all earlier commands are done.  So it reads only scalars
that it needs: for branches, bounds of loops, sizes and assertions.  Results are read when
everything has been issued.  Otherwise the kernels that use a scalar load it, and repeat the little
arithmetic in between (:meth:`runelift.codegen.hostplan.host.HostBuilder.statement`).  Such scalars
that versions, branches and iterations hand on are in buffers of one element
(:mod:`~runelift.codegen.hostplan.device_scalars`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of
from runelift.ir.types import Atom, Type, shape_of


@dataclass(frozen=True, slots=True)
class Residence:
    """The places of the scalars of a function.

    ``needed``: the host must know their values.  ``on_device``: results of branches and versions,
    and parameters of loops, that stay on the device.
    """

    needed: frozenset[VName]
    on_device: frozenset[VName]


def residence(fun: ir.Fun, *, coherent: bool = False) -> Residence:
    """The places of the scalars of ``fun`` when the host runs it.

    ``coherent``: one kernel can run all iterations of a loop.  It then also reads the condition, if
    an iteration reads nothing back and hands on values on the device only.
    """
    asked = _shapes(fun)
    steady = {loop.form.cond: loop for loop in _loops(fun.body)
              if isinstance(loop.form, ir.WhileLoop)} if coherent else {}
    if steady:  # the host runs loops of its own scalars
        made = _made_by_device(fun.body)
        steady = {cond: loop for cond, loop in steady.items() if cond in made}
    while True:
        made = _made_by_device(fun.body, {
            p.param.name for loop in steady.values() for p in loop.params
            if isinstance(p.param.type, Prim)})
        needs = _Needs(made, steady.keys())
        needs.types(p.type for p in (*fun.params, *fun.results))
        needs.body(fun.body)
        needs.atoms(asked)
        needed = needs.closed()
        read_back = made & needed
        unsteady = [cond for cond, loop in steady.items()
                    if not read_back.isdisjoint(_bound_in(loop)) or any(_loops(loop.body))]
        if not unsteady:
            return Residence(needed, frozenset(needs.handed & made - needed))
        for cond in unsteady:
            del steady[cond]


def _shapes(fun: ir.Fun) -> list[Atom]:
    """The results that the host must know before the end: sizes of other results."""
    hidden = {size for p in fun.results for size in shape_of(p.type)}
    return [atom for p, atom in zip(fun.results, fun.body.result, strict=True) if p.name in hidden]


def _loops(body: ir.Body) -> Iterator[ir.Loop]:
    """The loops that the host runs."""
    for stm in body.stms:
        if isinstance(stm.exp, ir.Loop):
            yield stm.exp
        for inner in _host_bodies(stm.exp):
            yield from _loops(inner)


def _bound_in(loop: ir.Loop) -> Iterator[VName]:
    """The names that a loop binds on the host, without the names that kernels bind."""
    yield from (p.param.name for p in loop.params)
    bodies = [loop.body]
    while bodies:
        for stm in bodies.pop().stms:
            yield from (p.name for p in stm.pat)
            bodies += _host_bodies(stm.exp)


def _host_bodies(exp: ir.Exp) -> tuple[ir.Body, ...]:
    return tuple(bodies_of(exp)) if isinstance(
        exp, ir.If | ir.Loop | ir.Recursion | ir.Versions) else ()


def _made_by_device(body: ir.Body, given: Iterable[VName] = ()) -> frozenset[VName]:
    """The scalars of host code that kernels compute, or that depend on them or on ``given``."""
    made = set(given)
    count = -1
    while count < len(made):  # what an iteration makes may be what the next one starts with
        count = len(made)
        _add_made(body, made)
    return frozenset(made)


def _add_made(body: ir.Body, made: set[VName]) -> None:
    for stm in body.stms:
        for inner in _host_bodies(stm.exp):
            _add_made(inner, made)
        for param, sources in _sources(stm):
            if isinstance(param.type, Prim) and (sources is None or made & sources):
                made.add(param.name)


def _sources(stm: ir.Stm) -> Iterator[tuple[ir.Param, set[Atom] | None]]:
    """The names that a statement binds on the host, and what each is; None for kernels."""
    match stm.exp:
        case ir.PrimOp(args=args):
            yield stm.pat[0], set() if stm.exp.may_trap else set(args)
        case ir.Convert(arg=arg) | ir.AtomExp(arg):
            yield stm.pat[0], {arg}
        case ir.If(_, then_, else_):
            for param, *results in zip(stm.pat, then_.result, else_.result, strict=True):
                yield param, set(results)
        case ir.Versions(_, alternatives):
            bodies = [version.body.result for version in alternatives]
            for param, *results in zip(stm.pat, *bodies, strict=True):
                yield param, set(results)
        case ir.Loop(params, _, body):
            for out, given, result in zip(stm.pat, params, body.result, strict=True):
                yield given.param, {given.init, result}
                yield out, {given.param.name}
        case ir.Recursion() | ir.Call() | ir.SlabSize() | ir.SegmentLength():
            return  # the host makes their results
        case _:
            for param in stm.pat:
                yield param, None


@dataclass(slots=True)
class _Needs:
    """The scalars that host code needs.

    ``made``: the scalars of the device.  ``handed``: the scalars that control hands on.
    ``conditions``: the conditions of loops that read them on the device.
    """

    made: frozenset[VName]
    conditions: Collection[VName]
    handed: set[VName] = field(default_factory=set)
    needed: set[VName] = field(default_factory=set)
    sources: dict[VName, set[VName]] = field(default_factory=dict)
    """The scalars from which each scalar that the host can compute is computed."""
    starts: dict[VName, set[VName]] = field(default_factory=dict)
    """The names that say where the elements of each view are, or what they are."""

    def closed(self) -> frozenset[VName]:
        """The needed names, their sources, and the scalars that depend on these names alone."""
        todo = list(self.needed)
        while todo:
            while todo:
                for source in self.sources.get(todo.pop(), set()) - self.needed:
                    self.needed.add(source)
                    todo.append(source)
            todo = [name for name in self.handed - self.needed
                    if not (self.sources[name] & self.made) - self.needed]
            self.needed.update(todo)
        return frozenset(self.needed)

    def atoms(self, atoms: Iterable[Atom]) -> None:
        self.needed |= {a for a in atoms if isinstance(a, VName)}

    def hand(self, name: VName, atoms: Iterable[Atom]) -> None:
        """Note that a branch or loop passes one of ``atoms`` on as ``name``."""
        if name in self.made:
            self.handed.add(name)
            self.sources[name] = {a for a in atoms if isinstance(a, VName)}
        else:
            self.atoms(atoms)

    def types(self, types: Iterable[Type]) -> None:
        for type_ in types:
            self.atoms(shape_of(type_))

    # Code that the host runs

    def body(self, body: ir.Body) -> None:
        for stm in body.stms:
            self.types(p.type for p in stm.pat)
            self.statement(stm)

    def statement(self, stm: ir.Stm) -> None:
        exp = stm.exp
        if isinstance(exp, ir.VIEWS):
            self._places(stm.pat[0], exp)
        match exp:
            case ir.PrimOp(args=args) if not exp.may_trap:
                self.sources[stm.pat[0].name] = {a for a in args if isinstance(a, VName)}
            case ir.Convert(arg=arg) | ir.AtomExp(arg):
                self.sources[stm.pat[0].name] = {arg} if isinstance(arg, VName) else set()
            case ir.PrimOp():
                self.atoms(exp.args)
            case ir.Index(_, dims, checked):
                scalar = isinstance(stm.pat[0].type, Prim)
                self.atoms(d for d in dims
                           if not isinstance(d, ir.SliceDim) and (checked or scalar))
                self._slices(dims, checked)
            case ir.Update(_, dims, _, checked):
                self.atoms(d for d in dims if not isinstance(d, ir.SliceDim) and checked)
                self._slices(dims, checked)
            case ir.Assert(cond, _, args):
                self.atoms((cond, *args))
            case ir.If(cond, then_, else_):
                self.atoms((cond,))
                for param, *results in zip(stm.pat, then_.result, else_.result, strict=True):
                    self.hand(param.name, results)
                self.body(then_)
                self.body(else_)
            case ir.Loop(params, form, body):
                self.types(p.param.type for p in params)
                for p, result in zip(params, body.result, strict=True):
                    self.hand(p.param.name, (p.init, result))
                if isinstance(form, ir.ForLoop):
                    self.atoms((form.bound,))
                elif form.cond not in self.conditions:
                    self.atoms((form.cond,))
                self.body(body)
            case ir.Recursion(_, params, body):
                self.types(p.param.type for p in params)
                self.atoms((*(p.init for p in params), *body.result))
                self.body(body)
            case ir.Versions(_, alternatives):
                bodies = [version.body.result for version in alternatives]
                for param, *results in zip(stm.pat, *bodies, strict=True):
                    self.hand(param.name, results)
                for version in alternatives:
                    if version.guard is not None:
                        for size in version.guard.sizes():
                            self.needed |= size.variables()
                    self.body(version.body)
            case _:
                self.inside(exp)

    def _places(self, param: ir.Param, exp: ir.Exp) -> None:
        """Note where a view has its elements; the host needs that to read one of them."""
        names = free_vars(exp)
        starts = names.union(*(self.starts.get(name, ()) for name in names)) - self.starts.keys()
        (self.sources if isinstance(param.type, Prim) else self.starts)[param.name] = starts

    def _slices(self, dims: Iterable[object], checked: bool) -> None:
        for dim in dims:
            if isinstance(dim, ir.SliceDim):
                self.atoms((dim.count, dim.start, dim.stride) if checked else (dim.count,))

    # Code that kernels run: the host may need its sizes for scratch memory and groups

    def inside(self, exp: ir.Exp) -> None:
        self.atoms(_sizes_of(exp))
        for body in bodies_of(exp):
            self._inner_body(body)
        for lam in lambdas_of(exp):
            self._inner_lambda(lam)

    def _inner_body(self, body: ir.Body) -> None:
        for stm in body.stms:
            self._params(stm.pat)
            self.inside(stm.exp)
            match stm.exp:
                case ir.PrimOp("add" | "sub" | "mul" | "min", Prim.I64, args):  # sizes for the host
                    self.sources[stm.pat[0].name] = {a for a in args if isinstance(a, VName)}

    def _inner_lambda(self, lam: ir.Lambda) -> None:
        self._params(lam.params)
        self.types(lam.ret)
        self._inner_body(lam.body)

    def _params(self, params: Iterable[ir.Param]) -> None:
        self.types(p.type for p in params)


def _sizes_of(exp: ir.Exp) -> Iterator[Atom]:
    """The atoms of an expression that are widths or counts; all atoms if in doubt."""
    match exp:
        case ir.PrimOp() | ir.Convert() | ir.AtomExp():
            return
        case ir.Index(_, dims) | ir.Update(_, dims):
            yield from (d.count for d in dims if isinstance(d, ir.SliceDim))
        case (ir.SegMap(_, space) | ir.SegRed(_, space) | ir.SegScan(_, space)
              | ir.SegScatter(_, space)
              | ir.SegHist(_, space) | ir.SegAccumulate(_, space)):
            for dim in space:
                yield dim.width if dim.ragged is None else dim.ragged.total
                if isinstance(exp, ir.SegRed) and dim.ragged is not None and (
                        dim.ragged.sharing in (Sharing.LANES, Sharing.MERGE)):
                    yield from dim.ragged.facts
            if isinstance(exp, ir.SegHist):
                yield from (op.bins for op in exp.ops)
        case (ir.Map(width) | ir.Redomap(width) | ir.Scanomap(width) | ir.Scatter(width)
              | ir.Hist(width) | ir.Accumulate(width)):
            yield width
            if isinstance(exp, ir.Hist):
                yield from (op.bins for op in exp.ops)
        case ir.Replicate(shape) | ir.Reshape(shape):
            yield from shape
        case ir.Iota(count) | ir.Slide(count=count):
            yield count
        case ir.Loop(form=ir.ForLoop(_, bound)):
            yield bound
        case ir.If() | ir.Loop() | ir.Assert() | ir.ArrayLit():
            return
        case _:
            yield from free_vars(exp)
