"""Profiles of devices: what is known of a device where it is not, a JSON file for each.

``limits`` are the facts that OpenCL would tell, ``costs`` the constants of predicted times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_text
from runelift.ir.base.json_shape import MisshapenJson, parse, read
from runelift.runtime.devices.info import DeviceKind
from runelift.runtime.devices.limits import DeviceLimits

SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A device by its limits, the constants of predicted times, and what they are scaled by.

    ``costs`` are the fields of :class:`~runelift.runtime.cost.device_costs.DeviceCosts`,
    ``measured`` the seconds of short kernels (:mod:`runelift.runtime.tools.predictions.measure`).
    """

    limits: DeviceLimits
    costs: Mapping[str, float]
    measured: Mapping[str, float]


def profile_names() -> list[str]:
    """The names of the devices whose profiles come with the package."""
    return sorted(each.name.removesuffix(SUFFIX) for each in files(__name__).iterdir()
                  if each.name.endswith(SUFFIX))


def profile(device: str) -> DeviceProfile:
    """The profile of a device, by its name, or by the path of a JSON file.

    UserError if there is none, or if the file is damaged.
    """
    if device.endswith(SUFFIX):
        return _read(Path(device))
    if device.lower() not in (known := profile_names()):
        raise UserError(f"No profile of a device '{device:.60}'.  There are {', '.join(known)}, "
                        f"or the path of a {SUFFIX} file.")
    return _read(Path(str(files(__name__) / f"{device.lower()}{SUFFIX}")))


def _read(path: Path) -> DeviceProfile:
    try:
        found = read(DeviceProfile, parse(read_text(path)))
        _check(found)
    except UnicodeDecodeError:
        raise _malformed(path, "not a text in UTF-8") from None
    except MisshapenJson as error:
        raise _malformed(path, str(error)) from None
    return found


def _check(found: DeviceProfile) -> None:
    """MisshapenJson if a number is not possible."""
    limits = found.limits
    if limits.kind not in list(DeviceKind):
        raise MisshapenJson(f"should be {', '.join(DeviceKind)}", ("limits", "kind"))
    least = {"units": 1, "max_group": 1, "local_bytes": 1, "global_bytes": 1, "max_alloc": 1,
             "warp": 0}
    numbers: list[tuple[tuple[str, ...], float, int]] = [
        *((("limits", name), getattr(limits, name), low) for name, low in least.items()),
        *((("costs", name), value, 0) for name, value in found.costs.items()),
        *((("measured", name), value, 0) for name, value in found.measured.items())]
    for path, number, low in numbers:
        if number < low:
            raise MisshapenJson(f"should be at least {low}", path)


def _malformed(path: Path, why: str) -> UserError:
    return UserError(f"{path}: error[malformed-profile]: not the profile of a device: {why}.")
