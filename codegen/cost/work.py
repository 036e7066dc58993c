"""Formulas of the work of a kernel's launches, as Python functions of the sizes of a launch."""

from __future__ import annotations

import re

from runelift.codegen.cost.expressions import Printer
from runelift.codegen.cost.follow import Follower
from runelift.codegen.cost.sums import ARRAY
from runelift.codegen.cost.totals import SECTOR, Work
from runelift.ir import imp
from runelift.ir.names import VName

ARGUMENT = "a_"
"""Opens the names of arguments but for the first two."""


def argument_names(kernel: imp.Kernel) -> dict[VName, str]:
    """The name in a formula's text of each argument but the first two, by its kernel parameter."""
    names = [*kernel.built_for, *(p.name for p in kernel.params if isinstance(p, imp.ScalarParam))]
    return {name: ARGUMENT + re.sub(r"\W", "_", str(name), flags=re.ASCII) for name in names}


def work_source(kernel: imp.Kernel) -> str:
    """The text of a function ``work(groups, group, ...)`` that returns the fields of a Work.

    The further arguments are what the kernel is built for, then its scalar parameters, in order.
    All are integers; floating-point numbers are not looked at.  No field is negative.
    """
    names = argument_names(kernel)
    follower = Follower(kernel, names)
    top = follower.top
    _place_private(follower)
    sums, maxima = top.names(sums=True), top.names(sums=False)
    lines = [f"def work({', '.join(['groups', 'group', *names.values()])}):"]
    for start in (list(sums), list(maxima)):
        if start:
            lines.append(f"    {' = '.join(start)} = 0.0")
    lines += Printer(follower.graph, top).lines
    fields = {name: name if name in sums else "0.0" for name in Work._fields}
    fields["items"] = "groups * group * part" if "part" in maxima else "float(groups * group)"
    if "uneven" in maxima:
        fields["uneven"] = "uneven"
    reached = " + ".join(name for name in follower.buffers if name in maxima)
    if reached:
        moved = f"{fields['read']} + {fields['written']}"
        if "random" in sums:
            moved += f" + {SECTOR} * random"
        if "atomics" in sums:
            moved += f" + {SECTOR} * atomics"
        lines.append(f"    distinct = min({reached}, {moved})")
        fields["distinct"] = "distinct"
    lines.append(f"    return ({', '.join(fields.values())})")
    return "\n".join(lines) + "\n"


def _place_private(follower: Follower) -> None:
    """Have the accesses to private arrays in memory be one sum."""
    regions = [follower.top]
    while regions:
        region = regions.pop()
        for name in [each for each in region.sums if each.startswith(ARRAY)]:
            terms = region.sums.pop(name)
            if int(name.removeprefix(ARRAY)) in follower.spilled:
                for weight, times in terms.items():
                    region.add("private", weight, times)
        for _, a, b in region.choices:
            regions += [a, b]


def arguments_used(source: str) -> tuple[bool, ...]:
    """True for each argument that a formula uses; the first two are left out."""
    head, _, code = source.partition("\n")
    used = set(re.findall(rf"\b{ARGUMENT}\w+", code))
    return tuple(name in used for name in re.findall(r"\w+", head)[4:])
