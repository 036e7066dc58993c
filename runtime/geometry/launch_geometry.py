"""Launch geometry on one device: its answers to launch shapes, for the sizes of each launch.

Host plans ask by way of :class:`~runelift.runtime.execution.run.Run`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import Shape
from runelift.ir.names import VName
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.geometry.group_shape import GROUP_SHAPE
from runelift.runtime.geometry.group_size import GROUP_SIZE
from runelift.runtime.geometry.map_width import MAP_WIDTH
from runelift.runtime.geometry.product_tile import PRODUCT_TILE
from runelift.runtime.geometry.scan_tile import SCAN_TILE
from runelift.runtime.geometry.segment_block import SEGMENT_BLOCK
from runelift.runtime.geometry.segment_team import SEGMENT_TEAM
from runelift.runtime.geometry.shape import MOST_REMEMBERED, Geometry, GeometryLimits
from runelift.runtime.geometry.strip import STRIP
from runelift.runtime.geometry.subgroup_size import SUBGROUP_SIZE
from runelift.runtime.geometry.team_count import TEAM_COUNT
from runelift.runtime.geometry.transpose_tile import TRANSPOSE_TILE

if TYPE_CHECKING:
    from runelift.runtime.devices.context import Device

SHAPES: dict[str, Geometry[Any, Any]] = {each.shape.__name__: each for each in (
    GROUP_SHAPE, TEAM_COUNT, SUBGROUP_SIZE, GROUP_SIZE, MAP_WIDTH, SCAN_TILE, PRODUCT_TILE,
    SEGMENT_BLOCK, STRIP, TRANSPOSE_TILE, SEGMENT_TEAM)}
"""The geometries of all launch shapes, by the names of the classes of the shapes."""


def geometry_of(step: Shape) -> Geometry[Any, Any]:
    """The geometry of a launch shape."""
    return SHAPES[type(step).__name__]


class LaunchGeometry:
    """The geometry of launches on ``device``; answers are cached."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._answers: dict[tuple[object, ...], tuple[Any, ...]] = {}

    def shape(self, shape: str, /, **asked: Any) -> tuple[Any, ...]:
        """The answers to a shape, given by the name of its class, for facts and settings.

        Missing facts and settings have their defaults.
        """
        device = self._device
        key = shape, device.patience, device.shares.subgroup, *asked, *asked.values()
        if (answer := self._answers.get(key)) is None:
            if len(self._answers) >= MOST_REMEMBERED:
                self._answers.clear()
            geometry = SHAPES[shape]
            shares = replace(device.shares, patience=device.patience)
            answer = self._answers[key] = geometry.choose(
                geometry.request(**asked), GeometryLimits.of(device.info, shares))
        return answer


def default_of(quantity: Quantity, info: DeviceInfo) -> int:
    """The default value of a parameter; 0 leaves it to the sizes."""
    name = plan.PARAMETER_DEFAULTS.get(quantity)
    return getattr(info, name.base) if isinstance(name, VName) else 0
