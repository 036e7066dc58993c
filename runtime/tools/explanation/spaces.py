"""Parameter spaces as text: values, counts, and constraints with their origins."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from runelift.codegen.plan import plan
from runelift.ir.solver.formulas import shown
from runelift.ir.solver.reduction import reduced
from runelift.runtime.geometry.parameter_space import ParameterSpace


def render(found: Iterable[ParameterSpace]) -> str:
    """The parameters of operations with their values, the default in brackets, as text.

    Constraints follow, without the constraints that values of a parameter and of the device decide.
    """
    lines, before, after = list[str](), 0, 0
    for space in found:
        kernels = ", ".join(dict.fromkeys(
            k.name.partition("_")[0] for k in plan.kernels(space.operation.steps)))
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


def facts(found: Iterable[ParameterSpace]) -> dict[str, dict[str, Any]]:
    """The values of each parameter for programs, with the constraints that name it."""
    return {each.parameter.name: {
        "default": each.default, "values": each.values,
        "constraints": [{"condition": str(constraint), "source": constraint.source()}
                        for constraint in space.system.constraints
                        if each.parameter.variable in constraint.variables()]}
            for space in found for each in space.ranges}
