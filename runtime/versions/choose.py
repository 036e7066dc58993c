"""Choice of versions: the alternatives of a site in the order in which a run tries them.

Versions whose needs are not met are left out.  Thresholds decide among feasible versions
(:mod:`runelift.runtime.versions.guard_chain`).  A guard without one holds where its version is
predicted to take no longer than all that follow (:mod:`runelift.runtime.cost`).  So without
thresholds the version runs that is predicted to take least.  A size guard may prefer another
version.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from runelift.ir.base.errors import CompilerBug, VersionUnavailable
from runelift.ir.guards import Guard, Kind
from runelift.runtime.versions.guard_chain import guard_tests, version_to_run
from runelift.runtime.versions.size_guards import size_guards_of

if TYPE_CHECKING:
    from runelift.codegen.plan.plan import Choose
    from runelift.runtime.devices.info import DeviceInfo

Facts: TypeAlias = tuple[Any, ...]
"""The scalars of the host that the costs of the versions of a site depend on."""
LocalBytes: TypeAlias = tuple[tuple[int, ...], ...]
"""The local memory that each need of each version of a site takes."""


class Predicts(Protocol):
    """Predicted times of versions: :class:`~runelift.runtime.cost.predictor.Predictor`."""

    def versions(self, number: int, facts: Facts, choosing: VersionChooser) -> Sequence[float]:
        """The seconds of each version of a site, given who chooses at inner sites."""


NEVER = 1 << 62
"""More local memory than any device has: no work-group size fits."""
UNMET = (NEVER + 1,)
"""The local memory of a version whose guard has needs that the sizes do not meet."""


class RequiredVersions(dict[str, int]):
    """Versions to run by site.  A run fails if one of these versions cannot run.

    Other mappings of forced versions let another version run there.
    """


@dataclass(frozen=True, slots=True)
class KnownChoices:
    """Choices of earlier runs with equal thresholds and forced versions.

    ``orders`` are the versions to try, ``preferred`` the versions that size guards say.
    ``seconds`` are the predicted times of the versions, by site and facts.
    """

    orders: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    seconds: dict[tuple[Any, ...], Sequence[float]] = field(default_factory=dict)
    preferred: dict[tuple[Any, ...], int | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.orders) + len(self.preferred) + len(self.seconds)


class VersionChooser:
    """The versions to try at each site of a plan in one run.

    ``force`` has the version of each site that runs whatever its guard says.  ``infeasible`` has
    the versions that cannot run, ``site/index``, and the reasons; the chooser adds to it.
    """

    def __init__(self, sites: Sequence[Choose], device: DeviceInfo,
                 thresholds: Mapping[str, int], force: Mapping[str, int], known: KnownChoices,
                 infeasible: dict[str, str], predictor: Predicts) -> None:
        self.infeasible = infeasible
        self._sites = sites
        self._device = device
        self._thresholds = thresholds
        self._size_guards = size_guards_of(thresholds)
        self._force = force
        self._required = isinstance(force, RequiredVersions)
        self._orders, self._preferred, self._seconds = (
            known.orders, known.preferred, known.seconds)
        self._predictor = predictor
        self._excess: dict[tuple[int, int], int] = {}
        self.too_large: Mapping[Any, Mapping[int, int]] = {}
        """The bytes of versions that need too much device memory, by site number, what guards
        compare, and sizes."""

    def versions(self, number: int, pars: tuple[int, ...], facts: Facts,
                 local: LocalBytes, sizes: Mapping[str, int]) -> list[int]:
        """The versions of a site to try, the chosen one first."""
        order = self._orders.get((number, pars, facts, local))
        if order is None:
            order = self.order(number, pars, facts, local)
        if self.too_large:
            order = self.small_enough(number, pars, sizes, order)
        if self._required:
            self._require(number, order, local, sizes)
        return self._preferring(number, pars, order, sizes) if self._size_guards else order

    def small_enough(self, number: int, pars: tuple[int, ...], sizes: Mapping[str, int],
                     order: list[int]) -> list[int]:
        """The versions of an order that need no more device memory than there is."""
        excluded = self.too_large.get((number, pars, tuple(sizes.values())))
        if excluded is None:
            return order
        for version, size in excluded.items():
            self._excess[number, version] = size
        return [k for k in order if k not in excluded]

    def timed(self, number: int, order: list[int]) -> list[int]:
        """The versions of an order to time: slabs are for memory, so not if the last one fits."""
        versions = self._sites[number].versions
        if len(versions) - 1 not in order:
            return order
        return [k for k in order if (guard := versions[k].guard) is None
                or guard.kind is not Kind.SLABS]

    def _require(self, number: int, order: Sequence[int], local: LocalBytes,
                 sizes: Mapping[str, int]) -> None:
        """Raise VersionUnavailable if the version that must run at a site cannot."""
        forced = self._force.get(self._sites[number].site)
        if forced is not None and order[:1] != [forced]:
            guard = self._sites[number].versions[forced].guard
            raise VersionUnavailable(
                self.name(number, forced), _unmet(guard, sizes)
                if guard is not None and local[forced] == UNMET
                else self._obstacle(number, forced, local[forced]))

    def requires(self, number: int, version: int) -> bool:
        """True if a run without this version at a site must fail."""
        return self._required and self._force.get(self._sites[number].site) == version

    def order(self, number: int, pars: tuple[int, ...], facts: Facts,
              local: LocalBytes) -> list[int]:
        """The versions of a site that can run, in the order of its guards."""
        key = number, pars, facts, local
        if (order := self._orders.get(key)) is None:
            order = self._orders[key] = self._order(number, pars, facts, local)
        return order

    def _order(self, number: int, pars: tuple[int, ...], facts: Facts,
               local: LocalBytes) -> list[int]:
        site = self._sites[number]
        left = [k for k in range(len(site.versions)) if self.unable(number, k, local[k]) is None]
        forced = self._force.get(site.site)
        if forced is not None:  # the later ones first, as if their guards held, then those before
            return [*(k for k in left if k >= forced), *(k for k in reversed(left) if k < forced)]
        order: list[int] = []
        tests = guard_tests(version.guard for version in site.versions)
        compared = self.compared(number, pars)
        thresholds = {name: self._thresholds.get(name, 0) for name in compared}
        while left:
            scarce = self.scarce(number, facts, left, thresholds)
            order.append(version_to_run(tests, left, compared, thresholds, scarce))
            left.remove(order[-1])
        return order

    def predicted(self, number: int, facts: Facts) -> Sequence[float]:
        """The predicted seconds of each version of a site."""
        key = number, facts
        if (found := self._seconds.get(key)) is None:
            found = self._seconds[key] = self._predictor.versions(number, facts, self)
        return found

    def expected(self, number: int, pars: tuple[int, ...], facts: Facts, local: LocalBytes
                 ) -> float:
        """The predicted seconds of the version that runs at a site; infinite if none can."""
        order = self.order(number, pars, facts, local)
        return self.predicted(number, facts)[order[0]] if order else math.inf

    def _preferring(self, number: int, pars: tuple[int, ...], order: list[int],
                    sizes: Mapping[str, int]) -> list[int]:
        """An order with the version first that a size guard says, if it can run."""
        site = self._sites[number]
        guard = self._size_guards.get(site.site)
        if guard is None or site.site in self._force:
            return order
        key = number, pars, *sizes.values()
        if key not in self._preferred:
            self._preferred[key] = guard.version({**sizes, **self.compared(number, pars)})
        chosen = self._preferred[key]
        if chosen is None or chosen not in order:
            return order
        return [chosen, *(k for k in order if k != chosen)]

    def compared(self, number: int, pars: tuple[int, ...]) -> dict[str, int]:
        """The sizes that the guards of a site compare, by the names of the guards."""
        versions = self._sites[number].versions
        return {v.guard.name: p for v, p in zip(versions, pars, strict=True) if v.guard}

    def scarce(self, number: int, facts: Facts, feasible: Sequence[int],
               thresholds: Mapping[str, int] = MappingProxyType({})) -> tuple[str, ...]:
        """The guards without thresholds that do not hold: a later version takes less time.

        Only versions that are ``feasible`` count.
        """
        guards = {k: guard for k in sorted(feasible)[:-1]
                  if (guard := self._sites[number].versions[k].guard) is not None
                  and guard.predicted and not thresholds.get(guard.name)}
        if not guards:
            return ()
        seconds = self.predicted(number, facts)
        return tuple(guard.name for k, guard in guards.items()
                     if seconds[k] > min(seconds[later] for later in feasible if later > k))

    def retry(self) -> None:
        """Choose again for the remaining sites of this run, because a version could not run."""
        self._orders = {}

    def name(self, number: int, version: int) -> str:
        """The name of a version, ``site/index``."""
        return f"{self._sites[number].site}/{version}"

    def _fits(self, local: tuple[int, ...]) -> bool:
        """True if the device has the local memory that needs take."""
        return all(size <= self._device.local_bytes for size in local)

    def _obstacle(self, number: int, version: int, local: tuple[int, ...] = ()) -> str:
        """The reason why a version cannot run, whose needs take ``local`` bytes of local memory."""
        known = (self._sites[number].versions[version].infeasible
                 or self.infeasible.get(self.name(number, version)))
        if known is not None:
            return known.splitlines()[0].rstrip(".")
        if (size := self._excess.get((number, version))) is not None:
            return f"it needs {size:,} bytes of device memory, more than is allowed or there is"
        for size, need in zip(local, self._sites[number].versions[version].needs, strict=False):
            if size >= NEVER:
                return f"no work-group of this device is large enough for the rows of {need}"
            if not self._fits((size,)):
                return (f"a work-group of {need} needs {size:,} bytes of local memory, and this "
                        f"device has {self._device.local_bytes:,}")
        return "needs more local memory than the device has"

    def unable(self, number: int, version: int, local: tuple[int, ...]) -> str | None:
        """The reason why a version cannot run whose needs are ``local`` bytes; None if it can."""
        site = self._sites[number]
        able = (site.versions[version].infeasible is None and self._fits(local)
                and self.name(number, version) not in self.infeasible)
        return None if able else self._obstacle(number, version, local)

    def obstacles(self, number: int) -> Iterator[str]:
        """The reasons why no version of a site can run."""
        for k in range(len(self._sites[number].versions)):
            yield f"version {self.name(number, k)}: {self._obstacle(number, k)}"


def _unmet(guard: Guard, sizes: Mapping[str, int]) -> str:
    """The first need that sizes do not meet, in words."""
    for need in guard.needs:
        env = {name: sizes[str(name)] for name in need.variables()}
        if not need.holds(env):
            return need.complaint(env)
    raise CompilerBug(f"the needs of {guard.name} are met")
