"""Descriptors of segments in loops: the host waits for them before the loop, not inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.ir.base.errors import ProgramFailure, VersionUnavailable
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans
from tests.programs import agree, compiled, expected, program

SUM = "i64.sum (map (* (s + 1)) (iota k))"
EQUAL: dict[str, str] = {
    "a constant": f"map (\\k -> loop s = k for i < 3 do s % 9 + {SUM}) ks",
    "a scalar of the host": f"map (\\k -> loop s = k for i < t do s % 9 + {SUM}) ks",
    "a size": f"map (\\k -> loop s = k for i < length ks do s % 9 + {SUM}) ks",
    "a quotient": f"map (\\k -> loop s = k for i < 20 / (9 - t) do s % 9 + {SUM}) ks",
    "an element": f"map (\\k -> loop s = k for i < ks[0] % 4 do s % 9 + {SUM}) ks",
    "elements": "map (\\k -> loop s = k for x in ks do s % 9 + i64.sum (map (* x) (iota k))) ks",
    "a condition": f"map (\\k -> (loop (s, u) = (k, t) while u > 0 do (s % 9 + {SUM}, u / 2)).0) "
                   "ks",
    "a check": "map2 (\\o k -> loop s = k for i < t do s % 9 + i64.sum (map (* s) ks[o:o + k])) "
               "(indices ks) (map (`i64.min` 1) ks)",
    "a map inside": f"loop ss = copy ks for i < t do map2 (\\k s -> s % 9 + {SUM}) ks ss",
    "a scan": "map (\\k -> loop s = k for i < t do let ys = scan (+) 0 (map (+ s) (iota k)) "
              "in i64.sum (map2 (*) ys (reverse ys)) % 99) ks",
    "computed lengths": "map (\\k -> loop s = k for i < t do s % 9 + i64.sum (map (* s) "
                        "(iota (k / 2 + 1)))) ks",
    "loop in loop": f"map (\\k -> loop s = k for i < 2 do loop s = s for j < t do s % 9 + {SUM}) "
                    "ks",
    "rows that are kept": "map (\\k -> let ys = filter (\\i -> i % 3 != 1) (iota k) in "
                          "loop s = k for i < t do s % 9 + i64.sum (map (* s) ys)) ks",
}
"""Loops whose iterations have segments of equal lengths, and trips that the host knows."""
DIFFERENT: dict[str, str] = {
    "lengths": "map (\\k -> loop s = k for i < t do s % 9 + i64.sum (iota (s % 7))) ks",
    "lengths by index": "map (\\k -> loop s = k for i < t do s + i64.sum (iota (k + i))) ks",
    "trips": f"map (\\k -> loop s = k for i < k do s % 9 + {SUM}) ks",
    "behind a check": "map (\\k -> loop s = k for i < t do i64.sum (map (\\j -> ks[j + s % 3]) "
                      "(iota (n / 2))) + i64.sum (map (* s) (iota (k / 9)))) ks",
    "overwritten": f"loop ls = copy ks for i < t do map (\\k -> let s = k in {SUM} % 5) ls",
}
LENGTHS: tuple[list[int], ...] = ([], [3], [0, 0], [4, 0, 1, 30, 2], [0, 9, 9, 1, 0], [300, 1])


def text_of(body: str) -> str:
    return f"entry main [n] (ks: [n]i64) (t: i64): [n]i64 = {body}"


def waits(body: str) -> list[str]:
    """The arrays that loops of the host read, but loops over slabs and in them."""
    def inside(steps: Sequence[plan.Step], in_loop: bool) -> Iterator[plan.Read]:
        for step in steps:
            match step:
                case plan.Read() if in_loop:
                    yield step
                case plan.CountedLoop(alike=True):
                    pass
                case plan.CountedLoop() | plan.WhileLoop():
                    yield from inside(step.body, True)
                case plan.Branch(_, then_, else_):
                    yield from inside((*then_, *else_), in_loop)
                case plan.Choose():
                    for version in step.versions:
                        yield from inside(version.steps, in_loop)

    return [each.buffer.base for each in inside(compiled(text_of(body)).plan("main").steps, False)]


@pytest.mark.parametrize("name", EQUAL)
def test_the_host_waits_before_the_loop(name: str) -> None:
    assert waits(EQUAL[name]) == []


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_host_waits_where_iterations_differ(name: str) -> None:
    assert waits(DIFFERENT[name])


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", [*EQUAL, *DIFFERENT])
def test_every_version_agrees_with_the_interpreter(name: str) -> None:
    text = text_of((EQUAL | DIFFERENT)[name])
    on_device = program(text)
    for lengths in LENGTHS:
        for t in (0, 1, 5):
            args: list[Any] = [np.array(lengths, np.int64), t]
            if name == "behind a check":
                args[0] = np.resize(args[0], 4) if lengths else np.ones(4, np.int64)
            assert agree(on_device, "main", args, expected(text, "main", args))


CHECKED: dict[str, tuple[str, list[int], str]] = {
    "for": (EQUAL["a scalar of the host"], [2, -3, 1], "negative-size"),
    "while": (EQUAL["a condition"], [2, -3, 1], "negative-size"),
    "slices": ("map (\\k -> loop s = k for i < t do s + i64.sum (map (* s) ks[k:k + 2])) ks",
               [0, 2, 1], "index-out-of-bounds"),
    "too long for memory": (
        "map (\\k -> loop s = k for i < t do let ys = scan (+) 0 (map (* s) ks[:k]) "
        "in i64.sum (map2 (*) ys (reverse ys))) ks", [1, 1 << 50, 1], "index-out-of-bounds"),
}


def outcome(on_device: Program, args: list[Any], force: Mapping[str, int]) -> Any:
    """The result; the code of the failure; None if the version finds too little memory."""
    try:
        return on_device.run("main", args, force=dict(force))[0][0].tolist()
    except VersionUnavailable:
        return None
    except ProgramFailure as failure:
        return failure.code


@pytest.mark.parametrize("name", CHECKED)
def test_checks_fail_only_if_the_loop_runs(name: str) -> None:
    body, lengths, code = CHECKED[name]
    on_device, ks = program(text_of(body)), np.array(lengths)
    forces = [{}, *plans(on_device.tree.entry("main"))]
    idle, failing = ([outcome(on_device, [ks, t], force) for force in forces] for t in (0, 2))
    assert idle[0] == idle[-1] == lengths
    assert failing[0] == failing[-1] == code
    assert all(each in (None, lengths) for each in idle)
    assert all(each in (None, code) for each in failing)


def test_trips_that_fail_do_so_where_there_are_points() -> None:
    on_device = program(text_of(EQUAL["a quotient"]))
    for force in [{}, *plans(on_device.tree.entry("main"))]:
        assert outcome(on_device, [np.array([1, 0]), 9], force) == "division-by-zero"
        assert outcome(on_device, [np.array([], np.int64), 9], force) == []


def test_the_first_of_two_checks_speaks() -> None:
    """A check that stands behind another one in the loop stays there."""
    on_device = program(text_of(
        "map (\\k -> loop s = k for i < t do i64.sum (map (\\j -> ks[j + s]) (iota n)) "
        "+ i64.sum (iota (k - 9))) ks"))
    (flat,) = (each for each in plans(on_device.tree.entry("main")) if 1 in each.values())
    assert outcome(on_device, [np.array([1]), 2], flat) == "index-out-of-bounds"
    assert outcome(on_device, [np.array([1]), 0], flat) == [1]
