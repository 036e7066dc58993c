"""Rewrite points of expressions, as attributes of the statements that compute these."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

from runelift.frontend.elaborate.builder import Builder
from runelift.frontend.elaborate.values import Function, Value, leaves
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.attributes import parameter
from runelift.frontend.syntax.nodes import Node, walk
from runelift.ir.base.errors import Diagnostic, Label, ProgramError, ProgramWarning
from runelift.ir.base.source import Span
from runelift.ir.points import DEFAULT, Request, conflict, is_point, read_request


def attach(builder: Builder, attr: str, value: Value, span: Span) -> None:
    """Give a point to the statement of the innermost body that computes the first part of a value.

    ProgramError if no statement does, or if the point conflicts with another one there.
    """
    place = getattr(attr, "span", None) or span
    atoms = {each.atom for each in leaves(value)} if not isinstance(value, Function) else set()
    stms = builder.scopes[-1].stms
    for number in reversed(range(len(stms))):
        stm = stms[number]
        if not atoms.isdisjoint(p.name for p in stm.pat):
            attrs = (attr, *stm.attrs)
            if (both := conflict(attrs)) is not None:
                first, second = (getattr(each, "span", None) or place for each in both)
                raise ProgramError(Diagnostic(
                    "conflicting-points", first, f"Points '{both[0]}' and '{both[1]}' are about "
                    "one statement, which can have one of them only.",
                    (Label(second, "The other is here."),), ("Leave one of them out.",)))
            stms[number] = replace(stm, attrs=attrs)
            return
    what = ("This is a function, which computes nothing until it is applied"
            if isinstance(value, Function) else "This expression computes nothing by itself")
    raise ProgramError(Diagnostic(
        "point-does-not-match", place, f"{what}, so point '{attr}' has no statement.",
        hints=("Write the point in front of a map, reduce or the like with its arguments.",)))


def with_points_inside(exp: ast.Exp) -> ast.Exp:
    """An expression whose points stand in front of what types are written behind.

    Because: a point is of the map in ``#[point] map f xs :> t``, and not of its conversion.
    """
    if not isinstance(exp, ast.AttrExp) or not is_point(exp.attr):
        return exp
    value = with_points_inside(exp.value)
    if not isinstance(value, ast.Coerce | ast.Ascript):
        return exp
    inside = replace(exp, value=value.value, type=value.value.type)
    return replace(value, value=with_points_inside(inside))


def points_of(module: Node) -> Iterator[tuple[ast.AttrExp, Request]]:
    """The rewrite points in a program, or in a part of it."""
    for node in walk(module):
        if isinstance(node, ast.AttrExp) and is_point(node.attr):
            yield node, read_request(node.attr)


def warn_of_names(module: ast.Flat) -> None:
    """Warn of parameters of points that are named as a variable is: it is not meant."""
    for dec in module.decs:
        bound = {node.name for node in walk(dec) if isinstance(node, ast.PatName | ast.SizeParam)}
        for node, request in points_of(dec):
            for name in dict.fromkeys(request.names):
                if name in bound:
                    span = getattr(node.attr, "span", None) or node.span
                    warnings.warn(ProgramWarning(Diagnostic(
                        "point-arguments", span, f"'{name}' of point '{node.attr}' is a parameter "
                        f"of the program, and not the variable of this name.",
                        hints=("Give it another name.  A number of a point is known before the "
                               f"program runs: --param {name}=16 sets it.",),
                        severity="warning")), stacklevel=2)


def free_names(module: ast.Flat) -> set[str]:
    """The parameters that points name, and no expression of the program has a value for."""
    written = {parameter(node.attr) for node in walk(module) if isinstance(node, ast.AttrExp)}
    return {name for _, request in points_of(module) for name in request.names} - written


def parameters_of(module: ast.Flat) -> dict[str, int | None]:
    """The tuning parameters of a program, with the values that its points take by default.

    A parameter is named by ``#[param(name)] value`` or by a point, or by both.  Its value in points
    is the literal there, or else :data:`DEFAULT`; None if no point names it.
    """
    written: dict[str, int] = {}
    found: dict[str, int | None] = {}
    for node in walk(module):
        if not isinstance(node, ast.AttrExp):
            continue
        if is_point(node.attr):
            found |= dict.fromkeys(read_request(node.attr).names, DEFAULT)
        elif name := parameter(node.attr):
            found.setdefault(name, None)
            if isinstance(node.value, ast.Literal) and isinstance(
                    number := node.value.value, int) and number >= 1:
                written[name] = number
    return {name: default and written.get(name, default) for name, default in found.items()}
