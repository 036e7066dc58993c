"""The command line: help, exit statuses, and each command once."""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from runelift.ir.base.codes import CODES
from runelift.ir.base.errors import CompilerBug, CompilerLimitation, UserError
from runelift.runtime.data.values import load_values
from runelift.runtime.devices.info import find_devices
from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.tools.commands import cli
from runelift.runtime.tools.commands import test as test_command
from runelift.runtime.tools.commands.cli import COMMANDS, main, make_parser
from runelift.runtime.tools.commands.everyday import EVERYDAY
from runelift.runtime.tuner.costs.log import read_log
from tests.time_limit import time_limit
from tests.warm_commands import WarmCommands

SUM = """\
-- Sums of rows.
-- ==
-- input { [[1f32, 2f32], [3f32, 4f32]] }
-- output { [3f32, 7f32] }
-- input { empty([0][2]f32) }
-- auto output
-- "wide" notest random input { [2][70]f32 }
-- "tall" notest random input { [50][3]f32 }
entry main [n][m] (xss: [n][m]f32): [n]f32 = map (\\xs -> reduce (+) 0 xs) xss
"""

needs_oclgrind = pytest.mark.skipif(
    not any(d.is_simulator for d in find_devices()), reason="Oclgrind is not installed")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "sum.fut"
    path.write_text(SUM)
    return path


Run = Callable[..., SimpleNamespace]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Run]:
    def execute(*arguments: object) -> SimpleNamespace:
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = capfdbinary.readouterr()
        return SimpleNamespace(status=status, out=out.decode(), err=err.decode(), raw=out)

    return execute


def shell(*arguments: object, stdin: str = "", **options: object) -> subprocess.CompletedProcess:
    environment = {**os.environ, "RUNELIFT_DEVICE": "interpreter"}
    return subprocess.run([sys.executable, "-m", "runelift", *map(str, arguments)], text=True,
                          capture_output=True, input=stdin, env=environment, check=False,
                          **options)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmCommands]:
    """Commands that read standard input, on the interpreter."""
    found = WarmCommands({**os.environ, "RUNELIFT_DEVICE": "interpreter"},
                         tmp_path_factory.mktemp("commands"))
    yield found
    found.close()


# The frame


def test_help_lists_all_commands_and_imports_nothing_heavy() -> None:
    found = shell("--help")
    assert found.returncode == 0
    assert all(name in found.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(command: str, run: Run) -> None:
    found = run(command, "--help")
    assert found.status == 0
    assert f"usage: runelift {command}" in found.out
    assert len(found.out.splitlines()) > 6


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("runelift 0.")


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["check"], ["run", "--nonsense", "x"]])
def test_wrong_command_lines_exit_with_1(arguments: list[str], run: Run) -> None:
    found = run(*arguments)
    assert found.status == 1
    assert "usage: runelift" in found.err


@pytest.mark.parametrize(("error", "status", "text"), [
    (UserError("yours"), 1, "runelift: yours"),
    (CompilerLimitation("limits"), 2, "not supported: limits"),
    (CompilerBug("ours"), 3, "Please report"),
    (ZeroDivisionError("ours"), 3, "Please report"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (BrokenPipeError(), 0, ""),
    (OSError(errno.ENOSPC, "No space left on device"), 1, "cannot write the output: No space"),
    (OSError(errno.ENOSPC, "No space left on device", "x.tuning"), 1, "cannot write x.tuning"),
    (OSError(errno.EIO, "Input/output error"), 3, "Please report"),
])
def test_exit_statuses(error: BaseException, status: int, text: str, run: Run,
                       monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("runelift.runtime.tools.commands.devices.execute", fail)
    monkeypatch.setattr(cli, "_silence", lambda: None)
    found = run("devices")
    assert found.status == status
    assert text in found.err
    assert ("Traceback" in found.err) == (status == 3)


# Programs and data


def test_check(run: Run, program: Path) -> None:
    found = run("check", program)
    assert (found.status, found.out, found.err) == (0, "", "")
    program.write_text("entry main (x: i32): i32 = y")
    found = run("check", program)
    assert found.status == 1
    assert "sum.fut:1:28: error[unknown-name]" in found.err
    assert "Traceback" not in found.err
    found = run("check", "--json", program)
    assert found.status == 1
    assert json.loads(found.out)["errors"][0]["line"] == 1


def test_missing_program(run: Run, tmp_path: Path) -> None:
    assert "Cannot read" in run("check", tmp_path / "none.fut").err
    assert "There is no program (.fut) in" in run("check", tmp_path).err


def test_values_stand_behind_the_program(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plus.fut"
    path.write_text("entry main [n] (k: i64) (xs: [n]f32) = map (+ f32.i64 k) xs\n"
                    "entry other (x: i32) = x - 1\n")
    assert run("run", path, "-3", "[1, 2.5]").out == "[-2.0f32, -0.5f32]\n"
    assert run("run", "--device", "interpreter", path, "3", "[1]").out == "[4.0f32]\n"
    assert run("run", path, "--entry", "other", "-7").out == "-8i32\n"
    both = run("run", path, "3", "[1]", "--input", path)
    assert both.status == 1
    assert "not from both" in both.err
    assert "<command line>" in run("run", path, "3", "[1").err


@pytest.mark.parametrize(("arguments", "said"), [
    (["chek", "x.fut"], "Did you mean 'check'?"), (["run", "x.fut", "--inptu", "y"],
                                                   "Did you mean '--input'?")])
def test_slips_are_answered_with_what_is_meant(arguments: list[str], said: str,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_programs_that_are_not_the_users_are_left_out(run: Run, tmp_path: Path) -> None:
    for folder in ("", ".hidden", "venv/lib", "own"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "a.fut").write_text("entry f = x")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / ".#a.fut").symlink_to(tmp_path / "none")
    assert re.findall(r"^(?:runelift: )?(\S+):1:11: error", run("check", tmp_path).err, re.M) == [
        str(tmp_path / "a.fut"), str(tmp_path / "own" / "a.fut")]
    assert "venv/lib/a.fut" in run("check", tmp_path / "venv").err
    assert "'runelift rules --rules a.rules' tests them" in run("check", "a.rules").err


@pytest.mark.parametrize("command", [
    ("dump",), ("dump", "--stage", "tree"), ("explain",),
    *(("explain", topic) for topic in ("parameters", "kernels", "memory", "cost", "schedule",
                                       "barriers", "access"))])
def test_a_program_without_an_entry_point_is_told(command: tuple[str, ...], run: Run,
                                                  tmp_path: Path) -> None:
    (tmp_path / "f.fut").write_text("def f = 1i32")
    assert "has no entry point: declare" in run(*command, tmp_path / "f.fut").err


def test_programs_are_checked_together(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, text in (("a.fut", "def f: i32 = x"), ("in/b.fut", "def g: i32 = y"),
                       ("c.fut", "def h: i32 = 1")):
        (tmp_path / name).write_text(text)
    found = run("check", tmp_path / "a.fut", tmp_path)
    assert found.status == 1
    assert found.err.count("Unknown variable 'x'.") == 1
    assert found.err.count("Unknown variable 'y'.") == 1


def test_bench_prints_the_block_to_add(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plus.fut"
    path.write_text("entry twice [n] (k: i64) (xs: [n][4]f32) = map (map (+ f32.i64 k)) xs\n")
    said = run("bench", path).err
    assert "-- entry: twice\n  -- random input { 1000i64 [1000][4]f32 }" in said
    block = said[said.index("-- =="):].replace("\n  ", "\n").strip()
    path.write_text(f"{block}\n{path.read_text()}")
    assert run("bench", path, "--runs", "1").status == 0


def test_kernels_come_first(run: Run, program: Path) -> None:
    short, whole = (run("dump", "--stage", "kernels", program, *more).out
                    for more in ([], ["--preamble"]))
    first, rest = short.split("\n", 1)
    assert first.startswith("// ")
    assert first.endswith("lines of macros and functions: --preamble")
    assert whole.endswith(rest)
    assert "#define" not in rest.partition("__kernel")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_twelve_options_and_the_whole_help_all(
        command: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for option in ("--help", "--help-all") if command in EVERYDAY else ("--help",):
        with pytest.raises(SystemExit):
            main([command, option])
        texts.append(re.findall(r"^  (?:-\w[^-]*)?(--[\w-]+)", capsys.readouterr().out, re.M))
    shown = set(texts[0]) - {"--help", "--help-all"}
    assert len(shown) <= 12
    if command in EVERYDAY:
        parser = make_parser(command)
        (commands,) = (each for each in parser._actions
                       if isinstance(each, argparse._SubParsersAction))
        known = [[name for name in each.option_strings if name.startswith("--")]
                 for each in commands.choices[command]._actions
                 if each.option_strings and each.help != argparse.SUPPRESS]
        assert set(texts[1]) == {names[0] for names in known}
        assert shown == {names[0] for names in known if not EVERYDAY[command].isdisjoint(names)}


def test_all_helps_together_show_few_options() -> None:
    count = 0
    for command in COMMANDS:
        parser = make_parser(command, everything=False)
        (commands,) = (each for each in parser._actions
                       if isinstance(each, argparse._SubParsersAction))
        count += sum(bool(each.option_strings) and each.help != argparse.SUPPRESS
                     for each in commands.choices[command]._actions)
    assert count <= 130


def test_an_unknown_option_is_answered_with_the_usage_of_its_command(
        program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", str(program), "--frob"])
    said = capsys.readouterr().err
    assert said.startswith("usage: runelift run")
    assert "unrecognized arguments: --frob" in said


def test_without_an_entry_point_there_is_advice(run: Run, program: Path) -> None:
    program.write_text("def f (x: i32) = x")
    found = run("run", program)
    assert found.status == 1
    assert "declare a function with 'entry'" in found.err


def test_run_reads_standard_input(program: Path) -> None:
    found = shell("run", program, stdin="[[1f32, 2f32]]")
    assert (found.returncode, found.stdout, found.stderr) == (0, "[3.0f32]\n", "")


@pytest.mark.parametrize(("stdin", "message"), [
    ("[[1f32, 2f32]", "<standard input>:1:14: error[malformed-data]"),
    ("[[1f64]]", "should be [n][m]f32, but has type [1][1]f64"),
    ("[1f32]", "should be [n][m]f32, but has type [1]f32"),
    ("", "takes 1 argument (xss: [n][m]f32), but 0 are given"),
])
def test_bad_input(stdin: str, message: str, program: Path, commands: WarmCommands) -> None:
    found = commands.run("run", program, given=stdin)
    assert found.returncode == 1
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_run_from_file_to_binary(run: Run, program: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    found = run("run", program, "-i", tmp_path / "x.npy", "-b", "--device", "interpreter")
    assert found.raw == b"b\x02\x01 f32" + (2).to_bytes(8, "little") + np.array(
        [3, 3], "<f4").tobytes()


@pytest.mark.parametrize(("arguments", "message"), [
    (["-e", "other"], "Unknown entry point 'other'"),
    (["--input", "none.in"], "Cannot read 'none.in'"),
    (["--force", "main.versions_9=0"], "no site 'main.versions_9'"),
    (["--force", "main.versions_0=9"], "versions V1 to V3, not 9"),
    (["--force", "V4"], "versions V1 to V3, not V4"),
    (["--force", "nonsense"], "should be a version, such as V3"),
    (["--param", "nonsense"], "should be NAME=INT"),
    (["--param", "main.suff_outer_par_9=3"], "Did you mean"),
    (["--device", "no such device"], "No device matches"),
    (["--tuning", "none.tuning"], "Cannot read 'none.tuning'"),
])
def test_wrong_options_of_run(arguments: list[str], message: str, run: Run, program: Path,
                              tmp_path: Path) -> None:
    values = tmp_path / "x.in"
    values.write_text("[[1f32]]")
    given = arguments if "--input" in arguments else [*arguments, "--input", values]
    device = [] if "--device" in arguments else ["--device", "interpreter"]
    found = run("run", program, *given, *device)
    assert found.status == 1
    assert message in found.err
    assert "Traceback" not in found.err


def test_tuning_files_are_checked(run: Run, program: Path, tmp_path: Path) -> None:
    values = tmp_path / "x.in"
    values.write_text("[[1f32]]")
    tuning = tmp_path / "sum.fut.tuning"
    tuning.write_text("main.other=3\n")
    found = run("run", program, "-i", values, "--device", "interpreter")
    assert found.status == 0
    assert "warning:" in found.err
    assert "no threshold or parameter 'main.other'" in found.err
    tuning.write_text("rubbish\n")
    found = run("run", program, "-i", values, "--device", "interpreter")
    assert found.status == 1
    assert "sum.fut.tuning:1:1: error[malformed-tuning]" in found.err


def test_dataset_takes_values_from_files(run: Run, tmp_path: Path) -> None:
    image = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "image.npy", image)
    found = run("dataset", tmp_path / "image.npy", "7i32", "[2]f32", "-o", tmp_path / "all.in")
    assert (found.status, found.out) == (0, "")
    first, second, third = load_values(tmp_path / "all.in")
    np.testing.assert_array_equal(first, image)
    assert second == 7
    assert np.asarray(third).shape == (2,)
    assert run("dataset", tmp_path / "all.in", "-o", tmp_path / "all.npz").status == 0
    assert len(load_values(tmp_path / "all.npz")) == 3
    missing = run("dataset", tmp_path / "gone.npy")
    assert missing.status == 1
    assert "Cannot read" in missing.err


def test_dataset(run: Run, tmp_path: Path) -> None:
    found = run("dataset", "[3]u8", "2i64", "--u8-bounds=5:6", "--seed", "1")
    array, two = found.out.splitlines()
    assert two == "2i64"
    assert set(array.strip("[]").split(", ")) <= {"5u8", "6u8"}
    assert run("dataset", "[2]i32").out == run("dataset", "[2]i32").out
    assert run("dataset", "[2]i32", "-o", tmp_path / "x.npz").status == 0
    assert "malformed-data" in run("dataset", "[2]i33").err


# Looking inside


@pytest.mark.parametrize(("stage", "text"), [
    ("core", "main"), ("opt", "main"), ("flat", "main.suff_outer_par_0"), ("kernels", "__kernel"),
    ("host", "def main"), ("tree", "└─ main.suff_outer_par_0 ≤ n"),
])
def test_dump(stage: str, text: str, run: Run, program: Path) -> None:
    found = run("dump", program, "--stage", stage)
    assert found.status == 0
    assert text in found.out


@pytest.mark.parametrize("stage", ["imp", "kernels", "host"])
def test_dump_without_entry_points(stage: str, run: Run, tmp_path: Path) -> None:
    library = tmp_path / "library.fut"
    library.write_text("def f (x: i32) = x\n")
    found = run("dump", library, "--stage", stage)
    assert found.status == 1
    assert "declare a function with 'entry'" in found.err


def test_dump_tree_for_graphviz(run: Run, program: Path) -> None:
    assert run("dump", program, "--stage", "tree", "--dot").out.startswith("digraph")


def test_explain(run: Run, program: Path) -> None:
    found = run("explain", program)
    assert found.out.startswith("main:")
    assert json.loads(run("explain", program, "--json").out)["result"]["main"]
    assert run("explain", program, "-e", "other").status == 1


def test_results_as_json(run: Run, tmp_path: Path) -> None:
    path, values = tmp_path / "p.fut", tmp_path / "values"
    path.write_text("entry f [n] (xs: [n]f32) = (map (/ 0) xs, i64.sum (iota n), n > 1)\n")
    values.write_text("[1f32, -1f32, 0f32]")
    ran = json.loads(run("run", path, "--input", values, "--record", "--json").out)["result"]
    assert ran["entry"] == "f"
    assert ran["results"] == [{"type": "[3]f32", "value": ["inf", "-inf", "nan"]},
                              {"type": "i64", "value": 3}, {"type": "bool", "value": True}]
    assert all(each["seconds"] > 0 and each["version"] for each in ran["encounters"])
    both = run("run", path, "--input", values, "--json", "--binary")
    assert both.status == 1
    assert "not allowed" in json.loads(both.out)["errors"][0]["message"]


def test_errors_as_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text("def f (x: i32): i64 =\n  x\n")
    for command in ("check", "explain"):
        found = run(command, path, "--json")
        assert found.status == 1
        (error,) = json.loads(found.out)["errors"]
        assert (error["code"], error["line"], error["column"]) == ("type-mismatch", 2, 3)
        assert (error["end_line"], error["end_column"]) == (2, 4)
        assert error["hints"] == ["Convert it: i64.i32 x"]
        (label,) = error["labels"]
        assert (label["line"], label["column"], label["message"]) == (1, 17, "declared here")
    missing = run("explain", tmp_path / "q.fut", "--json")
    (error,) = json.loads(missing.out)["errors"]
    assert error["code"] is None
    assert "Cannot read" in error["message"]


def test_a_program_that_is_too_large_has_a_code(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text(CODES["too-large"].wrong)
    assert run("check", path).status == 0
    found = run("explain", path)
    assert (found.status, "error[too-large]: Not supported: " in found.err) == (2, True)
    found = run("explain", path, "--json")
    (error,) = json.loads(found.out)["errors"]
    assert (found.status, error["code"], error["line"]) == (2, "too-large", 7)


def test_a_failure_shows_its_line(run: Run, tmp_path: Path) -> None:
    path, data = tmp_path / "p.fut", tmp_path / "in"
    path.write_text("def at (xs: []i32) (i: i64) = xs[i]\nentry main (xs: []i32) = at xs 7\n")
    data.write_text("[1, 2]")
    found = run("run", "--device", "interpreter", path, "-i", data)
    assert found.status == 1
    assert found.err == (
        f"runelift: {path}:1:31: error[index-out-of-bounds]: Index [7] out of bounds for array of "
        "shape [2].\n"
        "   1 | def at (xs: []i32) (i: i64) = xs[i]\n"
        "     |                               ^\n"
        f"  in at, called at {path}:2:26\n")


def test_explain_parameters_tells_constraints_and_counts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "product.fut"
    path.write_text("entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =\n"
                    "  map (\\x -> map (\\y -> f32.sum (map2 (*) x y)) (transpose yss)) xss\n")
    found = run("explain", "parameters", path).out
    assert re.search(r"^main\.\w+ \(segmap, .*\): \d+ settings of \d+ combinations$", found, re.M)
    assert re.search(r"^  64 >= columns\*rows  -- a work-item keeps .*product\.fut:2:\d+$", found,
                     re.M)
    before, after = re.findall(r"^(\d+) constraints, (\d+) after reduction$", found, re.M)[0]
    assert int(before) > int(after) > 10
    facts = json.loads(run("explain", "parameters", path, "--json").out)["result"]
    (rows,) = (each for name, each in facts.items() if name.endswith(".rows"))
    assert {"64 >= columns*rows", "min(1, side) >= min(1, rows)"} <= {
        each["condition"] for each in rows["constraints"]}


def test_explain_memory_and_run_within_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "drops.fut"
    path.write_text("""-- ==
-- entry: main
-- "few" random input { [10][1000]f32 } auto output
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> f32.maximum (map2 (-) (scan f32.max f32.lowest xs) xs)) xss
""")
    found = run("explain", "memory", path, "--device", "pocl").out
    assert "few" in found
    assert "V2 (intra): 4*m*n + 4*n" in found
    assert "(intragroup for ys at " in found
    facts = json.loads(run("explain", "memory", path, "--json", "--device", "pocl", "--sizes",
                           "n=10", "m=1000").out)["result"]["main"]
    bytes_ = [version["inputs"]["n=10, m=1000"]["bytes"] for version in facts["versions"].values()]
    assert bytes_[1] < bytes_[0] < bytes_[2]
    given = facts["inputs"]["n=10, m=1000"]
    seconds = [version["inputs"]["n=10, m=1000"]["predicted_seconds"]
               for version in facts["versions"].values()]
    assert given["predicted_seconds"] == min(seconds)
    cost = json.loads(run("explain", "cost", path, "--json", "--device", "pocl", "--sizes",
                          "n=10", "m=1000").out)["result"]["entries"]["main"]
    assert str(min(seconds)) in json.dumps(cost)
    assert f", {show_bytes(given['bytes'])}" in run(
        "explain", "memory", path, "--device", "pocl", "--sizes", "n=10", "m=1000").out
    assert facts["versions"]["main.versions_0/1"]["name"] == "V2 (intra)"
    for wrong, said in ((["n=10"], "The sizes of 'main' are m, n, and --sizes gives n."),
                        (["n=10", "m"], "'m' should be NAME=N")):
        refused = run("explain", "memory", path, "--device", "pocl", "--sizes", *wrong)
        assert refused.status == 1
        assert said in refused.err
    formulas = run("explain", "memory", path, "--device", "interpreter")
    assert "V2 (intra): 4*m*n + 4*n" in formulas.out
    timed = run("bench", path, "--device", "pocl", "--memory", "100MB", "--runs", "1", "--force",
                "V3", "--json")
    assert json.loads(timed.out)["result"]["results"][0]["peak_bytes"] >= bytes_[2]
    refused = run("bench", path, "--device", "pocl", "--memory", "50KB", "--runs", "1", "--force",
                  "V3")
    assert refused.status == 1
    assert "V3 cannot run here: it needs" in refused.err
    data = tmp_path / "a.txt"
    data.write_text("[[1f32, 3f32, 2f32]]")
    assert run("run", path, "--device", "pocl", "-i", data, "--memory", "1KiB").out == "[1.0f32]\n"
    assert "and 16 B are allowed" in run(
        "run", path, "--device", "pocl", "-i", data, "--memory", "16").err
    assert "should be a size of memory" in run(
        "run", path, "--device", "pocl", "-i", data, "--memory", "lots").err


@pytest.mark.parametrize(("options", "said"), [
    (["schedule"], "Which program?"), (["--memory"], "Which program?"),
    (["G7"], "'runelift rules G7' shows the rule"),
    (["memory", "FILE", "FILE"], "Name one program"), (["cots", "FILE"], "'cots' is no topic"),
    (["--steps", "FILE"], "--steps goes with 'explain schedule'"),
    (["FILE", "--sizes", "n=3"], "--sizes goes with 'explain memory'")])
def test_explain_says_what_is_missing(run: Run, program: Path, options: list[str], said: str
                                      ) -> None:
    result = run("explain", *(str(program) if each == "FILE" else each for each in options))
    assert result.status == 1
    assert said in result.err


def test_the_program_may_stand_behind_the_sizes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sums.fut"
    path.write_text("entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss\n")
    result = run("explain", "memory", "--sizes", "n=3", "m=5", str(path))
    assert "n=3, m=5" in result.out


def test_explain_a_code(run: Run) -> None:
    page = run("explain", "use-after-consume")
    assert page.status == 0
    assert "program.fut:3:14: error[use-after-consume]: " in page.out
    assert json.loads(run("explain", "unknown-name", "--json").out)["result"]["title"]
    assert "unknown-name" in run("explain").out
    misspelt = run("explain", "unknwon-name")
    assert misspelt.status == 1
    assert "Did you mean 'unknown-name'?" in misspelt.err


def test_rules_are_switched_and_traced(run: Run, program: Path) -> None:
    found = run("dump", program, "--trace-rules")
    assert "unused_statement:" in found.err
    fired = found.err.count(":\n  - let")
    assert run("dump", program, "--trace-rules", "--fuel", "1").err.count(
        ":\n  - let") == 1 < fired
    none = run("dump", program, "--trace-rules", "--fuel", "0")
    assert none.err == ""
    assert none.out != found.out
    off = run("explain", program, "--trace-rules", "--disable", "unused_statement")
    assert off.status == 0
    assert "unused_statement:" not in off.err
    wrong = run("dump", program, "--disable", "copy_propagatoin")
    assert wrong.status == 1
    assert "Did you mean 'copy_propagation'?" in wrong.err
    one = run("dump", program, "--trace-rule", "unused_statement")
    assert set(re.findall(r"^(\w+):$", one.err, re.M)) == {"unused_statement"}
    assert "Did you mean 'unused_statement'?" in run(
        "dump", program, "--trace-rule", "unused_statements").err


def test_rules(run: Run) -> None:
    listed = json.loads(run("rules", "--json").out)["result"]
    assert all(rule["law"] for rule in listed)
    assert {"flattening"} < {rule["book"] for rule in listed}
    assert "== flattening" in run("rules", "G3").out
    assert "ab_tile(rows, columns, copies=none)" in run("rules", "rewrite points").out
    assert run("rules", "no such rule anywhere").status == 1
    assert not re.search(r"``|:\w+:`", run("rules").out)
    assert {each["name"].split()[0] for each in json.loads(run("rules", "g1", "--json").out)[
        "result"]} == {"G1"}


def test_devices_and_doctor(run: Run) -> None:
    assert isinstance(json.loads(run("devices", "--json").out)["result"], list)
    found = run("devices")  # a spelling of before
    assert found.status == 0
    assert "'devices' is part of 'doctor' now." in found.err
    assert "devices" not in run("--help").out
    found = json.loads(run("doctor", "--json").out)["result"]
    assert {"python", "packages", "devices", "usable"} <= set(found)
    assert "Python" in run("doctor").out


# Tests, times, tuning


def test_test_with_the_interpreter(run: Run, program: Path, tmp_path: Path) -> None:
    found = run("test", "--interpreter", tmp_path)
    assert found.status == 0
    assert found.out.splitlines()[-1] == "2 passed, 0 failed, 2 skipped"


def test_test_failures(run: Run, program: Path) -> None:
    program.write_text(SUM.replace("7f32", "8f32"))
    found = run("test", "--interpreter", program)
    assert found.status == 1
    assert "[1] should be 8.0f32, but is 7.0f32" in found.out
    assert found.out.splitlines()[-1] == "1 passed, 1 failed, 2 skipped"
    found = run("test", "--interpreter", "--json", program)
    assert [o["outcome"] for o in json.loads(found.out)["result"]].count("failed") == 1


def test_numbers_in_text_files_have_the_types_that_are_wanted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "xs.in").write_text("[1.5, 2.5] 3")
    path = tmp_path / "scale.fut"
    path.write_text("-- ==\n-- input @ xs.in\n-- output { [4.5f32, 7.5f32] }\n"
                    "entry main (xs: []f32) (k: u8) = map (* f32.u8 k) xs\n")
    assert run("test", "--interpreter", path).out == "1 passed, 0 failed, 0 skipped\n"
    assert run("bench", "--device", "interpreter", "--runs", "1", path).status == 0


def test_expected_errors(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.fut"
    path.write_text("-- ==\n-- error: unknown-name\nentry main = y\n")
    assert run("test", "--interpreter", path).out.endswith("1 passed, 0 failed, 0 skipped\n")
    path.write_text("-- ==\n-- error: something else\nentry main = y\n")
    assert "should match 'something else'" in run("test", "--interpreter", path).out
    path.write_text("-- ==\n-- error: unknown\nentry main = 1i32\n")
    assert "is accepted" in run("test", "--interpreter", path).out
    path.write_text("-- ==\n-- input { [1i32] 5i64 }\n-- error: out of bounds\n"
                    "entry main [n] (xs: [n]i32) (i: i64) = xs[i]\n")
    assert run("test", "--interpreter", path).out.endswith("1 passed, 0 failed, 0 skipped\n")
    assert run("test", tmp_path / "none").status == 1


def test_cases_for_compilers_are_not_for_the_interpreter(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "large.fut"
    path.write_text("-- ==\n-- compiled random input { [100]i32 } auto output\n"
                    "entry main (xs: []i32) = i32.sum xs\n")
    assert run("test", "--interpreter", path).out == "0 passed, 0 failed, 1 skipped\n"


@needs_oclgrind
def test_versions_of_large_cases_are_compared(run: Run, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.fut"
    path.write_text("-- ==\n-- compiled random input { [9][5]i32 } auto output\n"
                    "entry main [n][m] (xss: [n][m]i32) = map i32.sum xss\n")
    arguments = ("test", "--all-versions", "--device", "oclgrind", path)
    assert run(*arguments).out == "1 passed, 0 failed, 0 skipped\n"
    seen: list[object] = []

    def different(expected: object, found: object) -> str | None:
        seen.append(expected)
        return "another" if expected is not found else None

    monkeypatch.setattr(test_command, "first_difference", different)
    assert "another" in run(*arguments).out
    assert len(seen) == 2


def test_errors_may_have_another_text(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.fut"
    path.write_text("-- ==\n-- error: something else\nentry main = y\n")
    found = run("test", "--error-text=any", path)
    assert (found.status, found.out) == (
        0, "1 passed (1 with another error text), 0 failed, 0 skipped\n")
    path.write_text("-- ==\n-- error: unknown\nentry main = 1i32\n")
    assert run("test", "--error-text=any", path).status == 1


def test_a_malformed_block_does_not_stop_the_others(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.fut").write_text("-- ==\n-- input { 300u9 }\nentry main (x: u8) = x")
    (tmp_path / "b.fut").write_text("-- ==\n-- input { 1 } output { 1 }\nentry main (x: i32) = x")
    found = run("test", "--interpreter", tmp_path)
    assert found.status == 1
    assert "a.fut:2:12: error[malformed-data]" in found.out
    assert found.out.endswith("1 passed, 1 failed, 0 skipped\n")


def test_failures_are_counted_by_cause(run: Run, tmp_path: Path) -> None:
    for name, text in (("a", "-- input { 1 }\n-- output { 3 }\nentry main (x: i32) = x"),
                       ("b", "-- input { 1 }\n-- output { 3 }\nentry main (x: i32) = y"),
                       ("c", "-- error: unknown\nentry main = 1i32")):
        (tmp_path / f"{name}.fut").write_text(f"-- ==\n{text}\n")
    one = run("test", "--interpreter", tmp_path)
    assert one.out.splitlines()[-5:] == [
        "    1 wrong result", "    1 rejected: unknown-name", "    1 accepted",
        "1 skipped: the program does not compile", "0 passed, 3 failed, 1 skipped"]
    assert run("test", "--interpreter", "--jobs", "2", tmp_path).out == one.out


@needs_oclgrind
def test_all_versions_on_a_device(run: Run, program: Path) -> None:
    found = run("test", "--all-versions", "--device", "oclgrind", program)
    assert (found.status, found.out) == (0, "2 passed, 0 failed, 2 skipped\n")


@needs_oclgrind
def test_bench(run: Run, program: Path) -> None:
    found = run("bench", program, "--device", "oclgrind", "--runs", "2")
    assert (found.status, "Oclgrind" in found.out) == (0, True)
    assert [line.partition(": median ")[0] for line in found.err.splitlines()] == [
        "measured wide", "measured tall"]
    found = run("bench", program, "--device", "oclgrind", "--runs", "2", "--json")
    assert [r["dataset"] for r in json.loads(found.out)["result"]["results"]] == ["wide", "tall"]
    assert run("bench", program, "--device", "oclgrind", "--only", "none").status == 1
    assert run("bench", program, "--runs", "0").status == 1


@needs_oclgrind
def test_autotune_and_what_follows(run: Run, program: Path, tmp_path: Path) -> None:
    found = run("autotune", program, "--device", "oclgrind", "--runs", "1", "--no-verify", "-v")
    assert found.status == 0, found.err
    assert "3 versions × 2 datasets = 6" in found.out
    assert "main.suff_outer_par_0=" in (tmp_path / "sum.fut.tuning").read_text()
    facts = json.loads((tmp_path / "sum.fut.tuning.json").read_text())
    assert facts["entries"]["main"]["program_runs"] == 6
    log = tmp_path / "sum.fut.tuning.log"
    assert len(log.read_text().splitlines()) >= 6
    replayed = run("autotune", program, "--device", "oclgrind", "--replay", log, "--json")
    assert json.loads(replayed.out)["result"]["entries"]["main"]["thresholds"] == (
        facts["entries"]["main"]["thresholds"])
    again = run("bench", program, "--device", "oclgrind", "--runs", "1", "--only", "tall")
    thresholds = facts["entries"]["main"]["thresholds"].values()
    assert (", tuned" in again.out) == any(each["value"] for each in thresholds)  # 0: the default


@needs_oclgrind
def test_a_finished_tuning_has_nothing_to_resume(run: Run, program: Path, tmp_path: Path) -> None:
    """Its verdict is told again; whatever is missing is done."""
    command = ("autotune", program, "--device", "oclgrind", "--runs", "1", "--no-verify",
               "--no-parameters")
    first = run(*command)
    log, facts = tmp_path / "sum.fut.tuning.log", tmp_path / "sum.fut.tuning.json"
    files = {each: each.read_bytes() for each in (log, facts)}
    again = run(*command, "--resume")
    assert (again.status, again.err) == (0, "")
    said, *verdict = again.out.splitlines()
    assert said.startswith("Nothing is left to do: this tuning was finished on 20")
    assert verdict
    assert verdict == first.out.splitlines()[:len(verdict)]
    assert files == {each: each.read_bytes() for each in files}
    found = json.loads(run(*command, "--json", "--resume").out)["result"]
    assert found["seconds"]["all"] > 0
    assert json.loads(run(*command, "--json", "--resume").out)["result"] == found

    def goes_on(*options: object) -> bool:
        found = run(*command, *options, "--resume")
        assert found.status == 0, found.err
        return "Nothing is left to do" not in found.out

    assert goes_on("-v"), "another command"
    assert goes_on()
    assert not goes_on()
    (tmp_path / "sum.fut.tuning").unlink()
    assert goes_on(), "a file is missing"
    program.write_text(program.read_text() + "\n-- more\n")
    assert goes_on(), "another program"
    interrupted = json.loads(facts.read_text())
    del interrupted["verdict"]
    facts.write_text(json.dumps(interrupted))
    assert goes_on(), "not finished"


@needs_oclgrind
def test_autotune_by_replay(run: Run, program: Path, tmp_path: Path) -> None:
    found = run("autotune", program, "--device", "oclgrind", "--strategy", "replay:rounds=1",
                "--no-verify", "--verbose")
    assert found.status == 0, found.err
    assert ("Program runs: 2 for 2 datasets; each replays all versions, in place of 3 forced"
            in found.out)
    facts = json.loads((tmp_path / "sum.fut.tuning.json").read_text())
    assert facts["entries"]["main"]["program_runs"] == 2
    log = tmp_path / "sum.fut.tuning.log"
    assert {json.loads(line)["replay"] for line in log.read_text().splitlines()} == {1, 2, 3}
    replayed = run("autotune", program, "--device", "oclgrind", "--replay", log, "--json")
    assert json.loads(replayed.out)["result"]["entries"]["main"]["thresholds"] == (
        facts["entries"]["main"]["thresholds"])
    compared = run("tune-compare", log, "--strategy", "replay", "--strategy", "instrumentation")
    runs = {line.split()[0]: int(line.split()[1]) for line in compared.out.splitlines()
            if line.startswith(("  replay", "  instrumentation"))}
    assert runs == {"replay": 2, "instrumentation": 6}


def test_autotune_needs_a_device(run: Run, program: Path) -> None:
    found = run("autotune", program, "--device", "interpreter")
    assert found.status == 1
    assert "needs an OpenCL device" in found.err


@needs_oclgrind
def test_interrupted_autotune_writes_what_it_has(
        run: Run, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

    calls = 0
    original = MeasuredProgram.record

    def interrupted(self: MeasuredProgram, *args: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 8:
            raise KeyboardInterrupt
        return original(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(MeasuredProgram, "record", interrupted)
    found = run("autotune", program, "--device", "oclgrind", "--runs", "1", "--time-limit",
                "none")
    assert found.status == 130
    assert "fitted to what was measured" in found.err
    assert (tmp_path / "sum.fut.tuning").exists()
    facts = json.loads((tmp_path / "sum.fut.tuning.json").read_text())
    assert facts["interrupted"]
    assert "verdict" not in facts  # so --resume goes on
    assert list(facts["entries"]["main"]["datasets"]) == ["wide"]


@needs_oclgrind
@pytest.mark.parametrize("json_wanted", [[], ["--json"]], ids=["text", "json"])
def test_autotune_interrupted_before_anything_is_measured_writes_nothing(
        run: Run, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        json_wanted: list[str]) -> None:
    from runelift.runtime.tuner.workers.measured_program import MeasuredProgram

    def interrupted(self: MeasuredProgram, *_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MeasuredProgram, "record", interrupted)
    found = run("autotune", program, "--device", "oclgrind", "--time-limit", "none", *json_wanted)
    assert found.status == 130
    assert "nothing was measured completely" in found.err
    assert not (tmp_path / "sum.fut.tuning").exists()


def usual_ctrl_c() -> None:
    """Ctrl-C as in a terminal, whatever tests before have left to the processes they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@needs_oclgrind
def test_ctrl_c_while_a_program_is_tuned(program: Path) -> None:
    """The signal itself, sent when two runs are on disk; none of them is lost."""
    log = program.with_name("sum.fut.tuning.log")
    command = [sys.executable, "-m", "runelift", "autotune", "--device", "oclgrind", "-r", "1000",
               str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, preexec_fn=usual_ctrl_c) as tuner:
        while tuner.poll() is None and not (log.exists() and log.read_text().count("\n") >= 2):
            time.sleep(0.02)
        tuner.send_signal(signal.SIGINT)
        _, err = tuner.communicate(timeout=60)
    assert tuner.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert len(read_log(log)["main"].runs) >= 2


@needs_oclgrind
def test_out_of_device_memory(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "large.fut"
    path.write_text("entry main (n: i64): i64 = i64.sum (scan (+) 0 (iota n))\n")
    (tmp_path / "n.in").write_text("9_000_000_000_000")
    found = run("run", path, "--input", tmp_path / "n.in", "--device", "oclgrind")
    assert found.status == 1
    assert "Out of device memory" in found.err
    assert "Traceback" not in found.err


def test_control_characters_are_escaped(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m\udcff.fut"
    path.write_text("entry main (x: i32) = x \x1b[2J\u202e")
    for command in ("check", "run", "test"):
        result = run(command, path)
        assert result.status == 1
        text = result.out + result.err
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[31m\\udcff.fut" in text


def test_limits_of_the_interpreter_are_no_bugs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "large.fut"
    depth = 70
    nest = "map (\\i -> " * depth + "i" + ") (iota 1)" * depth
    path.write_text("entry large (n: i64) = (iota n)[::2]\n"
                    f"entry deep (n: i64) = {nest}\n"
                    "entry rows (n: i64) (m: i64) = map (\\i -> map (+i) (iota m)) (iota n)\n"
                    "entry flat (n: i64) = flatten (replicate n (replicate n 1i8))\n")
    (tmp_path / "n").write_text(f"{1 << 62}i64")
    (tmp_path / "one").write_text("1i64")
    (tmp_path / "empty").write_text(f"0i64 {1 << 62}i64")
    for entry, given, status, message in (
            ("large", "n", 1, "large.fut:1:25: Out of memory: An array of shape"),
            ("flat", "n", 1, "Out of memory"), ("rows", "empty", 1, "too large"),
            ("deep", "one", 2, "at most 64 dimensions")):
        result = run("run", path, "-e", entry, "-i", tmp_path / given, "--device", "interpreter")
        assert message in result.err, entry
        assert result.status == status


def test_test_fails_for_a_program_that_does_not_compile(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "wrong.fut"
    path.write_text("def f (x: i32): i64 = x\n")
    assert run("test", path).status == 1
    path.write_text("def f (x: i32): i32 = x\n")
    assert run("test", path).status == 0


@pytest.mark.parametrize(("body", "given", "pattern"), [
    ("xs[k]", 9, "Error*"), ("xs[k]", 9, "Error: Index .9. out of bounds"),
    ("xs[0] / i32.i64 k", 0, "Error: division by zero"), ("xs[k]", 9, "Backtrace:"),
    ("xs[0] ** i32.i64 k", -1, "negative exponent"),
    ("xs[k]", 9, "-> #0 .*:6:"), ("xs[k]", 9, "error.index-out-of-bounds"),
])
def test_expected_errors_in_the_words_of_futhark(body: str, given: int, pattern: str, run: Run,
                                                 tmp_path: Path) -> None:
    path = tmp_path / "fails.fut"
    path.write_text(f"-- ==\n-- input {{ [1, 2] {given}i64 }}\n-- error: {pattern}\n\n\n"
                    f"entry main (xs: []i32) (k: i64) = {body}\n")
    result = run("test", "--interpreter", path)
    assert result.out.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"


@pytest.mark.parametrize("text", [
    "entry main (x: i32) = x + {}", "entry main (x: [{}]i32) = x", "entry main (x: i32) = x + 0x{}",
    "entry main (x: i32) = x.{}", "entry main (x: i32) = x + v{}", 'import "{}"', 'import "a\0b"',
    "entry main : f32 = 0x1.8p99999f32 + true"])
def test_long_numbers_and_names_in_programs(text: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "long.fut"
    path.write_text(text.replace("{}", "9" * 5000))
    result = run("check", path)
    assert result.status == 1
    assert len(result.err) < 30_000


@pytest.mark.parametrize("value", ["²", "9" * 5000, "-1", "nan", "\x1b[2J", "１", ""])
def test_values_of_options(value: str, run: Run, program: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("[[1f32]]")
    given = ["run", program, "-i", tmp_path / "in"]
    for arguments in (
            [*given, "--param", f"a={value}"], [*given, "--force", value],
            [*given, "--force", f"main.versions_0={value}"], [*given, "--device", value or "?"],
            ["dataset", f"--seed={value}", "[1]i8"], ["check", value], ["test", value + "x"],
            ["explain", value]):
        result = run(*arguments)
        assert result.status == 1, arguments
        assert "\x1b" not in result.err
        assert "Checked" not in result.out  # the folder, as of an empty name


@pytest.mark.parametrize("arguments", [["check"], ["run"], ["fmt", "--diff"], ["test"], ["bench"],
                                       ["dataset", "i32", "-o"]], ids=" ".join)
def test_an_empty_name_is_no_folder(arguments: Sequence[str], run: Run) -> None:
    """It comes from variables that are not set, and would be the current folder."""
    result = run(*arguments, "")
    assert result.status == 1
    assert "empty" in result.err


def test_pipes_and_devices_are_refused_at_once(run: Run, program: Path, tmp_path: Path) -> None:
    """Programs, imports, data, tuning files, logs, schedules and rules must be files."""
    pipe = tmp_path / "pipe.fut"
    os.mkfifo(pipe)
    importing = tmp_path / "importing.fut"
    importing.write_text('import "pipe"\nentry main = 1i32')
    with time_limit(30):
        for command in (["check", pipe], ["check", importing], ["check", "/dev/zero"],
                        ["fmt", pipe], ["dump", pipe], ["explain", pipe], ["bench", pipe],
                        ["autotune", pipe], ["test", pipe], ["stubs", pipe], ["rerun", pipe],
                        ["tune-compare", pipe], ["run", program, "-i", pipe],
                        ["run", program, "-i", "/dev/zero"], ["run", program, "--tuning", pipe],
                        ["run", program, "--schedule", pipe], ["run", program, "--rules", pipe],
                        ["autotune", program, "--replay", pipe]):
            result = run(*command)
            assert result.status == 1, command
            assert "Cannot read" in result.err, command


@pytest.mark.skipif(not any("Portable" in d.platform for d in find_devices()),
                    reason="PoCL is not installed")
def test_sizes_beyond_the_device_are_no_bugs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "large.fut"
    path.write_text("entry main (n: i64) (m: i64) = map (\\i -> map (+i) (iota m)) (iota n)\n")
    for n, m, message in ((1 << 62, 1, "Out of device memory"), (1 << 62, 0, "too large"),
                          (0, 1 << 62, "too large"), (1 << 40, 0, "")):
        (tmp_path / "in").write_text(f"{n}i64 {m}i64")
        result = run("run", path, "-i", tmp_path / "in", "--device", "pocl")
        assert result.status == (1 if message else 0)
        assert message in result.err
