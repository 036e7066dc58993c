"""Inference of loops: which sizes of their values stay equal, and which change."""

from __future__ import annotations

from typing import TypeAlias

from runelift.frontend.check.forms import tail
from runelift.frontend.check.indexing import Indexing
from runelift.frontend.check.unify import State, TypeMismatch
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Array, Record, Sum, Tuple, Type, map_sizes
from runelift.ir.names import VName
from runelift.ir.prim import SIGNED, Prim
from runelift.ir.sizes import Size

Renewed: TypeAlias = dict[tuple[Size, Size], Size]
"""For sizes of a loop before and after its body, if they differ: that of any iteration."""


class Loops(Indexing):
    """Infers loops."""

    def _loop(self, exp: ast.LoopExp) -> Type:
        """Sizes that the body changes are unknown to it; sizes that stay equal are one size.

        The body is inferred anew, with fewer sizes that are known, until it changes none of them.
        """
        first = init = self._loop_init(exp)
        self.distinct((exp.pattern,))
        state, typed, operators = self.solved.snapshot(), len(self._typed), len(self._operators)
        init, varying = self._without_zeros(exp, init)
        if init is not first:
            self._forget(state, typed, operators)
            self._same_elements(first, init)
        while True:
            result, body = self._loop_body(exp, init)
            joined = self._joined_loop(exp, result, body)
            if self._same_sizes(joined, result):
                return joined
            renewed: Renewed = {}
            loose = self._vary(init, joined, renewed)
            if len(renewed) == len(varying) and {m for m, _ in renewed} == set(varying.values()):
                return loose
            self._forget(state, typed, operators)
            self._same_elements(first, loose)
            init, varying = loose, renewed

    def _forget(self, state: State, typed: int, operators: int) -> None:
        """Forget what was inferred since ``state``."""
        self.solved.restore(state)
        del self._typed[typed:], self._operators[operators:]

    def _without_zeros(self, exp: ast.LoopExp, init: Type) -> tuple[Type, Renewed]:
        """``init`` with an unknown size for each size 0 that the body computes from itself.

        As in Futhark, a body that makes n + n of n changes the size, though 0 + 0 is 0.
        """
        probes: set[VName] = set()

        def probe(size: Size) -> Size:
            if size.terms:
                return size
            made = self.solved.size_meta()
            probes.update(made.variables())
            return made
        probed = map_sizes(probe, self.solved.resolve(init))
        varying: Renewed = {}
        if not probes:
            return init, varying
        result, body = self._loop_body(exp, probed)
        joined = self._joined_loop(exp, result, body)
        zero = map_sizes(lambda size: Size(()) if size.variable in probes else size,
                         self.solved.resolve(joined))
        return self._vary(init, zero, varying), varying

    def _joined_loop(self, exp: ast.LoopExp, result: Type, body: Type) -> Type:
        """The type of the values of any iteration, from their types before and after one."""
        try:
            return self.solved.join(result, body)
        except TypeMismatch:
            self.expect(result, body, tail(exp.body).span, "the next value of the loop",
                        because=exp.init.span if exp.init is not None else exp.pattern.span)
            raise

    def _loop_init(self, exp: ast.LoopExp) -> Type:
        if exp.init is not None:
            return self._in_loop(exp.init)
        return self._pattern_value(exp.pattern)

    def _in_loop(self, exp: ast.Exp) -> Type:
        """The type of a value that a loop carries along, whose sizes may change."""
        around, self._looping = self._looping, True
        type_ = self.infer(exp)
        self._looping = around
        return type_

    def _pattern_value(self, pattern: ast.Pattern) -> Type:
        """The type of the values in scope that the names of a loop pattern start from."""
        match pattern:
            case ast.PatName(span, name):
                return self._instantiate(self._lookup(ast.QualName((), name), span))
            case ast.PatTuple(_, items):
                return Tuple(tuple(self._pattern_value(item) for item in items))
            case ast.PatAscript(_, inner):
                return self._pattern_value(inner)
            case ast.PatRecord(_, fields):
                return Record(tuple(sorted((n, self._pattern_value(p)) for n, p in fields)))
        raise self._error("bad-pattern", pattern.span, "A loop without '=' needs names.")

    def _loop_body(self, exp: ast.LoopExp, init: Type) -> tuple[Type, Type]:
        """The type of the loop's values, and of the next values that its body makes."""
        bound = self.infer(exp.form.bound) if isinstance(exp.form, ast.ForForm) else None
        array = self.infer(exp.form.array) if isinstance(exp.form, ast.ForInForm) else None
        with self.inner_scope():
            match exp.form:
                case ast.ForForm(_, pattern):
                    assert bound is not None
                    self.expect(self.solved.meta(SIGNED), bound, exp.form.bound.span, "a bound",
                                hint="To go along an array, write: for x in xs" * isinstance(
                                    self.solved.head(bound), Array))
                    self.pattern(pattern, bound)
                case ast.ForInForm(_, pattern):
                    assert array is not None
                    elem = self.solved.meta()
                    self.expect(Array(self.solved.size_meta(), elem), array,
                                exp.form.array.span, "an array",
                                hint="To count, write: for i < n")
                    self.pattern(pattern, self.solved.head(elem))
            result = self.pattern(exp.pattern, init, anonymous=self.solved.size_meta)
            if isinstance(exp.form, ast.WhileForm):
                cond = exp.form.cond
                self.expect(Prim.BOOL, self.infer(cond), cond.span, "a condition")
            body = self._in_loop(exp.body)
        self.no_function(result, exp.span, "carried along by a loop")
        return result, body

    def _same_sizes(self, joined: Type, result: Type) -> bool:
        return self.solved.resolve(joined) == self.solved.resolve(result)

    def _same_elements(self, left: Type, right: Type) -> None:
        """Unify two types of one form, but for their sizes."""
        left, right = self.solved.head(left), self.solved.head(right)
        match left, right:
            case Array(_, s), Array(_, t):
                self._same_elements(s, t)
            case Tuple(xs), Tuple(ys):
                for x, y in zip(xs, ys, strict=True):
                    self._same_elements(x, y)
            case (Record(xs), Record(ys)) | (Sum(xs), Sum(ys)):
                for (_, x), (_, y) in zip(xs, ys, strict=True):
                    self._same_elements(x, y)
            case _:
                self.solved.unify(left, right)

    def _vary(self, init: Type, joined: Type, renewed: Renewed) -> Type:
        """``init`` with an unknown size wherever ``joined`` disagrees with it.

        It is the same one where the same two sizes disagree.
        """
        init, joined = self.solved.resolve(init), self.solved.resolve(joined)
        match init, joined:
            case Array(m, s), Array(n, t):
                if m != n and (m, n) not in renewed:
                    renewed[m, n] = self.solved.unknown_size()
                return Array(renewed.get((m, n), m), self._vary(s, t, renewed))
            case Tuple(xs), Tuple(ys):
                return Tuple(tuple(self._vary(x, y, renewed)
                                   for x, y in zip(xs, ys, strict=True)))
            case (Record(xs), Record(ys)) | (Sum(xs), Sum(ys)):
                make = type(init) if isinstance(init, Record | Sum) else Sum
                return make(tuple((n, self._vary(x, y, renewed))
                                  for (n, x), (_, y) in zip(xs, ys, strict=True)))
        return init
