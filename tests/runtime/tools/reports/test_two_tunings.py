"""Two tunings compared: by their logs, by their files, and by runs in turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.reports.two_tunings import TimesOfTwo, TwoTunings, render_two
from runelift.runtime.tuner.costs.log import Log
from runelift.runtime.tuner.measure.forced_runs import measure
from tests.runtime.tuner.simulated import CHAIN, Cost, Simulated, inputs

PROGRAM = """\
-- ==
-- "small" input { [[1f32, 2f32], [3f32, 4f32]] }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 xs) xss
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def execute(*arguments: object) -> tuple[int, str, str]:
        return main(["tune-compare", *map(str, arguments)]), *capsys.readouterr()

    return execute


def log(path: Path, cost: Cost) -> Path:
    written = Log(path)
    sim = Simulated.of(CHAIN, cost)
    measure(sim, sim.forest, inputs(a=[16], b=[64]), repeats=7, log=written)
    written.close()
    return path


def test_of_two_logs_the_best_versions_are_compared(tmp_path: Path, run: Run) -> None:
    first = log(tmp_path / "a.log", lambda _, index, par: [4.0, 9.0, 2.0][index])
    second = log(tmp_path / "b.log", lambda _, index, par: [0.5, 9.0, 2.0][index])
    status, out, _ = run(first, second, "--html", tmp_path / "page.html")
    assert status == 0
    assert out.startswith("b.log took 0.40× the time of a.log in the geometric mean of 2 datasets, "
                          "at another moment.")
    (row,) = [line for line in out.splitlines() if line.startswith("  a ")]
    assert row.split()[-6:] == ["not", "run", "in", "turn", "V3", "V1"]
    assert "certain" not in out
    assert "main.t0" in out.partition("differ")[2]
    page = (tmp_path / "page.html").read_text()
    assert "Speed of the second tuning" in page
    assert len(page) < 20_000


def facts(path: Path, seconds: list[float], **about: str) -> Path:
    path.write_text("main.suff_outer_par_0=64\nmain.r.group=128\n" if about else "")
    final = [{"dataset": "d", "entry": "main", "seconds": {"tuned": seconds},
              "versions": {"tuned": ["V1"]}}]
    path.with_name(path.name + ".json").write_text(json.dumps({"final": final, **about}))
    return path


def test_of_two_files_values_facts_and_last_times_are_compared(tmp_path: Path, run: Run) -> None:
    first = facts(tmp_path / "a.tuning", [1.0, 1.1, 0.9] * 4)
    second = facts(tmp_path / "b.tuning", [1.0, 1.1, 0.9] * 4, device="another")
    status, out, _ = run(first, second, "--json")
    found = json.loads(out)
    found = found.get("result", found)
    assert status == 0
    assert found["facts"] == [["device", "not said", "another"]]
    assert found["values"] == [["main.suff_outer_par_0", "default", "64"],
                               ["main.r.group", "default", "128"]]
    (dataset,) = found["datasets"]
    assert dataset["verdict"] == "not run in turn"
    assert not dataset["in_turn"]
    assert dataset["low"] <= dataset["speedup"] == 1.0 <= dataset["high"]


def test_a_program_runs_with_both_in_turn(tmp_path: Path, run: Run) -> None:
    program = tmp_path / "p.fut"
    program.write_text(PROGRAM)
    tuning = facts(tmp_path / "a.tuning", [])
    status, out, _ = run(program, tuning, "--time-limit", "none")
    assert status == 0
    assert "a.tuning is" in out
    assert "default" in out
    assert "runs in turn, now" in out


@pytest.mark.parametrize(("given", "message"), [
    (("a.tuning", "l.log"), "give two of a kind"),
    (("a.tuning", "a.tuning", "a.tuning"), "Give two tuning files"),
    (("a.tuning", "a.tuning", "--strategy", "binary"), "give no --strategy")])
def test_what_cannot_be_compared(tmp_path: Path, run: Run, given: tuple[str, ...], message: str
                                 ) -> None:
    facts(tmp_path / "a.tuning", [])
    log(tmp_path / "l.log", lambda *_: 1.0)
    status, _, err = run(*(tmp_path / each if (tmp_path / each).exists() else each
                           for each in given))
    assert status == 1
    assert message in err


@pytest.mark.parametrize(("paired", "verdict"), [(True, "second faster"),
                                                 (False, "not run in turn")])
def test_only_runs_in_turn_are_certain(paired: bool, verdict: str) -> None:
    """Two recordings under different load differ by far, and prove nothing."""
    times = TimesOfTwo("a", ([16.0] * 30, [1.0] * 30), paired=paired)
    assert times.verdict == verdict
    text = render_two(TwoTunings(("recorded", "now"), [], [], [times], "runs"))
    assert ("certain" in text) == paired
    assert ("95 %" in text) == paired
