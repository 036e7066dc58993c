"""Pages show what the commands print: those of ``PAGES``.

A comment ``run: COMMAND`` stands in front of an output, which begins with the command.  ``; shows
REGEX`` behind it keeps the first match only.  Several keep one each, with ``...`` between them.
``pytest tests/test_pages.py --regenerate-golden`` writes the pages anew.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from runelift.ir.base.files import read_source
from runelift.runtime.rules.load import load_rules
from runelift.runtime.tools.commands.cli import main

DOCS = Path(__file__).parents[1] / "docs"
PART = re.compile(r"<!-- (file|run): (.*?) -->\n```(\w*)\n(.*?)```", re.S)
PAGES = {"rules.md": 8, "convolution.md": 8, "first-steps.md": 8, "json.md": 2,
         "export.md": 2, "literate.md": 2}
"""The pages, and how many parts each has at least."""


def without_times(page: str) -> str:
    """The page without predicted times, which depend on the cores of the machine."""
    return re.sub(" +", " ", re.sub(r"[\d.]+ [mµn]?s, ", "", page))


@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_current(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str],
                             pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(tmp_path)

    def current(part: re.Match[str]) -> str:
        kind, what, language, shown = part.groups()
        if kind == "file":
            Path(what).write_text(shown)
        else:
            command, *kept = what.split("; shows ")
            main(shlex.split(command))
            out = capsys.readouterr()
            said = chosen(f"{out.out}{out.err}".strip() + "\n", kept)
            shown = f"$ runelift {command}\n{said}"
        return f"<!-- {kind}: {what} -->\n```{language}\n{shown}```"

    path = DOCS / name
    page = path.read_text()
    now = PART.sub(current, page)
    if pytestconfig.getoption("--regenerate-golden"):
        path.write_text(now)
    assert without_times(path.read_text()) == without_times(now)
    assert len(PART.findall(page)) >= PAGES[name]
    for rules in sorted(tmp_path.glob("*.rules")):
        load_rules(read_source(rules))


def chosen(output: str, kept: list[str]) -> str:
    """The matches of expressions in an output, in this order; all of it if there are none."""
    found = list[str]()
    for pattern in kept:
        match = re.search(pattern, output, re.S | re.M)
        assert match is not None, f"nothing is like {pattern} in\n{output}"
        found.append(match[0].rstrip("\n") + "\n")
    return "...\n".join(found) if kept else output
