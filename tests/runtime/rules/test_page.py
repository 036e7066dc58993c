"""``docs/rules.md`` shows what the commands print.

``pytest tests/runtime/rules/test_page.py --regenerate-golden`` writes it anew.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from runelift.ir.files import read_source
from runelift.runtime.commands.cli import main
from runelift.runtime.rules.read import load_rules

PAGE = Path(__file__).parents[3] / "docs" / "rules.md"
PART = re.compile(r"<!-- (file|run): (.*?) -->\n```(\w*)\n(.*?)```", re.S)


def test_outputs_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str],
                             pytestconfig: pytest.Config) -> None:
    monkeypatch.chdir(tmp_path)

    def current(part: re.Match[str]) -> str:
        kind, what, language, shown = part.groups()
        if kind == "file":
            Path(what).write_text(shown)
        else:
            main(shlex.split(what))
            out = capsys.readouterr()
            shown = f"{out.out}{out.err}".strip() + "\n"
        return f"<!-- {kind}: {what} -->\n```{language}\n{shown}```"

    page = PAGE.read_text()
    now = PART.sub(current, page)
    if pytestconfig.getoption("--regenerate-golden"):
        PAGE.write_text(now)
    assert PAGE.read_text() == now
    assert len(PART.findall(page)) >= 8
    for path in sorted(tmp_path.glob("*.rules")):
        load_rules(read_source(path))
