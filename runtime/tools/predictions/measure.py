"""Measuring a device: short kernels, whose times stand for the constants of predicted times.

The constants of a profile were fitted to launches of whole programs.  The constants of another
device are these constants times a factor.  The factor is how much slower or faster its short
kernels are (:data:`BY`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.ir.prim import Prim
from runelift.runtime.cost.device_costs import USUAL, DeviceCosts, keep
from runelift.runtime.cost.peaks import least_seconds, measured_peaks
from runelift.runtime.devices.build import quietly
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.profiles import DeviceProfile, profile
from runelift.runtime.execution.probes.on_demand import open_device

CHASED = 64 << 20
"""The bytes that a work-item walks through, more than caches near it hold."""
STEPS = 1 << 14
"""The steps that follow one another in a short kernel."""
CACHED = 1 << 20
"""The elements of an array that stays in the last cache."""
BY = {"launch": "launch", "round": "launch", "wait": "launch", "bandwidth": "bandwidth",
      "cache_bandwidth": "cached", "unit_bandwidth": "cached", "random": None, "lookup": None,
      "operation": "f32", "special": "f32", "double": "f64", "access": "cached",
      "private": "cached", "local": "f32", "atomic": "atomic", "local_atomic": "local_atomic",
      "step": "step", "hit": "step", "latency": "latency",
      "stream": "latency", "ahead": "latency", "sector": "cached", "barrier": "barrier",
      "cache": None, "unit_cache": None,
      "items": None, "groups": None, "room": None, "abreast": None, "norm": None}
"""The short kernel that stands for each constant; None for a constant that stays as it is."""
RATES = frozenset({"bandwidth", "cache_bandwidth", "unit_bandwidth"})
"""Constants that are amounts per second, not seconds."""


def measured_costs(device: Device) -> DeviceCosts:
    """The constants of a device.

    Short kernels say how to scale the constants of the profile of its kind.
    """
    return scaled(profile(USUAL[device.info.is_host]), short_kernels(device))


def measured_and_kept(info: DeviceInfo) -> DeviceCosts:
    """The constants of a device, measured now, and kept for later processes."""
    costs = measured_costs(open_device(info))
    keep(info, costs)
    return costs


def scaled(known: DeviceProfile, found: Mapping[str, float]) -> DeviceCosts:
    """The constants of a profile for a device whose short kernels take these seconds."""
    scales = {name: 1.0 if kernel is None else found[kernel] / known.measured[kernel]
              for name, kernel in BY.items()}
    return DeviceCosts(**{name: value / scales[name] if name in RATES else value * scales[name]
                          for name, value in known.costs.items()})


def short_kernels(device: Device) -> dict[str, float]:
    """The seconds of each short kernel, for one step, operation or byte."""
    peaks, info = measured_peaks(device), device.info
    group, many = info.group_size, info.num_groups * info.group_size
    int_bytes = Prim.I32.bytes
    flags = cl.mem_flags.READ_WRITE
    chased = CHASED // int_bytes
    places = np.empty(chased, np.int32)
    order = np.random.default_rng(1).permutation(chased // 32) * 32  # a line each
    places[order] = np.roll(order, -1)
    with device.lock, quietly():
        cells = cl.Buffer(device.context, flags, CACHED * int_bytes)
        chain = cl.Buffer(device.context, flags | cl.mem_flags.COPY_HOST_PTR, hostbuf=places)
        text = (files(__package__) / "short_kernels.cl").read_text("utf-8")
        program = cl.Program(device.context, text).build(
            [f"-DSTEPS={STEPS}", f"-DCACHED={CACHED}"])
        local = cl.LocalMemory(max(group, 256) * int_bytes)

        def seconds(kernel: Any, items: int, *args: Any) -> float:
            kernel.set_args(*args)
            issue: Callable[[], Any] = partial(
                cl.enqueue_nd_range_kernel, device.profiled, kernel, (items,), (min(group, items),))
            return least_seconds(issue)

        start = seconds(program.nothing, group, cells)

        def each(kernel: Any, items: int, count: float, *args: Any) -> float:
            return max(seconds(kernel, items, *args) - start, 1e-9) / count

        return {
            "launch": start, "bandwidth": 1 / peaks.bandwidth,
            "f32": 1 / peaks.operations[Prim.F32],
            "f64": 1 / peaks.operations.get(Prim.F64, peaks.operations[Prim.F32]),
            "latency": each(program.chase, 1, STEPS, cells, chain),
            "step": each(program.steps, 1, STEPS, cells, np.int32(3)),
            "cached": each(program.cached, many, many * 64, cells, cells),
            "atomic": each(program.atomics, many, many * 64, cells),
            "local_atomic": each(program.local_atomics, many, many * 256, cells, local),
            "barrier": each(program.barriers, group, 1024, cells, local)}
