"""Control on the host: branches, loops and versions, and the buffers that these hand on.

Every body owns its buffers.  Its results are in buffers without other users, under the names of the
results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from types import MappingProxyType

from runelift.codegen.hostplan.arrays import Arrays
from runelift.codegen.hostplan.coalescing import CARRIED_LAYOUT
from runelift.codegen.hostplan.loop_scalars import with_loop_scalars
from runelift.codegen.plan import plan
from runelift.codegen.plan.interface import spec_of
from runelift.codegen.plan.needs import needs
from runelift.codegen.plan.shapes import GroupShape
from runelift.codegen.plan.steady_loops import may_persist
from runelift.codegen.plan.views import interleaved
from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_in, root_of
from runelift.ir.analysis.placement import IN_SLABS, MOVED
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.guards import Kind
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import ArrayType, Atom, elem_of, i64

ALL_ROW_MAJOR: Mapping[VName, int] = MappingProxyType({})
"""No array has a layout other than row-major."""


MOST_BLOCKS = 20
"""Python allows so many loops and ``try`` in each other.

A choice of versions has two, a loop has one, and trials of an operation have two.
"""


class Control(Arrays):
    """Lowers statements with bodies to steps: branches, loops and versions."""

    __slots__ = ()

    def body(self, body: ir.Body, used_after: Set[VName]) -> tuple[Atom, ...]:
        """Add the steps of a body, and return its results."""
        raise NotImplementedError

    def _side(self, body: ir.Body, pat: Sequence[ir.Param], inherited: Set[VName],
              site: str | None = None) -> tuple[plan.Step, ...]:
        """A branch or version: its results end up under the names of ``pat``."""
        with self.block(inherited, site) as steps:
            results = self.body(body, self.later[-1])
            self._bind_results(pat, results)
        return tuple(steps)

    def _bind_results(self, pat: Sequence[ir.Param], results: Sequence[Atom],
                      outers: Mapping[VName, int] = ALL_ROW_MAJOR) -> None:
        """Give the results of a body the names of ``pat``, each array in a buffer without other
        users.
        """
        taken: set[VName] = set()
        held = self.hand_on(pat, results)
        for param, atom in zip(pat, results, strict=True):
            if isinstance(param.type, Prim):
                if param.name not in self.residence.on_device:
                    held.append((param.name, atom))
                continue
            assert isinstance(atom, VName)
            held.append((param.name, self._another_buffer(
                atom, taken, outers.get(param.name, 0), shared=True)))
        self._parallel_bind(held)

    def _another_buffer(self, array: VName, taken: set[VName], outer: int, *,
                        shared: bool = False) -> VName:
        """A buffer with the value of an array that is not among ``taken``; it is added to them.

        ``outer`` and ``shared`` as for :meth:`own_buffer`.
        """
        buffer = self.own_buffer(array, shared=shared, outer=outer)
        if buffer in taken:
            buffer = self.copy(array, outer)
        taken.add(buffer)
        return buffer

    def _parallel_bind(self, pairs: Sequence[tuple[VName, Atom]]) -> None:
        """Bind all targets at once: a source may be another's target."""
        targets = {target for target, _ in pairs}
        moved: list[tuple[VName, Atom]] = []
        for target, source in pairs:
            if source in targets and source != target:
                fresh = self.names.fresh("held")
                self.emit(plan.Bind(fresh, source))
                moved.append((target, fresh))
            elif source != target:
                moved.append((target, source))
        self.emit(*(plan.Bind(target, source) for target, source in moved))

    def own_results(self, pat: Sequence[ir.Param], borrowed: Set[VName] = frozenset(),
                     outers: Mapping[VName, int] = ALL_ROW_MAJOR) -> None:
        """Bind results to buffers of their names; this body owns all but ``borrowed`` buffers."""
        for param in pat:
            if isinstance(param.type, ArrayType):
                if param.name not in borrowed:
                    self.owned[-1].add(param.name)
                self.bind_view(param, interleaved(param.name, param.type.elem, self.shape(
                    param.type), outers.get(param.name, 0)))

    def branch(self, stm: ir.Stm, exp: ir.If) -> None:
        """Add the steps of a branch on a condition that the host knows."""
        then_ = self._side(exp.then_, stm.pat, self.owned[-1])
        else_ = self._side(exp.else_, stm.pat, self.owned[-1])
        self.emit(plan.Branch(exp.cond, then_, else_))
        self.own_results(stm.pat)

    def loop(self, stm: ir.Stm, exp: ir.Loop) -> None:
        """Add the steps of a loop, whose arrays are in the same buffers in every iteration."""
        params = [p.param for p in exp.params]
        outers = self._outers(stm.attrs, params)
        borrowed = self._start(exp, params, outers)
        with self.block() as steps:
            self.own_results(params, borrowed, outers)
            if isinstance(exp.form, ir.ForLoop):
                self.types[exp.form.index] = Prim.I64
                self.indices.add(exp.form.index)
            self.loops += 1
            results = self.body(exp.body, frozenset())
            self._bind_results(params, results, outers)
            self.loops -= 1
        self._emit_loop(exp.form, params, tuple(steps), alike=IN_SLABS in stm.attrs)
        pairs = list(zip(stm.pat, params, strict=True))
        self._parallel_bind([(out.name, p.name) for out, p in pairs
                             if p.name not in self.scalar_buffers])
        for out, param in pairs:
            if (buffer := self.scalar_buffers.get(param.name)) is not None:
                self.scalar_result(out.name, elem_of(out.type), buffer)
        self.own_results(stm.pat, {out.name for out, p in pairs if p.name in borrowed},
                          {out.name: outers[p.name] for out, p in pairs if p.name in outers})

    def _start(self, exp: ir.Loop, params: Sequence[ir.Param],
               outers: Mapping[VName, int]) -> set[VName]:
        """Bind the parameters of a loop to their initial values.

        The result names the parameters in buffers of the caller, which the loop only reads.
        """
        taken, only_read, borrowed = set[VName](), _only_read(exp), set[VName]()
        start = self.hand_on(params, [p.init for p in exp.params])
        self.later.append(self.later[-1] | free_vars(exp.body))
        for p in exp.params:
            self.types[p.param.name] = p.param.type
            if isinstance(p.param.type, Prim):
                if p.param.name not in self.scalar_buffers:
                    start.append((p.param.name, p.init))
                continue
            assert isinstance(p.init, VName)
            outer = outers.get(p.param.name, 0)
            if p.param.name in only_read and self.is_input(p.init) and not outer:
                borrowed.add(p.param.name)
                start.append((p.param.name, self.any_buffer(p.init)))
                continue
            start.append((p.param.name, self._another_buffer(p.init, taken, outer)))
        self.later.pop()
        self._parallel_bind(start)
        return borrowed

    def _outers(self, attrs: Sequence[str], params: Sequence[ir.Param]) -> dict[VName, int]:
        """The number of fastest dimensions, for arrays of a loop that are not row-major."""
        found = dict[VName, int]()
        for attr in attrs:
            if attr.startswith(CARRIED_LAYOUT):
                place, outer = map(int, attr.removeprefix(CARRIED_LAYOUT).split())
                if self.interleaves(params[place].type, outer):
                    found[params[place].name] = outer
        return found

    def _emit_loop(self, form: ir.ForLoop | ir.WhileLoop, params: Sequence[ir.Param],
                   body: tuple[plan.Step, ...], *, alike: bool) -> None:
        """Add a loop; one kernel may run it if buffers hold all that iterations compute.

        In counted loops the host may also compute scalars, but not from results of kernels.
        """
        carried = tuple(self.scalar_buffers.get(p.name, p.name) for p in params
                        if isinstance(p.type, ArrayType) or p.name in self.scalar_buffers)
        scalars = [p.name for p in params
                   if isinstance(p.type, Prim) and p.name not in self.scalar_buffers]
        if isinstance(form, ir.ForLoop):
            loop = plan.CountedLoop(form.index, form.bound, body, carried)
            self.emit(with_loop_scalars(loop, scalars, self.types, self.names)
                      or replace(loop, carried=None, alike=alike))
        elif (buffer := self.scalar_buffers.get(form.cond)) is not None:
            steady = not scalars and may_persist(body)
            self.emit(plan.WhileLoop(buffer, body, True, carried if steady else None))
        else:
            self.emit(plan.WhileLoop(form.cond, body))

    def recursion(self, stm: ir.Stm, exp: ir.Recursion) -> None:
        """Add a function that calls itself, and the call of it from here."""
        call = self.call(stm, exp.function, tuple(p.init for p in exp.params))
        params = [p.param for p in exp.params]
        loops, self.loops = self.loops, 0
        with self.block() as steps:
            for param in params:
                self.bind_input(param)
            results = self.body(exp.body, frozenset())
            ends = [ir.Param(self.names.fresh(p.name), p.type) for p in stm.pat]
            self._bind_results(ends, results)
        self.loops = loops
        self.emit(plan.Recursion(tuple(map(spec_of, params)), tuple(steps),
                                 tuple(p.name for p in ends), call))
        self.own_results(stm.pat)

    def call(self, stm: ir.Stm, function: VName, args: Sequence[Atom]) -> plan.Call:
        """A call of a function of the plan, whose arrays are in row-major buffers."""
        given = tuple(self._given(arg) if isinstance(arg, VName) and arg in self.views else arg
                      for arg in args)
        return plan.Call(function, given, tuple(map(spec_of, stm.pat)), stm.loc)

    def _given(self, name: VName) -> VName:
        """A buffer that begins with the elements of an array."""
        view = self.views[name]
        return view.mem if view.mem is not None and view.leads else self.any_buffer(name)

    def versions(self, stm: ir.Stm, exp: ir.Versions) -> None:
        """Add the steps of each version that can be compiled; CompilerLimitation if none can."""
        around = sum(site is not None for site in self.sites)
        if 2 * around + self.loops + 4 > MOST_BLOCKS:
            raise CompilerLimitation(f"versions stand in each other {around} deep")
        updated = {mem for version in exp.alternatives for array in _moved_into(version.body)
                   if array in self.views and (mem := self.views[array].mem) is not None
                   and mem in self.owned[-1]}
        versions = tuple(self._version(version, stm.pat, updated, exp.site)
                         for version in exp.alternatives)
        if all(version.infeasible for version in versions):
            raise CompilerLimitation(versions[-1].infeasible)
        results = tuple(plan.ValueSpec(self.scalar_buffers[p.name], elem_of(p.type), (i64(1),))
                        if p.name in self.scalar_buffers else spec_of(p) for p in stm.pat)
        self.emit(plan.Choose(exp.site, versions, _recorded(exp), results))
        self.own_results(stm.pat)

    def _version(self, version: ir.Version, pat: Sequence[ir.Param], updated: Set[VName],
                 site: str) -> plan.PlanVersion:
        """A version; if there is no kernel for it, the reason instead of its steps.

        ``updated``: buffers of the body around that versions may change.
        """
        views, types = dict(self.views), dict(self.types)
        around, self.lengths = self.lengths, None
        if version.guard is not None and version.kind is Kind.ROW:
            self.lengths = version.guard.lengths
        try:
            steps = self._side(version.body, pat, updated, site)
            found, shapes, steps = _early(steps, types.keys() | set(plan.DEVICE_SIZES))
            self.emit(*shapes)
            return plan.PlanVersion(version.guard, version.kind, steps, found)
        except CompilerLimitation as limitation:
            self.views, self.types = views, types
            return plan.PlanVersion(version.guard, version.kind, (), infeasible=str(limitation))
        finally:
            self.lengths = around


def _recorded(exp: ir.Versions) -> tuple[VName, ...]:
    """The sizes that guards are made of; records of a run hold them."""
    sizes = {v for version in exp.alternatives if version.guard is not None
             for size in version.guard.sizes() for v in size.variables()}
    return tuple(sorted(sizes, key=lambda n: n.tag))


def _early(steps: tuple[plan.Step, ...], known: Set[VName]) -> tuple[
        tuple[plan.Need, ...], list[GroupShape], tuple[plan.Step, ...]]:
    """The needs of a version's steps, the choices of group sizes for them, and all other steps.

    The choices are made before a version is chosen, of sizes that are ``known`` there.
    """
    shapes = [s for step in steps if isinstance(step, plan.Operation) for s in step.steps
              if isinstance(s, GroupShape) and s.inputs() <= known]
    known = {*known, *(p.variable for p in plan.parameters(steps)),
             *(name for shape in shapes for name in shape.names())}
    found = needs(steps, known.__contains__)
    wanted = {name for need in found for name in need.names()}
    shapes = [shape for shape in shapes if not wanted.isdisjoint(shape.names())]
    rest = list[plan.Step]()
    for step in steps:
        if isinstance(step, plan.Operation):
            early = tuple(s for s in step.steps if isinstance(s, GroupShape) and s in shapes)
            step = replace(step, early=early, steps=tuple(s for s in step.steps if s not in early))
        rest.append(step)
    return found, shapes, tuple(rest)


def _moved_into(body: ir.Body) -> Iterator[VName]:
    """The arrays that versions update as their last action."""
    for stm in body.stms:
        if isinstance(stm.exp, ir.Update) and MOVED in stm.attrs:
            yield stm.exp.array
        elif isinstance(stm.exp, ir.Versions):
            for version in stm.exp.alternatives:
                yield from _moved_into(version.body)


def _only_read(exp: ir.Loop) -> set[VName]:
    """The arrays of a loop that its body neither updates nor passes on changed."""
    defs = {p.name: stm for stm in exp.body.stms for p in stm.pat}
    handed = {root_of(a, defs) for a in exp.body.result if isinstance(a, VName)}
    return {p.param.name for p in exp.params} - consumed_in(exp.body) - handed
