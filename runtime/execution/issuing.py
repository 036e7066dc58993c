"""Issuing: copies, launches and reads on the queue of a device, and failures of kernels."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.signatures import FAILURE_ARGS
from runelift.ir.base import failures
from runelift.ir.base.errors import RunFailure
from runelift.ir.prim import Prim
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.first_launch import is_narrow
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import Buffer, OutOfMemory
from runelift.runtime.devices.readback import Elements, neighbours
from runelift.runtime.devices.waiting import LONG
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.kernels import KernelSite
from runelift.runtime.records.record import lone_items
from runelift.runtime.records.recorder import Recorder

_enqueue_kernel = cl.enqueue_nd_range_kernel
_enqueue_read = cl._cl._enqueue_read_buffer
"""The function that :func:`pyopencl.enqueue_copy` calls after 2 us of questions."""

PRIMS = {prim.value: prim for prim in Prim}
"""The types by their names, faster than ``Prim`` finds them."""
MOST_GROUPS = (1 << 31) - 1
"""The most work-groups of a launch, as on NVIDIA's devices."""


class Issuer:
    """Issues commands for one run of an executable, and notes them if the run has a record.

    The host waits only for elements that it reads, and for failures that a kernel may report.
    """

    def __init__(self, executable: Executable, record: bool) -> None:
        device = executable.device
        info = device.info
        self.executable = executable
        self.device = device
        self.queue = device.profiled if record else device.plain
        self.recorder = Recorder() if record else None
        self._is_host = info.is_host
        self._makes_events = record or self._is_host  # a host's processor gains nothing without
        self._most = 0 if info.is_host else info.num_groups * info.group_size
        self._sites = executable.sites
        self._pool = device.pool
        self.allocate = self._pool.allocate
        self._tables = dict[bytes, Any]()  # loops may run again, and kernels are under way
        self._fallible = self._quiet = False
        self.waits_long = executable.waits_long
        """The last wait was long: of this run, which may be repeated, or else of another one."""
        self.issued = 0.0
        """The time when the host had nothing left to issue; 0 before."""
        self._watches_launches = executable.watches_launches
        self.first_launches = 0
        """The launches of kernels that had not run before, where records or measurements are made.

        Some drivers compile for the size of a group then, and memory is mapped.
        """

    def _command(self, event: Any, *, launch: bool = False) -> None:
        if self.recorder is not None:
            self.recorder.command(event, launch=launch)

    # Memory

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
        """Read an element of a buffer; waits for the device."""
        return self.reads((buffer, prim, index))[0]

    def reads(self, *elements: tuple[Buffer, str, int]) -> list[Any]:
        """Elements of buffers, by type and index; waits for the device, once for all of them."""
        return self.values_at([(buffer.handle, prim, index) for buffer, prim, index in elements])

    def values_at(self, elements: Sequence[tuple[Any, str, int]],
                  before: Callable[[list[Any]], None] | None = None) -> list[Any]:
        """Elements of buffers with these handles, as :meth:`reads` finds them.

        Where a kernel has failed, ``before`` gets them before the failure is raised.
        """
        events = []
        found = self._cells_of(elements)
        for handle, out, offset in self._transfers(elements):
            if self.recorder is None:
                self.device.reads.read(handle, out, offset)
            else:
                events.append(_enqueue_read(self.queue, handle, out, offset,
                                            is_blocking=False))
                self._command(events[-1])
        if self.recorder is not None and not self.issued:
            self.recorder.waited()
        if self._fallible:
            try:
                self.check_failure()
            except RunFailure:
                if before is not None:
                    before([out.item() for out in found])
                raise
        else:
            self._wait(*events)
        self._quiet = True
        return [out.item() for out in found]

    def _cells_of(self, elements: Elements) -> list[np.ndarray[Any, Any]]:
        """The places on the host for elements of buffers."""
        return [self.device.readback.cell(number, PRIMS[prim])
                for number, (_, prim, _) in enumerate(elements, 1)]

    def _transfers(self, elements: Elements) -> Iterator[tuple[Any, np.ndarray[Any, Any], int]]:
        """The reads that bring elements to the host: handle, place, and offset in bytes."""
        for first, count in neighbours(elements):
            handle, name, index = elements[first]
            prim = PRIMS[name]
            out = (self.device.readback.cell(first + 1, prim) if count == 1 else
                   self.device.readback.cells(first + 1, prim, count))
            yield handle, out, index * prim.bytes

    def comparison(self, elements: Sequence[tuple[Any, str, int]], values: Sequence[Any]
                   ) -> Callable[[], bool]:
        """A call that reads elements as :meth:`values_at`, and tells if they have these values.

        Values are compared bit by bit.  No kernel before may fail.
        """
        reads = [partial(self.device.reads.read, *each) for each in self._transfers(elements)]
        cells = [(out, np.array([value], out.dtype).tobytes())
                 for out, value in zip(self._cells_of(elements), values, strict=True)]

        def compare() -> bool:
            for call in reads:
                call()
            self._wait()
            return all([out.tobytes() == wanted for out, wanted in cells])

        return compare

    def fetch(self, wanted: Sequence[tuple[Buffer, Prim, tuple[int, ...]]]
              ) -> list[np.ndarray[Any, Any]]:
        """Arrays from buffers, and the failure of a kernel if there is one; waits once for all.

        Small arrays come by way of pinned memory.  Otherwise the last copy waits for the device,
        and Ctrl-C cannot end that wait; if the wait before was long, another one comes first.
        """
        if not self._is_host:
            staged = self.device.readback.arrays([(prim, shape) for _, prim, shape in wanted])
            if staged is not None:
                return self._fetch_staged(wanted, staged)
        found = [np.empty(shape, prim.dtype) for _, prim, shape in wanted]
        reads = [(buffer, out) for (buffer, _, _), out in zip(wanted, found, strict=True)
                 if out.size]
        if not reads:
            return found
        if self.waits_long:
            self._wait()
        started = time.perf_counter()
        cell = self._read_failure() if self._fallible else None
        events = [_enqueue_read(self.queue, buffer.handle, out, is_blocking=not number)
                  for number, (buffer, out) in enumerate(reads, 1 - len(reads))]
        del events  # which wait
        self._note_wait(started)
        self._quiet = True
        if cell is not None:
            self._raise_failure(cell)
        return found

    def _fetch_staged(self, wanted: Sequence[tuple[Buffer, Prim, tuple[int, ...]]],
                      staged: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """Arrays from buffers, by way of the arrays ``staged`` in pinned memory."""
        cell = self._read_failure() if self._fallible else None
        for (buffer, _, _), out in zip(wanted, staged, strict=True):
            if out.size:
                self.device.reads.read(buffer.handle, out)
        self._wait()
        self._quiet = True
        if cell is not None:
            self._raise_failure(cell)
        return [each.copy() for each in staged]

    def table(self, values: np.ndarray[Any, Any]) -> Any:
        """The handle of a buffer with the scalars of kernels in each iteration of a loop."""
        key = values.tobytes()
        if key not in self._tables:
            flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            self._tables[key] = cl.Buffer(self.device.context, flags, hostbuf=values)
        return self._tables[key]

    def statuses(self, words: int) -> Buffer:
        """The buffer in which the groups of a scan publish their totals."""
        return self.device.scan_status.begin(words)

    # Kernels

    def issue(self, number: int, groups: int, group: int, lengths: tuple[int, ...],
              *args: Any) -> None:
        """Run a prepared kernel."""
        if groups <= 0 or group <= 0:
            return
        site = self._sites[number]
        if site.kernel is None:
            self.executable.kernels.build(site.version)
        self._enqueue(site, groups, group, lengths, args)

    def issue_built(self, number: int, constants: tuple[int, ...], groups: int, group: int,
                    lengths: tuple[int, ...], *args: Any) -> None:
        """Run a kernel that is built for the values of its constants."""
        site = self._sites[number]
        if group == 0:
            raise Infeasible(f"kernel {site.launch}: the rows are too long")
        if groups <= 0:
            return
        site.kernel = site.variants.get(constants)
        if site.kernel is None:
            self.executable.kernels.specialise(site, constants)
        self._enqueue(site, groups, group, lengths, args)

    def _enqueue(self, site: KernelSite, groups: int, group: int, lengths: tuple[int, ...],
                 args: tuple[Any, ...]) -> None:
        if lengths and (needed := sum(lengths)) > self.device.info.local_bytes:
            raise Infeasible(f"kernel {site.launch} needs {needed:,} bytes of local memory")
        if groups > MOST_GROUPS:  # drivers crash or hang
            raise Infeasible(f"kernel {site.launch} needs {groups:,} work-groups, "
                             f"more than {MOST_GROUPS:,}")
        kernel = site.kernel
        assert kernel is not None
        try:
            kernel.set_args(args, lengths)
            if self._watches_launches and self.is_first(kernel, groups, group):
                event = self._launch_first(kernel, groups, group)
            elif self._makes_events:
                event = _enqueue_kernel(self.queue, kernel.handle, (groups * group,), (group,))
            else:
                kernel.launch(self.queue, groups * group, group)
        except cl.MemoryError:
            raise OutOfMemory(f"kernel {site.launch} needs more than the device has; "
                              f"{self._pool.live:,} bytes are in use") from None
        except cl.Error as error:
            raise Infeasible(f"kernel {site.launch} does not launch: {error}") from None
        if site.fallible:
            self._fallible = True
        if self.recorder is not None:
            self._note_first(kernel, groups, group)
            self.recorder.command(event, launch=True,
                                  lone_items=lone_items(groups * group, self._most))

    def enqueue_persistent(self, kernel: BoundKernel, groups: int, group: int) -> None:
        """Launch a kernel that runs the iterations of a loop."""
        if self._watches_launches and self.is_first(kernel, groups, group):
            event = self._launch_first(kernel, groups, group)
        else:
            event = _enqueue_kernel(self.queue, kernel.handle, (groups * group,), (group,))
        self._command(event, launch=True)
        if self.recorder is not None:
            self._note_first(kernel, groups, group)
        self._fallible = True

    def _launch_first(self, kernel: BoundKernel, groups: int, group: int) -> Any:
        """Launch a kernel that the driver compiles now; earlier commands have run before."""
        self.queue.finish()
        event = self.executable.kernels.launch_first(self.queue, kernel, groups * group, group)
        self._note_first(kernel, groups, group)
        return event

    def is_first(self, kernel: BoundKernel, groups: int, group: int) -> bool:
        """True if a kernel is yet to be launched with groups of this size."""
        return (kernel, group, is_narrow(groups * group)) not in self.executable.launched

    def _note_first(self, kernel: BoundKernel, groups: int, group: int) -> None:
        """Count a launch if it is the first of this kernel with this size of groups."""
        if self.is_first(kernel, groups, group):
            self.executable.launched.add((kernel, group, is_narrow(groups * group)))
            self.first_launches += 1

    # Failures

    def check_failure(self) -> None:
        """Raise the failure that a kernel recorded, if any; waits for the device."""
        if not self._fallible:
            return
        if self.recorder is None:
            out = self._read_failure()
            self._wait()
        else:
            out = self.device.readback.cell(0, Prim.I32)
            event = _enqueue_read(self.queue, self.device.failure_code, out, is_blocking=False)
            self._wait(event)
            del event  # it would wait on its own
        self._raise_failure(out)

    def _read_failure(self) -> np.ndarray[Any, Any]:
        """The cell for the number of the failure, which is being read."""
        out = self.device.readback.cell(0, Prim.I32)
        self.device.reads.read(self.device.failure_code, out)
        return out

    def _raise_failure(self, cell: np.ndarray[Any, Any]) -> None:
        self._fallible = False
        if (code := cell.item()) < 0:
            return
        args = np.empty(FAILURE_ARGS, np.int64)
        cl.enqueue_copy(self.queue, args, self.device.failure_args, is_blocking=True)
        failure = self.executable.kernels.failures[code]
        place = ""
        if failure.loc is not None:
            place = "\n".join([str(failure.loc), *failure.loc.trace()])
        raise failure_at(place, failure.message.format(*args.tolist()))

    def recheck(self) -> None:
        """Look for a failure again next time: the one that was raised may not be the first."""
        self._fallible = True

    def recover(self) -> None:
        """Wait for commands under way after a failure, and forget what they reported."""
        if self.device.waits.abandoned is not None:
            return
        with contextlib.suppress(cl.Error):
            self.queue.finish()
            self.device.clear_failure(self.queue)
            self.queue.finish()

    # The end

    def all_issued(self, *, waited: bool = False) -> None:
        """Note that the host has no more work that the device could wait for.

        If it ``waited`` for the last command, the device has no more work either.
        """
        self._quiet, self.issued = waited, time.perf_counter()

    def finish(self) -> None:
        """Wait for the device, and raise the failure of a kernel if there is one."""
        if self._fallible:
            self.check_failure()
        elif not self._quiet:
            self._wait()

    def _wait(self, *events: Any) -> None:
        """Wait for the device; if the wait before was long, Ctrl-C may end this one."""
        started = time.perf_counter()
        if self.waits_long:
            self.device.waits.wait(self.queue, *events)
        else:
            self.queue.finish()
        self._note_wait(started)

    def _note_wait(self, started: float) -> None:
        """Note if a wait was long, for the next one of this run, and of new runs."""
        self.waits_long = self.executable.waits_long = time.perf_counter() - started > LONG


def failure_at(place: str, message: str) -> RunFailure:
    """A failure at a place of the program: its first line, and the calls that led there."""
    first, *calls = place.split("\n") if place else ("",)
    text = f"{first}: {message}" if first else message
    return failures.kind_of(message)("\n".join([text, *calls]))
