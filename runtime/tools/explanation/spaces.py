"""Parameter spaces as text: values, counts, and constraints with their origins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from runelift.codegen.plan import plan
from runelift.ir.names import is_skip_name
from runelift.ir.solver.formulas import shown
from runelift.ir.solver.reduction import reduced
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.numbers import fitting_values
from runelift.runtime.geometry.parameter_space import ParameterSpace

MOST_NUMBERS = 12
"""The most numbers of a rewrite point that are listed."""


@dataclass(frozen=True, slots=True)
class PointNumber:
    """A parameter of the program that rewrite points name; ``values`` are the numbers that fit."""

    name: str
    value: int
    values: tuple[int, ...]

    @property
    def text(self) -> str:
        """The first values and the last one, with the present one in brackets."""
        shown = self.values
        if len(shown) > MOST_NUMBERS:
            near = {*shown[:MOST_NUMBERS - 2], self.value, shown[-1]}
            shown = tuple(each for each in shown if each in near)
        texts = [f"[{each}]" if each == self.value else f"{each}" for each in shown]
        if len(shown) < len(self.values):
            texts.insert(len(texts) - 1, "...")
        return " ".join(texts)


def numbers_of_points(compiled: Compiled) -> tuple[PointNumber, ...]:
    """The parameters of a program that its rewrite points name."""
    if all(map(is_skip_name, compiled.numbers)):
        return ()
    return tuple(PointNumber(name, compiled.numbers[name], tuple(values))
                 for name, values in sorted(fitting_values(compiled).items()))


def render(found: Iterable[ParameterSpace], numbers: Iterable[PointNumber] = ()) -> str:
    """The parameters of operations with their values, the default in brackets, as text.

    Constraints follow, without the constraints that values of a parameter and of the device decide.
    ``numbers`` of rewrite points come first.
    """
    lines, before, after = list[str](), 0, 0
    lines += [f"{each.name} (rewrite points): {each.text}" for each in numbers]
    for space in found:
        kernels = ", ".join(dict.fromkeys(
            _kind(k.kind) for k in plan.kernels(space.operation.steps))) or "host"
        combinations = prod(len(each.values) for each in space.ranges)
        of = f" of {combinations} combinations" if combinations > space.count else ""
        lines.append(f"{space.operation.name} ({kernels}): {space.count} settings{of}")
        for each in space.ranges:
            values = " ".join(f"[{v}]" if v == each.default else f"{v}" for v in each.values)
            lines.append(f"  {each.parameter.quantity.value:<8} {values}"
                         f"  -- {each.parameter.quantity.meaning}")
        left = reduced(space.system).constraints
        before, after = before + len(space.system.constraints), after + len(left)
        lines += [f"  {shown(constraint, space.system.name)}  -- {constraint.source()}"
                  for constraint in left]
    return "\n".join([*lines, "", f"{before} constraints, {after} after reduction"])


def _kind(kind: str) -> str:
    """The kind of a kernel; of segmented operations, the operation.

    >>> _kind("segred_large"), _kind("ragged_groups")
    ('segred', 'ragged_groups')
    """
    return kind.partition("_")[0] if kind.startswith("seg") else kind


def facts(found: Iterable[ParameterSpace], numbers: Iterable[PointNumber] = ()
          ) -> dict[str, dict[str, Any]]:
    """The values of each parameter for programs, with the constraints that name it."""
    points = {each.name: {"default": each.value, "values": list(each.values), "constraints": []}
              for each in numbers}
    return points | {each.parameter.name: {
        "default": each.default, "values": each.values,
        "constraints": [{"condition": str(constraint), "source": constraint.source()}
                        for constraint in space.system.constraints
                        if each.parameter.variable in constraint.variables()]}
            for space in found for each in space.ranges}
