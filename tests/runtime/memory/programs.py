"""Programs whose versions need different memory, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np

DROPS = """
-- The greatest drop of each row below its running maximum.
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> let ys = scan f32.max f32.lowest xs
              in f32.maximum (map2 (-) ys xs)) xss
"""
"""The flat version stores what the scans make, as many numbers as the matrix has."""

CONVOLUTIONS = """
-- A convolution that stores its windows as a matrix, and one that reads them from the image.
-- Both go on at the other side of the image.
entry im2col [h][w][k] (image: [h][w]f32) (weights: [k][9]f32): [k][h][w]f32 =
  let columns = #[opaque]
    (tabulate_3d h w 9 (\\i j q -> image[(i + q / 3) % h, (j + q % 3) % w]))
  in map (\\ws -> map (map (\\window -> f32.sum (map2 (*) ws window))) columns) weights

entry direct [h][w][k] (image: [h][w]f32) (weights: [k][9]f32): [k][h][w]f32 =
  map (\\ws -> tabulate_2d h w (\\i j ->
    f32.sum (tabulate 9 (\\q -> ws[q] * image[(i + q / 3) % h, (j + q % 3) % w])))) weights
"""


def drops(xss: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The greatest drop of each row below its running maximum."""
    found: np.ndarray[Any, Any] = (np.maximum.accumulate(xss, 1) - xss).max(
        axis=1, initial=-np.inf)
    return found
