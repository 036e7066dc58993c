"""The profile of an entry point: times of kernels and versions, beside work and measured peaks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from runelift.codegen.plan.kernel_classes import CLASSES
from runelift.ir.imp.work_counts import Work, count_work
from runelift.ir.prim import Prim
from runelift.runtime.cost.launches import LaunchPredictor
from runelift.runtime.cost.peaks import Peaks
from runelift.runtime.execution.executable import Executable
from runelift.runtime.predictions.predict import Totals
from runelift.runtime.records.record import Record
from runelift.runtime.records.statistics import Summary, summarise
from runelift.runtime.tools.profiling.next_step import MeasuredWay, Step
from runelift.runtime.tools.profiling.profiled_run import COPY, LOOP, LaunchShape, ProfiledRun
from runelift.runtime.tools.profiling.timeline import DeviceCommand, Timeline, VersionName, timeline

MOST_COUNTED = 64
"""The most different launches of a kernel whose work is counted.

All other launches count as the average of these.
"""

BOUND = 0.5
"""The part of a peak from which on it bounds a kernel."""
SECONDS, LEAST_RUNS = 5.0, 4
"""After so many seconds no run begins, unless fewer have been made."""

Kernel: TypeAlias = tuple[str, str]
"""A kernel, or a kind of commands, and the version around it."""


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """A kernel in a version: the seconds of all its launches in a run, and their work.

    ``operations`` is None for what is not counted.  ``source`` is the place of the construct.
    ``predicted`` are the seconds that the model of cost says, None where it says nothing.
    """

    name: str
    version: str
    source: str
    does: str
    launches: int
    time: Summary
    share: float
    work: Work | None
    peaks: Peaks
    predicted: float | None

    @property
    def moved(self) -> float | None:
        """The bytes that the device moves at least."""
        return None if self.work is None else self.work.bytes

    @property
    def accessed(self) -> float | None:
        """The bytes that work-items access."""
        return None if self.work is None else self.work.accessed

    @property
    def operations(self) -> float | None:
        """The operations of all launches."""
        return None if self.work is None else sum(self.work.operations.values())

    @property
    def operation_rate(self) -> float | None:
        """The operations per second of the kernel."""
        return self._rate(self.operations)

    @property
    def bandwidth(self) -> float | None:
        """The bytes per second that the device moved at least."""
        return self._rate(self.moved)

    @property
    def intensity(self) -> float | None:
        """Operations per byte; None if nothing is computed or nothing is moved."""
        if self.work is None or not self.work.bytes or not self.operations:
            return None
        return self.operations / self.work.bytes

    @property
    def compute_share(self) -> float | None:
        """The fraction of peak operations that was reached, for each type by its own peak."""
        return _at_most_1(self._of_operations)

    @property
    def memory_share(self) -> float | None:
        """The part of the peak bandwidth that was reached; 1 if data come from a cache."""
        return _at_most_1(self._of_bandwidth)

    @property
    def _of_operations(self) -> float | None:
        if self.work is None:
            return None
        least = 0.0
        for prim, count in self.work.operations.items():
            if (peak := self.peaks.of(prim)) is None:
                return None
            least += count / peak
        return self._rate(least)

    @property
    def _of_bandwidth(self) -> float | None:
        return None if self.bandwidth is None else self.bandwidth / self.peaks.bandwidth

    @property
    def roof_share(self) -> float | None:
        """The part of what the roofline allows, and which is the greater one of both shares."""
        return _at_most_1(self._of_roof)

    @property
    def _of_roof(self) -> float | None:
        shares = [each for each in (self._of_operations, self._of_bandwidth) if each is not None]
        return max(shares, default=None)

    @property
    def nearer(self) -> str:
        """The ceiling that is nearer: memory or compute; empty if there is neither."""
        if not self.roof_share:
            return ""
        return "memory" if self._of_bandwidth == self._of_roof else "compute"

    @property
    def bound(self) -> str:
        """The ceiling that bounds the kernel.

        It is empty if both are far, if one was passed, or if the counts are estimates.
        """
        sure = self.certainty != "data" and not self.beyond
        return self.nearer if sure and (self.roof_share or 0.0) >= BOUND else ""

    @property
    def beyond(self) -> bool:
        """True if more than a peak was reached: data come from a cache, or the peak is wrong."""
        return (self._of_roof or 0.0) > 1

    @property
    def certainty(self) -> str:
        """``exact``, ``sampled`` or ``data``, if the work depends on elements; or ``unknown``."""
        if self.work is None:
            return "unknown"
        return ("data" if self.work.data_dependent
                else "sampled" if self.work.sampled else "exact")

    def _rate(self, count: float | None) -> float | None:
        return None if count is None or self.time.median <= 0 else count / self.time.median


def _at_most_1(share: float | None) -> float | None:
    return None if share is None else min(1.0, share)


@dataclass(frozen=True, slots=True)
class VersionProfile:
    """A version at a site: how often it ran, its launches, and the seconds that these took."""

    name: str
    site: str
    encounters: int
    launches: int
    time: Summary
    share: float


@dataclass(frozen=True, slots=True)
class ComparedVersion:
    """A version that ran alone: the seconds of a call, and its kernel with the longest time.

    If it did not run, ``refused`` says why.
    """

    name: str
    wall: Summary | None = None
    busiest: KernelProfile | None = None
    refused: str = ""


@dataclass(frozen=True)
class Profile:
    """The profile of an entry point on a dataset.

    ``wall`` are the times of profiled calls, and ``plain`` the times of calls without a profile.
    ``shown`` is the run with the median time.  All versions are ``compared`` if that was asked for.
    ``predicted`` are the seconds of the call that the model of cost says.  They are the ``least``
    if lengths of loops or sizes are unknown.  ``ways`` ran in turn, and ``steps`` are the changes
    that gain.  ``difference`` says how NumPy's results differ.
    """

    entry: str
    dataset: str
    device: str
    wall: Summary
    plain: Summary
    peaks: Peaks
    kernels: tuple[KernelProfile, ...]
    versions: tuple[VersionProfile, ...]
    shown: Timeline
    predicted: float
    compared: tuple[ComparedVersion, ...] = ()
    ways: tuple[MeasuredWay, ...] = ()
    steps: tuple[Step, ...] = ()
    difference: str = ""
    least: bool = False

    @property
    def roof(self) -> float | None:
        """The seconds that its kernels take at the peaks; None if not all of them are known."""
        shares = [(each.time.median, each.roof_share) for each in self.kernels]
        if not shares or any(share is None for _, share in shares):
            return None
        return sum(seconds * (share or 0.0) for seconds, share in shares)

    @cached_property
    def types(self) -> tuple[Prim, ...]:
        """The types on which kernels compute, the type with most operations first."""
        found: defaultdict[Prim, float] = defaultdict(float)
        for kernel in self.kernels:
            for prim, count in () if kernel.work is None else kernel.work.operations.items():
                found[Prim.I32 if prim.is_int else prim] += count
        return tuple(sorted(found, key=lambda prim: -found[prim]))


@dataclass(frozen=True)
class Runs:
    """Profiled runs of an executable with equal commands; ``predicted`` cost of a call."""

    executable: Executable
    timelines: Sequence[Timeline]
    predicted: Totals


def few(runs: int) -> Iterator[int]:
    """The numbers of the runs to make: at most ``runs``, and few if runs take long."""
    end = time.monotonic() + SECONDS
    for number in range(runs):
        if number >= LEAST_RUNS and time.monotonic() > end:
            return
        yield number


def profiled_runs(executable: Executable, bind: Callable[[], dict[str, Any]], runs: int,
                  thresholds: Mapping[str, int], force: Mapping[str, int],
                  name_of: VersionName,
                  seen: Callable[[float, Record | None], None]) -> list[Timeline]:
    """Run a plan at most ``runs`` times, on arguments that ``bind`` makes.

    The first run is an additional run, and warms up.  All other runs are ``seen``.
    """
    found = list[Timeline]()
    for number in few(runs + 1):
        with executable.device.lock:
            run = ProfiledRun(executable, thresholds, force)
            outcome = run.call(executable.forms.main, bind())
        if number:
            seen(outcome.seconds, outcome.record)
            found.append(timeline(executable, run.seen, outcome.seconds, run.peak_bytes, name_of))
    return found


def profile_of(runs: Runs, plain: Sequence[float], dataset: str, peaks: Peaks) -> Profile:
    """The profile of these runs; ``plain`` are the seconds of calls without a profile."""
    executable, timelines = runs.executable, runs.timelines
    wall = [each.wall for each in timelines]
    middle = summarise(wall).median
    shown = min(timelines, key=lambda each: abs(each.wall - middle))
    by_kernel = [_by_kernel(each) for each in timelines]
    shown_kernels = _by_kernel(shown)
    times = {key: summarise([sum(c.span.seconds for c in each.get(key, ())) for each in by_kernel])
             for key in shown_kernels}
    whole = sum(each.median for each in times.values()) or 1.0
    predictor = LaunchPredictor(executable.predictor.costs, executable.device.info.units,
                                executable.predictor.formulas)
    kernels = [_kernel(executable, key, commands, _Beside(
        times[key], times[key].median / whole, peaks, predictor))
        for key, commands in shown_kernels.items()]
    return Profile(
        executable.plan.entry, dataset, executable.device.info.label, summarise(wall),
        summarise(list(plain)), peaks,
        tuple(sorted(kernels, key=lambda each: -each.time.median)), _versions(timelines, shown),
        shown, runs.predicted.seconds, least=runs.predicted.partial)


def _by_kernel(run: Timeline) -> dict[Kernel, list[DeviceCommand]]:
    found: defaultdict[Kernel, list[DeviceCommand]] = defaultdict(list)
    for command in run.commands:
        found[command.span.name, command.version].append(command)
    return dict(found)


class _Beside(NamedTuple):
    """The measured time of a kernel, and what to compare it with."""

    time: Summary
    share: float
    peaks: Peaks
    predictor: LaunchPredictor


def _kernel(executable: Executable, key: Kernel, commands: Sequence[DeviceCommand],
            beside: _Beside) -> KernelProfile:
    name, version = key
    source = does = ""
    if (launches := commands[0].issued.launches):
        launch = executable.sites[launches[0].number].launch
        source = "" if launch.loc is None else str(launch.loc)
        does = CLASSES.get(launch.kernel.kind, "")
    if commands[0].issued.kind == LOOP:
        does = "iterations of a loop in one launch"
    counted = _counted(commands)
    return KernelProfile(name, version, source, does, len(commands), beside.time, beside.share,
                         _work(executable, commands, counted), beside.peaks,
                         _predicted(executable, commands, counted, beside.predictor))


class _Counted(NamedTuple):
    """Launches whose work is looked at, with how often they ran.

    ``sampled``: some launches are left out.  Each of them stands for ``scale`` launches.
    """

    times: Mapping[LaunchShape, int]
    scale: float
    sampled: bool


def _counted(commands: Sequence[DeviceCommand]) -> _Counted | None:
    """The launches of a kernel that stand for all; None if they are not known."""
    times: defaultdict[LaunchShape, int] = defaultdict(int)
    for command in commands:
        if not command.issued.launches:
            return None
        for shape in command.issued.launches:
            times[shape] += command.issued.times
    shapes = sorted((shape for shape, number in times.items() if number),
                    key=lambda shape: (shape.number, shape.groups * shape.group))
    if not shapes:  # the device ran no iteration
        return _Counted({}, 1.0, sampled=False)
    step = -(-len(shapes) // MOST_COUNTED)
    counted = shapes[step // 2::step]
    scale = sum(times.values()) / sum(times[shape] for shape in counted)
    return _Counted({shape: times[shape] for shape in counted}, scale,
                    sampled=len(counted) < len(shapes))


def _predicted(executable: Executable, commands: Sequence[DeviceCommand],
               counted: _Counted | None, predictor: LaunchPredictor) -> float | None:
    """The predicted seconds of all launches of a kernel; None if they are not known."""
    costs, kind = predictor.costs, commands[0].issued.kind
    if kind == COPY:
        return sum(costs.launch + each.issued.bytes / costs.bandwidth for each in commands)
    if counted is None:
        return None
    total = 0.0
    for shape, times in counted.times.items():
        kernel, scalars = executable.sites[shape.number].launch.kernel, dict(shape.scalars)
        teams = max(1, scalars.get(kernel.teams, 1)) if kernel.teams is not None else 1
        parts = predictor.time(kernel, (shape.groups // teams, shape.group * teams, shape.room),
                               scalars)
        start = costs.round if kind == LOOP else parts.start
        total += times * counted.scale * (parts.seconds - parts.start + start)
    return total


def _work(executable: Executable, commands: Sequence[DeviceCommand], counted: _Counted | None
          ) -> Work | None:
    """The work of all launches of a kernel; None if it is not known."""
    if commands[0].issued.kind == COPY:
        return Work(bytes=float(sum(each.issued.bytes for each in commands)))
    if counted is None:
        return None
    total = Work()
    for shape, times in counted.times.items():
        total.add(count_work(executable.sites[shape.number].launch.kernel, shape.groups,
                             shape.group, dict(shape.scalars), dict(shape.buffers)),
                  times * counted.scale)
    total.sampled |= counted.sampled
    return total


def _versions(timelines: Sequence[Timeline], shown: Timeline) -> tuple[VersionProfile, ...]:
    def seconds(run: Timeline, key: tuple[str, str]) -> float:
        return sum(each.busy for each in run.versions if (each.name, each.detail) == key)

    found, whole = list[VersionProfile](), sum(c.span.seconds for c in shown.commands) or 1.0
    for key in dict.fromkeys((each.name, each.detail) for each in shown.versions):
        spans = [each for each in shown.versions if (each.name, each.detail) == key]
        time = summarise([seconds(each, key) for each in timelines])
        found.append(VersionProfile(*key, len(spans),
                                    sum(each.launches for each in spans), time,
                                    min(1.0, seconds(shown, key) / whole)))
    return tuple(found)
