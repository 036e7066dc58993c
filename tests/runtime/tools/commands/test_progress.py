"""What is shown of a tuning, and how much it does."""

from __future__ import annotations

import io
import json
import math
import time
from contextlib import suppress
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.commands.progress import Lines, display
from runelift.runtime.tools.commands.terminal import Terminal
from runelift.runtime.tuner.measure.protocols import Progress
from runelift.runtime.tuner.search.trace import Best
from runelift.runtime.tuner.thresholds import tune_thresholds
from tests.runtime.tuner.simulated import CHAIN, Simulated, inputs, job_for

TEXT = """
-- ==
-- "wide" random input { [40][30]i32 }
-- "long" random input { [3][400]i32 }
entry main [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 3) xs)) xss

-- ==
-- entry: other
-- input { [[1i32, 2i32]] }
-- output { [3i32] }
entry other [n][m] (xss: [n][m]i32): [n]i32 = map (reduce (+) 0) xss
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.fut"
    path.write_text(TEXT)
    return path


def test_a_line_says_what_is_measured_and_the_best() -> None:
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120)
    terminal = Terminal(console)
    with terminal as shown:
        shown.measured(Progress("wide", 3, 10, 2e-3))
        shown.measured(Progress("wide", 4, 10, 1e-3))
        shown.measured(Progress("wide", 5, 10, math.inf))
        terminal._bars.refresh()  # it is done now and then only
        shown.searched(Best(7, 1.0, 0.25))
        terminal._bars.refresh()
        shown.within(60.0)
        shown.trying("main.r_1 on wide")
        terminal._bars.refresh()
    text = out.getvalue()
    for part in ("wide", "50%", "best 1.00 ms", "run 7", "best score 0.25", "main.r_1 on wide"):
        assert part in text


def test_a_line_per_dataset_is_printed_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    shown = display(2)
    assert isinstance(shown, Lines)
    sim = Simulated.of(CHAIN, lambda where, index, par: [4e-3, 1e-3, 2e-3][index])
    with shown:
        tune_thresholds(job_for(sim, inputs(a=[4], b=[8]), verify=False, progress=shown.measured))
    found = capsys.readouterr()
    assert found.out == ""
    lines = found.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["measured a", "measured b"]
    assert all(": 3 versions, best V2 " in line for line in lines)
    assert [line[-5:] for line in lines] == ["(1/2)", "(2/2)"]


def test_quick_replays_and_leaves_parameters(program: Path, capsys: pytest.CaptureFixture[str]
                                             ) -> None:
    """Entry points without named datasets have no part in it."""
    assert main(["autotune", str(program), "--device", "pocl", "--effort", "quick", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["result"]
    assert facts["entries"]["main"]["program_runs"] == 2
    assert list(facts["entries"]) == ["main"]
    assert facts["parameters"] == {}


def test_an_entry_point_that_is_asked_for_is_tuned(program: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autotune", str(program), "--device", "pocl", "--effort", "quick", "--entry",
                 "other", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["result"]["entries"]) == ["other"]


@pytest.mark.parametrize(("options", "message"), [
    (["--time-limit", "5"], "no time limit"),
    (["--budget", "soon"], "no budget")])
def test_what_options_do_not_take(program: Path, options: list[str], message: str,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        assert main(["autotune", str(program), "--device", "pocl", *options]) == 1
    assert message in capsys.readouterr().err


def test_what_there_is_no_time_for_keeps_its_default() -> None:
    """Measuring and verifying end; what was found is safe."""
    sim = Simulated.of(CHAIN, lambda *_: 1e-3)
    now = time.perf_counter()
    tuning = tune_thresholds(job_for(sim, inputs(a=[4], b=[8]), end=now))
    assert tuning.thresholds == sim.default
    assert not tuning.interrupted
