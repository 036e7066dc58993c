"""The formatter: spaces, indentation and blank lines in one style.

Line breaks are the author's, but for lines that are too long.  Tokens and comments stay as they
are, so a program keeps its meaning.
"""

from runelift.frontend.format.long_lines import format_text
from runelift.frontend.syntax.parser import parse
from runelift.ir.base.deep import deeply
from runelift.ir.base.source import Source

__all__ = ["format_source", "format_text"]


@deeply
def format_source(source: Source) -> str:
    """The text of a program, formatted; ProgramError if it cannot be parsed."""
    parse(source)
    return format_text(source.text)
