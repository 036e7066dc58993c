"""The two walks: rules of a book make derivatives of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.activity import spread
from runelift.ir.base.errors import NoDerivative
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import binders, free_vars
from runelift.ir.types import (
    Atom,
    Const,
    Type,
    array_of,
    elem_of,
    i64,
    row_of,
    shape_of,
    zero,
)
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import Rewriting, Rule, RuleBook, rule

Back = Callable[[], None]
"""The part of a rule of reverse mode that belongs to the return sweep."""


class Books(NamedTuple):
    """The rules of both modes."""

    forward: RuleBook
    reverse: RuleBook


class Walk:
    """The common part of both walks."""

    def __init__(self, emit: Emitter, rewriting: Rewriting, books: Books) -> None:
        self.emit = emit
        self.rewriting = rewriting
        self.books = books

    def fired(self, book: RuleBook, stm: ir.Stm) -> Back | bool:
        """The answer of the first rule that applies to a statement."""
        outer, self.emit.loc = self.emit.loc, stm.loc
        for each in book.rules_for(stm.exp):
            if self.rewriting.is_limited and not self.rewriting.permits(each):
                continue
            before = len(self.emit.stms)
            found: Back | bool | None = each.apply(self, stm, stm.exp)
            if found:
                self.rewriting.record(each, (stm,), tuple(self.emit.stms[before:]))
                self.emit.loc = outer
                return found
        if isinstance(stm.exp, ir.Recursion | ir.Call):
            raise NoDerivative("A function that calls itself has no derivative.", stm.loc)
        raise NoDerivative(f"There is no rule for the derivative of this "
                           f"{type(stm.exp).__name__.lower()}.", stm.loc)


class Derived(NamedTuple):
    """A lambda after the forward walk: its parts, and the tangents of its results."""

    tangents: tuple[ir.Param | None, ...]
    stms: tuple[ir.Stm, ...]
    results: tuple[Atom | None, ...]


class Forward(Walk):
    """Forward mode: ``tan`` has the tangents of the names that have one."""

    def __init__(self, emit: Emitter, rewriting: Rewriting, books: Books) -> None:
        super().__init__(emit, rewriting, books)
        self.tan: dict[VName, Atom] = {}
        self.accumulators: dict[VName, bool] = {}
        """The accumulators around; True if it has an operator, which is a sum."""

    def tangent(self, atom: Atom) -> Atom | None:
        """The tangent of an atom; None if it is zero."""
        return self.tan.get(atom) if isinstance(atom, VName) else None

    def tangents(self, atoms: Iterable[Atom]) -> tuple[Atom | None, ...]:
        """The tangents of atoms."""
        return tuple(map(self.tangent, atoms))

    def full(self, atom: Atom) -> Atom:
        """The tangent of an atom, written down if it is zero."""
        found = self.tangent(atom)
        return self.emit.zeros(self.emit.type(atom)) if found is None else found

    def array(self, name: VName) -> VName:
        """The tangent of an array, written down if it is zero."""
        return self.emit.name(self.full(name))

    def statements(self, stms: Iterable[ir.Stm]) -> None:
        """Append statements, each with that of its tangents."""
        for stm in stms:
            self.emit.types.update((p.name, p.type) for p in stm.pat)
            if self.tan.keys().isdisjoint(free_vars(stm.exp)) and not (
                    self.accumulators.keys() & free_vars(stm.exp)):
                self.emit.add(stm)
            else:
                self.fired(self.books.forward, stm)

    def instead(self, stms: Iterable[ir.Stm]) -> bool:
        """Append other statements for the same results, with their tangents."""
        self.statements(stms)
        return True

    def lam(self, lam: ir.Lambda, active: Sequence[bool]) -> Derived:
        """A lambda, of whose parameters these have tangents."""
        params = tuple(self.emit.fresh(p.name.base + "_tan", p.type) if has else None
                       for p, has in zip(lam.params, active, strict=True))
        with self.emit.block() as stms:
            for param, tangent in zip(lam.params, params, strict=True):
                self.tan.pop(param.name, None)
                if tangent is not None:
                    self.tan[param.name] = tangent.name
            self.statements(lam.body.stms)
        return Derived(params, tuple(stms), self.tangents(lam.body.result))

    def fixed_point(self, lam: ir.Lambda, active: Sequence[bool], operands: int = 1
                    ) -> tuple[Derived, list[bool]]:
        """A lambda of so many operands like its result, and the parts of these with tangents."""
        wanted = list(active)
        while True:
            derived = self.lam(lam, wanted * operands)
            after = [a or t is not None for a, t in zip(wanted, derived.results, strict=True)]
            if after == wanted:
                return derived, wanted
            wanted = after

    def filled(self, derived: Derived, types: Sequence[Type], wanted: Sequence[bool]
               ) -> tuple[tuple[ir.Stm, ...], tuple[Atom, ...]]:
        """The statements of a body, and the tangents of the wanted results, with zeros."""
        with self.emit.block(list(derived.stms)) as stms:
            tangents = tuple(map(self.emit.or_zeros, pick(derived.results, wanted),
                                 pick(types, wanted)))
        return tuple(stms), tangents

    def pattern(self, stm: ir.Stm, wanted: Sequence[bool]) -> tuple[ir.Param, ...]:
        """A fresh tangent for each wanted result of a statement."""
        params = pick(stm.pat, wanted)
        found = self.emit.like(params, "_tan")
        self.tan |= {p.name: tangent.name for p, tangent in zip(params, found, strict=True)}
        return found

    def add_both(self, stm: ir.Stm, tangents: Iterable[ir.Param], exp: ir.Exp) -> None:
        """Append a statement whose expression also makes tangents of its results."""
        self.emit.stms.append(replace(stm, pat=(*stm.pat, *tangents), exp=exp))


@dataclass(frozen=True, slots=True)
class Entry:
    """An element of a sparse adjoint, or an array of them with the shape of each of ``places``.

    ``value`` is added at ``places`` of the first dimensions.  Places out of bounds are ignored; a
    ``sure`` entry has none.
    """

    places: tuple[Atom, ...]
    value: Atom
    sure: bool

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The places and the value."""
        return *self.places, self.value

    def of(self, names: Sequence[Atom], *, sure: bool | None = None) -> Entry:
        """An entry like this one, whose atoms are the first of ``names``."""
        depth = len(self.places)
        return Entry(tuple(names[:depth]), names[depth], self.sure if sure is None else sure)


@dataclass(slots=True)
class Adjoint:
    """The adjoint of a name: the sum of an atom and of sparse entries."""

    dense: Atom | None = None
    entries: list[Entry] = field(default_factory=list)


class Written(NamedTuple):
    """An accumulator that sums an adjoint, and its last token."""

    acc: VName
    token: Atom


class View(NamedTuple):
    """An array that is a part of another, at places of its first dimensions."""

    array: VName
    places: tuple[Atom, ...]
    sure: bool


Found = dict[VName, Adjoint]
"""The adjoints of names."""


class Reverse(Walk):
    """Reverse mode: ``adj`` has the adjoints so far of the names of the current scope."""

    def __init__(self, emit: Emitter, rewriting: Rewriting, books: Books, *, is_inner: bool
                 ) -> None:
        super().__init__(emit, rewriting, books)
        self.is_inner = is_inner
        """True if what is made is derived once more, by an operator around."""
        self.varied: set[VName] = set()
        self.adj: Found = {}
        self.accumulators: dict[VName, tuple[Atom | None, ...]] = {}
        """The adjoints of the destinations of each accumulator."""
        self.inner: set[VName] | None = None
        """The names that the innermost map of the return sweep binds; None outside of maps."""
        self.first: int | None = None
        """The least tag of a name that the outermost map of the return sweep binds."""
        self.written: dict[VName, Written] = {}
        """The arrays whose adjoints are summed by accumulators in this place."""
        self.views: dict[VName, View] = {}
        self.rows: dict[VName, VName] = {}
        """The arrays whose elements parameters of maps inside of maps are."""
        self.looped: set[VName] = set()
        """The arrays that loops read whose number of iterations varies in a map."""
        self.counters: set[VName] = set()
        """The indices of loops of the return sweep."""

    def forward(self) -> Forward:
        """A walk of forward mode in this place."""
        return Forward(self.emit, self.rewriting, self.books)

    # Adjoints

    def varies(self, atom: Atom) -> bool:
        """True if an atom may need an adjoint."""
        return atom in self.varied

    def is_scalar(self, op: ir.Operator) -> bool:
        """True if an operator combines scalars, and does not depend on anything that varies."""
        return (all(isinstance(type_, Prim) for type_ in op.lam.ret)
                and self.varied.isdisjoint(free_vars(op.lam)))

    def add(self, atom: Atom, value: Atom | None) -> None:
        """Add to the adjoint of an atom."""
        if value is None or not isinstance(atom, VName) or atom not in self.varied:
            return
        adjoint = self.adj.setdefault(atom, Adjoint())
        adjoint.dense = value if adjoint.dense is None else self.emit.plus(adjoint.dense, value)

    def add_at(self, array: VName, entry: Entry) -> None:
        """Add to elements of the adjoint of an array."""
        if array not in self.varied:
            return
        if self.write(array, entry):
            return
        adjoint = self.adj.setdefault(array, Adjoint())
        if adjoint.dense is not None and not shape_of(self.emit.type(entry.places[0])):
            adjoint.dense = self.added(adjoint.dense, self.emit.types[array], entry)
        else:
            adjoint.entries.append(entry)

    def write(self, array: VName, entry: Entry) -> bool:
        """Write to the accumulator of an adjoint; False if there is none."""
        emit, places, sure = self.emit, entry.places, entry.sure
        while array not in self.written and array in self.views:
            view = self.views[array]
            array, places, sure = view.array, (*view.places, *places), sure and view.sure
        if array not in self.written:
            return False
        sizes = shape_of(emit.types[array])
        listed = next(filter(None, (shape_of(emit.type(a)) for a in places)), sizes[len(places):])
        if listed:
            self._write_each(array, Entry(places, entry.value, sure), listed[0])
            return True
        index = self._flat(places, sizes) if sure or len(places) == 1 else emit.choice(
            emit.inside(places, sizes), lambda: (self._flat(places, sizes),),
            lambda: (i64(-1),))[0]
        acc, token = self.written[array]
        node = ir.AccWrite(acc, token, index, (entry.value,))
        self.written[array] = Written(acc, emit.one(node, Prim.BOOL, "acc"))
        return True

    def _write_each(self, array: VName, entry: Entry, count: Atom) -> None:
        """Write entries in a list, or the elements of a part of an array, one after the other."""
        emit, (acc, token) = self.emit, self.written[array]
        index, param = emit.fresh("i", Prim.I64), emit.fresh("acc", Prim.BOOL)
        with emit.block() as stms, self.writing({array: Written(acc, param.name)}) as written:
            places = tuple(emit.index(emit.name(a), index.name) if shape_of(emit.type(a)) else a
                           for a in entry.places)
            if places == entry.places:
                places = (*places, index.name)
            value = emit.index(emit.name(entry.value), index.name)
            self.write(array, Entry(places, value, entry.sure))
        body = ir.Body(tuple(stms), (written[array].token,))
        loop = ir.Loop((ir.LoopParam(param, token),), ir.ForLoop(index.name, count), body)
        self.wrote(array, emit.one(loop, Prim.BOOL, "acc"))

    @contextmanager
    def writing(self, written: dict[VName, Written]) -> Iterator[dict[VName, Written]]:
        """Write to other accumulators, or after other tokens, meanwhile."""
        outer, self.written = self.written, written
        try:
            yield written
        finally:
            self.written = outer

    def wrote(self, name: VName, token: Atom) -> None:
        """Go on after a token."""
        self.written[name] = self.written[name]._replace(token=token)

    def _flat(self, places: Sequence[Atom], sizes: Sequence[Atom]) -> Atom:
        """The index of places in a flat array."""
        index = places[0]
        for place, size in zip(places[1:], sizes[1:], strict=False):
            index = self.emit.size_op("add", self.emit.size_op("mul", index, size), place)
        return index

    def loops_over(self, name: VName, count: Atom) -> None:
        """Note that a loop of ``count`` iterations reads an array at places."""
        if self.first is not None and isinstance(count, VName) and count.tag >= self.first:
            while name in self.views or name in self.rows:
                name = self.views[name].array if name in self.views else self.rows[name]
            self.looped.add(name)

    def is_outside(self, name: VName) -> bool:
        """True if a map stands around, which does not bind a name: its adjoint should be sparse."""
        return self.inner is not None and name not in self.inner

    def has(self, name: VName) -> bool:
        """True if the adjoint of a name is not zero."""
        return name in self.adj

    def take(self, name: VName) -> Atom | None:
        """The adjoint of a name, which is known to be complete; None if it is zero."""
        found = self.adj.pop(name, None)
        return None if found is None else self.dense(name, found)

    def dense(self, name: VName, adjoint: Adjoint) -> Atom:
        """An adjoint as an atom."""
        type_ = self.emit.types[name]
        total = adjoint.dense
        for entry in adjoint.entries:
            total = self.added(self.emit.zeros(type_) if total is None else total, type_, entry)
        adjoint.dense, adjoint.entries = total, []
        return self.emit.zeros(type_) if total is None else total

    def added(self, total: Atom, type_: Type, entry: Entry) -> Atom:
        """An adjoint with an entry added."""
        emit = self.emit
        array = emit.name(total)
        shape = shape_of(emit.type(entry.places[0]))
        if shape:
            return self._gathered(array, type_, entry, len(shape))

        def changed() -> tuple[Atom]:
            old = emit.index(array, *entry.places)
            return (emit.update(array, entry.places, emit.plus(old, entry.value)),)

        if entry.sure:
            return changed()[0]
        inside = emit.inside(entry.places, shape_of(type_))
        return emit.choice(inside, changed, lambda: (array,))[0]

    def keep_unwon(self, dest: VName, winners: VName, adjoint: VName) -> None:
        """d̄[c] += r̄[c] for each cell c whose winner is below 0: its old value is left."""
        emit = self.emit
        row = row_of(emit.types[adjoint])

        def kept(winner: VName, value: VName) -> tuple[VName, ...]:
            prim = elem_of(emit.types[winners])
            return emit.choice(emit.op("lt", prim, winner, Const(0, prim)), lambda: (value,),
                               lambda: (emit.zeros(row),))

        self.add(dest, emit.map([winners, adjoint], kept, "adjs")[0])

    def add_won(self, values: VName, winners: VName, adjoint: VName, indexed: Sequence[VName]
                ) -> None:
        """v̄s[k] += r̄[c] for each k that has won its cell c, which may be out of bounds.

        ``indexed`` are the indices k, of the type of winners, and arrays with the cell of each.
        """
        emit = self.emit
        row, sizes = row_of(emit.types[values]), shape_of(emit.types[winners])

        def value(k: VName, *at: VName) -> tuple[VName, ...]:
            def inside() -> tuple[VName, ...]:
                won = emit.op("eq", elem_of(emit.types[winners]), emit.index(winners, *at), k)
                return emit.choice(won, lambda: (emit.index(adjoint, *at),),
                                   lambda: (emit.zeros(row),))
            return emit.choice(emit.inside(at, sizes), inside, lambda: (emit.zeros(row),))

        self.add(values, emit.map(indexed, value, "adjs")[0])

    def _gathered(self, array: VName, type_: Type, entry: Entry, rank: int) -> Atom:
        """An adjoint with an array of entries added: a histogram."""
        emit, depth = self.emit, len(entry.places)
        flat = [emit.flattened(emit.name(place), rank) for place in entry.places]
        values = emit.flattened(emit.name(entry.value), rank)
        sizes = shape_of(type_)

        bins = emit.map(flat, lambda *places: (self._flat(places, sizes),), "bins")[0] if (
            depth > 1) else flat[0]
        dest = emit.flattened(array, depth)
        row = row_of(emit.types[dest])
        op = ir.HistOp(shape_of(emit.types[dest])[0], (dest,), emit.addition(row))
        node = ir.Hist(shape_of(emit.types[bins])[0], (op,), emit.identity([Prim.I64, row]),
                       (bins, values))
        return emit.reshaped(emit.one(node, emit.types[dest], "adj"), sizes)

    # Bodies

    def statements(self, stms: Iterable[ir.Stm]) -> Back:
        """Append the forward sweep of statements; the result appends the return sweep."""
        backs: list[tuple[ir.Stm, Back]] = []
        for stm in stms:
            self.emit.types.update((p.name, p.type) for p in stm.pat)
            if not any(p.name in self.varied for p in stm.pat):
                self.emit.add(stm)
                continue
            back = self.fired(self.books.reverse, stm)
            assert callable(back)
            backs.append((stm, back))

        def returned() -> None:
            for stm, back in reversed(backs):
                if isinstance(stm.exp, ir.AccWrite) or any(self.has(p.name) for p in stm.pat):
                    outer, self.emit.loc = self.emit.loc, stm.loc
                    back()
                    self.emit.loc = outer

        return returned

    def instead(self, stms: list[ir.Stm]) -> Back:
        """Append other statements for the same results."""
        spread(ir.Body(tuple(stms), ()), self.varied)
        return self.statements(stms)

    def copied(self, lam: ir.Lambda) -> ir.Lambda:
        """A lambda that is run again: fresh names, and no assertions."""
        def bound(old: VName, new: VName) -> None:
            if old in self.varied:
                self.varied.add(new)

        return self.emit.copied(lam, bound, asserts=False)

    def again(self, body: ir.Body) -> ir.Body:
        """A body that is run again."""
        return self.copied(ir.Lambda((), body, ())).body

    def sweep(self, body: ir.Body, seeds: Iterable[Atom | None], start: Found | None = None
              ) -> Found:
        """Both sweeps of a body, and the adjoints of the names from outside.

        ``seeds`` are the adjoints of its results, ``start`` adjoints of names from outside.
        """
        outer, self.adj = self.adj, {} if start is None else start
        back = self.statements(body.stms)
        for atom, seed in zip(body.result, seeds, strict=True):
            self.add(atom, seed)
        back()
        found, self.adj = self.adj, outer
        local = set(binders(body))
        return {name: adjoint for name, adjoint in found.items() if name not in local}

    def applied(self, lam: ir.Lambda, args: Sequence[Atom], seeds: Sequence[Atom | None],
                active: Sequence[bool]) -> list[Atom]:
        """Both sweeps of a lambda at arguments, and the adjoints of its active parameters."""
        copy = self.copied(lam)
        names = [p.name for p in pick(copy.params, active)]
        self.varied.difference_update(binders(copy))
        self.varied.update(names)
        spread(copy.body, self.varied)
        self.emit.let(copy.params, args)
        with self.writing({}):
            found = self.sweep(copy.body, seeds)
        return [self.dense(name, found.get(name, Adjoint())) for name in names]

    def add_each(self, names: Iterable[VName], values: Iterable[Atom]) -> None:
        """Add to the adjoints of those names that vary, which have a value each."""
        for name, value in zip(filter(self.varies, names), values, strict=True):
            self.add(name, value)

    def are_visible(self, adjoint: Adjoint, local: set[VName]) -> bool:
        """True if an adjoint has only entries, of sizes known where ``local`` names are not."""
        return adjoint.dense is None and not any(
            size in local for entry in adjoint.entries for a in (entry.places[0], entry.value)
            for size in shape_of(self.emit.type(a)))


def blank(emit: Emitter, atom: Atom, *, place: bool) -> Atom:
    """An atom for an entry that there is not: a place out of bounds, or a zero."""
    type_ = emit.type(atom)
    value = i64(-1) if place else zero(type_ if isinstance(type_, Prim) else type_.elem)
    shape = shape_of(type_)
    return emit.one(ir.Replicate(shape, value), array_of(shape, value.prim)) if shape else value


# Rules


def _is_any(exp: ir.Exp) -> bool:
    return True


def forward(*heads: type, provided: Callable[[Any], bool] = _is_any
            ) -> Callable[[Callable[..., None]], Rule]:
    """Make a rule of forward mode from a function that appends a statement and its tangents.

    It gets the walk, the statement, and the expression, which is as ``provided``.
    """
    def make(function: Callable[..., None]) -> Rule:
        @wraps(function)
        def apply(walk: Forward, stm: ir.Stm, exp: ir.Exp) -> bool:
            applies = provided(exp)
            if applies:
                function(walk, stm, exp)
            return applies

        return rule(*heads)(apply)

    return make


def transposed(*heads: type, provided: Callable[[Any], bool] = _is_any
               ) -> Callable[[Callable[..., None]], Rule]:
    """Make a rule of reverse mode that keeps its statement, from a function for the return sweep.

    It gets the walk, the statement, the expression, which is as ``provided``, and the adjoint of
    each result.  An adjoint is None if it is zero, but the only one is not.
    """
    def make(function: Callable[..., None]) -> Rule:
        @wraps(function)
        def apply(walk: Reverse, stm: ir.Stm, exp: ir.Exp) -> Back | None:
            if not provided(exp):
                return None
            walk.emit.add(stm)
            return lambda: function(walk, stm, exp, *[walk.take(p.name) for p in stm.pat])

        return rule(*heads)(apply)

    return make
