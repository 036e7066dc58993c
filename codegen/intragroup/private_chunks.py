"""Arrays that the work-items of a group divide: each keeps a chunk in private memory.

A row stays in registers as long as all operations divide it alike.  It goes through local memory if
work-items exchange elements (:meth:`ChunkBuilder.exchange`).  On the way to or from global memory
it also does, so that neighbouring work-items access neighbouring cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from runelift.codegen.kernel.launch_builder import LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import PADDING, padded
from runelift.codegen.plan.shapes import Chunk, GroupShape
from runelift.codegen.plan.views import (
    Indices,
    View,
    all_of,
    any_of,
    flat_index,
    lit,
    op,
    row_major,
    unflat_index,
    volume,
)
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp
from runelift.ir.imp import Stm as ImpStm
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, product
from runelift.ir.syntax import Param
from runelift.ir.types import ArrayType, Atom, Type

MOST_UNROLLED_STATEMENTS = 40
"""Loops over a chunk are unrolled where their body has at most this many statements."""


@dataclass(frozen=True, slots=True)
class ChunkLayout:
    """The division of ``points`` elements: work-item l has the elements at ``position(0..chunk)``.

    ``contiguous``: a chunk is a piece of the row, as scans need; else the elements that work-items
    hold at the same time are neighbours.
    """

    points: Size
    chunk: VName
    whole: VName
    contiguous: bool

    def position(self, offset: Exp) -> Exp:
        """The flat position of element ``offset`` of the work-item's chunk."""
        if self.contiguous:
            return op("add", op("mul", LID, imp.Var(self.chunk)), offset)
        return op("add", op("mul", offset, LSIZE), LID)


@dataclass(frozen=True, slots=True)
class ChunkedArray(View):
    """An array in chunks of this layout; a work-item reaches only the elements of its chunk."""

    layout: ChunkLayout = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Point:
    """The element at which a work-item is: its indices, flat position and place in the chunk."""

    layout: ChunkLayout
    indices: tuple[Exp, ...]
    position: Exp
    offset: Exp


@dataclass(slots=True)
class ChunkBuilder(KernelBuilder):
    """A kernel for a work-group: arrays in chunks and their copies in other memory.

    ``cooperative``: all work-items run the code under construction alike.
    """

    cooperative: bool = True
    group: VName = field(init=False)
    staged: VName = field(init=False)
    subgroup: VName = field(init=False)
    contiguous: set[Size] = field(default_factory=set)
    loops: list[Size] = field(default_factory=list)
    rows: list[tuple[Size, Size]] = field(default_factory=list)
    layouts: dict[Size, ChunkLayout] = field(default_factory=dict)
    chunked_results: dict[VName, ChunkLayout] = field(default_factory=dict)
    exchanged: dict[VName, View] = field(default_factory=dict)
    independent: set[VName] = field(default_factory=set)
    point: Point | None = None

    def __post_init__(self) -> None:
        """Name the constants that all such kernels have."""
        self.group = self.names.fresh("group")
        self.staged = self.names.fresh("staged")
        self.subgroup = self.names.fresh("subgroup")

    def group_shape(self, groups: Size, wanted: tuple[Atom, Atom], *, teams: bool) -> GroupShape:
        """The step that chooses the constants of the kernel, if possible as ``wanted``."""
        layouts = self.layouts.values()
        return GroupShape(self.group, self.staged, self.subgroup,
                          tuple(Chunk(each.chunk, each.whole) for each in layouts), groups,
                          tuple(each.points for each in layouts), tuple(self.loops),
                          tuple(self.rows), *wanted, teams,
                          scanned=any(each.contiguous for each in layouts))

    # Chunks

    def layout(self, points: Size) -> ChunkLayout:
        """The layout of arrays of ``points`` elements in this kernel."""
        if points not in self.layouts:
            self.layouts[points] = ChunkLayout(points, self.names.fresh("chunk"),
                                               self.names.fresh("whole"), points in self.contiguous)
        return self.layouts[points]

    def points(self, type_: ArrayType) -> Size:
        """The number of elements of an array."""
        return product([self.host_size(size) for size in type_.shape])

    def chunked_array(self, base: str | VName, prim: Prim, shape: tuple[Exp, ...],
                      layout: ChunkLayout) -> ChunkedArray:
        """Declare an array in private memory, with a chunk for each work-item."""
        mem = self.names.fresh(base)
        self.emit(imp.DeclareArray(mem, prim, layout.chunk))
        self.owned[-1].add(mem)
        return ChunkedArray(prim, shape, mem, lambda ix: self._own_place(layout, ix), layout=layout)

    def _own_place(self, layout: ChunkLayout, indices: Indices) -> Exp:
        here = self.point
        if here is None or here.layout != layout or tuple(indices) != here.indices:
            raise CompilerBug("a work-item accesses the chunk of another one")
        return here.offset

    def each(self, layout: ChunkLayout, shape: tuple[Exp, ...],
             work: Callable[[Point], None]) -> None:
        """Emit ``work`` at all elements of an array, each by the work-item that has the element."""
        offset = self.names.fresh("k")
        points = volume(shape)
        with self.per_item(None) as code:
            position = self.declare("p", Prim.I64, layout.position(imp.Var(offset)))
            with self.block() as inside:
                indices = tuple(self.declare("i", Prim.I64, i)
                                for i in unflat_index(position, shape))
                self.point = Point(layout, indices, position, imp.Var(offset))
                work(self.point)
            exists = any_of(op("eq", imp.Var(layout.whole), lit(1)), op("lt", position, points))
            self.emit(imp.If(exists, tuple(inside)))
        self.independent.add(offset)
        self.emit(imp.For(offset, lit(0), imp.Var(layout.chunk), lit(1), tuple(code),
                          unroll=_short(inside)))

    @contextmanager
    def per_item(self, point: Point | None) -> Iterator[list[ImpStm]]:
        """Code that each work-item runs for itself, at ``point``."""
        was, here = self.cooperative, self.point
        self.cooperative, self.point = False, point
        self.owned.append(set())
        with self.block() as code:
            yield code
        self.owned.pop()
        self.cooperative, self.point = was, here

    def all_points(self, shape: Sequence[Exp], work: Callable[[list[Exp]], None]) -> None:
        """Emit ``work`` at all points of ``shape``, of any number, divided over the work-items.

        In lockstep, the indices of a work-item's next point follow from the indices of its last
        point: divisions are slow there.  Processors gain nothing from that.
        """
        points = volume(shape)
        position = self.names.fresh("v")
        counters: list[imp.Var] = []
        if len(shape) > 1 and self.host.interleave:
            sizes = [shape[0], *(op("max", size, lit(1)) for size in shape[1:])]
            counters = [self.declare("at", Prim.I64, i) for i in unflat_index(LID, sizes)]
            strides = [self.declare("stride", Prim.I64, i) for i in unflat_index(LSIZE, sizes)]
        with self.per_item(None) as code:
            work([self.declare("i", Prim.I64, i)
                  for i in counters or unflat_index(imp.Var(position), shape)])
            for k in reversed(range(len(counters))):
                moved = self.declare("moved", Prim.I64, op("add", counters[k], strides[k]))
                if k == 0:
                    self.emit(imp.Assign(counters[0].name, moved))
                    break
                above = self.declare("above", Prim.BOOL, op("le", shape[k], moved))
                self.emit(imp.Assign(counters[k].name, imp.Select(
                    above, op("sub", moved, shape[k]), moved, Prim.I64)))
                self.emit(imp.Assign(counters[k - 1].name, imp.Select(
                    above, op("add", counters[k - 1], lit(1)), counters[k - 1], Prim.I64)))
        self.emit(imp.For(position, LID, points, LSIZE, tuple(code)))

    # Memory

    def _memory(self, name: VName, type_: ArrayType, count: Size) -> View:
        if not self.cooperative:
            return KernelBuilder._memory(self, name, type_, count)
        if (layout := self.chunked_results.get(name)) is not None:
            return self.chunked_array(name, type_.elem, self.shape(type_), layout)
        return row_major(self.local(name, type_.elem, count), type_.elem, self.shape(type_))

    def local(self, base: str | VName, prim: Prim, count: Size) -> VName:
        """Allocate local memory of ``count`` elements."""
        mem = self.names.fresh(base)
        self.locals.append(imp.LocalArray(mem, prim, count))
        return mem

    def is_private(self, type_: Type) -> bool:
        """True if an array belongs to a work-item, and is in its private memory."""
        return not self.cooperative and KernelBuilder.is_private(self, type_)

    def array(self, name: VName) -> View:
        """An array with all its elements in reach."""
        value = KernelBuilder.array(self, name)
        return self.exchange(value) if self.cooperative and isinstance(value,
                                                                       ChunkedArray) else value

    def exchange(self, source: ChunkedArray) -> View:
        """A copy in local memory, where all work-items see all elements."""
        assert source.mem is not None
        if source.mem not in self.exchanged:
            points, shape = source.layout.points, source.shape
            if source.layout.contiguous:
                mem = self.local(source.mem, source.prim, points + ceil_div(
                    points, Size.of(PADDING)))
                view = View(source.prim, shape, mem, lambda ix: padded(flat_index(ix, shape)))
            else:
                view = row_major(self.local(source.mem, source.prim, points), source.prim, shape)
            self.copy(view, source)
            self.exchanged[source.mem] = view
        return self.exchanged[source.mem]

    @contextmanager
    def inner(self) -> Iterator[list[ImpStm]]:
        """A nested body: its copies in local memory do not exist after it."""
        exchanged = dict(self.exchanged)
        with KernelBuilder.inner(self) as code:
            yield code
        self.exchanged = exchanged

    def writable(self, param: Param, name: VName, read: Iterable[VName] = ()) -> View:
        """Memory with the value of ``name`` that may be changed.

        An array in chunks is changed in a copy, so other work-items may read it meanwhile.  That
        may be the copy in local memory by which work-items exchange elements, unless other names
        show it.
        """
        value = self.value(name)
        if not self.cooperative or not isinstance(value, ChunkedArray):
            return KernelBuilder.writable(self, param, name, read)
        assert value.mem is not None
        if self.dead(name) and param.name not in self.dest:
            view = self.exchange(value)
            assert view.mem is not None
            if not self.seen_later(view.mem) and not self.shows(view.mem, read):
                del self.exchanged[value.mem]
                self.owned[-1].add(view.mem)
                return view
        out = self.allocate(param.name, param.type)
        self.copy(out, value)
        return out

    def bind_copy(self, param: Param, source: View) -> None:
        """Bind a name to fresh memory; an array in chunks stays in chunks."""
        if self.cooperative and isinstance(source, ChunkedArray):
            out: View = self.chunked_array(param.name, source.prim, source.shape, source.layout)
            self.copy(out, source)
            self.bind(param, out)
        else:
            KernelBuilder.bind_copy(self, param, source)

    # Copies

    def copy(self, target: View, source: View) -> None:
        """Emit a copy of all elements; the work-items divide them."""
        if not self.cooperative:
            KernelBuilder.copy(self, target, source)
        elif isinstance(target, ChunkedArray):
            if isinstance(source, ChunkedArray) and source.layout != target.layout:
                source = self.exchange(source)
            self._copy_chunks(target.layout, target, source)
        elif isinstance(source, ChunkedArray):
            self._copy_chunks(source.layout, target, source)
        else:
            self.all_points(target.shape, lambda ix: self.emit(target.write(ix, source.read(ix))))

    def _copy_chunks(self, layout: ChunkLayout, target: View, source: View) -> None:
        def element(here: Point) -> None:
            self.emit(target.write(here.indices, source.read(here.indices)))

        outside = next((v for v in (target, source) if self._is_global(v)), None)
        if outside is None or not layout.contiguous:
            self.each(layout, target.shape, element)
            return
        with self.block() as by_stage:
            self._copy_staged(layout, target, source)
        with self.block() as directly:
            self.each(layout, target.shape, element)
        staged = op("eq", imp.Var(self.staged), lit(1))
        several = all_of(staged, op("lt", lit(1), imp.Var(layout.chunk)))
        self.emit(imp.If(several, tuple(by_stage), tuple(directly)))

    def _is_global(self, view: View) -> bool:
        return (view.mem is not None and not isinstance(view, ChunkedArray)
                and not self.is_local(view))

    def is_local(self, view: View) -> bool:
        """True if an array is in local memory."""
        return any(view.mem == array.name for array in self.locals)

    def _copy_staged(self, layout: ChunkLayout, target: View, source: View) -> None:
        """Copy between chunks and global memory, through local memory: both sides in order."""
        count = Size.var(self.group) * Size.var(layout.chunk)
        count = (count + ceil_div(count, Size.of(PADDING))) * Size.var(self.staged)
        stage = self.local("stage", target.prim, count)
        neighbours = ChunkLayout(layout.points, layout.chunk, layout.whole, contiguous=False)

        def read(here: Point) -> Exp:
            return imp.Load(stage, padded(here.position), target.prim)

        def write(here: Point, value: Exp) -> ImpStm:
            return imp.Store(stage, padded(here.position), value, target.prim)

        into, out_of = (layout, neighbours) if isinstance(source, ChunkedArray) else (neighbours,
                                                                                      layout)
        self.each(into, target.shape, lambda here: self.emit(
            write(here, source.read(here.indices))))
        self.each(out_of, target.shape, lambda here: self.emit(
            target.write(here.indices, read(here))))


def _short(code: Sequence[ImpStm]) -> bool:
    """True if a loop body is worth unrolling."""
    return _count(code) <= MOST_UNROLLED_STATEMENTS


def _count(code: Sequence[ImpStm]) -> int:
    """The number of statements; loops count as too many."""
    total = 0
    for stm in code:
        match stm:
            case imp.For() | imp.While() | imp.AtomicUpdate() | imp.Locked():
                return MOST_UNROLLED_STATEMENTS + 1
            case imp.If(_, then_, else_):
                total += 1 + _count(then_) + _count(else_)
            case _:
                total += 1
    return total
