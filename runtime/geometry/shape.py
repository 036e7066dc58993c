"""The device's part in launch shapes: requests with numbers, answers, constraints and values.

The plan's part is in :mod:`runelift.codegen.plan.shapes`.  A request and an answer are named tuples
with the field names of the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from runelift.codegen.plan.shapes import Shape
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint, Derived
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.devices.limits import ShareLimits

MOST_REMEMBERED = 10_000
"""The most sizes whose launch geometry is remembered."""
LARGEST_GROUP = 1024
"""Larger groups pay nowhere; on CPUs some devices allow them."""
MOST_SPLIT = 256
"""The most work-items that share a segment while other segments lie beside it."""
PLENTY_OF_DATA = 1 << 40
"""Data enough for all that a device can do at once."""
ONE, NONE = Size.of(1), Size.of(0)


class GeometryLimits(NamedTuple):
    """The facts of a device that launch shapes depend on; the defaults fit a large GPU.

    ``shares`` tell what probes of the device have found.  ``units`` are the compute units,
    ``num_groups`` the groups of ``group_size`` work-items that it runs at once.
    """

    shares: ShareLimits
    units: int = 132
    num_groups: int = 1056
    group_size: int = 256
    max_group: int = 1024
    local_bytes: int = 48 << 10

    @classmethod
    def of(cls, info: DeviceInfo, shares: ShareLimits) -> GeometryLimits:
        """The limits of a device whose probes have found ``shares``."""
        return cls(shares, info.units, info.num_groups, info.group_size, info.max_group,
                   info.local_bytes)


class Place(NamedTuple):
    """The operation that constraints belong to, and its place in the source."""

    operation: str
    span: Loc | None


_Shape = TypeVar("_Shape", bound=Shape)
_Request = TypeVar("_Request", bound=tuple[Any, ...])


@dataclass(frozen=True)
class Geometry(Generic[_Shape, _Request]):
    """The device's part in a launch shape.

    * ``choose`` answers a request.
    * ``derive`` answers it for ``plenty`` of data, if the constraints of settings need the answer.
      It may be more than the device has room for, as the constraints tell.
    * ``constraints`` gives the constraints on the settings of a shape.
    * ``values`` are the possible values of its settings besides their defaults, by field.
    * Kernels that use ``optional`` answers do not run where these are 0.
    """

    shape: type[_Shape]
    request: Callable[..., _Request]
    choose: Callable[[_Request, GeometryLimits], tuple[Any, ...]]
    derive: Callable[[_Request, GeometryLimits], tuple[int, ...]] | None = None
    plenty: Mapping[str, int] = field(default_factory=dict)
    constraints: Callable[[_Shape, ShareLimits, Place], Iterable[Constraint]] = (
        lambda step, shares, place: ())
    values: Callable[[_Shape, ShareLimits], Mapping[str, Sequence[int]]] = (
        lambda step, shares: {})
    optional: tuple[str, ...] = ()

    def derived(self, step: _Shape, limits: GeometryLimits) -> Derived | None:
        """The answers as quantities of constraints."""
        if self.derive is None:
            return None
        settings = step.settings()
        wanted = {name: atom for name, atom in settings.items() if isinstance(atom, VName)}
        facts = {name: value for name, value in step.asked().items() if name not in settings}
        return Derived(step.names(), tuple(wanted.values()), _Deriving(
            self.derive, self.request, {**facts, **self.plenty}, tuple(wanted), limits))


@dataclass(frozen=True, slots=True)
class _Deriving:
    """Answers requests of ``facts`` and of values of the ``wanted`` settings."""

    derive: Callable[[Any, GeometryLimits], tuple[int, ...]]
    request: Callable[..., Any]
    facts: Mapping[str, Any]
    wanted: tuple[str, ...]
    limits: GeometryLimits

    def __call__(self, *values: int) -> tuple[int, ...]:
        wanted = dict(zip(self.wanted, values, strict=True))
        return self.derive(self.request(**self.facts, **wanted), self.limits)


def powers(least: int, most: int) -> list[int]:
    """The powers of two from ``least``, which is one, up to ``most``."""
    return [1 << k for k in range(least.bit_length() - 1, most.bit_length())]


def power_of_two_below(most: int) -> int:
    """The last power of two that is not above ``most``."""
    return 1 << (most.bit_length() - 1)
