"""Constraints of the settings of an operation: from its kernels, its tiles and the device.

The rules are about parameters by their quantity.  Kernels give the local memory and the groups that
a setting takes, as far as they do not depend on data.  Tiles are derived quantities:
:mod:`~runelift.runtime.geometry.tiles` finds them, for data that are plenty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from runelift.codegen.plan import distribution, plan
from runelift.codegen.plan.parameters import Quantity
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint, Derived, at_least, divides, equal
from runelift.ir.names import VName
from runelift.ir.sizes import Size, greatest, least
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.geometry.product_blocks import block
from runelift.runtime.geometry.tiles import Combining, SegmentBatch, coarse
from runelift.runtime.geometry.work_groups import tile

MOST_CELLS = 64
"""Points of a product that a work-item keeps in registers."""
MOST_STRAIGHT = 256
"""Steps times segments that a work-item combines at a time if it keeps nothing for each."""
PLENTY_OF_DATA = 1 << 40
"""Data enough for all that a device can do at once."""
LIKED_GROUP = VName("liked_group", 0)
"""The work-items of a group that the device likes."""
LARGEST_SHARED_GROUP = VName("largest_shared_group", 0)
"""The most work-items of a group that divide rows on the device."""

ONE, NONE = Size.of(1), Size.of(0)


def device_quantities(info: DeviceInfo) -> dict[VName, int]:
    """The values of the quantities of a device that constraints and kernels name."""
    return {**{name: getattr(info, name.base) for name in plan.DEVICE_SIZES},
            LIKED_GROUP: info.shares.group, LARGEST_SHARED_GROUP: info.shares.max_group}


def constraints_of(operation: plan.Operation, defaults: Mapping[VName, int], info: DeviceInfo
                   ) -> tuple[tuple[Constraint, ...], tuple[Derived, ...]]:
    """The constraints of an operation on a device, and the quantities derived for them.

    ``defaults`` are the default values of the variables of parameters.
    """
    steps = tuple(plan.all_steps(operation.steps))
    span = span_of(operation)
    derived, tiles = list[Derived](), list[Constraint]()
    for step in steps:
        if isinstance(step, distribution.ScanTileShape):
            derived.append(_derived(step, _scan_tile, info))
            tiles += _scan_tile_fits(step, info, span)
        elif isinstance(step, distribution.ProductTileShape):
            derived.append(_derived(step, _product_tile, info))
            tiles += _product_tile_fits(step, span)
        elif isinstance(step, distribution.SegmentBlockShape):
            derived.append(_derived(step, _segment_block, info))
            tiles += _segment_block_fits(step, span)
    known = {*defaults, *device_quantities(info), *(n for each in derived for n in each.names)}
    copies = [step.tile for step in steps if isinstance(step, distribution.SegmentBlockShape)]
    return (*limits_of(operation), *_rules(operation, defaults, span), *tiles,
            *(each for step in steps if isinstance(step, plan.Launch)
              for each in _launch_fits(step, known, copies))), tuple(derived)


def span_of(operation: plan.Operation) -> Loc | None:
    """The place in the source that an operation is for."""
    return next((step.loc for step in plan.all_steps(operation.steps)
                 if isinstance(step, plan.Launch) and step.loc), None)


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
    """The rules about several parameters of an operation, by their quantities."""
    own = {each.quantity: Size.var(each.variable) for each in operation.parameters}
    points, side = own.get(Quantity.POINTS, NONE), own.get(Quantity.SIDE, NONE)
    for quantity, size in own.items():
        if quantity in (Quantity.STEPS, Quantity.SPLIT, Quantity.TILE, Quantity.ARRAYS):
            yield at_least(least(ONE, points), least(ONE, size),
                           f"'{quantity.value}' needs 'points' to be set", operation.name,
                           span=span)
        if quantity in (Quantity.ROWS, Quantity.COLUMNS, Quantity.ACROSS, Quantity.DEPTH):
            yield at_least(least(ONE, side), least(ONE, size),
                           f"'{quantity.value}' needs 'side' to be set", operation.name,
                           span=span)
        if quantity in (Quantity.GROUPS, Quantity.SHORT) and Quantity.POINTS in own:
            (default,) = (defaults[p.variable] for p in operation.parameters
                          if p.quantity is quantity)
            yield equal(least(ONE, points) * (size - default), NONE,
                        f"'{quantity.value}' makes no difference where work-items have several "
                        "segments", operation.name, span=span)
    if {Quantity.TILE, Quantity.ARRAYS} <= own.keys():
        copies = own[Quantity.TILE] - ONE
        yield at_least(greatest(copies, NONE - copies), least(ONE, own[Quantity.ARRAYS]),
                       "'arrays' makes no difference where nothing is copied", operation.name,
                       span=span)
    if {Quantity.SPLIT, Quantity.GROUP} <= own.keys():
        yield divides(greatest(ONE, own[Quantity.SPLIT]), own[Quantity.GROUP],
                      "a group is split evenly", operation.name, span=span)
    if {Quantity.SIDE, Quantity.ACROSS} <= own.keys():
        across = own[Quantity.ACROSS]
        square = side * (ONE - least(ONE, across))
        yield at_least(Size.var(plan.MAX_GROUP), side * (across + square),
                       "a group has work-items in rows and columns", operation.name, span=span)
    if {Quantity.ROWS, Quantity.COLUMNS} <= own.keys():
        yield at_least(Size.of(MOST_CELLS), own[Quantity.ROWS] * own[Quantity.COLUMNS],
                       "a work-item keeps its points in registers", operation.name, span=span)


def _launch_fits(launch: plan.Launch, known: Iterable[VName], copies: Iterable[VName]
                 ) -> Iterator[Constraint]:
    """The limits of the device that a launch keeps to, whatever the data are.

    A kernel that copies tiles runs only if their sizes in ``copies`` are not 0.
    """
    known, kernel = frozenset(known), launch.kernel
    need = [array.length * array.prim.bytes for array in kernel.local_memory
            if array.length.variables() <= known]
    if need:
        bytes_ = sum(need[1:], need[0])
        for tile in bytes_.variables() & frozenset(copies):
            bytes_ = bytes_ * least(ONE, Size.var(tile))
        yield at_least(Size.var(plan.LOCAL_BYTES), bytes_,
                       "local memory of a group", kernel.name, span=launch.loc)
    if launch.group.variables() <= known:
        yield at_least(Size.var(plan.MAX_GROUP), launch.group, "work-items of a group", kernel.name,
                       span=launch.loc)


# Tiles


_Tiles = TypeVar("_Tiles", distribution.ScanTileShape, distribution.ProductTileShape,
                 distribution.SegmentBlockShape)
"""Steps that choose tiles, for sizes that parameters may ask for."""
_Found: TypeAlias = Callable[[_Tiles, DeviceInfo, Sequence[int]], Sequence[int]]
"""The sizes of tiles for wanted ones."""


def _derived(step: _Tiles, found: _Found[_Tiles], info: DeviceInfo) -> Derived:
    """The sizes that a step sets."""
    inputs = tuple(atom for atom in step.wanted if isinstance(atom, VName))
    return Derived(step.names(), inputs, partial(_called, step, found, info))


def _called(step: _Tiles, found: _Found[_Tiles], info: DeviceInfo, *values: int
            ) -> Sequence[int]:
    """The sizes for wanted values, which are 0, for any, where there is no parameter."""
    left = iter(values)
    return found(step, info, [next(left) if isinstance(atom, VName) else 0
                              for atom in step.wanted])


def _scan_tile(step: distribution.ScanTileShape, info: DeviceInfo, wanted: Sequence[int]
               ) -> Sequence[int]:
    group, chunk = wanted
    return (*tile(info.shares, PLENTY_OF_DATA, step.bytes, info.num_groups, info.local_bytes,
                  (group, chunk)), 0)


def _scan_tile_fits(step: distribution.ScanTileShape, info: DeviceInfo, span: Loc | None
                    ) -> Iterator[Constraint]:
    """Tiles that go through local memory are not made smaller than was asked for."""
    if info.shares.staged:
        for found, atom in zip((step.group, step.chunk), step.wanted, strict=True):
            if isinstance(atom, VName):
                yield equal(least(ONE, Size.var(atom)) * Size.var(found), Size.var(atom),
                            "tiles of a scan fit into local memory", span=span)


def _product_tile(step: distribution.ProductTileShape, info: DeviceInfo, wanted: Sequence[int]
                  ) -> Sequence[int]:
    return block(info.shares, PLENTY_OF_DATA, PLENTY_OF_DATA, 1, 1, 1, step.bytes,
                 info.local_bytes, tuple(wanted))


def _product_tile_fits(step: distribution.ProductTileShape, span: Loc | None
                       ) -> Iterator[Constraint]:
    """Blocks for groups that were asked for, and slabs as deep as was asked for."""
    *_, across, depth, _ = step.wanted
    if isinstance(across, VName):
        yield at_least(Size.var(step.rows), least(ONE, Size.var(across)),
                       "slabs of a group that is not square fit into local memory", span=span)
    if isinstance(depth, VName):
        yield equal(least(ONE, Size.var(depth)) * Size.var(step.depth), Size.var(depth),
                    "each work-item copies an element of a slab", span=span)


def _segment_block(step: distribution.SegmentBlockShape, info: DeviceInfo, wanted: Sequence[int]
                   ) -> Sequence[int]:
    combining = Combining(step.slides, step.roots, step.loops, step.bytes,
                          tuple((box.bytes, box.sides) for box in step.boxes))
    return coarse(info.shares, SegmentBatch(PLENTY_OF_DATA, PLENTY_OF_DATA, 1, PLENTY_OF_DATA),
                  combining, 1, info.local_bytes, tuple(wanted))


def _segment_block_fits(step: distribution.SegmentBlockShape, span: Loc | None
                        ) -> Iterator[Constraint]:
    """Registers for the points, and boxes as long as was asked for; a tile of 1 means none."""
    yield at_least(Size.of(MOST_CELLS if step.loops else MOST_STRAIGHT), Size.var(step.cells),
                   "a work-item keeps its steps for all its points in registers", span=span)
    if isinstance(step.wanted[4], VName):
        yield at_least(Size.var(step.tile) + 1, Size.var(step.wanted[4]),
                       "the iterations of a tile fit into local memory", span=span)

