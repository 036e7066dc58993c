"""Questions about the form of expressions, patterns and types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runelift.frontend.check.unify import Substitution
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.ir.base.source import Span


def whole_name(pattern: ast.Pattern) -> str | None:
    """The name that a pattern binds to the whole value; None without such a name."""
    match pattern:
        case ast.PatName(_, name):
            return name
        case ast.PatAscript(_, inner):
            return whole_name(inner)
    return None


def base_name(pattern: ast.Pattern) -> str:
    """The name that a pattern binds to the whole value, or a fixed name for other patterns."""
    return whole_name(pattern) or "arg"


def names_bound(patterns: Iterable[ast.Pattern]) -> Iterator[ast.PatName]:
    """The places where patterns bind names, from left to right."""
    for pattern in patterns:
        match pattern:
            case ast.PatName():
                yield pattern
            case ast.PatAscript(_, inner):
                yield from names_bound((inner,))
            case ast.PatTuple(_, items) | ast.PatConstr(_, _, items):
                yield from names_bound(items)
            case ast.PatRecord(_, fields):
                yield from names_bound(item for _, item in fields)


def tail(body: ast.Exp) -> ast.Exp:
    """The expression whose value is that of ``body``, behind its definitions."""
    while isinstance(body, ast.LetPat | ast.LetFun | ast.LetWith):
        body = body.body
    return body


def has_function(type_: ty.Type) -> bool:
    """True if a value of a type is or has a function."""
    return any(isinstance(part, ty.Arrow) for part in ty.parts(
        type_, lambda part: isinstance(part, ty.Tuple | ty.Record)))


def computes_sizes(type_: ty.Type) -> bool:
    """True if sizes of a result belong to one call: computed, or given as an argument."""
    while isinstance(type_, ty.Arrow):
        if type_.exists or type_.param in ty.sizes_in(type_.codomain):
            return True
        type_ = type_.codomain
    return False


def first_hidden(type_: ty.Type) -> ty.TypeVar | ty.Abstract | None:
    """The first part of a type that is unknown here: a type parameter, or a hidden type."""
    return next((part for part in ty.parts(type_, lambda part: not isinstance(part, ty.Arrow))
                 if isinstance(part, ty.TypeVar | ty.Abstract)), None)


def first_order(type_: ty.Type) -> bool:
    """True if a value of a type can be passed to an entry point."""
    return not any(isinstance(part, ty.Arrow | ty.TypeVar | ty.MetaVar)
                   for part in ty.parts(type_))


def has_accumulator(type_: ty.Type) -> bool:
    """True if a type without hidden parts has accumulators inside."""
    return isinstance(type_, ty.Abstract) or any(map(has_accumulator, ty.inside(type_)))


def loosen(type_: ty.Type, solved: Substitution) -> ty.Type:
    """``type_`` with a fresh flexible size everywhere."""
    if not ty.facts(type_).arrays:
        return type_
    match type_:
        case ty.Array(_, elem):
            return ty.Array(solved.size_meta(), loosen(elem, solved))
        case ty.Tuple(items):
            return ty.Tuple(tuple(loosen(item, solved) for item in items))
        case ty.Record(fields) | ty.Sum(fields):
            return type(type_)(tuple((n, loosen(f, solved)) for n, f in fields))
    return type_


COMPOSITIONS = (">->", "<-<")
"""The operators that make one function of two."""


MOST_LOOKED_AT = 100
"""The parts of a nest of calls that may make it a function: beyond, it is checked as any other."""


def is_function(exp: ast.Exp) -> bool:
    """True if an argument is a function, which is better checked after the other arguments."""
    todo = [exp]
    for _ in range(MOST_LOOKED_AT):
        if not todo:
            break
        match todo.pop():
            case ast.LambdaExp() | ast.ProjectSection() | ast.IndexSection():
                return True
            case ast.AttrExp(_, _, value):
                todo.append(value)
            case ast.BinExp(_, op):
                if str(op) in COMPOSITIONS:
                    return True
            case ast.Apply(_, ast.Name(), args):
                todo.extend(reversed(args))
    return False


def given_to(call: ast.Exp, args: tuple[ast.Exp, ...]) -> tuple[ast.Exp, ...]:
    """The function that ``call`` applies, and all its arguments, with ``args`` at the end.

    For operators that do not apply an operand, the function is the whole call.
    """
    match call:
        case ast.Apply(_, fun):
            function: ast.Exp = fun
        case ast.BinExp(_, ast.QualName((), "<|"), left):
            function = left
        case ast.BinExp(_, ast.QualName((), "|>"), _, right):
            function = right
        case _:
            return (call,)
    while isinstance(function, ast.Apply):
        args = (*function.args, *args)
        function = function.fun
    return function, *args


def call_text(call: ast.Exp | None, arg: Span) -> str:
    """The start of a message about an argument of ``call``."""
    fun = call.fun if isinstance(call, ast.Apply) else call
    match fun:
        case ast.Name(span) | ast.BinExp(op_span=span):
            return f'Cannot apply "{span.text}" to "{arg.text}". '
        case ast.OpSection(_, name):
            return f'Cannot apply "{name}" to "{arg.text}". '
    return ""
