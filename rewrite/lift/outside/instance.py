"""Instances: a side of a rule with what its parameters stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import Mapper, map_stm, rename_lambda, substitute_body
from runelift.ir.types import ArrayType, Atom, Const, Type, elem_of, shape_of
from runelift.rewrite.lift.outside.matching import Match

NOTHING: Mapping[VName, VName] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _TypedMapper(Mapper):
    """A mapper that replaces element types as well."""

    prims: Mapping[Prim, Prim]

    def type(self, type_: Type) -> Type:
        """A type with other sizes and elements."""
        prim = self.prims.get(elem_of(type_), elem_of(type_))
        if isinstance(type_, ArrayType):
            return ArrayType(prim, self.atoms(shape_of(type_)))
        return prim


def instance(fun: ir.Fun, match: Match, params: tuple[ir.Param, ...], names: Names,
             bound: Mapping[VName, VName] = NOTHING) -> ir.Body:
    """The body of a side; ``params`` are those of the left side, which ``match`` is about.

    All names that it binds are fresh, but for those that ``bound`` gives others.
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
            prim = match.types.get(use.prim, use.prim)
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
                stms.append(map_stm(m, stm))
        return ir.Body(tuple(stms), m.atoms(old.result))

    def lam(old: ir.Lambda) -> ir.Lambda:
        own = [bind(p.name) for p in old.params]
        new = tuple(ir.Param(name, m.type(p.type)) for name, p in zip(own, old.params, strict=True))
        return ir.Lambda(new, body(old.body), m.types(old.ret))

    m = _TypedMapper(atom, bind, body, lam, match.types)
    return body(fun.body)
