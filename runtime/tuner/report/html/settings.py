"""Times of settings of kernels, as heat maps over two of their parameters."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from runelift.runtime.pages import charts
from runelift.runtime.pages.document import figure, folded, section, table
from runelift.runtime.pages.markup import Markup
from runelift.runtime.pages.scales import Axis
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tuner.kernel_parameters.successive_halving import Trial
from runelift.runtime.tuner.kernel_parameters.tune import OperationResult, ParameterTuning, overview


def parameter_charts(tuning: ParameterTuning) -> list[Markup]:
    """The outcome of all trials, and a picture for each operation that was tried."""
    return [table(overview(tuning), "Time is relative to the default setting"),
            *(section(each.operation, list(_operation(each)), 3)
              for each in tuning.settled if each.trials)]


def _operation(settled: OperationResult) -> Iterator[Markup]:
    ratios = _ratios(settled.trials)
    names = _varied(ratios)
    best = min(ratios, key=lambda setting: ratios[setting], default=())
    text = "fastest with " + ", ".join(f"{short(name)} {value}" for name, value in best
                                       if name in names) + "."
    title = f"{settled.operation}: time relative to the default"
    if len(names) >= 2:
        down, across = names[0], names[1]
        columns, rows = (sorted({dict(s)[name] for s in ratios}) for name in (across, down))
        cells = [[_least(ratios, {across: x, down: y}) for x in columns] for y in rows]
        yield figure(charts.heat_map(title, text, (short(across), columns), (short(down), rows),
                                     cells),
                     f"{settled.operation}: the least time relative to the default, whatever the "
                     f"other parameters are; {text}")
    elif names:
        values = sorted({dict(s)[names[0]] for s in ratios})
        yield figure(charts.curves(
            title, text, Axis(short(names[0]), lambda v: f"{v:g}", min(values) > 0),
            Axis("time relative to the default", lambda v: f"{v:g}"),
            [charts.Series("least", [(v, _least(ratios, {names[0]: v}) or math.nan)
                                     for v in values], 0)]), f"{settled.operation}: {text}")
    yield folded("All trials, as a table", [table([
        ["setting", "dataset", "time", "default"],
        *([", ".join(f"{short(n)} {v}" for n, v in trial.setting.items()), trial.dataset,
           "impossible" if trial.seconds is None else show_seconds(trial.seconds),
           show_seconds(trial.default)] for trial in settled.trials)])])


def _ratios(trials: Sequence[Trial]) -> dict[tuple[tuple[str, int], ...], float]:
    """The mean over its meetings of each setting's time relative to the default."""
    found = defaultdict[tuple[tuple[str, int], ...], list[float]](list)
    for trial in trials:
        if trial.seconds is not None and trial.default:
            found[tuple(trial.setting.items())].append(trial.seconds / trial.default)
    return {setting: sum(each) / len(each) for setting, each in found.items()}


def _varied(ratios: Mapping[tuple[tuple[str, int], ...], float]) -> list[str]:
    """The parameters that were tried with several values, most values first."""
    values = defaultdict[str, set[int]](set)
    for setting in ratios:
        for name, value in setting:
            values[name].add(value)
    return sorted((name for name in values if len(values[name]) > 1),
                  key=lambda name: -len(values[name]))


def _least(ratios: Mapping[tuple[tuple[str, int], ...], float], given: Mapping[str, int]
           ) -> float | None:
    """The least time of settings with these values; None if there was no such trial."""
    return min((ratio for setting, ratio in ratios.items()
                if given.items() <= dict(setting).items()), default=None)


def short(name: str) -> str:
    """The name of a parameter without that of its operation."""
    return name.rpartition(".")[2]
