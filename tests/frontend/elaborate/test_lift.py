"""The module ``lift``: its functions against NumPy, on the device and by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.syntax import Pad, Slide
from runelift.ir.traverse import statements_inside
from runelift.runtime.compilation.pipeline import compile_source

XS = np.arange(1, 12, dtype=np.int32)
XSS = np.arange(35, dtype=np.int32).reshape(5, 7) ** 2 % 41
CUBE = np.arange(60, dtype=np.int32).reshape(3, 4, 5)


def windows(array: Any, size: int, step: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(array, size, 0)[::step].swapaxes(1, -1)


def windows2d(array: Any, *steps: int) -> Any:
    found = np.lib.stride_tricks.sliding_window_view(array, (steps[0], steps[2]))
    return found[::steps[1], ::steps[3]]


CASES: dict[str, tuple[str, Any, Any]] = {
    "slide": ("lift.slide 3 2", XS, windows(XS, 3, 2)),
    "windows apart": ("lift.slide 2 4", XS, windows(XS, 2, 4)),
    "one window": ("lift.slide 11 1", XS, windows(XS, 11, 1)),
    "no window": ("lift.slide 12 1", XS, np.empty((0, 12), np.int32)),
    "rows": ("lift.slide 2 1", XSS, windows(XSS, 2, 1)),
    "of each row": ("map (lift.slide 2 2)", XSS, np.stack([windows(row, 2, 2) for row in XSS])),
    "pad": ("lift.pad 2 3 (-1)", XS, np.pad(XS, (2, 3), constant_values=-1)),
    "shortened": ("lift.pad (-2) (-3) 0", XS, XS[2:-3]),
    "shifted": ("lift.pad 4 (-4) 9", XS, np.pad(XS[:-4], (4, 0), constant_values=9)),
    "only margin": ("lift.pad 13 (-12) 9", XS, np.full(12, 9, np.int32)),
    "pad rows": ("lift.pad 1 0 (replicate 7 8)", XSS,
                 np.pad(XSS, ((1, 0), (0, 0)), constant_values=8)),
    "slide2d": ("lift.slide2d 3 1 2 3", XSS, windows2d(XSS, 3, 1, 2, 3)),
    "pad2d": ("lift.pad2d 1 2 0 3 5", XSS, np.pad(XSS, ((1, 2), (0, 3)), constant_values=5)),
    "split": ("lift.split 5", XSS[:, :5].flatten()[:25], XSS[:, :5].flatten()[:25].reshape(5, 5)),
    "split_nd_2": ("lift.split_nd_2 2 5", CUBE.flatten(), CUBE.reshape(6, 2, 5)),
    "split_nd_3": ("lift.split_nd_3 2 3 5", CUBE.flatten(), CUBE.reshape(2, 2, 3, 5)),
    "join": ("lift.join", XSS, XSS.flatten()),
    "join_nd_2": ("lift.join_nd_2", CUBE, CUBE.flatten()),
    "transposed": ("lift.transpose_nd_201", CUBE, CUBE.transpose(2, 0, 1)),
    "windows of a padded matrix": (
        "lift.pad2d 1 1 1 1 3 >-> lift.slide2d 3 2 3 1 >-> map (map (map i32.sum))", XSS,
        windows2d(np.pad(XSS, 1, constant_values=3), 3, 2, 3, 1).sum(-1)),
    "padded windows": ("lift.slide 3 1 >-> map (lift.pad 1 1 0) >-> map i32.maximum", XS,
                       np.maximum(windows(XS, 3, 1).max(-1), 0)),
    "tiles": ("lift.slide 4 1 >-> (\\ws -> lift.split 4 (ws :> [8][4]i32)) >-> "
              "map (map i32.sum)", XS, windows(XS, 4, 1).sum(-1).reshape(2, 4)),
    "windows of what is computed": ("map (* 3) >-> lift.slide 2 1 >-> map i32.product", XS,
                                    9 * windows(XS, 2, 1).prod(-1)),
    "of pairs": ("(\\xs -> map (\\(a, b) -> a[0] * b[1]) (zip (lift.slide 2 1 xs) "
                 "(lift.slide 2 1 (reverse xs))))", XS, XS[:-1] * XS[::-1][1:]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_functions_agree_with_numpy(name: str, device: str) -> None:
    function, array, expected = CASES[name]
    text = f"entry main (xs: {'[]' * array.ndim}i32) = ({function}) xs"
    if array.ndim == 2:
        text = f"entry main [n] (xs: [n][{array.shape[1]}]i32) = ({function}) xs"
    found = runelift.compile(text, device=device).main(array)
    np.testing.assert_array_equal(np.asarray(found), expected.astype(np.int32))


@pytest.mark.parametrize("text", [
    "(xs: [n + 2]i32): [n][3]i32 = lift.slide 3 1 xs",
    "(xs: [2 * n]i32): [n][2]i32 = lift.slide 2 2 xs",
    "(xs: [3 * n + 2]i32): [n + 1][2]i32 = lift.slide 2 3 xs",
    "(xs: [4 * n]i32): [n][4]i32 = lift.split 4 xs",
    "(xs: [n]i32): [n + 3]i32 = lift.pad 1 2 0 xs",
])
def test_sizes_are_known(text: str) -> None:
    runelift.compile(f"def f [n] {text}\nentry main = 1i32", device="interpreter")


def test_windows_of_tuples() -> None:
    text = "entry main [n] (xs: [n]i32) = map (\\w -> w[0].0 - w[1].1) " \
           "(lift.slide 2 1 (lift.pad 1 1 (7, 8) (zip xs (map (* 2) xs))))"
    found = np.asarray(runelift.compile(text, device="pocl").main(XS))
    first, second = np.r_[7, XS, 7], np.r_[8, 2 * XS, 8]
    np.testing.assert_array_equal(found, first[:-1] - second[1:])


@pytest.mark.parametrize(("body", "said"), [
    ("lift.slide n 1 xs", "Windows of 0 elements"),
    ("lift.slide 3 n xs", "error[invalid-windows]: Windows of 3 elements, each 0 behind"),
    ("lift.slide 14 (n + 1) xs", "each 1 behind the last, do not fit an array of 11"),
    ("lift.pad (n - 12) 0 0 xs", "The size -1 is negative"),
    ("lift.split (n + 4) xs", "Value of shape [11] cannot match shape [8]"),
])
@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_impossible_windows_are_failures(body: str, said: str, device: str) -> None:
    program = runelift.compile(f"entry main (n: i64) (xs: []i32) = {body}", device=device)
    with pytest.raises(ProgramFailure) as failure:
        np.asarray(program.main(0, XS))
    assert said in str(failure.value)
    assert ":1:" in str(failure.value)


def test_windows_are_never_stored() -> None:
    text = """entry main [h][w] (xss: [h][w]f32): [h][w]f32 =
        let sums = map (map (\\win -> f32.sum (flatten win)))
        in sums (lift.slide2d 3 1 3 1 (lift.pad2d 1 1 1 1 0 xss)) :> [h][w]f32"""
    (fun,) = compile_source(Source("t", text)).optimised.funs
    assert not any(isinstance(stm.exp, Slide) for stm in statements_inside([fun.body]))
    assert sum(isinstance(stm.exp, Pad) for stm in statements_inside([fun.body])) == 2
