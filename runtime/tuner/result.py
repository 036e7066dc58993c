"""Results of tuning: of one entry point, and of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runelift.runtime.displayed import Displayed, frame
from runelift.runtime.tuner.costs.cost_model import Costs
from runelift.runtime.tuner.costs.log import Measurements
from runelift.runtime.tuner.costs.objective import Objective
from runelift.runtime.tuner.fit.fit import Fit
from runelift.runtime.tuner.fit.memory_front import MemoryFront
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.measure.side_by_side import SideBySide
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.size_guards import GuardedThresholds, SizeGuard


@dataclass(frozen=True, slots=True)
class EntryTuning:
    """The result of tuning one entry point.

    ``first`` is the fit that paired runs did not bear out, if there is one.  The datasets
    ``unmoved`` turned out slower with it, or no faster: they keep their default versions.
    ``front`` is that of time and memory, if it was asked for.  ``finer`` are the size guards of the
    final choice, by site.
    """

    forest: Forest
    defaults: dict[str, int]
    measurements: Measurements
    costs: Costs
    fit: Fit
    verified: dict[str, PairedTimes] = field(default_factory=dict)
    interrupted: bool = False
    first: Fit | None = None
    unmoved: frozenset[str] = frozenset()
    aim: Objective = Objective.RELATIVE
    front: MemoryFront | None = None
    finer: Mapping[str, SizeGuard] = field(default_factory=dict)
    untuned: Costs | None = None
    """The costs without settings of kernels, where ``costs`` are with settings.

    With settings, predicted times may lead to other versions by default.
    """

    @property
    def choice(self) -> GuardedThresholds:
        """The thresholds with the size guards before them: what runs."""
        return GuardedThresholds(self.fit.thresholds, self.finer)

    def by_default(self, dataset: str) -> tuple[int, ...] | None:
        """The versions that run untuned on a dataset; None if its costs are not known."""
        costs = (self.untuned or self.costs).of(dataset)
        return None if costs is None else costs.launched(self.defaults)

    def fit_with(self, thresholds: dict[str, int]) -> Fit:
        """The fit as it is with other thresholds, and the times that the costs predict then."""
        return replace(self.fit, thresholds=thresholds, intervals={}, exact=False,
                       kept_default=None, predicted={
                           name: seconds for name, seconds in self.costs.totals(thresholds).items()
                           if name in self.fit.predicted})

    @property
    def known(self) -> Costs:
        """The costs by all runs.

        Where runs side by side refute forced runs, the runs side by side count.
        """
        return self.costs.frozen(self.unmoved, self.defaults) if self.unmoved else self.costs

    @property
    def program_runs(self) -> int:
        """The runs that saw every version on every dataset, repetitions not counted."""
        return self.measurements.program_runs


@dataclass(frozen=True, slots=True, repr=False)
class Tuning(Displayed):
    """The result of tuning a program; ``thresholds`` hold for all its entry points.

    ``final`` are times of default, tuned and best version in turn, if these ran in the end.
    """

    entries: tuple[EntryTuning, ...]
    final: tuple[SideBySide, ...] = ()
    _looks = "tunings"

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each dataset: its times by default and tuned, in seconds."""
        rows: list[dict[str, Any]] = self._drawn_by().rows(self)
        return rows

    def to_pandas(self) -> Any:
        """The rows of :meth:`to_dicts` as a frame; UserError if pandas is not installed."""
        return frame(self.to_dicts())

    def __repr__(self) -> str:
        return self._text()

    @property
    def thresholds(self) -> dict[str, int]:
        """The tuned thresholds by name."""
        return {name: value for entry in self.entries
                for name, value in entry.fit.thresholds.items()}

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the measuring."""
        return any(entry.interrupted for entry in self.entries)


def default_thresholds(forest: Forest) -> dict[str, int]:
    """The thresholds that hold without tuning; 0 stands for predicted times."""
    return {name: guard.untuned for name, guard in forest.guards().items()}
