"""The formatter: spaces, indentation and blank lines in one style; line breaks are the author's.

Tokens and comments stay as they are, so a program keeps its meaning.  :func:`format_source` is all
that most need.
"""

from runelift.frontend.format.formatter import format_parsed, format_source

__all__ = ["format_parsed", "format_source"]
