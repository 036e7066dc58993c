"""Arguments from sizes alone."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.codegen.plan.plan import Interface
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.outline import arguments_of_sizes, assigned

ENTRY = "entry main [n] (k: i8) (x: f32) (yes: bool) (xss: [n][3]f64): f64 = f64.sum xss[0]"


def interface() -> Interface:
    return compile_source(Source("main", ENTRY)).interfaces["main"]


def test_sizes_are_written_with_commas_or_apart() -> None:
    assert assigned(["n=3,k=4", "m=0"]) == {"n": 3, "k": 4, "m": 0}


@pytest.mark.parametrize("text", ["n", "n=-1", "=3", "n=x", "n=3,", "n=99999999999999999999"])
def test_texts_that_are_no_sizes(text: str) -> None:
    with pytest.raises(UserError, match="should be NAME=N"):
        assigned([text])


def test_arrays_have_the_sizes_and_no_elements() -> None:
    k, x, yes, xss = arguments_of_sizes(interface(), {"n": 1 << 40, "k": 5, "x": 2, "yes": 1})
    assert (k, x, yes) == (5, 2.0, True)
    assert (k.dtype, x.dtype, yes.dtype, xss.dtype) == (np.int8, np.float32, np.bool_, np.float64)
    assert xss.shape == (1 << 40, 3)
    assert xss.strides == (0, 0)


@pytest.mark.parametrize(("changed", "said"), [
    ({"n": -1}, "'n=-1' should be NAME=N: a number from 0."),
    ({"n": 1 << 60}, f"An array of shape [{1 << 60}][3] is too large: its size in bytes is above "
                     "2^63."),
    ({"k": 200}, "'k=200' does not fit in i8."),
    ({"m": 3}, "The sizes of 'main' are k, n, x, yes, and --sizes gives k, m, n, x, yes."
                 "  Write --sizes k=N n=N x=N yes=N.")])
def test_sizes_that_the_entry_point_cannot_have(changed: dict[str, int], said: str) -> None:
    with pytest.raises(UserError) as caught:
        arguments_of_sizes(interface(), {"n": 1, "k": 1, "x": 1, "yes": 1, **changed})
    assert str(caught.value) == said
