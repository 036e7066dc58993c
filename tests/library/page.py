"""Writes ``docs/library.md`` from the comments of the shipped files.

``python -m tests.library.page`` writes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from runelift.ir.base.shipped import FOLDER, shipped_names

PAGE = Path(__file__).parent.parent.parent / "docs" / "library.md"
FILES = [FOLDER / f"{name.removeprefix('std/')}.fut" for name in shipped_names()]

HEAD = """\
# Library

Files that come with Runelift: `import "std/sort"` makes their functions known.  They are ordinary
programs in the language.  A program's own file of such a name goes first, and its own names hide
those of the library.  `module s = import "std/sort"` keeps all of them behind `s.`.

Functions that need a type of numbers are members of a module for each: `stats_f32.mean xs`,
`stats_f64.mean xs`.  `mk_linalg` and the like make such a module for another type.

A script writes this page (`python -m tests.library.page`), and a test runs each example.
"""

_ENTRY = re.compile(r"^ *-- \| (?P<text>[^\n]*(?:\n *--(?! ==)[^\n]*)*)\n"
                    r" *def (?P<name>\w+)", re.MULTILINE)


class Function(NamedTuple):
    """A function, what its comment says, and its example with the value."""

    name: str
    text: str
    example: str
    value: str


def intro(path: Path) -> str:
    """The first comment of a file."""
    lines = path.read_text().split("\n\n--", 1)[0].splitlines()
    whole = "\n".join(line.removeprefix("--").removeprefix(" ") for line in lines
                      if line.startswith("--"))
    return whole.strip()


def functions(path: Path) -> list[Function]:
    """The documented functions of a file, in their order."""
    found = []
    for each in _ENTRY.finditer(path.read_text()):
        lines = [line.strip().removeprefix("--").strip() for line in each["text"].splitlines()]
        start = next(i for i, line in enumerate(lines) if line.startswith(">>>"))
        found.append(Function(each["name"], " ".join(lines[:start]).strip(),
                              lines[start].removeprefix(">>>").strip(),
                              " ".join(lines[start + 1:])))
    return found


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for name, path in zip(shipped_names(), FILES, strict=True):
        rows = [f"| `{f.name}` | {f.text} | `{f.example}` | `{f.value}` |".replace("||", r"\|\|")
                for f in functions(path)]
        parts.append("\n".join([f"## {name}\n", intro(path), "",
                                "| function | what it returns | example | value |",
                                "|---|---|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
