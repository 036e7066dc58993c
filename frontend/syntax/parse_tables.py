"""The parser of the language.

``python -m runelift.frontend.syntax.parse_tables`` writes the tables of all parsers anew.
That is needed when a grammar changes.
"""

from __future__ import annotations

from pathlib import Path

from runelift.frontend.syntax.lexer import SharedLexer
from runelift.ir.base.tables import Tables

STARTS = ("start", "exp", "type")
"""The start symbols of the grammar: a file, an expression, a type."""
SOURCE = Tables("runelift.frontend.syntax", "grammar", {
    "parser": "lalr", "lexer": "contextual", "start": list(STARTS),
    "propagate_positions": True, "maybe_placeholders": True,
    "_plugins": {"ContextualLexer": SharedLexer},
})

if __name__ == "__main__":
    from runelift.ir.parse import CORE

    here = Path(__file__).parent
    SOURCE.write(here / SOURCE.file)
    CORE.write(here.parents[1] / "ir" / CORE.file)
