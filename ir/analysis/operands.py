"""The operands of nodes that are linear in them: views, updates and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, as_name

LINEAR = (ir.AtomExp, ir.ArrayLit, ir.Index, ir.Update, ir.Replicate, ir.Concat, ir.Rearrange,
          ir.Reshape, ir.Slide, ir.Pad, ir.Copy)
"""Nodes whose tangent is the same node on tangents; indices and sizes have none."""
CONSTANT = (ir.Iota, ir.Assert)
"""Nodes that no tangent passes."""


def operands(exp: ir.Exp) -> tuple[Atom, ...]:
    """The operands of a linear node that its result is linear in."""
    found: list[Atom] = []

    def note(atom: Atom) -> Atom:
        found.append(atom)
        return atom

    with_operands(exp, note)
    return tuple(found)


def with_operands(exp: ir.Exp, f: Callable[[Atom], Atom]) -> ir.Exp:
    """A linear node with other operands."""
    def array(name: VName) -> VName:
        atom = as_name(f(name))
        return atom

    match exp:
        case ir.AtomExp(atom):
            return ir.AtomExp(f(atom))
        case ir.ArrayLit(elems):
            return replace(exp, elems=tuple(map(f, elems)))
        case ir.Replicate(_, value):
            return replace(exp, value=f(value))
        case ir.Concat(_, arrays):
            return replace(exp, arrays=tuple(map(array, arrays)))
        case ir.Update(name, _, value):
            return replace(exp, array=array(name), value=f(value))
        case ir.Pad(_, _, _, value, name):
            return replace(exp, array=array(name), value=f(value))
        case ir.Index() | ir.Rearrange() | ir.Reshape() | ir.Slide() | ir.Copy():
            return replace(exp, array=array(exp.array))
    raise AssertionError(exp)


def passes(convert: ir.Convert) -> bool:
    """True if a tangent passes a conversion: between numbers, but not from float to integer."""
    return (Prim.BOOL not in (convert.from_, convert.to)
            and not (convert.from_.is_float and convert.to.is_int))
