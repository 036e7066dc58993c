"""From text to the surface syntax tree.

Lark reads the grammar, :mod:`~runelift.frontend.syntax.recovery` goes on behind errors, and
:mod:`~runelift.frontend.syntax.builder` makes nodes of the productions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark import UnexpectedInput

from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.builder import built
from runelift.frontend.syntax.doc_comments import misplaced
from runelift.frontend.syntax.parse_tables import SOURCE
from runelift.frontend.syntax.recovery import Recovery
from runelift.frontend.syntax.syntax_errors import Found, syntax_error
from runelift.ir.base.errors import Diagnostic, ProgramError
from runelift.ir.base.source import Source


def parse(source: Source, text: str | None = None) -> module_ast.Module:
    """The declarations of a source file; ProgramError with all syntax errors.

    ``text``, if given, is read instead, with the same places.
    """
    module = parse_recovering(source, text)
    if module.errors:
        raise ProgramError(*module.errors)
    return module


def parse_recovering(source: Source, text: str | None = None) -> module_ast.Module:
    """The declarations of a source file, also declarations that cannot be parsed.

    The errors are in the module.  ``text`` is as for :func:`parse`.
    """
    parsed = _parse(source, "start", text)
    module: module_ast.Module = parsed.node
    module.errors, module.in_doubt = parsed.errors, parsed.in_doubt
    if text is None and not module.errors:
        module.errors = misplaced(source, module)
    return module


def parse_type(text: str) -> ast.TypeExp:
    """A type expression, as the signatures of the prelude hold."""
    type_: ast.TypeExp = _single(Source("<type>", text), "type")
    return type_


def parse_exp(source: Source, text: str | None = None) -> ast.Exp:
    """A single expression; ``text``, if given, is read instead, with the same places."""
    exp: ast.Exp = _single(source, "exp", text)
    return exp


def _single(source: Source, start: str, text: str | None = None) -> Any:
    """The node of a text without declarations; ProgramError with what is wrong with it."""
    parsed = _parse(source, start, text)
    if parsed.errors:
        raise ProgramError(*parsed.errors)
    return parsed.node


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A tree, of the parser or of our nodes, with the errors that were found in its text."""

    node: Any
    errors: tuple[Diagnostic, ...]
    in_doubt: bool


_unread: dict[str, tuple[Source, str | None, _Parsed]] = {}
"""The last text that was parsed but is nested too deeply for this stack, by what it starts with.

:func:`~runelift.ir.base.deep.deeply` comes back to it with a larger stack.
"""


def _parse(source: Source, start: str, text: str | None = None) -> _Parsed:
    of, what, tree = _unread.pop(start, (None, None, None))
    if of is not source or what != text or tree is None:
        tree = _tree(source, start, source.text if text is None else text)
    try:
        node, errors = built(source, tree.node)
    except RecursionError:
        _unread[start] = source, text, tree
        raise
    return _Parsed(node, (*tree.errors, *errors), tree.in_doubt)


def _tree(source: Source, start: str, text: str) -> _Parsed:
    """The parser's tree of a text; ProgramError if it has no declarations to recover at."""
    recovery = Recovery(source, text)
    try:
        tree = SOURCE.grammar().parse(text, start=start, on_error=recovery)
    except UnexpectedInput as error:
        raise ProgramError(syntax_error(source, Found.of(error, text))) from None
    return _Parsed(tree, tuple(recovery.errors), recovery.in_doubt)
