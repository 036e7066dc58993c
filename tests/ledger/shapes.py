"""The families: small programs, and the sizes at which they are looked at.

A file of ``families/`` has lines ``-- sizes ENTRY: NAME=INT,...; NAME=INT,...`` in front of its
entry points.  Each assignment gives a number to every size and to every scalar parameter.

Arrays are not given, but lengths of n rows: ``NAME=SHAPE:CAP`` draws them
(:mod:`runelift.runtime.data.lengths`).  Behind it, ``NAME=offsets`` is an array of the elements
before each row, and ``NAME=total`` a size, their sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import Interface
from runelift.ir.types import Const
from runelift.runtime.data.dataset import Generator
from runelift.runtime.data.lengths import draw
from runelift.runtime.data.outline import arguments_of_sizes
from runelift.runtime.data.text import Spec, Value

FAMILIES = sorted((Path(__file__).parent / "families").glob("*.fut"))
LINE = re.compile(r"^-- sizes (\w+): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shape:
    """An entry point of a family at given sizes.

    ``text`` is what the family's file has.  ``given`` are arrays whose elements matter.
    """

    family: Path
    entry: str
    sizes: Mapping[str, int]
    text: str = ""
    given: Mapping[str, Value] = field(default_factory=dict)

    def outlined(self, interface: Interface) -> list[Value]:
        """Arguments of these sizes, whose arrays have no elements in memory, but those given."""
        values = arguments_of_sizes(interface, self.sizes)
        return [self.given.get(spec.name.base, value)
                for spec, value in zip(interface.params, values, strict=True)]

    def specs(self, interface: Interface) -> list[Spec | Value]:
        """The types of arrays, and the values of scalars."""
        def extent(size: Any) -> int:
            return int(size.value) if isinstance(size, Const) else self.sizes[size.base]

        return [self.given[spec.name.base] if spec.name.base in self.given
                else spec.prim.dtype.type(self.sizes[spec.name.base]) if spec.shape is None
                else Spec(tuple(map(extent, spec.shape)), spec.prim) for spec in interface.params]

    def arguments(self, interface: Interface, seed: int = 1) -> list[Value]:
        """Arguments of these sizes, whose arrays have random elements."""
        return Generator(seed).values(self.specs(interface))


def shapes(family: Path) -> list[Shape]:
    """The shapes of the entry points of a family, in the order of its file."""
    return [_shape(family, entry, sizes.strip()) for entry, line in LINE.findall(family.read_text())
            for sizes in line.split(";")]


def _shape(family: Path, entry: str, text: str) -> Shape:
    """The shape that a text of assignments stands for."""
    sizes: dict[str, int] = {}
    given: dict[str, Value] = {}
    lengths = draw(0, "empty", 0)
    for name, value in (each.split("=") for each in text.split(",")):
        if ":" in value:
            shape, cap = value.split(":")
            given[name] = lengths = draw(sizes["n"], shape, int(cap))
        elif value == "offsets":
            given[name] = np.cumsum(lengths) - lengths
        else:
            sizes[name] = int(lengths.sum()) if value == "total" else int(value)
    return Shape(family, entry, sizes, text, given)


def small(shape: Shape) -> bool:
    """True if the interpreter is soon done, even if a size stands for several dimensions."""
    sizes = [max(1, each) for each in shape.sizes.values()]
    return max(sizes) <= 211 and math.prod(sizes) <= 3000
