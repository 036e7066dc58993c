"""Plug-ins of an example package, whose metadata lies beside its modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base import plugins
from runelift.ir.base.errors import UserError
from runelift.ir.base.plugins import PluginWarning
from runelift.rewrite.rules import installed as installed_rules
from runelift.runtime.cache import disk
from runelift.runtime.records.observers import ObservedRun, Observers
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.strategies import parse_strategy

EXAMPLE = Path(__file__).parent / "example"
MOST_LINES = 30
PROGRAM = """\
-- ==
-- "small" random input { [40][30]i32 }
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  map (\\xs -> reduce (+) 0 (map (\\x -> i32.min x (i32.max x 7) + 1) xs)) xss
"""
BROKEN = "rule 'broken' of the package runelift-example 1.0 is not used: ImportError"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lattice.fut"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is found, and nothing of it has been imported."""
    plugins.imported.cache_clear()
    installed_rules._rules.cache_clear()
    monkeypatch.syspath_prepend(EXAMPLE)


def test_each_plugin_is_short() -> None:
    modules = list(EXAMPLE.glob("*.py"))
    assert len(modules) == 5
    assert all(len(each.read_text().splitlines()) < MOST_LINES for each in modules)


def test_rules_apply_and_are_named(file: Path, installed: None,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--stage", "opt", str(file)]) == 0
    first = capsys.readouterr()
    assert "max.i32" not in first.out
    assert BROKEN in first.err
    assert main(["explain", str(file), "--policy", "lean"]) == 0
    explained = capsys.readouterr().out
    assert "rule absorb_max of the package runelift-example 1.0: fired 1 time" in explained
    assert "policy lean of the package runelift-example 1.0" in explained
    assert main(["dump", "--stage", "opt", str(file), "--disable", "absorb_max"]) == 0
    assert "max.i32" in capsys.readouterr().out
    assert main(["rules", "package runelift-example 1.0"]) == 0
    listed = capsys.readouterr().out
    for name in ("absorb_max", "lean", "few", "diary"):
        assert f"\n{name}\n" in listed
    values = np.arange(-600, 600, dtype=np.int32).reshape(40, 30)
    found = runelift.compile(file, policy="lean", device="pocl").main(values)
    np.testing.assert_array_equal(found, (values + 1).sum(axis=1))


def test_a_variable_leaves_plugins_out(file: Path, installed: None,
                                       monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(disk, "_fingerprint", [])
    with_plugins = disk.fingerprint()
    monkeypatch.setattr(disk, "_fingerprint", [])
    monkeypatch.setenv("RUNELIFT_PLUGINS", "0")
    assert disk.fingerprint() != with_plugins  # programs in the cache are others
    assert main(["dump", "--stage", "opt", str(file)]) == 0
    assert "max.i32" in capsys.readouterr().out
    with pytest.raises(UserError, match="Unknown policy 'lean'"):
        runelift.compile(file, policy="lean", device="pocl")


def test_a_policy_keeps_its_versions(file: Path, installed: None,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(PluginWarning, match="broken"):
        program = runelift.compile(file, policy="lean", device="pocl")
    assert "V2" not in program.tree.render()
    with pytest.raises(SystemExit):
        main(["dump", str(file), "--policy", "leaner"])
    assert "classic, moderate, lean" in capsys.readouterr().err


def test_a_strategy_has_its_options(installed: None) -> None:
    assert parse_strategy("few:tries=3").options == {"tries": 3}
    with pytest.raises(UserError, match="Did you mean 'few'"):
        parse_strategy("fewer")


def test_an_observer_sees_each_run(file: Path, tmp_path: Path, installed: None,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    diary = tmp_path / "diary"
    monkeypatch.setenv("DIARY", str(diary))
    assert main(["bench", str(file), "-r", "2", "--observe", "diary", "--device", "pocl"]) == 0
    rows = [line.split() for line in diary.read_text().splitlines()]
    assert [(entry, dataset, launches) for entry, dataset, _, launches in rows] == [
        ("main", "small", "1")] * 2


def test_a_failing_observer_is_called_no_more(installed: None) -> None:
    observers = Observers(["diary"])  # without $DIARY
    run = ObservedRun("p.fut", "main", "d", "device", 1.0)
    with pytest.warns(PluginWarning, match="called no more: KeyError: 'DIARY'"):
        observers(run)
    assert not observers
    with pytest.raises(UserError, match="There are diary"):
        Observers(["dairy"])


def test_help_looks_for_no_plugins() -> None:
    code = ("import sys; from runelift.runtime.tools.commands.cli import make_parser; "
            "make_parser(None).format_help(); make_parser('check').format_help(); "
            "print('importlib.metadata' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True).stdout == "False\n"
