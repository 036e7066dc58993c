"""The families: every version at small sizes on PoCL, with the interpreter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import runelift
from runelift.ir.base.errors import VersionUnavailable
from runelift.ir.interpret import interpret
from runelift.runtime.data.compare import first_difference
from runelift.runtime.versions.forest import plans
from tests.ledger.shapes import FAMILIES, shapes, small

QUICK = ("reductions_rows", "filters")
"""Families of which the quick suite runs every version."""


def test_every_entry_point_has_sizes_small_and_large() -> None:
    for family in FAMILIES:
        found = shapes(family)
        for entry in re.findall(r"^entry (\w+)", family.read_text(), re.MULTILINE):
            of_entry = [each for each in found if each.entry == entry]
            assert len({each.text for each in of_entry}) == len(of_entry) >= 4, (family, entry)
            assert sum(map(small, of_entry)) >= 2, (family, entry)
        assert family.read_text().startswith("-- ")


@pytest.mark.sweep(keep=QUICK)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.stem)
def test_every_version_agrees_with_the_interpreter(family: Path) -> None:
    program = runelift.compile(family, device="pocl")
    ran = set[tuple[str, ...]]()
    for shape in filter(small, shapes(family)):
        entry = shape.entry
        args = shape.arguments(program.interface(entry))
        expected = interpret(program.compiled.optimised_entry(entry), entry, args)
        for force in ({}, *plans(program.tree.entry(entry))):
            try:
                results, _ = program.run(entry, args, force=force)
            except VersionUnavailable:
                continue
            assert first_difference(expected, results) is None, (shape.text, entry, force)
            ran.add((entry, *map(str, force.items())))
    assert len(ran) >= len(program.entries)
