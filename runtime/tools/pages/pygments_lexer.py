"""The highlighter for Pygments, named ``runelift``; Sphinx, MkDocs and Jupyter find it, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments import token as kinds
from pygments.lexer import Lexer

from runelift.frontend.syntax.prelude import FUNCTIONS
from runelift.frontend.syntax.tokens import KEYWORDS, PRIMITIVE_TYPES, scan

_CLASSES = {
    "comment": kinds.Comment.Single, "string": kinds.String.Double, "char": kinds.String.Char,
    "type_variable": kinds.Name.Variable, "constructor": kinds.Name.Constant,
    "float": kinds.Number.Float, "integer": kinds.Number.Integer,
    "qualified_operator": kinds.Operator, "lifted_type": kinds.Keyword.Declaration,
    "range": kinds.Operator, "field": kinds.Name.Attribute, "backtick": kinds.Operator,
    "operator": kinds.Operator, "punctuation": kinds.Punctuation, "blank": kinds.Whitespace,
    "unknown": kinds.Error,
}
_KEYWORDS = {"declaration": kinds.Keyword.Declaration, "module": kinds.Keyword.Namespace,
             "control": kinds.Keyword, "constant": kinds.Keyword.Constant}
_WORDS = {
    **dict.fromkeys((name for name in FUNCTIONS if name.isidentifier()), kinds.Name.Builtin),
    **dict.fromkeys(PRIMITIVE_TYPES, kinds.Keyword.Type),
    **{word: _KEYWORDS[kind] for kind, words in KEYWORDS.items() for word in words},
}
_AFTER = {"def": kinds.Name.Function, "entry": kinds.Name.Function, "val": kinds.Name.Function,
          "module": kinds.Name.Namespace, "type": kinds.Name.Class, "type^": kinds.Name.Class,
          "type~": kinds.Name.Class, "#[": kinds.Name.Decorator}
"""The classes of names behind a word."""


class RuneliftLexer(Lexer):  # type: ignore[misc]
    """The lexer for programs (``*.fut``)."""

    name = "Runelift"
    aliases = ("runelift", "fut")
    filenames = ("*.fut",)
    mimetypes = ("text/x-runelift",)
    url = "https://futhark-lang.org"
    priority = 0.6
    """Above that of the lexer for Futhark, which has the file names as well."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """The tokens with their places and classes."""
        before = ""
        for match in scan(text):
            kind, found = match.lastgroup or "unknown", match[0]
            if kind == "word":
                named = _AFTER.get(before) if found not in _WORDS or before == "#[" else None
                yield match.start(), named or _WORDS.get(found, kinds.Name), found
            elif kind == "comment" and found.startswith("-- |"):
                yield match.start(), kinds.String.Doc, found
            elif found == "@":  # in the IR, which is like the language
                yield match.start(), kinds.Punctuation, found
            else:
                yield match.start(), _CLASSES[kind], found
            if kind not in ("blank", "comment"):
                before = found.replace(" ", "")
