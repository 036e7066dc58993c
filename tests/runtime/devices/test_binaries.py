"""Binaries of programs: asking for them leaves other threads alone."""

from __future__ import annotations

import threading
import time

import pyopencl as cl
import pytest

import runelift
from runelift.runtime.cache import disk
from runelift.runtime.devices import build
from runelift.runtime.devices.info import select

SLOW = "\n".join(f"""
kernel void slow_{k}(global int *x, local int *y) {{
  y[get_local_id(0)] = x[get_global_id(0)];
  for (int i = 0; i < {k + 5}; i++) {{
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_local_id(0)] += NEW + y[(get_local_id(0) + i) % get_local_size(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
  }}
  x[get_global_id(0)] = y[get_local_id(0)];
}}""" for k in range(6))


def test_other_threads_run_while_a_binary_is_compiled() -> None:
    """PoCL compiles kernels only when it is asked for them, which may take minutes."""
    info = select("pocl")
    assert info is not None
    new = SLOW.replace("NEW", str(time.time_ns() % 1_000_000_007))  # PoCL has a cache, too
    program = cl.Program(cl.Context([info.handle]), new).build()
    beats, over = [time.perf_counter()], threading.Event()

    def beat() -> None:
        while not over.wait(0.005):
            beats.append(time.perf_counter())

    thread = threading.Thread(target=beat)
    thread.start()
    started = time.perf_counter()
    binary = build._binary(program)
    seconds = time.perf_counter() - started
    over.set()
    thread.join()
    assert len(binary) > 100
    longest = max(b - a for a, b in zip(beats, [*beats[1:], time.perf_counter()], strict=True))
    assert longest < max(0.5 * seconds, 0.2)
    assert binary == program.get_info(cl.program_info.BINARIES)[0]


@pytest.mark.parametrize("keeps", [True, False])
def test_binaries_are_stored_only_if_the_driver_keeps_no_kernels(
        keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking PoCL for one compiles all kernels again, which takes longer than to load them."""
    monkeypatch.setenv("POCL_KERNEL_CACHE", "1" if keeps else "0")
    program = runelift.compile("entry main (x: i32): i32 = x", device="pocl", tuning={})
    device = program.loaded.executable("main").device
    source = f"kernel void one(global int *x) {{ x[0] = {time.time_ns() % 1_000_000_007}; }}"
    name = build.cache_name(device.info, source)
    stored = list[bytes | None]()
    for _ in range(2):
        build.build_program(device, source)
        stored.append(disk.load(build.KERNELS, name))
    assert stored[0] == build.BUILT_ONCE
    assert (stored[1] == build.BUILT_ONCE) is keeps
