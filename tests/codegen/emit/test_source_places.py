"""Places in the source as comments in kernels, and read from them again."""

from __future__ import annotations

import pytest

import runelift
from runelift.codegen.emit.opencl import opencl_source
from runelift.codegen.emit.source_places import annotated, read_place
from runelift.codegen.plan.plan import kernels
from runelift.ir.base.lines import placed
from runelift.ir.base.source import Loc

TEXT = """\
def get [m] (xs: [m]f32) (i: i64): f32 = xs[i]
entry main [n][m] (xss: [n][m]f32) (is: [m]i64): [n]f32 =
  map (\\xs -> reduce (+) 0 (map (get xs) is)) xss
"""


@pytest.mark.parametrize("loc", [
    Loc("p.fut", 4, 7, last=(5, 11)),
    Loc("a folder/p, in x:1.fut", 1, 2, last=(1, 2)),
    Loc("lib.fut", 1, 37, (Loc("p.fut", 9, 3, callee="get", last=(9, 9)),
                           Loc("p.fut", 8, 1, last=(8, 2))), last=(1, 41)),
])
def test_a_place_is_read_as_it_was_written(loc: Loc) -> None:
    [line] = annotated(placed(["x = y;  // why"], loc))
    code, found = read_place(line)
    assert code == "x = y;  // why"
    assert found == loc
    assert found is not None
    assert [each.last for each in (found, *found.calls)] == [
        each.last for each in (loc, *loc.calls)]


@pytest.mark.parametrize("line", ["x = y;", "x = y;  // why", "// p.fut:1:2-1:3",
                                  "x = y;  // p.fut:1:2"])
def test_lines_without_a_place_stay(line: str) -> None:
    assert list(annotated([line])) == [line]
    assert read_place(line) == (line, None)


@pytest.mark.parametrize("lockstep", [False, True])
def test_comments_are_all_that_origins_add(lockstep: bool) -> None:
    compiled = runelift.compile(TEXT, device="interpreter").compiled
    plan, origins = compiled.explained_plan("main", interleave=lockstep, coherent=lockstep)
    lines = set[int]()
    for kernel in kernels(plan.steps):
        read = [*map(read_place, opencl_source(kernel, origins=origins).splitlines())]
        assert [code for code, _ in read] == opencl_source(kernel).splitlines()
        found = [loc for _, loc in read if loc is not None]
        assert {loc.file for loc in found} == {"<source>"}
        lines |= {loc.line for loc in found}
    assert lines == {1, 3}
