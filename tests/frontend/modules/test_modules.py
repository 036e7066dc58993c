"""The module language: what it means, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import check
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.files import read_source

I32 = np.int32

PROGRAMS: dict[str, tuple[str, list[Any], Any]] = {
    "members": ("module M = { def one = 1i32 def two = one + one }\nentry main = M.two", [], 2),
    "nested": ("module M = { module N = { def f (x: i32) = x * 3 } }\nentry main x = M.N.f x",
               [I32(5)], 15),
    "open": ("module M = { def f (x: i32) = x + 1 }\nopen M\nentry main x = f x", [I32(5)], 6),
    "local": ("module M = { local def f (x: i32) = x + 1 def g x = f (f x) }\nentry main x = M.g x",
              [I32(5)], 7),
    "shadowing": ("def x = 1i32\nmodule M = { def y = x def x = 10i32 def z = x }\n"
                  "entry main = (M.y + M.z, x).0", [], 11),
    "variables hide modules": ("module m = { def f (x: i32) = x }\n"
                               "entry main (a: i32) = let m = {f = a + 1} in m.f", [I32(5)], 6),
    "types": ("module M = { type t = i32 def zero: t = 0 }\nentry main (x: M.t): M.t = x + M.zero",
              [I32(5)], 5),
    "ascription makes a function less general": (
        "module type S = { type t val f [n]: [n]t -> *[n]t }\n"
        "module F (P: real) : S with t = P.t = { type t = P.t def f = copy }\n"
        "module M = F f32\nentry main = M.f", [np.array([5], np.float32)], [5]),
    "operators": ("module M = { def (+++) (x: i32) (y: i32) = 10 * x + y }\n"
                  "entry main x = x M.+++ 2", [I32(5)], 52),
    "ascription": ("module type S = { type t val f: t -> t }\n"
                   "module M: S with t = i32 = { type t = i32 def g (x: t) = x + 1 "
                   "def f x = g (g x) }\nentry main x = M.f x", [I32(5)], 7),
    "parametric": ("module type S = { type t val plus: t -> t -> t val zero: t }\n"
                   "module Sum (P: S) = { def sum [n] (xs: [n]P.t) = reduce P.plus P.zero xs }\n"
                   "module A = Sum { type t = i32 def plus (x: t) y = x + y def zero = 0i32 }\n"
                   "module B = Sum { type t = f32 def plus (x: t) y = x * y def zero = 1f32 }\n"
                   "entry main [n] (xs: [n]i32) = A.sum xs + i32.f32 (B.sum (map f32.i32 xs))",
                   [np.array([2, 3, 4], I32)], 33),
    "numeric parameters": ("module Twice (R: numeric) = { def f (x: R.t) = x R.+ x }\n"
                           "module T = Twice i32\nentry main x = T.f x", [I32(5)], 10),
    "higher order": ("module type S = { val x: i32 }\n"
                     "module Apply (F: (P: S) -> S) = F { def x = 20i32 }\n"
                     "module M = Apply (\\(P: S) -> { def x = P.x + 1 })\n"
                     "entry main = M.x", [], 21),
    "curried": ("module type S = { val x: i32 }\n"
                "module F (P: S) (Q: S) = { def y = P.x - Q.x }\n"
                "module M = F { def x = 7i32 } { def x = 2i32 }\nentry main = M.y", [], 5),
    "include": ("module type A = { val x: i32 }\nmodule type B = { include A val y: i32 }\n"
                "module M: B = { def x = 1i32 def y = 2i32 }\nentry main = M.x + M.y", [], 3),
    "include after a type": (
        "module type S = { type t include { type u val f: t -> u } }\n"
        "module M: S with t = i32 with u = i64 = { type t = i32 type u = i64 def f = i64.i32 }\n"
        "entry main (x: i32) = i32.i64 (M.f x)", [I32(3)], 3),
    "sizes": ("module M = { def f [n] (xs: [n]i32) = i32.i64 n }\nentry main [n] (xs: [n]i32) = "
              "M.f xs", [np.zeros(4, I32)], 4),
}


@pytest.mark.parametrize(("text", "args", "want"), PROGRAMS.values(), ids=PROGRAMS)
def test_meaning(text: str, args: list[Any], want: int) -> None:
    assert runelift.compile(text, device="interpreter").main(*args) == want


@pytest.mark.parametrize(("text", "code", "place"), [
    ("entry main (x: i32) = N.f x", "unknown-field|ambiguous-type|unknown-name", "1:23"),
    ("module M = { def f (x: i32) = x }\nentry main x = M.g x", "unknown-name", "2:16"),
    ("module M = N", "unknown-module", "1:12"),
    ("module M: S = { def x = 1i32 }", "unknown-module-type", "1:11"),
    ("module M: { val y: i32 } = { def x = 1i32 }", "missing-member", "1:28"),
    ("module M: { val x: i32 } = { def x = 1i32 def y = 2i32 }\nentry main = M.y",
     "unknown-name", "2:14"),
    ("module M = { def x = 1i32 }\nmodule N = M {}", "not-parametric", "2:12"),
    ("module M: { val f: i32 -> i32 } = { def f 'a (x: a) = x }\nentry main = M.f 1i64",
     "type-mismatch", "2:18"),
    ("module F (P: {}) = {}\nopen F", "not-a-structure", "2:1"),
    ('import "nowhere"', "missing-import", "1:1"),
    ("entry main (x: M.t) = x", "unknown-module", "1:16"),
])
def test_errors(text: str, code: str, place: str) -> None:
    with pytest.raises(ProgramError, match=rf":{place}: error\[({code})\]"):
        runelift.compile(text, device="interpreter")


@pytest.mark.parametrize(("parameter", "body", "wrong"), [
    ("P: {type t val x: t}", "def f = P.x + 1", "P.x"),
    ("P: {type t val f: t -> i32}", "def f (x: i32) = P.f x", "x"),
    ("P: numeric", "def f (x: P.t) = x P.+ 1f32", "1f32"),
    ("P: numeric", "def f (x: P.t) = P.sqrt x", "P.sqrt"),
    ("P: real", "def f (x: P.t) = P.to_bits x", "P.to_bits"),
    ("P: integral", "def f (x: P.t): P.t = P.popc x", "P.popc x"),
    ("P: real with t = f32", "def f (x: P.t): f64 = x", "x"),
    ("P: {include float val x: i32}", "def f = P.(x + epsilon)", "x"),
    ("P: {module N: real}", "def f (y: P.N.t) = f32.sqrt y", "y"),
    ("P: {type t [n] val f [n]: t [n] -> i64}", "def f [n] (x: P.t [n]): P.t [n+1] = x", "x"),
    ("P: {}) (Q: {val y: i32}", "def f: f32 = Q.y", "Q.y"),
])
def test_the_body_of_a_parametric_module_is_checked(parameter: str, body: str,
                                                    wrong: str) -> None:
    with pytest.raises(ProgramError) as caught:
        runelift.compile(f"module F ({parameter}) = {{ {body} }}\nentry main = 1i32",
                         device="interpreter")
    assert [each.span.text for each in caught.value.diagnostics] == [wrong]


@pytest.mark.parametrize(("parameter", "body"), [
    ("P: {type t val x: t}", "def f = [P.x, P.x] def g: P.t = f[0]"),
    ("P: real", "def f (x: P.t) = P.(sqrt (x + f64 0.5) < pi && i32 1 == x)"),
    ("P: real", "def f [n] (xs: [n]P.t) = P.(sum xs / i64 n) |> P.to_i64"),
    ("P: float", "def f (x: P.t) = P.from_bits (P.to_bits x)"),
    ("P: integral", "def f (x: P.t) = P.popc (x P.& P.highest P.>> P.u8 3) + 1"),
    ("P: real with t = f32", "def f (x: P.t) = x + 1f32"),
    ("P: {include float val y: t}", "def f = P.(y + epsilon)"),
    ("P: {module N: real}", "open P.N def f (x: t) = sqrt x"),
    ("P: {type t [n] 'a val f [n] 'a: t [n] a -> [n]a}", "def f [n] (x: P.t [n] i32) = P.f x"),
    ("P: {type^ t val f: t -> i32}) (Q: {type u val g: u -> P.t}", "def h x = P.f (Q.g x)"),
    ("P: {val f: (n: i64) -> [n]i32 val g [n]: *[n]i32 -> []i32}", "def h = P.g (P.f 3)"),
])
def test_parametric_modules_that_are_right(parameter: str, body: str) -> None:
    program = runelift.compile(f"module F ({parameter}) = {{ {body} }}\nentry main = 1i32",
                               device="interpreter")
    assert program.main() == 1


def test_a_module_lambda_says_what_it_makes() -> None:
    text = """
module type T = {{ val x : i32 }}
module F = \\(P: T) : {made} -> {{ def x = P.x * 3 }}
module M = F {{ def x = 2i32 }}
entry main = M.x"""
    for made in ("T", "(T)", "{ val x : i32 }"):
        assert runelift.compile(text.format(made=made), device="interpreter").main() == 6


def test_what_is_abstract_may_be_returned_by_any_instance() -> None:
    """Also where it is an array that the argument of the parametric module has as a constant."""
    program = runelift.compile("""
module type monoid = { type t val zero : t val op : t -> t -> t }
module over (M: monoid) = {
  def none (_: i32) : M.t = M.zero
  def all [n] (xs: [n]M.t) = reduce M.op M.zero xs
}
module vectors = over { type t = [2]i32 def zero : t = [0, 1] def op = map2 (i32.+) }
entry all (xs: [][2]i32) = vectors.all xs
entry none (i: i64) = let a = vectors.none 1 in (a with [i] = 7, vectors.none 2)
""", device="interpreter")
    assert program.all(np.array([[1, 2], [3, 4]], np.int32)).tolist() == [4, 7]
    assert [each.tolist() for each in program.none(0)] == [[7, 1], [0, 1]]
    with pytest.raises(ProgramError, match="aliases the free variable"):
        runelift.compile("module F (P: {val n: i64}) = { def k = [1, 2] def f (x: i32) = k }\n"
                         "entry main = 1i32", device="interpreter")


@pytest.mark.parametrize("text", [
    "entry main = let i8 = {i32 = 7i32} in i8.i32",
    "def i8 = {i32 = 7i32} entry main = i8.i32",
    "module m = {def f32 = {max = {x = 7i32}}} open m entry main = f32.max.x",
    "def f (i64: {i32: i32}) = i64.i32 entry main = f {i32 = 7}",
    "entry main = (loop u8 = {abs = 0i32} for _i < 7i32 do {abs = u8.abs + 1}).abs",
    "entry main = (let i8 = 6i32 in i8) + i32.i8 (i8.i32 1)",
])
def test_values_hide_built_in_modules(text: str) -> None:
    assert runelift.compile(text, device="interpreter").main() == 7
    with pytest.raises(ProgramError, match="has no field 'max'"):
        runelift.compile("entry main (x: i32) = let f32 = x in f32.max x 2", device="interpreter")


def test_what_an_opened_module_keeps_to_itself() -> None:
    text = "open {opened}\nentry main = {name}"
    for opened in ("{ local def z = 3i32 def w = z }",
                   "({ def z = 3i32 def w = z } : { val w : i32 })"):
        program = runelift.compile(text.format(opened=opened, name="w"), device="interpreter")
        assert program.main() == 3
        with pytest.raises(ProgramError, match="Unknown variable 'z'"):
            runelift.compile(text.format(opened=opened, name="z"), device="interpreter")


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "base.fut").write_text("def two = 2i32\nentry hidden = 1i32")
    (tmp_path / "lib" / "more.fut").write_text('local import "base"\ndef four = two + two')
    main = tmp_path / "main.fut"
    main.write_text('import "lib/more"\nmodule B = import "lib/base"\nentry main = four + B.two')
    program = runelift.compile(main, device="interpreter")
    assert program.main() == 6
    assert list(program.entries) == ["main"]


def test_cyclic_imports(tmp_path: Path) -> None:
    (tmp_path / "a.fut").write_text('import "b"')
    (tmp_path / "b.fut").write_text('import "a"')
    (tmp_path / "main.fut").write_text('import "a"\nentry main = 1i32')
    with pytest.raises(ProgramError, match=r"b\.fut:1:1: error\[cyclic-import\]"):
        runelift.compile(tmp_path / "main.fut", device="interpreter")


def test_error_in_an_imported_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.fut").write_text("def x = y")
    (tmp_path / "main.fut").write_text('import "a"\nentry main = x')
    with pytest.raises(ProgramError, match=r"a\.fut:1:9: error\[unknown-name\]"):
        runelift.compile(tmp_path / "main.fut", device="interpreter")


@pytest.mark.parametrize(("named", "shown"), [("sub/t.fut", "sub/a.fut:1:23"),
                                              ("{}/sub/t.fut", "{}/sub/a.fut:1:23")])
def test_imported_files_are_named_as_the_program_is(
        named: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.fut").write_text("def f (x: i32): f32 = x")
    (tmp_path / "sub" / "t.fut").write_text('import "../sub/a"\nentry main (x: i32) = f x')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProgramError) as error:
        check(read_source(Path(named.format(tmp_path))))
    assert str(error.value).startswith(shown.format(tmp_path))
