"""Programs that fail while they run: the device says what the interpreter says, to the letter.

The message has the index and the shape, the place, and the calls through which the program came
there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.devices.info import find_devices

DEVICES = ["interpreter", *(d.name for d in find_devices() if not d.is_simulator)]
I64 = np.int64
ROW = np.arange(3, dtype=np.int32)
GRID = np.arange(6, dtype=np.int32).reshape(2, 3)

FAILING: list[tuple[str, list[Any], str]] = [
    ("def get [n] (xs: [n]i32) (i: i64): i32 = xs[i]\n"
     "def both [n] (xs: [n]i32) (i: i64): i32 =\n"
     "  get xs i + get xs (i + 1)\n"
     "entry main [n] (xs: [n]i32) (is: [n]i64) = map (both xs) is",
     [ROW, np.array([0, 1, 2])],
     "<source>:1:42: error[index-out-of-bounds]: Index [3] out of bounds for array of shape [3].\n"
     "  in get, called at <source>:3:14\n"
     "  in both, called at <source>:4:44"),
    ("entry main (xss: [][]i32) (i: i64) (j: i64) = xss[i, j]", [GRID, I64(1), I64(-1)],
     "<source>:1:47: error[index-out-of-bounds]: Index [1, -1] out of bounds for array of shape "
     "[2][3]."),
    ("entry main (xs: []i32) (i: i64) (j: i64) = xs[i:j]", [ROW, I64(1), I64(5)],
     "<source>:1:44: error[index-out-of-bounds]: Index [1:5] out of bounds for array of shape "
     "[3]."),
    ("entry main (xs: []i32) (n: i64) (m: i64) = unflatten (xs :> [n * m]i32)",
     [ROW, I64(-1), I64(-3)],
     "<source>:1:44: error[negative-size]: The size -1 is negative.  Range 0..1..<-1 is invalid."),
    ("entry main (xss: [][]i32) (i: i64) = xss[i, ::2]", [GRID, I64(2)],
     "<source>:1:38: error[index-out-of-bounds]: Index [2, 0:4:2] out of bounds for array of shape "
     "[2][3]."),
    ("entry main (xs: *[]i32) (i: i64) = xs with [i] = 0", [ROW, I64(3)],
     "<source>:1:36: error[index-out-of-bounds]: Index [3] out of bounds for array of shape "
     "[3]."),
    ("entry main (xss: [][]i32) (js: []i64) =\n"
     "  map (\\j -> loop s = 0 for i < 2i64 do s + xss[i, j]) js",
     [GRID, np.array([0, 3])],
     "<source>:2:45: error[index-out-of-bounds]: Index [0, 3] out of bounds for array of shape "
     "[2][3].\n  in a function, called at <source>:2:3"),
    ("entry main [n] (xss: *[n][n]i32) (js: []i64) =\n"
     "  map (\\j -> (copy xss[0] with [j] = 1)[0]) js",
     [np.zeros((2, 2), np.int32), np.array([1, 2])],
     "<source>:2:15: error[index-out-of-bounds]: Index [2] out of bounds for array of shape [2].\n"
     "  in a function, called at <source>:2:3"),
    ("entry main (xs: []i32): []i32 = map (\\x -> 6 / x) xs", [ROW],
     "<source>:1:44: error[division-by-zero]: Division by zero.\n"
     "  in a function, called at <source>:1:33"),
    ("entry main (x: i32) = assert ({a = x}.a == 1) x", [np.int32(2)],
     "<source>:1:23: error[assertion-failed]: Assertion is false: ({a = x}.a == 1)"),
    ("entry main (n: i64) = replicate n 1i32", [I64(-2)],
     "<source>:1:23: error[negative-size]: The size -2 is negative.  Range 0..1..<-2 is invalid."),
    ("entry main (n: i64) = reduce (+) 0 (iota n)", [I64(-2)],
     "<source>:1:37: error[negative-size]: The size -2 is negative.  Range 0..1..<-2 is invalid."),
    ("entry main (ns: []i64) = map (\\n -> i64.sum (iota n)) ns", [np.array([1, -3])],
     "<source>:1:46: error[negative-size]: The size -3 is negative.  Range 0..1..<-3 is invalid.\n"
     "  in a function, called at <source>:1:26"),
    ("entry main (xs: []i32) (n: i64) = xs :> [n]i32", [ROW, I64(2)],
     "<source>:1:35: error[unequal-sizes]: Value of shape [3] cannot match shape [2]."),
    ("def tab = [1i64, 2] entry main (xs: [length tab]i32) = xs", [ROW],
     "<source>:1:21: error[unequal-sizes]: An argument has an invalid size: 3, where its type "
     "says 2."),
    ("def t = (4i64, 2i64) def f (xs: [t.0]i32) = xs entry main (xs: []i32) = f xs", [ROW],
     "<source>:1:48: error[unequal-sizes]: An argument has an invalid size: 3, where its type "
     "says 4."),
    ("entry main (ns: []i64) (xs: [ns[0]]i32) = xs", [np.array([2]), ROW],
     "<source>:1:1: error[unequal-sizes]: An argument has an invalid size: 3, where its type "
     "says 2."),
    ("type row [n] = [n]i32 entry main (xs: []i32) (b: bool) = xs :> row [if b then 1 else 2]",
     [ROW, True],
     "<source>:1:58: error[unequal-sizes]: Value of shape [3] cannot match shape [1]."),
    ("type row [n] = [n]i32 entry main (xs: []i32) (n: i64) =\n"
     "  xs :> row [match n case 1 -> 3 case _ -> loop x = 0 for i < n do x + i]", [ROW, I64(2)],
     "<source>:2:3: error[unequal-sizes]: Value of shape [3] cannot match shape [1]."),
    ("type row [n] = [n]i32 entry main (xs: []i32) (n: i64) = xs :> row [assert (n > 0) n]",
     [ROW, I64(2)],
     "<source>:1:57: error[unequal-sizes]: Value of shape [3] cannot match shape [2]."),
    ("def f (b: bool) (xs: [if b then 1 else 2]i32) = xs entry main (b: bool) (xs: []i32) =\n"
     "  f b xs", [True, ROW],
     "<source>:1:18: error[unequal-sizes]: Cannot reshape an array of 3 elements to 1."),
    ("def t = (4i64, 2i64) entry main (xs: []i32) = xs :> [t.1]i32", [ROW],
     "<source>:1:47: error[unequal-sizes]: Value of shape [3] cannot match shape [2]."),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("text", "args", "message"), FAILING)
def test_message(text: str, args: list[Any], message: str, device: str) -> None:
    program = runelift.compile(text, device=device, tuning={})
    with pytest.raises(ProgramFailure) as caught:
        program.run("main", args)
    assert str(caught.value) == message


@pytest.mark.parametrize(("text", "args", "message"), [
    ("entry main (xs: []i32) (i: i64): i32 = #[unsafe] xs[i]", [ROW, I64(3)],
     "<source>:1:50: error[index-out-of-bounds]: Index [3] out of bounds for array of shape [3]."),
    ("entry main (xs: *[]i32) (i: i64) = #[unsafe] (xs with [i] = 0)", [ROW, I64(-1)],
     "<source>:1:47: error[index-out-of-bounds]: Index [-1] out of bounds for array of shape "
     "[3]."),
    ("entry main (xs: []i32) (is: []i64) = #[unsafe] map (\\i -> xs[i]) is",
     [ROW, np.array([0, 4])],
     "<source>:1:59: error[index-out-of-bounds]: Index [4] out of bounds for array of shape [3]."),
])
def test_the_interpreter_checks_what_is_unsafe(text: str, args: list[Any], message: str) -> None:
    program = runelift.compile(text, device="interpreter", tuning={})
    with pytest.raises(ProgramFailure) as caught:
        program.run("main", args)
    first, *_ = str(caught.value).splitlines()
    assert first == f"{message}  It is #[unsafe]: a device does not check this access."


@pytest.mark.parametrize("device", ["interpreter", "pocl"])
def test_rows_that_are_not_made_do_not_fail(device: str) -> None:
    program = runelift.compile("entry main (n: i64) (k: i64) = map (\\i -> replicate k i) (iota n)",
                               device=device)
    assert np.asarray(program.main(0, -1)).shape == (0, 0)
    with pytest.raises(ProgramFailure, match="negative"):
        program.main(1, -1)
