"""Texts that nothing has kept: programs of kernels, and costs of whole calls.

Most runs find all texts on disk, so that what writes them is imported when there is one to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING

from runelift.codegen.emit.phases import PersistentKernel
from runelift.codegen.plan.plan import Plan
from runelift.ir.imp import Kernel
from runelift.ir.names import VName

if TYPE_CHECKING:
    from runelift.codegen.plan.origins import Origins


def program_text(kernels: Iterable[Kernel], bases: dict[str, int],
                 constants: Mapping[VName, int] | None = None, *,
                 functions: Mapping[str, str] | None = None,
                 origins: Origins | None = None) -> str:
    """The text of a program (:func:`runelift.codegen.emit.opencl.opencl_program`).

    With ``functions``, kernels that are alike are one function, unless lines have their places.
    """
    # late: start-up; texts of kernels are kept
    from runelift.codegen.emit import alike

    if functions and origins is None:
        return alike.program_of_functions(kernels, bases, constants, functions)
    return alike.opencl_program(kernels, bases, constants, functions=functions, origins=origins)


def persistent_text(kernel: PersistentKernel, bases: Mapping[str, int], late: int) -> str:
    """The text of a persistent kernel
    (:func:`runelift.codegen.emit.persistent.persistent_source`).
    """
    # late: start-up; few programs have persistent kernels
    from runelift.codegen.emit.persistent import persistent_source

    return persistent_source(kernel, bases, late)


def cost_text(plan: Plan, works: dict[str, str], lengths: Set[VName]
              ) -> tuple[str, tuple[VName, ...]]:
    """The cost function of a whole call as text, and what the function takes.

    ``works`` are formulas of kernels by name.  Formulas that the function calls are added.
    ``lengths`` are parameters whose elements are known.
    """
    # late: start-up; runs choose by the costs of versions, which plans have
    from runelift.codegen.cost.version_costs import cost_of_entry

    found = cost_of_entry(plan, works, lengths)
    return found.text, found.facts
