"""Repeated calls inspect lengths of rows only where these may have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.execution.commands import Expect
from runelift.runtime.execution.submitting import (
    BoundCalls,
    BoundCommands,
    CommandBuffer,
)
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans
from tests.gpus import gpu

SUMS = """
entry main [n][m] (start: [n]i64) (len: [n]i64) (xs: [m]i32): [n]i32 =
  map2 (\\o l -> i32.sum xs[o:o + l]) start len
"""
SQUARES = """
entry main [n] (ks: [n]i64): [n]i64 = map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks
"""
CALLS = 6
"""A third call repeats commands and inspects; from the fourth on, commands are bound."""


@pytest.fixture
def inspections(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run of bound commands inspected its arrays."""
    found: list[bool] = []
    issue = BoundCalls.issue

    def noted(self: BoundCalls, owner: BoundCommands) -> None:
        found.append(self is owner.all)
        issue(self, owner)

    monkeypatch.setattr(BoundCalls, "issue", noted)
    return found


def _squares(ks: np.ndarray[Any, Any]) -> list[int]:
    return [sum(i * i for i in range(k)) for k in ks.tolist()]


def _program(source: str = SQUARES) -> Program:
    return runelift.compile(source, tuning={})


def _warm(program: Program, ks: Any) -> None:
    """Call until the arrays are known."""
    for _ in range(CALLS):
        assert program.main(ks).tolist() == _squares(np.asarray(ks))


def test_arrays_that_stay_are_inspected_once(inspections: list[bool]) -> None:
    program = _program()
    _warm(program, program.to_device(np.array([3, 0, 7, 1])))
    assert inspections == [False] * (CALLS - 3)


def test_arrays_of_the_host_are_inspected_in_each_call(inspections: list[bool]) -> None:
    program = _program()
    _warm(program, np.array([3, 0, 7, 1]))
    assert inspections == [True] * (CALLS - 3)


def test_memory_that_another_array_had_is_inspected(inspections: list[bool]) -> None:
    program = _program()
    ks = program.to_device(np.array([3, 0, 7, 1]))
    handle = ks.buffer.handle
    _warm(program, ks)
    del ks
    other = program.to_device(np.array([1, 5, 0, 2]))
    assert other.buffer.handle is handle, "the pool gives memory out again"
    assert program.main(other).tolist() == _squares(np.array([1, 5, 0, 2]))
    assert inspections[-1]


def _on_device(program: Program) -> tuple[Any, Callable[[list[int]], None]]:
    """An array in memory that PyOpenCL writes."""
    ks = program.to_device(np.array([3, 0, 7, 1]))
    view = ks.to_pyopencl()
    return ks, lambda values: view.set(np.array(values))


def _shown(program: Program) -> tuple[Any, Callable[[list[int]], None]]:
    """An array whose memory NumPy shows."""
    ks = program.to_device(np.array([3, 0, 7, 1]))
    view = ks.__array__(copy=False)
    return ks, lambda values: np.copyto(view, values)


def _borrowed(_program: Program) -> tuple[Any, Callable[[list[int]], None]]:
    """An array in memory of the host."""
    values = np.array([3, 0, 7, 1])
    return runelift.from_dlpack(values), lambda new: np.copyto(values, new)


def _part(program: Program) -> tuple[Any, Callable[[list[int]], None]]:
    """A part of an array, whose memory is written by way of the whole."""
    whole = program.to_device(np.array([3, 0, 7, 1, 9, 9]))
    view = whole.to_pyopencl()
    return whole[:4], lambda values: view.set(np.array([*values, 9, 9]))


@pytest.mark.parametrize("shared", [_on_device, _shown, _borrowed, _part])
def test_arrays_that_are_written_elsewhere_are_inspected(
        shared: Callable[[Program], tuple[Any, Callable[[list[int]], None]]],
        inspections: list[bool]) -> None:
    program = _program()
    ks, write = shared(program)
    _warm(program, ks)
    assert all(inspections)
    write([0, 5, 2, 6])
    _warm(program, ks)
    write([2, -1, 2, 0])
    with pytest.raises(ProgramFailure):
        program.main(ks)


@pytest.mark.parametrize("shown", [lambda ks: ks, lambda ks: ks[:]], ids=["whole", "part"])
def test_a_view_that_comes_later_ends_what_is_known(
        shown: Callable[[Any], Any], inspections: list[bool]) -> None:
    program = _program()
    ks = program.to_device(np.array([3, 0, 7, 1]))
    _warm(program, ks)
    assert not inspections[-1]
    np.copyto(shown(ks).__array__(copy=False), [0, 5, 2, 6])
    assert program.main(ks).tolist() == _squares(np.array([0, 5, 2, 6]))
    assert inspections[-1]


def test_failures_are_found_in_each_call(inspections: list[bool]) -> None:
    program = _program()
    good, bad = (program.to_device(np.array(each)) for each in ([3, 0, 7, 1], [3, 0, -7, 1]))
    _warm(program, good)
    for _ in range(CALLS):
        with pytest.raises(ProgramFailure, match="-7"):
            program.main(bad)
        assert program.main(good).tolist() == _squares(np.array([3, 0, 7, 1]))


def test_rows_beyond_an_array_are_found_though_lengths_stay() -> None:
    """Other arguments of the call change: what depends on them is no inspection."""
    program = _program(SUMS)
    start, length = (program.to_device(np.array(each)) for each in ([0, 3, 3], [3, 0, 5]))
    xs = np.arange(10, dtype=np.int32)
    for _ in range(CALLS):
        assert program.main(start, length, xs).tolist() == [3, 0, 25]
    moved = program.to_device(np.array([0, 3, 6]))
    for _ in range(CALLS):
        with pytest.raises(ProgramFailure):
            program.main(moved, length, xs)
    assert program.main(start, length, xs).tolist() == [3, 0, 25]


@pytest.mark.parametrize("like", [{}, {"coherent": True}])
@pytest.mark.parametrize("source", [SUMS, SQUARES])
def test_each_version_is_right_for_known_arrays(
        source: str, like: dict[str, bool], inspections: list[bool]) -> None:
    """Versions whose memory depends on lengths are among these; elements may change."""
    program = gpu(source, **like)
    rng = np.random.default_rng(3)
    lengths = np.where(rng.random(60) < 0.3, 0, rng.integers(0, 90, 60))
    place = program.to_device
    rows = (place(np.cumsum(lengths) - lengths), place(lengths))
    for force in plans(program.tree.entry("main")):
        for _ in range(CALLS):
            if source is SQUARES:
                args, expected = (rows[1],), _squares(lengths)
            else:
                xs = rng.integers(-9, 9, int(lengths.sum())).astype(np.int32)
                args = *rows, place(xs)
                expected = [int(each.sum()) for each in np.split(xs, np.cumsum(lengths)[:-1])]
            assert program.run("main", args, force=force)[0][0].tolist() == expected
    assert not all(inspections)


def test_arrays_in_turn_are_inspected_once_each(inspections: list[bool]) -> None:
    program = _program()
    first, other = (np.array(each) for each in ([3, 0, 7, 1], [1, 5, 0, 2]))
    one, two = program.to_device(first), program.to_device(other)
    _warm(program, one)
    for _ in range(CALLS):
        assert program.main(two).tolist() == _squares(other)
        assert program.main(one).tolist() == _squares(first)
    assert not any(inspections[-2 * CALLS + 4:])


def test_inspection_leaves_out_what_makes_results() -> None:
    """A scan of lengths makes offsets, which results need: it is no inspection."""
    program = _program("""
        entry main [n] (ks: [n]i64): []i64 = (flatmap' (\\k -> map (* k) (iota k)) ks).3""")
    ks = np.array([3, 0, 2])
    for _ in range(CALLS):
        assert program.main(program.to_device(ks)).tolist() == [0, 3, 6, 0, 2]
    commands = next(each.commands for each in
                    program.loaded.executable("main").decisions.under({}, {}).calls.values()
                    if isinstance(each.commands, CommandBuffer))
    assert any(isinstance(each, Expect) for each in commands._commands)
    assert commands._inspection is None
