"""``--disable``: programs without a rule, a rule of flattening, or a pass."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.cli import main

LOOP = """\
-- ==
-- "rows" random input { 3i64 [5][7]i32 }
entry main [n][m] (k: i64) (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> loop xs for _i < k do let most = i32.maximum xs in map (+ most) xs) xss
"""
XSS = np.arange(12, dtype=np.int32).reshape(3, 4)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "loop.fut"
    path.write_text(LOOP)
    return path


@pytest.mark.parametrize("name", ["G7", "loop_interchange"])
def test_a_rule_of_flattening_is_left_out(name: str, program: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(program)]) == 0
    assert "G7  loop" in capsys.readouterr().out
    assert main(["explain", str(program), "--disable", name]) == 0
    about = [line.strip() for line in capsys.readouterr().out.splitlines() if "G7" in line]
    assert about
    assert all(line.startswith("not G7  loop") and "it is left out" in line for line in about)
    assert main(["dump", "--stage", "tree", str(program), "--disable", name]) == 0
    assert "(intra)" not in capsys.readouterr().out
    without_both = ["--disable", name, "--disable", "G20"]
    assert main(["dump", "--stage", "tree", str(program), *without_both]) == 0
    assert "one version" in capsys.readouterr().out


def test_commands_that_run_take_it(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--disable", "G7", "--disable", "fuse", "--device", "pocl"]
    assert main(["test", str(program), "--all-versions", *options]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out
    for command in (["bench", "-r", "1"], ["profile", "-r", "1"]):
        assert main([*command, str(program), *options]) == 0
    assert main(["run", str(program), "--force", "V2", "--input", str(program), *options]) == 1


def test_results_and_versions_are_apart(program: Path) -> None:
    """Programs with and without a rule are not taken for each other."""
    trees = []
    for policy in ("all", "all+without-G7", "full+ignore-attributes+without-G7+without-fuse",
                   "all"):
        made = runelift.compile(program, policy=policy, tuning={}, device="pocl")
        np.testing.assert_array_equal(made.main(1, XSS), XSS + XSS.max(axis=1, keepdims=True))
        trees.append(made.tree.render())
    assert trees[0] == trees[3] != trees[1] == trees[2]


@pytest.mark.parametrize(("name", "answer"), [
    ("G77", "Did you mean 'G7'"), ("loop_interchanges", "Did you mean 'loop_interchange'"),
    ("nothing_like_it", "'runelift rules' lists them"), ("G6", "cannot be left out"),
    ("sequential_code", "cannot be left out")])
def test_what_cannot_be_left_out_is_said(name: str, answer: str, program: Path) -> None:
    with pytest.raises(UserError, match=answer):
        runelift.compile(program, policy=f"all+without-{name}", device="pocl")


def test_a_rule_of_a_file_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules, program = tmp_path / "x.rules", tmp_path / "x.fut"
    rules.write_text("#[always]\nrule twice (x: i32): i32 = x * 3 ==> x + x + x\n")
    program.write_text("entry main (x: i32): i32 = x * 3\n")
    for options, said in (([], "add.i32"), (["--disable", "twice"], "mul.i32")):
        assert main(["dump", "--stage", "opt", str(program), "--rules", str(rules), *options]) == 0
        assert said in capsys.readouterr().out
