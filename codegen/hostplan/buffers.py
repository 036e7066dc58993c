"""Buffers of a host plan: places of arrays, ownership, and results made in place.

A body *owns* the buffers that it made, or was given to change.  It may change a buffer that it owns
if nothing reads it later.  Versions may have to be tried one after the other.  So a version is
given only buffers that it updates as its last action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

from runelift.codegen.hostplan.in_place import Places, place_of
from runelift.codegen.hostplan.scalar_residence import Residence
from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Parameters
from runelift.codegen.plan.views import View, behind, lit, row_major
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import PLACED, Placement, by_root, placements
from runelift.ir.base.errors import CompilerBug
from runelift.ir.guards import Lengths
from runelift.ir.imp.traverse import memories, variables
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, product
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of
from runelift.ir.types import ArrayType, Atom, Type, array_of, elem_of, shape_of


@dataclass(slots=True)
class Buffers:
    """The steps so far, the meaning of names, and the memory that the present body owns."""

    names: Names
    residence: Residence
    entry: str
    interleave: bool = False
    coherent: bool = False
    loops: int = 0
    operations: int = 0
    steps: list[plan.Step] = field(default_factory=list)
    views: dict[VName, View] = field(default_factory=dict)
    types: dict[VName, Type] = field(default_factory=dict)
    owned: list[set[VName]] = field(default_factory=lambda: [set()])
    later: list[Set[VName]] = field(default_factory=lambda: [frozenset()])
    inherited: list[frozenset[VName]] = field(default_factory=lambda: [frozenset()])
    sites: list[str | None] = field(default_factory=lambda: [None])
    places: Places = field(default_factory=Places)
    deferred: dict[VName, imp.Exp] = field(default_factory=dict)
    scalar_buffers: dict[VName, VName] = field(default_factory=dict)
    singles: set[VName] = field(default_factory=set)
    indices: set[VName] = field(default_factory=set)
    idle: set[VName] = field(default_factory=set)
    filled: list[set[VName]] = field(default_factory=lambda: [set()])
    lengths: Lengths | None = None

    # The environment that kernels see

    def type(self, name: VName) -> Type:
        """The type of a name; the sizes of the device are i64."""
        found = self.types.get(name)
        return Prim.I64 if found is None and name in plan.DEVICE_SIZES else self.types[name]

    def view(self, name: VName) -> View:
        """The view of an array."""
        return self.views[name]

    def size(self, atom: Atom) -> Size:
        """An i64 atom as a size."""
        return Size.var(atom) if isinstance(atom, VName) else Size.of(int(atom.value))

    def scalar(self, atom: Atom) -> imp.Exp:
        """A scalar atom as an expression."""
        return imp.Var(atom) if isinstance(atom, VName) else imp.Lit(atom)

    def prologue(self, used: Iterable[VName]) -> list[imp.Declare]:
        """Declarations of the deferred scalars among ``used``, and of their operands."""
        needed: dict[VName, None] = {}

        def visit(name: VName) -> None:
            if name in self.deferred and name not in needed:
                for inner in sorted(variables(self.deferred[name]), key=lambda n: n.tag):
                    visit(inner)
                needed[name] = None

        for name in used:
            visit(name)
        return [imp.Declare(n, elem_of(self.types[n]), self.deferred[n]) for n in needed]

    def shape(self, type_: Type) -> tuple[imp.Exp, ...]:
        """The sizes of a type as expressions."""
        return tuple(self.scalar(s) for s in shape_of(type_))

    def count(self, type_: Type) -> Size:
        """The number of elements of a type."""
        return product([self.size(s) for s in shape_of(type_)])

    def new_operation(self, pat: Sequence[ir.Param]) -> Parameters:
        """The parameters of the next operation, which is named after its results."""
        base = pat[0].name.base if pat else "effect"
        self.operations += 1
        return Parameters(f"{self.entry}.{base}_{self.operations - 1}", self.names)

    def emit(self, *steps: plan.Step) -> None:
        """Append steps to the current body."""
        self.steps.extend(steps)

    @contextmanager
    def block(self, inherited: Set[VName] = frozenset(),
              site: str | None = None) -> Iterator[list[plan.Step]]:
        """Collect the steps of a nested body, which owns ``inherited`` and new buffers.

        ``site``: the choice point, if the body is a version.
        """
        outer, self.steps = self.steps, []
        self.inherited.append(frozenset(inherited))
        self.sites.append(site)
        self.owned.append(set(inherited))
        self.filled.append(set(self.filled[-1]))
        inner = self.steps
        try:
            yield inner
        finally:
            self.steps = outer
            self.owned.pop()
            self.filled.pop()
            self.inherited.pop()
            self.sites.pop()

    # Names

    def bind_input(self, param: ir.Param) -> None:
        """Bind a parameter of the entry point; its buffer belongs to the caller."""
        self.types[param.name] = param.type
        if isinstance(param.type, ArrayType):
            self.views[param.name] = row_major(param.name, param.type.elem, self.shape(param.type))

    def bind_view(self, param: ir.Param, view: View) -> None:
        """Bind an array that needs no new buffer."""
        self.types[param.name] = param.type
        self.views[param.name] = view

    def allocate(self, param: ir.Param) -> View:
        """A fresh row-major buffer under the name of ``param``."""
        prim = elem_of(param.type)
        self.emit(plan.Alloc(param.name, prim, self.count(param.type)))
        self.owned[-1].add(param.name)
        view = row_major(param.name, prim, self.shape(param.type))
        self.bind_view(param, view)
        return view

    def adopt(self, param: ir.Param, buffer: VName) -> None:
        """Bind ``param`` to an existing buffer that this body owns from now on."""
        if buffer != param.name:
            self.emit(plan.Bind(param.name, buffer))
        self.places.rename(param.name, buffer)
        self.owned[-1].add(param.name)
        self.bind_view(param, row_major(param.name, elem_of(param.type), self.shape(param.type)))

    def dead(self, name: VName) -> bool:
        """True if this body made the buffer of ``name`` and nothing reads it later."""
        view = self.views[name]
        if view.mem is None or view.mem not in self.owned[-1]:
            return False
        return not any(alias in self.later[-1] and self.touches(other, view.mem)
                       for alias, other in self.views.items()
                       if alias not in self.places.waiting)

    def touches(self, view: View, mem: VName) -> bool:
        """True if a view shows, or is computed from, a memory."""
        if view.mem is not None:
            return view.mem == mem
        return mem in memories(view.at([lit(0)] * len(view.shape)))

    def own_buffer(self, name: VName, *, shared: bool = False, outer: int = 0) -> VName:
        """A buffer with the value of ``name`` that has no other user.

        ``shared``: a buffer that is read elsewhere will do.  It is row-major, but the ``outer``
        first dimensions vary fastest.
        """
        view = self.views[name]
        if view.order == behind(len(view.shape), outer) and view.mem is not None:
            made_here = view.mem in self.owned[-1] and view.mem not in self.inherited[-1]
            if (shared and made_here) or self.dead(name):
                return view.mem
        return self.copy(name, outer)

    def any_buffer(self, name: VName) -> VName:
        """A row-major buffer with the value of ``name``; it may have other users."""
        view = self.views[name]
        return view.mem if view.dense and view.mem is not None else self.copy(name)

    def is_input(self, name: VName) -> bool:
        """True if the memory of ``name`` came from outside and is never updated."""
        mem = self.views[name].mem
        return mem is not None and not any(mem in owned for owned in self.owned)

    def copy(self, name: VName, outer: int = 0) -> VName:
        """The buffer of a fresh row-major copy; the ``outer`` first dimensions become the last."""
        if outer:
            name = self._with_outer_last(name, outer)
        param = ir.Param(self.names.fresh(name), self.types[name])
        self.allocate(param)
        self.copy_into(param, name)
        return param.name

    def copy_into(self, param: ir.Param, name: VName) -> None:
        """Copy an array into the row-major buffer of ``param``."""
        view = self.views[name]
        if view.dense and view.mem is not None:
            self.emit(plan.CopyBuffer(param.name, view.mem, view.prim, self.count(param.type)))
        else:
            self._elementwise(param, lambda indices: ir.Index(name, indices))

    def _with_outer_last(self, name: VName, outer: int) -> VName:
        """A view with the ``outer`` first dimensions moved to the end."""
        type_ = self.types[name]
        order = behind(len(shape_of(type_)), outer)
        turned = array_of(tuple(shape_of(type_)[d] for d in order), elem_of(type_))
        view = ir.Param(self.names.fresh(name), turned)
        self.bind_view(view, self.views[name].rearrange(order))
        return view.name

    def _elementwise(self, param: ir.Param, element: Callable[[tuple[VName, ...]], ir.Exp]) -> None:
        """Add a kernel that computes each element of an array in its buffer from its indices."""
        dims = tuple(ir.SegDim(self.names.fresh("i"), s) for s in shape_of(param.type))
        prim = elem_of(param.type)
        out = ir.Param(self.names.fresh("x"), prim)
        body = ir.Body((ir.Stm((out,), element(tuple(d.index for d in dims))),), (out.name,))
        self.segop(ir.Stm((param,), ir.SegMap(ir.Level.GRID, dims, body, (prim,))))

    def segop(self, stm: ir.Stm) -> None:
        """Add the steps of a segmented operation whose result buffers exist."""
        raise NotImplementedError

    # Results made in place

    def place_results(self, followed: Sequence[tuple[ir.Stm, Set[VName]]], place: int) -> None:
        """Give the results of a map room in the arrays that updates put them into.

        ``followed``: the statements of the body, with the names that are used after each.
        """
        stms = [stm for stm, _ in followed[place:]]
        found = list(placements(stms))
        for root, placed in by_root(found).items():
            wanted = [p for p in placed if PLACED in stms[p.place].attrs]
            if wanted:
                _, after = followed[place + placed[0].place]
                others = {p.update.array for p in found if p.root != root}
                self._place_in(root, wanted, stms[0], after | others)

    def _place_in(self, array: VName, wanted: Sequence[Placement], stm: ir.Stm,
                  later: Set[VName]) -> None:
        """Give results of the map ``stm`` room in ``array``.

        ``later``: the names used after the map, but for the updates of this array.
        """
        exp, whole = stm.exp, self.views[array]
        assert isinstance(exp, ir.SegMap)
        if whole.mem is None or not self._may_change(array, whole.mem, later, exp):
            return
        second = self.names.fresh(array)
        for placed in wanted:
            dims = [self.dim(dim) for dim in placed.update.dims]
            view = place_of(whole.slice(dims), placed.perm, exp, second, interleave=self.interleave)
            if view is not None:
                self.places.given[stm.pat[placed.result].name] = view
        if any(view.mem == second for view in self.places.given.values()):
            self.places.rename(second, whole.mem)
            self.emit(plan.Bind(second, whole.mem))

    def _may_change(self, array: VName, mem: VName, later: Set[VName], exp: ir.Exp) -> bool:
        """True if ``exp`` may write into an array that it reads under this name only."""
        return (self.views[array].dense and mem in self.owned[-1]
                and not any(alias in later and self.touches(view, mem)
                            for alias, view in self.views.items())
                and all(self.places.sliced(name) == array for name in self.read_by(exp)
                        if self.touches(self.views[name], mem)))

    def commit_versions(self, names: Iterable[VName]) -> None:
        """Commit the versions whose memory holds ``names``: other versions would read changed
        arrays.
        """
        mems = {self.places.origin(mem) for name in names
                if name in self.views and (mem := self.views[name].mem) is not None}
        sites: list[str] = []
        for around, site in zip(reversed(self.inherited), reversed(self.sites), strict=True):
            if mems.isdisjoint(map(self.places.origin, around)):
                break
            if site is not None:
                sites.append(site)
        if sites:
            self.emit(plan.Commit(tuple(sites)))

    def is_in_place(self, exp: ir.Update) -> bool:
        """True if the value of an update has been made in the memory of its operand."""
        value, mem = exp.value, self.views[exp.array].mem
        if not isinstance(value, VName) or value not in self.places.waiting:
            return False
        self.places.waiting.discard(value)
        there = self.views[value].mem
        if mem is None or there is None or self.places.origin(there) != self.places.origin(mem):
            return False
        if not self.dead(exp.array):
            raise CompilerBug(f"{exp.array} is read after {value} was made in its memory")
        return True

    def read_by(self, exp: ir.Exp) -> set[VName]:
        """The arrays from outside that the code of a segmented operation reads."""
        inside: list[ir.Body | ir.Lambda] = [*bodies_of(exp), *lambdas_of(exp)]
        return set().union(*map(free_vars, inside)) & self.views.keys()

    def dim(self, dim: ir.Dim) -> imp.Exp | tuple[imp.Exp, imp.Exp, imp.Exp]:
        """A dimension of an access as expressions."""
        if isinstance(dim, ir.SliceDim):
            return self.scalar(dim.start), self.scalar(dim.count), self.scalar(dim.stride)
        return self.scalar(dim)
