"""The environment of measurements: programs, devices and packages."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from runelift.runtime.versions.tuning_file import PROGRAM

if TYPE_CHECKING:
    from runelift.runtime.tuner.costs.log import Measurements

PACKAGES = ("runelift", "numpy", "pyopencl")
_NAMES = {PROGRAM: "SHA-256 of the program", "written": "date",
          "runs_of": "runs of (program, policy, device, driver)"}


def environment(about: Mapping[str, str], measurements: Iterable[Measurements] = ()
                ) -> dict[str, str]:
    """The environment of results, name to value, for reports.

    It consists of ``about``, the devices in records, the date, the host, and package versions.
    """
    devices = dict.fromkeys(run.record.device for each in measurements for run in each.runs
                            if run.record)
    recorded = {"measured on": ", ".join(devices)} if devices else {}
    found = {_NAMES.get(key, key): value for key, value in about.items()}
    return {**found, **recorded, "date": found.get("date", now()),
            "host": platform.platform(), **versions()}


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on, by name."""
    return {"Python": platform.python_version(),
            **{package: installed(package) or "not installed" for package in PACKAGES}}


def installed(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def now() -> str:
    """The date and time in seconds, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
