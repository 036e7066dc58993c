"""Kernels under construction: their code, names and memory.

Arrays of a work-item are in private memory if they are small and of constant size.  Other arrays
are a part of a global scratch buffer.  On devices that run work-items one after the other, the
elements of a work-item are neighbours there.  On devices that run them in lockstep, elements of the
same index are neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from runelift.codegen.passes.failed_checks import ITEM, marked, with_ends, with_notes
from runelift.codegen.plan.origins import Origins, noted
from runelift.codegen.plan.views import Indices, View, flat_index, lit, negated, op, row_major
from runelift.ir import imp
from runelift.ir.analysis.consumption import idle_copies
from runelift.ir.analysis.lookahead import with_uses_after
from runelift.ir.base.errors import CompilerBug, CompilerLimitation
from runelift.ir.base.source import Loc
from runelift.ir.imp import Exp
from runelift.ir.imp import Stm as ImpStm
from runelift.ir.imp.traverse import memories
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, greatest, least, product
from runelift.ir.syntax import Body, Param, PrimOp, Stm
from runelift.ir.types import FALSE, TRUE, ArrayType, Atom, Const, Type, shape_of

Value: TypeAlias = Exp | View
Writer: TypeAlias = Callable[[Exp, list[Value]], None]
"""Emits the code of a write to an accumulator: of values, at an index."""
PRIVATE_BYTES = 128
"""Arrays of constant size up to this many bytes are kept in private memory."""
LOCKSTEP_PRIVATE_BYTES = 8192
"""The limit for devices that run work-items in lockstep: they interleave private memory.

There private memory is as fast as scratch memory.  Its indices are cheaper, and compilers see that
nothing else writes there.
"""
MOST_PRIVATE_BYTES = 16384
"""The most bytes of private memory for a work-item; devices reserve it for all that may run."""
CACHE_LINE_BYTES = 64
"""The gap in scratch memory between work-items that run on different cores: a cache line.

Without it, reading ahead in one array takes the line that another core writes (false sharing).
"""


class HostEnv(Protocol):
    """The device, and the names that are bound outside of the kernel."""

    @property
    def interleave(self) -> bool:
        """True if neighbouring work-items should access neighbouring elements."""

    def type(self, name: VName) -> Type:
        """The type of a host name."""

    def view(self, name: VName) -> View:
        """The view of a host array."""


class PlanEnv(HostEnv, Protocol):
    """The host plan around a kernel, which also knows scalars that are not on the host."""

    @property
    def coherent(self) -> bool:
        """True if groups see, after a fence, what other groups wrote in the same launch."""

    @property
    def loops(self) -> int:
        """The number of host loops that contain the kernel."""

    def prologue(self, used: Iterable[VName]) -> list[imp.Declare]:
        """The code for each of the ``used`` scalars that is not on the host."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Global memory for the work-items of a kernel: ``count`` elements for each.

    The kernel may know the count as ``stride``.
    """

    name: VName
    prim: Prim
    count: Size
    stride: VName | None = None


@dataclass(slots=True)
class CodeBuilder:
    """A kernel under construction: its code, scratch memory, local memory and messages."""

    names: Names
    host: HostEnv
    code: list[ImpStm] = field(default_factory=list)
    env: dict[VName, Value] = field(default_factory=dict)
    types: dict[VName, Type] = field(default_factory=dict)
    sizes: dict[VName, Size] = field(default_factory=dict)
    extents: dict[Atom, Size] = field(default_factory=dict)
    scratch: list[Scratch] = field(default_factory=list)
    locals: list[imp.LocalArray] = field(default_factory=list)
    failures: list[imp.Failure] = field(default_factory=list)
    fine: VName | None = None
    """A variable that is false once a check of the work-item has failed, if a loop asks."""
    doubted: set[VName] = field(default_factory=set)
    """Variables that checks ask for: they may be wrong where code goes on."""
    marked: bool = False
    """True if lengths of loops have marks (:mod:`runelift.codegen.passes.failed_checks`)."""
    constants: list[VName] = field(default_factory=list)
    settings: list[VName] = field(default_factory=list)
    teams: VName | None = None
    even: VName | None = None
    width: VName | None = None
    fixing: bool = False
    private_bytes: int = 0
    lengths: dict[VName, Size] = field(default_factory=dict)
    owned: list[set[VName]] = field(default_factory=lambda: [set()])
    later: list[Set[VName]] = field(default_factory=lambda: [frozenset()])
    dest: dict[VName, View] = field(default_factory=dict)
    idle: set[VName] = field(default_factory=set)
    accumulators: dict[VName, Writer] = field(default_factory=dict)
    checked: list[dict[tuple[Exp, Exp], Exp]] = field(default_factory=lambda: [{}])
    """Indices checked against sizes, and what stands for them, by the blocks around the code."""
    loc: Loc | None = None
    origins: Origins | None = field(default_factory=noted)

    # Code

    def emit(self, *stms: ImpStm) -> None:
        """Append statements to the current block."""
        self.code.extend(stms)
        if self.origins is not None and self.loc is not None:
            self.origins.note(stms, self.loc)
        if self.checked[-1]:
            changed = {stm.name for stm in stms if isinstance(stm, imp.Assign)}
            for known in self.checked if changed else ():
                for index, size in [*known]:
                    if isinstance(index, imp.Var) and index.name in changed:
                        del known[index, size]

    @contextmanager
    def block(self) -> Iterator[list[ImpStm]]:
        """Collect the statements of a nested block."""
        outer, self.code = self.code, []
        inner = self.code
        self.checked.append(self.checked[-1].copy())
        try:
            yield inner
        finally:
            self.code = outer
            self.checked.pop()

    @contextmanager
    def when(self, cond: Exp) -> Iterator[None]:
        """Collect the statements of a branch, and emit them for work-items where ``cond`` holds."""
        with self.block() as code:
            yield
        self.emit(imp.If(cond, tuple(code)))

    def declare(self, base: str | VName, prim: Prim, init: Exp | None = None) -> imp.Var:
        """Declare a fresh scalar variable."""
        name = self.names.fresh(base)
        self.emit(imp.Declare(name, prim, init))
        return imp.Var(name)

    def loop(self, bound: Exp, body: Callable[[Exp], None], *, start: Exp | None = None,
             step: Exp | None = None, base: str = "i", unroll: VName | bool = False,
             expected: imp.Trips | None = None) -> None:
        """Emit ``for i from start below bound by step``."""
        index = self.names.fresh(base)
        with self.block() as inner:
            body(imp.Var(index))
        self.emit(imp.For(index, start or lit(0), bound, step or lit(1), tuple(inner), unroll,
                          expected))

    def nest(self, shape: Sequence[Exp], body: Callable[[list[Exp]], None],
             outer: Indices = ()) -> None:
        """Emit nested loops over all indices of ``shape``."""
        if not shape:
            body(list(outer))
        else:
            self.loop(shape[0], lambda i: self.nest(shape[1:], body, [*outer, i]))

    def fail_unless(self, cond: Exp, message: str, args: Sequence[Exp]) -> None:
        """Record a failure of the program unless ``cond``; execution goes on."""
        self.failures.append(imp.Failure(message, self.loc))
        failure = imp.Fail(len(self.failures) - 1, tuple(args))
        self.emit(imp.If(negated(cond), (failure,)))

    def length(self, atom: Atom) -> Exp:
        """The length of a loop of the program, with a mark: no iteration behind a failed check."""
        bound = self.scalar(atom)
        if isinstance(bound, imp.Lit):
            return bound
        self.marked = True
        return marked(bound, self.mark)

    @property
    def mark(self) -> imp.Var:
        """The mark of loops in the code under construction."""
        return ITEM

    def conditions(self) -> dict[imp.Var, Callable[[], Exp]]:
        """Makers of the condition of each mark: that no check has failed."""
        return {ITEM: self.own_fine}

    def own_fine(self) -> Exp:
        """False where a check of the work-item has failed."""
        self.fine = self.fine or self.names.fresh("fine")
        return imp.Var(self.fine)

    def settle_failures(self) -> None:
        """Decide about marks, and note failures of the work-item where a loop asks for them."""
        if self.marked:
            self.code = with_ends(self.code, self.doubted, self.names, self.conditions())
        if self.fine is not None:
            self.code = [imp.Declare(self.fine, Prim.BOOL, imp.Lit(TRUE)),
                         *with_notes(self.code, imp.Assign(self.fine, imp.Lit(FALSE)))]
        self.marked, self.fine = False, None

    # Names

    def value(self, name: VName) -> Value:
        """The value of a name; names of the host become parameters of the kernel."""
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
        """The view that is bound to the array ``name``."""
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
        if atom in self.extents:
            return greatest(Size.of(0), self.extents[atom])
        if atom in self.env or atom in self.types:
            place = f"{self.loc}: " if self.loc else ""
            raise CompilerLimitation(
                f"{place}the size '{atom.base}' of an array is known only inside of the kernel, so "
                "memory for it cannot be allocated.  If it has a bound, say so: i64.min 100 size")
        return Size.var(atom)

    def _note_size(self, name: VName, exp: PrimOp) -> None:
        """Note the size of an i64 that the host can compute from sizes alone.

        For a minimum, and for sums of minima, note an upper bound.
        """
        if exp.prim is not Prim.I64 or exp.op not in ("add", "sub", "mul", "min"):
            return
        exact = [self._host_known(atom) for atom in exp.args]
        left, right = exact
        if left is not None and right is not None:
            self.sizes[name] = (left + right if exp.op == "add" else left - right
                                if exp.op == "sub" else left * right if exp.op == "mul"
                                else least(left, right))
            return
        most = [size if size is not None else self.extents[atom]
                for atom, size in zip(exp.args, exact, strict=True)
                if size is not None or atom in self.extents]
        if exp.op == "min" and most:
            self.extents[name] = least(*most)
        elif exp.op == "add" and len(most) == len(exp.args):
            self.extents[name] = most[0] + most[1]

    def _host_known(self, atom: Atom) -> Size | None:
        """The size that the host computes for an i64 atom of the kernel, if it can."""
        if isinstance(atom, Const):
            return Size.of(int(atom.value))
        if atom in self.sizes:
            return self.sizes[atom]
        return None if atom in self.env or atom in self.types else Size.var(atom)

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

    def keep_private(self, param: Param) -> None:
        """Let an array with many updates be private if it can, and be copied at the end."""
        if self.is_private(param.type):
            self.dest.pop(param.name, None)

    def is_private(self, type_: Type) -> bool:
        """True if an array of this type is in private memory, unless it has been given a place."""
        return isinstance(type_, ArrayType) and self._is_small(
            type_.elem, product([self.host_size(size) for size in type_.shape]))

    def _is_small(self, prim: Prim, count: Size) -> bool:
        """True if an array is kept in private memory; a large array only while there is room."""
        return is_small(prim, count) or (
            self.host.interleave
            and is_small(prim, count, min(LOCKSTEP_PRIVATE_BYTES,
                                          MOST_PRIVATE_BYTES - self.private_bytes)))

    def _memory(self, name: VName, type_: ArrayType, count: Size) -> View:
        mem = self.names.fresh(name)
        shape = self.shape(type_)
        if self._is_small(type_.elem, count):
            assert count.constant is not None
            self.private_bytes += count.constant * type_.elem.bytes
            self.emit(imp.DeclareArray(mem, type_.elem, max(count.constant, 1)))
            return row_major(mem, type_.elem, shape)
        if self.fixing:
            length = self.names.fresh("length")
            self.lengths[length] = greatest(Size.of(1), count)
            self.emit(imp.DeclareArray(mem, type_.elem, length))
            return row_major(mem, type_.elem, shape)
        item, items = imp.WorkItem(imp.Id.GLOBAL_ID), imp.WorkItem(imp.Id.GLOBAL_SIZE)
        if self.host.interleave:
            self.scratch.append(Scratch(mem, type_.elem, count))
            return View(type_.elem, shape, mem,
                        lambda ix: op("add", op("mul", flat_index(ix, shape), items), item))
        stride = self.names.fresh("stride")
        apart = count + CACHE_LINE_BYTES // type_.elem.bytes
        self.scratch.append(Scratch(mem, type_.elem, apart, stride))
        start = op("mul", item, imp.Var(stride))
        return View(type_.elem, shape, mem, lambda ix: op("add", start, flat_index(ix, shape)),
                    near=len(shape) - 1)

    def copy(self, target: View, source: View) -> None:
        """Emit a copy of all elements."""
        self.nest(target.shape, lambda ix: self.emit(target.write(ix, source.read(ix))))

    def store(self, target: View, indices: Sequence[Exp], value: Value) -> None:
        """Write a scalar element, or a row."""
        if isinstance(value, View):
            self.copy(target.row(*indices), value)
        else:
            self.emit(target.write(indices, value))

    def dead(self, name: VName) -> bool:
        """True if this body owns the memory of ``name`` and no other name for it is used later."""
        view = self.env.get(name)
        if not isinstance(view, View) or view.mem is None or view.mem not in self.owned[-1]:
            return False
        return not self.seen_later(view.mem)

    def seen_later(self, mem: VName) -> bool:
        """True if a name for the memory, or a part of it, is used later in this body."""
        later = self.later[-1]
        return any(isinstance(other, View) and self._touches(other, mem) and alias in later
                   for alias, other in self.env.items())

    def _shown(self, name: VName, others: Iterable[VName]) -> bool:
        """True if a name in ``others`` shows the memory of ``name``."""
        mem = self.array(name).mem
        return mem is not None and self.shows(mem, others)

    def shows(self, mem: VName, others: Iterable[VName]) -> bool:
        """True if one of ``others`` is in the memory."""
        return any(
            isinstance(view := self.env.get(other), View) and self._touches(view, mem)
            for other in others)

    def _touches(self, view: View, mem: VName) -> bool:
        if view.mem is not None:
            return view.mem == mem
        probe = view.at([lit(0)] * len(view.shape))
        return mem in memories(probe)

    # Bodies

    def body(self, body: Body, used_after: Set[VName] = frozenset()) -> list[Value]:
        """Run the statements of ``body``; its results."""
        around = self.loc
        self.idle |= idle_copies(body)
        for stm, after in with_uses_after(body, used_after):
            self.later.append(after)
            self.statement(stm)
            self.later.pop()
        self.loc = around
        return [self.any(a) for a in body.result]

    @contextmanager
    def inner(self) -> Iterator[list[ImpStm]]:
        """A builder for a nested body, which owns the memory that it allocates."""
        self.owned.append(set())
        with self.block() as code:
            yield code
        self.owned.pop()

    def bind(self, param: Param, value: Value) -> None:
        """Bind the name of ``param`` to a value."""
        self.types[param.name] = param.type
        self.env[param.name] = value

    def bind_scalar(self, param: Param, value: Exp) -> None:
        """Bind a scalar name to a new variable."""
        assert isinstance(param.type, Prim)
        if isinstance(value, imp.Lit):
            self.bind(param, value)
        else:
            self.bind(param, self.declare(param.name, param.type, value))

    def statement(self, stm: Stm) -> None:
        """Emit one statement."""
        raise NotImplementedError

    def bind_all(self, pat: Sequence[Param], values: Sequence[Value]) -> None:
        """Bind the names of a pattern to values."""
        for param, value in zip(pat, values, strict=True):
            self.bind(param, value)

    def bind_copy(self, param: Param, source: View) -> None:
        """Bind a name to fresh memory with the elements of ``source``."""
        out = self.allocate(param.name, param.type)
        self.copy(out, source)
        self.bind(param, out)

    def writable(self, param: Param, name: VName, read: Iterable[VName] = ()) -> View:
        """Memory with the value of ``name`` that may be changed: its memory if it is dead, else a
        copy.

        ``read``: the names that the changing statement reads meanwhile.
        """
        if self.dead(name) and param.name not in self.dest and not self._shown(name, read):
            return self.array(name)
        out = self.allocate(param.name, param.type)
        self.copy(out, self.array(name))
        return out

    def all_writable(self, pat: Sequence[Param], dests: Sequence[VName], read: Collection[VName]
                     ) -> list[View]:
        """Memory with the values of ``dests`` that one statement may change, as ``writable``.

        Memory that several of them show serves the last one only.
        """
        return [self.writable(p, name, (*read, *dests[number:]))
                for number, (p, name) in enumerate(zip(pat, dests, strict=True), start=1)]


def is_small(prim: Prim, count: Size, most: int = PRIVATE_BYTES) -> bool:
    """True if an array is small enough for private memory on all devices."""
    return count.constant is not None and count.constant * prim.bytes <= most
