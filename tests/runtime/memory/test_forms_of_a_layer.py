"""One text of a convolution, two schedules: the example of a network's layers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.guards import Kind
from runelift.runtime.data.outline import outline
from runelift.runtime.programs.program import Program
from tests.numpy_references import vgg

EXAMPLES = Path(__file__).parents[3] / "examples"
PRODUCT, DIRECT = range(2)


@pytest.fixture(scope="module")
def program() -> Program:
    """The layer as a product with stored windows, or as it is written."""
    return runelift.compile(EXAMPLES / "vgg.fut", device="pocl", tuning={},
                            schedule=EXAMPLES / "vgg.schedule")


def arguments(channels: int, side: int, filters: int) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.random((channels, side, side), np.float32),
            rng.random((filters, channels, 3, 3), np.float32)]


def bytes_of(program: Program, args: list[Any]) -> list[int]:
    """The device memory of both forms."""
    found = program.estimate_memory("main", args)
    site = program.tree.entry("main").trees[0].name
    needs = [found.need_of(site, form) for form in (PRODUCT, DIRECT)]
    return [need.bytes for need in needs if need is not None and need.bytes is not None]


def test_there_are_two_forms(program: Program) -> None:
    tree = program.tree.entry("main").trees[0]
    assert [each.kind for each in tree.alternatives] == [Kind.REWRITTEN, Kind.ORIGINAL]


@pytest.mark.parametrize("layer", [(64, 224, 64), (128, 112, 128)], ids=["layer 2", "layer 7"])
def test_the_direct_form_stores_no_matrix_of_windows(program: Program,
                                                     layer: tuple[int, int, int]) -> None:
    channels, side, filters = layer
    empty = outline([np.broadcast_to(np.float32(0), shape) for shape in (
        (channels, side, side), (filters, channels, 3, 3))])
    product, direct = bytes_of(program, empty)
    windows = 4 * 9 * channels * side * side
    sizes = 4 * math.prod((channels, side, side)), 4 * 9 * filters * channels
    assert product >= sum(sizes) + windows
    assert direct < product - 0.8 * windows


def test_a_bound_on_memory_chooses_the_form(program: Program) -> None:
    args = arguments(6, 21, 5)
    tree = program.tree.entry("main").trees[0]
    product, direct = bytes_of(program, args)
    assert direct < product
    wants_product = {guard.name: 1 for guard in tree.guards}
    for bound, form in ((product, PRODUCT), (product - 1, DIRECT)):
        program.memory = bound
        results, record = program.run("main", args, thresholds=wants_product, record=True)
        assert record is not None
        assert next(each.chosen for each in record.encounters if each.site == tree.name) == form
        np.testing.assert_allclose(results[0], vgg(*args), rtol=1e-4)
