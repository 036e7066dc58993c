"""Paths into values: ``.f``, ``[i, j:k]``, ``[i].f[j]``, which updates and sections follow.

An update along a path of fields, or of one index, is a single node
(:mod:`~runelift.frontend.syntax.ast`).  An update along a mixed path is made of such nodes:
``a with [i].f = v`` takes ``a[i]`` out, updates its field, and puts it back.  The names that it
binds begin with an underscore, which nothing in a program can use.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeAlias

from runelift.frontend.syntax import ast
from runelift.ir.base.source import Span

Dims: TypeAlias = tuple[ast.IndexDim, ...]
Path: TypeAlias = Sequence["str | Dims"]
"""Fields and indices, from the outside."""


def update(span: Span, whole: ast.Exp, path: Path, value: ast.Exp) -> ast.Exp:
    """``whole with path = value``."""
    match path:
        case [tuple() as outer, tuple() as inner, *others] if not _slices(outer):
            return update(span, whole, [(*outer, *inner), *others], value)
        case [tuple() as dims]:
            return ast.UpdateExp(span, whole, dims, value)
    fields, further = _fields(path)
    if fields and not further:
        return ast.RecordUpdate(span, whole, fields, value)
    if not isinstance(whole, ast.Name):
        return _let(span, "_whole", whole, update(span, _name(span, "_whole"), path, value))
    old = _name(whole.span, whole.name.name)
    if fields:
        changed = update(span, _projected(span, old, fields), further, value)
        return ast.RecordUpdate(span, whole, fields, changed)
    assert isinstance(path[0], tuple)
    dims, rest = path[0], path[1:]
    name = f"_part{len(rest)}"
    part = ast.Apply(span, _name(span, "copy"), (ast.IndexExp(span, old, copy.deepcopy(dims)),))
    changed = update(span, _name(span, name), rest, value)
    return _let(span, name, part, ast.UpdateExp(span, whole, dims, changed))


def let_update(span: Span, name: str, name_span: Span, path: Path, value: ast.Exp,
               body: ast.Exp) -> ast.Exp:
    """``let name path = value in body``."""
    match path:
        case [tuple() as dims]:
            return ast.LetWith(span, name, name_span, dims, value, body)
    old = ast.Name(name_span, ast.QualName((), name))
    changed = update(span, old, path, value)
    return ast.LetPat(span, (), ast.PatName(name_span, name), changed, body)


def section(span: Span, path: Path) -> ast.Exp:
    """``(.path)``."""
    match path:
        case [tuple() as dims]:
            return ast.IndexSection(span, dims)
    fields, rest = _fields(path)
    if not rest:
        return ast.ProjectSection(span, fields)
    part: ast.Exp = _name(span, "_whole")
    for step in path:
        part = (ast.IndexExp(span, part, step) if isinstance(step, tuple)
                else ast.Project(span, part, step))
    return ast.LambdaExp(span, (ast.PatName(span, "_whole"),), None, part)


def _slices(dims: Dims) -> bool:
    return any(isinstance(dim, ast.SliceExp) for dim in dims)


def _fields(path: Path) -> tuple[tuple[str, ...], Path]:
    """The fields at the front of a path, and what comes after them."""
    fields: list[str] = []
    for step in path:
        if isinstance(step, tuple):
            break
        fields.append(step)
    return tuple(fields), path[len(fields):]


def _projected(span: Span, record: ast.Exp, fields: Sequence[str]) -> ast.Exp:
    for name in fields:
        record = ast.Project(span, record, name)
    return record


def _name(span: Span, name: str) -> ast.Name:
    return ast.Name(span, ast.QualName((), name))


def _let(span: Span, name: str, value: ast.Exp, body: ast.Exp) -> ast.LetPat:
    return ast.LetPat(span, (), ast.PatName(span, name), value, body)
