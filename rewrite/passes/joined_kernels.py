"""Kernels that join: what a kernel reads at its very points, and what may change places."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by, root_of
from runelift.ir.names import VName
from runelift.ir.traverse import free_vars, substitute_body
from runelift.ir.types import Atom

Stms: TypeAlias = tuple[ir.Stm, ...]


def elements_of(body: ir.Body, space: Sequence[ir.SegDim]) -> dict[VName, VName]:
    """The arrays that are read at the very point, by the names of their elements."""
    here = tuple(d.index for d in space)
    return {stm.pat[0].name: stm.exp.array for stm in body.stms
            if isinstance(stm.exp, ir.Index) and stm.exp.dims == here}


def without(stms: Iterable[ir.Stm], names: Container[VName]) -> Stms:
    """The statements without each statement that binds one of ``names``."""
    return tuple(stm for stm in stms if not stm.pat or stm.pat[0].name not in names)


def used_besides(stm: ir.Stm, elements: Container[VName]) -> set[VName]:
    """The names that a kernel needs for other things than the reads of ``elements``."""
    assert isinstance(stm.exp, ir.SEGOPS)
    body = ir.Body(without(stm.exp.body.stms, elements), stm.exp.body.result)
    return free_vars(replace(stm, exp=replace(stm.exp, body=body)))


def at_points(body: ir.Body, space: ir.Space, other: ir.Space) -> ir.Body:
    """A body over a space as a body over another space of equal widths."""
    return substitute_body(body, {d.index: own.index for d, own in zip(space, other, strict=True)})


def fed(body: ir.Body, elements: Mapping[VName, VName], value: Mapping[VName, Atom]) -> ir.Body:
    """A body with values of arrays in place of their elements, where these are read."""
    known = {element: value[array] for element, array in elements.items() if array in value}
    return substitute_body(ir.Body(without(body.stms, known), body.result), known)


def keeps(over: Iterable[ir.Stm], stm: ir.Stm, defs: Mapping[VName, ir.Stm]) -> bool:
    """True if statements change no array that another one reads."""
    read = {root_of(name, defs) for name in free_vars(stm)}
    return not any(root_of(name, defs) in read for each in over for name in consumed_by(each))


def is_calm(exp: ir.Exp) -> bool:
    """True if the host's work for it neither fails nor takes long."""
    return isinstance(exp, ir.Replicate | ir.Copy | ir.Iota | ir.AtomExp | ir.Convert) or (
        isinstance(exp, ir.PrimOp) and not exp.may_trap)
