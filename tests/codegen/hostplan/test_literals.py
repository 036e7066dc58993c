"""Arrays of scalars that reductions make: elements in place, and those that need a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir.base.files import Source
from runelift.runtime.compilation.pipeline import compile_source
from tests.replays import results_agree

XS = np.arange(1000, dtype=np.int32) % 17
SUM, TOP = XS.sum(dtype=np.int32), XS.max()
SUMS = "let s = i32.sum xs let t = i32.maximum xs "

IN_PLACE: dict[str, tuple[str, list[Any]]] = {
    "two": (SUMS + "in [s, t]", [[SUM, TOP]]),
    "pair": ("let (s, t) = reduce (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, 0) (zip xs xs) "
             "in [t, s]", [[TOP, SUM]]),
    "two arrays": (SUMS + "in ([s], [t])", [[SUM], [TOP]]),
    "updated": (SUMS + "in ([s, t] with [0] = 5)", [[5, TOP]]),
    "in a loop": ("let f (ys: [n]i32) = let s = i32.sum ys let t = i32.maximum ys in [s, t] "
                  "in loop zs = [0, 0] for i < 3 do f (map (+ zs[1]) xs)",
                  [[(XS + 2 * TOP).sum(), 3 * TOP]]),
}
BY_A_KERNEL: dict[str, tuple[str, list[Any]]] = {
    "used twice": (SUMS + "in [s, s, t]", [[SUM, SUM, TOP]]),
    "used elsewhere": (SUMS + "in ([s, t], s)", [[SUM, TOP], SUM]),
    "constant": (SUMS + "in [s, 3, t]", [[SUM, 3, TOP]]),
    "computed": (SUMS + "in [s + 1, t]", [[SUM + 1, TOP]]),
    "read by a map": (SUMS + "in ([s, t], map (* t) xs)", [[SUM, TOP], XS * TOP]),
    "size": (SUMS + "let ys = replicate (i64.i32 t) 1i32 in ([s, t], ys)",
             [[SUM, TOP], np.ones(TOP)]),
}


def text(body: str) -> str:
    return f"entry main [n] (xs: [n]i32) = {body}"


def launches(body: str) -> set[str]:
    program = compile_source(Source("t", text(body)))
    return {kernel.kind for kernel in plan.kernels(program.plan("main").steps)}


@pytest.mark.parametrize("name", IN_PLACE)
def test_reductions_make_elements_in_place(name: str) -> None:
    found = launches(IN_PLACE[name][0])
    assert ("segscatter" in found) is (name in ("updated", "in a loop"))  # [0, 0]


@pytest.mark.parametrize("name", BY_A_KERNEL)
def test_other_elements_are_written_by_a_kernel(name: str) -> None:
    assert "segscatter" in launches(BY_A_KERNEL[name][0])


@pytest.mark.parametrize("name", [*IN_PLACE, *BY_A_KERNEL])
@pytest.mark.parametrize("compile_for", [
    pytest.param(runelift.compile, id="processor"),
    pytest.param(lambda text: runelift.compile(text, device="oclgrind"), id="oclgrind")])
def test_results(name: str, compile_for: Callable[[str], runelift.Program]) -> None:
    body, expected = {**IN_PLACE, **BY_A_KERNEL}[name]
    results_agree(compile_for(text(body)), "main", [XS], expected)
