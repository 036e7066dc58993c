"""Rows of different lengths: every version against the interpreter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerLimitation, ProgramFailure, RunTooLarge
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.ir.interpret import interpret
from runelift.ir.pretty import pretty
from runelift.ir.traverse import statements_at_host
from runelift.rewrite.flatten import segments
from runelift.runtime.compilation.diagnostics import as_json, as_text
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.versions.forest import entry_forest, plans
from tests.codegen import harness

LENGTHS = {
    "none": [], "one": [5], "empty": [0], "all empty": [0] * 9, "ones": [1] * 40,
    "empty at the ends": [0, 0, 7, 0, 3, 1, 0, 0], "huge": [1, 0, 2100, 2, 0, 1],
    "ascending": list(range(40)), "equal": [32] * 6, "alternating": [0, 300] * 5,
}
PROGRAMS: dict[str, str] = {
    "csr": """entry main [r][k][n] (start: [r]i64) (len: [r]i64) (cols: [k]i64) (vals: [k]f32)
        (v: [n]f32): [r]f32 =
      map2 (\\o l -> f32.sum (map (\\(c, x) -> x * v[c]) (zip cols vals)[o:o+l])) start len""",
    "squares": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks""",
    "mirrored": """entry main [c][w] (text: [c]u8) (start: [w]i64) (len: [w]i64): [w]bool =
      map2 (\\o l -> all (\\i -> text[o+i] == text[o+l-1-i]) (iota (l/2))) start len""",
    "width behind a division": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let xs = map (\\i -> 100 / (i + 1)) (iota k)
                  in i64.sum xs + i64.sum (map (* k) (iota (2 * k)))) ks""",
    "lower": """entry main [t][n] (packed: [t]f64) (v: [n]f64): [n]f64 =
      tabulate n (\\i -> f64.sum (map (\\j -> packed[i*(i+1)/2 + j] * v[j]) (iota (i+1))))""",
    "two reductions": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let s = i64.sum (map (\\i -> i * i) (iota k))
                  in (s, i64.maximum (map (\\i -> (i * 7) % (s + 1)) (iota k)))) ks""",
    "rows and columns": """entry main [n] (ks: [n]i64): [n][3]i64 =
      map (\\k -> map (\\c -> i64.sum (map (\\i -> i * c) (iota (k + c)))) (iota 3)) ks""",
    "kept": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let ys = map (\\i -> i * i % 7) (iota k)
                  in (i64.sum ys, if k > 0 then ys[k - 1] else -1)) ks""",
    "three levels": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> i64.sum (map (\\i -> i64.sum (map (\\j -> i * j + k) (iota (i % 5)))) (iota k)))
          ks""",
    "in a loop": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> loop s = k for t < 3 do
                    i64.sum (map (\\i -> i * t) (iota (k / 2))) + s % 3) ks""",
    "scans": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let ys = scan (+) 0 (map (\\i -> i * i % 7) (iota k))
                  in (if k > 0 then ys[k - 1] + ys[k / 2] else 0, i64.maximum ys)) ks""",
    "two scans": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let (as, bs) = unzip (scan (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, 0)
                                      (map (\\i -> (i % 3, i * 7 % 11)) (iota k)))
                  in i64.sum (map2 (*) as bs)) ks""",
    "filter": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let ys = filter (\\i -> i * i % 7 < 3) (iota k)
                  in (i64.sum ys * length ys, if length ys > 2 then ys[2] else 0)) ks""",
    "lengths of kept elements": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let [q] (ys: [q]i64) = filter (\\i -> i % 3 == 0) (iota k)
                 in i64.sum ys + i64.sum (iota (q + k))) ks""",
    "filter of rows": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let ys = filter (< k) (map (* 3) (iota n))
                  in (i64.sum (map (\\y -> y * k) ys), length ys)) ks""",
    "partition": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let (as, bs) = partition (\\i -> i * i % 7 < 3) (iota k)
                  in i64.sum as * 2 - i64.sum (map2 (*) bs (indices bs))) ks""",
    "concatenation": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let ys = map (* 2) (iota k) ++ [k, 1] ++ map (* 3) (iota (k / 2))
                  in i64.sum (map2 (*) ys (map (+ k) (indices ys)))) ks""",
    "scatter": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let ys = scatter (replicate k 1) (map (\\i -> i * 2 - 1) (iota k)) (iota k)
                  in i64.sum (map2 (*) ys (iota k))) ks""",
    "scatter into rows": """entry main [n] (ks: [n]i64): [n][5]i64 =
      map (\\k -> scatter (replicate 5 k) (map (\\i -> i * 2 - 1) (iota k)) (iota k)) ks""",
    "histogram": """entry main [n] (ks: [n]i64): [n](i64, [3]i64) =
      map (\\k -> let ys = hist (+) 0 k (map (\\i -> i * i % 10) (iota k)) (iota k)
                  in (i64.sum (map2 (*) ys (iota k)),
                      hist i64.max 0 3 (map (% 4) (iota k)) (iota k))) ks""",
    "histogram of equal rows": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let ys = hist (+) 0 k (map (* 2) (iota 4)) (iota 4)
                  in i64.sum (map2 (*) ys (indices ys))) ks""",
    "loop that grows": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> loop s = k for i < 4 do
                        s + i64.sum (map (\\j -> j * s) (iota (i + k % 2)))) ks""",
    "widths by iteration": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> loop s = k for i < n do s + i64.sum (map (\\j -> j * s) (iota i))) ks""",
    "update": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let ys = map (* 3) (iota (k + 2)) with [k / 2] = k
                  in i64.sum (map2 (*) ys (indices ys))) ks""",
    "branch": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> if k % 2 == 0 then -k
                  else i64.sum (map (* k) (iota k)) / (1 + k)) ks""",
    "branches": """entry main [n] (ks: [n]i64): [n](i64, [3]i64) =
      map (\\k -> if k == 0 then (1, [k, 2, k])
                  else if k > 5 then (i64.sum (filter (\\i -> i % 3 == 1) (iota k)), replicate 3 k)
                  else (100 / k, hist (+) 0 3 (map (% 4) (iota k)) (iota k))) ks""",
    "branch of deeper widths": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> if k % 3 == 1 then k
                  else i64.sum (map (\\i -> i64.sum (map (* i) (iota (k % 7)))) (iota 5))) ks""",
    "branch in a loop": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> loop s = k for t < 3 do
                    if s % 2 == t % 2 then i64.sum (map (* t) (iota (s % 10))) else s + 1) ks""",
    "branch with a branch of numbers and arrays": """entry main [n] (ks: [n]i64): [n](i64, [2]i64) =
      map (\\k -> if k % 2 == 0 then (k + 1, [k, k])
                  else let s = i64.sum (filter (\\i -> i % 3 != 0) (iota k))
                       in if s > 3 then (s, [k, s]) else (s + 1, [s, s])) ks""",
    "loop of rows": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let (xs, ys, s) =
                    loop (xs, ys, s) = (iota k, replicate k 1, k) for i < n do
                      (ys, map (\\j -> (xs[j] + ys[k - 1 - j] + i) % 1009) (iota k), s + i64.sum xs)
                  in (i64.sum (map2 (*) xs ys), s)) ks""",
    "while loop of rows": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> i64.sum (loop (xs, c) = (iota k, 1) while c < 9 do
                             (map (% 99) (scan (+) 0 (reverse xs)), c * 2)).0) ks""",
    "loops in loops of rows": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> i64.sum (loop xs = filter (\\i -> i % 3 != 1) (iota k) for i < k % 4 do
                             loop xs = xs for j < i do
                               map2 (\\x y -> (x + y * j) % 101) xs (reverse xs))) ks""",
    "trips over rows": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> (loop row = replicate (k + 1) 1 for i < k % 7 do
                    map (\\j -> if j == 0 then i else (row[j - 1] + row[j] * i) % 997)
                        (iota (k + 1)))[k]) ks""",
    "trips over two rows": """entry main [n] (ks: [n]i64): [n](i64, i64) =
      map (\\k -> let (xs, zs, s) =
                    loop (xs, zs, s) = (iota k, iota (k / 2), 0) while s < k % 9 do
                      (scan (+) 0 (reverse xs), map (+ i64.sum zs % 7) zs, s + 1)
                  in (i64.sum (map (% 99) xs), i64.sum zs)) ks""",
    "update of a slice": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let l = k + k / 3500
                  let xs = iota (k + 2) with [2:l + 2] = map (* 2) (iota l)
                  let ys = copy xs with [1:k + 1] = map (+ k) xs[0:k]
                  in i64.sum (map2 (*) ys (indices ys))) ks""",
    "update of a slice backwards": """entry main [n] (ks: [n]i64): [n]i64 =
      map (\\k -> let xs = map (* 3) (iota (2 * k)) with [::-2] = map (+ k) (iota k)
                  let ys = copy xs with [0:k % 2] = replicate (k % 2) k
                  in i64.sum (map2 (*) ys (indices ys))) ks""",
    "update of slices of equal rows": """entry main [n] (ks: [n]i64): [n][9]i64 =
      map (\\k -> let at = k / 3500 * 9 + k % 5
                  let xs = scan (+) 0 (iota 9) with [at:at + 4] = map (* k) (iota 4)
                  in scan (+) 0 xs with [0:k % 9] = iota (k % 9)) ks""",
    "product operator": """entry main [n] (ks: [n]i64): [n](i64, i32) =
      map (\\k -> reduce (\\(a, b) (c, d) -> (a * c, b * i32.i64 c + d)) (1, 0)
                  (map (\\i -> (i + 1, i32.i64 i)) (iota k))) ks""",
}


def arguments(name: str, lengths: list[int]) -> list[Any]:
    rng, ks = np.random.default_rng(len(lengths)), np.array(lengths, np.int64)
    total = int(ks.sum())
    start = np.cumsum(ks) - ks
    match name:
        case "csr":
            return [start, ks, rng.integers(0, 7, total), rng.integers(-4, 5, total).astype(
                np.float32), np.arange(7, dtype=np.float32)]
        case "mirrored":
            return [rng.integers(0, 2, total).astype(np.uint8), start, ks]
        case "lower":
            n = len(lengths)
            return [rng.integers(-4, 5, n * (n + 1) // 2).astype(np.float64),
                    np.arange(n, dtype=np.float64)]
    return [ks]


def cases() -> list[Any]:
    return [pytest.param(name, id=name, marks=[] if number < 4 else [pytest.mark.sweep(every=6)])
            for number, name in enumerate(PROGRAMS)]


@pytest.mark.parametrize("name", cases())
def test_versions_agree_with_the_interpreter(name: str, simulator: str) -> None:
    program = runelift.compile(PROGRAMS[name], device=simulator,
                               policy="full" if name == "csr" else "all")
    forces = plans(program.tree.entry("main"))
    assert len(forces) > 1
    for shape, lengths in LENGTHS.items():
        args = arguments(name, lengths)
        expected = interpret(program.compiled.core, "main", args)
        versioned = interpret(program.compiled.versioned, "main", args)
        for found in (versioned, *(program.run("main", args, force=force)[0]
                                   for force in forces)):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"{shape}")


@pytest.mark.parametrize("name", ["lengths of kept elements", "three levels"])
def test_neighbours_know_the_longest_of_lengths_that_no_guard_asks_for(name: str) -> None:
    program = runelift.compile(PROGRAMS[name], device="pocl", policy="full")
    forest = program.tree.entry("main")
    assert Kind.LANES in [version.kind for version in forest.leaves()]
    for lengths in LENGTHS.values():
        args = arguments(name, lengths)
        expected = interpret(program.compiled.core, "main", args)
        for force in plans(forest):
            found, _ = program.run("main", args, force=force)
            np.testing.assert_array_equal(found[0], expected[0])


def test_kinds_and_guards() -> None:
    tree = runelift.compile(PROGRAMS["csr"], device="interpreter").tree.entry("main")
    assert [v.kind for v in tree.leaves()] == [Kind.ROW, Kind.GROUP, Kind.MERGE]
    assert list(tree.guards()) == ["main.suff_row_0", "main.suff_group_1"]
    tree = runelift.compile(PROGRAMS["csr"], device="interpreter", policy="full").tree.entry("main")
    assert [v.kind for v in tree.leaves()] == [Kind.ROW, Kind.LANES, Kind.GROUP, Kind.MERGE]
    assert list(tree.guards()) == [
        "main.suff_row_0", "main.suff_lanes_1", "main.suff_group_2"]


@pytest.mark.parametrize("policy", ["all", "full"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivations_tell_of_the_versions_that_there_are(name: str, policy: str) -> None:
    """They also tell which parts of descriptors a program makes, and of none besides.

    Versions of a map part (G9) are told by the rule itself.
    """
    compiled = compile_source(Source(name, PROGRAMS[name]), policy=policy)
    steps, kinds = compiled.derivation("main").steps, [
        each.kind.value for site in entry_forest(compiled.versioned_entry("main").funs[0])
        .sites().values() if site.alternatives[0].kind is not Kind.REDOMAP
        for each in site.alternatives]
    assert sorted(kinds) == sorted(
        step.what.partition(" ")[0] for step in steps if step.rule == "mapping")
    text = pretty(compiled.versioned)
    assert {step.what.partition(" of ")[0] for step in steps if step.rule == "descriptor"} == {
        part for part, name in (("facts", "total"), ("off", "off"), ("own", "own"))
        if re.search(rf"\b{name}_\d+ :", text)}


def test_histograms_of_equal_rows_have_bins_for_each_row_in_lockstep(simulator: str) -> None:
    program = harness.lockstep(PROGRAMS["histogram of equal rows"], simulator)
    for lengths in LENGTHS.values():
        expected = interpret(program.compiled.core, "main", arguments("", lengths))
        for force in plans(program.tree.entry("main")):
            found, _ = program.run("main", arguments("", lengths), force=force)
            np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("first", [0, 1, 7])
def test_the_host_computes_facts_about_lengths_that_grow_by_one(first: int) -> None:
    program = runelift.compile(
        f"entry main (n: i64) = tabulate n (\\i -> i64.sum (iota (i + {first})))", tuning={})
    assert "facts" not in pretty(program.compiled.versioned)
    (versions,) = [stm.exp for stm in statements_at_host(program.compiled.versioned.funs[0].body)
                   if isinstance(stm.exp, ir.Versions)]
    guard = versions.alternatives[0].guard
    assert guard is not None
    assert guard.lengths is not None
    for n in (0, 1, 2, 9):
        found, record = program.run("main", [np.int64(n)], record=True)
        lengths = np.arange(n) + first
        np.testing.assert_array_equal(found[0], lengths * (lengths - 1) // 2)
        assert record is not None
        sizes = record.encounters[0].sizes
        facts = [size.value({name: sizes[str(name)] for name in size.variables()})
                 for size in guard.lengths.sizes()]
        assert facts == [n, lengths.sum(), lengths.max(initial=0), (lengths > 0).sum(),
                         (lengths * lengths).sum()]


FAILING: dict[str, tuple[str, list[Any], str]] = {
    "a slice that is written": ("update of a slice", [np.array([3, 3500, 4])], r"2:3503"),
    "a slice of equal rows": ("update of slices of equal rows", [np.array([3, 3500, 4])], r"9:13"),
    "a negative length": ("squares", [np.array([3, -2, 4])], "-2"),
    "a slice": ("csr", [np.array([0, 2]), np.array([2, 3]), np.array([0, 1, 2, 0]),
                        np.ones(4, np.float32), np.ones(3, np.float32)], r"2:5"),
    "a negative slice": ("csr", [np.array([0, 2]), np.array([2, -1]), np.array([0, 1, 2, 0]),
                                 np.ones(4, np.float32), np.ones(3, np.float32)], r"2:1"),
    "an element": ("csr", [np.array([0, 2]), np.array([2, 2]), np.array([0, 1, 5, 0]),
                           np.ones(4, np.float32), np.ones(3, np.float32)], r"\[5\]"),
}


@pytest.mark.parametrize("name", FAILING)
def test_every_version_fails_alike(name: str, simulator: str) -> None:
    source, args, message = FAILING[name]
    program = runelift.compile(PROGRAMS[source], device=simulator)
    with pytest.raises(ProgramFailure, match=message):
        interpret(program.compiled.core, "main", args)
    for force in plans(program.tree.entry("main")):
        with pytest.raises(ProgramFailure, match=message):
            program.run("main", args, force=force)


@pytest.mark.parametrize("name", ["csr", "squares", "mirrored"])
def test_the_pass_over_lengths_makes_their_checks(name: str) -> None:
    """So wrong lengths cost no launch, and versions but ``row`` make no check of their own."""
    plan_ = runelift.compile(PROGRAMS[name], device="interpreter").compiled.plan("main")
    found = list(plan.kernels(plan_.steps))
    assert not any(kernel.name.startswith("segmap_effect") for kernel in found)
    (facts,) = (k for k in found if k.name.startswith("length_facts_facts"))
    assert facts.failures
    assert not any(failure.message == facts.failures[0].message for kernel in found
                   if kernel.name.startswith(("ragged_", "merge_")) for failure in kernel.failures)


def test_what_empty_segments_do_not_read_fails_all_the_same(simulator: str) -> None:
    text = ("entry main [n] (ks: [n]i64) (xs: [n]i64) = "
            "map (\\k -> let x = xs[k + 1] in i64.sum (map (* x) (iota k))) ks")
    program = runelift.compile(text, device=simulator)
    args = [np.array([0, 0, 0]), np.array([1, 2, 3])]
    assert [list(r) for r in interpret(program.compiled.core, "main", args)] == [[0, 0, 0]]
    args[0][1] = -1
    for force in plans(program.tree.entry("main")):
        with pytest.raises(ProgramFailure, match="-1"):
            program.run("main", args, force=force)


def test_an_attribute_asks_for_what_cannot_be_distributed() -> None:
    """Without the version by rows, other kinds of version are tried."""
    program = runelift.compile(
        "entry main [n] (ns: [n]i64): [n]i64 =\n"
        "  #[flattening(only_inner)]\n"
        "  map (\\n -> let ne = opaque (if n < 0 then 1 else 0)\n"
        "             in reduce (+) ne (map (2 *) (iota n))) ns", device="pocl")
    assert program.main(np.array([3, 7, 0, 1])).tolist() == [6, 42, 0, 0]


def test_too_many_rows_are_a_limitation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MOST_SEGMENTS", 3)
    program = runelift.compile("""entry main [n] (ks: [n]i64) =
      map (\\k -> let ys = map (\\i -> i * i % 7) (iota k) in i64.sum (map2 (*) ys (reverse ys))) ks
      """, device="pocl", tuning={})
    flat = plans(program.tree.entry("main"))[-1]
    program.run("main", [np.array([1, 2, 3])], force=flat)
    with pytest.raises(CompilerLimitation) as found:
        program.run("main", [np.array([1, 2, 3, 4])], force=flat)
    assert isinstance(found.value, RunTooLarge)
    assert (found.value.code, as_json(found.value)[0]["line"]) == ("too-large", 2)
    assert "error[too-large]: Not supported: a map over 4 rows" in as_text(found.value)
