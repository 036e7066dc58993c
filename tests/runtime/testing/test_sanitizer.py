"""Reports of Oclgrind, told about the lines of programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from runelift.runtime.commands.cli import main
from runelift.runtime.testing.sanitizer import reports

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
RIGHT = """
-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
entry main [n][m] (xss: [n][m]i32): [n]i32 = map i32.sum xss
"""


def test_reports_are_read_once_for_each_line() -> None:
    first, second = reports(RACE + RACE)
    assert first.place({"f": "segmap for ys at dot.fut:3:7"}) == (
        3, "Write-write data race in global memory in kernel f of segmap for ys at dot.fut:3:7, "
           "work-items (3,0,0) and (2,0,0)\n   | y[0] = x[i] + u;")
    assert second.kind == "Invalid write of size 4 in global memory"
    assert second.place({})[0] == 1


def test_text_without_reports() -> None:
    assert list(reports("2 warnings generated.\n\nsomething\n\twith more\n")) == []


@pytest.mark.parametrize(("text", "kind", "line"), [
    (OUTSIDE, "Invalid read of size 4", 6), (RACY, "data race", 6)])
def test_programs_with_mistakes(text: str, kind: str, line: int, tmp_path: Path,
                                capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "wrong.fut").write_text(text)
    assert main(["test", "--sanitize", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"wrong.fut:{line}: sanitizer: FAILED: " in out
    assert kind in out


def test_a_program_that_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "right.fut").write_text(RIGHT)
    assert main(["test", "--sanitize", "--all-versions", str(path)]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


def test_nothing_to_sanitize(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "right.fut").write_text(RIGHT)
    assert main(["test", "--sanitize", "--interpreter", str(path)]) == 1
    assert "--sanitize runs kernels" in capsys.readouterr().err
