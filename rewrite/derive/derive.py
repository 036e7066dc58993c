"""The pass that expands derivatives, the innermost first."""

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.activity import spread
from runelift.ir.names import Names
from runelift.ir.traverse import map_inside, statements_inside, stm_of, types_in
from runelift.ir.types import Atom
from runelift.rewrite.derive import (
    arrays,
    buckets,
    control,
    histograms,
    maps,
    products,
    reductions,
    scalars,
    scans,
    selections,
    writes,
)
from runelift.rewrite.derive.emitter import Emitter
from runelift.rewrite.derive.walk import Adjoint, Books, Forward, Reverse
from runelift.rewrite.engine.rule import Rewriting, RuleBook
from runelift.rewrite.passes.cse import eliminate_common
from runelift.rewrite.passes.simplify import simplify

BOOKS = Books(
    RuleBook([
        scalars.forward_operation, scalars.forward_conversion,
        arrays.forward_linear, arrays.forward_constant,
        control.forward_branch, control.forward_loop, maps.forward_map,
        writes.forward_accumulate, writes.forward_write, writes.forward_custom,
        reductions.forward_parts, histograms.forward_hist_sum, histograms.forward_hist_extreme,
        reductions.forward_sum, scans.forward_scan_sum, reductions.forward_extreme,
        reductions.forward_columns, selections.forward_selection, reductions.forward_pairs,
        histograms.forward_hist_pairs, writes.forward_scatter]),
    RuleBook([
        scalars.reverse_operation, scalars.reverse_conversion,
        arrays.reverse_copy, arrays.reverse_index, arrays.reverse_update, arrays.reverse_literal,
        arrays.reverse_concat, arrays.reverse_rearrange, arrays.reverse_reshape,
        arrays.reverse_replicate, arrays.reverse_slide, arrays.reverse_pad,
        control.reverse_branch, control.reverse_loop, maps.reverse_map,
        writes.reverse_accumulate, writes.reverse_write, writes.reverse_custom,
        reductions.reverse_parts, histograms.reverse_hist_sum, histograms.reverse_hist_extreme,
        reductions.reverse_sum, scans.reverse_scan_sum, reductions.reverse_extreme,
        reductions.reverse_columns, selections.reverse_selection, products.reverse_product,
        products.reverse_hist_product, reductions.reverse_reduction, scans.reverse_scan,
        buckets.reverse_buckets, reductions.reverse_sequential, writes.reverse_scatter]))
"""The rules of each mode: a special rule stands before a general rule."""

DERIVATIVES = (*BOOKS.forward.rules, *BOOKS.reverse.rules)
"""All rules of derivatives."""


def has_derivatives(program: ir.Program) -> bool:
    """True if a program has derivatives that are not expanded."""
    return any(_has(fun.body) for fun in program.funs)


def _has(body: ir.Body) -> bool:
    return any(isinstance(stm.exp, ir.DERIVATIVES) for stm in statements_inside((body,)))


def derive(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` without derivatives: each is expanded, the innermost first.

    It is simplified between the levels, as code grows with each.
    """
    while has_derivatives(program):
        program = ir.Program(tuple(_Expansion(fun, rewriting.names, rewriting).run()
                                   for fun in program.funs))
        if has_derivatives(program):
            program = eliminate_common(simplify(program, rewriting), rewriting)
    return program


class _Expansion:
    """The expansion of the innermost derivatives of a function."""

    def __init__(self, fun: ir.Fun, names: Names, rewriting: Rewriting) -> None:
        self.fun = fun
        self.rewriting = rewriting
        self.emit = Emitter(names, types_in(fun))
        self.outer = 0
        """The number of operators of derivatives around."""
        self.alone = not any(isinstance(stm.exp, ir.Jvp | ir.Vjp)
                             for stm in statements_inside((fun.body,)))

    def run(self) -> ir.Fun:
        """The function after it."""
        return replace(self.fun, body=self.body(self.fun.body))

    def body(self, body: ir.Body) -> ir.Body:
        """A body after it."""
        if not _has(body):
            return body
        with self.emit.block() as stms:
            for stm in body.stms:
                self._statement(stm)
        return ir.Body(tuple(stms), body.result)

    def _statement(self, stm: ir.Stm) -> None:
        exp, emit = stm.exp, self.emit
        emit.loc = stm.loc
        if isinstance(exp, ir.Jvp | ir.Vjp) and not any(
                isinstance(inner.exp, ir.Jvp | ir.Vjp)
                for inner in statements_inside((exp.lam.body,))):
            before = self.rewriting.fired.copy()
            emit.let(stm.pat, (self._forward if isinstance(exp, ir.Jvp) else self._reverse)(exp))
            self.rewriting.derived.append((stm, self.rewriting.fired - before))
        elif isinstance(exp, ir.WithVjp) and self.alone:
            emit.let(stm.pat, emit.inline(exp.lam, exp.args)[exp.kept:])
        else:
            self.outer += isinstance(exp, ir.Jvp | ir.Vjp)
            emit.add(stm_of(stm, map_inside(exp, self.body, self.lambda_)))
            self.outer -= isinstance(exp, ir.Jvp | ir.Vjp)

    def lambda_(self, lam: ir.Lambda) -> ir.Lambda:
        """A lambda after it."""
        return replace(lam, body=self.body(lam.body))

    def _forward(self, exp: ir.Jvp | ir.Vjp) -> list[Atom]:
        assert isinstance(exp, ir.Jvp)
        walk, lam = Forward(self.emit, self.rewriting, BOOKS), exp.lam
        self.emit.let(lam.params, exp.args)
        walk.tan.update((p.name, t) for p, t in zip(lam.params, exp.tangents, strict=True))
        walk.statements(lam.body.stms)
        return [*lam.body.result, *map(walk.full, lam.body.result)]

    def _reverse(self, exp: ir.Jvp | ir.Vjp) -> list[Atom]:
        assert isinstance(exp, ir.Vjp)
        walk, lam = Reverse(self.emit, self.rewriting, BOOKS, is_inner=bool(self.outer)), exp.lam
        self.emit.let(lam.params, exp.args)
        walk.varied.update(p.name for p in lam.params)
        spread(lam.body, walk.varied)
        found = walk.sweep(lam.body, exp.seeds)
        return [*lam.body.result, *(walk.dense(p.name, found.get(p.name, Adjoint()))
                                    for p in lam.params)]
