"""The look of pages: contrast of their colours, print, contents, and what a summary may have."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from runelift.runtime.tools.explanation import page as explanation
from runelift.runtime.tools.notebook import fragments
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages.document import MANY, document, section
from runelift.runtime.tools.pages.markup import read

FRAGMENTS = read("fragments.css", fragments.__package__)
ENOUGH = 4.5
"""The least contrast of text, as WCAG 2.2 asks for (AA)."""
SHEETS = read("page.css") + read("explanation.css", explanation.__package__)
SCHEMES = [dict(re.findall(r"--([\w-]+): (#\w+)", block))
           for block in re.findall(r":root \{(.*?)\}", SHEETS, re.S)]
"""The colours of light and of dark pages, by name."""
THEMES = {"Jupyter, light": ("#212121", "#ffffff"), "Jupyter, dark": ("#ffffff", "#111111"),
          "VS Code, light": ("#3b3b3b", "#ffffff"), "VS Code, dark": ("#cccccc", "#1f1f1f")}
"""Text and background of notebooks."""


def parts(colour: str) -> list[float]:
    """Red, green and blue from 0 to 1."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
    return [int(digits[k:k + 2], 16) / 255 for k in (0, 2, 4)]


def mixed(one: list[float], share: float, other: list[float]) -> list[float]:
    return [share * x + (1 - share) * y for x, y in zip(one, other, strict=True)]


def contrast(one: list[float], other: list[float]) -> float:
    def luminance(colour: list[float]) -> float:
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colour]
        return sum(x * y for x, y in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_colours() -> None:
    assert contrast(parts("#000"), parts("#fff")) == pytest.approx(21)
    assert contrast(parts("#777777"), parts("#fff")) == pytest.approx(4.48, abs=0.01)


def test_text_of_pages_can_be_read() -> None:
    """All colours of text on all colours behind text, light and dark."""
    inks = set(re.findall(r"(?<![\w-])color: var\(--([\w-]+)\)", SHEETS)) | {"ink"}
    papers = set(re.findall(r"background: var\(--([\w-]+)\)", SHEETS))
    assert len(SCHEMES) == 2
    assert len(inks) >= 8
    assert {"paper", "added", "marked"} <= papers
    for colours, (ink, paper) in product(SCHEMES, product(sorted(inks), sorted(papers))):
        assert contrast(parts(colours[ink]), parts(colours[paper])) >= ENOUGH, (ink, paper)
    for colours in SCHEMES:
        deepest = mixed(parts(colours["heat"]), charts.DEEPEST, parts(colours["paper"]))
        assert contrast(parts(colours["ink"]), deepest) >= ENOUGH


def test_colours_have_names() -> None:
    rules = re.sub(r":root \{.*?\}", "", SHEETS, flags=re.S)
    assert re.findall(r"#[0-9a-f]{3,6}\b(?![^{}]*\{)", rules) == []
    assert "opacity" not in "".join(re.findall(r"[^{}]*color:[^{}]*", rules))


@pytest.mark.parametrize("theme", THEMES)
def test_text_in_notebooks_can_be_read(theme: str) -> None:
    text, paper = map(parts, THEMES[theme])
    for share in re.findall(r"(?<![\w-])opacity: ([.\d]+)", FRAGMENTS):
        assert contrast(mixed(text, float(share), paper), paper) >= ENOUGH, share
    colours = re.findall(r"--(\w+): color-mix\(in srgb, (#\w+) (\d+)%, currentcolor\)", FRAGMENTS)
    assert {name for name, _, _ in colours} == set(
        re.findall(r"(?<![\w-])color: var\(--(\w+)\)", FRAGMENTS))
    for name, colour, share in colours:
        assert contrast(mixed(parts(colour), int(share) / 100, text), paper) >= ENOUGH, name


def test_printed_pages_are_light_and_keep_what_scrolls() -> None:
    dark, = re.findall(r"@media ([^{]*)\{ :root", SHEETS)
    assert dark.strip() == "screen and (prefers-color-scheme: dark)"
    printed = "".join(re.findall(r"@media print \{(.*?\}) \}", SHEETS, re.S))
    for words in ("pre { overflow: visible", "pre-wrap", "pre.text { max-height: none",
                  "details::details-content { content-visibility: visible"):
        assert words in printed
    script = read("explanation.js", explanation.__package__)
    assert "addEventListener('beforeprint', () => all('pre[data-text]').filter(isOpen)" in script


def test_a_summary_has_no_links() -> None:
    template = Path(explanation.__file__).with_name(explanation.TEMPLATE).read_text()
    summaries = re.findall(r"<summary>.*?</summary>", template, re.S)
    assert len(summaries) >= 6
    assert [each for each in summaries if "<a" in each or "place(" in each] == []


def test_long_pages_have_contents() -> None:
    def page(number: int) -> str:
        return document("A page", [section(f"a < {k}", [section("Part", [], 3)] if k else [])
                                   for k in range(number)])

    assert "<nav" not in page(MANY // 2)
    long = page(MANY)
    assert re.findall(r'<h[23] id="(\w+)"', long) == re.findall(r'<a href="#(\w+)"', long)
    assert long.count("<li>") == MANY
    assert '<a href="#s2">a &lt; 1</a> · <a href="#s3">Part</a>' in long
