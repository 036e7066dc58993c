"""Nests: array operations in each other as a list of loops, which points split and reorder.

A loop of a nest is a map, or a reduction whose operator works on all that the loops inside make.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.types import Atom, Type, shape_of
from runelift.rewrite.engine.scalar_code import may_fail
from runelift.rewrite.flatten.parallelism import is_cheap


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop: its width, its inputs, and the statements in it before the next loop.

    ``ops`` are the operators on single elements, if it is a reduction; ``attrs`` its attributes.
    """

    width: Atom
    params: tuple[ir.Param, ...]
    arrays: tuple[VName, ...]
    before: tuple[ir.Stm, ...] = ()
    ops: tuple[ir.Operator, ...] = ()
    attrs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest: its loops, outermost first, and the body of the innermost loop with its types."""

    loops: tuple[Loop, ...]
    body: ir.Body
    ret: tuple[Type, ...]

    @property
    def bound(self) -> set[VName]:
        """The names that the loops bind, without the names that the body binds."""
        params = {p.name for loop in self.loops for p in loop.params}
        return params | {p.name for loop in self.loops for s in loop.before for p in s.pat}


@dataclass(frozen=True, slots=True)
class Maps:
    """Nested maps, the innermost map's lambda, and ``end``: the reason why there are no more."""

    loops: tuple[Loop, ...]
    lam: ir.Lambda
    end: str

    def nest(self, count: int) -> Nest | str:
        """The nest of the ``count`` outermost maps; a reason in words if there are fewer."""
        if len(self.loops) < count:
            return self.end
        return Nest(self.loops, self.lam.body, self.lam.ret)


def maps_of(stm: ir.Stm, most: int | None = None) -> Maps:
    """The maps of a perfect nest, ``most`` at most.

    What stands between two of them is cheap to compute again, and cannot fail.  Their widths and
    the shapes of their results are known outside.
    """
    exp = ir.node_of(stm, ir.Map)
    return maps_inside((Loop(exp.width, exp.lam.params, exp.arrays),), exp.lam, most)


def maps_inside(loops: tuple[Loop, ...], lam: ir.Lambda, most: int | None = None) -> Maps:
    """The maps of the function of a loop, after ``loops``, of which the last is this loop."""
    bound = {p.name for loop in loops for p in loop.params}
    end = ""
    while most is None or len(loops) < most:
        end = _imperfect(lam, bound)
        if end:
            break
        *before, last = lam.body.stms
        inner = ir.node_of(last, ir.Map)
        bound |= {p.name for s in before for p in s.pat} | {p.name for p in inner.lam.params}
        loops = (*loops[:-1], replace(loops[-1], before=tuple(before)),
                 Loop(inner.width, inner.lam.params, inner.arrays, attrs=last.attrs))
        lam = inner.lam
    return Maps(loops, lam, end)


def _imperfect(lam: ir.Lambda, bound: set[VName]) -> str:
    """The reason why a map's body is not a further map behind cheap statements."""
    stms = lam.body.stms
    if not stms or not isinstance(stms[-1].exp, ir.Map):
        return "its function does not end with a map"
    *before, last = stms
    if lam.body.result != tuple(p.name for p in last.pat):
        return "the map inside does not make exactly its results"
    inside = bound | {p.name for s in before for p in s.pat}
    assert isinstance(last.exp, ir.Map)
    for each in before:
        if may_fail(each.exp):
            return "a check stands between its maps"
        if not is_cheap(each.exp):
            return f"'{each.pat[0].name.base}' is computed between its maps, and costs too much"
    if {last.exp.width} & inside or any({*shape_of(type_)} & inside for type_ in last.exp.lam.ret):
        return "the map inside has another length for each element"
    return ""
