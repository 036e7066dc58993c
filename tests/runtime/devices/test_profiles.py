"""Profiles of devices: those of the package, and files that are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.devices.info import DeviceKind, described
from runelift.runtime.devices.profiles import profile, profile_names
from runelift.runtime.devices.subgroup_support import by_assembly


def test_the_package_has_profiles() -> None:
    assert profile_names() == ["h100", "h200", "pocl"]
    for name in profile_names():
        assert profile(name.upper()) == profile(name)


def test_an_nvidia_gpu_from_its_profile() -> None:
    info = described(profile("h200").limits)
    assert (info.kind, info.units, info.max_group) == (DeviceKind.GPU, 132, 1024)
    assert info.local_bytes == 48 * 1024 - 256
    assert info.coherent
    assert info.shuffles == (by_assembly(32),)
    assert info.num_groups == 8 * 132


def changed(tmp_path: Path, place: str, name: str, value: Any) -> Path:
    """The profile of an H200 with another value, or without it if the value is None."""
    text = Path(__file__).parents[3] / "runtime" / "devices" / "profiles" / "h200.json"
    facts = json.loads(text.read_text())
    within = facts[place] if place else facts
    if value is None:
        del within[name]
    else:
        within[name] = value
    path = tmp_path / "device.json"
    path.write_text(json.dumps(facts))
    return path


def test_a_file_of_the_user(tmp_path: Path) -> None:
    path = changed(tmp_path, "limits", "units", 64)
    assert described(profile(str(path)).limits).units == 64


@pytest.mark.parametrize(("place", "name", "value", "said"), [
    ("limits", "units", None, "'limits' lacks the field 'units'"),
    ("limits", "units", 0, "'limits.units' should be at least 1"),
    ("limits", "warp", -1, "'limits.warp' should be at least 0"),
    ("limits", "units", "many", "'limits.units' should be a whole number below 2^63"),
    ("limits", "kind", "TPU", "'limits.kind' should be GPU, accelerator, CPU, simulator"),
    ("limits", "colour", 1, "'limits' has no field 'colour'"),
    ("measured", "launch", -1e-6, "'measured.launch' should be at least 0"),
    ("", "limits", 3, "'limits' should be an object"),
    ("costs", "launch", -1e-6, "'costs.launch' should be at least 0")])
def test_a_damaged_profile(tmp_path: Path, place: str, name: str, value: Any, said: str) -> None:
    path = changed(tmp_path, place, name, value)
    with pytest.raises(UserError) as caught:
        profile(str(path))
    assert str(caught.value) == (f"{path}: error[malformed-profile]: not the profile of a device: "
                                 f"{said}.")


@pytest.mark.parametrize("content", [b"units", b"\xff", b"[" * 100_000, b""])
def test_a_file_that_is_no_profile(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "device.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"device\.json: error\[malformed-profile\]"):
        profile(str(path))


def test_a_device_without_a_profile(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"No profile of a device 'h300'\.  There are h100, h200, "
                                        r"pocl, or the path of a \.json file\."):
        profile("h300")
    with pytest.raises(UserError, match=r"none\.json"):
        profile(str(tmp_path / "none.json"))
