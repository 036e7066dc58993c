"""The files that an editor works on: open texts, saved programs beside them, and what they import.

An open text stands for its file.  A saved one is read again when its file changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from runelift.frontend.definitions import Mention
from runelift.frontend.references import References
from runelift.frontend.syntax import module_ast
from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_source
from runelift.ir.base.shipped import imported
from runelift.ir.base.source import Span
from runelift.runtime.tools.editors.documents import Document, path_of

_IMPORT = re.compile(r'import\s*"([^"\n]*)"')


class Workspace:
    """The documents of an editor by their URIs, the folders that it shows, and names in files."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.folders: list[Path] = []
        self._saved: dict[Path, tuple[tuple[int, int], Document]] = {}
        self._references = References(self._module)
        self._read: dict[Path, module_ast.Module | None] = {}
        """The trees that the references come from."""

    # Files

    def at(self, path: Path) -> Document | None:
        """The text of a file, open or saved; None if it cannot be read."""
        for each in self.documents.values():
            if each.path == path:
                return each
        try:
            status = path.stat()
            stamp = status.st_mtime_ns, status.st_size
            if path not in self._saved or self._saved[path][0] != stamp:
                self._saved[path] = stamp, Document(read_source(path))
        except (OSError, ValueError, UserError):
            return None
        return self._saved[path][1]

    def programs(self) -> set[Path]:
        """The open files, and the programs in the folders of the editor.

        If the editor shows no folder, the folders of open files count, without the folders inside
        of them.
        """
        found = {each.path for each in self.documents.values()}
        given = self.folders or {path.parent for path in found}
        pattern = "**/*.fut" if self.folders else "*.fut"
        with suppress(OSError):
            found |= {each.resolve() for folder in given for each in folder.glob(pattern)}
        return found

    def importers(self, wanted: Iterable[Path]) -> set[Path]:
        """Files, and all programs that import them, perhaps through other files."""
        users: dict[Path, set[Path]] = {}
        for path in self.programs():
            document = self.at(path)
            for other in () if document is None else _imports(document):
                users.setdefault(other, set()).add(path)
        found, todo = set(wanted), list(wanted)
        while todo:
            new = users.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    # Names

    def references(self) -> References:
        """The definitions and uses of names in all files, as far as they have been read."""
        if any(self.tree(path) is not tree for path, tree in self._read.items()):
            self._read = {}
            self._references = References(self._module)
        return self._references

    def mentions(self, document: Document) -> list[Mention]:
        """The definitions and uses in the last text of a document that could be parsed."""
        return self.references().mentions(document.path)

    def current(self, span: Span) -> Span | None:
        """The place in the current text of a place in the last tree; None if it is gone."""
        document = self.at(path_of(span.source))
        if document is None or document.parsed is None or document.parsed.source is not span.source:
            return span
        move = document.move_to(document.parsed)
        start, end = move.to_new(span.start), move.to_new(span.end)
        return None if start is None or end is None else Span(document.source, start, end)

    def tree(self, path: Path) -> module_ast.Module | None:
        """The last tree of a file; None if there is none."""
        document = self.at(path)
        found = None if document is None else document.parsed or document.with_tree()
        return None if found is None else found.module

    def _module(self, path: Path) -> module_ast.Module | None:
        self._read[path] = found = self.tree(path)
        return found


def _imports(document: Document) -> Iterator[Path]:
    """The files that a text imports, and perhaps some that only its comments name."""
    for found in _IMPORT.finditer(document.source.text):
        with suppress(OSError, ValueError):
            yield imported(document.path, found[1])
