"""Programs of any length, for times that depend on the text alone."""

from __future__ import annotations

PART = """\
-- | A point with a weight, number {k}.
type point{k} = {{x: f32, y: f32, weight: f32}}
type shape{k} = #circle f32 | #square f32 | #empty

def mean{k} [n] (xs: [n]f32): f32 =
  let total = reduce (+) 0 xs
  in total / f32.i64 n

def spread{k} [n] (xs: [n]f32): f32 =
  let middle = mean{k} xs
  let squares = map (\\x -> (x - middle) * (x - middle)) xs
  in f32.sqrt (mean{k} squares)

def area{k} (s: shape{k}): f32 =
  match s
  case #circle r -> f32.pi * r * r
  case #square a -> a * a
  case #empty -> 0

def smooth{k} [n] (steps: i32) (xs: [n]f32): [n]f32 =
  loop ys = xs for _i < steps do
    tabulate n (\\i -> (ys[(i - 1) % n] + ys[i] + ys[(i + 1) % n]) / 3)

def centre{k} [n] (ps: [n]point{k}): point{k} =
  let weights = map (.weight) ps
  let xs = map (\\p -> p.x * p.weight) ps
  in {{x = mean{k} xs, y = spread{k} weights, weight = f32.sum weights}}

"""
END = """\
-- >>> mean0 [1, 2, 3]
entry main [n] [m] (xss: [n][m]f32) =
  let sums = map mean0 xss
  let spreads = map (\\xs -> spread0 (smooth0 3 xs)) xss
  in map2 (\\a b -> a * 2 + b) sums spreads
"""


def made(lines: int) -> str:
    """A program with about as many lines: types, loops, matches, records, lambdas."""
    count = max(1, round((lines - END.count("\n")) / PART.count("\n")))
    return "".join(PART.format(k=k) for k in range(count)) + END
