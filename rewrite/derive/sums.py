"""Sums of arrays that maps make: each element is summed by itself, over columns.

A gradient by a name that is free in a map is a sum: each element of that map adds an array.
Stored is here only what the elements of such an array have in common, which is smaller.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, array_of, elem_of, row_of, shape_of
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.operators import is_plain, is_sum
from runelift.rewrite.engine.forward import rewrite_forward
from runelift.rewrite.engine.rule import Replacement, Rewriting, RuleBook, rule
from runelift.rewrite.engine.scalar_code import is_scalar, may_fail
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.flatten.parallelism import is_cheap
from runelift.rewrite.passes.cse import NEARBY, eliminate_common
from runelift.rewrite.passes.fuse import fuse_alike


@rule(ir.Redomap)
def sum_of_maps(scope: Scope, stm: ir.Stm) -> Replacement:
    """redomap (map +) 0 id (map (λx → map (λy → a * f x y) ys) xs) ⇒
    map (λy → a * redomap (+) 0 (λx → f x y) xs) ys

    Provided: it stands outside of lambdas, in a program with derivatives.  What f computes of x
    alone is stored before, unless that is cheap.  Inner sums of arrays are exchanged likewise.
    Because: the array of an x is stored nowhere; a sum is linear.
    """
    exp = stm.exp
    assert isinstance(exp, ir.Redomap)
    if (scope.depth or settings(stm) or not is_plain(exp) or len(exp.arrays) != 1
            or not is_sum(exp.ops[0]) or len(shape_of(stm.pat[0].type)) == 0):
        return None
    made = scope.defs.get(exp.arrays[0])
    if (made is None or not isinstance(made.exp, ir.Map) or settings(made)
            or any(map(scope.consumes, free_vars(made.exp)))):
        return None
    emit = Emitter(scope.names, scope.types)
    emit.loc = stm.loc
    with emit.block() as stms:
        lam = emit.copied(made.exp.lam, asserts=False)
        inputs = list(zip(lam.params, made.exp.arrays, strict=True))
        place = [p.name for p in made.pat].index(exp.arrays[0])
        total = _Sum(emit, exp.width, inputs, lam.body.stms).total(lam.body.result[place])
        if total is None:
            return None
        emit.let(stm.pat, [total])
    return tuple(stms)


class _Sum:
    """A function of elements, whose results are summed: its inputs, and the statements of its body.

    Statements that do not vary with the elements are appended outside.
    """

    def __init__(self, emit: Emitter, width: Atom, inputs: Sequence[tuple[ir.Param, VName]],
                 stms: Iterable[ir.Stm]) -> None:
        self.emit = emit
        self.width = width
        self.inputs = {param.name: (param, array) for param, array in inputs}
        self.made: dict[VName, ir.Stm] = {}
        self.stms: list[ir.Stm] = []
        """The statements that vary, and cheap arrays that each element makes for itself."""
        self.may_fail = False
        """True if a statement may fail that would stand outside."""
        for stm in stms:
            if self.varying(free_vars(stm)):
                self.stms.append(stm)
                self.made.update((p.name, stm) for p in stm.pat)
                continue
            emit.add(stm)
            self.may_fail |= may_fail(stm.exp)
            if isinstance(stm.exp, NEARBY):
                self.stms.append(stm)

    def varying(self, atoms: Iterable[Atom]) -> list[VName]:
        """The atoms that vary with the elements."""
        return [a for a in atoms if isinstance(a, VName) and (a in self.inputs or a in self.made)]

    def total(self, atom: Atom) -> Atom | None:
        """The sum of a value over all elements; None if only the general way is left."""
        if (self.may_fail or not isinstance(atom, VName) or not self.varying((atom,))
                or self.varying(shape_of(self.emit.type(atom)))):
            return None
        stm = self.made.get(atom)
        if not shape_of(self.emit.type(atom)):
            return self._scalar(atom)
        match stm:
            case ir.Stm(exp=ir.AtomExp(same)):
                return self.total(same)
            case ir.Stm(exp=ir.Rearrange(perm, array)):
                found = self.total(array)
                return None if found is None else self.emit.rearranged(self.emit.name(found), perm)
            case ir.Stm(exp=ir.Replicate(shape, value)):
                found = self.total(value)
                return None if found is None else self.emit.one(
                    ir.Replicate(shape, found), self.emit.type(atom), "sums")
            case ir.Stm(exp=ir.Redomap() as exp) if is_plain(exp) and is_sum(exp.ops[0]):
                found = self.total(exp.arrays[0])
                return None if found is None else self.emit.summed(self.emit.name(found))
            case ir.Stm(exp=ir.Map() as exp) if not self.varying((exp.width,)):
                place = [p.name for p in stm.pat].index(atom)
                return self._linear(exp, place) or _Turned(self, exp, place).total()
        return None

    def _scalar(self, atom: Atom) -> Atom:
        """The sum of a scalar: what does not vary is factored out."""
        emit = self.emit
        prim = elem_of(emit.type(atom))
        stm = self.made.get(atom) if isinstance(atom, VName) else None
        match stm:
            case ir.Stm(exp=ir.AtomExp(same)):
                return self._scalar(same)
            case ir.Stm(exp=ir.PrimOp("neg", _, (x,))):
                return emit.op("neg", prim, self._scalar(x))
            case ir.Stm(exp=ir.PrimOp("mul", _, (x, y))) if not self.varying((x,)):
                return emit.op("mul", prim, x, self._scalar(y))
            case ir.Stm(exp=ir.PrimOp("mul", _, (x, y))) if not self.varying((y,)):
                return emit.op("mul", prim, self._scalar(x), y)
            case ir.Stm(exp=ir.PrimOp("div", _, (x, y))) if (
                    prim.is_float and not self.varying((y,))):
                return emit.op("div", prim, self._scalar(x), y)
        lam, arrays = self.function((atom,))
        type_ = array_of((self.width,), prim)
        return emit.summed(emit.one(ir.Map(self.width, lam, arrays), type_, "parts"))

    def function(self, results: Sequence[Atom]) -> tuple[ir.Lambda, tuple[VName, ...]]:
        """A lambda with some values as results, and the arrays that it is mapped over."""
        needed, stms = {a for a in results if isinstance(a, VName)}, list[ir.Stm]()
        for stm in reversed(self.stms):
            if any(p.name in needed for p in stm.pat):
                stms.append(stm)
                needed |= free_vars(stm)
        inputs = [(param, array) for param, array in self.inputs.values() if param.name in needed]
        lam = ir.Lambda(tuple(param for param, _ in inputs),
                        ir.Body(tuple(reversed(stms)), tuple(results)),
                        tuple(map(self.emit.type, results)))
        return self.emit.copied(lam), tuple(array for _, array in inputs)

    def _linear(self, exp: ir.Map, place: int) -> Atom | None:
        """The sum of a map that only scales the elements of an inner sum of arrays."""
        given = [(p.name, a) for p, a in zip(exp.lam.params, exp.arrays, strict=True)
                 if self.varying((a,))]
        if len(given) != 1 or self.varying(free_vars(exp.lam)):
            return None
        (param, array), lam = given[0], exp.lam
        made = {p.name: stm for stm in lam.body.stms for p in stm.pat}
        atom = lam.body.result[place]
        while atom != param:
            match made.get(atom) if isinstance(atom, VName) else None:
                case ir.Stm(exp=ir.PrimOp("neg", _, (x,)) | ir.AtomExp(x)):
                    atom = x
                case _:
                    return None
        source = self.made.get(array)
        if source is None or not isinstance(source.exp, ir.Redomap):
            return None
        found = self.total(array)
        if found is None:
            return None
        lam = self.emit.copied(ir.Lambda(lam.params, ir.Body(lam.body.stms, (
            lam.body.result[place],)), (lam.ret[place],)))
        arrays = tuple(self.emit.name(found) if a == array else a for a in exp.arrays)
        return self.emit.one(ir.Map(exp.width, lam, arrays),
                             array_of((exp.width,), lam.ret[0]), "sums")


class _Turned:
    """A map whose results are summed, as a map of sums."""

    def __init__(self, around: _Sum, exp: ir.Map, place: int) -> None:
        self.around, self.emit, self.width = around, around.emit, exp.width
        self.lam = self.emit.copied(exp.lam)
        self.result = self.lam.body.result[place]
        self.front: list[ir.Stm] = []
        """Cheap statements that each sum repeats."""
        self.outer: list[tuple[ir.Param, VName]] = []
        """The inputs of the map of sums."""
        self.inner: dict[VName, tuple[ir.Param, VName]] = {}
        """The inputs of each sum."""
        self.columns: list[tuple[ir.Param, VName]] = []
        """Parameters of the function that is summed, which stand for elements of varying arrays."""
        self.stored: dict[VName, VName] = {}
        """Varying names, and the arrays that have all their values."""
        self.arrays = exp.arrays

    def total(self) -> Atom | None:
        """The array of sums."""
        around, emit = self.around, self.emit
        for param, array in zip(self.lam.params, self.arrays, strict=True):
            self._element(param, array)
        for name in sorted(around.varying(free_vars(self.lam)), key=lambda name: name.tag):
            self._need(name)
        if any(around.varying(shape_of(emit.type(name))) for name in self.stored):
            return None
        self._store()
        for param, array in self.columns:
            whole = self.stored[array] if array in self.stored else around.inputs[array][1]
            row = row_of(emit.types[array])
            column = emit.fresh("column", array_of((around.width,), row))
            self.outer.append((column, emit.rearranged(whole, (1, 0))))
            self.inner[param.name] = param, column.name
        with emit.block() as stms:
            inner = _Sum(emit, around.width, list(self.inner.values()),
                         [*self.front, *self.lam.body.stms])
            found = inner.total(self.result)
        if found is None:
            return None
        lam = ir.Lambda(tuple(param for param, _ in self.outer), ir.Body(tuple(stms), (found,)),
                        (emit.type(found),))
        return emit.one(ir.Map(self.width, lam, tuple(array for _, array in self.outer)),
                        array_of((self.width,), lam.ret[0]), "sums")

    def _store(self) -> None:
        """Append the map that makes the arrays of ``stored``."""
        if not self.stored:
            return
        names = tuple(self.stored)
        lam, arrays = self.around.function(names)
        types = [array_of((self.around.width,), type_) for type_ in lam.ret]
        made = self.emit.bind(ir.Map(self.around.width, lam, arrays), types, "parts")
        self.stored = dict(zip(names, made, strict=True))
        for name in names:
            if name in self.inner:
                self.inner[name] = self.inner[name][0], self.stored[name]

    def _element(self, param: ir.Param, array: VName) -> None:
        """Provide a parameter that stands for an element of an array."""
        source = self.around.made.get(array)
        if not self.around.varying((array,)):
            self.outer.append((param, array))
        elif source is not None and _is_elementwise(source.exp):
            assert isinstance(source.exp, ir.Map)
            lam = self.emit.copied(source.exp.lam)
            for each, given in zip(lam.params, source.exp.arrays, strict=True):
                self._element(each, given)
            for name in self.around.varying(free_vars(lam)):
                self._need(name)
            place = [p.name for p in source.pat].index(array)
            self.front += [*lam.body.stms,
                           ir.Stm((param,), ir.AtomExp(lam.body.result[place]), (), source.loc)]
        else:
            if source is not None:
                self.stored[array] = array
            self.columns.append((param, array))

    def _need(self, name: VName) -> None:
        """Provide a varying name that the function uses as a whole."""
        if name in self.inner or any(p.name == name for each in self.front for p in each.pat):
            return
        if name in self.around.inputs:
            self.inner[name] = self.around.inputs[name]
        elif self._is_repeated(name):
            stm = self.around.made[name]
            for each in self.around.varying(free_vars(stm)):
                self._need(each)
            self.front.append(stm)
        else:
            self.stored[name] = name
            self.inner[name] = ir.Param(name, self.emit.types[name]), name

    def _is_repeated(self, name: VName) -> bool:
        """True if it costs less to compute a value again than to store it."""
        stm = self.around.made.get(name)
        if stm is None:
            return True
        if shape_of(self.emit.types[name]):
            return is_cheap(stm.exp) or _is_elementwise(stm.exp)
        return is_cheap(stm.exp) and all(
            map(self._is_repeated, self.around.varying(free_vars(stm))))


def _is_elementwise(exp: ir.Exp) -> bool:
    """True for a map of cheap operations on scalars."""
    return isinstance(exp, ir.Map) and all(
        is_scalar(stm) and is_cheap(stm.exp) for stm in exp.lam.body.stms)


SUMS = RuleBook([sum_of_maps])


def sum_inside(program: ir.Program, names: Names, rewriting: Rewriting | None = None
               ) -> ir.Program:
    """``program`` in which arrays that are only summed are not stored."""
    rewriting = rewriting or Rewriting(names)
    program = eliminate_common(rewrite_forward(program, SUMS, rewriting), names, rewriting)
    return fuse_alike(program, names, rewriting)
