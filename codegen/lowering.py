"""Sequential code inside a kernel: core statements to imperative ones.

Arrays live in memory that belongs to the work-item: registers when small and of constant
size, else a part of a global scratch buffer in which the work-items are interleaved.  Meaning
is by value, so an update copies unless the array's memory was made in the same body and no
other name for it is used later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, assert_never

from runelift.codegen.views import (
    Indices,
    View,
    flat_index,
    iota,
    lit,
    op,
    replicate,
    row_major,
)
from runelift.ir import imp
from runelift.ir.errors import CompilerBug, CompilerLimitation
from runelift.ir.imp import Exp
from runelift.ir.imp import Stm as ImpStm
from runelift.ir.names import Names, VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import Size, greatest, product
from runelift.ir.source import Loc
from runelift.ir.syntax import (
    ArrayLit,
    ArrayType,
    Assert,
    Atom,
    AtomExp,
    Body,
    Concat,
    Const,
    Convert,
    Copy,
    ForLoop,
    Hist,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Map,
    Operator,
    Param,
    PrimOp,
    Rearrange,
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
    elem_of,
    shape_of,
)
from runelift.ir.traverse import free_vars

Value: TypeAlias = Exp | View
SELECTED = 4
"""Branches with at most this many cheap operations together run both."""
PRIVATE_BYTES = 128
"""Arrays of constant size up to this many bytes are kept in private memory."""


class HostEnv(Protocol):
    """What lowering asks about names that are bound outside of the kernel."""

    def type(self, name: VName) -> Type:
        """The type of a host name."""

    def view(self, name: VName) -> View:
        """The view of a host array."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Global memory for the work-items of a kernel: ``count`` elements for each."""

    name: VName
    prim: Prim
    count: Size


@dataclass(slots=True)
class KernelBuilder:
    """A kernel under construction: its code, scratch memory, local memory and messages."""

    names: Names
    host: HostEnv
    code: list[ImpStm] = field(default_factory=list)
    env: dict[VName, Value] = field(default_factory=dict)
    types: dict[VName, Type] = field(default_factory=dict)
    sizes: dict[VName, Size] = field(default_factory=dict)
    scratch: list[Scratch] = field(default_factory=list)
    locals: list[imp.LocalArray] = field(default_factory=list)
    failures: list[imp.Failure] = field(default_factory=list)
    owned: list[set[VName]] = field(default_factory=lambda: [set()])
    later: list[frozenset[VName]] = field(default_factory=lambda: [frozenset()])
    dest: dict[VName, View] = field(default_factory=dict)
    loc: Loc | None = None

    # Code

    def emit(self, *stms: ImpStm) -> None:
        """Append statements."""
        self.code.extend(stms)

    @contextmanager
    def block(self) -> Iterator[list[ImpStm]]:
        """Collect the statements of a nested block."""
        outer, self.code = self.code, []
        inner = self.code
        try:
            yield inner
        finally:
            self.code = outer

    def declare(self, base: str | VName, prim: Prim, init: Exp | None = None) -> imp.Var:
        """A fresh scalar variable."""
        name = self.names.fresh(base)
        self.emit(imp.Declare(name, prim, init))
        return imp.Var(name)

    def loop(self, bound: Exp, body: Callable[[Exp], None], *, start: Exp | None = None,
             step: Exp | None = None, base: str = "i") -> None:
        """``for i from start below bound by step``."""
        index = self.names.fresh(base)
        with self.block() as inner:
            body(imp.Var(index))
        self.emit(imp.For(index, start or lit(0), bound, step or lit(1), tuple(inner)))

    def nest(self, shape: Sequence[Exp], body: Callable[[list[Exp]], None],
             outer: Indices = ()) -> None:
        """Nested loops over all indices of ``shape``."""
        if not shape:
            body(list(outer))
        else:
            self.loop(shape[0], lambda i: self.nest(shape[1:], body, [*outer, i]))

    def fail_unless(self, cond: Exp, message: str, args: Sequence[Exp]) -> None:
        """Record a failure of the program unless ``cond``; execution goes on."""
        self.failures.append(imp.Failure(message, self.loc))
        failure = imp.Fail(len(self.failures) - 1, tuple(args))
        self.emit(imp.If(imp.Apply("not", Prim.BOOL, (cond,)), (failure,)))

    # Names

    def value(self, name: VName) -> Value:
        """What a name stands for; names of the host become parameters of the kernel."""
        if (known := self.env.get(name)) is not None:
            return known
        if isinstance(self.host.type(name), Prim):
            return imp.Var(name)
        return self.host.view(name)

    def scalar(self, atom: Atom) -> Exp:
        """A scalar atom as an expression."""
        if isinstance(atom, Const):
            return imp.Lit(atom)
        value = self.value(atom)
        if isinstance(value, View):
            raise CompilerBug(f"array {atom} used as a scalar")
        return value

    def array(self, name: VName) -> View:
        """An array."""
        value = self.value(name)
        if not isinstance(value, View):
            raise CompilerBug(f"scalar {name} used as an array")
        return value

    def any(self, atom: Atom) -> Value:
        """An atom as an expression or view."""
        return imp.Lit(atom) if isinstance(atom, Const) else self.value(atom)

    def type_of(self, atom: Atom) -> Type:
        """The type of an atom."""
        if isinstance(atom, Const):
            return atom.prim
        return self.types[atom] if atom in self.types else self.host.type(atom)

    def shape(self, type_: Type) -> tuple[Exp, ...]:
        """The sizes of a type as expressions."""
        return tuple(self.scalar(size) for size in shape_of(type_))

    def host_size(self, atom: Atom) -> Size:
        """The size as the host knows it; CompilerLimitation if only the kernel does."""
        if isinstance(atom, Const):
            return Size.of(int(atom.value))
        if atom in self.sizes:
            return greatest(Size.of(0), self.sizes[atom])
        if atom in self.env or atom in self.types:
            raise CompilerLimitation(f"the size '{atom.base}' of an array is known only inside "
                                     "of the kernel")
        return Size.var(atom)

    def _note_size(self, name: VName, exp: PrimOp) -> None:
        """Remember how the host can compute an i64 that depends on its own sizes alone."""
        if exp.prim is not Prim.I64 or exp.op not in ("add", "sub", "mul"):
            return
        operands: list[Size] = []
        for atom in exp.args:
            if isinstance(atom, Const):
                operands.append(Size.of(int(atom.value)))
            elif atom in self.sizes:
                operands.append(self.sizes[atom])
            elif atom not in self.env and atom not in self.types:
                operands.append(Size.var(atom))
            else:
                return
        left, right = operands
        self.sizes[name] = (left + right if exp.op == "add" else
                            left - right if exp.op == "sub" else left * right)

    # Memory

    def allocate(self, name: VName, type_: Type) -> View:
        """Memory for an array that is bound in the present body."""
        if (given := self.dest.pop(name, None)) is not None:
            assert given.mem is not None
            self.owned[-1].add(given.mem)
            return given
        assert isinstance(type_, ArrayType)
        count = product([self.host_size(size) for size in type_.shape])
        view = self._memory(name, type_, count)
        assert view.mem is not None
        self.owned[-1].add(view.mem)
        return view

    def _memory(self, name: VName, type_: ArrayType, count: Size) -> View:
        mem = self.names.fresh(name)
        shape = self.shape(type_)
        if count.constant is not None and count.constant * type_.elem.bytes <= PRIVATE_BYTES:
            self.emit(imp.DeclareArray(mem, type_.elem, max(count.constant, 1)))
            return row_major(mem, type_.elem, shape)
        self.scratch.append(Scratch(mem, type_.elem, count))
        item, items = imp.WorkItem(imp.Id.GLOBAL_ID), imp.WorkItem(imp.Id.GLOBAL_SIZE)
        return View(type_.elem, shape, mem,
                    lambda ix: op("add", op("mul", flat_index(ix, shape), items), item))

    def copy(self, target: View, source: View) -> None:
        """Copy all elements."""
        self.nest(target.shape, lambda ix: self.emit(target.write(ix, source.read(ix))))

    def store(self, target: View, indices: Sequence[Exp], value: Value) -> None:
        """Write a scalar element, or a row."""
        if isinstance(value, View):
            self.copy(target.row(*indices), value)
        else:
            self.emit(target.write(indices, value))

    def dead(self, name: VName) -> bool:
        """Whether the memory of ``name`` is this body's and no other name for it is used later."""
        view = self.env.get(name)
        if not isinstance(view, View) or view.mem is None or view.mem not in self.owned[-1]:
            return False
        later = self.later[-1]
        return not any(isinstance(other, View) and self._touches(other, view.mem) and alias in later
                       for alias, other in self.env.items())

    def _touches(self, view: View, mem: VName) -> bool:
        if view.mem is not None:
            return view.mem == mem
        probe = view.at([lit(0)] * len(view.shape))
        return mem in memories(probe)

    # Bodies

    def body(self, body: Body, used_after: frozenset[VName] = frozenset()) -> list[Value]:
        """Run the statements of ``body``; its results."""
        needed = frozenset(a for a in body.result if isinstance(a, VName)) | used_after
        later: list[frozenset[VName]] = []
        for stm in reversed(body.stms):
            later.insert(0, needed)
            needed |= frozenset(free_vars(stm))
        for stm, after in zip(body.stms, later, strict=True):
            self.later.append(after)
            self.statement(stm)
            self.later.pop()
        return [self.any(a) for a in body.result]

    @contextmanager
    def inner(self) -> Iterator[list[ImpStm]]:
        """A nested body with memory of its own."""
        self.owned.append(set())
        with self.block() as code:
            yield code
        self.owned.pop()

    def bind(self, param: Param, value: Value) -> None:
        """Bind a name."""
        self.types[param.name] = param.type
        self.env[param.name] = value

    def bind_scalar(self, param: Param, value: Exp) -> None:
        """Bind a scalar name to a variable of its own."""
        assert isinstance(param.type, Prim)
        if isinstance(value, imp.Lit):
            self.bind(param, value)
        else:
            self.bind(param, self.declare(param.name, param.type, value))

    def statement(self, stm: Stm) -> None:
        """One statement."""
        self.loc = stm.loc or self.loc
        match stm.exp:
            case PrimOp(name, prim, args):
                self._note_size(stm.pat[0].name, stm.exp)
                self.bind_scalar(stm.pat[0], self.prim_op(name, prim, args))
            case AtomExp(atom):
                self.bind(stm.pat[0], self.any(atom))
            case Convert(from_, to, arg):
                self.bind_scalar(stm.pat[0], imp.Convert(from_, to, self.scalar(arg)))
            case Index():
                self.index(stm.pat[0], stm.exp)
            case ArrayLit(elems, _):
                self._literal(stm.pat[0], elems)
            case Update():
                self.update(stm.pat[0], stm.exp)
            case Iota(count, start, step, prim):
                self.bind(stm.pat[0], iota(prim, self.scalar(count), self.scalar(start),
                                           self.scalar(step)))
            case Replicate(shape, value):
                outer = tuple(self.scalar(s) for s in shape)
                self.bind(stm.pat[0], replicate(elem_of(stm.pat[0].type), outer,
                                                self._stable(value)))
            case Concat(dim, arrays, _):
                self._concat(stm.pat[0], dim, arrays)
            case Rearrange(perm, array):
                self.bind(stm.pat[0], self.array(array).rearrange(perm))
            case Reshape(shape, array):
                self.bind(stm.pat[0], self.array(array).reshape(
                    tuple(self.scalar(s) for s in shape)))
            case Copy(array):
                self.bind_copy(stm.pat[0], self.array(array))
            case Assert(cond, message, args):
                self.fail_unless(self.scalar(cond), message, [self._wide(a) for a in args])
            case If():
                self.branch(stm.pat, stm.exp)
            case Loop():
                self.iterate(stm.pat, stm.exp)
            case Map(width, lam, arrays):
                outs = [self.allocate(p.name, p.type) for p in stm.pat]
                self.loop(self.scalar(width), lambda i: self._map_step(lam, arrays, i, outs))
                self._bind_all(stm.pat, outs)
            case Redomap():
                self._redomap(stm.pat, stm.exp)
            case Scanomap():
                self._scanomap(stm.pat, stm.exp)
            case Scatter():
                self._scatter(stm.pat, stm.exp)
            case Hist():
                self._hist(stm.pat, stm.exp)
            case SegMap() | SegRed() | SegScan() | SegScatter() | SegHist() | Versions():
                raise CompilerBug(f"{type(stm.exp).__name__} inside of sequential code")
            case _:
                assert_never(stm.exp)

    def _wide(self, atom: Atom) -> Exp:
        prim = elem_of(self.type_of(atom))
        value = self.scalar(atom)
        return value if prim is Prim.I64 else imp.Convert(prim, Prim.I64, value)

    def _bind_all(self, pat: Sequence[Param], values: Sequence[Value]) -> None:
        for param, value in zip(pat, values, strict=True):
            self.bind(param, value)

    def prim_op(self, name: str, prim: Prim, args: tuple[Atom, ...]) -> Exp:
        """A scalar operation; an integer division by zero fails and divides by 1."""
        values = [self.scalar(a) for a in args]
        if OPS[name].traps and prim.is_int:
            divisor = values[-1]
            if not (isinstance(divisor, imp.Lit) and divisor.const.value != 0):
                zero, one = imp.Lit(Const(0, prim)), imp.Lit(Const(1, prim))
                nonzero = imp.Apply("not", Prim.BOOL, (imp.Apply("eq", prim, (divisor, zero)),))
                self.fail_unless(nonzero, "Division by zero.", [])
                values[-1] = imp.Select(nonzero, divisor, one, prim)
        return imp.Apply(name, prim, tuple(values))

    # Arrays

    def _stable(self, atom: Atom) -> Value:
        """A value that does not change when memory is updated later."""
        value = self.any(atom)
        if isinstance(value, View) and value.mem is not None and value.mem in self.owned[-1]:
            assert isinstance(atom, VName)
            fresh = Param(self.names.fresh(atom), self.type_of(atom))
            self.bind_copy(fresh, value)
            return self.array(fresh.name)
        return value

    def position(self, index: Exp, size: Exp, checked: bool) -> Exp:
        """An index, checked against the bounds; 0 if it was outside."""
        if not checked:
            return index
        held = index if isinstance(index, imp.Var | imp.Lit) else self.declare(
            "index", Prim.I64, index)
        inside = imp.Apply("and", Prim.BOOL, (imp.Apply("le", Prim.I64, (lit(0), held)),
                                              imp.Apply("lt", Prim.I64, (held, size))))
        self.fail_unless(inside, "Index [{}] out of bounds for array of shape [{}].", [held, size])
        return self.declare("safe", Prim.I64, imp.Select(inside, held, lit(0), Prim.I64))

    def selection(self, exp: Index | Update, view: View) -> list[Exp | tuple[Exp, Exp, Exp]]:
        """The dims of an access as expressions, with bounds checks."""
        dims: list[Exp | tuple[Exp, Exp, Exp]] = []
        for dim, size in zip(exp.dims, view.shape, strict=True):
            if isinstance(dim, SliceDim):
                start, count, stride = (self.scalar(a) for a in (dim.start, dim.count, dim.stride))
                if exp.checked and not (start == lit(0) and count == size and stride == lit(1)):
                    start, count = self._checked_slice(start, count, stride, size)
                dims.append((start, count, stride))
            else:
                dims.append(self.position(self.scalar(dim), size, exp.checked))
        return dims

    def _checked_slice(self, start: Exp, count: Exp, stride: Exp, size: Exp) -> tuple[Exp, Exp]:
        last = op("add", start, op("mul", op("sub", count, lit(1)), stride))

        def within(index: Exp) -> Exp:
            return imp.Apply("and", Prim.BOOL, (imp.Apply("le", Prim.I64, (lit(0), index)),
                                                imp.Apply("lt", Prim.I64, (index, size))))

        ends = imp.Apply("and", Prim.BOOL, (within(start), within(last)))
        empty = imp.Apply("eq", Prim.I64, (count, lit(0)))
        fine = self.declare("inside", Prim.BOOL, imp.Apply("or", Prim.BOOL, (
            empty, imp.Apply("and", Prim.BOOL, (imp.Apply("lt", Prim.I64, (lit(0), count)),
                                                ends)))))
        self.fail_unless(fine, "Index [{}:+{}*{}] out of bounds for array of shape [{}].",
                         [start, count, stride, size])
        return (imp.Select(fine, start, lit(0), Prim.I64),
                imp.Select(fine, count, lit(0), Prim.I64))

    def index(self, param: Param, exp: Index) -> None:
        """``array[dims]``: a load, or a view."""
        view = self.array(exp.array)
        dims = self.selection(exp, view)
        if all(not isinstance(d, tuple) for d in dims):
            self.bind_scalar(param, view.read([d for d in dims if not isinstance(d, tuple)]))
        else:
            self.bind(param, view.slice(dims))

    def _literal(self, param: Param, elems: tuple[Atom, ...]) -> None:
        out = self.allocate(param.name, param.type)
        for k, elem in enumerate(elems):
            self.store(out, [lit(k)], self.any(elem))
        self.bind(param, out)

    def bind_copy(self, param: Param, source: View) -> None:
        """Bind a name to fresh memory with the elements of ``source``."""
        out = self.allocate(param.name, param.type)
        self.copy(out, source)
        self.bind(param, out)

    def writable(self, param: Param, name: VName) -> View:
        """Memory with the value of ``name`` that may be changed: its own if it is dead."""
        if self.dead(name) and param.name not in self.dest:
            return self.array(name)
        out = self.allocate(param.name, param.type)
        self.copy(out, self.array(name))
        return out

    def update(self, param: Param, exp: Update) -> None:
        """``array with [dims] <- value``."""
        value = self.any(exp.value)
        if isinstance(value, View) and isinstance(exp.value, VName) and value.mem is not None and (
            value.mem == self.array(exp.array).mem
        ):
            held = Param(self.names.fresh(exp.value), self.type_of(exp.value))
            self.bind_copy(held, value)
            value = self.array(held.name)
        out = self.writable(param, exp.array)
        dims = self.selection(exp, out)
        if isinstance(value, View):
            self.copy(out.slice(dims), value)
        else:
            self.emit(out.write([d for d in dims if not isinstance(d, tuple)], value))
        self.bind(param, out)

    def _concat(self, param: Param, dim: int, arrays: tuple[VName, ...]) -> None:
        out = self.allocate(param.name, param.type)
        start: Exp = lit(0)
        for name in arrays:
            part = self.array(name)
            dims: list[Exp | tuple[Exp, Exp, Exp]] = [
                (start if k == dim else lit(0), size, lit(1)) for k, size in enumerate(part.shape)]
            self.copy(out.slice(dims), part)
            start = op("add", start, part.shape[dim])
        self.bind(param, out)

    # Control

    def branch(self, pat: tuple[Param, ...], exp: If) -> None:
        """``if``; its results get variables and memory before it.

        Branches of a few cheap scalar operations become selections: no divergence, and CPU
        compilers vectorise them.
        """
        if self._selectable(exp):
            cond = self.scalar(exp.cond)
            sides = [self.body(body) for body in (exp.then_, exp.else_)]
            for param, then_, else_ in zip(pat, *sides, strict=True):
                assert isinstance(param.type, Prim)
                assert not isinstance(then_, View)
                assert not isinstance(else_, View)
                self.bind_scalar(param, imp.Select(cond, then_, else_, param.type))
            return
        targets = [self.declare(p.name, p.type) if isinstance(p.type, Prim) else None for p in pat]
        for param, target in zip(pat, targets, strict=True):
            if target is not None:
                self.bind(param, target)
        views = {p.name: self.allocate(p.name, p.type) for p in pat if not isinstance(p.type, Prim)}
        codes: list[tuple[ImpStm, ...]] = []
        for body in (exp.then_, exp.else_):
            with self.inner() as code:
                results = self.body(body, self.later[-1])
                for param, target, value in zip(pat, targets, results, strict=True):
                    if isinstance(value, View):
                        self.copy(views[param.name], value)
                    elif target is not None:
                        self.emit(imp.Assign(target.name, value))
            codes.append(tuple(code))
        self.emit(imp.If(self.scalar(exp.cond), codes[0], codes[1]))
        for param in pat:
            if param.name in views:
                self.bind(param, views[param.name])

    def _selectable(self, exp: If) -> bool:
        """Whether both branches are so cheap and safe that both may run."""
        stms = (*exp.then_.stms, *exp.else_.stms)
        return (len(stms) <= SELECTED and all(isinstance(t, Prim) for t in exp.ret)
                and all(isinstance(s.exp, PrimOp) and not OPS[s.exp.op].traps
                        and s.exp.op != "pow" for s in stms))

    def iterate(self, pat: tuple[Param, ...], exp: Loop) -> None:
        """A loop; carried arrays get memory of their own, which the body may update in place."""
        inits = [self.any(p.init) for p in exp.params]
        carried: list[Value] = []
        for out, p, init in zip(pat, exp.params, inits, strict=True):
            if isinstance(p.param.type, Prim):
                assert not isinstance(init, View)
                carried.append(self.declare(p.param.name, p.param.type, init))
                self.bind(p.param, carried[-1])
                self.bind(out, carried[-1])
        self.later.append(self.later[-1] | free_vars(exp.body))
        for position, (out, p, init) in enumerate(zip(pat, exp.params, inits, strict=True)):
            if isinstance(init, View):
                if (isinstance(p.init, VName) and self.dead(p.init) and out.name not in self.dest
                        and not any(isinstance(c, View) and c.mem == init.mem for c in carried)):
                    memory = init
                else:
                    memory = self.allocate(out.name, out.type)
                    self.copy(memory, init)
                carried.insert(position, memory)
                self.bind(p.param, memory)
        self.later.pop()
        with self.inner() as code:
            self.owned[-1] |= {c.mem for c in carried if isinstance(c, View) and c.mem}
            if isinstance(exp.form, ForLoop):
                self.types[exp.form.index] = Prim.I64
                self.env[exp.form.index] = imp.Var(exp.form.index)
            self._carry(carried, self.body(exp.body), [p.param for p in exp.params])
        if isinstance(exp.form, ForLoop):
            bound = self.scalar(exp.form.bound)
            self.emit(imp.For(exp.form.index, lit(0), bound, lit(1), tuple(code)))
        else:
            self.emit(imp.While(self.scalar(exp.form.cond), tuple(code)))
        self._bind_all(pat, carried)

    def _carry(self, carried: list[Value], results: list[Value], params: list[Param]) -> None:
        """Make the results of an iteration the values of the next, all at once."""
        memories_of = {c.mem for c in carried if isinstance(c, View)}
        held: list[Value] = []
        for target, result, param in zip(carried, results, params, strict=True):
            if isinstance(result, View) and isinstance(target, View):
                crossing = result.mem != target.mem and (
                    result.mem in memories_of or result.mem is None)
                partial = result.mem == target.mem and result is not target
                if crossing or partial:
                    temporary = Param(self.names.fresh(param.name), param.type)
                    self.bind_copy(temporary, result)
                    result = self.array(temporary.name)
                held.append(result)
            else:
                assert not isinstance(result, View)
                assert isinstance(param.type, Prim)
                held.append(self.declare(param.name, param.type, result))
        for target, value in zip(carried, held, strict=True):
            if isinstance(target, View):
                assert isinstance(value, View)
                if value is not target:
                    self.copy(target, value)
            else:
                assert isinstance(target, imp.Var)
                assert not isinstance(value, View)
                self.emit(imp.Assign(target.name, value))

    # Second-order operations, one element after the other

    def apply(self, lam: Lambda, args: Sequence[Value]) -> list[Value]:
        """The results of a lambda on the given arguments."""
        self._bind_all(lam.params, args)
        return self.body(lam.body)

    def element(self, array: VName, index: Exp) -> Value:
        """The element or row of an array."""
        view = self.array(array)
        return view.read([index]) if len(view.shape) == 1 else view.row(index)

    def elements(self, lam: Lambda, arrays: tuple[VName, ...], index: Exp) -> list[Value]:
        """The arguments of a mapped lambda at ``index``."""
        values: list[Value] = []
        for param, array in zip(lam.params, arrays, strict=True):
            value = self.element(array, index)
            if not isinstance(value, View):
                assert isinstance(param.type, Prim)
                value = self.declare(param.name, param.type, value)
            values.append(value)
        return values

    def _map_step(self, lam: Lambda, arrays: tuple[VName, ...], index: Exp,
                  outs: Sequence[View]) -> None:
        self.owned.append(set())
        values = self.apply_into(lam, self.elements(lam, arrays, index),
                                 [out.row(index) if len(out.shape) > 1 else None for out in outs])
        for out, value in zip(outs, values, strict=True):
            if value is not None:
                self.store(out, [index], value)
        self.owned.pop()

    def apply_into(self, lam: Lambda, args: Sequence[Value],
                   rows: Sequence[View | None]) -> list[Value | None]:
        """Apply a lambda whose array results may be built in ``rows``; None where one was."""
        self._bind_all(lam.params, args)
        return self.body_into(lam.body, rows)

    def body_into(self, body: Body, rows: Sequence[View | None]) -> list[Value | None]:
        """Run a body; array results that it allocates are built in ``rows``, and are None."""
        bound = {p.name for stm in body.stms for p in stm.pat}
        given: dict[VName, View] = {}
        for atom, row in zip(body.result, rows, strict=True):
            if row is not None and isinstance(atom, VName) and atom in bound and atom not in given:
                given[atom] = row
        self.dest.update(given)
        values: list[Value | None] = list(self.body(body))
        used: set[VName] = set()
        for k, (atom, row) in enumerate(zip(body.result, rows, strict=True)):
            if isinstance(atom, VName) and atom in given and row is not None:
                unused = self.dest.pop(atom, None) is not None
                if not unused and atom not in used and values[k] is given[atom]:
                    values[k] = None
                    used.add(atom)
        return values

    def accumulate(self, op_: Operator, totals: Sequence[imp.Var | View],
                   values: Sequence[Value]) -> None:
        """``totals := op totals values``."""
        results = self.apply(op_.lam, [*totals, *values])
        held: list[Value] = []
        for total, result, param in zip(totals, results, op_.lam.params, strict=False):
            if isinstance(result, View):
                temporary = Param(self.names.fresh(param.name), param.type)
                self.bind_copy(temporary, result)
                held.append(self.array(temporary.name))
            elif len(totals) > 1:
                assert isinstance(param.type, Prim)
                held.append(self.declare(param.name, param.type, result))
            else:
                held.append(result)
            assert isinstance(total, View) == isinstance(result, View)
        for total, value in zip(totals, held, strict=True):
            if isinstance(total, View):
                assert isinstance(value, View)
                self.copy(total, value)
            else:
                assert not isinstance(value, View)
                self.emit(imp.Assign(total.name, value))

    def neutral(self, op_: Operator) -> list[imp.Var | View]:
        """Variables (or arrays) that start as the neutral element."""
        totals: list[imp.Var | View] = []
        for atom, type_ in zip(op_.neutral, op_.lam.ret, strict=True):
            value = self.any(atom)
            if isinstance(value, View):
                param = Param(self.names.fresh("total"), type_)
                self.bind_copy(param, value)
                totals.append(self.array(param.name))
            else:
                assert isinstance(type_, Prim)
                totals.append(self.declare("total", type_, value))
        return totals

    def _redomap(self, pat: tuple[Param, ...], exp: Redomap) -> None:
        totals = [self.neutral(o) for o in exp.ops]
        count = sum(len(t) for t in totals)
        outs = [self.allocate(p.name, p.type) for p in pat[count:]]

        def step(index: Exp) -> None:
            self.owned.append(set())
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            for out, value in zip(outs, values[count:], strict=True):
                self.store(out, [index], value)
            rest = values
            for o, total in zip(exp.ops, totals, strict=True):
                self.accumulate(o, total, rest[: len(total)])
                rest = rest[len(total):]
            self.owned.pop()

        self.loop(self.scalar(exp.width), step)
        self._bind_all(pat, [*(t for total in totals for t in total), *outs])

    def _scanomap(self, pat: tuple[Param, ...], exp: Scanomap) -> None:
        totals = [self.neutral(o) for o in exp.ops]
        count = sum(len(t) for t in totals)
        outs = [self.allocate(p.name, p.type) for p in pat]

        def step(index: Exp) -> None:
            self.owned.append(set())
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            for out, value in zip(outs[count:], values[count:], strict=True):
                self.store(out, [index], value)
            rest, place = values, iter(outs)
            for o, total in zip(exp.ops, totals, strict=True):
                self.accumulate(o, total, rest[: len(total)])
                rest = rest[len(total):]
                for t in total:
                    self.store(next(place), [index], t)
            self.owned.pop()

        self.loop(self.scalar(exp.width), step)
        self._bind_all(pat, outs)

    def _scatter(self, pat: tuple[Param, ...], exp: Scatter) -> None:
        outs = [self.writable(p, d.array) for p, d in zip(pat, exp.dests, strict=True)]

        def step(index: Exp) -> None:
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            self.write_inside(outs, [d.rank for d in exp.dests], values)

        self.loop(self.scalar(exp.width), step)
        self._bind_all(pat, outs)

    def write_inside(self, outs: Sequence[View], ranks: Sequence[int],
                     values: Sequence[Value]) -> None:
        """Per destination, write a value at its indices unless they are out of bounds."""
        rest = list(values)
        for out, rank in zip(outs, ranks, strict=True):
            indices = [v for v in rest[:rank] if not isinstance(v, View)]
            with self.block() as code:
                self.store(out, indices, rest[rank])
            inside: Exp = imp.Lit(Const(True, Prim.BOOL))
            for index, size in zip(indices, out.shape, strict=False):
                within = imp.Apply("and", Prim.BOOL, (
                    imp.Apply("le", Prim.I64, (lit(0), index)),
                    imp.Apply("lt", Prim.I64, (index, size))))
                inside = within if isinstance(inside, imp.Lit) else imp.Apply(
                    "and", Prim.BOOL, (inside, within))
            self.emit(imp.If(inside, tuple(code)))
            rest = rest[rank + 1:]

    def _hist(self, pat: tuple[Param, ...], exp: Hist) -> None:
        dests = [d for o in exp.ops for d in o.dests]
        outs = [self.writable(p, d) for p, d in zip(pat, dests, strict=True)]

        def step(index: Exp) -> None:
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            bins, rest, place = values[: len(exp.ops)], values[len(exp.ops):], list(outs)
            for o, bin_ in zip(exp.ops, bins, strict=True):
                count = len(o.dests)
                assert not isinstance(bin_, View)
                self.combine_inside(o.op, self.scalar(o.bins), place[:count], [bin_], rest[:count])
                rest, place = rest[count:], place[count:]

        self.loop(self.scalar(exp.width), step)
        self._bind_all(pat, outs)

    def combine_inside(self, op_: Operator, bins: Exp, outs: Sequence[View],
                       indices: Sequence[Exp], values: Sequence[Value]) -> None:
        """``out[indices] := op out[indices] value`` if the last index is a bin."""
        with self.block() as code:
            old = [out.read(indices) if len(out.shape) == len(indices) else out.row(*indices)
                   for out in outs]
            held = [o if isinstance(o, View) else self.declare("old", out.prim, o)
                    for o, out in zip(old, outs, strict=True)]
            results = self.apply(op_.lam, [*held, *values])
            kept = [r if isinstance(r, View) else self.declare("new", out.prim, r)
                    for r, out in zip(results, outs, strict=True)]
            for out, value in zip(outs, kept, strict=True):
                self.store(out, indices, value)
        last = indices[-1]
        inside = imp.Apply("and", Prim.BOOL, (imp.Apply("le", Prim.I64, (lit(0), last)),
                                              imp.Apply("lt", Prim.I64, (last, bins))))
        self.emit(imp.If(inside, tuple(code)))


def memories(exp: Exp) -> set[VName]:
    """The memories that an expression loads from."""
    match exp:
        case imp.Load(mem, index):
            return {mem} | memories(index)
        case imp.Apply(_, _, args):
            return {m for arg in args for m in memories(arg)}
        case imp.Convert(_, _, arg):
            return memories(arg)
        case imp.Select(cond, then_, else_):
            return memories(cond) | memories(then_) | memories(else_)
    return set()
