"""Tokens and comments of a file as the formatter sees them: with line breaks, without blanks."""

from __future__ import annotations

from runelift.frontend.syntax.tokens import scan

OPENING = frozenset({"(", "[", "{", ".(", ".[", "#["})


class Word:
    """A token or comment: its class, text, and place in the source.

    ``breaks`` are the line breaks before it, at most 2.  ``glued``: nothing stands before it.
    ``column`` is that in the source.  ``leading``: a bracket with commas at the start of lines.
    """

    __slots__ = ("breaks", "column", "glued", "kind", "leading", "text")

    def __init__(self, kind: str, text: str, breaks: int, glued: bool, column: int) -> None:
        self.kind = kind
        self.text = text
        self.breaks = breaks
        self.glued = glued
        self.column = column
        self.leading = False


def words(text: str) -> list[Word]:
    """The tokens and comments of a text."""
    found: list[Word] = []
    brackets: list[Word] = []
    breaks, glued, line = 0, False, 0
    for match in scan(text):
        kind = match.lastgroup or "unknown"
        if kind == "blank":
            between = match[0]
            breaks, glued = min(between.count("\n"), 2), False
            if breaks:
                line = match.start() + between.rindex("\n") + 1
            continue
        token = match[0]
        if kind == "comment":
            token = token.rstrip()
        elif kind == "lifted_type":
            token = "type" + token[-1]
        word = Word(kind, token, breaks, glued, match.start() - line)
        found.append(word)
        if kind == "punctuation":
            if token in OPENING:
                brackets.append(word)
            elif not brackets:
                pass
            elif token == ",":
                brackets[-1].leading |= breaks > 0
            elif token in ")]}":
                brackets.pop()
        breaks, glued = 0, True
        if "\n" in token:
            line = match.start() + token.rindex("\n") + 1
    return found
