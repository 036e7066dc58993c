"""Parameter spaces: the values that the parameters of a plan can have on a device.

The space of an operation is inferred.  The device gives the possible sizes of groups.  The kernels
give the local memory that a setting takes, as far as it does not depend on data.  A setting outside
of the space is never run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.codegen.plan import distribution, plan
from runelift.codegen.plan.parameters import Parameter, Quantity
from runelift.ir.names import VName
from runelift.ir.types import Atom
from runelift.runtime.devices.info import MOST_GROUPS, DeviceInfo
from runelift.runtime.geometry.tiles import Combining, SegmentBatch, block, coarse
from runelift.runtime.geometry.work_groups import tile

MOST_CELLS = 64
"""Points of a product that a work-item keeps in registers."""
MOST_STRAIGHT = 256
"""Steps times segments that a work-item combines at a time if it keeps nothing for each."""
LONGEST_PRIVATE_CHUNK = 64
"""The longest chunk that a work-item of a large group keeps in private memory."""
LARGEST_GROUP = 1024
"""Larger groups pay nowhere; on CPUs some devices allow them."""
MOST_SPLIT = 256
"""More work-items than this do not share a segment with others beside them."""
PLENTY_OF_DATA = 1 << 40
"""Data enough for all that a device can do at once."""

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


@dataclass(frozen=True, slots=True)
class ParameterSpace:
    """The settings of an operation: combinations of values whose kernels fit the device."""

    operation: plan.Operation
    ranges: tuple[_ParameterRange, ...]
    info: DeviceInfo = field(repr=False)

    @property
    def default(self) -> Setting:
        """The setting without chosen values."""
        return tuple(each.default for each in self.ranges)

    def chosen(self, values: Mapping[str, int]) -> Setting:
        """The setting that ``values`` ask for; others than those named are the default."""
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

    def settings(self) -> Iterator[Setting]:
        """All settings, the default first.

        Depth first: values that do not go with those chosen before are never combined with others.
        """
        yield self.default
        for setting in self._all(lambda each: each.values):
            if setting != self.default:
                yield setting

    def nearest(self, wanted: Chosen) -> Setting:
        """A setting that has these values, or others near them where they do not go together."""
        def near(each: _ParameterRange) -> Sequence[int]:
            place = each.values.index(wanted.get(each.parameter.quantity, each.default))
            return sorted(each.values, key=lambda v: abs(each.values.index(v) - place))

        return next(self._all(near), self.default)

    def _all(self, values: Callable[[_ParameterRange], Sequence[int]]) -> Iterator[Setting]:
        """All settings, their values tried in the order given."""
        steps = tuple(plan.all_steps(self.operation.steps))
        known: dict[Setting, bool] = {}
        for chosen in _choices({}, sorted(self.ranges, key=_precedence), values):
            setting = tuple(chosen[each.parameter.quantity] for each in self.ranges)
            room = tuple(v for q, v in chosen.items() if q is not Quantity.UNROLL)
            if room not in known:
                known[room] = not self._unfit(setting, steps)
            if known[room]:
                yield setting

    def allows(self, setting: Setting) -> bool:
        """True if the kernels fit the device with a setting."""
        return not self.obstacle(setting)

    def obstacle(self, setting: Setting) -> str:
        """The reason why a setting is not possible; empty if it is."""
        for each, value in zip(self.ranges, setting, strict=True):
            if value not in each.values:
                return (f"'{each.parameter.name}' can be "
                        f"{', '.join(map(str, each.values))} on this device, not {value}")
        chosen: Chosen = {each.parameter.quantity: value
                          for each, value in zip(self.ranges, setting, strict=True)}
        for each in self.ranges:
            if why_not := _clash(each, chosen[each.parameter.quantity], chosen):
                return why_not
        return self._unfit(setting, tuple(plan.all_steps(self.operation.steps)))

    def _unfit(self, setting: Setting, steps: Sequence[plan.Step]) -> str:
        """The reason why the kernels of these steps do not fit the device; empty if they do."""
        try:
            known = self._sizes(setting, steps)
        except _Impossible as why:
            return str(why)
        for step in steps:
            if isinstance(step, plan.Launch) and (why_not := self._misfit(step, known)):
                return why_not
        return ""

    def _misfit(self, launch: plan.Launch, known: Mapping[VName, int]) -> str:
        """The limit of the device that a launch exceeds, whatever the data are; empty if none."""
        sizes = [array.length for array in launch.kernel.local_memory]
        need = sum(size.value(known) * array.prim.bytes
                   for size, array in zip(sizes, launch.kernel.local_memory, strict=True)
                   if set(size.variables()) <= known.keys())
        if need > self.info.local_bytes:
            return f"{launch.kernel.name} would need {need} bytes of local memory"
        if (set(launch.group.variables()) <= known.keys()
                and (group := launch.group.value(known)) > self.info.max_group):
            return f"{launch.kernel.name} would have groups of {group} work-items"
        return ""

    def _sizes(self, setting: Setting, steps: Sequence[plan.Step]) -> dict[VName, int]:
        """The sizes of the device, the parameters, and what follows where data are plenty."""
        info = self.info
        known = {name: getattr(info, name.base) for name in (
            plan.GROUP_SIZE, plan.NUM_GROUPS, plan.SEQUENTIAL_SEGMENT, plan.LOCAL_BYTES)}
        known |= {each.parameter.variable: value
                  for each, value in zip(self.ranges, setting, strict=True)}
        for step in steps:
            match step:
                case distribution.ScanTileShape():
                    known |= self._tile(step, known)
                case distribution.ProductTileShape():
                    known |= self._block(step, known)
                case distribution.SegmentBlockShape():
                    known |= self._coarse(step, known)
        return known

    def _tile(self, step: distribution.ScanTileShape, known: Mapping[VName, int]
              ) -> Iterator[tuple[VName, int]]:
        """The tiles of a scan."""
        info = self.info
        group, chunk = _wanted(step.wanted, known)
        found = tile(info.shares, PLENTY_OF_DATA, step.bytes, info.num_groups, info.local_bytes,
                     (group, chunk))
        if info.shares.staged and (found[0] != group or found[2] != (chunk or found[2])):
            raise _Impossible(f"tiles of {group} times {chunk} elements do not fit into local "
                              "memory")
        return zip(step.names(), (*found, 0), strict=True)

    def _block(self, step: distribution.ProductTileShape, known: Mapping[VName, int]
               ) -> Iterator[tuple[VName, int]]:
        """The tiles of a product."""
        shares = block(self.info.shares, PLENTY_OF_DATA, PLENTY_OF_DATA, 1, 1, 1, step.bytes,
                       self.info.local_bytes, _wanted(step.wanted, known))
        return zip(step.names(), shares, strict=True)

    def _coarse(self, step: distribution.SegmentBlockShape,
                known: Mapping[VName, int]) -> Mapping[VName, int]:
        """The tiles of segments that are reduced together."""
        wanted = _wanted(step.wanted, known)
        combining = Combining(step.slides, step.roots, step.loops, step.bytes,
                              tuple((box.bytes, box.sides) for box in step.boxes))
        found = dict(zip(step.names(), coarse(
            self.info.shares, SegmentBatch(PLENTY_OF_DATA, PLENTY_OF_DATA, 1, PLENTY_OF_DATA),
            combining, 1,
            self.info.local_bytes, wanted), strict=True))
        if found[step.cells] > (MOST_CELLS if step.loops else MOST_STRAIGHT):
            raise _Impossible("a work-item cannot keep so many steps for so many points in "
                              "registers")
        tiled = wanted[-1]
        if tiled > 1 and found[step.tile] != tiled:
            raise _Impossible(f"what {tiled} iterations need does not fit into local memory")
        return found


def _wanted(atoms: Sequence[Atom], known: Mapping[VName, int]) -> tuple[int, ...]:
    """The wanted values of tiles; 0, for any, where there is no parameter."""
    return tuple(known.get(atom, 0) if isinstance(atom, VName) else 0 for atom in atoms)


@dataclass(frozen=True, slots=True)
class _ParameterRule:
    """A condition on values of ``quantities``, given the values chosen before, and its reason."""

    quantities: tuple[Quantity, ...]
    allows: Callable[[int, Chosen], bool]
    why: str


def _points(chosen: Chosen) -> int:
    """The number of segments that a work-item reduces together; 0 where work-items share them."""
    return chosen.get(Quantity.POINTS, 0)


PARAMETER_RULES = (
    _ParameterRule((Quantity.STEPS, Quantity.SPLIT, Quantity.TILE),
                   lambda value, c: not value or bool(_points(c)),
                   "steps, split and tile go with points of their own"),
    _ParameterRule((Quantity.SPLIT,), lambda split, c: split <= c.get(Quantity.GROUP, split),
                   "a group cannot be split among more work-items than it has"),
    _ParameterRule((Quantity.ROWS, Quantity.COLUMNS), lambda value,
                   c: not value or bool(c[Quantity.SIDE]),
                   "rows and columns of points go with a side of their own"),
    _ParameterRule((Quantity.COLUMNS,), lambda columns, c: columns * c[Quantity.ROWS] <= MOST_CELLS,
                   "a work-item cannot keep so many rows and columns of points in registers"),
)
UNUSED_WITH_POINTS = (Quantity.GROUPS, Quantity.SHORT)
"""Quantities that make no difference to work-items that have several segments."""


def _choices(chosen: Chosen, ranges: Sequence[_ParameterRange],
             values: Callable[[_ParameterRange], Sequence[int]]) -> Iterator[Chosen]:
    """All ways to choose from the other ranges, too."""
    if not ranges:
        yield chosen
        return
    first, *others = ranges
    for value in values(first):
        if not _clash(first, value, chosen):
            yield from _choices({**chosen, first.parameter.quantity: value}, others, values)


def _clash(each: _ParameterRange, value: int, chosen: Chosen) -> str:
    """The reason why a value does not go with those of other parameters; empty if it does."""
    quantity = each.parameter.quantity
    if quantity in UNUSED_WITH_POINTS and value != each.default and _points(chosen):
        return f"'{each.parameter.name}' makes no difference where work-items have several segments"
    return next((rule.why for rule in PARAMETER_RULES
                 if quantity in rule.quantities and not rule.allows(value, chosen)), "")


def _precedence(each: _ParameterRange) -> int:
    """The place of a parameter in the order of choosing."""
    first = (Quantity.GROUP, Quantity.SIDE, Quantity.ROWS, Quantity.POINTS)
    quantity = each.parameter.quantity
    return first.index(quantity) if quantity in first else len(first)


class _Impossible(Exception):
    """A setting whose sizes do not go together."""


def spaces(host: plan.Plan, info: DeviceInfo) -> dict[str, ParameterSpace]:
    """The spaces of all operations that have parameters."""
    return {operation.name: space_of(operation, info)
            for operation in plan.operations(host.steps) if operation.parameters}


def space_of(operation: plan.Operation, info: DeviceInfo) -> ParameterSpace:
    """The space of an operation."""
    ranges = []
    for parameter in operation.parameters:
        default = default_of(parameter.quantity, info)
        values = {default, *_values(parameter.quantity, operation, info)}
        ranges.append(_ParameterRange(parameter, default, tuple(sorted(values))))
    return ParameterSpace(operation, tuple(ranges), info)


def default_of(quantity: Quantity, info: DeviceInfo) -> int:
    """The default value of a parameter; 0 leaves it to the sizes."""
    name = plan.PARAMETER_DEFAULTS.get(quantity)
    return getattr(info, name.base) if isinstance(name, VName) else 0


def _values(quantity: Quantity, operation: plan.Operation, info: DeviceInfo) -> Sequence[int]:
    """The possible values of a parameter besides its default."""
    shares, default = info.shares, default_of(quantity, info)
    largest = min(info.max_group, LARGEST_GROUP)
    match quantity:
        case Quantity.GROUP:
            return _powers(shares.lanes, largest)
        case Quantity.GROUPS:
            return [max(1, default * MOST_GROUPS >> k) for k in range(5)]
        case Quantity.SHORT:
            return [max(1, (default << 4) >> k) for k in range(0, 11, 2)]
        case Quantity.LANES:
            alone = all(p.quantity is not Quantity.TEAMS for p in operation.parameters)
            return _powers(32 if alone and shares.lanes >= 32 else 1,
                           min(largest, shares.max_group))
        case Quantity.TEAMS:
            return _powers(1, shares.group)
        case Quantity.WIDTH:
            return _powers(1, max(s.most for s in plan.all_steps(operation.steps)
                                  if isinstance(s, distribution.MapWidth)))
        case Quantity.CHUNK if any(isinstance(s, distribution.ScanTileShape)
                                   for s in plan.all_steps(operation.steps)):
            most = LONGEST_PRIVATE_CHUNK if shares.staged else 4 * shares.tile
            return _powers(max(1, most // 64), most)
        case Quantity.CHUNK:
            return _powers(1, shares.max_chunk)
        case Quantity.SIDE:
            return [side for side in (4, 8, 16, 32) if side * side <= largest]
        case Quantity.SPLIT:
            return _powers(1, min(largest, MOST_SPLIT))
        case Quantity.TILE:
            return [1, *_powers(16, 256)]
        case Quantity.POINTS | Quantity.STEPS:
            return _powers(1, 16)
        case Quantity.ROWS | Quantity.COLUMNS | Quantity.UNROLL:
            return _powers(1, 16)


def _powers(least: int, most: int) -> list[int]:
    """The powers of two from ``least``, which is one, up to ``most``."""
    return [1 << k for k in range(least.bit_length() - 1, most.bit_length())]


def render(found: Iterable[ParameterSpace]) -> str:
    """The parameters of operations with their values, the default in brackets, as text."""
    lines = list[str]()
    for space in found:
        kernels = ", ".join(dict.fromkeys(
            k.name.partition("_")[0] for k in plan.kernels(space.operation.steps)))
        count = sum(1 for _ in space.settings())
        lines.append(f"{space.operation.name} ({kernels}): {count} settings")
        for each in space.ranges:
            values = " ".join(f"[{v}]" if v == each.default else f"{v}" for v in each.values)
            lines.append(f"  {each.parameter.quantity.value:<8} {values}"
                         f"  -- {each.parameter.quantity.meaning}")
    return "\n".join(lines)


def settings_under(host: Mapping[str, ParameterSpace], chosen: Mapping[str, int]) -> Setting:
    """The values of all parameters; an operation whose setting is not possible has its default."""
    return tuple(value for space in host.values() for value in space.in_force(chosen))
