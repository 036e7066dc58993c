"""Codes of names that stand for nothing, or for two things."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

CODES = (
    Explanation(
        "unknown-name", "a name that nothing defines",
        "Names are defined by declarations before this one, by parameters, and by 'let' and 'loop' "
        "around the place; the prelude defines map, reduce and the like.  A name is also unknown "
        "outside of the expression that binds it, and in declarations before its own.",
        wrong="""\
entry main (xs: []i32): i32 = reduce (+) 0 ys
""", cure="""\
entry main (xs: []i32): i32 = reduce (+) 0 xs
"""),
    Explanation(
        "recursive-function", "recursion through another function, or through a function value",
        "A function may call itself, but not through a function that is defined later.  If one of "
        "its parameters is a function, it hands that on by its name, as in f (n - 1) g, so that "
        "all calls have the same one.  Its result is no function, and has a declared type if there "
        "are arrays in it.",
        wrong="""\
def even (n: i32): bool = n == 0 || odd (n - 1)
def odd (n: i32): bool = n != 0 && even (n - 1)

entry main (n: i32): bool = even n
""", cure="""\
def parity (n: i32) (wanted: bool): bool =
  if n == 0 then wanted else parity (n - 1) (!wanted)

entry main (n: i32): bool = parity n true
"""),
    Explanation(
        "unknown-type", "a type that nothing defines",
        "Types are the primitive ones (i8 to i64, u8 to u64, f32, f64, bool), those of 'type' "
        "declarations before this one, and type parameters, which are declared with an "
        "apostrophe: def f 'a (x: a) = x.",
        wrong="""\
def twice (f: a -> a) (x: a): a = f (f x)

entry main (x: i32): i32 = twice (* 2) x
""", cure="""\
def twice 'a (f: a -> a) (x: a): a = f (f x)

entry main (x: i32): i32 = twice (* 2) x
"""),
    Explanation(
        "duplicate-name", "one name for two things",
        "A file or module defines a name once; a record has a field once, a sum type a constructor "
        "once, and a pattern or a list of parameters a name once.",
        wrong="""\
def scale (x: f32): f32 = 2 * x
def scale (x: f64): f64 = 2 * x

entry main (x: f32): f32 = scale x
""", cure="""\
def scale (x: f32): f32 = 2 * x
def scale_double (x: f64): f64 = 2 * x

entry main (x: f32): f32 = scale x
"""),
    Explanation(
        "not-definable", "an operator that cannot be defined anew",
        "The operators && and || evaluate their second operand only if they must.  A function "
        "cannot do that, so these two cannot be defined by a program.",
        wrong="""\
def (&&) (x: bool) (y: bool): bool = if x then y else false

entry main (x: bool): bool = x && true
""", cure="""\
def (&&&) (x: bool) (y: bool): bool = if x then y else false

entry main (x: bool): bool = x &&& true
"""),
)
