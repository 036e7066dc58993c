"""The interface of an entry point: parameters and results, known without a plan."""

from __future__ import annotations

from runelift.codegen.plan.plan import Interface, ValueSpec
from runelift.ir.syntax import Fun, Param
from runelift.ir.types import ArrayType, elem_of


def interface(fun: Fun) -> Interface:
    """The arguments that a caller of an entry point gives."""
    return Interface(fun.name, tuple(p.name for p in fun.params[: fun.sizes]),
                     tuple(spec_of(p) for p in fun.params[fun.sizes:]))


def spec_of(param: Param) -> ValueSpec:
    """The specification of a value, for a caller or a version."""
    shape = param.type.shape if isinstance(param.type, ArrayType) else None
    return ValueSpec(param.name, elem_of(param.type), shape)
