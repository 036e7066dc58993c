"""SegOps on whole arrays that the host plans: accesses, updates, and arrays of parts.

Layout operations make views and cost nothing.  An update, a ``concat`` and a literal are kernels
that write into a buffer; indices are checked on the host.
"""

from __future__ import annotations

from runelift.codegen.hostplan.packing import Packed
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import replicate
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import PLACED
from runelift.ir.base import failures
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, product
from runelift.ir.types import ArrayType, Atom, Type, elem_of, i64, shape_of

LITERAL_ELEMENTS = 64
"""The most scalars that one kernel puts into an array: each is an argument of it."""


class Arrays(Packed):
    """The steps of accesses to arrays, and of arrays that are put together from parts."""

    __slots__ = ()

    def index(self, stm: ir.Stm, exp: ir.Index) -> None:
        """Add an element, or bind a slice as a view."""
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
        elif view.mem not in self.owned[-1]:
            self.defer(stm, imp.Load(view.mem, view.at(indices), param.type))
        elif self.coherent and self.loops:  # a copy as below, by a kernel that others can be with
            self.defer(stm, imp.Load(view.mem, view.at(indices), param.type))
            self.scalar_result(param.name, param.type,
                               self.scalar_buffer_of(param.name, param.type))
        else:  # a copy, because this body may update the array in place
            held = self.names.fresh(param.name)
            self.emit(plan.Alloc(held, param.type, Size.of(1)),
                      plan.CopyBuffer(held, view.mem, param.type, Size.of(1), view.at(indices)))
            self.scalar_result(param.name, param.type, held)

    def _check_bounds(self, exp: ir.Index | ir.Update, stm: ir.Stm) -> None:
        """Have the host check that an access is inside of its array."""
        shape = shape_of(self.types[exp.array])
        written = [self._written(dim) for dim in exp.dims]
        message = failures.access([len(each) for each in written])
        values = (*(value for each in written for value in each), *shape)
        for dim, size in zip(exp.dims, shape, strict=True):
            if isinstance(dim, ir.SliceDim):
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

    def _written(self, dim: ir.Dim) -> tuple[Atom, ...]:
        """A dimension of an access as a program writes it: an index, or start, stop and step."""
        if not isinstance(dim, ir.SliceDim):
            return (dim,)
        if dim.stride == i64(1):
            return dim.start, self.compute("add", dim.start, dim.count)
        stop = self.compute("add", dim.start, self.compute("mul", dim.count, dim.stride))
        return dim.start, stop, dim.stride

    def _within(self, index: Atom, size: Atom) -> VName:
        """True if ``0 <= index < size``."""
        return self.compute("and", self.compute("le", i64(0), index),
                            self.compute("lt", index, size), prim=Prim.BOOL)

    def check_reshape(self, stm: ir.Stm, shape: tuple[Atom, ...], array: VName) -> None:
        """Have the host check that a shape has as many elements, unless that is known."""
        old = shape_of(self.types[array])
        if product([self.size(s) for s in shape]) == product([self.size(s) for s in old]):
            return
        sizes = [self.names.fresh("size"), self.names.fresh("size")]
        for name, atoms in zip(sizes, (shape, old), strict=True):
            self.types[name] = Prim.I64
            self.emit(plan.ComputeSize(name, product([self.size(s) for s in atoms])))
        same = self.compute("eq", sizes[0], sizes[1])
        self.emit(plan.Check(same, failures.RESHAPE, (sizes[1], sizes[0]), stm.loc))

    def replicate(self, stm: ir.Stm, shape: tuple[Atom, ...], value: Atom) -> None:
        """Bind a view that shows a value at all indices; a copy, if the value may change here."""
        (param,) = stm.pat
        outer = tuple(self.scalar(s) for s in shape)
        if isinstance(value, VName) and value in self.views:
            inner = self.views[value]
            if inner.mem is not None and inner.mem in self.owned[-1]:
                inner = self.views[self.copy(value)]
            self.bind_view(param, replicate(elem_of(param.type), outer, inner))
        else:
            self.bind_view(param, replicate(elem_of(param.type), outer, self.scalar(value)))

    def update(self, stm: ir.Stm, exp: ir.Update) -> None:
        """Add a kernel that writes the value, unless the value was made in its place."""
        (param,) = stm.pat
        if PLACED in stm.attrs and self.is_in_place(exp):
            mem = self.views[exp.array].mem
            assert mem is not None
            self.adopt(param, mem)
            return
        if self._is_whole(exp):
            self._overwrite(param, exp)
            return
        if exp.checked:
            self._check_bounds(exp, stm)
        slices = [d for d in exp.dims if isinstance(d, ir.SliceDim)]
        inner = tuple(ir.SegDim(self.names.fresh("k"), d.count) for d in slices) or (
            ir.SegDim(self.names.fresh("one"), i64(1)),)
        stms: list[ir.Stm] = []
        indices: list[Atom] = []
        place = iter(inner)
        for dim in exp.dims:
            if not isinstance(dim, ir.SliceDim):
                indices.append(dim)
                continue
            scaled, at = self.names.fresh("o"), self.names.fresh("at")
            index = next(place).index
            stms += [ir.Stm((ir.Param(scaled, Prim.I64),),
                            ir.PrimOp("mul", Prim.I64, (index, dim.stride))),
                     ir.Stm((ir.Param(at, Prim.I64),),
                            ir.PrimOp("add", Prim.I64, (dim.start, scaled)))]
            indices.append(at)
        value = exp.value
        if slices and isinstance(value, VName):
            source = value
            if self.touches(self.views[value], self.views[exp.array].mem or value):
                source = self.copy(value)
            element = self.names.fresh("x")
            stms.append(ir.Stm((ir.Param(element, elem_of(param.type)),),
                            ir.Index(source, tuple(d.index for d in inner))))
            value = element
        body = ir.Body(tuple(stms), (*indices, value))
        scatter = ir.SegScatter(ir.Level.GRID, inner, (ir.Dest(exp.array, len(indices)),), body)
        self.operation(ir.Stm(stm.pat, scatter, stm.attrs, stm.loc), scatter)

    def _is_whole(self, exp: ir.Update) -> bool:
        """True if an update replaces all elements by the elements of another array."""
        shape = shape_of(self.types[exp.array])
        return isinstance(exp.value, VName) and exp.value in self.views and exp.dims == tuple(
            ir.SliceDim(i64(0), size, i64(1)) for size in shape)

    def _overwrite(self, param: ir.Param, exp: ir.Update) -> None:
        """Add a copy of the value, in the memory of the operand if nothing reads that later."""
        view, value = self.views[exp.array], exp.value
        assert isinstance(value, VName)
        if view.mem is None or not view.dense or not self.dead(exp.array) or (
                self.touches(self.views[value], view.mem)):
            self.adopt(param, self.own_buffer(value))
            return
        self.adopt(param, view.mem)
        self.copy_into(param, value)
        self.commit_versions([param.name])

    def concat(self, stm: ir.Stm, dim: int, arrays: tuple[VName, ...]) -> None:
        """Add a kernel for each operand, which copies it to its place in the result."""
        (param,) = stm.pat
        self.allocate(param)
        start: Atom = i64(0)
        whole = self.views[param.name]
        for array in arrays:
            shape = shape_of(self.types[array])
            dims = tuple(ir.SegDim(self.names.fresh("i"), s) for s in shape)
            at = self.names.fresh("at")
            element = self.names.fresh("x")
            body = ir.Body((
                ir.Stm((ir.Param(at, Prim.I64),),
                       ir.PrimOp("add", Prim.I64, (dims[dim].index, start))),
                ir.Stm((ir.Param(element, elem_of(param.type)),),
                    ir.Index(array, tuple(d.index for d in dims)))),
                (*(at if k == dim else d.index for k, d in enumerate(dims)), element))
            part = ir.SegScatter(ir.Level.GRID, dims, (ir.Dest(param.name, len(dims)),), body)
            self.segop(ir.Stm((param,), part, loc=stm.loc))
            start = self.compute("add", start, shape[dim])
        self.views[param.name] = whole

    def literal(self, stm: ir.Stm, elems: tuple[Atom, ...], row: Type) -> None:
        """Add one kernel that writes all elements if they are scalars, else one kernel for each.

        Elements that reductions have made in their places need no kernel.
        """
        (param,) = stm.pat
        if any(elem in self.places.elements for elem in elems):
            return
        self.allocate(param)
        rows = shape_of(row)
        if not rows:
            for first in range(0, len(elems), LITERAL_ELEMENTS):
                self._scalars(stm, first, elems[first:first + LITERAL_ELEMENTS])
            return
        for k, elem in enumerate(elems):
            assert isinstance(elem, VName)
            dims = tuple(ir.SegDim(self.names.fresh("i"), s) for s in rows)
            value = self.names.fresh("x")
            read = ir.Stm((ir.Param(value, elem_of(row)),),
                          ir.Index(elem, tuple(d.index for d in dims)))
            self._write(stm, dims, (read,), (i64(k), *(d.index for d in dims), value))

    def _scalars(self, stm: ir.Stm, first: int, elems: tuple[Atom, ...]) -> None:
        """Add a kernel that writes ``elems`` from place ``first`` on: each work-item picks one."""
        prim = elem_of(stm.pat[0].type)
        fresh = self.names.fresh
        dim, stms, value = ir.SegDim(fresh("i"), i64(len(elems))), list[ir.Stm](), elems[0]
        for k, elem in enumerate(elems[1:], 1):
            here, picked = ir.Param(fresh("here"), Prim.BOOL), ir.Param(fresh("x"), prim)
            stms += [ir.Stm((here,), ir.PrimOp("eq", Prim.I64, (dim.index, i64(k)))),
                     ir.Stm((picked,), ir.If(here.name, ir.Body((), (elem,)),
                                             ir.Body((), (value,)), (prim,)))]
            value = picked.name
        place = ir.Param(fresh("place"), Prim.I64)
        stms.append(ir.Stm((place,), ir.PrimOp("add", Prim.I64, (dim.index, i64(first)))))
        self._write(stm, (dim,), tuple(stms), (place.name, value))

    def _write(self, stm: ir.Stm, dims: tuple[ir.SegDim, ...], stms: tuple[ir.Stm, ...],
               written: tuple[Atom, ...]) -> None:
        """Add a kernel that writes an element at each point; ``written``: indices, then value."""
        (param,) = stm.pat
        part = ir.SegScatter(ir.Level.GRID, dims, (ir.Dest(param.name, len(written) - 1),),
                             ir.Body(stms, written))
        self.segop(ir.Stm((param,), part, loc=stm.loc))
