"""Calls with arguments of known types and sizes."""

from __future__ import annotations

import threading
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import runelift
from runelift.ir.errors import ProgramFailure, UserError
from runelift.runtime.devices.waiting import Waits
from runelift.runtime.execution.issuing import Issuer
from runelift.runtime.execution.prepared_calls import PreparedCall, kinds_of
from runelift.runtime.program import Program

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


def prepared(program: Program, entry: str, thresholds: Any = None) -> dict[Any, PreparedCall]:
    chosen = program.thresholds if thresholds is None else thresholds
    return program.loaded.executable(entry).decisions.under(chosen, {}).prepared


def test_results_follow_values_sizes_and_scalars(program: Program) -> None:
    random = np.random.default_rng(1)
    for _ in range(CALLS):
        for n in (3, 40):
            for k in (2.0, -0.0, np.float32(0.5)):
                xs = random.random(n, np.float32)
                for given in (xs, program.to_device(xs), np.repeat(xs, 2)[::2]):
                    np.testing.assert_array_equal(program.scaled(k, given), xs * np.float32(k))
    kinds = prepared(program, "scaled")
    assert len(kinds) == 2 * 3 * 2


def test_equal_numbers_of_other_types_are_other_kinds(program: Program) -> None:
    device = program.device
    arguments: list[Any] = [1, 1.0, True, np.int64(1), np.int32(1), np.bool_(True), 0.0, -0.0,
                            float("nan"), np.zeros(2, np.int32), np.zeros(2, np.float32),
                            np.zeros((2, 1), np.int32), np.zeros(2, ">i4"),
                            program.to_device(np.zeros(2, np.int32)),
                            program.to_device(np.zeros(3, np.int32))]
    assert len({kinds_of([each], device) for each in arguments}) == len(arguments)
    assert kinds_of([float("nan")], device) == kinds_of([float("nan")], device)
    for other in ([1, 2], np.array(1), "x", None):
        assert kinds_of([1, other], device) is None
    assert kinds_of([program.to_device(np.zeros(2, np.int32))], MagicMock()) is None


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
        ran.append([command.number for command in call._found._commands])
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
            program.loaded.executable("scaled").waits_long = False
            program.scaled(3.0, xs, device_arrays=is_there)
            assert waits.call_count == is_there


def test_ctrl_c_may_end_a_wait_that_comes_before_the_read(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    xs = np.arange(9, dtype=np.float32)
    for _ in range(CALLS):
        program.scaled(3.0, xs)
    waits = MagicMock()
    monkeypatch.setattr(Waits, "wait", lambda self, queue, *events: (waits(), queue.finish()))
    program.loaded.executable("scaled").waits_long = True
    np.testing.assert_array_equal(program.scaled(3.0, xs), xs * 3)
    assert waits.call_count == 1


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
