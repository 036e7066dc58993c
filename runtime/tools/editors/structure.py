"""The structure of a text: classes of its tokens, and ranges of lines that can be folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from runelift.frontend.definitions import Definition
from runelift.frontend.syntax.prelude import FUNCTIONS
from runelift.frontend.syntax.tokens import PRIMITIVE_TYPES, RESERVED, scan
from runelift.runtime.tools.editors.documents import Document
from runelift.runtime.tools.editors.signatures import declared_parameters
from runelift.runtime.tools.editors.workspace import Workspace

CLASSES = ("namespace", "type", "interface", "parameter", "variable", "function", "property",
           "enumMember", "keyword", "string", "number", "operator")
"""The classes of tokens; editors know these names."""
DEFINES, PRELUDE = 1, 2
"""The bits of tokens that define a name, and that name what the prelude has."""
_BY_TOKEN = {"string": "string", "char": "string", "float": "number", "integer": "number",
             "constructor": "enumMember", "type_variable": "type", "operator": "operator",
             "qualified_operator": "operator", "range": "operator"}
_BY_KIND = {"type": "type", "module": "namespace", "module type": "interface",
            "parameter": "parameter", "function": "function"}


class Token(NamedTuple):
    """The characters of a token, its class and its bits."""

    start: int
    end: int
    name: str
    bits: int


class Fold(NamedTuple):
    """The first and the last line of a range that can be folded, from 0; ``kind`` may be empty."""

    first: int
    last: int
    kind: str


def tokens(workspace: Workspace, document: Document) -> Iterator[Token]:
    """The tokens of a text that have a class; comments are left to the grammar of the editor."""
    known = _named(workspace, document)
    text = document.source.text
    for token in scan(text):
        kind, word, start, end = str(token.lastgroup), token[0], token.start(), token.end()
        if kind == "field":
            start += 1
        if start in known and kind in ("word", "field", "operator"):
            yield Token(start, end, *known[start])
        elif kind == "word":
            if (other := _unmentioned(word, text[end:end + 1])) is not None:
                yield Token(start, end, *other)
        elif kind == "field" and not text[start].isdigit():
            yield Token(start, end, "property", 0)
        elif kind in _BY_TOKEN:
            yield Token(start, end, _BY_TOKEN[kind], 0)


def _named(workspace: Workspace, document: Document) -> dict[int, tuple[str, int]]:
    """The classes and bits of names that a file defines, by their places in the current text."""
    found = dict[int, tuple[str, int]]()
    if document.parsed is None:
        return found
    move = document.move_to(document.parsed)
    classes = dict[Definition, str]()
    for each in workspace.mentions(document):
        named = each.definition
        if named not in classes:
            classes[named] = _BY_KIND.get(named.kind) or (
                "function" if declared_parameters(named) else "variable")
        if (start := move.to_new(each.span.start)) is not None:
            found[start] = classes[named], DEFINES * (each.span == named.span)
    return found


def _unmentioned(word: str, behind: str) -> tuple[str, int] | None:
    """The class of a word that no definition of a file stands for."""
    if word in RESERVED:
        return "keyword", 0
    if word in PRIMITIVE_TYPES:
        return "namespace" if behind == "." else "type", PRELUDE
    return ("function", PRELUDE) if word in FUNCTIONS else None


def folds(text: str) -> list[Fold]:
    """The lines that can be folded: imports, comments, and a line with the deeper lines below."""
    lines = text.split("\n")
    found = list[Fold]()
    open_ = list[tuple[int, int]]()
    last = 0
    for number, line in enumerate([*lines, "."]):
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        while open_ and open_[-1][1] >= depth:
            first, _ = open_.pop()
            if last > first:
                found.append(Fold(first, last, ""))
        open_.append((number, depth))
        last = number
    for kind, mark in (("comment", "--"), ("imports", "import ")):
        found += _runs(lines, kind, mark)
    return sorted(found)


def _runs(lines: Iterable[str], kind: str, mark: str) -> Iterator[Fold]:
    """Lines one after another that begin with a mark, at least two."""
    for is_marked, group in groupby(enumerate(lines),
                                    lambda each: each[1].lstrip().startswith(mark)):
        numbers = [number for number, _ in group]
        if is_marked and len(numbers) > 1:
            yield Fold(numbers[0], numbers[-1], kind)
