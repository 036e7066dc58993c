"""Protocol between a trial run (:mod:`~runelift.runtime.tuner.trials.trial_run`) and a search."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from runelift.runtime.geometry.parameter_space import Setting


@dataclass(frozen=True, slots=True)
class UpcomingSettings:
    """Settings that will be asked for, so that their kernels can be built at the same time."""

    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class PredictedSettings:
    """Settings whose predicted seconds are asked for, without a launch."""

    settings: tuple[Setting, ...]


Request: TypeAlias = Setting | UpcomingSettings | PredictedSettings
Answer: TypeAlias = float | Setting | str | list[float] | None
Search: TypeAlias = Generator[Request, Answer, None]
"""Asks for settings and is sent the seconds that each took, or why one cannot run.

A setting may launch just the kernels that an earlier setting launched, with equal geometries.  Then
the answer is that earlier setting.  What is said to be :class:`UpcomingSettings` is answered with
None.  For :class:`PredictedSettings` the answer is a list, infinite for a setting that cannot run;
None if there is no prediction.
"""
OperationId: TypeAlias = tuple[str, int]
"""The name of an operation, and how often it has been met before in a run."""
Searches: TypeAlias = Mapping[OperationId, Callable[[], Search]]
OperationTime: TypeAlias = tuple[OperationId, float]
"""An operation that was met in a run, and its device time (seconds)."""
