"""What notebooks show: whole and escaped fragments, styled for dark and light pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.notebook import fragments
from runelift.runtime.tools.pages.markup import read
from tests import screens

TEXT = """\
-- | Sums of rows, for n < m & <b>more</b>.
entry sums [n][m] (xss: [n][m]f32): [n]f32 = map (reduce (+) 0) xss

entry powers [n] (k: i32) (xss: [n][n]f32): [n][n]f32 =
  loop yss = xss for _i < k do
    map (\\ys -> map (\\xs -> reduce (+) 0 (map2 (*) xs ys)) (transpose xss)) yss

entry pair (x: f32) = (id {re = x, im = x}, x)
"""
VOID = {"meta", "br", "img"}


class Balance(HTMLParser):
    """Counts elements, and fails where one ends that is not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def program() -> Program:
    found = runelift.compile(TEXT, device="Portable")
    found.recording = True
    found.sums(np.ones((3, 4), np.float32))
    found.powers(2, np.ones((4, 4), np.float32))
    found.recording = False
    return found


@pytest.fixture(scope="module")
def shown(program: Program) -> dict[str, Any]:
    datasets = {"<i>wide": [np.ones((2, 50), np.float32)], "tall": [np.ones((50, 2), np.float32)]}
    return {
        "program": program, "entry": program.sums, "forest": program.tree.entry("powers"),
        "tree": program.tree, "core": program.source("core"),
        "kernels": program.source("kernels", "sums"), "host": program.source("host", "sums"),
        "imp": program.source("imp", "sums"), "records": program.records,
        "record": program.records[-1],
        "tuning": program.tune(datasets, entry="sums", repeats=1, time_limit="none"),
        "array": program.to_device(np.ones((2, 3), np.float32)), "opaque": program.pair(2.0)[0],
        "large": program.to_device(np.zeros(1 << 19, np.float32)),
        "nothing": runelift.Records()}


SAID = {"program": "Sums of rows, for n &lt; m &amp; &lt;b&gt;more&lt;/b&gt;.",
        "entry": "sums [n] [m] (xss: [n][m]f32): [n]f32", "forest": "V5 (flat)",
        "tree": "n ≥ sums.suff_outer_par_0", "core": "redomap", "kernels": "Prelude",
        "host": "host of sums", "imp": "imp of sums", "records": "on the device",
        "record": "powers.versions_0", "tuning": "&lt;i&gt;wide", "array": "24 B on",
        "opaque": "Opaque {im: f32, re: f32}", "large": "array.get() reads its elements",
        "nothing": "No records."}


@pytest.mark.parametrize("name", SAID)
def test_fragments_are_whole_and_escaped(name: str, shown: dict[str, Any]) -> None:
    html = shown[name]._repr_html_()
    assert SAID[name] in html
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    assert not {"script", "b", "i"} & set(parser.seen)
    assert html.startswith('<div class="runelift"><style>')
    assert len(repr(shown[name])) < len(html)
    if name in ("forest", "tuning"):
        assert "svg" in parser.seen or "table" in parser.seen


def test_texts_are_short(shown: dict[str, Any]) -> None:
    assert repr(shown["tuning"]).startswith("Tuning")
    assert [row["dataset"] for row in shown["tuning"].to_dicts()] == [
        "sums: <i>wide", "sums: tall"]
    assert 0 < shown["tuning"].to_pandas()["tuned"].min() < 1
    assert repr(shown["tree"]).startswith("sums\n└─ ")
    assert repr(shown["record"]).startswith("<Record of 'powers': ")
    assert repr(shown["core"]) == str(shown["core"]) == shown["core"]
    assert type(str(shown["core"])) is str


def test_the_style_is_for_fragments_only() -> None:
    rules = re.sub(r"\{[^}]*\}", ";", read("fragments.css", fragments.__package__))
    assert all(part.strip().startswith(".runelift") for part in re.split("[;,]", rules)
               if part.strip())


@pytest.mark.skipif(screens.PROGRAM is None, reason=screens.MISSING)
def test_screens_show_all_of_it(shown: dict[str, Any], tmp_path: Path) -> None:
    body = "".join(f"<section>{each._repr_html_()}</section>" for name, each in shown.items()
                   if name not in ("core", "kernels", "host", "imp"))
    page = tmp_path / "notebook.html"
    page.write_text('<!doctype html><html lang="en"><meta charset="utf-8"><title>Notebook</title>'
                    '<meta name="viewport" content="width=device-width">'
                    "<style>:root { color-scheme: light dark; } body { font: 14px sans-serif; }"
                    f"</style><body><main>{body}</main></body></html>")
    assert screens.screens(page, widths=(1280,), schemes=("light", "dark")) == []
