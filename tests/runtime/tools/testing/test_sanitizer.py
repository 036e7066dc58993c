"""Reports of Oclgrind, told about the lines of programs."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from runelift.ir.base.source import Source
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.testing.sanitizer import Report, Teller, Told, reports
from tests.test_examples import EXAMPLES

ROOT = Path(__file__).parents[4]
RACE = """
Write-write data race at global memory address 0x3000000000000
\tKernel: f
\t
\tFirst entity:  Global(3,0,0) Local(1,0,0) Group(1,0,0)
\t  store i32 %add, i32 addrspace(1)* %arrayidx2, align 4, !dbg !37
\tAt line 5 (column 7) of input.cl:
\t  y[0] = x[i] + u;
\t
\tSecond entity: Global(2,0,0) Local(0,0,0) Group(1,0,0)
\t  store i32 %add, i32 addrspace(1)* %arrayidx2, align 4, !dbg !37
\tAt line 5 (column 7) of input.cl:
\t  y[0] = x[i] + u;
\t

2 warnings generated.
Invalid write of size 4 at global memory address 0x3000000000190
\tKernel: g
\tEntity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\t  store i32 4, i32 addrspace(1)* %arrayidx5, align 4, !dbg !41
\tAt line 6 (column 11) of input.cl:
\t  y[i+100] = 4;
"""
OUTSIDE = """
-- ==
-- compiled input { [1, 2, 3] 9i64 }
-- compiled input { [1, 2, 3] 1i64 }
entry main [n] (xs: [n]i32) (m: i64): [m]i32 =
  map (\\i -> 2 * #[unsafe] xs[i * 7]) (iota m)
"""
RACY = """
-- ==
-- compiled input { 4i64 }
entry main (m: i64): [2]i32 =
  let places = map (% 2) (iota m)
  in scatter [0, 0] places (map i32.i64 (iota m))
"""
SUMS = """\
-- ==
-- input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- output { [6i32, 15i32] }
-- random input { [3][40]i32 }
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  map (\\xs -> reduce (+) 0 (map (* 2) xs) / 2) xss
"""
FORGETFUL = """
from runelift.codegen.emit import opencl
from tests.runtime.tools.races.deletion import barriers_of, without

lines_of = opencl.opencl_lines

def forgetful(kernel, *args, **options):
    for barrier in barriers_of(kernel):
        kernel = without(kernel, barrier)
    return lines_of(kernel, *args, **options)

opencl.opencl_lines = forgetful
"""
RIGHT = """
-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
entry main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss
"""


def test_reports_are_read_once_for_each_line() -> None:
    first, second = reports(RACE + RACE)
    assert first.kind == "Write-write data race in global memory"
    assert first.lines == ("y[0] = x[i] + u;",)
    assert first.items == ("(3,0,0)", "(2,0,0)")
    assert second.kind == "Invalid write of size 4 in global memory"


def test_accesses_under_a_lock_do_not_race() -> None:
    plain, volatile = "store i32 %add", "store volatile i32 %add"
    assert [r.kernel for r in reports(RACE.replace(plain, volatile, 1))] == ["f", "g"]
    assert [r.kernel for r in reports(RACE.replace(plain, volatile))] == ["g"]


def test_a_line_without_a_place_has_that_of_its_kernel() -> None:
    first, second = reports(RACE)
    teller = Teller(Source("dot.fut", "\n\nentry f = map g xs"),
                    made_of={"f": "segmap for ys at dot.fut:3:11", "h": "transpose for ys"})
    assert teller.tell(first) == Told(3, """\
Write-write data race in global memory at dot.fut:3:11
   3 | entry f = map g xs
     |           ^
  kernel f (segmap for ys at dot.fut:3:11), work-items (3,0,0) and (2,0,0):
   | y[0] = x[i] + u;""")
    assert teller.tell(second).line == 1
    assert teller.tell(second).message.startswith(f"{second.kind} at an unknown place\n")
    assert teller.tell(replace(second, kernel="h")).message.startswith(
        f"{second.kind} in code that the compiler adds\n  kernel h (transpose for ys)")


def test_both_lines_of_a_race_and_the_calls_are_told() -> None:
    source = Source("p.fut", "import \"lib\"\nentry main xs = get xs (length xs)\n")
    library = Source("lib.fut", "def get [n] (xs: [n]i32) (i: i64) = xs[i]\n")
    report = Report("Read-write data race in local memory", "k", (
        "x = a[i];  // lib.fut:1:37-1:41, in get called at p.fut:2:17-2:34",
        "a[j] = y;  // p.fut:2:17-2:34"), ("(0,0,0)", "(1,0,0)"))
    assert Teller(source, [library]).tell(report) == Told(2, """\
Read-write data race in local memory at lib.fut:1:37 (index)
   1 | def get [n] (xs: [n]i32) (i: i64) = xs[i]
     |                                     ^^^^^
  in get, called at p.fut:2:17
and p.fut:2:17 (get)
   2 | entry main xs = get xs (length xs)
     |                 ^^^^^^^^^^^^^^^^^^
  kernel k, work-items (0,0,0) and (1,0,0):
   | x = a[i];
   | a[j] = y;""")


def test_text_without_reports() -> None:
    assert list(reports("2 warnings generated.\n\nsomething\n\twith more\n")) == []


@pytest.mark.parametrize(("text", "line", "told"), [
    (OUTSIDE, 6, """Invalid read of size 4 in global memory at {path}:6:28 (index)
   6 |   map (\\i -> 2 * #[unsafe] xs[i * 7]) (iota m)
     |                            ^^^^^^^^^
  in a function, called at {path}:6:3
  kernel segmap"""),
    (RACY, 6, """Write-write data race in global memory at {path}:6:6 (scatter)
   6 |   in scatter [0, 0] places (map i32.i64 (iota m))
     |      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  kernel segscatter""")])
@pytest.mark.parametrize("options", [[], ["--all-versions"]])
def test_programs_with_mistakes(text: str, line: int, told: str, options: list[str],
                                tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "wrong.fut").write_text(text)
    assert main(["test", "--sanitize", *options, str(path)]) == 1
    out = capsys.readouterr().out
    assert f"{path}:{line}: sanitizer: FAILED: {told.format(path=path)}" in out


def test_a_race_for_want_of_barriers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    """As of a compiler that forgets barriers, which the tested process is made to be."""
    (tmp_path / "sitecustomize.py").write_text(FORGETFUL)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    (path := tmp_path / "sums.fut").write_text(SUMS)
    assert main(["test", "--sanitize", "--all-versions", str(path)]) == 1
    out = capsys.readouterr().out
    assert re.search(
        r"sums.fut:6: sanitizer: FAILED: \S+ data race in local memory at \S*sums.fut:6:15 "
        r"\(reduce\)\n +6 \| .*\n +\| {15}\^{27}\n.*\n  kernel intragroup_\w+", out), out
    monkeypatch.delenv("PYTHONPATH")
    assert main(["test", "--sanitize", "--all-versions", str(path)]) == 0


def test_a_program_that_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "right.fut").write_text(RIGHT)
    assert main(["test", "--sanitize", "--all-versions", str(path)]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


@pytest.mark.sweep(keep=["backprop"])
@pytest.mark.parametrize("name", ["backprop", "csr", "mapscan"])
def test_examples_that_use_memory_again(name: str) -> None:
    assert main(["test", "--sanitize", "--all-versions", str(EXAMPLES / f"{name}.fut")]) == 0


def test_nothing_to_sanitize(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "right.fut").write_text(RIGHT)
    assert main(["test", "--sanitize", "--interpreter", str(path)]) == 1
    assert "--sanitize runs kernels" in capsys.readouterr().err
