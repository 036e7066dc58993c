"""Running host plans on a device.

A host plan is a Python function of ``rt``: this module's :class:`Run` is the ``rt`` that runs it.
A version that cannot be built or launched is rejected, and the next one runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, NoReturn, TypeAlias

import pyopencl as cl

from runelift.codegen.emit.phases import PersistentKernel
from runelift.ir.base import failures
from runelift.ir.base.deep import deep_calls
from runelift.ir.base.errors import CompilerLimitation, UserError, VersionUnavailable
from runelift.ir.guards import Kind
from runelift.ir.ragged import PARTS_OF_LONGEST
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import Buffer, OutOfMemory, elements_of_slab
from runelift.runtime.execution import persistent_loops
from runelift.runtime.execution.commands import RunLoop
from runelift.runtime.execution.delivery import Delivery
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.issuing import Issuer, failure_at
from runelift.runtime.execution.loop_scalars import LoopScalars, Row
from runelift.runtime.geometry.shape import MOST_REMEMBERED
from runelift.runtime.host import interrupts
from runelift.runtime.records.record import Record
from runelift.runtime.records.recorder import EncounterKind
from runelift.runtime.versions.choose import (
    NEVER,
    UNMET,
    Facts,
    LocalBytes,
    VersionChooser,
)

Force: TypeAlias = Mapping[str, int]
"""The version to run at a site, whatever its guard says, by the name of the site."""
Ending: TypeAlias = Callable[..., tuple[Any, ...]]
"""The epilogue of a plan as a function: the part after all commands have been issued."""


class DeviceFailed(UserError):
    """The device failed, and may do so from now on."""


class Outcome(NamedTuple):
    """The results of a run, and the seconds of the run itself, until the device had ended.

    ``issue`` is the host's time until all was issued (seconds).  ``first_launches``: of kernels
    that had not run before, if there is a record.
    """

    results: tuple[Any, ...]
    record: Record | None
    seconds: float
    issue: float
    first_launches: int = 0


class Run(Issuer):
    """The ``rt`` that runs a plan: one execution on the device.

    Host plans call and read its public names.
    """

    CannotRun = (Infeasible, OutOfMemory)
    never, unmet = NEVER, UNMET
    copies = False
    """True if the run copies buffers of the plan, so that it needs more memory than other runs."""

    def __init__(self, executable: Executable, thresholds: Mapping[str, int], force: Force,
                 record: bool, *, samples: bool = False) -> None:
        super().__init__(executable, record)
        device, info = executable.device, executable.device.info
        self.samples = samples
        self.group_size = info.group_size
        self.num_groups = info.num_groups
        self.sequential_segment = info.sequential_segment
        self.max_group = info.max_group
        self.local_bytes = info.local_bytes
        self.counters = device.counters
        self.launch, self.launch_built = self.issue, self.issue_built
        self._thresholds, self._force = thresholds, force
        decisions = executable.decisions.under(thresholds, force)
        self.settings = decisions.settings
        self.infeasible = dict(executable.infeasible)
        self.chooser = VersionChooser(executable.generated.sites, info, thresholds, force,
                                      decisions.choices, self.infeasible,
                                      executable.predictor)
        self._obstacle: Exception | None = None
        self._orders: dict[int, list[int]] = {}
        """The versions to try at the last encounter with each site; a version may come twice."""
        self._slab, self._shorter = (0, 0), 0
        """The elements of the last run of segments and of the longest one; how often shortened."""
        self._called: tuple[str, tuple[int, str, int]] | None = None
        """The place of the last call of a function that calls itself: points, name and depth."""
        self.shape = executable.geometry.shape

    def uncaptured(self) -> Run:
        """A run like this one, which only runs."""
        return Run(self.executable, self._thresholds, self._force, record=False)

    # The whole run

    def begin(self, *, fallible: bool) -> None:
        """Begin to issue again the commands of an earlier run."""
        self._fallible, self.issued = fallible, 0.0

    def call(self, main: Callable[[Any, Any], tuple[Any, ...]], args: Any, *,
             deliver: Delivery | None = None) -> Outcome:
        """Run ``main`` on ``args``, check for failures, and make the record.

        The results are raw, or what ``deliver`` makes of them.
        """
        self._pool.peak = self._pool.live
        started = time.perf_counter()
        try:
            results = self.follow(main, args)
            issue = (self.issued or time.perf_counter()) - started
            if deliver is not None:
                results = deliver(self, results)
            self.finish()
        except BaseException as error:
            self.failed(error)
        interrupts.check()
        wall = time.perf_counter() - started
        return Outcome(results, self._record(wall, issue), wall, issue, self.first_launches)

    def follow(self, main: Callable[[Any, Any], tuple[Any, ...]], args: Any) -> tuple[Any, ...]:
        """Run ``main`` on ``args``, with versions whose memory the device can hold."""
        guard = self.executable.memory
        if guard is None or not guard.active:
            return self._followed(main, args)
        with guard.within(self, self._thresholds, self._force, args):
            return self._followed(main, args)

    def _followed(self, main: Callable[[Any, Any], tuple[Any, ...]], args: Any) -> tuple[Any, ...]:
        """Run ``main``, with room for the deepest calls if the plan has functions."""
        if not self.executable.recursive:
            return main(self, args)
        with deep_calls():
            return main(self, args)

    def failed(self, error: BaseException) -> NoReturn:
        """Recover from an error, and raise it as callers know it."""
        try:
            match error:
                case Infeasible():
                    raise CompilerLimitation(f"No version can run: {error}.") from None
                case OutOfMemory():
                    self._too_many_calls()
                    raise UserError(f"Out of device memory: {error}.") from None
                case cl.Error():
                    raise DeviceFailed(f"The device failed: {error}.") from None
            raise error
        finally:
            self.recover()
            del error  # its traceback would keep it, and the buffers of the run

    def _record(self, wall: float, issue: float) -> Record | None:
        return None if self.recorder is None else self.recorder.record(
            self.executable.plan.entry, wall=wall, issue=issue, peak_bytes=self.peak_bytes,
            device=self.device.info.label, infeasible=self.infeasible)

    @property
    def peak_bytes(self) -> int:
        """The most memory that was in use."""
        return self._pool.peak

    def array(self, buffer: Buffer, prim: str, shape: tuple[int, ...]
              ) -> tuple[Buffer, str, tuple[int, ...]]:
        """An array result of the run."""
        return buffer, prim, shape

    def conclude(self, ending: Ending, *values: Any) -> tuple[Any, ...]:
        """The results, which ``ending`` makes of ``values``; all commands have been issued."""
        self.all_issued()
        return ending(self, *values)

    def fail(self, place: str, message: str, *args: Any) -> None:
        """Raise a failure that the host found, unless a kernel failed before."""
        self.check_failure()
        raise failure_at(place, message.format(*args))

    # Calls

    def deeper(self, depth: int, place: str, function: str, points: int = 1, least: int = 0
               ) -> None:
        """Note a call of a function for some points inside of ``depth`` calls of it.

        Fail if it is too deep, or if not even the ``least`` bytes of each point are free.
        """
        if depth >= failures.MOST_CALLS:
            self.fail(place, failures.DEPTH, depth)
        self._called = place, (points, function, depth)
        if least and points * least > self._pool.room:
            self._too_many_calls()

    def returned(self) -> None:
        """Note that the outermost call of a function has returned."""
        self._called = None

    def _too_many_calls(self) -> None:
        """Fail if memory is too small for the calls of a function that have not returned."""
        if self._called is not None:
            place, args = self._called
            self.fail(place, failures.CALLS, *args)

    # Loops

    def slab_size(self, bytes_each: int, longest: int) -> int:
        """The elements of a run of segments, of so many bytes each, for the memory there is."""
        pool, most = self._pool, self.device.info.global_bytes
        room = (most if pool.limit is None else pool.limit) - pool.live
        self._slab = max(1, elements_of_slab(room, bytes_each, longest) >> self._shorter), longest
        if longest > room:  # elements have a byte at least; sums of such lengths may wrap around
            raise OutOfMemory(f"the longest row needs more than the {room:,} bytes that are free")
        return self._slab[0]

    def _has_shorter_slabs(self, number: int, version: int, reason: Exception) -> bool:
        """True if a version has run out of memory that can run over shorter runs of segments.

        Sizes that it has made inside of segments were not known before.
        """
        size, longest = self._slab
        return (self._is_slabs(number, version) and isinstance(reason, OutOfMemory)
                and size > max(1, longest // PARTS_OF_LONGEST))

    def _is_slabs(self, number: int, version: int) -> bool:
        return self.executable.generated.sites[number].versions[version].kind is Kind.SLABS

    def rounds(self, bound: int, carried: Callable[[], tuple[Buffer | None, ...]],
               course: LoopScalars | None = None) -> Iterable[Any]:
        """The iterations of a loop that launches the same kernels again and again."""
        if persistent_loops.is_worthwhile(self, bound):
            return persistent_loops.host_iterations(self, bound, carried, course)
        return persistent_loops.iterations(self, course, 0, bound)

    def course(self, step: Callable[..., tuple[Row, Row]], prims: Sequence[str],
               carried: Row) -> LoopScalars:
        """The computed scalars of a loop; ``carried`` are the initial values."""
        return LoopScalars(step, prims, carried)

    def rounds_while(self, cond: Callable[[], Buffer],
                     carried: Callable[[], tuple[Buffer | None, ...]]) -> Iterable[None]:
        """The iterations of a ``while`` loop whose condition is on the device."""
        return persistent_loops.while_iterations(self, cond, carried)

    def tracing(self, traced: persistent_loops.TracedIteration) -> AbstractContextManager[None]:
        """Note launches in ``traced`` rather than issue them."""
        return persistent_loops.tracing(self, traced)

    def persistent_kernel(self, kernel: PersistentKernel) -> BoundKernel | None:
        """The built kernel for the iterations of a loop; None if it cannot be built."""
        return self.executable.kernels.persistent(kernel)

    def run_loop(self, loop: RunLoop) -> None:
        """Have one kernel run the iterations of a loop."""
        persistent_loops.run_loop(self, loop)

    def run_while_loop(self, loop: RunLoop) -> None:
        """Run the iterations of a loop by one kernel until the device ends the loop."""
        persistent_loops.run_while_loop(self, loop)

    def saw_iterations(self, count: int) -> None:
        """Learn the number of iterations that the last persistent kernel has run."""
        return

    # Versions

    @property
    def encounters(self) -> int:
        """The number of encounters in the record so far."""
        return 0 if self.recorder is None else self.recorder.encounters

    def encounter(self, number: int, pars: tuple[int, ...], facts: Facts,
                  local: LocalBytes, sizes: dict[str, int]) -> Iterable[int]:
        """The versions of a site to try, the chosen one first."""
        order = self._orders[number] = [*self.chooser.versions(number, pars, facts, local, sizes)]
        self._slab, self._shorter = (0, 0), 0
        return order if self.recorder is None else self._recorded(
            self.kind_of_encounter(number, pars, facts, sizes, order), order)

    def _recorded(self, kind: EncounterKind, order: list[int]) -> Iterator[int]:
        """The versions to try, each noted in the record."""
        assert self.recorder is not None
        for place, chosen in enumerate(order):
            self.recorder.enter(kind, tuple(sorted(order[place:])), chosen)
            yield chosen

    def kind_of_encounter(self, number: int, pars: tuple[int, ...], facts: Facts,
                          sizes: Mapping[str, int], feasible: Sequence[int]) -> EncounterKind:
        """The properties that all encounters with these sizes and feasible versions share."""
        known = self.executable.encounter_kinds
        key = number, pars, facts, *sorted(feasible), *sizes.values()
        if (found := known.get(key)) is None:
            if len(known) >= MOST_REMEMBERED:
                known.clear()
            found = known[key] = EncounterKind(
                self.executable.generated.sites[number].site, dict(sizes),
                self.chooser.compared(number, pars), self.chooser.scarce(number, facts, feasible))
        return found

    def leave(self, number: int) -> None:
        """Note that the chosen version has been issued."""
        if self.recorder is not None:
            self.recorder.leave()

    def abandon(self, number: int, version: int, reason: Exception) -> None:
        """Reject a version that could not run; the next one is tried, if none was required.

        Slabs are tried again with fewer elements, as long as that changes anything.
        """
        if self._has_shorter_slabs(number, version, reason):
            self._shorter += 2
            order = self._orders[number]
            order.insert(order.index(version) + 1, version)
            if self.recorder is not None:
                self.recorder.abandon()
            return
        if self.chooser.requires(number, version):
            raise VersionUnavailable(self.chooser.name(number, version),
                                     str(reason).splitlines()[0].rstrip(".")) from None
        self.executable.given_up[self.chooser.name(number, version)] = str(reason)
        if self.recorder is not None:
            self.recorder.abandon()
        self.chooser.retry()
        if isinstance(reason, OutOfMemory) and self.executable.memory is not None:
            self.executable.memory.ran_out()
        if not self._slab[1] or self._is_slabs(number, version):  # slabs need least
            self._obstacle = reason.with_traceback(None)
        if isinstance(reason, Infeasible):
            name = self.chooser.name(number, version)
            self.infeasible[name] = str(reason)
            if reason.at_any_size:
                self.executable.infeasible[name] = str(reason)
                self.executable.decisions.forget()

    def none_left(self, number: int) -> None:
        """Raise the reason why no version of a site could run."""
        if isinstance(self._obstacle, OutOfMemory):
            longest, guard = self._slab[1], self.executable.memory
            raise OutOfMemory(f"{self._obstacle}" + (
                f".  A row is never cut, and the longest has {longest:,} elements: split long "
                "rows, or " + ("take a device with more memory" if guard is None
                               or guard.bound is None else "allow more memory (--memory)")
                if longest else ""))
        raise Infeasible("; ".join(self.chooser.obstacles(number)))
