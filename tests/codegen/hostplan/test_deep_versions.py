"""Versions that stand in each other deeper than Python allows."""

from __future__ import annotations

import numpy as np

import runelift

DEPTH = 11


def nest(depth: int, name: str) -> str:
    """Maps in each other around a scan."""
    if not depth:
        return f"(let t = scan (+) 0 {name} in map (* t[0]) t)"
    return f"map (\\x{depth} -> {nest(depth - 1, f'x{depth}')}) {name}"


def test_the_deepest_versions_are_left_out() -> None:
    shape = "".join(f"[n{k}]" for k in range(DEPTH))
    program = runelift.compile(
        f"entry main {shape} (xs: {shape}i32): {shape}i32 = {nest(DEPTH - 1, 'xs')}", tuning={})
    xs = np.random.default_rng(1).integers(1, 9, (1,) * (DEPTH - 3) + (2, 3, 4)).astype(np.int32)
    wanted = np.cumsum(xs, axis=-1, dtype=np.int32) * xs[..., :1]
    np.testing.assert_array_equal(program.main(xs), wanted)
