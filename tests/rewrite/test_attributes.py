"""Attributes say which versions of a map there are."""

from __future__ import annotations

import pytest

from runelift.frontend.load import load
from runelift.ir.names import Names
from runelift.ir.source import Source
from runelift.ir.syntax import Kind
from runelift.rewrite.flatten import flatten
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.tuner.forest import forest_of

ROWS = "map (\\xs -> let ys = scan (+) 0 xs in reduce i32.max 0 (map2 (*) xs ys)) xss"


def kinds(attribute: str) -> list[Kind]:
    """The kinds of version of a map over rows with an attribute; empty if there is no choice."""
    names = Names()
    source = Source("a.fut", f"entry main [n][m] (xss: [n][m]i32): [n]i32 = {attribute} {ROWS}")
    program = clean(flatten(optimise(load(source, names), names), names), names)
    sites = forest_of(program).entry("main").sites().values()
    return [version.kind for site in sites for version in site.alternatives]


@pytest.mark.parametrize(("attribute", "expected"), [
    ("", [Kind.OUTER, Kind.INTRA, Kind.FLAT]),
    ("#[incremental_flattening(no_outer)]", [Kind.INTRA, Kind.FLAT]),
    ("#[incremental_flattening(no_intra)]", [Kind.OUTER, Kind.FLAT]),
    ("#[incremental_flattening(only_intra)]", []),
    ("#[incremental_flattening(only_inner)]", []),
    ("#[sequential_inner]", []),
])
def test_an_attribute_leaves_some_versions(attribute: str, expected: list[Kind]) -> None:
    assert kinds(attribute) == expected
