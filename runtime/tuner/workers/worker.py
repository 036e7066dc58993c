"""The worker: a process that runs a program while it is tuned.

A kernel cannot be stopped, and a wrong one may end its process.  So the tuner
(:mod:`~runelift.runtime.tuner.workers.remote`) is another process, which ends this one and starts
the next.  Requests come over a connection and are answered in order.  A request is a tuple, as
processes that only build kernels must not import this module before they have to.  Before its
answer, a request may send messages: tuples of a kind and its data.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import pyopencl as cl

from runelift.codegen.plan.plan import Plan
from runelift.ir.base.errors import CompilerLimitation, RuneliftError, UserError
from runelift.ir.base.files import read_source
from runelift.runtime.cache import disk
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import load_compiled
from runelift.runtime.devices import slow_builds
from runelift.runtime.devices.build import Infeasible, build_program, cache_name
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.driver.build import BuildRequest
from runelift.runtime.devices.info import DeviceInfo, select
from runelift.runtime.execution.policy import BuildWatch, CallPolicy
from runelift.runtime.execution.probes.on_demand import open_device, plan_probes, plans_of_probes
from runelift.runtime.execution.run import DeviceFailed
from runelift.runtime.host.background import frequent_switches
from runelift.runtime.host.channel import receive, send
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.measure.measurable import Args, Force, RecordAndTime, Thresholds
from runelift.runtime.tuner.replay.racing import Race
from runelift.runtime.tuner.replay.replay_records import (
    OutOfReplayMemory,
    ReplayRecord,
    UnknownCost,
)
from runelift.runtime.tuner.trials.protocol import OperationId, OperationTime, Search
from runelift.runtime.tuner.workers.measured_program import (
    NOTABLE_SECONDS,
    PREPARATIONS,
    MeasuredProgram,
    Preparation,
)
from runelift.runtime.tuner.workers.requests import OpenProgram
from runelift.runtime.tuner.workers.result_checks import ResultChecks
from runelift.runtime.tuner.workers.watchdog import BUILD_SECONDS, VERSION_BUILD_SECONDS
from runelift.runtime.versions.size_guards import GuardedThresholds


class BuildNotices(BuildWatch):
    """Sends a message at the begin and at the end of each build.

    A kernel that is not built in time is one that cannot run.  The tuner ends the worker, and the
    next one refuses the program, as workers of later tunings do
    (:mod:`~runelift.runtime.devices.slow_builds`).  The programs ``refused`` take too long.
    """

    def __init__(self, device: DeviceInfo, refused: Collection[str],
                 send: Callable[..., None]) -> None:
        self._device, self._send, self._refused = device, send, set(refused)

    def refuse(self, programs: Iterable[Sequence[str]]) -> None:
        """Refuse further programs, in later tunings, too."""
        for program in programs:
            name = cache_name(self._device, *program)
            self._refused.add(name)
            slow_builds.note(name, VERSION_BUILD_SECONDS)

    def begins(self, program: Sequence[str], *, needed: bool) -> None:
        """Tell the tuner how long it may take; Infeasible if it is known to take longer."""
        name = cache_name(self._device, *program)
        limit = BUILD_SECONDS if needed else VERSION_BUILD_SECONDS
        if limit < BUILD_SECONDS and (
                name in self._refused or slow_builds.takes_longer(name, limit)):
            raise Infeasible(f"the kernels are not built after {limit:.0f} s")
        self._send("building", name, limit)

    def ends(self, program: Sequence[str]) -> None:
        """Tell the tuner that it is over."""
        self._send("built", cache_name(self._device, *program))

    def alive(self) -> None:
        """Have the tuner's clock start again."""
        self._send("begun")


Request: TypeAlias = tuple[Any, ...]
"""The name of a method of a session, and its arguments."""
KNOWN_THRESHOLDS = 16
"""The number of thresholds with size guards that are recognised in later requests."""
IDLE_SECONDS = 0.02
"""The time without a request after which deferred work begins."""


class Session:
    """A program on a device that answers requests.

    ``source`` is the path and the policy of the program that it will be given, if they are known.
    ``placed`` has arguments on the device by number.  ``known_plans`` are keys of the plans that
    the tuner has.
    """

    def __init__(self, device: DeviceInfo | None, connection: Connection) -> None:
        self.device = device
        self.connection = connection
        self.program: Program
        self.source: tuple[str, str] | None = None
        self.placed: dict[int, Sequence[Any]] = {}
        self.checks = ResultChecks()
        self.known_plans = frozenset[Any]()
        self._notices: BuildNotices | None = None
        self._alone = False
        self.outside = False
        """Other processes build kernels."""
        self.deferred: list[Callable[[], None]] = []
        """Work for the time in which no request waits."""
        self.others_probe = False
        """Other processes probe the device."""
        self._known_thresholds: deque[GuardedThresholds] = deque(maxlen=KNOWN_THRESHOLDS)
        self._probes: Future[None] | None = None
        self._frequent_switches = contextlib.ExitStack()
        self._expected: Program | None = None
        self._sending = threading.Lock()
        self._last_message = -math.inf
        """The time of the last message of the present request."""

    @property
    def measured(self) -> MeasuredProgram:
        """The program as the tuner sees it."""
        return MeasuredProgram(self.program, self.checks)

    def answer(self, request: Request) -> Any:
        """The answer to a request: the name of a method of this class, and its arguments."""
        self._last_message = -math.inf
        method, *args = request
        return getattr(self, method)(*args)

    # Calls of the program as the tuner sees it

    def call(self, method: str, entry: str, number: int, args: Sequence[Any] = (),
             options: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """Call a method of :class:`MeasuredProgram` about the arguments with a number."""
        args = [self._same_all(each) if isinstance(each, list) else self._same(each)
                for each in args]
        options = {name: self._same(value) for name, value in options.items()}
        if (needs := PREPARATIONS.get(method)) is not None:
            self._prepare(entry, needs(*args, **options))
        return getattr(self.measured, method)(entry, self.placed[number], *args, **options)

    def measure_all(self, entry: str, number: int, forces: Sequence[Force],
                    thresholds: Thresholds | None, recorded: Sequence[bool]) -> None:
        """Make runs; the costs come in messages before the answer.

        A run that loses the device ends the request.
        """
        for force, records in zip(forces, recorded, strict=True):
            about = entry, number, (), {"force": force, "thresholds": thresholds}
            made: RecordAndTime | RuneliftError
            try:
                made = (self.call("record", *about) if records else None,
                        self.call("timing", *about))
            except DeviceFailed:
                raise
            except (UserError, CompilerLimitation) as error:
                made = error
            self._send("made", made)

    def replay(self, entry: str, number: int, race: Race) -> tuple[ReplayRecord, Race]:
        """Replay a run; the result has the state of the race after it."""
        race.watch, unwatched = partial(self._send, "attempt"), race.watch
        replayed = self.call("replay", entry, number, (race,))
        race.watch = unwatched
        return replayed, race

    def try_settings(self, entry: str, number: int, operations: Sequence[OperationId],
                     options: Mapping[str, Any]) -> Sequence[OperationTime]:
        """Try settings; the searches are in the tuner's process."""
        found: Sequence[OperationTime] = self.call("try_settings", entry, number, (), {
            **options, "searches": {each: partial(self._search, each) for each in operations}})
        return found

    # Other requests

    def place_arguments(self, number: int, values: Args) -> None:
        """Bring arguments to the device under a number."""
        self._await_probes()
        self.placed[number] = self.measured.place(values)

    def drop_arguments(self, numbers: Sequence[int]) -> None:
        """Forget the arguments with these numbers."""
        for number in numbers:
            self.checks.drop(self.placed.pop(number, ()))

    def save_manifest(self) -> None:
        """Keep what was built for the next tuning."""
        self.measured.save_manifest()

    def probe_forward_progress(self) -> None:
        """Find out if groups of the device can wait for each other."""
        self._opened().probe_forward_progress()

    def probe_subgroups(self) -> None:
        """Find out if the sub-groups of the device are what it says."""
        self._opened().probe_subgroups()

    def open(self, request: OpenProgram) -> bool:
        """Take a program; false if it is a snapshot that is not the stored program's."""
        compiled = request.compiled
        if isinstance(compiled, str):
            if self.stored is None or self.stored.snapshot != compiled:
                return False
            compiled = self.stored
        self.outside, self.known_plans = request.outside, frozenset(compiled.plans)
        if self.device is not None:
            self._notices = BuildNotices(self.device, request.slow, self._send)
            self._alone = request.alone
        expected, self._expected = self._expected, None
        if expected is not None and expected.compiled is compiled and not request.contract:
            self.program = expected
            expected.thresholds, expected.policy = dict(request.thresholds), request.policy
        else:
            self.program = Program(compiled, self.device, request.thresholds, request.policy,
                                   fp_contract=request.contract)
        self.program.loaded.stores_plans = False
        self.program.loaded.memory = request.memory
        return True

    def prebuild_all(self, entry: str, inputs: Sequence[Args], forces: Sequence[Force]) -> bool:
        """Begin to build what runs need; new kernels are checked while other processes build."""
        loaded = self.program.loaded
        loaded.checks_kernels = False
        try:
            self._prepare(entry, Preparation(runs=False))
            found = self.measured.prebuild_all(entry, inputs, forces)
        finally:
            loaded.checks_kernels = True
        loaded.plan(entry)
        return found

    # Work between requests

    def rest(self, idle: float = IDLE_SECONDS) -> None:
        """Do deferred work until a request waits, after so many seconds without one."""
        while self.deferred and not self.connection.poll(idle):
            self.deferred.pop(0)()

    @cached_property
    def stored(self) -> Compiled | None:
        """The program that will be given, if it is stored on disk."""
        if self.source is not None:
            path, policy = self.source
            with contextlib.suppress(RuneliftError):
                return load_compiled(read_source(Path(path)), policy=policy)
        return None

    def expect(self) -> None:
        """Read the program that will be given; get ready to make plans if none are stored.

        If it has been tuned before, its kernels begin to be loaded.
        """
        if self.stored is None or not self.stored.plans:
            self.deferred.append(_import_plans)
        elif self.device is not None:
            self.deferred.append(self._load_ahead)

    def _load_ahead(self) -> None:
        assert self.stored is not None
        self.others_probe = False  # the device has been probed before if the program has run here
        self._await_probes()
        self._expected = Program(self.stored, self.device, {}, self.stored.policy)
        self._expected.loaded.prebuilder.load_ahead()

    # The device

    def build(self, source: Sequence[str]) -> None:
        """Build a program of kernels for the binary cache."""
        if self.device is not None:
            with contextlib.suppress(Infeasible), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                build_program(self._opened(), *source)

    def begin_probes(self, info: DeviceInfo) -> None:
        """Probe the device in a thread, as soon as it is open.

        Plans are made meanwhile, so threads switch often.  Nothing else may use the device
        before :meth:`_await_probes`.
        """
        def probe() -> None:
            plan_probes(info)
            device = open_device(info)
            device.probe_forward_progress()
            device.probe_subgroups()

        self._frequent_switches.enter_context(frequent_switches())
        self._probes = ThreadPoolExecutor(1, "probes").submit(probe)

    def _await_probes(self) -> None:
        """Wait for the probes of the device; forget what they refute."""
        if self.others_probe:
            self.others_probe = False
            self._send("trials")
            receive(self.connection)
        if self._probes is not None:
            self._probes.result()
            self._probes = None
            self._frequent_switches.close()
        if self.device is not None and not self._opened().confirm():
            self.program.loaded.forget_prebuilt()

    def _opened(self) -> Device:
        assert self.device is not None
        return open_device(self.device)

    # Runs

    def _prepare(self, entry: str, needs: Preparation) -> None:
        """Make plan and executable, and all that is needed; from here on, time counts."""
        loaded = self.program.loaded
        loaded.plan(entry)
        if self.others_probe and not needs.runs:
            self._opened().presume()
        else:
            self._await_probes()
        executable = loaded.executable(entry)
        executable.follow(CallPolicy(
            captures_first=True, may_fuse=needs.fuses,
            patient=needs.patient, builds_alone=self._alone, watch=self._notices or BuildWatch(),
            outside=self._build_outside if self.outside else None))
        if needs.source is not None:
            getattr(executable.forms, needs.source)
        if time.perf_counter() - self._last_message > NOTABLE_SECONDS:
            self._send("begun")

    def _build_outside(self, sources: Sequence[Sequence[str]], waits: bool) -> None:
        self._send("wanted", list(sources), waits)
        if waits:
            self._send_plans()
            late = receive(self.connection)
            if self._notices is not None:
                self._notices.refuse(late)

    def new_plans(self, known: Set[Any]) -> dict[Any, Plan]:
        """The plans that have been made, except plans with ``known`` keys."""
        self.program.loaded.store_plans()
        return {key: plan for key, plan in self.program.compiled.plans.items()
                if key not in known}

    def _send_plans(self) -> None:
        """Send new plans: while other processes build, that costs no time."""
        if new := self.new_plans(self.known_plans):
            self._send("plans", new)
            self.known_plans |= new.keys()

    def _search(self, operation: OperationId) -> Search:
        self._send("search", operation)
        while (setting := receive(self.connection)) is not None:
            found = yield setting
            self._send("found", operation, found)

    def _same_all(self, choices: Sequence[Any]) -> list[Any]:
        """Equal thresholds, as the objects of earlier requests (:meth:`_same`)."""
        each_once = {id(each): self._same(each) for each in choices}
        return [each_once[id(each)] for each in choices]

    def _same(self, thresholds: Any) -> Any:
        """Equal thresholds, as the object of an earlier request; other values as they are.

        Runs remember their decisions by thresholds and size guards.  To compare equal tables that
        are different objects takes as long as a short run.
        """
        if not isinstance(thresholds, GuardedThresholds):
            return thresholds
        for known in self._known_thresholds:
            if known == thresholds and known.finer == thresholds.finer:
                return known
        self._known_thresholds.append(thresholds)
        return thresholds

    def reply(self, answer: tuple[str, Any]) -> None:
        """Send the answer to a request."""
        with self._sending:
            send(self.connection, answer)

    def _send(self, kind: str, *data: Any) -> None:
        with self._sending:
            send(self.connection, (kind, *data))
        self._last_message = time.perf_counter()


def serve(connection: Connection, *, builds: bool = False, probes: bool = False,
          opened: Callable[[], None] = lambda: None, opening: BuildRequest | None = None,
          request: Any = None) -> None:
    """Open the device, call ``opened``, and answer requests until there are no more.

    The device is that of ``opening``, which else comes over the connection.  A process that only
    ``builds`` sends a message when it is ready, and does not prepare to run programs.  It prepares
    to probe the device if there will be ``probes``.  With a first ``request``, it has been ready
    before.
    """
    if probes:
        _expect_probes(connection)
    try:
        opening = opening or receive(connection)
        disk.set_fingerprint(opening.fingerprint)
        info = select(opening.device, tells=False)
    except EOFError:
        return
    session = Session(info, connection)
    session.source = opening.program
    if info is not None:
        warnings.simplefilter("ignore", cl.CompilerWarning)  # of all threads
        session.others_probe = info.locked_compiler and not builds
        if not (builds or info.is_host or session.others_probe):
            session.begin_probes(info)
        open_device(info)
        if request is None:
            opened()
        if builds:
            if request is None:
                send(connection, "ready")
        else:
            session.deferred += [session.expect, _import_runs]
    session.rest(0.0)
    session.deferred.clear()  # from here on, work is done on demand
    while True:
        try:
            asked = request or receive(connection)
        except EOFError:
            return
        request = None
        session.reply(_answer(session, asked))
        session.rest()


def _expect_probes(connection: Connection) -> None:
    """Make the kernels of probes while the device may not be opened."""
    if not connection.poll():
        for plan in plans_of_probes():
            if not connection.poll():
                plan()


def _import_runs() -> None:
    # late: it is imported here so that nothing waits for it afterwards
    from runelift.runtime.tuner.trials import trial_run  # noqa: F401


def _import_plans() -> None:
    # late: it is imported here so that nothing waits for it afterwards
    from runelift.codegen.segops import segscan_single_pass  # noqa: F401


def _answer(session: Session, request: Request) -> tuple[str, Any]:
    try:
        return "result", session.answer(request)
    except DeviceFailed as error:  # all later runs in this process would fail, too
        return "lost", error
    except (RuneliftError, OutOfReplayMemory, UnknownCost) as error:
        return "error", error
    except Exception:
        return "bug", traceback.format_exc()
