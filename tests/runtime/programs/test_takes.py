"""Arguments of public functions: wrong types are ArgumentErrors with a cure, never exceptions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import ArgumentError

TEXT = ("entry main (x: f32) = x\nentry r [n][m] (a: [n][m]i32) = map (reduce (+) 0) a\n"
        "entry h (x: f16) = x\nentry d (x: f64) = x\n"
        "type t = #some ([3]i32) | #none\n"
        "entry pairs [n] (xs: [n]i32) = map (\\x -> {a = x, b = f32.i32 x}) xs\n"
        "entry left [n] (xs: [n]{a: i32, b: f32}) = map (.a) xs\n"
        "entry some (xs: [3]i32): t = #some xs\n"
        "entry got (x: t): i32 = match x case #some xs -> xs[1] case #none -> 0\n"
        "entry record (x: i32) (y: f32) = {x, y, z = [x, x]}\n"
        "entry second (r: {x: i32, y: f32, z: [2]i32}) = r.z[1]")
X = np.ones((2, 3), np.int32)


@pytest.fixture(scope="module")
def program() -> runelift.Program:
    return runelift.compile(TEXT, device="interpreter")


WRONG: dict[str, Callable[[Any], object]] = {
    "compile(None)": lambda p: runelift.compile(None),  # type: ignore[arg-type]
    "compile(bytes)": lambda p: runelift.compile(b"entry main = 1i32"),  # type: ignore[arg-type]
    "device": lambda p: runelift.compile(TEXT, device=5),  # type: ignore[arg-type]
    "settings": lambda p: runelift.compile(TEXT, settings=[("a", 1)]),  # type: ignore[arg-type]
    "names of settings": lambda p: runelift.compile(TEXT, settings={3: 3}),  # type: ignore[dict-item]
    "tuning": lambda p: runelift.compile(TEXT, tuning=5),  # type: ignore[arg-type]
    "policy": lambda p: runelift.compile(TEXT, policy=None),  # type: ignore[arg-type]
    "memory": lambda p: runelift.compile(TEXT, memory=[1]),  # type: ignore[arg-type]
    "schedule": lambda p: runelift.compile(TEXT, schedule=1),  # type: ignore[arg-type]
    "rules": lambda p: runelift.compile(TEXT, rules=1),  # type: ignore[arg-type]
    "fp_contract": lambda p: runelift.compile(TEXT, fp_contract="yes"),  # type: ignore[arg-type]
    "force": lambda p: p.run("r", [X], force="V1"),
    "versions of force": lambda p: p.run("r", [X], force={"r.versions_0": "V1"}),
    "thresholds": lambda p: p.run("r", [X], thresholds=[1]),
    "arguments": lambda p: p.run("r", 5),
    "text of arguments": lambda p: p.run("r", "ab"),
    "entry": lambda p: p.run(5, [X]),
    "entry by index": lambda p: p[5],
    "stage": lambda p: p.source(5),
    "datasets": lambda p: p.tune([X]),
    "repeats": lambda p: p.tune({"a": [X]}, repeats="3"),
    "bound of memory": lambda p: setattr(p, "memory", [5]),
    "fn": lambda p: runelift.fn(5),  # type: ignore[call-overload]
    "runs": lambda p: runelift.profile(p.main, 1.0, runs="2"),  # type: ignore[arg-type]
    "10**400": lambda p: p.main(10**400),
    "1e300": lambda p: p.main(1e300),
    "-1e300": lambda p: p.main(-1e300),
    "1e6 for f16": lambda p: p.h(1e6),
    "f64 for f32": lambda p: p.main(np.float64(1e300)),
    "10**400 for f64": lambda p: p.d(10**400),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_wrong(call: Callable[[Any], object], program: runelift.Program) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(program)
    assert caught.value.hint
    assert caught.value.parameter


def test_right(program: runelift.Program, tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text(TEXT)
    for source in (path, str(path)):
        assert runelift.compile(source, device="interpreter", settings={}, tuning={}).main(2) == 2
    assert program.main(float("inf")) == np.inf
    assert np.isnan(program.main(float("nan")))
    assert program.main(3e38) == np.float32(3e38)
    assert program.d(1e300) == 1e300
    assert program.run("r", (X,), force=None, thresholds={})[0][0].tolist() == [3, 3]


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)), "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "inside": lambda value: copy.deepcopy({"state": [value]})["state"][0],
    "old pickle": lambda value: pickle.loads(pickle.dumps(value, 2)),
}


@pytest.mark.parametrize("again", COPIES.values(), ids=COPIES)
def test_opaque_values_survive(again: Callable[[Any], Any], program: runelift.Program) -> None:
    three = np.arange(3, dtype=np.int32)
    for made, use, want in ((program.pairs(three), program.left, [0, 1, 2]),
                            (program.some(three), program.got, 1),
                            (program.record(7, 0.5), program.second, 7)):
        copied = again(made)
        assert type(copied) is type(made)
        assert copied.type == made.type
        assert np.asarray(use(copied)).tolist() == want
