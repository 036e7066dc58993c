"""Properties of versions, for rules that look at several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.products import product_of
from runelift.ir.syntax import SEGOPS, Body, Exp, SegMap, SegOp, Version, Versions
from runelift.ir.traverse import bodies_of
from runelift.ir.types import Type

Types: TypeAlias = Mapping[VName, Type]
"""The types of names outside of kernels."""


def operations(body: Body) -> Iterator[SegOp]:
    """The operations of the grid."""
    for stm in body.stms:
        if isinstance(stm.exp, SEGOPS):
            yield stm.exp
        else:
            for inner in bodies_of(stm.exp):
                yield from operations(inner)


def operations_of_groups(version: Version) -> Iterator[SegOp]:
    """The operations of the groups of an intra version, if it does nothing else."""
    groups = list(operations(undivided(version)))
    if len(groups) == 1 and isinstance(groups[0], SegMap):
        yield from operations(groups[0].body)


def undivided(version: Version) -> Body:
    """The body of a version, or of the last one inside if all that it does is to choose."""
    body = version.body
    if len(body.stms) == 1 and isinstance(body.stms[0].exp, Versions) and all(
            each.kind is version.kind for each in body.stms[0].exp.alternatives):
        return body.stms[0].exp.alternatives[-1].body
    return body


def with_guards(exp: Versions, change: Callable[[Version, Guard], Guard]) -> Exp | None:
    """The versions with changed guards; None if none is."""
    versions = tuple(v if v.guard is None else replace(v, guard=change(v, v.guard))
                     for v in exp.alternatives)
    return None if versions == exp.alternatives else replace(exp, alternatives=versions)


def is_product(version: Version) -> bool:
    """True if all operations of an outer version are products."""
    found = list(operations(version.body))
    return (version.kind is Kind.OUTER and bool(found)
            and all(isinstance(o, SegMap) and product_of(o) for o in found))
