"""Prebuilding: the kernels that planned runs need are collected, then built or loaded.

A manifest on disk (:mod:`~runelift.runtime.prebuild.manifest`) spares the next tuning the search.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from runelift.codegen.emit.phases import PersistentKernel
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import entry_of
from runelift.runtime.devices.driver.icd import identity
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.known_lengths import know_lengths, known_lengths
from runelift.runtime.prebuild.kernel_collector import KernelCollector
from runelift.runtime.prebuild.manifest import (
    ForcedVersions,
    Manifest,
    read_manifests,
    request_key,
    run_key,
    write_manifest,
)


class _Bind(Protocol):
    """Binds arguments of an entry point to parameters; ``upload`` makes buffers of arrays."""

    def __call__(self, entry: str, args: list[Any],
                 upload: Callable[[Any], Any]) -> dict[str, Any]:
        """Buffers and scalars by the name of their parameter."""


class _PlannedRun(NamedTuple):
    """An entry point with sizes, scalars, facts about lengths, forced versions and thresholds."""

    entry: str
    sizes: tuple[tuple[str, Any], ...]
    force: tuple[tuple[str, int], ...]
    thresholds: tuple[tuple[str, int], ...]

    @property
    def unforced(self) -> Hashable:
        return self.entry, self.sizes, self.thresholds


class Prebuilder:
    """Prebuilder for runs of a compiled program on the device ``info``.

    ``executable_of`` has what runs an entry point; ``chosen`` completes the thresholds of a run.
    ``collected`` has the number of work-items and the kernels of each run.
    """

    def __init__(self, compiled: Compiled, info: DeviceInfo | None,
                 executable_of: Callable[[str], Executable], bind: _Bind,
                 chosen: Callable[[Mapping[str, int] | None], Mapping[str, int]]) -> None:
        self._compiled = compiled
        self._info = info
        self._executable_of = executable_of
        self._bind = bind
        self._chosen = chosen
        self.collected: dict[_PlannedRun, tuple[int | None, dict[Any, None]]] = {}
        self._planned: dict[str, Manifest] = {}
        """Manifests of the runs of an entry point that were planned first."""
        self._earlier: dict[str, Manifest] = {}
        """Manifests of an earlier tuning: all their kernels are in the cache."""

    def prebuild(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                 recorded: Sequence[Mapping[str, int]] = ()) -> int | None:
        """Build the kernels of runs with these forced versions, several programs at a time.

        Runs of ``recorded`` always have a record.  The result is the number of work-items of the
        last run, if known.
        """
        needed, for_records = dict[Any, None](), dict[Any, None]()
        executable = self._executable_of(entry)
        items = [self._find(entry, args, force, needed) for force in forces]
        items += [self._find(entry, args, force, for_records, recorded=True) for force in recorded]
        if entry in self._earlier and not forces:
            executable.kernels.finish_loading()  # else records might be late because of it
        executable.kernels.prepare({**needed, **unmerged(for_records)})
        return items[-1]

    def prebuild_all(self, entry: str, inputs: Sequence[Sequence[Any]],
                     forces: Sequence[Mapping[str, int]]) -> bool:
        """Have other processes begin to build the kernels of all runs on these inputs.

        First come kernels of the first input: for the first of the forced versions, and for records
        of the last.  Then come kernels for records, then all other kernels.  The result tells
        whether anything is to be built.  Kernels of an equal request by an earlier tuning are
        loaded.
        """
        executable = self._executable_of(entry)
        if executable.policy.outside is None or all(
                self._known(entry, args, force) for args in inputs for force in forces):
            return False
        runs = [self.run(entry, args, force) for args in inputs for force in forces]
        request = request_key(self._compiled, executable.device.info.label,
                              executable.kernels.options, runs)
        earlier = read_manifests(self._compiled).get(entry)
        if (earlier is not None and earlier.request == request
                and executable.kernels.load_ahead(earlier.sources)):
            self._planned[entry] = self._earlier[entry] = earlier
            executable.kernels.recall(earlier.texts)
            return False
        begun, sources, builds = dict[Any, None](), dict[tuple[str, ...], None](), False

        def begin(needed: Mapping[Any, None]) -> None:
            nonlocal builds
            found, any_new = executable.kernels.foresee([e for e in needed if e not in begun])
            builds |= any_new
            sources.update(dict.fromkeys(found))
            begun.update(needed)

        def needed(args: Sequence[Any], some: Sequence[Mapping[str, int]]) -> dict[Any, None]:
            found = dict[Any, None]()
            for force in some:
                self._find(entry, args, force, found)
            return found

        begin({**needed(inputs[0], forces[:1]), **unmerged(needed(inputs[0], forces[-1:]))})
        for args in inputs:
            begin(unmerged(needed(args, forces)))
        for args in inputs:
            begin(needed(args, forces))
        if not forces[0]:  # the runs by default, not only some that are to be made later
            self._planned[entry] = Manifest(
                request, tuple(sources), *self._covered(entry), executable.kernels.texts(sources))
            write_manifest(self._compiled, entry, self._planned[entry])
        return builds

    def save_manifest(self) -> None:
        """Save the kernels that the runs of this tuning needed, and that have been built.

        All runs are over: they did without the kernels that are not built.
        """
        compiled, info = self._compiled, self._info
        assert info is not None
        driver_texts = entry_of(compiled).driver_texts
        built = {entry: self._built(entry, before) for entry, before in self._planned.items()}
        if built == self._planned and driver_texts.exists():
            return
        texts = list[tuple[str, str]]()
        for entry, manifest in built.items():
            write_manifest(compiled, entry, manifest)
            texts += self._executable_of(entry).kernels.driver_texts(manifest.sources)
        driver_texts.store((identity(info.name, info.driver), tuple(texts)))

    def _built(self, entry: str, before: Manifest) -> Manifest:
        """The manifest of an entry point after its runs, from the one ``before``."""
        kernels = self._executable_of(entry).kernels
        needed = {each: None for _, found in self._collected_for(entry).values() for each in found}
        if not needed:
            return before
        sources = dict.fromkeys((*before.sources, *map(kernels.source_of, needed)))
        built = {each: None for each in sources if each is not None and (
            (entry in self._earlier and each in before.sources) or kernels.is_built(each))}
        available = {each for each in needed if kernels.source_of(each) in built}
        return Manifest(before.request, tuple(built), *self._covered(entry, available),
                        kernels.texts(built))

    def _collected_for(self, entry: str) -> dict[_PlannedRun, tuple[int | None, dict[Any, None]]]:
        return {run: found for run, found in self.collected.items() if run.entry == entry}

    def _covered(self, entry: str, available: Set[Any] | None = None
                 ) -> tuple[dict[str, int | None], dict[str, ForcedVersions]]:
        """The runs that need only available kernels, and the versions that they force."""
        before = self._earlier.get(entry)
        runs = dict(before.runs) if before else {}
        versions = dict(before.versions) if before else {}
        for run, (items, found) in self._collected_for(entry).items():
            if available is None or found.keys() <= available:
                runs[run_key(run)] = items
            for_records, force = unmerged(found), dict(run.force)
            if available is None or for_records.keys() <= available:
                key = run_key(run.unforced)
                versions[key] = versions.get(key, ForcedVersions()).add(
                    force, merges=len(for_records) < len(found))
        return runs, versions

    def load_ahead(self) -> None:
        """Begin to load the kernels of an earlier tuning, if there was one."""
        for entry, manifest in read_manifests(self._compiled).items():
            self._executable_of(entry).kernels.load_ahead(manifest.sources)

    def _find(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
              needed: dict[Any, None], *, recorded: bool = False) -> int | None:
        """Collect the kernels of a run (:meth:`collect`), unless all are known to be built."""
        if self._known(entry, args, force, recorded=recorded):
            return self._earlier[entry].runs.get(run_key(self.run(entry, args, force)))
        return self.collect(entry, args, force, needed)

    def _known(self, entry: str, args: Sequence[Any], force: Mapping[str, int], *,
               recorded: bool = False) -> bool:
        """Test whether an earlier tuning made a run, or ran all of its versions."""
        if (manifest := self._earlier.get(entry)) is None:
            return False
        run = self.run(entry, args, force)
        return manifest.covers(run, run.unforced, force, recorded=recorded)

    def collect(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
                needed: dict[Any, None], thresholds: Mapping[str, int] | None = None
                ) -> int | None:
        """Add the kernels of a run to ``needed``; the number of its work-items, if known."""
        key = self.run(entry, args, force, thresholds)
        if key not in self.collected:
            found = dict[Any, None]()
            bound = self._bind(entry, list(args), lambda array: (
                array.buffer if isinstance(array, DeviceArray) else no_memory(array.nbytes)))
            executable = self._executable_of(entry)
            know_lengths(bound, known_lengths(executable, args))
            items = KernelCollector(executable, self._chosen(thresholds), force,
                                    found).collect(bound)
            self.collected[key] = items, found
        items, found = self.collected[key]
        needed.update(found)
        return items

    def run(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
            thresholds: Mapping[str, int] | None = None) -> _PlannedRun:
        """Everything that determines the kernels of a run, as far as known before it."""
        bound = self._bind(entry, list(args), lambda array: None)
        sizes = tuple((name, value) for name, value in bound.items() if value is not None)
        sizes += tuple((name, tuple(each.facts)) for name, each in known_lengths(
            self._executable_of(entry), args).items())
        return _PlannedRun(entry, sizes, tuple(force.items()),
                           tuple(self._chosen(thresholds).items()))


def unmerged(needed: Mapping[Any, None]) -> dict[Any, None]:
    """The kernels of runs with a record, in which no kernel merges a loop."""
    return {each: None for each in needed if not isinstance(each, PersistentKernel)}
