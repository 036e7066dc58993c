"""Entry points as functions of PyTorch, whose backward is a hidden entry point.

Backward repeats the primal: the arguments are all that forward keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from runelift.ir.base.errors import ArgumentError, UserError
from runelift.runtime.programs.derivatives import Differentiable, Wanted, floats, several


def torch_function(entry: Differentiable) -> Callable[..., Any]:
    """A function of tensors that PyTorch derives, as often as it is asked to."""
    try:
        torch = import_module("torch")
    except ImportError:
        raise UserError("'.torch()' needs PyTorch: pip install torch.") from None
    if not hasattr(torch.autograd.Function, "setup_context"):
        raise UserError(f"'.torch()' needs PyTorch 2.0 or later; this is {torch.__version__}.")

    def forward(*args: Any) -> Any:
        device = next((arg.device for arg in args if isinstance(arg, torch.Tensor)), None)

        def tensor(result: Any) -> Any:
            is_plain = isinstance(result, np.ndarray | np.generic)
            return torch.from_numpy(np.asarray(result)).to(device) if is_plain else result
        found = [tensor(each) for each in several(entry(*map(_on_host, args)))]
        return found[0] if len(found) == 1 else tuple(found)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.set_materialize_grads(False)
        is_tensor = [isinstance(each, torch.Tensor) for each in inputs]
        ctx.save_for_backward(*(each if kept else None
                                for each, kept in zip(inputs, is_tensor, strict=True)))
        ctx.others = [None if kept else each for each, kept in zip(inputs, is_tensor, strict=True)]
        ctx.mark_non_differentiable(*(each for each in several(output) if isinstance(
            each, torch.Tensor) and not each.is_floating_point()))

    def backward(ctx: Any, *seeds: Any) -> tuple[Any, ...]:
        args = [other if kept is None else kept
                for kept, other in zip(ctx.saved_tensors, ctx.others, strict=True)]
        wanted = tuple(number for number in range(len(args)) if ctx.needs_input_grad[number])
        results = tuple(number for number in floats(entry.declared.results)
                        if seeds[number] is not None)
        adjoints = [None] * len(args)
        if wanted and results:
            derived = torch_function(entry.derived(Wanted("adjoints", wanted, results)))
            found = several(derived(*args, *(seeds[number] for number in results)))
            for number, adjoint in zip(wanted, found, strict=True):
                adjoints[number] = adjoint
        return tuple(adjoints)

    made = type(entry.__name__, (torch.autograd.Function,), {
        each.__name__: staticmethod(each) for each in (forward, setup_context, backward)})

    def function(*args: Any, **named: Any) -> Any:
        return made.apply(*entry.in_order(args, named))  # type: ignore[attr-defined]
    function.__name__, function.__doc__ = entry.__name__, entry.__doc__
    return function


def _on_host(arg: Any) -> Any:
    """A tensor as an array or scalar of NumPy; anything else as it is."""
    if not hasattr(arg, "detach"):
        return arg
    try:
        return arg.detach().cpu().resolve_neg().numpy()[()]
    except TypeError:
        raise ArgumentError(f"Programs have no arrays of type {arg.dtype}.", "",
                            "convert it with .to, such as .to(torch.float32)") from None
