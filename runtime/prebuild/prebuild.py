"""What runs of a program will want built: found out before they are made, and built or loaded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from runelift.runtime.cache import programs as kept
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.devices.driver import icd as early
from runelift.runtime.devices.driver import preload as loading
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.prebuild import manifest as foreseen

if TYPE_CHECKING:
    from runelift.runtime.execution.executable import Executable


class Bind(Protocol):
    """Binds arguments of an entry point to parameters; ``upload`` makes buffers of arrays."""

    def __call__(self, entry: str, args: list[Any],
                 upload: Callable[[Any], Any]) -> dict[str, Any]:
        """Buffers and scalars by the name of their parameter."""


class PlannedRun(NamedTuple):
    """An entry point with sizes and scalars, the versions that are forced, and the thresholds."""

    entry: str
    sizes: tuple[tuple[str, Any], ...]
    force: tuple[tuple[str, int], ...]
    thresholds: tuple[tuple[str, int], ...]

    @property
    def given(self) -> Hashable:
        """All but the versions that are forced."""
        return self.entry, self.sizes, self.thresholds


class Prebuilder:
    """Prebuilder for runs of a compiled program on the device ``info``.

    ``executable_of`` has what runs an entry point; ``chosen`` completes the thresholds of a run.
    ``rehearsed`` has the number of work-items of a run, and what it would build.
    """

    def __init__(self, compiled: Compiled, info: DeviceInfo | None,
                 executable_of: Callable[[str], Executable], bind: Bind,
                 chosen: Callable[[Mapping[str, int] | None], Mapping[str, int]]) -> None:
        self._compiled = compiled
        self._info = info
        self._executable_of = executable_of
        self._bind = bind
        self._chosen = chosen
        self.rehearsed: dict[PlannedRun, tuple[int | None, dict[Any, None]]] = {}
        self._foreseen: dict[str, foreseen.Manifest] = {}
        """What is kept of the runs that an entry point was asked for first."""
        self._recalled: dict[str, foreseen.Manifest] = {}
        """What an earlier tuning had built for an entry point: it is in the cache."""

    def prepare(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                recorded: Sequence[Mapping[str, int]] = ()) -> int | None:
        """Build what runs with these forced versions need, several programs at a time.

        Those that are ``recorded`` will not run without a record.  The result is the number of
        work-items of the last of these runs, if that is known.
        """
        wanted, other = dict[Any, None](), dict[Any, None]()
        executable = self._executable_of(entry)
        items = [self._find(entry, args, force, wanted) for force in forces]
        items += [self._find(entry, args, force, other, recorded=True) for force in recorded]
        if entry in self._recalled and not forces:
            executable.finish_loading()  # else records might be late because of it
        executable.prepare({**wanted, **unmerged(other)})
        return items[-1]

    def foresee(self, entry: str, inputs: Sequence[Sequence[Any]],
                forces: Sequence[Mapping[str, int]]) -> bool:
        """Have others begin to build what runs on these inputs need, as far as shapes tell.

        What the first of the forced versions needs on the first inputs comes first, with what
        records of the last need, then what all records need, and then the rest.  The result is
        whether there is anything to build.  If the same was foreseen before and is there, all of
        it begins to be loaded (:mod:`~runelift.runtime.prebuild.manifest`).
        """
        executable = self._executable_of(entry)
        if executable.outside is None or all(
                self._recall(entry, args, force) for args in inputs for force in forces):
            return False
        runs = [self.run(entry, args, force) for args in inputs for force in forces]
        compiled, label = self._compiled, executable.device.info.label
        asked = foreseen.question(compiled, label, executable.options, runs)
        known = foreseen.read(compiled).get(entry)
        if known is not None and known.asked == asked and executable.load_ahead(known.sources):
            self._foreseen[entry] = self._recalled[entry] = known
            executable.recall(known.texts)
            return False
        begun, sources, builds = dict[Any, None](), dict[tuple[str, ...], None](), False

        def begin(wanted: Mapping[Any, None]) -> None:
            nonlocal builds
            found, any_new = executable.foresee([e for e in wanted if e not in begun])
            builds |= any_new
            sources.update(dict.fromkeys(found))
            begun.update(wanted)

        def wanted(args: Sequence[Any], some: Sequence[Mapping[str, int]]) -> dict[Any, None]:
            found = dict[Any, None]()
            for force in some:
                self._find(entry, args, force, found)
            return found

        begin({**wanted(inputs[0], forces[:1]), **unmerged(wanted(inputs[0], forces[-1:]))})
        for args in inputs:
            begin(unmerged(wanted(args, forces)))
        for args in inputs:
            begin(wanted(args, forces))
        if not forces[0]:  # the runs by default, not only some that are to be made later
            self._foreseen[entry] = foreseen.Manifest(
                asked, tuple(sources), *self._made(entry), executable.texts(sources))
            foreseen.write(compiled, entry, self._foreseen[entry])
        return builds

    def remember(self) -> None:
        """Keep for the next tuning what the runs of this one wanted, as far as it has been built.

        All of them have been made: they did without the rest.
        """
        compiled, info = self._compiled, self._info
        assert info is not None
        found = {entry: self._built(entry, before) for entry, before in self._foreseen.items()}
        if found == self._foreseen and kept.is_kept(compiled.source, compiled.policy,
                                                    loading.LOADS):
            return
        loads = list[tuple[str, str]]()
        for entry, known in found.items():
            foreseen.write(compiled, entry, known)
            loads += self._executable_of(entry).told(known.sources)
        loading.keep(compiled.source, compiled.policy, early.identity(info.name, info.driver),
                     loads)

    def _built(self, entry: str, before: foreseen.Manifest) -> foreseen.Manifest:
        """What is to be known of an entry point where so much was foreseen ``before`` its runs."""
        executable = self._executable_of(entry)
        wanted = {each: None for _, found in self._rehearsed(entry).values() for each in found}
        if not wanted:
            return before
        sources = dict.fromkeys((*before.sources, *map(executable.source_of, wanted)))
        built = {each: None for each in sources if each is not None and (
            (entry in self._recalled and each in before.sources) or executable.is_built(each))}
        there = {each for each in wanted if executable.source_of(each) in built}
        return foreseen.Manifest(before.asked, tuple(built), *self._made(entry, there),
                                 executable.texts(built))

    def _rehearsed(self, entry: str) -> dict[PlannedRun, tuple[int | None, dict[Any, None]]]:
        return {run: found for run, found in self.rehearsed.items() if run.entry == entry}

    def _made(self, entry: str, there: Set[Any] | None = None
              ) -> tuple[dict[str, int | None], dict[str, foreseen.Versions]]:
        """The runs that want only what is there, and the versions that they force."""
        before = self._recalled.get(entry)
        runs = dict(before.runs) if before else {}
        versions = dict(before.versions) if before else {}
        for run, (items, found) in self._rehearsed(entry).items():
            if there is None or found.keys() <= there:
                runs[foreseen.name_of(run)] = items
            alone, force = unmerged(found), dict(run.force)
            if there is None or alone.keys() <= there:
                name = foreseen.name_of(run.given)
                versions[name] = versions.get(name, foreseen.Versions()).add(
                    force, merges=len(alone) < len(found))
        return runs, versions

    def load_ahead(self) -> None:
        """Begin to load what runs wanted when the program was tuned before, if it was."""
        for entry, known in foreseen.read(self._compiled).items():
            self._executable_of(entry).load_ahead(known.sources)

    def _find(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
              wanted: dict[Any, None], *, recorded: bool = False) -> int | None:
        """As :meth:`rehearse`, unless it is known that all of it is there."""
        if (recalled := self._recall(entry, args, force, recorded=recorded)) is not None:
            return recalled.items
        return self.rehearse(entry, args, force, wanted)

    def _recall(self, entry: str, args: Sequence[Any], force: Mapping[str, int], *,
                recorded: bool = False) -> foreseen.Recalled | None:
        """What is known of a run that an earlier tuning made, or of which it made all parts."""
        if (known := self._recalled.get(entry)) is None:
            return None
        run = self.run(entry, args, force)
        return known.recall(run, run.given, force, recorded=recorded)

    def rehearse(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
                 wanted: dict[Any, None], thresholds: Mapping[str, int] | None = None
                 ) -> int | None:
        """Add what a run would build; the number of its work-items, if that is known."""
        from runelift.runtime.prebuild.rehearsal import KernelCollector, nothing

        key = self.run(entry, args, force, thresholds)
        if key not in self.rehearsed:
            found = dict[Any, None]()
            bound = self._bind(entry, list(args), lambda array: (
                array.buffer if isinstance(array, DeviceArray) else nothing(array.nbytes)))
            items = KernelCollector(self._executable_of(entry), self._chosen(thresholds), force,
                                    found).rehearse(bound)
            self.rehearsed[key] = items, found
        items, found = self.rehearsed[key]
        wanted.update(found)
        return items

    def run(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
            thresholds: Mapping[str, int] | None = None) -> PlannedRun:
        """What determines what a run builds, as far as it can be foreseen."""
        bound = self._bind(entry, list(args), lambda array: None)
        sizes = tuple((name, value) for name, value in bound.items() if value is not None)
        return PlannedRun(entry, sizes, tuple(force.items()),
                          tuple(self._chosen(thresholds).items()))


def unmerged(wanted: Mapping[Any, None]) -> dict[Any, None]:
    """What is to be built for records, in which no kernel stands for a loop."""
    from runelift.codegen.emit.persistent import Merged

    return {each: None for each in wanted if not isinstance(each, Merged)}
