"""Kernels that are alike are one function of a program."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.emit.signatures import function_names, shared_functions
from runelift.codegen.plan.plan import kernels
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.execution.sources import program_text

UPDATES = "entry main (x: i32) = ([x, 2]" + " with [1] = 1" * 6 + " with [0] = 9)[1]"
APART = "entry main (a: *[4]i32) (k: i64) = (a with [k] = 1) with [k] = 2"


def text_of(program: str) -> tuple[str, int]:
    """The text of all kernels of a program, and their number."""
    plan = compile_source(Source("p.fut", program)).plan("main")
    found = list({each.name: each for each in kernels(plan.steps)}.values())
    return program_text(found, {}, functions=function_names(k.name for k in found)), len(found)


def test_equal_kernels_are_one_function() -> None:
    text, count = text_of(UPDATES)
    shared = shared_functions(text)
    assert len(shared) >= 5
    assert text.count("__kernel void") == count - len(shared)
    assert all(f"__kernel void {name}(" in text for name in shared.values())
    assert not any(f"__kernel void {name}(" in text for name in shared)


def test_kernels_that_differ_in_a_constant_stay_apart() -> None:
    text, count = text_of("entry main (x: i32) = (map (+ 1) [x, x], map (+ 2) [x, x, x])")
    assert count > 1
    assert text.count("__kernel void") + len(shared_functions(text)) == count
    assert "+ 1)" in text
    assert "+ 2)" in text


@pytest.mark.parametrize("device", ["pocl", "interpreter"])
def test_results(device: str) -> None:
    assert runelift.compile(UPDATES, device=device).main(7) == 1
    found = runelift.compile(APART, device=device).main(np.arange(4, dtype=np.int32), 2)
    assert list(np.asarray(found)) == [0, 1, 2, 3]
