"""The time of a tuning is announced, kept and accounted for; inputs are looked at first."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from runelift.runtime.tools.commands.autotune import configure
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.commands.terminal import Terminal
from runelift.runtime.tools.commands.tuning_request import TuningRequest
from runelift.runtime.tools.commands.tuning_time import accounted
from runelift.runtime.tuner.autotune import autotune
from runelift.runtime.tuner.measure.protocols import Progress
from tests.runtime.tuner.simulated import CHAIN, Simulated, inputs, job_for

TEXT = """
-- ==
-- "here" input { [[1i32, 2i32], [3i32, 4i32]] }
-- "gone" input @ data/gone.bin
-- "half" input { [[1i32]] } output @ data/half.bin
-- "script" script input { $loaddata "data/none.bin" }
-- "broken" input @ broken.bin
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss
"""
QUICK = ("--device", "pocl", "--effort", "quick")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.fut"
    path.write_text(TEXT)
    (tmp_path / "broken.bin").write_bytes(b"b\x02\x01 i32")
    return path


def request(*options: str) -> TuningRequest:
    parser = argparse.ArgumentParser()
    configure(parser)
    return TuningRequest.of(parser.parse_args(["p.fut", *options]))


@pytest.mark.parametrize(("options", "seconds"), [
    ([], 60), (["--budget", "30"], 30), (["--budget", "30s"], 30), (["--budget", "2min"], 120),
    (["--effort", "quick"], 60), (["--effort", "full"], 900), (["--strategy", "replay"], 60),
    (["--schedules", "2min"], 240), (["--schedules", "5"], 360),
    (["--schedules", "5", "--budget", "90"], 90),
    (["--strategy", "random"], None), (["--strategy", "random", "--budget", "30"], None),
    (["--strategy", "random", "--budget", "30s"], 30), (["--import-t4", "f"], None)])
def test_every_tuning_has_a_limit_of_the_whole(options: list[str], seconds: float | None) -> None:
    """A number without a unit is seconds, but for strategies that count runs."""
    assert request(*options).seconds == seconds


def test_files_that_cannot_be_read_are_named_first_and_last(
        program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What can be read is tuned; nothing runs before all have been looked at."""
    assert main(["autotune", *QUICK, str(program)]) == 0
    found = capsys.readouterr()
    lost = ["gone", "half", "script", "broken"]
    errors, lines = found.err.splitlines(), found.out.splitlines()
    assert [line.split()[4] for line in errors[:4]] == [f"{name}:" for name in lost]
    assert "tuning for 1 dataset:" in errors[4]
    assert [line.split(":")[0] for line in lines[-4:]] == [f"Tuned without {n}" for n in lost]
    assert lines[-5].startswith("Time: ")
    facts = json.loads(program.with_name("p.fut.tuning.json").read_text())
    assert list(facts["missing"]) == lost
    assert list(facts["entries"]["main"]["datasets"]) == ["here"]
    assert {"fit_thresholds", "settle", "all"} <= facts["seconds"].keys()


@pytest.mark.parametrize(("text", "options"), [
    (TEXT.replace("-- \"here\" input { [[1i32, 2i32], [3i32, 4i32]] }\n", ""), []),
    (TEXT, ["--input", "gone.bin"])])
def test_nothing_that_can_be_read_is_an_error_at_once(
        text: str, options: list[str], program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(text)
    assert main(["autotune", *QUICK, str(program), *options]) == 1
    errors = capsys.readouterr().err
    assert "gone.bin" in errors
    assert "measured" not in errors
    assert not program.with_name("p.fut.tuning").exists()


def test_the_bar_shows_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that is done, whatever it is."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("runelift.runtime.tools.commands.terminal.time",
                        SimpleNamespace(perf_counter=lambda: clock.now))
    screen = io.StringIO()
    terminal = Terminal(Console(file=screen, force_terminal=True, width=100))
    task = terminal._bars.tasks[0]
    terminal.expected("tuning for 2 datasets: about 40 s, at most 60 s", 40.0, 60.0, 0.0)
    for now, part in ((10.0, 10 / 40), (39.0, 39 / 40), (45.0, 45 / 60), (59.0, 59 / 60)):
        clock.now = now
        for step in (lambda: terminal.measured(Progress("wide", 4, 4, 1e-3)),
                     lambda: terminal.trying("main.r_1"), lambda: terminal.within(20.0)):
            step()
            assert task.completed / (task.total or 0) == pytest.approx(part)


def test_the_seconds_of_all_stages_are_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ticking(Simulated):
        def timing(self, *args, **options):  # type: ignore[no-untyped-def]
            clock.now += 0.25
            return super().timing(*args, **options)

    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("runelift.runtime.tuner.autotune.time",
                        SimpleNamespace(perf_counter=lambda: clock.now))
    sim = Ticking.of(CHAIN, lambda where, index, par: [100.0, 1.0, 20.0][index])
    state = autotune(job_for(sim, inputs(a=[16])))
    assert sum(state.spent.values()) == clock.now > 0
    text = accounted(state.spent, clock.now + 3.0)
    assert text.startswith(f"Time: {clock.now + 3:.0f} s: ")
    assert "versions" in text
    assert "runs in turn" in text
    assert text.endswith("compiling and other work 3 s")


def test_an_entry_point_without_readable_datasets_leaves_others_tuned(
        program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(TEXT + """
-- ==
-- entry: other
-- "away" input @ away.bin
entry other [n] (xs: [n]i32): i32 = reduce (+) 0 xs
""")
    assert main(["autotune", *QUICK, str(program), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["result"]
    assert list(facts["entries"]) == ["main"]
    assert "other: away" in facts["missing"]
