"""Hints about natural mistakes: their words, and the program that follows from them.

Each kind has its neighbours.  A line is changed as the hint says, and then the program is right.
"""

from __future__ import annotations

import pytest

from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError, Replacement
from runelift.ir.base.source import Source

ROW = "entry main [n] (xs: [n]f64) (ys: [n]f64) (s: f64): [n]f64 = "
MATRIX = "entry main [n][m] (a: [n][m]f64) (b: [n][m]f64) (r: [m]f64): "


def hints_of(program: str) -> list[str]:
    """The hints of the first mistake in a program."""
    with pytest.raises(ProgramError) as caught:
        checked(Source("a.fut", program))
    first = min(caught.value.diagnostics, key=lambda each: each.span.start)
    return [each if not isinstance(each, Replacement) or each.span else Replacement(
        each, each.new, first.span) for each in first.hints]


@pytest.mark.parametrize(("head", "wrong", "right"), [
    # operators and functions of single values, along arrays
    (ROW, "xs * 2 + 1", r"map (\x -> x * 2 + 1) xs"),
    (ROW, "(xs - s) ** 2", r"map (\x -> (x - s) ** 2) xs"),
    (ROW, "xs * ys + s", r"map2 (\x y -> x * y + s) xs ys"),
    (ROW, "f64.sqrt (xs * xs + ys * ys)", r"map2 (\x y -> f64.sqrt (x * x + y * y)) xs ys"),
    (ROW, "1 / (1 + f64.exp (-xs))", r"map (\x -> 1 / (1 + f64.exp (-x))) xs"),
    (ROW, "xs / n", r"map (\x -> x / f64.i64 n) xs"),
    (ROW, "xs / length xs", r"map (\x -> x / f64.i64 (length xs)) xs"),
    (ROW, "iota n * 0.5", r"map (\x -> f64.i64 x * 0.5) (iota n)"),
    (ROW, "f64.max 0 xs", "map (f64.max 0) xs"),
    (ROW, "f64.max xs s", r"map (\x -> f64.max x s) xs"),
    (ROW, "filter (xs > 0) xs :> [n]f64", "filter (> 0) xs :> [n]f64"),
    ("entry main (xs: []f64): bool = ", "any (xs > 0)", "any (> 0) xs"),
    (ROW, "if xs > 0 then 0 else xs", r"map (\x -> if x > 0 then 0 else x) xs"),
    ("entry main [n] (xs: [n]f64): i64 = ", "if xs > 0 then 1 else 0",
     "if (and (map (> 0) xs)) then 1 else 0"),
    (MATRIX + "[n][m]f64 = ", "a + 0.1 * (rotate 1 a - 2 * a)",
     r"map2 (map2 (\x y -> x + 0.1 * (y - 2 * x))) a (rotate 1 a)"),
    (ROW, "-xs", r"map (\x -> -x) xs"),
    (ROW, "if xs > 0 then xs else s", r"map (\x -> if x > 0 then x else s) xs"),
    (MATRIX + "[n][m]f64 = ", "(a - 3) / 2", r"map (map (\x -> (x - 3) / 2)) a"),
    (MATRIX + "[n][m]f64 = ", "a * b - 1", r"map2 (map2 (\x y -> x * y - 1)) a b"),
    (MATRIX + "[n][m]f64 = ", "a - r", r"map (\row -> map2 (-) row r) a"),
    # arrays of arrays, where one of numbers is wanted
    (MATRIX + "[n][m]f64 = ", "map f64.sqrt a", "map (map f64.sqrt) a"),
    (MATRIX + "[n][m]f64 = ", "a |> map (* 2)", "a |> map (map (* 2))"),
    (MATRIX + "[n][m]f64 = ", "map2 (+) a b", "map2 (map2 (+)) a b"),
    (MATRIX + "[n][m]f64 = ", "scan (+) 0 a", "map (scan (+) 0) a"),
    (MATRIX + "f64 = ", "f64.sum a", "f64.sum (flatten a)"),
    (MATRIX + "[n]f64 = ", "f64.sum a", "map f64.sum a"),
    (MATRIX + "f64 = ", "reduce (+) 0 a", "reduce (+) 0 (flatten a)"),
    (MATRIX + "[n]f64 = ", "reduce f64.max 0 a", "map (reduce f64.max 0) a"),
    (MATRIX + "f64 = ", "a |> f64.maximum", "a |> flatten |> f64.maximum"),
    (MATRIX + "[]f64 = ", "filter (> 0) a", "filter (> 0) (flatten a)"),
    ("def dot (a: []f64) (b: []f64): f64 = f64.sum (map2 (*) a b)\n" + MATRIX + "[n]f64 = ",
     "dot a r", r"map (\row -> dot row r) a"),
    # numbers of another type
    ("entry main: []i64 = ", "iota 1e3", "iota 1000"),
    ("entry main: []i32 = ", "replicate 4.0 1", "replicate 4 1"),
    ("entry main (n: i64): []f64 = ", "map (* 0.1) (iota n)",
     "map (* 0.1) ((map f64.i64 (iota n)))"),
    ("entry main (xs: []i32): i64 = ", "i64.sum xs", "i64.sum (map i64.i32 xs)"),
    ("entry main (xs: []i32): i32 = ", "i64.sum xs", "i32.sum xs"),
    # calls and their arguments
    ("entry main (x: f64): f64 = ", "f64.sqrt f64.abs x", "f64.sqrt (f64.abs x)"),
    ("entry main (x: f64) (y: f64): f64 = ", "x.max(y)", "f64.max x y"),
    ("entry main (xs: []i32): []i32 = ", "xs.take(3)", "take 3 xs"),
    ("entry main (xs: []i32): []i32 = ", r"xs.map(\x -> x + 1)", r"map (\x -> x + 1) xs"),
    ("def f (x: f64) (y: f64) = x * y\nentry main (p: (f64, f64)): f64 = ", "f p", "f p.0 p.1"),
    ("entry main (xs: []i32): i32 = ", "reduce i32.min i32.max xs",
     "reduce i32.min i32.highest xs"),
    ("entry main (xs: []f32) (x: f32): []f32 = ", "map2 (*) xs x",
     "map2 (*) xs (map (const x) xs)"),
    ("entry main (xs: []i64): f64 = 1 / ", "(length xs) as f64", "f64.i64 (length xs)"),
    ("entry main (a: bool) (b: bool): bool = ", "a xor b", "a != b"),
    ("entry main (a: []f64) (b: []f64): []f64 = ", "[a, b]", "a ++ b"),
    # names that have ended
    ("entry main (n: i64): i64 = let ",
     "r = loop (x, k) = (n, 0) while x > 1 do (x / 2, k + 1) in k",
     "(x, k) = loop (x, k) = (n, 0) while x > 1 do (x / 2, k + 1) in k"),
    ("entry main (n: i64): i64 = let r = loop acc = 0 for i < n do acc + i in ", "acc", "r"),
    # syntax
    ("", "type grid n = [n][n]f64", "type grid [n] = [n][n]f64"),
    ("", "type pair a = (a, a)", "type pair 'a = (a, a)"),
    ("", "import math\ndef f (x: f64): f64 = f64.sin x", "\ndef f (x: f64): f64 = f64.sin x"),
    ("", "import numpy as np", ""),
    ("", "from math import sqrt", ""),
    ("", "#include <math.h>", ""),
    ("", "pub def f (x: i32): i32 = x", "def f (x: i32): i32 = x"),
    ("", "static def f (x: i32): i32 = x", "def f (x: i32): i32 = x"),
    ("", "def f (g: i32 => i32): i32 = g 1", "def f (g: i32 -> i32): i32 = g 1"),
    ("entry main (xs: []i32): []i32 = ", "xs[..2]", "xs[:2]"),
    ("entry main (xs: []i32): []i32 = ", "xs[2..]", "xs[2:]"),
    ("entry main: []i64 = ", "[1,3..9]", "(1..3...9)"),
    ("entry main (n: i64): []f64 = ", "vec![0.0; n]", "(replicate n 0.0)"),
    ("", "def f (x: [i32; 3]): i32 = x[0]", "def f (x: [3]i32): i32 = x[0]"),
    ("", "def f (x: f32*): i64 = length x", "def f (x: []f32): i64 = length x"),
    ("", "def f (x f32): f32 = x", "def f (x: f32): f32 = x"),
    ("entry main (x: i32) (xs: []i32): bool = ", "x in xs", "any (== x) xs"),
    ("entry main (x: i32) (xs: []i32): bool = ", "x not in xs", "!(any (== x) xs)"),
    ("entry main (xs: []i32): []i32 = reverse", "(x * x for x in xs)", r"(map (\x -> x * x) xs)"),
    ("entry main (x: i32): i32 = ", "+x", "x"),
    ("entry main: i64 = ", "1,000", "1000"),
    ("entry main (xs: *[]i32): []i32 = ", "xs[0] = 1", "xs with [0] = 1"),
    ("entry main (x: i32): i32 = let a = x ", "and b = 2 in a + b", "let b = 2 in a + b"),
    ("entry main (x: i32): bool = ", "x =< 3", "x <= 3"),
    ("", "val n = 3", "def n = 3"),
    ("type p = {x: f64, y: f64}\ndef f (a: p): p = ", "a.x = 3", "a with x = 3"),
    ("type p = {x: f64, y: f64}\ndef f (a: p): p = ", "a {x = 3}", "a with x = 3"),
    ("type p = {x: f64, y: f64}\ndef f (g: i32 -> p): p = ", "(g 1) {y = 3, x = 4}",
     "((g 1) with y = 3) with x = 4"),
    ("entry main (n: i64): i64 = loop s = 0 for ", "i <= n do s + i", "i < n + 1 do s + i"),
    ("entry main (n: i64): i64 = loop s = 0 for ", "i <= n / 2 do s + i",
     "i < (n / 2) + 1 do s + i"),
    ("entry main (x: i32): i32 = match x ", "with\n  case 1 -> 0\n  case _ -> 1",
     "\n  case 1 -> 0\n  case _ -> 1"),
    ("entry main (c: u8): bool = ", 'c in "aeiou"', 'any (== c) "aeiou"'),
    ("entry main (c: u8): bool = ", 'c not in "aeiou"', '!(any (== c) "aeiou")'),
    ("", "def m: i64 = 1e9 + 7", "def m: i64 = 1000000000 + 7"),
    ("entry main (x: u8): u64 = ", "x + u64.u8 x", "(u64.u8 x) + u64.u8 x"),
    ("entry main (p: f64): f64 = let x = ", "3,14 in p * x", "3.14 in p * x"),
    ("entry main (n: i64): i64 = let x = ", "3,1415 in i64.f64 x", "3.1415 in i64.f64 x"),
    ("type p = {x: f64, y: f64}\ndef f (a: p): p = a with ", "{ x = a.x + 1 }", "x = a.x + 1"),
    ("entry main (h: f64): f64 = ", "if(h > 3, 5, 0)", "if h > 3 then 5 else 0"),
    ("entry main (xs: []i64): []i64 = filter ", r"(\x -> x % 2) xs", r"(\x -> x % 2 != 0) xs"),
    ("entry main (xs: []i64): bool = any ", r"(\x -> x) xs", r"(\x -> x != 0) xs"),
    ("entry main (a: f64) (b: f64): f64 = f64.sqrt ", "(+ a b)", "(a + b)"),
    ("entry main (a: f64) (b: f64): f64 = f64.sqrt ", "(* a b)", "(a * b)"),
    ("entry main (xs: []i32): []i32 = if ", "xs > 3 then xs else []",
     "(and (map (> 3) xs)) then xs else []"),
    ("entry main (xs: []i64): [][]i64 = ", "replicate xs 0", "replicate 0 xs"),
    ("", "module type s = { def f: i32 -> i32 }", "module type s = { val f: i32 -> i32 }"),
    ("", 'open "std/stats"', 'open import "std/stats"'),
    ("module m = { def x = 1i32 }\n", "open module m", "open m"),
    ("", "def f:(x: i32): i32 = x", "def f(x: i32): i32 = x"),
    ("def g (xs: []i32) = xs\nentry main (xs: []i32): []i32 = g ", "(...xs)", "(xs)"),
    ("", "@inline\ndef f (x: i32): i32 = x", "#[inline]\ndef f (x: i32): i32 = x"),
    # types of modules
    ("module m (R: real) = { def half (x: R.t): R.t = x R./ ", "2 }", "(R.i64 2) }"),
    ("module m (R: real) = { def half (x: R.t): R.t = x R.* ", "0.5 }", "(R.f64 0.5) }"),
    # elements, sizes and comparisons
    ("entry main [n] (xs: [n]i32): [n]f64 = ", "xs :> [n]f64", "(map f64.i32 xs)"),
    ("def f [n] (xs: [n]i64): [n]f32 = ", "map (+ 1) xs :> [n]f32",
     "(map f32.i64 (map (+ 1) xs))"),
    ("entry main (x: i32): []i32 = ", "[x] * 3", "replicate 3 x"),
    ("entry main (n: i64) (m: i64): [n][m]f64 = ", "replicate n m 0",
     "replicate n (replicate m 0)"),
    ("entry main (n: i64) (m: i64): [n][m]f64 = ", "replicate (n, m) 0",
     "replicate n (replicate m 0)"),
    ("entry main [n] (xs: [n]f64): (f64, i64) = reduce (\\(a, i) (b, j) -> "
     "if a > b then (a, i) else (b, j)) ", "0 (zip xs (iota n))", "(0, 0) (zip xs (iota n))"),
    ("entry main (n: i64): []i64 = ", "iota 1 n", "(1..<n)"),
    ("entry main (xs: []bool): bool = ", "reduce and true xs", "reduce (&&) true xs"),
    ("entry main (xs: []i32): []i32 = ", "map * 2 xs", "map (* 2) xs"),
    ("entry main (xs: []i32): []i32 = ", "filter >0 xs", "filter (>0) xs"),
    ("entry main (xs: []i32): i32 = ", "reduce + 0 xs", "reduce (+) 0 xs"),
    ("entry main (a: *[]i32): []i32 = ", "a with [0] = 3, [1] = 4",
     "a with [0] = 3 with [1] = 4"),
    ("", "def f (x: I32): i32 = x", "def f (x: i32): i32 = x"),
    ("entry main (n: i64): i64 = ", "loop i = 1 while i < n, i + i",
     "loop i = 1 while i < n do i + i"),
    ("entry main (x: i32): bool = ", "not x == 3", "not (x == 3)"),
    ("entry main (x: i32): bool = ", "!x", "(x == 0)"),
    ("entry main (x: f64): f64 = ", "float.sqrt x", "f64.sqrt x"),
    ("entry main (x: i64): f64 = ", "i64.sqrt x", "f64.sqrt (f64.i64 x)"),
])
def test_a_hint_cures(head: str, wrong: str, right: str) -> None:
    program = head + wrong
    changed = [program[:hint.span.start] + hint.new + program[hint.span.end:]
               for hint in hints_of(program) if isinstance(hint, Replacement) and hint.span]
    assert changed == [head + right]
    checked(Source("a.fut", changed[0]))


@pytest.mark.parametrize(("program", "said"), [
    # a call comes first, but the sum may be meant
    ("entry main (n: i64): []i64 = iota n + 1",
     "A call comes before an operator: iota (n + 1), or for each element map (+ 1) (iota n)"),
    ("entry main (n: i64): []i64 = iota n - 1", "A call comes before an operator: iota (n - 1), "
     r"or for each element map (\x -> x - 1) (iota n)"),
    ("entry main (n: i64): []i64 = iota 2 * n",
     "A call comes before an operator: iota (2 * n), or for each element map (* n) (iota 2)"),
    # rows or all elements
    ("entry main [n] (a: [n][n]f64): [n]f64 = f64.sum a / 2",
     "For each row: map f64.sum a.  For all elements: f64.sum (flatten a)."),
    # functions as values
    ("entry main (x: f64): f64 = f64.max x", "It is a function, which takes 1 more argument."),
    ("entry main (x: f64): f64 = x + f64.max", "It is a function, which takes 2 arguments."),
    ("entry main (x: f64): f64 = iterate (* 2) x",
     "An argument is missing before (* 2): n, of type i32."),
    # what is true of types
    ("def add 'a (x: a) (y: a): a = x + y", "'a' may be any type, and not all have operators: "
     "take a function as an argument, or name the type."),
    ("def less 'a (x: a) (y: a): bool = x < y", "'a' may be any type, and not all have operators: "
     "take a function as an argument, or name the type."),
    ("entry main (x: f64): f64 = if x == 0 then \"n/a\" else x",
     "A text is no number; f64.nan stands for a missing number."),
    ("entry main (x: i32) (r: f64): (i32, f64) =\n  let f y = y * y\n  let g = f r\n  in (f x, g)",
     "All calls of a local function have one type: define f for each type, or convert the "
     "argument."),
    # names that have ended are no names of other languages
    ("entry main (x: i64): i64 = let y = (let size = x in size) in y + size",
     "A name is known only inside of the expression that binds it."),
    ("entry main (xs: []i64): i64 = let ys = map (\\mean -> mean) xs in mean",
     "A name is known only inside of the expression that binds it."),
    # values that are none
    ("def f (c: bool) (x: f64): f64 = (if c then f64.sin else f64.cos) x",
     "One function may branch inside: \\x -> if c then f x else g x"),
    ("module m = { def one = 1 }\nentry main: i64 = m",
     "'m' is a module, and no value: a module is applied by module m = f n, and its members are "
     "m.x"),
    *((f"type tree = {form}\ndef f (x: tree): tree = x",
       "A type cannot contain itself: keep its values in an array, and in each the indices of "
       "those inside.") for form in ("#leaf | #node tree tree", "{value: i64, next: []tree}")),
    # elements that an operator takes apart
    *((f"entry main (xs: [](f64, bool)): f64 = {fold} (\\acc (x, c) -> if c then acc + x else acc) "
       "0 xs" + " |> last" * (fold == "scan"),
       f"{fold} combines two values of one type: convert the elements by map first.")
      for fold in ("reduce", "scan")),
    # updates in a function that may run many times
    *((f"entry main (xs: *[]i64) (is: []i64): []i64 = map (\\i -> {update}) is |> head",
       f"Many elements are {cure}; a loop carries the array: loop xs for i < n do e")
      for update, cure in (
          ("xs with [i] = 1", "written at once by scatter xs is vs"),
          ("xs with [i] = xs[i] * 2", "written at once by scatter xs is vs"),
          ("xs with [i] = xs[i] + i", "added up at once by reduce_by_index xs (+) 0 is vs"))),
    *((f"entry main (text: []u8): u64 = {fold} (\\acc c -> acc * 31 + u64.u8 c) 7 text",
       f"{fold} combines two values of one type: convert the elements by map first.")
      for fold in ("reduce", "reduce_comm")),
    *((f"entry main (xs: []{{w: f64, h: f64}}): f64 = {fold} (\\acc b -> acc + b.w) 0 xs",
       f"{fold} combines two values of one type: convert the elements by map first.")
      for fold in ("reduce", "reduce_comm")),
    # signs and calls that mean something else
    *((f"def f (net: f64): f64 = let tax = net * 19% {rest}",
       "A per cent is a hundredth, as in 0.19, and % is the rest of a division.")
      for rest in ("in tax", "\n  in tax")),
    *((f"entry main (xs: []f64): f64 = xs |> f64.sum {op} 2",
       f"{op} comes before |>: what goes through a pipe stands in parentheses.")
      for op in ("/", "*", "-")),
    ("entry main (xs: [](f64, f64)): f64 = let ys = unzip xs in f64.maximum ys",
     "It is a tuple, whose first component is ys.0."),
    ("def area (r: f64) = r * r\ndef area (w: f64) (h: f64) = w * h",
     "Each has a name of its own, whatever its parameters are."),
    ("entry main (xs: []i64): []i64 = iota xs", "iota has type (n: i64) -> *[n]i64"),
    # words of other languages, in declarations and values
    ("entry (x: i32): i32 = x",
     "A name stands behind 'def' or 'entry': entry main (x: t): u = e"),
    ("entry main (x: i32) (y: i32): i32 = x + * y", "A value is missing between two operators."),
    ("entry main (xs: []i32) (ys: []i32): []i32 = [...xs, ...ys]", "Arrays are joined: xs ++ ys"),
    ("entry main (xs: []i32): bool = match xs case [] -> true case _ -> false",
     "An array has no pattern: write if null xs then a else b"),
    ("entry main (n: i64): i64 = #[unroll loop s = 0 for i < n do s + i",
     "An attribute is closed by ']': #[name]"),
    ('"""What it does"""\nentry main (x: i64): i64 = x', "A comment begins with --."),
    # calls and indices of NumPy, parameters of Go, matches of Rust
    *((f"entry main (a: [][]f64): []f64 = f64.sum a {name}=0",
       "Arguments have no names: f x y, in the order of the parameters.")
      for name in ("axis", "dim", "initial")),
    ("entry main (x: i32): bool = if x=3 then true else false", "Equality is written '=='."),
    *((f"entry main (a: [][][]f64): []f64 = a[{place}]",
       "All along a dimension is written ':', as in xs[:, 0].")
      for place in ("..., 0", "0, ...", "0, ..., 1")),
    *((f"def f ({params}): f64 = x", "Each parameter has its own type: (x: t) (y: t)")
      for params in ("x, y f64", "x, y, z f64")),
    ("def f (x: i32): i32 =\n  match x {\n    0 => 1,\n    _ => 2\n  }",
     "A match is written: match e case p -> e"),
    ("entry main (a: [][]f64) (b: [][]f64) = a @ b",
     r"A product of matrices is written: map (\row -> map (\col -> f64.sum (map2 (*) row col)) "
     "(transpose b)) a"),
    # quotients that may be equal
    ("entry main [n] (xs: [n]f64): []f64 = map2 (+) xs[::2] xs[1::2]",
     "map2 has type (a -> b -> x) -> [n]a -> [n]b -> *[n]x"),
    # words without the word before them
    ("entry main (x: i32): i32 = do x", "No 'loop' is open here."),
    ("entry main (x: i32): i32 = in x", "No 'let' is open here."),
    ("entry main (x: i32): i32 = let y = in x", "An expression is missing before it."),
    ("entry main (xs: *[]i32): []i32 = map (\\i -> xs[i] = 0) (iota 3)",
     "Many elements are written at once: scatter xs is vs"),
    ("def f (x: i32): i32 * i32 = (x, x)", "The type of a pair is written: (t, u)"),
    ("def f x: f64, y: f64 = x",
     "Each parameter stands in parentheses: def f (x: t) (y: u): v = e"),
    ("def f (x: i32): i32 = match x case 1 | 2 -> 0 case _ -> 1",
     "A case has one pattern, and each pattern its own case."),
    *((f"def f (x: i32): i32 = match x case {case} -> 0 case _ -> 1",
       "A condition on a case is a choice in it: case n -> if n > 3 then a else b")
      for case in ("y when y > 0", "y | y > 0", "1..5")),
    ("entry main (x: i32): bool = let a = b = x in a == b",
     "Each name has its own definition: let b = e let a = b"),
    ("entry main (a: i64) (b: i64): i64 = loop (a, b) while b != 0 do (b, a % b)",
     "It is a tuple, of which 'let (x, y) = e in x' takes a component."),
    ("entry main (xs: []f64): f64 = let f64 = 3 in f64.sum xs",
     "Give it another name, so that the module keeps its own."),
    ("entry main (xs: []i64): []i64 = counts[xs]", ""),
    ("entry main: f64 = 5m", ""),
    ("entry main (x: f64): f64 = |x|", "An absolute value is written: f64.abs x"),
    ("def g (a: i32) = a\nentry main (x: i32): i32 = g (a = x)",
     "Arguments have no names: f x y, in the order of the parameters."),
    ("entry main (xs: []i64): i64 = loop s = 0 for x < xs do s + x",
     "To go along an array, write: for x in xs"),
    ("def f = shape::circle 1", "A member of a module is written M.x, and a constructor #x."),
])
def test_a_hint_says_only_what_is_true(program: str, said: str) -> None:
    hints = hints_of(program)
    assert (hints[0] if hints else "") == said
    assert not any(isinstance(each, Replacement) for each in hints)
