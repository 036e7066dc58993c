"""Profiles of programs: times, work, traces and pages."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.cost import peaks
from runelift.runtime.cost.peaks import Peaks
from runelift.runtime.tools.commands.cli import main
from tests.screens import PROGRAM, screens

N, ROUNDS = 64, 3000
HEAVY = f"""
-- Long chains of multiply-adds, and the sums of their ends.
-- ==
-- entry: main
-- "chains" random input {{ [{N}][{N}]f32 }}
def chain (x: f32): f32 = loop y = x for _i < {ROUNDS} do y * 0.5 + x
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 (map chain xs)) xss
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, and a device with known peaks."""
    peaks = Peaks(1e10, {Prim.F32: 1e11, Prim.I32: 1e11})
    monkeypatch.setattr("runelift.runtime.tools.profiling.session.measured_peaks",
                        lambda *_, **__: peaks)
    (tmp_path / "heavy.fut").write_text(HEAVY)
    return tmp_path


def run(folder: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["profile", str(folder / "heavy.fut"), "--device", "pocl", "-r", "3",
                 *options]) == 0
    return capsys.readouterr().out


def nested(events: list[dict[str, Any]]) -> None:
    """Events of a track lie within each other or apart."""
    around: list[float] = []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while around and around[-1] <= event["ts"] + 1e-6:
            around.pop()
        end = event["ts"] + event["dur"]
        assert event["dur"] >= 0
        assert not around or end <= around[-1] + 1e-6, event
        around.append(end)


def test_a_profile_says_where_the_time_goes(folder: Path,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    page, trace = folder / "p.html", folder / "p.json"
    out = run(folder, "--json", "--all-versions", "--html", str(page), "--trace", str(trace),
              capsys=capsys)
    found = json.loads(out[out.index("{"):])
    (profile,) = found.get("result", found)["profiles"]
    heaviest = profile["kernels"][0]
    assert "heavy.fut:7:" in heaviest["source"]
    assert heaviest["operations"]["f32"] == pytest.approx(2 * N * N * ROUNDS, rel=0.01)
    assert heaviest["bytes"] == 4 * (N * N + N)
    assert heaviest["counts"] == "exact"
    assert heaviest["version"].startswith("V")
    assert heaviest["name"] in profile["verdict"]
    assert "of peak operations" in profile["verdict"]
    assert sum(each["share"] for each in profile["kernels"]) == pytest.approx(1)
    alone = {each["name"]: each["busiest"] for each in profile["all_versions"]}
    assert set(alone) == {"V1", "V2", "V3"}
    assert all(each["operations"]["f32"] == pytest.approx(heaviest["operations"]["f32"], rel=0.02)
               for each in alone.values())
    parts = {name: each for name, each in profile["parts"].items() if name != "idle"}
    events = json.loads(trace.read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X", "C"}
    (call,) = [e for e in events if e["name"] == "call"]
    assert sum(parts.values()) * 1e6 == pytest.approx(call["dur"], rel=1e-3)
    kernels = [e for e in events if e.get("cat") == "kernel"]
    spent = sum(e["dur"] for e in kernels)
    assert 0.5 * call["dur"] < spent <= call["dur"]  # 99 % on an idle machine
    for track in (1, 2):
        nested([e for e in events if e["ph"] == "X" and e["tid"] == track])
    assert all(one["ts"] + one["dur"] <= other["ts"] + 1e-6 for one, other in pairwise(kernels))
    text = page.read_text()
    assert len(text) < 1 << 20
    assert "Roofline" in text
    assert "heavy.fut:7:" in text
    assert "<pre></pre>" not in text
    if PROGRAM is not None:
        assert screens(page, widths=(480, 1280), schemes=("dark",)) == []


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_table_fits_the_terminal(width: int, folder: Path,
                                     capsys: pytest.CaptureFixture[str],
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(folder, capsys=capsys)
    _, *lines = out[out.index("chains: "):].splitlines()
    if any(each.startswith("Next: ") for each in lines):
        del lines[-1]  # a command to paste is one line
    assert max(map(len, lines)) <= width
    assert "of peak" in out
    if width >= 80:
        assert re.search(r"^segmap_\w+_\d+ ", out, re.MULTILINE)
    assert "heavy.fut:7:" in "".join(out.split())


def test_a_terminal_gets_colours_and_names_as_they_are(
        folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "heavy.fut").write_text(HEAVY.replace('"chains"', '"[bold] chains"'))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = run(folder, capsys=capsys)
    assert "\x1b[1m" in out
    assert "\\x1b" not in out
    assert "[bold] chains" in out


def test_peaks_are_measured_once_and_only_grow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path
                                               ) -> None:
    monkeypatch.setenv("RUNELIFT_CACHE", str(tmp_path / "cache"))
    rates = iter([5.0, 3.0, 9.0])

    class Info:
        label = "a device"

    class Device:
        info, lock = Info(), RLock()

    monkeypatch.setattr(peaks, "_bandwidth", lambda device: next(rates))
    monkeypatch.setattr(peaks, "_operations", lambda device: {Prim.F32: 1.0})
    device: Any = Device()
    found = [peaks.measured_peaks(device, again=again).bandwidth
             for again in (False, False, True, True)]
    assert found == [5.0, 5.0, 5.0, 9.0]


def test_a_call_from_python_has_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("runelift.runtime.tools.profiling.session.measured_peaks",
                        lambda *_, **__: Peaks(1e10, {Prim.F32: 1e11}))
    program = runelift.compile("entry main [n] (xs: [n]f32): f32 = f32.sum xs", device="pocl")
    found = runelift.profile(program.main, np.ones(5000, np.float32), runs=2, all_versions=True)
    assert found.verdict in "".join(repr(found).splitlines())
    assert "<svg" in found._repr_html_()
    assert sum(each["operations"]["f32"] for each in found.to_dict()["kernels"]
               if each["operations"]) >= 4999
    found.write_trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    shown = found.profile.shown
    many = replace(shown, commands=shown.commands * 20_000, memory=tuple(
        (1e-9 * number, number % 7) for number in range(50_000)))
    found.profile = replace(found.profile, shown=many)
    found.write_html(tmp_path / "many.html")
    assert (tmp_path / "many.html").stat().st_size < 1 << 20
    for wrong in (program, len):
        with pytest.raises(UserError, match=r"program\.main"):
            runelift.profile(wrong)  # type: ignore[arg-type]


def test_the_interpreter_has_no_profile(folder: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(folder / "heavy.fut"), "--device", "interpreter"]) == 1
    assert "needs a device" in capsys.readouterr().err

