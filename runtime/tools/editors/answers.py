"""Answers to an editor's questions about a document, in places of its text and in Markdown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from itertools import accumulate, takewhile
from typing import NamedTuple

from runelift.frontend.definitions import Definition, Mention, Scope
from runelift.frontend.format import format_text
from runelift.frontend.syntax import module_ast
from runelift.frontend.syntax.prelude import FUNCTIONS, members, signature
from runelift.frontend.syntax.tokens import PATTERNS, PRIMITIVE_TYPES, RESERVED
from runelift.ir.base.errors import Diagnostic, Replacement
from runelift.ir.base.source import Span
from runelift.runtime.tools.editors.analysis import Analysis
from runelift.runtime.tools.editors.documents import Document
from runelift.runtime.tools.editors.workspace import Workspace
from runelift.runtime.tools.interactive.values import show_type

NEAR = 2000
"""The distance in characters up to which local names are offered."""
_DECLARED = frozenset({"declaration", "type", "module", "module type"})
"""The kinds of definitions that can be used far from where they stand."""
_PATH = re.compile(rf"(?:{PATTERNS['word']}\.)*{PATTERNS['word']}")


class Edit(NamedTuple):
    """The replacement of the characters from ``start`` to before ``end`` by ``text``."""

    start: int
    end: int
    text: str


class Hover(NamedTuple):
    """A description of the characters from ``start`` to before ``end``."""

    start: int
    end: int
    text: str


class Completion(NamedTuple):
    """A name that may stand at a place.

    ``kind`` is the kind of its definition, or keyword, type or prelude.
    """

    name: str
    kind: str
    detail: str = ""
    comment: str = ""


# Hover


def hover(workspace: Workspace, document: Document, offset: int) -> Hover | None:
    """The type of what stands at a place, its declaration, and its code versions."""
    parts: list[str] = []
    place = word_at(document.source.text, offset)
    mention = _mention(workspace, document, offset)
    code = _code(document, offset, place, mention)
    if code is not None:
        parts.append(f"```runelift\n{code[2]}\n```")
        place = code[0], code[1]
    if mention is not None and (
            comment := comment_above(mention.definition.whole)):
        parts.append(comment)
    parts += _versions(document, offset, mention)
    return Hover(*place, "\n\n".join(parts)) if parts and place is not None else None


def _code(document: Document, offset: int, place: tuple[int, int] | None,
          mention: Mention | None) -> tuple[int, int, str] | None:
    """The range under the cursor, and code to show: a declaration, or a name and its type."""
    type_ = _type_at(document, offset)
    if mention is not None:
        span, found = mention.span, mention.definition
        if found.kind in _DECLARED or found.kind == "function":
            code = declared(found)
            if type_ is not None and type_[0] == (span.start, span.end):
                code += f"\n-- here: {type_[1]}"
            return span.start, span.end, code
        if found.kind == "size":
            return span.start, span.end, f"{found.name}: i64  -- a size"
        if type_ is not None:
            return span.start, span.end, f"{found.name}: {type_[1]}"
        return span.start, span.end, declared(found).partition("\n")[0]
    if place is not None:
        name = document.source.text[place[0]:place[1]]
        if (known := builtin(name)) is not None:
            code = f"{name}: {known}"
            if type_ is not None and type_[0] == place:
                code += f"\n-- here: {type_[1]}"
            return *place, code
    if type_ is not None:
        (start, end), text = type_
        source = document.source.text[start:end]
        first = source.partition("\n")[0]
        return start, end, (f"{first}: {text}" if first == source and len(first) < 60
                            else f"(expression): {text}")
    return None


def _type_at(document: Document, offset: int) -> tuple[tuple[int, int], str] | None:
    """The smallest typed range of the current text around a place, and its type."""
    if document.good is None:
        return None
    move = document.move_to(document.good)
    old = move.to_old(offset)
    node = None if old is None else next(iter(document.good.around(old)), None)
    if node is None or node.type is None:
        return None
    start, end = move.to_new(node.span.start), move.to_new(node.span.end)
    return None if start is None or end is None else ((start, end), show_type(node.type))


def _versions(document: Document, offset: int, mention: Mention | None) -> list[str]:
    """The code versions of the innermost construct around a place that has several.

    For the name of an entry point they are its threshold tree.
    """
    good, versions = document.good, document.versions
    if good is None or versions is None or good.source.text != versions.text:
        return []
    if mention is not None and mention.definition.whole.text.startswith("entry"):
        tree = versions.trees.get(mention.definition.name)
        return [] if tree is None else [
            f"Code versions, by thresholds or predicted times:\n```text\n{tree}\n```"]
    old = document.move_to(good).to_old(offset)
    for node in () if old is None else good.around(old):
        place = node.span.line, node.span.column
        if (found := versions.constructs.get(place)) is not None:
            return list(found)
    return []


def declared(definition: Definition) -> str:
    """The declaration of a name, without its body."""
    return definition.whole.text.rstrip().removesuffix("=").rstrip()


def builtin(name: str) -> str | None:
    """The type of a built-in name, as its signature has it."""
    *quals, last = name.split(".")
    if not quals and last in PRIMITIVE_TYPES:
        return None
    return FUNCTIONS.get(name) or signature(tuple(quals), last)


def comment_above(whole: Span) -> str:
    """The comment lines right before a declaration, without marks; "" if there are none.

    Examples and tests, and what follows them, are left out.
    """
    text = whole.source.text
    start = text.rfind("\n", 0, whole.start) + 1
    if text[start:whole.start].strip():
        return ""
    lines: list[str] = []
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        line = text[before:start - 1].strip()
        if not line.startswith("--"):
            break
        lines.insert(0, line[2:].strip().removeprefix("| "))
        start = before
    return "\n".join(takewhile(lambda line: not line.startswith(("==", ">>>")), lines)).strip()


def word_at(text: str, offset: int) -> tuple[int, int] | None:
    """The range of the name at a place, with the modules before it."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for match in _PATH.finditer(text, start, len(text) if end < 0 else end):
        if match.start() <= offset <= match.end():
            return match.span()
    return None


# Definitions


def mention_at(mentions: list[Mention], offset: int) -> Mention | None:
    """The name at a place, or just before it."""
    found = [each for each in mentions if each.span.start <= offset <= each.span.end]
    return next((each for each in found if offset < each.span.end), None) or (
        found[0] if found else None)


def _mention(workspace: Workspace, document: Document, offset: int) -> Mention | None:
    """The name at a place, of the last text that could be parsed, or else of this one.

    The last text is there at once; a place that is new needs this one.
    """
    last = document.parsed
    old = None if last is None else document.move_to(last).to_old(offset)
    if last is not None and old is not None:
        found = mention_at(workspace.mentions(document), old)
        place = None if found is None else workspace.current(found.span)
        return None if found is None or place is None else found._replace(span=place)
    if document.with_tree() is None:
        return None
    return mention_at(workspace.mentions(document), offset)


def mention_near(workspace: Workspace, document: Document, name: str, offset: int
                 ) -> Definition | None:
    """The function that a name at a place means, as far as that can be told while typing."""
    found = _mention(workspace, document, offset + len(name) - 1)
    if found is not None:
        return found.definition
    mentions = workspace.mentions(document) if document.parsed is not None else ()
    return next((each.definition for each in mentions if each.definition.name == name
                 and each.definition.kind in ("declaration", "function")), None)


def definition(workspace: Workspace, document: Document, offset: int) -> Span | None:
    """The place where the name at a place is defined; perhaps in another file."""
    found = _mention(workspace, document, offset)
    return None if found is None else workspace.current(found.definition.span)


def symbols(workspace: Workspace, document: Document) -> list[Definition]:
    """The declarations of a file, in order."""
    analysis = document.with_tree() or document.parsed
    if analysis is None:
        return []
    found = {each.definition: None for each in workspace.mentions(document)
             if each.definition.span is each.span or each.definition.span == each.span}
    tops = {dec.span.start for dec in _declarations(analysis)}
    return [each for each in found if each.whole.start in tops]


def _declarations(analysis: Analysis) -> Iterator[module_ast.Dec]:
    todo = list(analysis.module.decs) if analysis.module is not None else []
    while todo:
        dec = todo.pop()
        yield dec
        if isinstance(dec, module_ast.LocalDec):
            todo.append(dec.dec)
        elif isinstance(dec, module_ast.ModDec) and isinstance(dec.mod, module_ast.ModBody):
            todo.extend(dec.mod.decs)


# Text


def hints(document: Document) -> list[tuple[int, str]]:
    """Types of arrays that the program does not write: where they would stand, and the text."""
    if document.good is None:
        return []
    move = document.move_to(document.good)
    found = ((move.to_new(span.end), text) for span, text in document.good.untyped_arrays)
    return [(place, f": {text}") for place, text in found if place is not None]


def formatting(document: Document) -> list[Edit]:
    """The edits that format a text, for whole lines; none if it cannot be parsed."""
    if document.with_tree() is None:
        return []
    old = document.source.text.splitlines(keepends=True)
    new = format_text(document.source.text).splitlines(keepends=True)
    starts = [0, *accumulate(map(len, old))]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [Edit(starts[i], starts[j], "".join(new[k:m]))
            for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def fixes(document: Document, start: int, end: int) -> list[tuple[Diagnostic, str, Edit]]:
    """The edits of hints about a range: each with its error or warning and the hint.

    None if the text has changed since its check.
    """
    found = document.checked
    if found is None or found.source is not document.source:
        return []
    return [(each, str(hint), Edit(span.start, span.end, hint.new))
            for each in found.diagnostics if each.span.source is found.source
            and each.span.start <= end and start <= each.span.end
            for hint in each.hints if isinstance(hint, Replacement)
            for span in [hint.span or each.span]]


def completions(workspace: Workspace, document: Document, offset: int) -> list[Completion]:
    """Names that may stand at a place, in order."""
    line = document.source.text[:offset].rpartition("\n")[2]
    scope = None if document.parsed is None else workspace.references().scope(document.path)
    if match := re.search(rf"((?:{PATTERNS['word']}\.)+)[\w']*$", line):
        first, *others = match[1].rstrip(".").split(".")
        if first in PRIMITIVE_TYPES and not others:
            return [Completion(name, "prelude", type_)
                    for name, type_ in sorted(members(first).items())]
        for name in (first, *others):
            scope = None if scope is None else scope.modules.get(name, (None, None))[1]
        return [] if scope is None else [
            _completion(document, each) for each in sorted(_names(scope), key=lambda d: d.name)]
    found = {word: Completion(word, "keyword") for word in RESERVED}
    found |= {word: Completion(word, "type") for word in PRIMITIVE_TYPES}
    found |= {name: Completion(name, "prelude", type_)
              for name, type_ in FUNCTIONS.items() if name.isidentifier()}
    own = {each.definition.name: each.definition
           for each in (workspace.mentions(document) if document.parsed is not None else ())
           if each.definition.kind in _DECLARED or abs(each.span.start - offset) < NEAR}
    outer = {} if scope is None else {each.name: each for each in _names(scope)}
    found |= {name: _completion(document, each) for name, each in (outer | own).items()}
    return [found[name] for name in sorted(found)]


def _names(scope: Scope) -> Iterator[Definition]:
    """The values, types, modules and module types of a scope."""
    yield from scope.types.values()
    yield from (definition for definition, _ in scope.signatures.values())
    yield from (definition for definition, _ in scope.modules.values())
    yield from scope.values.values()


def _completion(document: Document, found: Definition) -> Completion:
    """A name of a file with its declaration, or its type, and its comment."""
    if found.kind in _DECLARED or found.kind == "function":
        return Completion(found.name, found.kind, declared(found), comment_above(found.whole))
    place = found.span.start, found.span.end
    node = None if document.good is None or found.span.source is not document.good.source else (
        document.good.typed.get(place))
    return Completion(found.name, found.kind, found.kind if node is None or node.type is None
                      else show_type(node.type))
