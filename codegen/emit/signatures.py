"""Kernels from outside: their parameters, names and needs, without their text.

Runs of kernels whose texts are kept need no more than this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from runelift.ir import imp
from runelift.ir.imp.traverse import asked, has_barriers, statements
from runelift.ir.names import VName
from runelift.ir.prim import Prim

FAILURE_ARGS = 32
"""The most i64 arguments of a failure."""
TEAM_CELLS = "room"
"""The name of an argument of kernels with teams: the cells of a team in a local array."""
_SHARED = re.compile(r"^// (\w+) = (\w+)$", re.MULTILINE)


def function_names(kernels: Iterable[str]) -> dict[str, str]:
    """New names for kernels, by old name, that do not depend on other code of the program.

    So equal kernels of two programs have equal texts, and are built once.

    >>> function_names(["segmap_ys_451", "segmap_ys_480", "segred_r_7"])
    {'segmap_ys_451': 'segmap_ys_1', 'segmap_ys_480': 'segmap_ys_2', 'segred_r_7': 'segred_r_3'}
    """
    return {name: f"{name.rpartition('_')[0]}_{number}"
            for number, name in enumerate(dict.fromkeys(kernels), 1)}


def shared_functions(text: str) -> dict[str, str]:
    """The functions of kernels that are like another one in a program, by their names there.

    >>> shared_functions("__kernel void f_1() {}\\n\\n// f_2 = f_1\\n")
    {'f_2': 'f_1'}
    """
    return dict(_SHARED.findall(text))


def parameters(kernel: imp.Kernel) -> tuple[imp.KernelParam, ...]:
    """The parameters of a kernel between the failure buffers and the local memory."""
    rooms = () if kernel.teams is None else kernel.local_memory
    return (*kernel.params, *(imp.ScalarParam(team_cells(a.name), Prim.I64) for a in rooms))


def given_buffers(kernel: imp.Kernel, args: Iterable[Any]) -> list[tuple[imp.BufferParam, Any]]:
    """The buffer parameters of a kernel, each with its argument; ``args`` are all arguments."""
    return [(param, arg) for param, arg in zip(parameters(kernel), args, strict=True)
            if isinstance(param, imp.BufferParam)]


def uses_subgroups(kernel: imp.Kernel) -> bool:
    """True if work-items of a kernel may synchronise or exchange values in their sub-group."""
    return kernel.teams is not None or bool(subgroups_of(kernel))


def subgroups_of(kernel: imp.Kernel) -> set[VName]:
    """The constants that are numbers of work-items which exchange values."""
    return {stm.subgroup for stm in statements(kernel.body) if isinstance(stm, imp.Shuffle)}


def is_free(kernel: imp.Kernel) -> bool:
    """True if groups of any size do the same work: work-items read only their place in the grid.

    They may read if a kernel has failed, too.
    """
    return (set(asked(kernel.body)) <= {imp.Id.GLOBAL_ID, imp.Id.FAILURE} and not kernel.locals
            and kernel.group is None
            and not has_barriers(kernel.body))


def team_cells(array: VName) -> VName:
    """The argument of a kernel with teams for the cells of a team in a local array."""
    return VName(TEAM_CELLS, array.tag)


def count_barrier_calls(source: str) -> int:
    """The number of barriers in the text of kernels."""
    return sum(map(source.count, ("barrier(", "MEET_TEAM(", "MEET_ALL;")))
