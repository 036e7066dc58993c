"""What the examples compute, written again in NumPy, cell by cell where that is the definition.

Each function takes the arguments of an example's entry point and returns its results.  They are
computed in 64-bit floats, so that agreement says something about the example's rounding, too.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]


def hotspot(iterations: int, temperature: Floats, power: Floats) -> Floats:
    """Explicit steps of the heat equation on a grid, its border insulated."""
    rows, columns = power.shape
    height, width, thickness = 0.016 / rows, 0.016 / columns, 0.0005
    conductivity, heat, fit = 100.0, 1.75e6, 0.5
    seconds = 0.001 / (3.0e6 / (fit * thickness * heat))
    capacity = fit * heat * thickness * width * height
    along_row = width / (2 * conductivity * thickness * height)
    along_column = height / (2 * conductivity * thickness * width)
    through = thickness / (conductivity * height * width)
    t = temperature.astype(np.float64)
    for _ in range(iterations):
        e = np.pad(t, 1, mode="edge")
        flow = (power + (e[:-2, 1:-1] + e[2:, 1:-1] - 2 * t) / along_column
                + (e[1:-1, :-2] + e[1:-1, 2:] - 2 * t) / along_row + (80 - t) / through)
        t = t + seconds / capacity * flow
    return t


def sgemm(alpha: float, a: Floats, b: Floats, beta: float, c: Floats) -> Floats:
    """``alpha a b + beta c``."""
    return alpha * (a.astype(np.float64) @ b) + beta * c


def backprop(inputs: Floats, target: Floats, weights: Floats, outer: Floats,
             before: Floats, outer_before: Floats) -> tuple[Floats, ...]:
    """One step of back-propagation with momentum through one hidden layer."""
    x = np.concatenate([[1.0], inputs])
    hidden = 1 / (1 + np.exp(-(x @ weights)))
    h = np.concatenate([[1.0], hidden])
    output = 1 / (1 + np.exp(-(h @ outer)))
    deltas = output * (1 - output) * (target - output)
    hidden_deltas = hidden * (1 - hidden) * (outer[1:] @ deltas)
    change = 0.3 * np.outer(x, hidden_deltas) + 0.3 * before
    outer_change = 0.3 * np.outer(h, deltas) + 0.3 * outer_before
    return np.abs(deltas).sum(), weights + change, outer + outer_change, change, outer_change


def nw(penalty: int, similarity: Ints) -> Ints:
    """The table of scores, row by row (Needleman and Wunsch 1970)."""
    rows, columns = similarity.shape
    table = np.zeros((rows + 1, columns + 1), np.int32)
    table[0] = -penalty * np.arange(columns + 1)
    table[:, 0] = -penalty * np.arange(rows + 1)
    for i in range(rows):
        for j in range(columns):
            table[i + 1, j + 1] = max(table[i, j] + similarity[i, j],
                                      table[i, j + 1] - penalty, table[i + 1, j] - penalty)
    return table


def mriq(kx: Floats, ky: Floats, kz: Floats, re: Floats, im: Floats,
         x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
    """The matrix Q of a reconstruction without a Cartesian grid."""
    k = np.stack([kx, ky, kz], axis=1).astype(np.float64)
    voxels = np.stack([x, y, z], axis=1).astype(np.float64)
    phase = 2 * np.pi * (voxels @ k.T)
    power = re.astype(np.float64) ** 2 + im.astype(np.float64) ** 2
    return np.cos(phase) @ power, np.sin(phase) @ power


def stencil(iterations: int, centre: float, around: float, grid: Floats) -> Floats:
    """Seven-point steps in the inside of a box."""
    a = grid.astype(np.float64)
    for _ in range(iterations):
        following = a.copy()
        neighbours = (a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1]
                      + a[1:-1, 2:, 1:-1] + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:])
        following[1:-1, 1:-1, 1:-1] = around * neighbours - centre * a[1:-1, 1:-1, 1:-1]
        a = following
    return a
