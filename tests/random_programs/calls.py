"""Random functions that call themselves, at all points of a map over rows of several lengths.

A call gets a row that is no longer than that of its caller, and a number that is smaller.  So no
more than four calls are inside of each other.
"""

from __future__ import annotations

from tests.random_programs.ragged import GRAMMAR, SMALL, arguments
from tests.random_programs.writer import Family, Kind

_NUMBER = """def f (c: i32) (xs_0: []i32): i32 =
  if c < 1 || length xs_0 < 2 then $leaf else $number
entry main [n][k] (start: [n]i64) (len: [n]i64) (data: [k]i32) (c: i32) =
  {}
"""
_ROW = _NUMBER.replace("(xs_0: []i32): i32", "(xs_0: []i32): []i32").replace(
    "$leaf else $number", "$few else $row")
_MIXED = _NUMBER.replace("(xs_0: []i32): i32", "(xs_0: []i32): (i32, [2]i32, []i32)").replace(
    "$leaf else $number", "($leaf, [c, $leaf], $few) else $mixed")
_AROUND = (
    "map2 (\\%o %l -> let xs = data[%o:%o + %l] in {}) start len",
    "map2 (\\%o %l -> let xs = data[%o:%o + %l] in if %l < 2 then c else {}) start len",
    "map2 (\\%o %l -> map (\\c -> let xs = data[%o:%o + %l] in {}) [1, 2]) start len",
)
_CALLS = ("f (c & 3) xs", "f (c & 3) (filter (> c) xs)", "f (c & 3) (xs ++ [c]) - c",
          "i32.sum (map (\\%x -> f 1 (map (+ %x) xs)) xs)")
_MADE = ("let t = f (c & 3) xs in i32.sum t * i32.i64 (length t)",
         "let t = f (c & 3) (filter (> c) xs) in i32.sum (map2 (*) t (reverse t))",
         "i32.sum (flatmap' (\\x -> f 1 (map (+ x) xs)) xs).3")
_PARTS = ("let (x, p, t) = f (c & 3) xs in x + p[0] * p[1] - i32.sum t * i32.i64 (length t)",
          "i32.sum (map (\\%y -> let (x, p, _) = f 1 (map (+ %y) xs) in x - p[1]) xs)")

_GRAMMAR = GRAMMAR | {
    "program": Kind((
        *(_NUMBER.format(around.format(call)) for around in _AROUND for call in _CALLS),
        *(_ROW.format(around.format(call)) for around in _AROUND for call in _MADE),
        *(_MIXED.format(around.format(call)) for around in _AROUND for call in _PARTS)),
        plain=True),
    "leaf": Kind(("i32.sum xs_0", "c", "c + i32.i64 (length xs_0)")),
    "few": Kind(("xs_0", "filter (> $a) xs_0", "[c]")),
    "less": Kind(("xs_0", "tail xs_0", "init xs_0", "filter (> $a) xs_0", "filter (<= $a) xs_0",
                  "map (\\%x -> ${s x}) xs_0", "take (length xs_0 / 2) xs_0",
                  "drop (length xs_0 / 2) xs_0", "let (%xs, %ys) = partition (> c) xs_0 in %ys")),
    "number": Kind((), (
        "f (c - 1) $less $op f (c - 1) $less", "f (c - 1) $less $op 3 * f (c - 2) $less",
        "f (c - 2) $less $op f (c - 1) $less $op f (c - 1) $less",
        "let %x = f (c - 1) $less in ${s x}", "f (i32.min (c - 1) (f (c - 1) $less)) $less",
        "if $a < $a then f (c - 1) $less else $s", "i32.sum (map (\\%x -> f (c - 1) ${less x}) "
        "[c, 2])", "loop %x = $a for %l < 2 do %x * 3 - f (c - 1) ${less x}",
        "f (c - 1) $v $op f (c - 1) $less")),
    "row": Kind((), (
        "f (c - 1) $less ++ f (c - 1) $less", "f (c - 1) $less ++ filter (> $a) xs_0 ++ "
        "f (c - 1) $less", "map (\\%x -> ${s x}) (f (c - 1) $less)",
        "if $a < $a then f (c - 1) $less else $v", "scan (+) 0 (f (c - 1) $less)",
        "let %xs = f (c - 1) $less in filter (!= $a) %xs ++ f (c - 1) %xs",
        "(flatmap' (\\%x -> f (c - 1) ${less x}) [1, c]).3")),
    "mixed": Kind((), (
        "let (%x, p, %xs) = $mix in ($s, [p[1], ${s x}], ${v x xs})",
        "let (%x, p, %xs) = $mix in if %x < $a then (${s x}, p, %xs) "
        "else (p[0], [%x, $a], ${v x xs})",
        "let (%x, p, %xs) = $mix let (%y, q, %ys) = f (c - 2) ${less xs} in "
        "(%x - p[0] + q[1], map2 (+) p [%y, ${s x y}], %xs ++ ${v x ys})",
        "let (%x, p, %xs) = $mix in loop (%x, p, %xs) for %l < 2 do "
        "(${s x l}, [p[1], %x + p[0]], ${v x xs l})",
        "let (%x, p, %xs) = $mix in match %x & 3 case 0 -> (${s x}, reverse p, %xs) "
        "case 1 -> (p[1], [%x, %x], tail (%xs ++ [%x])) case _ -> (%x + 1, p, ${v xs})")),
    "mix": Kind((), (
        "f (c - 1) $less", "if $a < $a then f (c - 1) $less else ($s, [$a, $a], $v)",
        "f (c - 1) (f (c - 1) $less).2")),
}

CALLS = Family(_GRAMMAR, {"c": "a", "xs_0": "n"}, lambda seed: 2 + seed % 2,
               lambda seed: arguments(seed, SMALL[:4]))
