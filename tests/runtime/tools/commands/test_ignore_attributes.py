"""``--ignore-attributes``: as if attributes that steer flattening were not there."""

from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.frontend.syntax.attributes import KNOWN, steers_flattening
from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.cli import main

ROWS = ("entry main [n][m] (xss: [n][m]f32): [n]f32 = "
        "{outer} map (\\xs -> {inner} f32.sum {map}) xss\n")
PARTS = {"outer": "", "inner": "", "map": "(map (* 2) xs)"}
STEERING = [f"#[{name}]" if not takes else f"#[{name}({each})]" for name, takes in KNOWN.items()
            if steers_flattening(name) for each in takes or ("",)] + [
                "#[split_join(2)]", "#[materialise(global)]"]


def text(**attributes: str) -> str:
    return ROWS.format(**PARTS | attributes)


def dumped(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The tree and the classes of kernels, which have no places of the source in them."""
    path = tmp_path / "rows.fut"
    path.write_text(program)
    found = ""
    for command in (["dump", "--stage", "flat"], ["explain", "kernels"]):
        assert main([*command, str(path), *options]) == 0
        found += capsys.readouterr().out
    return "\n".join(line for line in found.splitlines() if "main@" not in line)


@pytest.mark.parametrize("where", ["outer", "inner"])
@pytest.mark.parametrize("attribute", STEERING)
def test_each_steering_attribute_is_ignored(where: str, attribute: str, tmp_path: Path,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    plain = dumped(text(), tmp_path, capsys)
    steered = text(**{where: attribute})
    assert dumped(steered, tmp_path, capsys, "--ignore-attributes") == plain


def test_some_of_them_steer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The test above would pass if attributes did nothing."""
    plain = dumped(text(), tmp_path, capsys)
    changed = [each for each in STEERING
               if dumped(text(outer=each), tmp_path, capsys) != plain]
    assert len(changed) >= len(STEERING) // 2


def test_other_attributes_stay(tmp_path: Path) -> None:
    """Indices are not checked where the program says so; numbers are still parameters."""
    path = tmp_path / "unsafe.fut"
    path.write_text("entry main [n] (k: i64) (xs: [n]i64): i64 = "
                    "i64.sum (#[sequential_outer] map (+ xs[k]) xs) + #[param(t)] 16\n")
    program = runelift.compile(path, policy="all+ignore-attributes", tuning={"t": 5})
    assert program.main(1, np.arange(4)) == 6 + 4 * 1 + 5
    with pytest.raises(UserError):
        program.main(9, np.arange(4))


@pytest.mark.parametrize("policy", ["all", "full", "divided", "classic", "moderate"])
def test_results_and_caches_are_apart(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.fut"
    path.write_text(text(outer="#[flattening(only_inner)]"))
    xss = np.arange(12, dtype=np.float32).reshape(3, 4)
    trees = []
    for each in (policy, f"{policy}+ignore-attributes", policy):
        program = runelift.compile(path, policy=each, tuning={})
        assert program.main(xss).tolist() == (2 * xss.sum(axis=1)).tolist()
        trees.append(program.tree.render())
    assert trees[0] == trees[2]
    if policy != "moderate":
        assert trees[0] != trees[1]


def test_the_commands_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.fut"
    path.write_text("-- ==\n-- input { [[1f32, 2f32]] } output { [6f32] }\n"
                    + text(outer="#[sequential_outer]"))
    assert main(["test", "--all-versions", "--ignore-attributes", str(path)]) == 0
    assert main(["bench", "-r", "1", "--ignore-attributes", str(path)]) == 0
    assert main(["autotune", "--effort", "quick", str(path)]) == 0
    assert "one version" in capsys.readouterr().out
    assert main(["autotune", "--effort", "quick", "--ignore-attributes", "-v", str(path)]) == 0
    assert "main.suff_outer_par_0" in capsys.readouterr().out


def test_an_unknown_policy_is_named_with_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.fut"
    path.write_text(text())
    with pytest.raises(UserError, match=r"Unknown policy 'some'.*all, full"):
        runelift.compile(path, policy="some+ignore-attributes")
