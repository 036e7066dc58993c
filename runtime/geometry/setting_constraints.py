"""Constraints of the settings of an operation: from its kernels, its tiles and the device.

Kernels give the local memory and the groups that a setting takes, as far as they do not depend on
data.  Launch shapes have constraints (:mod:`~runelift.runtime.geometry.shape`); their answers are
derived quantities, for data that are plenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import Shape
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint, Derived, at_least, equal
from runelift.ir.names import VName
from runelift.ir.sizes import Size, least
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.geometry.launch_geometry import geometry_of
from runelift.runtime.geometry.shape import NONE, ONE, GeometryLimits, Place

LIKED_GROUP = VName("liked_group", 0)
"""The work-items of a group that the device likes."""
LARGEST_SHARED_GROUP = VName("largest_shared_group", 0)
"""The most work-items of a group that divide rows on the device."""


def device_quantities(info: DeviceInfo) -> dict[VName, int]:
    """The quantities of a device that constraints and kernels name, each with its value."""
    return {**{name: getattr(info, name.base) for name in plan.DEVICE_SIZES},
            LIKED_GROUP: info.shares.group, LARGEST_SHARED_GROUP: info.shares.max_group}


def constraints_of(operation: plan.Operation, defaults: Mapping[VName, int], info: DeviceInfo
                   ) -> tuple[tuple[Constraint, ...], tuple[Derived, ...]]:
    """The constraints of an operation on a device, and the quantities derived for them.

    ``defaults`` are the default values of the variables of parameters.
    """
    steps = tuple(plan.all_steps(operation.steps))
    place = Place(operation.name, span_of(operation))
    limits = GeometryLimits.of(info, info.shares)._replace(units=1)  # one has plenty of data, too
    derived, fits, optional = list[Derived](), list[Constraint](), list[VName]()
    for step in steps:
        if isinstance(step, Shape):
            geometry = geometry_of(step)
            fits += geometry.constraints(step, info.shares, place)
            optional += (getattr(step, name) for name in geometry.optional)
            if (answers := geometry.derived(step, limits)) is not None:
                derived.append(answers)
    known = {*defaults, *device_quantities(info), *(n for each in derived for n in each.names)}
    return (*limits_of(operation), *_rules(operation, defaults, place.span), *fits,
            *(each for step in steps if isinstance(step, plan.Launch)
              for each in _launch_fits(step, known, optional))), tuple(derived)


def span_of(operation: plan.Operation) -> Loc | None:
    """The place in the source that an operation is for."""
    return next((step.loc for step in plan.all_steps(operation.steps)
                 if isinstance(step, plan.Launch | plan.Compute) and step.loc), None)


# Parameters among each other and on the device


def limits_of(operation: plan.Operation) -> Iterator[Constraint]:
    """The limits of the device on single parameters."""
    span, largest = span_of(operation), Size.var(plan.MAX_GROUP)
    at_most = {Quantity.GROUP: (largest,), Quantity.SPLIT: (largest,), Quantity.SIDE: (largest,),
               Quantity.ACROSS: (largest,),
               Quantity.LANES: (largest, Size.var(LARGEST_SHARED_GROUP)),
               Quantity.TEAMS: (Size.var(LIKED_GROUP),)}
    for parameter in operation.parameters:
        quantity, size = parameter.quantity, Size.var(parameter.variable)
        for limit in at_most.get(quantity, ()):
            yield at_least(limit, size, f"'{quantity.value}' is a size of groups on this device",
                           operation.name, span=span)


def _rules(operation: plan.Operation, defaults: Mapping[VName, int], span: Loc | None
           ) -> Iterator[Constraint]:
    """The rules about settings that make no difference where work-items have several segments."""
    own = {each.quantity: Size.var(each.variable) for each in operation.parameters}
    for parameter in operation.parameters if Quantity.POINTS in own else ():
        if (quantity := parameter.quantity) in (Quantity.GROUPS, Quantity.SHORT):
            yield equal(least(ONE, own[Quantity.POINTS]) * (
                own[quantity] - defaults[parameter.variable]), NONE,
                f"'{quantity.value}' makes no difference where work-items have several segments",
                operation.name, span=span)


def _launch_fits(launch: plan.Launch, known: Iterable[VName], optional: Iterable[VName]
                 ) -> Iterator[Constraint]:
    """The limits of the device that a launch keeps to, whatever the data are.

    A kernel that uses ``optional`` sizes runs only if they are not 0.
    """
    known, kernel = frozenset(known), launch.kernel
    need = [array.length * array.prim.bytes for array in kernel.local_memory
            if array.length.variables() <= known]
    if need:
        bytes_ = sum(need[1:], need[0])
        for size in bytes_.variables() & frozenset(optional):
            bytes_ = bytes_ * least(ONE, Size.var(size))
        yield at_least(Size.var(plan.LOCAL_BYTES), bytes_,
                       "local memory of a group", kernel.name, span=launch.loc)
    if launch.group.variables() <= known:
        yield at_least(Size.var(plan.MAX_GROUP), launch.group, "work-items of a group", kernel.name,
                       span=launch.loc)
