"""Sizes that are computed in type abbreviations: each becomes a constant in front of the type.

``type t = [f x]i64`` becomes ``def size = f x`` and ``type t = [size]i64``.  So wherever the type
is used, the size is one that the program knows.  An expression that names a size parameter stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import walk

_BINDING = (ast.LambdaExp, ast.LetFun, ast.LetPat, ast.LetWith, ast.LoopExp, ast.MatchExp)
"""Expressions that bind names: Futhark has none of them in sizes."""


def named_sizes(dec: ast.TypeDec, fresh: Callable[[str], str]) -> Iterator[ast.ValDec]:
    """The constants for the sizes of ``dec``, which is made to name them."""
    own = {param.name for param in dec.type_params}
    for node in walk(dec.definition):
        match node:
            case ast.TypeArrow(_, param) if param is not None:
                own.add(param)
            case ast.TypeExists(_, names):
                own.update(names)
    for node in list(walk(dec.definition)):
        if isinstance(node, ast.TypeArray | ast.SizeArg) and node.size is not None:
            node.size, made = _named(node.size, own, lambda: fresh(f"{dec.name}.size"))
            yield from made


def _named(size: ast.Exp, own: set[str],
           fresh: Callable[[], str]) -> tuple[ast.Exp, list[ast.ValDec]]:
    """A size whose computed parts are named constants, and the declarations of these."""
    if isinstance(size, ast.Name | ast.Literal) or any(
            isinstance(node, _BINDING) for node in walk(size)):
        return size, []
    if own.isdisjoint(str(node.name) for node in walk(size) if isinstance(node, ast.Name)):
        span, name = size.span, fresh()
        checked = ast.Ascript(span, size, ast.TypeName(span, ast.QualName((), "i64")))
        return ast.Name(span, ast.QualName((), name)), [
            ast.ValDec(span, name, span, False, (), (), None, checked)]
    if isinstance(size, ast.BinExp):
        size.left, made = _named(size.left, own, fresh)
        size.right, more = _named(size.right, own, fresh)
        return size, made + more
    return size, []
