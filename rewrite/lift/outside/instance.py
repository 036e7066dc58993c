"""Instances: a side of a rule with what its parameters stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    Mapper,
    map_stm,
    rename_lambda,
    statements_inside,
    substitute_body,
    types_in,
)
from runelift.ir.types import Atom, Const, Type, array_of, elem_of, i64, shape_of
from runelift.rewrite.lift.outside.goals import Match

NOTHING: Mapping[VName, VName] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _TypedMapper(Mapper):
    """A mapper that replaces element types as well."""

    prims: Mapping[Prim, Type]

    def type(self, type_: Type) -> Type:
        """A type with other sizes and elements."""
        return array_of(self.atoms(shape_of(type_)), self.prims.get(elem_of(type_), elem_of(type_)))


def instance(fun: ir.Fun, match: Match, params: tuple[ir.Param, ...], names: Names,
             bound: Mapping[VName, VName] = NOTHING) -> ir.Body:
    """The body of a side; ``params`` are the left side's parameters, which ``match`` is about.

    Each name that the body binds becomes its name in ``bound``, or else a fresh name.
    """
    known: dict[VName, Atom] = {}
    functions: dict[VName, ir.Lambda] = {}
    for ours, own in zip(params, fun.params, strict=True):
        if ours.name in match.functions:
            functions[own.name] = match.functions[ours.name]
        elif ours.name in match.atoms:
            known[own.name] = match.atoms[ours.name]

    def atom(use: Atom) -> Atom:
        if isinstance(use, Const):
            prim = elem_of(match.types.get(use.prim, use.prim))
            return use if prim is use.prim else Const(prim.dtype.type(use.value).item(), prim)
        return known.get(use, use)

    def bind(name: VName) -> VName:
        new = bound.get(name) or names.fresh(name)
        known[name] = new
        return new

    def body(old: ir.Body) -> ir.Body:
        stms: list[ir.Stm] = []
        for stm in old.stms:
            if isinstance(stm.exp, ir.Call) and stm.exp.function in functions:
                called = rename_lambda(functions[stm.exp.function], names)
                args = dict(zip((p.name for p in called.params), m.atoms(stm.exp.args),
                                strict=True))
                applied = substitute_body(called.body, args)
                stms += applied.stms
                known.update(zip((p.name for p in stm.pat), applied.result, strict=True))
            else:
                exp = _on_rows(stm.exp, types, match.types)
                stms.append(map_stm(m, stm if exp is stm.exp else replace(stm, exp=exp)))
        return ir.Body(tuple(stms), m.atoms(old.result))

    def lam(old: ir.Lambda) -> ir.Lambda:
        own = [bind(p.name) for p in old.params]
        new = tuple(ir.Param(name, m.type(p.type)) for name, p in zip(own, old.params, strict=True))
        return ir.Lambda(new, body(old.body), m.types(old.ret))

    types = types_in(fun) if any(shape_of(each) for each in match.types.values()) else {}
    m = _TypedMapper(atom, bind, body, lam, match.types)
    return body(fun.body)


def speaks_of_elements(fun: ir.Fun, markers: frozenset[Prim]) -> bool:
    """True if a side has a value of a type parameter that is no parameter, as in a margin."""
    types = types_in(fun)
    return any(isinstance(stm.exp, ir.Pad) and elem_of(types[stm.exp.array]) in markers
               for stm in statements_inside((fun.body,)))


def _on_rows(exp: ir.Exp, types: Mapping[VName, Type], meant: Mapping[Prim, Type]) -> ir.Exp:
    """An expression for arrays whose elements, of a type parameter, are rows."""
    match exp:
        case ir.Index(array) | ir.Update(array) | ir.Rearrange(_, array) | ir.Reshape(_, array):
            sizes = shape_of(meant.get(elem_of(types[array]), Prim.BOOL)) if types else ()
            slices = tuple(ir.SliceDim(i64(0), size, i64(1)) for size in sizes)
            match exp:
                case ir.Index(_, dims) | ir.Update(_, dims) if sizes:
                    return replace(exp, dims=(*dims, *slices))
                case ir.Rearrange(perm) if sizes:
                    rank = len(perm)
                    return replace(exp, perm=(*perm, *range(rank, rank + len(sizes))))
                case ir.Reshape(shape) if sizes:
                    return replace(exp, shape=(*shape, *sizes))
    return exp
