"""Processors that are taken for other devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import runelift
from runelift.ir.base.files import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import DeviceKind, _shares, find_devices


def gpu(source: str, **limits: Any) -> runelift.Program:
    """A program on a processor that is taken for a GPU whose groups do not wait for each other.

    It has 132 compute units and the local memory of NVIDIA's.  ``limits`` are further properties.
    PoCL does not optimise kernels with barriers, which takes most of the time of a test.
    """
    units = 132
    host = next(each for each in find_devices() if each.matches("Portable"))
    shares = replace(_shares(DeviceKind.GPU, 1024, units), patience=0)
    like = {"interleaves": True, "num_groups": 8 * units, "group_size": 256, "max_group": 1024,
            "sequential_segment": 32, "shares": shares,
            "local_bytes": (48 << 10) - 256, "optimised_size": 0}
    return runelift.Program(compile_source(Source("gpu.fut", source), policy="all"),
                            replace(host, **(like | limits)))
