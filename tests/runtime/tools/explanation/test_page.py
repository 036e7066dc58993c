"""The page of ``explain --html``: texts, the places of their lines, and its use in a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.files import read_source
from runelift.ir.base.source import Loc, Source
from runelift.ir.names import Names
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.explanation.history import History
from runelift.runtime.tools.explanation.page import Texts, steps_shown, version_kernels
from runelift.runtime.versions.forest import entry_forest
from tests.screens import MISSING, PROGRAM, Tab, browser

EXAMPLES = Path(__file__).parents[4] / "examples"
MOST_BYTES = 1_000_000


def watched(path: Path) -> tuple[Compiled, History]:
    history = History(Rewriting(Names()))
    return compile_source(read_source(path), rewriting=history.rewriting), history


def unpacked(page: str) -> Any:
    packed = re.search(r'id="texts">(.*?)<', page)
    assert packed is not None
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def covered(source: Source, place: list[int]) -> str:
    """The text between the first and the last character of a place."""
    line, column, last, end = place
    rows = source.text.split("\n")[line - 1:last]
    rows[-1] = rows[-1][:end]
    return "\n".join([rows[0][column - 1:], *rows[1:]])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "matmul.html"
    assert main(["explain", str(EXAMPLES / "matmul.fut"), "--html", str(path)]) == 0
    return path


@pytest.mark.parametrize("name", ["matmul", "nn", "kmeans"])
def test_nearly_every_line_of_a_kernel_knows_its_place(name: str) -> None:
    compiled, _ = watched(EXAMPLES / f"{name}.fut")
    plan, origins = compiled.explained_plan("main")
    found = version_kernels(plan, origins, entry_forest(compiled.versioned_entry("main").funs[0]),
                            Texts(compiled.source))
    kernels = [kernel for version in found for kernel in version.kernels]
    assert sum(each.linked for each in kernels) > 0.95 * sum(each.lines for each in kernels)


def test_lines_come_from_the_expression_that_they_compute(page: Path) -> None:
    source, data = read_source(EXAMPLES / "matmul.fut"), unpacked(page.read_text())
    found: dict[str, set[str]] = {"mul.f32(": set(), " + (x_": set()}
    for text, numbers in data["texts"]:
        for line, known in zip(text.split("\n"), numbers, strict=True):
            for words in found:
                if words in line:
                    own = known[:known.index(0)] if 0 in known else known
                    found[words] |= {covered(source, data["places"][k - 1]) for k in own}
    product = "map2 (*) xs ys"
    assert found == {"mul.f32(": {product}, " + (x_": {product, f"reduce (+) 0 ({product})"}}


def test_passes_follow_each_other_and_tell_their_rules() -> None:
    _, history = watched(EXAMPLES / "matmul.fut")
    for one, next_ in zip(history.passes, history.passes[1:], strict=False):
        assert one.after is next_.before
    (fuse,) = (each for each in history.passes if each.name == "fuse")
    assert [(each.rule, each.count) for each in fuse.firings] == [("map_redomap", 1)]
    added = [line for line in fuse.diff() if line.startswith("+")]
    assert any("redomap m_2 (x_6, x_8)" in line for line in added)
    for each in history.passes:
        assert each.diff() == [] or each.firings or each.name == "flatten"


def test_steps_tell_what_they_made_and_why_others_did_not_fire() -> None:
    compiled, history = watched(EXAMPLES / "matmul.fut")
    derivation, texts = compiled.derivation("main"), Texts(compiled.source)
    (flat,) = (each.after for each in history.passes if each.name == "flatten")
    (top,) = (step for step in derivation.steps if step.depth == 0 and step.rule == "G3")
    assert [*top.after] == [stm for stm in flat.funs[0].body.stms if stm.pat == top.before[0].pat]
    (shown,) = (step for step in steps_shown(derivation, texts) if step.rule == "G3")
    assert ("G2", "the body of the map has parallelism") in [
        (other.name, other.why) for other in shown.others]
    assert shown.law is not None
    assert shown.law[0].startswith("Σ ⊢ map (λx → e) xs ⇒ if t_top ≤ Par(Σ')")
    assert [inner.rule for inner in shown.inside][:2] == ["G3", "G3"]
    assert shown.inside[1].nest == "⟨i < n⟩"
    assert texts.places[shown.place - 1][:2] == (21, 3)


def test_refused_rules_stand_at_the_step_that_fired(tmp_path: Path) -> None:
    path = tmp_path / "p.fut"
    path.write_text("entry main [n] (xss: [n][n]f32) (m: i64): [n]f32 =\n"
                    "  map (\\xs -> loop acc = 0 for i < m do acc + reduce (+) 0 xs) xss\n")
    compiled, _ = watched(path)
    refused = [step for step in compiled.derivation("main").steps if not step.fired]
    shown = steps_shown(compiled.derivation("main"), Texts(compiled.source))
    flat = [*shown]
    for step in flat:
        flat += step.inside
    told = {other.why for step in flat for other in step.others} | {
        step.note for step in flat if not step.fired}
    assert {step.note for step in refused} <= told


@pytest.mark.sweep(keep=["matmul"])
@pytest.mark.parametrize("name", ["matmul", "OptionPricing", "vgg"])
def test_pages_are_small_and_need_nothing_else(name: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert main(["explain", str(EXAMPLES / f"{name}.fut"), "--html", str(path)]) == 0
    text = path.read_text()
    assert len(text.encode()) < MOST_BYTES
    assert re.findall(r'(?:src|href)="(?!#)', text) == []
    assert "url(" not in text
    lines = {line for text, _ in unpacked(text)["texts"] for line in text.split("\n")}
    assert any(line.startswith("__kernel void") for line in lines)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.fut").write_text("entry one (x: i64) = x\nentry two [n] (xs: [n]i64) = map (+ 1) xs\n")
    assert main(["explain", "--html", "p.fut", "--entry", "two"]) == 0  # either order
    assert capsys.readouterr().out.startswith("Wrote p.html (")
    assert "Entry point two" in Path("p.html").read_text()
    assert "Entry point one" not in Path("p.html").read_text()
    assert main(["explain", "p.fut", "--html", "--json"]) == 0
    assert '"page": "p.html"' in capsys.readouterr().out
    assert main(["explain", "p.fut", "--html", "--entry", "three"]) == 1
    assert "Unknown entry point 'three'" in capsys.readouterr().err
    assert main(["explain", "p.fut", "--html", "none/p.html"]) == 1
    assert "Cannot write" in capsys.readouterr().err


def test_text_of_the_program_is_no_markup(tmp_path: Path) -> None:
    (tmp_path / "p.fut").write_text("-- </script><b>\nentry main (x: i64) = x < 1 && x > 0\n")
    assert main(["explain", str(tmp_path / "p.fut"), "--html", str(tmp_path / "p.html")]) == 0
    text = (tmp_path / "p.html").read_text()
    assert "&lt;/script&gt;&lt;b&gt;" in text
    assert text.count("</script>") == 2


def test_places_in_other_files_are_those_of_the_calls() -> None:
    texts = Texts(Source("p.fut", "f x\n"))
    call = Loc("p.fut", 1, 1, callee="f", last=(1, 3))
    assert texts.place(Loc("library", 7, 2, (call,))) == 1
    assert texts.places == [(1, 1, 1, 3)]
    assert texts.place(Loc("library", 7, 2)) == 0


# In a browser


@pytest.fixture(scope="module")
def tab(page: Path) -> Iterator[Tab]:
    if PROGRAM is None:
        pytest.skip(MISSING)
    with browser() as started:
        opened = started.open(page)
        opened.settle()
        yield opened


def test_screens(tab: Tab) -> None:
    tab.run("all('details').slice(0, 24).forEach(each => each.open = true); "
            "all('pre[data-text]').filter(isOpen).forEach(fill)")
    assert [*tab.findings(480, "dark"), *tab.findings(1280, "light")] == []


def test_lines_that_belong_together_are_marked(tab: Tab) -> None:
    tab.press("Escape")
    kernel = "all('details.kernel')[0]"
    tab.run(f"{kernel}.open = true; {kernel}.scrollIntoView()")
    tab.settle()  # texts have lines where they are near
    marked = "all('.stages .mark').map(e => e.textContent.trim())"
    painted = "[...CSS.highlights.get('{}')].map(range => range.toString())"
    line = "all('.stages .l').find(e => e.textContent.includes('mul.f32(')).id = 'product'"
    tab.run(line)
    tab.click("#product")
    assert tab.run(painted.format("here")) == ["map2 (*) xs ys"]
    assert "matmul xss yss" in tab.run(painted.format("around"))
    assert any(" + (x_" in text for text in tab.run(marked))  # in the kernel
    assert not any("add.f32(" in text for text in tab.run(marked))
    assert tab.run("all('summary.has').length") > 5
    tab.click("#L24")  # the call: all comes from it
    assert any("add.f32(" in text for text in tab.run(marked))
    tab.press("Escape")
    assert tab.run(marked) == []


def test_keys(tab: Tab) -> None:
    tab.press("Escape", "j")
    first = tab.run("document.activeElement.textContent")
    tab.press("j")
    second = tab.run("document.activeElement.textContent")
    assert first != second
    tab.press("k")
    assert tab.run("document.activeElement.textContent") == first
    tab.press("ArrowRight")
    assert tab.run("document.activeElement.parentElement.open") is True
    tab.press("ArrowLeft")
    assert tab.run("document.activeElement.parentElement.open") is False
    tab.press("/", *"segred.local", "Enter")
    tab.settle()
    assert tab.run("document.querySelector('.now').textContent.includes('segred.local')")
    assert re.match(r"1 of \d+", tab.run("found.value"))
    tab.press("Escape", "s")
    tab.press(*["j"] * 21)
    assert tab.run("all('#source .mark').map(e => e.id)") == ["L21"]
    assert tab.run("all('.stages .mark').length") > 0
    tab.press("Escape", "o")
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert tab.run("all('pre[data-text]').every(each => each.childElementCount > 0)")
    tab.press("o")
    assert tab.run("all('details[open]').length") == 0
    assert tab.problems == []
