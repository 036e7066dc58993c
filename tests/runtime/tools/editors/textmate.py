"""The grammar for TextMate, VS Code and other editors that read its format.

``python -m tests.runtime.tools.editors.textmate`` writes the file of the extension anew.  Words
and tokens come from the table that the formatter and the highlighter use.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from runelift.frontend.syntax.prelude import FUNCTIONS
from runelift.frontend.syntax.tokens import KEYWORDS, PATTERNS, PRIMITIVE_TYPES

SCOPE = "source.runelift"
_SCOPES = {
    "comment": "comment.line.double-dash", "string": "string.quoted.double",
    "char": "string.quoted.single", "type_variable": "variable.parameter.type",
    "constructor": "constant.other.constructor", "float": "constant.numeric.float",
    "integer": "constant.numeric.integer", "qualified_operator": "keyword.operator.qualified",
    "lifted_type": "keyword.declaration", "range": "keyword.operator.range",
    "field": "variable.other.member", "backtick": "keyword.operator.backtick",
    "operator": "keyword.operator", "punctuation": "punctuation",
}
"""The scopes of tokens, without the language behind them."""
_KEYWORDS = {"declaration": "keyword.declaration", "module": "keyword.other.module",
             "control": "keyword.control", "constant": "constant.language"}


def grammar() -> dict[str, Any]:
    """The TextMate grammar as a JSON object."""
    patterns: list[dict[str, Any]] = [_rule(r"--[ \t]*>>>[^\n]*", "comment.block.evaluation"),
                                      _rule(r"-- \|[^\n]*", "comment.block.documentation")]
    for kind, pattern in PATTERNS.items():
        if kind == "word":
            patterns += _words()
        elif kind == "string":
            patterns.append({"name": f"{_SCOPES[kind]}.runelift", "begin": '"', "end": '"',
                             "patterns": [_rule(r"\\.", "constant.character.escape")]})
        else:
            patterns.append(_rule(pattern, _SCOPES[kind]))
    return {"$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/"
                       "tmlanguage.json",
            "name": "Runelift", "scopeName": SCOPE, "fileTypes": ["fut"], "patterns": patterns}


def _words() -> list[dict[str, Any]]:
    functions = [name for name in FUNCTIONS if re.fullmatch(r"[A-Za-z_]\w*", name)]
    declared = {"def": "entity.name.function", "entry": "entity.name.function",
                "val": "entity.name.function", "type": "entity.name.type",
                "module": "entity.name.namespace"}
    return [
        *({"match": rf"\b({word})[ \t]+(?!(?:type)\b)({PATTERNS['word']})",
           "captures": {"1": {"name": f"{_keyword(word)}.runelift"},
                        "2": {"name": f"{scope}.runelift"}}}
          for word, scope in declared.items()),
        *(_rule(_any(words), _KEYWORDS[kind]) for kind, words in KEYWORDS.items()),
        _rule(_any(PRIMITIVE_TYPES), "storage.type"),
        _rule(_any(functions), "support.function"),
        _rule(PATTERNS["word"], "variable.other"),
    ]


def _keyword(word: str) -> str:
    return next(_KEYWORDS[kind] for kind, words in KEYWORDS.items() if word in words)


def _any(words: tuple[str, ...] | list[str]) -> str:
    return rf"(?<![\w'])(?:{'|'.join(words)})(?![\w'])"


def _rule(pattern: str, scope: str) -> dict[str, Any]:
    return {"name": f"{scope}.runelift", "match": pattern}


def text() -> str:
    """The text of the grammar's file."""
    return json.dumps(grammar(), indent=2) + "\n"


FILE = Path("docs", "editors", "vscode", "syntaxes", "runelift.tmLanguage.json")
"""The file of the extension, in the tree."""

if __name__ == "__main__":
    FILE.write_text(text())
