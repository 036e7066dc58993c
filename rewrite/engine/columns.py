"""Reductions of vectors as reductions of columns: what the rules about vector operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from runelift.ir.names import VName
from runelift.ir.syntax import Body, Fold, Iota, Lambda, Map, Param, Rearrange, Replicate, Stm
from runelift.ir.traverse import free_vars
from runelift.ir.types import Type, shape_of


def transposition(array: VName, type_: Type) -> Rearrange:
    """An array of a type, with its first two dimensions exchanged."""
    return Rearrange((1, 0, *range(2, len(shape_of(type_)))), array)


def virtual_outside(body: Body, params: tuple[Param, ...]) -> tuple[tuple[Stm, ...], Body]:
    """The iotas and replicates that do not depend on parameters, and the rest of a body."""
    outside, inside = list[Stm](), list[Stm]()
    bound = {p.name for p in params}
    for stm in body.stms:
        if isinstance(stm.exp, Iota | Replicate) and not bound & free_vars(stm.exp):
            outside.append(stm)
        else:
            inside.append(stm)
            bound |= {p.name for p in stm.pat}
    return tuple(outside), Body(tuple(inside), body.result)


class Columns(NamedTuple):
    """A fold of columns: arrays and parameters of the map around, its own lambda and inputs."""

    arrays: tuple[VName, ...]
    params: tuple[Param, ...]
    lam: Lambda
    inputs: tuple[VName, ...]


def columns_of(soac: Fold, made: Map, column: Callable[[VName], tuple[VName, Param]]) -> Columns:
    """The parts of ``soac`` by columns, where the map ``made`` ends its lambda and makes vectors.

    ``column`` gives the transposition of an array, and a parameter for one of its columns.
    """
    array_of_row = dict(zip((p.name for p in soac.lam.params), soac.arrays, strict=True))
    outside, inside = list[tuple[VName, Param]](), list[tuple[VName, Param]]()
    for param, array in zip(made.lam.params, made.arrays, strict=True):
        if array not in array_of_row:
            outside.append((array, param))
            continue
        transposed, element = column(array_of_row[array])
        outside.append((transposed, element))
        inside.append((element.name, param))
    body = Body((*soac.lam.body.stms[:-1], *made.lam.body.stms), made.lam.body.result)
    used = free_vars(body)
    inside += [(array_of_row[p.name], p) for p in soac.lam.params if p.name in used]
    return Columns(tuple(array for array, _ in outside), tuple(p for _, p in outside),
                   Lambda(tuple(p for _, p in inside), body, made.lam.ret),
                   tuple(array for array, _ in inside))
