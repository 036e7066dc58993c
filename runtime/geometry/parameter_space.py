"""Parameter spaces: the values that the parameters of a plan can have on a device.

The space of an operation is inferred.  The device gives the possible values of each parameter.  The
kernels give constraints on them (:func:`constraints_of`).  A setting outside of the space is never
run.  Settings are counted and drawn without listing them (:mod:`runelift.ir.solver.solutions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import TypeAlias

from runelift.codegen.plan import plan
from runelift.codegen.plan.parameters import Parameter, Quantity
from runelift.codegen.plan.shapes import Shape
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint, Derived, System, at_least, equal
from runelift.ir.names import VName
from runelift.ir.sizes import Size, least
from runelift.ir.solver.solutions import Solutions
from runelift.runtime.devices.info import MOST_GROUPS, DeviceInfo
from runelift.runtime.geometry.launch_geometry import default_of, geometry_of
from runelift.runtime.geometry.shape import LARGEST_GROUP, NONE, ONE, GeometryLimits, Place, powers

LONGEST_SEGMENT = 4096
"""The most iterations between checkpoints of a loop that a parameter asks for."""

Setting = tuple[int, ...]
"""A value for each parameter of an operation."""
Chosen: TypeAlias = dict[Quantity, int]
"""Values of some parameters."""


@dataclass(frozen=True, slots=True)
class _ParameterRange:
    """A parameter, its default value, and all values that are possible."""

    parameter: Parameter
    default: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class ParameterSpace:
    """The settings of an operation: combinations of values whose kernels fit the device."""

    operation: plan.Operation
    ranges: tuple[_ParameterRange, ...]
    info: DeviceInfo = field(repr=False)

    @cached_property
    def system(self) -> System:
        """The constraints, the possible values of parameters, and the quantities of the device."""
        domains = {each.parameter.variable: each.values for each in sorted(
            self.ranges, key=lambda each: _precedence(each.parameter.quantity))}
        constraints, derived = constraints_of(
            self.operation, self._named(self.default), self.info)
        device = {name: (value,) for name, value in device_quantities(self.info).items()}
        return System({**domains, **device}, constraints, derived)

    @property
    def default(self) -> Setting:
        """The setting without chosen values."""
        return tuple(each.default for each in self.ranges)

    def chosen(self, values: Mapping[str, int]) -> Setting:
        """The setting that ``values`` ask for; every other parameter has its default."""
        return tuple(values.get(each.parameter.name, each.default) for each in self.ranges)

    def in_force(self, values: Mapping[str, int]) -> Setting:
        """The setting that ``values`` ask for, or the default if that is not possible."""
        wanted = self.chosen(values)
        return wanted if wanted == self.default or self.allows(wanted) else self.default

    def named(self, setting: Setting) -> dict[str, int]:
        """The values of a setting that differ from the default, by name."""
        return {each.parameter.name: value
                for each, value in zip(self.ranges, setting, strict=True)
                if value != each.default}

    @property
    def place(self) -> str:
        """The place in the source that the operation is for; empty if it is unknown."""
        span = span_of(self.operation)
        return str(span or "")

    # All settings

    @cached_property
    def _solutions(self) -> Solutions:
        return Solutions(self.system)

    @cached_property
    def _first(self) -> int | None:
        """The number of the default setting among the solutions; None if it is no solution."""
        return self._solutions.number(self._named(self.default))

    @property
    def count(self) -> int:
        """The number of settings, the default among them."""
        return self._solutions.count + (self._first is None)

    def setting(self, number: int) -> Setting:
        """The setting with a number below the count; the default has number 0."""
        if number == 0:
            return self.default
        if self._first is None or number <= self._first:
            number -= 1
        return self._setting(self._solutions.solution(number))

    def settings(self) -> Iterator[Setting]:
        """All settings, the default first."""
        return map(self.setting, range(self.count))

    def shuffled(self, random: Random) -> Iterator[Setting]:
        """All settings in random order, drawn uniformly from the settings left, without a list."""
        moved: dict[int, int] = {}
        for left in range(self.count - 1, -1, -1):
            place = random.randint(0, left)
            yield self.setting(moved.get(place, place))
            moved[place] = moved.pop(left, left)

    def nearest(self, wanted: Chosen) -> Setting:
        """A setting with the values ``wanted``, or with near values if they do not go together."""
        found = self._solutions.nearest({
            each.parameter.variable: wanted.get(each.parameter.quantity, each.default)
            for each in self.ranges})
        return self.default if found is None else self._setting(found)

    def _setting(self, values: Mapping[VName, int]) -> Setting:
        return tuple(values[each.parameter.variable] for each in self.ranges)

    def _named(self, setting: Setting) -> dict[VName, int]:
        return {each.parameter.variable: value
                for each, value in zip(self.ranges, setting, strict=True)}

    # One setting

    def apart(self, setting: Setting) -> Iterator[Setting]:
        """The settings that differ from one in one parameter at most."""
        for k, each in enumerate(self.ranges):
            for value in each.values:
                changed = (*setting[:k], value, *setting[k + 1:])
                if self.allows(changed):
                    yield changed

    def neighbours(self, setting: Setting) -> Iterator[Setting]:
        """The settings that differ from one by a step in one parameter."""
        return filter(self.allows, self.steps(setting))

    def steps(self, setting: Setting) -> Iterator[Setting]:
        """As :meth:`neighbours`, with settings that are not possible on the device."""
        for k, each in enumerate(self.ranges):
            place = each.values.index(setting[k])
            for other in each.values[max(0, place - 1): place + 2]:
                if other != setting[k]:
                    yield (*setting[:k], other, *setting[k + 1:])

    def diagonal(self, setting: Setting) -> Iterator[Setting]:
        """The settings that differ from one by a step in each of two parameters."""
        for near in self.steps(setting):
            for changed in self.steps(near):
                if sum(a != b for a, b in zip(changed, setting, strict=True)) == 2 \
                        and self.allows(changed):
                    yield changed

    def allows(self, setting: Setting) -> bool:
        """True if the kernels fit the device with a setting."""
        return not self.obstacle(setting)

    def obstacle(self, setting: Setting) -> str:
        """The reason why a setting is not possible, and its source; empty if it is possible."""
        for each, value in zip(self.ranges, setting, strict=True):
            if value not in each.values:
                return (f"'{each.parameter.name}' can be "
                        f"{', '.join(map(str, each.values))} on this device, not {value}")
        return self.system.obstacle(self._named(setting))

    def cure(self, values: Mapping[str, int]) -> str:
        """Values of other parameters with which ``values`` are possible, near their defaults.

        It says so if there are none, and is empty if a value is not possible on the device at all.
        """
        fixed = {each.parameter.variable: (values[each.parameter.name],) for each in self.ranges
                 if each.parameter.name in values}
        if any(values.get(each.parameter.name, each.default) not in each.values
               for each in self.ranges):
            return ""
        system = replace(self.system, domains={**self.system.domains, **fixed})
        found = Solutions(system).nearest(self._named(self.default))
        if found is None:
            return "  No values of other parameters go with it."
        added = self.named(self._setting(found)).items() - values.items()
        return f"  It goes with {', '.join(f'{name}={value}' for name, value in sorted(added))}."


def spaces(host: plan.Plan, info: DeviceInfo) -> dict[str, ParameterSpace]:
    """The parameter space of each operation that has parameters, by the operation's name."""
    return {operation.name: space_of(operation, info)
            for operation in plan.operations(host.steps) if operation.parameters}


def space_of(operation: plan.Operation, info: DeviceInfo) -> ParameterSpace:
    """The parameter space of an operation on a device."""
    device, ranges = device_quantities(info), list[_ParameterRange]()
    limits = [(each, each.variables() - device.keys()) for each in limits_of(operation)]
    for parameter in operation.parameters:
        name, default = parameter.variable, default_of(parameter.quantity, info)
        own = [limit for limit, names in limits if names == {name}]
        ranges.append(_ParameterRange(parameter, default, tuple(sorted({default, *(
            value for value in _values(parameter, operation, info)
            if all(limit.holds({**device, name: value}) for limit in own))}))))
    return ParameterSpace(operation, tuple(ranges), info)


def _precedence(quantity: Quantity) -> int:
    """The place of a parameter in the order of choosing."""
    first = (Quantity.GROUP, Quantity.SIDE, Quantity.ACROSS, Quantity.ROWS, Quantity.POINTS)
    return first.index(quantity) if quantity in first else len(first)


def _values(parameter: Parameter, operation: plan.Operation, info: DeviceInfo) -> Sequence[int]:
    """The possible values of a parameter besides its default, from the shapes that ask for it.

    Of several shapes, the one with the largest values decides.
    """
    found = list[Sequence[int]]()
    for step in (*operation.early, *plan.all_steps(operation.steps)):
        if isinstance(step, Shape):
            values = geometry_of(step).values(step, info.shares)
            found += (values[name] for name, atom in step.settings().items()
                      if atom == parameter.variable and name in values)
    if found:
        return max(found, key=max)
    default = default_of(parameter.quantity, info)
    match parameter.quantity:
        case Quantity.GROUP:
            return powers(info.shares.lanes, LARGEST_GROUP)
        case Quantity.GROUPS:
            return [max(1, default * MOST_GROUPS >> k) for k in range(5)]
        case Quantity.SHORT:
            return [max(1, (default << 4) >> k) for k in range(0, 11, 2)]
        case Quantity.SEGMENT:
            return powers(4, LONGEST_SEGMENT)
        case _:  # a factor of unrolling, or a size that a schedule decides
            return powers(1, 16)


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

    Kernels give the local memory and the groups that a setting takes, as far as they do not depend
    on data.  Launch shapes have constraints (:mod:`~runelift.runtime.geometry.shape`).  Their
    answers are derived quantities, for data that are plenty.
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
