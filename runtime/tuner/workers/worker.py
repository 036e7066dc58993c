"""The process that runs a program while it is tuned, so that the tuner survives what it runs.

A kernel that is under way cannot be stopped, and one that goes wrong may take its process with it:
so the tuner (:mod:`~runelift.runtime.tuner.workers.remote`) is another one, which ends this one
and starts the next.  Requests come over a connection and are answered in order; before its answer,
a request may tell what it is doing (notes), and ask for settings.
"""

from __future__ import annotations

import contextlib
import math
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyopencl as cl

from runelift.codegen.plan.plan import Plan
from runelift.ir.errors import CompilerLimitation, RuneliftError, UserError
from runelift.ir.files import read_source
from runelift.runtime.cache import disk
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import load_compiled
from runelift.runtime.devices.build import Infeasible, build_program
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.driver.build import BuildRequest
from runelift.runtime.devices.info import DeviceInfo, select
from runelift.runtime.execution.probes.on_demand import (
    open_device,
    plan_probes,
    plans_of_probes,
)
from runelift.runtime.execution.run import DeviceFailed
from runelift.runtime.execution.sequential_runner import Both
from runelift.runtime.host.background import frequent_switches
from runelift.runtime.host.channel import receive, send
from runelift.runtime.program import NOTABLE, Program
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.replay.racing import Race
from runelift.runtime.replay.replay_records import OutOfReplayMemory, ReplayRecord, UnknownCost
from runelift.runtime.trials.protocol import OperationId, OperationTime, Search
from runelift.runtime.versions.size_guards import GuardedThresholds

Choice = Mapping[str, int] | None
CHOICES = 16
"""How many finer guards are known again."""
IDLE = 0.02
"""After how many seconds without a request there may be time for something else."""


class Session:
    """A program on a device, and what requests may ask of it; ``placed`` are arguments there.

    ``coming`` is the program that it was told of (path and policy).  ``told`` are the plans that
    the tuner knows of.
    """

    def __init__(self, device: DeviceInfo | None, connection: Connection) -> None:
        self.device = device
        self.connection = connection
        self.program: Program
        self.coming: tuple[str, str] | None = None
        self.placed: dict[int, Sequence[Any]] = {}
        self.told = frozenset[Any]()
        self.outside = False
        self.later: list[Callable[[], None]] = []
        """What is to be done while no request waits."""
        self._choices: deque[GuardedThresholds] = deque(maxlen=CHOICES)
        self.others_try = False
        """Whether others make trials of the device, so that it is left to them."""
        self._trials: Future[None] | None = None
        self._turns = contextlib.ExitStack()
        self._expected: Program | None = None
        self._noted = -math.inf
        """When the tuner was told something last, of the present request."""

    def answer(self, name: str, args: Sequence[Any]) -> Any:
        """What is asked for."""
        self._noted = -math.inf
        return getattr(self, name)(*args)

    def rest(self, idle: float = IDLE) -> None:
        """Do what is to be done later until a request waits, where there was none for so long."""
        while self.later and not self.connection.poll(idle):
            self.later.pop(0)()

    def build(self, source: Sequence[str]) -> None:
        """Build a program for the binary cache."""
        if self.device is not None:
            with contextlib.suppress(Infeasible), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                build_program(self._opened(), *source)

    def prove(self) -> None:
        """Find out whether groups can wait for each other, for the cache."""
        self._opened().prove()

    def prove_subgroups(self) -> None:
        """Find out whether sub-groups are what the device says, for the cache."""
        self._opened().prove_subgroups()

    def begin_trials(self, info: DeviceInfo) -> None:
        """Find out in a thread what the device can do, as soon as it is open.

        Plans are made meanwhile, by a thread that does not wait long for this one, nor this one
        for it.  Nothing else may use the device before :meth:`_settle`.
        """
        def tried() -> None:
            plan_probes(info)
            device = open_device(info)
            device.prove()
            device.prove_subgroups()

        self._turns.enter_context(frequent_switches())
        self._trials = ThreadPoolExecutor(1, "trials").submit(tried)

    def _settle(self) -> None:
        """Wait until it is known what the device can do."""
        if self.others_try:
            self.others_try = False
            self._note("trials")
            receive(self.connection)
        if self._trials is not None:
            self._trials.result()
            self._trials = None
            self._turns.close()
        if self.device is not None and not self._opened().confirm():
            self.program.begin_anew()

    def _opened(self) -> Device:
        assert self.device is not None
        return open_device(self.device)

    @cached_property
    def kept(self) -> Compiled | None:
        """The program that is coming, if it is kept."""
        if self.coming is not None:
            path, policy = self.coming
            with contextlib.suppress(RuneliftError):
                return load_compiled(read_source(Path(path)), policy=policy)
        return None

    def expect(self) -> None:
        """Read the program that is coming; get ready to make its plan if there is none.

        If it has been tuned before, its kernels begin to be loaded.
        """
        if self.kept is None or not self.kept.plans:
            self.later.append(_import_plans)
        elif self.device is not None:
            self.later.append(self._load_ahead)

    def _load_ahead(self) -> None:
        assert self.kept is not None
        self.others_try = False  # nobody does if it has been run here before
        self._settle()
        self._expected = Program(self.kept, self.device, {}, self.kept.policy)
        self._expected.load_ahead()

    def open(self, compiled: Compiled | str, policy: str, contract: bool,
             thresholds: Mapping[str, int], outside: bool) -> bool:
        """Take a program; ``outside``: others build its kernels.

        Instead of the program there may be which one of those that are kept it is; the result is
        whether it was read.
        """
        if isinstance(compiled, str):
            if self.kept is None or self.kept.snapshot != compiled:
                return False
            compiled = self.kept
        self.outside, self.told = outside, frozenset(compiled.plans)
        expected, self._expected = self._expected, None
        if expected is not None and expected.compiled is compiled and not contract:
            self.program = expected
            expected.thresholds, expected.policy = dict(thresholds), policy
        else:
            self.program = Program(compiled, self.device, thresholds, policy, fp_contract=contract)
        self.program.keeps = False
        return True

    def foresee(self, entry: str, inputs: Sequence[Sequence[Any]],
                forces: Sequence[Mapping[str, int]]) -> bool:
        """Have what runs on any of these inputs need built; whether there is anything.

        While others build kernels that are new, it is checked that these are well formed.
        """
        self.program.checks = False
        try:
            self._watch(entry, runs=False)
            found = self.program.foresee(entry, inputs, forces)
        finally:
            self.program.checks = True
        self.program._plan(entry)
        return found

    def remember(self) -> None:
        """All has been tuned: keep what runs wanted for the next time."""
        self.program.remember()

    def place(self, number: int, values: Sequence[Any]) -> None:
        """Bring arguments to the device."""
        self._settle()
        self.placed[number] = self.program.place(values)

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget arguments."""
        for number in numbers:
            self.placed.pop(number, None)

    def prepare(self, number: int, entry: str, forces: Sequence[Mapping[str, int]],
                recorded: Sequence[Mapping[str, int]]) -> int | None:
        """Build what runs need."""
        self._watch(entry)
        return self.program.prepare(entry, self.placed[number], forces, recorded)

    def record(self, number: int, entry: str, force: Choice, thresholds: Choice) -> Record:
        """The record of a run."""
        self._watch(entry)
        return self.program.record(entry, self.placed[number], force=force,
                                   thresholds=self._same(thresholds))

    def timing(self, number: int, entry: str, force: Choice, thresholds: Choice) -> Timing:
        """The times of a run."""
        self._watch(entry)
        return self.program.timing(entry, self.placed[number], force=force,
                                   thresholds=self._same(thresholds))

    def measure_all(self, number: int, entry: str, forces: Sequence[Mapping[str, int]],
                    thresholds: Choice, recorded: Sequence[bool]) -> None:
        """Tell what runs with each of these forced versions take, or why they fail."""
        for force, records in zip(forces, recorded, strict=True):
            try:
                made: Both | RuneliftError = (
                    self.record(number, entry, force, thresholds) if records else None,
                    self.timing(number, entry, force, thresholds))
            except DeviceFailed:
                raise
            except (UserError, CompilerLimitation) as error:
                made = error
            self._note("made", made)

    def time_all(self, number: int, entry: str, choices: Sequence[Mapping[str, int]], often: bool
                 ) -> Sequence[float]:
        """The times of runs with each of these thresholds."""
        self._watch(entry, joins=often)
        return self.program.time_all(entry, self.placed[number], self._known(choices), often=often)

    def savings(self, number: int, entry: str, choices: Sequence[Mapping[str, int]]
                ) -> Sequence[int]:
        """How many launches and copies each of these runs could save."""
        return self.program.savings(entry, self.placed[number], self._known(choices))

    def replay(self, number: int, entry: str, race: Race) -> tuple[ReplayRecord, Race]:
        """Run every version at every encounter; what became of the race."""
        self._watch(entry, "replaying")
        race.watch, unwatched = partial(self._note, "attempt"), race.watch
        replayed = self.program.replay(entry, self.placed[number], race)
        race.watch = unwatched
        return replayed, race

    def try_settings(self, number: int, entry: str, force: Choice, thresholds: Choice,
                     meetings: Sequence[OperationId]) -> list[OperationTime]:
        """Run, and try settings at these meetings."""
        self._watch(entry, "main_of_trials")
        return self.program.try_settings(
            entry, self.placed[number], force=force, thresholds=thresholds,
            searches={meeting: partial(self._asked, meeting) for meeting in meetings})

    def difference(self, number: int, entry: str, before: Choice, after: Choice) -> str | None:
        """How results with different thresholds differ."""
        self._watch(entry)
        return self.program.difference(entry, self.placed[number], before, after)

    def _known(self, choices: Sequence[Mapping[str, int]]) -> Sequence[Mapping[str, int]]:
        """The same thresholds, each of them as the object that it was in earlier requests."""
        each_once = {id(each): self._same(each) for each in choices}
        return [each_once[id(each)] or each for each in choices]

    def _same(self, choice: Choice) -> Choice:
        """The same for one of them.

        Runs remember what they decided by thresholds and finer guards, and large tables that are
        equal, but not the same object, take as long to compare as a short run.
        """
        if not isinstance(choice, GuardedThresholds):
            return choice
        for known in self._choices:
            if known == choice and known.finer == choice.finer:
                return known
        self._choices.append(choice)
        return choice

    def plans(self, known: Set[Any]) -> dict[Any, Plan]:
        """The plans that have been made, but for those that are known."""
        self.program.keep_plans()
        return {key: plan for key, plan in self.program.compiled.plans.items()
                if key not in known}

    def _tell_plans(self) -> None:
        """Tell of plans that have been made: while others build, that costs no time."""
        if new := self.plans(self.told):
            self._note("plans", new)
            self.told |= new.keys()

    def _asked(self, meeting: OperationId) -> Search:
        """A search whose settings the tuner chooses."""
        self._note("search", meeting)
        while (setting := receive(self.connection)) is not None:
            found = yield setting
            self._note("found", meeting, found)

    def _watch(self, entry: str, source: str | None = None, *, joins: bool = False,
               runs: bool = True) -> None:
        """Make what is only made once; from here on, time counts.

        If nothing ``runs``, nobody waits for those who try the device: they will hardly find
        anything else than what is presumed.

        Kernels that join launches take long to build, a second for large ones, so that a run which
        comes but a few times is not worth them.
        """
        self.program._plan(entry)
        if self.others_try and not runs:
            self._opened().presume()
        else:
            self._settle()
        executable = self.program._executable(entry)
        executable.building = partial(self._note, "building")
        executable.outside = self._built_outside if self.outside else None
        executable.joins = joins and not self.program.device.info.is_host
        executable.tapes_first = True
        if source is not None:
            getattr(executable, source)
        if time.perf_counter() - self._noted > NOTABLE:
            self._note("begun")

    def _built_outside(self, sources: Sequence[Sequence[str]], waits: bool) -> None:
        """Let others build programs."""
        self._note("wanted", list(sources), waits)
        if waits:
            self._tell_plans()
            receive(self.connection)

    def _note(self, kind: str, *what: Any) -> None:
        send(self.connection, (kind, *what))
        self._noted = time.perf_counter()


def serve(connection: Connection, *, builds: bool = False, probes: bool = False,
          opened: Callable[[], None] = lambda: None, opening: BuildRequest | None = None,
          request: Sequence[Any] | None = None) -> None:
    """Open the device that ``opening`` names; then answer requests until there are no more.

    ``opened`` is called in between.  Who only ``builds`` says when it is ready, and makes no
    preparations for running programs, but for ``probes`` of the device, if wanted.  It may have
    been ready before: then there is a first ``request``.
    """
    if probes:
        _expect_trials(connection)
    try:
        opening = opening or receive(connection)
        disk.set_fingerprint(opening.fingerprint)
        info = select(opening.device)
    except EOFError:
        return
    session = Session(info, connection)
    session.coming = opening.program
    if info is not None:
        warnings.simplefilter("ignore", cl.CompilerWarning)  # of all threads
        session.others_try = info.locked_compiler and not builds
        if not (builds or info.is_host or session.others_try):
            session.begin_trials(info)
        open_device(info)
        if request is None:
            opened()
        if builds:
            if request is None:
                send(connection, "ready")
        else:
            session.later += [session.expect, _import_runs]
    session.rest(0.0)
    session.later.clear()  # from here on it is done when it is needed
    while True:
        try:
            name, *args = request or receive(connection)
        except EOFError:
            return
        request = None
        send(connection, _answer(session, name, args))
        session.rest()


def _expect_trials(connection: Connection) -> None:
    """Make what trials of the device run, as long as it may not be opened."""
    if not connection.poll():
        for plan in plans_of_probes():
            if not connection.poll():
                plan()


def _import_runs() -> None:
    """Load what running programs will need."""
    # late: it is imported here so that nothing waits for it afterwards
    from runelift.runtime.trials import trial_run as trials  # noqa: F401


def _import_plans() -> None:
    """Load what making plans needs, where they have not been kept."""
    # late: it is imported here so that nothing waits for it afterwards
    from runelift.codegen.segops import segscan_single_pass as look_back  # noqa: F401


def _answer(session: Session, name: str, args: Sequence[Any]) -> tuple[str, Any]:
    try:
        return "result", session.answer(name, args)
    except DeviceFailed as error:  # what comes after it in this process would fail, too
        return "lost", error
    except (RuneliftError, OutOfReplayMemory, UnknownCost) as error:
        return "error", error
    except Exception:
        return "bug", traceback.format_exc()
