"""Blanks between two tokens of a line."""

from __future__ import annotations

from runelift.frontend.format.frames import Frame
from runelift.frontend.format.words import Word
from runelift.frontend.syntax.tokens import RESERVED

ATTRIBUTE = "attribute"
"""The class of the bracket that closes an attribute."""
_OPEN = frozenset({"(", "[", ".(", ".[", "#[", "\\", "?"})
_CLOSE = frozenset({")", "]", ","})
OPERATORS = frozenset({"operator", "qualified_operator", "backtick"})


def blank_between(before: Word, word: Word, around: Frame, tight: bool) -> bool:
    """True if a blank stands between the tokens ``before`` and ``word`` of one line.

    ``around`` is the construct around the second one; ``tight``: the first one is a sign.  The
    source is followed where a blank has a meaning, as before ``[``, which indexes without one.
    It is followed as well where it is a matter of taste, as in ``(+ 1)``.
    """
    left, right = before.text, word.text
    if before.leading:
        return True
    if left == "{" or right == "}":
        return around.spaced and not (left == "{" and right == "}")
    if left in _OPEN:
        return False
    if right in _CLOSE:
        return False
    if tight:
        return after_sign(before, word, around)
    if before.kind == ATTRIBUTE:
        return True
    if right == "(" and around.kind == "#[":
        return False
    if right == "[":
        return not is_index(before, word)
    if word.kind == "field" or left == "." or right in (".", ".(", ".["):
        return not word.glued
    if before.kind == "range" or word.kind == "range":
        return False
    if right in (":", "::"):
        return before.kind in OPERATORS and not around.indexes
    if left in (":", "::"):
        return not around.indexes
    if left == "]" and word.kind not in OPERATORS:
        return not word.glued or word.text in RESERVED
    return True


def after_sign(before: Word, word: Word, around: Frame) -> bool:
    """True if a blank stands behind an operator that nothing stands before."""
    if word.kind in OPERATORS or before.kind == "backtick":
        return True
    return around.kind == "(" and around.start == around.inner and not word.glued


def is_index(before: Word, word: Word) -> bool:
    """True if a bracket indexes what stands before it, or belongs to a type."""
    return (word.glued and before.kind not in OPERATORS and before.kind != ATTRIBUTE
            and before.text not in RESERVED and before.text not in _OPEN)
