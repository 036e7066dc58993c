"""Predicted times of versions: the ``rt`` of the functions that add up what launches cost.

:mod:`runelift.codegen.cost.version_costs` writes the functions.  The time of a launch is
:func:`runelift.runtime.cost.model.launch_time`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias

from runelift.codegen.cost.totals import ENTRY, KernelCost, Work
from runelift.codegen.emit.host_scalars import SCALARS
from runelift.codegen.plan.plan import Choose
from runelift.runtime.cost.device_costs import DeviceCosts
from runelift.runtime.cost.model import LaunchTime, launch_time
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.limits import LEAST_ITERATIONS
from runelift.runtime.devices.memory import elements_of_slab
from runelift.runtime.geometry.launch_geometry import LaunchGeometry
from runelift.runtime.versions.choose import NEVER, UNMET, VersionChooser

FOLLOWED = 16
"""The iterations that stand for all of a longer loop."""
CONTINUED = 64
"""The most iterations of a while loop that are followed."""

Amount: TypeAlias = Any
"""Seconds, or totals that a predictor adds up in place of them."""


class KnownLengths(Protocol):
    """Lengths that the host knows."""

    @property
    def facts(self) -> Sequence[int]:
        """The facts about the lengths."""


class Formulas(dict[str, KernelCost]):
    """Formulas of the work of kernels by name, made from their texts when they are asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def __missing__(self, name: str) -> KernelCost:
        found = self[name] = KernelCost(self.texts[name])
        return found


class Predictor:
    """Predicts times on one device.  It is the ``rt`` of cost functions while it follows one.

    ``formulas`` are the formulas of the kernels that cost functions launch.  ``seconds`` is the
    time of the launches so far.
    """

    never, unmet = NEVER, UNMET

    def __init__(self, sites: Sequence[Choose], formulas: Formulas, info: DeviceInfo,
                 geometry: LaunchGeometry, costs: DeviceCosts) -> None:
        self.costs, self.info, self.formulas = costs, info, formulas
        self.seconds: Amount = 0.0
        self._sites = sites
        self._numbers = {site.site: number for number, site in enumerate(sites)}
        self._functions: dict[int, Mapping[str, Any]] = {}
        self._choosing: VersionChooser | None = None
        self.group_size, self.num_groups = info.group_size, info.num_groups
        self.sequential_segment, self.local_bytes = info.sequential_segment, info.local_bytes
        self.max_group = info.max_group
        self.shape = geometry.shape

    def slab_size(self, bytes_each: int, longest: int) -> int:
        """The elements of a run of segments, if all memory is free."""
        return elements_of_slab(self.info.global_bytes, bytes_each, longest)

    def versions(self, number: int, facts: tuple[Any, ...], choosing: VersionChooser
                 ) -> tuple[float, ...]:
        """The seconds of each version of a site; infinite for one that cannot run."""
        functions = self.functions(number)
        outer, self._choosing = (self.seconds, self._choosing), choosing
        try:
            return tuple([self._followed(functions.get(f"{ENTRY}_{k}"), facts)
                          for k in range(len(self._sites[number].versions))])
        finally:
            self.seconds, self._choosing = outer

    def functions(self, number: int) -> Mapping[str, Any]:
        """The cost functions of a site."""
        if (found := self._functions.get(number)) is None:
            site = self._sites[number]
            found = self._functions[number] = loaded(site.costs, site.site)
        return found

    def _followed(self, function: Callable[..., None] | None, facts: tuple[Any, ...]) -> float:
        """The seconds of what a cost function follows; infinite if it cannot run."""
        self.seconds = 0.0
        if function is None:
            return math.inf
        try:
            function(self, *facts)
        except (Infeasible, ZeroDivisionError, OverflowError):
            return math.inf
        return float(self.seconds)

    # What cost functions call

    def launch(self, name: str, groups: int, group: int, lengths: tuple[int, ...],
               *args: Any, teams: int = 1) -> None:
        """Add a launch; Infeasible if it cannot run.

        A group has so many ``teams``, each of which is a group of the formula.
        """
        room = self.room(name, group, lengths)
        if groups > 0:
            work = self.formulas[name](groups * teams, group // teams, *args)
            self.launched(work, launch_time(
                self.costs, self.info.units, groups, group, room, work))

    def launched(self, work: Work, time: LaunchTime) -> None:
        """Add the time of a launch, which has this work."""
        self.seconds += time.seconds

    def room(self, name: str, group: int, lengths: tuple[int, ...]) -> int:
        """The bytes of local memory of a launch; Infeasible if it cannot run."""
        if group <= 0:
            raise Infeasible(f"kernel {name}: the rows are too long")
        room = sum(lengths)
        if room > self.local_bytes:
            raise Infeasible(f"kernel {name} needs {room} bytes of local memory")
        return room

    def fail(self, place: str, message: str, *given: Any) -> NoReturn:
        """End a version that fails on the host: it takes no time that could be compared."""
        raise Infeasible(message.format(*given))

    def unseen(self, name: str) -> None:
        """Add a launch, or a choice, whose size is unknown."""
        self.seconds += self.costs.launch

    def once(self) -> None:
        """Note that an iteration stands for a loop of unknown length, or a call for a recursion."""

    def copy(self, size: int) -> None:
        """Add a copy of so many bytes on the device."""
        self.seconds += self.costs.launch + 2 * size / self.costs.bandwidth

    def wait(self) -> None:
        """Add a wait of the host for a value of the device."""
        self.seconds += self.costs.wait

    def fact(self, lengths: KnownLengths, number: int) -> int:
        """A fact about lengths that are known."""
        return int(lengths.facts[number])

    def scale(self, before: Amount, factor: float) -> None:
        """Multiply what has been added since it was ``before``."""
        self.seconds = before + (self.seconds - before) * factor

    def repeat(self, before: Amount, count: int, steady: bool) -> None:
        """Repeat what has been added since, for all iterations of a loop.

        One kernel may run all iterations of a ``steady`` loop.  Then a barrier of the device takes
        the place of a launch.
        """
        self.seconds = before + self.repeated(self.seconds - before, steady, count) * count

    def repeated(self, once: float, steady: bool, count: int) -> float:
        """The seconds of an iteration of which there are ``count``; ``once`` alone."""
        if steady and self.info.coherent and count >= LEAST_ITERATIONS:
            return max(once - self.costs.launch, 0.0) + self.costs.round
        return once

    def iterations(self, count: int, carried: bool) -> Iterator[int]:
        """Some iterations of a loop, which stand for all.

        They are the first iterations if iterations hand on scalars, else they are spread.
        """
        some, before = min(count, FOLLOWED), self.seconds
        for number in range(some):
            yield number if carried or some == count else number * (count - 1) // (some - 1)
        if some:
            self.scale(before, count / some)

    def continued(self, again: Callable[[], bool]) -> Iterator[None]:
        """The iterations of a loop whose condition the host knows; no more than some."""
        for _ in range(CONTINUED):
            if not again():
                return
            yield

    def choice(self, site: str, pars: tuple[int, ...], facts: tuple[Any, ...],
               local: tuple[tuple[int, ...], ...], sizes: Mapping[str, int]) -> None:
        """Add what the version costs that runs at an inner choice."""
        assert self._choosing is not None
        before = self.seconds
        self.seconds = before + self._choosing.expected(self._numbers[site], pars, facts, local)


def loaded(text: str, place: str) -> Mapping[str, Any]:
    """The functions of a text of costs, by name."""
    namespace = dict(SCALARS)
    exec(compile(text, f"<costs of {place}>", "exec"), namespace)
    return namespace
