"""The values of parameters that are not set."""

from __future__ import annotations

from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.ir.names import VName
from runelift.runtime.devices.info import DeviceInfo


def default_of(quantity: Quantity, info: DeviceInfo) -> int:
    """The default value of a parameter; 0 leaves it to the sizes."""
    name = plan.PARAMETER_DEFAULTS.get(quantity)
    return getattr(info, name.base) if isinstance(name, VName) else 0
