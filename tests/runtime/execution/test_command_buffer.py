"""Runs that repeat what earlier ones issued, and launches that are fused."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import runelift
from runelift.codegen.passes.failed_checks import led_by_elements
from runelift.codegen.plan.plan import kernels as plan_kernels
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.imp import Id
from runelift.ir.imp.traverse import asked
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices import direct_launch
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.info import DeviceInfo, DeviceKind, select
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.devices.memory import OutOfMemory, Pool
from runelift.runtime.execution import calls
from runelift.runtime.execution.calls import Call, call_of
from runelift.runtime.execution.capturing import CapturingRun
from runelift.runtime.execution.commands import Copy, Expect, Launch, RunLoop, Slot
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.execution.probes.on_demand import PROBES
from runelift.runtime.execution.run import Outcome
from runelift.runtime.execution.submitting import (
    SUBMITS_BEFORE_FUSION,
    BoundCommands,
    CommandBuffer,
)
from runelift.runtime.host.channel import receive
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers import worker
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.tuner.workers.requests import OpenProgram
from runelift.runtime.tuner.workers.worker import Session
from runelift.runtime.versions.forest import plans
from tests import programs
from tests.gpus import gpu

SHRINKING = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < k do
    let m = n - i
    let ys = map (\\j -> xs[j] + xs[(j + 1) % m]) (iota m)
    let s = reduce i32.max i32.lowest ys
    let xs[0:m] = map (\\y -> (y + s) % 100) ys
    in xs
"""
SUMS = """
entry main [n] (x: f32) (xs: [n]f32): (f32, [n]f32, f32) =
  let s = f32.sum xs
  in (s / x, map (+ s) xs, f32.maximum xs * 2)
"""
MOVED = """
entry main [n] (i: i64) (xs: *[n]i32): *[n]i32 = xs with [i] = xs[0] + 1
"""
CHECKED = """
entry main [n][m] (is: [m]i64) (xs: [n]i32): [m]i32 = map (\\i -> xs[i]) is
"""
BRANCHING = """
entry main [n] (xs: [n]i32): [n]i32 =
  let s = i32.sum xs
  in if s > 10 then map (+ s) xs else map (* 2) xs
"""
SEARCHING = """
entry main [n] (limit: i32) (xs: [n]i32): ([]i32, i64) =
  let (xs, steps) =
    loop (xs, steps) = (copy xs, 0i64) while any (> limit) xs && steps < 20 do
      let small = filter (<= limit) xs
      let large = filter (> limit) xs
      in (map (/ 2) large ++ small :> [n]i32, steps + 1)
  in (filter (!= 0) xs, steps)
"""
PICKED = """
entry main [n][m] (is: [n]i64) (xs: [m]i32): [n]i32 =
  if i64.sum is > 3 then map (\\i -> xs[i]) is else map i32.i64 is
"""
SCANS = """
entry main [n] (xs: [n]i32): ([n]i32, [n]i64) =
  let ys = scan (+) 0 (map (* 3) xs)
  in (ys, scan (+) 0 (map i64.i32 (reverse ys)))
"""
STENCIL = """
entry main [n] (k: i64) (xs: [n]i32): [n]i32 =
  let ys = map (% 5) xs
  in loop ys for i < k do
    tabulate n (\\j -> ys[j] + 2 * ys[i64.max 0 (j - 1)] - i32.i64 i)
"""
SMALL = """
entry main [n] (k: i64) (xs: [n]f32): (f32, [n]f32) =
  let ys = map (\\x -> x * 2) (reverse xs)
  let zs = scatter (replicate n 0f32) (map (\\i -> (i * 7) % n) (iota n)) ys
  let s = f32.sum (map2 (*) zs xs)
  let rows = map (\\i -> f32.sum (map (\\z -> z * f32.i64 i) zs)) (iota k)
  in (s + zs[0], map2 (+) zs (map (\\i -> rows[i % k] + s) (iota n)))
"""


CAPTURES_FIRST = CallPolicy(captures_first=True)
"""The policy of who measures."""


class Alone(Device):
    """A device of which one work-group is all that surely runs at a time."""

    def resident_groups(self, group: int, room: int) -> int:
        return 1


def _command_buffers(program: Any, entry: str = "main",
                     thresholds: Mapping[str, int] | None = None) -> list[Any]:
    """The command buffers of calls, None where there is none."""
    decisions = program.loaded.executable(entry).decisions.under(
        program.thresholds if thresholds is None else thresholds, {})
    return [call.commands for call in decisions.calls.values()]


def _disturb(found: CommandBuffer) -> None:
    """Make a command buffer take the arguments of its kernels for those of another run."""
    for each in found._commands:
        if isinstance(each, Launch) and each.kernel is not None:
            each.kernel.owner = None


def _session(info: DeviceInfo) -> tuple[Session, Connection]:
    """A worker's session with a small program and its arguments, and the connection's other end."""
    own, other = multiprocessing.Pipe()
    session = Session(info, own)
    session.answer(("open", OpenProgram(
        compile_source(Source("small", SMALL)), "all", False, {}, outside=False)))
    session.answer((
        "place_arguments", 0, [np.int64(3), np.arange(8, dtype=np.float32)]))
    return session, other


def _expected(text: str, args: list[Any]) -> list[Any]:
    results, _ = programs.program(text, "interpreter").run("main", args)
    return results


def _agree(results: list[Any], expected: list[Any]) -> None:
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5)


@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
def test_repeated_runs_give_the_same_results(device: str) -> None:
    program = runelift.compile(SHRINKING, device=device, tuning={})
    random = np.random.default_rng(1)
    for _ in range(5):
        for k, n in ((3, 20), (5, 20), (3, 9)):
            args = [np.int64(k), random.integers(-9, 9, n, np.int32)]
            _agree(program.run("main", args)[0], _expected(SHRINKING, args))
    assert [type(each) for each in _command_buffers(program)] == [CommandBuffer] * 3


def test_every_version_is_repeated() -> None:
    program = runelift.compile(SHRINKING, tuning={})
    args = [np.int64(4), np.arange(30, dtype=np.int32)]
    expected = _expected(SHRINKING, args)
    for force in plans(program.tree.entry("main")):
        for _ in range(4):
            _agree(program.run("main", args, force=force)[0], expected)


def test_scalars_are_told_apart_by_their_bits() -> None:
    program = runelift.compile(SUMS, tuning={})
    xs = np.array([1, 2, -0.5], np.float32)
    for x in [0.0, -0.0, 2.0, float("nan")] * 4:
        (got, ys, most), _ = program.run("main", [np.float32(x), xs])
        with np.errstate(divide="ignore"):
            np.testing.assert_equal(got, np.float32(2.5) / np.float32(x))
        np.testing.assert_array_equal(ys, xs + np.float32(2.5))
        assert most == 4
    assert len(_command_buffers(program)) == 4


def test_results_stay_as_they_are() -> None:
    program = runelift.compile(SUMS, tuning={})
    held = []
    for k in range(8):
        xs = np.full(5, k, np.float32)
        held.append((xs, program.run("main", [np.float32(1), xs], device_arrays=True)[0]))
    for xs, results in held:
        _agree(results, _expected(SUMS, [np.float32(1), xs]))


def test_a_result_is_the_next_argument() -> None:
    program = runelift.compile(SHRINKING, tuning={})
    device = program.to_device(np.arange(12, dtype=np.int32))
    host = np.arange(12, dtype=np.int32)
    for _ in range(9):
        (device,), _ = program.run("main", [np.int64(2), device], device_arrays=True)
        (host,) = _expected(SHRINKING, [np.int64(2), host])
        np.testing.assert_array_equal(np.asarray(device), host)


def test_arguments_are_given_away() -> None:
    program = runelift.compile(MOVED, tuning={})
    live = program.device.pool.live
    for k in range(6):
        xs = np.full(4, k, np.int32)
        (got,), _ = program.run("main", [np.int64(2), xs])
        np.testing.assert_array_equal(got, [k, k, k + 1, k])
        assert program.device.pool.live == live
    assert isinstance(_command_buffers(program)[0], CommandBuffer)


def test_failures_are_found_again() -> None:
    program = runelift.compile(CHECKED, tuning={})
    xs = np.arange(4, dtype=np.int32)
    good, bad = np.array([3, 0], np.int64), np.array([1, 9], np.int64)
    for is_ in [good, good, good, bad, good, bad, good]:
        if is_ is bad:
            with pytest.raises(ProgramFailure, match="9"):
                program.run("main", [is_, xs])
        else:
            np.testing.assert_array_equal(program.run("main", [is_, xs])[0][0], xs[is_])
    assert isinstance(_command_buffers(program)[0], CommandBuffer)


@pytest.mark.parametrize("device", ["pocl", "oclgrind"])
@pytest.mark.parametrize(("text", "args"), [
    (BRANCHING, []), (SEARCHING, [np.int32(7)])])
def test_runs_are_repeated_while_what_they_read_stays(device: str, text: str,
                                                      args: list[Any]) -> None:
    program = runelift.compile(text, device=device, tuning={})
    one = np.arange(30, dtype=np.int32) % 11
    two = one * 3 + 1
    expected = {id(xs): _expected(text, [*args, xs]) for xs in (one, two)}
    for number, xs in enumerate([one, one, one, one, two, one, two, two]):
        _agree(program.run("main", [*args, xs])[0], expected[id(xs)])
        if number >= 1:
            (found,) = _command_buffers(program)
            assert isinstance(found, CommandBuffer)
            assert found.repeats == (number < 4)


def test_what_is_read_may_be_of_other_arrays() -> None:
    program = runelift.compile(BRANCHING, tuning={})
    for xs in ([5, 6], [6, 5], [11, 0], [2, 9]):
        _agree(program.run("main", [np.array(xs, np.int32)])[0],
               _expected(BRANCHING, [np.array(xs, np.int32)]))
    assert [found.repeats for found in _command_buffers(program)] == [True]


def test_failures_after_a_read_are_found_in_repeated_runs() -> None:
    program = runelift.compile(PICKED, tuning={})
    xs = np.arange(4, dtype=np.int32)
    good, bad = np.array([3, 1, 2]), np.array([6, 0, 0])
    for _ in range(4):
        _agree(program.run("main", [good, xs])[0], [[3, 1, 2]])
    for _ in range(2):
        with pytest.raises(ProgramFailure, match="out of bounds"):
            program.run("main", [bad, xs])
        _agree(program.run("main", [good, xs])[0], [[3, 1, 2]])
    assert [found.repeats for found in _command_buffers(program)] == [True]


def test_memory_is_given_back_when_what_is_read_differs() -> None:
    program = runelift.compile(SEARCHING, tuning={})
    xs = np.arange(30, dtype=np.int32)
    for _ in range(3):
        program.run("main", [np.int32(7), xs])
    live = program.device.pool.live
    program.run("main", [np.int32(7), xs // 2])
    assert program.device.pool.live == live


def test_without_memory_the_plan_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(SUMS, tuning={})
    args = [np.float32(1), np.arange(5, dtype=np.float32)]
    expected = _expected(SUMS, args)
    for _ in range(3):
        _agree(program.run("main", args)[0], expected)
    (found,) = _command_buffers(program)
    live = program.device.pool.live
    left = len(found._classes) - 1

    def take(pool: Pool, size: int, count: int) -> list[Any]:
        nonlocal left
        left -= 1
        if left < 0:
            raise OutOfMemory("none is left")
        return taken(pool, size, count)

    taken = Pool.take
    monkeypatch.setattr(Pool, "take", take)
    _agree(program.run("main", args)[0], expected)
    assert left < 0
    assert program.device.pool.live == live


def test_memory_is_given_back() -> None:
    program = runelift.compile(SHRINKING, tuning={})
    args = [np.int64(3), np.arange(100, dtype=np.int32)]
    program.run("main", args)
    pool = program.device.pool
    live, held = pool.live, pool.allocated
    for _ in range(5):
        program.run("main", args)
    settled = pool.allocated
    for _ in range(50):
        program.run("main", args)
    assert (pool.live, pool.allocated) == (live, settled)
    assert settled <= 2 * held


def test_arguments_are_set_when_they_change() -> None:
    """Two command buffers of the same kernels take turns, and each has arguments to itself."""
    program = runelift.compile(SHRINKING, tuning={})
    ones = MeasuredProgram(program).place([np.int64(3), np.arange(40, dtype=np.int32)])
    others = MeasuredProgram(program).place([np.int64(2), np.arange(30, dtype=np.int32)])
    for args in [ones, ones, ones, ones, others, others, others, ones, others, ones]:
        got, _ = program.run("main", args)
        _agree(got, _expected(SHRINKING, [args[0], np.asarray(args[1])]))


def test_who_measures_finds_arguments_set() -> None:
    """Two command buffers take turns, and others set their kernels: a run that was prepared is a
    steady one.
    """
    program = runelift.compile(SHRINKING, tuning={})
    executable, plan = program.loaded.executable("main"), program.loaded.plan("main")
    executable.follow(CAPTURES_FIRST)
    ones = MeasuredProgram(program).place([np.int64(3), np.arange(40, dtype=np.int32)])
    others = MeasuredProgram(program).place([np.int64(2), np.arange(30, dtype=np.int32)])
    for args in [ones, others] * 2:
        MeasuredProgram(program).timing("main", args)
    for args, command_buffer_of in zip([ones, others] * 3, _command_buffers(program) * 3,
                                       strict=True):
        _disturb(command_buffer_of)
        given = program.loaded.bind(plan, list(args))
        call_of(executable, given, {}, {}).prepare(given)
        held = [each for each in command_buffer_of._bound.values() if each.is_current]
        assert len(held) == 1
        held[0].all.full.clear()  # what makes all calls would make none
        got, _ = program.run("main", args)
        _agree(got, _expected(SHRINKING, [args[0], np.asarray(args[1])]))


@pytest.mark.parametrize(("following", "runs"), [(0.0, 1), (60.0, 2)])
def test_a_short_run_that_follows_others_is_made_again(
        following: float, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(SHRINKING, tuning={})
    program.loaded.executable("main").follow(CAPTURES_FIRST)
    ones = MeasuredProgram(program).place([np.int64(3), np.arange(40, dtype=np.int32)])
    others = MeasuredProgram(program).place([np.int64(2), np.arange(30, dtype=np.int32)])
    for args in [ones, others] * 2:
        MeasuredProgram(program).timing("main", args)
    made = 0

    def perform(*what: Any, **options: Any) -> Outcome:
        nonlocal made
        made += 1
        return performed(*what, **options)._replace(issue=60.0)

    performed = Call.perform
    monkeypatch.setattr(Call, "perform", perform)
    monkeypatch.setattr(calls, "SWITCH_COST", following)
    for args, found in zip((ones, others), _command_buffers(program), strict=True):
        made = 0
        _disturb(found)
        MeasuredProgram(program).timing("main", args)
        assert made == runs


def _shown(command: Any) -> tuple[Any, ...]:
    """A command, but for handles that are not of the run's buffers."""
    if isinstance(command, Copy):
        return (command,)
    args = [each if isinstance(each, Slot | int | float) else type(each) for each in command.args]
    if isinstance(command, RunLoop):
        return command.kernel, command.groups, command.group, *args, command.first, command.count
    return command.kernel.handle.function_name, replace(command, args=(), kernel=None), *args


@pytest.mark.parametrize(("text", "args"), [
    (SHRINKING, [np.int64(4), np.arange(30, dtype=np.int32)]),
    (SUMS, [np.float32(3), np.arange(50, dtype=np.float32)]),
    (MOVED, [np.int64(3), np.arange(50, dtype=np.int32)]),
    (CHECKED, [np.arange(5), np.arange(9, dtype=np.int32)]),
    (SCANS, [np.arange(300, dtype=np.int32)]),
    (STENCIL, [np.int64(12), np.arange(30, dtype=np.int32)]),
    (SMALL, [np.int64(3), np.arange(40, dtype=np.float32)]),
])
def test_a_run_with_a_record_need_not_be_made_again_for_its_command_buffer(
        installed: DeviceInfo, text: str, args: list[Any]) -> None:
    """What is written is what a run would have put there, and it can be submitted at once."""
    info = replace(installed, coherent=True)
    program = Program(programs.compiled(text), info)
    program.loaded._device = Alone(info, PROBES)
    executable, plan = program.loaded.executable("main"), program.loaded.plan("main")
    executable.follow(CAPTURES_FIRST)
    expected = _expected(text, args)
    for force in [{}, *plans(program.tree.entry("main"))]:
        def bound() -> dict[str, Any]:
            return program.loaded.bind(plan, MeasuredProgram(program).place(args))

        given = bound()
        capturing = CapturingRun(executable, {}, force, given)
        capturing.call(executable.forms.main, dict(given))
        made = capturing.command_buffer()
        assert made is not None
        executable.decisions.forget()
        MeasuredProgram(program).record("main", MeasuredProgram(program).place(args), force=force)
        (found,) = executable.decisions.under({}, force).calls.values()
        assert (found.rung, found.commands) == (calls.capture, None)
        call_of(executable, bound(), {}, force).prepare(bound())
        written = found.commands
        assert isinstance(written, CommandBuffer)
        assert [*map(_shown, written._commands)] == [*map(_shown, made._commands)]
        assert written.has_loop == made.has_loop
        for name in ("_values", "_classes", "_results", "_temporaries", "inputs", "_scans",
                     "_fallible"):
            assert getattr(written, name) == getattr(made, name)
        for _ in range(3):
            _agree(program.run("main", args, force=force)[0], expected)
        assert list(executable.decisions.under({}, force).calls.values()) == [found]
        assert found.commands is written


def test_a_run_that_reads_what_was_computed_is_made_again_for_its_command_buffer() -> None:
    program = runelift.compile(BRANCHING, tuning={})
    executable, args = program.loaded.executable("main"), [np.arange(9, dtype=np.int32)]
    executable.follow(CAPTURES_FIRST)
    MeasuredProgram(program).record("main", MeasuredProgram(program).place(args))
    given = program.loaded.bind(program.loaded.plan("main"), MeasuredProgram(program).place(args))
    call_of(executable, given, {}, {}).prepare(given)
    (found,) = executable.decisions.under({}, {}).calls.values()
    assert (found.rung, found.commands) == (calls.capture, None)


@pytest.mark.parametrize("n", [140, 400])  # more than one tile
def test_scans_that_look_back_are_repeated(installed: DeviceInfo, n: int) -> None:
    info = replace(installed, num_groups=2,
                   shares=replace(installed.shares, tile=32, patience=1 << 30))
    program = Program(programs.compiled(SCANS), info)
    program.loaded._device = Device(info, PROBES)
    random = np.random.default_rng(n)
    for k in range(8):
        args = [random.integers(-9, 9, n, np.int32)]
        _agree(program.run("main", args)[0], _expected(SCANS, args))
        if k == 5:  # as after a failure: the next scans have another buffer
            program.device.scan_status.forget()
    (found,) = _command_buffers(program)
    assert isinstance(found, CommandBuffer)
    assert found._scans


@pytest.mark.parametrize("k", [12, 13])
def test_persistent_kernels_are_repeated(installed: DeviceInfo, k: int) -> None:
    info = replace(installed, coherent=True)
    program = Program(programs.compiled(STENCIL), info)
    program.loaded._device = Alone(info, PROBES)
    random = np.random.default_rng(k)
    for _ in range(8):
        args = [np.int64(k), random.integers(-9, 9, 30, np.int32)]
        _agree(program.run("main", args)[0], _expected(STENCIL, args))
    (found,) = _command_buffers(program)
    assert any(isinstance(each, RunLoop) for each in found._commands)


def test_a_run_that_was_interrupted_is_begun_from_the_start() -> None:
    program = runelift.compile(SHRINKING, tuning={})
    args = MeasuredProgram(program).place([np.int64(3), np.arange(40, dtype=np.int32)])
    expected = _expected(SHRINKING, [args[0], np.asarray(args[1])])
    for _ in range(8):
        _agree(program.run("main", args)[0], expected)
    bound = next(each for each in _command_buffers(program)[0]._bound.values()
                 if isinstance(each, BoundCommands))
    steady = list(bound.all.steady)

    def interrupt() -> None:
        raise KeyboardInterrupt

    for place in range(1, len(steady), 3):
        bound.all.steady[:] = [*steady[:place], interrupt]
        with pytest.raises(KeyboardInterrupt):
            program.run("main", args, device_arrays=True)
        bound.all.steady[:] = steady
        _agree(program.run("main", args)[0], expected)


@pytest.mark.parametrize(("issue", "runs"), [(0.0, 1), (60.0, 3)])
def test_a_run_that_is_captured_counts_where_the_device_is_late(
        issue: float, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the host may have been late for what it noted."""
    program = runelift.compile(SHRINKING, tuning={})
    args = MeasuredProgram(program).place([np.int64(3), np.arange(40, dtype=np.int32)])
    program.loaded.executable("main").follow(CAPTURES_FIRST)
    program.run("main", args)  # it builds kernels
    program.loaded.executable("main").decisions.forget()
    made = list[Outcome]()

    def perform(*what: Any, **options: Any) -> Outcome:
        made.append(performed(*what, **options)._replace(issue=issue))
        return made[-1]

    performed = Call.perform
    monkeypatch.setattr(Call, "perform", perform)
    monkeypatch.setattr(calls, "SWITCH_COST", 60.0)
    assert MeasuredProgram(program).timing("main", args).issue == issue
    assert len(made) == runs


# Joined launches


@pytest.fixture
def fusing(installed: DeviceInfo) -> DeviceInfo:
    """A device that is said to be a GPU, for which launches are expensive."""
    return replace(installed, kind=DeviceKind.GPU, handle=installed.handle)


@pytest.mark.parametrize("n", [5, 40])
def test_launches_of_one_group_are_fused(fusing: DeviceInfo, n: int) -> None:
    program = Program(programs.compiled(SMALL), fusing)
    random = np.random.default_rng(n)
    lengths = []
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        args = [np.int64(3), random.random(n, np.float32)]
        _agree(program.run("main", args)[0], _expected(SMALL, args))
        if isinstance(found := _command_buffers(program)[0], CommandBuffer):
            lengths.append(len(found._commands))
    assert lengths[-1] < lengths[0]
    assert lengths[0] == lengths[SUBMITS_BEFORE_FUSION - 2]


def test_fused_launches_have_barriers_and_copies(fusing: DeviceInfo) -> None:
    program = Program(programs.compiled(SMALL), fusing)
    args = [np.int64(3), np.arange(8, dtype=np.float32)]
    for _ in range(3):
        program.run("main", args)
    (found,) = _command_buffers(program)
    assert any(isinstance(each, Copy) for each in found._commands)
    for _ in range(SUBMITS_BEFORE_FUSION):
        program.run("main", args)
    assert all(isinstance(each, Launch) for each in found._commands)
    sources = program.loaded.executable("main").kernels._fused
    assert max(text.count("    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
               for text in sources) >= 2


def test_launches_of_several_groups_are_not_fused(fusing: DeviceInfo) -> None:
    """Both reductions are in turn: PoCL does not end kernels that join some with barriers."""
    text = SMALL.replace("z * f32.i64 i", "z * f32.i64 i + s")
    assert text != SMALL
    program = Program(programs.compiled(text), fusing)
    args = [np.int64(3), np.arange(2000, dtype=np.float32) % 2]
    expected = _expected(text, args)
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        _agree(program.run("main", args)[0], expected)
    (found,) = _command_buffers(program)
    assert any(isinstance(each, Launch) and each.groups > 1 for each in found._commands)


def test_tuning_fuses_no_launches(fusing: DeviceInfo) -> None:
    """Kernels for a run that never comes again would take longer than all that is measured."""
    session, other = _session(fusing)
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        session.answer(("call", "timing", "main", 0, (), {"force": {}}))
    assert isinstance(_command_buffers(session.program)[0], CommandBuffer)
    assert not session.program.loaded.executable("main").kernels._fused
    other.close()


def test_tuning_times_command_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is captured, and timed runs submit its commands."""
    monkeypatch.setattr("runelift.runtime.tuner.workers.measured_program.ISSUE_SHARE",
                        0.0)  # however late the device is
    monkeypatch.setattr(calls, "SWITCH_COST", 60.0)
    info = select("pthread")
    assert info is not None
    session, other = _session(info)
    submitted: list[CommandBuffer] = []
    submit = CommandBuffer.submit
    monkeypatch.setattr(CommandBuffer, "submit", lambda self, *given: (
        submitted.append(self), submit(self, *given))[1])
    session.answer(("call", "timing", "main", 0, (), {"force": {}}))
    # The first time, no run has set all arguments.
    assert submitted == _command_buffers(session.program) * 2
    session.answer(("call", "timing", "main", 0, (), {"force": {}}))
    assert len(submitted) == 3
    (found,) = _command_buffers(session.program)
    next(iter(found._commands)).kernel.owner = None
    session.answer(("call", "timing", "main", 0, (), {"force": {}}))
    assert len(submitted) == 5
    other.close()


def test_runs_that_come_often_are_compared_with_fused_launches(
        fusing: DeviceInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nothing was fused while they were timed before."""
    monkeypatch.setattr("runelift.runtime.tuner.workers.measured_program.WARM_UP_SECONDS",
                        math.inf)  # a simulator is slow
    session, other = _session(fusing)
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        session.answer(("call", "timing", "main", 0, (), {"force": {}}))
    (buffer,) = _command_buffers(session.program)
    (saved,) = session.answer(("call", "saved_launches", "main", 0, ([{}],)))
    before = len(buffer._commands)
    assert saved > 0
    assert len(session.answer(("call", "time_all", "main", 0, ([{}, {}],), {"often": True}))) == 2
    assert session.program.loaded.executable("main").kernels._fused
    assert len(buffer._commands) == before - saved
    assert session.answer(("call", "saved_launches", "main", 0, ([{}],))) == [0]
    other.close()


@pytest.mark.parametrize(("notable", "begun"), [(-1.0, 6), (60.0, 1)])
def test_who_watches_the_time_is_not_told_of_each_short_run(
        notable: float, begun: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But that each request has begun to run."""
    info = select("pthread")
    assert info is not None
    session, other = _session(info)
    monkeypatch.setattr(worker, "NOTABLE_SECONDS", notable)
    for _ in range(2):
        session.answer(("measure_all", "main", 0, [{}] * 3, None, [True] * 3))
        told = list[str]()
        while other.poll():
            told.append(receive(other)[0])
        assert told.count("begun") == begun
        assert told.count("made") == 3
    other.close()


def test_processors_need_no_fused_launches() -> None:
    program = runelift.compile(SMALL, device="pocl", tuning={})
    args = [np.int64(3), np.arange(8, dtype=np.float32)]
    for _ in range(SUBMITS_BEFORE_FUSION + 4):
        program.run("main", args)
    assert not program.loaded.executable("main").kernels._fused


def test_local_memory_is_set_again_where_nobody_knows_how_much_there_is(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was interrupted may have set another size, and not have come to take note."""
    handle = MagicMock(int_ptr=0)
    monkeypatch.setattr(direct_launch, "_function", lambda _: None)
    kernel = BoundKernel(handle, (), (np.int32,))
    for lost, count in (False, 1), (False, 0), (True, 1):
        handle.set_arg.reset_mock()
        if lost:
            kernel.forget_args()
        kernel.set_args([np.int32(3)], (64,))
        assert handle.set_arg.call_count == count


RAGGED = """
entry main [n] (ks: [n]i64): [n]i64 = map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks
"""


@pytest.mark.parametrize("version", [0, 1])
def test_versions_for_all_lengths_are_repeated_for_other_lengths(version: int) -> None:
    """Facts about lengths are compared in the end, and only the decision has to be as it was."""
    names = ["main.suff_row_0", "main.suff_group_1"]
    program = runelift.compile(RAGGED, tuning={
        name: 1 if number == version else 1 << 40 for number, name in enumerate(names)})
    for lengths in ([5, 0, 2], [5, 0, 2], [5, 0, 2], [1, 900, 0], [0, 0, 0], [7, 7, 7]):
        found, _ = program.run("main", [np.array(lengths)])
        _agree(found, [[sum(i * i for i in range(k)) for k in lengths]])
    (commands,) = _command_buffers(program)
    assert commands.repeats
    assert isinstance(commands._commands[-1], Expect)


USED = """
entry main [n] (ks: [n]i64): [n]i64 =
  let sums = map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks
  in map (\\i -> sums[n - 1 - i] + 1) (iota n)
"""


def _squares(lengths: Sequence[int]) -> list[int]:
    return [sum(i * i for i in range(k)) for k in lengths]


@pytest.mark.parametrize("like_gpu", [False, True])
def test_merges_are_repeated_for_other_lengths_of_one_total(like_gpu: bool) -> None:
    """Results for another total, which is compared in the end, are not used."""
    tuning = dict.fromkeys(["main.suff_row_0", "main.suff_group_1"], 1 << 40)
    program = gpu(RAGGED) if like_gpu else runelift.compile(RAGGED, tuning={})
    same = [9000, 0, 20], [0, 20, 9000], [9020, 0, 0], [3000, 3000, 3020], [20, 9000, 0]
    for lengths in same:
        found, _ = program.run("main", [np.array(lengths)], thresholds=tuning)
        _agree(found, [_squares(lengths)])
    (commands,) = _command_buffers(program, thresholds=tuning)
    assert commands.repeats
    assert isinstance(commands._commands[-1], Expect)
    for lengths in ([9000, 9000, 9000], [0, 0, 0], [1, 2, 3], same[0]):
        found, _ = program.run("main", [np.array(lengths)], thresholds=tuning)
        _agree(found, [_squares(lengths)])
    assert not commands.repeats


@pytest.mark.parametrize("like_gpu", [False, True])
def test_what_uses_results_of_a_merge_waits_for_the_comparison(like_gpu: bool) -> None:
    """A kernel must not see elements that nothing has written."""
    tuning = dict.fromkeys(["main.suff_row_0", "main.suff_group_1"], 1 << 40)
    program = gpu(USED) if like_gpu else runelift.compile(USED, tuning={})
    for lengths in ([9000, 0, 20], [0, 20, 9000], [9000, 20, 0], [9000, 9000, 9000], [1, 0, 0]):
        found, _ = program.run("main", [np.array(lengths)], thresholds=tuning)
        _agree(found, [[each + 1 for each in reversed(_squares(lengths))]])
        if lengths == [9000, 20, 0]:
            (commands,) = _command_buffers(program, thresholds=tuning)
            assert not isinstance(commands._commands[-1], Expect)
    assert not commands.repeats


SLICES = """
entry main [n][k] (ends: [n]i64) (xs: [k]i64): [n]i64 = map (\\e -> i64.sum xs[1:e]) ends
"""


@pytest.mark.parametrize("version", ["row", "group", "merge"])
@pytest.mark.parametrize("like_gpu", [False, True])
def test_versions_do_not_wait_for_the_check_of_lengths(version: str, *, like_gpu: bool) -> None:
    """The pass over lengths makes the check; ``row`` makes it again, and others ask for it."""
    program = gpu(SLICES) if like_gpu else runelift.compile(SLICES, tuning={})
    tuning = {f"main.suff_{name}_{k}": 1 if name == version else 1 << 40
              for k, name in enumerate(["row", "group"])}
    xs = np.arange(9)
    for _ in range(3):
        found, _ = program.run("main", [np.array([4, 1, 9]), xs], thresholds=tuning)
        _agree(found, [[6, 0, 36]])
    (commands,) = _command_buffers(program, thresholds=tuning)
    kinds = [type(each) for each in commands._commands]
    assert kinds.index(Expect) == len(kinds) - 1
    for wrong in (10, 1 << 50, -1):
        with pytest.raises(ProgramFailure, match=rf"Index \[1:{wrong}\] out of bounds .* \[9\]"):
            program.run("main", [np.array([4, wrong, 9]), xs], thresholds=tuning)
    found, _ = program.run("main", [np.array([9, 2, 1]), xs], thresholds=tuning)
    _agree(found, [[36, 1, 0]])


FACTS_USED: dict[str, tuple[str, Callable[[Sequence[int]], list[list[int]]]]] = {
    "scans": ("""
entry main [n] (ks: [n]i64): [n]i64 =
  map (\\k -> i64.maximum (scan (+) 0 (map (\\i -> i * i) (iota k)))) ks
""", lambda ks: [[sum(i * i for i in range(k)) if k else -1 << 63 for k in ks]]),
    "a size": ("""
entry main [n] (ks: [n]i64): ([n]i64, []i64) =
  let m = i64.sum ks
  in (map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks, map (\\i -> m - i) (iota m))
""", lambda ks: [_squares(ks), list(range(sum(ks), 0, -1))]),
    "an argument": ("""
entry main [n] (ks: [n]i64): [n]i64 =
  let m = i64.sum ks
  in map (\\k -> m + i64.sum (map (\\i -> i * i) (iota k))) ks
""", lambda ks: [[sum(ks) + each for each in _squares(ks)]])}


@pytest.mark.parametrize("like_gpu", [False, True])
@pytest.mark.parametrize("name", FACTS_USED)
def test_facts_that_decide_what_a_run_does_are_compared_before_it(
        name: str, *, like_gpu: bool) -> None:
    """Sizes of buffers, bounds of loops, arguments: of other lengths they would be others."""
    source, wanted = FACTS_USED[name]
    program = gpu(source) if like_gpu else runelift.compile(source, tuning={})
    first = [3, 0, 900, 2]
    for version, ks in product(["row", "group", "merge"], (
            first, first, first, [900, 3, 2, 0], [3, 0, 903, 0], [3, 5, 0, 2],
            [300, 300, 300, 5], [0, 0, 0, 0], [3, 0, 2000, 2], first)):
        tuning = {f"main.suff_{name}_{k}": 1 if name == version else 1 << 40
                  for k, name in enumerate(["row", "group"])}
        _agree(program.run("main", [np.array(ks)], thresholds=tuning)[0], wanted(ks))


def test_kernels_of_merges_need_not_wait_for_failures() -> None:
    """``row`` checks lengths itself."""
    program = gpu(SLICES)
    kernels = {each.kind: each for each in plan_kernels(
        program.loaded.executable("main").plan.steps)}
    heeding = {kind for kind, each in kernels.items() if Id.FAILURE in asked(each.body)}
    assert heeding == {"ragged_groups", "merge_rows", "merge_pieces", "merge_joined"}
    assert {kind for kind, each in kernels.items() if led_by_elements(each)} == heeding | {
        "length_facts", "segmap"}


INNER = """
entry main [n] (ks: [n]i64) (js: [n]i64): [n]i64 =
  map2 (\\k j -> let ys = scan (+) 0 (map (\\i -> i * i) (iota k)) in ys[j]) ks js
"""


@pytest.mark.parametrize("like_gpu", [False, True])
def test_a_failure_counts_only_where_facts_are_as_they_were(*, like_gpu: bool) -> None:
    """Work-items of ``row`` have room for the longest row that was, and no other index in it."""
    program = gpu(INNER) if like_gpu else runelift.compile(INNER, tuning={})
    tuning = {"main.suff_row_0": 1, "main.suff_group_1": 1 << 40}
    for k, j in ((5, 2), (5, 2), (5, 2), (9, 7), (5, 2)):
        found, _ = program.run("main", [np.array([3, k]), np.array([2, j])], thresholds=tuning)
        _agree(found, [[5, _squares([j + 1])[0]]])
    for k, j in ((5, 5), (7, 8)):
        with pytest.raises(ProgramFailure, match=rf"Index \[{j}\] out of bounds .* \[{k}\]"):
            program.run("main", [np.array([3, k]), np.array([2, j])], thresholds=tuning)


GATHERED = """
entry main [r][k][n] (start: [r]i64) (len: [r]i64) (cols: [k]i64) (v: [n]i64): [r]i64 =
  map2 (\\s l -> i64.sum (map (\\c -> v[c]) cols[s:s + l])) start len

entry scanned [r][k][n] (start: [r]i64) (len: [r]i64) (cols: [k]i64) (v: [n]i64): [r]i64 =
  map2 (\\s l -> i64.maximum (scan (+) 0 (map (\\c -> v[c]) cols[s:s + l]))) start len
"""


@pytest.mark.parametrize(("version", "entry"), list(product(
    ["row", "group", "merge"], ["main", "scanned"])))
@pytest.mark.parametrize("like_gpu", [False, True])
def test_failed_checks_keep_elements_of_rows_unread(
        version: str, entry: str, *, like_gpu: bool) -> None:
    """Far outside of memory, where lengths have the total that a repeated call was made for."""
    program = gpu(GATHERED) if like_gpu else runelift.compile(GATHERED, tuning={})
    tuning = {f"{entry}.suff_{name}_{k}": 1 if name == version else 1 << 40
              for k, name in enumerate(["row", "group"])}
    starts, lens, cols = np.array([5, 0, 7]), np.array([0, 6, 2]), np.arange(9)[::-1]
    values = np.arange(9) * 3
    rows = [values[cols][at:at + k] for at, k in zip(starts, lens, strict=True)]
    wanted = [each.sum() if entry == "main" else max([-1 << 63, *np.cumsum(each)])
              for each in rows]
    for _ in range(4):
        _agree(program.run(entry, [starts, lens, cols, values], thresholds=tuning)[0], [wanted])
    far = 1 << 40
    for wrong in ([starts + far, lens, cols, values], [starts, lens, cols + far, values],
                  [starts, np.array([-far, far + 6, 2]), cols, values]):
        with pytest.raises(ProgramFailure, match=r"out of bounds|negative"):
            program.run(entry, wrong, thresholds=tuning)
        found, _ = program.run(entry, [starts, lens, cols, values], thresholds=tuning)
        _agree(found, [wanted])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_repeated_call_fails_for_a_negative_length(version: int) -> None:
    """Whoever compares facts in the end also looks for failures of the pass over lengths."""
    names = ["main.suff_row_0", "main.suff_group_1"]
    program = runelift.compile(RAGGED, tuning={
        name: 1 if number == version else 1 << 40 for number, name in enumerate(names)})
    for _ in range(4):
        _agree(program.run("main", [np.array([3, 0, 4])])[0], [[5, 0, 14]])
    for lengths in ([3, -1, 4], [4, -1, 4], [-7, 0, 0]):
        with pytest.raises(ProgramFailure, match="negative"):
            program.run("main", [np.array(lengths)])
    _agree(program.run("main", [np.array([3, 0, 4])])[0], [[5, 0, 14]])


def test_another_decision_is_followed() -> None:
    program = runelift.compile(RAGGED, tuning={
        "main.suff_row_0": 3, "main.suff_group_1": 1 << 40})
    for lengths in ([5, 5, 5], [5, 5, 5], [5, 5, 5], [6, 6, 5], [0, 0, 900], [5, 5, 5]):
        found, _ = program.run("main", [np.array(lengths)])
        _agree(found, [[sum(i * i for i in range(k)) for k in lengths]])
    (commands,) = _command_buffers(program)
    assert not commands.repeats
