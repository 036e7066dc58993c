"""Compiled programs as Python objects: entry points are methods."""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from runelift.codegen.plan.plan import Interface, Plan, ValueSpec, parameters
from runelift.ir.errors import CompilerLimitation, UserError, unknown_entry
from runelift.ir.prim import Prim
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import store_compiled
from runelift.runtime.data.compare import first_difference
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.arguments import check_arguments, sizes_of
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.opaques import packed, unpacked
from runelift.runtime.execution.sequential_runner import OneByOne
from runelift.runtime.geometry.parameter_space import ParameterSpace, spaces
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.versions.forest import forest_of
from runelift.runtime.versions.size_guards import GuardedThresholds, SizeGuard
from runelift.runtime.versions.tuning_file import (
    Identity,
    TuningValues,
    read_size_guards,
    unknown_names,
)

if TYPE_CHECKING:
    from runelift.runtime import running
    from runelift.runtime.prebuild.first_run import FirstRun
    from runelift.runtime.prebuild.prebuild import Prebuilder
    from runelift.runtime.replay.racing import Race
    from runelift.runtime.replay.replay_records import ReplayRecord
    from runelift.runtime.trials.protocol import OperationTime, Searches


UNDISTURBED = 3
"""How often a run is made at most that is to be timed, until none builds kernels meanwhile,"""
BUILDING = 0.01
"""or only for this fraction of its time."""
AHEAD = 0.25
"""Where the host is done after this fraction of a run, nothing that it did besides made it late."""
NOTABLE = 0.01
"""Whoever watches the time need not be told of runs that take fewer seconds."""
WARM_SECONDS = 0.02
"""Calls that take longer in all gain nothing by what is done for short ones."""


def _import_running() -> None:
    """Import what runs programs on devices, in place of the name ``running``."""
    global running
    # late: start-up; programs that are compiled, checked or interpreted do without
    from runelift.runtime import running


class Program(OneByOne):
    """A compiled program.

    Every entry point is a method: NumPy arrays and scalars in, NumPy arrays and scalars out (or
    :class:`DeviceArray` with ``device_arrays=True``).  A record, a value of a sum type or an array
    of tuples comes out as an :class:`~runelift.runtime.execution.opaques.Opaque` and can be passed
    in again. With ``recording = True`` each call appends a
    :class:`~runelift.runtime.records.record.Record` to ``records``.
    """

    def __init__(self, compiled: Compiled, device: DeviceInfo | None,
                 thresholds: Mapping[str, int] | None = None, policy: str = "all", *,
                 fp_contract: bool = False, first: FirstRun | None = None) -> None:
        self.compiled = compiled
        self.device_info = device
        self.thresholds: dict[str, int] = dict(thresholds or {})
        self.policy = policy
        self.fp_contract = fp_contract
        self.recording = False
        self.records: list[Record] = []
        self._device: Any = None
        self._executables: dict[str, Any] = {}
        self._known_prebuilder: Prebuilder | None = None
        self._kept = len(compiled.plans)
        self.keeps = True
        """Whether plans are kept on disk as soon as they are made; else who runs this does so."""
        self.checks = True
        """Whether kernels are checked as soon as plans are made; else who runs this has it done."""
        self._first = first

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the entry points."""
        return tuple(self.compiled.interfaces)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self.compiled.interfaces:
            raise AttributeError(f"the program has no entry point '{name}'; it has "
                                 f"{', '.join(self.compiled.interfaces)}")

        def entry(*args: Any, device_arrays: bool = False) -> Any:
            signature = self.compiled.signatures[name]
            parts, _ = self.run(name, unpacked(args, signature), device_arrays=device_arrays)
            results = packed(parts, signature)
            return results[0] if len(results) == 1 else tuple(results)

        entry.__name__ = name
        return entry

    def run(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
            thresholds: Mapping[str, int] | None = None, record: bool | None = None,
            device_arrays: bool = False) -> tuple[list[Any], Record | None]:
        """Run an entry point; its results, and its record if one was asked for.

        ``force`` names the alternative to run at a site; ``thresholds`` override the tuning.
        """
        if self.device_info is None:
            # late: start-up; programs run on devices as a rule
            from runelift.ir.interpret import interpret

            fun_args = check_arguments(self.interface(entry), list(args))
            return interpret(self.compiled.optimised, entry, fun_args), None
        chosen = self._chosen(thresholds)
        plan, executable = self._ready(entry, args, force or {}, chosen)
        bound = self._bind(plan, list(args))
        recording = self.recording if record is None else record
        if not recording:
            running.command_buffer.prepare(executable, bound, chosen, force or {})
        raw, made, _ = running.command_buffer.perform(
            executable, bound, chosen, force or {}, record=recording)
        if made is not None and self.recording:
            self.records.append(made)
        results = [self._result(value, spec, device_arrays)
                   for value, spec in zip(raw, plan.results, strict=True)]
        return results, made

    def record(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None, samples: bool = True) -> Record:
        """The record of a run, whose results are thrown away.

        With ``samples``, it leaves long loops early, where a few iterations tell what all take.
        """
        chosen = self._chosen(thresholds)
        plan, executable = self._ready(entry, args, force or {}, chosen)
        return running.command_buffer.record(executable, self._bind(plan, list(args)), chosen,
                                             force or {}, samples=samples)

    def replay(self, entry: str, args: Any, race: Race) -> ReplayRecord:
        """Run every version at every encounter, one after the other on the same inputs."""
        # late: start-up; only the tuner replays
        from runelift.runtime.replay.replay_run import replay

        bound = self._bind(self._plan(entry), list(args))
        _, replayed = replay(self._executable(entry), bound, self.thresholds, race)
        return replayed

    def prepare(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                recorded: Sequence[Mapping[str, int]] = ()) -> int | None:
        """Build what runs with these forced versions need, several programs at a time.

        Those that are ``recorded`` will not run without a record.  The result is the number of
        work-items of the last of these runs, if that is known.
        """
        return self._prebuilder.prebuild(entry, args, forces, recorded)

    def foresee(self, entry: str, inputs: Sequence[Sequence[Any]],
                forces: Sequence[Mapping[str, int]]) -> bool:
        """Have others begin to build what runs on these inputs need, as far as shapes tell.

        The result is whether there is anything to build.
        """
        return self._prebuilder.prebuild_all(entry, inputs, forces)

    def remember(self) -> None:
        """Keep what runs wanted, for the next tuning: this one is over."""
        self._prebuilder.save_manifest()

    def begin_anew(self) -> None:
        """Forget what was prepared: the device turned out to be another one than was presumed."""
        self._executables.clear()
        self._known_prebuilder = None

    @property
    def _prebuilder(self) -> Prebuilder:
        if self._known_prebuilder is None:
            _import_running()
            self._known_prebuilder = running.Prebuilder(
                self.compiled, self.device_info, self._executable,
                lambda entry, args, upload: self._bind(self._plan(entry), args, upload),
                self._chosen)
        return self._known_prebuilder

    def load_ahead(self) -> None:
        """Begin to load what runs wanted when the program was tuned before, if it was."""
        self._prebuilder.load_ahead()

    @property
    def at_once(self) -> float:
        """How many work-items keep all of the device busy; more take turns."""
        return math.inf if self.device_info is None else self.device_info.choice.threshold

    def _ready(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
               thresholds: Mapping[str, int]) -> tuple[Plan, Any]:
        """A plan and what runs it; kernels have been built if this is a first run."""
        if self._first is not None:
            self._build_first(entry, args, force, thresholds)
        return self._plan(entry), self._executable(entry)

    def _build_first(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
                     thresholds: Mapping[str, int]) -> None:
        """Have processes build what the first run needs; they end.

        The program is kept on disk while they are at it.
        """
        first, keeps = self._first, self.keeps
        assert first is not None
        self.keeps = False
        try:
            executable, wanted = self._executable(entry), dict[Any, None]()
            self._first = self.device.trials = None
            self._prebuilder.collect(entry, args, force, wanted, thresholds)
            self.keeps = keeps
            first.build(executable, list(wanted), self._keep_if_wanted)
        finally:
            self._first, self.keeps = None, keeps
            first.end()
        self._keep_if_wanted()

    def _chosen(self, thresholds: Mapping[str, int] | None) -> Mapping[str, int]:
        """The thresholds of a run, which may override the tuning."""
        return self.thresholds if thresholds is None else thresholds

    def time(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
             thresholds: Mapping[str, int] | None = None) -> float:
        """The host's time in seconds for a call with inputs and outputs on the device."""
        return self.timing(entry, args, force=force, thresholds=thresholds).seconds

    def timing(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
               thresholds: Mapping[str, int] | None = None) -> Timing:
        """The same, and how much of it was over when the host had issued everything.

        A run that builds kernels is made again, and so is one that is so short that it is slower
        than those after it (:func:`~runelift.runtime.execution.command_buffer.prepare`), unless
        the device is late.
        """
        plan = self._plan(entry)
        executable = self._executable(entry)
        chosen = self._chosen(thresholds)
        for _ in range(UNDISTURBED):
            bound = self._bind(plan, list(args))
            least = running.command_buffer.prepare(executable, bound, chosen, force or {})
            self.device.plain.finish()
            built, started = executable.build_seconds, time.perf_counter()
            outcome = running.command_buffer.perform(executable, bound, chosen, force or {},
                                                     record=False)
            timing = Timing(time.perf_counter() - started, outcome.issue)
            del outcome  # the next run may have its buffers
            steady = timing.seconds >= least or timing.issue < AHEAD * timing.seconds
            if steady and executable.build_seconds - built <= BUILDING * timing.seconds:
                break
            if timing.seconds > NOTABLE:
                executable.building(False)  # whoever watches the time of the run begins anew
        return timing

    def warm_up(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
                thresholds: Mapping[str, int] | None = None) -> None:
        """Run until such calls are as fast as they become, but for calls that take long."""
        self.time(entry, args, force=force, thresholds=thresholds)  # it may build kernels
        spent, count = 0.0, 1
        while count < running.command_buffer.WARM and spent < WARM_SECONDS:
            spent += self.time(entry, args, force=force, thresholds=thresholds)
            count += 1

    def time_all(self, entry: str, args: Any, choices: Sequence[Mapping[str, int]], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds that runs with each of these thresholds take.

        If they come ``often``, they have done so before.
        """
        if often:
            executable, plan = self._executable(entry), self._plan(entry)
            each_once = {id(each): each for each in choices}.values()
            shortened = running.command_buffer.shortened
            executable.make_ready(source for each in each_once for source in shortened(
                executable, self._bind(plan, list(args)), self._chosen(each), {}))
            for thresholds in each_once:
                self.warm_up(entry, args, thresholds=thresholds)
        return super().time_all(entry, args, choices)

    def savings(self, entry: str, args: Any, choices: Sequence[Mapping[str, int]]
                ) -> Sequence[int]:
        """How many launches and copies fewer these runs will have when they have come often."""
        executable, plan = self._executable(entry), self._plan(entry)
        savings = running.command_buffer.savings
        return [savings(executable, self._bind(plan, list(args)), self._chosen(each), {})
                for each in choices]

    def try_settings(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
                     thresholds: Mapping[str, int] | None = None,
                     searches: Searches | None = None) -> list[OperationTime]:
        """Run an entry point, and settings of its operations as searches ask for them.

        The result says which operations were met, and how long they took as they are.
        """
        # late: start-up; only the tuner tries settings
        from runelift.runtime.trials.trial_run import TrialRun

        executable = self._executable(entry)
        bound = self._bind(self._plan(entry), list(args))
        chosen = self._chosen(thresholds)
        run = TrialRun(executable, chosen, force or {}, searches or {})
        run.call(executable.main_of_trials, bound)
        return run.met()

    def difference(self, entry: str, args: Any, before: Mapping[str, int] | None,
                   after: Mapping[str, int] | None) -> str | None:
        """How the results with two choices of thresholds differ by more than rounding, if so."""
        one, other = (self.run(entry, args, thresholds=each)[0] for each in (before, after))
        return first_difference(one, other)

    def interface(self, entry: str) -> Interface:
        """What a caller of ``entry`` gives."""
        try:
            return self.compiled.interfaces[entry]
        except KeyError:
            raise unknown_entry(entry, self.entries) from None

    def _plan(self, entry: str) -> Plan:
        name, info = self.interface(entry).entry, self.device_info
        if info is None:
            return self.compiled.plan(name, checked=self.checks)
        return self.compiled.plan(name, interleave=info.interleaves, coherent=info.coherent,
                                  checked=self.checks)

    def _executable(self, entry: str) -> Any:
        if entry not in self._executables:
            _import_running()
            self._executables[entry] = running.Executable(self._plan(entry), self.device,
                                                  contract=self.fp_contract)
            self._keep_if_wanted()
        return self._executables[entry]

    def _keep_if_wanted(self) -> None:
        if self.keeps:
            self.keep_plans()

    def keep_plans(self) -> None:
        """Keep the program on disk if plans have been made since it was."""
        if len(self.compiled.plans) > self._kept:
            store_compiled(self.compiled)
            self._kept = len(self.compiled.plans)

    @property
    def device(self) -> Any:
        """The device with its context and queues, opened when first used."""
        if self._device is None:
            _import_running()
            assert self.device_info is not None
            self._device = running.open_device(self.device_info)
            if self._first is not None:
                self._device.trials = self._first.leave_trial
        return self._device

    def _bind(self, plan: Interface, args: list[Any],
              upload: Callable[[Any], Any] | None = None) -> dict[str, Any]:
        """Arguments by the name of their parameter, arrays on the device."""
        upload = upload or self._upload
        values = check_arguments(plan, args)
        sizes = sizes_of(plan, values)
        bound: dict[str, Any] = {str(name): size for name, size in sizes.items()}
        for spec, value in zip(plan.params, values, strict=True):
            bound[str(spec.name)] = (value.item() if spec.shape is None
                                     else upload(value))
        return bound

    def _upload(self, value: Any) -> Any:
        if isinstance(value, DeviceArray):
            if value.device is self.device:
                return value.buffer
            value = value.get()
        _import_running()
        try:
            buffer = self.device.pool.allocate(value.nbytes)
        except running.OutOfMemory as error:
            raise UserError(f"Out of device memory: {error}.") from None
        if value.size:
            self.device.write(buffer, np.ascontiguousarray(value))
        return buffer

    def place(self, args: Sequence[Any]) -> list[Any]:
        """Arguments with their arrays on the device, so that runs need not bring them there."""
        return [arg if isinstance(arg, DeviceArray) or not np.ndim(arg) else self.to_device(arg)
                for arg in args]

    def to_device(self, value: Any) -> DeviceArray:
        """A copy of an array on the device, to be passed to entry points."""
        array = np.asarray(value)
        prim = next(p for p in Prim if p.dtype == array.dtype)
        return DeviceArray(self._upload(array), prim, array.shape, self.device)

    def _result(self, value: Any, spec: ValueSpec, device_arrays: bool) -> Any:
        if spec.shape is None:
            return spec.prim.dtype.type(value)
        buffer, _, shape = value
        sizes = tuple([max(int(size), 0) for size in shape])  # of rows that nobody made, below 0
        array = DeviceArray(buffer, spec.prim, sizes, self.device)
        return array if device_arrays else array.get()

    def source(self, stage: str = "kernels", entry: str | None = None) -> str:
        """The program at a stage, as ``runelift dump`` prints it.

        The IR is ``core``, ``opt`` after optimisation and ``flat`` after flattening; an entry
        point has kernels in the imperative IR, ``imp``, and in OpenCL C, ``kernels``, and a
        ``host`` plan in Python.
        """
        # late: start-up; only those who ask for a text need its printers
        from runelift.runtime.compilation.stages import stage_text

        return stage_text(self.compiled, stage, lambda: self._plan(entry or self.entries[0]))

    @property
    def tree(self) -> Any:
        """The threshold forest of the program."""
        return forest_of(self.compiled.versioned)

    @property
    def identity(self) -> Identity:
        """What parameters of the kernels hold for."""
        text = hashlib.sha256(self.compiled.source.text.encode()).hexdigest()
        info = self.device_info
        return Identity(text, f"{info.name}, {info.platform}" if info is not None else "")

    def kernel_parameters(self, entries: Iterable[str] | None = None) -> dict[str, str]:
        """The names of all parameters of kernels, of these entry points or of all, with those."""
        found: dict[str, str] = {}
        for entry in self.entries if entries is None else entries:
            with contextlib.suppress(CompilerLimitation):  # it says so when it is run
                found |= dict.fromkeys((p.name for p in parameters(self._plan(entry).steps)),
                                       entry)
        return found

    def take(self, tuning: TuningValues, settings: Mapping[str, int]) -> None:
        """Run with what a tuning file says, and then ``settings``; warn of what is wrong there."""
        if tuning.values.keys() - self._known_names:
            tuning = tuning.on(self.identity, self.kernel_parameters().keys())
        finer, stale = self._finer(tuning.file, settings)
        self.thresholds = GuardedThresholds({**tuning.values, **settings}, finer)
        tuning.warn([*self.problems(tuning.values), stale])

    def _finer(self, file: Path | None, settings: Mapping[str, int]
               ) -> tuple[dict[str, SizeGuard], str]:
        """The finer guards beside a tuning file, but where ``settings`` set thresholds."""
        if file is None or self.device_info is None:
            return {}, ""
        finer, stale = read_size_guards(file, self.identity, self.policy, self.tree)
        if not finer:
            return {}, stale
        sites = {site.name: site for forest in self.tree.entries
                 for site in forest.sites().values()}
        return {name: each for name, each in finer.items()
                if not settings.keys() & {g.name for g in sites[name].guards}}, stale

    @property
    def _known_names(self) -> set[str]:
        """The names of thresholds and of ``#[param]``."""
        return {guard.name for guard in self.tree.guards()} | self.compiled.parameters.keys()

    def problems(self, chosen: Mapping[str, int]) -> list[str]:
        """What is wrong with names and values for thresholds and parameters."""
        if not chosen or not chosen.keys() - (known := self._known_names):
            return []
        found = unknown_names(chosen, known | self.kernel_parameters().keys())
        for space in self.spaces():
            if any(each.parameter.name in chosen for each in space.ranges) and (
                    obstacle := space.obstacle(space.chosen(chosen))):
                found.append(f"{obstacle}; it is ignored.")
        return found

    @property
    def builders(self) -> int:
        """How many programs of kernels are built at the same time."""
        return self.device_info.builders if self.device_info is not None else 1

    def spaces(self, entry: str | None = None) -> list[ParameterSpace]:
        """What the parameters of the kernels can be, of one entry point or of all."""
        if self.device_info is None:
            return []
        found: list[ParameterSpace] = []
        for name in self.entries if entry is None else (entry,):
            with contextlib.suppress(CompilerLimitation):  # it says so when it is run
                found += spaces(self._plan(name), self.device_info).values()
        return found

    def tune(self, datasets: Mapping[str, Any], *, entry: str | None = None, repeats: int = 3,
             time_limit: str | None = None) -> Any:
        """Tune the thresholds for datasets (name to arguments) and use them from now on.

        The program runs in a process of its own, where a version that crashes or takes far too
        long is ended (``time_limit`` as for ``runelift autotune``; ``none``: in this process).
        """
        # late: the tuner runs programs, so it imports this module
        from runelift.runtime.tuner.autotune import tune

        name = entry or self.entries[0]
        self.interface(name)  # UserError if there is none
        inputs = {each: (name, [arg.get() if isinstance(arg, DeviceArray) else arg
                                for arg in unpacked(args, self.compiled.signatures[name])])
                  for each, args in datasets.items()}
        result = tune(self, inputs, repeats=repeats, time_limit=time_limit)
        self.thresholds = dict(result.thresholds)
        return result
