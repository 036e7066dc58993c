"""Further keywords of calls: ``convert`` fits the types of arguments, ``out`` takes the results.

Types change within NumPy's ``same_kind``: from f64 to f32, from i64 to i32 or f32, not from f64 to
i32.  Values must fit: an integer stays equal, and what is finite stays finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import ValueSpec
from runelift.ir.base.errors import ArgumentError
from runelift.ir.prim import Prim
from runelift.runtime.execution.device_array import DeviceArray, is_foreign
from runelift.runtime.execution.opaques import unpacked
from runelift.runtime.programs.derivatives import ON_DEVICE
from runelift.runtime.programs.entry_point import EntryPoint, option_names, size_names


def called(entry: EntryPoint, args: tuple[Any, ...], device_arrays: bool, named: Mapping[str, Any]
           ) -> Sequence[Any]:
    """The parts of the results of a call with further keywords."""
    options = {name: named[name] for name in option_names(entry.declared) if name in named}
    sizes = {name: named[name] for name in size_names(entry.declared) if name in named}
    rest = {name: value for name, value in named.items() if name not in {*options, *sizes}}
    args = entry.bound(args, rest) if rest else args
    if options.get("convert"):
        given = unpacked(args, entry.declared)
        specs = entry.program.loaded.interface(entry.__name__).params
        if len(given) == len(specs):  # else the call says what is wrong
            args = tuple(map(_converted, specs, given))
    if options.get("out") is None:
        return entry.called(args, device_arrays, sizes)
    if device_arrays:
        raise ArgumentError(f"'out' takes results to the host, where '{ON_DEVICE}' takes none.",
                            "out", "leave out one of them")
    outs = _outs(entry, options["out"])
    results = entry.called(args, True, sizes)
    for number, (out, result) in enumerate(zip(outs, results, strict=True)):
        if out is not None and out.shape != np.shape(result):
            raise ArgumentError(f"'{_place(number, outs)}' has shape {list(out.shape)}, but the "
                                f"result has shape {list(np.shape(result))}.", "out")
    return list(map(_taken, results, outs))


def _converted(spec: ValueSpec, arg: Any) -> Any:
    """An argument with the type of a parameter.

    What cannot be converted at all stays for the call, which says what is wrong.
    """
    if isinstance(arg, DeviceArray) or is_foreign(arg) or type(arg) in (int, float):
        return arg
    try:
        value = np.asarray(arg)
    except ValueError:  # rows of a list differ in length
        return arg
    name, wanted = spec.name.base, spec.prim.dtype
    if value.dtype == wanted or value.dtype.kind not in "biuf" or (
            value.ndim != len(spec.shape or ())):
        return arg
    counts = not isinstance(arg, np.ndarray | np.generic) and (
        value.dtype.kind == "i" and wanted.kind == "u")
    if not counts and not np.can_cast(value.dtype, wanted, "same_kind"):
        kind = "bool_" if spec.prim is Prim.BOOL else wanted
        raise ArgumentError(f"Argument '{name}' is not converted from {value.dtype} to "
                            f"{spec.prim.value}: that is another kind of number.", name,
                            f"pass `{name}.astype(np.{kind})`, which loses what does not fit")
    with np.errstate(over="ignore"):
        made = value.astype(wanted)
    lost = np.isfinite(value) & ~np.isfinite(made) if spec.prim.is_float else made != value
    if lost.any():
        raise ArgumentError(f"Argument '{name}' has the value {value[lost][0]}, which does not fit "
                            f"{spec.prim.value}.", name,
                            "give the parameter a larger type, or change the value")
    return made if value.ndim else made[()]


def _outs(entry: EntryPoint, out: Any) -> list[np.ndarray[Any, Any] | None]:
    """An array or None for each result; ArgumentError if an array cannot take its result."""
    results = entry.declared.results
    outs = list(out) if isinstance(out, tuple) else [out]
    if len(outs) != len(results):
        raise ArgumentError(f"'out' should have an array for each result of '{entry.__name__}', so "
                            f"{len(results)}, not {len(outs)}.", "out",
                            "None stands for a new array")
    for number, (each, result) in enumerate(zip(outs, results, strict=True)):
        if each is None:
            continue
        wanted = f"an array of NumPy for {result.written}"
        if result.opaque or not isinstance(each, np.ndarray):
            raise ArgumentError(f"'{_place(number, outs)}' should be {wanted}, not "
                                f"{type(each).__name__}." if not result.opaque else
                                f"No array takes a result of type {result.written}.", "out",
                                "None stands for a new value")
        dtype, rank = Prim(result.type.lstrip("[]")).dtype, result.type.count("[")
        if each.dtype != dtype or each.ndim != rank:
            raise ArgumentError(f"'{_place(number, outs)}' should be {wanted}, but is an array of "
                                f"{each.dtype}, {each.ndim}-d.", "out",
                                f"such as `np.empty(..., np.{dtype})`")
        if not each.flags.writeable:
            raise ArgumentError(f"'{_place(number, outs)}' must not be written.", "out")
    return outs


def _place(number: int, outs: Sequence[Any]) -> str:
    return "out" if len(outs) == 1 else f"out[{number}]"


def _taken(result: Any, out: np.ndarray[Any, Any] | None) -> Any:
    if not isinstance(result, DeviceArray):
        if out is None:
            return result
        out[...] = result
    elif out is None:
        return result.get()
    elif out.flags.c_contiguous and out.size:
        result.device.read(result.buffer, out)
    elif out.size:
        out[...] = result.get()
    return out
