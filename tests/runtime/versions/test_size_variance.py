"""Guards whose parallelism changes in a loop, and those that merely stand in one."""

from pathlib import Path

import pytest

import runelift
from runelift.runtime.tools.testing.test_blocks import cases_of
from runelift.runtime.versions.forest import Forest

ROWS = "map (\\x -> f32.sum (map (* x) xs)) xs"
SHRINKING = """
entry main [n] (xs: [n]f32): f32 =
  loop s = 0 for i < n do
    let ys = xs[i:]
    in s + f32.sum (map (\\y -> f32.sum (map (* (y + s)) ys)) ys)
"""
CONSTANT = """
entry main [n] (k: i64) (xs: [n]f32): [n]f32 =
  loop xs for i < k do map (\\x -> f32.sum (map (* x) xs)) xs
"""
TWICE = """
entry main [n] (k: i64) (xs: [n]f32): f32 =
  loop s = 0 for i < k do
    let m = 2 * n
    in s + f32.sum (map (\\j -> f32.sum (map (\\x -> x * f32.i64 j + s) xs)) (iota m))
"""
WHILE = """
entry main [n] (xs: [n]f32): f32 =
  (loop (k, s) = (n, 0) while k > 1 do
     (k / 2, s + f32.sum (map (\\x -> f32.sum (map (\\y -> x * y + s) (xs[:k]))) (xs[:k])))).1
"""
HANDED_ON = """
entry main [n] (k: i64) (xs: [n]f32): f32 =
  (loop (m, s) = (k, 0) for i < k do
     (m, s + f32.sum (map (\\j -> f32.sum (map (\\x -> x * f32.i64 j + s) xs)) (iota m)))).1
"""
INNER = """
entry main [n] (k: i64) (xs: [n]f32): f32 =
  loop s = 0 for i < k do
    let t = loop t = 0 for j < n do
              let ys = xs[j:]
              in t + f32.sum (map (\\y -> f32.sum (map (* (y + s)) ys)) ys)
    in t + f32.sum (map (\\x -> f32.sum (map (* (x + t)) xs)) xs)
"""


def forest_of(text: str, tmp_path: Path) -> Forest:
    path = tmp_path / "program.fut"
    path.write_text(text)
    return runelift.compile(path, tuning={}).tree.entry("main")


def sizes_that_change(forest: Forest) -> set[str]:
    guards = forest.guards()
    return {forest.compared(guards[name]) for site in forest.sites().values()
            for name in site.size_variant}


def sizes_that_stay(forest: Forest) -> set[str]:
    return {forest.compared(guard) for site in forest.sites().values() for guard in site.guards
            if guard.name not in site.size_variant}


@pytest.mark.parametrize(("text", "changing"), [
    (SHRINKING, True), (CONSTANT, False), (TWICE, False), (WHILE, True), (HANDED_ON, False)])
def test_guards_in_loops(text: str, changing: bool, tmp_path: Path) -> None:
    forest = forest_of(text, tmp_path)
    guards = list(forest.guards())
    assert guards
    variant = {name for site in forest.sites().values() for name in site.size_variant}
    assert variant == (set(guards) if changing else set())
    text = forest.render()
    assert ("size-variant" in text) == changing
    assert ("size-invariant" in text) != changing


def test_sizes_of_an_inner_loop_change_there_only(tmp_path: Path) -> None:
    forest = forest_of(INNER, tmp_path)
    assert sizes_that_change(forest) == {"n - i"}
    assert sizes_that_stay(forest) == {"n"}


def test_guards_outside_of_loops_say_nothing(tmp_path: Path) -> None:
    forest = forest_of(f"entry main [n] (xs: [n]f32): [n]f32 = {ROWS}", tmp_path)
    assert forest.guards()
    assert "size-" not in forest.render()


@pytest.mark.parametrize("name", ["lud", "variant", "kmeans", "nw"])
def test_runs_compare_with_several_values_only_where_sizes_change(name: str) -> None:
    """What encounters of a run say, against what the program says."""
    program = runelift.compile(Path("examples", f"{name}.fut"), tuning={})
    forest = program.tree.entry("main")
    variant = {guard for site in forest.sites().values() for guard in site.size_variant}
    dataset = next(each for each in cases_of(program.compiled.source, "main")
                   if "notest" not in each.tags)
    _, record = program.run("main", dataset.arguments(lambda _: []), record=True)
    assert record is not None
    seen: dict[str, set[int]] = {}
    for encounter in record.encounters:
        for guard, par in encounter.par.items():
            seen.setdefault(guard, set()).add(par)
    assert {guard for guard, values in seen.items() if len(values) > 1} <= variant
