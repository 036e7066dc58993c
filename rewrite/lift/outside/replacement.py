"""The statements that a rule from outside puts in the place of one, at a match."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import free_vars, rename_body
from runelift.ir.types import TRUE, shape_of
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.outside.conditions import as_constraints, broken_promise, condition
from runelift.rewrite.lift.outside.goals import Match, Surroundings
from runelift.rewrite.lift.outside.instance import instance, speaks_of_elements
from runelift.rewrite.lift.outside.matching import match_rule
from runelift.rewrite.lift.outside.pattern import OutsideRule
from runelift.rewrite.lift.point import Arguments, Point, Rewrite


@dataclass(frozen=True, slots=True)
class Place:
    """The knowledge at a statement: names, consumed arrays, and names bound in its body."""

    around: Surroundings
    consumes: Callable[[VName], bool]
    here: Callable[[VName], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """A match, and the statements that replace the statement where it ends.

    If the condition ``holds`` is not known to be true, it decides when the program runs.
    """

    match: Match
    stms: tuple[ir.Stm, ...]
    holds: ir.Body


def replacement(rule: OutsideRule, stm: ir.Stm, place: Place) -> Found | str:
    """The right side of a rule in place of a statement; in words why the rule does not apply."""
    match = match_rule(rule, stm, place.around)
    if isinstance(match, str):
        return match
    if any(map(shape_of, match.types.values())) and any(
            fun is not None and speaks_of_elements(fun, rule.markers)
            for fun in (rule.after, rule.where)):
        return "a margin of rows would be needed"
    if promise := broken_promise(rule, match):
        return promise
    used = {a for a in match.atoms.values() if isinstance(a, VName)}
    used |= {name for lam in match.functions.values() for name in free_vars(lam)}
    for name in sorted(used):
        if shape_of(place.around.types[name]) and place.consumes(name):
            return f"'{name.base}' is changed in place"
    holds: ir.Body | str = ir.Body((), (TRUE,))
    if rule.where is not None:
        holds = condition(rule, match, place.around)
    if isinstance(holds, str):
        return holds
    return Found(match, _right_side(rule, match, stm, place), holds)


def chosen(found: Found, stm: ir.Stm, place: Place) -> tuple[tuple[ir.Stm, ...], ir.Stm | None]:
    """The statements that replace ``stm``; with its copy if a test at run time decides."""
    if found.holds.result == (TRUE,):
        return found.stms, None
    names, wanted = place.around.names, tuple(p.name for p in stm.pat)
    before, after = (rename_body(ir.Body(stms, wanted), names)
                     for stms in (_left_side(found.match, stm, place), found.stms))
    choice = ir.If(found.holds.result[0], after, before, tuple(p.type for p in stm.pat))
    return (*found.holds.stms, ir.Stm(stm.pat, choice, (), stm.loc)), before.stms[-1]


def as_point(rule: OutsideRule) -> Point:
    """A rule as a rewrite point without parameters, which has the rule's name."""
    def apply(scope: Scope, stm: ir.Stm, given: Arguments) -> Rewrite | str:
        around = Surroundings(ChainMap({}, scope.defs), ChainMap({}, scope.types), scope.names)
        place = Place(around, scope.consumes, scope.here)
        found = replacement(rule, stm, place)
        if isinstance(found, str):
            return found
        needs = as_constraints(found.holds, rule.name, span=stm.loc)
        if needs is not None:
            return Rewrite(found.stms, needs)
        return Rewrite(chosen(found, stm, place)[0])

    return Point(rule.name, rule.law, rule.notes, (type(rule.root.exp),), False, apply)


def _results(rule: OutsideRule, stm: ir.Stm) -> list[VName]:
    """The names that a statement binds to the results of the left side, in their order."""
    ours = {p.name: q.name for p, q in zip(rule.root.pat, stm.pat, strict=True)}
    return [ours[a] for a in rule.before.body.result if isinstance(a, VName)]


def _right_side(rule: OutsideRule, match: Match, stm: ir.Stm, place: Place) -> tuple[ir.Stm, ...]:
    """The right side; its last statements bind what ``stm`` does."""
    wanted, fun = _results(rule, stm), rule.after
    made = {p.name for each in fun.body.stms for p in each.pat if not isinstance(each.exp, ir.Call)}
    bound = {a: name for a, name in zip(fun.body.result, wanted, strict=True)
             if isinstance(a, VName) and a in made}
    after = instance(fun, match, rule.before.params, place.around.names, bound)
    pat = {p.name: p for p in stm.pat}
    named = [replace(each, pat=tuple(pat.get(p.name, p) for p in each.pat),
                     attrs=stm.attrs if any(p.name in pat for p in each.pat) else each.attrs)
             for each in after.stms]
    copies = [ir.Stm((pat[name],), ir.AtomExp(a), (), stm.loc)
              for a, name in zip(after.result, wanted, strict=True) if a != name]
    return (*_at(named, stm), *copies)


def _left_side(match: Match, stm: ir.Stm, place: Place) -> tuple[ir.Stm, ...]:
    """The statements of a match that stand in the body of its last one, in order."""
    matched = {name: each for name, each in match.statements.items()
               if name not in match.inner and place.here(name)}
    ordered: dict[VName, ir.Stm] = {}

    def visit(each: ir.Stm) -> None:
        for name in sorted(free_vars(each)):
            made = place.around.defs.get(name)
            if made is not None and made.pat[0].name in matched.keys() - ordered.keys():
                visit(made)
        ordered[each.pat[0].name] = each

    visit(stm)
    return tuple(ordered.values())


def _at(stms: Iterable[ir.Stm], stm: ir.Stm) -> tuple[ir.Stm, ...]:
    """Statements with the source position of the statement ``stm``."""
    return tuple(replace(each, loc=stm.loc) for each in stms)
