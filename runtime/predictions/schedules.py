"""Predicted times of a program with other schedules: nothing is built or run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.source import Source
from runelift.rewrite.lift.schedule import Schedule
from runelift.runtime.compilation.compiled import Compiled, Stages
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import seconds_of_call

FEW_VERSIONS = "moderate"
"""The policy by which programs are compiled for estimates: all versions take twice as long."""


def seconds_by_schedule(compiled: Compiled, info: DeviceInfo, entry: str,
                        inputs: Sequence[Sequence[Any]], policy: str | None = None
                        ) -> Callable[[Schedule], tuple[float, ...]]:
    """The function that predicts an entry point with a schedule, for outlines of inputs.

    It is compiled by a ``policy`` for versions, or by the program's.
    """
    device, compiled = ModelledDevice(info), replace(compiled, policy=policy or compiled.policy)

    def predicted(schedule: Schedule) -> tuple[float, ...]:
        loaded = modelled(replace(compiled, stages=Stages(compiled.core), plans={},
                                  unchecked=set(), uncosted=set(),
                                  schedule=Source("schedule", schedule.text)), device)
        loaded.checks_kernels = False
        try:
            return tuple(seconds_of_call(loaded, entry, each) for each in inputs)
        except (UserError, CompilerLimitation):
            return (math.inf,) * len(inputs)

    return predicted
