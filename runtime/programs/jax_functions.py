"""Entry points as functions of JAX: ``custom_vjp`` around callbacks to the host.

The reverse pass repeats the primal: the arguments are all that is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from runelift.ir.base.errors import ArgumentError, UserError
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, Const
from runelift.runtime.programs.derivatives import Differentiable, Wanted, floats, several

Shapes = Callable[[tuple[Any, ...]], Any]
"""The shapes and types of the results for arguments that may be unknown."""


def jax_function(entry: Differentiable, shapes: Shapes | None = None) -> Callable[..., Any]:
    """A function of JAX's arrays that ``jax.grad`` derives and ``jax.jit`` compiles."""
    try:
        jax = import_module("jax")
    except ImportError:
        raise UserError("'.jax()' needs JAX: pip install jax.") from None
    params, results = entry.declared.params, entry.declared.results
    if any(each.opaque for each in (*params, *results)):
        raise UserError(f"'{entry.__name__}' has values of composite types, which JAX does not "
                        "have.")
    prims = [Prim(each.type.lstrip("[]")) for each in params]

    def host(*args: Any) -> Any:
        found = several(entry(*(np.asarray(arg)[()] for arg in args)))
        return tuple(map(np.asarray, found))

    def primal(*args: Any) -> Any:
        wanted = shapes(args) if shapes else _shapes(entry, args)
        found = jax.pure_callback(
            host, tuple(jax.ShapeDtypeStruct(*each) for each in wanted), *args,
            vmap_method="sequential")
        return found[0] if len(found) == 1 else tuple(found)

    def forward(*args: Any) -> tuple[Any, Any]:
        return made(*args), args  # which can be derived once more

    def reverse(args: tuple[Any, ...], seeds: Any) -> tuple[Any, ...]:
        given = (seeds,) if len(results) == 1 else tuple(seeds)
        active, seeded = floats(params), floats(results)
        adjoints = [np.zeros(arg.shape, jax.dtypes.float0) for arg in args]
        if active and seeded:
            derived = jax_function(
                entry.derived(Wanted("adjoints", active, seeded)),
                lambda all_: [(all_[number].shape, all_[number].dtype) for number in active])
            found = several(derived(*args, *(given[number] for number in seeded)))
            for number, adjoint in zip(active, found, strict=True):
                adjoints[number] = adjoint
        return tuple(adjoints)

    made = jax.custom_vjp(primal)
    made.defvjp(forward, reverse)

    def function(*args: Any, **named: Any) -> Any:
        given = entry.in_order(args, named)
        return made(*(jax.numpy.asarray(arg, prim.dtype if np.ndim(arg) == 0 else None)
                      for arg, prim in zip(given, prims, strict=True)))
    function.__name__, function.__doc__ = entry.__name__, entry.__doc__
    return function


def _shapes(entry: Differentiable, args: tuple[Any, ...]) -> list[tuple[tuple[int, ...], Any]]:
    """The shapes and types of results whose sizes are sizes of arguments."""
    plan, known = entry.plan(), dict[Atom, int]()
    for spec, arg in zip(plan.params, args, strict=True):
        known |= dict(zip(spec.shape or (), arg.shape, strict=False))
    found: list[tuple[tuple[int, ...], Any]] = []
    for spec in plan.results:
        shape = tuple(int(size.value) if isinstance(size, Const) else known.get(size, -1)
                      for size in spec.shape or ())
        if -1 in shape:
            raise ArgumentError(f"The sizes of the results of '{entry.__name__}' are no sizes of "
                                "arguments; JAX has to know them before the call.")
        found.append((shape, spec.prim.dtype))
    return found
