"""Calls with arguments of known types and sizes."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ProgramFailure, UserError
from runelift.runtime.devices.info import DeviceInfo, DeviceKind
from runelift.runtime.devices.waiting import Waits
from runelift.runtime.execution.calls import Call, kinds_of
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.issuing import Issuer
from runelift.runtime.execution.plan_forms import FreeValues
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.execution.submitting import SUBMITS_BEFORE_FUSION, BoundCommands
from runelift.runtime.programs.program import Program
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from tests import programs
from tests.runtime.memory.test_memory_run import without_collections

CALLS = 5
"""The first call runs the plan, the second is captured, later ones are prepared."""

PROGRAM = """
entry scaled [n] (k: f32) (xs: [n]f32): [n]f32 = map (* k) xs
entry both [n] (xs: [n]i32) (ys: [n]i32): ([n]i32, i32, [n]i32) =
  (map2 (+) xs ys, i32.sum (map2 (*) xs ys), xs)
entry moved [n] (i: i64) (xs: *[n]i32): *[n]i32 = xs with [i] = xs[0] + 1
entry picked [n][m] (is: [m]i64) (xs: [n]i32): [m]i32 = map (\\i -> xs[i]) is
entry rows [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
entry twice (r: {a: []i32, b: i32}): {a: []i32, b: i32} = {a = map (* 2) r.a, b = r.b + 1}
entry pair (xs: []i32) (k: i32): {a: []i32, b: i32} = {a = xs, b = k}
"""


@pytest.fixture
def program() -> Program:
    return runelift.compile(PROGRAM, tuning={})


def prepared(program: Program, entry: str, thresholds: Any = None) -> dict[Any, Call]:
    chosen = program.thresholds if thresholds is None else thresholds
    return program.loaded.executable(entry).decisions.under(chosen, {}).known


def test_results_follow_values_sizes_and_scalars(program: Program) -> None:
    random = np.random.default_rng(1)
    for _ in range(CALLS):
        for n in (3, 40):
            for k in (2.0, -0.0, np.float32(0.5)):
                xs = random.random(n, np.float32)
                for given in (xs, program.to_device(xs), np.repeat(xs, 2)[::2]):
                    np.testing.assert_array_equal(program.scaled(k, given), xs * np.float32(k))
    kinds = prepared(program, "scaled")
    assert len(kinds) == 2 * 2 * 2  # sizes, types of scalars, NumPy or the device


def test_equal_numbers_of_other_types_are_other_kinds(program: Program) -> None:
    arguments: list[Any] = [1, 1.0, True, np.int64(1), np.int32(1), np.bool_(True), 0.0, -0.0,
                            float("nan"), np.zeros(2, np.int32), np.zeros(2, np.float32),
                            np.zeros((2, 1), np.int32), np.zeros(2, ">i4"),
                            program.to_device(np.zeros(2, np.int32)),
                            program.to_device(np.zeros(3, np.int32))]
    executable = program.loaded.executable("rows")  # it has no scalars

    def kinds(*args: Any) -> Any:
        return kinds_of(args, executable)

    assert len({kinds(each) for each in arguments}) == len(arguments)
    assert kinds(float("nan")) == kinds(float("nan"))
    for other in ([1, 2], np.array(1), "x", None):
        assert kinds(1, other) is None
    array = program.to_device(np.zeros(2, np.int32))
    elsewhere = DeviceArray(array.buffer, (array.prim, array.shape, MagicMock()))
    assert kinds(array) != kinds(elsewhere)
    assert kinds(array, array) != kinds(array, arguments[-2])


def test_arrays_of_another_device_are_copied(program: Program) -> None:
    info = program.device_info
    assert info is not None
    other = Program(program.compiled, replace(info, num_groups=4, handle=info.handle))
    assert other.device is not program.device
    for k in range(CALLS):
        xs = np.full(3, k, np.float32)
        np.testing.assert_array_equal(program.scaled(2.0, other.to_device(xs)), xs * 2)
        np.testing.assert_array_equal(program.scaled(2.0, program.to_device(xs)), xs * 2)
    assert len(prepared(program, "scaled")) == 1


def test_wrong_arguments_are_refused_as_ever(program: Program) -> None:
    xs = program.to_device(np.ones(4, np.float32))
    for _ in range(CALLS):
        program.scaled(2.0, xs)
    for wrong in ([2.0], [2.0, xs, xs], [xs, 2.0], [2.0, np.ones(4)], [2.0, np.ones((2, 2), "f4")],
                  [1j, xs]):
        with pytest.raises(UserError):
            program.scaled(*wrong)


def test_one_array_may_be_several_arguments_and_results(program: Program) -> None:
    xs, ys = np.arange(6, dtype=np.int32), np.arange(6, dtype=np.int32)[::-1].copy()
    there = program.to_device(xs), program.to_device(ys)
    for _ in range(CALLS):
        for left, right in ((0, 1), (0, 0), (1, 0)):
            sums, product, same = program.both(there[left], there[right], device_arrays=True)
            values = (xs, ys)[left], (xs, ys)[right]
            np.testing.assert_array_equal(np.asarray(sums), values[0] + values[1])
            assert product == (values[0] * values[1]).sum()
            np.testing.assert_array_equal(np.asarray(same), values[0])
    assert len(prepared(program, "both")) == 2


@without_collections()  # what other tests have left does not count
def test_calls_are_chained_on_the_device(program: Program) -> None:
    start = program.to_device(np.arange(5, dtype=np.float32))
    live = program.device.pool.live
    array = start
    for _ in range(8):
        array = program.scaled(2.0, array, device_arrays=True)
    np.testing.assert_array_equal(np.asarray(array), np.arange(5) * 2.0**8)
    np.testing.assert_array_equal(np.asarray(start), np.arange(5))
    held = [program.scaled(2.0, start, device_arrays=True) for _ in range(8)]
    for each in held:
        np.testing.assert_array_equal(np.asarray(each), np.arange(5) * 2)
    del array, held, each
    assert program.device.pool.live == live


def test_what_is_given_may_change_after_the_call(program: Program) -> None:
    for k in range(CALLS):
        xs = np.full(50_000, k, np.float32)
        result = program.scaled(2.0, xs, device_arrays=True)
        xs[:] = -1
        np.testing.assert_array_equal(np.asarray(result), np.full(50_000, 2 * k))


def test_arguments_are_consumed(program: Program) -> None:
    live = program.device.pool.live
    for k in range(CALLS):
        np.testing.assert_array_equal(program.moved(2, np.full(4, k, np.int32)),
                                      [k, k, k + 1, k])
        assert program.device.pool.live == live


@pytest.mark.parametrize("stays", [False, True])
def test_failures_are_found(program: Program, stays: bool) -> None:
    xs = np.arange(4, dtype=np.int32)
    good, bad = np.array([3, 0]), np.array([1, 9])
    for is_ in [good, good, good, bad, good, bad, bad, good]:
        if is_ is bad:
            with pytest.raises(ProgramFailure, match="9"):
                program.picked(is_, xs, device_arrays=stays)
        else:
            np.testing.assert_array_equal(
                np.asarray(program.picked(is_, xs, device_arrays=stays)), xs[is_])
    assert prepared(program, "picked")


def test_records_and_forced_versions_are_still_made(program: Program) -> None:
    xss = np.arange(12, dtype=np.float32).reshape(3, 4)
    names = list(program.tree.entry("rows").guards())
    for _ in range(CALLS):
        program.rows(xss)
    assert prepared(program, "rows")
    program.recording = True
    np.testing.assert_array_equal(program.rows(xss), xss.sum(1))
    assert [record.entry for record in program.records] == ["rows"]
    program.recording = False
    ran = []
    for value in (1, 1 << 40):
        for name in names:
            program.thresholds[name] = value  # in place
        assert not prepared(program, "rows")
        for _ in range(CALLS):
            np.testing.assert_array_equal(program.rows(xss), xss.sum(1))
        (call,) = prepared(program, "rows").values()
        ran.append([command.number for command in call.commands._commands])
    assert ran[0] != ran[1]
    site = next(iter(program.tree.entry("rows").sites()))
    for _ in range(CALLS):
        for version in range(2):
            (got,), _ = program.run("rows", [xss], force={site: version})
            np.testing.assert_array_equal(got, xss.sum(1))
    assert len(program.records) == 1


def test_values_of_several_parts(program: Program) -> None:
    xs = np.arange(3, dtype=np.int32)
    for k in range(CALLS):
        value = program.twice(program.pair(xs, np.int32(k)))
        assert value.type == "{a: []i32, b: i32}"
        np.testing.assert_array_equal(value[0], xs * 2)
        assert value[1] == k + 1
    with pytest.raises(UserError, match="should be"):
        program.scaled(1.0, value)


def test_one_wait_for_a_call(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blocking read waits for the device; so nothing else does."""
    waits = MagicMock()
    wait = Issuer._wait
    monkeypatch.setattr(Issuer, "_wait", lambda self, *events: (waits(), wait(self, *events))[1])
    xs = program.to_device(np.arange(9, dtype=np.float32))
    program.scaled(3.0, xs)
    for is_there in (True, False):
        for _ in range(CALLS):
            waits.reset_mock()
            for call in prepared(program, "scaled").values():
                call.commands.run.waits_long = False
            program.scaled(3.0, xs, device_arrays=is_there)
            assert waits.call_count == is_there


def test_ctrl_c_may_end_a_wait_that_comes_before_the_read(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    xs = np.arange(9, dtype=np.float32)
    for _ in range(CALLS):
        program.scaled(3.0, xs)
    waits = MagicMock()
    monkeypatch.setattr(Waits, "wait", lambda self, queue, *events: (waits(), queue.finish()))
    (call,) = prepared(program, "scaled").values()
    call.commands.run.waits_long = True
    np.testing.assert_array_equal(program.scaled(3.0, xs), xs * 3)
    assert waits.call_count == 1


def test_short_calls_between_long_ones_wait_as_short_ones(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait that Ctrl-C may end has another thread wait, which takes longer than a short call."""
    ended = MagicMock()
    monkeypatch.setattr(Waits, "wait", lambda self, queue, *events: (ended(), queue.finish()))
    short, long = (program.to_device(np.arange(n, dtype=np.float32)) for n in (9, 20))
    for _ in range(CALLS):
        for xs in (short, long):
            program.scaled(3.0, xs, device_arrays=True)
    longest, noted = max(prepared(program, "scaled").values(), key=_elements), Issuer._note_wait
    monkeypatch.setattr(Issuer, "_note_wait", lambda self, started: noted(
        self, started - (60.0 if self is longest.commands.run else 0.0)))
    program.scaled(3.0, long, device_arrays=True)
    for xs, count in [(short, 0), (long, 1), (short, 0), (long, 1)]:
        ended.reset_mock()
        got = program.scaled(3.0, xs, device_arrays=True)
        np.testing.assert_array_equal(got.get(), 3 * xs.get())
        assert ended.call_count == count


def _elements(call: Call) -> int:
    """The size of the buffers that a prepared call takes."""
    return sum(size for size, _ in call.commands._classes)


SIZES = [0, 1, 2, 7, 31, 64, 300, 1009, 4099]


@pytest.mark.parametrize("text", [
    "entry main [n] (xs: [n]f64): [n]f64 = scan (+) 0 xs",
    "entry main [n] (xs: [n]i64): [7]i32 = hist (+) 0 7 (map (% 7) xs) (replicate n 1)",
    "entry main [n] (xs: [n]i64): [n]i64 = loop ys = xs for i < 3 do scan (+) 0 (rotate i ys)",
    "entry main [n] (xs: [n]i16): ([n]i16, i16) = (map (+ 1) xs, reduce i16.max 0 xs)",
    "entry main [n] (xs: [n]i32): [n]i32 = let ys = scan (+) 0 xs in map2 (+) ys (scan (*) 1 ys)",
])
def test_sizes_in_turn_set_no_arguments_again(text: str) -> None:
    """Each size launches kernels that keep its arguments, also while it is not the last one."""
    program = runelift.compile(text, tuning={})
    (given,) = program.loaded.plan("main").params
    inputs = [(np.arange(n) % 50).astype(given.prim.dtype) for n in SIZES]
    there = [program.to_device(xs) for xs in inputs]
    expected = [program.run("main", [xs])[0] for xs in inputs]
    interpreted = Program(program.compiled, None)
    for xs, want in zip(inputs, expected, strict=True):
        for got, right in zip(want, interpreted.run("main", [xs])[0], strict=True):
            np.testing.assert_array_equal(got, right)
    for _ in range(CALLS):
        for xs in there:
            program.main(xs, device_arrays=True)
    bound = [each for call in prepared(program, "main").values()
             for each in call.commands._bound.values()]
    assert len(prepared(program, "main")) == len(SIZES)
    for each in bound:
        assert isinstance(each, BoundCommands)
        each.all.full.clear()
        each.all.moved.clear()
    for _ in range(2):
        for xs, want in zip(there, expected, strict=True):
            got = program.main(xs, device_arrays=True)
            for one, right in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
                np.testing.assert_array_equal(np.asarray(one), right)
            del got, one  # the next call takes this memory, as it did before


def test_threads_take_turns(program: Program) -> None:
    wrong, ended = list[int](), list[int]()

    def calls(number: int) -> None:
        xs = np.full(1000 + number % 2, number, np.int32)
        for _ in range(60):
            sums, product, _ = program.both(xs, xs)
            if (sums != 2 * number).any() or product != number**2 * len(xs):
                wrong.append(number)
        ended.append(number)

    threads = [threading.Thread(target=calls, args=[number]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert sorted(ended) == [*range(4)]


# Scalars that are new each time

FREE = """
entry main [n] (a: f32) (b: u8) (c: bool) (k: i64) (xs: [n]f32): ([n]f32, f32) =
  let ys = map (\\x -> if c then x * (a * a) + f32.u8 b else x - f32.i64 (k % 7)) xs
  in (ys, f32.sum ys)
entry grows [n] (k: i64) (c: i32) (xs: [n]i32): []i32 = map (+ c) xs ++ replicate k (c * 2)
entry rest [n] (k: i32) (xs: [n]i32): [n]i32 = map (% (100 / k)) xs
entry both [n] (k: i32) (xs: [n]i32): [n]i32 =
  let ys = map (+ k) xs in map2 (\\i y -> y * k + ys[n - 1 - i]) (iota n) ys
"""


@pytest.fixture
def free() -> Program:
    return runelift.compile(FREE, tuning={})


def test_free_scalars_are_new_each_time(free: Program) -> None:
    random, interpreter = np.random.default_rng(2), programs.program(FREE, "interpreter")
    xs = random.integers(-99, 99, 9).astype(np.float32)
    there = free.to_device(xs)
    for _ in range(4 * CALLS):
        scalars = [float(random.integers(-9, 9)), int(random.integers(256)),
                   bool(random.integers(2)), int(random.integers(-99, 99))]
        expected = interpreter.main(*scalars, xs)
        for got, want in zip(free.main(*scalars, there), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    assert len(prepared(free, "main")) == 1
    for number in (256, -1, 2.0, True):
        with pytest.raises(UserError, match="should be u8"):
            free.main(1.0, number, True, 1, there)
    np.testing.assert_array_equal(free.main(2.0, 3, True, 1, there)[0], xs * 4 + 3)


def test_free_scalars_beside_others(free: Program) -> None:
    xs = np.arange(5, dtype=np.int32)
    for number in range(3 * CALLS):
        for k in (0, 3):
            expected = [*(xs + number), *[2 * number] * k]
            np.testing.assert_array_equal(free.grows(k, number, xs), expected)
            np.testing.assert_array_equal(free.grows(k, np.int32(number), xs), expected)
    assert len(prepared(free, "grows")) == 4


def test_what_the_host_computes_of_a_free_scalar_may_fail(free: Program) -> None:
    xs = np.arange(9, dtype=np.int32)
    for k in (1, 2, 3, 4, 0, 0, 5, 5, 0, 5, 6):
        if k:
            np.testing.assert_array_equal(free.rest(k, xs), xs % (100 // k))
        else:
            with pytest.raises(ProgramFailure, match="Division by zero"):
                free.rest(k, xs)


def test_equal_scalars_are_not_computed_again(free: Program,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    computed = list[object]()
    of = FreeValues.of
    monkeypatch.setattr(FreeValues, "of", lambda self, run, args: (
        computed.append(args), of(self, run, args))[1])
    xs = free.to_device(np.arange(5, dtype=np.float32))
    for a in (2.0, 2.0, 2.0, 2.0, -0.0, 0.0, 0.0, 2.0):
        ys, _ = free.main(a, 3, True, 1, xs)
        np.testing.assert_array_equal(ys, np.arange(5) * (a * a) + 3)
    assert 4 <= len(computed) < 8


def test_free_scalars_reach_fused_launches(installed: DeviceInfo) -> None:
    info = replace(installed, kind=DeviceKind.GPU, handle=installed.handle)
    program = Program(programs.compiled(FREE), info)
    xs = np.arange(7, dtype=np.int32)
    for k in range(2 * SUBMITS_BEFORE_FUSION):
        ys = xs + k
        np.testing.assert_array_equal(program.both(k, xs), ys * k + ys[::-1])
    (call,) = prepared(program, "both").values()
    assert len(call.commands._commands) == 1


def test_buffers_take_turns(free: Program) -> None:
    """Only the buffers among the arguments of kernels are set again."""
    xs = np.arange(300, dtype=np.int32)
    text = """entry main [n] (a: i32) (xs: [n]i32): [n]i32 =
      let ys = scan (+) 0 (map (% 7) xs)
      let zs = scan (+) 0 (map2 (\\x y -> x + a * y) ys (rotate 1 ys))
      in map (% 1000) zs"""
    program = runelift.compile(text, tuning={})
    program.thresholds |= {name: 16 for name in program.kernel_parameters()
                           if name.endswith(".chunk")}
    state, expected, moved = program.to_device(xs), xs, 0
    for k in range(4 * CALLS):
        state = program.main(k, state, device_arrays=True)
        ys = np.cumsum(expected % 7)
        expected = (np.cumsum(ys + k * np.roll(ys, -1)) % 1000).astype(np.int32)
        np.testing.assert_array_equal(np.asarray(state), expected)
        if k % 5 == 4:
            np.testing.assert_array_equal(program.main(1, xs[:100]).shape, [100])
        for call in prepared(program, "main").values():
            bound = [each.all for each in call.commands._bound.values()
                     if isinstance(each, BoundCommands)]
            moved += sum(len(each.moved) < len(each.full) for each in bound)
    assert moved


def test_other_calls_between_do_not_matter(free: Program) -> None:
    """Nor do other buffers: kernels keep their arguments from call to call."""
    xs, ys = np.arange(7, dtype=np.int32), np.arange(5, dtype=np.int32)
    there = [free.to_device(xs) for _ in range(3)]
    for k in range(4 * CALLS):
        one = xs + k
        for each in there:
            got = free.both(k, each, device_arrays=True)
            np.testing.assert_array_equal(np.asarray(got), one * k + one[::-1])
        if k % 3 == 0:
            other = ys - k
            np.testing.assert_array_equal(free.both(-k, ys), -other * k + other[::-1])


def test_measured_runs_have_their_own_scalars(free: Program) -> None:
    executable = free.loaded.executable("both")
    executable.follow(CallPolicy(captures_first=True))
    measured, xs = MeasuredProgram(free), np.arange(7, dtype=np.int32)
    args = [[np.int32(k), free.to_device(xs)] for k in (2, 5)]
    for _ in range(CALLS):
        for each in args:
            measured.timing("both", each)
            ys = xs + each[0]
            np.testing.assert_array_equal(free.both(*each), ys * each[0] + ys[::-1])


@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (5, 0), (700, 20), (20_000, 3), (9, 20_000)])
def test_arrays_come_by_way_of_pinned_memory(installed: DeviceInfo, sizes: tuple[int, int]
                                             ) -> None:
    """As on GPUs, if they are small."""
    text = "entry main [n][m] (xs: [n]i32) (ys: [m]u8) = (map (+ 1) xs, i32.sum xs, map (+ 1) ys)"
    program = Program(programs.compiled(text),
                      replace(installed, kind=DeviceKind.GPU, handle=installed.handle))
    xs, ys = np.arange(sizes[0], dtype=np.int32), np.arange(sizes[1]).astype(np.uint8)
    kept = []
    for k in range(CALLS):
        kept.append((k, program.main(xs + np.int32(k), ys)))
    for k, (ones, total, others) in kept:
        np.testing.assert_array_equal(ones, xs + k + 1)
        assert total == (xs + k).sum()
        np.testing.assert_array_equal(others, ys + np.uint8(1))
        assert ones.flags.owndata
        assert others.flags.owndata
