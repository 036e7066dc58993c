"""The device memory of a run, known before it: a dry run that counts what the plan allocates.

The run follows the plan with a meter in place of the pool.  At each choice it follows every version
from the memory that is alive there, and then the one that it goes on with.  Sizes are rounded up as
the pool does; so the counts are what a run will measure.  A version is unknown if its sizes depend
on values that the device computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runelift.codegen.emit.phases import PersistentKernel
from runelift.ir.base.errors import RuneliftError
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.limits import LEAST_ITERATIONS
from runelift.runtime.devices.memory import Buffer, OutOfMemory, Pool, elements_of_slab
from runelift.runtime.execution.commands import RunLoop
from runelift.runtime.execution.dry_run import ITERATIONS, DependsOnDevice, ShortRun
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Force
from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.versions.choose import Facts, LocalBytes

WHILE_ITERATIONS = LEAST_ITERATIONS // 2 + 3
"""The iterations of a ``while`` loop that are followed; one kernel would run later iterations."""
_OVER = object()

EncounterSizes: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The number of a site, what its guards compare, and its sizes."""
TooLarge: TypeAlias = Mapping[EncounterSizes, Mapping[int, int]]
"""The versions that need more than the bound at encounters, and their bytes."""


class _Unknown:
    """A scalar that the device computes: nothing can be computed from it, and nothing decided."""

    def _raise(self, *others: Any) -> Any:
        raise DependsOnDevice("sizes depend on values that the device computes")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _raise
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _raise
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _raise
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __pow__ = __rpow__ = __abs__ = _raise
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _raise
    __bool__ = __int__ = __float__ = __index__ = _raise
    __hash__ = object.__hash__


UNKNOWN = _Unknown()
SHOWN = 6
"""The most buffers that a line names."""


@dataclass(frozen=True, slots=True)
class Held:
    """A buffer that is alive: its name in the plan, and its bytes."""

    name: str
    bytes: int

    @property
    def base(self) -> str:
        """The name without its number."""
        return self.name.rpartition("_")[0] or self.name


def shown_name(base: str) -> str:
    """The name of an array; a tape of reverse mode is that of a loop's parameter."""
    name = base.removesuffix("_tape")
    return base if name == base else f"tape of {name}"


def largest(arrays: Sequence[Held]) -> str:
    """The first buffers, which are the largest, by name and bytes."""
    shown = [f"{shown_name(each.base)} {show_bytes(each.bytes)}" for each in arrays[:SHOWN]]
    more = len(arrays) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "nothing"


@dataclass(frozen=True, slots=True)
class VersionNeed:
    """The memory of a run while a version runs at an encounter.

    ``bytes`` are alive at the peak, ``own`` of them were allocated since the version began.  Both
    are None if the version is not known before it runs; ``obstacle`` says why, or why it ``fails``.
    ``alive`` are the buffers at the peak, the largest first.
    """

    bytes: int | None
    own: int | None
    alive: tuple[Held, ...] = ()
    obstacle: str = ""
    fails: bool = False


@dataclass(frozen=True, slots=True)
class MeteredEncounter:
    """An encounter, and the need of each of its versions."""

    site: str
    sizes: Mapping[str, int]
    needs: Mapping[int, VersionNeed]


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The memory of a run before it runs.

    ``bytes`` is the peak, and ``alive`` what is alive then.  If a part is unknown, ``unknown`` says
    why, and ``bytes`` is the peak before it.  ``too_large`` versions exceed the bound.
    """

    bytes: int
    alive: tuple[Held, ...]
    encounters: tuple[MeteredEncounter, ...]
    too_large: TooLarge
    unknown: str = ""

    def __str__(self) -> str:
        return (f"{'at least ' * bool(self.unknown)}{show_bytes(self.bytes)} of device memory: "
                f"{largest(self.alive)}")

    def need_of(self, site: str, version: int) -> VersionNeed | None:
        """The greatest need of a version at the encounters of its site; None if it has none."""
        needs = [each.needs[version] for each in self.encounters
                 if each.site == site and version in each.needs]
        return max(needs, key=lambda need: math.inf if need.bytes is None else need.bytes,
                   default=None)


class _Measured(Infeasible):
    """A version has come to its end, and the next one begins from the same memory."""

    def __init__(self) -> None:
        super().__init__("measured")


@dataclass(slots=True)
class _Meter:
    """The pool of a dry run: it counts bytes, and knows which buffers are alive."""

    pool: Pool
    live: int = 0
    peak: int = 0
    refused: int = 0
    buffers: dict[int, list[Any]] = field(default_factory=dict)
    at_peak: tuple[list[Any], ...] = ()

    def allocate(self, size: int) -> Buffer:
        """A buffer without memory; OutOfMemory if no buffer of the device is so large."""
        rounded = self.pool.rounded(size)
        if rounded > self.pool.most_in_one:
            self.refused = self.live + rounded
            raise OutOfMemory(f"a buffer of {rounded:,} bytes is larger than the device allows")
        return self.hold(rounded)

    def hold(self, rounded: int, like: Any = None) -> Buffer:
        """A buffer of so many bytes, which is there; it knows what the handle ``like`` knows."""
        handle = like if hasattr(like, "facts") else object()
        self.live += rounded
        self.buffers[id(handle)] = [handle, "", rounded]
        if self.live > self.peak:
            self.peak, self.at_peak = self.live, tuple(self.buffers.values())
        return Buffer(handle, rounded, self)  # type: ignore[arg-type]

    @property
    def free(self) -> _Meter:
        """The taker of buffers that are given back, whatever their size."""
        return self

    def __getitem__(self, size: int) -> _Meter:
        return self

    def append(self, handle: Any) -> None:
        self.buffers.pop(id(handle), None)

    def begin(self) -> tuple[int, tuple[list[Any], ...]]:
        """Look for a new peak from here on; the result is the peak so far."""
        before = self.peak, self.at_peak
        self.peak, self.at_peak = self.live, tuple(self.buffers.values())
        return before

    def held(self) -> tuple[Held, ...]:
        """The buffers that are alive at the peak, the largest first."""
        return tuple(sorted((Held(name, size) for _, name, size in self.at_peak),
                            key=lambda each: -each.bytes))


class MemoryRun(ShortRun):
    """The ``rt`` that measures the memory of a plan.

    At a choice it goes on with the version that runs by the thresholds within ``bound``.  If there
    is none, or if ``least`` is set, it goes on with the one that needs least.
    """

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force, *,
                 bound: float = math.inf, least: bool = False) -> None:
        super().__init__(executable, thresholds, force)
        self._meter = _Meter(self._pool)
        self._bound, self._least = bound, least
        self._measuring: list[bool] = []
        """For each encounter under way, True if a version is followed only to measure it."""
        self._needs: dict[EncounterSizes, dict[int, VersionNeed]] = {}
        self._obstacle: Exception | None = None
        self._too_large: dict[EncounterSizes, dict[int, int]] = {}
        self._met: list[MeteredEncounter] = []
        self._goes_on = False
        self._rounds: dict[int, int] = {}
        self.allocate = self._meter.allocate

    def estimate(self, args: Mapping[str, Any], *, kept: bool = True) -> MemoryEstimate:
        """Follow the plan on bound arguments, of which only sizes count.

        ``kept``: the caller keeps the arguments, so they are alive all the time.
        """
        given, own = dict(args), dict[int, Buffer]()
        for name, value in args.items():
            if isinstance(value, Buffer):
                known = own.get(id(value.handle))
                given[name] = own[id(value.handle)] = known if known is not None else self.named(
                    self._meter.hold(self._pool.rounded(value.size), value.handle), name)
        keeping = list(own.values()) if kept else []
        own.clear()
        unknown = ""
        try:
            self.executable.forms.measuring_memory(self, given)
        except (Infeasible, OutOfMemory, RuneliftError) as error:
            unknown = str(error).splitlines()[0]
        del keeping
        return MemoryEstimate(self._meter.peak, self._meter.held(), tuple(self._met),
                              self._too_large, unknown)

    def named(self, buffer: Buffer, name: str) -> Buffer:
        """A buffer, which is known by this name from now on."""
        self._meter.buffers[id(buffer.handle)][1] = name
        return buffer

    # Loops

    def persistent_kernel(self, kernel: PersistentKernel) -> Any:
        """Stand in for a kernel that merges a loop, which is taken to build."""
        return object()

    def rounds_while(self, cond: Callable[[], Buffer],
                     carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterator[None]:
        """The first iterations of a loop that goes on as long as the device says."""
        iterations = iter(super().rounds_while(cond, carried))
        for _ in range(WHILE_ITERATIONS):
            self._goes_on = True
            try:
                given = next(iterations, _OVER)
            finally:
                self._goes_on = False
            if given is _OVER:
                return
            yield

    def run_while_loop(self, loop: RunLoop) -> None:
        """Allocate what the host reads the number of iterations from."""
        self._meter.allocate(8)

    def goes_on(self, place: int, condition: Any) -> Any:
        """The condition of the loop at a place; one that is unknown holds a few times."""
        if condition is not UNKNOWN:
            return condition
        self._rounds[place] = self._rounds.get(place, 0) + 1
        if self._rounds[place] <= WHILE_ITERATIONS:
            return True
        del self._rounds[place]
        return False

    def first(self, bound: int) -> Iterable[int]:
        """The first iterations of a loop whose iterations are alike to the host."""
        return range(min(bound, ITERATIONS))

    # Scalars

    def slab_size(self, bytes_each: int, longest: int) -> int:
        """The elements of a run of segments within the bound; one if the least need is asked."""
        room = min(self._bound, self.device.info.global_bytes) - self._meter.live
        return 1 if self._least else elements_of_slab(
            int(room), bytes_each, longest)

    def least(self, a: Any, b: Any) -> Any:
        """The least of two scalars; the known one if the other is unknown, as it is no less."""
        return b if a is UNKNOWN else a if b is UNKNOWN else min(a, b)

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Facts about lengths, else unknown; the condition of a loop that is asked for is true."""
        if self._goes_on:
            return [True] * len(elements)
        return [UNKNOWN if each is None else each for each in self.known_reads(elements)]

    def computed(self, value: Callable[[], Any]) -> Any:
        """A scalar, unknown if it depends on an unknown scalar."""
        try:
            return value()
        except DependsOnDevice:
            return UNKNOWN

    def known(self, value: Any, otherwise: Any) -> Any:
        """A scalar, or what is taken for it if it is unknown."""
        return otherwise if value is UNKNOWN else value

    def copied(self, buffer: Buffer) -> Buffer:
        """A copy of a whole buffer."""
        return self._meter.allocate(buffer.size)

    # Versions

    def replays(self, number: int, pars: tuple[int, ...], facts: Facts,
                local: LocalBytes, sizes: dict[str, int], changed: tuple[Any, ...]
                ) -> Iterator[int]:
        """The versions of a site to follow: all of them, then the one to go on with."""
        order = self.chooser.versions(number, pars, facts, local, sizes)
        if not order:
            self.none_left(number)
        key, start, meter = (number, pars, tuple(sizes.values())), self._meter.live, self._meter
        if key not in self._needs:
            needs = dict[int, VersionNeed]()
            for version in order:
                before = meter.begin()
                self._measuring.append(True)
                self._obstacle = None
                yield version
                self._measuring.pop()
                needs[version] = _need(meter, start, self._obstacle)
                meter.peak, meter.at_peak = before
            self._needs[key] = needs
            self._met.append(MeteredEncounter(
                self.executable.generated.sites[number].site, dict(sizes), needs))
        self._measuring.append(False)
        yield self._chosen(key, order, start)
        self._measuring.pop()

    def leave_replayed(self, number: int, results: Sequence[Any]) -> None:
        """Go on with the next version, if this one was followed only to measure it."""
        if self._measuring[-1]:
            raise _Measured from None

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """End the measurement of a version; the run itself ends where it cannot go on."""
        if not self._measuring[-1]:
            self._measuring.pop()
            raise reason
        if not isinstance(reason, _Measured):
            self._obstacle = reason.with_traceback(None)

    def either(self, filled: tuple[Buffer | None, ...], now: tuple[Buffer | None, ...]
               ) -> tuple[Buffer | None, ...]:
        """The lazy copies that the version to go on with has made, or one before it."""
        if self._measuring[-1]:
            return filled
        return tuple(a if a is not None else b for a, b in zip(filled, now, strict=True))

    def _chosen(self, key: EncounterSizes, order: Sequence[int], start: int) -> int:
        needs = self._needs[key]
        own = {k: need.own for k in order if (need := needs[k]).own is not None}
        too_large = {k: start + size for k, size in own.items()
                     if start + size > self._bound or needs[k].fails}
        if not any(self._measuring):
            if too_large:
                self._too_large.setdefault(key, {}).update(too_large)
            fitting = [k for k in order if k not in too_large and not needs[k].fails]
            if fitting and not self._least:
                return fitting[0]
        return min(own, key=lambda k: (needs[k].fails, own[k]), default=order[0])


def _need(meter: _Meter, start: int, obstacle: Exception | None) -> VersionNeed:
    """The need of a version that has just been followed from ``start`` bytes on."""
    if obstacle is None:
        return VersionNeed(meter.peak, meter.peak - start, meter.held())
    if isinstance(obstacle, OutOfMemory):
        return VersionNeed(meter.refused, meter.refused - start, meter.held(), str(obstacle),
                           fails=True)
    return VersionNeed(None, None, meter.held(), str(obstacle).splitlines()[0],
                       fails=not isinstance(obstacle, DependsOnDevice))
