"""Declarations that are refused though their types fit together, and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source


@pytest.mark.parametrize(("text", "code", "line"), [
    # sizes that are needed before they are known
    ("def f (xs: []i32) = let a = [] : [][]i32\n  let b = [filter (> 0) xs]\n  in a[0] == b[0]",
     "causality-check", 1),
    ("entry f xs xss = map (filter (> 0) xs ++) xss", "causality-check", 1),
    ("def f (x: i64): (#ok ([]i64) | #no) =\n  if x < 0 then #no else #ok (filter (> 0) [x])",
     "causality-check", 2),
    ("def f (b: bool) (xs: []i32): (#a ([]i32) | #b ([]i32)) =\n  if b then #a (filter (> 0) xs)\n"
     "  else #b xs", "causality-check", 3),
    ("def f (n: i32) (xs: []i32): (#a ([]i32) | #b ([]i32)) =\n  match n case 1 -> #b xs\n"
     "  case _ -> #a (filter (> 0) xs)", "causality-check", 2),
    ("type~ t = #foo ([]i32) | #bar ([]i32)\ndef f (xs: []i32) = let v: t = #foo xs in xs",
     "ambiguous-size", 2),
    ("def f (v: #foo i32 | #bar ([]i32)) = match v case #foo x -> x case #bar y -> y[0]\n"
     "def g = f (#foo 3)", "ambiguous-size", 2),
    ("def f (xss: [][]i32) = map (filter (> 0)) xss", "irregular-array", 1),
    ("def f (xss: [][]i32) = map (\\xs -> filter (> 0) xs) xss", "irregular-array", 1),
    ("def ap 'a 'b (f: a -> b) (x: a) = f x\ndef f (xs: []i32) = ap (filter (> 0)) xs",
     "irregular-array", 2),
    ("module m : { type~ t [n]\n  val mk : (n: i64) -> t [n] } = {\n"
     "  type~ t [n] = ?[k].([n](), [k]i32)\n"
     "  def mk (n: i64) : t [n] = (replicate n (), filter (> 1) [1, 2])\n}\n"
     "def f (n: i64) = copy (m.mk n)", "irregular-array", 6),
    ("def f (xs: []i32) = (filter (> 0) >-> i32.sum) xs", "ambiguous-size", 1),
    ("def f : []i32 =\n  ([1] ++) <| loop xs = [] for _i < 10 do xs ++ xs", "causality-check", 2),
    ("def f (n: i64) = (map (+ 1) <-< iota) n", "ambiguous-size", 1),
    ("def f {n: i64, xs: [n]i32} = xs", "unknown-name", 1),
    ("def g [n] (x: [n]i32) (h: [n]i32 -> [n]i32) : i64 = n\n"
     "def f (xs: []i32) = g (filter (> 0) xs) (\\x -> x)", "causality-check", 2),
    # an equation of sizes that has a solution only where something is empty
    ("def f (xs: []i32) (ys: []i32) = map2 (+) xs (xs ++ ys)", "size-mismatch", 1),
    ("def f (xs: []i32) (ys: []i32) = [xs, xs ++ ys]", "size-mismatch", 1),
    ("def f (xss: [][]i32) = map2 (+) xss[0] (flatten xss)", "size-mismatch", 1),
    # patterns that do not fit every value
    ("def f [n] (xs: [n](i64, i64)) = loop s = 0 for (1, y) in xs do s + y", "incomplete-match", 1),
    ("def f (x: i64) = loop 1 = x for _i < 3 do 2", "incomplete-match", 1),
    ("def f (x: i64) = let g (1, y) = y in g (x, 5i64)", "incomplete-match", 1),
    ("def f (xs: [](#a i64 | #b)) = loop s = 0 for #a y in xs do s + y", "incomplete-match", 1),
    ("def f (x: (#a i32 | #b)) = let g ((#a y): (#a i32 | #b)) = y in g x",
     "incomplete-match", 1),
    # sizes that a caller cannot name or choose
    ("def f (x: i64, y: i64) (a: [x]bool) = true", "inaccessible-size", 1),
    ("def f {x: i64} (g: [x]bool -> bool) = true", "inaccessible-size", 1),
    ("def f [n] (x: i32) = x", "unused-size", 1),
    ("def f (y: i32) = let g [n] (x: i32) = x in g y", "unused-size", 1),
    ("def f (n: i64, _: bool) : [0][n]i32 = []", "inaccessible-size", 1),
    ("def f ({n}: {n: i64}) : [n]i64 = iota n", "inaccessible-size", 1),
    ("def f (b: bool) = let (n, _) = if b then (1, true) else (2, true) in\n  \\(_: [n]i32) -> b",
     "unknown-param-size", 1),
    ("entry f (n: i64) : (i64, [][]i32) = (n, [])", "size-polymorphic-entry", 1),
    ("entry f 'a (x: i32) = x", "bad-entry", 1),
    ("def h (b: bool) = 3i64\ntype t [n] = [h (n > 2)]i32", "unsupported-feature", 2),
    ("type t = [i32.i64 3]i32", "type-mismatch", 1),
    # sizes that values do not have
    ("def f : i64 -> ?[n].bool -> *[n]i64 =\n  \\n _ -> iota n", "unused-existential", 1),
    ("type^ t = []i32 -> i32", "anonymous-nonconstructive", 1),
    ("module type some = {type~ t val x : t}\n"
     "module m : some = {type~ t = []i32 def x = [1]}", "anonymous-size", 1),
    ("module type some = {val xs : []i32}", "anonymous-size", 1),
    # sizes that nothing decides about
    ("def f [n][m] (xs: [n][m]i64) = m\ndef main = f []", "ambiguous-size", 2),
    ("def main = let [n][m] (xs: [n][m]i64) = []\n in m", "ambiguous-size", 1),
    ("def main = let (xs: [][]i64, k: i64) = ([], 2)\n in length xs", "ambiguous-size", 1),
    ("def main =\n length ([] : [][]i64)", "ambiguous-size", 2),
    ("def f [n][m][k] (xs: [n][m]i64) (ys: [m][k]i64) = i64.sum xs[0]\n"
     "def main (xs: [][]i64) = f xs []", "ambiguous-size", 2),
    ("def main = i32.sum (map\n i32.sum [])", "ambiguous-size", 2),
    ("def f (r: {xs: [](i64, []i64)}) = length r.xs\ndef main = f {xs = []}",
     "ambiguous-size", 2),
    ("def main (n: i64) = let g = \\xs -> length xs in n", "ambiguous-size", 1),
    ("def main (n: i64) = let p : []i64 -> bool = null in n", "ambiguous-size", 1),
    ("def f [n] (g: [n]i64 -> i64) = 3i64\ndef main = f (\\xs -> length xs)",
     "ambiguous-size", 2),
    ("def main (n: i64) = length (??? : [n][]i64)", "ambiguous-size", 1),
    ("def main (b: i64) = let z [n] : [n]i64 -> i64 = \\xs -> n in z [1, 2]", "syntax-error", 1),
    ("def main (b: i64) = let z 'a : i64 = b in z", "syntax-error", 1),
    # kinds
    ("def twice 'a '~b (f: a -> b) (x: a) =\n  [f x, f x]", "lifted-element", 2),
    ("module type key = {type~ k}\nmodule map (K: key) = {\n  type~ keys = K.k\n"
     "  type one 'a = {key: a}\n  type both = one keys\n}", "lifted-abbreviation", 5),
    ("module m = \\(p: {type^ f}) -> {\n  def none : []p.f = []\n}", "lifted-element", 2),
    ("module m = \\(p: {type^ f}) -> ({type^ t = p.f} : {type t})", "function-not-allowed", 1),
    # module types
    ("module f (p: {val x : i32}) = {def y = p.x}\nmodule g : {val y : i32} = f",
     "not-a-structure", 2),
    ("module m (p: {val x : i32}) : {val y : i32} = {def z = p.x}", "missing-member", 1),
    ("module type t = {type t 'a\n  val x : t a}", "unknown-type", 2),
    ("module type t = {module m : {type u = u}}", "unknown-type", 1),
    ("module m : {val f [n] : [n]i32 -> *[n]i32} = {def f [n] (xs: [n]i32) = xs}",
     "unique-result", 1),
    # entry points
    ("entry f [n] (xs: [n + 1]i32) = n", "bad-entry", 1),
    ("def main (x: i32) (f: i32 -> i32, n: i32) = f x + n", "bad-entry", 1),
])
def test_refused(text: str, code: str, line: int) -> None:
    with pytest.raises(ProgramError) as caught:
        checked(Source("t", text))
    found = caught.value.diagnostics[0]
    assert (found.code, found.span.line) == (code, line)


@pytest.mark.parametrize("text", [
    "def f (xs: []i32) = let b = filter (> 0) xs let a = [] : [][]i32 in a ++ [b]",
    "def f (xs: []i32) (xss: [][]i32) = let b = filter (> 0) xs in map (b ++) xss",
    "def f (p: (i64, bool)) : [p.0]i64 = iota p.0",
    "type^ t = (k: i64) -> [k]i32 -> i64\ndef f : t = \\n (xs: [n]i32) -> length xs",
    "def f [n] (xs: [n]i32) = \\(ys: [n]i32) -> map2 (+) xs ys",
    "entry f (n: i64) : (i64, [][n]i32) = (n, [])",
    "def io (n: i64) = (true, iota n)\ndef f : i64 -> ?[n].(bool, *[n]i64) = io",
    "module type some = {type~ t val f : i64 -> t}\n"
    "module m : some = {type~ t = []i64 def f = iota}",
    "module m (p: {type t val x : t}) : {val y : p.t} = {def y = p.x}",
    "module m : {val f [n] : [n]i32 -> *[n]i32} = {def f [n] (xs: [n]i32) = copy xs}",
    "module type t = {type u module m : {val x : u}}",
    # arguments are computed before the functions that are applied to them: the last one first
    "def f (xs: []i32) = foldl (\\x (y: i32) -> map (+ y) x) (filter (> 0) xs) [1, 2, 3]",
    "def f (xs: []i32) = map (\\x -> map (+ 1) x) [filter (> 0) xs]",
    "def f (n: i64) (xs: []i32) : [n]i32 = xs[0:n:1]",
    "def f (n: i64) (xs: []i32) = xs :> [i64.abs n]i32",
    "def sq (n: i64) = n * n\ntype t [n] = [sq n + 1]i32\ndef f [n] (x: t [n]) = n + length x",
    "def f (b: bool) (xs: []i32): (#a ([]i32) | #b) =\n"
    "  let ys = filter (> 0) xs in if b then #a ys else #b",
    "def f [n] (b: bool) (xs: [n]i32): (#a ([n]i32) | #b ([n]i32)) = if b then #a xs else #b xs",
    "def f (b: bool) (xs: []i32): (#a ([]i32) | #b ([]i32)) =\n"
    "  let ys = filter (> 0) xs in if b then #a ys else #b xs",
    # sizes that something decides about: another value, a result, or who calls
    "def f [n][m] (xs: [n][m]i64) = m\ndef main = f ([] : [0][3]i64)",
    "def main (n: i64) : [0][n]i64 = map (map (+ 1)) []",
    "def xs = ([] : [0][]i64)",
    "def main = let xs = [] in length (xs ++ [[1i64]])",
    "def main (n: i64) = let g xs = map length xs in n",
    "def main (n: i64) = let g = \\xs -> length xs in g [1, 2]",
    "def main (xs: []i64) = loop (ys: [][2]i64) = [] for x in xs do ys ++ [[x, x]]",
    "def main (xs: [][]i64) = let ys : [][]i64 = if length xs > 2 then xs else [] in length ys",
    "def g = map length",
    "def f [n] (k: i64) (xs: [n]i64) = k\ndef main = f 3",
    "def main (b: i64) = let z [n] (xs: [n]i64) = n in z [b]",
    "def z [n] : [n]i64 -> i64 = \\xs -> n + length xs\ndef main = z [1, 2] + z [3]",
    "def f (g: (n: i64) -> [n]i64 -> i64) = g 2 [1, 2]\ndef h (n: i64) (xs: [n]i64) = n + xs[0]\n"
    "def main = f h",
    "def f (g: (n: i64) -> [n]i64 -> i64) = g 2 [1, 2]\ndef main = f (\\n xs -> n)",
    "def f (k: i64) : [k]i64 -> i64 = \\(xs: []i64) -> xs[0]",
    # sizes of arrays in records and sum types
    "type t [n] = {b: [n]i32}\nentry f [n] (r: {a: t [n]}) = r.a.b[0] + i32.i64 n",
    "type t [n] = #a ([n]i32) | #b\n"
    "entry f [n] (x: t [n]) = match x case #a xs -> xs[0] case #b -> i32.i64 n",
    "def f [n] (a: i64) (b: i64) (xs: [n]i32) : [b - a]i32 = xs[a:b:1]",
    "module type one = (p: {val x : i32}) -> {val y : i32}\nmodule m (f: one) = f {def x = 1i32}\n"
    "module n = m (\\(p: {val x : i32}) -> {def y = p.x})",
])
def test_allowed(text: str) -> None:
    checked(Source("t", text))


def test_an_import_is_not_handed_on(tmp_path: Path) -> None:
    """What a file imports belongs to it alone, unless it says ``open import``."""
    folder = tmp_path
    (folder / "inner.fut").write_text("def one = 1i32")
    (folder / "closed.fut").write_text('import "inner"\ndef two = one + one')
    (folder / "handing.fut").write_text('open import "inner"')
    checked(Source(str(folder / "a.fut"), 'import "closed"\ndef three = two + 1'))
    checked(Source(str(folder / "b.fut"), 'import "handing"\ndef two = one + 1'))
    with pytest.raises(ProgramError, match="'one'"):
        checked(Source(str(folder / "c.fut"), 'import "closed"\ndef two = one + 1'))
