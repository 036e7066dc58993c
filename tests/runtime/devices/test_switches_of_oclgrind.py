"""Choices between few values under Oclgrind, whose optimiser is wrong about them."""

from __future__ import annotations

import numpy as np
import pytest

import runelift

PROGRAMS = {
    "sums": ("""
type shape = #point | #circle i32 | #box (i32, i32)
def made (x: i32): shape =
  if x & 3 == 0 then #point else if x & 3 == 1 then #circle x else #box (x, x + 1)
def area (s: shape): i32 =
  match s case #point -> 7 case #circle r -> r * r * 3 case #box (a, b) -> a * b
entry main (xs: []i32) = map (\\x -> area (made x)) xs
""", [7, 3, 6, 12, 7, 75, 42, 56, 7]),
    "constants": ("""
entry main (xs: []i32) =
  map (\\x -> match x & 3 case 0 -> 10i32 case 1 -> 20 case 2 -> x case _ -> x * x) xs
""", [10, 20, 2, 9, 10, 20, 6, 49, 10]),
    "remainders": ("""
type colour = #red | #green | #blue i32 | #mixed i32 i32
def colour_of (x: i32): colour =
  match x % 4 case 0 -> #red case 1 -> #green case 2 -> #blue x case _ -> #mixed x (x - 1)
entry main (xs: []i32) =
  map (\\x -> match colour_of x case #red -> 1 case #green -> 2 case #blue b -> b
              case #mixed a b -> a * b) xs
""", [1, 2, 2, 6, 1, 2, 6, 42, 1]),
}


@pytest.mark.parametrize("device", ["oclgrind", "pocl"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_tags_of_two_bits(name: str, device: str) -> None:
    text, expected = PROGRAMS[name]
    program = runelift.compile(text, device=device, tuning={})
    np.testing.assert_array_equal(program.main(np.arange(9, dtype=np.int32)), expected)
