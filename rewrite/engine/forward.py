"""The forward walk: every statement is rewritten where all that it uses is already known.

A walk goes over a program once.  It replaces operands by what they are known to stand for.  It
applies the rules of a book before and after it has gone inside of a statement.  It hands on what
branches, loops and assertions say about conditions.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_names
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import Mapper, body_of, is_flat, lambda_of, map_exp, map_stm, stm_of
from runelift.ir.types import FALSE, TRUE, Atom, shape_of
from runelift.rewrite.engine.rule import MOST_REWRITES, Rewriting, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, is_counting

CONDITION_DEPTH = 8
"""The most nested operators of a condition that are taken apart."""


@rule(ir.AtomExp)
def copy_propagation(scope: Scope, stm: ir.Stm) -> Atom | None:
    """let x = a in e ⇒ e[x ↦ a]

    Because: names and constants are values; only arrays have identity, and not in the IR.
    """
    match stm:
        case ir.Stm((param,), ir.AtomExp(atom)) if atom != param.name:
            return atom
    return None


def rewrite_forward(program: ir.Program, book: RuleBook, rewriting: Rewriting) -> ir.Program:
    """``program`` after one forward walk with the rules of ``book``."""
    walk = ForwardWalk(book, rewriting, consumed_names(program))
    return ir.Program(tuple(walk.fun(fun) for fun in program.funs))


class ForwardWalk:
    """The state of a walk."""

    def __init__(self, book: RuleBook, rewriting: Rewriting,
                 consumed: frozenset[VName]) -> None:
        self.book = book
        self.rewriting = rewriting
        self.scope = Scope(rewriting.names, consumed)
        self.facts: list[VName] = []
        self.shallow = Mapper(self.scope.resolve, lambda name: name, lambda b: b, lambda lam: lam)
        self.deep = Mapper(lambda a: a, lambda name: name, self.inner_body, self.lambda_)

    def fun(self, fun: ir.Fun) -> ir.Fun:
        """The function with its body rewritten."""
        self.scope.bind(fun.params)
        self.scope.sizes.update(size for p in fun.params for size in shape_of(p.type))
        return replace(fun, body=self.body(fun.body))

    @contextmanager
    def _block(self, *, inside: bool = False) -> Iterator[None]:
        """A body: facts and known expressions end with it."""
        facts = len(self.facts)
        self.scope.known.begin_body()
        self.scope.depth += inside
        yield
        self.scope.depth -= inside
        self.scope.known.end_body()
        for name in self.facts[facts:]:
            del self.scope.copies[name]
        del self.facts[facts:]

    def body(self, body: ir.Body, *facts: tuple[Atom, bool]) -> ir.Body:
        """A body, in which the conditions ``facts`` are known to have these values."""
        with self._block():
            for cond, value in facts:
                self.learn(cond, value)
            out: list[ir.Stm] = []
            for stm in body.stms:
                self.statement(stm, out, MOST_REWRITES)
            return body_of(body, out, tuple(map(self.scope.resolve, body.result)))

    def inner_body(self, body: ir.Body) -> ir.Body:
        """The body of a segmented operation or of a version."""
        return self.body(body)

    def lambda_(self, lam: ir.Lambda) -> ir.Lambda:
        """A lambda; the ranges of its parameters are known already."""
        with self._block(inside=True):
            params = tuple(map(self.shallow.param, lam.params))
            self.scope.bind(params)
            body = self.body(lam.body)
            return lambda_of(lam, params, body, self.shallow.types(lam.ret))

    def statement(self, stm: ir.Stm, out: list[ir.Stm], steps: int) -> None:
        """Append the statements that replace ``stm``."""
        if steps == 0:
            raise self.rewriting.too_long()
        stm = self._resolved(stm)
        new = self.rewriting.step(self.book, self.scope, stm)
        if new is None and not is_flat(stm.exp):
            stm = stm_of(stm, self.inside(stm.exp))
            new = self.rewriting.step(self.book, self.scope, stm)
        if new is not None:
            for each in new:
                self.statement(each, out, steps - 1)
            return
        if isinstance(stm.exp, ir.AtomExp) and self._copied(stm):
            return
        if isinstance(stm.exp, ir.Assert):
            self.learn(stm.exp.cond, True)
        self.scope.define(stm)
        out.append(stm)

    def _resolved(self, stm: ir.Stm) -> ir.Stm:
        """A statement with operands replaced by the atoms that they are known to equal."""
        if isinstance(stm.exp, ir.PrimOp):  # by far the most: many have no such operand
            copies = self.scope.copies
            if not any(isinstance(atom, VName) and atom in copies for atom in stm.exp.args):
                return stm
        return map_stm(self.shallow, stm)

    def _copied(self, stm: ir.Stm) -> bool:
        if not self.rewriting.permits(copy_propagation):
            return False
        atom: Atom | None = copy_propagation.apply(self.scope, stm)
        if atom is None:
            return False
        self.rewriting.record(copy_propagation, (stm,), ())
        self.scope.copies[stm.pat[0].name] = self.scope.resolve(atom)
        return True

    # Inside

    def inside(self, exp: ir.Exp) -> ir.Exp:
        """``exp`` with its bodies and lambdas rewritten."""
        match exp:
            case ir.If(cond, then_, else_, ret):
                yes, no = self.body(then_, (cond, True)), self.body(else_, (cond, False))
                return exp if yes is then_ and no is else_ else ir.If(cond, yes, no, ret)
            case ir.Loop(params, form, body):
                self.scope.bind(p.param for p in params)
                if isinstance(form, ir.ForLoop):
                    self.scope.bind_index(form.index, form.bound)
                    new = self.body(body)
                else:
                    new = self.body(body, (form.cond, True))
                return exp if new is body else ir.Loop(params, form, new)
            case ir.Recursion(params=params):
                self.scope.bind(p.param for p in params)
        self._ranges(exp)
        if isinstance(exp, ir.SEGOPS):
            with self._block(inside=True):
                return map_exp(self.deep, exp)
        return map_exp(self.deep, exp)

    def _ranges(self, exp: ir.Exp) -> None:
        """Learn the ranges of the indices and parameters that ``exp`` binds."""
        match exp:
            case ir.SegMap(space=space) | ir.SegRed(space=space) | ir.SegScan(space=space):
                self._space(space)
            case (ir.SegScatter(space=space) | ir.SegHist(space=space)
                  | ir.SegAccumulate(space=space)):
                self._space(space)
            case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist():
                for param, array in zip(exp.lam.params, exp.arrays, strict=True):
                    source = self.scope.exp(array)
                    if isinstance(source, ir.Iota) and is_counting(source):
                        self.scope.bounds[param.name] = source.count

    def _space(self, space: ir.Space) -> None:
        """Learn the ranges of the indices of a space."""
        for dim in space:
            if dim.ragged is None:
                self.scope.bind_index(dim.index, dim.width)
            else:
                self.scope.bind((ir.Param(dim.index, Prim.I64),))

    # Facts

    def learn(self, cond: Atom, value: bool, depth: int = CONDITION_DEPTH) -> None:
        """Take ``cond`` to be ``value`` until the end of the block."""
        if not isinstance(cond, VName) or cond in self.scope.copies or depth == 0:
            return
        self.scope.copies[cond] = TRUE if value else FALSE
        self.facts.append(cond)
        match self.scope.exp(cond), value:
            case ir.PrimOp("not", Prim.BOOL, (x,)), _:
                self.learn(x, not value, depth - 1)
            case (ir.PrimOp("and", Prim.BOOL, (x, y)), True) | (ir.PrimOp("or", Prim.BOOL, (x, y)),
                                                            False):
                self.learn(x, value, depth - 1)
                self.learn(y, value, depth - 1)
            case ir.PrimOp("eq", Prim.I64, (x, y)), True:
                self._equate(x, y)

    def _equate(self, x: Atom, y: Atom) -> None:
        """Replace one of two equal sizes by the other: a constant, or the size of outer scope."""
        known, other = sorted(map(self.scope.resolve, (x, y)), key=self._rank)
        if isinstance(other, VName) and known != other:
            self.scope.copies[other] = known
            self.facts.append(other)

    def _rank(self, atom: Atom) -> tuple[int, int]:
        if not isinstance(atom, VName):
            return (-1, 0)
        return (self.scope.depths.get(atom, 0), atom.tag)
