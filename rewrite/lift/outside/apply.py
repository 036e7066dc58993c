"""The pass that applies rules from outside wherever they match.

It runs before fusion, when maps and reductions still stand as they were written.  The outermost
expression comes first, which is the last statement of a body.  A rule may match its own results.
So there is a budget for each function, and no result is rewritten if the parameters stood for the
same expressions before.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_names
from runelift.ir.base.errors import Diagnostic, ProgramWarning
from runelift.ir.names import Names, VName
from runelift.ir.traverse import (
    bodies_inside,
    body_of,
    free_vars,
    lambda_of,
    map_inside,
    rename_lambda,
    statements_inside,
    stm_of,
    types_in,
)
from runelift.rewrite.engine.rule import Rewriting, Rule
from runelift.rewrite.lift.outside.goals import Match, Surroundings
from runelift.rewrite.lift.outside.pattern import OutsideRule, definitions
from runelift.rewrite.lift.outside.replacement import Place, chosen, replacement
from runelift.rewrite.lift.point import Point
from runelift.rewrite.passes.dead import remove_unused

MOST_APPLICATIONS = 100
"""The most applications of a rule in a function, unless points ask for more."""


@dataclass(frozen=True, slots=True)
class OutsideRules:
    """The rules of a file: all as ``points``, and the rules that are ``always`` applied."""

    points: Mapping[str, Point] = field(default_factory=dict)
    always: tuple[Rule, ...] = ()


def apply_rules(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` after the rules from outside of ``rewriting``, in the order of their file."""
    if not rewriting.outside:
        return program
    funs = list(program.funs)
    for each in rewriting.outside:
        if rewriting.permits(each):
            funs = [each.apply(fun, rewriting.names, rewriting) for fun in funs]
    return ir.Program(tuple(funs))


def as_rule(rule: OutsideRule) -> Rule:
    """A rule from outside as a rule of the optimiser, which applies itself to functions."""
    def apply(fun: ir.Fun, names: Names, rewriting: Rewriting) -> ir.Fun:
        return _Applying(rule, found, fun, names, rewriting).result()

    found = Rule(rule.name, rule.law, rule.notes, (type(rule.root.exp),), apply)
    return found


class _Applying:
    """The application of a rule to a function, wherever it matches."""

    def __init__(self, rule: OutsideRule, listed: Rule, fun: ir.Fun, names: Names,
                 rewriting: Rewriting) -> None:
        self.rule, self.listed, self.fun = rule, listed, fun
        self.names, self.rewriting = names, rewriting
        self.seen: set[object] = set()
        """The expressions that parameters have stood for."""
        self.made: set[VName] = set()
        """The names that right sides have bound."""
        self.kept: set[VName] = set()
        """The results of left sides that stand where a condition does not hold."""
        self._learn()

    def result(self) -> ir.Fun:
        """The function after the rule was applied."""
        rule = self.rule
        for _ in range(MOST_APPLICATIONS):
            if not self._somewhere():
                return self.fun
        warnings.warn(ProgramWarning(Diagnostic(
            "endless-rule", rule.span, f"Rule '{rule.name}' matches its own results: it was "
            f"applied {MOST_APPLICATIONS} times to '{self.fun.name}', and then no more.",
            hints=(f"Without #[always] it is applied only where a program says #[{rule.name}].",),
            severity="warning")), stacklevel=2)
        return self.fun

    def _somewhere(self) -> bool:
        """Apply the rule at the first place where it matches; false if there is none."""
        for body, stm in _outermost_first(self.fun.body):
            if not isinstance(stm.exp, self.listed.heads) or stm.pat[0].name in self.kept:
                continue
            if not self.rewriting.permits(self.listed):
                return False
            here = {p.name for each in body.stms for p in each.pat}
            place = Place(self.around, self.consumed.__contains__, here.__contains__)
            found = replacement(self.rule, stm, place)
            if not isinstance(found, str) and self._is_new(found.match, stm) and (
                    not self._shares(found.match, stm)):
                self._replace(stm, *chosen(found, stm, place))
                return True
        return False

    def _is_new(self, match: Match, stm: ir.Stm) -> bool:
        """True unless the rule has made ``stm`` and had the same parameters before."""
        key = frozenset(match.atoms.items()), frozenset(
            (name, rename_lambda(lam, Names())) for name, lam in match.functions.items())
        if key in self.seen and stm.pat[0].name in self.made:
            return False
        self.seen.add(key)
        return True

    def _shares(self, match: Match, stm: ir.Stm) -> bool:
        """True if other statements use what the left side computes on the way."""
        inside = Counter[VName]()
        for each in match.statements.values():
            inside.update(free_vars(each))
        return any(self.uses[p.name] > inside[p.name]
                   for each in match.statements.values() if each is not stm
                   for p in each.pat if p.name not in match.inner)

    def _replace(self, stm: ir.Stm, stms: tuple[ir.Stm, ...], kept: ir.Stm | None) -> None:
        self.rewriting.record(self.listed, (stm,), stms)
        self.made.update(p.name for each in stms for p in each.pat)
        if kept is not None:
            self.kept.update(p.name for p in kept.pat)
        fun = replace(self.fun, body=_replaced(self.fun.body, stm, stms))
        self.fun, = remove_unused(ir.Program((fun,)), Rewriting(self.names)).funs
        self._learn()

    def _learn(self) -> None:
        """Learn the definitions, types and uses of names."""
        fun = self.fun
        self.uses = Counter(a for body in _bodies(fun.body) for a in body.result
                            if isinstance(a, VName))
        for stm in statements_inside((fun.body,)):
            self.uses.update(free_vars(stm))
        self.around = Surroundings(definitions((fun.body,)), types_in(fun), self.names)
        self.consumed = consumed_names(ir.Program((fun,)))


def _bodies(body: ir.Body) -> Iterator[ir.Body]:
    """A body, and all that stand inside of it."""
    yield body
    for stm in body.stms:
        for inner in bodies_inside(stm.exp):
            yield from _bodies(inner)


def _outermost_first(body: ir.Body) -> Iterator[tuple[ir.Body, ir.Stm]]:
    """The statements of a body, last first, then of the bodies inside; each with its body."""
    todo = [body]
    while todo:
        inner: list[ir.Body] = []
        for each in todo:
            for stm in reversed(each.stms):
                yield each, stm
                inner += bodies_inside(stm.exp)
        todo = inner


def _replaced(body: ir.Body, old: ir.Stm, new: Iterable[ir.Stm]) -> ir.Body:
    """``body`` with the statement ``old`` replaced by ``new``, at any depth."""
    stms: list[ir.Stm] = []
    for stm in body.stms:
        if stm is old:
            stms += new
        else:
            stms.append(stm_of(stm, map_inside(
                stm.exp, lambda inner: _replaced(inner, old, new),
                lambda lam: lambda_of(lam, lam.params, _replaced(lam.body, old, new), lam.ret))))
    return body_of(body, stms, body.result)
