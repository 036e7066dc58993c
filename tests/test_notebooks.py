"""The notebooks of the pages run, in an empty folder, with errors only where they show one.

``pytest tests/test_notebooks.py --regenerate-golden`` writes them with their outputs.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3",
                   resources={"metadata": {"path": str(tmp_path)}}).execute()
    if pytestconfig.getoption("--regenerate-golden"):
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times of the machine
        nbformat.write(notebook, path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        failed = [out for out in cell.outputs if out.output_type == "error"]
        assert bool(failed) == ("raises-exception" in cell.metadata.get("tags", ())), cell.source
        for error in failed:
            assert len(error.traceback) <= 6
    assert sum("text/html" in out.get("data", {}) for cell in cells for out in cell.outputs) >= 8
