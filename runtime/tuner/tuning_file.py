"""Tuning files: ``NAME=INT`` lines as Futhark's, and a JSON file beside them with the rest."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from runelift.ir.errors import UserError

_LINE = re.compile(r"([A-Za-z_][\w.']*)\s*=\s*(-?\d+)")


def tuning_path(program: Path) -> Path:
    """Where the tuning of a program is kept."""
    return program.with_name(program.name + ".tuning")


def read_tuning(path: Path, known: Collection[str] | None = None) -> dict[str, int]:
    """The parameters in a tuning file.

    Blank lines and ``--`` comments are skipped.  A line that is neither is a UserError with its
    number; a name that is not ``known`` is reported on stderr and left out.
    """
    try:
        text = path.read_text()
    except OSError as error:
        raise UserError(f"Cannot read tuning file '{path}': {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"Tuning file '{path}' is not text; delete it or tune again.") from None
    values: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("--"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UserError(f"{path}:{number}: expected NAME=INT, found '{line}'.")
        if known is not None and match[1] not in known:
            print(f"runelift: {path}:{number}: unknown parameter '{match[1]}' is ignored; "
                  "the program may have changed since it was tuned.", file=sys.stderr)
            continue
        values[match[1]] = int(match[2])
    return values


def write_tuning(path: Path, thresholds: Mapping[str, int], facts: Mapping[str, Any]) -> None:
    """Write the thresholds, and ``facts`` as JSON beside them; each file at once or not at all."""
    _replace(path, "".join(f"{name}={value}\n" for name, value in thresholds.items()))
    _replace(path.with_name(path.name + ".json"), json.dumps(facts, indent=1) + "\n")


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text)
        os.replace(temporary, path)
    except OSError as error:
        raise UserError(f"Cannot write '{path}': {error.strerror}.") from None
