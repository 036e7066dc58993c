"""The tree of a text that was parsed before and has changed since, as when it is typed.

Declarations far from the change keep their trees, with places in the new text.  Only the part
around the change is parsed.
"""

from __future__ import annotations

from typing import Any

from runelift.frontend.syntax import module_ast
from runelift.frontend.syntax.doc_comments import misplaced
from runelift.frontend.syntax.nodes import Node, parsed
from runelift.frontend.syntax.parser import parse, parse_recovering
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source, Span
from runelift.ir.points import PlacedAttribute


def reparse(source: Source, old: module_ast.Module) -> module_ast.Module:
    """The declarations of a text, as :func:`parse_recovering` finds them.

    ``old`` are the declarations of an earlier text, without errors.  The change is what stands
    between the common start and the common end of both texts.  A parser with one token of
    look-ahead knows a declaration by its text and the token behind it.  So a declaration keeps its
    tree if it and its neighbour towards the change are what they were.
    """
    before, after = old.span.source.text, source.text
    start, end = common_ends(before, after)
    shift = len(after) - len(before)
    first = sum(dec.span.end < start for dec in old.decs) - 1
    last = sum(dec.span.start <= len(before) - end for dec in old.decs) + 1
    kept, further = old.decs[:max(first, 0)], old.decs[last:]
    if not kept and not further:
        return parse_recovering(source)
    begin = kept[-1].span.end if kept else 0
    stop = further[0].span.start + shift if further else len(after)
    try:
        middle = parse(source, " " * begin + after[begin:stop])
    except ProgramError:
        return parse_recovering(source)  # errors are told as in the whole text
    decs = (*(_Placed(source, 0).copy(dec) for dec in kept), *middle.decs,
            *(_Placed(source, shift).copy(dec) for dec in further))
    module = module_ast.Module(decs[0].span.to(decs[-1].span), decs)
    module.errors = misplaced(source, module)
    return module


def common_ends(one: str, other: str) -> tuple[int, int]:
    """The lengths of the common start of two texts, and of the common end of what follows."""
    start = _common_start(one, other)
    return start, _common_start(one[start:][::-1], other[start:][::-1])


def _common_start(one: str, other: str) -> int:
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


class _Placed:
    """Copies trees to another text, in which all places are ``shift`` characters further on."""

    def __init__(self, source: Source, shift: int) -> None:
        self._source = source
        self._shift = shift

    def copy(self, part: Any) -> Any:
        """A copy of a node, or of a field of a node, as the parser makes it."""
        if isinstance(part, Span):
            return self._span(part)
        if isinstance(part, Node):
            kind = type(part)
            return kind(*[self.copy(getattr(part, name)) for name in parsed(kind)])
        if isinstance(part, tuple):
            return tuple([self.copy(each) for each in part])
        if isinstance(part, PlacedAttribute):
            return PlacedAttribute.at(str(part), self.copy(part.span))
        return part

    def _span(self, span: Span) -> Span:
        return Span(self._source, span.start + self._shift, span.end + self._shift)
