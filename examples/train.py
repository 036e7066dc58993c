"""Train a network of two layers on made data, with gradients of ``examples/network.fut``.

``python examples/train.py [--device NAME] [--steps N] [--points N] [--torch]``

The data are two spirals, and the network learns to tell them apart.  A plain step goes down the
gradient; it needs no other package.  With ``--torch``, Adam of PyTorch makes the steps.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import runelift

HIDDEN, RATE = 32, 0.5


def spirals(points: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Points on two spirals, with their radius, and the spiral of each."""
    classes = rng.integers(0, 2, points)
    radius = rng.uniform(0.3, 1, points)
    angle = 4 * radius + np.pi * classes + rng.normal(0, 0.1, points)
    places = np.stack([radius * np.cos(angle), radius * np.sin(angle), radius], axis=1)
    return places.astype(np.float32), classes


def first_weights(rng: np.random.Generator) -> list[Any]:
    """Random weights, and constants of zero."""
    shapes = [(HIDDEN, 3), (HIDDEN,), (2, HIDDEN), (2,)]
    return [(rng.normal(0, 1, shape) / np.sqrt(shape[-1]) if len(shape) == 2
             else np.zeros(shape)).astype(np.float32) for shape in shapes]


def plain(program: Any, weights: list[Any], places: Any, classes: Any, steps: int) -> list[Any]:
    """Weights after steps down the gradient."""
    loss_and_gradient = program.loss.value_and_grad((0, 1, 2, 3))
    for number in range(steps):
        loss, gradient = loss_and_gradient(*weights, places, classes)
        show(number, steps, loss)
        weights = [weight - RATE * each for weight, each in zip(weights, gradient, strict=True)]
    return weights


def with_torch(program: Any, weights: list[Any], places: Any, classes: Any, steps: int
               ) -> list[Any]:
    """Weights after steps of Adam."""
    torch = import_module("torch")
    loss_of = program.loss.torch()
    tensors = [torch.tensor(weight, requires_grad=True) for weight in weights]
    data = torch.from_numpy(places), torch.from_numpy(classes)
    optimiser = torch.optim.Adam(tensors, lr=0.02)
    for number in range(steps):
        optimiser.zero_grad()
        loss = loss_of(*tensors, *data)
        loss.backward()
        optimiser.step()
        show(number, steps, loss.item())
    return [tensor.detach().numpy() for tensor in tensors]


def show(number: int, steps: int, loss: float) -> None:
    """Print the loss ten times."""
    if number % max(1, steps // 10) == 0:
        print(f"step {number:6}  loss {loss:.4f}")


def main() -> None:
    """Train, and print which share of new points has the right class."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--torch", action="store_true", help="steps of PyTorch's Adam")
    options = parser.parse_args()
    program = runelift.compile(Path(__file__).with_name("network.fut"), device=options.device)
    rng = np.random.default_rng(1)
    train = with_torch if options.torch else plain
    weights = train(program, first_weights(rng), *spirals(options.points, rng), options.steps)
    places, classes = spirals(1000, rng)
    right = program.scores(*weights, places).argmax(axis=1) == classes
    print(f"{right.mean():.1%} of new points are right")


if __name__ == "__main__":
    main()
