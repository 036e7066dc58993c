"""Elements that are read where their index is inside, else a constant."""

from __future__ import annotations

import numpy as np

from tests import programs

CHOSEN_EARLY = """
entry main [n] (ys: [n]i32) (xs: []i32) (c: i32): [n][4]i32 =
  map (\\_ -> let t = if c < c then xs else reverse xs
             in map (\\j -> if j < length t then t[j] else -1) (iota 4)) ys
"""
"""The array is known to be another one before the branch that reads it is simplified."""


def test_the_array_may_be_known_to_be_another_one() -> None:
    args = [np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32), np.int32(3)]
    wanted = programs.expected(CHOSEN_EARLY, "main", args)
    assert np.asarray(wanted[0]).tolist() == [[2, 1, 0, -1]] * 2
    assert programs.agree(programs.program(CHOSEN_EARLY), "main", args, wanted)
