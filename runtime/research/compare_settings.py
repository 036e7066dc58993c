"""Comparing searches for the parameters of kernels: equal effort, judged side by side.

Every strategy searches the settings of each notable operation, in place and on the inputs of a
dataset, as a tuning does.  Then the settings that they found are timed in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from runelift.runtime.geometry.parameter_space import Setting
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.tuner.kernel_parameters.search import SettingSearch
from runelift.runtime.tuner.measure.measurable import Measurable
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.policy import NORMAL, ParameterPolicy
from runelift.runtime.tuner.trials.protocol import OperationId, Search

ROUNDS = 7
"""The number of times that settings are timed in turn at the end."""


@dataclass(frozen=True, slots=True)
class FoundSetting:
    """The setting that a strategy found with so many ``tries`` in so many ``seconds``.

    ``time`` are the seconds of the operation with it.
    """

    strategy: str
    tries: int
    seconds: float
    impossible: int
    setting: dict[str, int]
    time: float


@dataclass(frozen=True, slots=True)
class OperationComparison:
    """The searches for an operation on a dataset; ``default`` is its time without a setting."""

    operation: str
    dataset: str
    settings: int
    default: float
    found: tuple[FoundSetting, ...]

    @property
    def best(self) -> float:
        """The least time that any of them found, or the default."""
        return min([self.default, *(each.time for each in self.found)])


def compare_searches(program: Measurable, entry: str, datasets: Sequence[Dataset],
                     strategies: Sequence[str], *, tries: int | None = None,
                     seconds: float | None = None, seed: int = 0,
                     policy: ParameterPolicy = NORMAL.parameters,
                     progress: Callable[[str], None] = lambda _: None) -> list[OperationComparison]:
    """Let every strategy search the settings of each notable operation of the datasets.

    Each search has so many ``tries``, or else ``seconds``.  Kernels that one has built are there
    for the next, so tries are the fairer measure.
    """
    spaces = {space.operation.name: space for space in program.spaces(entry)}
    found = []
    for dataset in datasets:
        args = program.place(dataset.arguments())
        met = dict(program.try_settings(entry, args, force={}, thresholds={}))
        whole = sum(met.values())
        for operation, spent in met.items():
            if operation[1] or operation[0] not in spaces or spent < policy.share * whole:
                continue
            contests = dict[str, tuple[SettingSearch, float]]()
            for strategy in strategies:
                progress(f"{strategy}: {operation[0]} on {dataset.name}")
                contest = SettingSearch(spaces[operation[0]], seed, policy, program.builders,
                                            strategy)
                if tries is not None:
                    contest.clock = partial(_tries, contest)
                started = time.perf_counter()
                program.try_settings(entry, args, force={}, thresholds={}, searches={
                    operation: partial(contest.search, dataset.name, 1.0,
                                       tries if tries is not None else seconds or 0.0)})
                contests[strategy] = contest, time.perf_counter() - started
            found.append(_judged(program, entry, dataset.name, args, operation, contests))
    return found


def _tries(contest: SettingSearch) -> float:
    """The tries of a search so far, as its clock."""
    return float(contest.tries)


@dataclass(slots=True)
class _Judging:
    """Times settings in turn, the least of several rounds counts."""

    settings: Sequence[Setting]
    times: dict[Setting, float] = field(default_factory=dict)

    def search(self) -> Search:
        """Ask for all settings, round by round; the first is to warm up."""
        for number in range(ROUNDS + 1):
            for setting in self.settings:
                seconds = yield setting
                if number and isinstance(seconds, float):
                    self.times[setting] = min(seconds, self.times.get(setting, seconds))


def _judged(program: Measurable, entry: str, dataset: str, args: Sequence[Any],
            operation: OperationId, contests: dict[str, tuple[SettingSearch, float]]
            ) -> OperationComparison:
    space = next(contest.space for contest, _ in contests.values())
    bests = {strategy: contest.best() for strategy, (contest, _) in contests.items()}
    judging = _Judging(list(dict.fromkeys([space.default, *bests.values()])))
    program.try_settings(entry, args, force={}, thresholds={},
                         searches={operation: judging.search})
    default = judging.times.get(space.default, 0.0)
    return OperationComparison(operation[0], dataset, space.count, default, tuple(
        FoundSetting(strategy, contest.tries, seconds, len(contest.impossible),
                     space.named(bests[strategy]), judging.times.get(bests[strategy], default))
        for strategy, (contest, seconds) in contests.items()))


def render_searches(found: Sequence[OperationComparison]) -> str:
    """A table for each operation and dataset."""
    return "\n\n".join(_table(each) for each in found)


def _table(each: OperationComparison) -> str:
    rows = [["strategy", "tries", "seconds", "time", "over the best", "setting"]]
    for one in each.found:
        over = one.time / each.best - 1 if each.best else 0.0
        setting = " ".join(f"{name.rpartition('.')[2]}={value}"
                           for name, value in one.setting.items())
        rows.append([one.strategy, str(one.tries), f"{one.seconds:.1f}", show_seconds(one.time),
                     f"{100 * over:.1f} %", setting or "default"])
    return (f"{each.operation} on {each.dataset}: {each.settings:,} settings, "
            f"{show_seconds(each.default)} by default\n\n{table(rows, '  ')}")


def search_facts(found: Sequence[OperationComparison]) -> list[dict[str, Any]]:
    """The comparison for a program to read; times in seconds."""
    return [{**asdict(each), "best": each.best} for each in found]
