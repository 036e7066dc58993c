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
    ("a field updated by a let", "def main (x: i64) = let r = {a = {b = x, c = 2}, d = 5}\n"
     "  let r.a.b = 7 let r.d = r.d + x in r.a.b * 100 + r.a.c * 10 + r.d", 3, 728),
    ("updates along paths of indices and fields", "def main (x: i64) =\n"
     "  let rs = [{a = [1, 2], b = x}, {a = [3, 4], b = 6}] let rs[1].a[0] = x let rs[0].b = 8\n"
     "  let ys = (rs with [0].a[1:] = [9]) in i64.sum (flatten (map (.a) ys)) * 100\n"
     "    + ys[0].b * 10 + ys[1].b", 5, 1986),
    ("an update of an update of a row", "def main (x: i64) = let xss = [[1, 2], [3, 4]]\n"
     "  let xss[1][0] = x let xss[0:1][0][1:][0] = 7 in xss[0, 1] * 10 + xss[1, 0]", 5, 75),
    ("sections of paths", "def main (x: i64) = let rs = [{a = [x, 2]}, {a = [3, 4]}]\n"
     "  in (.[0].a[0]) rs * 100 + i64.sum ((.[1].a[:2]) rs) * 10 + (.a[1]) rs[0]", 5, 572),
    ("a loop that carries nothing", "def main (n: i64) = let () = loop () for _i < n do () in n",
     3, 3),
    ("a loop that carries nothing beside a number",
     "def main (n: i64) = let () = () in (loop (n, ()) = (n, {}) for _i < 2i32 do (n + 1, ())).0",
     3, 5),
    ("empty braces are empty parentheses", "def main (n: i64) = let {} = () let f {} = n in f ()",
     3, 3),
    ("a scan without its last element",
     "def main (x: i64) = exscan (+) 0 [1, x, 5] |> map2 (*) [1, 10, 100] |> i64.sum", 3, 410),
    ("the sizes of a partition",
     "def parts [n] (p: i64 -> bool) (xs: [n]i64): ?[k].([k]i64, [n - k]i64) = partition p xs\n"
     "def three [n] (xs: [n]i64): ?[k][l].([k]i64, [l]i64, [n - k - l]i64) =\n"
     "  partition2 (< 2) (< 4) xs\n"
     "def main (x: i64) = let (a, b) = parts (< 4) [x, 1, 5, 2] let (_, c, d) = three [1, x, 9]\n"
     "  in length a * 100 + length b * 10 + c[0] + d[0]", 3, 322),
    ("an array split where its type says", "def main (x: i64) =\n"
     "  let (a: [2]i64, b) = split ([x, 2, 3, 4, 5] :> [2 + 3]i64) in i64.sum a * 10 + i64.sum b",
     3, 62),
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


EDGES = [-np.inf, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 4.0, np.inf, np.nan]


@pytest.mark.parametrize("device", ["interpreter", None])
@pytest.mark.parametrize(("call", "expected"), [
    ("f64.rsqrt x", [np.nan] * 4 + [-np.inf, np.inf, 2, 2**0.5, 1, 1.5**-0.5, 0.5, 0,
                                    np.nan]),
    ("f64.sinpi x", [np.nan, -1, 0, -1, 0, 0, 0.5**0.5, 1, 0, -1, 0, np.nan, np.nan]),
    ("f64.cospi x", [np.nan, 0, -1, 0, 1, 1, 0.5**0.5, 0, -1, 0, 1, np.nan, np.nan]),
    ("f64.atanpi x * f64.pi", np.arctan(EDGES)),
    ("f64.atan2pi x 1 * f64.pi", np.arctan(EDGES)),
    ("f64.ldexp x 3", np.multiply(EDGES, 8)),
    ("f64.ldexp x (-2000000000)", [-np.inf, *[0] * 10, np.inf, np.nan]),
    ("f64.gamma x", [np.nan, -8 * np.pi**0.5 / 15, np.nan, -2 * np.pi**0.5, -np.inf, np.inf,
                     3.625609908221908, np.pi**0.5, 1, np.pi**0.5 / 2, 6,
                     np.inf, np.nan]),
    ("x % (-1)", [np.nan, -0.5, 0, -0.5, 0, 0, 0.25, 0.5, 0, 0.5, 0, np.nan, np.nan]),
    ("x ** 0.5", [np.inf, np.nan, np.nan, np.nan, 0, 0, 0.5, 0.5**0.5, 1, 1.5**0.5, 2,
                  np.inf, np.nan]),
])
def test_edges_of_floats(call: str, expected: list[float], device: str | None) -> None:
    program = runelift.compile(f"def main (xs: []f64) : []f64 = map (\\x -> {call}) xs",
                               device=device)
    np.testing.assert_allclose(np.asarray(program.main(np.array(EDGES))), expected, rtol=1e-14)


@pytest.mark.parametrize("prim", ["f16", "f32", "f64"])
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
