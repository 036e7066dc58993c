"""Each construct in both branches of an ``if`` that the device decides, in every version."""

from __future__ import annotations

import numpy as np
import pytest

from runelift.ir.base.errors import CompilerLimitation, ProgramFailure, VersionUnavailable
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.ir.interpret import interpret
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.versions.forest import entry_forest, plans
from tests.programs import expected, program

BRANCH = """entry main [n][m] (ks: [n]i64) (xs: [m]i64): [n]i64 = map (\\k ->
  if k % 3 == 0 then i64.sum (map (* k) xs) else k) ks"""
PARTED = """entry main [n][m] (ks: [n]i64) (xs: [m]i64): ([]i64, []i64) =
  let (as, bs) = partition (\\k -> k % 3 == 0) ks
  in (map (\\k -> i64.sum (map (* k) xs)) as, bs)"""
CONSTRUCTS = {
    "map": "map (+ p) xs",
    "nested map": "map (\\x -> i64.sum (map (* x) xs)) xs",
    "reduce": "replicate m (p + reduce (+) 0 xs)",
    "scan": "scan (+) 0 (map (+ p) xs)",
    "segscan": (
        "map (.0) (scan (\\(a, f) (b, g) -> ((if g then b else a + b), f || g)) (0, false) "
        "(zip xs (map (> p) xs)))"),
    "scatter": "scatter (copy xs) (map (% m) xs) (map (\\x -> x % m) xs)",
    "scatter_2d": "(scatter_2d (replicate 2 xs) (map (\\i -> (i % 2, i)) (iota m)) xs)[1]",
    "hist": "reduce_by_index (replicate m p) (+) 0 (map (% 5) xs) xs",
    "hist of rows": (
        "flatten (reduce_by_index (replicate m [p]) (map2 (+)) [0] (map (% 5) xs) (map (\\x "
        "-> [x]) xs)) :> [m]i64"),
    "update": "(copy xs) with [p % m] = p",
    "slice update": "(copy xs) with [1:m] = map (+ p) xs[0:m - 1]",
    "two updates": "((copy xs) with [0] = p) with [m - 1] = xs[0]",
    "concat": "take m (xs ++ map (+ p) xs)",
    "filter": "let ys = filter (> p) xs in replicate m (length ys + i64.sum ys)",
    "partition": "let (ys, zs) = partition (> p) xs in take m (ys ++ zs)",
    "loop": "loop ys = xs for i < 3 do map (+ (p + i)) ys",
    "loop of updates": "loop ys = copy xs for i < m do ys with [i] = ys[(i * 7) % m] + p",
    "while": "(loop (ys, k) = (xs, 0) while k < p % 4 do (map (* 2) ys, k + 1)).0",
    "loop with scan": "loop ys = xs for _i < p % 3 do scan (+) 0 ys",
    "irregular": "map (\\x -> i64.sum (iota (x % 4))) xs",
    "irregular inner": (
        "map (\\x -> let k = x % 5 in i64.sum (map (\\j -> i64.sum (iota j)) (iota k))) xs"),
    "irregular scan": "map (\\x -> let k = x % 5 + 1 in last (scan (+) 0 (iota k))) xs",
    "irregular scatter": (
        "map (\\x -> let k = x % 5 + 1 in i64.sum (scatter (replicate k 0) (iota k) (iota "
        "k))) xs"),
    "irregular hist": (
        "map (\\x -> let k = x % 5 + 1 in i64.maximum (reduce_by_index (replicate k 0) (+) "
        "0 (map (% k) xs) xs)) xs"),
    "irregular filter": "map (\\x -> length (filter (< x) xs)) xs",
    "size of its own": (
        "let k = p % m in (map (+ 1) (take k xs) ++ replicate (m - k) p) :> [m]i64"),
    "rearrange": "flatten (transpose (unflatten (map (+ p) xs :> [1 * m]i64))) :> [m]i64",
    "branch": "if p > 2 then map (+ 1) xs else scan (+) 0 xs",
    "branch of scatters": (
        "if p > 2 then scatter (copy xs) [0, p % m] [p, p + 1] else reduce_by_index (copy "
        "xs) (+) 0 [p % m] [1]"),
    "branch of checks": "if p > 2 then (if p > 3 then xs else assert (p >= 0) xs) else xs",
    "check in map": "map (\\x -> assert (x >= 0) (xs[x % m])) xs",
    "match": (
        "match (p % 3) case 0 -> xs case 1 -> map (+ 1) xs case _ -> scatter (copy xs) "
        "(iota m) (map (* 2) xs)"),
    "min by": (
        "let k = (reduce (\\(a, i) (b, j) -> if a < b then (a, i) else (b, j)) (99, -1) "
        "(zip xs (iota m))).1 in replicate m k"),
    "stream_seq": (
        "(loop (acc, ys) = (0, copy xs) for i < m do let acc = acc + xs[i] in (acc, ys "
        "with [i] = acc)).1"),
    "matrix product": (
        "let a = unflatten (map (+ p) xs :> [1 * m]i64) in flatten (map (\\r -> map (\\c -> "
        "i64.sum (map2 (*) r c)) (transpose (transpose a ))) (a) )|> \\r -> replicate m "
        "(i64.sum r)"),
    "sort": (
        "(loop ys = copy xs for i < m do let k = i % 2 in map (\\j -> let o = if (j + k) % "
        "2 == 0 then j + 1 else j - 1 in if o < 0 || o >= m then ys[j] else if o > j then "
        "i64.min ys[j] ys[o] else i64.max ys[j] ys[o]) (iota m))"),
    "radix step": (
        "let bits = map (\\x -> x & 1) xs let ones = scan (+) 0 bits let zeros = scan (+) 0 "
        "(map (1 -) bits) let z = last zeros in scatter (replicate m 0) (map4 (\\b o e i -> "
        "(if b == 1 then z + o - 1 else e - 1) + 0 * i) bits ones zeros (iota m)) xs"),
    "accumulate rows": (
        "(loop yss = replicate 2 xs for i < 2 do yss with [i] = map (+ p) yss[1 - i])[1]"),
    "all and any": (
        "if all (> p) xs then replicate m 1 else if any (> p) xs then xs else replicate m 2"),
}
"""Expressions of type [m]i64 with an array ``xs: [m]i64`` and a number ``p: i64``."""
CONTEXTS = {
    "each": """
entry each [n][m] (c: i64) (p: i64) (xss: [n][m]i64): [n][m]i64 =
  map2 (\\xs p -> if (p + c) % 2 == 0 then (ONE) else (OTHER)) xss (map (+ p) (iota n))""",
    "whole": """
entry whole [n][m] (c: i64) (p: i64) (xss: [n][m]i64): [n][m]i64 =
  map2 (\\xs p -> if c % 2 == 0 then (ONE) else (OTHER)) xss (map (+ p) (iota n))""",
    "device": """
entry device [n][m] (c: i64) (p: i64) (xss: [n][m]i64): [m]i64 =
  let (p, xs) = (p + xss[0, 0], xss[0])
  in if i64.sum (map (+ c) xs) % 2 == 0 then (ONE) else (OTHER)""",
    "looped": """
entry looped [n][m] (c: i64) (p: i64) (xss: [n][m]i64): [n][m]i64 =
  map (\\xs -> loop xs = xs for p < 3 do
                if (xs[0] + c) % 2 == 0 then (ONE) else if c > 7 then xs else (OTHER)) xss""",
    "nested": """
entry nested [n][m] (c: i64) (p: i64) (xss: [n][m]i64): [n][2][m]i64 =
  map (\\xs -> map (\\p -> if (p + c + xs[0]) % 2 == 0 then (ONE) else (OTHER)) [p, c]) xss""",
}
XSS = np.arange(20, dtype=np.int64).reshape(4, 5) * 7 % 11
HOLES = {
    "a hole behind a check": ("""
entry main (xs: []i32): i32 =
  let y = match xs[1] case 0 -> 1i32 case 1 -> 2 case _ -> assert false 3
  let r : i32 = ???
  in r + y""", "Reached hole of type: i32"),
    "checks in checks": ("""
entry main (xs: []i32): i32 =
  if xs[0] == 0 then (if xs[1] == 1 then assert (xs[2] == 9) 5 else 6) else 7""",
                         "Assertion is false"),
    "checks in both branches": ("""
entry main (xs: []i32): i32 =
  let y = if xs[0] == 5 then assert (xs[1] == 0) 1i32
          else if xs[1] == 1 then (if xs[2] == 0 then assert (xs[0] == 1) 2 else 3)
          else assert false 4
  in y * 0 + 1""", "Assertion is false"),
}


@pytest.mark.parametrize("policy", ["all", "moderate", "classic"])
@pytest.mark.parametrize("name", CONSTRUCTS)
@pytest.mark.sweep(every=41)
def test_constructs_in_branches(name: str, policy: str) -> None:
    """The right result, or (of one policy) a clear limitation."""
    names = list(CONSTRUCTS)
    other = CONSTRUCTS[names[(names.index(name) + 7) % len(names)]]
    text = "\n".join(each.replace("ONE", CONSTRUCTS[name]).replace("OTHER", other)
                     for each in CONTEXTS.values())
    branches = program(text, policy=policy)
    for entry in CONTEXTS:
        for c in (0, 1):
            arguments = [np.int64(c), np.int64(3), XSS]
            (wanted,) = expected(text, entry, arguments)
            ran = 0
            for force in plans(branches.tree.entry(entry)):
                try:
                    (found,), _ = branches.run(entry, arguments, force=force)
                except (CompilerLimitation, VersionUnavailable) as error:
                    if "known only inside of the kernel" not in str(error):
                        raise
                    continue
                ran += 1
                np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted),
                                              err_msg=f"{entry} {c} {force}")
            assert ran or policy == "classic"


@pytest.mark.parametrize("policy", ["all", "moderate", "classic"])
@pytest.mark.parametrize("name", HOLES)
def test_checks_in_branches_without_results(name: str, policy: str) -> None:
    text, message = HOLES[name]
    for device in ("interpreter", "pocl"):
        with pytest.raises(ProgramFailure, match=message):
            program(text, device, policy).run("main", [np.array([0, 1, 0], np.int32)])


def test_a_derivation_says_what_helps_a_branch_in_a_map() -> None:
    """The program that it tells of has parallel rows."""
    told = {}
    for name, text in (("branch", BRANCH), ("parted", PARTED)):
        compiled = compile_source(Source(name, text))
        told[name] = [step.rule for step in compiled.derivation("main").steps
                      if not step.fired and "partition of the points" in step.note]
        kinds = {each.kind for each in entry_forest(
            compiled.versioned_entry("main").funs[0]).leaves()}
        assert (Kind.FLAT in kinds) == (name == "parted")
    assert told == {"branch": ["G19"], "parted": []}
    steps = compile_source(Source("branch", BRANCH)).derivation("main").steps
    assert [step.rule for step in steps if step.fired] == [  # of what is kept
        "G3", "G1", "mapping", "mapping"]
    ks, xs = np.array([0, 7, 3, 12, 1, 0, 9]), np.arange(5)
    sums, others = interpret(compiled.core, "main", [ks, xs])
    np.testing.assert_array_equal(sums, [10 * k for k in ks if k % 3 == 0])
    np.testing.assert_array_equal(others, [k for k in ks if k % 3])
