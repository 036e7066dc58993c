"""Page, text, JSON and tuning file have one choice, and it is what runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.ir.guards import UNREACHED
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner import autotune
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.job import TuningJob
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.settle import settle_choice
from runelift.runtime.tuner.state import State
from runelift.runtime.tuner.workers.runners import in_this_process
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.size_guards import Leaf
from tests.runtime.tuner.costs.test_log import TEXT

DATA = {"a": np.array([[1, 2], [3, 4]], np.int32), "b": np.array([[1, 2, 3, 4]], np.int32)}


def leading_to(forest: Forest, version: int) -> dict[str, int]:
    """The thresholds of a chain with which this version runs."""
    return {guard.name: UNREACHED if k < version else 1
            for k, guard in enumerate(forest.trees[0].guards)}


def by_parameters(version: int) -> Callable[[TuningJob, State], State]:
    """A stage that changes the thresholds beside settings of kernels."""
    def stage(job: TuningJob, state: State) -> State:
        (forest,) = job.forests.entries
        return replace(state, parameters=(ParameterTuning(
            "main", chosen=leading_to(forest, version)),))

    return stage


def by_guards(version: int) -> Callable[[TuningJob, State], State]:
    """A stage that puts a size guard before the thresholds."""
    def stage(job: TuningJob, state: State) -> State:
        (forest,) = job.forests.entries
        (tree,) = forest.trees
        titles = {tree.name: tree.name}
        names = {tree.name: [each.label or "" for each in tree.alternatives]}
        return replace(state, guards=(ConfirmedSizeGuards(
            "main", SizeGuardKind.TREE, {tree.name: Leaf(version)}, versions=names,
            titles=titles),))

    return stage


class Cells(HTMLParser):
    """The rows of all tables of a page, as texts of cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


def marked_on_page(page: str) -> set[str]:
    """The versions whose cells are marked as those that run."""
    return {re.search(r"V\d", row[1])[0] for row in Cells(page).rows  # type: ignore[index]
            if len(row) > 2 and any("◀" in cell for cell in row[2:])}


def marked_in_text(text: str) -> set[str]:
    """The versions with a star in the table of times."""
    return {line.split()[0] for line in text.splitlines()
            if re.match(r"\s+V\d \(", line) and "*" in line}


def running(path: Path) -> set[str]:
    """The versions that run with the tuning file."""
    program = runelift.compile(path, device="pocl")
    labels = program.tree.entry("main").trees[0].alternatives
    return {labels[encounter.chosen].label or "" for values in DATA.values()
            for encounter in in_this_process(program).record(
                "main", [values], thresholds=program.thresholds).encounters}


@pytest.mark.parametrize("stage", [by_parameters, by_guards])
@pytest.mark.parametrize("version", [1, 2])
def test_all_say_what_then_runs(
        version: int, stage: Callable[[int], Callable[[TuningJob, State], State]], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A stage after the thresholds has chosen otherwise than they did."""
    def settle(job: TuningJob, state: State) -> State:
        """The times of runs in turn, whatever they prove."""
        monkeypatch.setattr("runelift.runtime.tuner.settle.Judgement.proved", True)
        monkeypatch.setattr("runelift.runtime.tuner.settle._like_first", lambda *given: None)
        return settle_choice(job, state)

    program, page = tmp_path / "p.fut", tmp_path / "p.html"
    program.write_text(TEXT)
    monkeypatch.setattr(autotune, "STAGES", (
        autotune.fit_thresholds, autotune.find_wrong, stage(version), settle))
    assert main(["autotune", "--device", "pocl", "--runs", "1", "-v", "--html", str(page),
                 str(program)]) == 0
    text, expected = capsys.readouterr().out, {f"V{version + 1}"}
    assert running(program) == expected
    assert marked_in_text(text) == expected
    assert marked_on_page(page.read_text()) == expected
    facts = json.loads((tmp_path / "p.fut.tuning.json").read_text())
    assert {name for each in facts["final"] for name in each["versions"]["tuned"]} == expected
    assert all(line.rstrip().endswith(f" V{version + 1}") for line in text.splitlines()
               if re.match(r"  [ab] ", line))
    rows = [row for row in Cells(page.read_text()).rows if row and row[0] in DATA]
    assert rows
    assert all(row[-1].startswith(f"V{version + 1}") for row in rows if len(row) > 6)
    values = dict(line.split("=") for line in program.with_name(
        "p.fut.tuning").read_text().splitlines())
    assert {name: str(each["value"]) for name, each in
            facts["entries"]["main"]["thresholds"].items()} == values


def test_a_column_has_one_clock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Page and text have equal times of versions, and name their clock."""
    program, page = tmp_path / "p.fut", tmp_path / "p.html"
    program.write_text(TEXT)
    assert main(["autotune", "--device", "pocl", "--runs", "1", "-v", "--no-parameters",
                 "--html", str(page), str(program)]) == 0
    text = capsys.readouterr().out
    on_page = {row[1].split()[0]: [re.sub(r" [★◀].*", "", cell) for cell in row[2:]]
               for row in Cells(page.read_text()).rows
               if len(row) == 2 + len(DATA) and re.match(r"V\d ", row[1]) and row[2][:1].isdigit()}
    in_text = {line.split()[0]: re.findall(r"\d[\d.]* [mnµ]?s", line)
               for line in text.splitlines() if re.match(r"\s+V\d \(", line)}
    assert on_page
    assert in_text == on_page
    assert "Recorded time of all that happens" in text
    assert "ecorded time of all that happens" in page.read_text()
