"""All uses of a name, and other names for definitions, in every file of a workspace.

A new name may exist elsewhere.  Names are then looked up in the new texts as well: each must mean
the definition that it meant before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from runelift.frontend.definitions import Definition, Mention
from runelift.frontend.references import References
from runelift.frontend.syntax import module_ast
from runelift.frontend.syntax.tokens import PATTERNS, RESERVED, scan
from runelift.ir.base.errors import UserError
from runelift.ir.base.shipped import is_shipped
from runelift.ir.base.source import Source, Span
from runelift.runtime.tools.editors.analysis import read
from runelift.runtime.tools.editors.answers import Edit, builtin, mention_at, word_at
from runelift.runtime.tools.editors.documents import Document, path_of
from runelift.runtime.tools.editors.evaluation import evaluations
from runelift.runtime.tools.editors.workspace import Workspace

_TESTED = re.compile(r"^[ \t]*--[ \t]*(?:entry|property):([^\n]*)", re.MULTILINE)
"""The lines of test blocks that name entry points."""
_LOCAL = frozenset({"function", "value", "parameter", "size"})
"""The kinds of definitions that other files cannot see."""


@dataclass(frozen=True)
class _Uses:
    """Definitions that share a name, and the files that may use it with what they mention."""

    references: References
    definitions: set[Definition]
    files: list[Path]

    def mentions(self, path: Path) -> list[Mention]:
        """The places of a file that name one of the definitions."""
        return [each for each in self.references.mentions(path)
                if each.definition in self.definitions]


def references(workspace: Workspace, document: Document, offset: int) -> list[Mention]:
    """All places that mention what stands at a place, in all files of the workspace."""
    found = _mentioned(workspace, document, offset)
    if found is None:
        return []
    uses = _uses(workspace, found.definition)
    return [each for path in uses.files for each in uses.mentions(path)]


def renamed(workspace: Workspace, document: Document, offset: int) -> Mention:
    """The name at ``offset``, which may get another name; UserError if it may not."""
    if document.with_tree() is None:
        raise UserError("The program cannot be parsed: mend that first.")
    found = _mentioned(workspace, document, offset)
    if found is None:
        raise UserError(_nothing(document, offset))
    if is_shipped(path_of(found.definition.span.source)):
        raise UserError(f"'{found.definition.name}' is defined in Runelift's library, which stays "
                        "as it is.")
    return found


def rename(workspace: Workspace, document: Document, offset: int, name: str
           ) -> dict[Path, list[Edit]]:
    """The edits of each file that rename the definition at ``offset`` to ``name``.

    UserError if no definition is there, or if a name would mean something else afterwards.
    """
    found = renamed(workspace, document, offset)
    old = found.definition.name
    _check_name(old, name)
    uses = _uses(workspace, found.definition)
    for path in uses.files:
        if (other := workspace.at(path)) is not None and other.with_tree() is None:
            raise UserError(f"'{path.name}' may use '{old}' and cannot be parsed: mend that first.")
    _check_places(workspace, uses.definitions)
    edits = {path: each for path in uses.files if (each := _edits(workspace, uses, path, name))}
    if name != old:
        _check_meaning(workspace, uses, edits, name)
    return edits


def _mentioned(workspace: Workspace, document: Document, offset: int) -> Mention | None:
    """The name at a place, with the texts of all open files as they are."""
    for each in (document, *workspace.documents.values()):
        each.with_tree()
    if document.with_tree() is None:
        return None
    return mention_at(workspace.mentions(document), offset)


def _uses(workspace: Workspace, target: Definition) -> _Uses:
    """The definitions that share the name of ``target``, and the files that may use them."""
    known, own = workspace.references(), path_of(target.span.source)
    if target.kind in _LOCAL:
        return _Uses(known, {target}, [own])
    found = {target}
    while True:
        files = sorted(workspace.importers({path_of(each.span.source) for each in found}))
        for path in files:
            known.mentions(path)
        linked = known.linked(target)
        if linked == found:
            return _Uses(known, found, files)
        found = linked


# What cannot be renamed


def _nothing(document: Document, offset: int) -> str:
    place = word_at(document.source.text, offset)
    word = "" if place is None else document.source.text[slice(*place)]
    if word and word not in RESERVED and builtin(word) is not None:
        return f"'{word}' belongs to the prelude and keeps its name."
    return "Nothing that this program defines stands here."


def _check_name(old: str, new: str) -> None:
    if not re.fullmatch(PATTERNS["word"], new) or new in RESERVED or new.startswith("_"):
        raise UserError(f"'{new}' cannot be a name.")
    if not re.fullmatch(PATTERNS["word"], old):
        raise UserError("Operators keep their names.")


def _check_places(workspace: Workspace, definitions: Iterable[Definition]) -> None:
    """Raise UserError if a definition does not belong to the workspace."""
    programs = workspace.programs()
    for each in definitions:
        path = path_of(each.span.source)
        if workspace.at(path) is None:
            raise UserError(f"A module type of the prelude wants the name '{each.name}'.")
        if path not in programs:
            raise UserError(f"'{each.name}' is defined in '{path}', which is not in the folder "
                            "that is open.")


# Edits


def _edits(workspace: Workspace, uses: _Uses, path: Path, name: str) -> list[Edit]:
    """The edits of a file, in the order of the text."""
    edits = [Edit(each.span.start, each.span.end,
                  f"{each.definition.name} = {name}" if each.field else name)
             for each in uses.mentions(path)]
    old = next(each.name for each in uses.definitions)
    document = workspace.at(path)
    if document is not None and uses.references.value(path, old) in uses.definitions:
        edits += [Edit(start + match.start(), start + match.end(), name)
                  for start, text in _comments_with_names(document.source.text)
                  for match in scan(text) if match[0] == old]
    return sorted(edits)


def _comments_with_names(text: str) -> Iterator[tuple[int, str]]:
    """The parts of comments that mention declarations, with their places."""
    for asked in evaluations(text):
        yield asked.start, asked.text
    for found in _TESTED.finditer(text):
        yield found.start(1), found[1]


class _Edited:
    """A text after edits that give a name, and the places in it of places before."""

    def __init__(self, source: Source, edits: list[Edit], name: str) -> None:
        self._starts = [each.start for each in edits]
        grown = [len(each.text) - (each.end - each.start) for each in edits]
        self._shifts = [0, *accumulate(grown)]
        self._named = {each.start: len(each.text) - len(name) for each in edits}
        parts, end = [], 0
        for each in edits:
            parts += [source.text[end:each.start], each.text]
            end = each.end
        self.source = Source(source.name, "".join(parts) + source.text[end:])

    def place(self, start: int) -> int:
        """The place of a name that began at ``start``."""
        before = bisect_right(self._starts, start - 1)
        return start + self._shifts[before] + self._named.get(start, 0)


class _Meaning(NamedTuple):
    """A place that names something, and the place of the definition that it means."""

    path: Path
    start: int
    defined_in: Path
    defined_at: int


def _check_meaning(workspace: Workspace, uses: _Uses, edits: Mapping[Path, list[Edit]], name: str
                   ) -> None:
    """Raise UserError if edits change the meaning of a name, or define a name twice."""
    documents = {path: document for path in uses.files
                 if (document := workspace.at(path)) is not None}
    texts = {path: document.source for path, document in documents.items()}
    word = re.compile(rf"(?<![\w']){re.escape(name)}(?![\w'])")
    if not any(word.search(source.text) for source in texts.values()):
        return  # what does not exist can neither be hidden nor hide something
    edited = {path: _Edited(source, edits.get(path, []), name) for path, source in texts.items()}
    trees = {path: _tree(edited[path].source, documents[path]) for path in edits}
    after = References(lambda path: trees[path] if path in trees else workspace.tree(path))
    _check_distinct(after, edits, name)

    def moved(path: Path, start: int) -> int:
        return edited[path].place(start) if path in edited else start

    for path in uses.files:
        old = {_Meaning(path, moved(path, start), into, moved(into, at))
               for _, start, into, at in _meanings(uses.references, path)}
        new = set(_meanings(after, path))
        if old != new:
            place = min(old ^ new).start
            raise UserError(f"The name at {Span(edited[path].source, place, place)} would mean "
                            "another definition.")


def _tree(source: Source, before: Document) -> module_ast.Module | None:
    found = read(source, before.parsed)
    if found.module is None:
        raise UserError(f"'{source.name}' could not be parsed with the new name.")
    return found.module


def _check_distinct(after: References, files: Iterable[Path], name: str) -> None:
    """Raise UserError if one list or pattern defines a name twice."""
    seen: dict[tuple[int, str], Definition] = {}
    for path in files:
        for _, found, _ in after.mentions(path):
            if found.name == name and found.among is not None:
                kind = found.kind if found.kind in ("type", "module", "module type") else "value"
                other = seen.setdefault((id(found.among), kind), found)
                if other is not found:
                    raise UserError(f"'{name}' is defined at {other.span} already.")


def _meanings(known: References, path: Path) -> Iterator[_Meaning]:
    paths: dict[str, Path] = {}
    for each in known.mentions(path):
        defined = each.definition.span
        if defined.source.name not in paths:
            paths[defined.source.name] = path_of(defined.source)
        yield _Meaning(path, each.span.start, paths[defined.source.name], defined.start)
