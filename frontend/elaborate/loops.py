"""Loops, with the sizes and the payloads that change from one iteration to the next."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runelift.frontend.elaborate.builder import Builder
from runelift.frontend.elaborate.environment import Environment, inside
from runelift.frontend.elaborate.sizes import conform
from runelift.frontend.elaborate.values import (
    UNIT,
    Dynamic,
    Env,
    RecordValue,
    TupleValue,
    Value,
    leaves,
    outer_size,
    rebuild,
)
from runelift.frontend.syntax import ast
from runelift.ir.base.errors import CompilerBug
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, ForLoop, Loop, LoopParam, Param, WhileLoop
from runelift.ir.types import Atom, array_of, elem_of, shape_of

if TYPE_CHECKING:
    from runelift.frontend.elaborate.exps import Evaluator


def loop(e: Evaluator, exp: ast.LoopExp, env: Env) -> Value:
    """A loop; its parameters are carried as they come out of the body."""
    init = e.exp(exp.init, env) if exp.init is not None else _pattern_value(exp.pattern, env)
    init = _init_sizes(e, exp.pattern, init, env)
    varying: set[tuple[int, int]] = set()
    while True:
        result = _loop_with(e, exp, env, init, varying)
        if isinstance(result, set):
            varying |= result
        elif isinstance(result, _Wider):
            init = result.init
        else:
            return result


def _init_sizes(e: Evaluator, pattern: ast.Pattern, init: Value, env: Env) -> Value:
    """The initial value with the sizes that the pattern's annotation names."""
    if isinstance(pattern, ast.PatAscript):
        return conform(e, pattern.type_exp, init, env, pattern.span)
    if isinstance(pattern, ast.PatTuple) and isinstance(init, TupleValue):
        return TupleValue(tuple(_init_sizes(e, p, v, env) for p, v in
                                zip(pattern.items, init.items, strict=True)))
    return init


@dataclass(frozen=True, slots=True)
class _Wider:
    """The initial value of a loop with payloads that the body can make."""

    init: Value


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The iterations of a ``for`` loop: their number, and the value that the body gets in each.

    That is a number of type ``prim``, or an element of ``array``.
    """

    bound: Atom
    prim: Prim = Prim.I64
    array: Value | None = None


def _loop_with(e: Evaluator, exp: ast.LoopExp, env: Env, init: Value,
               varying: set[tuple[int, int]]) -> Value | set[tuple[int, int]] | _Wider:
    """The loop, if only the sizes in ``varying`` (leaf, dimension) change; else which do."""
    builder, span = e.builder, exp.span
    parts = list(leaves(init))
    rounds = _rounds(e, exp, env)
    with builder.scope() as body_scope:
        sizes, params = _carried(builder, parts, varying)
        carried = rebuild(init, iter([Dynamic(p.param.name, p.param.type) for p in params]))
        index = builder.names.fresh("i")
        body_scope.bound.add(index)
        inner = inside(env)
        if rounds is not None:
            _bind_round(e, exp, rounds, index, inner)
        e.bind(exp.pattern, carried, inner, set())
        result = e.arrays.complete(e.exp(exp.body, inner), init, span)
        after = list(leaves(result))
        cond = _condition(e, exp, env, result)
    if len(after) > len(parts):
        return _Wider(e.arrays.complete(init, result, span, body_scope))
    changed = {(k, d) for k, (p, a) in enumerate(zip(params, after, strict=True))
               for d, (m, n) in enumerate(zip(shape_of(p.param.type), shape_of(a.type),
                                              strict=True))
               if m != n and (k, d) not in varying}
    if changed:
        return changed
    next_sizes = tuple(shape_of(after[k].type)[d] for k, part in enumerate(parts)
                       for d in range(len(shape_of(part.type))) if (k, d) in varying)
    next_values = (*next_sizes, *(a.atom for a in after))
    if rounds is not None:
        return _emit_loop(e, init, [*sizes, *params], ForLoop(index, rounds.bound),
                          builder.body(body_scope, next_values), span)
    start = _condition(e, exp, env, init)
    assert start is not None
    assert cond is not None
    flag = builder.fresh("continue", Prim.BOOL)
    return _emit_loop(e, init, [LoopParam(flag, start), *sizes, *params], WhileLoop(flag.name),
                      builder.body(body_scope, (cond, *next_values)), span)


def _rounds(e: Evaluator, exp: ast.LoopExp, env: Env) -> _Rounds | None:
    """The rounds of a ``for`` loop; None for ``while``."""
    match exp.form:
        case ast.ForForm(_, _, limit):
            bound = e.scalar(limit, env)
            prim = elem_of(bound.type)
            return _Rounds(e.builder.convert(prim, Prim.I64, bound.atom, exp.span), prim)
        case ast.ForInForm(_, _, elements):
            array = e.exp(elements, env)
            return _Rounds(outer_size(array), array=array)
        case ast.WhileForm():
            return None


def _carried(builder: Builder, parts: Sequence[Dynamic], varying: Set[tuple[int, int]]
             ) -> tuple[list[LoopParam], list[LoopParam]]:
    """The parameters of a loop: its changing sizes, then its carried values."""
    sizes: list[LoopParam] = []
    params: list[LoopParam] = []
    for k, part in enumerate(parts):
        shape = list(shape_of(part.type))
        for d in range(len(shape)):
            if (k, d) in varying:
                size = builder.fresh("n", Prim.I64)
                sizes.append(LoopParam(size, shape[d]))
                shape[d] = size.name
        type_ = array_of(tuple(shape), elem_of(part.type))
        params.append(LoopParam(builder.fresh("loop", type_), part.atom))
    return sizes, params


def _bind_round(e: Evaluator, exp: ast.LoopExp, rounds: _Rounds, index: VName,
                env: Environment) -> None:
    """Bind what a ``for`` loop tells its body."""
    assert not isinstance(exp.form, ast.WhileForm)
    told: Value
    if rounds.array is None:
        told = Dynamic(e.builder.convert(Prim.I64, rounds.prim, index, exp.span), rounds.prim)
    else:
        told = e.arrays.index(rounds.array, [index], exp.span, checked=False)
    e.bind(exp.form.pattern, told, env, set())


def _condition(e: Evaluator, exp: ast.LoopExp, env: Env, value: Value) -> Atom | None:
    """The condition under which a ``while`` loop continues with ``value``; None for ``for``."""
    if not isinstance(exp.form, ast.WhileForm):
        return None
    inner = inside(env)
    e.bind(exp.pattern, value, inner, set())
    return e.scalar(exp.form.cond, inner).atom


def _emit_loop(e: Evaluator, init: Value, params: list[LoopParam], form: ForLoop | WhileLoop,
               body: Body, span: Span) -> Value:
    """Emit a loop; its results are named after its parameters, sizes included."""
    builder = e.builder
    renamed: dict[Atom, Atom] = {}
    pat: list[Param] = []
    for p in params:
        shape = tuple(renamed.get(size, size) for size in shape_of(p.param.type))
        out = builder.fresh(p.param.name.base, array_of(shape, elem_of(p.param.type)))
        renamed[p.param.name] = out.name
        pat.append(out)
    builder.emit_stm(tuple(pat), Loop(tuple(params), form, body), span)
    values = pat[len(pat) - len(list(leaves(init))):]
    return rebuild(init, iter([Dynamic(p.name, p.type) for p in values]))


def _pattern_value(pattern: ast.Pattern, env: Env) -> Value:
    match pattern:
        case ast.PatName(_, name):
            return env[name]
        case ast.PatTuple(_, items):
            return TupleValue(tuple(_pattern_value(item, env) for item in items)) if items else UNIT
        case ast.PatRecord(_, fields):
            return RecordValue(tuple(sorted(((n, _pattern_value(p, env)) for n, p in fields),
                                            key=lambda f: f[0])))
        case ast.PatAscript(_, inner):
            return _pattern_value(inner, env)
    raise CompilerBug(f"{pattern.span}: loop pattern")
