"""Perfect nests of three loops or more: which mappings have versions, and their results."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.ir.guards import Kind
from runelift.ir.interpret import interpret
from runelift.rewrite.flatten.mapping import further, mappings
from runelift.runtime.versions.forest import Forest, plans

SUM, SCAN, SCALE = "i32.sum xs", "scan (+) 0 xs", "map (\\x -> x * 3 - k) xs"


def nest(depth: int, inner: str, sizes: str = "") -> str:
    """A program of ``depth`` loops around each other, of which the last is in ``inner``."""
    sizes = sizes or "".join(f"[{name}]" for name in "nmpq"[:depth])
    names = "".join(f"[{name}]" for name in "nmpq" if f"[{name}]" in sizes)
    text = inner
    for _ in range(depth - 1):
        text = f"map (\\xs -> {text}) xs"
    return f"entry main {names} (k: i32) (xs: {sizes}i32) = {text}"


def forest(text: str, policy: str) -> Forest:
    tree: Forest = runelift.compile(text, device="interpreter", policy=policy).tree.entry("main")
    return tree


@pytest.mark.parametrize(("depth", "count"), [(2, 3), (3, 7), (4, 15)])
@pytest.mark.parametrize("inner", [SUM, SCAN, SCALE])
def test_all_mappings_have_versions_under_full(depth: int, count: int, inner: str) -> None:
    """As many as chains of loops have useful mappings without loops of launches."""
    leaves = forest(nest(depth, inner), "full").leaves()
    assert len(leaves) == count == len(mappings(depth))
    assert sum(leaf.kind is Kind.INTRA for leaf in leaves) == count - depth


@pytest.mark.parametrize("inner", [SUM, SCAN])
def test_by_default_sizes_that_are_unknown_add_none(inner: str) -> None:
    for depth in (2, 3, 4):
        assert len(forest(nest(depth, inner), "all").leaves()) == 2 * depth - 1


@pytest.mark.parametrize(("sizes", "levels"), [
    ("[n][m][20]", "local-sequential"), ("[n][20][m]", "sequential-local")])
def test_narrow_loops_are_sequential_in_one_more_version(sizes: str, levels: str) -> None:
    guards = forest(nest(3, SCAN, sizes), "all").guards()
    assert [key for guard in guards.values() if "sequential" in (key := guard.key)] == [
        f"main@1:{next(iter(guards.values())).key.split(':')[1].split('/')[0]}/intra/1/{levels}"]
    assert len({guard.key for guard in guards.values()}) == len(guards)


def test_further_mappings_in_order() -> None:
    """Those with few sequential loops first; all have a local loop and a sequential one."""
    assert [sum(level is None for level in each) for each in further(3)] == [1, 1, 1, 2, 2, 2]
    assert further(1) == ()


def test_the_derivation_names_the_mapping_of_each_version() -> None:
    (derivation,) = runelift.compile(nest(3, SUM), device="interpreter",
                                     policy="full").compiled.derivations
    told = [step.note for step in derivation.steps if step.rule == "mapping"]
    assert told == ["grid, grid, sequential", "group, group, local", "grid, grid, grid",
                    "grid, sequential, sequential", "group, local, local",
                    "group, local, sequential", "group, sequential, local",
                    "grid, inside as below"]


@pytest.mark.sweep(keep=["3-scan"])
@pytest.mark.parametrize(("depth", "inner"), [
    (depth, inner) for depth in (3, 4) for inner in (SUM, SCAN, SCALE)],
    ids=[f"{depth}-{name}" for depth in (3, 4) for name in ("sum", "scan", "scale")])
def test_every_version_is_right(depth: int, inner: str) -> None:
    program = runelift.compile(nest(depth, inner), policy="full", tuning={})
    shapes = [(0, 3, 2, 3), (2, 0, 3, 2), (3, 2, 0, 3), (1, 1, 1, 1), (3, 5, 7, 2), (2, 3, 33, 5)]
    for shape in shapes:
        xs = np.random.default_rng(shape[0]).integers(-9, 9, shape[:depth]).astype(np.int32)
        args = [np.int32(2), xs]
        (expected,) = interpret(program.compiled.core, "main", args)
        for force in plans(program.tree.entry("main")):
            (found,), _ = program.run("main", args, force=force)
            np.testing.assert_array_equal(found, expected, err_msg=f"{shape} {force}")
