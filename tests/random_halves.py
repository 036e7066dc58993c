"""Random programs on f16, whose results are bits: the interpreter, devices and Futhark agree.

``python -m tests.random_halves FUTHARK COUNT [DEVICE]`` compares COUNT programs with Futhark's
interpreter, which rounds every operation.  (Code of its C backend computes with f32 and cuts
digits off.  Its interpreter has no -0 from roundings to whole numbers, and no ``trunc`` of large
ones.)  Operations are those that round correctly, so that results are equal to the last bit;
NaN is compared as NaN.  Without FUTHARK (``-``) only ours are compared.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import runelift
from runelift.ir.interpret import interpret
from runelift.runtime.data.text import format_value
from runelift.runtime.data.values import read_values

NAN = 0x7e00
"""The bits by which programs write all NaN."""
LENGTH = 40

_UNARY = ("f16.sqrt {}", "f16.abs {}", "f16.neg {}", "0 + f16.floor {}", "0 + f16.ceil {}",
          "0 + f16.round {}", "(let w = {} in if f16.abs w < 30000 then 0 + f16.trunc w else w)",
          "f16.f32 (f32.f16 {} * 1.0009765625f32)", "f16.f64 (f64.f16 {} / 3f64)",
          "(let w = {} in if f16.isnan w then w else f16.from_bits (f16.to_bits w ^ 1u16))",
          "f16.recip {}")
_BINARY = ("{} + {}", "{} - {}", "{} * {}", "{} / {}", "f16.min {} {}", "f16.max {} {}",
           "if {} < {} then 1.5f16 else 0x1.8p-3f16", "if {} == {} then 3f16 else -0.1f16")
_WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


class HalfWriter:
    """Writes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def scalar(self, names: list[str], depth: int) -> str:
        """An f16."""
        if depth == 0 or self.random.random() < 0.1:
            return self.random.choice([*names, *names, self.literal()])
        choice = self.random.random()
        if choice < 0.3:
            return f"({self.random.choice(_UNARY).format(self.scalar(names, depth - 1))})"
        if choice < 0.8:
            left, right = (self.scalar(names, depth - 1) for _ in range(2))
            return f"({self.random.choice(_BINARY).format(left, right)})"
        if choice < 0.9:
            self.count += 1
            name = f"v{self.count}"
            return (f"(let {name} = {self.scalar(names, depth - 1)} "
                    f"in {self.scalar([*names, name, name], depth - 1)})")
        whole = self.random.choice(_WHOLE)
        bound = "f16.abs " if whole[0] == "u" else ""
        return (f"(let w = {self.scalar(names, depth - 1)} in f16.{whole} ({whole}.f16 "
                f"(if f16.abs w < 100 then {bound}w else 7f16)))")

    def literal(self) -> str:
        """A number of any magnitude."""
        number = self.random.choice([
            self.random.uniform(-4, 4), self.random.uniform(-70000, 70000),
            self.random.uniform(-1e-4, 1e-4), float(self.random.randint(-2100, 2100))])
        return f"({number!r}f16)" if number < 0 else f"{number!r}f16"

    def program(self) -> str:
        """A program on two arrays of bits and one of numbers."""
        names = ["x", "y", "z"]
        body, step, key = (self.scalar(names, depth) for depth in (4, 2, 2))
        return f"""\
def bits (x: f16): u16 = if f16.isnan x then {NAN}u16 else f16.to_bits x
entry main [n] (a: [n]u16) (b: [n]u16) (c: [n]i32): ([n]u16, [n]u16, u16, [4]u16, [n]i64) =
  let xs = map f16.from_bits a
  let ys = map f16.from_bits b
  let rs = map3 (\\x y i -> let z = f16.i32 i in {body}) xs ys c
  let keys = map3 (\\x y z -> {key}) ys rs xs
  let whole = map (\\x -> if f16.abs x < 1000 then i64.f16 x else 0) rs
  let known = map (\\x -> if f16.isnan x then -1f16 else x) rs
  let total = loop t = 0.5f16 for i < n do
    let (x, y, z) = (xs[i], t, rs[i]) in {step}
  in (map bits rs,
      map bits (scan f16.max (-f16.inf) known),
      bits (total + f16.minimum known),
      map bits (reduce_by_index (replicate 4 1f16) f16.max (-f16.inf)
                                (map (\\k -> i64.u16 (bits k & 3)) keys) known),
      whole)
"""


def half_arguments(seed: int) -> list[Any]:
    """Bits of any numbers, of numbers near 1, and integers."""
    rng = np.random.default_rng(seed)
    near = rng.standard_normal(LENGTH).astype(np.float16).view(np.uint16)
    wild = rng.integers(0, 1 << 16, LENGTH).astype(np.uint16)
    mixed = np.where(rng.random(LENGTH) < 0.4, wild, near).astype(np.uint16)
    return [mixed, rng.permutation(mixed), rng.integers(-3000, 3000, LENGTH).astype(np.int32)]


def agreed_results(seed: int, device: str) -> list[Any]:
    """The results of a program, on which the interpreter and all versions agree."""
    text, args = HalfWriter(seed).program(), half_arguments(seed)
    program = runelift.compile(text, device=device)
    expected = interpret(program.compiled.core, "main", args)
    found, _ = program.run("main", args)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}\n{text}")
    return expected


def results_of_peer(seed: int, futhark: str) -> list[Any]:
    """The results that Futhark's interpreter gives."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.fut"
        path.write_text(HalfWriter(seed).program())
        given = "\n".join(map(format_value, half_arguments(seed)))
        done = subprocess.run([futhark, "run", str(path)], input=given, text=True, check=True,
                              capture_output=True, timeout=300)
    return read_values(done.stdout.encode(), "the peer's answer")


def main(futhark: str, count: str, device: str = "") -> None:
    """Compare programs, and name those that differ."""
    differing = 0
    for seed in range(int(count)):
        expected = agreed_results(seed, device or "interpreter")
        if futhark != "-":
            found = results_of_peer(seed, futhark)
            wrong = [k for k, (one, other) in enumerate(zip(found, expected, strict=True))
                     if not np.array_equal(one, other)]
            differing += bool(wrong)
            for k in wrong:
                print(f"seed {seed}, result {k}:\n  ours {expected[k]}\n  peer {found[k]}")
    print(f"{count} programs, {differing} differ from the peer")


if __name__ == "__main__":
    main(*sys.argv[1:])
