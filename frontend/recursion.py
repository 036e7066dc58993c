"""Functions that call themselves last are loops.

``def f p = if c then e else f a`` is, with a name that is new::

    let (_, p) = loop (again, p) = (true, p) while again do
      if c then (false, p) else (true, a)
    in e

The loop finds the arguments of the last call, and what is left of the body makes its result.  A
parameter that every call passes on stays outside of the loop, so that it may be a function.  Size
parameters are those of the arguments that are there.  Other recursion is left for the type checker
to refuse: it would take a stack for each work-item.  (Futhark has recursion since release 0.27.)
"""

from __future__ import annotations

from collections.abc import Callable

from runelift.frontend import ast
from runelift.frontend.nodes import duplicate, walk

AGAIN = "again"
"""What the loop calls whether it goes on, unless the function has that name, too."""


def as_loop(dec: ast.ValDec) -> ast.ValDec:
    """A function without calls of itself; the same one if it has none, or others than last ones."""
    names = [node for node in walk(dec.body) if _mentions(node, dec.name)]
    if not names or _binds(dec, dec.name):
        return dec
    calls = list[ast.Apply]()

    def collected(exp: ast.Exp) -> ast.Exp:
        if _calls(exp, dec):
            assert isinstance(exp, ast.Apply)
            calls.append(exp)
        return exp

    _at_ends(dec.body, collected)
    if len(calls) < len(names):
        return dec
    changing = [n for n, param in enumerate(dec.params)
                if not all(_passes_on(call.args[n], param) for call in calls)]
    values = _all([_value_of(dec.params[n]) for n in changing])
    if values is None:
        return dec
    new = duplicate(dec)
    new.body = _looping(dec, changing, values)
    return new


def _looping(dec: ast.ValDec, changing: list[int], values: tuple[ast.Exp, ...]) -> ast.Exp:
    """The body as a loop over the parameters that change."""
    span = dec.body.span
    params = [dec.params[n] for n in changing]
    sizes = tuple(param for param in dec.type_params if isinstance(param, ast.SizeParam) and any(
        _mentions(node, param.name) for node in walk(tuple(params))))
    again = AGAIN
    while any(_mentions(node, again) for node in walk((dec.params, dec.body))):
        again += "'"

    def state(goes_on: bool, items: tuple[ast.Exp, ...]) -> ast.Exp:
        return ast.TupleExp(span, (ast.Literal(span, goes_on, None), *items))

    def step(exp: ast.Exp) -> ast.Exp:
        if _calls(exp, dec):
            assert isinstance(exp, ast.Apply)
            return state(True, tuple([exp.args[n] for n in changing]))
        return state(False, values)

    def with_sizes(exp: ast.Exp) -> ast.Exp:
        """With the sizes of the present arguments; patterns of one item are that item."""
        if not sizes:
            return exp
        pattern = params[0] if len(params) == 1 else ast.PatTuple(span, tuple(params))
        value = values[0] if len(values) == 1 else ast.TupleExp(span, values)
        return ast.LetPat(span, sizes, pattern, value, exp)

    plain = tuple(map(_without_types, params))
    loop = ast.LoopExp(
        span, ast.PatTuple(span, (ast.PatName(span, again), *plain)), state(True, values),
        ast.WhileForm(span, ast.Name(span, ast.QualName((), again))),
        with_sizes(_at_ends(dec.body, step)))
    result = _result(dec.body, dec) or ast.Hole(span)
    return ast.LetPat(span, (), ast.PatTuple(span, (ast.PatWild(span), *plain)), loop,
                      with_sizes(result))


def _at_ends(exp: ast.Exp, work: Callable[[ast.Exp], ast.Exp]) -> ast.Exp:
    """An expression with ``work`` of those that may be evaluated last, for its value."""
    new = duplicate(exp)
    match new:
        case ast.IfExp():
            new.then_, new.else_ = _at_ends(new.then_, work), _at_ends(new.else_, work)
        case ast.MatchExp():
            new.cases = tuple([ast.Case(case.span, case.pattern, _at_ends(case.body, work))
                               for case in new.cases])
        case ast.LetPat() | ast.LetFun() | ast.LetWith() | ast.LocalOpen():
            new.body = _at_ends(new.body, work)
        case ast.AssertExp() | ast.AttrExp():
            new.value = _at_ends(new.value, work)
        case _:
            return work(exp)
    return new


def _result(exp: ast.Exp, dec: ast.ValDec) -> ast.Exp | None:
    """What makes the result after the last call; None if that is always a call."""
    new = duplicate(exp)
    match new:
        case ast.IfExp():
            then, otherwise = _result(new.then_, dec), _result(new.else_, dec)
            if then is None or otherwise is None:
                return then or otherwise
            new.then_, new.else_ = then, otherwise
        case ast.MatchExp():
            bodies = [_result(case.body, dec) for case in new.cases]
            if not any(bodies):
                return None
            new.cases = tuple([ast.Case(case.span, case.pattern, body or ast.Hole(case.span))
                               for case, body in zip(new.cases, bodies, strict=True)])
        case ast.LetPat() | ast.LetFun() | ast.LetWith() | ast.LocalOpen():
            body = _result(new.body, dec)
            if body is None:
                return None
            new.body = body
        case ast.AssertExp() | ast.AttrExp():
            value = _result(new.value, dec)
            if value is None:
                return None
            new.value = value
        case _:
            return None if _calls(exp, dec) else exp
    return new


def _calls(exp: ast.Exp, dec: ast.ValDec) -> bool:
    """Whether this is a call of the function itself, with all arguments."""
    return (isinstance(exp, ast.Apply) and isinstance(exp.fun, ast.Name)
            and _mentions(exp.fun, dec.name) and len(exp.args) == len(dec.params))


def _mentions(node: object, name: str) -> bool:
    """Whether a node is a use of a name that is not qualified."""
    match node:
        case ast.Name(_, ast.QualName((), used)) | ast.PatName(_, used):
            return used == name
        case ast.BinExp(_, ast.QualName((), used)) | ast.OpSection(_, ast.QualName((), used)):
            return used == name
        case ast.LetWith(_, used):
            return used == name
    return False


def _binds(dec: ast.ValDec, name: str) -> bool:
    """Whether the name of a function stands for something else somewhere in it."""
    return any(isinstance(node, ast.PatName | ast.LetFun | ast.LetWith | ast.SizeParam)
               and node.name == name for node in walk((dec.type_params, dec.params, dec.body)))


def _passes_on(arg: ast.Exp, param: ast.Pattern) -> bool:
    """Whether an argument is the parameter itself."""
    while isinstance(param, ast.PatAscript):
        param = param.pattern
    return isinstance(param, ast.PatName) and isinstance(arg, ast.Name) and _mentions(
        arg, param.name)


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
    """These values, if there is none that is not known."""
    known = tuple([value for value in values if value is not None])
    return known if len(known) == len(values) else None


def _without_types(pattern: ast.Pattern) -> ast.Pattern:
    """The same pattern for values whose sizes may be others."""
    match pattern:
        case ast.PatAscript(_, inner):
            return _without_types(inner)
        case ast.PatTuple(span, items):
            return ast.PatTuple(span, tuple(map(_without_types, items)))
        case ast.PatRecord(span, members):
            return ast.PatRecord(span, tuple((name, _without_types(item))
                                             for name, item in members))
    return duplicate(pattern)
