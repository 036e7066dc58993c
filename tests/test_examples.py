"""The examples: every version against the interpreter, under the sanitizer and on PoCL."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main
from tests.sanitized import check_sanitized

EXAMPLES = Path(__file__).parent.parent / "examples"
SANITIZED = ("coulomb", "conv1d", "knapsack", "lcs", "mandelbrot", "nn", "pathfinder", "radix",
             "stencil", "variant", "windows")
"""Examples that the quick suite runs under the sanitizer: each takes seconds."""


@pytest.mark.sweep(keep=SANITIZED)
@pytest.mark.parametrize("program", sorted(EXAMPLES.glob("*.fut")), ids=lambda p: p.stem)
def test_every_version_under_the_sanitizer(program: Path, simulator: str) -> None:
    check_sanitized(program, simulator)


@pytest.mark.sweep(keep=["nn", "mapscan", "OptionPricing"])
@pytest.mark.parametrize("name", ["matmul", "mapscan", "nn", "kmeans", "poisson",
                                  "LocVolCalib", "OptionPricing"])
def test_every_version_on_pocl(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = EXAMPLES / f"{name}.fut"
    assert main(["test", "--all-versions", "--device", "pocl", str(path)]) == 0
    assert " 0 failed" in capsys.readouterr().out


def test_calls_hand_arrays_to_each_other() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / "waves.py"), "--steps", "200"],
                          capture_output=True, text=True, check=True)
    *steps, last = done.stdout.splitlines()
    energies = [float(line.split()[-1]) for line in steps]
    assert len(energies) == 10
    assert max(energies) < 1.01 * min(energies)  # none is lost
    assert last.startswith("the highest place is")


@pytest.mark.parametrize("steps", [
    "plain", pytest.param("torch", marks=pytest.mark.skipif(not find_spec("torch"),
                                                           reason="PyTorch is missing"))])
def test_training_finds_the_classes(steps: str) -> None:
    command = [sys.executable, str(EXAMPLES / "train.py"), "--steps", "60"]
    done = subprocess.run(command + ["--torch"] * (steps == "torch"),
                          capture_output=True, text=True, check=True)
    *rows, last = done.stdout.splitlines()
    losses = [float(row.split()[-1]) for row in rows]
    assert len(losses) == 10
    assert losses[-1] < losses[0] / 4
    assert float(last.split("%")[0]) > 95
