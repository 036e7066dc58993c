"""Where scalars live: which ones the host must know, and which can stay on the device.

Reading a scalar back from the device makes the host wait until everything before it is done.
So a scalar that a kernel computed is read only if the host needs it: for a branch, the bound of a
loop, a size or an assertion.  Otherwise the kernels that use it load it themselves, and repeat
what little arithmetic is in between (:meth:`runelift.codegen.host.HostBuilder.statement`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Assert,
    Atom,
    AtomExp,
    Body,
    Convert,
    Exp,
    ForLoop,
    Fun,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Map,
    Param,
    PrimOp,
    Redomap,
    Replicate,
    Reshape,
    Scanomap,
    Scatter,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SliceDim,
    Stm,
    Type,
    Update,
    Versions,
    shape_of,
)
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of


def needed_on_host(fun: Fun) -> frozenset[VName]:
    """The names of scalars whose value the host must know when it runs ``fun``."""
    needs = _Needs()
    needs.types(p.type for p in (*fun.params, *fun.results))
    needs.body(fun.body)
    needs.atoms(fun.body.result)
    return needs.closed()


@dataclass(slots=True)
class _Needs:
    needed: set[VName] = field(default_factory=set)
    sources: dict[VName, set[VName]] = field(default_factory=dict)
    """What a scalar that the host can compute is computed from."""

    def closed(self) -> frozenset[VName]:
        """The needed names, and all that these are computed from."""
        todo = list(self.needed)
        while todo:
            for source in self.sources.get(todo.pop(), set()) - self.needed:
                self.needed.add(source)
                todo.append(source)
        return frozenset(self.needed)

    def atoms(self, atoms: Iterable[Atom]) -> None:
        self.needed |= {a for a in atoms if isinstance(a, VName)}

    def types(self, types: Iterable[Type]) -> None:
        for type_ in types:
            self.atoms(shape_of(type_))

    # Code that the host runs

    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.types(p.type for p in stm.pat)
            self.statement(stm)

    def statement(self, stm: Stm) -> None:
        exp = stm.exp
        match exp:
            case PrimOp(args=args) if not exp.may_trap:
                self.sources[stm.pat[0].name] = {a for a in args if isinstance(a, VName)}
            case Convert(arg=arg) | AtomExp(arg):
                self.sources[stm.pat[0].name] = {arg} if isinstance(arg, VName) else set()
            case PrimOp():
                self.atoms(exp.args)
            case Index(_, dims, checked):
                scalar = isinstance(stm.pat[0].type, Prim)
                self.atoms(d for d in dims if not isinstance(d, SliceDim) and (checked or scalar))
                self._slices(dims, checked)
            case Update(_, dims, _, checked):
                self.atoms(d for d in dims if not isinstance(d, SliceDim) and checked)
                self._slices(dims, checked)
            case Assert(cond, _, args):
                self.atoms((cond, *args))
            case If(cond, then_, else_):
                self.atoms((cond, *then_.result, *else_.result))
                self.body(then_)
                self.body(else_)
            case Loop(params, form, body):
                self.types(p.param.type for p in params)
                self.atoms(p.init for p in params)
                self.atoms(body.result)
                if isinstance(form, ForLoop):
                    self.atoms((form.bound,))
                self.body(body)
            case Versions(_, alternatives):
                for version in alternatives:
                    if version.guard is not None:
                        self.needed |= version.guard.par.variables()
                    self.atoms(version.body.result)
                    self.body(version.body)
            case _:
                self.inside(exp)

    def _slices(self, dims: Iterable[object], checked: bool) -> None:
        for dim in dims:
            if isinstance(dim, SliceDim):
                self.atoms((dim.count, dim.start, dim.stride) if checked else (dim.count,))

    # Code that kernels run: what is about sizes may be needed for scratch memory and groups

    def inside(self, exp: Exp) -> None:
        self.atoms(_sizes_of(exp))
        for body in bodies_of(exp):
            self._inner_body(body)
        for lam in lambdas_of(exp):
            self._inner_lambda(lam)

    def _inner_body(self, body: Body) -> None:
        for stm in body.stms:
            self._params(stm.pat)
            self.inside(stm.exp)
            match stm.exp:
                case PrimOp("add" | "sub" | "mul" | "min", Prim.I64, args):  # sizes for the host
                    self.sources[stm.pat[0].name] = {a for a in args if isinstance(a, VName)}

    def _inner_lambda(self, lam: Lambda) -> None:
        self._params(lam.params)
        self.types(lam.ret)
        self._inner_body(lam.body)

    def _params(self, params: Iterable[Param]) -> None:
        self.types(p.type for p in params)


def _sizes_of(exp: Exp) -> Iterator[Atom]:
    """The atoms of an expression that are widths or counts; all of them where in doubt."""
    match exp:
        case PrimOp() | Convert() | AtomExp():
            return
        case Index(_, dims) | Update(_, dims):
            yield from (d.count for d in dims if isinstance(d, SliceDim))
        case (SegMap(_, space) | SegRed(_, space) | SegScan(_, space) | SegScatter(_, space)
              | SegHist(_, space)):
            yield from (dim.width for dim in space)
            if isinstance(exp, SegHist):
                yield from (op.bins for op in exp.ops)
        case Map(width) | Redomap(width) | Scanomap(width) | Scatter(width) | Hist(width):
            yield width
            if isinstance(exp, Hist):
                yield from (op.bins for op in exp.ops)
        case Replicate(shape) | Reshape(shape):
            yield from shape
        case Iota(count):
            yield count
        case Loop(form=ForLoop(_, bound)):
            yield bound
        case If() | Loop() | Assert():
            return
        case _:
            yield from free_vars(exp)
