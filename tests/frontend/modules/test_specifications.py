"""What lines of a module type may name, refinement with ``with``, and lifted types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

NUM = "module type num = { type t  val one: t  val add: t -> t -> t }\n"
INT = "module int = { type t = i64  def one = 1i64  def add (x: t) (y: t) = x + y }\n"
KEY = "module type key = { type t  type~ ctx  val hash: ctx -> t -> i64 }\n"

MEANINGS: dict[str, tuple[str, list[Any], Any]] = {
    "a type around refines one of the same name inside": (NUM + INT + """
module type grid = { type t  type~ g [n]  val fill: (n: i64) -> t -> g [n]  val at [n]: g [n] -> t }
module type both = { type t  module grid: grid with t = t  val top: t }
module Mk (N: num): both with t = N.t = {
  type t = N.t
  module grid = { type t = N.t  type~ g [n] = [n]t  def fill n x = replicate n x
                  def at [n] (g: g [n]) = g[0] }
  def top = N.add N.one N.one
}
module B = Mk int
entry main (n: i64) = B.grid.at (B.grid.fill n B.top) + B.top""", [3], 4),
    "a type around refines a parametric one inside": (NUM + INT + """
module type row = { type t  type r [n]  val sum [n]: r [n] -> t }
module type table = { type t  type~ r [n]  module row: { include row with t = t with r [n] = r [n] }
                      val mk: (n: i64) -> r [n] }
module T: table with t = i64 = {
  type t = i64  type r [n] = [n]i64
  module row = { type t = i64  type r [n] = [n]i64  def sum [n] (r: [n]i64) = i64.sum r }
  def mk n = iota n
}
entry main (n: i64) = T.row.sum (T.mk n)""", [5], 10),
    "with reaches into nested module types": (NUM + INT + """
module type deep = { module a: num  module b: { module c: num  val up: c.t -> c.t } }
module D: deep with a.t = i64 with b.c.t = i64 =
  { module a = int  module b = { module c = int  def up (x: i64) = x * 10 } }
entry main (x: i64) = D.a.add x (D.b.up D.b.c.one)""", [3], 13),
    "a type of a module that is listed before": (NUM + INT + """
module type pair = { module F: num  module G: num with t = F.t  val mix: F.t -> G.t }
module P: pair = { module F = int  module G = int  def mix (x: i64) = x + 1 }
module Use (Q: pair) = { def both = Q.G.add (Q.mix Q.F.one) Q.G.one }
module U = Use { module F = int  module G = int  def mix (x: i64) = x + 5 }
entry main = U.both""", [], 7),
    "a value that is listed before as a size": ("""
module type fixed = { val k: i64  val spread: i32 -> [k]i32
                      module sub: { val total: [k]i32 -> i32 } }
module F: fixed = { def k = 3i64  def spread x = replicate k x
                    module sub = { def total [n] (xs: [n]i32) = i32.sum xs } }
entry main (x: i32) = F.sub.total (F.spread x)""", [4], 12),
    "a list included at two depths": (NUM + INT + """
module type twice = { include num  module sub: num with t = t }
module Mk (N: num): twice with t = N.t = {
  open N
  module sub = { type t = N.t  def one = N.add N.one N.one  def add = N.add }
}
module T = Mk int
entry main (x: i64) = T.add x (T.sub.add T.one T.sub.one)""", [3], 6),
    "an argument that the module type refines": (NUM + INT + """
module type maker = { type k  module Make: (P: num with t = k) -> num with t = k }
module M: maker with k = i64 = {
  type k = i64
  module Make (P: num with t = i64) = { type t = i64  def one = P.add P.one P.one  def add = P.add }
}
module R = M.Make int
entry main (x: i64) = R.add x R.one""", [3], 5),
    "another name of an abstract type": ("""
module type named = { type t  type u = t  val f: u -> t }
module N: named with u = i64 = { type t = i64  type u = i64  def f (x: u) = x + 1 }
entry main (x: i64) = N.f x""", [3], 4),
    "a plain name for a type that was declared as lifted": (KEY + """
module type table = { type ctx  val look: ctx -> i64 -> i64 }
module Inner (K: key with ctx = i64): table with ctx = K.ctx =
  { type~ ctx = K.ctx  def look (c: ctx) (k: i64) = c + k }
module Outer (K: key with ctx = i64): table with ctx = K.ctx =
  { module I = Inner K  type ctx = I.ctx  def look = I.look }
module O = Outer { type t = i64  type ctx = i64  def hash (c: i64) (k: i64) = c * k }
entry main (x: i64) = O.look x 4""", [3], 7),
    "signs with space": ("""
type ^ step = i32 -> i32
type ~ list = []i32
module type steps = { type ^s  type
  ~ l  val run: s -> l -> i32 }
module S: steps with s = step with l = list =
  { type^s = step  type ~l = list  def run (f: step) (l: list) = f l[0] }
def twice '^ f (g: (i32 -> i32) -> f) = g (+ 1)
entry main (x: i32) = twice (\\f -> S.run f [x, 2])""", [3], 4),
    "fresh scalars, and tuples and records of fresh parts": ("""
module type maker = {
  type t
  val one: i64 -> *t
  val kept [n]: i64 -> [n]i64 -> *(i64, []i64)
  val each [n]: [n]i64 -> *{first: i64, rest: (bool, [n]i64)}
}
module M: maker with t = f64 = {
  type t = f64
  def one = f64.i64
  def kept [n] (k: i64) (xs: [n]i64) = let ys = filter (> k) xs in (length ys, ys)
  def each [n] (xs: [n]i64) = {first = xs[0], rest = (true, map (+ 1) xs)}
}
entry main [n] (xs: [n]i64) =
  let ys = (M.each xs).rest.1
  let ys[0] = 9
  in i64.sum (M.kept 2 ys).1 + i64.f64 (M.one 1)""", [np.array([1, 2, 3])], 17),
}


@pytest.mark.parametrize(("text", "args", "want"), MEANINGS.values(), ids=MEANINGS)
def test_meaning(text: str, args: list[Any], want: Any) -> None:
    assert runelift.compile(text, device="interpreter").main(*args) == want


@pytest.mark.parametrize(("text", "code"), [
    ("module type s = { type t 'a }\nmodule M: s with t = i32 = { type t 'a = i32 }",
     "type-arguments"),
    ("module type s = { type t }\nmodule M: s with t 'a = i32 = { type t = i32 }",
     "type-arguments"),
    ("module type s = { type t [n] }\nmodule M: s with t = []i32 = { type t [n] = [n]i32 }",
     "type-arguments"),
    ("module type s = { type t 'a }\nmodule M: s with t 'a = (a, i32) = { type t 'a = (a, a) }",
     "type-mismatch"),
    ("module type s = { module a: { type t } }\n"
     "module M: s with b.t = i32 = { module a = { type t = i32 } }", "unknown-type"),
    ("module type s = { type t }\nmodule M: s = { type~ t = []i32 }", "lifted-abbreviation"),
    ("module type s = { type~ t }\nmodule M: s with t = i32 = { type t = i32 }\ntype u = M.t",
     "lifted-abbreviation"),
    ("module type s = { type t  val f: t -> *t }\n"
     "module F (P: s): s = { type t = P.t  def f (x: t) = x }", "unique-result"),
    ("module type s = { val f [n]: [n]i32 -> *([n]i32, [n]i32) }\n"
     "module M: s = { def f [n] (xs: [n]i32) = let ys = map (+ 1) xs in (ys, ys) }",
     "unique-result"),
])
def test_errors(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as error:
        checked(Source("test.fut", text))
    assert error.value.diagnostics[0].code == code


def test_the_message_about_uniqueness_shows_sizes_as_written() -> None:
    text = ("module type s = { val f: i64 -> *[]i64 }\n"
            "module M: s = { def f n : []i64 = iota n }")
    with pytest.raises(ProgramError, match=r"has type \[\]i64, .* specifies \*\[\]i64"):
        checked(Source("test.fut", text))
