"""Opened devices: queues, memory, and buffers that kernels share from launch to launch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.signatures import FAILURE_ARGS
from runelift.runtime.devices import forked
from runelift.runtime.devices.direct_launch import DirectReads
from runelift.runtime.devices.driver.icd import take_context
from runelift.runtime.devices.info import MOST_GROUPS, DeviceInfo
from runelift.runtime.devices.memory import Buffer, Pool, UnwrittenPool
from runelift.runtime.devices.probe_results import proven
from runelift.runtime.devices.readback import PinnedCells
from runelift.runtime.devices.scan_status import ScanStatus
from runelift.runtime.devices.subgroup_support import ShuffleMethod
from runelift.runtime.devices.waiting import Waits

_enqueue_write = cl._cl._enqueue_write_buffer
"""The function that :func:`pyopencl.enqueue_copy` calls after 2 us of questions."""
LOOK_BACK = "look back"
"""The name of the probe of forward progress in the cache."""
RESERVED_BYTES = 1024
"""Local memory that NVIDIA's devices reserve for each group since compute capability 8.0."""


class _Probes(Protocol):
    """Probes of an open device: programs that find out what no standard promises."""

    def forward_progress(self, device: Device) -> bool:
        """True if groups of the device can wait for each other."""

    def subgroup_size(self, device: Device, offer: ShuffleMethod) -> ShuffleMethod | None:
        """The offer with the size of sub-groups; None if they are not work-items in a row."""

    def subgroups(self, device: Device) -> bool:
        """True if the sub-groups that the device uses at present are what it says."""


class Device:
    """A device with its context, queues and memory; ``probes`` find out its abilities.

    A work-group asks other groups :attr:`patience` times at most, 0 times where that does not work.
    The sub-groups of :attr:`shares` have more than one work-item only if that works.
    """

    copied: bool
    """True in a copy of the process that made the device (:func:`forked.keep`)."""

    def __init__(self, info: DeviceInfo, probes: _Probes) -> None:
        forked.used()
        self._know(info)
        self._probes = probes
        made = take_context(info.handle.int_ptr)
        self.context = cl.Context([info.handle]) if made is None else cl.Context.from_int_ptr(
            made, retain=False)
        self.plain: Any = cl.CommandQueue(self.context)
        self.pool = UnwrittenPool(self.context, info, self._forget) if info.is_simulator else Pool(
            self.context, info)
        self.failure_code = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4)
        self.failure_args = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 8 * FAILURE_ARGS)
        self.failure: tuple[Any, Any] = self.failure_code, self.failure_args
        size = 4 * max(info.num_groups * MOST_GROUPS, 1)
        self.counters = Buffer(cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size), size, None)
        self.arrived = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4)
        self.scan_status = ScanStatus(self.context, self.plain)
        self._no_failure = np.array([-1], np.int32)
        self.clear_failure(self.plain)
        self.plain.finish()

    costs: Mapping[str, float] | None = None
    """The constants of predicted times, where they are not looked up by the device's name."""

    def _know(self, info: DeviceInfo) -> None:
        """Set the part of the device that lies on the host."""
        forked.keep(self)
        self.info = info
        self.waits = Waits()
        self.lock = threading.RLock()
        """Held during a run: kernels keep the arguments of one launch only."""
        self._arrivals = 0
        self._proved = self._tried = self._presumed = False
        self.trials: Callable[[str], None] | None = None
        """Waits for a probe that another process may be making."""
        self.shares = info.shares
        self.shuffles: ShuffleMethod | None = None
        self.patience = 0
        self.usual: dict[tuple[str, ...], tuple[int, ...]] = {}
        """The values that kernels were first built for, by the names of their constants."""

    def clear_failure(self, queue: Any) -> None:
        """Make the next run start without a failure."""
        cl.enqueue_copy(queue, self.failure_code, self._no_failure)
        cl.enqueue_copy(queue, self.counters.handle, np.zeros(self.counters.size, np.uint8))
        cl.enqueue_copy(queue, self.arrived, np.zeros(1, np.int32))
        self._arrivals = 0
        self.scan_status.forget()

    def check(self) -> None:
        """Raise UserError if the device cannot be used at present."""
        if self.copied:
            forked.check()
        if self.waits.abandoned is not None and self.waits.recovered():
            self.clear_failure(self.plain)
            self.plain.finish()

    def read(self, buffer: Any, into: np.ndarray[Any, Any]) -> None:
        """Copy a buffer to the host, when all that was issued before is done."""
        self.check()
        cl.enqueue_copy(self.plain, into, buffer.handle, is_blocking=True)

    def write(self, buffer: Any, values: np.ndarray[Any, Any], *, waits: bool = True) -> Any:
        """Copy contiguous values from the host to a buffer; the event of the copy.

        It keeps the values, and waits when it is released.
        """
        self.check()
        return _enqueue_write(self.plain, buffer.handle, values, is_blocking=waits)

    def _forget(self, handle: Any) -> None:
        """Make Oclgrind count a buffer as never written, by a write of no bytes."""
        _enqueue_write(self.plain, handle, np.empty(0, np.uint8), is_blocking=True)

    @cached_property
    def profiled(self) -> Any:
        """The queue of runs with a record, whose commands have times."""
        return cl.CommandQueue(
            self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)

    @cached_property
    def readback(self) -> PinnedCells:
        """The pinned memory for values that the host reads."""
        return PinnedCells(self.context, self.plain)

    @cached_property
    def reads(self) -> DirectReads:
        """The reads into pinned memory by runs without a record."""
        return DirectReads(self.plain)

    def presume(self) -> None:
        """Presume that all probes succeed, which other processes are making.

        Kernels may be built meanwhile, but must not run before :meth:`confirm`.
        """
        if not (self._proved or self._tried):
            self._presumed = True
            self.patience = self.info.shares.patience
            if (offer := next(iter(self.info.shuffles), None)) is not None and offer.size:
                self._use(offer)

    def confirm(self) -> bool:
        """Probe the presumed abilities, if there are any; True if they hold."""
        if not self._presumed:
            return True
        presumed = self.patience, self.shuffles
        self._presumed = False
        self.probe_forward_progress()
        self.probe_subgroups()
        return (self.patience, self.shuffles) == presumed

    def probe_forward_progress(self) -> None:
        """Find out if groups can wait for each other, unless that is known or presumed.

        Sub-groups are not used meanwhile: they have another probe.
        """
        most = self.info.shares.patience
        if not (self._proved or self._presumed) and most:
            def tried() -> bool:
                known, self._tried = self._tried, True
                try:
                    return self._probes.forward_progress(self)
                finally:
                    self._tried = known

            self._proved = True
            self._wait_for("probe_forward_progress")
            self.patience = most if proven(self, LOOK_BACK, tried) else 0

    def probe_subgroups(self) -> None:
        """Find out if sub-groups work as the device says, unless that is known or presumed."""
        if self._tried or self._presumed:
            return

        def tried() -> bool:
            return self._probes.subgroups(self)

        self._tried = True
        self._wait_for("probe_subgroups")
        for offer in self.info.shuffles:
            self._use(self._probes.subgroup_size(self, offer))
            if self.shuffles is not None and proven(self, f"sub-groups: {self.shuffles}", tried):
                return
        self._use(None)

    def _use(self, shuffles: ShuffleMethod | None) -> None:
        self.shuffles = shuffles
        self.shares = replace(self.info.shares, subgroup=1 if shuffles is None else shuffles.size)

    def _wait_for(self, trial: str) -> None:
        if self.trials is not None:
            self.trials(trial)

    @property
    def build_options(self) -> tuple[str, ...]:
        """The options with which programs are built."""
        options = self.info.build_options
        return options if self.shuffles is None else self.shuffles.build_options(options)

    def arrivals(self, more: int) -> int:
        """The count in :attr:`arrived` before a kernel that adds ``more`` to it, modulo 2³²."""
        before = self._arrivals
        self._arrivals = (before + more) % (1 << 32)
        return before

    def resident_groups(self, group: int, local_bytes: int) -> int:
        """The number of groups of a persistent kernel that surely run at the same time.

        A group uses ``local_bytes`` bytes of local memory, besides the bytes that the device
        reserves.  A group that can be launched fits in any case.
        """
        info = self.info
        fitting = max(local_bytes <= info.local_bytes,
                      info.local_bytes // (local_bytes + RESERVED_BYTES))
        per_unit = min(info.resident_items // group, info.resident_groups, fitting)
        return info.units * per_unit


_opened: dict[tuple[int, DeviceInfo], Device] = {}
_opening = threading.Lock()


def open_device(info: DeviceInfo, probes: _Probes) -> Device:
    """The device, opened once, so that programs can pass arrays to each other.

    A device with other preferences (:meth:`DeviceInfo.plain`) is another device.
    """
    identity = info.handle.int_ptr, info
    with _opening:
        if identity not in _opened:
            _opened[identity] = Device(info, probes)
        return _opened[identity]
