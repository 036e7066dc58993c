"""The scripts of ``docs/tasks``, step by step: what each step prints, and how long it takes.

``python -m tests.task_scripts docs/tasks/compile.sh`` shows that, in an empty folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import nbformat
from nbclient import NotebookClient

TASKS = Path(__file__).parents[1] / "docs" / "tasks"
STEP = re.compile(r"^# (?:%% )?(\d+)\. (.*)\n", re.M)
SHOWN = re.compile(r'see ((?:"[^"]*"(?:, )?)+)')
FAILS = "an error is meant"
"""Part of the title of a cell that fails."""
SENT = "\x1e"
"""A character between the outputs of steps, which no command prints."""
COMMANDS = {"python": "", "runelift": "-m runelift", "jupyter": "-m jupyter",
            "jupyter-execute": '-c "from nbclient.cli import main; main()"'}
"""What commands run with the Python of the tests, whatever is installed beside it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its number and title, what it printed, and its seconds."""

    number: int
    title: str
    output: str
    seconds: float

    @property
    def missing(self) -> list[str]:
        """What the title promises, and the output does not have."""
        return [each for found in SHOWN.findall(self.title)
                for each in re.findall(r'"([^"]*)"', found) if each not in self.output]


def run(script: Path, folder: Path) -> list[Step]:
    """Run a script in a folder; AssertionError if it ends early."""
    text = script.read_text()
    titles = [(int(number), title) for number, title in STEP.findall(text)]
    outputs = list((_cells if script.suffix == ".py" else _commands)(script, folder))
    steps = [Step(number, title, *found)
             for (number, title), found in zip(titles, outputs, strict=False)]
    assert len(outputs) == len(titles), f"{script.name} ends early:\n{steps[-1].output}"
    return steps


def _commands(script: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """The output and seconds of each step of a shell script, up to the one that fails."""
    marked = STEP.sub(lambda step: f"printf '{SENT}'\n", script.read_text())
    copy = folder / script.name
    copy.write_text(marked.replace('"${BASH_SOURCE[0]}"', f'"{script}"') + f"printf '{SENT}'\n")
    with subprocess.Popen(["bash", copy.name], cwd=folder, env=environment(folder), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        assert running.stdout is not None
        output, since = "", None
        while character := running.stdout.read(1):
            if character != SENT:
                output += character
                continue
            if since is not None:
                yield output, perf_counter() - since
            output, since = "", perf_counter()
    assert running.returncode == 0 or since is not None
    if running.returncode:
        raise AssertionError(f"{script.name} fails:\n{output}")


def environment(folder: Path) -> Mapping[str, str]:
    """Variables with which scripts find the commands, and install nothing from elsewhere."""
    commands = folder / ".commands"
    commands.mkdir()
    for name, words in COMMANDS.items():
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (commands / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "RUNELIFT_KEEP"}
    return kept | {"PATH": f"{commands}:{os.environ['PATH']}", "PIP_NO_INDEX": "1",
                   "PIP_NO_BUILD_ISOLATION": "0",  # 0 means yes: pip reads it as --no-...
                   "RUNELIFT_CACHE": str(folder / ".cache")}


def _cells(script: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """The output and seconds of each cell of a notebook, written as a script with ``# %%``."""
    parts = STEP.split(script.read_text())
    cells = [nbformat.v4.new_code_cell(
        source.strip(), metadata={"tags": ["raises-exception"] if FAILS in title else []})
        for title, source in zip(parts[2::3], parts[3::3], strict=True)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = NotebookClient(notebook, timeout=120, kernel_name="python3",
                            resources={"metadata": {"path": str(folder)}})
    with client.setup_kernel():
        for number, cell in enumerate(cells):
            since = perf_counter()
            client.execute_cell(cell, number)
            failed = any(out.output_type == "error" for out in cell.outputs)
            assert failed == bool(cell.metadata["tags"]), cell.source
            yield "\n".join(map(_shown, cell.outputs)), perf_counter() - since


def _shown(output: nbformat.NotebookNode) -> str:
    """An output of a cell as text."""
    if output.output_type == "error":
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
    if output.output_type == "stream":
        return str(output.text)
    return "\n".join(str(output.data[kind]) for kind in ("text/plain", "text/html")
                     if kind in output.data)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for step in run(Path(sys.argv[1]).resolve(), Path(folder)):
            print(f"\n===== {step.number}. {step.title}  [{step.seconds:.1f} s]\n{step.output}")
            if step.missing:
                print(f"***** missing: {step.missing}")


if __name__ == "__main__":
    main()
