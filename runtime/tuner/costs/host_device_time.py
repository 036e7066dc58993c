"""Host time and device time: the device computes while the host issues further commands.

A run is over when both are done, so its time is the greater of the two sums.  Where kernels are
short the host is late, and a faster kernel only waits for the next launch.  Device times alone
would promise gains there that no run has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from runelift.runtime.tuner.costs.cost_model import DatasetCosts
    from runelift.runtime.tuner.costs.pareto import Array


Clock: TypeAlias = Literal["device", "host"]
"""The two clocks, as the seconds of a :class:`Cost` are called."""


class Cost(NamedTuple):
    """Seconds of the device and seconds of the host.  Fits add up many thousands."""

    device: float
    host: float = 0.0

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        return Cost(self.device + other.device, self.host + other.host)

    def without(self, other: Cost) -> Cost:
        """The difference, at least 0, of both clocks."""
        return Cost(max(0.0, self.device - other.device), max(0.0, self.host - other.host))

    @property
    def time(self) -> float:
        """The seconds if host and device work at the same time."""
        return max(self.device, self.host)

    @property
    def late(self) -> Clock:
        """The clock with more seconds."""
        return "host" if self.host > self.device else "device"

    def of(self, clock: Clock) -> float:
        """The seconds of one clock."""
        return self.host if clock == "host" else self.device


NO_COST = Cost(0.0)


def total(costs: Iterable[Cost]) -> Cost:
    """The sum of both clocks."""
    device = host = 0.0
    for seconds, issue in costs:
        device += seconds
        host += issue
    return Cost(device, host)


def least(costs: Iterable[Cost]) -> Cost:
    """The least seconds of each clock."""
    return Cost(*map(min, zip(*costs, strict=True)))


def most(costs: Iterable[Cost]) -> Cost:
    """The most seconds of each clock."""
    return Cost(*map(max, zip(*costs, strict=True)))


class Clocks:
    """The clocks of datasets that count, as components of cost vectors.

    A dataset has one component if one clock is late for all choices, else two.  Vectors are sums
    over encounters; :meth:`times` adds the cost outside of them.
    """

    def __init__(self, datasets: Sequence[DatasetCosts]) -> None:
        self.columns = [(index, clock) for index, dataset in enumerate(datasets)
                        for clock in _clocks(dataset)]
        self._datasets = datasets
        self._first = [k for k, (index, _) in enumerate(self.columns)
                       if not k or index != self.columns[k - 1][0]]
        self._rest = np.array([datasets[index].rest.of(clock) for index, clock in self.columns])
        self.components = [[(k, clock) for k, (at, clock) in enumerate(self.columns)
                            if at == index] for index in range(len(datasets))]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def linear(self) -> bool:
        """True if the time of each dataset is one sum."""
        return len(self.columns) == len(self._datasets)

    @property
    def least(self) -> Array:
        """The least cost of the encounters over all choices."""
        lows = [self._datasets[index].bounds()[0].of(clock) for index, clock in self.columns]
        found: Array = np.array(lows) - self._rest
        return found

    def limits(self, allowed: Mapping[str, float]) -> Array:
        """The costs of encounters at which each dataset takes as long as is allowed."""
        limits: Array = np.array([allowed[self._datasets[index].name] - rest
                                  for (index, _), rest in zip(self.columns, self._rest,
                                                              strict=True)])
        return limits

    def times(self, costs: Array) -> Array:
        """The times of runs (choices × datasets) from the costs of encounters."""
        times: Array = np.maximum.reduceat(costs + self._rest, self._first, axis=1)
        return times


def _clocks(dataset: DatasetCosts) -> list[Clock]:
    """The clocks of a dataset that are late for some choices."""
    low, high = dataset.bounds()
    if high.host <= low.device:
        return ["device"]
    if high.device <= low.host:
        return ["host"]
    return ["device", "host"]
