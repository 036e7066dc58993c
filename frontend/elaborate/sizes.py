"""Sizes while programs are evaluated: the values of the names in types and annotations.

A size is an atom that the program computes.  Names of sizes come from size parameters, from
patterns with types, and from the type checker.  The checker's names for sizes are keys of the
environment, as the names in the source are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from runelift.frontend.elaborate.environment import Environment, inside
from runelift.frontend.elaborate.intrinsics import intrinsic
from runelift.frontend.elaborate.scalars import arithmetic
from runelift.frontend.elaborate.values import (
    Dynamic,
    Env,
    TupleValue,
    Value,
    dimensions,
    each_leaf,
    leaves,
    project,
)
from runelift.frontend.modules.structures import PRIMS
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.prelude import OPERATORS
from runelift.ir.base import failures
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Applied, Size
from runelift.ir.syntax import Assert
from runelift.ir.types import TRUE, Atom, i64, shape_of

if TYPE_CHECKING:
    from runelift.frontend.elaborate.exps import Evaluator


def conform(e: Evaluator, exp: ast.TypeExp | None, value: Value, env: Env, span: Span) -> Value:
    """``value`` with the sizes that ``exp`` names."""
    match exp:
        case ast.TypeUnique(_, inner):
            return conform(e, inner, value, env, span)
        case ast.TypeTuple(_, items) if isinstance(value, TupleValue):
            return TupleValue(tuple(conform(e, item, part, env, span)
                                    for item, part in zip(items, value.items, strict=True)))
        case ast.TypeArray():
            wanted = _declared_sizes(e, exp, env)
            return each_leaf(lambda leaf: _with_sizes(e, leaf, wanted, span), value)
    return value


def check_sizes(e: Evaluator, type_: ty.Type, value: Value, env: Env, span: Span) -> None:
    """Fail at run time unless ``value`` has the sizes of ``type_``, as far as they are known."""
    for size, atom in dimensions(type_, value):
        wanted = size_atom(e, size, env, span)
        if wanted is not None:
            _check_size(e, wanted, atom, span)


def _check_size(e: Evaluator, wanted: Atom, size: Atom, span: Span) -> None:
    if wanted == size:
        return
    equal = e.builder.op("eq", Prim.I64, (size, wanted), span)
    if equal != TRUE:
        e.builder.emit_stm((), Assert(equal, failures.SHAPES, (size, wanted)), span)


def _declared_sizes(e: Evaluator, exp: ast.TypeExp, env: Env) -> list[Atom | None]:
    """The sizes that nested array types name; None where one is not given."""
    sizes: list[Atom | None] = []
    while isinstance(exp, ast.TypeArray):
        known = exp.size is not None and _in_scope(e, exp.size, env)
        value = e.exp(exp.size, env) if exp.size is not None and known else None
        sizes.append(value.atom if isinstance(value, Dynamic) else None)
        exp = exp.elem
    return sizes


def _in_scope(e: Evaluator, exp: ast.Exp, env: Env) -> bool:
    nodes = list(walk(exp))
    own = {node.name for node in nodes if isinstance(node, ast.PatName | ast.LetFun)}
    return all(name.quals or name.name in env or name.name in own
               or intrinsic(e, (), name.name) is not None
               for name in [node.name for node in nodes if isinstance(node, ast.Name)])


def written_sizes(e: Evaluator, exp: ast.TypeExp | None, env: Env) -> Env:
    """``env`` that knows the sizes that stand for expressions which ``exp`` has as sizes."""
    if exp is None:
        return env
    inner = inside(env)
    note_written(e, exp, inner)
    return inner


def note_written(e: Evaluator, exp: ast.TypeExp, env: Environment) -> None:
    """Note the sizes that stand for expressions which ``exp`` has as sizes."""
    if exp not in e.written:
        e.written[exp] = tuple([node for node in walk(exp) if isinstance(node, ast.Exp)
                                and node.as_size is not None])
    note_values(e, e.written[exp], env)


def result_sizes(e: Evaluator, fun: ast.LambdaExp, env: Env) -> Env:
    """``env`` that knows the sizes of results of ``fun`` that do not depend on its arguments.

    The sizes are computed before the body of ``fun``, so that all its branches share them.
    """
    assert isinstance(fun.type, ty.Arrow)
    sizes = ty.sizes_in(fun.type) - ty.params_in(fun.type)
    if fun.body not in e.written:
        e.written[fun.body] = tuple([node for node in walk(fun.body) if isinstance(node, ast.Exp)
                                     and node.as_size in sizes]) if sizes else ()
    within = inside(env)
    note_values(e, e.written[fun.body], within)
    if isinstance(fun.body.type, ty.Array | ty.Tuple | ty.Record):
        for size in ty.array_sizes(fun.body.type):
            if size.variable is None and size.variables() <= sizes:
                size_atom(e, size, within, fun.span)
    return within


def note_values(e: Evaluator, exps: Iterable[ast.Exp], env: Environment) -> None:
    """Note the value of each of ``exps`` that is a size, if its names are in scope."""
    for node in exps:
        if node.as_size is not None and computed(node.as_size) not in env and (
                _in_scope(e, node, env)):
            env[node.as_size] = env[computed(node.as_size)] = e.exp(node, env)


def computed(size: VName) -> str:
    """The key of the value of an expression that is a size, which no name of the source is.

    That of the size itself may be the dimension of an argument that should have this size.
    """
    return f"[{size}]"


def _with_sizes(e: Evaluator, leaf: Dynamic, wanted: list[Atom | None], span: Span) -> Dynamic:
    shape = shape_of(leaf.type)
    if len(shape) < len(wanted):
        return leaf
    front = tuple(w if w is not None else s for w, s in zip(wanted, shape, strict=False))
    return e.arrays.retype(leaf, (*front, *shape[len(wanted):]), span)


def bind_sizes(exp: ast.TypeExp, value: Value, depth: int, env: Environment,
               sizes: set[str]) -> None:
    """Give the free size names in ``exp`` their values from the shape of ``value``."""
    match exp:
        case ast.TypeArray(_, size, elem):
            if isinstance(size, ast.Name) and str(size.name) in sizes:
                shape = shape_of(next(leaves(value)).type)
                env[str(size.name)] = Dynamic(shape[depth], Prim.I64)
                sizes.discard(str(size.name))
            bind_sizes(elem, value, depth + 1, env, sizes)
        case ast.TypeUnique(_, inner):
            bind_sizes(inner, value, depth, env, sizes)
        case ast.TypeTuple(_, items) if isinstance(value, TupleValue):
            for item, part in zip(items, value.items, strict=True):
                bind_sizes(item, part, depth, env, sizes)
        case ast.TypeRecord(_, fields):
            for name, item in fields:
                bind_sizes(item, project(value, name), depth, env, sizes)


def bind_by_type(e: Evaluator, pattern: ast.Pattern, value: Value,
                 env: Environment) -> None:
    """Bind the sizes in a pattern's type to the sizes of the value that the pattern matches."""
    if pattern.type is None or not ty.facts(pattern.type).arrays:
        return
    found = list(dimensions(pattern.type, value))
    if not found:
        return
    _note_variables(found, env)
    for size, atom in found:
        unknown = [name for name in size.variables() if name not in env]
        if len(unknown) == 1 and (rest := size - Size.var(unknown[0])) and (
                unknown[0] not in rest.variables()):
            known = size_atom(e, rest, env, pattern.span)
            if known is not None:
                left = e.builder.op("sub", Prim.I64, (atom, known), pattern.span)
                env[unknown[0]] = Dynamic(left, Prim.I64)


def _note_variables(found: Iterable[tuple[Size, Atom]], env: Environment) -> None:
    """Note the dimensions that are names."""
    for size, atom in found:
        if size.variable is not None:
            env.setdefault(size.variable, Dynamic(atom, Prim.I64))


def name_sizes(params: tuple[ast.SizeParam | ast.TypeParam, ...], env: Environment,
               free: set[str]) -> None:
    """Give size parameters that are still free the values that their names in types have."""
    for param in params:
        if isinstance(param, ast.SizeParam) and param.size is not None:
            if param.name in free and param.size in env:
                env[param.name] = env[param.size]
                free.discard(param.name)
            elif param.name not in free:
                env.setdefault(param.size, env[param.name])


def with_sizes_of(exps: tuple[ast.Exp, ...], values: tuple[Value, ...], env: Env) -> Env:
    """``env`` that knows the sizes in the types of evaluated expressions."""
    inner = inside(env)
    for exp, value in zip(exps, values, strict=True):
        if isinstance(exp.type, ty.Array | ty.Tuple | ty.Record):
            _note_variables(dimensions(exp.type, value), inner)
    return inner


def size_atom(e: Evaluator, size: Size, env: Env, span: Span) -> Atom | None:
    """A size of a type as the program computes it; None if it has parts that nothing names."""
    op = e.builder.op
    total: Atom = i64(0)
    for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):
        term: Atom = i64(abs(coefficient))
        for factor in monomial:
            atom: Atom | None = None
            if isinstance(factor, VName):
                known = env.get(factor)
                atom = known.atom if isinstance(known, Dynamic) else None
            elif isinstance(factor, Applied):
                atom = _applied_size(e, factor, env, span)
            if atom is None:
                return None
            term = op("mul", Prim.I64, (term, atom), span)
        total = op("sub" if coefficient < 0 else "add", Prim.I64, (total, term), span)
    return total


def _applied_size(e: Evaluator, factor: Applied, env: Env, span: Span) -> Atom | None:
    module, _, name = factor.op.partition(".")
    if module == "i64" and name in PRIMS:
        return _converted_size(e, factor, env, span)
    atoms = [size_atom(e, arg, env, span) for arg in factor.args]
    args = tuple(Dynamic(atom, Prim.I64) for atom in atoms if atom is not None)
    if len(args) < len(atoms):
        return None
    if factor.op in OPERATORS:
        value = arithmetic(e, factor.op, args[0], args[1], span)
    elif module == "i64" and (function := intrinsic(e, (module,), name)) is not None:
        value = e.apply(function, args, span)
    else:
        value = e.call(factor.op, args, span)
    return value.atom if isinstance(value, Dynamic) else None


def _converted_size(e: Evaluator, factor: Applied, env: Env, span: Span) -> Atom | None:
    """``i64.t n`` for a variable or constant ``n``, which is the only form of such sizes."""
    (arg,) = factor.args
    atom = size_atom(e, arg, env, span)
    if isinstance(atom, VName):
        return e.builder.convert(Prim(factor.op.removeprefix("i64.")), Prim.I64, atom, span)
    return atom
