"""SARIF of errors and warnings: what its schema demands, places, and fixes that cure the error."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from runelift.ir.base.codes import CODES
from runelift.ir.base.errors import Diagnostic, Replacement
from runelift.runtime.compilation.diagnostics import diagnostic_json
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.commands.sarif_output import ROOT, sarif_log
from tests.wrong_programs import PROGRAMS, diagnostics

WRONG = """\
def mean (x: i64) (y: i64): f32 = (x + y) / 2
def f (x: i32): i32 = #[inlin] x + )
def g (values: []f32): f32 = valeus[0]
def h = "\N{MATHEMATICAL BOLD SMALL X}" ++ ys
module m = {
  def a = (
}
"""


def log(text: str) -> dict[str, Any]:
    """The log of a program."""
    found: dict[str, Any] = json.loads(json.dumps(
        sarif_log([diagnostic_json(each) for each in diagnostics(text)])))
    return found


def objects(value: Any, name: str) -> Iterator[Any]:
    """The values of a property anywhere in a log."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key == name:
                yield each
            yield from objects(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from objects(each, name)


def demand(found: dict[str, Any]) -> None:
    """Check what the schema and the text of the standard demand of the parts that we write."""
    assert found["version"] == "2.1.0"
    assert found["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = found["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert driver["version"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    assert set(ids) == {each["ruleId"] for each in run["results"]}
    for text in (*objects(driver, "shortDescription"), *objects(driver, "fullDescription"),
                 *objects(run, "message"), *objects(run, "description")):
        assert text["text"].strip()
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        assert len(result["locations"]) == 1
        related = result.get("relatedLocations", [])
        assert [each["id"] for each in related] == list(range(len(related)))
    for region in (*objects(run, "region"), *objects(run, "deletedRegion")):
        start = region["startLine"], region["startColumn"]
        assert (1, 1) <= start <= (region["endLine"], region["endColumn"])
        assert region["endColumn"] > 0
    for place in objects(run, "artifactLocation"):
        assert place["uri"].isascii()
        assert not set(place["uri"]) & set(' \\"<>')
        assert ("uriBaseId" in place) != (":" in place["uri"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_logs_are_as_the_schema_demands(name: str) -> None:
    found = log(PROGRAMS[name])
    demand(found)
    assert len(found["runs"][0]["results"]) == len(diagnostics(PROGRAMS[name])) > 0


def test_errors_and_warnings_with_their_places() -> None:
    found = log(WRONG)
    demand(found)
    (run,) = found["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"][0]["executionSuccessful"] is True
    places = [(each["ruleId"], each["level"], *each["locations"][0]["physicalLocation"]["region"]
               .values()) for each in run["results"]]
    assert places == [
        ("type-mismatch", "error", 1, 36, 1, 46),
        ("syntax-error", "error", 2, 36, 2, 37),
        ("unknown-name", "error", 3, 30, 3, 36),
        ("unknown-name", "error", 4, 16, 4, 18),  # the letter is one column
        ("syntax-error", "error", 7, 1, 7, 2)]
    first = run["results"][0]
    assert first["message"]["text"].endswith(
        "\nHint: Convert it: f32.i64 ((x + y) / 2).  Convert the operands of / if the fraction "
        "counts.")
    (label,) = first["relatedLocations"]
    assert label["message"]["text"] == "declared here"
    assert label["physicalLocation"]["region"]["startColumn"] == 29
    (fix,) = run["results"][2]["fixes"]
    (change,) = fix["artifactChanges"]
    assert fix["description"]["text"] == "Did you mean 'values'?"
    assert change["replacements"] == [{
        "deletedRegion": run["results"][2]["locations"][0]["physicalLocation"]["region"],
        "insertedContent": {"text": "values"}}]


def fixed(text: str, found: Diagnostic) -> str | None:
    """The program after the first hint that is a fix, if there is one."""
    hint = next((each for each in found.hints if isinstance(each, Replacement)), None)
    if hint is None:
        return None
    span = hint.span or found.span
    return text[:span.start] + hint.new + text[span.end:]


def test_fixes_cure_their_errors() -> None:
    cured: set[str] = set()
    for text in ("def f (p: {size: i32}): i32 = p.sise\n",
                 "module mod = { def x = 1i32 }\ndef f (y: i32): i32 = mod.y + mot.x\n",
                 "def f (x: i32) (y: i32): i64 = 2 * (x - y) * 3\n",
                 "def f (x: i32) (y: i32): bool = if x - y then true else false\n",
                 "type point = i32\ndef f (values: pont): i32 = values\n",
                 "def f (values: i32): i32 = valeus\n",
                 *(each.wrong for each in CODES.values() if each.suffix == ".fut")):
        for found in diagnostics(text) if "import" not in text else ():
            new = fixed(text, found)
            if new is None:
                continue
            cured.add(found.code)
            left = [each for each in diagnostics(new)
                    if each.code == found.code and each.span.start == found.span.start]
            assert not left, f"{found.render()}\n\n{new}"
    assert cured >= {"unknown-name", "unknown-type", "type-mismatch", "unknown-attribute",
                     "unknown-field", "unknown-module"}


def test_fixes_outlive_processes() -> None:
    hint = pickle.loads(pickle.dumps(Replacement("Did you mean 'x'?", "x")))
    assert (hint, hint.new) == ("Did you mean 'x'?", "x")


def check_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    """The exit status and the log of ``runelift check --sarif``."""
    try:
        status = main(["check", "--sarif", *map(str, arguments)])
    except SystemExit as ended:
        status = int(str(ended.code))
    found = json.loads(capsys.readouterr().out)
    demand(found)
    return status, found["runs"][0]


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                     monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for path, uri in ((folder / "größe von #1.fut", "gr%C3%B6%C3%9Fe%20von%20%231.fut"),
                      (tmp_path / "outside.fut", (tmp_path / "outside.fut").as_uri())):
        path.write_text("def f = )\n")
        status, run = check_command(capsys, path)
        assert status == 1
        (place,) = objects(run, "artifactLocation")
        assert place["uri"] == uri
        assert place.get("uriBaseId") == (ROOT if path.parent == folder else None)
    assert unquote("gr%C3%B6%C3%9Fe%20von%20%231.fut") == "größe von #1.fut"


def test_warnings_and_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text("def f (x: i32) = #[inlin] x\n")
    status, run = check_command(capsys, path)
    assert (status, [each["level"] for each in run["results"]]) == (0, ["warning"])
    path.write_text("def f (x: i32) = x\n")
    status, run = check_command(capsys, path)
    assert (status, run["results"], run["tool"]["driver"]["rules"]) == (0, [], [])


def test_errors_without_a_place_are_notifications(capsys: pytest.CaptureFixture[str],
                                                  tmp_path: Path) -> None:
    for arguments, text in (((tmp_path / "no.fut",), "Cannot read"), ((), "required: FILE"),
                            (("--json", "p.fut"), "not allowed with")):
        status, run = check_command(capsys, *arguments)
        assert (status, run["results"]) == (1, [])
        (invocation,) = run["invocations"]
        assert invocation["executionSuccessful"] is False
        (told,) = invocation["toolExecutionNotifications"]
        assert told["level"] == "error"
        assert text in told["message"]["text"]
