"""``check --fix``: what hints write cures their errors, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runelift.ir.base.errors import Replacement
from runelift.runtime.tools.commands.cli import main
from tests.wrong_programs import PROGRAMS, diagnostics


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_hint_writes_cures_its_error(name: str) -> None:
    text = PROGRAMS[name]
    for found in diagnostics(text):
        for hint in found.hints:
            if not isinstance(hint, Replacement):
                continue
            span = hint.span or found.span
            new = text[:span.start] + hint.new + text[span.end:]
            behind = span.end <= found.span.start
            start = found.span.start + (len(new) - len(text)) * behind
            left = [(each.code, each.message, each.span.start) for each in diagnostics(new)]
            assert (found.code, found.message, start) not in left, hint.new


def test_collection_has_hints_of_all_kinds() -> None:
    assert {found.code for text in PROGRAMS.values() for found in diagnostics(text)
            if any(isinstance(hint, Replacement) for hint in found.hints)} >= {
        "syntax-error", "unknown-name", "unknown-field", "type-mismatch", "size-mismatch",
        "type-arguments", "unknown-type", "not-a-function"}


@pytest.mark.parametrize(("wrong", "right", "places"), [
    ("entry main [n] (xs: f32[n]): f32 = xs.sum() / f32 n + .5\n",
     "entry main [n] (xs: [n]f32): f32 = f32.sum xs / f32.i64 n + 0.5\n", 4),
    ("entry main [n] (xs: [n]f32): [n]f32 = map (lambda x: x ^ 2) xs\n",
     "entry main [n] (xs: [n]f32): [n]f32 = map (\\x -> x ** 2) xs\n", 2),
    ("entry main (x: f32): bool = 0 < x < 1 and True\n",
     "entry main (x: f32): bool = 0 < x && x < 1 && true\n", 3),
    ("entry main (n: i64) (h: f64): []f64 = map (\\i -> i * h) [1..n]\n",
     "entry main (n: i64) (h: f64): []f64 = map (\\i -> (f64.i64 i) * h) (1...n)\n", 2),
    ("def f (n: i64): []i64 = [i * i for i in range(n) if i > 1]\n",
     "def f (n: i64): []i64 = (map (\\i -> i * i) (filter (\\i -> i > 1) (0..<n)))\n", 2),
    ("entry main [n] (xs: [n]f32): f32 = xs[-1]\n",
     "entry main [n] (xs: [n]f32): f32 = xs[length xs - 1]\n", 1),
    ("def f (x: i32) (n: i64): i64 = x + n\ndef g (n: i64): f32 = n * 0.5\n",
     "def f (x: i32) (n: i64): i64 = (i64.i32 x) + n\ndef g (n: i64): f32 = (f32.i64 n) * 0.5\n",
     2),
    ("def f [n] (xs: [n]f32): [n]f32 = map (xs + 1) xs\n"
     "def g [n] (xs: [n]f32): bool = any (xs < 0)\n",
     "def f [n] (xs: [n]f32): [n]f32 = map (+ 1) xs\n"
     "def g [n] (xs: [n]f32): bool = any (< 0) xs\n", 2),
    ("def f [n][m] (xs: [n]i32) (ys: [m]i32): []i32 = xs + ys\n"
     "def g [n] (xs: [n]i32) (ys: [n]i32): bool = xs < ys\n",
     "def f [n][m] (xs: [n]i32) (ys: [m]i32): []i32 = xs ++ ys\n"
     "def g [n] (xs: [n]i32) (ys: [n]i32): bool = (and (map2 (<) xs ys))\n", 2),
    ("def f [n][m] (xs: [n][m]f32): [n]f32 = sum xs\n"
     "def g [n] (xs: [n]f32): f32 = max xs - fminf(xs[0], 1)\n"
     "def h [n] (bs: [n]bool): i64 = sum bs\n",
     "def f [n][m] (xs: [n][m]f32): [n]f32 = map f32.sum xs\n"
     "def g [n] (xs: [n]f32): f32 = f32.maximum xs - f32.min xs[0] 1\n"
     "def h [n] (bs: [n]bool): i64 = i64.sum (map i64.bool bs)\n", 4),
    ("def f (x: f32) (n: i64): f32 = powf(x, 3) + pow x 2 + to_f32 n + f32.int64 n\n"
     "def g [n] (xs: [n]i32): i32 = xs.(0) + xs[div n 2] + fst (xs[1], 2)\n",
     "def f (x: f32) (n: i64): f32 = x ** 3 + x ** 2 + f32.i64 n + f32.i64 n\n"
     "def g [n] (xs: [n]i32): i32 = xs[0] + xs[n / 2] + (xs[1], 2).0\n", 7),
    ("type p = {x: f32, y: f32}\ntype grid [n] = [n][n]f32\n"
     "def f (q: p): f32 = x q + q.y\ndef g (q: p): p = q {x = 1}\n"
     "def h [n] (ps: [n]P): [n]f32 = map .x ps\ndef k [n] (g: grid n): f32 = g[0, 0]\n",
     "type p = {x: f32, y: f32}\ntype grid [n] = [n][n]f32\n"
     "def f (q: p): f32 = q.x + q.y\ndef g (q: p): p = q with x = 1\n"
     "def h [n] (ps: [n]p): [n]f32 = map (.x) ps\ndef k [n] (g: grid [n]): f32 = g[0, 0]\n", 5),
    ("type t = #rect f32 f32 | #dot\n"
     "def area (s: t): f32 = match s case #rect (a, b) -> a * b, case #dot => 0\n",
     "type t = #rect f32 f32 | #dot\n"
     "def area (s: t): f32 = match s case #rect a b -> a * b case #dot -> 0\n", 3),
    ("type maybe = #none | #some i32\n"
     "def value (m: maybe): i32 = match m case #some x -> x case none -> 0\n",
     "type maybe = #none | #some i32\n"
     "def value (m: maybe): i32 = match m case #some x -> x case #none -> 0\n", 1),
    ("def f [n] (xs: *[n]i32): *[n]i32 =\n  xs[0] = 1\n  xs[1] = 2\n  xs\n",
     "def f [n] (xs: *[n]i32): *[n]i32 =\n  let xs[0] = 1\n  let xs[1] = 2\n  in xs\n", 2),
    ("module M = struct\n  def x = 1i32\nend\nmodule N = { include M def y = x + 1 }\n"
     "module O = { module P = { def one = 1i32 } }\ndef z = O.one\n",
     "module M = {\n  def x = 1i32\n}\nmodule N = { open M def y = x + 1 }\n"
     "module O = { module P = { def one = 1i32 } }\ndef z = O.P.one\n", 3),
    ("def f [n] (xs: [n]f32) = lift.slide xs 3 1\ndef g [n] (xs: [n]f32) = lift.pad 1 1 xs 0\n"
     "def h [n] (is: [n]i32): [n]i32 = scatter (replicate n 0) is (replicate n 1)\n"
     "def k [n] (ps: [n](f32, f32)): [n]f32 = map (+) ps\n",
     "def f [n] (xs: [n]f32) = lift.slide 3 1 xs\ndef g [n] (xs: [n]f32) = lift.pad 1 1 0 xs\n"
     "def h [n] (is: [n]i32): [n]i32 = scatter (replicate n 0) (map i64.i32 is) (replicate n 1)\n"
     "def k [n] (ps: [n](f32, f32)): [n]f32 = map (\\(x, y) -> x + y) ps\n", 4),
    ("entry main [n] (xs: [n]f32): [n]f32 = rotate -1 xs\n",
     "entry main [n] (xs: [n]f32): [n]f32 = rotate (-1) xs\n", 1)])
def test_the_command_writes_all_of_them(wrong: str, right: str, places: int, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.fut"
    path.write_text(wrong)
    assert main(["check", "--fix", str(path)]) == 0
    assert path.read_text() == right
    assert f"{places} place{'s' * (places != 1)} changed" in capsys.readouterr().out
    assert main(["check", "--fix", str(path)]) == 0
    assert path.read_text() == right


def test_a_choice_is_left_to_people(tmp_path: Path) -> None:
    path = tmp_path / "a.fut"
    text = "entry main [n] (xs: [n]f32): [n]f32 = init xs\n"
    path.write_text(text)
    assert main(["check", "--fix", str(path)]) == 1
    assert path.read_text() == text


def test_at_most_twenty_errors_are_printed(tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.fut"
    path.write_text("".join(f"def f{k}: i32 = missing{k}\n" for k in range(33)))
    assert main(["check", str(path)]) == 1
    printed = capsys.readouterr().err
    assert printed.count("error[unknown-name]") == 20
    assert printed.rstrip().endswith("… and 13 more errors")
