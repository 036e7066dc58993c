"""Delivery: the results of a run as a caller sees them, made while the device may still work.

Scalars are NumPy's.  Arrays come to the host, or stay on the device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.execution.device_array import DeviceArray, check_readable, true_shape
from runelift.runtime.execution.issuing import Issuer

Delivery: TypeAlias = Callable[[Issuer, tuple[Any, ...]], tuple[Any, ...]]
"""A function of a run and its raw results: scalars of Python, and (buffer, type, sizes)."""


def on_device(run: Issuer, raw: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results, with arrays on the device; waits for nothing."""
    device = run.device
    return tuple([spec.prim.dtype.type(value) if spec.shape is None
                  else DeviceArray(value[0], (spec.prim, true_shape(value[2]), device))
                  for value, spec in zip(raw, run.executable.plan.results, strict=True)])


def on_host(run: Issuer, raw: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results, with NumPy's arrays; waits for the device if there are any.

    UserError if NumPy has no arrays of these sizes.
    """
    specs = run.executable.plan.results
    wanted = [(value[0], spec.prim, true_shape(value[2]))
              for value, spec in zip(raw, specs, strict=True) if spec.shape is not None]
    for _, prim, shape in wanted:
        if len(shape) > 1:  # else it is on the device, and so on the host
            _check_readable(run, prim, shape)
    arrays = iter(run.fetch(wanted) if wanted else ())
    return tuple([spec.prim.dtype.type(value) if spec.shape is None else next(arrays)
                  for value, spec in zip(raw, specs, strict=True)])


def _check_readable(run: Issuer, prim: Prim, shape: tuple[int, ...]) -> None:
    """Raise UserError if NumPy has no such array; the failure of a kernel would say more."""
    try:
        check_readable(prim, shape)
    except UserError:
        run.finish()
        raise
