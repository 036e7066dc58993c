"""Windows and margins in all versions, on devices that store margins and on those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.ir.base.errors import VersionUnavailable
from runelift.runtime.devices.info import DeviceInfo
from tests.programs import agree, expected, program

PROGRAMS: dict[str, tuple[str, tuple[int, ...]]] = {
    "rows walked in a loop": ("""
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  map (\\xs -> let ps = lift.pad 1 2 7 xs in loop s = 0 for i < m + 3 do s * 3 + ps[i])
  xss
""", (300, 5)),
    "rows of a padded matrix": ("""
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  let ps = lift.pad2d 1 1 2 2 3 xss in let r = map (\\xs -> loop s = 0 for x in xs do s
  * 3 + x) ps in r[1:n+1] :> [n]i32
""", (300, 5)),
    "columns of a padded matrix": ("""
entry main [n][m] (xss: [n][m]i32): []i32 =
  map (\\xs -> loop s = 0 for x in xs do s * 3 + x) (transpose (lift.pad2d 1 1 2 2 3
  xss))
""", (300, 5)),
    "steps of a time loop": ("""
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  loop xss for _i < 3 do map (map (\\w -> i32.sum (flatten w))) (lift.slide2d 3 1 3 1
  (lift.pad2d 1 1 1 1 0 xss)) :> [n][m]i32
""", (13, 70)),
    "scans": ("""
entry main [n][m] (xss: [n][m]i32) =
  map (scan (+) 0) (map (lift.pad 1 1 5) xss)
""", (13, 70)),
    "an array overwritten behind its margin": ("""
entry main [n][m] (xss: *[n][m]i32) =
  let ps = lift.pad2d 1 0 0 1 5 xss let s = map i32.sum ps let xss[0,0] = 9 in (s,
  xss)
""", (13, 7)),
    "a private array overwritten": ("""
entry main [n] (k: i64) (xs: [n]i32) =
  map (\\x -> let ys = replicate 5 x let ps = lift.pad 1 1 2 ys let a = i32.sum ps let
  ys[2] = a in (a, i32.sum ys)) xs
""", (50,)),
    "a private array overwritten behind its windows": ("""
entry main [n][m] (xss: [n][m]i32) =
  map (\\xs -> let ys = copy xs let ws = lift.slide 2 1 ys let a = map i32.product ws
  let ys[0] = 4 in (a, ys)) xss
""", (50, 4)),
    "a copy written to": ("""
entry main [n][m] (xss: [n][m]i32) =
  scatter (copy (lift.pad 2 2 9 (flatten xss))) (iota n) (replicate n 4)
""", (5, 4)),
    "histograms of windows": ("""
entry main [n][m] (xss: [n][m]i32) =
  hist (+) 0 5 (map (\\w -> i64.i32 (w[0] % 5)) (lift.slide 2 3 (flatten xss))) (map
  i32.sum (lift.slide 2 3 (lift.pad 0 0 3 (flatten xss))))
""", (15, 4)),
    "margins by a branch": ("""
entry main [n][m] (xss: [n][m]i32) =
  if n > 3 then lift.pad2d 1 1 1 1 0 xss else lift.pad2d 0 2 2 0 1 xss
""", (15, 4)),
    "windows that are kept": ("""
entry main [n][m] (xss: [n][m]i32) =
  filter (\\w -> w[1] % 2 == 0) (lift.slide 3 1 (lift.pad 1 1 2 (flatten xss)))
""", (15, 4)),
    "tested on two sides": ("""
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  tabulate_2d n m (\\i j -> i32.sum (map (\\k -> let a = i + k - 1 let b = j - k + 1 in
  if 0 <= a && a < n && b >= 0 && b < m then xss[a, b] else 3) (iota 3)))
""", (9, 14)),
    "tested on one side": ("""
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  tabulate_2d n m (\\i j -> i32.sum (map (\\k -> let a = i + k in if a < n then xss[a,
  j] else 3) (iota 4)))
""", (9, 14)),
    "a margin by tests": ("""
entry main [n][m] (xss: [n][m]i32): [][]i32 =
  tabulate_2d (n+4) (m+3) (\\i j -> if 2 <= i && i < n + 2 && 1 <= j && j <= m then
  xss[i-2, j-1] else 8)
""", (9, 14)),
    "other tests": ("""
entry main [n][m] (xss: [n][m]i32): [][]i32 =
  tabulate_2d (n+4) (m+3) (\\i j -> if 2 < i && i < n + 2 && 1 <= j && j <= m then
  xss[i-2, j-1] else 8)
""", (9, 14)),
}


@pytest.mark.sweep(keep=["rows of a padded matrix", "an array overwritten behind its margin",
                         "tested on two sides", "a margin by tests"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_versions_agree_with_the_interpreter(name: str, installed: DeviceInfo) -> None:
    text, shape = PROGRAMS[name]
    array = (np.arange(int(np.prod(shape))) ** 2 % 17).astype(np.int32).reshape(shape)
    args = [np.int64(3), array] if "(k: i64)" in text else [array]
    wanted = expected(text, "main", args)
    for interleaves in {True, installed.interleaves}:
        agree(program(text, installed.name, interleaves=interleaves), "main", args, wanted,
              but=(VersionUnavailable,))
