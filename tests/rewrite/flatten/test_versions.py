"""The versions and thresholds of known programs: the thesis's trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import runelift
from runelift.frontend.load import load
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.rewrite.flattening import FLATTENING, derive, flatten
from runelift.rewrite.passes.simplify import SIMPLIFICATION
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.versions.forest import Forest, forest_of
from tests.replays import results_agree

EXAMPLES = Path(__file__).parents[3] / "examples"


def forest(source: Source, policy: str = "all") -> Forest:
    names = Names()
    program = clean(flatten(optimise(load(source, names), names), names, policy=policy), names)
    return forest_of(program).entry("main")


def test_matmul_has_five_versions_and_four_thresholds() -> None:
    """Breddam 2019, figure 1.6."""
    tree = forest(read_source(EXAMPLES / "matmul.fut"))
    assert [v.kind for v in tree.leaves()] == [
        Kind.OUTER, Kind.INTRA, Kind.OUTER, Kind.INTRA, Kind.FLAT]
    assert list(tree.guards()) == [
        "main.suff_outer_par_0", "main.suff_intra_par_1", "main.suff_outer_par_2",
        "main.suff_intra_par_3"]


def test_two_maps_in_a_map_split_the_tree() -> None:
    """Breddam 2019, figure 1.7: LocVolCalib's two tridiagonal solvers."""
    text = """
def solve [n] (a: f32) (xs: [n]f32): [n]f32 =
  let ys = scan (+) 0 (map (* a) xs)
  in scan (\\x y -> x * 0.5 + y) 0 (map (/ (1 + f32.maximum ys)) ys)
entry main [k][n][m] (as: [k]f32) (xsss: [k][n][m]f32) (ysss: [k][m][n]f32) =
  unzip (map3 (\\a xss yss -> (map (solve a) xss, map (solve a) yss)) as xsss ysss)
"""
    tree = forest(Source("t", text))
    (root,) = [s for s in tree.sites().values() if any(len(a.sites) > 1 for a in s.alternatives)]
    split = root.alternatives[-1]
    assert len(split.sites) == 2
    assert "split" in tree.render()


def test_perfect_nests_of_maps_have_versions_that_differ() -> None:
    """Versions in another order are left out, unless all are asked for."""
    nest = ("entry main [n][m][k] (xsss: [n][m][k]f32) = "
            "map (map (map (\\x -> x * x + 1))) xsss")
    assert [v.kind for v in forest(Source("t", nest)).leaves()] == [Kind.OUTER, Kind.FLAT]
    assert [v.kind for v in forest(Source("t", nest), "full").leaves()] == [
        Kind.OUTER, *3 * [Kind.INTRA], Kind.OUTER, Kind.INTRA, Kind.FLAT]
    assert [v.kind for v in forest(Source("t", nest), "divided").leaves()] == [
        Kind.OUTER, Kind.INTRA, Kind.INTRA, Kind.OUTER, Kind.INTRA, Kind.FLAT]
    shared = ("entry main [n][m] (xss: [n][m]f32) = "
              "map (\\xs -> let s = f32.sqrt xs[0] in map (* s) xs) xss")
    loop = ("entry main [n][m] (k: i64) (xss: [n][m]f32) = "
            "map (map (\\x -> loop y = x for i < k do y * x)) xss")
    for text in (shared, loop):
        assert Kind.INTRA in [v.kind for v in forest(Source("t", text)).leaves()]


def test_moderate_policy_keeps_one_version() -> None:
    tree = forest(read_source(EXAMPLES / "matmul.fut"), "moderate")
    assert list(tree.guards()) == []


def test_variant_thresholds_are_in_a_loop() -> None:
    tree = forest(read_source(EXAMPLES / "variant.fut"))
    assert len(tree.guards()) >= 4
    assert "loop" in tree.render()


def test_derivation_says_why_rules_did_not_fire() -> None:
    text = ("entry main [n] (ns: [n]i64) (xs: [n]i32) = map2 (\\k x -> "
            "i32.sum (map (+ x) (map i32.i64 (iota k)))) ns xs")
    names = Names()
    program: Program = optimise(load(Source("t", text), names), names)
    _, (derivation,) = derive(program, names)
    assert any(not s.fired and "differs between points" in s.note for s in derivation.steps)


def test_every_rule_states_its_law() -> None:
    assert all("⇒" in rule.law for rule in FLATTENING)
    assert all("⇒" in rule.law for rule in SIMPLIFICATION.rules)
    assert {"G1", "G2", "G3", "G4", "G5", "G7", "G8", "G9"} <= {r.name for r in FLATTENING}


def test_a_loop_of_small_operations_can_run_in_one_group() -> None:
    """Each iteration would be a launch of 16 work-items; one launch can run them all."""
    text = """
entry main (n: i64) (xs: [16]f32): [16]f32 =
  loop xs for i < n do
    let ys = scan (+) 0 (map (* 0.5) xs)
    in map2 (\\x y -> x - y / 4) ys (rotate 1 xs)
"""
    tree = forest(Source("t", text))
    (loop,) = tree.trees
    assert [a.kind for a in loop.alternatives] == [Kind.INTRA, Kind.FLAT]
    assert [(str(g.par), g.predicted) for g in loop.guards] == [("16", True)]
    program = runelift.compile(text)
    xs = np.linspace(0, 1, 16, dtype=np.float32)
    expected = runelift.compile(text, device="interpreter").main(5, xs)
    for force, launches in (({loop.name: 0}, 1), ({loop.name: 1}, 5)):
        results, record = program.run("main", [np.int64(5), xs], force=force, record=True)
        np.testing.assert_allclose(results[0], expected, rtol=1e-5)
        assert record is not None
        assert record.launches == launches


def test_a_loop_of_operations_of_any_size_stays_on_the_grid() -> None:
    text = "entry main [n] (xs: [n]f32) = loop xs for _i < 9 do map (+ 1) (rotate 1 xs)"
    assert not forest(Source("t", text)).trees


ELIMINATION = """
entry main [m][nm] (xss: [m][nm]f32) (n: i64): [m][nm]f32 =
  map (\\xs -> loop xs = copy xs for i < n do
    let width = nm / n
    let ys = map (\\k -> xs[k] - xs[k % width] * f32.i64 i) (iota (n * width))
    in scatter xs (iota (n * width)) ys) xss
"""


def test_a_size_that_is_divided_inside_is_regular(simulator: str) -> None:
    """Groups have the rows, and the interpreter agrees, also where rows do not come out even."""
    assert Kind.INTRA in {v.kind for v in forest(Source("program", ELIMINATION)).leaves()}
    program = runelift.compile(ELIMINATION, device=simulator, tuning={})
    oracle = runelift.compile(ELIMINATION, device="interpreter", tuning={})
    xss = np.arange(36, dtype=np.float32).reshape(3, 12) % 7
    for n in (3, 5):
        expected = oracle.run("main", [xss, np.int64(n)])[0]
        results_agree(program, "main", [xss, np.int64(n)], expected)
