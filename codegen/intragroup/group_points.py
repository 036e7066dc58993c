"""Points of a work-group's operations: reads and writes of arrays that its work-items divide.

This module has the statements of :class:`runelift.codegen.intragroup.group_version.GroupBuilder`
that hold other statements, and reads and writes of single elements.  Elements of a work-item's
chunk stay in its private memory (:mod:`runelift.codegen.intragroup.private_chunks`).  Elements that
other work-items read are exchanged before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from runelift.codegen.intragroup.access import exchanged_arrays, own_elements
from runelift.codegen.intragroup.private_chunks import (
    ChunkBuilder,
    ChunkedArray,
    ChunkLayout,
    Point,
)
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.launch_builder import widths
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.failed_checks import GROUP, ITEM
from runelift.codegen.plan.views import View, lit, op
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, product
from runelift.ir.traverse import free_vars, needed_for
from runelift.ir.types import ArrayType, Atom, Const


@dataclass(slots=True)
class PointsBuilder(ChunkBuilder):
    """Lowers the points, branches and loops of a work-group."""

    loaded: dict[tuple[VName, tuple[Atom | ir.SliceDim, ...]],
                 ChunkedArray] = field(default_factory=dict)
    all_fine: VName | None = None
    """Local memory that is 1, and 0 once a check has failed, if a loop of the group asks."""

    def alone(self, work: Callable[[], None]) -> None:
        """Emit ``work`` so that one work-item runs it for the group."""
        with self.when(IS_FIRST):
            work()

    def count(self, space: ir.Space) -> Size:
        """The number of points of a space."""
        return product([self.host_size(dim.width) for dim in space])

    # Differences from sequential code

    def store(self, target: View, indices: Sequence[Exp], value: Value) -> None:
        """Write an element or row."""
        if self.cooperative and not isinstance(value, View):
            self.alone(lambda: self.emit(target.write(indices, value)))
        else:
            ChunkBuilder.store(self, target, indices, value)

    def update(self, param: ir.Param, exp: ir.Update) -> None:
        """Emit ``array with [dims] <- value``; one work-item writes a single element."""
        value = self.any(exp.value)
        if not self.cooperative or isinstance(value, View):
            ChunkBuilder.update(self, param, exp)
            return
        out = self.writable(param, exp.array)
        indices = self.selection(exp, out).indices
        self.alone(lambda: self.emit(out.write(indices, value)))
        self.bind(param, out)

    def index(self, param: ir.Param, exp: ir.Index) -> None:
        """Emit ``array[dims]``; an element that has been loaded comes from private memory."""
        if not (self.cooperative or exp.checked) and (
                loaded := self.loaded.get((exp.array, exp.dims))) is not None:
            assert self.point is not None
            self.bind_scalar(param, loaded.read(self.point.indices))
        else:
            ChunkBuilder.index(self, param, exp)

    # Branches and loops

    def branch(self, pat: tuple[ir.Param, ...], exp: ir.If) -> None:
        """Emit ``if`` for the whole group."""
        if self.cooperative:
            for k, param in enumerate(pat):
                self._chunk_if(param, all(self._made_by_elements(body, body.result[k])
                                          for body in (exp.then_, exp.else_)))
        ChunkBuilder.branch(self, pat, exp)

    def iterate(self, pat: tuple[ir.Param, ...], exp: ir.Loop) -> None:
        """Emit a loop of the whole group; carried arrays stay in chunks if the body allows that."""
        if self.cooperative:
            self.exchange_all(exchanged_arrays(exp.body) & free_vars(exp.body)
                              - {p.param.name for p in exp.params})
            for param, result in zip(pat, exp.body.result, strict=True):
                self._chunk_if(param, self._made_by_elements(exp.body, result))
        ChunkBuilder.iterate(self, pat, exp)

    def no_failure(self, exp: ir.Loop) -> Exp | None:
        """False where a check has failed; work-items of a group leave its loops together.

        None if scalars of the host alone decide when the loop ends.  So all groups leave it
        alike, and may be teams.
        """
        if not self.cooperative:
            return ChunkBuilder.no_failure(self, exp)
        return None if self._host_decides(exp) else self.group_fine()

    @property
    def mark(self) -> imp.Var:
        """The mark of loops in the code under construction."""
        return GROUP if self.cooperative else ITEM

    def conditions(self) -> dict[imp.Var, Callable[[], Exp]]:
        """Makers of the condition of each mark: that no check has failed."""
        return {**ChunkBuilder.conditions(self), GROUP: self.group_fine}

    def group_fine(self) -> Exp:
        """False where a check of the work-group has failed."""
        if self.all_fine is None:
            self.all_fine = self.names.fresh("fine")
            self.locals.append(imp.LocalArray(self.all_fine, Prim.I32, Size.of(1)))
        return op("lt", imp.Lit(Const(0, Prim.I32)), imp.Load(self.all_fine, lit(0), Prim.I32),
                  prim=Prim.I32)

    def _host_decides(self, exp: ir.Loop) -> bool:
        """True if the condition of a loop is computed of scalars of the host alone."""
        after = dict(zip(exp.params, exp.body.result, strict=True))
        assert isinstance(exp.form, ir.WhileLoop)
        found, asked = set[VName](), {exp.form.cond}
        while found != asked:
            found = set(asked)
            results = [a for p, each in after.items() if p.param.name in found
                       for a in (p.init, each)]
            stms = needed_for(exp.body.stms, results)
            if not all(isinstance(s.exp, ir.Convert | ir.AtomExp) or (
                    isinstance(s.exp, ir.PrimOp) and not s.exp.may_trap) for s in stms):
                return False
            asked |= {a for a in results if isinstance(a, VName)} | {
                a for s in stms for a in free_vars(s)}
        own = {p.param.name for p in exp.params} | {p.name for s in exp.body.stms for p in s.pat}
        return all(name in own or name not in self.env for name in asked)

    def reusable(self, out: ir.Param, param: ir.LoopParam, init: View) -> bool:
        """True if a loop may keep its values in the memory of ``init``."""
        if not ChunkBuilder.reusable(self, out, param, init):
            return False
        wanted = self.chunked_results.get(out.name) if self.cooperative else None
        if wanted != (init.layout if isinstance(init, ChunkedArray) else None):
            return False
        assert init.mem is not None
        self.exchanged.pop(init.mem, None)
        return True

    def _chunk_if(self, param: ir.Param, possible: bool) -> None:
        if possible and isinstance(param.type, ArrayType):
            self.chunked_results[param.name] = self.layout(self.points(param.type))

    def _made_by_elements(self, body: ir.Body, atom: Atom) -> bool:
        """True if each work-item makes the elements of array ``atom`` that are in its chunk."""
        made = next((s for s in body.stms if any(p.name == atom for p in s.pat)), None)
        if made is None:
            return True
        position = [p.name for p in made.pat].index(atom)  # type: ignore[arg-type]
        match made.exp:
            case ir.SegMap(_, _, _, ret):
                return isinstance(ret[position], Prim)
            case ir.SegScan():
                return True
            case ir.SegRed(_, space, ops, _, _):
                return (len(space) > 1 and position < sum(len(o.neutral) for o in ops)) or (
                    position >= sum(len(o.neutral) for o in ops)
                    and isinstance(made.exp.ret[position], Prim))
            case ir.If(_, then_, else_):
                return all(self._made_by_elements(b, b.result[position]) for b in (then_, else_))
            case ir.Loop(_, _, inner):
                return self._made_by_elements(inner, inner.result[position])
            case ir.AtomExp(inner):
                return self._made_by_elements(body, inner)
            case ir.Copy(array):
                return self._made_by_elements(body, array)
        return False

    def exchange_all(self, names: frozenset[VName] | set[VName]) -> None:
        """Copy arrays in chunks to local memory."""
        for name in sorted(names, key=lambda n: n.tag):
            if isinstance(value := self.env.get(name), ChunkedArray):
                self.exchange(value)

    # Points

    @contextmanager
    def reading(self, body: ir.Body, space: ir.Space, layout: ChunkLayout | None) -> Iterator[None]:
        """Make the elements that a body reads reachable from its points.

        Elements of the work-item's chunk are read from private memory.  They come from arrays in
        chunks, and from global arrays whose chunks are better loaded together.  An array in chunks
        may also be exchanged, for its other elements.
        """
        own, here = own_elements(body, space), tuple(dim.index for dim in space)
        kept: dict[VName, Value] = {}
        for name in sorted(free_vars(body), key=lambda n: n.tag):
            value = self.env.get(name)
            if isinstance(value, ChunkedArray) and (value.layout != layout or name not in own):
                kept[name] = value
                self.env[name] = self.exchange(value)
                if value.layout == layout:
                    self.loaded[name, here] = value
        if layout is not None and layout.contiguous:
            self._load_chunks(body, space, layout)
        yield
        self.env.update(kept)
        self.loaded.clear()

    def _load_chunks(self, body: ir.Body, space: ir.Space, layout: ChunkLayout) -> None:
        own, free = tuple(dim.index for dim in space), free_vars(body)
        for stm in body.stms:
            match stm.exp:
                case ir.Index(array, dims, False) if (
                        array in free and dims[-len(own):] == own
                        and not any(isinstance(d, ir.SliceDim) for d in dims)
                        and all(d in free or not isinstance(d, VName)
                                for d in dims[:-len(own)])):
                    view = KernelBuilder.array(self, array)
                    if self._is_global(view) and (array, dims) not in self.loaded:
                        outer = [self.scalar(d) for d in dims[:-len(own)]
                                 if not isinstance(d, ir.SliceDim)]
                        row = self.chunked_array("own", view.prim, widths(self, space), layout)
                        self.copy(row, view.row(*outer))
                        self.loaded[array, dims] = row

    def each_point(self, exp: ir.SegMap | ir.SegScan | ir.SegRed | ir.SegScatter | ir.SegHist,
                   layout: ChunkLayout,
                   work: Callable[[Point], None]) -> None:
        """Emit ``work`` at all points of a space, with their indices bound."""
        def point(here: Point) -> None:
            self.bind_indices(exp.space, here.indices)
            work(here)

        with self.reading(exp.body, exp.space, layout):
            self.each(layout, widths(self, exp.space), point)

    def bind_indices(self, space: ir.Space, indices: Sequence[Exp]) -> None:
        """Bind the indices of a space to variables that exist."""
        for dim, index in zip(space, indices, strict=True):
            self.bind(ir.Param(dim.index, Prim.I64), index)

    def everywhere(self, exp: ir.SegRed | ir.SegScatter | ir.SegHist,
                    work: Callable[[Sequence[Exp]], None]) -> None:
        """Emit ``work`` at all points, in any order and number, unless chunks hold the elements."""
        own = own_elements(exp.body, exp.space)
        if any(isinstance(self.env.get(name), ChunkedArray) for name in own):
            layout = self.layout(self.count(exp.space))
            self.each_point(exp, layout, lambda here: work(here.indices))
            return

        def point(indices: Sequence[Exp]) -> None:
            self.bind_indices(exp.space, indices)
            work(indices)

        self.loops.append(self.count(exp.space))
        with self.reading(exp.body, exp.space, None):
            self.all_points(widths(self, exp.space), point)
