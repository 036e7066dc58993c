"""Kernels whose work-items wait for scratch memory are built for more of them at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

import runelift
from runelift.runtime.execution.kernels import goes_through_points

SOURCE = """
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  #[sequential_inner]
  map (\\xs -> let ys = loop ys = copy xs for i < m - 1 do ys with [i + 1] = ys[i] * 3 + xs[i]
              in i32.sum (map2 (*) ys (reverse ys))) xss
"""


def test_kernels_with_scratch_memory_have_further_options(
        monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(SOURCE, device="Portable", tuning={})
    info = program.device_info
    assert info is not None
    program.loaded.info = replace(info, interleaves=True)
    executable = program.loaded.executable("main")
    assert executable.device.info.occupancy_options == ()
    monkeypatch.setattr(executable.device, "info",
                        replace(info, occupancy_options=("-DFEW_REGISTERS",)))
    found = {goes_through_points(site.launch.kernel):
             executable.kernels._source([site], dict.fromkeys(site.launch.kernel.built_for, 1))[1:]
             for site in executable.sites}
    assert found == {True: ("-DFEW_REGISTERS",), False: ()}
