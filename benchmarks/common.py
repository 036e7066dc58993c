"""The options that benchmarks have in common, and the files that they write."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parent.parent / "examples"


def parser_of(doc: str | None, only: str | None = None) -> argparse.ArgumentParser:
    """A parser with ``--device`` and ``--json``; with ``--only`` if a text says what it picks."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where results are written")
    if only is not None:
        parser.add_argument("--only", default="", help=only)
    return parser


def write_json(path: Path | None, found: Any) -> None:
    """Write what was found, if a file is named; what JSON does not know is written as text."""
    if path is not None:
        path.write_text(json.dumps(found, indent=1, default=str) + "\n")
