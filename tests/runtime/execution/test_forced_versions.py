"""Versions that must run: another version never runs in their place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError, VersionUnavailable
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.execution.run import Run
from runelift.runtime.tools.commands.open_program import tell_failed_versions

SCANS = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> scan (+) 0 (map (* 2) (scan (+) 0 xs))) xss
entry other (x: i32): i32 = x + 1
"""
SITE = "main.versions_0"


def program() -> Any:
    return runelift.compile(SCANS, device="pocl", tuning={})


def rows(length: int) -> np.ndarray[Any, Any]:
    return np.ones((2, length), np.float32)


def test_rows_that_no_group_holds() -> None:
    subject = program()
    with pytest.raises(VersionUnavailable, match=f"{SITE}/1 cannot run here: no work-group"):
        subject.run("main", [rows(600_000)], force={SITE: 1})
    found, record = subject.run("main", [rows(600)], force={SITE: 1}, record=True)
    assert record.path == ((SITE, 1),)
    np.testing.assert_allclose(found[0],
                               subject.run("main", [rows(600)], force={SITE: 0})[0][0])


def test_too_little_local_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = program()
    subject.run("main", [rows(600)])
    info = subject.device.info
    monkeypatch.setattr(type(info), "local_bytes", 100, raising=False)
    subject.loaded.forget_prebuilt()
    with pytest.raises(VersionUnavailable, match=r"/1 .* bytes of local memory, and this device "
                                                 r"has 100|/1 .* no work-group"):
        subject.run("main", [rows(600)], force={SITE: 1})


def test_a_kernel_that_cannot_be_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = program()

    def issue(run: Run, *args: Any) -> None:
        raise Infeasible("the compiler says no")

    monkeypatch.setattr(Run, "issue_built", issue)
    monkeypatch.setattr(Run, "issue", issue)
    with pytest.raises(VersionUnavailable, match=f"{SITE}/2 .* the compiler says no"):
        subject.run("main", [rows(600)], force={SITE: 2})


def test_a_replacement_that_ran_before_does_not_count() -> None:
    """The tuner's runs fall back to other versions, and their command buffers are kept."""
    subject = program()
    for _ in range(4):
        subject.loaded.perform("main", [rows(600_000)], {SITE: 1}, {}, record=False,
                               to_host=False)
    with pytest.raises(VersionUnavailable):
        subject.run("main", [rows(600_000)], force={SITE: 1})


@pytest.mark.parametrize(("entry", "force", "text"), [
    ("main", {"foo": 0}, "no choice of versions 'foo'; it has main.versions_0"),
    ("main", {SITE: 3}, "has 3 versions, and so no version 3"),
    ("other", {SITE: 0}, "has no choice of versions 'main.versions_0'; it has none"),
    ("none", {SITE: 0}, "Unknown entry point"),
])
def test_versions_that_do_not_exist(entry: str, force: dict[str, int], text: str) -> None:
    with pytest.raises(UserError, match=text):
        program().run(entry, [rows(6)], force=force)


def test_the_interpreter_has_no_versions() -> None:
    subject = runelift.compile(SCANS, device="interpreter")
    with pytest.raises(UserError, match="interpreter has no versions"):
        subject.run("main", [rows(6)], force={SITE: 0})


def test_versions_that_failed_are_named(monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    subject, issue, failing = program(), Run.issue_built, [True]

    def issue_built(run: Run, *args: Any) -> None:
        if failing.pop():
            failing.append(False)
            raise Infeasible("the compiler ran out of registers\nwith a long log")
        failing.append(False)
        issue(run, *args)

    monkeypatch.setattr(Run, "issue_built", issue_built)
    subject.run("main", [rows(600)])
    tell_failed_versions(subject)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"runelift: V\d could not run, so others ran in its place: "
                        r"the compiler ran out of registers", line)
    tell_failed_versions(subject, replaced=False)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"runelift: V\d could not run: the compiler ran out of registers", line)
