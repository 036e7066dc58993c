"""Documentation comments, ``-- |``: they stand before a declaration, and nowhere else.

The grammar skips comments, so their places are looked at in the text.
"""

from __future__ import annotations

import re

from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.nodes import walk
from runelift.ir.base.errors import Diagnostic
from runelift.ir.base.source import Source, Span

_PLACES = re.compile(r"""
    (?P<doc> --\ \| [^\n]* (\n\s*--[^\n]*)*)      # with the comments that go on with it
  | --[^\n]* | "(\\.|[^"\\])*" | '(\\.|[^'\\\n])'
""", re.VERBOSE)
_FOLLOWING = re.compile(r"(?:\s|--[^\n]*)*(\#\[|(?:def|entry|let|type|module|open|import|local|val"
                        r"|include)(?![\w']))")


def misplaced(source: Source, module: module_ast.Module) -> tuple[Diagnostic, ...]:
    """An error for each documentation comment that documents nothing."""
    if "-- |" not in source.text:
        return ()
    errors: list[Diagnostic] = []
    for found in _PLACES.finditer(source.text):
        if found["doc"] and not _documents(source.text, found.end(), module):
            end = found.start() + len(found["doc"].partition("\n")[0])
            errors.append(Diagnostic(
                "syntax-error", Span(source, found.start(), end), "Documentation comments "
                "('-- |') are only permitted when preceding declarations.",
                hints=("Leave out the bar: this is an ordinary comment then.",)))
    return tuple(errors)


def _documents(text: str, position: int, module: module_ast.Module) -> bool:
    """True if a declaration follows; ``let`` also begins expressions."""
    following = _FOLLOWING.match(text, position)
    if following is None or following[1] != "let":
        return following is not None
    return any(isinstance(node, ast.ValDec) and node.span.start == following.start(1)
               for node in walk(module))


def comment_before(span: Span) -> str:
    """The documentation comment in front of a span, without dashes; "" if there is none.

    Test blocks (``-- ==``) and the lines behind them do not belong to it.
    """
    above = span.source.text[:span.start - span.column + 1].splitlines()
    lines = list[str]()
    while above and (line := above.pop().strip()).startswith(("--", "#[")):
        if line.startswith("--"):
            lines.insert(0, line[2:])
        if line.startswith("-- |"):
            break
    if not lines or not lines[0].startswith(" |"):
        return ""
    ends = next((n for n, line in enumerate(lines) if line.strip() == "=="), len(lines))
    return "\n".join(line.removeprefix(" |").removeprefix(" ") for line in lines[:ends]).strip()
