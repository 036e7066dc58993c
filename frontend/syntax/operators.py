"""Infix operators: their precedence, and flat chains made into trees."""

from __future__ import annotations

from typing import Any

from runelift.frontend.syntax import ast

_ROWS: tuple[tuple[str, ...], ...] = (
    ("|>",),
    ("<|",),
    ("||",),
    ("&&",),
    ("<=", ">=", ">", "<", "==", "!=", "=", "!"),
    ("&", "^", "|"),
    ("<<", ">>", ">>>"),
    ("+", "-"),
    ("*", "/", "%", "//", "%%"),
    ("**",),
)
"""Operators from weakest to strongest.  A user's operator has the row of its longest prefix."""

_LEVELS = {op: level for level, row in enumerate(_ROWS, start=1) for op in row}
_RIGHT = _LEVELS["<|"]

CHARACTERS = frozenset("-+*/%=!><|&^")
"""Characters that operators begin with; a dot may follow."""


def precedence(name: str) -> int:
    """The strength with which an operator binds; names in backticks bind weakest."""
    for length in range(len(name), 0, -1):
        if (level := _LEVELS.get(name[:length])) is not None:
            return level
    return 0


def resolve(chain: list[Any]) -> ast.Exp:
    """The tree of ``operand (op operand)*``; left-associative but for ``<|`` and its row."""
    operands, ops = chain[0::2], chain[1::2]
    position = 0

    def climb(least: int) -> ast.Exp:
        nonlocal position
        left: ast.Exp = operands[position]
        while position < len(ops) and (level := precedence(ops[position].name)) >= least:
            op = ops[position]
            position += 1
            right = climb(level if level == _RIGHT else level + 1)
            left = ast.BinExp(left.span.to(right.span), op.plain, left, right, op.span)
        return left

    return climb(0)
