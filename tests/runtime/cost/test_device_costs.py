"""The constants of devices: profiles, measured ones, and where they are looked for."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from runelift.runtime.cost import device_costs
from runelift.runtime.cost.device_costs import DeviceCosts, costs_of, keep
from runelift.runtime.devices.info import DeviceInfo, described
from runelift.runtime.devices.profiles import DeviceProfile, profile, profile_names
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.predictions.measure import BY, RATES, scaled


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path))
    device_costs._costs.cache_clear()


def info(name: str) -> DeviceInfo:
    return described(profile(name).limits)


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_has_all_constants(name: str) -> None:
    found = profile(name)
    costs = DeviceCosts(**found.costs)
    assert all(value >= 0 for value in asdict(costs).values())
    assert set(found.measured) == {kernel for kernel in BY.values() if kernel is not None}


def test_every_constant_is_scaled_by_a_short_kernel_or_stays() -> None:
    assert set(BY) == {each.name for each in fields(DeviceCosts)}
    assert set(BY) >= RATES


def test_a_device_has_the_profile_in_its_name() -> None:
    assert costs_of(info("h100")) == DeviceCosts(**profile("h100").costs)
    other = replace(info("h100"), name="Another GPU")
    assert costs_of(other) == DeviceCosts(**profile("h200").costs)
    assert costs_of(info("pocl")) == DeviceCosts(**profile("pocl").costs)


def test_measured_constants_are_kept() -> None:
    device = info("pocl")
    before = costs_of(device)
    keep(device, replace(before, launch=1.0))
    assert costs_of(device).launch == 1.0
    assert costs_of(info("h200")).launch != 1.0


def test_damaged_constants_are_not_used(tmp_path: Path) -> None:
    device = info("pocl")
    keep(device, costs_of(device))
    (kept,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    kept.write_bytes(b"{}")
    device_costs._costs.cache_clear()
    assert costs_of(device) == DeviceCosts(**profile("pocl").costs)


def test_constants_are_scaled_by_short_kernels() -> None:
    known: DeviceProfile = profile("h200")
    assert asdict(scaled(known, known.measured)) == pytest.approx(known.costs)
    twice = scaled(known, {name: 2 * value for name, value in known.measured.items()})
    assert twice.step == pytest.approx(2 * known.costs["step"])
    assert twice.bandwidth == pytest.approx(known.costs["bandwidth"] / 2)
    assert twice.items == known.costs["items"]


def test_a_processor_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--measure", "--json", "--device", "Portable"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]["costs"]
    assert all(found[name] >= 0 for name in BY)


def test_a_device_that_is_not_there_is_not_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--measure", "--device", "no such device"]) != 0
    assert "No device matches" in capsys.readouterr().err
