"""The part of the prelude that is written in the language: ``library.fut``."""

from __future__ import annotations

import copy
import dataclasses
import re
from functools import cache
from pathlib import Path

from runelift.frontend.modules.renaming import rename
from runelift.frontend.modules.structures import Structure
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.parser import parse
from runelift.ir.base.source import Source


def with_library(program: ast.Flat) -> ast.Flat:
    """``program`` behind the library functions that it uses directly or indirectly."""
    used: set[str] = set()
    named = _names(program)
    if library_names().isdisjoint(name.rpartition(".")[2] for name in named):
        return program  # the library need not be parsed, which takes longer than most programs
    named &= _library().keys()
    while named:
        used |= named
        named = set().union(*(_names(_library()[name]) for name in named)) & (
            _library().keys() - used)
    decs = [copy.deepcopy(dec) for name, dec in _library().items() if name in used]
    return dataclasses.replace(program, decs=(*decs, *program.decs))


@cache
def _text() -> str:
    return (Path(__file__).parents[1] / "library.fut").read_text("utf-8")


@cache
def library_names() -> frozenset[str]:
    """The names that the library's text defines, without the names of their modules."""
    return frozenset(re.findall(r"^ *def ([\w']+)", _text(), re.MULTILINE))


@cache
def _library() -> dict[str, ast.ValDec]:
    found: dict[str, ast.ValDec] = {}
    for dec in parse(Source("library.fut", _text())).decs:
        match dec:
            case ast.ValDec(_, name):
                found[name] = dec
            case module_ast.ModDec(_, name, module_ast.ModBody(_, members)):
                for member in members:
                    if isinstance(member, ast.ValDec):
                        member.name = f"{name}.{member.name}"
                        found[member.name] = member
    return {name: rename(dec, Structure()) for name, dec in found.items()}


def _names(tree: ast.Flat | ast.ValDec) -> set[str]:
    return {node.name.name for node in walk(tree) if isinstance(node, ast.Name)}
