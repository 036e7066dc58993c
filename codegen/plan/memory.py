"""Formulas of the device memory that a plan needs: what is alive at the peak of each version.

The steps are followed with symbolic sizes.  A version needs the greatest of some sums of arrays:
the arrays that are alive after an allocation.  Sums that are never greater than another sum are
left out.  Both sides of a branch count, and a loop is followed twice, since an iteration may keep
what the one before made.  So a formula is a bound where the host decides by sizes.  It leaves out
the rounding of the pool.  Names that are neither sizes nor parameters stand for what the host
computes or reads.

A dry run (:mod:`runelift.runtime.memory.memory_run`) has the bytes for given sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, greatest, least, product
from runelift.ir.solver.inequalities import Facts
from runelift.ir.types import Atom, Const

ROUNDS = 2
"""The iterations of a loop that are followed."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array in device memory, its bytes, and the origin of the first kernel that writes it."""

    name: VName
    bytes: Size
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Peak:
    """The arrays that are alive at a local maximum of device memory, and the sum of their bytes."""

    arrays: tuple[StoredArray, ...]
    bytes: Size


@dataclass(frozen=True, slots=True)
class VersionMemory:
    """The memory of a run while a version runs: its peaks, and the choices inside of it.

    If it is ``recursive``, a function calls itself; what it needs in these calls is left out.
    """

    kind: str
    peaks: tuple[Peak, ...]
    inside: tuple[SiteMemory, ...]
    recursive: bool = False

    @property
    def bytes(self) -> tuple[Size, ...]:
        """The bytes at each peak, without inner choices; the greatest number counts."""
        return tuple(dict.fromkeys(peak.bytes for peak in self.peaks))

    def walk(self) -> Iterator[tuple[str, int, VersionMemory]]:
        """The versions inside, each with its site and index, outer versions first."""
        for site in self.inside:
            for index, version in site.versions.items():
                yield site.site, index, version
                yield from version.walk()


@dataclass(frozen=True, slots=True)
class SiteMemory:
    """The memory of the versions at a site, by index; versions that cannot run are left out."""

    site: str
    versions: Mapping[int, VersionMemory]


def memory_of(entry: plan.Plan) -> VersionMemory:
    """The memory of an entry point, with its arguments."""
    walker = _Walker(_origins(entry.steps), Facts(tuple(map(Size.var, entry.sizes))))
    state = _State()
    for spec in entry.params:
        if spec.shape is not None:
            state.add(spec.name, product(map(state.size, spec.shape)) * spec.prim.bytes)
            state.kept.add(state.buffer_of[spec.name])
    peaks = [walker.peak(state)]
    sites: list[SiteMemory] = []
    walker.steps(entry.steps, state, peaks, sites)
    return VersionMemory("entry", tuple(peaks), tuple(sites), _recursive(entry.steps))


def least_of_points(step: plan.Recursion) -> int:
    """The bytes beside its arguments that a lifted function takes for each point, at least.

    0 for other functions.  A lifted function begins with its number of points, k, and
    ``if k > 0``.  Arrays in branches inside of that branch may not be made.
    """
    if not step.params or step.params[0].shape is not None:
        return 0
    points = step.params[0].name
    some = {each.name for each in step.body if isinstance(each, plan.Compute)
            and (each.op, each.args) == ("lt", (Const(0, Prim.I64), points))}
    branch = next((each for each in step.body if isinstance(each, plan.Branch)
                   and each.cond in some), None)
    alive, most = dict[VName, int](), 0
    for each in () if branch is None else branch.then_:
        match each:
            case plan.Alloc(name, prim, count) if count == Size.var(points):
                alive[name] = prim.bytes
                most = max(most, sum(alive.values()))
            case plan.Release(names):
                for name in names:
                    alive.pop(name, None)
    return most


def _recursive(steps: Sequence[plan.Step]) -> bool:
    """True if a function calls itself among the steps."""
    return any(isinstance(step, plan.Recursion) for step in plan.all_steps(steps))


def _origins(steps: Sequence[plan.Step]) -> dict[VName, str]:
    """The origins of the first kernels that write buffers."""
    found: dict[VName, str] = {}
    for step in plan.all_steps(steps):
        if isinstance(step, plan.Launch):
            for param, arg in zip(step.kernel.params, step.args, strict=True):
                if isinstance(param, imp.BufferParam) and param.written and isinstance(arg, VName):
                    found.setdefault(arg, step.kernel.comment)
    return found


@dataclass(slots=True)
class _State:
    """The state at a place of the plan.

    ``buffer_of`` has the buffers that names stand for, ``sizes`` the first name and the bytes of
    each buffer.  ``kept`` buffers are the caller's.  ``scalars`` are sizes of host scalars.
    """

    buffer_of: dict[VName, int] = field(default_factory=dict)
    sizes: dict[int, tuple[VName, Size]] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    scalars: dict[VName, Size] = field(default_factory=dict)

    def copy(self) -> _State:
        """A state that changes on its own."""
        return _State(dict(self.buffer_of), dict(self.sizes), set(self.kept), dict(self.scalars))

    def add(self, name: VName, size: Size) -> None:
        """Add a new buffer."""
        number = max(self.sizes, default=-1) + 1
        self.sizes[number] = name, size
        self.buffer_of[name] = number

    def alive(self) -> list[int]:
        """The buffers that some name stands for, and the caller's."""
        named = self.kept.union(self.buffer_of.values())
        return [number for number in self.sizes if number in named]

    def size(self, atom: Atom) -> Size:
        """A scalar as a size."""
        if isinstance(atom, VName):
            return self.scalars.get(atom, Size.var(atom))
        return Size.of(int(atom.value))

    def resolved(self, size: Size) -> Size:
        """A size in which known variables are replaced by their values."""
        return size.substitute(self.size)


@dataclass(frozen=True, slots=True)
class _Walker:
    origins: Mapping[VName, str]
    facts: Facts

    def peak(self, state: _State) -> Peak:
        """The arrays that are alive now."""
        arrays = tuple(StoredArray(name, size, self.origins.get(name, ""))
                       for name, size in (state.sizes[number] for number in state.alive()))
        return Peak(arrays, reduce(Size.__add__, (each.bytes for each in arrays), Size(())))

    def note(self, state: _State, peaks: list[Peak]) -> None:
        """Add the memory that is alive now to the peaks, and drop peaks that are never greater."""
        now = self.peak(state)
        if any(self._at_most(now, other) for other in peaks):
            return
        peaks[:] = [*(other for other in peaks if not self._at_most(other, now)), now]

    def _at_most(self, one: Peak, other: Peak) -> bool:
        difference = other.bytes - one.bytes
        return all(c >= 0 for _, c in difference.terms) or self.facts.prove(difference)

    def steps(self, steps: Sequence[plan.Step], state: _State, peaks: list[Peak],
              sites: list[SiteMemory]) -> None:
        """Follow steps: update the state, and add their peaks and sites."""
        for step in steps:
            match step:
                case plan.Alloc(name, prim, count):
                    state.add(name, state.resolved(count) * prim.bytes)
                    self.note(state, peaks)
                case plan.Release(names):
                    for name in names:
                        state.buffer_of.pop(name, None)
                case plan.Bind(target, source):
                    _bind(state, target, source)
                case plan.ComputeSize(name, size):
                    state.scalars[name] = state.resolved(size)
                case plan.Compute() | plan.ConvertScalar() | plan.Read():
                    _set(state, step)
                case plan.Branch(_, then_, else_):
                    self._branch(then_, else_, state, peaks, sites)
                case plan.Fill(_, inner) | plan.Operation(_, _, inner):
                    self.steps(inner, state, peaks, sites)
                case plan.CountedLoop() | plan.WhileLoop():
                    self._loop(step, state, peaks, sites)
                case plan.Choose():
                    self._choose(step, state, sites)
                case plan.Call():
                    self._call(step, state, peaks)
                case plan.Recursion():
                    self._recursion(step, state, peaks, sites)

    def _branch(self, then_: Sequence[plan.Step], else_: Sequence[plan.Step], state: _State,
                peaks: list[Peak], sites: list[SiteMemory]) -> None:
        """Follow both sides; afterwards all is alive that is alive after either side."""
        other = state.copy()
        self.steps(else_, other, peaks, sites)
        self.steps(then_, state, peaks, sites)
        for name, number in other.buffer_of.items():
            origin, size = other.sizes[number]
            if name not in state.buffer_of:
                state.add(name, size)
                state.sizes[state.buffer_of[name]] = origin, size
            elif state.sizes[state.buffer_of[name]][1] != size:
                mine = state.buffer_of[name]
                state.sizes[mine] = state.sizes[mine][0], greatest(state.sizes[mine][1], size)
        for name in {*state.scalars, *other.scalars}:
            if state.scalars.get(name) != other.scalars.get(name):
                state.scalars.pop(name, None)

    def _loop(self, step: plan.CountedLoop | plan.WhileLoop, state: _State, peaks: list[Peak],
              sites: list[SiteMemory]) -> None:
        """Follow the iterations of a loop; its scalars are unknown at their start."""
        for number in range(ROUNDS):
            for name in plan.set_in(step.body):
                state.scalars.pop(name, None)
            found: list[SiteMemory] = []
            self.steps(step.body, state, peaks, found)
            if number == ROUNDS - 1:
                sites += found
        for name in plan.set_in(step.body):
            state.scalars.pop(name, None)

    def _call(self, step: plan.Call, state: _State, peaks: list[Peak]) -> None:
        """Add the results of a call; nothing is known of what it needs meanwhile."""
        for out in step.outs:
            state.scalars.pop(out.name, None)
            if out.shape is not None:
                sizes = map(state.resolved, map(state.size, out.shape))
                state.add(out.name, product(list(sizes)) * out.prim.bytes)
        self.note(state, peaks)

    def _recursion(self, step: plan.Recursion, state: _State, peaks: list[Peak],
                   sites: list[SiteMemory]) -> None:
        """Follow the outermost call of a function."""
        for param, arg in zip(step.params, step.call.args, strict=True):
            _bind(state, param.name, arg)
        self.steps(step.body, state, peaks, sites)
        for param in step.params:
            state.buffer_of.pop(param.name, None)
        for name in step.results:
            state.buffer_of.pop(name, None)
        self._call(step.call, state, peaks)

    def _choose(self, step: plan.Choose, state: _State, sites: list[SiteMemory]) -> None:
        """Follow each version from this state; afterwards the state is the last version's."""
        versions: dict[int, VersionMemory] = {}
        after = state
        for number, version in enumerate(step.versions):
            if version.infeasible is not None:
                continue
            after = state.copy()
            peaks, inside = [self.peak(after)], list[SiteMemory]()
            self.steps(version.steps, after, peaks, inside)
            versions[number] = VersionMemory(version.kind.value, tuple(peaks), tuple(inside),
                                             _recursive(version.steps))
        sites.append(SiteMemory(step.site, versions))
        if after is not state:
            state.buffer_of, state.sizes = after.buffer_of, after.sizes
            state.scalars = after.scalars


def _bind(state: _State, target: VName, source: Atom) -> None:
    """Bind a further name for a buffer, or a scalar."""
    if isinstance(source, VName) and source in state.buffer_of:
        state.buffer_of[target] = state.buffer_of[source]
    else:
        state.buffer_of.pop(target, None)
        state.scalars.pop(target, None)
        if not isinstance(source, VName) and not source.prim.is_int:
            return
        state.scalars[target] = state.size(source)


def _set(state: _State, step: plan.Compute | plan.ConvertScalar | plan.Read) -> None:
    """Bind a scalar, if its value is a size that can be told."""
    match step:
        case plan.Compute(name, op, Prim.I64, (one, other)) if op in _SIZES:
            state.scalars[name] = _SIZES[op](state.size(one), state.size(other))
        case plan.ConvertScalar(name, from_, to, arg) if (
                from_.is_int and to.is_int and to.bytes >= from_.bytes):
            state.scalars[name] = state.size(arg)
        case _:
            state.scalars.pop(step.name, None)


_SIZES: dict[str, Callable[[Size, Size], Size]] = {
    "add": Size.__add__, "sub": Size.__sub__, "mul": Size.__mul__, "min": least, "max": greatest}
"""The operations on scalars that are operations on sizes."""
