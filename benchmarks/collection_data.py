"""Inputs for programs of the public benchmark collection whose files are not in its tree.

Each generator makes values of the types, sizes and properties that its program asks for.  They are
of our own making: results differ from the results with the collection's files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

Values: TypeAlias = list[Any]
Recipe: TypeAlias = Callable[[np.random.Generator], Values]

FOLDERS_OF_DATA = ("data", "valid-data")
SUFFIXES = (".gz", ".in", ".toa", ".dataset")


def recipe_for(file: Path) -> Recipe | None:
    """The generator of a missing input file, None if there is none."""
    folder = file.parent
    if folder.name in FOLDERS_OF_DATA:
        folder = folder.parent
    name = file.name
    while name.endswith(SUFFIXES):
        name = name.rpartition(".")[0]
    return RECIPES.get(f"{folder.name}/{name}")


def values_for(file: Path) -> Values | None:
    """The values that stand for a missing input file: equal values each time."""
    recipe = recipe_for(file)
    return None if recipe is None else recipe(np.random.default_rng(list(file.name.encode())))


def _uniform(rng: np.random.Generator, *shape: int, low: float = 0.0, high: float = 1.0,
             dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return rng.uniform(low, high, shape).astype(dtype)


def _cut_image(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """Smooth gradients, some edges and noise, from 0 to 255."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    smooth = 90 + 60 * np.sin(rows / 23) + 40 * np.cos(columns / 31)
    bright = ((rows // 40 + columns // 56) % 3 == 0) * 50
    found: np.ndarray[Any, Any] = np.clip(smooth + bright + rng.normal(0, 6, shape[:2]), 0, 255)
    return found


def _graph(nodes: int, degrees: Callable[[np.random.Generator], np.ndarray[Any, Any]]) -> Recipe:
    """A connected directed graph: the first and the number of edges by node, and their ends."""
    def make(rng: np.random.Generator) -> Values:
        counts = np.maximum(degrees(rng).astype(np.int32), 1)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
        ends = rng.integers(0, nodes, int(counts.sum()), dtype=np.int32)
        order = rng.permutation(nodes).astype(np.int32)
        ends[starts[order]] = np.roll(order, -1)  # a cycle through all nodes, unless shorter
        trees = rng.integers(0, np.maximum(np.arange(1, nodes), 1), dtype=np.int32)
        wide = np.flatnonzero(counts[trees] > 1)
        ends[starts[trees[wide]] + 1] = wide.astype(np.int32) + 1
        return [starts, counts, ends]
    return make


def _skewed(nodes: int, least: int, most: int) -> Callable[[np.random.Generator], Any]:
    """Numbers of edges: most nodes have few, and few have many."""
    return lambda rng: least + (most - least) * rng.random(nodes) ** 8


def _alignment(size: int) -> Recipe:
    """A penalty, a table with its first row and column filled, and scores of all pairs."""
    def make(rng: np.random.Generator) -> Values:
        table = np.zeros((size, size), np.int32)
        table[0] = table[:, 0] = -10 * np.arange(size)
        return [np.int32(10), table, rng.integers(-4, 12, (size, size), dtype=np.int32)]
    return make


def _dominant(size: int) -> Recipe:
    """A matrix whose diagonal dominates, so that elimination needs no pivots."""
    def make(rng: np.random.Generator) -> Values:
        matrix = _uniform(rng, size, size, low=-1)
        matrix[np.diag_indices(size)] += size
        return [matrix]
    return make


def _heat(size: int) -> Recipe:
    return lambda rng: [np.int32(360), _uniform(rng, size, size, low=320, high=345),
                        _uniform(rng, size, size, high=0.01)]


def _flow(elements: int) -> Recipe:
    """Areas, neighbours and face normals of squares in rows; the borders are open."""
    def make(rng: np.random.Generator) -> Values:
        width = int(elements ** 0.5)
        index = np.arange(elements, dtype=np.int32)
        neighbours = np.stack([index - 1, index + 1, index - width, index + width])
        neighbours[0, index % width == 0] = -2
        neighbours[1, index % width == width - 1] = -2
        neighbours[(neighbours < 0) | (neighbours >= elements)] = -2
        side = 0.1
        normals = np.zeros((3, 4, elements), np.float32)
        normals[0, 0], normals[0, 1], normals[1, 2], normals[1, 3] = -side, side, -side, side
        return [np.full(elements, side * side, np.float32), neighbours, normals]
    return make


def _boxes(across: int) -> Recipe:
    """A cube of boxes with 100 particles each, and the neighbours of each box."""
    def make(rng: np.random.Generator) -> Values:
        boxes, particles, most = across ** 3, 100, 27
        z, y, x = np.unravel_index(np.arange(boxes), (across,) * 3)
        places = [np.zeros((most, boxes), np.int32) for _ in range(4)]
        counts = np.zeros(boxes, np.int32)
        steps = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
        for i, j, k in steps:
            near = np.array([x + k, y + j, z + i])
            inside = ((near >= 0) & (near < across)).all(axis=0) & bool(i or j or k)
            who = np.flatnonzero(inside)
            at = near[:, who]
            number = (at[2] * across + at[1]) * across + at[0]
            for place, value in zip(places, [*at, number], strict=True):
                place[counts[who], who] = value
            counts[who] += 1
        coordinates = [each.astype(np.int32) for each in (x, y, z, np.arange(boxes))]
        charges = [_uniform(rng, boxes, particles, low=0.1) for _ in range(5)]
        return [np.float32(0.5), *coordinates, *places, counts, *charges]
    return make


def _video(particles: int) -> Recipe:
    """Ten frames of a bright disk that moves over noise."""
    def make(rng: np.random.Generator) -> Values:
        rows, columns, frame = np.mgrid[:128, :128, :10]
        disk = (rows - 64 + 2 * frame) ** 2 + (columns - 64 - frame) ** 2 < 25
        noise = rng.normal(0, 5, disk.shape)
        return [np.clip(100 + 128 * disk + noise, 0, 255).astype(np.int32), np.int64(particles)]
    return make


def _sky(points: int) -> Recipe:
    """Right ascensions and declinations in degrees, of observed and of 100 random samples."""
    def make(rng: np.random.Generator) -> Values:
        def sample(*shape: int) -> Values:
            return [rng.uniform(0, 360, shape), np.degrees(np.arcsin(rng.uniform(-1, 1, shape)))]
        return [*sample(points), *sample(100, points)]
    return make


def _scan(samples: int, voxels: int) -> Recipe:
    return lambda rng: [*(_uniform(rng, samples, low=-0.5, high=0.5) for _ in range(3)),
                        *(_uniform(rng, voxels, low=-0.5, high=0.5) for _ in range(3)),
                        *(_uniform(rng, samples, low=-1) for _ in range(2))]


def _silicon(bins: tuple[int, int], *shape: int) -> Recipe:
    """The sizes of a histogram, and an image whose values gather around its middle."""
    def make(rng: np.random.Generator) -> Values:
        most = bins[0] * bins[1]
        image = rng.normal(most / 2, most / 25, shape)
        return [np.int32(bins[0]), np.int32(bins[1]),
                np.clip(image, 0, most - 1).astype(np.int32)]
    return make


def _layers(height: int, *shape: int) -> Recipe:
    return lambda rng: [np.int32(100), np.int32(height), _uniform(rng, *shape)]


def _product(rows: int, inner: int, columns: int) -> Recipe:
    return lambda rng: [_uniform(rng, rows, inner), _uniform(rng, inner, columns),
                        _uniform(rng, rows, columns), np.float32(1.25), np.float32(0.75)]


def _cavity(rng: np.random.Generator) -> Values:
    """A box of fluid at rest between walls; its lid moves.  20 numbers a cell, z outermost."""
    del rng
    side, height, padding = 120, 150, 4
    weights = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12, np.float32)
    cells = np.empty((20, height + padding, side, side), np.float32)
    cells[:19] = weights[:, None, None, None]
    flags = np.zeros(cells.shape[1:], np.float32)
    flags[:, [0, -1]] = flags[:, :, [0, -1]] = 1.0
    flags[:3], flags[-3:] = 1.0, 1.0
    flags[-5:-3, 1:-1, 1:-1] = 2.0
    cells[19] = flags
    return [cells.ravel()]


def _passwords(rng: np.random.Generator) -> Values:
    """Two million short words one after the other, and the MD5 digest of the eleventh."""
    count = 2_000_000
    lengths = rng.integers(6, 12, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
    letters = rng.integers(97, 123, int(lengths.sum())).astype(np.int8)
    word = letters[offsets[10] : offsets[11]].tobytes()
    digest = np.frombuffer(hashlib.md5(word, usedforsecurity=False).digest(), "<u4")
    return [*digest, letters, offsets]


def _clusters(points: int) -> Recipe:
    def make(rng: np.random.Generator) -> Values:
        centres = rng.uniform(0, 1, (5, 2))
        chosen = centres[rng.integers(0, 5, points)]
        return [np.int32(5), (chosen + rng.normal(0, 0.08, (points, 2))).astype(np.float32)]
    return make


def _bodies(count: int) -> Recipe:
    """One step of bodies at rest: positions, masses, velocities."""
    return lambda rng: [np.int32(1), np.float32(50), np.float32(0.1),
                        *(_uniform(rng, count, low=-500, high=500) for _ in range(3)),
                        _uniform(rng, count, low=1, high=50),
                        *(np.zeros(count, np.float32) for _ in range(3))]


def _picture(size: int) -> Recipe:
    """Thresholds and an image whose pixels have four bytes."""
    def make(rng: np.random.Generator) -> Values:
        grey = _cut_image(rng, size, size).astype(np.uint32)
        return [np.float32(50), np.float32(100),
                (grey << 24 | grey << 16 | grey << 8 | 255).astype(np.uint32).view(np.int32)]
    return make


def _spectrum(rows: int, columns: int) -> Recipe:
    """A cutoff and an image of three colours."""
    def make(rng: np.random.Generator) -> Values:
        colours = [_cut_image(rng, rows, columns) for _ in range(3)]
        return [np.int32(20), np.stack(colours, axis=-1).astype(np.uint8)]
    return make


def _seasons(rng: np.random.Generator, pixels: int, dates: int) -> np.ndarray[Any, Any]:
    """Yearly waves with noise, and a step late in half of the series."""
    when = np.arange(dates, dtype=np.float32)
    wave = 0.4 + 0.2 * np.sin(2 * np.pi * when / 12)
    found = wave + 0.05 * rng.standard_normal((pixels, dates), np.float32)
    found[::2, 3 * dates // 4 :] -= 0.2
    return found.astype(np.float32)


def _clear(pixels: int, dates: int, history: int) -> Recipe:
    return lambda rng: [np.int32(3), np.int32(history), np.float32(12), np.float32(0.25),
                        np.float32(1.736), _seasons(rng, pixels, dates)]


def _cloudy(pixels: int, dates: int, history: int) -> Recipe:
    """Like :func:`_clear`, but half of the observations are missing."""
    def make(rng: np.random.Generator) -> Values:
        images = _seasons(rng, pixels, dates)
        images[rng.random(images.shape, np.float32) < 0.5] = np.nan
        return [np.int32(1), np.int32(3), np.int32(history), np.float32(12), np.float32(0.25),
                np.float32(1.736), np.arange(1, dates + 1, dtype=np.int32), images]
    return make


def _quotes(count: int) -> Recipe:
    """Options on one day: their last days in order, strikes, and prices."""
    def make(rng: np.random.Generator) -> Values:
        days = np.array([20160219, 20160318, 20160415, 20160617, 20160916, 20161216, 20170120,
                         20170616, 20171215, 20181221], np.int32)
        when = np.sort(rng.integers(0, len(days), count))
        strikes = rng.uniform(0.7, 1.3, count)
        prices = np.maximum(1 - strikes, 0) + 0.02 + 0.03 * rng.random(count) * (1 + when / 5)
        return [np.int32(200), np.int32(20), np.int32(25), np.int32(20160115), days[when],
                strikes, prices]
    return make


def _places(rng: np.random.Generator) -> Values:
    count = 855280
    return [np.int32(100), np.float32(30), np.float32(90),
            _uniform(rng, count, high=90), _uniform(rng, count, high=360)]


RECIPES: dict[str, Recipe] = {
    **{f"nw/{name}": _alignment(size)
       for name, size in (("tiny", 65), ("small", 1025), ("medium", 2049), ("large", 3073))},
    **{f"lud/{size}": _dominant(size) for size in (16, 64, 256, 512, 2048)},
    **{f"hotspot/{size}": _heat(size) for size in (64, 512, 1024)},
    "nn/medium": _places,
    "cfd/fvcorr.domn.097K": _flow(97046),
    "cfd/fvcorr.domn.193K": _flow(193536),
    "lavaMD/3_boxes": _boxes(3),
    "lavaMD/10_boxes": _boxes(10),
    **{f"particlefilter/128_128_10_image_{count}_particles": _video(count)
       for count in (10000, 400000)},
    "srad/image": lambda rng: [_cut_image(rng, 502, 458).astype(np.uint8)],
    "bfs/4096nodes": _graph(4096, lambda rng: rng.integers(1, 12, 4096)),
    "bfs/512nodes_high_edge_variance": _graph(512, lambda rng: rng.integers(1, 480, 512)),
    "bfs/graph1MW_6": _graph(1_000_000, lambda rng: rng.integers(2, 11, 1_000_000)),
    "bfs/64kn_32e-var-1-256-skew": _graph(65536, _skewed(65536, 1, 256)),
    **{f"tpacf/{name}": _sky(points)
       for name, points in (("small", 487), ("medium", 4096), ("large", 10391))},
    "mri-q/small": _scan(3072, 32768),
    "mri-q/large": _scan(2048, 262144),
    "histo/default": _silicon((256, 4096), 1040, 996),
    "histo/large": _silicon((256, 8192), 4160, 3984),
    "stencil/small": _layers(32, 128, 128),
    "stencil/default": _layers(64, 512, 512),
    "sgemm/tiny": _product(16, 24, 32),
    "sgemm/small": _product(128, 96, 160),
    "sgemm/medium": _product(1024, 992, 1056),
    "lbm/120_120_150_ldc": _cavity,
    "hashcat/rockyou": _passwords,
    **{f"kmeans/k5_n{count}": _clusters(count) for count in (50000, 200000)},
    **{f"nbody/{count}-bodies": _bodies(count) for count in (100, 1000, 10000, 100000)},
    "canny/lena256": _picture(256),
    "canny/lena512": _picture(512),
    **{f"fft/{rows}x{columns}": _spectrum(rows, columns) for rows, columns in (
        (64, 256), (128, 128), (128, 512), (256, 256), (512, 512), (1024, 1024))},
    "bfast/sahara": _clear(67968, 414, 228),
    "bfast/sahara-cloudy": _cloudy(67968, 414, 228),
    "bfast/peru": _cloudy(111556, 235, 113),
    "bfast/africa": _cloudy(300000, 327, 160),
    **{f"heston/{count}_quotes": _quotes(count) for count in (1062, 10000, 100000)},
    "knn-by-kdtree/kdtree-ppl-32-m-2097152":
        lambda rng: [np.int32(32), _uniform(rng, 1 << 21, 7)],
}
