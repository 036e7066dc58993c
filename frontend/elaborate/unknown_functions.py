"""Parameters that are functions, of declarations that are elaborated alone: sides of rules."""

from __future__ import annotations

from collections.abc import Callable

from runelift.frontend.elaborate.exps import Evaluator
from runelift.frontend.elaborate.values import Dynamic, Function, Value, leaves, shaped
from runelift.frontend.syntax.types import Arrow, Type
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import Call, Param
from runelift.ir.types import Atom, array_of


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
