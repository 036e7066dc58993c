"""The tables of the parser, which come with Runelift: to make them takes more than a second.

``python -m runelift.frontend.tables`` writes them anew, which is needed when the grammar changes.
They serve one version of Lark; where another is installed, they are made at first use and kept in
the user's cache.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import lark
import platformdirs
from lark import Lark

STARTS = ("start", "exp", "type")
"""What can be parsed: a file, an expression, a type."""
OPTIONS: dict[str, Any] = {
    "parser": "lalr", "lexer": "contextual", "start": list(STARTS),
    "propagate_positions": True, "maybe_placeholders": True,
}
FILE = "grammar.tables"


@cache
def grammar() -> Lark:
    """The parser, made once in a process."""
    text, folder = grammar_text(), resources.files("runelift.frontend")
    try:
        made_for, _, content = folder.joinpath(FILE).read_bytes().partition(b"\n")
        if made_for == made_from(text):
            return Lark.load(io.BytesIO(zlib.decompress(content)))
    except (OSError, zlib.error):
        pass
    try:
        kept = Path(platformdirs.user_cache_dir("runelift"))
        kept.mkdir(parents=True, exist_ok=True)
        return Lark(text, cache=str(kept / "grammar.lark.cache"), **OPTIONS)
    except (OSError, EOFError, ValueError):
        return Lark(text, **OPTIONS)


def grammar_text() -> str:
    """The grammar."""
    return (resources.files("runelift.frontend") / "grammar.lark").read_text()


def made_from(text: str) -> bytes:
    """What tables must have been made from to serve."""
    parts = text, repr(sorted(OPTIONS.items())), lark.__version__
    return hashlib.sha256("\0".join(parts).encode()).hexdigest().encode()


def write(path: Path) -> None:
    """Make the tables, and write them."""
    text, out = grammar_text(), io.BytesIO()
    Lark(text, **OPTIONS).save(out)
    path.write_bytes(made_from(text) + b"\n" + zlib.compress(out.getvalue(), 9))


if __name__ == "__main__":
    write(Path(__file__).with_name(FILE))
