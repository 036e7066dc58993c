"""Results that are made where an update puts them, and those that must not be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from tests.programs import agree, expected, program
from tests.sanitized import check_sanitized

STEPS = "entry main [n] (k: i64) (xss: [n][n]i32): [n][n]i32 =\n  loop a = copy xss for i < n do\n"
MADE_IN_PLACE = {
    "a row": "a with [i] = map (\\j -> i32.i64 (i * j + k)) (iota n)",
    "a column": "a with [:, i] = map (\\j -> i32.i64 (i * j + k)) (iota n)",
    "a part of a row": "a with [i, 1:] = map (\\j -> i32.i64 (i * j + k)) (iota (n - 1))",
    "from the elements themselves": "a with [i] = map (\\x -> x * 3 + i32.i64 (i + k)) a[i]",
    "from elements above": """
    let b = map2 (\\x j -> x + i32.i64 j) (if i > 0 then a[i - 1] else a[i]) (iota n)
    let r = if i > 0 then map2 (\\x y -> x - y * i32.i64 k) a[i - 1, :] b else b
    in a with [i] = map (+ 1) r""",
    "rows that a loop changes from its first value": """
    let rest = n - i
    let rows = map (\\row -> loop xs = copy row for j < n do
                             xs with [j] = xs[j] * 2 + (if j > 0 then xs[j - 1] else i32.i64 k))
                   (a[i:] :> [rest][n]i32)
    in a with [i:i + rest] = rows""",
    "rows, element by element": """
    let rest = n - i
    in a with [i:i + rest] = map (map (\\x -> x * 2 + i32.i64 k)) (a[i:] :> [rest][n]i32)""",
    "seen by what comes before the update": """
    let rest = n - i - 1
    let top = map (\\x -> x - i32.i64 k) a[i]
    let below = map (\\row -> map2 (\\x t -> x * 2 - t) row top) (a[i + 1:] :> [rest][n]i32)
    let a[i] = top
    let a[i + 1:i + 1 + rest] = below
    in a""",
}
SEPARATE = {
    "a neighbour looks at it": """
    a with [i, 1:] = map2 (\\x j -> x + i32.i64 (j + k)) a[i, 0:n - 1] (iota (n - 1))""",
    "a neighbour may look at it": """
    a with [i] = map (\\j -> a[i, (j + k) % n] * 2 + 1) (iota n)""",
    "another row is at an index that comes with the data": """
    let from = i64.i32 a[i, 0] % n
    in a with [i] = map (\\x -> x + 1) a[if from < 0 then from + n else from]""",
    "its mirror image": "a with [i, :] = map (\\j -> a[i, n - 1 - j] * 2) (iota n)",
    "its transposition": """
    let m = n - 1
    let square = a[0:m, 0:m] :> [m][m]i32
    in a with [0:m, 0:m] = map2 (map2 (\\x y -> x * 2 - y)) square (transpose square)""",
    "rows that are read while they are written": """
    let m = n - 1
    in a with [1:] = map (\\row -> map (\\j -> row[n - 1 - j] + row[j] * 2) (iota n))
                         (a[1:] :> [m][n]i32)""",
    "rows backwards, beside what is made of them": """
    let m = n - 1
    let (rows, sums) = unzip (map (\\row -> (row[::-1] :> [n]i32, i32.sum row))
                                  (copy a[1:] :> [m][n]i32))
    in (a with [1:] = rows) with [0, 0] = i32.sum sums""",
    "a slice from before is wanted": """
    let old = a[i]
    let r = map (\\x -> x * 2 + i32.i64 k) old
    let s = if xss[0, 0] > 9 then copy old else map (+ 1) r
    let a[i] = r
    in if i > 0 then a with [i - 1] = s else a""",
    "rows of rows that are read at other places": """
    let m = n - 1
    in a with [1:] = map (\\row -> map2 (\\x j -> x * 2 - row[j]) row (map (n - 1 -) (iota n)))
                         (a[1:] :> [m][n]i32)""",
    "something else looks in between": """
    let r = map (\\j -> i32.i64 (i * j + k)) (iota n)
    let s = map (\\x -> x + r[0]) a[i]
    in (a with [i] = r) with [0] = s""",
    "a sum looks in between": """
    let r = map (\\j -> i32.i64 (i * j + k)) (iota n)
    let s = i32.sum (map2 (\\x y -> x * (y + 1)) a[i] r)
    let a[i] = r
    in a with [0, 0] = s""",
    "updates that overlap": """
    let (x, y) = unzip (map (\\j -> (i32.i64 (i * j), i32.i64 (j + k))) (iota (n - 1)))
    let a[i, 0:n - 1] = x
    in a with [i, 1:n] = y""",
}
WHOLE = {
    "the old array is wanted": """
entry main [n] (k: i64) (xss: [n][n]i32): ([n][n]i32, [n][n]i32) =
  let a = map (map (+ 1)) xss
  let b = copy a with [0] = map (\\j -> i32.i64 (j * k)) (iota n)
  in (a, b)""",
    "the value is wanted": """
entry main [n] (k: i64) (xss: [n][n]i32): ([n]i32, [n][n]i32) =
  let a = map (map (+ 1)) xss
  let r = map (\\j -> i32.i64 (j * k)) (iota n)
  in (r, a with [0] = r)""",
    "the value changes later": """
entry main [n] (k: i64) (xss: [n][n]i32): ([n]i32, [n][n]i32) =
  let a = map (map (+ 1)) xss
  let r = map (\\j -> i32.i64 (j * k)) (iota n)
  let a[0] = r
  in (r with [0] = 7, a)""",
    "an argument": """
entry main [n] (k: i64) (xss: *[n][n]i32): [n][n]i32 =
  xss with [n - 1] = map (\\j -> i32.i64 (j * k)) (iota n)""",
}
BESIDE = {
    "an update that stays where it is": """
    let r = map (\\x -> x - i32.i64 k) a[i, 1:]
    let s = scan (+) 0 a[:, 0]
    let a[:, 0] = s
    in a with [i, 1:] = r""",
}
CONCATENATED = {
    "both parts": ("""
entry main [n] (k: i64) (xss: [n][n]i32): [n][n]i32 =
  loop xss for i < k do
    let h = n / 2
    let a = map2 (map2 (+)) (take h xss) (drop (n - h) xss)
    let b = map2 (map2 (-)) (take (n - h) xss) (drop h xss)
    in (a ++ b) :> [n][n]i32""", 0),
    "what is there already is copied": ("""
entry main [n] (k: i64) (xss: [n][n]i32) =
  let a = map (map (\\x -> x * 2 + i32.i64 k)) xss
  in xss ++ a ++ xss""", 2),
    "columns": ("""
entry main [n] (k: i64) (xss: [n][n]i32) =
  let a = map (map (+ i32.i64 k)) (transpose xss)
  let b = map (scan (+) 0) xss
  let c = map (map (* 2)) b
  in transpose (transpose a ++ transpose c)""", 0),
    "twice the same": ("""
entry main [n] (k: i64) (xss: [n][n]i32) =
  let a = map (map (+ i32.i64 k)) xss in a ++ a""", 1),
    "what is wanted besides": ("""
entry main [n] (k: i64) (xss: [n][n]i32) =
  let a = map (map (+ i32.i64 k)) xss
  let b = map (map (* 2)) (transpose a)
  in (b, a ++ b)""", 1),
    "sizes that come with the data": ("""
entry main [n] (k: i64) (xss: [n][n]i32) =
  let a = map (map (+ i32.i64 k)) xss
  let m = i64.i32 (i32.sum (map i32.sum a)) % 5 + 5
  let b = map (\\i -> map (\\x -> x - i32.i64 i) xss[i % n]) (iota m)
  in a ++ b""", 1),
}
TWO_ARRAYS = {
    "of different rank": ("""
entry main [n] (k: i64) (xss: [n][n]i32): ([n][n]i32, [n]i32) =
  loop (a, v) = (copy xss, map i32.i64 (iota n)) for i < n do
    let m = n - i
    let (rs, vs) = unzip (map (\\j -> (i32.i64 (i * j + k), i32.i64 (j - k * i))) (iota m))
    in (a with [i, i:i + m] = rs, v with [i:i + m] = vs)""", 2),
    "of which one is read where it would be overwritten": ("""
entry main [n] (k: i64) (xss: [n][n]i32): ([n]i32, [n]i32) =
  let us = map (\\j -> i32.i64 (j * k)) (iota n)
  let vs = map (\\j -> i32.i64 (j - k)) (iota n)
  let m = n / 2
  let (as, bs) = unzip (map (\\j -> (us[m + (j * 7 + k) % m] * 2 + xss[0, 0],
                                    us[m + (j * 5 + k) % m] * 3)) (iota m))
  in (us with [0:m] = as, vs with [m:m + m] = bs)""", 1),
}
TEXTS = ({name: text for name, (text, _) in TWO_ARRAYS.items()} | WHOLE
         | {name: text for name, (text, _) in CONCATENATED.items()}
         | {name: STEPS + body for name, body in (MADE_IN_PLACE | SEPARATE | BESIDE).items()})
XSS = np.random.default_rng(7).integers(-50, 50, (6, 6)).astype(np.int32)


def copies(found: runelift.Program) -> int:
    return found.source("host").count("# segscatter")


def test_what_is_made_in_place() -> None:
    for name in MADE_IN_PLACE:
        moderate = program(TEXTS[name], policy="moderate")
        assert "#[placed]" in moderate.source("flat"), name
        assert copies(moderate) == 0, name
        flat = program(TEXTS[name]).source("flat")
        assert flat.count("#[placed]") == flat.count("#[moved]"), name


def test_one_of_two_updates_is_made_in_place() -> None:
    for name in BESIDE:
        moderate = program(TEXTS[name], policy="moderate")
        assert moderate.source("flat").count("#[placed]") == copies(moderate) == 1


@pytest.mark.parametrize("name", TWO_ARRAYS)
def test_results_that_go_into_two_arrays(name: str) -> None:
    text, placed = TWO_ARRAYS[name]
    flat = program(text, policy="moderate").source("flat")
    assert flat.count("#[placed]") == placed, flat


@pytest.mark.parametrize("name", CONCATENATED)
def test_parts_of_concatenations(name: str) -> None:
    text, count = CONCATENATED[name]
    moderate = program(text, policy="moderate")
    assert copies(moderate) == count, moderate.source("host")


@pytest.mark.parametrize("name", [*SEPARATE, *WHOLE])
def test_what_is_not(name: str) -> None:
    assert copies(program(TEXTS[name], policy="moderate")) > 0


@pytest.mark.parametrize("name", TEXTS)
def test_every_version_gives_the_same(name: str) -> None:
    text = TEXTS[name]
    agree(program(text), "main", [3, XSS], expected(text, "main", [3, XSS]))


def test_no_races(tmp_path: Path, simulator: str) -> None:
    """Also with the layouts of a GPU, which the simulator has."""
    entries = ""
    for number, text in enumerate(TEXTS.values()):
        rows = ", ".join(str(row.tolist()).replace(",", "i32,").replace("]", "i32]")
                         for row in XSS[:5, :5])
        entries += f"-- ==\n-- entry: e{number}\n-- input {{ 3i64 [{rows}] }}\n-- auto output\n"
        entries += text.replace("entry main", f"entry e{number}") + "\n\n"
    path = tmp_path / "all.fut"
    path.write_text(entries)
    check_sanitized(path, simulator)
