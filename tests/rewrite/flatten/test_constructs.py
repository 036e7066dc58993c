"""The constructs of docs/flattening.md under a nest: which rules fire; every version is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.interpret import interpret
from runelift.runtime.versions.forest import plans

HEAD = "entry main [n][m] (xss: [n][m]i32) (k: i32) ="
SUMS = "scan (+) 0"

CONSTRUCTS: dict[str, tuple[str, str]] = {
    "while": (f"(loop (ys, i) = (xs, 0) while i < (xs[0] & 3) do ({SUMS} (map (+ i) ys), i + 1)).0",
              "not G7  loop"),
    "branch": (f"if k > 0 then {SUMS} xs else reverse xs", "G8  if"),
    "hist": (f"reduce_by_index (replicate 4 0) (+) 0 (map (\\x -> i64.i32 x & 3) xs) ({SUMS} xs)",
             "G1  hist"),
    "hist of vectors": ("reduce_by_index (replicate 4 [0, 0]) (map2 (+)) [0, 0] "
                        "(map (\\x -> i64.i32 x & 3) xs) (map (\\x -> [x, x * 2]) xs)",
                        "G4  hist"),
    "sum of vectors": ("reduce (map2 (+)) [0, 0] (map (\\x -> [x, x * 2]) xs)", "G4  redomap"),
    "sum of made vectors": ("reduce (map2 (+)) (replicate m 0) "
                            "(map (\\i -> let t = i32.i64 i * k in map (+ t) xs) (iota 4))",
                            "G2  map"),
    "sum of rows made from rows": ("reduce (map2 (+)) (replicate m 0) "
                                   "(map (\\ys -> map2 (*) ys (reverse ys)) xss)",
                                   "G4  redomap"),
    "sum of tabulated vectors": (
        "reduce (map2 (+)) (replicate m 0) "
        "(tabulate 4 (\\i -> tabulate m (\\j -> i32.i64 (i ^ j) * k)))", "G2  map"),
    "scan of tabulated vectors": (
        "scan (map2 (+)) (replicate m 0) (tabulate 4 (\\i -> tabulate m (\\j -> i32.i64 (i ^ j))))",
        "G4  scanomap"),
    "sum of one vector": ("let ys = map (+ k) xs "
                          "in reduce (map2 (+)) (replicate m 0) (map (\\_ -> ys) (iota 3))",
                          "G4  redomap"),
    "sum of vectors that are used again": (
        "let rows = map (\\x -> map (* x) xs) xs "
        "let sums = reduce (map2 (+)) (replicate m 0) rows in map (map2 (-) sums) rows", "G"),
    "scan of made vectors": ("scan (map2 (+)) (replicate m 0) (map (\\y -> map (^ y) xs) xs)",
                             "G4  scanomap"),
    "scatter": (f"scatter (copy xs) (map (\\i -> m - 1 - i) (iota m)) ({SUMS} xs)", "G1  scatter"),
    "slice": (f"let ys = {SUMS} xs in ys[1:]", "G1  scanomap"),
    "replicate": (f"{SUMS} (flatten (replicate 2 ({SUMS} xs)))", "G1  scanomap"),
    "replicate as a result": ("replicate 3 (xs[0] + k)", "G2"),
    "iota": (f"map2 (\\i y -> i32.i64 i * y) (iota m) ({SUMS} xs)", "G1  scanomap"),
    "rearrange": (f"map ({SUMS}) (transpose (map (\\x -> {SUMS} (map (+ x) xs)) xs))",
                  "G5  rearrange"),
    "update": (f"let ys = {SUMS} xs let ys[0:1] = [k] in {SUMS} ys", "G1  update"),
    "concat": (f"{SUMS} ({SUMS} xs ++ map (+ 1) xs)", "G1  concat"),
    "copy": (f"let ys = copy xs let ys[0] = 3 in {SUMS} ys", "G1  update"),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_construct_under_a_nest(name: str, simulator: str) -> None:
    body, step = CONSTRUCTS[name]
    program = runelift.compile(f"{HEAD} map (\\xs -> {body}) xss", device=simulator)
    (derivation,) = program.compiled.derivations
    assert step in derivation.render()
    for shape in [(0, 2), (2, 1), (3, 5)]:
        xss = np.random.default_rng(shape[0]).integers(-3, 9, shape).astype(np.int32)
        args = [xss, np.int32(shape[1] - 2)]
        expected = interpret(program.compiled.core, "main", args)
        for force in plans(program.tree.entry("main")):
            found, _ = program.run("main", args, force=force)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{shape} {force}")


def test_the_table_names_functions_and_tests_that_exist() -> None:
    root = Path(__file__).parents[3]
    rows = [line.split("|") for line in (root / "docs/flattening.md").read_text().splitlines()
            if line.startswith("| ")][1:]
    assert len(rows) > 20
    for row in rows:
        names, test = row[-3], row[-2].strip(" `")
        for name in (part for part in names.split("`")[1::2] if "/" not in part):
            module, function = name.split(".")[0], name.split(".")[-1]
            files = list((root / "rewrite/flatten").rglob(f"{module}.py"))
            assert any(f"def {function}(" in file.read_text() for file in files), name
        assert (root / "tests" / f"{test}.py").is_file(), test


LAYOUTS_OF_PARTS = [
    "map (map (\\win -> i32.sum (flatten win))) (map transpose (slide (map slide xss)))",
    "map (\\rows -> map (\\win -> scan (+) 0 (flatten win)) (transpose rows)) "
    "(slide (map slide xss))",
    "map (\\rows -> map (map i32.sum) (transpose (map transpose (transpose rows)))) "
    "(slide (map slide xss))",
    "map (map (\\win -> map (scan (+) k) (transpose win))) (map transpose (slide (map slide xss)))",
]


@pytest.mark.parametrize("number", range(len(LAYOUTS_OF_PARTS)))
def test_layouts_of_parts_of_a_definition_of_the_nest(number: int, simulator: str) -> None:
    program = runelift.compile(
        "def slide 'a [n] (xs: [n]a): [n - 1][2]a = tabulate (n - 1) (\\i -> xs[i:i + 2] :> [2]a)\n"
        "entry main [n][m] (xss: [n][m]i32) (k: i32) = " + LAYOUTS_OF_PARTS[number],
        device=simulator)
    for shape in [(1, 3), (3, 2), (4, 5)]:
        xss = np.random.default_rng(shape[0]).integers(-3, 9, shape).astype(np.int32)
        args = [xss, np.int32(0)]
        (expected,) = interpret(program.compiled.core, "main", args)[-1:]
        for force in plans(program.tree.entry("main")):
            found, _ = program.run("main", args, force=force)
            np.testing.assert_array_equal(found[-1], expected, err_msg=f"{shape} {force}")
