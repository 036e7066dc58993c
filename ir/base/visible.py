"""Text for terminals: characters that steer a terminal, or hide, are written as escapes."""

from __future__ import annotations

import re

MOST_SHOWN = 20_000
"""The most characters of a message; the middle of a longer message is left out."""
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]")
"""Control characters but for the newline and the tab, marks of direction, invisible characters,
and halves of characters (names of files that are not UTF-8)."""


def visible(text: str) -> str:
    """A text whose control characters are written as escapes, as in Python's strings.

    >>> print(visible("a\\x1b[31mb\\u202e"))
    a\\x1b[31mb\\u202e
    """
    return _STEERING.sub(lambda found: _escaped(found[0]), text)


def one_line(text: str) -> str:
    """A visible text without newlines, for a comment of generated code."""
    return visible(text).replace("\n", "\\n")


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return {"\r": "\\r"}.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, most: int = MOST_SHOWN) -> str:
    """A text of at most about ``most`` characters, whose middle is left out if it is longer."""
    if len(text) <= most:
        return text
    return f"{text[:most * 3 // 4]} … {text[-most // 4:]}"
