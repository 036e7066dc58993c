"""JSON that is no log of a tuning."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.errors import UserError
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.costs.log import Log, made_for, read_log
from tests.runtime.mutate_files import LOG, RUN

Change = Callable[[Any], object]


def changed(path: str, value: object) -> dict[str, Any]:
    """A line of a log with another value at a path of names and numbers."""
    line: Any = copy.deepcopy(RUN)
    at, names = line, path.split("/")
    for name in names[:-1]:
        at = at[int(name) if isinstance(at, list) else name]
    at[int(names[-1]) if isinstance(at, list) else names[-1]] = value
    return line


@pytest.mark.parametrize(("line", "message"), [
    ([], "it should be an object"), (3, "it should be an object"), ("x", "object"),
    (None, "object"), ({}, "lacks the field 'entry'"),
    ({"entry": "main"}, "lacks the field"), ({"entry": 3}, "'entry' should be a text"),
    ({"entry": "main", "forgotten": True}, "lacks the field 'dataset'"),
    (changed("dataset", 3), "'dataset' should be a text"),
    (changed("force", []), "'force' should be an object"),
    (changed("force", {"x": 1.5}), "'force.x' should be a whole number"),
    (changed("record", []), "'record' should be an object"),
    (changed("record", None), "neither a record nor an error"),
    (changed("error", {}), "'error' should be a text"),
    (changed("time", "1"), "'time' should be a number"),
    (changed("time", True), "'time' should be a number"),
    (changed("replay", 1 << 70), "'replay' should be a whole number"),
    (changed("record/issue", "x"), "'record.issue' should be a number"),
    (changed("record/encounters", {}), "'record.encounters' should be a list"),
    (changed("record/encounters/0", 7), "should be an object"),
    (changed("record/encounters/0/chosen", 5), "a version of 'main.versions_0' that there is not"),
    (changed("record/encounters/0/feasible", []), "a version"),
    (changed("record/encounters/1/parent", 9), "not before it"),
    (changed("record/encounters/1/number", 0), "not before it|one number"),
    (changed("record/encounters/1/sizes", {}), "other sizes"),
    (changed("record/surprise", 1), "has no field 'surprise'"),
    ({**RUN, "record": None, "again": True, "dataset": "b"}, "not before it"),
])
def test_lines_that_are_none_of_a_log(line: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(json.dumps(RUN) + "\n" + json.dumps(line) + "\n")
    with pytest.raises(UserError, match=rf"a\.log:2: error\[malformed-log\].*({message})"):
        read_log(path)
    with pytest.raises(UserError, match="malformed-log"):
        Log(path, "x", resume=True)
    assert json.loads(path.read_text().splitlines()[0]) == RUN  # nothing is lost
    assert made_for(path) == {"x"}


@pytest.mark.parametrize("line", ["[" * 5000, "9" * 5000, '{"entry": ', "\0"])
def test_lines_that_are_no_json(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(LOG + line.encode() + b"\n")
    with pytest.raises(UserError, match=r"a\.log:6: error\[malformed-log\].*not JSON") as caught:
        read_log(path)
    assert len(str(caught.value)) < 500
    path.write_bytes(LOG + line.encode())  # the tuner was killed
    assert len(read_log(path)["main"].runs) == 1


def test_a_log_that_is_none_ends_commands(tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.log"
    path.write_text("[]\n\n")
    assert main(["tune-compare", str(path)]) == 1
    assert "a.log:1: error[malformed-log]" in capsys.readouterr().err
