"""Random programs whose rows are work-groups: loops, branches of all work-items, scans and single
elements that change.

Such a version has barriers in loops and behind branches, which PoCL 3.0 gets wrong in many ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_programs.writer import Family, Kind

_GRAMMAR = {
    "program": Kind((
        "entry main [n][m] (xss: [n][m]i32) (k: i32): [n][m]i32 =\n"
        "  map (\\%xs -> if ${when xs}\n"
        "   then loop %ys = copy %xs for _i < i64.i32 k do ${steps ys}\n   else ${row xs}) xss\n",
    ), plain=True),
    # some steps one after the other; a sum, so that work-items meet
    "steps": Kind(("let %xs = $step in map (+ i32.sum %xs) %xs",),
                  ("let %xs = $step in ${steps xs}",), plain=True),
    "step": Kind((*["$row"] * 7, "if $when then $row else $row", "if $when then $row else $n",
                  "if $when then $n else $row")),
    "row": Kind((
        *["copy $n with [$at] = $x"] * 7, *["scan (+) 0 $n"] * 3, "scan i32.max i32.lowest $n",
        "map (% 1007) $n", "map (+ i32.sum $n) $n",
        "map (\\x -> loop x for _i < 5i32 do x * 3 - k) $n", "reverse $n",
        "map2 (-) $n (rotate 1 $n)")),
    "n": Kind((), named=1),
    "at": Kind(("0", "m - 1", "3 % m", "i64.i32 k % m"), plain=True),
    "x": Kind(("3", "8", "$n[$at]", "k * $n[$at]", "$n[$at] - $n[$at]")),
    # the same for all work-items of a row
    "when": Kind((*["k > 0", "k > 1", "k > 2", "k > 3"] * 2, *["$n[$at] % 2 == 0"] * 2,
                  "i32.sum $n > 0", "i32.sum $n > 0"), plain=True),
}


def _inputs(_: int) -> list[list[Any]]:
    """Matrices whose rows are short or longer than a small work-group, and numbers of rounds."""
    return [[np.random.default_rng(shape[1]).integers(-50, 50, shape).astype(np.int32),
             np.int32(number)] for shape in ((3, 5), (2, 37)) for number in (4, 1)]


GROUPS = Family(_GRAMMAR, {}, lambda seed: 2 + seed % 2, _inputs)
