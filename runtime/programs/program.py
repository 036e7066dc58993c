"""Compiled programs as Python objects: entry points are methods."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from runelift.codegen.plan.plan import Interface, ValueSpec, parameters
from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.policies import within
from runelift.ir.base.source import Source
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import compile_anew, if_current, load_compiled
from runelift.runtime.devices import forked
from runelift.runtime.devices.info import DeviceInfo, select, spec_of
from runelift.runtime.displayed import Displayed, Listing
from runelift.runtime.execution.arguments import check_arguments
from runelift.runtime.execution.device_array import (
    DeviceArray,
    is_foreign,
    prim_of,
    true_shape,
)
from runelift.runtime.execution.opaques import unpacked
from runelift.runtime.host.gc_policy import collecting_rarely
from runelift.runtime.memory.byte_sizes import parse_bytes
from runelift.runtime.programs.entry_point import EntryPoint
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.programs.takes import (
    ARGUMENTS,
    BYTES,
    COUNT,
    DATASETS,
    FLAG,
    FORCE,
    TEXT,
    THRESHOLDS,
    check,
    or_none,
    takes,
)
from runelift.runtime.records.record import Record
from runelift.runtime.records.records import Records
from runelift.runtime.versions.choose import RequiredVersions
from runelift.runtime.versions.size_guards import GuardedThresholds, SizeGuard
from runelift.runtime.versions.tuning_file import (
    Identity,
    SettingProblem,
    TuningValues,
    digest,
    names_in,
    read_size_guards,
    unknown_names,
)
from runelift.runtime.versions.version_names import version_name

if TYPE_CHECKING:
    from runelift.runtime.geometry.parameter_space import ParameterSpace
    from runelift.runtime.memory.memory_run import MemoryEstimate
    from runelift.runtime.prebuild.first_run import FirstRun
    from runelift.runtime.versions.forest import Forests


STAGE_LANGUAGES = {"imp": "imp", "kernels": "opencl", "host": "python"}
"""The languages of stages that are not in the core IR."""


class Tuned(Protocol):
    """The result of tuning a program, which shows itself."""

    @property
    def thresholds(self) -> dict[str, int]:
        """The tuned thresholds by name."""

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the measuring."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each dataset: its times by default and tuned, in seconds."""

    def to_pandas(self) -> Any:
        """The rows of :meth:`to_dicts` as a frame; UserError if pandas is not installed."""


class Program(Displayed):
    """A compiled program.

    Every entry point is a method: NumPy arrays and scalars in, NumPy arrays and scalars out.
    ``program["name"]`` is the method ``program.name``, even if :attr:`hidden` has the name.  With
    ``device_arrays=True``, arrays come out as :class:`DeviceArray` and can be passed in again.  A
    record, a value of a sum type or an array of tuples comes out as an
    :class:`~runelift.runtime.execution.opaques.Opaque`, and can be passed in again.  With
    ``recording = True`` each call appends a :class:`~runelift.runtime.records.record.Record` to
    ``records``.  ``thresholds`` decide which versions run, among the versions that keep within
    :attr:`memory`.
    """

    def __init__(self, compiled: Compiled, device: DeviceInfo | None,
                 thresholds: Mapping[str, int] | None = None, policy: str = "all", *,
                 fp_contract: bool = False, first: FirstRun | None = None) -> None:
        self.compiled = compiled
        self.thresholds: dict[str, int] = dict(thresholds or {})
        self.policy = policy
        self.recording = False
        self.records = Records(names=self._version_names)
        self._methods = dict[str, EntryPoint]()
        self._entry_points = dict[str, EntryPoint]()
        self.loaded = LoadedProgram(compiled, device, self._chosen,
                                    fp_contract=fp_contract, first=first)

    def __reduce__(self) -> tuple[Any, ...]:
        """The program for another process, which opens the device anew."""
        info = self.device_info
        return _restored, (self.compiled, spec_of(info), info and replace(info, handle=None),
                           self.thresholds, self.policy, self.loaded.fp_contract, self.memory,
                           self.recording)

    def __copy__(self) -> Program:
        """A program with settings and records apart, on the device of this one."""
        made = Program(self.compiled, self.device_info, policy=self.policy,
                       fp_contract=self.loaded.fp_contract)
        made.thresholds = copy(self.thresholds)
        made.loaded.memory, made.recording = self.memory, self.recording
        made.records.extend(self.records)
        return made

    def __deepcopy__(self, memo: object) -> Program:
        return self.__copy__()  # what it shares does not change

    @property
    def memory(self) -> int | None:
        """The most bytes of device memory that a call may need; None if the device decides.

        Arguments, results, and all memory that the call allocates count.  A text such as ``30MB``
        may be assigned.
        """
        return self.loaded.memory

    @memory.setter
    def memory(self, bound: int | str | None) -> None:
        check("memory", bound, or_none(BYTES))
        if bound is not None and self.device_info is None:
            raise UserError("The interpreter has no device memory to bound.  Name a device.")
        self.loaded.memory = None if bound is None else parse_bytes(str(bound))

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the entry points."""
        return tuple(self.compiled.interfaces)

    def __getattr__(self, name: str) -> EntryPoint:
        if name.startswith("_") or name not in self.compiled.interfaces:
            raise AttributeError(f"the program has no entry point '{name}'; it has "
                                 f"{', '.join(self.entries) or 'none'}")
        method = self._methods[name] = vars(self)[name] = self[name]
        return method

    @property
    def hidden(self) -> tuple[str, ...]:
        """The entry points that are no attributes, as programs have their own of these names."""
        return tuple(name for name in self.entries
                     if name.startswith("_") or hasattr(Program, name)
                     or (name in vars(self) and name not in self._methods))

    @takes(name=TEXT)
    def __getitem__(self, name: str) -> EntryPoint:
        if name not in self._entry_points:
            self.interface(name)  # UserError if there is none
            self._entry_points[name] = EntryPoint(self, name)
        return self._entry_points[name]

    def _extended(self, text: str, schedule: Source | None = None) -> Program:
        """The program with a text behind its own, and with the values that it was compiled with.

        It has another ``schedule`` if one is given.  Its calls are recorded among the calls of this
        program.
        """
        own = self.compiled
        source = Source(own.source.name, own.source.text + text)
        policy = within(self.memory, self.policy, source.text)
        schedule = schedule or own.schedule
        values = dict(own.numbers) | {name: value for name, value in own.parameters.items()
                                if value is not None}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = if_current(
                load_compiled(source, policy=policy, rules=own.rules,
                              schedule="" if schedule is None else schedule.text),
                values, schedule)
            if found is None:
                with collecting_rarely():
                    found = compile_anew(source, policy=policy, parameters=values,
                                         schedule=schedule, rules=own.rules)
        known = {str(each) for each in own.warned}
        for each in warned:
            if str(each.message) not in known:
                warnings.warn(each.message, stacklevel=2)
        made = Program(found, self.device_info, values, policy,
                       fp_contract=self.loaded.fp_contract)
        made.records, made.loaded.memory = self.records, self.memory
        return made

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *self.entries})

    def __repr__(self) -> str:
        where = "the interpreter" if self.device_info is None else self.device_info.name
        return "\n".join([f"<Program on {where}>", *(f"  entry {self[each].type}"
                                                    for each in self.entries)])

    @takes(entry=TEXT, args=ARGUMENTS, force=or_none(FORCE), thresholds=or_none(THRESHOLDS),
           record=or_none(FLAG), device_arrays=FLAG)
    def run(self, entry: str, args: Any, *, force: Mapping[str, int] | None = None,
            thresholds: Mapping[str, int] | None = None, record: bool | None = None,
            device_arrays: bool = False) -> tuple[list[Any], Record | None]:
        """Run an entry point; its results, and its record if one was asked for.

        ``force`` names the alternative to run at a site.  VersionUnavailable says why it cannot run
        here.  ``thresholds`` override the tuning.
        """
        required = self._required(entry, force) if force else {}
        args = [self._taken(arg) if is_foreign(arg) else arg for arg in args]
        if self.loaded.info is None:
            # late: start-up; programs run on devices as a rule
            from runelift.ir.interpret import interpret

            fun_args = check_arguments(self.interface(entry), list(args))
            return interpret(self.compiled.optimised_entry(entry), entry, fun_args), None
        raw, made = self.loaded.perform(
            entry, args, required, self._chosen(thresholds),
            record=self.recording if record is None else record, to_host=not device_arrays)
        if made is None:
            return list(raw), None
        if self.recording:
            self.records.append(made)
        return [self._result(value, spec, device_arrays)
                for value, spec in zip(raw, self.loaded.plan(entry).results, strict=True)], made

    def _required(self, entry: str, force: Mapping[str, int]) -> RequiredVersions:
        """The versions that a run must use; UserError if the program has none such."""
        self.interface(entry)
        sites = self.tree.entry(entry).sites()
        for site, index in force.items():
            if site not in sites:
                raise UserError(f"Entry point '{entry}' has no choice of versions '{site}'; it has "
                                f"{', '.join(sites) or 'none'}.")
            if not 0 <= index < len(sites[site].alternatives):
                raise UserError(f"'{site}' has {len(sites[site].alternatives)} versions, and so "
                                f"no version {index}.  They are counted from 0.")
        if self.device_info is None:
            raise UserError("The interpreter has no versions, so that none can be forced.  "
                            "Name a device.")
        return RequiredVersions(force)

    def _chosen(self, thresholds: Mapping[str, int] | None) -> Mapping[str, int]:
        return self.thresholds if thresholds is None else thresholds

    @takes(entry=TEXT, args=ARGUMENTS, force=or_none(FORCE), thresholds=or_none(THRESHOLDS))
    def estimate_memory(self, entry: str, args: Sequence[Any], *,
                        force: Mapping[str, int] | None = None,
                        thresholds: Mapping[str, int] | None = None) -> MemoryEstimate:
        """The device memory that a call needs, before it runs, and that of each version.

        The types and sizes of ``args`` count, the values of scalars, and lengths of rows that
        decide.  The call chooses as within the bound ``memory``; if nothing fits, what needs least.
        """
        required = self._required(entry, force) if force else {}
        if self.device_info is None:
            raise UserError("The interpreter needs no device memory.  Name a device.")
        return self.loaded.estimate_memory(entry, args, required, thresholds)

    def interface(self, entry: str) -> Interface:
        """The parameters and results of an entry point; UserError if there is none."""
        return self.loaded.interface(entry)

    @property
    def device_info(self) -> DeviceInfo | None:
        """The device that the program is for; None for the interpreter."""
        return self.loaded.info

    @property
    def device(self) -> Any:
        """The device with its context and queues, opened when first used."""
        return self.loaded.device

    def to_device(self, value: Any) -> DeviceArray:
        """A copy of an array of any library on the device, to be passed to entry points."""
        array = self._taken(value) if is_foreign(value) else value
        if isinstance(array, DeviceArray) and array.device is self.device:
            return copy(array)
        array = np.asarray(array)
        return DeviceArray(self.loaded.upload(array), (prim_of(array.dtype), array.shape,
                                                       self.device))

    def _taken(self, arg: Any) -> Any:
        """An array of another library as one of NumPy or on the device."""
        device = None if self.device_info is None else self.device
        return import_module("runelift.runtime.programs.interchange").taken(arg, device)

    def _result(self, value: Any, spec: ValueSpec, device_arrays: bool) -> Any:
        """A result as a caller sees it, from what a run returns."""
        if spec.shape is None:
            return spec.prim.dtype.type(value)
        array = DeviceArray(value[0], (spec.prim, true_shape(value[2]), self.loaded.device))
        return array if device_arrays else array.get()

    @takes(stage=TEXT, entry=or_none(TEXT))
    def source(self, stage: str = "kernels", entry: str | None = None) -> Listing:
        """The program at a stage, as ``runelift dump`` prints it.

        The IR is ``core``, ``opt`` after optimisation and ``flat`` after flattening.  An entry
        point has kernels in the imperative IR, ``imp``, and in OpenCL C, ``kernels``, and a
        ``host`` plan in Python.
        """
        # late: start-up; only those who ask for a text need its printers
        from runelift.runtime.compilation.stages import stage_text

        text = stage_text(self.compiled, stage, lambda: self.loaded.plan(
            entry or self.entries[0], costed=stage == "host"))
        about = f" of {entry or self.entries[0]}" if stage in STAGE_LANGUAGES else ""
        return Listing(text, STAGE_LANGUAGES.get(stage, "core"), f"{stage}{about}")

    @property
    def tree(self) -> Forests:
        """The threshold forest of the program."""
        # late: start-up
        from runelift.runtime.versions.forest import forest_of

        return forest_of(self.compiled.versioned)

    def _version_names(self) -> dict[tuple[str, int], str]:
        return {(site.name, index): version_name(each) for forest in self.tree.entries
                for site in forest.sites().values() for index, each in enumerate(site.alternatives)}

    @property
    def identity(self) -> Identity:
        """The source and the device that parameters of the kernels are valid for."""
        info = self.device_info
        return Identity(digest(self.compiled.source, self.compiled.rules),
                        f"{info.name}, {info.platform}" if info is not None else "")

    def kernel_parameters(self, entries: Iterable[str] | None = None) -> dict[str, str]:
        """The parameters of kernels, by name, with their entry points.

        Of all entry points, if ``entries`` are not given.
        """
        found: dict[str, str] = {}
        for entry in self.entries if entries is None else entries:
            with contextlib.suppress(CompilerLimitation):  # a run says so
                found |= dict.fromkeys((p.name for p in parameters(self.loaded.plan(entry).steps)),
                                       entry)
        return found

    def take(self, tuning: TuningValues, settings: Mapping[str, int]) -> None:
        """Use the values of a tuning file, overridden by ``settings``; warn of wrong values."""
        if tuning.file is not None:
            try:
                tuning = tuning.on(self.identity, names_in(tuning.file) - self._known_names)
            except UserError:  # facts are damaged; of thresholds, the file has all
                if tuning.values.keys() - self._known_names:
                    raise
        finer, stale = self._size_guards(tuning, settings)
        self.thresholds = GuardedThresholds({**tuning.values, **settings}, finer)
        tuning.warn([*map(str, self.problems(tuning.values)), stale])

    def _size_guards(self, tuning: TuningValues, settings: Mapping[str, int]
                     ) -> tuple[dict[str, SizeGuard], str]:
        """The size guards of a tuning file, except where ``settings`` set thresholds."""
        if tuning.file is None or self.device_info is None:
            return {}, ""
        finer, stale = read_size_guards(tuning.file, self.identity, self.policy, self.tree,
                                        tuning.borrowed)
        if not finer:
            return {}, stale
        sites = {site.name: site for forest in self.tree.entries
                 for site in forest.sites().values()}
        return {name: each for name, each in finer.items()
                if not settings.keys() & {g.name for g in sites[name].guards}}, stale

    @property
    def _known_names(self) -> set[str]:
        """The names of thresholds, of ``#[param]``, and of what skips a rewrite point."""
        return ({guard.name for guard in self.tree.guards()} | self.compiled.parameters.keys()
                | set(self.compiled.skips))

    def problems(self, chosen: Mapping[str, int]) -> list[SettingProblem]:
        """Complaints about names and values for thresholds and parameters."""
        if not chosen or not chosen.keys() - (known := self._known_names):
            return []
        found = unknown_names(chosen, known | self.kernel_parameters().keys())
        for space in self.spaces():
            if any(each.parameter.name in chosen for each in space.ranges) and (
                    obstacle := space.obstacle(space.chosen(chosen))):
                found.append(SettingProblem("impossible-setting", obstacle, space.cure(chosen),
                                            space.place))
        return found

    def spaces(self, entry: str | None = None) -> list[ParameterSpace]:
        """The possible values of the kernels' parameters, of one entry point or of all."""
        if self.device_info is None:
            return []
        # late: start-up; runs without settings of parameters do without
        from runelift.runtime.geometry.parameter_space import spaces

        found: list[ParameterSpace] = []
        for name in self.entries if entry is None else (entry,):
            with contextlib.suppress(CompilerLimitation):  # a run says so
                found += spaces(self.loaded.plan(name), self.device_info).values()
        return found

    @takes(datasets=DATASETS, entry=or_none(TEXT), repeats=COUNT, time_limit=or_none(TEXT))
    def tune(self, datasets: Mapping[str, Sequence[Any]], *, entry: str | None = None,
             repeats: int = 3, time_limit: str | None = None) -> Tuned:
        """Tune the thresholds for datasets (name to arguments) and use them from now on.

        The program runs in another process, where a version that crashes or takes far too long is
        ended.  ``time_limit`` is as for ``runelift autotune``; ``none`` means in this process.
        """
        # late: the tuner is above the program
        from runelift.runtime.tuner.autotune import tune

        name = entry or self.entries[0]
        self.interface(name)  # UserError if there is none
        inputs = {each: (name, [arg.get() if isinstance(arg, DeviceArray) else arg
                                for arg in unpacked(args, self.compiled.signatures[name])])
                  for each, args in datasets.items()}
        result: Tuned = tune(self, inputs, repeats=repeats, time_limit=time_limit)
        self.thresholds = dict(result.thresholds)
        return result


def _restored(compiled: Compiled, device: str, info: DeviceInfo | None,
              thresholds: dict[str, int], policy: str, contract: bool, memory: int | None,
              recording: bool) -> Program:
    """A program that another process has sent.

    A copy of a process that has used devices gets one that cannot run.  Pools of processes would
    wait for ever for a process that could not take over its task.
    """
    found = info if forked.is_copy() else select(device)
    program = Program(compiled, found, policy=policy, fp_contract=contract)
    program.thresholds = thresholds  # which may have size guards
    program.loaded.memory, program.recording = memory, recording
    return program
