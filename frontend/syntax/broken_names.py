"""The names of a broken declaration, as far as its text tells.

Errors that follow from a broken declaration must not be reported, so other declarations that use
its names are not checked.  Its text may hold several declarations, and a misspelt keyword.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from runelift.frontend.syntax.tokens import RESERVED, TOKEN
from runelift.ir.base.source import Span

_HEAD = re.compile(r"^(?P<blank>[ \t]*)(?:#\[[^\]\n]*\]\s*)*(?:local\s+)?"
                   r"(?P<word>[A-Za-z_][\w']*)", re.MULTILINE)
"""The first word of a line."""
_NAMING = frozenset({"def", "entry", "type", "module"})
"""Words before the name of a declaration."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a broken declaration seems to define, and all that are ``mentioned``.

    ``others``: it may define other names as well, as it has none or opens a module.
    """

    defined: frozenset[str]
    mentioned: frozenset[str]
    others: bool


def names_of(broken: Span) -> Names:
    """The names of a broken declaration."""
    text = " " * broken.indentation + broken.text
    heads = [each for each in _HEAD.finditer(text) if len(each["blank"]) <= broken.indentation]
    mentioned = {each.text for each in _tokens(text, 0) if each.is_name or each.kind == "operator"}
    defined = [list(_defined(text, each.start("word"))) for each in heads]
    others = any(each["word"] in ("open", "import") or (each["word"] in _NAMING and not names)
                 for each, names in zip(heads, defined, strict=True))
    return Names(frozenset(chain.from_iterable(defined)), frozenset(mentioned), others)


class _Token(NamedTuple):
    """A token that is no blank and no comment."""

    kind: str | None
    text: str

    @property
    def is_name(self) -> bool:
        """True if it may be what a declaration defines, and is no operator."""
        return self.kind in ("word", "backtick") and self.text not in RESERVED


def _tokens(text: str, start: int) -> Iterator[_Token]:
    for found in TOKEN.finditer(text, start):
        if found.lastgroup not in ("blank", "comment"):
            yield _Token(found.lastgroup, found[0].strip("` \n\t"))


def _defined(text: str, start: int) -> Iterator[str]:
    """The names that a declaration may define: one of its first two words, or an operator.

    An operator stands alone in parentheses, or between two operands.
    """
    words = operands = depth = 0
    before = ""
    for kind, token in (each for each in _tokens(text, start) if each.text not in RESERVED):
        if depth == 0 and token in ("=", ":", "::", ":>"):
            return
        if token[-1:] in "([{":
            depth += 1
        elif token in (")", "]", "}"):
            depth = max(0, depth - 1)
            operands += depth == 0
        elif _Token(kind, token).is_name and depth == 0:
            words += 1
            operands += 1
            if words <= 2:
                yield token
        elif kind == "operator" and (before == "(" if depth else operands == 1):
            yield token
        before = token
