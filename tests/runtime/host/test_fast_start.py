"""The switch of start-up tricks: results do not depend on it, and no trick begins without it."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from runelift.runtime.devices import pyopencl_quirks
from runelift.runtime.devices.driver import icd, preload
from runelift.runtime.host import background, children, fast_start, gc_policy, lazy_dataclasses
from runelift.runtime.processes import build_pool, compile_ahead, process

NO_CACHE = "PYOPENCL_NO_CACHE"


def runelift(folder: Path, switch: str, *arguments: str, given: str = "") -> str:
    """The standard output of a command in a process of its own, which keeps files in a folder."""
    made = subprocess.run(
        [sys.executable, "-m", "runelift", *arguments], input=given, capture_output=True, text=True,
        check=True, env={**os.environ, fast_start.VARIABLE: switch, "RUNELIFT_KEEP": "1",
                         "RUNELIFT_CACHE": str(folder / "cache")})
    return made.stdout


def facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["result"]["entries"]["main"]
    return found


def test_tunings_and_runs_are_equal_with_and_without(tmp_path: Path, path: Path) -> None:
    tuned, runs = dict[str, dict[str, Any]](), dict[str, str]()
    for switch in "0", "1":
        folder = tmp_path / switch
        folder.mkdir()
        (program := folder / "rows.fut").write_text(path.read_text())
        tuned[switch] = facts(runelift(folder, switch, "autotune", str(program), "--device", "pocl",
                                       "--runs", "1", "--no-verify", "--no-parameters", "--json"))
        runs[switch] = runelift(folder, switch, "run", str(program), "--device", "pocl",
                                given="[[1f32, 2f32], [3f32, 4f32]]")
    assert runs["0"] == runs["1"] != ""
    assert tuned["0"]["thresholds"].keys() == tuned["1"]["thresholds"].keys()
    assert tuned["0"]["program_runs"] == tuned["1"]["program_runs"]
    log = str(tmp_path / "0" / "rows.fut.tuning.log")
    again = [facts(runelift(tmp_path, switch, "autotune", str(tmp_path / "0" / "rows.fut"),
                            "--device", "pocl", "--replay", log, "--json"))["thresholds"]
             for switch in ("0", "1")]
    assert again[0] == again[1] == tuned["0"]["thresholds"]


@pytest.mark.parametrize("switch", ["0", "1"])
def test_no_trick_begins_without(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast_start.VARIABLE, switch)
    monkeypatch.setenv(NO_CACHE, "")
    monkeypatch.delenv(NO_CACHE)
    begun = list[str]()
    monkeypatch.setattr(icd, "_thread", None)
    monkeypatch.setattr(icd, "_open", lambda *_: begun.append("driver"))
    monkeypatch.setattr(preload, "_load", lambda: begun.append("kernels"))
    monkeypatch.setattr(gc, "set_threshold", lambda *_: begun.append("thresholds"))
    monkeypatch.setattr(gc, "freeze", lambda: begun.append("freeze"))
    icd.begin("pocl")
    icd.driver_context()
    preload.begin()
    gc_policy.collect_rarely()
    gc_policy.freeze()
    pyopencl_quirks.disable_caches()
    ended = time.monotonic() + 60
    while switch == "1" and len(begun) < 4 and time.monotonic() < ended:
        time.sleep(0.01)
    assert sorted(begun) == (["driver", "freeze", "kernels", "thresholds"] if switch == "1" else [])
    assert (NO_CACHE in os.environ) == (switch == "1")


@pytest.mark.parametrize("switch", ["0", "1"])
def test_no_process_starts_ahead_without(
        switch: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast_start.VARIABLE, switch)
    monkeypatch.setenv("RUNELIFT_CACHE", str(path.parent / "cache"))
    monkeypatch.setenv("RUNELIFT_KEEP", "1")
    monkeypatch.setattr(os, "cpu_count", lambda: compile_ahead.MIN_CORES)
    monkeypatch.setattr(icd, "CONTROL_DEVICE", str(path))
    count = int(switch)
    with process.started_ahead("pocl") as go, build_pool.probing_started_ahead("pocl"), \
            compile_ahead.compiled_ahead(str(path), "all") as is_under_way:
        go("")
        assert len(process._running) == count
        assert len(process._probing) == count * len(build_pool.PROBE_REQUESTS)
        assert len(compile_ahead._under_way) == count
        assert is_under_way == (switch == "1")
    if switch == "0":
        assert "-S" not in children.command("pass")


@pytest.mark.parametrize("switch", ["0", "1"])
def test_work_is_done_by_this_thread_without(
        switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast_start.VARIABLE, switch)
    before = sys.getswitchinterval()
    with background.in_background(threading.current_thread) as worker:
        assert (sys.getswitchinterval() == before) == (switch == "0")
        assert (worker() is threading.current_thread()) == (switch == "0")
        assert worker() is worker()


@pytest.mark.skipif(not hasattr(dataclasses, "_create_fn"), reason="this Python compiles less")
def test_data_classes_of_a_caller_have_their_methods_at_once() -> None:
    code = """
import dataclasses, runelift
usual = dataclasses._create_fn
runelift.compile("entry main (x: i32) = x + 1", device="interpreter")
from runelift.ir.syntax import Jvp
assert dataclasses._create_fn is usual
assert Jvp.__eq__.__code__.co_name == "_first_call"
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


@pytest.mark.skipif(not hasattr(dataclasses, "_create_fn"), reason="this Python compiles less")
@pytest.mark.parametrize("switch", ["0", "1"])
def test_data_classes_are_the_same_with_lazy_methods(
        switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast_start.VARIABLE, switch)
    monkeypatch.setattr(dataclasses, "_create_fn", usual := vars(dataclasses)["_create_fn"])
    lazy_dataclasses.begin()
    assert (vars(dataclasses)["_create_fn"] is not usual) == (switch == "1")

    @dataclasses.dataclass(frozen=True, slots=True, order=True)
    class Point:
        x: int
        y: float = 2
        names: list[str] = dataclasses.field(default_factory=list, compare=False, kw_only=True)

    point = Point(1, names=["a"])
    assert repr(point).endswith("Point(x=1, y=2, names=['a'])")
    assert Point(1) == point != Point(1, 3)
    assert Point(1) < Point(x=2) >= Point(2, 1)
    assert len({point, Point(1), dataclasses.replace(point, y=3)}) == 2
    assert Point(1).names is not Point(1).names
    assert Point.__init__.__annotations__ == {
        "x": "int", "y": "float", "names": "list[str]", "return": None}
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required"):
        Point()  # type: ignore[call-arg]
