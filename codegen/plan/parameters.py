"""Parameters: numbers that kernels are launched or built with, and that do not change results.

Each parameter belongs to one operation of one code version, so versions are tuned independently.
The lowering asks for a parameter where it needs the number.  Its possible values and its default
depend on the device (:mod:`runelift.runtime.geometry.parameter_space`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from runelift.ir.names import Names, VName


class Quantity(Enum):
    """The quantity that a parameter counts; the value is the last part of its name."""

    GROUP = "group"
    GROUPS = "groups"
    SHORT = "short"
    LANES = "lanes"
    CHUNK = "chunk"
    TEAMS = "teams"
    WIDTH = "width"
    SIDE = "side"
    ACROSS = "across"
    DEPTH = "depth"
    PIECES = "pieces"
    ROWS = "rows"
    COLUMNS = "columns"
    POINTS = "points"
    STEPS = "steps"
    SPLIT = "split"
    TILE = "tile"
    ARRAYS = "arrays"
    UNROLL = "unroll"
    SEGMENT = "segment"

    @property
    def meaning(self) -> str:
        """The quantity in words."""
        return MEANINGS[self]


MEANINGS = {
    Quantity.GROUP: "work-items of a group",
    Quantity.GROUPS: "groups where work-items loop",
    Quantity.SHORT: "greatest length of a segment that one work-item handles alone",
    Quantity.LANES: "least work-items of a group that has one row",
    Quantity.CHUNK: "elements of a chunk of a work-item",
    Quantity.TEAMS: "rows that a group handles side by side",
    Quantity.WIDTH: "points of a map that a work-item has",
    Quantity.SIDE: "rows of work-items in a group",
    Quantity.ACROSS: "columns of work-items in a group, 0 for as many as rows",
    Quantity.DEPTH: "steps of a product in local memory at a time (0: chosen from the sizes)",
    Quantity.PIECES: "pieces of the steps of a product, a group for each (0: as the sizes suggest)",
    Quantity.ROWS: "rows of the points of a work-item",
    Quantity.COLUMNS: "columns of the points of a work-item",
    Quantity.POINTS: "segments that a work-item reduces together",
    Quantity.STEPS: "elements of a segment that a work-item combines at a time",
    Quantity.SPLIT: "work-items that divide such a segment",
    Quantity.TILE: "iterations whose elements a group copies to local memory, 1 for none",
    Quantity.ARRAYS: "arrays that a group copies to local memory, a bit each, 0 for all",
    Quantity.UNROLL: "loop unroll factor (0: chosen from the sizes)",
    Quantity.SEGMENT: "iterations between checkpoints of a loop (0: as their number suggests)",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter ``main.OPERATION.QUANTITY``, and the variable of the plan that holds it."""

    name: str
    quantity: Quantity
    variable: VName


@dataclass(slots=True)
class Parameters:
    """The parameters of an operation, made as the lowering asks for them."""

    operation: str
    names: Names
    found: dict[Quantity, Parameter] = field(default_factory=dict)

    def variable(self, quantity: Quantity) -> VName:
        """The variable that holds the number."""
        if quantity not in self.found:
            self.found[quantity] = Parameter(f"{self.operation}.{quantity.value}", quantity,
                                             self.names.fresh(quantity.value))
        return self.found[quantity].variable
