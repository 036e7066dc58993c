"""Rounding: quotients and roots are exact; products and sums contract only when asked to."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.emit.prelude import linked
from runelift.runtime.devices.info import EXACT, DeviceInfo, DeviceKind, find_devices

PROGRAM = "entry main (xs: []f32) (ys: []f32): []f32 = map2 (\\x y -> x * x - y) xs ys"


def test_products_and_sums_are_rounded_apart() -> None:
    """x * x has a rounding error here, which a fused operation would show."""
    x = np.float32(1 + 2**-12)
    square = np.float32(x * x)
    assert np.float64(x) ** 2 != square
    program = runelift.compile(PROGRAM, device="Portable")
    assert program.main(np.full(64, x), np.full(64, square)).tolist() == [0.0] * 64


def test_contraction_is_an_option_of_the_build() -> None:
    program = runelift.compile(PROGRAM, device="Portable", fp_contract=True)
    xs = np.arange(9, dtype=np.float32)
    assert program.main(xs, xs) == pytest.approx(xs * xs - xs)
    assert "-DCONTRACT" in program.loaded.executable("main").kernels.options
    assert "#ifndef CONTRACT\n#pragma OPENCL FP_CONTRACT OFF" in linked("")


EXACT_DEVICES = [d for d in find_devices() if d.problem is None and EXACT in d.build_options]


@pytest.mark.parametrize("device", EXACT_DEVICES, ids=lambda device: device.label)
def test_quotients_and_roots_of_f32_are_exact(device: DeviceInfo) -> None:
    rng = np.random.default_rng(5)
    xs, ys = (rng.lognormal(0, 9, 20_000).astype(np.float32) for _ in range(2))
    program = runelift.compile("""
        entry main [n] (xs: [n]f32) (ys: [n]f32): ([n]f32, [n]f32) =
          (map2 (/) xs ys, map f32.sqrt xs)""", device=device.name)
    quotients, roots = program.main(xs, ys)
    with np.errstate(over="ignore", under="ignore"):
        assert quotients.tolist() == (xs / ys).tolist()
    assert roots.tolist() == np.sqrt(xs).tolist()


def test_a_device_of_the_processor_has_exact_quotients() -> None:
    assert any(device.kind is DeviceKind.CPU for device in EXACT_DEVICES)
