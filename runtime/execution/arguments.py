"""The arguments of a call: whether they have the types and sizes that an entry point asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import Interface, ValueSpec
from runelift.ir.base.errors import ArgumentError
from runelift.ir.names import NAMELESS, VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Const
from runelift.runtime.execution.device_array import DeviceArray


def check_arguments(plan: Interface, args: list[Any]) -> list[Any]:
    """The arguments as NumPy values of the right types; ArgumentError if one is wrong."""
    if len(args) != len(plan.params):
        raise wrong_number(plan.entry, [
            f"{spec.name.base}: {_show_spec(spec)}" for spec in plan.params], len(args))
    return [check_argument(spec, arg) for spec, arg in zip(plan.params, args, strict=True)]


def bound_arguments(plan: Interface, args: list[Any], upload: Callable[[Any], Any]
                    ) -> dict[str, Any]:
    """Arguments by the name of their parameter, arrays as ``upload`` makes them; and sizes."""
    values = check_arguments(plan, args)
    sizes = sizes_of(plan, values)
    bound: dict[str, Any] = {str(name): size for name, size in sizes.items()}
    for spec, value in zip(plan.params, values, strict=True):
        bound[str(spec.name)] = value.item() if spec.shape is None else upload(value)
    return bound


def wrong_number(entry: str, params: Sequence[str], given: int) -> ArgumentError:
    """The error of arguments that are too few or too many; ``params`` have names and types."""
    wanted = f" ({', '.join(params)})" * bool(params)
    return ArgumentError(
        f"Entry point '{entry}' takes {len(params) or 'no'} argument{'s' * (len(params) != 1)}"
        f"{wanted}, but {given} {'is' if given == 1 else 'are'} given.")


def check_argument(spec: ValueSpec, arg: Any) -> Any:
    """An argument as a NumPy value of the right type; ArgumentError if it is wrong."""
    name = spec.name.base
    if isinstance(arg, DeviceArray):
        if spec.shape is None or arg.prim is not spec.prim or len(arg.shape) != len(spec.shape):
            raise ArgumentError(f"Argument '{name}' should be {_show_spec(spec)}, not {arg!r}.",
                                name)
        return arg
    try:
        value = np.asarray(arg)
    except ValueError:  # rows of a list differ in length
        raise ArgumentError(f"Argument '{name}' should be {_show_spec(spec)}, but is no regular "
                            "array.", name) from None
    rank = len(spec.shape) if spec.shape is not None else 0
    python_scalar = rank == 0 and isinstance(arg, int | float | bool)
    if value.ndim != rank or (value.dtype != spec.prim.dtype
                              and not (python_scalar and _fits(arg, spec.prim))):
        found = "".join(f"[{n}]" for n in value.shape) + _dtype_name(value.dtype)
        raise ArgumentError(f"Argument '{name}' should be {_show_spec(spec)}, "
                            f"but has type {found}.", name, _cure(spec, arg, value, rank))
    return value.astype(spec.prim.dtype, copy=False)


def _cure(spec: ValueSpec, arg: Any, value: np.ndarray[Any, Any], rank: int) -> str:
    """The Python expression that makes the argument right, as far as one can tell."""
    name, wanted = spec.name.base, spec.prim.dtype
    kind = "bool_" if spec.prim is Prim.BOOL else str(wanted)
    if isinstance(arg, int) and not isinstance(arg, bool) and not (rank or spec.prim.is_float
                                                                   or spec.prim is Prim.BOOL):
        return f"it is not between {spec.prim.least} and {spec.prim.greatest}."
    if isinstance(arg, int | float) and not (isinstance(arg, bool) or rank) and (
            spec.prim.is_float):
        return f"it is too large for {spec.prim}; infinity is `float('inf')`"
    if not (np.issubdtype(value.dtype, np.number) or value.dtype == np.bool_):
        characters = isinstance(arg, str | bytes) and rank == 1 and wanted == np.uint8
        encoded = f"{name}.encode()" if isinstance(arg, str) else name
        return f"pass `np.frombuffer({encoded}, np.uint8)`" if characters else ""
    if value.ndim != rank:
        return (f"it has {value.ndim} dimension{'s' * (value.ndim != 1)}, and {rank or 'none'} "
                f"{'is' if rank == 1 else 'are'} needed; see `np.reshape`.")
    if rank and type(arg).__module__.partition(".")[0] == "torch":
        return f"pass `{name}.to(torch.{wanted})`"
    if rank and not isinstance(arg, np.ndarray):
        return f"pass `np.array({name}, np.{kind})`"
    return f"pass `{name}.astype(np.{kind})`" if rank else f"pass `np.{kind}({name})`"


def _fits(value: int | float | bool, prim: Prim) -> bool:
    """True if a Python number may stand for a scalar of type ``prim``."""
    if isinstance(value, bool) or prim is Prim.BOOL:
        return isinstance(value, bool) and prim is Prim.BOOL
    if prim.is_float:
        finite = not isinstance(value, float) or isfinite(value)
        return isfinite(prim.nearest(value)) or not finite
    return isinstance(value, int) and int(prim.least) <= value <= int(prim.greatest)


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return next((p.value for p in Prim if p.dtype == dtype), {
        "U": "text", "S": "bytes", "O": "Python object"}.get(dtype.kind, str(dtype)))


def _show_spec(spec: ValueSpec) -> str:
    """The type of a parameter or result in source syntax."""
    shape = "".join(f"[{_show(s)}]" for s in spec.shape or ())
    return f"{shape}{spec.prim.value}"


def _show(size: Atom) -> str:
    if isinstance(size, Const):
        return str(size.value)
    return "" if size.base == NAMELESS else size.base


def sizes_of(plan: Interface, values: list[Any]) -> dict[VName, int]:
    """Each size parameter with its value, from the shapes of the arguments, which must agree."""
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
                shown = _show(size)
                raise ArgumentError(
                    f"Argument '{spec.name.base}' has shape {list(value.shape)}, but its type is "
                    f"{_show_spec(spec)} and " + (f"size '{shown}' is {expected}." if shown else (
                        f"its size is that of another argument, {expected}.")), spec.name.base)
    return {name: known.get(name, 0) for name in plan.sizes}
