"""The life of a call: the rungs that the first calls enter, and the rooms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import runelift
from runelift.runtime.devices.info import DeviceInfo, DeviceKind
from runelift.runtime.execution.calls import Call, capture, run_plan, run_plan_again, submit
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.execution.submitting import BoundCalls, CommandBuffer
from runelift.runtime.programs.program import Program
from tests import programs, rooms

RUNGS = {
    run_plan: "plan", run_plan_again: "plan again", capture: "capture", submit: "submit",
    Call.repeat: "repeat", CommandBuffer.fuse: "fuse", CommandBuffer.issue_unbound: "unbound",
    CommandBuffer.bind: "bind", BoundCalls.issue: "issue"}
"""The functions of the ladder."""
FIRST_CALLS = [["plan"], ["capture"], ["repeat", "unbound"], ["repeat", "bind", "issue"],
               *[["repeat", "issue"]] * 4]
MOST_ROOMS = 10
"""The most packages that the second call enters."""
BRANCHING = """
entry main [n] (xs: [n]i32): [n]i32 =
  if i32.sum xs > 100 then map (+ 1) xs else map (* 2) xs
"""


def climbed(call: Callable[[], object], count: int) -> list[list[str]]:
    """The rungs that each of so many calls enters."""
    names = {rung.__code__: name for rung, name in RUNGS.items()}
    return [[names[code] for code in rooms.entered(call).codes if code in names]
            for _ in range(count)]


def test_calls_climb_the_ladder() -> None:
    program = runelift.compile(rooms.PROGRAM, tuning={})
    xs = program.to_device(np.arange(30, dtype=np.float32))
    assert climbed(lambda: program.main(xs), len(FIRST_CALLS)) == FIRST_CALLS


def test_calls_that_come_often_have_fused_launches(installed: DeviceInfo) -> None:
    info = replace(installed, kind=DeviceKind.GPU, handle=installed.handle)
    program = Program(programs.compiled(rooms.PROGRAM), info)
    xs = program.to_device(np.arange(7, dtype=np.float32))
    assert climbed(lambda: program.main(xs), 12) == [
        *FIRST_CALLS, ["repeat", "issue"], ["repeat", "fuse", "unbound"],
        ["repeat", "bind", "issue"], ["repeat", "issue"]]


def test_arguments_of_unknown_kinds_are_bound_each_time() -> None:
    program = runelift.compile("entry main (xs: []i64): []i64 = map (+ 1) xs", tuning={})
    assert climbed(lambda: program.main([1, 2, 3]), 5) == [
        ["plan"], ["capture"], ["submit", "unbound"], ["submit", "bind", "issue"],
        ["submit", "issue"]]


def test_a_value_that_differs_leads_back_to_the_plan() -> None:
    program = runelift.compile(BRANCHING, tuning={})
    xs = np.arange(8, dtype=np.int32)
    assert climbed(lambda: program.main(xs), 3)[2] == ["repeat", "unbound"]
    assert climbed(lambda: program.main(xs * 9), 3) == [
        ["repeat", "bind", "issue"], ["repeat"], ["repeat"]]
    np.testing.assert_array_equal(program.main(xs * 9), xs * 9 + 1)
    np.testing.assert_array_equal(program.main(xs), xs * 2)


def test_a_policy_says_which_run_is_captured() -> None:
    program = runelift.compile(rooms.PROGRAM, tuning={})
    program.loaded.executable("main").follow(CallPolicy(captures_first=True))
    xs = program.to_device(np.arange(30, dtype=np.float32))
    assert climbed(lambda: program.main(xs), 3) == [
        ["plan", "capture"], ["repeat", "unbound"], ["repeat", "bind", "issue"]]


def test_the_second_call_enters_few_rooms() -> None:
    program = runelift.compile(rooms.PROGRAM, tuning={})
    xs = np.arange(30, dtype=np.float32)
    _, second, third = (rooms.entered(lambda: program.main(xs)) for _ in range(3))
    assert len(second.rooms) <= MOST_ROOMS, sorted(second.rooms)
    assert third.rooms < second.rooms
