"""Random programs on f16, whose results are bits: the interpreter, devices and Futhark agree.

Futhark's interpreter rounds every operation.  (Code of its C backend computes with f32 and cuts
digits off.)  Operations are those that round correctly, so that results are equal to the last
bit; NaN is compared as NaN.  Programs avoid what devices and the other interpreter do in their
own way: -0 from roundings and extrema, ``trunc`` of large numbers, ``==`` of NaN.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.random_programs.writer import Family, Kind

NAN = 0x7e00
"""The bits by which programs write all NaN."""
LENGTH = 40

_UNARY = ("f16.sqrt $half", "f16.abs $half", "f16.neg $half", "0 + f16.floor $half",
          "0 + f16.ceil $half", "0 + f16.round $half",
          "let w = $half in if f16.abs w < 30000 then 0 + f16.trunc w else w",
          "f16.f32 (f32.f16 $half * 1.0009765625f32)", "f16.f64 (f64.f16 $half / 3f64)",
          "let w = $half in if f16.isnan w then w else f16.from_bits (f16.to_bits w ^ 1u16)",
          "f16.recip $half")
_BINARY = ("$half + $half", "$half - $half", "$half * $half", "$half / $half",
           "0 + f16.min $half $half", "0 + f16.max $half $half",
           "if $half < $half then 1.5f16 else 0x1.8p-3f16",
           "if $half <= $half then 3f16 else -0.1f16")
_WHOLE = tuple(
    f"let w = $half in f16.{whole} ({whole}.f16 (if f16.abs w < 100 then {bound}w else 7f16))"
    for whole, bound in (("i8", ""), ("i16", ""), ("i32", ""), ("i64", ""), ("u8", "f16.abs "),
                         ("u16", "f16.abs "), ("u32", "f16.abs "), ("u64", "f16.abs ")))


def _literals(count: int) -> tuple[str, ...]:
    """Numbers of any magnitude."""
    drawn = random.Random(16)
    numbers = [number for _ in range(count) for number in (
        drawn.uniform(-4, 4), drawn.uniform(-70000, 70000), drawn.uniform(-1e-4, 1e-4),
        float(drawn.randint(-2100, 2100)))]
    return tuple(f"({number!r}f16)" if number < 0 else f"{number!r}f16" for number in numbers)


_GRAMMAR = {
    "program": Kind((f"""\
def bits (x: f16): u16 = if f16.isnan x then {NAN}u16 else f16.to_bits x
entry main [n] (a: [n]u16) (b: [n]u16) (c: [n]i32): ([n]u16, [n]u16, u16, [4]u16, [n]i64) =
  let xs = map f16.from_bits a
  let ys = map f16.from_bits b
  let rs = map3 (\\%hx %hy i -> let %hz = f16.i32 i in ${{half hx hy hz}}) xs ys c
  let keys = map3 (\\%hx %hy %hz -> ${{half hx hy hz}}) ys rs xs
  let whole = map (\\x -> if f16.abs x < 1000 then i64.f16 x else 0) rs
  let known = map (\\x -> if f16.isnan x then -1f16 else 0 + x) rs
  let total = loop t = 0.5f16 for i < n do
    let (%hx, %hy, %hz) = (xs[i], t, rs[i]) in ${{half hx hy hz}}
  in (map bits rs,
      map bits (scan f16.max (-f16.inf) known),
      bits (total + f16.minimum known),
      map bits (reduce_by_index (replicate 4 1f16) f16.max (-f16.inf)
                                (map (\\k -> i64.u16 (bits k & 3)) keys) known),
      whole)
""",), plain=True),
    "half": Kind(_literals(20), (
        *_UNARY, *_BINARY, *_BINARY, "$half", "$half", "let %h = $half in ${half h}",
        "let %h = $half in ${half h} - %h", *_WHOLE[::3], *_WHOLE[1::5]), named=0.7),
}


def _inputs(seed: int) -> list[list[Any]]:
    """Bits of any numbers, of numbers near 1, and integers."""
    rng = np.random.default_rng(seed)
    near = rng.standard_normal(LENGTH).astype(np.float16).view(np.uint16)
    wild = rng.integers(0, 1 << 16, LENGTH).astype(np.uint16)
    mixed = np.where(rng.random(LENGTH) < 0.4, wild, near).astype(np.uint16)
    return [[mixed, rng.permutation(mixed), rng.integers(-3000, 3000, LENGTH).astype(np.int32)]]


HALVES = Family(_GRAMMAR, {}, lambda seed: 3 + seed % 3, _inputs)
