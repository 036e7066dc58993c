"""Second-order array combinators inside of a work-item: one element after the other."""

from __future__ import annotations

from collections.abc import Sequence

from runelift.codegen.kernel.kernel_builder import CodeBuilder, Value, Writer
from runelift.codegen.plan.views import View, within
from runelift.ir import imp
from runelift.ir.analysis.placement import first_made
from runelift.ir.analysis.products import Reducing
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Accumulate,
    Body,
    Hist,
    Index,
    Iota,
    Lambda,
    Loop,
    Map,
    Operator,
    Param,
    PrimOp,
    Rearrange,
    Redomap,
    Replicate,
    Reshape,
    Scanomap,
    Scatter,
    Stm,
)
from runelift.ir.traverse import free_vars
from runelift.ir.types import FALSE, Const

MOST_REPEATED = 4
"""The most statements that a scan repeats for each column of its vectors."""
VIEWS = (Index, Iota, PrimOp, Rearrange, Replicate, Reshape)


class SecondOrder(CodeBuilder):
    """Lowers maps, reductions, scans, scatters and histograms to loops."""

    __slots__ = ()

    def apply(self, lam: Lambda, args: Sequence[Value]) -> list[Value]:
        """The results of a lambda on the given arguments."""
        self.bind_all(lam.params, args)
        return self.body(lam.body)

    def element(self, array: VName, index: Exp) -> Value:
        """The element or row of an array."""
        view = self.array(array)
        return view.read([index]) if len(view.shape) == 1 else view.row(index)

    def elements(self, lam: Lambda, arrays: tuple[VName, ...], index: Exp) -> list[Value]:
        """The arguments of a mapped lambda at ``index``."""
        values: list[Value] = []
        for param, array in zip(lam.params, arrays, strict=True):
            value = self.element(array, index)
            if not isinstance(value, View):
                assert isinstance(param.type, Prim)
                value = self.declare(param.name, param.type, value)
            values.append(value)
        return values

    def map_step(self, lam: Lambda, arrays: tuple[VName, ...], index: Exp,
                 outs: Sequence[View]) -> None:
        """Emit the computation of element ``index`` of a map, written to ``outs``."""
        self.owned.append(set())
        values = self.apply_into(lam, self.elements(lam, arrays, index),
                                 [out.row(index) if len(out.shape) > 1 else None for out in outs])
        for out, value in zip(outs, values, strict=True):
            if value is not None:
                self.store(out, [index], value)
        self.owned.pop()

    def apply_into(self, lam: Lambda, args: Sequence[Value],
                   rows: Sequence[View | None]) -> list[Value | None]:
        """Apply a lambda whose array results may be built in ``rows``; None where one was."""
        self.bind_all(lam.params, args)
        return self.body_into(lam.body, rows)

    def body_into(self, body: Body, rows: Sequence[View | None]) -> list[Value | None]:
        """Emit a body; array results that it allocates are built in ``rows``, and are None.

        So are arrays whose memory such results take over.  An array that a loop carries stays in
        registers if it is small, or if the kernel is built for its size.  Only its last value is
        written then.
        """
        bound = {p.name for stm in body.stms for p in stm.pat
                 if not (isinstance(stm.exp, Loop) and (self.fixing or self.is_private(p.type)))}
        given: dict[VName, View] = {}
        for atom, row in zip(body.result, rows, strict=True):
            if row is not None and isinstance(atom, VName) and atom in bound and atom not in given:
                given[atom] = row
        first = {atom: first_made(body, atom) for atom in given}
        self.dest.update((first[atom], row) for atom, row in given.items())
        values: list[Value | None] = list(self.body(body))
        used: set[VName] = set()
        for k, (atom, row) in enumerate(zip(body.result, rows, strict=True)):
            if isinstance(atom, VName) and atom in given and row is not None:
                unused = self.dest.pop(first[atom], None) is not None
                if not unused and atom not in used and values[k] is given[atom]:
                    values[k] = None
                    used.add(atom)
        return values

    def accumulate(self, op_: Operator, totals: Sequence[imp.Var | View],
                   values: Sequence[Value]) -> None:
        """Emit ``totals := op totals values``."""
        results = self.apply(op_.lam, [*totals, *values])
        held: list[Value] = []
        for total, result, param in zip(totals, results, op_.lam.params, strict=False):
            if isinstance(result, View):
                temporary = Param(self.names.fresh(param.name), param.type)
                self.bind_copy(temporary, result)
                held.append(self.array(temporary.name))
            elif len(totals) > 1:
                assert isinstance(param.type, Prim)
                held.append(self.declare(param.name, param.type, result))
            else:
                held.append(result)
            assert isinstance(total, View) == isinstance(result, View)
        for total, value in zip(totals, held, strict=True):
            if isinstance(total, View):
                assert isinstance(value, View)
                self.copy(total, value)
            else:
                assert not isinstance(value, View)
                self.emit(imp.Assign(total.name, value))

    def accumulate_all(self, ops: Sequence[Operator],
                       totals: Sequence[Sequence[imp.Var | View]],
                       values: Sequence[Value]) -> None:
        """Emit ``totals := op totals values`` for each operator; values are in their order."""
        for op_, total in zip(ops, totals, strict=True):
            self.accumulate(op_, total, values[: len(total)])
            values = values[len(total):]

    def neutral(self, op_: Operator) -> list[imp.Var | View]:
        """Variables (or arrays) that start as the neutral element."""
        totals: list[imp.Var | View] = []
        for atom, type_ in zip(op_.neutral, op_.lam.ret, strict=True):
            value = self.any(atom)
            if isinstance(value, View):
                param = Param(self.names.fresh("total"), type_)
                self.bind_copy(param, value)
                totals.append(self.array(param.name))
            else:
                assert isinstance(type_, Prim)
                totals.append(self.declare("total", type_, value))
        return totals

    def finish_reduction(self, parts: Reducing, totals: Sequence[Exp]) -> list[Value]:
        """Emit the rest of a body after its reduction, and return the body's results.

        ``parts``: the body, split at its reduction.  ``totals``: the results of the reduction.
        """
        self.body(Body(parts.before, ()))
        for param, value in zip(parts.reduction.pat, totals, strict=True):
            self.bind_scalar(param, value)
        return self.body(Body(parts.after, parts.result))

    def redomap(self, pat: tuple[Param, ...], exp: Redomap) -> None:
        """Emit a reduction, with the other results of its map."""
        totals = [self.neutral(o) for o in exp.ops]
        count = sum(len(t) for t in totals)
        outs = [self.allocate(p.name, p.type) for p in pat[count:]]

        def step(index: Exp) -> None:
            self.owned.append(set())
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            for out, value in zip(outs, values[count:], strict=True):
                self.store(out, [index], value)
            self.accumulate_all(exp.ops, totals, values)
            self.owned.pop()

        self.loop(self.length(exp.width), step)
        self.bind_all(pat, [*(t for total in totals for t in total), *outs])

    def scanomap(self, pat: tuple[Param, ...], exp: Scanomap) -> None:
        """Emit an inclusive scan, with the other results of its map."""
        if self.host.interleave and (inner := _made_by_map(exp)) is not None:
            self._scan_columns(pat, exp, *inner)
            return
        totals = [self.neutral(o) for o in exp.ops]
        count = sum(len(t) for t in totals)
        outs = [self.allocate(p.name, p.type) for p in pat]

        def step(index: Exp) -> None:
            self.owned.append(set())
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            for out, value in zip(outs[count:], values[count:], strict=True):
                self.store(out, [index], value)
            self.accumulate_all(exp.ops, totals, values)
            for out, t in zip(outs, (t for ts in totals for t in ts), strict=False):
                self.store(out, [index], t)
            self.owned.pop()

        self.loop(self.length(exp.width), step)
        self.bind_all(pat, outs)

    def _scan_columns(self, pat: tuple[Param, ...], exp: Scanomap, operator: Map,
                      made: Map | None) -> None:
        """Emit a scan of vectors, one column after the other, so that no vector is stored.

        The accesses of neighbouring work-items lie side by side in any order.
        """
        outs = [self.allocate(p.name, p.type) for p in pat]
        neutral = [self.array(atom) for atom in exp.ops[0].neutral if isinstance(atom, VName)]
        before = Body(exp.lam.body.stms[:-1], ())

        def column(place: Exp) -> None:
            totals: list[imp.Var | View] = [
                self.declare("total", view.prim, view.read([place])) for view in neutral]

            def step(index: Exp) -> None:
                self.owned.append(set())
                self.bind_all(exp.lam.params, self.elements(exp.lam, exp.arrays, index))
                if made is None:
                    values: list[Value] = [self.array(p.name).read([place])
                                           for p in exp.lam.params]
                else:
                    self.body(before)
                    values = self.apply(made.lam, self.elements(made.lam, made.arrays, place))
                self.accumulate(Operator(operator.lam, ()), totals, values)
                for out, total in zip(outs, totals, strict=True):
                    self.store(out, [index, place], total)
                self.owned.pop()

            self.loop(self.length(exp.width), step)

        self.loop(self.scalar(operator.width), column)
        self.bind_all(pat, outs)

    def scatter(self, pat: tuple[Param, ...], exp: Scatter) -> None:
        """Emit writes at computed indices."""
        read = [*exp.arrays, *free_vars(exp.lam)]
        outs = self.all_writable(pat, [d.array for d in exp.dests], read)

        def step(index: Exp) -> None:
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            self.write_inside(outs, [d.rank for d in exp.dests], values)

        self.loop(self.length(exp.width), step)
        self.bind_all(pat, outs)

    def write_inside(self, outs: Sequence[View], ranks: Sequence[int],
                     values: Sequence[Value]) -> None:
        """Emit, for each destination, a write of a value at its indices unless out of bounds."""
        rest = list(values)
        for out, rank in zip(outs, ranks, strict=True):
            indices = [v for v in rest[:rank] if not isinstance(v, View)]
            with self.block() as code:
                self.store(out, indices, rest[rank])
            inside: Exp = imp.Lit(Const(True, Prim.BOOL))
            for index, size in zip(indices, out.shape, strict=False):
                one = within(index, size)
                inside = one if isinstance(inside, imp.Lit) else imp.Apply(
                    "and", Prim.BOOL, (inside, one))
            self.emit(imp.If(inside, tuple(code)))
            rest = rest[rank + 1:]

    def hist(self, pat: tuple[Param, ...], exp: Hist) -> None:
        """Emit a histogram."""
        dests = [d for o in exp.ops for d in o.dests]
        read = [*exp.arrays, *free_vars(exp.lam)]
        for param in pat:
            self.keep_private(param)
        outs = self.all_writable(pat, dests, read)

        def step(index: Exp) -> None:
            values = self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))
            bins, rest, place = values[: len(exp.ops)], values[len(exp.ops):], list(outs)
            for o, bin_ in zip(exp.ops, bins, strict=True):
                count = len(o.dests)
                assert not isinstance(bin_, View)
                self.combine_inside(o.op, self.scalar(o.bins), place[:count], [bin_], rest[:count])
                rest, place = rest[count:], place[count:]

        self.loop(self.length(exp.width), step)
        self.bind_all(pat, outs)

    def bind_accumulator(self, acc: VName, write: Writer) -> None:
        """Bind an accumulator, whose value means nothing, to the code of a write to it."""
        self.bind_scalar(Param(acc, Prim.BOOL), imp.Lit(FALSE))
        self.accumulators[acc] = write

    def run_stream(self, pat: tuple[Param, ...], exp: Accumulate) -> None:
        """Emit the writes into the destinations, one element after the other."""
        read = [*exp.arrays, *free_vars(exp.lam)]
        for param in pat:
            self.keep_private(param)
        outs = self.all_writable(pat, exp.dests, read)

        def write(index: Exp, values: list[Value]) -> None:
            for op_ in exp.ops:
                self.combine_inside(op_, outs[0].shape[0], outs, [index], values)
            if not exp.ops:
                self.write_inside(outs, [1] * len(outs), [p for v in values for p in (index, v)])

        acc, *params = exp.lam.params
        row = Lambda(tuple(params), exp.lam.body, exp.lam.ret)

        def step(index: Exp) -> None:
            self.bind_accumulator(acc.name, write)
            self.apply(row, self.elements(row, exp.arrays, index))

        self.loop(self.length(exp.width), step)
        self.bind_all(pat, outs)

    def combine_inside(self, op_: Operator, bins: Exp, outs: Sequence[View],
                       indices: Sequence[Exp], values: Sequence[Value]) -> None:
        """Emit ``out[indices] := op out[indices] value`` if the last index is a bin."""
        with self.block() as code:
            old = [out.read(indices) if len(out.shape) == len(indices) else out.row(*indices)
                   for out in outs]
            held = [o if isinstance(o, View) else self.declare("old", out.prim, o)
                    for o, out in zip(old, outs, strict=True)]
            results = self.apply(op_.lam, [*held, *values])
            kept = [r if isinstance(r, View) else self.declare("new", out.prim, r)
                    for r, out in zip(results, outs, strict=True)]
            for out, value in zip(outs, kept, strict=True):
                self.store(out, indices, value)
        self.emit(imp.If(within(indices[-1], bins), tuple(code)))


def _made_by_map(exp: Scanomap) -> tuple[Map, Map | None] | None:
    """The maps of scalars that are the operator of a scan and that make its vectors, or None.

    The second one stands at the end of the scan's lambda, after views and little else.  It is None
    if the vectors are rows of the arrays.
    """
    if len(exp.ops) != 1 or (operator := exp.ops[0].vector) is None or not all(
            isinstance(type_, Prim) for type_ in operator.lam.ret):
        return None
    *before, last = exp.lam.body.stms or (None,)
    if last is None:
        rows = tuple(p.name for p in exp.lam.params)
        return (operator, None) if exp.lam.body.result == rows else None
    match last:
        case Stm(pat, Map(width) as made) if (
                width == operator.width and exp.lam.body.result == tuple(p.name for p in pat)
                and all(isinstance(type_, Prim) for type_ in made.lam.ret)
                and len(before) <= MOST_REPEATED
                and all(stm is not None and isinstance(stm.exp, VIEWS) for stm in before)):
            return operator, made
    return None
