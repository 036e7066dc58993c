"""The time of a tuning: announced before it begins, and accounted for when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from runelift.ir.base.numerals import counted
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.versions.forest import plans

START_SECONDS = 2.0
"""Seconds until a program is compiled and a process with a device waits for it."""
VERSION_SECONDS = 0.5
"""Seconds to build and run a version on a dataset."""
SETTING_SECONDS = 2.0
"""Seconds to try the settings of an operation on a dataset."""
TURN_SECONDS = 1.5
"""Seconds of the last runs in turn, of each dataset."""
WORDS = {"search_schedules": "schedules", "fit_thresholds": "versions", "find_wrong": "outputs",
         "tune_parameters": "parameters", "tune_size_guards": "size guards",
         "weigh_choice": "memory", "settle": "runs in turn", "validate": "validation"}
"""Words for the stages of a tuning."""
LEAST_SHOWN = 0.5
"""Seconds of a stage that are worth a word."""


class ExpectedTime(NamedTuple):
    """The seconds that a tuning will probably take, and the most that it may take."""

    likely: float
    most: float | None

    def announced(self, datasets: int) -> str:
        """A sentence for people who wait.

        >>> ExpectedTime(24.3, 60.0).announced(2), ExpectedTime(90.0, 60.0).announced(1)
        ('tuning for 2 datasets: about 24 s, at most 60 s', 'tuning for 1 dataset: at most 60 s')
        >>> ExpectedTime(24.3, None).announced(2)
        'tuning for 2 datasets: about 24 s'
        """
        what = f"tuning for {counted(datasets, 'dataset')}: "
        if self.most is None:
            return f"{what}about {self.likely:.0f} s"
        most = f"at most {self.most:.0f} s"
        return f"{what}{most}" if self.likely >= self.most else (
            f"{what}about {self.likely:.0f} s, {most}")


def expected_time(program: Program, job: TuningJob, most: float | None, *,
                  parameters: bool) -> ExpectedTime:
    """The time that a tuning will take, by the numbers of its versions and operations.

    Other work on the processors makes it longer.
    """
    versions = settings = 0.0
    for forest in program.tree.entries:
        datasets = len(job.datasets_of(forest.entry))
        if datasets:
            versions += datasets * len(plans(forest)) * VERSION_SECONDS
            operations = len(program.spaces(forest.entry)) if parameters else 0
            settings += datasets * operations * SETTING_SECONDS
    tried = min(settings, job.policy.parameters.seconds)
    turns = min(len(job.datasets) * TURN_SECONDS, job.policy.comparison.final_seconds)
    likely = START_SECONDS + versions + tried + (turns if job.verify else 0.0)
    return ExpectedTime(likely * (1 + job.busy()), most)


def accounted(spent: Mapping[str, float], seconds: float) -> str:
    """The seconds of a tuning by what they went into, the most first.

    >>> accounted({"fit_thresholds": 4.2, "tune_parameters": 14.0, "settle": 0.1}, 20.0)
    'Time: 20 s: parameters 14 s, versions 4 s, compiling and other work 2 s'
    >>> accounted({}, 0.2)
    'Time: 0 s'
    """
    named = sorted(((WORDS.get(stage, stage), each) for stage, each in spent.items()
                    if each >= LEAST_SHOWN), key=lambda part: -part[1])
    rest = seconds - sum(each for _, each in named)
    parts = [*named, ("compiling and other work" if named else "compiling", rest)]
    shown = ", ".join(f"{what} {each:.0f} s" for what, each in parts if each >= LEAST_SHOWN)
    return f"Time: {seconds:.0f} s" + f": {shown}" * bool(shown)
