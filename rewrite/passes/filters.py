"""Filters: reductions of chosen elements, and last elements of scans, need no array in between.

A filter is flags, their running sums, and a scatter to the places that the sums tell.  A reduction
of its result goes through all elements instead, and takes the neutral element for each element that
is left out.  The number of chosen elements is then the sum of the flags.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars, needed_for, rename_lambda
from runelift.ir.types import Atom, i64
from runelift.rewrite.engine.outward import OutwardWalk, each_body
from runelift.rewrite.engine.pick import let, pick, users
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.engine.scalar_code import is_scalar_code
from runelift.rewrite.passes.fuse import fuse
from runelift.rewrite.passes.simplify import simplify
from runelift.rewrite.rules.soac import operands


@dataclass(frozen=True, slots=True)
class Chosen:
    """A filter's scatter, and the atom of its lambda that is not 0 for elements that stay."""

    scatter: ir.Scatter
    flag: Atom
    values: Mapping[VName, Atom]
    """The atom of the lambda that each result of the scatter is made of."""


@rule(ir.Redomap)
def reduce_filtered(stm: ir.Stm, chosen: Chosen, names: Names) -> tuple[ir.Stm, ...]:
    """redomap ⊕ e f (filter p xs) ⇒ redomap ⊕ e (λx → if p x then f x else e) xs

    Provided: nothing else needs the chosen elements, and f is scalar code.
    """
    soac = ir.node_of(stm, ir.Redomap)
    scatter = chosen.scatter
    given = [chosen.values[array] for array in soac.arrays]
    neutral = tuple(a for op in soac.ops for a in op.neutral)
    left_out = ir.Param(names.fresh("left_out"), Prim.BOOL)
    some = ir.Body((*let(soac.lam.params, given), *soac.lam.body.stms), soac.lam.body.result)
    results = tuple(ir.Param(names.fresh(p.name), p.type) for p in stm.pat)
    body = ir.Body((*needed_for(scatter.lam.body.stms, (*given, chosen.flag)),
                    ir.Stm((left_out,), ir.PrimOp("eq", Prim.I64, (chosen.flag, i64(0)))),
                    ir.Stm(results, ir.If(left_out.name, ir.Body((), neutral), some, soac.lam.ret),
                           loc=stm.loc)), tuple(p.name for p in results))
    read = [p.name in free_vars(body) for p in scatter.lam.params]
    lam = rename_lambda(ir.Lambda(pick(scatter.lam.params, read), body, soac.lam.ret), names)
    arrays = pick(scatter.arrays, read)
    return (replace(stm, exp=ir.Redomap(scatter.width, soac.ops, lam, arrays)),)


@rule(ir.If)
def last_of_scan(stm: ir.Stm, scan: ir.Stm) -> tuple[ir.Stm, ...]:
    """if n == 0 then e else (scan ⊕ e xs)[n - 1] ⇒ reduce ⊕ e xs

    Provided: nothing else needs the scan.
    """
    soac = ir.node_of(scan, ir.Scanomap)
    return (ir.Stm((*stm.pat, *scan.pat[1:]),
                   ir.Redomap(soac.width, soac.ops, soac.lam, soac.arrays), scan.attrs, scan.loc),)


FILTERS = (reduce_filtered, last_of_scan)
"""The rules of this pass."""


def without_filters(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with reductions in place of filters and scans where that is enough.

    These are then fused with what makes all elements.
    """
    before = rewriting.fired.total()
    program = each_body(program, _Walk(rewriting).body)
    if rewriting.fired.total() > before and "fuse" not in rewriting.disabled:
        program = fuse(simplify(program, rewriting), rewriting)
    return program


class _Walk(OutwardWalk):
    """The pass on a program."""

    def rewritten(self, stms: list[ir.Stm], result: tuple[Atom, ...]) -> list[ir.Stm]:
        """The statements with fewer filters and scans."""
        kinds = {type(stm.exp) for stm in stms}
        if ir.Scatter in kinds and ir.Redomap in kinds:
            stms = self._filtered(stms, result)
        return self._scanned(stms, result) if ir.If in kinds else stms

    # Reductions of filters

    def _filtered(self, stms: list[ir.Stm], result: tuple[Atom, ...]) -> list[ir.Stm]:
        """The statements with each reduction of a filter's result replaced."""
        uses = users(stms, result)
        places = {p.name: k for k, stm in enumerate(stms) for p in stm.pat}
        gone: set[int] = set()
        for place, stm in enumerate(stms):
            redomap = stm.exp
            if not isinstance(redomap, ir.Redomap) or len(stm.pat) != operands(redomap) or (
                    not redomap.arrays or not self.rewriting.permits(reduce_filtered)):
                continue
            maker = places.get(redomap.arrays[0])
            if maker is None or any(consumed_by(each) for each in stms[maker + 1:place]):
                continue
            made = stms[maker]
            chosen = self._chosen(made, {*redomap.arrays})
            if (chosen is None or not is_scalar_code(redomap.lam.body.stms)
                    or not all(isinstance(p.type, Prim) for p in redomap.lam.params)
                    or any(uses[array] != 1 for array in redomap.arrays)
                    or free_vars(redomap.lam) & {*redomap.arrays}):
                continue
            (stms[place],) = reduce_filtered.apply(stm, chosen, self.rewriting.names)
            self.rewriting.record(reduce_filtered, (made, stm), (stms[place],))
            uses.subtract({*redomap.arrays})
            if not any(uses[p.name] for p in made.pat):
                gone.add(maker)
        return [stm for place, stm in enumerate(stms) if place not in gone]

    def _chosen(self, stm: ir.Stm, arrays: Set[VName]) -> Chosen | None:
        """The filter that makes ``arrays``, if a statement is a filter's scatter; else None."""
        scatter = stm.exp
        if not isinstance(scatter, ir.Scatter) or settings(stm):
            return None
        inside = {p.name: each.exp for each in scatter.lam.body.stms for p in each.pat}
        if not is_scalar_code(scatter.lam.body.stms):
            return None
        results, values, place = iter(scatter.lam.body.result), dict[VName, Atom](), None
        for param, dest in zip(stm.pat, scatter.dests, strict=True):
            blank = self.defs.get(dest.array)
            if dest.rank != 1 or blank is None or SCRATCH not in blank.attrs:
                return None
            here, value = next(results), next(results)
            if param.name in arrays:
                if place not in (None, here):
                    return None
                place, values[param.name] = here, value
        if values.keys() != arrays:
            return None
        match inside.get(place) if isinstance(place, VName) else None:
            case ir.PrimOp("sub", Prim.I64, (VName() as scaled, one)) if one == i64(1):
                match inside.get(scaled):
                    case ir.PrimOp("mul", Prim.I64, (flag, VName() as total)):
                        positions = {p.name: a for p, a in zip(
                            scatter.lam.params, scatter.arrays, strict=True)}
                        if total in positions and self._is_count(positions[total]):
                            return Chosen(scatter, flag, values)
        return None

    def _is_count(self, array: Atom) -> bool:
        """True if an array is running sums of i64s."""
        made = self.defs.get(array) if isinstance(array, VName) else None
        match made:
            case ir.Stm(pat, ir.Scanomap(_, ops)) if all(len(op.neutral) == 1 for op in ops):
                return any(p.name == array and op.primitive == ("add", Prim.I64)
                           for p, op in zip(pat, ops, strict=False))
        return False

    # Last elements of scans

    def _scanned(self, stms: list[ir.Stm], result: tuple[Atom, ...]) -> list[ir.Stm]:
        """The statements with each scan of which only the last element is needed replaced."""
        place = 0
        while place < len(stms):
            scan = self._scan_of(stms, place, result)
            if scan is not None and self.rewriting.permits(last_of_scan):
                stm = stms[place]
                new = last_of_scan.apply(stm, scan)
                self.rewriting.record(last_of_scan, (scan, stm), new)
                self.defs |= {p.name: each for each in new for p in each.pat}
                at = next((k for k, each in enumerate(stms) if each is scan), None)
                if at is None:
                    stms = [*stms[:place], *new, *stms[place + 1:]]
                else:
                    stms = [*stms[:at], *new, *stms[at + 1:place], *stms[place + 1:]]
            else:
                place += 1
        return stms

    def _scan_of(self, stms: Sequence[ir.Stm], place: int, result: tuple[Atom, ...]
                 ) -> ir.Stm | None:
        """The scan of which a statement takes the last element, or the neutral one."""
        stm = stms[place]
        match stm:
            case ir.Stm((_,), ir.If(VName() as cond, ir.Body((), (neutral,)),
                                    ir.Body(inner, (VName() as last,))), ()):
                pass
            case _:
                return None
        found = {p.name: each for each in inner for p in each.pat}
        match found.get(last):
            case ir.Stm(_, ir.Index(array, (VName() as index,))):
                scan = found.get(array, self.defs.get(array))
                decreased = found.get(index, self.defs.get(index))
            case _:
                return None
        if scan is None or decreased is None or not all(
                each in (scan, decreased, found[last]) for each in inner):
            return None
        match scan:
            case ir.Stm(pat, ir.Scanomap(width, (op,))) if (
                    pat[0].name == array and op.neutral == (neutral,)
                    and decreased.exp == ir.PrimOp("sub", Prim.I64, (width, i64(1)))
                    and self._says_empty(cond, width)):
                if any(each is scan for each in inner):
                    return scan if len(pat) == 1 else None
                if any(each is scan for each in stms) and users(stms, result)[array] == 1:
                    return scan
        return None

    def _says_empty(self, cond: VName, width: Atom) -> bool:
        """True if a condition says that a width is 0."""
        made = self.defs.get(cond)
        return made is not None and made.exp == ir.PrimOp("eq", Prim.I64, (width, i64(0)))
