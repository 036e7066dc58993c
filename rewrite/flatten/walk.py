"""Distribution: walking a body under a nest, statement by statement (rules G0 and G6).

Each parallel statement becomes host statements.  The sequential statements between them are
collected; they become one segmap when something outside needs their results.  Statements cheap
enough to be computed again (views, index arithmetic) are not run at all: they become definitions of
the nest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, TypeGuard

from runelift.ir import syntax as ir
from runelift.ir.analysis.lookahead import with_uses_after
from runelift.ir.base.numerals import counted
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Const, Type, array_of, as_name, elem_of, i64, shape_of
from runelift.rewrite.engine.checks import checks_of
from runelift.rewrite.engine.pick import let, names_in
from runelift.rewrite.engine.scalar_code import may_fail
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.code import Code, Definitions
from runelift.rewrite.flatten.lifted import joined_calls
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import is_cheap

if TYPE_CHECKING:
    from runelift.rewrite.flatten.flattener import Flattener

SERVANTS = frozenset({"G5", "sequential"})
"""Rules that run nothing in parallel themselves."""

FEW_ELEMENTS = 4
"""The most elements of an array that is a choice among scalars."""

CHEAP_CHAIN = 16
"""The most arithmetic operations that a definition may run, with the definitions it needs.

A separate kernel would cost a launch, which is thousands of operations of one work-item.
"""


class Walk(Code):
    """The state of a walk over one body: Σ, what was emitted, what waits for its kernel.

    Statements are emitted outside of Σ, with the place of the present statement.
    """

    def __init__(self, flattener: Flattener, nest: Nest) -> None:
        super().__init__(flattener)
        self.nest = nest
        self.pending: list[ir.Stm] = []
        self.parallel = 0
        self.partners: Mapping[VName, tuple[ir.Stm, ...]] = {}
        """The calls that are made together with one, by the first result of that one."""
        self.delayed: Set[VName] = frozenset()
        """Names whose elements alone are read, so that a concatenation may stay a definition."""
        self._later: Set[VName] = frozenset()
        self._needed: set[VName] = set()
        self._arithmetic: dict[VName, frozenset[VName]] = {}

    @property
    def level(self) -> ir.Level:
        """The level of the operations that the walk emits at this place."""
        return self.flattener.level

    def body(self, body: ir.Body) -> tuple[Atom, ...]:
        """Walk ``body``; the results are expanded by Σ."""
        return distribution(self, body)

    def statements(self, body: ir.Body) -> None:
        """Walk the statements of ``body``."""
        body, self.partners = joined_calls(body, self.flattener.lifted)
        for stm, after in with_uses_after(body):
            self.look_ahead(after)
            self.statement(stm)

    def look_ahead(self, later: Set[VName]) -> None:
        """Say which names are used after the next statement."""
        self._later, self._needed = later, set()

    def need(self, names: Iterable[VName]) -> None:
        """Say that ``names`` are used after the present statement."""
        self._needed.update(names)

    def is_used_later(self, name: VName) -> bool:
        """True if a name is used after the present statement."""
        return name in self._later or name in self._needed

    def statement(self, stm: ir.Stm) -> None:
        """Flatten one statement."""
        self.loc = stm.loc or self.loc
        if self.nest.space and self._define(stm):
            return
        if (rule := self.flattener.apply_rules(self, stm)) is not None:
            self.parallel += rule not in SERVANTS
        elif not self.nest.space:
            self.emit(stm)
        else:
            self.pending.append(stm)

    # Definitions

    def _define(self, stm: ir.Stm) -> bool:
        """Make ``stm`` a definition of Σ if it is cheap enough to run in every kernel."""
        if len(stm.pat) != 1:
            return False
        free, name, exp = free_vars(stm), stm.pat[0].name, stm.exp
        held = {bound for pending in self.pending for bound in _bound(pending)} & free
        if held and not self._flush_for(stm, held):
            return False
        if isinstance(exp, ir.Rearrange | ir.Reshape) and self.flattener.apply_rules(self, stm):
            return True
        short = self._is_short(exp)
        if self._is_picked(exp):
            exp = self._pick(exp)
        elif not (is_cheap(exp) or short) or (isinstance(exp, ir.PrimOp) and exp.may_trap
                                              and self.waits_for_checks):
            return False  # what a check before it refuses must not fail otherwise
        chain = frozenset[VName]().union(*(self._arithmetic.get(v, ()) for v in free))
        if isinstance(exp, ir.PrimOp):
            chain |= {name}
        elif isinstance(exp, ir.Copy):
            exp = ir.AtomExp(exp.array)
        if len(chain) > CHEAP_CHAIN:
            return False
        if not short and all(map(self.nest.invariant, free)) and not _stays_inside(exp):
            self.emit(stm)
            return True
        self._arithmetic[name] = chain
        self.nest = self.nest.define([ir.Stm(stm.pat, exp, stm.attrs, stm.loc)])
        return True

    def _is_short(self, exp: ir.Exp) -> bool:
        """True for a few scalars that a lifted function need not store as an array."""
        return bool(self.flattener.lifted) and isinstance(exp, ir.ArrayLit) and (
            isinstance(exp.row, Prim) and len(exp.elems) <= FEW_ELEMENTS)

    def _is_picked(self, exp: ir.Exp) -> bool:
        """True for an element of a few scalars that Σ defines."""
        match exp:
            case ir.Index(array, (index,), checked=False) if not isinstance(index, ir.SliceDim):
                return array in self.nest.defs and self._is_short(self.nest.defs[array].exp)
        return False

    def _pick(self, exp: ir.Exp) -> ir.Exp:
        """[a, b, ...][i] ⇒ if i = 0 then a else [b, ...][i - 1]; conditions become definitions."""
        assert isinstance(exp, ir.Index)
        literal, (index,) = self.nest.defs[exp.array].exp, exp.dims
        assert isinstance(literal, ir.ArrayLit)
        assert not isinstance(index, ir.SliceDim)
        found: ir.Exp = ir.AtomExp(literal.elems[-1])
        for place, elem in reversed(list(enumerate(literal.elems[:-1]))):
            here = self.definitions.holds("eq", index, i64(place), base="here")
            rest = self.fresh("x", elem_of(literal.row))
            found = ir.If(here, ir.Body((), (elem,)), ir.Body(
                (ir.Stm((rest,), found),), (rest.name,)), (rest.type,))
        return found

    def _flush_for(self, stm: ir.Stm, held: set[VName]) -> bool:
        """Run the pending statements if ``stm`` is a view whose size they compute.

        Writes to the view, and reads of it, then need not wait with them.
        """
        (param,) = stm.pat
        if self.level is not ir.Level.GRID or not isinstance(stm.exp, ir.VIEWS) or isinstance(
                param.type, Prim) or self.regular(param.type):
            return False
        if not all(self.regular(p.type) for pending in self.pending for p in pending.pat
                   if p.name in held or self.is_used_later(p.name)):
            return False
        self.need(held)
        self.flush()
        return True

    # Emission

    @property
    def definitions(self) -> Definitions:
        """The definitions of Σ, as code that grows."""
        return Definitions(self)

    def kernel(self, nest: Nest, stms: tuple[ir.Stm, ...], result: tuple[Atom, ...]
               ) -> tuple[ir.Space, ir.Body]:
        """The space of a nest, and a body over it with all it needs; their names are fresh."""
        return self.flattener.fresh_kernel(nest.space, nest.kernel_body(stms, result))

    def product(self, a: Atom, b: Atom) -> VName:
        """The product of two sizes, which the host computes."""
        return self.computed("mul", a, b, base="size")

    def part_of(self, array: VName, begin: Atom, type_: Type) -> VName:
        """The part of an array that begins at a place and has a type."""
        size, *inner = shape_of(type_)
        return self.emitted(array.base, type_, ir.Index(array, (
            ir.SliceDim(begin, size, i64(1)), *map(whole, inner))))

    def joined(self, arrays: Sequence[VName], size: Atom) -> VName:
        """Arrays one after the other, of ``size`` elements together."""
        if len(arrays) == 1:
            return arrays[0]
        type_ = self.flattener.types[arrays[0]]
        return self.emitted(arrays[0].base,
                            array_of((size, *shape_of(type_)[1:]), elem_of(type_)),
                            ir.Concat(0, tuple(arrays), size))

    def emit_body(self, pat: Sequence[ir.Param], body: ir.Body) -> None:
        """Add the statements of a body, and ``pat`` for its results."""
        self.emit(*body.stms, *let(pat, body.result))

    def expanded_pat(self, pat: Sequence[ir.Param]) -> tuple[ir.Param, ...]:
        """Fresh names for the arrays that hold ``pat`` at every point of Σ."""
        if not self.nest.space:
            return tuple(pat)
        fresh, widths = self.flattener.names.fresh, self.nest.widths
        return tuple(ir.Param(fresh(p.name), array_of(widths, p.type)) for p in pat)

    def bind(self, pat: Sequence[ir.Param], host: Sequence[ir.Param]) -> None:
        """Emit ``p := p'[i...]`` for the names of ``pat`` and their expanded arrays."""
        if self.nest.space:
            self.nest = self.nest.define(
                self.nest.point(p, h.name, self.loc) for p, h in zip(pat, host, strict=True))

    def bind_flat(self, pat: Sequence[ir.Param], flat: Sequence[ir.Param]) -> None:
        """Bind names to their parts of arrays over the numbered points of Σ."""
        if len(self.nest.space) > 1:
            host = self.expanded_pat(pat)
            for param, array in zip(host, flat, strict=True):
                self.emit(ir.Stm((param,), ir.Reshape(shape_of(param.type), array.name)))
            flat = host
        self.bind(pat, flat)

    def flush(self, extra: Sequence[VName] = ()) -> tuple[ir.Param, ...]:
        """Run the pending statements; ``extra`` names are stored besides names used later.

        Returns the expanded arrays of ``extra``.
        """
        stored = [p for stm in self.pending for p in stm.pat
                  if self.is_used_later(p.name) and p.name not in extra]
        pat = [*stored, *(ir.Param(name, self.flattener.types[name]) for name in extra)]
        if not pat and not any(_must_run(stm) for stm in self.pending):
            return ()
        return sequential_code(self, pat)[len(stored):]

    def segmap(self, space: ir.Space, body: ir.Body, ret: tuple[Type, ...]) -> ir.SegMap:
        """A segmap at this level whose names are its own."""
        space, body = self.flattener.fresh_kernel(space, body)
        return ir.SegMap(self.level, space, body, ret)

    def check_definitions(self, stm: ir.Stm) -> None:
        """Have the definitions that ``stm`` needs fail at points of Σ where nothing reads them.

        These are points whose segments are empty.
        """
        flattener = self.flattener
        for definition in self.nest.kernel_body((stm,), ()).stms[:-1]:
            (param,) = definition.pat
            if param.name in flattener.checked or not may_fail(definition.exp):
                continue
            flattener.checked.add(param.name)
            array = definition.exp.array if isinstance(definition.exp, ir.Index) else None
            shape = () if array is None else shape_of(flattener.types[array])
            for check in checks_of(flattener.names, definition, shape):
                flattener.learn_params(check.pat)
                self.pending.append(check)

    def prepare(self, stm: ir.Stm) -> str | None:
        """Make what ``stm`` uses available outside of Σ; the reason if that is impossible."""
        return self.make_known(free_vars(stm)) if self.pending else None

    def make_known(self, free: Set[VName], *, checks: bool = False) -> str | None:
        """Make names available outside of Σ; the reason if that is impossible.

        With ``checks``, all that waits runs if a check is among it.
        """
        bound = {name for held in self.pending for name in _bound(held)}
        if not bound & free and not (checks and self.waits_for_checks):
            return None
        irregular = [p for held in self.pending for p in held.pat
                     if (p.name in free or self.is_used_later(p.name))
                     and not self.regular(p.type)]
        if irregular:
            return f"'{irregular[0].name.base}' has another shape at each point of the nest"
        self.need(bound & free)
        self.flush()
        return None

    def make_arrays_known(self, arrays: Iterable[Atom]) -> str | None:
        """Make arrays and their sizes available outside of Σ; the reason if that is impossible."""
        types = self.flattener.types
        return self.make_known({*names_in([atom for array in map(as_name, arrays)
                                           for atom in (array, *shape_of(types[array]))])})

    @property
    def waits_for_checks(self) -> bool:
        """True if a check is among the pending statements."""
        return any(map(_must_run, self.pending))

    def regular(self, type_: Type) -> bool:
        """True if the sizes of ``type_`` are known outside of Σ."""
        return all(self.invariant(size) for size in shape_of(type_))

    def invariant(self, atom: Atom) -> bool:
        """True if ``atom`` is known outside of Σ."""
        held = {name for stm in self.pending for name in _bound(stm)}
        return self.nest.invariant(atom) and atom not in held

    def differs(self, atom: Atom) -> TypeGuard[VName]:
        """True if ``atom`` is another one at each point of Σ."""
        return not self.invariant(atom)

    # Arrays expanded by Σ

    def expand(self, atom: Atom, type_: Type) -> Atom:
        """``atom`` as an array over Σ: G0 where it is a nest parameter or invariant."""
        if not self.nest.space:
            return atom
        if isinstance(atom, Const) or self.invariant(atom):
            copies = self.flattener.fresh("copies", array_of(self.nest.widths, type_))
            self.emit(ir.Stm((copies,), ir.Replicate(self.nest.widths, atom)))
            return copies.name
        if any(atom in _bound(stm) for stm in self.pending):
            return self.flush([atom])[0].name
        if (array := self.nest.expanded(atom)) is not None:
            return array
        return self._materialise(atom, type_)

    def points_of(self, nest: Nest | None = None) -> Atom:
        """The number of points of Σ, or of ``nest``, which the host computes."""
        count, *rest = (nest or self.nest).widths
        for width in rest:
            count = self.computed("mul", count, width, base="points")
        return count

    def expand_flat(self, atom: Atom, type_: Type) -> VName:
        """``atom`` as an array over the numbered points of Σ."""
        array = as_name(self.expand(atom, type_))
        if len(self.nest.space) == 1:
            return array
        flat = array_of((self.points_of(),), type_)
        return self.emitted(array, flat, ir.Reshape(shape_of(flat), array))

    def _materialise(self, name: VName, type_: Type) -> VName:
        """The elements of a nest value, copied into an array over Σ."""
        dims = tuple(ir.SegDim(self.flattener.names.fresh("i"), size) for size in shape_of(type_))
        element = self.flattener.fresh(name, elem_of(type_))
        place = tuple(dim.index for dim in dims)
        stms = (ir.Stm((element,), ir.Index(name, place), loc=self.loc),) if dims else ()
        body = self.nest.kernel_body(stms, (element.name if dims else name,))
        host = self.flattener.fresh(name, array_of(self.nest.widths, type_))
        self.emit(ir.Stm((host,), self.segmap((*self.nest.space, *dims), body, (element.type,))))
        return host.name

    def results(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """The results of the body, expanded by Σ; pending statements run in one kernel."""
        if not self.nest.space:
            return atoms
        self.look_ahead(frozenset())
        scalars = [a for a in dict.fromkeys(atoms) if isinstance(a, VName) and self._in_kernel(a)]
        stored: dict[VName, VName] = {}
        if scalars or self.pending:
            host = self.flush(scalars)
            stored = {name: h.name for name, h in zip(scalars, host, strict=True)}
        types = self.flattener.types
        return tuple(
            stored[a] if isinstance(a, VName) and a in stored
            else self.expand(a, types[a] if isinstance(a, VName) else a.prim)
            for a in atoms)

    def _in_kernel(self, name: VName) -> bool:
        """True if a result is made by the last kernel of the walk."""
        if any(name in _bound(stm) for stm in self.pending):
            return True
        return (isinstance(self.flattener.types[name], Prim) and not self.invariant(name)
                and self.nest.expanded(name) is None)


def distribution(walk: Walk, body: ir.Body) -> tuple[Atom, ...]:
    """Σ ⊢ let x = e₁ in e₂ ⇒ s₁; s₂      Σ ⊢ e₁ ⇒ s₁ with x' for x at every point of Σ,
                                       Σ, x := x'[i...] ⊢ e₂ ⇒ s₂

    Statements without parallelism are held back and run together, by G0, when something outside
    of their kernel needs what they compute.
    """
    walk.statements(body)
    results = walk.results(body.result)
    if walk.nest.space and len(walk.out) > 1:
        walk.flattener.derivation.happened(
            "G6", counted(len(body.stms), "statement"),
            f"distributed into {counted(len(walk.out), 'statement')}",
            before=body.stms, after=walk.out, around=show_nest(walk.nest))
    return results


def sequential_code(walk: Walk, pat: Sequence[ir.Param]) -> tuple[ir.Param, ...]:
    """Σ ⊢ e ⇒ let x' = segmap Σ e      e has no parallelism that another rule uses

    The result are the arrays x' for ``pat``, names that the pending statements bind.
    """
    host = walk.expanded_pat(pat)
    body = walk.nest.kernel_body(tuple(walk.pending), tuple(p.name for p in pat))
    loc = next((stm.loc for stm in walk.pending if stm.loc), None)
    kernel = ir.Stm(host, walk.segmap(walk.nest.space, body, tuple(p.type for p in pat)), loc=loc)
    walk.flattener.derivation.happened(
        "G0", ", ".join(p.name.base for p in pat) or "checks",
        counted(len(walk.pending), "sequential statement") if walk.pending else
        "its definition is stored", loc, before=walk.pending, after=(kernel,),
        around=show_nest(walk.nest))
    walk.emit(kernel)
    walk.pending = []
    walk.bind(pat, host)
    return host


def _bound(stm: ir.Stm) -> list[VName]:
    return [p.name for p in stm.pat]


def _must_run(stm: ir.Stm) -> bool:
    """True if ``stm`` may fail and so runs even when nothing uses its results."""
    return isinstance(stm.exp, ir.Assert)


def _stays_inside(exp: ir.Exp) -> bool:
    """True if ``exp`` should not run once, outside of Σ, although it could.

    It might fail where Σ has no points at all, or it would read a scalar back from the device.
    """
    match exp:
        case ir.Index(dims=dims, checked=checked):
            return checked or not any(isinstance(dim, ir.SliceDim) for dim in dims)
        case ir.PrimOp(op=op, prim=prim):
            return OPS[op].traps and prim.is_int
    return False
