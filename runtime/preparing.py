"""What runs of a program will want built: found out before they are made, and built or loaded."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runelift.runtime import foreseen
from runelift.runtime.device_array import DeviceArray

if TYPE_CHECKING:
    from runelift.runtime.program import Program


class Preparations:
    """Preparations for runs of a program on its device.

    ``rehearsed`` has the number of work-items of a run, and what it would build.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.rehearsed: dict[Hashable, tuple[int | None, dict[Any, None]]] = {}
        self._there = set[Hashable]()
        """Runs for which all kernels are in the cache."""

    def prepare(self, entry: str, args: Any, forces: Sequence[Mapping[str, int]],
                recorded: Sequence[Mapping[str, int]] = ()) -> int | None:
        """Build what runs with these forced versions need, several programs at a time.

        Those that are ``recorded`` will not run without a record.  The result is the number of
        work-items of the last of these runs, if that is known.
        """
        wanted, other = dict[Any, None](), dict[Any, None]()
        executable, last = self._program._executable(entry), [*forces, *recorded][-1]
        if all(self.run(entry, args, force) in self._there for force in (*forces, *recorded)):
            if not forces:  # a record must not be late because of what is only being loaded
                executable.finish_loading()
            return self.rehearse(entry, args, last, wanted)
        items = [self.rehearse(entry, args, force, wanted) for force in forces]
        items += [self.rehearse(entry, args, force, other) for force in recorded]
        executable.prepare({**wanted, **unmerged(other)})
        return items[-1]

    def foresee(self, entry: str, inputs: Sequence[Sequence[Any]],
                forces: Sequence[Mapping[str, int]]) -> bool:
        """Have others begin to build what runs on these inputs need, as far as shapes tell.

        What the first of the forced versions needs on the first inputs comes first, with what
        records of the last need, then what all records need, and then the rest.  The result is
        whether there is anything to build.  If the same was foreseen before and is there, all of
        it begins to be loaded (:mod:`.foreseen`).
        """
        executable = self._program._executable(entry)
        if executable.outside is None:
            return False
        runs = [self.run(entry, args, force) for args in inputs for force in forces]
        compiled, device = self._program.compiled, self._program.device
        asked = foreseen.question(compiled, device.info.label, executable.options, runs)
        known = foreseen.read(compiled).get(entry)
        if known is not None and known.asked == asked and executable.load_ahead(known.sources):
            self._there.update(runs)
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
                self.rehearse(entry, args, force, found)
            return found

        begin({**wanted(inputs[0], forces[:1]), **unmerged(wanted(inputs[0], forces[-1:]))})
        for args in inputs:
            begin(unmerged(wanted(args, forces)))
        for args in inputs:
            begin(wanted(args, forces))
        if not forces[0]:  # the runs by default, not only some that are to be made later
            foreseen.write(compiled, entry, foreseen.Foreseen(asked, tuple(sources)))
        return builds

    def load_ahead(self) -> None:
        """Begin to load what runs wanted when the program was tuned before, if it was."""
        for entry, known in foreseen.read(self._program.compiled).items():
            self._program._executable(entry).load_ahead(known.sources)

    def rehearse(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
                 wanted: dict[Any, None], thresholds: Mapping[str, int] | None = None
                 ) -> int | None:
        """Add what a run would build; the number of its work-items, if that is known."""
        from runelift.runtime.rehearsal import Rehearsal, nothing

        key = self.run(entry, args, force, thresholds)
        if key not in self.rehearsed:
            found = dict[Any, None]()
            program = self._program
            bound = program._bind(program._plan(entry), list(args), lambda array: (
                array.buffer if isinstance(array, DeviceArray) else nothing(array.nbytes)))
            items = Rehearsal(program._executable(entry), program._chosen(thresholds), force,
                              found).rehearse(bound)
            self.rehearsed[key] = items, found
        items, found = self.rehearsed[key]
        wanted.update(found)
        return items

    def run(self, entry: str, args: Sequence[Any], force: Mapping[str, int],
            thresholds: Mapping[str, int] | None = None) -> Hashable:
        """What determines what a run builds, as far as it can be foreseen."""
        bound = self._program._bind(self._program._plan(entry), list(args), lambda array: None)
        sizes = tuple((name, value) for name, value in bound.items() if value is not None)
        return entry, sizes, tuple(force.items()), tuple(self._program._chosen(thresholds).items())


def unmerged(wanted: Mapping[Any, None]) -> dict[Any, None]:
    """What is to be built for records, in which no kernel stands for a loop."""
    from runelift.codegen.persistent import Merged

    return {each: None for each in wanted if not isinstance(each, Merged)}
