"""From a source file to core IR in one step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from runelift.frontend.check import Memory, check_module
from runelift.frontend.check.indexing import negative_indices
from runelift.frontend.check.sums import unmarked
from runelift.frontend.depth import require_depth
from runelift.frontend.elaborate import NO_PARAMETERS, elaborate
from runelift.frontend.elaborate.builder import Effort
from runelift.frontend.manifest import missing_package
from runelift.frontend.modules.library import with_library
from runelift.frontend.modules.modules import flatten_modules
from runelift.frontend.signatures import signatures
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.parser import parse, parse_recovering
from runelift.frontend.tried import Trial
from runelift.ir.base.deep import deeply
from runelift.ir.base.errors import (
    CompilerLimitation,
    Diagnostic,
    ProgramError,
    ProgramWarning,
    Replacement,
    TooLarge,
    UserError,
)
from runelift.ir.base.files import read_source
from runelift.ir.base.shipped import shipped_names
from runelift.ir.base.source import Source, Span
from runelift.ir.names import Names
from runelift.ir.promises import doubtful
from runelift.ir.syntax import Program
from runelift.ir.traverse import statements_inside


@deeply
def load(source: Source, names: Names, parameters: Mapping[str, int] = NO_PARAMETERS, *,
         steered: bool = True) -> Program:
    """Parse, check and elaborate a program; ProgramError with what is wrong with it.

    ``parameters`` are values for expressions with the attribute ``#[param(name)]``.  Attributes
    that steer flattening are dropped unless the program is to be ``steered`` by them.
    """
    return elaborate(checked(source), names, parameters, steered=steered)


CHECKED = Effort(calls=10_000, components=1000)
"""The part of a program that :func:`check` follows after its types are checked."""


@deeply
def check(source: Source, *, promises: bool = False) -> ast.Flat:
    """Report what is wrong with a program, but no more than a bounded time after its types.

    Programs that inlining makes large are followed as far as that.  Operators that break a promise
    by laws of arithmetic are warned of.  With ``promises``, operators are tried on random values,
    too, and breaking a promise is an error.
    """
    module = checked(source)
    own = tuple(dec for dec in module.decs if dec.span.source.name == source.name)
    for each in sorted((*negative_indices(own), *unmarked(own)), key=lambda each: each.span.start):
        warnings.warn(ProgramWarning(each), stacklevel=2)
    with suppress(TooLarge):
        program = elaborate(module, Names(), effort=CHECKED)
        if promises or any(map(doubtful, statements_inside([fun.body for fun in program.funs]))):
            # late: start-up; most programs have no operator that breaks a promise by known laws
            from runelift.frontend.promises import broken_promises, warn

            found = list(broken_promises(program, source, drawn=promises))
            if promises and found:
                raise ProgramError(*(replace(each, severity="error") for each in found))
            warn(found)
    return module


@deeply
def checked(source: Source, further: Callable[[module_ast.Module], ast.ValDec] | None = None
            ) -> ast.Flat:
    """Parse and check a program; ProgramError with what is wrong with it.

    ``further`` makes a declaration for its end, which is the only entry point then.
    """
    if further is None:
        try:
            return checked_module(parse_recovering(source))
        except ProgramError as error:
            with warnings.catch_warnings(action="ignore", category=ProgramWarning):
                raise ProgramError(*tried(error.diagnostics, source)) from None
    module = parse(source)
    dec = further(module)
    module.decs += (dec,)
    return checked_module(module, dec.name)


def tried(diagnostics: Iterable[Diagnostic], source: Source) -> Iterator[Diagnostic]:
    """The mistakes in a program, with hints that cure (:mod:`runelift.frontend.tried`)."""
    trial = Trial(source, lambda changed: checked_module(parse_recovering(changed)))
    return trial.told(diagnostics)


def checked_module(module: module_ast.Module, only: str = "", memory: Memory | None = None
                    ) -> ast.Flat:
    """Check a program that is parsed, of which perhaps ``only`` one entry point is wanted.

    The errors come from the parser, and from checking the declarations that could be parsed.
    ``memory`` holds what was found when it was checked before it changed.
    """
    try:
        return _checked_module(module, only, memory)
    except CompilerLimitation:
        if module.errors:
            raise ProgramError(*module.errors) from None
        raise


def _checked_module(module: module_ast.Module, only: str, memory: Memory | None) -> ast.Flat:
    if module.in_doubt:
        raise ProgramError(*module.errors)
    require_depth(module)
    imports: list[Source] = []

    def read(path: Path, span: Span) -> module_ast.Module:
        module = _read_import(path, span)
        imports.append(module.span.source)
        return module

    program = with_library(flatten_modules(module, read))
    program.imports, program.only = tuple(imports), only
    check_module(program, memory)
    return program


class EntryPoint(NamedTuple):
    """An entry point as declared: its span, its attributes, and the types of its parameters."""

    span: Span
    attributes: tuple[str, ...]
    params: tuple[str, ...]


def entry_points(source: Source) -> dict[str, EntryPoint]:
    """The entry points of a program by name; ProgramError with what is wrong with it."""
    module = checked(source)
    typed = signatures(module)
    return {dec.name: EntryPoint(dec.span, dec.attrs, tuple(
        param.type for param in typed[dec.name].params)) for dec in module.entry_points}


def _read_import(path: Path, span: Span) -> module_ast.Module:
    try:
        return parse_recovering(read_source(path))
    except UserError as error:
        advice = missing_package(path.absolute(), Path())
        if (name := f"std/{path.stem}") in shipped_names():
            advice = Replacement(f'Shipped is "{name}".', f'import "{name}"')
        elif path.parent.name == "futlib":
            advice = "What 'futlib' had needs no import: leave it out."
        raise ProgramError(Diagnostic(
            "missing-import", span, f"Cannot read '{path.name}': "
            + str(error).rpartition(": ")[2], hints=(advice,) * bool(advice))) from None
