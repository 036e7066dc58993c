"""The families: small programs, and the sizes at which they are looked at.

A file of ``families/`` has lines ``-- sizes ENTRY: NAME=INT,...; NAME=INT,...`` in front of its
entry points.  Each assignment gives a number to every size and to every scalar parameter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runelift.codegen.plan.plan import Interface
from runelift.ir.types import Const
from runelift.runtime.data.dataset import Generator
from runelift.runtime.data.text import Spec, Value

FAMILIES = sorted((Path(__file__).parent / "families").glob("*.fut"))
LINE = re.compile(r"^-- sizes (\w+): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shape:
    """An entry point of a family at given sizes."""

    family: Path
    entry: str
    sizes: Mapping[str, int]

    @property
    def text(self) -> str:
        """The sizes as the family's file has them."""
        return ",".join(f"{name}={value}" for name, value in self.sizes.items())

    def specs(self, interface: Interface) -> list[Spec | Value]:
        """The types of arrays, and the values of scalars."""
        def extent(size: Any) -> int:
            return int(size.value) if isinstance(size, Const) else self.sizes[size.base]

        return [spec.prim.dtype.type(self.sizes[spec.name.base]) if spec.shape is None
                else Spec(tuple(map(extent, spec.shape)), spec.prim) for spec in interface.params]

    def arguments(self, interface: Interface, seed: int = 1) -> list[Value]:
        """Arguments of these sizes, whose arrays have random elements."""
        return Generator(seed).values(self.specs(interface))


def shapes(family: Path) -> list[Shape]:
    """The shapes of the entry points of a family, in the order of its file."""
    return [Shape(family, entry, {name: int(value) for name, value in (
                each.split("=") for each in sizes.strip().split(","))})
            for entry, line in LINE.findall(family.read_text()) for sizes in line.split(";")]


def small(shape: Shape) -> bool:
    """True if the interpreter is soon done, even if a size stands for several dimensions."""
    sizes = [max(1, each) for each in shape.sizes.values()]
    return max(sizes) <= 211 and math.prod(sizes) <= 3000
