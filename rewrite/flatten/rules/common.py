"""Functions that several rules share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.base.source import Loc
from runelift.ir.names import VName
from runelift.ir.operators import identity
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    SOACS,
    AtomExp,
    Body,
    Exp,
    If,
    Lambda,
    Level,
    Loop,
    Map,
    Param,
    Replicate,
    Soac,
    Stm,
)
from runelift.ir.types import Atom, Type, array_of, as_name, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.columns import transposition
from runelift.rewrite.engine.pick import names_in
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Nest, base_name
from runelift.rewrite.flatten.segments import flat_array
from runelift.rewrite.flatten.walk import Walk

if TYPE_CHECKING:
    from runelift.rewrite.flatten.flattener import Flattener

IN_TURN = "kernels never recurse: its points run in turn"


def zeros(type_: Type) -> Exp:
    """A number or an array of a type, in which all numbers are zeros."""
    value = zero(elem_of(type_))
    return Replicate(shape_of(type_), value) if shape_of(type_) else AtomExp(value)


def transposed(walk: Walk, array: VName, loc: Loc | None) -> Param:
    """The columns of an array, as a statement of the walk."""
    type_ = walk.flattener.types[array]
    height, width, *inner = shape_of(type_)
    column = walk.fresh(array.base, array_of((width, height, *inner), elem_of(type_)))
    walk.need([column.name])
    walk.statement(Stm((column,), transposition(array, type_), loc=loc))
    return column


def split_lambda(walk: Walk, stm: Stm, soac: Soac, further: tuple[Param, ...] = ()
                 ) -> tuple[Lambda, Stm]:
    """A SOAC's lambda as a separate map, and an identity in its place.

    The last results of the lambda are ``further`` results, which the map makes alone.
    """
    ret = soac.lam.ret[:len(soac.lam.ret) - len(further)]
    mapped = tuple(walk.fresh("mapped", array_of((soac.width,), type_)) for type_ in ret)
    element = identity(tuple(walk.fresh("x", type_) for type_ in ret))
    return element, Stm((*mapped, *further), Map(soac.width, soac.lam, soac.arrays), stm.attrs,
                        stm.loc)


def irregular(walk: Walk, stm: Stm) -> str | None:
    """The reason why a SOAC cannot run under Σ as a single operation, if any."""
    soac = stm.exp
    assert isinstance(soac, SOACS)
    if why := uneven(walk, stm, soac.width):
        return why
    inside = {p.name for s in soac.lam.body.stms for p in s.pat}
    for type_ in soac.lam.ret:
        if any(size in inside for size in shape_of(type_)):
            return "its results have different shapes"
    return None


def uneven(walk: Walk, stm: Stm, width: Atom) -> str | None:
    """The reason why ``stm`` has another width or shape of results at each point, if it has."""
    if not walk.invariant(width):
        known = walk.nest.segments.get(width) if isinstance(width, VName) else None
        shown = base_name(width) if known is None else (
            f"{known.lengths.base}[{walk.nest.indices[0].base}]")
        return f"its width '{shown}' differs between points of the nest"
    for param in stm.pat:
        if not walk.regular(param.type):
            return f"'{param.name.base}' has another shape at each point of the nest"
    return None


def reshaped(walk: Walk, loop: Loop) -> str | None:
    """The reason why a value of a loop changes its shape in a way that has no form, if one does.

    An array of scalars may have another length at each point, if it keeps that length.
    """
    own = {p.param.name for p in loop.params}
    for p in loop.params:
        shape = shape_of(p.param.type)
        if any(size in own for size in shape) or not (
                walk.regular(p.param.type) or (len(shape) == 1 and walk.level is Level.GRID)):
            return f"'{p.param.name.base}' has another shape at each point or iteration"
    return None


def width_of(walk: Walk, type_: Type) -> VName | None:
    """The length of an array, if it differs between the points of Σ."""
    return None if walk.regular(type_) else as_name(shape_of(type_)[0])


def segmented(inside: Walk, body: Body, single: Sequence[Atom],
              arrays: Sequence[tuple[Atom, VName]]) -> tuple[tuple[Atom, ...], list[VName]] | str:
    """Walk ``body``: ``single`` results expanded by Σ, and ``arrays`` of given lengths made flat.

    The reason if an array cannot be known outside of Σ.
    """
    if not arrays:
        return inside.body(replace(body, result=tuple(single))), []
    inside.statements(body)
    inside.look_ahead(names_in((*single, *(array for array, _ in arrays))))
    if why := inside.make_arrays_known([array for array, _ in arrays]):
        return why
    data = [flat_array(inside, as_name(array), width) for array, width in arrays]
    return inside.results(tuple(single)), data


def enter(walk: Walk, width: Atom, lam: Lambda, arrays: tuple[VName, ...]) -> Nest:
    """Σ, ⟨params ∈ arrays, width⟩ with a fresh index."""
    index = walk.fresh("i", Prim.I64).name
    return walk.nest.enter(index, width, zip(lam.params, arrays, strict=True), walk.loc)


def emit_with_nest(walk: Walk, stm: Stm, nest: Nest, exp: Exp) -> None:
    """Emit ``exp`` with expanded results and bind the names of ``stm`` to them."""
    host = walk.expanded_pat(stm.pat)
    walk.emit(Stm(host, exp, stm.attrs, stm.loc))
    walk.bind(stm.pat, host)


Made = TypeVar("Made")


def attempted(walk: Walk, rule: str, stm: Stm, note: str, emit: Callable[[Walk], Made | str],
              nest: Nest | None = None) -> Made | str:
    """The result of ``emit``, whose statements are taken; nothing is left of it if it is a reason.

    ``emit`` gets a walk under ``nest``, or under Σ, whose definitions are taken, too.  The
    derivation says that a rule fires on a statement, with a note.
    """
    flattener, derivation = walk.flattener, walk.flattener.derivation
    front = Walk(flattener, nest or walk.nest)
    steps, counts = len(derivation.steps), replace(flattener.numbering)
    checked = frozenset(flattener.checked)
    derivation.fired(rule, stm, note)
    with derivation.inside():
        made = emit(front)
    if not isinstance(made, str):
        walk.emit(*front.out)
        walk.nest = walk.nest if nest else front.nest
        return made
    del derivation.steps[steps:]
    flattener.numbering.thresholds, flattener.numbering.sites = counts.thresholds, counts.sites
    flattener.checked.intersection_update(checked)
    return made


class Results:
    """Results of code of the host over some points, beside what they are if there is no point."""

    def __init__(self, flattener: Flattener) -> None:
        self.flattener = flattener
        self.params, self.values = list[Param](), list[Atom]()
        self._empty = Code(flattener), list[Atom]()

    def keep(self, before: Param, value: Atom) -> None:
        """Add a result that is a value from before if there is no point."""
        self._add(self.flattener.fresh(before.name, before.type), value, before.name)

    def add(self, base: str | VName, type_: Type, value: Atom, empty: Type) -> VName:
        """The name of a further result, which is ``empty`` if there is no point."""
        param = self.flattener.fresh(base, type_)
        blanks, _ = self._empty
        self._add(param, value, blanks.emitted(
            base, empty, zeros(empty), (SCRATCH,) if shape_of(empty) else ()))
        return param.name

    def _add(self, param: Param, value: Atom, empty: Atom) -> None:
        self.params.append(param)
        self.values.append(value)
        self._empty[1].append(empty)

    def emit(self, code: Code, count: Atom, stms: Sequence[Stm]) -> None:
        """Emit the statements and bind the results, if there are points."""
        some = code.holds("lt", i64(0), count, base="some")
        blanks, empty = self._empty
        code.emit(Stm(tuple(self.params), If(
            some, Body(tuple(stms), tuple(self.values)), blanks.as_body(*empty),
            tuple(p.type for p in self.params))))


def descend(walk: Walk, stm: Stm, nest: Nest, lam: Lambda) -> None:
    """Make only e_flat: continue with the body under the larger nest."""
    with walk.flattener.derivation.inside():
        flat, _ = walk.flattener.body(nest, lam.body, lam.ret)
    host = walk.expanded_pat(stm.pat)
    walk.emit_body(host, flat)
    walk.bind(stm.pat, host)
