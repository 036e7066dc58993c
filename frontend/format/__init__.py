"""The formatter: spaces, indentation and blank lines in one style; line breaks are the author's.

Tokens and comments stay as they are, so a program keeps its meaning.  :func:`format_source` is all
that others need.
"""

from runelift.frontend.format.formatter import format_source

__all__ = ["format_source"]
