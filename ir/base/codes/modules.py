"""Codes of modules, module types and imported files."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

CODES = (
    Explanation(
        "unknown-module", "a module that nothing defines",
        "Modules are those of 'module' declarations before this one, parameters of modules, and "
        "the built-in ones, which are called as the primitive types: i32, f64, bool.",
        wrong="""\
module vec = { def dot [n] (xs: [n]f32) (ys: [n]f32) = f32.sum (map2 (*) xs ys) }
open vect

entry main [n] (xs: [n]f32): f32 = dot xs xs
""", cure="""\
module vec = { def dot [n] (xs: [n]f32) (ys: [n]f32) = f32.sum (map2 (*) xs ys) }
open vec

entry main [n] (xs: [n]f32): f32 = dot xs xs
"""),
    Explanation(
        "unknown-module-type", "a module type that nothing defines",
        "Module types are those of 'module type' declarations before this one, and those of the "
        "prelude: numeric, integral, real, float, size, from_prim.",
        wrong="""\
module double (m: number) = { def double (x: m.t) = m.(x + x) }
module d = double f32

entry main (x: f32): f32 = d.double x
""", cure="""\
module double (m: numeric) = { def double (x: m.t) = m.(x + x) }
module d = double f32

entry main (x: f32): f32 = d.double x
"""),
    Explanation(
        "missing-member", "a module without something that its module type lists",
        "A module has everything that the module type lists, under the same name.",
        wrong="""\
module type monoid = { type t val zero : t val plus : t -> t -> t }
module sum : monoid with t = i32 = {
  type t = i32
  def plus (x: i32) (y: i32) = x + y
}

entry main (x: i32): i32 = sum.plus x 1
""", cure="""\
module type monoid = { type t val zero : t val plus : t -> t -> t }
module sum : monoid with t = i32 = {
  type t = i32
  def zero = 0i32
  def plus (x: i32) (y: i32) = x + y
}

entry main (x: i32): i32 = x `sum.plus` 1
"""),
    Explanation(
        "not-a-module", "something else where a module must stand",
        "M.(e) evaluates e with the names of the module M.  Before the point stands the name of a "
        "module.",
        wrong="""\
entry main (x: i32): i32 = (x, x).(x + 1)
""", cure="""\
entry main (x: i32): i32 = i32.(x + highest)
"""),
    Explanation(
        "not-a-structure", "a parametric module that is opened",
        "A module with a parameter is a function of modules.  It has names only after it is "
        "applied.",
        wrong="""\
module pair (m: numeric) = { def both (x: m.t) = (x, x) }
open pair

entry main (x: i32) = both x
""", cure="""\
module pair (m: numeric) = { def both (x: m.t) = (x, x) }
open pair i32

entry main (x: i32) = both x
"""),
    Explanation(
        "not-parametric", "a module applied that has no parameter",
        "M N applies the parametric module M to the module N.  This M is an ordinary module.",
        wrong="""\
module one = { def value = 1i32 }
module two = one i32

entry main (x: i32): i32 = x + two.value
""", cure="""\
module one = { def value = 1i32 }
module two = one

entry main (x: i32): i32 = x + two.value
"""),
    Explanation(
        "missing-import", "an imported file that cannot be read",
        "import \"path\" reads path.fut, from the folder of the file that imports it.  If none is "
        "there, import \"std/sort\" and the like read files that come with Runelift "
        "(docs/library.md).  Files of lib/ come from packages (docs/packages.md).",
        wrong="""\
import "vectors"

entry main (x: f32): f32 = double x
""", cure="""\
import "vector"

entry main (x: f32): f32 = double x
-- file: vector.fut
def double (x: f32): f32 = x + x
"""),
    Explanation(
        "cyclic-import", "files that import each other",
        "A file is read before what imports it, so no file can import itself, not even through "
        "others.  Move what both need into a third file.",
        wrong="""\
import "other"

def one = 1i32

entry main (x: i32): i32 = x + two
-- file: other.fut
import "program"

def two = one + one
""", cure="""\
import "other"

entry main (x: i32): i32 = x + two
-- file: other.fut
import "one"

def two = one + one
-- file: one.fut
def one = 1i32
"""),
)
