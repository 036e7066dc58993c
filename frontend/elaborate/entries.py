"""Entry points: what their parameters and results are as core parameters.

Sides of rules are elaborated alone, too.  Their parameters may be functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from runelift.frontend.check.forms import base_name, whole_name
from runelift.frontend.elaborate.builder import FULL_EFFORT, Builder, Effort
from runelift.frontend.elaborate.environment import Environment, inside
from runelift.frontend.elaborate.exps import NO_PARAMETERS, Evaluator
from runelift.frontend.elaborate.sizes import note_values, size_atom
from runelift.frontend.elaborate.sums import whole
from runelift.frontend.elaborate.values import (
    Dynamic,
    Env,
    Function,
    RecordValue,
    SumValue,
    TupleValue,
    Value,
    leaves,
    shaped,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.layered import Layered
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.types import Arrow, Record, Sum, Tuple, Type, TypeVar, payload
from runelift.ir.base import failures
from runelift.ir.base.source import Span
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import Assert, Call, Fun, Param, Program
from runelift.ir.types import Atom, array_of, elem_of, i64, shape_of

_Place: TypeAlias = tuple[ast.ValDec, Env]
"""A declaration, and the environment that it stands in."""


def elaborate(module: ast.Flat, names: Names,
              parameters: Mapping[str, int] = NO_PARAMETERS, *,
              effort: Effort = FULL_EFFORT, steered: bool = True) -> Program:
    """The entry points of a checked module as core functions.

    ``parameters`` are values for expressions with the attribute ``#[param(name)]``.  TooLarge if
    one of them needs more than ``effort``.  Attributes that steer flattening are dropped unless the
    program is to be ``steered`` by them.
    """
    references = {dec.name: _named(dec) for dec in module.decs}
    return Program(tuple(
        _entry(module, dec, _reachable(dec.name, references),
               Evaluator(Builder(names, steered=steered), parameters, effort))
        for dec in module.entry_points))


def elaborate_open(module: ast.Flat, name: str, names: Names) -> Fun:
    """A declaration of a checked module as a core function; its parameters may be functions.

    Such a parameter is a bool there that means nothing, and the function of each
    :class:`~runelift.ir.syntax.Call` of it.
    """
    references = {dec.name: _named(dec) for dec in module.decs}
    (dec,) = (dec for dec in module.decs if isinstance(dec, ast.ValDec) and dec.name == name)
    return _entry(module, dec, _reachable(name, references),
                  Evaluator(Builder(names), NO_PARAMETERS, FULL_EFFORT))


def _named(dec: ast.CoreDec) -> set[str]:
    """The names that occur in a declaration, of which some are local."""
    found: set[str] = set()
    for node in walk(dec):
        match node:
            case ast.Name(_, name) | ast.TypeName(_, name) | ast.BinExp(_, name) | (
                    ast.OpSection(_, name)):
                found.add(str(name))
    return found


def _reachable(name: str, references: dict[str, set[str]]) -> set[str]:
    """The declarations that the declaration ``name`` uses, directly or indirectly."""
    found: set[str] = set()
    todo = [name]
    while todo:
        new = (references[todo.pop()] - found) & references.keys()
        found |= new
        todo.extend(new)
    return found


def _entry(module: ast.Flat, entry: ast.ValDec, needed: set[str], evaluator: Evaluator) -> Fun:
    env, before = _declarations_before(module, entry, needed, evaluator)
    sizes: dict[VName | Size, Param] = {}
    params: list[Param] = []
    args: list[Value] = []
    scalars: dict[str | VName, Value] = {}
    type_ = entry.type
    bases = map(base_name, entry.params)
    while isinstance(type_, Arrow):  # more of them than parameters if the body is a function
        value = _argument(evaluator, type_.domain, sizes, params, next(bases, "arg"))
        args.append(value)
        if isinstance(value, Dynamic) and type_.param is not None:
            scalars[type_.param] = value
            if value.type is Prim.I64:
                assert isinstance(value.atom, VName)
                sizes[type_.param] = Param(value.atom, Prim.I64)
        type_ = type_.codomain
    named = inside(env)
    named.update({name: arg for param, arg in zip(entry.params, args, strict=False)
                  if (name := whole_name(param)) is not None})
    _check_computed(evaluator, sizes, scalars, ((entry, named), *before))
    hidden = [p for p in sizes.values() if p not in params]
    function = evaluator.declaration(entry, env)
    evaluator.entry = entry.span
    result = evaluator.apply(function, tuple(args), entry.span) if args else function
    assert type_ is not None
    result = _without_units(whole(evaluator, result, type_, entry.span), type_)
    known = {p.name for p in (*hidden, *params)}
    results, atoms = _results(result, known, evaluator.builder.names)
    body = evaluator.builder.body(evaluator.builder.scopes[0], atoms)
    return Fun(entry.name, (*hidden, *params), results, body, len(hidden))


def _declarations_before(module: ast.Flat, entry: ast.ValDec, needed: set[str],
                         evaluator: Evaluator) -> tuple[Environment, list[_Place]]:
    """The environment of an entry point, and of each declaration that the entry point uses."""
    env: Environment = Layered()
    places: list[_Place] = []
    for dec in module.decs:
        if isinstance(dec, ast.ValDec) and not dec.only_checks:
            if dec is entry:
                break
            if dec.name in needed:
                value = evaluator.declaration(dec, env)
                places.append((dec, env))
                env = env.child()  # what was defined before does not see this one
                env[dec.name] = evaluator.globals[dec.name] = value
    return env, places


def _expressions(evaluator: Evaluator, names: set[VName],
                 places: Iterable[_Place]) -> dict[str | VName, Value]:
    """The values of each of ``names`` that stands for an expression of a declaration."""
    found: dict[str | VName, Value] = {}
    for dec, env in places if names else ():
        known = inside(env)
        note_values(evaluator, [node for node in walk(dec) if isinstance(node, ast.Exp)
                                and node.as_size in names - found.keys()], known)
        found |= {name: known[name] for name in names if name in known}
    return found


def _results(result: Value, known: set[VName],
             names: Names) -> tuple[tuple[Param, ...], tuple[Atom, ...]]:
    """The results of a function, and the atoms for them: each leaf after sizes not in ``known``."""
    results: list[Param] = []
    atoms: list[Atom] = []
    renamed: dict[Atom, Atom] = {}
    for leaf in leaves(result):
        shape: list[Atom] = []
        for size in shape_of(leaf.type):
            if isinstance(size, VName) and size not in known and size not in renamed:
                results.append(Param(names.fresh(size), Prim.I64))
                atoms.append(size)
                renamed[size] = results[-1].name
            shape.append(renamed.get(size, size))
        results.append(Param(names.fresh("result"), array_of(tuple(shape), elem_of(leaf.type))))
        atoms.append(leaf.atom)
    return tuple(results), tuple(atoms)


def _check_computed(evaluator: Evaluator, sizes: dict[VName | Size, Param],
                    scalars: dict[str | VName, Value], places: Sequence[_Place]) -> None:
    """Fail at run time unless the arguments have the sizes that are computed.

    ``places`` are the entry point and what it needs, which have expressions that are sizes.
    """
    span, params = places[0][0].span, places[0][0].type_params
    own = {param.size for param in params if isinstance(param, ast.SizeParam)}
    polynomials = {size if isinstance(size, Size) else Size.var(size): param
                   for size, param in sizes.items()}
    names = set[VName]().union(*(size.variables() for size in polynomials))
    known = scalars | {name: Dynamic(param.name, Prim.I64) for name, param in sizes.items()
                       if isinstance(name, VName)}
    known |= _expressions(evaluator, names - own - scalars.keys(), places)
    for size, param in polynomials.items():
        wanted = size_atom(evaluator, size, known, span)
        if wanted is not None and wanted != param.name:
            equal = evaluator.builder.op("eq", Prim.I64, (param.name, wanted), span)
            evaluator.builder.emit_stm((), Assert(
                equal, failures.ARGUMENT, (param.name, wanted)), span)


def _without_units(value: Value, type_: Type) -> Value:
    """``value`` without the components that are ``()``."""
    match type_, value:
        case Tuple(()), _:
            return TupleValue(())
        case Tuple(types), TupleValue(items):
            return TupleValue(tuple(map(_without_units, items, types)))
        case Record(types), RecordValue(fields):
            return RecordValue(tuple((name, _without_units(item, t))
                                     for (name, item), (_, t) in zip(fields, types, strict=True)))
        case Sum(types), SumValue(tag, payloads):
            return SumValue(tag, tuple(
                (name, tuple(map(_without_units, items or (), payload(t))))
                for (name, items), (_, t) in zip(payloads, types, strict=True)))
    return value


def _argument(e: Evaluator, type_: Type, sizes: dict[VName | Size, Param], params: list[Param],
              base: str) -> Value:
    """The value of an entry parameter: fresh core parameters for its leaves."""
    def size(length: Size) -> Atom:
        if length.constant is not None:
            return i64(length.constant)
        key = length.variable or length  # the program compares computed sizes where it matters
        if key not in sizes:
            base = key.base if isinstance(key, VName) else "size"
            sizes[key] = e.builder.fresh(base, Prim.I64)
        return sizes[key].name

    def scalar(prim: Prim, shape: tuple[Atom, ...]) -> Dynamic:
        params.append(e.builder.fresh(base, array_of(shape, prim)))
        return Dynamic(params[-1].name, params[-1].type)

    def function(found: TypeVar | Arrow, _: tuple[Atom, ...]) -> Value:
        assert isinstance(found, Arrow)  # the checker knows all types
        params.append(e.builder.fresh(base, Prim.BOOL))
        return unknown_function(e, found, params[-1].name, size)

    return shaped(type_, scalar, size, other=function)


def unknown_function(e: Evaluator, type_: Arrow, name: VName,
                     size: Callable[[Size], Atom]) -> Function:
    """A function of which only the type is known: its application is a :class:`Call` of ``name``.

    ``size`` makes the sizes of its results.
    """
    domains: list[Type] = []
    result: Type = type_
    while isinstance(result, Arrow):
        domains.append(result.domain)
        result = result.codomain

    def run(args: tuple[Value, ...], span: Span) -> Value:
        params: list[Param] = []

        def scalar(prim: Prim, shape: tuple[Atom, ...]) -> Dynamic:
            params.append(e.builder.fresh(name.base, array_of(shape, prim)))
            return Dynamic(params[-1].name, params[-1].type)

        value = shaped(result, scalar, size)
        atoms = tuple(leaf.atom for arg in args for leaf in leaves(arg))
        e.builder.emit_stm(tuple(params), Call(name, atoms, tuple(p.type for p in params)), span)
        return value

    return Function(len(domains), run)
