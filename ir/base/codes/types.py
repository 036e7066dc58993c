"""Codes of values of a wrong type."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

CODES = (
    Explanation(
        "type-mismatch", "a value of another type than the place asks for",
        "The place asks for one type, and the expression has another one.  Nothing is converted "
        "silently: i64.i32 x makes an i64 of an i32, f32.i64 x a float of an i64, and so on.  A "
        "number without a suffix takes the type that its use asks for.",
        wrong="""\
entry main [n] (xs: [n]f32): f32 = f32.sum xs / n
""", cure="""\
entry main [n] (xs: [n]f32): f32 = f32.sum xs / f32.i64 n
"""),
    Explanation(
        "ambiguous-type", "nothing says which type this is",
        "A field or constructor is used, but nothing says which record or sum type the value is "
        "of.  Say it at the parameter, or give the value a type: (e : t).",
        wrong="""\
entry main (x: i32): bool =
  let up = #up
  in x > 0
""", cure="""\
type direction = #up | #down

entry main (x: i32): bool =
  let up = #up : direction
  in x > 0
"""),
    Explanation(
        "not-a-function", "something applied that is no function",
        "Application is written by putting the argument behind the function: f x.  So x y means "
        "that x is a function; an operator between them may be missing.",
        wrong="""\
entry main (x: i32) (y: i32): i32 = 2 * x y
""", cure="""\
entry main (x: i32) (y: i32): i32 = 2 * x * y
"""),
    Explanation(
        "too-many-arguments", "a function with more arguments than it takes",
        "The result of the function after its last parameter is not a function.  An argument that "
        "is itself an application needs parentheses: f (g x), not f g x.",
        wrong="""\
def square (x: i32): i32 = x * x

entry main (x: i32): i32 = square x 2
""", cure="""\
def square (x: i32): i32 = x * x

entry main (x: i32): i32 = square x * 2
"""),
    Explanation(
        "function-not-allowed", "a function where only data can be",
        "All functions are gone when a program is compiled, so it must be known at each place "
        "which function is meant.  Functions cannot be elements of arrays, results of branches "
        "and loops, or parts of a type that is not declared with type^.",
        wrong="""\
entry main (c: bool) (x: i32): i32 =
  let f = if c then \\y -> y + x else \\y -> y * x
  in f 2
""", cure="""\
entry main (c: bool) (x: i32): i32 =
  let f = \\y -> if c then y + x else y * x
  in f 2
"""),
    Explanation(
        "unknown-field", "a field that the record does not have",
        "The type of the value is known, and it has no field of this name.  The components of a "
        "tuple are the fields 0, 1, and so on.",
        wrong="""\
entry main (p: {x: f32, y: f32}): f32 = p.x + p.z
""", cure="""\
entry main (p: {x: f32, y: f32}): f32 = p.x + p.y
"""),
    Explanation(
        "wrong-rank", "more indices than dimensions",
        "An array of type [n][m]t takes one or two indices.  What is left after them is no array "
        "and cannot be indexed further.",
        wrong="""\
entry main (xs: []i32): i32 = xs[0, 1]
""", cure="""\
entry main (xss: [][]i32): i32 = xss[0, 1]
"""),
    Explanation(
        "bad-pattern", "a pattern that no value of the type fits",
        "A pattern for a tuple has as many parts as the tuple, one for a record all of its fields, "
        "and one for a constructor as many parts as the constructor has values.",
        wrong="""\
entry main (x: i32): i32 =
  let (a, b) = (x, x + 1, x + 2)
  in a * b
""", cure="""\
entry main (x: i32): i32 =
  let (a, b, _) = (x, x + 1, x + 2)
  in a * b
"""),
    Explanation(
        "incomplete-match", "a value that no pattern fits",
        "Every value of the type must be covered by a case, because nothing can be returned for "
        "others.  The message shows a value that is not.  Patterns of let, parameters and loops "
        "have only one case, so they must fit every value.",
        wrong="""\
entry main (x: #left i32 | #right i32 | #none): i32 =
  match x
  case #left n -> -n
  case #right n -> n
""", cure="""\
entry main (x: #left i32 | #right i32 | #none): i32 =
  match x
  case #left n -> -n
  case #right n -> n
  case #none -> 0
"""),
    Explanation(
        "bad-entry", "an entry point that cannot be called from outside",
        "The caller of an entry point passes and receives data.  Its parameters and result cannot "
        "be functions or have type parameters.",
        wrong="""\
entry main (f: i32 -> i32) (x: i32): i32 = f x
""", cure="""\
def apply (f: i32 -> i32) (x: i32): i32 = f x

entry main (x: i32): i32 = apply (+ 1) x
"""),
    Explanation(
        "type-arguments", "a type with other parameters than it takes",
        "A type that is declared with parameters is used with as many sizes and types, sizes in "
        "brackets.  A type of a module has the parameters that its module type lists.",
        wrong="""\
type grid [n] [m] 't = [n][m]t

def flip [n] [m] (g: grid [n] f32): [m][n]f32 = transpose g
""", cure="""\
type grid [n] [m] 't = [n][m]t

def flip [n] [m] (g: grid [n] [m] f32): [m][n]f32 = transpose g
"""),
    Explanation(
        "lifted-element", "an array of a type that may hold functions or hide sizes",
        "All elements of an array have the same size, and none is a function.  A type declared "
        "with type~ or type^ and a type parameter '^a promise neither.",
        wrong="""\
def count '^a [n] (xs: [n]a): i64 = length xs
""", cure="""\
def count 'a [n] (xs: [n]a): i64 = length xs
"""),
    Explanation(
        "lifted-abbreviation", "a type that hides sizes in the definition of one that does not",
        "type t = ... promises that all values of t have the same form, so that there are arrays "
        "of t.  The definition uses a type declared with type~, whose values may differ in "
        "size.  Declare it with type~ too.",
        wrong="""\
type~ word = ?[n].[n]u8
type line = (i32, word)

entry main (x: i32): i32 = x
""", cure="""\
type~ word = ?[n].[n]u8
type~ line = (i32, word)

entry main (x: i32): i32 = x
"""),
)
