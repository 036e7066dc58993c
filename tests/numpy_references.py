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


def tpacf(ascensions: Floats, declinations: Floats, random_ascensions: Floats,
          random_declinations: Floats) -> tuple[Ints, Ints, Ints]:
    """Histograms of the angles between pairs: within the data, across, within random sets."""
    limits = np.cos(np.radians(10 ** (np.arange(21) / 5) / 60))

    def points(ascension: Floats, declination: Floats) -> Floats:
        a, d = np.radians(ascension), np.radians(declination)
        return np.stack([np.cos(a) * np.cos(d), np.sin(a) * np.cos(d), np.sin(d)], axis=1)

    def count(cosines: Floats) -> Ints:
        return np.bincount((cosines[..., None] < limits).sum(-1).ravel(), minlength=22)

    def within(ps: Floats) -> Ints:
        return count((ps @ ps.T)[np.triu_indices(len(ps), 1)])

    data = points(ascensions, declinations)
    sets = [points(*s) for s in zip(random_ascensions, random_declinations, strict=True)]
    none = np.zeros(22, np.int64)
    return (within(data).astype(np.int32), sum((count(data @ s.T) for s in sets), none),
            sum(map(within, sets), none))


def locvolcalib(strikes: int, nx: int, ny: int, nt: int, spot: float, horizon: float,
                alpha: float, nu: float, beta: float) -> Floats:
    """Calls under local volatility; each tridiagonal system is solved as a full one."""
    dx = 20 * alpha * spot * np.sqrt(horizon) / nx
    dy = 10 * nu * np.sqrt(horizon) / ny
    x0, y0 = int(spot / dx), ny // 2
    xs = (np.arange(nx) - x0) * dx + spot
    ys = (np.arange(ny) - y0) * dy + np.log(alpha)
    dt = horizon / (nt - 1)

    def second_derivative(step: float, size: int) -> Floats:
        d = np.zeros((size, size))
        for i in range(1, size - 1):
            d[i, i - 1:i + 2] = np.array([1, -2, 1]) / step ** 2
        return d

    dxx, dyy = second_derivative(dx, nx), second_derivative(dy, ny)
    along_y = 0.5 * nu ** 2 * dyy
    prices = []
    for k in range(strikes):
        values = np.repeat(np.maximum(xs - 0.001 * k, 0)[:, None], ny, axis=1)
        for step in reversed(range(nt - 1)):
            variance = np.exp(2 * (beta * np.log(xs)[:, None] + ys - 0.5 * nu ** 2 * dt * step))
            along_x = [0.5 * variance[:, j, None] * dxx for j in range(ny)]
            vs = values @ along_y.T
            us = values / dt + vs
            for j in range(ny):
                explicit = us[:, j] + 0.5 * along_x[j] @ values[:, j]
                us[:, j] = np.linalg.solve(np.eye(nx) / dt - 0.5 * along_x[j], explicit)
            values = np.linalg.solve(np.eye(ny) / dt - 0.5 * along_y, (us / dt - 0.5 * vs).T).T
        prices.append(values[x0, y0])
    return np.array(prices)
