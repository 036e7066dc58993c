"""Running host plans on a device.

A version that cannot be built or launched is abandoned, and the next one runs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.opencl import FAILURE_ARGS
from runelift.codegen.emit.persistent import Merged
from runelift.codegen.plan.plan import Choose
from runelift.ir.errors import CompilerLimitation, ProgramFailure, UserError
from runelift.ir.prim import Prim
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.execution import persistent_loops as persistent
from runelift.runtime.execution.executable import Executable, KernelSite, Main
from runelift.runtime.execution.loop_scalars import LoopScalars, Row, ScalarColumn
from runelift.runtime.geometry.tiles import (
    Boxes,
    Combining,
    SegmentBatch,
    block,
    coarse,
    strip,
    width,
)
from runelift.runtime.geometry.work_groups import (
    REMEMBERED,
    share_out,
    spread,
    subgroup_of,
    teams,
    tile,
)
from runelift.runtime.host import interrupts
from runelift.runtime.records.record import Record, alone
from runelift.runtime.records.recorder import EncounterKind, Recorder
from runelift.runtime.versions.default_guards import Occupancy
from runelift.runtime.versions.size_guards import size_guards_of

Force: TypeAlias = Mapping[str, int]
"""Which alternative to run at a site, whatever its guard says."""
Ending: TypeAlias = Callable[..., tuple[Any, ...]]
"""What is left to do of a plan when everything has been issued, as a function."""

_enqueue_kernel = cl.enqueue_nd_range_kernel
_enqueue_read = cl._cl._enqueue_read_buffer
"""What :func:`pyopencl.enqueue_copy` calls after 2 us of questions about its arguments."""


class DeviceFailed(UserError):
    """The device failed, and may do so from now on."""


class Outcome(NamedTuple):
    """What came of a run; ``issue`` is the host's time until all was issued (seconds)."""

    results: tuple[Any, ...]
    record: Record | None
    issue: float


def execute(executable: Executable, args: dict[str, Any], thresholds: Mapping[str, int],
            force: Force, *, record: bool, samples: bool = False) -> Outcome:
    """Run a plan on bound arguments, which are taken out of ``args``.

    A record may be of ``samples`` of loops (:mod:`~runelift.runtime.records.loop_sampling`); there
    are no right results then.
    """
    return Run(executable, thresholds, force, record,
               samples=samples and executable.foreseeable).call(executable.main, args)


class Run:
    """One execution of a plan: what the generated Python function calls ``rt``."""

    CannotRun = (Infeasible, OutOfMemory)
    never = 1 << 62
    """More local memory than any device has."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 record: bool, *, samples: bool = False) -> None:
        info = executable.device.info
        self.executable = executable
        self.device = executable.device
        self.queue = self.device.profiled if record else self.device.plain
        self.recorder = Recorder() if record else None
        self.samples = samples
        self.infeasible = dict(executable.infeasible)
        self.group_size = info.group_size
        self.num_groups = info.num_groups
        self.sequential_segment = info.sequential_segment
        self.local_bytes = info.local_bytes
        self.coherent = int(info.coherent)
        self._most = 0 if info.is_host else info.num_groups * info.group_size
        self.counters = executable.device.counters
        self._sites = executable.sites
        self._pool = self.device.pool
        self.allocate = self._pool.allocate
        self.launch, self.launch_built = self.issue, self.issue_built
        self._thresholds = thresholds
        self._finer = size_guards_of(thresholds)
        self._force = force
        decisions = executable.decisions.under(thresholds, force)
        self._shares, self._teams = decisions.shares, decisions.teams
        self._orders, self._versions = decisions.orders, decisions.versions
        self.settings = decisions.settings
        self._tables = dict[bytes, Any]()  # loops may run again, and kernels are under way
        self._fallible = self._quiet = False
        self._issued: float | None = None
        self._obstacle: Exception | None = None

    def begin(self, *, fallible: bool) -> None:
        """It runs again what was issued before."""
        self._fallible, self._issued = fallible, None

    def call(self, main: Main, args: dict[str, Any]) -> Outcome:
        """Run, check for failures, and make the record."""
        self._pool.peak = self._pool.live
        started = time.perf_counter()
        finished = False
        try:
            results = main(self, args)
            issue = (self._issued or time.perf_counter()) - started
            if self._fallible:
                self.check_failure()
            elif not self._quiet:
                self.queue.finish()
            finished = True
        except Infeasible as reason:
            raise CompilerLimitation(f"No version can run: {reason}.") from None
        except OutOfMemory as error:
            raise UserError(f"Out of device memory: {error}.") from None
        except cl.Error as error:
            raise DeviceFailed(f"The device failed: {error}.") from None
        finally:
            if not finished:
                self._recover()
        interrupts.check()
        wall = time.perf_counter() - started
        return Outcome(results, self._made(wall, issue), issue)

    def _made(self, wall: float, issue: float) -> Record | None:
        """The record, if there is to be one."""
        return None if self.recorder is None else self.recorder.record(
            self.executable.plan.entry, wall=wall, issue=issue, peak_bytes=self.peak_bytes,
            device=self.device.info.label, infeasible=self.infeasible)

    def _recover(self) -> None:
        """After a failure: wait for what is under way, and forget what it reported."""
        with contextlib.suppress(cl.Error):
            self.queue.finish()
            self.device.clear_failure(self.queue)
            self.queue.finish()

    # Memory

    def array(self, buffer: Buffer, prim: str, shape: tuple[int, ...]) -> tuple[Buffer, str,
                                                                               tuple[int, ...]]:
        """A result."""
        return buffer, prim, shape

    def copy(self, target: Buffer, source: Buffer, size: int, offset: int = 0) -> None:
        """Copy ``size`` bytes, from ``offset`` on in ``source``, to the start of ``target``."""
        if size > 0:
            self._command(cl.enqueue_copy(self.queue, target.handle, source.handle,
                                          byte_count=size, src_offset=offset))

    def copied(self, buffer: Buffer) -> Buffer:
        """A copy of a whole buffer."""
        copy = self._pool.allocate(buffer.size)
        self.copy(copy, buffer, buffer.size)
        return copy

    def read(self, buffer: Buffer, prim: str, index: int) -> Any:
        """An element; waits for the device."""
        return self.reads((buffer, prim, index))[0]

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements of buffers, by type and index; waits for the device, once for all of them."""
        found, events = [], []
        for number, (buffer, prim, index) in enumerate(elements, 1):
            out = self.device.mail.cell(number, Prim(prim))
            events.append(_enqueue_read(self.queue, buffer.handle, out, index * out.itemsize,
                                        is_blocking=False))
            self._command(events[-1])
            found.append(out)
        if self.recorder is not None and self._issued is None:
            self.recorder.waited()
        if self._fallible:
            self.check_failure()
        else:
            self.queue.finish()
        self._quiet = True
        return [out.item() for out in found]

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """All has been issued: what ``ending`` makes of ``values``, the results."""
        self.all_issued()
        return ending(self, *values)

    def all_issued(self) -> None:
        """The host has nothing to do any more that the device could wait for."""
        self._quiet, self._issued = False, time.perf_counter()

    def _command(self, event: Any, *, launch: bool = False) -> None:
        if self.recorder is not None:
            self.recorder.command(event, launch=launch)

    # Failures

    def fail(self, place: str, message: str, *args: Any) -> None:
        """A failure that the host found, unless a kernel failed before."""
        self.check_failure()
        raise _failure(place, message.format(*args))

    def check_failure(self) -> None:
        """Raise the failure that a kernel recorded, if any; waits for the device."""
        if not self._fallible:
            return
        out = self.device.mail.cell(0, Prim.I32)
        event = _enqueue_read(self.queue, self.device.failure_code, out, is_blocking=False)
        self.queue.finish()
        del event  # it would wait on its own
        self._fallible = False
        if (code := out.item()) < 0:
            return
        args = np.empty(FAILURE_ARGS, np.int64)
        cl.enqueue_copy(self.queue, args, self.device.failure_args, is_blocking=True)
        failure = self.executable.failures[code]
        place = ""
        if failure.loc is not None:
            place = "\n".join([str(failure.loc), *failure.loc.trace()])
        raise _failure(place, failure.message.format(*args.tolist()))

    def recheck(self) -> None:
        """A failure that was raised may not have been the first one: look again next time."""
        self._fallible = True

    # Kernels

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a prepared kernel."""
        if groups <= 0 or group <= 0:
            return
        site = self._sites[number]
        if site.kernel is None:
            self.executable.build(site.version)
        self._enqueue(site, groups, group, lengths, args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for the values of its constants."""
        site = self._sites[number]
        if group == 0:
            raise Infeasible(f"kernel {site.launch.kernel.name}: the rows are too long")
        if groups <= 0:
            return
        site.kernel = site.variants.get(constants)
        if site.kernel is None:
            self.executable.specialise(site, constants)
        self._enqueue(site, groups, group, lengths, args)

    def share_out(self, points: tuple[int, ...], loops: tuple[int, ...],
                  rows: tuple[tuple[int, int], ...], groups: int, lanes: int, chunk: int,
                  teams: bool, apart: int, changing: tuple[int, ...] = ()) -> tuple[int, ...]:
        """The size of a group and of its work-items' chunks.

        In a loop numbers of points may be ``changing``; few of these come out even.
        """
        key = points, loops, rows, groups, lanes, chunk, teams, apart, changing
        if (shares := self._shares.get(key)) is None:
            limits = self.device.shares
            if lanes or chunk:
                limits = limits.preferring(chunk, lanes)
            shares = self._shares[key] = share_out(limits, points, loops, groups,
                                                  rows=rows, teams=teams, apart=apart,
                                                  changing=changing)
        return shares

    def teams(self, group: int, groups: int, size: int, wanted: int,
              apart: int) -> tuple[int, int]:
        """How many groups run side by side, and whether they come out even."""
        key = group, groups, size, wanted, apart
        if (found := self._teams.get(key)) is None:
            info = self.device.info
            count = teams(info.shares, group, groups, size, info.local_bytes, wanted, apart)
            found = self._teams[key] = count, int(groups % count == 0)
        return found

    def subgroup(self, group: int) -> int:
        """How many work-items of a group hand each other values."""
        shares = self.device.shares
        return subgroup_of(shares, group) if group >= shares.subgroup else 1

    def spread(self, most: int, points: int) -> int:
        """How large the groups of work-items that have much to do should be."""
        return spread(most, points, self.device.info.num_groups)

    def width(self, points: int, rows: int, beside: int, size: int, shares: bool, most: int,
              wanted: int) -> int:
        """How many points of a map a work-item has."""
        info = self.device.info
        return width(info.shares, points, rows, beside, size, shares, most,
                     info.num_groups * info.group_size, wanted)

    def tile(self, points: int, size: int, *wanted: int) -> tuple[int, int, int, int, int]:
        """How groups share a scan, and how long they may wait for each other."""
        info = self.device.info
        shares = tile(info.shares, points, size, info.num_groups, info.local_bytes, wanted)
        group, _, chunk, _ = shares
        return *shares, self.device.patience if points > group * chunk else 0

    def statuses(self, words: int) -> Buffer:
        """What groups tell each other."""
        return self.device.statuses.begin(words)

    def block(self, height: int, width: int, batch: int, length: int, sizes: tuple[int, int],
              *wanted: int) -> tuple[int, ...]:
        """How groups share a product."""
        info = self.device.info
        return block(info.shares, height, width, batch, length, info.handle.max_compute_units,
                     sizes, info.local_bytes, wanted)

    def coarse(self, height: int, width: int, batch: int, length: int, slides: bool, roots: bool,
               loops: int, size: int, boxes: Boxes, *wanted: int) -> tuple[int, ...]:
        """How groups share segments that are reduced together."""
        info = self.device.info
        return coarse(info.shares, SegmentBatch(height, width, batch, length),
                      Combining(slides, roots, loops, size, boxes),
                      info.handle.max_compute_units, info.local_bytes, wanted)

    def strip(self, width: int, batch: int, length: int) -> tuple[int, int, int]:
        """How work-items share reductions down columns."""
        info = self.device.info
        return strip(info.shares, width, batch, length, info.handle.max_compute_units)

    def _enqueue(self, site: KernelSite, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        if lengths and (needed := sum(lengths)) > self.device.info.local_bytes:
            raise Infeasible(f"kernel {site.launch.kernel.name} needs {needed} bytes of local "
                             "memory")
        kernel = site.kernel
        assert kernel is not None
        try:
            kernel.give(args, lengths)
            event = _enqueue_kernel(self.queue, kernel.handle, (groups * group,), (group,))
        except cl.MemoryError:
            raise OutOfMemory(f"kernel {site.launch.kernel.name} needs more than the device has; "
                              f"{self._pool.live:,} bytes are in use") from None
        except cl.Error as error:
            raise Infeasible(f"kernel {site.launch.kernel.name} does not launch: {error}") from None
        if site.fallible:
            self._fallible = True
        if self.recorder is not None:
            self.recorder.command(event, launch=True, crowd=alone(groups * group, self._most))

    # Loops

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
               course: LoopScalars | None = None) -> Iterable[Any]:
        """The iterations of a loop that launches the same kernels again and again."""
        if self.merges(bound):
            return persistent.host_iterations(self, bound, carried, course)
        return persistent.iterations(self, course, 0, bound)

    def course(self, step: Callable[..., tuple[Row, Row]], prims: Sequence[str],
               carried: Row) -> LoopScalars:
        """The scalars of such a loop."""
        return LoopScalars(step, prims, carried)

    def table(self, values: np.ndarray[Any, Any]) -> Any:
        """The handle of a buffer with what kernels are given in each iteration."""
        key = values.tobytes()
        if key not in self._tables:
            flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            self._tables[key] = cl.Buffer(self.device.context, flags, hostbuf=values)
        return self._tables[key]

    def merges(self, bound: int) -> bool:
        """Whether one kernel might do the rounds of a loop."""
        return self.device.info.coherent and bound >= persistent.LEAST_ROUNDS

    def rounds_while(self, cond: Callable[[], Buffer],
                     carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterable[None]:
        """The same for a loop that goes on while the only element of ``cond()`` says so."""
        return persistent.while_iterations(self, cond, carried)

    def merged_kernel(self, merged: Merged) -> BoundKernel | None:
        """The kernel that does the rounds of a loop; None if there is none."""
        return self.executable.persistent(merged)

    @contextlib.contextmanager
    def noting_allocations(self) -> Iterator[list[Buffer]]:
        """Keep all that is allocated meanwhile."""
        allocate, noted = self.allocate, list[Buffer]()

        def note(size: int) -> Buffer:
            noted.append(allocate(size))
            return noted[-1]

        self.allocate = note
        try:
            yield noted
        finally:
            self.allocate = allocate

    @contextlib.contextmanager
    def tracing(self, traced: persistent.TracedIteration) -> Iterator[None]:
        """Note launches in ``traced`` rather than issue them."""
        def launch(number: int, groups: int, group: int, lengths: tuple[int, ...],
                   *args: Any) -> None:
            launch_built(number, (), groups, group, lengths, *args)

        def launch_built(number: int, constants: tuple[int, ...], groups: int, group: int,
                         lengths: tuple[int, ...], *args: Any) -> None:
            if isinstance(groups, ScalarColumn) or groups > 0:
                traced.launches.append(persistent.LaunchCommand(
                    number, constants, groups, group, lengths, args))

        with self.noting_allocations() as traced.allocated:
            self.launch, self.launch_built = launch, launch_built
            try:
                yield
            finally:
                self.launch, self.launch_built = self.issue, self.issue_built

    def replay(self, traced: persistent.TracedIteration, index: int, row: Row = ()) -> None:
        """Issue the launches of an iteration that was traced in vain, with its scalars."""
        def value(given: Any) -> Any:
            return (index if given is persistent.INDEX
                    else row[given.number] if isinstance(given, ScalarColumn) else given)

        for launched in traced.launches:
            args = map(value, launched.args)
            shape = value(launched.groups), launched.group, launched.lengths
            if launched.constants:
                self.issue_built(launched.number, launched.constants, *shape, *args)
            else:
                self.issue(launched.number, *shape, *args)

    def launch_rounds(self, joined: persistent.PersistentLaunch, first: int, count: int) -> None:
        """Have one kernel do so many rounds of a loop."""
        joined.run_all(self, first, count)

    def launch_rounds_while(self, joined: persistent.PersistentLaunch) -> None:
        """The same until the device says that there is none left."""
        joined.run_while(self)

    def enqueue_persistent(self, kernel: BoundKernel, groups: int, group: int) -> None:
        """Launch a kernel that runs the iterations of a loop."""
        event = _enqueue_kernel(self.queue, kernel.handle, (groups * group,), (group,))
        self._command(event, launch=True)
        self._fallible = True

    # Versions

    @property
    def peak_bytes(self) -> int:
        """The most memory that was in use."""
        return self._pool.peak

    @property
    def encounters(self) -> int:
        """How many encounters have been recorded."""
        return 0 if self.recorder is None else self.recorder.encounters

    def encounter(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                  local: tuple[int, ...], sizes: dict[str, int]) -> Iterable[int]:
        """The alternatives of a site to try, the chosen one first."""
        order = self.order(number, pars, crowds, local)
        if self._finer:
            order = self._preferring(number, pars, order, sizes)
        return order if self.recorder is None else self._recorded(number, pars, crowds, order,
                                                                  sizes)

    def _preferring(self, number: int, pars: tuple[int, ...], order: list[int],
                    sizes: dict[str, int]) -> list[int]:
        """The same with the version first that a finer guard says, if it can run."""
        site = self.executable.generated.sites[number]
        finer = self._finer.get(site.site)
        if finer is None or site.site in self._force:
            return order
        key = number, pars, *sizes.values()
        if key not in self._versions:
            self._versions[key] = finer.version({**sizes, **_compared(site, pars)})
        chosen = self._versions[key]
        if chosen is None or chosen not in order:
            return order
        return [chosen, *(k for k in order if k != chosen)]

    def order(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
              local: tuple[int, ...]) -> list[int]:
        """The alternatives of a site that can run, the chosen one first."""
        key = number, pars, crowds, local
        if (order := self._orders.get(key)) is None:
            order = self._orders[key] = self._order(number, pars, crowds, local)
        return order

    def _order(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
               local: tuple[int, ...]) -> list[int]:
        site = self.executable.generated.sites[number]
        left = [k for k, version in enumerate(site.versions)
                if version.infeasible is None and local[k] <= self.device.info.local_bytes
                and f"{site.site}/{k}" not in self.infeasible]
        forced = self._force.get(site.site)
        if forced is not None:  # the later ones first, as if their guards held, then those before
            return [*(k for k in left if k >= forced), *(k for k in reversed(left) if k < forced)]
        order: list[int] = []
        while left:
            order.append(self._choose(site, pars, crowds, left))
            left.remove(order[-1])
        return order

    def _recorded(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                  order: list[int], sizes: dict[str, int]) -> Iterator[int]:
        assert self.recorder is not None
        situation = self.situation(number, pars, crowds, sizes)
        for place, chosen in enumerate(order):
            self.recorder.enter(situation, tuple(sorted(order[place:])), chosen)
            yield chosen

    def situation(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                  sizes: Mapping[str, int]) -> EncounterKind:
        """What encounters like this one have in common, worked out for the first of them."""
        known = self.executable.situations
        key = number, pars, crowds, *sizes.values()
        if (found := known.get(key)) is None:
            if len(known) >= REMEMBERED:
                known.clear()
            found = known[key] = self._situation(number, pars, crowds, sizes)
        return found

    def _situation(self, number: int, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                   sizes: Mapping[str, int]) -> EncounterKind:
        site = self.executable.generated.sites[number]
        par = _compared(site, pars)
        scarce = tuple(
            v.guard.name for v, p, crowd in zip(site.versions, pars, crowds, strict=True)
            if v.guard and crowd and not self.device.info.choice.holds(v.guard, p, crowd))
        return EncounterKind(site.site, dict(sizes), par, scarce)

    def none_left(self, number: int) -> None:
        """No version of a site could run."""
        if isinstance(self._obstacle, OutOfMemory):
            raise self._obstacle
        raise Infeasible("; ".join(self._obstacles(self.executable.generated.sites[number])))

    def _choose(self, site: Choose, pars: tuple[int, ...], crowds: tuple[Occupancy | None, ...],
                feasible: Sequence[int]) -> int:
        for k in feasible:
            guard = site.versions[k].guard
            if guard is None:
                return k
            tuned = self._thresholds.get(guard.name)
            if pars[k] >= tuned if tuned else self.device.info.choice.holds(
                    guard, pars[k], crowds[k]):
                return k
        return feasible[-1]

    def _obstacles(self, site: Choose) -> Iterator[str]:
        """Why no version of a site can run."""
        for k, version in enumerate(site.versions):
            reason = (version.infeasible or self.infeasible.get(f"{site.site}/{k}")
                      or "needs more local memory than the device has")
            yield f"version {site.site}/{k}: {reason.splitlines()[0]}"

    def leave(self, number: int) -> None:
        """The chosen version has been issued."""
        if self.recorder is not None:
            self.recorder.leave()

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """A version could not run; the next one is tried."""
        if self.recorder is not None:
            self.recorder.abandon()
        self._orders = {}  # what is decided from here on may hold for this run only
        self._obstacle = reason.with_traceback(None)
        if isinstance(reason, Infeasible):
            name = f"{self.executable.generated.sites[number].site}/{version}"
            self.infeasible[name] = str(reason)
            if reason.lasting:
                self.executable.infeasible[name] = str(reason)
                self.executable.decisions.forget()


def _compared(site: Choose, pars: tuple[int, ...]) -> dict[str, int]:
    """What the guards of a site are compared with, by name."""
    return {v.guard.name: p for v, p in zip(site.versions, pars, strict=True) if v.guard}


def _failure(place: str, message: str) -> ProgramFailure:
    first, *calls = place.split("\n") if place else ("",)
    text = f"{first}: {message}" if first else message
    return ProgramFailure("\n".join([text, *calls]))
