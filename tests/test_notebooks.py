"""The notebooks of the pages run, in an empty folder, with errors only where they show one.

``pytest tests/test_notebooks.py --regenerate-golden`` writes them with their outputs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[1] / "docs"
LESSONS = sorted((DOCS / "lessons").glob("*.ipynb"))
NOTEBOOKS = [*sorted((DOCS / "notebooks").glob("*.ipynb")), *LESSONS]
QUICK = ("python", "02-", "04-")
"""Those that the quick suite runs."""


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shows_html(cell: Any) -> bool:
    return any("text/html" in out.get("data", {}) for out in cell.outputs)


@pytest.mark.sweep(keep=[*QUICK])
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3",
                   resources={"metadata": {"path": str(tmp_path)}}).execute()
    if pytestconfig.getoption("--regenerate-golden"):
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times of the machine
        nbformat.write(notebook, path)
    cells = code_cells(notebook)
    for cell in cells:
        failed = [out for out in cell.outputs if out.output_type == "error"]
        assert bool(failed) == ("raises-exception" in cell.metadata.get("tags", ())), cell.source
        for error in failed:
            assert len(error.traceback) <= 6
        assert not any(out.get("name") == "stderr" for out in cell.outputs), cell.source
        if cell.source.splitlines()[-1].startswith("runelift.profile("):
            assert "display_data" not in [out.output_type for out in cell.outputs]
    assert sum(map(shows_html, cells)) >= (1 if path in LESSONS else 8)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_its_form(path: Path) -> None:
    """It was executed, ends in a picture, and has folded solutions of its exercises with checks."""
    notebook = nbformat.read(path, as_version=4)
    cells = code_cells(notebook)
    tagged = {tag: [cell for cell in cells if tag in cell.metadata.get("tags", ())]
              for tag in ("solution", "check")}
    assert path.stat().st_size < 200_000
    assert [cell.source for cell in cells if cell.execution_count is None] == []
    assert shows_html(cells[-1])
    assert 2 <= len(tagged["solution"]) <= len(tagged["check"])
    assert all(cell.metadata["jupyter"]["source_hidden"] for cell in tagged["solution"])


def test_lessons_need_no_module_of_the_inside() -> None:
    for path in LESSONS:
        text = "\n".join(cell.source for cell in code_cells(nbformat.read(path, as_version=4)))
        assert re.findall(r"runelift\.(?:ir|frontend|rewrite|codegen|runtime)\b", text) == []


def test_notebooks_that_call_the_command_make_it_known() -> None:
    """A notebook may run without the folder of the command on PATH; the extension adds it."""
    sources = {path.stem: "\n".join(cell.source for cell in code_cells(nbformat.read(path, 4)))
               for path in NOTEBOOKS}
    callers = {name for name, text in sources.items()
               if re.search(r"^%%bash|^!\s*runelift", text, re.M)}
    assert len(callers) > 5
    assert [name for name in callers if not re.search(
        r"^%load_ext runelift\n(?:.*\n)*?(?:%%bash|!\s*runelift)", sources[name], re.M)] == []


def test_every_lesson_is_listed_and_links_lead_somewhere() -> None:
    page = (DOCS / "lessons" / "README.md").read_text()
    assert re.findall(r"\]\(([\w-]+\.ipynb)\)", page) == [path.name for path in LESSONS]
    for path in LESSONS:
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells
                         if cell.cell_type == "markdown")
        links = re.findall(r"\]\(([^):#]+)\)", text)
        assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_small_compiler_is_small() -> None:
    """At most 600 lines with the exercises, and nothing of ours before it meets the real one."""
    notebook = nbformat.read(DOCS / "lessons" / "12-a-small-compiler.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in code_cells(notebook))
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 600
    alone, _ = text.split("import runelift\n")
    imported = set(re.findall(r"^(?:import|from) (\w+)", alone, re.M))
    assert {"lark", "pyopencl"} < imported
    assert imported <= {*sys.stdlib_module_names, "lark", "numpy", "pyopencl"}
