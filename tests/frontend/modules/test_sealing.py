"""Types that a module type hides."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

PAIR = """
module type pair = { type t val make: i32 -> i32 -> t val + : t -> t -> t val sum: t -> i32 }
module P: pair = {
  type t = (i32, i32)
  def make x y = (x, y)
  def sum (x: t) = x.0 + x.1
  def (a: t) + (b: t) = (a.0 i32.+ b.0, a.1 i32.+ b.1)
}
"""
COUNTER = """
module type counter = { type t val zero: t val next: t -> t val value: t -> i32 }
module N: counter = { type t = i32 def zero = 0i32 def next x = x + 1i32 def value x = x }
"""

ACCEPTED = {
    "values": PAIR + "entry main (x: i32) = P.(sum (make x 1 + make 2 x))",
    "arrays of hidden tuples": PAIR + """
entry main (x: i32) = P.sum (reduce (P.+) (P.make 0 0) (map (P.make x) [1, 2, 3]))""",
    "a hidden type in a record and a loop": PAIR + """
entry main (x: i32) = P.sum (loop r = {v = P.make x 1} for i < 3 do r with v = r.v P.+ r.v).v""",
    "with": """
module M: { type t val f: t -> t } with t = i32 = { type t = i32 def f x = x * 2i32 }
entry main (x: i32) = M.f x + 1""",
    "type parameters": """
module type box = { type box 'a val put 'a: a -> box a val get 'a: box a -> a }
module B: box = { type box 'a = {it: a} def put x = {it = x} def get 'a (b: box a) = b.it }
entry main (x: i32) = B.get (B.put (x + 1)) + i32.f64 (B.get (B.put 2.5))""",
    "sizes": """
module V: { type vec [n] val fill: (n: i64) -> i32 -> vec [n]
            val add [n]: vec [n] -> vec [n] -> i32 }
  = { type vec [n] = [n]i32 def fill n x = replicate n x def add xs ys = i32.sum (map2 (+) xs ys) }
entry main (x: i32) = V.add (V.fill 3 x) (V.fill 3 1)""",
    "definitions in terms of hidden types": """
module M: { type t type many = [3]t val make: i32 -> many val first: t -> i32 }
  = { type t = i32 type many = [3]t def make (x: i32) = [x, x + 1, x + 2] def first (x: t) = x }
entry main (x: i32) = M.first (M.make x)[1]""",
    "modules inside": """
module M: { module A: { type t val one: t } val twice: A.t -> i32 }
  = { module A = { type t = i32 def one = 1i32 } def twice (x: i32) = x + x }
entry main (x: i32) = x + M.twice M.A.one""",
    "a parametric module": COUNTER + """
module twice (C: counter) : (counter with t = C.t)
  = { open C def next (x: C.t) = C.next (C.next x) }
module T = twice N
entry main (x: i32) = N.value (T.next (N.next T.zero)) + x""",
    "functions that hide their type": """
module M: { type^ t val make: i32 -> t val call: t -> i32 -> i32 }
  = { type^ t = i32 -> i32 def make x = (+ x) def call (f: t) x = f x }
entry main (x: i32) = M.call (M.make 3) x""",
    "unique results": """
module M: { type t val make: i32 -> *t val set: *t -> *t val get: t -> i32 }
  = { type t = [2]i32 def make (x: i32) : *[2]i32 = [x, x]
      def set (t: *[2]i32) : *[2]i32 = t with [0] = 7 def get (t: [2]i32) = t[0] + t[1] }
entry main (x: i32) = M.get (M.set (M.make x))""",
}

EXPECTED = {
    "values": 13, "arrays of hidden tuples": 21, "a hidden type in a record and a loop": 48,
    "with": 11, "type parameters": 8, "sizes": 18, "definitions in terms of hidden types": 6,
    "modules inside": 7, "a parametric module": 8, "functions that hide their type": 8,
    "unique results": 12,
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_meaning(name: str) -> None:
    program = runelift.compile(ACCEPTED[name], device="interpreter")
    assert program.main(np.int32(5)) == EXPECTED[name]


REJECTED = {
    "its definition": (COUNTER + "entry main (x: i32) = N.value x", "i32"),
    "in its definition's place": (COUNTER + "entry main = N.zero + 1", "N.t"),
    "the same module sealed twice": (
        COUNTER + "module O: counter = N\nentry main = O.value N.zero", "O.t.*N.t"),
    "a field": ("module M: { type t val x: t } = { type t = {a: i32} def x = {a = 1i32} }\n"
                "entry main = M.x.a", "a"),
    "a constructor": ("module M: { type t val f: t -> i32 } = { type t = #a | #b def f (x: t) = "
                      "match x case #a -> 1i32 case #b -> 2i32 }\nentry main = M.f #a", "M.t"),
    "sizes that no value has": (
        "module M: { type^ t [n] val f [n]: t [n] -> i64 } = "
        "{ type^ t [n] = [n]i32 -> i64 def f [n] (_: t [n]) = n }\nentry main = 1i32",
        "constructively"),
    "another definition": (
        "module M: { type t val f: t -> t } with t = i64 = { type t = i32 def f (x: t) = x }\n"
        "entry main = 1i32", "i64"),
    "use after consumption": (
        "module M: { type t val make: i32 -> *t val set: *t -> *t } = { type t = [2]i32 "
        "def make (x: i32) : *[2]i32 = [x, x] def set (t: *[2]i32) : *[2]i32 = t with [0] = 7 }\n"
        "entry main = let t = M.make 1 let u = M.set t in (t, u)", "consumed"),
    "two sizes": (
        "module V: { type vec [n] val fill: (n: i64) -> vec [n] val add [n]: vec [n] -> vec [n] "
        "-> i32 } = { type vec [n] = [n]i32 def fill n = replicate n 1i32 "
        "def add xs ys = i32.sum (map2 (+) xs ys) }\nentry main = V.add (V.fill 3) (V.fill 4)",
        "vec"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name: str) -> None:
    text, pattern = REJECTED[name]
    with pytest.raises(ProgramError, match=pattern):
        checked(Source("t", text))
