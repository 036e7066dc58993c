"""The pass that applies rules from outside: where attributes name them, or wherever they match.

It runs before fusion, when maps and reductions still stand as they were written.  The outermost
expression comes first, which is the last statement of a body.  A rule that is ``always`` applied
must not stand at a statement in an endless chain of its own results: there is a budget for each
function, and no rule is applied again with what its parameters stood for.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from runelift.ir import syntax as ir
from runelift.ir.consumption import consumed_names
from runelift.ir.errors import Diagnostic, ProgramError, ProgramWarning, UserError
from runelift.ir.files import read_source
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.source import Loc, Source, Span
from runelift.ir.traverse import (
    bodies_inside,
    body_of,
    bound_by,
    free_vars,
    lambda_of,
    lambdas_of,
    map_inside,
    rename_body,
    rename_lambda,
    statements_inside,
    stm_of,
)
from runelift.ir.types import TRUE, Type, shape_of
from runelift.rewrite.engine.rule import Rewriting, Rule
from runelift.rewrite.lift.outside.conditions import broken_promise, condition
from runelift.rewrite.lift.outside.instance import instance
from runelift.rewrite.lift.outside.matching import Match, Surroundings, match_rule
from runelift.rewrite.lift.outside.pattern import OutsideRule, definitions
from runelift.rewrite.passes.dead import remove_unused

MOST_APPLICATIONS = 100
"""The most applications of a rule in a function, unless attributes ask for more."""


def apply_rules(program: ir.Program, names: Names, rewriting: Rewriting | None = None
                ) -> ir.Program:
    """``program`` after the rules from outside of ``rewriting``, in the order of their file."""
    if rewriting is None or not rewriting.outside:
        return program
    funs = list(program.funs)
    for each in rewriting.outside:
        if rewriting.permits(each):
            funs = [each.apply(fun, names, rewriting) for fun in funs]
    return ir.Program(tuple(funs))


def as_rule(rule: OutsideRule) -> Rule:
    """A rule from outside as a rule of the optimiser, which applies itself to functions."""
    notes = (("Provided", rule.condition),) if rule.condition else ()

    def apply(fun: ir.Fun, names: Names, rewriting: Rewriting) -> ir.Fun:
        return _Applying(rule, found, fun, names, rewriting).result()

    found = Rule(rule.name, rule.law, notes, (type(rule.root.exp),), apply)
    return found


@dataclass(frozen=True, slots=True)
class _Found:
    """A match, and the statements to be put in place of its last one."""

    match: Match
    stms: tuple[ir.Stm, ...]


class _Applying:
    """The application of a rule to a function."""

    def __init__(self, rule: OutsideRule, listed: Rule, fun: ir.Fun, names: Names,
                 rewriting: Rewriting) -> None:
        self.rule, self.listed, self.fun = rule, listed, fun
        self.names, self.rewriting = names, rewriting
        self.seen: set[object] = set()
        """What parameters have stood for."""
        self.made: set[VName] = set()
        """The names that right sides have bound."""
        self.kept: set[VName] = set()
        """The results of left sides that stand where a condition does not hold."""
        self._learn()

    def result(self) -> ir.Fun:
        """The function after the rule."""
        self._where_asked()
        if self.rule.always:
            self._everywhere()
        return self.fun

    def _learn(self) -> None:
        """Learn the definitions, types and uses of names."""
        fun = self.fun
        types: dict[VName, Type] = {p.name: p.type for p in fun.params}
        self.uses = Counter(a for body in _bodies(fun.body) for a in body.result
                            if isinstance(a, VName))
        for stm in statements_inside((fun.body,)):
            types.update((p.name, p.type) for p in stm.pat)
            types.update(_bound_types(stm.exp))
            self.uses.update(free_vars(stm))
        self.around = Surroundings(definitions((fun.body,)), types, self.names)
        self.consumed = consumed_names(ir.Program((fun,)))

    # Where to apply

    def _where_asked(self) -> None:
        """Apply the rule where its attribute stands; ProgramError if it matches nowhere there.

        All statements of an expression have its attributes, and the rule is about one of them.
        """
        rule, replaced, reason = self.rule, set[VName](), ""
        asked = [stm for stm in _outermost_first(self.fun.body)
                 if rule.name in stm.attrs and stm.pat]
        for each in asked:
            stm = self.around.defs.get(each.pat[0].name)
            if stm is None or rule.name not in stm.attrs or stm.pat[0].name in replaced:
                continue
            found = self._attempt(stm, alone=False)
            if isinstance(found, str):
                reason = reason or found
            else:
                replaced.update(found.match.statements)
                self._replace(stm, found.stms)
        if asked and not replaced:
            place = next((_span(stm.loc) for stm in asked if stm.loc is not None), rule.span)
            raise ProgramError(Diagnostic(
                "rule-does-not-match", place, f"Rule '{rule.name}' does not match here: {reason}.",
                hints=(f"The rule is {rule.law}.",)))
        if asked:
            self.fun = replace(self.fun, body=_without(self.fun.body, rule.name))
            self._learn()

    def _everywhere(self) -> None:
        """Apply the rule wherever it matches and what it replaces is not needed besides."""
        rule = self.rule
        for _ in range(MOST_APPLICATIONS):
            if not self._somewhere():
                return
        warnings.warn(ProgramWarning(Diagnostic(
            "endless-rule", rule.span, f"Rule '{rule.name}' matches its own results: it was "
            f"applied {MOST_APPLICATIONS} times to '{self.fun.name}', and then no more.",
            hints=(f"Without #[always] it is applied only where a program says #[{rule.name}].",),
            severity="warning")), stacklevel=2)

    def _somewhere(self) -> bool:
        for stm in _outermost_first(self.fun.body):
            if type(stm.exp) is type(self.rule.root.exp) and stm.pat[0].name not in self.kept:
                found = self._attempt(stm, alone=True)
                if not isinstance(found, str):
                    self._replace(stm, found.stms)
                    return True
        return False

    # What to apply

    def _attempt(self, stm: ir.Stm, *, alone: bool) -> _Found | str:
        """The statements in place of one; in words why there are none.

        ``alone``: other statements must not use what the left side computes on the way.
        """
        rule = self.rule
        if not self.rewriting.permits(self.listed):
            return "no more rules may fire"
        match = match_rule(rule, stm, self.around)
        if isinstance(match, str):
            return match
        reason = self._obstacle(match, stm, alone=alone)
        if reason:
            return reason
        holds: ir.Body | str = ir.Body((), (TRUE,))
        if rule.where is not None:
            holds = condition(rule, match, self.around)
        if isinstance(holds, str):
            return holds
        key = frozenset(match.atoms.items()), frozenset(
            (name, rename_lambda(lam, Names())) for name, lam in match.functions.items())
        if key in self.seen and stm.pat[0].name in self.made:
            return "it has been applied to this before"
        self.seen.add(key)
        return _Found(match, self._replacement(match, stm, holds))

    def _replacement(self, match: Match, stm: ir.Stm, holds: ir.Body) -> tuple[ir.Stm, ...]:
        """The right side in place of a statement, or a choice by a condition ``holds``."""
        rule, fun = self.rule, self.rule.after
        ours = {p.name: q.name for p, q in zip(rule.root.pat, stm.pat, strict=True)}
        theirs = [ours[a] for a in rule.before.body.result if isinstance(a, VName)]
        if holds.result == (TRUE,):
            made = {p.name for each in fun.body.stms for p in each.pat
                    if not isinstance(each.exp, ir.Call)}
            bound = {a: name for a, name in zip(fun.body.result, theirs, strict=True)
                     if isinstance(a, VName) and a in made}
            after = instance(fun, match, rule.before.params, self.names, bound)
            types = {p.name: p for p in stm.pat}
            return (*(replace(each, loc=stm.loc) for each in after.stms),
                    *(ir.Stm((types[name],), ir.AtomExp(a), (), stm.loc)
                      for a, name in zip(after.result, theirs, strict=True) if a != name))
        after = instance(fun, match, rule.before.params, self.names)
        stms = tuple(replace(each, loc=stm.loc) for each in after.stms)
        results = dict(zip(theirs, after.result, strict=True))
        before = rename_body(ir.Body(self._left_side(match, stm), tuple(
            p.name for p in stm.pat)), self.names)
        self.kept.update(p.name for p in before.stms[-1].pat)
        chosen = ir.If(holds.result[0], ir.Body(stms, tuple(results[p.name] for p in stm.pat)),
                       before, tuple(p.type for p in stm.pat))
        return (*holds.stms, ir.Stm(stm.pat, chosen, (), stm.loc))

    def _obstacle(self, match: Match, stm: ir.Stm, *, alone: bool) -> str:
        """In words, why a match is not used; "" if nothing speaks against it."""
        if promise := broken_promise(self.rule, match):
            return promise
        used = {a for a in match.atoms.values() if isinstance(a, VName)}
        used |= {name for lam in match.functions.values() for name in free_vars(lam)}
        changed = sorted(name.base for name in used & self.consumed if self._is_array(name))
        if changed:
            return f"'{changed[0]}' is changed in place"
        inside = Counter[VName]()
        for each in match.statements.values():
            inside.update(free_vars(each))
        shared = sorted(p.name.base for each in match.statements.values() if each is not stm
                        for p in each.pat if p.name not in match.inner
                        and self.uses[p.name] > inside[p.name])
        if alone and shared:
            return f"'{shared[0]}' is needed besides"
        return ""

    def _is_array(self, name: VName) -> bool:
        return bool(shape_of(self.around.types[name]))

    def _left_side(self, match: Match, stm: ir.Stm) -> tuple[ir.Stm, ...]:
        """The statements of a match that stand in one body with its last one, in order."""
        matched = {id(each) for each in match.statements.values()}
        (body,) = (body for body in _bodies(self.fun.body) if any(s is stm for s in body.stms))
        return tuple(each for each in body.stms if id(each) in matched)

    def _replace(self, stm: ir.Stm, stms: tuple[ir.Stm, ...]) -> None:
        self.rewriting.record(self.listed, (stm,), stms)
        self.made.update(p.name for each in stms for p in each.pat)
        fun = replace(self.fun, body=_replaced(self.fun.body, stm, stms))
        self.fun, = remove_unused(ir.Program((fun,)), Rewriting(self.names)).funs
        self._learn()


def _bound_types(exp: ir.Exp) -> Iterator[tuple[VName, Type]]:
    """The names that an expression binds inside, with their types."""
    for lam in lambdas_of(exp):
        yield from ((p.name, p.type) for p in lam.params)
    if isinstance(exp, ir.Loop):
        yield from ((p.param.name, p.param.type) for p in exp.params)
    loops = {p.param.name for p in exp.params} if isinstance(exp, ir.Loop) else set[VName]()
    yield from ((name, Prim.I64) for name in bound_by(exp) if name not in loops)


def _bodies(body: ir.Body) -> Iterator[ir.Body]:
    """A body, and all that stand inside of it."""
    yield body
    for stm in body.stms:
        for inner in bodies_inside(stm.exp):
            yield from _bodies(inner)


def _outermost_first(body: ir.Body) -> Iterator[ir.Stm]:
    """The statements of a body from the last to the first, then those inside of them."""
    todo = [body]
    while todo:
        inner: list[ir.Body] = []
        for each in todo:
            for stm in reversed(each.stms):
                yield stm
                inner += bodies_inside(stm.exp)
        todo = inner


def _replaced(body: ir.Body, old: ir.Stm, new: Iterable[ir.Stm]) -> ir.Body:
    """``body`` with other statements in place of one, at any depth."""
    stms: list[ir.Stm] = []
    for stm in body.stms:
        if stm is old:
            stms += new
        else:
            stms.append(stm_of(stm, map_inside(
                stm.exp, lambda inner: _replaced(inner, old, new),
                lambda lam: lambda_of(lam, lam.params, _replaced(lam.body, old, new), lam.ret))))
    return body_of(body, stms, body.result)


def _without(body: ir.Body, attribute: str) -> ir.Body:
    """``body`` without an attribute, at any depth."""
    stms: list[ir.Stm] = []
    for stm in body.stms:
        exp = map_inside(stm.exp, lambda inner: _without(inner, attribute),
                         lambda lam: lambda_of(lam, lam.params, _without(lam.body, attribute),
                                               lam.ret))
        kept = stm_of(stm, exp)
        if attribute in stm.attrs:
            kept = replace(kept, attrs=tuple(a for a in stm.attrs if a != attribute))
        stms.append(kept)
    return body_of(body, stms, body.result)


def _span(loc: Loc) -> Span:
    """The place of a statement; of a file that cannot be read, the line without its text."""
    try:
        source = read_source(Path(loc.file))
    except UserError:
        source = Source(loc.file, "\n" * (loc.line - 1) + " " * loc.column)
    lines = source.text.splitlines(keepends=True)[:loc.line - 1]
    start = sum(map(len, lines)) + loc.column - 1
    return Span(source, start, start + 1)
