"""Needs of rewritten programs: conditions on sizes, as far as nothing proves them.

A condition that follows from what is known where a version is chosen is dropped.  One that can
never hold removes the version at compile time.  What is left is tested when the program is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.constraints import Constraint
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Applied, CeilDiv, Greatest, Least, Size, product
from runelift.ir.solver.inequalities import Facts, quotient
from runelift.ir.traverse import arithmetic, size_of
from runelift.ir.types import Const, Type, shape_of

MOST_STEPS = 16
"""The most definitions that are looked through one after the other."""


class Unknown(Exception):
    """A need is about numbers that are not known where the version is chosen."""


class Impossible(Exception):
    """A need of a version can never hold."""

    def __init__(self, need: Constraint) -> None:
        self.need = need
        known = need.left.constant is not None and need.right.constant is not None
        super().__init__(need.complaint({}) if known else f"{need} is never so ({need.source()})")


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The numbers that are known at a place of a function, and facts about them."""

    numbers: frozenset[VName]
    facts: Facts

    @staticmethod
    def of(params: Iterable[ir.Param], before: Sequence[ir.Stm]) -> Knowledge:
        """The knowledge behind the statements ``before`` of a function with these parameters."""
        bound = [*params, *(p for stm in before for p in stm.pat)]
        shapes = {p.name: shape_of(p.type) for p in bound}
        facts = Facts(tuple(Size.var(size) for size in dict.fromkeys(
            size for shape in shapes.values() for size in shape if isinstance(size, VName))))
        for stm in before:
            facts = _learnt(facts, stm, shapes)
        return Knowledge(frozenset(p.name for p in bound if p.type is Prim.I64), facts)

    def open(self, needs: Iterable[Constraint], definitions: Mapping[VName, ir.Stm],
             ours: Mapping[VName, VName]) -> tuple[Constraint, ...]:
        """The needs that are not proved, about numbers that are known here.

        They come from a program with other names: ``ours`` translates the names that are bound in
        both, and ``definitions`` has its statements.  Raises Unknown or Impossible.
        """
        left = dict[Constraint, None]()
        for need in needs:
            each = replace(need, left=self._here(need.left, definitions, ours, MOST_STEPS),
                           right=self._here(need.right, definitions, ours, MOST_STEPS))
            match self.facts.truth(each):
                case False:
                    raise Impossible(each)
                case None:
                    left[each] = None
        return tuple(left)

    def _here(self, size: Size, definitions: Mapping[VName, ir.Stm],
              ours: Mapping[VName, VName], steps: int) -> Size:
        """A size of the other program as a polynomial of this program's numbers."""
        def known(name: VName) -> Size:
            if (own := ours.get(name)) in self.numbers and own is not None:
                return Size.var(own)
            value = _computed(definitions[name]) if name in definitions else None
            if value is None or not steps:
                raise Unknown(name.base)
            return self._here(value, definitions, ours, steps - 1)

        if _is_opaque(size):
            raise Unknown(str(size))
        return size.substitute(known)


def _learnt(facts: Facts, stm: ir.Stm, shapes: Mapping[VName, tuple[object, ...]]) -> Facts:
    """The facts, and what a statement says about numbers."""
    (param, *others) = stm.pat or (None,)
    if param is None or others:
        return facts
    if (value := _computed(stm)) is not None:
        return facts.equal(param.name, value)
    match stm.exp:
        case ir.PrimOp("div" | "quot", Prim.I64, (whole, part)) if (
                facts.divides(size_of(part), size_of(whole))):
            found = quotient(facts.valued(size_of(whole)), facts.valued(size_of(part)))
            return facts if found is None else facts.equal(param.name, found)
        case ir.Reshape(shape, array) if array in shapes:
            old, new = (product([size_of(size) for size in sizes])  # type: ignore[arg-type]
                        for sizes in (shapes[array], shape))
            for one, other in ((old, new), (new, old)):
                if one.variable is not None and one.variable not in facts.values:
                    return facts.equal(one.variable, other)
    return facts


def _computed(stm: ir.Stm) -> Size | None:
    """The size that a statement computes, if it is a sum, a difference or a product."""
    match stm.exp:
        case ir.AtomExp(Const(_, Prim.I64) as atom):
            return size_of(atom)
        case ir.AtomExp(VName() as name) if _is_number(stm.pat[0].type):
            return size_of(name)
    return arithmetic(stm.exp)


def _is_number(type_: Type) -> bool:
    return type_ is Prim.I64


def _is_opaque(size: Size) -> bool:
    """True if a size has operators whose values only the program computes."""
    for monomial, _ in size.terms:
        for factor in monomial:
            match factor:
                case Applied():
                    return True
                case CeilDiv(num, den):
                    if _is_opaque(num) or _is_opaque(den):
                        return True
                case Least(sizes) | Greatest(sizes):
                    if any(map(_is_opaque, sizes)):
                        return True
    return False
