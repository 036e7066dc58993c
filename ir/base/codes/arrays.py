"""Codes of sizes, and of arrays that are updated in place."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

CODES = (
    Explanation(
        "size-mismatch", "arrays of sizes that are not known to be equal",
        "The sizes of arrays are a part of their types.  The place asks for an array of one size, "
        "and the compiler cannot see that the given one has it.  If they are equal for a reason "
        "that types cannot express, a coercion e :> [n]t says so; it is checked when the program "
        "runs.",
        wrong="""\
entry main [n] [m] (xs: [n]i32) (ys: [m]i32): [n]i32 = map2 (+) xs ys
""", cure="""\
entry main [n] (xs: [n]i32) (ys: [n]i32): [n]i32 = map2 (+) xs ys
"""),
    Explanation(
        "ambiguous-size", "a size that nothing decides",
        "A size parameter gets its value from the sizes of arguments.  Here no argument has it, "
        "and no type says which size is meant.  An empty array has none for its rows, either: "
        "say it, as in ([] : [0][3]i32).",
        wrong="""\
def zeros [n] (): [n]i32 = replicate n 0

entry main (x: i32): i32 = x + i32.sum (zeros ())
""", cure="""\
def zeros (n: i64): [n]i32 = replicate n 0

entry main (x: i32): i32 = x + i32.sum (zeros 3)
"""),
    Explanation(
        "unused-size", "a size parameter that no array has",
        "A size parameter of a type stands for a size within it.  One that does not occur could "
        "not be found from a value of the type.",
        wrong="""\
type matrix [n] [m] = [n][n]f32

entry main [n] (a: matrix [n] [n]): [n][n]f32 = a
""", cure="""\
type matrix [n] [m] = [n][m]f32

entry main [n] (a: matrix [n] [n]): [n][n]f32 = a
"""),
    Explanation(
        "anonymous-size", "an argument whose size has no name in a module type",
        "In a module type, [] as the size of an argument does not say whether other sizes are the "
        "same.  Name it: val f [n] : [n]i32 -> i32.",
        wrong="""\
module type summing = { val total : []i32 -> i32 }
module sums : summing = { def total [n] (xs: [n]i32) = i32.sum xs }

entry main (xs: []i32): i32 = sums.total xs
""", cure="""\
module type summing = { val total [n] : [n]i32 -> i32 }
module sums : summing = { def total [n] (xs: [n]i32) = i32.sum xs }

entry main (xs: []i32): i32 = sums.total xs
"""),
    Explanation(
        "anonymous-nonconstructive", "a size of a type that its values do not have",
        "[] in a type stands for the size that a value of the type has.  An array that a function "
        "in the type takes or returns is no part of the value, so nothing would decide about its "
        "size.  Make it a parameter of the type.",
        wrong="""\
type^ measure = []f32 -> f32

def mean (f: measure) (xs: []f32): f32 = f xs

entry main (xs: []f32): f32 = mean f32.sum xs
""", cure="""\
type^ measure [n] = [n]f32 -> f32

def mean [n] (f: measure [n]) (xs: [n]f32): f32 = f xs

entry main (xs: []f32): f32 = mean f32.sum xs
"""),
    Explanation(
        "unused-existential", "a size in front of a type whose values do not have it",
        "?[n].t says that a value of type t comes with a size n.  There must be an array of this "
        "size in t, outside of functions, or nothing decides which n it is.",
        wrong="""\
def upto: i64 -> ?[n].bool -> [n]i64 = \\n _ -> iota n

entry main (n: i64): []i64 = upto n true
""", cure="""\
def upto: i64 -> bool -> ?[n].[n]i64 = \\n _ -> filter (> 0) (iota n)

entry main (n: i64): []i64 = upto n true
"""),
    Explanation(
        "inaccessible-size", "a size in a result that is a part of a parameter",
        "The sizes in the type of a result are seen by callers of the function, who know a "
        "parameter only as a whole.  Give it a name, and write p.0 or p.x for its component.",
        wrong="""\
def counted (n: i64, first: i64): [n]i64 = map (+ first) (iota n)

entry main (n: i64): []i64 = counted (n, 1)
""", cure="""\
def counted (p: (i64, i64)): [p.0]i64 = map (+ p.1) (iota p.0)

entry main (n: i64): []i64 = counted (n, 1)
"""),
    Explanation(
        "unknown-param-size", "a function takes an array of a hidden size",
        "A function, or one that it returns, takes an array whose size only a function's body "
        "knows, so it cannot be called.  Make the size a parameter of the outer function, or say "
        "in the body, with a size coercion, that the array has it.",
        wrong="""\
def adder (xs: []i32) =
  let small = filter (< 10) xs
  let n = length small
  in \\(ys: [n]i32) -> map2 (+) (small :> [n]i32) ys

entry main (xs: []i32): i32 = let _ = adder xs in 1
""", cure="""\
def adder [n] (xs: []i32) =
  let small = filter (< 10) xs
  in \\(ys: [n]i32) -> map2 (+) (small :> [n]i32) ys

entry main (xs: []i32): []i32 = adder xs [1, 2]
"""),
    Explanation(
        "causality-check", "a size that is needed before it is computed",
        "Values are computed from left to right.  The type of this expression has a size that "
        "another expression computes later, or a part of the expression itself.  Compute that one "
        "first and give it a name with let.",
        wrong="""\
entry main (xs: []i32) (xss: [][]i32) = map (filter (> 0) xs ++) xss
""", cure="""\
entry main (xs: []i32) (xss: [][]i32) =
  let positive = filter (> 0) xs
  in map (positive ++) xss
"""),
    Explanation(
        "irregular-array", "a map that may make rows of different sizes",
        "All rows of an array have the same size, and it is known before the rows are made.  Here "
        "only the function that makes a row knows how long it is.  If all rows are equally long, "
        "say how long they are with a coercion; if not, flatmap' joins them to one flat array.",
        wrong="""\
entry main (ns: []i64): [][]i64 = map (\\n -> iota n) ns
""", cure="""\
entry main (ns: []i64): [][]i64 = map (\\n -> iota n :> [3]i64) ns
"""),
    Explanation(
        "size-polymorphic-entry", "a size of an entry point's result that nothing decides",
        "A function may be called for any size of its result, and the use of the result decides.  "
        "An entry point is called from outside, where no types decide.  Say the size in the type "
        "of the result.",
        wrong="""\
entry main (n: i64): (i64, [][]i32) = (n, [])
""", cure="""\
entry main (n: i64): (i64, [][n]i32) = (n, [])
"""),
    Explanation(
        "use-after-consume", "an array that is looked at after it was overwritten",
        "An update a with [i] = x and a call that takes *[n]t may overwrite the array where it "
        "stands.  Afterwards neither the array nor anything that may share its memory can be used. "
        "Use it before, use the new array, or update a copy.",
        wrong="""\
entry main [n] (xs: *[n]i32): i32 =
  let ys = xs with [0] = 1
  in ys[0] + xs[0]
""", cure="""\
entry main [n] (xs: *[n]i32): i32 =
  let ys = copy xs with [0] = 1
  in ys[0] + xs[0]
"""),
    Explanation(
        "not-consumable", "an array overwritten that belongs to the caller or the program",
        "The caller of a function may go on using the arguments, unless the parameter is declared "
        "with a star: *[n]t.  Constants of the program are not to be overwritten either.",
        wrong="""\
entry main [n] (xs: [n]i32): [n]i32 = xs with [0] = 1
""", cure="""\
entry main [n] (xs: *[n]i32): [n]i32 = xs with [0] = 1
"""),
    Explanation(
        "write-through-window", "windows or margins of an array overwritten",
        "lift.slide and lift.pad show elements of an array in other places: one element in several "
        "windows, or a margin that is stored nowhere.  So there is no place to write to.  Update "
        "the array before, or a copy of what is shown.",
        wrong="""\
entry main [n] (xs: *[n]i32): []i32 =
  let padded = lift.pad 1 1 0 xs
  in padded with [0] = 5
""", cure="""\
entry main [n] (xs: *[n]i32): []i32 =
  let padded = copy (lift.pad 1 1 0 xs)
  in padded with [0] = 5
"""),
    Explanation(
        "consume-free", "an array from outside overwritten many times",
        "The body of a function or loop runs many times, perhaps at once, so it must not overwrite "
        "an array that was made outside of it.  Make the array inside, copy it, or carry it along "
        "as a parameter of the loop.",
        wrong="""\
entry main (k: i64): []i32 =
  let xs = replicate 10 0
  in map (\\i -> (xs with [i] = 1)[0]) (iota k)
""", cure="""\
entry main (k: i64): []i32 =
  let xs = replicate 10 0
  in map (\\i -> (copy xs with [i] = 1)[0]) (iota k)
"""),
    Explanation(
        "self-alias", "an array overwritten with a part of itself",
        "The new value of an update, or another argument of a call that consumes, may share memory "
        "with the array that is overwritten, so it would change while it is read.",
        wrong="""\
entry main [n] (xss: *[n][n]i32): [n][n]i32 = xss with [0] = xss[1]
""", cure="""\
entry main [n] (xss: *[n][n]i32): [n][n]i32 = xss with [0] = copy xss[1]
"""),
    Explanation(
        "loop-self-alias", "two values of a loop that start as one array, which is overwritten",
        "A loop that overwrites one of its values takes over the array that the value starts from."
        "  No other value of the loop may start from that array or a part of it.",
        wrong="""\
entry main [n] (xs: *[n]i32): ([n]i32, [n]i32) =
  loop (new, old) = (xs, xs) for i < n do
    (new with [i] = old[n - 1 - i], old)
""", cure="""\
entry main [n] (xs: *[n]i32): ([n]i32, [n]i32) =
  loop (new, old) = (copy xs, xs) for i < n do
    (new with [i] = old[n - 1 - i], old)
"""),
    Explanation(
        "unique-result", "a result with a star that may share memory",
        "A result *[n]t promises that nothing else has the array, so that the caller may overwrite "
        "it.  Here an argument without a star, or another component of the result, may share its "
        "memory.",
        wrong="""\
def start [n] (xs: [n]i32): *[n]i32 = xs

entry main [n] (xs: [n]i32): [n]i32 = start xs with [0] = 1
""", cure="""\
def start [n] (xs: [n]i32): *[n]i32 = copy xs

entry main [n] (xs: [n]i32): [n]i32 = start xs with [0] = 1
"""),
    Explanation(
        "unique-constant", "a constant with a star",
        "A constant is there for the whole program, so no part of the program may overwrite it.",
        wrong="""\
def zeros: *[10]i32 = replicate 10 0

entry main (i: i64): i32 = zeros[i]
""", cure="""\
def zeros: [10]i32 = replicate 10 0

entry main (i: i64): i32 = zeros[i]
"""),
    Explanation(
        "returns-constant", "a function that returns a constant of the program",
        "The caller may overwrite what a function returns, which would change the constant.",
        wrong="""\
def zeros: [10]i32 = replicate 10 0

def start (_: i32): [10]i32 = zeros

entry main (x: i32): [10]i32 = start x
""", cure="""\
def zeros: [10]i32 = replicate 10 0

def start (_: i32): [10]i32 = copy zeros

entry main (x: i32): [10]i32 = start x
"""),
)
