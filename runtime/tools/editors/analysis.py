"""One text of a program as far as it is right: its tree, types, names, and mistakes."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TextIO

from runelift.frontend.check import Memory
from runelift.frontend.elaborate import elaborate
from runelift.frontend.load import CHECKED, checked_module, tried
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.parser import parse_recovering
from runelift.frontend.syntax.reparse import reparse
from runelift.frontend.syntax.types import Array, parts
from runelift.ir.base.deep import deeply
from runelift.ir.base.errors import (
    CompilerLimitation,
    Diagnostic,
    ProgramError,
    ProgramWarning,
    TooLarge,
)
from runelift.ir.base.source import Source, Span
from runelift.ir.names import Names
from runelift.runtime.tools.interactive.values import show_type


@dataclass
class Analysis:
    """The findings about a text.  ``module`` is None if it cannot be parsed.

    ``flat`` is the program with types; None if it has mistakes in them.  ``recovered`` has the
    declarations that can be parsed, if some declarations cannot.  ``silent``: the parser had no
    warnings.
    """

    source: Source
    module: module_ast.Module | None
    flat: ast.Flat | None
    diagnostics: tuple[Diagnostic, ...] = field(default=())
    recovered: module_ast.Module | None = None
    silent: bool = False

    @cached_property
    def typed(self) -> dict[tuple[int, int], ast.Exp | ast.Pattern]:
        """The expressions and patterns of this text that have types, by their places."""
        found: dict[tuple[int, int], ast.Exp | ast.Pattern] = {}
        for node in () if self.flat is None else walk(self.flat.decs):
            if (isinstance(node, ast.Exp | ast.Pattern) and node.type is not None
                    and node.span.source is self.source):
                found.setdefault((node.span.start, node.span.end), node)
        return found

    def around(self, offset: int) -> list[ast.Exp | ast.Pattern]:
        """The expressions and patterns around a place, from the inside."""
        places = [place for place in self.typed if place[0] <= offset < place[1]]
        return [self.typed[each] for each in sorted(places, key=lambda p: p[1] - p[0])]

    @cached_property
    def untyped_arrays(self) -> list[tuple[Span, str]]:
        """Names that are bound without a type, but are arrays, with their types."""
        if self.flat is None:
            return []
        ascribed = {each.span for node in walk(self.flat.decs) if isinstance(node, ast.PatAscript)
                    for each in walk(node.pattern)}
        found = {node.span: node.type for node in self.typed.values()
                 if isinstance(node, ast.PatName) and node.type is not None
                 and node.span not in ascribed and node.span.text == node.name
                 and any(isinstance(part, Array) for part in parts(node.type))}
        return sorted(((span, show_type(type_)) for span, type_ in found.items()),
                      key=lambda item: item[0].start)


_remarks = threading.local()
"""The warnings of each thread that listens to them."""


def listen_to_warnings() -> None:
    """Let warnings about programs become diagnostics, in whatever thread they are given.

    Python can catch warnings in one thread at a time only.
    """
    warnings.simplefilter("always", ProgramWarning)
    warnings.showwarning = _note


def _note(message: Warning | str, category: type[Warning], filename: str, lineno: int,
          file: TextIO | None = None, line: str | None = None) -> None:
    if isinstance(message, ProgramWarning):
        getattr(_remarks, "heard", []).append(message.diagnostic)


@contextmanager
def _listening(found: Analysis) -> Iterator[None]:
    """Give warnings to an analysis, and mistakes."""
    _remarks.heard = []
    errors: tuple[Diagnostic, ...] = ()
    try:
        yield
    except ProgramError as error:
        errors = error.diagnostics
    except CompilerLimitation as error:
        errors = (Diagnostic("unsupported-feature", Span(found.source, 0, 0), str(error),
                             severity="warning"),)
    found.diagnostics = tuple(dict.fromkeys((*found.diagnostics, *errors, *_remarks.heard)))


def read(source: Source, before: Analysis | None = None) -> Analysis:
    """Parse a text, of which an earlier one may have been parsed ``before``."""
    found = Analysis(source, None, None)
    with _listening(found):
        # what a declaration is warned of is not kept with its tree
        module = _parsed(source, before.module if before and before.silent else None)
        found.diagnostics = module.errors
        if module.errors:
            found.recovered = module
        else:
            found.module = module
    found.silent = not found.diagnostics
    return found


def check(read: Analysis, memory: Memory | None = None) -> Analysis:
    """Check a text that has been parsed, with all mistakes and warnings.

    ``memory`` holds what was found when an earlier text was checked.
    """
    module = read.module or read.recovered
    if module is None:
        return read
    found = Analysis(read.source, read.module, None, read.diagnostics, silent=read.silent)
    with _listening(found):
        _check(found, module, memory)
    with _listening(Analysis(read.source, None, None)):  # no warnings about programs that are tried
        found.diagnostics = _tried(found.diagnostics, read.source)
    return found


@deeply
def _parsed(source: Source, before: module_ast.Module | None) -> module_ast.Module:
    return parse_recovering(source) if before is None else reparse(source, before)


@deeply
def _tried(diagnostics: tuple[Diagnostic, ...], source: Source) -> tuple[Diagnostic, ...]:
    return tuple(tried(diagnostics, source))


@deeply
def _check(found: Analysis, module: module_ast.Module, memory: Memory | None) -> None:
    found.flat = flat = checked_module(module, memory=memory)
    with suppress(TooLarge):
        elaborate(flat, Names(), effort=CHECKED)
