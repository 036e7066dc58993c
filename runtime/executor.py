"""Running host plans on a device.

Kernels are built when the version they belong to first runs, one OpenCL program per version.
A version that cannot be built or launched becomes infeasible, and the next one runs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from runelift.codegen.opencl import FAILURE_ARGS, opencl_program
from runelift.codegen.plan import Choose, Launch, Plan
from runelift.codegen.python import Generated, python_source
from runelift.ir import imp
from runelift.ir.errors import CompilerLimitation, ProgramFailure, UserError
from runelift.ir.prim import Prim, apply, convert
from runelift.runtime import cache
from runelift.runtime.device import DeviceInfo
from runelift.runtime.memory import Buffer, OutOfMemory, Pool
from runelift.runtime.records import Encounter, Record

Force: TypeAlias = Mapping[str, int]
"""Which alternative to run at a site, whatever its guard says."""

BUILD_OPTIONS = ["-cl-std=CL1.2"]


class Infeasible(Exception):
    """A version cannot run on this device or at this size."""


@dataclass(slots=True)
class Site:
    """A kernel launch of the plan, prepared once."""

    launch: Launch
    version: str
    kernel: Any = None
    last: list[Any] = field(default_factory=list)
    scalars: tuple[Any, ...] = ()


class Device:
    """A device with its context, queues and memory."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.context = cl.Context([info.handle])
        self.plain = cl.CommandQueue(self.context)
        self.profiled = cl.CommandQueue(
            self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.pool = Pool(self.context, info)
        self.failure_code = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4)
        self.failure_args = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 8 * FAILURE_ARGS)
        self._no_failure = np.array([-1], np.int32)
        cl.enqueue_copy(self.plain, self.failure_code, self._no_failure)
        self.plain.finish()

    def clear_failure(self, queue: Any) -> None:
        """Make the next run start without a failure."""
        cl.enqueue_copy(queue, self.failure_code, self._no_failure)


class Executable:
    """A plan with its kernels, on one device."""

    def __init__(self, plan: Plan, device: Device) -> None:
        self.plan = plan
        self.device = device
        self.generated: Generated = python_source(plan)
        self.sites = [Site(launch, version) for launch, version in zip(
            self.generated.launches, self.generated.launch_versions, strict=True)]
        self.infeasible: dict[str, str] = {}
        self.failures: list[imp.Failure] = []
        self._bases: dict[str, int] = {}
        for site in self.sites:
            self._bases[site.launch.kernel.name] = len(self.failures)
            self.failures += site.launch.kernel.failures
        self._built: set[str] = set()
        self.build_seconds = 0.0
        namespace = {"wrap": _wrap, "ceil_div": _ceil_div, "apply": _apply, "convert": _convert}
        exec(compile(self.generated.source, f"<plan of {plan.entry}>", "exec"), namespace)
        self._main: Callable[[Run, dict[str, Any]], tuple[Any, ...]] = namespace[plan.entry]  # type: ignore[assignment]

    def run(self, args: dict[str, Any], thresholds: Mapping[str, int], force: Force,
            record: bool) -> tuple[tuple[Any, ...], Record | None]:
        """Run the plan on bound arguments."""
        run = Run(self, thresholds, force, record)
        return run.call(self._main, args)

    def opencl(self) -> str:
        """The source of all kernels."""
        return opencl_program([s.launch.kernel for s in self.sites], self._bases)

    def build(self, version: str) -> None:
        """Build the kernels of a version."""
        if version in self._built:
            return
        sites = [s for s in self.sites if s.version == version]
        source = opencl_program([s.launch.kernel for s in sites], self._bases)
        started = time.perf_counter()
        program = self._program(source)
        for site in sites:
            site.kernel = cl.Kernel(program, site.launch.kernel.name)
            _prepare(site, self.device)
        self._built.add(version)
        self.build_seconds += time.perf_counter() - started

    def _program(self, source: str) -> Any:
        info, context = self.device.info, self.device.context
        name = cache.key(source, " ".join(BUILD_OPTIONS), info.label)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if info.kind != "simulator" and (binary := cache.load(name)) is not None:
                try:
                    return cl.Program(context, [info.handle], [binary]).build()
                except cl.Error:
                    pass  # made by another driver: build it again from the source
            try:
                program = cl.Program(context, source).build(options=BUILD_OPTIONS)
            except cl.Error as error:
                raise Infeasible(f"the kernels do not build: {str(error).splitlines()[0]}\n"
                                 f"{error}") from None
            if info.kind != "simulator":
                cache.store(name, program.get_info(cl.program_info.BINARIES)[0])
        return program


def _prepare(site: Site, device: Device) -> None:
    kernel = site.launch.kernel
    site.kernel.set_arg(0, device.failure_code)
    site.kernel.set_arg(1, device.failure_args)
    site.last = [None] * (len(kernel.params) + len(kernel.locals))
    site.scalars = tuple(None if isinstance(p, imp.BufferParam) else
                         (np.uint8 if p.prim is Prim.BOOL else p.prim.dtype.type)
                         for p in kernel.params)


class Run:
    """One execution of a plan: what the generated Python function calls ``rt``."""

    Infeasible = Infeasible

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 record: bool) -> None:
        info = executable.device.info
        self.executable = executable
        self.device = executable.device
        self.queue = self.device.profiled if record else self.device.plain
        self.thresholds = thresholds
        self.force = force
        self.recording = record
        self.events: list[Any] = []
        self.encounters: list[_Open] = []
        self.stack: list[_Open] = []
        self.launches = 0
        self.group_size = info.group_size
        self.num_groups = info.num_groups
        self.sequential_segment = info.sequential_segment

    def call(self, main: Callable[[Run, dict[str, Any]], tuple[Any, ...]],
             args: dict[str, Any]) -> tuple[tuple[Any, ...], Record | None]:
        """Run, check for failures, and make the record."""
        pool = self.device.pool
        pool.peak = pool.live
        started = time.perf_counter()
        try:
            results = main(self, args)
            self.check_failure()
        except Infeasible as reason:
            raise CompilerLimitation(f"no version can run: {reason}") from None
        except OutOfMemory as error:
            raise UserError(f"Out of device memory: {error}.") from None
        except cl.Error as error:
            raise UserError(f"The device failed: {error}.") from None
        wall = time.perf_counter() - started
        return results, self._record(wall) if self.recording else None

    # Memory

    def allocate(self, size: int) -> Buffer:
        """A buffer of ``size`` bytes."""
        if size < 0:
            raise ProgramFailure("The size of an array is negative.")
        return self.device.pool.allocate(size)

    def array(self, buffer: Buffer, prim: str, shape: tuple[int, ...]) -> tuple[Buffer, str,
                                                                               tuple[int, ...]]:
        """A result."""
        return buffer, prim, shape

    def copy(self, target: Buffer, source: Buffer, size: int) -> None:
        """Copy bytes between buffers."""
        if size > 0:
            self._event(cl.enqueue_copy(self.queue, target.handle, source.handle,
                                        byte_count=size))

    def fill(self, buffer: Buffer, prim: str, count: int, value: Any) -> None:
        """Set elements to a value."""
        if count > 0:
            pattern = np.array(value, Prim(prim).dtype)
            self._event(cl.enqueue_fill_buffer(self.queue, buffer.handle, pattern, 0,
                                               count * pattern.itemsize))

    def read(self, buffer: Buffer, prim: str, index: int) -> Any:
        """An element; waits for the device."""
        out = np.empty(1, Prim(prim).dtype)
        self._event(cl.enqueue_copy(self.queue, out, buffer.handle,
                                    src_offset=index * out.itemsize, is_blocking=True))
        self.check_failure()
        return out.item()

    # Failures

    def fail(self, place: str, message: str, *args: Any) -> None:
        """A failure that the host found."""
        raise _failure(place, message.format(*args))

    def check_failure(self) -> None:
        """Raise the failure that a kernel recorded, if any."""
        code = np.empty(1, np.int32)
        cl.enqueue_copy(self.queue, code, self.device.failure_code, is_blocking=True)
        if code[0] < 0:
            return
        args = np.empty(FAILURE_ARGS, np.int64)
        cl.enqueue_copy(self.queue, args, self.device.failure_args, is_blocking=True)
        self.device.clear_failure(self.queue)
        failure = self.executable.failures[code[0]]
        place = ""
        if failure.loc is not None:
            place = "\n".join([str(failure.loc),
                               *(f"  called at {call}" for call in failure.loc.calls)])
        raise _failure(place, failure.message.format(*args.tolist()))

    # Kernels

    def launch(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
               *args: Any) -> None:
        """Run a prepared kernel; only arguments that changed are set."""
        if groups <= 0 or group <= 0:
            return
        site = self.executable.sites[number]
        if site.kernel is None:
            self.executable.build(site.version)
        kernel, last = site.kernel, site.last
        for k, (value, scalar) in enumerate(zip(args, site.scalars, strict=True)):
            if value is not last[k]:
                kernel.set_arg(k + 2, value.handle if scalar is None else scalar(value))
                last[k] = value if scalar is not None else None
        offset = len(args)
        for k, size in enumerate(lengths):
            if last[offset + k] != size:
                kernel.set_arg(offset + k + 2, cl.LocalMemory(max(size, 16)))
                last[offset + k] = size
        try:
            event = cl.enqueue_nd_range_kernel(self.queue, kernel, (groups * group,), (group,))
        except cl.Error as error:
            raise Infeasible(f"kernel {site.launch.kernel.name} does not launch: {error}") from None
        self.launches += 1
        self._event(event)

    def _event(self, event: Any) -> None:
        if self.recording:
            self.events.append(event)

    # Versions

    def encounter(self, number: int, pars: tuple[int, ...], local: tuple[int, ...],
                  sizes: dict[str, int]) -> Iterator[int]:
        """The alternatives of a site to try, the chosen one first."""
        site = self.executable.generated.sites[number]
        feasible = [k for k, version in enumerate(site.versions)
                    if version.infeasible is None and local[k] <= self.device.info.local_bytes
                    and f"{site.site}/{k}" not in self.executable.infeasible]
        chosen = self._chosen(site, pars, feasible)
        opened = _Open(site, len(self.encounters), self.stack[-1] if self.stack else None,
                       dict(sizes), dict(zip((v.guard.name for v in site.versions if v.guard),
                                             pars, strict=False)),
                       tuple(feasible), chosen, len(self.events))
        self.encounters.append(opened)
        for version in [chosen, *(k for k in feasible if k != chosen)]:
            opened.chosen = version
            opened.first = len(self.events)
            self.stack.append(opened)
            yield version
        why = "; ".join(f"version {k}: {reason.splitlines()[0]}" for k, reason in (
            (k, self.executable.infeasible.get(f"{site.site}/{k}") or v.infeasible
             or "needs more local memory than the device has")
            for k, v in enumerate(site.versions)))
        raise Infeasible(why)

    def _chosen(self, site: Choose, pars: tuple[int, ...], feasible: Sequence[int]) -> int:
        if not feasible:
            raise Infeasible("; ".join(v.infeasible or "needs more local memory than the device "
                                       "has" for v in site.versions))
        if site.site in self.force:
            forced = self.force[site.site]
            return forced if forced in feasible else next(
                (k for k in feasible if k > forced), feasible[-1])
        for k in feasible:
            guard = site.versions[k].guard
            if guard is None:
                return k
            default = self.device.info.threshold if guard.default is None else guard.default
            if pars[k] >= (self.thresholds.get(guard.name) or default):
                return k
        return feasible[-1]

    def leave(self, number: int, version: int) -> None:
        """The chosen version has been issued."""
        opened = self.stack.pop()
        opened.last = len(self.events)
        opened.launches = self.launches

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """A version turned out to be infeasible; the next one is tried."""
        opened = self.stack.pop()
        site = self.executable.generated.sites[number]
        self.executable.infeasible[f"{site.site}/{version}"] = str(reason)
        opened.feasible = tuple(k for k in opened.feasible if k != version)

    # Records

    def _record(self, wall: float) -> Record:
        """Read the events and telescope their times."""
        self.queue.finish()
        info = cl.profiling_info
        queued = [e.get_profiling_info(info.QUEUED) for e in self.events]
        starts = [e.get_profiling_info(info.START) for e in self.events]
        ends = [e.get_profiling_info(info.END) for e in self.events]
        busy = [end - start for start, end in zip(starts, ends, strict=True)]
        gaps = [max(0, min(start, max(q, start)) - end) if q > end else 0
                for start, q, end in zip(starts[1:], queued[1:], ends, strict=False)]
        gaps = [0, *gaps]
        encounters = []
        for opened in self.encounters:
            first, last = opened.first, opened.last
            if last > first:
                before = ends[first - 1] if first else starts[first]
                span = ends[last - 1] - before
            else:
                span = 0
            encounters.append(Encounter(
                opened.site.site, opened.number, opened.parent.number if opened.parent else None,
                opened.sizes, opened.par, opened.feasible, opened.chosen, span * 1e-9,
                sum(busy[first:last]) * 1e-9, sum(gaps[first:last]) * 1e-9, last - first))
        span = (ends[-1] - starts[0]) if ends else 0
        return Record(self.executable.plan.entry, tuple(encounters), span * 1e-9,
                      sum(busy) * 1e-9, wall, sum(gaps) * 1e-9, self.launches,
                      self.device.pool.peak, self.device.info.label,
                      dict(self.executable.infeasible))


@dataclass(slots=True)
class _Open:
    """An encounter under way: which events belong to it."""

    site: Choose
    number: int
    parent: _Open | None
    sizes: dict[str, int]
    par: dict[str, int]
    feasible: tuple[int, ...]
    chosen: int
    first: int
    last: int = 0
    launches: int = 0


def _failure(place: str, message: str) -> ProgramFailure:
    first, *calls = place.split("\n") if place else ("",)
    text = f"{first}: {message}" if first else message
    return ProgramFailure("\n".join([text, *calls]))


def _wrap(value: int) -> int:
    """``value`` as a 64-bit integer."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _ceil_div(num: int, den: int) -> int:
    return -(-num // den)


def _apply(op: str, prim: str, *args: Any) -> Any:
    return apply(op, Prim(prim), *args).item()


def _convert(from_: str, to: str, value: Any) -> Any:
    return convert(Prim(from_).dtype.type(value), Prim(to)).item()
