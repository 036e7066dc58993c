"""Source files."""

from __future__ import annotations

from pathlib import Path

from runelift.ir.errors import UserError
from runelift.ir.source import Source


def read_source(path: Path) -> Source:
    """The text of a source file; UserError if it cannot be read."""
    try:
        return Source(str(path), path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"Cannot read '{path}': {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"Cannot read '{path}': it is not a text file in UTF-8.") from None
