"""The results of trials of parameters, as text, as rows for pages, and as facts for JSON."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from runelift.runtime.records.format import table
from runelift.runtime.tuner.analysis.importance import Importance, importance
from runelift.runtime.tuner.kernel_parameters.search import Trial
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning

METHOD = ("Importance: the part of the variance of times that a parameter explains alone, by a "
          "functional analysis of variance of 16 regression trees (Hutter, Hoos and Leyton-Brown, "
          "ICML 2014).  “Together” is what only several parameters explain.  “Fit” says "
          "how well trees foretell settings that they have not seen: near 0 %, times are noise.")
"""The meaning of the columns of importance, and the source of the method."""
UNCLEAR = 0.3
"""Fit below which parts of the variance say little."""
SHOWN = 3
"""Most parameters of an operation that are named."""
LEAST_PART = 0.01
"""Part of the variance from which on a parameter is named."""
WIDTH = 96
"""Width of the lines below a table."""

RelativeTimes: TypeAlias = Mapping[tuple[tuple[str, int], ...], float]
"""Times of settings relative to the default."""


def render_parameters(tuning: ParameterTuning) -> str:
    """The results of the trials and of the comparison, as text."""
    lines = [f"Parameters of kernels ({tuning.seconds:.0f} s):"]
    lines.append(table(overview(tuning), "  ") if tuning.settled
                 else "  no operation takes time enough")
    if tuning.why:
        lines.append(f"  The settings stay as they are: {tuning.why}.")
    if found := importances(tuning):
        lines += ["", table(importance_rows(found), "  "),
                  *textwrap.wrap(METHOD, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    if tuning.verified:
        lines += ["", table([["when found, on", "before", "with parameters", "gain"], *(
            [name, *both.texts] for name, both in tuning.verified.items())], "  ")]
    return "\n".join(lines)


def overview(tuning: ParameterTuning) -> list[list[str]]:
    """Rows with the result of each operation, the head first."""
    head = ["operation", "settings", "tries", "time", "chosen"]
    return [head, *([each.operation, str(each.settings), str(each.tries), f"{each.ratio:.2f}",
                     ", ".join(f"{short(name)} {value}" for name, value in each.chosen.items())
                     or "default"] for each in tuning.settled)]


def parameter_facts(tuning: ParameterTuning) -> dict[str, Any]:
    """The results of tuning parameters as a JSON object."""
    return {"settings": tuning.chosen, "kept": tuning.why or None, "seconds": tuning.seconds,
            "operations": [asdict(each) for each in tuning.settled],
            "importance": {name: asdict(each) for name, each in importances(tuning).items()},
            "verified": {name: asdict(both) for name, both in tuning.verified.items()}}


# Importance


def relative_times(trials: Sequence[Trial]) -> RelativeTimes:
    """The mean over its meetings of each setting's time relative to the default."""
    found = defaultdict[tuple[tuple[str, int], ...], list[float]](list)
    for trial in trials:
        if trial.seconds is not None and trial.default:
            found[tuple(trial.setting.items())].append(trial.seconds / trial.default)
    return {setting: sum(each) / len(each) for setting, each in found.items()}


def importances(tuning: ParameterTuning) -> dict[str, Importance]:
    """The importance of the parameters of each operation with trials enough."""
    found = {each.operation: importance(relative_times(each.trials)) for each in tuning.settled}
    return {name: each for name, each in found.items() if each is not None}


def importance_rows(found: Mapping[str, Importance]) -> list[list[str]]:
    """A row for each operation, the head first."""
    return [["operation", "most important parameters", "together", "fit"], *(
        [name, _most_important(each), _percent(each.together), _percent(each.fit)]
        for name, each in found.items())]


def _most_important(found: Importance) -> str:
    """The parameters that explain most, in order; none where times are noise."""
    if found.fit < UNCLEAR:
        return "none: times are mostly noise"
    ranked = sorted(found.parts.items(), key=lambda each: -each[1])
    return ", ".join(f"{short(name)} {_percent(part)}" for name, part in ranked[:SHOWN]
                     if part >= LEAST_PART) or "none"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def short(name: str) -> str:
    """The name of a parameter without that of its operation."""
    return name.rpartition(".")[2]
