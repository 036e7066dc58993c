"""The depth of programs: a limit that is said at once, instead of work without end."""

from __future__ import annotations

from runelift.frontend.syntax import module_ast
from runelift.frontend.syntax.nodes import Node, parts
from runelift.ir.base.errors import CompilerLimitation

MOST_LEVELS = 10_000
"""The most levels of expressions, types and modules inside of each other."""


def require_depth(module: module_ast.Module) -> None:
    """Raise CompilerLimitation, with the place, if a program is nested too deeply."""
    level: list[Node] = [dec for dec in module.decs if isinstance(dec, Node)]
    for _ in range(MOST_LEVELS):
        level = [each for node in level for name in parts(type(node))
                 for each in _nodes(getattr(node, name))]
        if not level:
            return
    raise CompilerLimitation(f"{level[0].span}: the program is nested more than {MOST_LEVELS} "
                             "levels deep here; define functions for parts of it.")


def _nodes(value: object) -> list[Node]:
    """The nodes directly in a part of a node: itself, or the nodes in a tuple of any form."""
    if isinstance(value, Node):
        return [value]
    if isinstance(value, tuple):
        return [each for item in value for each in _nodes(item)]
    return []
