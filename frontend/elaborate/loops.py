"""Loops, with the sizes and the payloads that change from one iteration to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runelift.frontend import ast
from runelift.frontend.elaborate.builder import Scope
from runelift.frontend.elaborate.environment import inside
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
from runelift.ir.errors import CompilerBug
from runelift.ir.prim import Prim
from runelift.ir.source import Span
from runelift.ir.syntax import ForLoop, Loop, LoopParam, Param, WhileLoop
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


def _loop_with(e: Evaluator, exp: ast.LoopExp, env: Env, init: Value,
               varying: set[tuple[int, int]]) -> Value | set[tuple[int, int]] | _Wider:
    """The loop, if only the sizes in ``varying`` (leaf, dimension) change; else which do."""
    builder, span = e.builder, exp.span
    parts = list(leaves(init))
    bound: Atom | None = None
    array: Value | None = None
    bound_prim = Prim.I64
    if isinstance(exp.form, ast.ForForm):
        limit = e.scalar(exp.form.bound, env)
        bound_prim = elem_of(limit.type)
        bound = builder.convert(bound_prim, Prim.I64, limit.atom, span)
    elif isinstance(exp.form, ast.ForInForm):
        array = e.exp(exp.form.array, env)
        bound = outer_size(array)
    with builder.scope() as body_scope:
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
        carried = rebuild(init, iter([Dynamic(p.param.name, p.param.type) for p in params]))
        index = builder.names.fresh("i")
        body_scope.bound.add(index)
        inner = inside(env)
        e.bind(exp.pattern, carried, inner, {s.name for s in exp.sizes})
        if isinstance(exp.form, ast.ForForm):
            counter = builder.convert(Prim.I64, bound_prim, index, span)
            e.bind(exp.form.pattern, Dynamic(counter, bound_prim), inner, set())
        elif array is not None and isinstance(exp.form, ast.ForInForm):
            element = e.arrays.index(array, [index], span, checked=False)
            e.bind(exp.form.pattern, element, inner, set())
        result = e.arrays.complete(e.exp(exp.body, inner), init, span)
        after = list(leaves(result))
        cond: Dynamic | None = None
        if isinstance(exp.form, ast.WhileForm):
            inner = inside(env)
            e.bind(exp.pattern, result, inner, {s.name for s in exp.sizes})
            cond = e.scalar(exp.form.cond, inner)
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
    all_params = [*sizes, *params]
    form: ForLoop | WhileLoop
    if cond is not None:
        start = _while_start(e, exp, env, init)
        flag = builder.fresh("continue", Prim.BOOL)
        all_params.insert(0, LoopParam(flag, start))
        next_values = (cond.atom, *next_values)
        form = WhileLoop(flag.name)
    else:
        assert bound is not None
        form = ForLoop(index, bound)
    return _emit_loop(e, init, all_params, form, body_scope, next_values, span)


def _while_start(e: Evaluator, exp: ast.LoopExp, env: Env, init: Value) -> Atom:
    assert isinstance(exp.form, ast.WhileForm)
    inner = inside(env)
    e.bind(exp.pattern, init, inner, {s.name for s in exp.sizes})
    return e.scalar(exp.form.cond, inner).atom


def _emit_loop(e: Evaluator, init: Value, params: list[LoopParam], form: ForLoop | WhileLoop,
               scope: Scope, result: tuple[Atom, ...], span: Span) -> Value:
    """Emit a loop; its results are named after its parameters, sizes included."""
    builder = e.builder
    renamed: dict[Atom, Atom] = {}
    pat: list[Param] = []
    for p in params:
        shape = tuple(renamed.get(size, size) for size in shape_of(p.param.type))
        out = builder.fresh(p.param.name.base, array_of(shape, elem_of(p.param.type)))
        renamed[p.param.name] = out.name
        pat.append(out)
    builder.emit_stm(tuple(pat), Loop(tuple(params), form, builder.body(scope, result)), span)
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
