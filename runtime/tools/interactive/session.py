"""Definitions that are kept, and expressions that use them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runelift.frontend.elaborate import elaborate
from runelift.frontend.load import checked_module
from runelift.frontend.scripts import ENTRY
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.parser import parse, parse_exp
from runelift.frontend.syntax.syntax_errors import openings
from runelift.frontend.syntax.types import Arrow, Type
from runelift.ir.base.deep import deeply
from runelift.ir.base.errors import ProgramError, ProgramWarning, UserError
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.source import Source, Span
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.runtime.data.text import Value

NAME = "input"
"""The name of what is typed, in messages."""
_DECLARATION = re.compile(r"\s*(?:(def|entry|type|module|open|import|local|let)(?![\w'])|#\[)")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The value of an expression: its type, and its primitive parts; None for a function."""

    type: Type
    parts: Sequence[Value] | None


class Session:
    """The definitions of a session.  A new definition replaces all definitions of its name."""

    def __init__(self) -> None:
        self.declarations: tuple[module_ast.Dec, ...] = ()
        self.warnings: list[str] = []
        """The warnings of the last step."""

    def define(self, source: Source) -> list[str]:
        """Have the declarations of a text; their names.

        ProgramError if the whole would not be right, which changes nothing.
        """
        new = parse(source).decs
        names = {name for dec in new for name in _names(dec)}
        old = [not names.isdisjoint(_names(dec)) for dec in self.declarations]
        kept = tuple(dec for dec, gone in zip(self.declarations, old, strict=True) if not gone)
        place = old.index(True) if True in old else len(kept)
        with self._noting():
            try:
                self._take(source, (*kept[:place], *new, *kept[place:]))
            except ProgramError as error:
                try:
                    self._take(source, (*kept, *new))  # it may need what came later
                except ProgramError:
                    raise error from None
        return [name.rpartition(" ")[2] for dec in new for name in _names(dec)]

    def _take(self, source: Source, declarations: tuple[module_ast.Dec, ...]) -> None:
        """Replace the session's declarations, unless the new declarations have mistakes."""
        _check(module_ast.Module(Span(source, 0, 0), declarations))
        self.declarations = declarations

    def load(self, path: Path) -> list[str]:
        """Have the declarations of a file as well; their names."""
        return self.define(read_source(require_file(path)))

    def names(self) -> list[str]:
        """The names that the session defines."""
        return sorted({name.rpartition(" ")[2] for dec in self.declarations
                       for name in _names(dec)})

    def entry(self, source: Source) -> tuple[ast.Flat, str]:
        """The checked program for an expression, and the name of its entry point.

        That is the function itself if the expression is the name of one that takes arguments.
        """
        exp = parse_exp(source)
        if isinstance(exp, ast.Name):
            for dec in self.declarations:
                if isinstance(dec, ast.ValDec) and dec.name == exp.name.name and dec.params:
                    return self._checked(self.declarations, source, dec.name), dec.name
        return self._with(exp, source, entry=True), ENTRY

    def type_of(self, source: Source) -> Type:
        """The type of an expression, which may be a function."""
        flat = self._with(parse_exp(source), source, entry=False)
        found = next(dec.type for dec in flat.decs
                     if isinstance(dec, ast.ValDec) and dec.name == ENTRY)
        assert found is not None
        return found

    def evaluate(self, source: Source) -> Evaluated:
        """The value of an expression, which the interpreter computes."""
        if isinstance(type_ := self.type_of(source), Arrow):
            return Evaluated(type_, None)
        return run(self._with(parse_exp(source), source, entry=True))

    def _with(self, exp: ast.Exp, source: Source, *, entry: bool) -> ast.Flat:
        """The checked program with an expression at its end."""
        dec = ast.ValDec(exp.span, ENTRY, exp.span, entry, (), (), None, exp)
        return self._checked((*self.declarations, dec), source, ENTRY if entry else "")

    def _checked(self, decs: tuple[module_ast.Dec, ...], source: Source, only: str) -> ast.Flat:
        with self._noting():
            return _checked(module_ast.Module(Span(source, 0, len(source.text)), decs), only)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True, action="always", category=ProgramWarning) as seen:
            yield
        self.warnings = list(dict.fromkeys(str(each.message) for each in seen))


@deeply
def _checked(module: module_ast.Module, only: str) -> ast.Flat:
    return checked_module(module, only)


@deeply
def _check(module: module_ast.Module) -> None:
    checked_module(module)


@deeply
def run(flat: ast.Flat) -> Evaluated:
    """The value of the only entry point of a checked program, which takes no arguments."""
    (dec,) = flat.entry_points
    assert dec.type is not None
    core = elaborate(flat, Names())
    return Evaluated(dec.type, interpret(core, dec.name, []))


def is_declaration(text: str) -> bool:
    """True if a text is one or more declarations, and no expression.

    ``let x = 1`` is a declaration, ``let x = 1 in x`` an expression.
    """
    match = _DECLARATION.match(text)
    if match is None:
        return False
    if match[1] not in ("let", None):
        return True
    try:
        parse(Source(NAME, text))
    except UserError:
        return False
    return True


def is_unfinished(text: str) -> bool:
    """True if a text could go on: it is no program only because it ends too early."""
    source = Source(NAME, text)
    end = len(text.rstrip())
    waiting = {each.start for each in openings(text, 0, end)}
    for read in (parse, parse_exp):
        try:
            read(source)
        except ProgramError as error:
            start = error.diagnostics[0].span.start
            if text.strip() and (start >= end or start in waiting):
                return True
        else:
            return False
    return False


def _names(dec: module_ast.Dec) -> list[str]:
    """The names that a declaration defines; types and modules say so in front."""
    match dec:
        case ast.ValDec(_, name):
            return [name]
        case ast.TypeDec(_, name):
            return [f"type {name}"]
        case module_ast.ModDec(_, name):
            return [f"module {name}"]
        case module_ast.SigDec(_, name):
            return [f"module type {name}"]
        case module_ast.LocalDec(_, inner):
            return _names(inner)
    return []


