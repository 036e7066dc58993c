"""What tests share: devices, and programs compiled once."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from runelift.rewrite import pipeline
from runelift.runtime.devices.info import DeviceInfo, find_devices

pipeline.EVERY_PASS = True
os.environ["RUNELIFT_KEEP"] = "0"
"""Tests change the compiler under way, and want programs as it makes them then."""

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="module", params=["Portable", "Oclgrind"])
def installed(request: pytest.FixtureRequest) -> DeviceInfo:
    """Each of the devices that can be installed anywhere."""
    for info in find_devices():
        if request.param in info.platform and info.problem is None:
            return info
    pytest.skip(f"no device of {request.param}")


@pytest.fixture(scope="session")
def simulator() -> str:
    """The Oclgrind simulator, which finds races and accesses out of bounds."""
    if not any(d.is_simulator for d in find_devices()):
        pytest.fail("Oclgrind is not installed; pip install -e '.[test]'")
    return "oclgrind"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-golden", action="store_true",
                     help="write the files of tests/golden anew")
