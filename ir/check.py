"""The well-formedness of programs: what every pass may rely on and must keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerBug
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.ragged import Ragged
from runelift.ir.traverse import bodies_of, lambdas_of, uses
from runelift.ir.types import ArrayType, Atom, Const, Type, elem_of, shape_of


def check(program: ir.Program, phase: str = "core") -> None:
    """Raise CompilerBug, naming the function and the statement, unless ``program`` is well formed.

    * Every name is bound once and before its use.
    * Operands have the types that operations need.
    * Results match patterns.
    * Segmented operations occur in phase ``versioned`` only.  So do versions, unless a schedule
      made them.
    * Versions that a schedule made do not stand in lambdas.
    * The needs of a guard are about numbers in scope.
    * Operations of level LOCAL occur only inside of operations of level GROUP.
    * A ragged dimension is the second and last one of its space.
    """
    for fun in program.funs:
        checker = _Checker(fun.name, phase)
        for param in fun.params:
            checker.bind(param)
        checker.body(fun.body, len(fun.results), None)


class _Checker:
    def __init__(self, fun: str, phase: str) -> None:
        self.fun = fun
        self.phase = phase
        self.types: dict[VName, Type] = {}
        """The names in scope, in the order in which they were bound."""
        self.bound: set[VName] = set()
        self.functions: dict[VName, ir.Recursion] = {}
        """The functions that call themselves, around and before."""
        self.group = False
        self.lambdas = 0
        """The lambdas around."""

    def fail(self, stm: ir.Stm | None, why: str) -> CompilerBug:
        where = f" in 'let {', '.join(str(p.name) for p in stm.pat)}'" if stm else ""
        return CompilerBug(f"function '{self.fun}'{where}: {why}")

    def bind(self, param: ir.Param, stm: ir.Stm | None = None) -> None:
        if param.name in self.bound:
            raise self.fail(stm, f"{param.name} is bound twice")
        self.bound.add(param.name)
        self.types[param.name] = param.type

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope: names bound inside are unknown after it."""
        before = len(self.types)
        yield
        while len(self.types) > before:
            self.types.popitem()

    def bind_index(self, name: VName, stm: ir.Stm) -> None:
        self.bind(ir.Param(name, Prim.I64), stm)

    def type(self, atom: Atom, stm: ir.Stm | None) -> Type:
        if isinstance(atom, Const):
            return atom.prim
        if atom not in self.types:
            raise self.fail(stm, f"{atom} is used before it is bound")
        return self.types[atom]

    def body(self, body: ir.Body, count: int | None,
             stm: ir.Stm | None) -> list[Type]:
        with self.scope():
            for inner in body.stms:
                self.statement(inner)
            if count is not None and len(body.result) != count:
                raise self.fail(stm, f"a body returns {len(body.result)} values, not {count}")
            return [self.type(a, stm) for a in body.result]

    def lambda_(self, lam: ir.Lambda, stm: ir.Stm) -> None:
        self.lambdas += 1
        with self.scope():
            for param in lam.params:
                self.bind(param, stm)
            types = self.body(lam.body, len(lam.ret), stm)
            self.same_kinds(types, lam.ret, stm)
        self.lambdas -= 1

    def same_kinds(self, found: Sequence[Type], wanted: Sequence[Type], stm: ir.Stm) -> None:
        """Check that element types and ranks agree; sizes may have different names."""
        for f, w in zip(found, wanted, strict=True):
            if elem_of(f) is not elem_of(w) or len(shape_of(f)) != len(shape_of(w)):
                raise self.fail(stm, f"a value of type {f} where {w} is expected")

    def statement(self, stm: ir.Stm) -> None:
        bound = {param.name for param in stm.pat}  # the types of an If may name its own results
        for name in uses(stm.exp):
            if name not in bound:
                self.type(name, stm)
        self.expression(stm.exp, stm)
        for param in stm.pat:
            self.bind(param, stm)
        for param in stm.pat:
            for size in shape_of(param.type):
                if self.type(size, stm) is not Prim.I64:
                    raise self.fail(stm, f"the size {size} is not an i64")

    def expression(self, exp: ir.Exp, stm: ir.Stm) -> None:
        if self.phase == "core" and isinstance(exp, (*ir.SEGOPS, ir.Versions)) and not (
                isinstance(exp, ir.Versions) and exp.by_schedules):
            raise self.fail(stm, f"{type(exp).__name__} in the core IR")
        match exp:
            case ir.PrimOp(op, prim, args):
                if prim not in OPS[op].domain or len(args) != OPS[op].arity:
                    raise self.fail(stm, f"{op} at {prim} with {len(args)} operands")
                self.same_kinds([self.type(a, stm) for a in args], [prim] * len(args), stm)
                self.same_kinds([p.type for p in stm.pat], [OPS[op].result(prim)], stm)
            case ir.Convert(from_, to, arg):
                self.same_kinds([self.type(arg, stm)], [from_], stm)
                self.same_kinds([p.type for p in stm.pat], [to], stm)
            case ir.Index(array, dims) | ir.Update(array, dims):
                if len(dims) != len(shape_of(self.type(array, stm))):
                    raise self.fail(stm, f"{len(dims)} indices for {array}")
                if isinstance(exp, ir.Index):
                    rank = sum(isinstance(d, ir.SliceDim) for d in dims)
                    if rank != len(shape_of(stm.pat[0].type)):
                        raise self.fail(stm, "the result has the wrong rank")
            case ir.Rearrange(perm, array):
                if sorted(perm) != list(range(len(shape_of(self.type(array, stm))))):
                    raise self.fail(stm, f"{perm} is no permutation of the dimensions")
            case ir.LengthFacts(lengths):
                self.same_kinds([self.type(lengths, stm), stm.pat[0].type],
                                [ArrayType(Prim.I64, (lengths,))] * 2, stm)
            case ir.SlabSize(each, longest):
                self.same_kinds([self.type(each, stm), self.type(longest, stm), stm.pat[0].type],
                                [Prim.I64] * 3, stm)
            case ir.SegmentLength(likely):
                self.same_kinds([self.type(likely, stm), stm.pat[0].type], [Prim.I64] * 2, stm)
            case ir.Slide(dim, size, step, count, array):
                self._window(stm, dim, (size, step, count), array, 1)
            case ir.Pad(dim, before, after, value, array):
                self._window(stm, dim, (before, after), array, 0)
                self.same_kinds([self.type(value, stm)], [elem_of(self.type(array, stm))], stm)
            case (ir.Map(_, lam, arrays) | ir.Redomap(_, _, lam, arrays)
                  | ir.Scanomap(_, _, lam, arrays)):
                if len(lam.params) != len(arrays):
                    raise self.fail(stm, "the lambda and the inputs differ in number")
                for param, array in zip(lam.params, arrays, strict=True):
                    type_ = self.type(array, stm)
                    if not isinstance(type_, ArrayType):
                        raise self.fail(stm, f"{array} is no array")
                    if len(type_.shape) != len(shape_of(param.type)) + 1:
                        raise self.fail(stm, f"{param.name} is no element of {array}")
            case ir.If(_, then_, else_, ret):
                for body in (then_, else_):
                    types = self.body(body, len(ret), stm)
                    self.same_kinds(types, ret, stm)
                return
            case ir.Loop():
                self._loop(exp, stm)
                return
            case ir.Recursion():
                self._recursion(exp, stm)
                return
            case ir.Call(function, args, ret):
                self._call(function, args, ret, stm)
            case ir.Versions(_, alternatives, ret):
                if exp.by_schedules and self.lambdas:
                    raise self.fail(stm, "versions by schedules in a lambda")
                for number, version in enumerate(alternatives):
                    if (version.guard is None) != (number == len(alternatives) - 1):
                        raise self.fail(stm, "only the last version has no guard")
                    for need in () if version.guard is None else version.guard.needs:
                        names = sorted(need.variables())
                        self.same_kinds([self.type(name, stm) for name in names],
                                        [Prim.I64] * len(names), stm)
                    self.same_kinds(self.body(version.body, len(ret), stm), ret, stm)
                return
            case (ir.SegMap() | ir.SegRed() | ir.SegScan() | ir.SegScatter() | ir.SegHist()
                  | ir.SegAccumulate()):
                self._segop(exp, stm)
                return
            case ir.Jvp(lam, args, given) | ir.Vjp(lam, args, given):
                self._derivative(stm, lam, args, given if isinstance(exp, ir.Jvp) else args)
                if isinstance(exp, ir.Vjp) and len(given) != len(lam.ret):
                    raise self.fail(stm, "the seeds and the results differ in number")
            case ir.WithVjp(lam, back, args):
                self._derivative(stm, lam, args, back.ret)
        for lam in lambdas_of(exp):
            self.lambda_(lam, stm)
        for body in bodies_of(exp):
            self.body(body, None, stm)

    def _derivative(self, stm: ir.Stm, lam: ir.Lambda, args: tuple[Atom, ...],
                    others: Sequence[object]) -> None:
        """Check that a function has these arguments, and as many of what goes with each."""
        if len(others) != len(args) or len(lam.params) != len(args):
            raise self.fail(stm, "the lambda and its arguments differ in number")
        self.same_kinds([self.type(a, stm) for a in args], [p.type for p in lam.params], stm)

    def _window(self, stm: ir.Stm, dim: int, numbers: Sequence[Atom], array: VName,
                more: int) -> None:
        """Check windows or padding of dimension ``dim``; the result has ``more`` dimensions."""
        rank = len(shape_of(self.type(array, stm)))
        if not 0 <= dim < rank:
            raise self.fail(stm, f"{array} has no dimension {dim}")
        if len(shape_of(stm.pat[0].type)) != rank + more:
            raise self.fail(stm, "the result has the wrong rank")
        self.same_kinds([self.type(a, stm) for a in numbers], [Prim.I64] * len(numbers), stm)

    def _loop(self, loop: ir.Loop, stm: ir.Stm) -> None:
        with self.scope():
            for p in loop.params:
                self.bind(p.param, stm)
            if isinstance(loop.form, ir.ForLoop):
                self.bind_index(loop.form.index, stm)
            types = self.body(loop.body, len(loop.params), stm)
            self.same_kinds(types, [p.param.type for p in loop.params], stm)

    def _recursion(self, exp: ir.Recursion, stm: ir.Stm) -> None:
        with self.scope():
            self.bind(ir.Param(exp.function, Prim.BOOL), stm)
            self.functions[exp.function] = exp
            for p in exp.params:
                self.bind(p.param, stm)
            types = self.body(exp.body, len(exp.ret), stm)
            self.same_kinds(types, exp.ret, stm)
        self.same_kinds([self.type(p.init, stm) for p in exp.params],
                        [p.param.type for p in exp.params], stm)

    def _call(self, function: VName, args: Sequence[Atom], ret: Sequence[Type],
              stm: ir.Stm) -> None:
        """Check a call of a function around; nothing is known of a parameter."""
        self.same_kinds([p.type for p in stm.pat], ret, stm)
        if (known := self.functions.get(function)) is not None:
            if len(args) != len(known.params):
                raise self.fail(stm, f"{function} is called with {len(args)} arguments")
            self.same_kinds([self.type(a, stm) for a in args],
                            [p.param.type for p in known.params], stm)
            self.same_kinds(ret, known.ret, stm)

    def _segop(self, exp: ir.SegOp, stm: ir.Stm) -> None:
        if (exp.level is ir.Level.LOCAL) != self.group:
            raise self.fail(stm, f"an operation of level {exp.level.value} in the wrong place")
        group = self.group
        for number, dim in enumerate(exp.space):
            if dim.ragged is not None:
                self._ragged(dim.ragged, number, exp, stm)
        if isinstance(exp, ir.SegHist):
            for dest in (dest for op in exp.ops for dest in op.dests):
                if len(shape_of(self.type(dest, stm))) < len(exp.space):
                    raise self.fail(stm, "a histogram without bins for each outer point")
        with self.scope():
            for dim in exp.space:
                self.bind_index(dim.index, stm)
            if isinstance(exp, ir.SegAccumulate):
                self.bind(ir.Param(exp.acc, Prim.BOOL), stm)
            for lam in lambdas_of(exp):
                self.lambda_(lam, stm)
            self.group = exp.level is ir.Level.GROUP  # a LOCAL operation holds sequential code
            if isinstance(exp, ir.SegScan) and (exp.post or exp.backwards):
                if exp.level is not ir.Level.GRID or exp.space[-1].ragged is not None:
                    raise self.fail(stm, "a scan in a group or of ragged segments has a post-map "
                                    "or goes backwards")
                operands = [t for op in exp.ops for t in op.lam.ret]
                self.same_kinds([p.type for p in exp.post.params] if exp.post else operands,
                                operands, stm)
            count = len(exp.ret) if isinstance(exp, ir.SegMap | ir.SegRed | ir.SegScan) else None
            self.body(exp.body, count, stm)
        self.group = group

    def _ragged(self, ragged: Ragged, number: int, exp: ir.SegOp, stm: ir.Stm) -> None:
        """Check dimension ``number`` of an operation, which is ragged."""
        if len(exp.space) != 2 or number != 1:
            raise self.fail(stm, "a ragged dimension is not the second of two")
        if isinstance(exp, ir.SegHist | ir.SegAccumulate):
            raise self.fail(stm, f"{type(exp).__name__} over a ragged space")
        arrays = [ragged.lengths, *([] if ragged.offsets is None else [ragged.offsets])]
        numbers = [ragged.total, *ragged.facts]
        types = [self.type(a, stm) for a in (*arrays, *numbers)]
        wanted: list[Type] = [ArrayType(Prim.I64, (exp.space[0].width,)) for _ in arrays]
        self.same_kinds(types, [*wanted, *(Prim.I64 for _ in numbers)], stm)
