"""Measured peaks of a device: bytes copied and multiply-adds done per second.

A roofline needs ceilings that a program can reach.  Data sheets promise more, and a processor that
other programs use has less.  So short kernels are measured, once per device and driver; the result
is kept in the cache.  Several forms of each kernel are tried, and the fastest one counts.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from runelift.ir.prim import Prim
from runelift.runtime.cache import disk
from runelift.runtime.devices.build import quietly
from runelift.runtime.devices.context import Device

KIND, FORMAT = "peaks", "3"
"""The folder in the cache, and the version of what is measured."""
COPIED = 256 << 20
"""The bytes of the array that is copied, far more than caches hold."""
SECONDS = 0.1
"""The time for each form of a kernel, about."""
HOST_ITERATIONS, ITERATIONS = 512, 16384
"""Enough for a launch to be a small part of the time, on this processor and on other devices."""
CHAINS = 8
"""Multiply-adds that do not wait for each other, per work-item."""
HOST_WIDTHS, WIDTHS = (16,), (1, 4)
"""The lengths of vectors that are tried, on the processor of this process and on other devices."""
TYPES = {Prim.F32: "float", Prim.F64: "double", Prim.I32: "int"}

COPY = """
__kernel void copy_wide(__global const float4 *from, __global float4 *to, const ulong count) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) to[i] = from[i];
}
__kernel void copy_runs(__global const float *from, __global float *to, const ulong count) {
  ulong run = 4 * count / get_global_size(0), first = get_global_id(0) * run;
  for (ulong i = first; i < first + run; i++) to[i] = from[i];
}
"""
MULTIPLY_ADD = """
__kernel void multiply_add(__global TYPE *to, const TYPE factor, const TYPE more) {
  VECTOR DECLARED;
  for (int i = 0; i < ITERATIONS; i++) { STEPS }
  to[get_global_id(0)] = RESULT;
}
"""


@dataclass(frozen=True, slots=True)
class Peaks:
    """Bytes read and written per second by a copy, and operations per second by type.

    A multiply-add is two operations.  Types that the device lacks are missing.
    """

    bandwidth: float
    operations: Mapping[Prim, float]

    def of(self, prim: Prim) -> float | None:
        """The peak for operations on a type; all integers are measured as i32, f16 as f32."""
        return self.operations.get(
            Prim.I32 if prim.is_int else Prim.F32 if prim is Prim.F16 else prim)


def measured_peaks(device: Device, *, again: bool = False) -> Peaks:
    """The peaks of a device, from the cache or measured now.

    If they are measured ``again``, the greatest values found so far count: other programs may have
    used the device before.
    """
    name = disk.key(device.info.label, FORMAT)
    known = _read(disk.load(KIND, name))
    if known is not None and not again:
        return known
    with device.lock, quietly():
        peaks = Peaks(_bandwidth(device), _operations(device))
    if known is not None:
        peaks = Peaks(max(peaks.bandwidth, known.bandwidth), {
            prim: max(rate, known.operations.get(prim, 0.0))
            for prim, rate in peaks.operations.items()})
    disk.store(KIND, name, json.dumps({
        "bandwidth": peaks.bandwidth,
        "operations": {prim.value: each for prim, each in peaks.operations.items()}}).encode())
    return peaks


def _read(content: bytes | None) -> Peaks | None:
    if content is None:
        return None
    try:
        data = json.loads(content)
        return Peaks(data["bandwidth"],
                     {Prim(name): float(each) for name, each in data["operations"].items()})
    except (ValueError, KeyError, TypeError):
        return None


def _bandwidth(device: Device) -> float:
    info = device.info
    size = min(COPIED, info.max_alloc // 2, info.global_bytes // 8) & ~((1 << 20) - 1)
    flags = cl.mem_flags.READ_WRITE
    source, target = (cl.Buffer(device.context, flags, size) for _ in range(2))
    queue = device.profiled
    cl.enqueue_fill_buffer(queue, source, np.zeros(1, np.int32), 0, size)
    program = cl.Program(device.context, COPY).build()
    forms: list[Callable[[], Any]] = [
        lambda: cl.enqueue_copy(queue, target, source, byte_count=size)]
    for kernel, items in ((program.copy_wide, _many(device)),
                          (program.copy_runs, info.units * info.group_size)):
        kernel.set_args(source, target, np.uint64(size // 16))
        forms.append(partial(cl.enqueue_nd_range_kernel, queue, kernel, (items,),
                             (info.group_size,)))
    found: float = 2 * size / min(map(least_seconds, forms))
    for buffer in (source, target):
        buffer.release()
    return found


def _operations(device: Device) -> dict[Prim, float]:
    found: dict[Prim, float] = {}
    doubles = "cl_khr_fp64" in device.info.handle.extensions
    items, group = _many(device), device.info.group_size
    host = device.info.is_host
    widths, iterations = (HOST_WIDTHS, HOST_ITERATIONS) if host else (WIDTHS, ITERATIONS)
    for prim, name in TYPES.items():
        if prim is Prim.F64 and not doubles:
            continue
        to = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, items * prim.bytes)
        one = prim.dtype.type(1)
        for width in widths:
            source = _multiply_add(name, width, iterations)
            kernel = cl.Program(device.context, source).build().multiply_add
            kernel.set_args(to, one, one)
            seconds = least_seconds(partial(
                cl.enqueue_nd_range_kernel, device.profiled, kernel, (items,), (group,)))
            rate = 2.0 * items * iterations * CHAINS * width / seconds
            found[prim] = max(found.get(prim, 0.0), rate)
        to.release()
    return found


def _many(device: Device) -> int:
    """The number of work-items that keep a device busy."""
    info = device.info
    return info.num_groups * info.group_size


def _multiply_add(name: str, width: int, iterations: int) -> str:
    """The source of a kernel with chains of multiply-adds on vectors."""
    vector = name if width == 1 else f"{name}{width}"
    chains = [f"x{number}" for number in range(CHAINS)]
    steps = " ".join(f"{each} = {each} * factor + more;" for each in chains)
    declared = ", ".join(f"{each} = ({vector})(get_global_id(0) + {number})"
                         for number, each in enumerate(chains))
    total = f"({' + '.join(chains)})"
    text = MULTIPLY_ADD
    for key, value in {
            "DECLARED": declared, "STEPS": steps, "VECTOR": vector, "TYPE": name,
            "ITERATIONS": str(iterations),
            "RESULT": total if width == 1 else " + ".join(
                f"{total}.s{lane:x}" for lane in range(width))}.items():  # none may be left out
        text = text.replace(key, value)
    return f"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n{text}" if name == "double" else text


def least_seconds(issue: Callable[[], Any]) -> float:
    """The least device time of a command that is issued again and again."""
    issue().wait()
    least, end = math.inf, time.monotonic() + SECONDS
    while True:
        event = issue()
        event.wait()
        seconds: float = 1e-9 * (event.profile.end - event.profile.start)
        least = min(least, seconds)
        if time.monotonic() >= end:
            return max(least, 1e-9)
