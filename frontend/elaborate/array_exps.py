"""Array literals, ranges, and the indices that select from arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runelift.frontend.elaborate.sizes import size_atom
from runelift.frontend.elaborate.values import (
    Dynamic,
    Env,
    Function,
    TypeArg,
    Value,
    leaves,
    rebuild,
    shaped,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.literals import constant
from runelift.frontend.syntax.types import Array, Arrow, Type, TypeVar, show
from runelift.ir.base import failures
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import ArrayLit, Assert, Dim, SliceDim
from runelift.ir.types import FALSE, TRUE, Atom, Const, array_of, elem_of, i64, shape_of

if TYPE_CHECKING:
    from runelift.frontend.elaborate.exps import Evaluator


def array_exp(e: Evaluator, exp: ast.ArrayExp, env: Env) -> Value:
    """``[a, b, c]``."""
    if not exp.items:
        assert isinstance(exp.type, Array)
        return zeros(e, exp.type, (), env, exp.span)
    return array_of_values(e, [e.exp(item, env) for item in exp.items], exp.span)


def zeros(e: Evaluator, type_: Type, outer: tuple[Atom, ...], env: Env, span: Span) -> Value:
    """Zeros of a type, in an array of shape ``outer``; sizes that nothing decides are 0."""
    def size(length: Size) -> Atom:
        known = size_atom(e, length, env, span)
        return i64(0) if known is None else known

    def other(part: TypeVar | Arrow, shape: tuple[Atom, ...]) -> Value:
        if isinstance(part, Arrow):
            return _function(part, lambda inner, place: zeros(
                e, _last(part), (), inner, place), env)
        arg = env.get(part.name)
        if not isinstance(arg, TypeArg):
            raise CompilerLimitation(f"{span}: zeros of a type that is not known here.")
        return zeros(e, arg.type, shape, arg.env, span)

    return shaped(type_, lambda prim, shape: e.arrays.blank(array_of(shape, prim), span), size,
                  outer, other)


def _function(type_: Arrow, result: Callable[[Env, Span], Value], env: Env) -> Function:
    """The function of a type that gives ``result`` where it is applied.

    The latter gets ``env`` with the arguments that sizes of the result name.
    """
    params = [type_.param]
    while isinstance(type_.codomain, Arrow):
        type_ = type_.codomain
        params.append(type_.param)

    def run(args: tuple[Value, ...], span: Span) -> Value:
        named: dict[str | VName, Value] = {
            param: arg for param, arg in zip(params, args, strict=True)
            if param is not None}
        return result({**env, **named}, span)

    return Function(len(params), run)


def _last(type_: Type) -> Type:
    """The result of a function that has all of its arguments; another type itself."""
    while isinstance(type_, Arrow):
        type_ = type_.codomain
    return type_


def hole(e: Evaluator, exp: ast.Hole, env: Env) -> Value:
    """``???``: a failure, and zeros for what would follow; a function fails where it is applied."""
    type_ = exp.type
    assert type_ is not None

    def fail(inner: Env, _: Span) -> Value:
        e.builder.emit_stm((), Assert(FALSE, failures.hole(show(type_))), exp.span)
        return zeros(e, _last(type_), (), inner, exp.span)

    return _function(type_, fail, env) if isinstance(type_, Arrow) else fail(env, exp.span)


def array_of_values(e: Evaluator, items: list[Value], span: Span) -> Value:
    """An array of values of one type, whose sizes must agree; without any, an empty string."""
    if not items:
        return e.arrays.blank(array_of((i64(0),), Prim.U8), span)
    items = e.arrays.aligned(items, span)
    columns = zip(*(leaves(item) for item in items), strict=True)
    parts: list[Dynamic] = []
    for column in columns:
        row = column[0].type
        for other in column[1:]:
            for a, b in zip(shape_of(row), shape_of(other.type), strict=True):
                e.arrays.require_equal(a, b, span)
        type_ = array_of((i64(len(items)),), row)
        node = ArrayLit(tuple(part.atom for part in column), row)
        parts.append(Dynamic(e.builder.emit1(node, type_, "xs", span), type_))
    return rebuild(items[0], iter(parts))


def range_exp(e: Evaluator, exp: ast.Range, env: Env) -> Value:
    """``first..last``, with or without a second element; the range must lead to its end."""
    op, span = e.builder.op, exp.span
    first, last = e.scalar(exp.first, env), e.scalar(exp.last, env)
    second = e.scalar(exp.second, env) if exp.second is not None else None
    prim = elem_of(first.type)

    def distance(to: Dynamic) -> Atom:
        wide = [e.builder.convert(prim, Prim.I64, each.atom, span) for each in (to, first)]
        return op("sub", Prim.I64, (wide[0], wide[1]), span)

    way = distance(last)
    if second is None:
        down = exp.kind == "..>"
        stride: Atom = i64(-1 if down else 1)
        step: Atom = constant(-1 if down else 1, prim)
    else:
        stride, step = distance(second), op("sub", prim, (second.atom, first.atom), span)
    if second is not None or exp.kind == "...":
        _check_range(e, exp, stride, [first, *([second] if second is not None else []), last])
    if exp.kind == "...":
        steps = op("quot", Prim.I64, (way, stride), span)
        count = op("add", Prim.I64, (steps, i64(1)), span)
    elif second is None:
        count = op("sub", Prim.I64, (i64(0), way), span) if down else way
    else:
        sign = op("sgn", Prim.I64, (stride,), span)
        reach = op("add", Prim.I64, (way, op("sub", Prim.I64, (stride, sign), span)), span)
        count = op("quot", Prim.I64, (reach, stride), span)
        count = op("max", Prim.I64, (count, i64(0)), span)
    return e.arrays.iota(count, first.atom, step, prim, span)


def _check_range(e: Evaluator, exp: ast.Range, stride: Atom, ends: list[Dynamic]) -> None:
    """Fail at run time unless ``stride`` leads from the first of ``ends`` to the last."""
    op, span, prim = e.builder.op, exp.span, elem_of(ends[0].type)
    ways: list[Atom] = []
    for kind, signs, bounds in (("..>", (i64(0), stride), (ends[0], ends[-1])),
                                ("..<", (stride, i64(0)), (ends[-1], ends[0]))):
        if exp.kind == kind:
            continue
        towards = op("lt", Prim.I64, signs, span)
        reached = op("le", prim, (bounds[0].atom, bounds[1].atom), span)
        if towards == TRUE:
            ways.append(reached)
        elif towards != FALSE:
            ways.append(op("and", Prim.BOOL, (towards, reached), span))
    valid: Atom = ways[0] if ways else FALSE
    for way in ways[1:]:
        valid = op("or", Prim.BOOL, (valid, way), span)
    if valid != TRUE:
        values = tuple(e.builder.convert(prim, Prim.I64, end.atom, span) for end in ends)
        e.builder.emit_stm((), Assert(
            valid, failures.invalid_range(exp.kind, len(ends)), values), span)


def selection(e: Evaluator, dims: tuple[ast.IndexDim, ...], array: Value, env: Env) -> list[Dim]:
    """The indices and slices of ``array[dims]``."""
    shape = shape_of(next(leaves(array)).type)
    return [_slice(e, dim, size, env) if isinstance(dim, ast.SliceExp)
            else _index(e, dim, env) for dim, size in zip(dims, shape, strict=False)]


def _index(e: Evaluator, exp: ast.Exp, env: Env) -> Atom:
    value = e.scalar(exp, env)
    return e.builder.convert(elem_of(value.type), Prim.I64, value.atom, exp.span)


def _slice(e: Evaluator, dim: ast.SliceExp, size: Atom, env: Env) -> SliceDim:
    """``start:stop:step``, where a step down makes the last element the default of the start.

    A step that leads away from the stop makes the count negative, which is out of bounds.
    """
    op, span = e.builder.op, dim.span
    step = _index(e, dim.step, env) if dim.step is not None else i64(1)
    down = op("lt", Prim.I64, (step, i64(0)), span)
    start = (_index(e, dim.start, env) if dim.start is not None
             else _if_down(e, down, op("sub", Prim.I64, (size, i64(1)), span), i64(0), span))
    stop = (_index(e, dim.stop, env) if dim.stop is not None
            else _if_down(e, down, i64(-1), size, span))
    reach = op("sub", Prim.I64, (stop, start), span)
    if step == i64(1):
        return SliceDim(start, reach, step)
    if step == i64(0) or not isinstance(step, Const):
        moves = op("not", Prim.BOOL, (op("eq", Prim.I64, (step, i64(0)), span),), span)
        e.builder.emit_stm((), Assert(moves, failures.STRIDE, (step,)), span)
    sign = op("sgn", Prim.I64, (step,), span)
    rounded = op("add", Prim.I64, (reach, op("sub", Prim.I64, (step, sign), span)), span)
    count = op("quot", Prim.I64, (rounded, step), span)
    if not e.arrays.checked:
        count = op("max", Prim.I64, (count, i64(0)), span)
    elif dim.stop is not None and down != FALSE and step != i64(-1):
        # Long steps down may end above a stop that is no place of the array.
        fine = op("le", Prim.I64, (_if_down(e, down, i64(-1), stop, span), stop), span)
        fine = op("or", Prim.BOOL, (fine, op("eq", Prim.I64, (count, i64(0)), span)), span)
        if fine != TRUE:
            e.builder.emit_stm((), Assert(fine, failures.access([3]), (start, stop, step, size)),
                               span)
    return SliceDim(start, count, step)


def _if_down(e: Evaluator, down: Atom, then: Atom, otherwise: Atom, span: Span) -> Atom:
    """``then`` if a slice runs down, else ``otherwise``, by arithmetic instead of a branch."""
    if down in (TRUE, FALSE):
        return then if down == TRUE else otherwise
    op, chosen = e.builder.op, e.builder.convert(Prim.BOOL, Prim.I64, down, span)
    difference = op("sub", Prim.I64, (then, otherwise), span)
    return op("add", Prim.I64, (otherwise, op("mul", Prim.I64, (chosen, difference), span)), span)
