"""Records of first runs: builds and first launches are in no version's time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.execution.kernels import Kernels
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

LAUNCHES = """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 (map (* NUMBER) xs)
  in scan i32.max 0 (map2 (\\y i -> y ^ i32.i64 i) ys (iota n))
"""
XS = np.arange(20_000, dtype=np.int32)
SLOW = 0.3
"""The seconds that a build takes here at least."""


@pytest.fixture
def slow_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    build: Callable[..., Any] = Kernels._program

    def slowly(kernels: Kernels, *args: Any) -> Any:
        time.sleep(SLOW)
        return build(kernels, *args)

    monkeypatch.setattr(Kernels, "_program", slowly)


def fresh() -> Any:
    """A program that is in no cache."""
    number = str(time.time_ns() % 1_000_000_007 + os.getpid())
    return runelift.compile(LAUNCHES.replace("NUMBER", number), device="pocl", tuning={})


@pytest.mark.usefixtures("slow_builds")
def test_the_first_record_of_a_program() -> None:
    subject = fresh()
    for _ in range(2):
        results, record = subject.run("main", [XS], record=True)
        assert record.wall < SLOW
        assert record.span < SLOW
        assert all(each.time < SLOW and each.issue < SLOW for each in record.encounters)
    np.testing.assert_array_equal(results[0], subject.run("main", [XS])[0][0])


@pytest.mark.usefixtures("slow_builds")
def test_records_of_calls() -> None:
    subject = fresh()
    subject.recording = True
    subject.main(XS)
    assert [record.wall < SLOW for record in subject.records] == [True]


@pytest.mark.usefixtures("slow_builds")
def test_records_and_times_of_the_tuner() -> None:
    measured = MeasuredProgram(fresh())
    args = measured.place([XS])
    assert measured.record("main", args).span < SLOW
    measured = MeasuredProgram(fresh())
    assert measured.time("main", measured.place([XS])) < SLOW


def test_consumed_arguments_are_as_they_were() -> None:
    text = "entry main [n] (k: i32) (xs: *[n]i32): [n]i32 = xs with [0] = xs[0] + k + NUMBER"
    subject = runelift.compile(text.replace("NUMBER", str(os.getpid())), device="pocl", tuning={})
    results, _ = subject.run("main", [np.int32(1), XS], record=True)
    assert results[0][0] == XS[0] + 1 + os.getpid()
