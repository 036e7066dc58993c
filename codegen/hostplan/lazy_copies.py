"""Lazy copies: arrays in the layout that kernels want, made when the first of them runs.

:mod:`runelift.codegen.hostplan.coalescing` chooses them.  The version that wants a copy makes it; a
copy that another version has made is used.

Stored margins of products (:mod:`runelift.codegen.hostplan.margins`) are lazy copies, too.  If only
one side of a branch reads such a copy, it is made there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from runelift.codegen.hostplan.device_scalars import DeviceScalars
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import Indices, View, flat_index, op, row_major, volume
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, product
from runelift.ir.syntax import Param
from runelift.ir.types import Atom, array_of, elem_of, i64, shape_of

CACHE_LINE_BYTES = 128
"""The bytes of a cache line; walking along shorter rows costs little."""

FEW_ROWS = 32
"""Copies of fewer rows gain nothing: the caches of work-items that run together hold all of them.
"""


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of ``transposed``; where ``short`` holds, memory ``source`` stands for it.

    ``steps`` make the copy, if equal steps make it at every place.
    """

    transposed: VName
    source: VName
    short: VName | None
    steps: tuple[plan.Step, ...] = ()


@dataclass(slots=True)
class LazyCopies(DeviceScalars):
    """The lazy copies of a plan by name; ``margins`` are the names of copies of padded arrays."""

    lazy_copies: dict[VName, _Copy] = field(default_factory=dict)
    margins: set[VName] = field(default_factory=set)

    def copy_lazily(self, param: Param, array: VName, dim: int, *, beside: int | None) -> None:
        """Bind ``param`` to a view of ``array`` whose dimension ``dim`` varies fastest in memory.

        The view may show a lazy copy.  ``beside``: the number of arrays that the same work-items
        walk along.  The view shows the array itself if a copy gains too little then.
        """
        view, shape = self.views[array], shape_of(param.type)
        found, view = view, view.stored or view
        if view.near == dim or (beside is not None and not view.dense):
            self.bind_view(param, found)
            return
        self.emit(plan.LazyCopy(param.name))
        before, behind = shape[:dim], shape[dim + 1:]
        rest = behind[0] if len(behind) == 1 else self._count(behind)
        if view.dense:  # a matrix of all behind is turned by tiles, however long its dimensions are
            transposed = self._array(param, (*before, rest, shape[dim]), view.reshape(
                (*view.shape[:dim + 1], self.scalar(rest))).rearrange(
                (*range(dim), dim + 1, dim)))
        else:
            order = (*range(dim), *range(dim + 1, len(shape)), dim)
            transposed = self._array(param, [shape[d] for d in order], view.rearrange(order))
        near: Atom = i64(1)
        far, short = shape[dim], None
        if beside is not None:
            short = self._is_short(rest, shape[dim], view.prim, beside)
            near, far = self._either(short, (rest, i64(1)), (near, far))
        self.lazy_copies[param.name] = _Copy(transposed, view.mem or array, short)
        self.bind_view(param, self._view_in_memory(param, dim, near, far))

    def store_lazily(self, param: Param, view: View) -> None:
        """Bind ``param`` to ``view``, with a lazy copy for kernels that read it from memory.

        All versions that read the copy make it with one kernel, which depends on nothing else.
        """
        copy = self.names.fresh(param.name)
        self.emit(plan.LazyCopy(copy))
        source = self._array(param, shape_of(param.type), view)
        with self.block() as steps:
            self.emit(plan.Bind(copy, self.copy(source)))
        self.lazy_copies[copy] = _Copy(source, source, None, tuple(steps))
        self.margins.add(copy)
        self.bind_view(param, replace(view, stored=row_major(copy, view.prim, view.shape)))

    def _is_short(self, rest: Atom, rows: Atom, prim: Prim, beside: int) -> VName:
        """True if ``rows`` rows of ``rest`` elements need no copy."""
        short = self.compute("or", self.compute("lt", rest, i64(CACHE_LINE_BYTES // prim.bytes)),
                             self.compute("lt", rows, i64(FEW_ROWS)), prim=Prim.BOOL)
        if beside == 1:
            return short
        most = self._number(Size.var(plan.NUM_GROUPS) * Size.var(plan.GROUP_SIZE))
        few = self.compute("le", self.compute("mul", rows, i64(beside)), most)
        return self.compute("or", short, few, prim=Prim.BOOL)

    def _count(self, sizes: Sequence[Atom]) -> VName:
        """The number of elements in dimensions of these sizes."""
        return self._number(product([self.size(s) for s in sizes]))

    def _number(self, size: Size) -> VName:
        """Add the computation of a size; the name of its value."""
        name = self.names.fresh("size")
        self.types[name] = Prim.I64
        self.emit(plan.ComputeSize(name, size))
        return name

    def _array(self, param: Param, shape: Sequence[Atom], view: View) -> VName:
        """A name for the array that is copied."""
        name = self.names.fresh(param.name)
        self.bind_view(Param(name, array_of(tuple(shape), elem_of(param.type))), view)
        return name

    def _either(self, cond: VName, yes: Sequence[Atom], no: Sequence[Atom]) -> list[VName]:
        """Names of i64s: the values ``yes`` if the condition holds, else the values ``no``."""
        names = [self.names.fresh("distance") for _ in yes]
        self.types |= dict.fromkeys(names, Prim.I64)
        self.emit(plan.Branch(cond, *(tuple(
            plan.Bind(name, atom) for name, atom in zip(names, atoms, strict=True))
            for atoms in (yes, no))))
        return names

    def _view_in_memory(self, param: Param, dim: int, near: Atom, far: Atom) -> View:
        """The array in its memory.

        Neighbours along ``dim`` are ``near`` elements apart, neighbours along the last dimension
        (the one before it, if that is ``dim``) ``far`` elements.
        """
        shape = self.shape(param.type)
        whole = volume(shape[dim:])

        def at(ix: Indices) -> Exp:
            outer = op("mul", flat_index(ix[:dim], shape[:dim]), whole)
            place = op("add", outer, op("mul", ix[dim], self.scalar(near)))
            return op("add", place, op("mul", flat_index(ix[dim + 1:], shape[dim + 1:]),
                                       self.scalar(far)))

        if near != i64(1):
            return View(elem_of(param.type), shape, param.name, at)
        order = (*range(dim), *range(dim + 1, len(shape)), dim)
        return View(elem_of(param.type), shape, param.name, at, order, dim)

    def fill(self, names: Iterable[VName]) -> None:
        """Make each of the lazy copies ``names`` that does not exist yet."""
        for name in sorted(set(names) & self.lazy_copies.keys() - self.filled[-1],
                           key=lambda n: n.tag):
            lazy = self.lazy_copies[name]
            self.filled[-1].add(name)
            if lazy.steps:
                self.emit(plan.Fill(name, lazy.steps))
                continue
            with self.block() as steps:
                self.fill([lazy.source])
                with self.block() as copying:
                    self.emit(plan.Bind(name, self.copy(lazy.transposed)))
                if lazy.short is None:
                    self.emit(*copying)
                else:
                    self.emit(plan.Branch(lazy.short, (plan.Bind(name, lazy.source),),
                                          tuple(copying)))
            self.emit(plan.Fill(name, tuple(steps)))

    def fill_where_read(self, steps: tuple[plan.Step, ...]) -> tuple[plan.Step, ...]:
        """Fill the lazy copies that ``steps`` read; these, with margins filled where they are read.

        A margin that only one side of a branch reads is filled there.
        """
        read = buffers_of(steps)
        apart = {name for name in read & self.margins - self.filled[-1]
                 if all(_is_one_sided(step, name) for step in steps if name in buffers_of([step]))}
        self.fill(read - apart)
        if not apart:
            return steps
        return tuple(self._sides_filled(step) if apart & buffers_of([step]) else step
                     for step in steps)

    def _sides_filled(self, step: plan.Step) -> plan.Step:
        """A branch that fills what its sides read."""
        assert isinstance(step, plan.Branch)
        sides = list[tuple[plan.Step, ...]]()
        for side in (step.then_, step.else_):
            with self.block() as filling:
                found = self.fill_where_read(side)
            sides.append((*filling, *found))
        return plan.Branch(step.cond, *sides)


def buffers_of(steps: Iterable[plan.Step]) -> set[VName]:
    """The buffers that the kernels of steps get as arguments, or that are copied."""
    found: set[VName] = set()
    for step in plan.all_steps(steps):
        match step:
            case plan.Launch(_, args):
                found.update(arg for arg in args if isinstance(arg, VName))
            case plan.CopyBuffer(target, source):
                found.update((target, source))
    return found


def _is_one_sided(step: plan.Step, name: VName) -> bool:
    """True if a step is a branch, and one of its sides does not read a buffer."""
    return isinstance(step, plan.Branch) and not all(
        name in buffers_of(side) for side in (step.then_, step.else_))
