"""The documentation as a site: it builds without warnings, is complete, and needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import runelift
from runelift.runtime.tools.commands.cli import COMMANDS
from tests.screens import PROGRAM, screens

ROOT = Path(__file__).parents[1]


@pytest.mark.sweep
def test_it_builds_without_warnings(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f",
         str(ROOT / "docs" / "site" / "mkdocs.yml"), "-d", str(tmp_path)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    assert done.returncode == 0, done.stderr
    commands, names = ((tmp_path / page).read_text() for page in ("cli.html", "api.html"))
    assert re.findall(r'<h2 id="([\w-]+)"', commands) == list(COMMANDS)
    titles = re.findall(r'<h2 id="runelift\.[\w.]*?(\w+)"', names)
    assert sorted(titles) == sorted(runelift.__all__)
    for page in tmp_path.rglob("*.html"):
        text = page.read_text()
        assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*="https?://', text) == []
        assert ":class:" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.S)
    if PROGRAM is not None:
        assert screens(tmp_path / "numpy.html", widths=(480, 1280), schemes=("dark",)) == []
