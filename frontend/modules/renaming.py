"""Pieces of syntax with names that are global, as the names in scope say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from runelift.frontend.modules.structures import (
    PRIMS,
    Builtin,
    Structure,
    find_module,
    find_type,
    find_value,
    member_value,
    wrong,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, duplicate, parts
from runelift.frontend.syntax.prelude import LIBRARY_MODULES
from runelift.ir.base.source import Span

T = TypeVar("T")


def rename(node: T, scope: Structure) -> T:
    """A copy of a piece of syntax in which names are global, as ``scope`` says."""
    if isinstance(node, tuple):
        return tuple(rename(item, scope) for item in node)  # type: ignore[return-value]
    if not isinstance(node, Node):
        return node
    new = _special(node, scope)
    renamed: T = _fields(node, scope) if new is None else new
    return renamed


def _fields(node: Any, scope: Structure, **others: Structure) -> Any:
    """A copy with all fields renamed, those named in ``others`` in the scopes given there."""
    new = duplicate(node)
    for name in parts(type(node)):
        if isinstance(part := getattr(node, name), Node | tuple):
            setattr(new, name, rename(part, others.get(name, scope)))
    return new


def _special(node: Any, scope: Structure) -> Any:
    """A node with names or binders, renamed; None for every other node."""
    match node:
        case ast.Name(span, name):
            return ast.Name(span, find_value(name, scope, span))
        case ast.Project():
            return _projection(node, scope)
        case ast.LocalOpen():
            return _local_open(node, scope)
        case ast.TypeName(span, name):
            new = _fields(node, scope)
            new.name = find_type(name, scope, span)
            return new
        case ast.BinExp(span, op) | ast.OpSection(span, op):
            new = _fields(node, scope)
            new.op = find_value(op, scope, span)
            return new
        case ast.ValDec(_, _, _, _, type_params, params):
            inner = with_params(scope, type_params, params)
            new = _fields(node, scope, ret=inner, body=inner)
            new.params = _renamed_params(params, with_params(scope, type_params, ()))
            return new
        case ast.TypeDec(_, _, type_params):
            return _fields(node, with_params(scope, type_params, ()))
        case ast.LambdaExp(_, params):
            inner = scope.hiding(_bound(params))
            new = _fields(node, scope, ret=inner, body=inner)
            new.params = _renamed_params(params, scope)
            return new
        case ast.LetPat(_, sizes, pattern):
            typed = scope.hiding(size.name for size in sizes)
            return _fields(node, scope, pattern=typed, body=typed.hiding(_bound(pattern)))
        case ast.LetFun(_, name, type_params, params):
            inner = with_params(scope, type_params, params)
            new = _fields(node, scope, ret=inner, value=inner, body=scope.hiding([name]))
            new.params = _renamed_params(params, with_params(scope, type_params, ()))
            return new
        case ast.LetWith(_, name):
            return _fields(node, scope, body=scope.hiding([name]))
        case ast.LoopExp():
            return _loop(node, scope)
        case ast.Case(_, pattern):
            return _fields(node, scope, body=scope.hiding(_bound(pattern)))
        case ast.TypeArrow(_, str() as param):
            return _fields(node, scope, codomain=scope.hiding([param]))
        case ast.TypeExists(_, sizes):
            return _fields(node, scope.hiding(sizes))
    return None


def with_params(scope: Structure, type_params: Iterable[ast.SizeParam | ast.TypeParam],
                params: Iterable[ast.Pattern]) -> Structure:
    """The scope inside of a function with these parameters."""
    sizes = [p.name for p in type_params if isinstance(p, ast.SizeParam)]
    types = [p.name for p in type_params if isinstance(p, ast.TypeParam)]
    return scope.hiding([*sizes, *_bound(tuple(params))], types)


def _renamed_params(params: Iterable[ast.Pattern], scope: Structure) -> tuple[ast.Pattern, ...]:
    """Parameters, each of which knows the names that the parameters before it bind."""
    renamed: list[ast.Pattern] = []
    for param in params:
        renamed.append(rename(param, scope))
        scope = scope.hiding(_bound(param))
    return tuple(renamed)


def _loop(node: ast.LoopExp, scope: Structure) -> ast.LoopExp:
    inner = scope.hiding(_bound(node.pattern))
    form: Any = rename(node.form, scope)
    if isinstance(node.form, ast.WhileForm):
        form = rename(node.form, inner)
    else:
        inner = inner.hiding(_bound(node.form.pattern))
    new: ast.LoopExp = _fields(node, scope, body=inner)
    new.form = form
    return new


def _bound(node: object) -> set[str]:
    """The names that patterns bind."""
    match node:
        case ast.PatName(_, name):
            return {name}
        case ast.PatAscript(_, inner):
            return _bound(inner)
        case ast.PatTuple(_, items) | ast.PatConstr(_, _, items):
            return _bound(items)
        case ast.PatRecord(_, fields):
            return {name for _, item in fields for name in _bound(item)}
        case tuple():
            return {name for item in node for name in _bound(item)}
    return set()


def _local_open(node: ast.LocalOpen, scope: Structure) -> ast.Exp:
    """``M.(e)``: the expression in a scope that has the names of the module."""
    mod = find_module(_module_path(node.module), scope, node.module.span)
    inner = scope.copy()
    if isinstance(mod, Structure):
        inner.add(mod)
    elif isinstance(mod, Builtin):
        inner.add(Structure(opened=(mod.prim,)))
    return rename(node.body, inner)


def _module_path(exp: ast.Exp) -> tuple[str, ...]:
    match exp:
        case ast.Name(_, name):
            return (*name.quals, name.name)
        case ast.Project(_, inner, name):
            return (*_module_path(inner), name)
    raise wrong("not-a-module", exp.span, "Only a module can be opened: M.(e).")


def _projection(node: ast.Project, scope: Structure) -> ast.Exp:
    """``M.N.x.f``: modules as far as they go, then a value, then fields."""
    path: list[tuple[str, Span]] = [(node.field_name, node.span)]
    root = node.record
    while isinstance(root, ast.Project):
        path.insert(0, (root.field_name, root.span))
        root = root.record
    if (not isinstance(root, ast.Name) or scope.local.get(root.name.name)
            or (not root.name.quals and root.name.name in scope.values)):
        return _fields(node, scope)  # type: ignore[no-any-return]
    quals = (*root.name.quals, root.name.name)
    if not any(quals[0] in known for known in (scope.modules, LIBRARY_MODULES, PRIMS)):
        return _fields(node, scope)  # type: ignore[no-any-return]
    mod = find_module(quals, scope, root.span)
    while len(path) > 1 and isinstance(mod, Structure) and path[0][0] not in mod.values:
        quals = (*quals, path.pop(0)[0])
        mod = find_module(quals, scope, node.span)
    (name, span), *fields = path
    found: ast.Exp = ast.Name(span, member_value(mod, ast.QualName(quals, name), span))
    for label, place in fields:
        found = ast.Project(place, found, label)
    return found
