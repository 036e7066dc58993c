"""Tapes of loops: the values that iterations begin with, or the cells that they overwrite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import atoms_of, binders
from runelift.ir.types import Atom, Type, array_of, elem_of, shape_of, zero
from runelift.rewrite.derive.emitter import Emitter


@dataclass(slots=True, eq=False)
class _Slot:
    """A value that each iteration keeps, before a statement of its body or at its start.

    ``name`` is that of the loop in the source, else of its parameter; the tape is ``name_tape``.
    """

    name: str
    type: Type
    before: ir.Stm | None
    value: Callable[[], Atom]
    tape: VName | None = None


@dataclass(slots=True, eq=False)
class _Cells:
    """An update in place: a slot for the overwritten cells, and slots for varying places."""

    update: ir.Update
    old: _Slot
    places: dict[Atom, _Slot]


class Tape:
    """The tape of a for loop for some of its parameters.

    Of an array that is only updated in place the overwritten cells are kept.  So n updates of an
    array of n elements cost n and not n².
    """

    def __init__(self, emit: Emitter, stm: ir.Stm, kept: Sequence[int]) -> None:
        loop = stm.exp
        assert isinstance(loop, ir.Loop)
        assert isinstance(loop.form, ir.ForLoop)
        self.emit, self.loop, self.form = emit, loop, loop.form
        self.local = {*binders(loop)}
        self.whole: dict[int, _Slot] = {}
        self.cells: dict[int, list[_Cells]] = {}
        self.finals: dict[int, VName] = {}
        for k in kept:
            param = loop.params[k].param
            name = (stm.loc and stm.loc.name) or param.name.base
            found = self._chain(param.name, loop.body.result[k])
            if found:
                self.cells[k] = [self._cells(name, stm) for stm in found]
            else:
                self.whole[k] = _Slot(name, param.type, None, lambda name=param.name: name)  # type: ignore[misc]
        self.slots = [*self.whole.values(), *(
            slot for chain in self.cells.values() for each in chain
            for slot in (each.old, *each.places.values()))]

    def _chain(self, start: VName, end: Atom) -> list[ir.Stm]:
        """The updates that make a parameter's next value, in order; none if anything else does."""
        made = {p.name: stm for stm in self.loop.body.stms for p in stm.pat}
        found: list[ir.Stm] = []
        while end != start:
            stm = made.get(end) if isinstance(end, VName) else None
            if stm is None or not isinstance(stm.exp, ir.Update) or any(
                    isinstance(dim, ir.SliceDim) and dim.count in self.local
                    for dim in stm.exp.dims):
                return []
            found.append(stm)
            end = stm.exp.array
        return found[::-1]

    def _cells(self, name: str, stm: ir.Stm) -> _Cells:
        exp = stm.exp
        assert isinstance(exp, ir.Update)
        counts = tuple(d.count for d in exp.dims if isinstance(d, ir.SliceDim))
        type_ = array_of(counts, elem_of(self.emit.types[exp.array]))
        old = _Slot(name, type_, stm,
                    lambda: self.emit.index(exp.array, *exp.dims, checked=exp.checked))
        places = {atom: _Slot(name, Prim.I64, stm, lambda atom=atom: atom)  # type: ignore[misc]
                  for dim in exp.dims for atom in atoms_of(dim)
                  if atom in self.local and atom != self.form.index}
        return _Cells(exp, old, places)

    def fill(self, old: ir.Stm, sweep: list[ir.Stm]) -> Atom:
        """Let the loop fill the tape, in the place of its statement; the count of iterations."""
        emit = self.emit
        with emit.block() as before:
            count = emit.length(self.form.bound)
            types = [array_of((count, *shape_of(slot.type)), elem_of(slot.type))
                     for slot in self.slots]
            bases = [f"{slot.name}_tape" for slot in self.slots]
            blanks = [emit.one(ir.Replicate(shape_of(t), zero(elem_of(t))), t, base)
                      for base, t in zip(bases, types, strict=True)]
        carried = list(map(emit.fresh, bases, types))
        filled: dict[int, VName] = {}
        with emit.block() as stms:
            for stm in (None, *self.loop.body.stms):
                for k, slot in enumerate(self.slots):
                    if slot.before is stm:
                        filled[k] = emit.update(carried[k].name, (self.form.index,), slot.value())
                if stm is not None:
                    emit.add(stm)
        params = (*self.loop.params, *map(ir.LoopParam, carried, blanks))
        results = (*self.loop.body.result, *(filled[k] for k in range(len(self.slots))))
        pat = tuple(map(emit.fresh, bases, types))
        for slot, param in zip(self.slots, pat, strict=True):
            slot.tape = param.name
        self.finals = {k: old.pat[k].name for k in self.cells}
        place = next(k for k, stm in enumerate(sweep) if stm is old)
        sweep[place:place + 1] = [*before, replace(
            old, pat=(*old.pat, *pat),
            exp=ir.Loop(params, self.form, ir.Body(tuple(stms), results)))]
        return count

    def _at(self, slot: _Slot, index: VName) -> VName:
        assert slot.tape is not None
        return self.emit.index(slot.tape, index)

    def read(self, params: Sequence[ir.Param], index: VName) -> list[tuple[ir.LoopParam, VName]]:
        """Bind parameters to their values in an iteration, in the loop of the return sweep.

        Arrays whose cells are kept are carried there, each with its next value.
        """
        emit = self.emit
        for k, slot in self.whole.items():
            emit.let([params[k]], [self._at(slot, index)])
        carried = []
        for k, chain in self.cells.items():
            param = emit.fresh(params[k].name, params[k].type)
            array = param.name
            for each in reversed(chain):
                def place(atom: Atom, each: _Cells = each) -> Atom:
                    if atom in each.places:
                        return self._at(each.places[atom], index)
                    return index if atom == self.form.index else atom

                dims = [ir.SliceDim(place(d.start), d.count, place(d.stride))
                        if isinstance(d, ir.SliceDim) else place(d) for d in each.update.dims]
                array = emit.update(array, dims, self._at(each.old, index),
                                    checked=each.update.checked)
            emit.let([params[k]], [array])
            carried.append((ir.LoopParam(param, self.finals[k]), array))
        return carried

