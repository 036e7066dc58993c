"""Recursion: functions that name themselves.  If such a function calls itself last, it is a loop.

``def f p = if c then e else f a`` becomes, with fresh names::

    let (again, present) = loop (again, present) = (true, p) while again do
      let p = present in if c then (false, present) else (true, a)
    let p = present in e

The loop finds the arguments of the last call, and the rest of the body makes its result.  A
parameter that every call passes on stays outside of the loop, so that it may be a function.  Size
parameters are the sizes of the present arguments.  Other functions that name themselves stay as
they are (:class:`~runelift.ir.syntax.Recursion`).

A function whose every call would call it again never ends.  Inside of it, its name is that of an
earlier value, as in ``def indices xs = map i32.i64 (indices xs)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeGuard

from runelift.frontend.modules.library import library_names
from runelift.frontend.modules.renaming import rename
from runelift.frontend.modules.structures import Structure
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import duplicate, parts, walk
from runelift.frontend.syntax.prelude import FUNCTIONS, OPERATORS

_ITSELF = " itself"
"""A name that no program can have."""


def as_loop(dec: ast.ValDec) -> ast.ValDec:
    """A function without calls of itself.

    The result is ``dec`` itself if it has no calls of itself, or if one of them is not last.
    """
    names = [node for node in walk(dec.body) if _mentions(node, dec.name)]
    if not names or _binds((dec.type_params, dec.params, dec.body), dec.name):
        return dec
    calls = list[ast.Apply]()

    def collected(exp: ast.Exp) -> ast.Exp:
        if _is_call(exp, dec):
            calls.append(exp)
        return exp

    _at_ends(dec.body, collected)
    if len(calls) < len(names):
        return dec
    changing = [n for n, param in enumerate(dec.params)
                if not all(_passes_on(call.args[n], param, dec.body) for call in calls)]
    values = _all([_value_of(dec.params[n]) for n in changing])
    if values is None:
        return dec
    new = duplicate(dec)
    new.body = _looping(dec, changing, values)
    return new


def within(scope: Structure, dec: ast.ValDec, name: str) -> Structure:
    """The scope of a declaration's parts: a function knows itself, as ``name``."""
    inner = scope.copy()
    inner.add(Structure(values={dec.name: ast.QualName((), name)}))
    return inner


def names_itself(dec: ast.ValDec, scope: Structure) -> bool:
    """True if a function names itself, and no variable of this name hides it there."""
    return any(_mentions(node, _ITSELF)
               for node in walk(rename(dec, within(scope, dec, _ITSELF)).body))


def may_name_itself(dec: ast.ValDec, scope: Structure) -> bool:
    """True if the name of a function stands in it, and is not that of an earlier value."""
    return (bool(dec.params) and any(_mentions(node, dec.name) for node in walk(dec.body))
            and not _names_earlier(dec, scope))


def _names_earlier(dec: ast.ValDec, scope: Structure) -> bool:
    """True if the name of a function, inside of it, is that of an earlier value."""
    return ((any(_calls(part, dec.name, len(dec.params)) for part in _evaluated(dec.body))
             or _calls(_result(dec.body), dec.name, 1))  # no function returns itself
            and not _binds((dec.params, dec.body), dec.name)
            and (scope.value(dec.name) is not None or dec.name in OPERATORS
                 or dec.name in FUNCTIONS or dec.name in library_names()))


def _result(exp: ast.Exp) -> ast.Exp:
    """The part of an expression that has its value."""
    while isinstance(exp, ast.LetPat | ast.LetFun | ast.LetWith | ast.LocalOpen):
        exp = exp.body
    return exp


def _evaluated(exp: object) -> Iterator[ast.Exp]:
    """The parts of an expression that every evaluation of it evaluates."""
    todo = [exp]
    while todo:
        match item := todo.pop():
            case ast.IfExp(_, first) | ast.MatchExp(_, first) | ast.LoopExp(_, _, first):
                todo.append(first)
            case ast.BinExp(_, ast.QualName((), "&&" | "||"), first):
                todo.append(first)
            case ast.LetFun():
                todo.append(item.body)
            case tuple():
                todo.extend(item)
            case ast.Exp() if not isinstance(item, ast.LambdaExp):
                yield item
                todo.extend(getattr(item, name) for name in parts(type(item)))


def _calls(exp: ast.Exp | None, name: str, least: int) -> bool:
    """True for a call of a named function with at least so many arguments."""
    match exp:
        case ast.Apply(_, fun, args):
            return _calls(fun, name, least - len(args))
        case ast.BinExp(_, ast.QualName((), "|>"), _, fun) | ast.BinExp(
                _, ast.QualName((), "<|"), fun):
            return _calls(fun, name, least - 1)
        case ast.BinExp(_, ast.QualName((), op)) if op == name:
            return least <= 2
    return least <= 0 and _mentions(exp, name)


def _looping(dec: ast.ValDec, changing: list[int], values: tuple[ast.Exp, ...]) -> ast.Exp:
    """The body as a loop over the parameters that change.

    The loop has fresh names for them, which the body cannot hide.
    """
    span = dec.body.span
    params = [dec.params[n] for n in changing]
    again, *names = _new_names(dec, len(params))
    present = tuple([ast.Name(span, ast.QualName((), name)) for name in names])
    state = ast.PatTuple(span, tuple([ast.PatName(span, name) for name in (again, *names)]))
    sizes = tuple(param for param in dec.type_params if isinstance(param, ast.SizeParam) and any(
        _mentions(node, param.name) for node in walk(tuple(params))))

    def going_on(whether: bool, items: tuple[ast.Exp, ...]) -> ast.Exp:
        return ast.TupleExp(span, (ast.Literal(span, whether, None), *items))

    def step(exp: ast.Exp) -> ast.Exp:
        return (going_on(True, tuple([exp.args[n] for n in changing])) if _is_call(exp, dec)
                else going_on(False, present))

    def with_params(exp: ast.Exp) -> ast.Exp:
        pattern = params[0] if len(params) == 1 else ast.PatTuple(span, tuple(params))
        value = present[0] if len(present) == 1 else ast.TupleExp(span, present)
        return ast.LetPat(span, sizes, pattern, value, exp)

    body = _at_ends(dec.body, step)
    assert body is not None
    loop = ast.LoopExp(span, state, going_on(True, values),
                       ast.WhileForm(span, ast.Name(span, ast.QualName((), again))),
                       with_params(body))
    result = _at_ends(dec.body, lambda exp: None if _is_call(exp, dec) else exp)
    return ast.LetPat(span, (), state, loop, with_params(result or ast.Hole(span, written=False)))


def _new_names(dec: ast.ValDec, count: int) -> list[str]:
    """New names for a loop: the flag that it continues, and its arguments."""
    used = {str(getattr(node, "name", "")) for node in walk((dec.params, dec.body))}
    found = list[str]()
    for name in ("again", *["present"] * count):
        while name in used:
            name += "'"
        used.add(name)
        found.append(name)
    return found


def _at_ends(exp: ast.Exp, work: Callable[[ast.Exp], ast.Exp | None]) -> ast.Exp | None:
    """An expression with ``work`` of each part that may be evaluated last, for its value.

    None stands for an expression that is never evaluated.
    """
    new = duplicate(exp)
    match new:
        case ast.IfExp():
            then, otherwise = _at_ends(new.then_, work), _at_ends(new.else_, work)
            if then is None or otherwise is None:
                return then or otherwise
            new.then_, new.else_ = then, otherwise
        case ast.MatchExp():
            bodies = [_at_ends(case.body, work) for case in new.cases]
            if not any(bodies):
                return None
            new.cases = tuple([
                ast.Case(case.span, case.pattern, body or ast.Hole(case.span, written=False))
                for case, body in zip(new.cases, bodies, strict=True)])
        case ast.LetPat() | ast.LetFun() | ast.LetWith() | ast.LocalOpen():
            if (body := _at_ends(new.body, work)) is None:
                return None
            new.body = body
        case ast.AssertExp() | ast.AttrExp():
            if (value := _at_ends(new.value, work)) is None:
                return None
            new.value = value
        case _:
            return work(exp)
    return new


def _is_call(exp: ast.Exp, dec: ast.ValDec) -> TypeGuard[ast.Apply]:
    """True for a call of the function itself, with all arguments."""
    return (isinstance(exp, ast.Apply) and isinstance(exp.fun, ast.Name)
            and _mentions(exp.fun, dec.name) and len(exp.args) == len(dec.params))


def _mentions(node: object, name: str) -> bool:
    """True if a node is a use of a name that is not qualified."""
    match node:
        case (ast.Name(_, ast.QualName((), used)) | ast.BinExp(_, ast.QualName((), used))
              | ast.OpSection(_, ast.QualName((), used))):
            return used == name
    return False


def _binds(tree: object, name: str) -> bool:
    """True if a tree binds the name anew anywhere."""
    return any(isinstance(node, ast.PatName | ast.LetFun | ast.LetWith | ast.SizeParam)
               and node.name == name for node in walk(tree))


def _passes_on(arg: ast.Exp, param: ast.Pattern, body: ast.Exp) -> bool:
    """True if an argument is the parameter itself."""
    while isinstance(param, ast.PatAscript):
        param = param.pattern
    return (isinstance(param, ast.PatName) and isinstance(arg, ast.Name)
            and _mentions(arg, param.name) and not _binds(body, param.name))


def _value_of(pattern: ast.Pattern) -> ast.Exp | None:
    """The value that a pattern has bound; None if it does not bind all of it, or a function."""
    match pattern:
        case ast.PatName(span, name):
            return ast.Name(span, ast.QualName((), name))
        case ast.PatAscript(_, inner, type_exp) if not isinstance(type_exp, ast.TypeArrow):
            return _value_of(inner)
        case ast.PatTuple(span, items):
            values = _all([_value_of(item) for item in items])
            return None if values is None else ast.TupleExp(span, values)
        case ast.PatRecord(span, members):
            values = _all([_value_of(member) for _, member in members])
            return None if values is None else ast.RecordExp(span, tuple(zip(
                [name for name, _ in members], values, strict=True)))
    return None


def _all(values: list[ast.Exp | None]) -> tuple[ast.Exp, ...] | None:
    """These values; None if one of them is None."""
    known = tuple([value for value in values if value is not None])
    return known if len(known) == len(values) else None
