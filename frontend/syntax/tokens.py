"""Tokens of source text with their classes, for tools that look at text and not at trees.

The grammar skips comments and blanks; the formatter, the highlighters and the editor's server need
them.  The expressions keep to what Python and Oniguruma, the engine of TextMate grammars, share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runelift.ir.prim import Prim

KEYWORDS: dict[str, tuple[str, ...]] = {
    "declaration": ("def", "entry", "let", "type", "val"),
    "module": ("module", "import", "open", "local", "include"),
    "control": ("if", "then", "else", "loop", "for", "while", "do", "match", "case", "in", "with"),
    "constant": ("true", "false"),
}
"""The reserved words by their class."""
RESERVED = frozenset(word for words in KEYWORDS.values() for word in words)
"""All reserved words."""
PRIMITIVE_TYPES = tuple(prim.value for prim in Prim)
"""The names of the primitive types, which are modules as well."""

_NAME = r"[A-Za-z_][\w']*"
_HEX = r"[0-9a-fA-F][0-9a-fA-F_]*"
_DIGITS = r"\d[\d_]*"

PATTERNS: dict[str, str] = {
    "comment": r"--[^\n]*",
    "string": r'"(?:\\[\s\S]|[^"\\])*"',
    "char": r"'(?:\\(?:\d+|.)|[^'\\\n])'",
    "type_variable": rf"'[~^]?[ \t]*{_NAME}",
    "constructor": rf"#{_NAME}",
    "float": rf"0[xX]{_HEX}\.{_HEX}[pP][+-]?{_DIGITS}(?:f16|f32|f64)?"
             rf"|{_DIGITS}(?:\.{_DIGITS}(?:[eE][+-]?\d+)?|[eE][+-]?\d+)(?:f16|f32|f64)?"
             rf"|{_DIGITS}(?:f16|f32|f64)",
    "integer": rf"(?:0[xX]{_HEX}|0[bB][01][01_]*|0r[IVXLCDM]+|{_DIGITS})(?:[iu](?:8|16|32|64))?",
    "qualified_operator": rf"(?:{_NAME}\.)+[-+*/%=!><|&^][-+*/%=!><|&^.]*",
    "lifted_type": r"type[ \t]*[~^]",
    "word": _NAME,
    "range": r"\.\.[.<>]?",
    "field": rf"\.(?:{_NAME}|\d+)",
    "backtick": r"`\s*[^`\s]+\s*`",
    "operator": r"[-+*/%=!><|&^][-+*/%=!><|&^.]*",
    "punctuation": r"#\[|\.[(\[]|:>|::|\?\?\?|[()\[\]{},:\\?.]",
}
"""The classes of tokens, each with its expression; the first that matches counts."""

TOKEN = re.compile("|".join([*(f"(?P<{kind}>{pattern})" for kind, pattern in PATTERNS.items()),
                             r"(?P<blank>\s+)", r"(?P<unknown>[\s\S])"]))
"""One token, blanks, or a character that begins none."""


def scan(text: str) -> Iterator[re.Match[str]]:
    """The tokens of a text with blanks between them; ``lastgroup`` is the class of each."""
    return TOKEN.finditer(text)
