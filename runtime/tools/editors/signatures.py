"""The function that is being called at a place of a text, with its parameters.

Only tokens before the place count: a call that is being typed can seldom be parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from runelift.frontend.definitions import Definition
from runelift.frontend.syntax.tokens import RESERVED, scan
from runelift.runtime.tools.editors.answers import builtin, comment_above, declared, mention_near
from runelift.runtime.tools.editors.documents import Document
from runelift.runtime.tools.editors.workspace import Workspace

_START = re.compile(r"^(?:def|entry|let|local|module|type|open|val)\b", re.MULTILINE)
"""The start of a declaration that is in no module."""
_ATOMS = frozenset({"word", "float", "integer", "string", "char", "constructor"})
"""The classes of tokens that are arguments by themselves."""


class Call(NamedTuple):
    """A call: the range of its function's name, and the number of the argument at the place."""

    start: int
    end: int
    argument: int


class SignatureText(NamedTuple):
    """A function as editors show it: the ranges of its parameters in ``label``."""

    label: str
    comment: str
    parameters: list[tuple[int, int]]
    argument: int


@dataclass(slots=True)
class _Level:
    """The ranges of expressions side by side, inside of a bracket that opens at ``opened``."""

    opened: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)


def signature_at(workspace: Workspace, document: Document, offset: int) -> SignatureText | None:
    """The innermost function around a place that is known and being called."""
    text = document.source.text
    for call in calls(text, offset):
        found = mention_near(workspace, document, text[call.start:call.end], call.start)
        if found is not None:
            label, parameters = declared(found), declared_parameters(found)
        elif (type_ := builtin(text[call.start:call.end])) is not None:
            label = f"{text[call.start:call.end]}: {type_}"
            parameters = _parameters_of_type(label, len(label) - len(type_))
        else:
            continue
        if call.argument < len(parameters):
            return SignatureText(label, "" if found is None else comment_above(found.whole),
                                 parameters, call.argument)
    return None


def calls(text: str, offset: int) -> Iterator[Call]:
    """The calls around a place, from the inside."""
    start = max((each.start() for each in _START.finditer(text, 0, offset)), default=0)
    levels = [_Level()]
    for token in scan(text[start:offset]):
        _take(levels, token, start)
    for level in reversed(levels):
        ranges = level.ranges
        ends_here = level is levels[-1] and bool(ranges) and ranges[-1][1] == offset
        argument = len(ranges) - 1 - ends_here
        if argument >= 0 and re.match(r"[A-Za-z_]", text[ranges[0][0]]):
            yield Call(*ranges[0], argument)


def _take(levels: list[_Level], token: re.Match[str], start: int) -> None:
    """Note a token: it is an expression, part of one, or ends what stands side by side."""
    kind, word = token.lastgroup, token[0]
    place = start + token.start(), start + token.end()
    ranges = levels[-1].ranges
    touches = bool(ranges) and ranges[-1][1] == place[0]
    if kind in ("blank", "comment"):
        return
    if kind == "field" and touches:
        ranges[-1] = ranges[-1][0], place[1]
    elif kind in _ATOMS and word not in RESERVED - {"true", "false"}:
        ranges.append(place)
    elif word in ("(", "[", "{", ".(", ".["):
        levels.append(_Level(ranges.pop()[0] if touches and word != "(" else place[0]))
    elif word in (")", "]", "}"):
        if len(levels) > 1:
            opened = levels.pop().opened
            levels[-1].ranges.append((opened, place[1]))
    else:
        ranges.clear()


def declared_parameters(definition: Definition) -> list[tuple[int, int]]:
    """The ranges of the parameters in the declaration of a function."""
    if definition.kind not in ("declaration", "function"):
        return []
    text = declared(definition)
    found, depth, opened = list[tuple[int, int]](), 0, 0
    for token in scan(text[(before := definition.span.end - definition.whole.start):]):
        word, start, end = token[0], before + token.start(), before + token.end()
        if word in ("(", "{", "[", "#["):
            opened = opened if depth else start
            depth += 1
        elif word in (")", "}", "]"):
            depth, is_last = max(depth - 1, 0), depth == 1
            if is_last and word != "]":
                found.append((opened, end))
        elif depth == 0 and word in (":", "="):
            break
        elif depth == 0 and token.lastgroup == "word":
            found.append((start, end))
    return found


def _parameters_of_type(text: str, start: int) -> list[tuple[int, int]]:
    """The ranges of the parameters in the type of a function."""
    found, depth = list[tuple[int, int]](), 0
    for token in scan(text[start:]):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth == 0 and token[0] == "->":
            before = found[-1][1] + 4 if found else start
            found.append((before, start + token.start() - 1))
    return found
