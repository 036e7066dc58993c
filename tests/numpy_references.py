"""What the examples compute, written again in NumPy, cell by cell where that is the definition.

Each function takes the arguments of an example's entry point and returns its results.  They are
computed in 64-bit floats, so that agreement says something about the example's rounding, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from statistics import NormalDist
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


def syrk(alpha: float, a: Floats, beta: float, c: Floats) -> Floats:
    """``alpha a a^T + beta c``."""
    return alpha * (a.astype(np.float64) @ a.T) + beta * c


def syr2k(alpha: float, a: Floats, b: Floats, beta: float, c: Floats) -> Floats:
    """``alpha (a b^T + b a^T) + beta c``."""
    wide = a.astype(np.float64)
    return alpha * (wide @ b.T + b @ wide.T) + beta * c


def convolution(values: Floats, weights: Floats) -> Floats:
    """Where the filter lies within the values: their sum, weighted by it; of any rank."""
    windows = np.lib.stride_tricks.sliding_window_view(values.astype(np.float64), weights.shape)
    return np.tensordot(windows, weights, weights.ndim)


conv1d = conv2d = conv3d = convolution


def windows(image: Floats, filters: Floats) -> Floats:
    """Each filter over the windows of an image of several channels, with zeros around it."""
    padded = np.pad(image.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    found = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return np.einsum("chwij,mcij->mhw", found, filters)


vgg = windows


def attention(queries: Floats, keys: Floats, values: Floats, inner: Floats, outer: Floats
              ) -> Floats:
    """A layer of a transformer: heads side by side in each token, and a network on top."""
    q, k, v = (each.astype(np.float64) for each in (queries, keys, values))
    scores = np.exp(q @ np.swapaxes(k, 2, 3) / np.sqrt(q.shape[3]))
    heads = (scores / scores.sum(axis=3, keepdims=True)) @ v
    tokens = np.moveaxis(heads, 1, 2).reshape(q.shape[0], q.shape[2], -1)
    return tokens + np.maximum(0, tokens @ inner.T) @ outer.T


def coulomb(width: int, height: int, depth: int, spacing: float, xs: Floats, ys: Floats,
            zs: Floats, charges: Floats) -> Floats:
    """The sum of charge over distance at the points of a grid, x varying fastest."""
    z, y, x = spacing * np.indices((depth, height, width), np.float64)[..., None]
    return np.sum(charges / np.sqrt((x - xs)**2 + (y - ys)**2 + (z - zs)**2), axis=-1)


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


def poisson(tolerance: float, limit: int, b: Floats) -> tuple[Floats, int]:
    """The solution by conjugate gradients, and how many iterations it took."""
    def laplacian(xs: Floats) -> Floats:
        around = np.pad(xs, 1)
        return (4 * xs - around[:-2, 1:-1] - around[2:, 1:-1] - around[1:-1, :-2]
                - around[1:-1, 2:])

    x, r, p, i = np.zeros_like(b), b, b, 0
    while (r * r).sum() > tolerance**2 * (b * b).sum() and i < limit:
        ap = laplacian(p)
        alpha = (r * r).sum() / (p * ap).sum()
        x, old, r = x + alpha * p, r, r - alpha * ap
        p, i = r + (r * r).sum() / (old * old).sum() * p, i + 1
    return x, i


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


def optionpricing(paths: int, directions: Ints, times: Floats, factor: Floats,
                  volatilities: Floats, rate: float, strike: float) -> float:
    """An Asian basket call over Sobol paths, the library's normal quantiles."""
    dates, stocks, bits = directions.shape
    known = [0]
    order = sorted(range(1, dates + 1), key=lambda at: (-(at & -at), at))
    time = [0.0, *map(float, times)]
    quantile = NormalDist().inv_cdf
    total = 0.0
    for number in range(1, paths + 1):
        gray = number ^ number >> 1
        draws = np.zeros((dates, stocks))
        for place in np.ndindex(dates, stocks):
            word = 0
            for b in range(bits):
                word ^= int(directions[(*place, b)]) * (gray >> b & 1)
            draws[place] = quantile(word / 2 ** bits)
        walk, known = {0: np.zeros(stocks)}, [0]
        for at, draw in zip(order, draws, strict=True):
            left = max(k for k in known if k < at)
            right = min((k for k in known if k > at), default=None)
            before = time[at] - time[left]
            if right is None:
                mean, variance = walk[left], before
            else:
                share = before / (time[right] - time[left])
                mean = (1 - share) * walk[left] + share * walk[right]
                variance = before * (1 - share)
            walk[at] = mean + np.sqrt(variance) * draw
            known.append(at)
        prices = [np.exp((rate - volatilities ** 2 / 2) * time[at]
                         + volatilities * (factor @ walk[at])) for at in range(1, dates + 1)]
        total += max(0.0, np.mean(prices) - strike)
    return float(np.exp(-rate * times[-1]) * total / paths)


def lavamd(side: int, alpha: float, v: Floats, x: Floats, y: Floats, z: Floats,
           charges: Floats) -> tuple[Floats, ...]:
    """Potential and force on every particle from its own box and those around it."""
    places = list(np.ndindex(side, side, side))
    particles = np.stack([v, x, y, z], axis=-1).astype(np.float64)
    forces = np.zeros_like(particles)
    for home, place in enumerate(places):
        for near, other in enumerate(places):
            if max(abs(np.subtract(place, other))) > 1:
                continue
            a, b = particles[home][:, None], particles[near][None]
            distance = a[..., 0] + b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1)
            u = charges[near] * np.exp(-2 * alpha ** 2 * distance)
            forces[home, :, 0] += u.sum(-1)
            forces[home, :, 1:] += (2 * u[..., None] * (a - b)[..., 1:]).sum(1)
    return tuple(np.moveaxis(forces, -1, 0))


def bfast(harmonics: int, history: int, frequency: float, window: float, bound: float,
          pixels: Floats) -> tuple[Ints, Floats]:
    """The first moving sum of residuals beyond its limit, and the mean of those sums."""
    time = np.arange(1, pixels.shape[1] + 1)
    angles = 2 * np.pi * np.arange(1, harmonics + 1)[:, None] * time / frequency
    columns = np.concatenate([[np.ones(len(time)), time], np.sin(angles), np.cos(angles)]).T
    breaks, means = [], []
    for pixel in pixels.astype(np.float64):
        there = np.flatnonzero(~np.isnan(pixel))
        size = int((there < history).sum())
        beta, *_ = np.linalg.lstsq(columns[there[:size]], pixel[there[:size]], rcond=None)
        residuals = pixel[there] - columns[there] @ beta
        sigma = np.sqrt((residuals[:size] ** 2).sum() / (size - columns.shape[1]))
        width = int(np.float32(size) * np.float32(window))
        ends = np.arange(size, len(there))
        moved = np.array([residuals[max(0, i + 1 - width):i + 1].sum() for i in ends])
        moved /= sigma * np.sqrt(size)
        ratio = (there[ends] + 1) / history
        beyond = np.flatnonzero(abs(moved) > bound * np.sqrt(np.log(np.maximum(ratio, np.e))))
        breaks.append(there[ends[beyond[0]]] - history if len(beyond) else -1)
        means.append(moved.mean() if len(moved) else 0)
    return np.array(breaks, np.int32), np.array(means)


def heston_prices(spot: float, rate: float, parameters: Floats, strikes: Floats,
                  maturities: Floats) -> Floats:
    """Calls by Heston's own two integrals, on a fine and even grid."""
    v0, kappa, theta, sigma, rho = parameters
    step = 0.05
    u = (np.arange(4_000) + 0.5) * step
    prices = []
    for strike, maturity in zip(strikes, maturities, strict=True):
        def transform(z: Any, maturity: float = maturity) -> Any:
            b = kappa - rho * sigma * 1j * z
            d = np.sqrt(b ** 2 + sigma ** 2 * (1j * z + z ** 2))
            g, decay = (b - d) / (b + d), np.exp(-d * maturity)
            level = (b - d) * maturity - 2 * np.log((1 - g * decay) / (1 - g))
            start = (b - d) * (1 - decay) / (1 - g * decay)
            return np.exp(1j * z * (np.log(spot) + rate * maturity)
                          + (kappa * theta * level + v0 * start) / sigma ** 2)
        forward = spot * np.exp(rate * maturity)
        wave = np.exp(-1j * u * np.log(strike)) / (1j * u)
        first, second = (0.5 + (wave * f).real.sum() * step / np.pi
                         for f in (transform(u - 1j) / forward, transform(u)))
        prices.append(spot * first - strike * np.exp(-rate * maturity) * second)
    return np.array(prices)


def heston(seed: int, members: int, generations: int, nodes: int, spot: float, rate: float,
           strikes: Floats, maturities: Floats, market: Floats) -> tuple[float, ...]:
    """Differential evolution over Heston's parameters; the integral does not depend on nodes."""
    def random(*place: int) -> float:
        h = int(seed)
        for x in place:
            h = (h ^ x) * 0x9e3779b1 % 2 ** 32
            h = (h ^ h >> 15) * 0x85ebca6b % 2 ** 32
        return (h ^ h >> 13) / 2 ** 32

    def parameters(x: Floats) -> Floats:
        return np.array([0.01, 0.2, 0.01, 0.05, -0.95]) + np.array([0.3, 6, 0.3, 1, 1.5]) * x

    def loss(x: Floats) -> float:
        found = heston_prices(spot, rate, parameters(x), strikes, maturities)
        return float(np.sqrt(((found - market) ** 2).mean()))

    def trial(generation: int, i: int) -> Floats:
        a, b, c = (population[int(random(generation, i, use) * members)] for use in range(3))
        crossed = np.array([random(generation, i, 3 + k) < 0.9 for k in range(5)])
        return np.where(crossed, np.clip(a + 0.6 * (b - c), 0, 1), population[i])

    population = [np.array([random(0, i, k) for k in range(5)]) for i in range(members)]
    for generation in range(1, generations + 1):
        trials = [trial(generation, i) for i in range(members)]
        population = [min(pair, key=loss) for pair in zip(population, trials, strict=True)]
    best = min(population, key=loss)
    return (*parameters(best), loss(best))


def radix(numbers: Ints) -> Ints:
    """The numbers in order."""
    return np.sort(numbers)


def fft(re: Floats, im: Floats) -> tuple[Floats, Floats]:
    """The discrete Fourier transform."""
    found = np.fft.fft(re.astype(np.float64) + 1j * im)
    return found.real, found.imag


def lcs(first: Ints, second: Ints) -> int:
    """The length of the longest common subsequence of symbols, of which there are four."""
    row = [0] * (len(second) + 1)
    for a in first % 4:
        diagonal, row = row, [0]
        for j, b in enumerate(second % 4):
            row.append(diagonal[j] + 1 if a == b else max(diagonal[j + 1], row[j]))
    return row[-1]


def knapsack(weights: Ints, worths: Ints, capacity: int) -> int:
    """The greatest worth of things, none of them taken twice, by all total weights."""
    best = {0: 0}
    for weight, worth in zip(weights % 1000 + 1, worths % 1000, strict=True):
        for total, value in list(best.items()):
            if total + weight <= capacity:
                best[total + weight] = max(best.get(total + weight, 0), value + worth)
    return max(best.values())


def _rows(start: Ints, length: Ints) -> list[slice]:
    """The places of rows."""
    return [slice(o, o + n) for o, n in zip(start, length, strict=True)]


def csr(start: Ints, length: Ints, columns: Ints, values: Floats, v: Floats) -> Floats:
    """A sparse matrix times a vector."""
    products = values.astype(np.float64) * v[columns]
    return np.array([products[row].sum() for row in _rows(start, length)])


def words(text: Ints) -> NDArray[np.bool_]:
    """For each word of a text: it reads the same backwards."""
    return np.array([word == word[::-1] for word in bytes(text).split()], bool)


def triangle(packed: Floats, v: Floats) -> Floats:
    """A packed lower triangular matrix times a vector."""
    matrix = np.zeros((len(v), len(v)))
    matrix[np.tril_indices(len(v))] = packed
    return matrix @ v


def cells(side: int, counts: Ints, xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
    """Forces between all pairs of bodies; those that are not near exert none."""
    dx, dy = (each[:, None] - each for each in (xs.astype(np.float64), ys.astype(np.float64)))
    r2 = dx ** 2 + dy ** 2
    force = np.where(r2 < 1, (1 - r2) ** 2, 0)
    return (force * dx).sum(axis=1), (force * dy).sum(axis=1)


def bfs(start: Ints, length: Ints, near: Ints, source: int) -> Ints:
    """The distances of vertices from one, with a queue."""
    rows, depth, queue = _rows(start, length), np.full(len(start), -1), [source]
    depth[source] = 0
    for vertex in queue:
        for other in near[rows[vertex]]:
            if depth[other] < 0:
                depth[other] = depth[vertex] + 1
                queue.append(other)
    return depth


def sieve(n: int) -> Ints:
    """The primes up to a number, by division."""
    return np.array([p for p in range(2, n + 1)
                     if all(p % d for d in range(2, int(p ** 0.5) + 1))], np.int64)


quicksort = np.sort


def quickhull(xs: Floats, ys: Floats) -> Ints:
    """The corners of the convex hull clockwise, from the leftmost one (Andrew 1979)."""
    def turns(a: int, b: int, c: int) -> bool:
        return bool((xs[b] - xs[a]) * (ys[c] - ys[a]) < (ys[b] - ys[a]) * (xs[c] - xs[a]))

    hull: list[int] = []
    order = np.lexsort((ys, xs)).tolist()
    for way in (order, order[::-1]):
        chain: list[int] = []
        for point in way:
            while len(chain) > 1 and not turns(chain[-2], chain[-1], point):
                chain.pop()
            chain.append(point)
        hull += chain[:-1]
    return np.array(hull)


def integral(a: float, b: float, tolerance: float) -> tuple[float, int]:
    """A closed form, and the number of intervals by recursion."""
    def f(x: float) -> float:
        return 1e6 / (1 + 1e6 * x * x)

    def simpson(low: float, high: float) -> float:
        return (high - low) / 6 * (f(low) + 4 * f((low + high) / 2) + f(high))

    def count(low: float, high: float, limit: float) -> int:
        middle = (low + high) / 2
        error = simpson(low, middle) + simpson(middle, high) - simpson(low, high)
        return 1 if abs(error) / 15 <= limit else (
            count(low, middle, limit / 2) + count(middle, high, limit / 2))

    return 1000 * float(np.arctan(1000 * b) - np.arctan(1000 * a)), count(a, b, tolerance)


def with_gradient(f: Callable[..., Any], *args: Floats) -> tuple[Any, ...]:
    """The result of a function, and its central differences by each number of the arguments."""
    exact = [np.asarray(arg, np.float64) for arg in args]
    found = [f(*exact)]
    for number, arg in enumerate(exact):
        rows = []
        for place in np.ndindex(arg.shape):
            step = np.zeros_like(arg)
            step[place] = 1e-5
            high, low = (f(*exact[:number], each, *exact[number + 1:])
                         for each in (arg + step, arg - step))
            rows.append((high - low) / 2e-5)
        found.append(np.moveaxis(np.array(rows), 0, -1).reshape(*np.shape(found[0]), *arg.shape))
    return tuple(found)


def gmm(weights: Floats, means: Floats, logs: Floats, below: Floats, points: Floats
        ) -> tuple[Any, ...]:
    """The log likelihood of points, and its gradient by the parameters of the mixture."""
    size = means.shape[1]

    def likelihood(weights: Floats, means: Floats, logs: Floats, below: Floats) -> Any:
        densities = 0.0
        for weight, mean, diagonal, packed in zip(
                np.exp(weights) / np.exp(weights).sum(), means, logs, below, strict=True):
            factor = np.diag(np.exp(diagonal))
            factor[np.tril_indices(size, -1)] = packed
            away = (points - mean) @ factor.T
            densities = densities + weight * np.linalg.det(factor) * np.exp(
                -(away ** 2).sum(1) / 2) / (2 * np.pi) ** (size / 2)
        return np.log(densities).sum()
    return with_gradient(likelihood, weights, means, logs, below)


def bundle(cameras: Floats, points: Floats, weights: Floats, camera: Ints, point: Ints,
           seen: Floats) -> tuple[Any, ...]:
    """Errors of observations, and their Jacobian by camera, point and weight."""
    def error(seen: Floats, camera: Floats, point: Floats, weight: Floats) -> Any:
        x, y, z = camera[:3]
        turn = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        angle = np.sqrt(x * x + y * y + z * z)
        matrix = (np.eye(3) + np.sin(angle) / angle * turn
                  + (1 - np.cos(angle)) / angle ** 2 * turn @ turn)
        turned = matrix @ (point - camera[3:6])
        place = turned[:2] / turned[2]
        square = place @ place
        bent = place * (1 + camera[9] * square + camera[10] * square ** 2)
        return weight * (camera[6] * bent + camera[7:9] - seen)
    rows = [with_gradient(functools.partial(error, seen[n]), cameras[camera[n] % len(cameras)],
                          points[point[n] % len(points)], weights[n]) for n in range(len(seen))]
    return tuple(map(np.array, zip(*rows, strict=True)))


def lstm(inputs: Floats, wanted: Floats, wx: Floats, wh: Floats, bias: Floats) -> tuple[Any, ...]:
    """The mean square error after a sequence, and its gradient by the weights."""
    def loss(wx: Floats, wh: Floats, bias: Floats) -> Any:
        hidden = cell = np.zeros(wanted.shape)
        for now in inputs:
            forget, enter, leave, new = (now @ wx[k].T + hidden @ wh[k].T + bias[k]
                                         for k in range(4))
            cell = cell / (1 + np.exp(-forget)) + np.tanh(new) / (1 + np.exp(-enter))
            hidden = np.tanh(cell) / (1 + np.exp(-leave))
        return ((hidden - wanted) ** 2).mean()
    return with_gradient(loss, wx, wh, bias)


def newton(k: int, steps: int, points: Floats) -> tuple[Any, Floats]:
    """The cost and the centres after steps of Lloyd's iteration."""
    exact = points.astype(np.float64)
    centres = exact[:k].copy()
    for _ in range(steps):
        nearest = ((exact[:, None] - centres) ** 2).sum(2).argmin(1)
        for each in set(nearest.tolist()):
            centres[each] = exact[nearest == each].mean(0)
    return ((exact[:, None] - centres) ** 2).sum(2).min(1).sum(), centres


def heat(steps: int, seen: Floats, conductivity: Floats, start: Floats) -> tuple[Any, ...]:
    """The misfit after steps, and its gradient, by the adjoint equation written by hand."""
    size = len(start)
    slope = np.diff(np.eye(size), axis=0)  # differences of neighbours
    step = np.eye(size) - 0.4 * slope.T @ np.diag(conductivity[:-1]) @ slope
    states = [start]
    for _ in range(steps):
        states.append(step @ states[-1])
    by_state = 2 * (states[-1] - seen)
    misfit = by_state @ by_state / 4
    by_conductivity = np.zeros(size)
    for state in states[-2::-1]:
        by_conductivity[:-1] -= 0.4 * (slope @ by_state) * (slope @ state)
        by_state = step.T @ by_state
    return misfit, by_conductivity, by_state


def network(w: Floats, b: Floats, v: Floats, a: Floats, points: Floats, classes: Ints
            ) -> tuple[Any, ...]:
    """The cross entropy of a network of two layers, and its gradient by hand."""
    count = len(points)
    hidden = np.tanh(points @ w.T.astype(np.float64) + b)
    chances = np.exp(hidden @ v.T + a)
    chances /= chances.sum(1, keepdims=True)
    own = np.arange(count), classes % len(a)
    by_scores = chances.copy()
    by_scores[own] -= 1
    by_scores /= count
    by_hidden = by_scores @ v * (1 - hidden ** 2)
    return (-np.log(chances[own]).mean(), by_hidden.T @ points, by_hidden.sum(0),
            by_scores.T @ hidden, by_scores.sum(0))
