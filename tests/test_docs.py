"""The documentation: dumps are what the compiler prints, files exist, pages keep their form.

``pytest tests/test_docs.py --regenerate-golden`` writes them anew.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import runelift
from runelift.ir.base.files import read_source
from runelift.ir.base.shipped import shipped_names
from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.strategies import STRATEGIES
from tests import test_layers as layers
from tests import versions_picture
from tests.wings_picture import picture

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
STAGES = ROOT / "docs" / "one-program.md"
WINGS = ROOT / "docs" / "wings.svg"
VERSIONS = ROOT / "docs" / "versions.svg"
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
NOTEBOOKS = sorted(ROOT.glob("docs/**/*.ipynb"))
DESIGN = [page for page in PAGES if page.parent.name == "design" and page.stem != "README"]
ROOMS = ("ir", "frontend", "rewrite", "codegen", "runtime")
PARTS = ["Problem", "Idea", "Where", "Limits", "Evidence"]
"""The headings of a page about a mechanism, in this order."""
FOLDERS = ("", "codegen", "ir/imp", "rewrite", "rewrite/flatten", "rewrite/flatten/rules",
           "runtime", "runtime/tuner", "runtime/tuner/strategies")
"""Where the files are that pages name without their folder, or with the last part of it only."""
FILE = re.compile(r"`([\w/]+\.(?:py|lark|fut|cl))`|\]\(([^):#]+)\)")
IN_NOTEBOOK = re.compile(r"`(\w+/(?:\w+/)*(?:\w+\.(?:py|lark|fut|cl))?)`")
"""Files and folders with their path; files without one are those that a notebook writes."""
PROGRAM = re.compile(r"```futhark\n(.*?)```", re.S)
BLOCK = re.compile(r"(<!-- stage: (\w+) -->\n```\w*\n)(.*?)(?=```)", re.S)
TREE = re.compile(r"(<!-- tree: (\w+) by (\w+) -->\n```\n)(.*?)(?=```)", re.S)
PROSE = [*PAGES, ROOT / "CHANGELOG.md"]
NO_PROSE = re.compile(r"```.*?```|<!--.*?-->|^\s*\|.*?$|^#.*?$", re.S | re.M)
"""Code, tables and headings."""
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s", re.M)
SENTENCE = re.compile(r"(?<=[.!?])[*)\"]*\s+(?=[A-Z\"*`(0-9Σ])")
KERNEL = re.compile(r"^(?:--|//) intragroup.*?^}\n(?:#undef[^\n]*\n)*", re.M | re.S)


def shown(program: Program, stage: str) -> str:
    """What the page shows of a stage: of kernels, that of the work-group version."""
    if stage == "explain":
        text = "\n\n".join(d.render() for d in program.compiled.derivations)
    else:
        text = program.tree.render() if stage == "tree" else program.source(stage)
    if (kernel := KERNEL.search(text)) is not None:
        text = kernel[0]
    return text.rstrip() + "\n"


def sentences(page: Path) -> list[int]:
    """The lengths of the sentences of a page in words; code in a line counts as one."""
    text = ITEM.sub("\n\n", NO_PROSE.sub("\n\n", page.read_text()))
    text = re.sub(r"`[^`]*`", "CODE", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    return [len(sentence.split()) for paragraph in re.split(r"\n\s*\n", text)
            for sentence in SENTENCE.split(paragraph.strip()) if sentence.strip()]


def test_dumps_are_current(pytestconfig: pytest.Config) -> None:
    page = STAGES.read_text()
    text = PROGRAM.search(page)
    assert text is not None
    program = Program(compile_source(Source("dot.fut", text[1])), None)
    current = BLOCK.sub(lambda m: m[1] + shown(program, m[2]), page)
    if pytestconfig.getoption("--regenerate-golden"):
        STAGES.write_text(current)
    assert len(BLOCK.findall(page)) == 8
    assert STAGES.read_text() == current


def test_the_picture_of_the_wings_is_current(pytestconfig: pytest.Config) -> None:
    current = picture(layers.WINGS)
    if pytestconfig.getoption("--regenerate-golden"):
        WINGS.write_text(current)
    assert WINGS.read_text() == current
    assert f"]({WINGS.name})" in PAGE.read_text()


def test_the_picture_of_versions_is_current(pytestconfig: pytest.Config) -> None:
    current = versions_picture.picture()
    if pytestconfig.getoption("--regenerate-golden"):
        VERSIONS.write_text(current)
    assert VERSIONS.read_text() == current


def test_trees_are_current(pytestconfig: pytest.Config) -> None:
    """The threshold trees of examples, by the policy that a page names."""
    found = 0
    for page in PAGES:
        text = page.read_text()
        current = TREE.sub(lambda m: m[1] + tree(m[2], m[3]), text)
        if pytestconfig.getoption("--regenerate-golden"):
            page.write_text(current)
        assert page.read_text() == current
        found += len(TREE.findall(text))
    assert found


def tree(example: str, policy: str) -> str:
    """The threshold tree of an example."""
    source = read_source(ROOT / "examples" / f"{example}.fut")
    return Program(compile_source(source, policy=policy), None).tree.render() + "\n"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_file_that_is_named_exists(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    gone = [name or link for name, link in FILE.findall(text)
            if not any((ROOT / folder / name).exists() for folder in FOLDERS if name)
            and not (link and (page.parent / link).exists())]
    assert gone == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_file_that_a_notebook_names_exists(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    named = IN_NOTEBOOK.findall(text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) >= 30 or path.stem != "12-a-small-compiler"


@pytest.mark.parametrize("page", PROSE, ids=[str(page.relative_to(ROOT)) for page in PROSE])
def test_no_sentence_is_long(page: Path) -> None:
    assert max(sentences(page)) <= 40


def test_sentences_are_short() -> None:
    assert median(words for page in PROSE for words in sentences(page)) <= 15


def test_a_change_is_said_in_a_line() -> None:
    entries = re.split(r"^- ", PROSE[-1].read_text(), flags=re.M)[1:]
    assert [entry for entry in entries if len(entry.split("\n\n")[0].split()) > 15] == []


def test_the_glossary_is_in_order() -> None:
    terms = re.findall(r"^\| ([^|]+) \|", (PAGE.parent / "glossary.md").read_text(), re.M)[1:]
    assert terms == sorted(terms, key=str.lower)


def test_the_architecture_is_short() -> None:
    assert len(PAGE.read_text().split()) <= 2000


def test_every_package_is_in_the_table_of_rooms() -> None:
    text = PAGE.read_text()
    packages = [init.parent.relative_to(ROOT) for folder in ROOMS
                for init in (ROOT / folder).rglob("*/__init__.py")]
    assert [str(package) for package in packages if f"`{package}/`" not in text] == []


@pytest.mark.parametrize("page", DESIGN, ids=[page.stem for page in DESIGN])
def test_a_mechanism_has_a_page_of_its_form(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r"^## (.*)", text, re.M) == PARTS
    assert len(text.split()) <= 400


def test_every_mechanism_is_listed() -> None:
    listed = re.findall(r"\]\(([\w-]+)\.md\) \|", (PAGE.parent / "design/README.md").read_text())
    assert sorted(listed) == [page.stem for page in DESIGN]


def test_every_example_is_listed() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs" / "examples.md").read_text(), re.M)
    assert sorted(listed) == sorted(p.stem for p in (ROOT / "examples").glob("*.fut"))


PRINTED = {"README.md": "(100, 100)\n(100, 100)", "docs/calls.md": "[ 0.  8. 16. 24.]",
           "docs/derivatives.md": "[-4. -2.  0.  2.]\n",
           "docs/numpy.md": "float32 (5,)\ndistances\n└─ distances.suff_outer_par_0 ≤ n",
           "docs/python.md": "<sums [n] [m] (xss: [n][m]f32): [n]f32>\n[0 2 4]\n(2, 2)\n"}
"""What the examples in Python print, or a part of it."""


@pytest.mark.parametrize("page", PRINTED)
def test_python_that_is_shown_runs(page: str, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT / "examples")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    exec(compile("".join(blocks), page, "exec"), {"__name__": "page"})
    assert PRINTED[page] in capsys.readouterr().out


def test_numpy_and_the_language_agree() -> None:
    page = (ROOT / "docs" / "numpy.md").read_text()
    rows = re.findall(r"^\| `([^`]*)` \| `([^`]*)` \|", page, re.M)
    assert len(rows) >= 25
    values = {"xs": np.array([0.5, 2, 1.5, 3], np.float32), "js": np.array([3, 0, 3]),
              "ys": np.array([1, 1, 2, 0.5], np.float32),
              "a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones((2, 3), np.float32)}
    imports = "".join(f'import "{name}"\n' for name in shipped_names())
    program = runelift.compile(imports + "\n".join(
        f"entry row{k} [n][k] (xs: [4]f32) (ys: [4]f32) (js: [k]i64) (a: [n][3]f32) "
        f"(b: [n][3]f32) = {here}" for k, (_, here) in enumerate(rows)), device="interpreter")
    for k, (there, _) in enumerate(rows):
        wanted = eval(there, {"np": np, **values})
        found = getattr(program, f"row{k}")(*(values[x] for x in ("xs", "ys", "js", "a", "b")))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=there)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype, there


def test_every_strategy_is_listed() -> None:
    page = (PAGE.parent / "tuning.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.M) == list(STRATEGIES)


def test_schedules_that_are_shown_are_current(tmp_path: Path, pytestconfig: pytest.Config,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "lift.md"
    (program,) = re.findall(r"<!-- schedule -->\n```futhark\n(.*?)```", page.read_text(), re.S)
    path = tmp_path / "dot.fut"
    path.write_text(program)

    def current(block: re.Match[str]) -> str:
        assert main(["explain", "schedule", str(path), *block[2].split()]) == 0
        return f"{block[1]}```\n{capsys.readouterr().out}```"

    text = re.sub(r"(<!-- shown(.*?) -->\n)```\n.*?```", current, page.read_text(), flags=re.S)
    if pytestconfig.getoption("--regenerate-golden"):
        page.write_text(text)
    assert page.read_text() == text
