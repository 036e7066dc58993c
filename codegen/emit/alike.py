"""Programs in which kernels that are alike are one function, so that drivers compile them once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from runelift.codegen.emit.opencl import opencl_program, opencl_source
from runelift.codegen.emit.prelude import linked
from runelift.ir import imp
from runelift.ir.names import VName

__all__ = ["opencl_program", "program_of_functions"]


def program_of_functions(kernels: Iterable[imp.Kernel], bases: Mapping[str, int],
                         constants: Mapping[VName, int] | None, functions: Mapping[str, str]
                         ) -> str:
    """The source of a program with the ``functions`` of kernels, each with another text.

    A kernel that is like one before it has a line that says so
    (:func:`~runelift.codegen.emit.signatures.shared_functions`).
    """
    parts, made = list[str](), dict[str, str]()
    for kernel in kernels:
        name = functions.get(kernel.name, kernel.name)
        text = opencl_source(kernel, bases.get(kernel.name, 0), constants, name)
        code = text.partition("\n")[2] if kernel.comment else text
        first = made.setdefault(re.sub(rf"^__kernel void {name}\(", "(", code, count=1,
                                       flags=re.MULTILINE), name)
        parts.append(text if first == name else f"// {name} = {first}\n")
    return linked("\n".join(parts))
