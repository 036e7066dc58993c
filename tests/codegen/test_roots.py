"""Quotients by roots: where they are made together, and that the quick way is as right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.codegen.opencl import prelude
from runelift.runtime.device import DeviceInfo, select
from runelift.runtime.program import Program
from runelift.runtime.tuner.forest import plans

POTENTIAL = """
entry main [n][m] (points: [n]f32) (places: [m]f32) (charges: [m]f32): [n]f32 =
  map (\\x -> f32.sum (map2 (\\y q -> q / f32.sqrt ((x - y) * (x - y))) places charges)) points
"""
EDGES = np.array([0, -0.0, 1, -1, 1.5, 3e38, -3e38, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 1.2e-38,
                  1e-30, 1e30, 2.0**-80, 2.0**74, 2.0**80, 2.0**-101], np.float32)


@pytest.fixture
def pocl() -> DeviceInfo:
    """PoCL's device, as if it gained by making roots and quotients together."""
    info = select("pocl")
    assert info is not None
    return replace(info, build_options=(*info.build_options, "-DQUICK_ROOTS"))


def test_quick_quotients_are_rounded_correctly(pocl: DeviceInfo) -> None:
    rng = np.random.default_rng(5)
    xs, ys = (np.concatenate([rng.integers(0, 1 << 32, 400_000, np.uint32).view(np.float32), (
        1 + rng.random(400_000)).astype(np.float32), rng.integers(1, 99, 9999).astype(np.float32)])
        for _ in range(2))
    edges = [a.reshape(-1) for a in np.meshgrid(EDGES, EDGES)]
    xs, ys = np.concatenate([xs, edges[0]]), np.concatenate([ys, edges[1]])
    context = cl.Context([pocl.handle])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, prelude() + """
        __kernel void quotients(const __global float *x, const __global float *y, __global float *z,
                                __global int *easy) {
            size_t i = get_global_id(0);
            z[i] = div_sqrt_f32(x[i], y[i]);
            easy[i] = div_sqrt_easy_f32(x[i], y[i]); }""").build(list(pocl.build_options))
    found, easy = np.empty_like(xs), np.empty(len(xs), np.int32)
    flags = cl.mem_flags
    inputs = [cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=a) for a in (xs, ys)]
    outputs = [cl.Buffer(context, flags.READ_WRITE, a.nbytes) for a in (found, easy)]
    program.quotients(queue, xs.shape, None, *inputs, *outputs)
    for array, buffer in zip((found, easy), outputs, strict=True):
        cl.enqueue_copy(queue, array, buffer)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, xs / np.sqrt(ys))
    np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(xs[found == 0]))
    assert 400_000 < easy.sum() < len(easy)


@pytest.mark.parametrize("quick", [False, True])
def test_work_items_with_several_points_check_all_of_them(pocl: DeviceInfo, quick: bool) -> None:
    program = runelift.compile(POTENTIAL, device="pocl", tuning={})
    if quick:
        program.device_info = pocl
    rng = np.random.default_rng(6)
    points = np.concatenate([rng.random(40), [0.5, 0, 1e-30, 2e38]]).astype(np.float32)
    places = np.concatenate([rng.random(11), [0.5, 3e38]]).astype(np.float32)
    charges = rng.random(13).astype(np.float32)
    charges[3] = 0
    expected, _ = runelift.compile(POTENTIAL, device="interpreter").run(
        "main", [points, places, charges])
    settings = several(program)
    actual, _ = program.run("main", [points, places, charges], thresholds=settings,
                            force=plans(program.tree.entry("main"))[0])
    assert "div_sqrt_near" in program.source("imp")
    np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))
    assert np.isinf(np.asarray(actual[0])).any()


def several(program: Program) -> dict[str, int]:
    """Four points for each work-item."""
    return {f"{space.operation.name}.{quantity}": value for space in program.spaces("main")
            for quantity, value in (("points", 4), ("steps", 2), ("split", 1), ("group", 8))}


@pytest.mark.parametrize(("text", "joined"), [
    ("entry main (xs: []f32) = map (\\x -> 2 / f32.sqrt x) xs", True),
    ("entry main (xs: []f64) = map (\\x -> 2 / f64.sqrt x) xs", False),
    ("entry main [n] (xs: [n]f32) (ys: [n]f32) = "
     "map (\\x -> let r = f32.sqrt x in loop s = 0 for y in ys do s + y / r) xs", False),
    ("entry main (xs: []f32) = map (\\x -> "
     "(loop r = f32.sqrt x for i < 3 do 1 / (r + 1))) xs", False)])
def test_roots_that_are_needed_at_once(text: str, joined: bool) -> None:
    program = runelift.compile(text, device="pocl", tuning={})
    assert ("div_sqrt.f32" in program.source("imp")) == joined
    inputs = [np.array([1, 4, 0, 2], np.float64 if "f64" in text else np.float32)]
    inputs += [np.arange(4, dtype=np.float32)] if "ys" in text else []
    expected, _ = runelift.compile(text, device="interpreter").run("main", inputs)
    actual, _ = program.run("main", inputs)
    np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))
