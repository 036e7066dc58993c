"""The tables of parsers, which come with Runelift: to make them takes up to more than a second.

They serve one version of Lark; where another is installed, they are made at first use and kept in
the user's cache.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import lark
import platformdirs
from lark import Lark


class Tables:
    """A grammar, ``NAME.lark`` of a package, with the tables of its parser, ``NAME.tables``."""

    def __init__(self, package: str, name: str, options: Mapping[str, Any]) -> None:
        self._folder = resources.files(package)
        self._name = name
        self._options = dict(options)
        self.file = f"{name}.tables"
        self.grammar = cache(self._load)
        """The parser, made once in a process."""

    @property
    def text(self) -> str:
        """The text of the grammar."""
        return (self._folder / f"{self._name}.lark").read_text("utf-8")

    @property
    def made_from(self) -> bytes:
        """A hash of the sources that valid tables are made from: text, options, version of Lark."""
        parts = self.text, repr(sorted(self._options.items())), lark.__version__
        return hashlib.sha256("\0".join(parts).encode()).hexdigest().encode()

    def write(self, path: Path) -> None:
        """Make the tables, and write them."""
        out = io.BytesIO()
        Lark(self.text, **self._options).save(out)
        path.write_bytes(self.made_from + b"\n" + zlib.compress(out.getvalue(), 9))

    def _load(self) -> Lark:
        try:
            made_for, _, content = (self._folder / self.file).read_bytes().partition(b"\n")
            if made_for == self.made_from:
                return Lark.load(io.BytesIO(zlib.decompress(content)))
        except (OSError, zlib.error):
            pass
        try:
            kept = Path(platformdirs.user_cache_dir("runelift"))
            kept.mkdir(parents=True, exist_ok=True)
            return Lark(self.text, cache=str(kept / f"{self._name}.lark.cache"), **self._options)
        except (OSError, EOFError, ValueError):
            return Lark(self.text, **self._options)
