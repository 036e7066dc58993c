"""Devices of one kind: only their times may be compared with each other."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from runelift.ir.base.errors import UserError
from runelift.runtime.devices.info import DeviceInfo, find_devices, select, spec_of


def model_of(info: DeviceInfo) -> str:
    """The model of a device; times on devices of one model may be compared."""
    return f"{info.name} ({info.platform}, {info.driver})"


def select_comparable(specs: Sequence[str], *, every: bool = False) -> list[DeviceInfo]:
    """The devices that ``specs`` name (see :func:`select`), or the best; UserError if unlike.

    With ``every``, all further devices of this machine that are like them come after these.  The
    interpreter is no device, so the list is empty if that is meant.
    """
    found = [select(spec) for spec in specs or (None,)]
    if found == [None]:
        return []
    infos = [info for info in found if info is not None]
    if len(infos) < len(found):
        raise UserError("The interpreter cannot be measured beside devices.")
    first = model_of(infos[0])
    for info in infos[1:]:
        if model_of(info) != first:
            raise UserError(f"'{first}' and '{model_of(info)}' are unlike, and times of unlike "
                            "devices must not be mixed.  Give devices with one name and driver, or "
                            "tune for each by itself.")
    handles = [info.handle for info in infos]
    if len(set(handles)) < len(handles):
        raise UserError(f"--device names '{infos[0].name}' twice; NAME:1 is the second device of "
                        "that name.")
    return infos + [info for info in devices_of(first) if every and info.handle not in handles]


def devices_of(model: str) -> list[DeviceInfo]:
    """The usable devices of this machine that are of this model."""
    return [info for info in find_devices() if info.problem is None and model_of(info) == model]


def place_of(info: DeviceInfo) -> str:
    """The device and its machine, for a log."""
    return f"{socket.gethostname()}/{spec_of(info)}"
