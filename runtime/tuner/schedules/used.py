"""The schedules whose versions run on a dataset, once thresholds are tuned."""

from __future__ import annotations

from runelift.runtime.tuner.autotune import State
from runelift.runtime.tuner.schedules.measuring import Lines


def used_schedules(state: State) -> set[Lines]:
    """The schedules, by their steps, of versions that thresholds or size guards choose."""
    guards = {site: guard for each in state.guards for site, guard in each.finer.items()}
    found = set[Lines]()
    for entry in state.thresholds.entries:
        sites = entry.forest.sites()
        chosen = {version for dataset in entry.costs.datasets for point in dataset.points
                  for version in point.taken(entry.fit.thresholds)}
        for name, guard in guards.items():
            chosen |= {(name, index) for index in guard.possible()}
        found |= {sites[name].alternatives[index].schedule for name, index in chosen
                  if name in sites}
    return found
