"""The contents of ``runelift.teaching``: names of the inside of the package that lessons use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runelift.ir import imp
from runelift.runtime.data.outline import arguments_of_sizes
from runelift.runtime.devices.profiles import profile
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import Prediction, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.programs.program import Program
from runelift.runtime.research.compare_strategies import Comparison, Problem, compare
from runelift.runtime.research.forest_of_log import logged_forest, without_gaps
from runelift.runtime.research.recorded import Recorded
from runelift.runtime.tools.commands.cli import main as command
from runelift.runtime.tools.notebook.fragments import fragment
from runelift.runtime.tools.pages.charts import Mark, Series, curves, dots, heat_map
from runelift.runtime.tools.pages.markup import Markup, element, read
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.races.checks import RaceChecks
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from runelift.runtime.tools.races.mistakes import KernelMistake
from runelift.runtime.tuner.costs.cost_model import costs_of
from runelift.runtime.tuner.costs.log import read_log
from runelift.runtime.tuner.strategies import parse_strategy
from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.node_wise import tune_with
from runelift.runtime.tuner.strategies.nodes import all_false
from runelift.runtime.tuner.strategies.trials import strategy

__all__ = [
    "Axis", "IndexSpace", "InterpretedRun", "KernelMistake", "Mark", "RaceChecks", "Series",
    "command", "contest", "curves", "dots", "heat_map", "imp", "modelled_on", "picture",
    "predicted", "strategy", "tune_with",
]


class Picture(str):
    """A chart that notebooks show, with colours for light and dark pages."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self


def picture(drawn: Markup) -> Picture:
    """A chart of :func:`curves`, :func:`dots` or :func:`heat_map` as the result of a cell."""
    return Picture(fragment(element("style", read("pictures.css", __package__)),
                            element("figure", drawn)))


def modelled_on(program: Program, device: str) -> LoadedProgram:
    """The program as if on a device that is modelled, such as ``h200``; it only predicts."""
    return modelled(program.compiled, ModelledDevice(profile(device)))


def predicted(program: LoadedProgram, entry: str, sizes: Mapping[str, int],
              force: Mapping[str, int] | None = None) -> Prediction:
    """The predicted cost of a call with arguments of these sizes, which need no memory.

    ``force`` has numbers of versions by the names of their choices.
    """
    args = arguments_of_sizes(program.interface(entry), dict(sizes))
    return predict_call(program, entry, args, force=dict(force or {}))


def contest(log: str | Path, entry: str, *names: str, seeds: int = 5) -> Comparison:
    """Compare strategies by the times in the log of a tuning; nothing is run."""
    measured = read_log(Path(log))[entry]
    forest = logged_forest(measured)
    costs, _ = without_gaps(costs_of(forest, measured), measured)
    default = all_false(forest)

    def recorded(_seed: int) -> Any:
        return Recorded(costs, default, measured)

    return compare({name: parse_strategy(name) for name in names},
                   Problem(costs, default, recorded), seeds=seeds)
