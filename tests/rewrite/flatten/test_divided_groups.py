"""Groups that choose how to divide what is inside: true edges that lead to further guards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.guards import Kind
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.versions.forest import Forest, plans

PROGRAMS = {
    "reductions of rows": (
        "entry main [k][n][m] (xsss: [k][n][m]f32): [k]f32 = "
        "map (\\xss -> f32.maximum (map (\\xs -> f32.sum (map (\\x -> x * x) xs)) xss)) xsss"),
    "scans of rows": (
        "entry main [k][n][m] (xsss: [k][n][m]f32): [k][n][m]f32 = "
        "map (\\xss -> let s = f32.sum (map (\\xs -> f32.sum xs) xss) "
        "in map (\\xs -> map (+ s) (scan (+) 0 xs)) xss) xsss"),
    "rows and columns in a loop": (
        "entry main [k][n][m] (t: i64) (xsss: [k][n][m]f32): [k][n][m]f32 = "
        "map (\\xss -> loop xss for i < t do "
        "let yss = map (\\xs -> scan (+) 0 xs) xss "
        "in transpose (map (\\xs -> map (/ (1 + f32.i64 i + f32.sum (map f32.abs xs))) xs) "
        "(transpose yss))) xsss"),
    "a redomap of rows": (
        "entry main [k][n][m] (xsss: [k][n][m]i32): [k](i32, i64) = "
        "map (\\xss -> reduce_comm (\\(a, i) (b, j) -> if a < b || (a == b && i < j) then (a, i) "
        "else (b, j)) (i32.highest, n) (zip (map (\\xs -> i32.sum (map (\\x -> x * x) xs)) xss) "
        "(iota n))) xsss"),
}
SIZES = [(0, 3, 4), (1, 1, 1), (3, 0, 5), (2, 5, 0), (2, 33, 17)]


def arguments(name: str, sizes: tuple[int, int, int], rng: np.random.Generator) -> list[Any]:
    dtype = np.int32 if "i32" in PROGRAMS[name] else np.float32
    xs = rng.integers(-9, 10, sizes).astype(dtype)
    return [3, xs] if name == "rows and columns in a loop" else [xs]


def branching(forest: Forest) -> list[str]:
    """The guards whose true edges lead to guards."""
    return [each.guard.name for site in forest.sites().values() for each in site.alternatives
            if each.guard is not None and each.sites]


def flat_results(found: Any) -> Sequence[Any]:
    return found if isinstance(found, tuple | list) else [found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_version_agrees_with_the_interpreter(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.fut"
    path.write_text(PROGRAMS[name] + "\n")
    program = runelift.compile(path, tuning={}, policy="divided")
    expected = runelift.compile(path, tuning={}, device="interpreter")
    forest = program.tree.entry("main")
    assert branching(forest)
    rng = np.random.default_rng(3)
    for sizes in SIZES:
        args = arguments(name, sizes, rng)
        wanted, _ = expected.run("main", args)
        for force in plans(forest):
            got, record = program.run("main", args, force=force, record=True)
            for one, other in zip(flat_results(got), flat_results(wanted), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, err_msg=f"{sizes} {force}")
            assert record is not None


def test_the_true_edge_leads_to_a_guard(tmp_path: Path) -> None:
    path = tmp_path / "program.fut"
    path.write_text(PROGRAMS["reductions of rows"] + "\n")
    forest = runelift.compile(path, tuning={}, policy="divided").tree.entry("main")
    (name,) = branching(forest)
    site = next(site for site in forest.sites().values()
                if name in {guard.name for guard in site.guards})
    divided = next(each for each in site.alternatives if each.guard and each.guard.name == name)
    (inner,) = divided.sites
    assert [each.kind for each in inner.alternatives] == [Kind.INTRA, Kind.INTRA]
    sizes = [forest.compared(guard) for guard in (*site.guards, *inner.guards)]
    assert sizes[:2] + sizes[-1:] == ["k", "min(m*n, n)", "n"]


def test_only_where_it_makes_a_difference(tmp_path: Path) -> None:
    """A row without maps inside has one way to be divided; other policies never ask."""
    path = tmp_path / "program.fut"
    path.write_text("entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss\n")
    assert not branching(runelift.compile(path, tuning={}, policy="divided").tree.entry("main"))
    path.write_text(PROGRAMS["scans of rows"] + "\n")
    assert not branching(runelift.compile(path, tuning={}).tree.entry("main"))


def test_tuners_go_down_the_true_edge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Forced runs, replay and a node-wise search, with thresholds that lead to each version."""
    path = tmp_path / "program.fut"
    path.write_text("-- ==\n-- \"a\" random input { [5][7][9]f32 }\n"
                    "-- \"b\" random input { [3][2][60]f32 }\n"
                    + PROGRAMS["reductions of rows"] + "\n")
    for strategy in ("instrumentation:every=true", "replay", "binary"):
        assert main(["autotune", str(path), "--policy", "divided", "--strategy", strategy,
                     "--no-parameters", "-v"]) == 0
        assert "true: main.suff_intra_par_2 ≤ n" in capsys.readouterr().out
    program = runelift.compile(path, tuning={}, policy="divided")
    xs = np.ones((5, 7, 9), np.float32)
    chosen = {}
    for outer, inner in ((1, 1), (1, 99), (99, 1)):
        thresholds = dict.fromkeys(program.tree.entry("main").guards(), 1 << 30) | {
            "main.suff_intra_par_1": outer, "main.suff_intra_par_2": inner}
        _, record = program.run("main", [xs], thresholds=thresholds, record=True)
        assert record is not None
        chosen[outer, inner] = [(each.site, each.chosen) for each in record.encounters]
    assert len(chosen[1, 1]) == len(chosen[1, 99]) == 2
    assert [chosen[pair][1][1] for pair in ((1, 1), (1, 99))] == [0, 1]
    assert chosen[99, 1][0][1] == 2
