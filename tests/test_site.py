"""The documentation as a site: it builds without warnings, is complete, and needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import runelift
from runelift.runtime.tools.commands.cli import COMMANDS
from tests.runtime.tools.pages.test_style import ENOUGH, SCHEMES, contrast, parts
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
    for page in ("index.html", "numpy.html") if PROGRAM is not None else ():
        assert screens(tmp_path / page, widths=(390, 1280)) == []


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = spec_from_file_location("pages", ROOT / "docs" / "site" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_its_colours_are_those_of_reports(hooks: ModuleType) -> None:
    sheet = hooks.style()
    for scheme, colours in zip(("default", "slate"), SCHEMES, strict=True):
        (block,) = re.findall(rf'\[data-md-color-scheme="{scheme}"\] \{{(.*?)\}}', sheet)
        assert dict(re.findall(r"--([\w-]+): (#\w+);", block)) == colours
        assert {name for name in re.findall(r"var\(--([\w-]+)\)", sheet)
                if not name.startswith("md-")} <= set(colours)
    (header,) = re.findall(r"--md-primary-fg-color: (#\w+);", sheet)
    assert contrast(parts("#fff"), parts(header)) >= ENOUGH


def test_dark_pages_are_light_on_paper(hooks: ModuleType) -> None:
    """The rules for paper come last, so that they hold for both schemes."""
    before, paper = hooks.style().rsplit("@media print {", 1)
    (block,) = re.findall(r":root, \[data-md-color-scheme\] \{(.*?)\}", paper)
    assert dict(re.findall(r"--([\w-]+): (#\w+);", block)) == SCHEMES[0]
    assert "color-scheme: light;" in block
    assert '[data-md-color-scheme="slate"]' in before
    assert ".md-code__nav, .md-clipboard { display: none; }" in paper  # they would cover code


def test_lines_of_the_home_page_fit_it(hooks: ModuleType) -> None:
    """With 1280 pixels there is room for 140 letters; narrow screens break lines."""
    home = hooks.HOME + (ROOT / "README.md").read_text()
    assert home.startswith("---\nhide: [navigation, toc]\n---\n# ")
    assert "](docs/versions.svg)" in home
    blocks = re.findall(r"```\w*\n(.*?)```", home, re.S)
    assert max(len(line) for block in blocks for line in block.splitlines()) <= 140
    assert "(max-width: 640px) { .md-typeset pre > code { white-space: pre-wrap" in hooks.style()


def test_links_have_the_titles_of_pages(hooks: ModuleType) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    text = ("[docs/tuning.md](docs/tuning.md#all), [it](docs/json.md), `[a.md](b)`, "
            "[docs/design/](docs/design/README.md)")
    assert hooks.on_page_markdown(text, page, None, None) == (
        "[Tuning](tuning.md#all), [it](json.md), `[a.md](b)`, [Design](design/README.md)")
