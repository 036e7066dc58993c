"""Quotients by roots: where they are made together, and that the quick way is as right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.codegen.emit.prelude import linked
from runelift.runtime.devices.info import DeviceInfo, select
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans

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


@pytest.mark.parametrize("off", [-2, -1, 0, 1, 2])
def test_quick_quotients_are_rounded_correctly(pocl: DeviceInfo, off: int) -> None:
    """Whatever approximation of 1 / sqrt(y) a device has: it is off by so many units at most."""
    rng = np.random.default_rng(5)
    xs, ys = (np.concatenate([rng.integers(0, 1 << 32, 200_000, np.uint32).view(np.float32), (
        1 + rng.random(200_000)).astype(np.float32), rng.integers(1, 99, 9999).astype(np.float32)])
        for _ in range(2))
    ones = np.nextafter(np.float32(4), np.float32(0)) * np.float32(4.0) ** np.arange(-40, 30)
    edges = [a.reshape(-1) for a in np.meshgrid(EDGES, EDGES)]
    extremes = [a.reshape(-1).astype(np.float32) for a in np.meshgrid(2.0 ** np.arange(-9, 9), [
        *ones, *np.nextafter(ones.astype(np.float32), np.float32(0))])]
    xs, ys = (np.concatenate(each) for each in zip((xs, ys), edges, extremes, strict=True))
    context = cl.Context([pocl.handle])
    queue = cl.CommandQueue(context)
    near = f"as_float(as_uint((float)(1 / sqrt((double)x))) + {off})"
    text = linked("""
        __kernel void quotients(const __global float *x, const __global float *y, __global float *z,
                                __global int *easy) {
            size_t i = get_global_id(0);
            easy[i] = div_sqrt_easy_f32(x[i], y[i]);
            z[i] = div_sqrt_near_f32(x[i], y[i]); }""")
    assert "return rsqrt(x);" in text
    program = cl.Program(context, text.replace("return rsqrt(x);", f"return {near};")
                         ).build(list(pocl.build_options))
    found, easy = np.empty_like(xs), np.empty(len(xs), np.int32)
    flags = cl.mem_flags
    inputs = [cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=a) for a in (xs, ys)]
    outputs = [cl.Buffer(context, flags.READ_WRITE, a.nbytes) for a in (found, easy)]
    program.quotients(queue, xs.shape, None, *inputs, *outputs)
    for array, buffer in zip((found, easy), outputs, strict=True):
        cl.enqueue_copy(queue, array, buffer)
    sure = easy != 0
    assert 200_000 < sure.sum() < len(easy)
    assert not sure[ys <= 0].any()
    assert not sure[xs == 0].any()
    np.testing.assert_array_equal(found[sure], xs[sure] / np.sqrt(ys[sure]))


@pytest.mark.parametrize("quick", [False, True])
def test_work_items_with_several_points_check_all_of_them(pocl: DeviceInfo, quick: bool) -> None:
    program = runelift.compile(POTENTIAL, device="pocl", tuning={})
    if quick:
        program.loaded.info = pocl
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


@pytest.mark.parametrize(("value", "joined"), [
    ("y / f32.sqrt (x + y)", True), ("(loop r = f32.sqrt (x + y) for i < 3 do y / (r + 1))", False),
    ("(let r = f32.sqrt (x + y) in loop s = 0 for i < 3 do s + f32.i32 i / r)", False),
    ("f32.f64 (f64.f32 y / f64.sqrt (f64.f32 (x + y)))", False)])
def test_roots_that_are_needed_at_once(value: str, joined: bool) -> None:
    text = f"""
        entry main [n][m] (xs: [n]f32) (ys: [m]f32): [n]f32 =
          map (\\x -> f32.sum (map (\\y -> {value}) ys)) xs"""
    program = runelift.compile(text, device="pocl", tuning={})
    assert ("div_sqrt_near.f32" in program.source("imp")) == joined
    inputs = [np.array([1, 4, 0, 2], np.float32), np.arange(9, dtype=np.float32)]
    expected, _ = runelift.compile(text, device="interpreter").run("main", inputs)
    actual, _ = program.run("main", inputs, thresholds=several(program),
                            force=plans(program.tree.entry("main"))[0])
    np.testing.assert_array_equal(np.asarray(actual[0]), np.asarray(expected[0]))
