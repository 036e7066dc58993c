"""Barriers and races on the command line: ``explain barriers`` and ``test --check-races``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import networkx as nx
import pytest

import runelift
from runelift.codegen.passes.access_graph import dot, edges
from runelift.codegen.passes.barrier_reasons import ExplainedKernel, explain_barriers
from runelift.codegen.plan.plan import kernels
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Kernel
from runelift.ir.imp.interpret import Launch, Reported
from runelift.ir.imp.traverse import has_barriers
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from tests.runtime.tools.races.deletion import barriers_of, without

SCANS = """\
-- ==
-- input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- output { [[1i32, 3i32, 6i32], [4i32, 9i32, 15i32]] }
-- compiled random input { [900][900]i32 }
-- random input { [3][20]i32 }
entry main [n][m] (xss: [n][m]i32): [n][m]i32 = map (scan (+) 0) xss
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "scans.fut"
    path.write_text(SCANS)
    return path


def explained(text: str, *, lockstep: bool) -> list[ExplainedKernel]:
    """The barriers of all kernels of a program."""
    compiled = runelift.compile(text, device="interpreter").compiled
    plan, origins = compiled.explained_plan("main", interleave=lockstep, coherent=lockstep)
    return [explain_barriers(kernel, origins) for kernel in kernels(plan.steps)
            if has_barriers(kernel.body)]


@pytest.mark.parametrize("lockstep", [False, True])
def test_barriers_that_pairs_need_name_them(lockstep: bool) -> None:
    """Only barriers for PoCL may separate nothing."""
    for kernel in explained(SCANS, lockstep=lockstep):
        for barrier in kernel.barriers:
            if barrier.placement in (imp.Placement.DEPENDENCE, imp.Placement.LOWERING):
                assert barrier.pairs, (kernel.name, barrier)
            for pair in barrier.pairs:
                assert pair.reason
                if not kernel.name.startswith("transpose"):  # which the program does not ask for
                    assert pair.before.loc is not None
                    assert pair.before.loc.line == 6


def test_the_graph_of_accesses() -> None:
    """Every separated pair is joined by a path of accesses that come after each other."""
    for kernel in explained(SCANS, lockstep=True):
        order = nx.DiGraph([(each.before, each.after) for each in edges(kernel)
                            if each.relation == "next"])
        for barrier in kernel.barriers:
            for pair in barrier.pairs:
                one, other = pair.before.number, pair.after.number
                assert one in order
                assert any(after == other or nx.has_path(order, after, other)
                           for after in order.successors(one))
        assert dot(kernel).count("style=dashed") == sum(bool(b.pairs) for b in kernel.barriers)


def test_explain_barriers(program: Path, tmp_path: Path,
                          capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "graph.dot"
    assert main(["explain", "barriers", str(program), "--dot", str(out)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"separates write \S+\[.*\] at \S*scans.fut:6:", text)
    assert re.search(r"\d+ barriers in \d+ of \d+ kernels", text)
    assert out.read_text().count("digraph") == text.count("kernel intragroup") + text.count(
        "kernel segscan")
    assert main(["explain", "barriers", str(program), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    name = found[0]["kernel"]
    assert main(["explain", "barriers", str(program), "--kernel", name]) == 0
    assert "1 of" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "said"), [
    (["--barriers", "--kernel", "nothing"], "no kernel 'nothing', but "),
    (["--kernel", "x"], "go with 'explain barriers'"),
    (["--barriers", "--dot", "/nowhere/x.dot"], "Cannot write"),
    (["--barriers", "--entry", "other"], "other"),
])
def test_wrong_requests_are_told(options: list[str], said: str, program: Path,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(program), *options]) == 1
    assert said in capsys.readouterr().err


def test_check_races(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "--check-races", "--all-versions", str(program)]) == 0
    assert "2 passed, 0 failed, 1 skipped" in capsys.readouterr().out
    assert main(["test", "--check-races", "--interpreter", str(program)]) == 1
    assert "leave --interpreter out" in capsys.readouterr().err
    assert main(["test", "--check-races", "--version-limit", "1ms", str(program)]) == 0
    assert "smaller data suffice" in capsys.readouterr().out


def test_check_races_reports_a_race(program: Path, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    """As of a compiler that forgets barriers."""
    interpret = InterpretedRun.interpret

    def forgetful(self: InterpretedRun, kernel: Kernel, launch: Launch) -> Reported | None:
        for barrier in barriers_of(kernel):
            kernel = without(kernel, barrier)
        return interpret(self, kernel, launch)

    monkeypatch.setattr(InterpretedRun, "interpret", forgetful)
    assert main(["test", "--check-races", "--all-versions", str(program)]) == 1
    assert re.search(r"data race on '\w+' in local memory \(\S*scans.fut:6:\d+\): kernel '\w+'",
                     capsys.readouterr().out)


def test_check_races_reports_other_mistakes_of_kernels(
        program: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(self: InterpretedRun, kernel: Kernel, launch: Launch) -> Reported | None:
        raise CompilerBug(f"kernel '{kernel.name}' reaches too far")

    monkeypatch.setattr(InterpretedRun, "interpret", wrong)
    assert main(["test", "--check-races", str(program)]) == 1
    assert "reaches too far" in capsys.readouterr().out
