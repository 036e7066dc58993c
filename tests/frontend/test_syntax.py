"""Forms of the syntax, by what programs that use them compute."""

from __future__ import annotations

import numpy as np
import pytest

import runelift

FORMS = [
    ("an operator as a parameter", "def f 't ((<=): t -> t -> bool) (x: t) (y: t) : bool = x <= y\n"
     "def main (x: i64) : bool = f (>) x 3", 4, True),
    ("type parameters with primes", "def pair '^a '^a' (x: a) (y: a') : (a', a) = (y, x)\n"
     "def main (x: i64) : i64 = (pair x 5).0", 4, 5),
    ("a module opened in an expression", "module m = { def x = 2i64\n"
     "module n = { def y = 30i64 } }\n"
     "def main (x: i64) : i64 = m.(x + n.(x + y))", 100, 34),
    ("a local name is hidden by an opened module", "module m = { def x = 7i64 }\n"
     "def main (x: i64) : i64 = x + m.(let y = x in y + x)", 1, 15),
    ("a numeric module opened in an expression", "def main (x: i64) : i64 = i64.(max x 9)", 4, 9),
    ("existential sizes", "def f (x: i64) : ?[n].[n][n]i64 = let n = x + 1 in "
     "replicate n (replicate n x)\ndef main (x: i64) : i64 = length (f x)[0]", 4, 5),
    ("an attribute of a pattern", "def main (x: i64) : i64 = "
     "loop (#[blank] acc: i64) = x for i < 3 do acc + i", 4, 7),
    ("hexadecimal floats", "def main (x: f64) : f64 = x + 0x1.8p0_1f64", 1.0, 4.0),
    ("pipes bind weaker than arithmetic", "def double (x: i64) : i64 = x * 2\n"
     "def main (x: i64) : i64 = double <| x + 1 |> (+ 3)", 4, 13),
    ("compositions bind as comparisons do", "def main (x: i64) : bool = "
     "x |> (+ 1) >-> (* 2) >-> (< 11)", 4, True),
    ("an operator defined between its operands", "def (x: i64) +* ((a, b): (i64, i64)) : i64 = "
     "x + a * b\ndef k ** l : i64 = k - l\ndef main (x: i64) : i64 = (x ** 1) +* (2, 5)", 4, 13),
    ("an opened numeric module hides operators", "def (+) (x: i64) (y: i64) : i64 = x - y\n"
     "def main (x: i64) : i64 = (x + 1) * i64.(x + 1)", 4, 15),
    ("sized", "def f [n] (x: [n]i64) (y: [n]i64) : i64 = x[0] + y[n-1]\n"
     "def main (x: i64) : i64 = f (sized 2 (filter (> 3) [x, 3, 5])) [7, 8]", 4, 12),
    ("spread", "def main (x: i64) : i64 = i64.sum (spread 5 2 [3, x, 9] [x, 30, 1000])", 4, 40),
    ("unique results of parametrised types", "type v [n] = [n]i64\n"
     "def f [n] (x: *v [n]) : *v [n] = x with [0] = 5\n"
     "def main (x: i64) : i64 = (f [x, x])[0]", 4, 5),
    ("components of tuples updated by number",
     "def main (x: i64) = let t = (x, {a = 1, b = (2, 3)}) with 1.b.0 = 3 with 0 = 9\n"
     "  in t.0 + t.1.b.0 + t.1.b.1", 4, 15),
    ("a loop that carries nothing", "def main (n: i64) = let () = loop () for _i < n do () in n",
     3, 3),
    ("a loop that carries nothing beside a number",
     "def main (n: i64) = let () = () in (loop (n, ()) = (n, {}) for _i < 2i32 do (n + 1, ())).0",
     3, 5),
    ("empty braces are empty parentheses", "def main (n: i64) = let {} = () let f {} = n in f ()",
     3, 3),
]


@pytest.mark.parametrize(("what", "text", "arg", "expected"), FORMS, ids=[f[0] for f in FORMS])
def test_form(what: str, text: str, arg: object, expected: object) -> None:
    assert runelift.compile(text).main(arg) == expected


@pytest.mark.parametrize(("name", "prim", "expected"), [
    ("recip", "f64", [0.5, 0.25]), ("to_f64", "f32", [2.0, 4.0]), ("to_i64", "u8", [2, 4]),
])
def test_members(name: str, prim: str, expected: list[float]) -> None:
    result = {"recip": prim, "to_f64": "f64", "to_i64": "i64"}[name]
    program = runelift.compile(f"def main (xs: []{prim}) : []{result} = map {prim}.{name} xs")
    dtype = {"f64": np.float64, "f32": np.float32, "u8": np.uint8}[prim]
    assert np.asarray(program.main(np.array([2, 4], dtype))).tolist() == expected


@pytest.mark.parametrize("prim", ["f32", "f64"])
def test_bits_of_floats(prim: str) -> None:
    bits = int(prim[1:])
    program = runelift.compile(
        f"def main (xs: []{prim}) : ([]i32, []{prim}) =\n"
        f"  (map ({prim}.get_bit {bits - 1}) xs, map (\\x -> {prim}.set_bit {bits - 1} x 1) xs)")
    xs = np.array([0.0, 1.5, -2.0, np.inf], f"f{bits // 8}")
    signs, negative = map(np.asarray, program.main(xs))
    assert signs.tolist() == [0, 0, 1, 0]
    assert negative.tolist() == [-0.0, -1.5, -2.0, -np.inf]


def test_main_is_an_entry_point_beside_others() -> None:
    program = runelift.compile("entry other (x: i64) = x + 1\ndef main (x: i64) = other x * 2")
    assert (program.main(3), program.other(3)) == (8, 4)


def test_mad_hi() -> None:
    program = runelift.compile("def main (x: u8) : u8 = u8.mad_hi x 127 3")
    assert program.main(np.uint8(200)) == 200 * 127 // 256 + 3
