"""The arguments of a call: whether they have the types and sizes that an entry point asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from runelift.codegen.plan.plan import Interface, ValueSpec
from runelift.ir.errors import UserError
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Const
from runelift.runtime.execution.device_array import DeviceArray


def check_arguments(plan: Interface, args: list[Any]) -> list[Any]:
    """The arguments as NumPy values of the right types; UserError if one is wrong."""
    if len(args) != len(plan.params):
        wanted = ", ".join(f"{spec.name.base}: {_show_spec(spec)}" for spec in plan.params)
        raise UserError(f"Entry point '{plan.entry}' takes {_counted(len(plan.params))}"
                        + f" ({wanted})" * bool(wanted)
                        + f", but {len(args)} {'is' if len(args) == 1 else 'are'} given.")
    return [check_argument(spec, arg) for spec, arg in zip(plan.params, args, strict=True)]


def _counted(arguments: int) -> str:
    return f"{arguments or 'no'} argument{'s' * (arguments != 1)}"


def check_argument(spec: ValueSpec, arg: Any) -> Any:
    """An argument as a NumPy value of the right type; UserError if it is wrong."""
    if isinstance(arg, DeviceArray):
        if spec.shape is None or arg.prim is not spec.prim or len(arg.shape) != len(spec.shape):
            raise UserError(f"Argument '{spec.name.base}' should be {_show_spec(spec)}, "
                            f"not {arg!r}.")
        return arg
    value = np.asarray(arg)
    rank = len(spec.shape) if spec.shape is not None else 0
    python_scalar = rank == 0 and isinstance(arg, int | float | bool)
    if value.ndim != rank or (value.dtype != spec.prim.dtype
                              and not (python_scalar and _fits(arg, spec.prim))):
        found = "".join(f"[{n}]" for n in value.shape) + _dtype_name(value.dtype)
        raise UserError(f"Argument '{spec.name.base}' should be {_show_spec(spec)}, "
                        f"but has type {found}.")
    return value.astype(spec.prim.dtype, copy=False)


def _fits(value: int | float | bool, prim: Prim) -> bool:
    """True if a Python number may stand for a scalar of type ``prim``."""
    if isinstance(value, bool) or prim is Prim.BOOL:
        return isinstance(value, bool) and prim is Prim.BOOL
    if isinstance(value, float):
        return prim.is_float
    return prim.is_float or int(prim.least) <= value <= int(prim.greatest)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return next((p.value for p in Prim if p.dtype == dtype), str(dtype))


def _show_spec(spec: ValueSpec) -> str:
    """The type of a parameter or result in source syntax."""
    shape = "".join(f"[{_show(s)}]" for s in spec.shape or ())
    return f"{shape}{spec.prim.value}"


def _show(size: Atom) -> str:
    return str(size.value) if isinstance(size, Const) else size.base


def sizes_of(plan: Interface, values: list[Any]) -> dict[VName, int]:
    """The size parameters, from the shapes of the arguments, which must agree."""
    known: dict[VName, int] = {
        spec.name: int(value) for spec, value in zip(plan.params, values, strict=True)
        if spec.shape is None and spec.prim is Prim.I64}
    for spec, value in zip(plan.params, values, strict=True):
        for size, length in zip(spec.shape or (), getattr(value, "shape", ()), strict=False):
            expected = int(size.value) if isinstance(size, Const) else known.get(size)
            if expected is None:
                assert isinstance(size, VName)
                known[size] = length
            elif expected != length:
                raise UserError(
                    f"Argument '{spec.name.base}' has shape {list(value.shape)}, but its type is "
                    f"{_show_spec(spec)} and size '{_show(size)}' is {expected}.")
    return {name: known.get(name, 0) for name in plan.sizes}
