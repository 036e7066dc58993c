"""Host plans as if on devices that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

import runelift
from runelift.runtime.cost.device_costs import costs_of
from runelift.runtime.data.outline import arguments_of_sizes
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.devices.info import DeviceInfo, described, limits_of
from runelift.runtime.devices.profiles import DeviceProfile, profile
from runelift.runtime.execution.dry_run import DependsOnDevice, ShortRun, no_memory
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.programs.loaded_program import LoadedProgram
from tests.ledger.shapes import FAMILIES, Shape, shapes

SOME = ("reductions_rows", "scans", "histograms", "products", "stencils_time", "softmax",
        "transpositions", "tridiagonal", "sort_merge", "elimination", "filters")
ROWS = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss"


class NotingRun(ShortRun):
    """A run that notes its launches."""

    def __init__(self, loaded: LoadedProgram, entry: str) -> None:
        super().__init__(loaded.executable(entry), {}, {})
        self.launches: list[Any] = []

    def _note(self, *launch: Any) -> None:
        super()._note(*launch)
        self.launches.append(launch)


def launches(loaded: LoadedProgram, shape: Shape) -> list[Any]:
    """The launches of a dry run, up to the first part that depends on the device."""
    interface = loaded.interface(shape.entry)
    bound = loaded.bind(interface, arguments_of_sizes(interface, shape.sizes),
                        lambda array: no_memory(array.nbytes))
    run = NotingRun(loaded, shape.entry)
    try:
        loaded.executable(shape.entry).forms.main(run, bound)
    except (DependsOnDevice, Infeasible) as error:
        run.launches.append(str(error))
    return run.launches


def test_limits_make_the_device_that_opencl_makes(installed: DeviceInfo) -> None:
    made = described(limits_of(cl, installed.handle))
    assert made == replace(installed, problem=None, hint=None, handle=None)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each.stem in SOME],
                         ids=lambda family: family.stem)
def test_launches_are_those_of_the_device(family: Path) -> None:
    program = runelift.compile(family, device="pocl", tuning={})
    assert program.device_info is not None
    limits = limits_of(cl, program.device_info.handle)
    loaded = modelled(program.compiled, ModelledDevice(DeviceProfile(
        limits, asdict(costs_of(program.device_info)), {})))
    seen = 0
    for shape in shapes(family):
        found = launches(loaded, shape)
        assert found == launches(program.loaded, shape), shape.text
        seen += len(found)
    assert seen > 0


def test_devices_choose_launches_by_their_limits() -> None:
    compiled = runelift.compile(ROWS, device="pocl", tuning={}).compiled
    shape = Shape(Path(), "main", {"n": 1000, "m": 1000})
    found = [launches(modelled(compiled, ModelledDevice(profile(name))), shape)
             for name in ("h200", "pocl")]
    assert found[0] != found[1]


def test_versions_on_an_h200() -> None:
    compiled = runelift.compile(ROWS, device="pocl", tuning={}).compiled
    loaded = modelled(compiled, ModelledDevice(profile("h200")))
    estimate = loaded.estimate_memory("main", arguments_of_sizes(
        loaded.interface("main"), {"n": 1 << 15, "m": 1 << 15}))
    (encounter,) = estimate.encounters
    assert encounter.sizes == {"n_1": 1 << 15, "m_2": 1 << 15}
    assert estimate.bytes == (4 << 30) + (4 << 15)
    too_large = loaded.estimate_memory("main", arguments_of_sizes(
        loaded.interface("main"), {"n": 1 << 40, "m": 1}))
    assert too_large.bytes > loaded.device.info.global_bytes


def test_groups_that_fit_at_the_same_time() -> None:
    device = ModelledDevice(profile("h200"))
    assert device.resident_groups(256, 0) == 4 * 132
    assert device.resident_groups(32, 0) == 16 * 132
    assert device.shares.subgroup == 32
    assert device.patience > 0
    assert "-DSHUFFLES_PTX" in device.build_options


def test_no_driver_is_needed(tmp_path: Path) -> None:
    code = f"""
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.devices.profiles import profile
from runelift.runtime.data.outline import arguments_of_sizes
loaded = modelled(compile_source(Source("rows", {ROWS!r})), ModelledDevice(profile("h200")))
args = arguments_of_sizes(loaded.interface("main"), {{"n": 3, "m": 5}})
print(loaded.estimate_memory("main", args).bytes)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={**os.environ, "OCL_ICD_VENDORS": str(tmp_path),
                                "PYOPENCL_HOME": str(tmp_path), "RUNELIFT_KEEP": "0"})
    assert found.stdout.split() == ["80"]
