"""Matching: what the parameters of a rule stand for in a program.

Both sides are graphs of statements.  A match begins at the statement that computes the result.  It
follows operands to the statements that compute these, in lambdas and out of them.  So the order of
statements does not matter.  Operands of commutative operations and inputs of array operations are
tried in every order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from runelift.ir import syntax as ir
from runelift.ir.meaning import apply
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import binders, free_vars
from runelift.ir.types import ArrayType, Atom, Const, Type, elem_of, row_of, shape_of
from runelift.rewrite.lift.outside.goals import (
    Goal,
    Match,
    Surroundings,
    base_of,
    inputs_paired,
    names_of,
    pairs,
    shown,
    whole_rows,
)
from runelift.rewrite.lift.outside.pattern import OutsideRule, definitions

MOST_STEPS = 20_000
"""The most comparisons of a match, so that one with very many orders comes to an end."""


def match_rule(rule: OutsideRule, stm: ir.Stm, around: Surroundings) -> Match | str:
    """The match of a rule's left side at a statement, or in words why there is none."""
    if type(stm.exp) is not type(rule.root.exp) or len(stm.pat) != len(rule.root.pat):
        return f"{shown(stm)} stands where the rule has {shown(rule.root)}"
    matcher = _Matcher({p.name: p.type for p in rule.before.params}, rule.markers,
                       definitions((rule.before.body,)), around)
    found = matcher.solve([("stm", rule.root, stm)], Match())
    if found is not None and found.open_calls:
        return "a result of a function of the rule does not occur in its left side"
    return (matcher.reason or "it has another form") if found is None else found


def alike(one: ir.Lambda, two: ir.Lambda, around: Surroundings) -> bool:
    """True if lambdas of a program differ in the names of variables only."""
    matcher = _Matcher({}, frozenset(), definitions((one.body,)), around)
    return matcher.solve([("lambda", one, (two, names_of(two)))], Match()) is not None


class _Matcher:
    """Looks for a pattern with parameters and definitions of its ``own`` in a program.

    ``markers`` are types that stand for type parameters.  ``reason`` says in words why that way
    failed that came furthest.
    """

    def __init__(self, params: Mapping[VName, Type], markers: frozenset[Prim],
                 own: Mapping[VName, ir.Stm], around: Surroundings) -> None:
        self.params, self.markers, self.own, self.around = params, markers, own, around
        self.reason = ""
        self._furthest = -1
        self._steps = 0

    # Search

    def solve(self, goals: list[Goal], match: Match) -> Match | None:
        """The first match in which all goals hold."""
        while goals:
            self._steps += 1
            if self._steps > MOST_STEPS:
                return None
            goal = goals.pop()
            if goal[0] == "value" and any(each[0] != "value" for each in goals):
                goals.insert(0, goal)  # once all parameters are known
                continue
            found = self._step(*goal, match)
            if found is None:
                return None
            if isinstance(found, list):
                goals += reversed(found)
                continue
            for choice in found:
                solved = self.solve([*goals, *reversed(choice)], match.copy())
                if solved is not None:
                    return solved
            return None
        return match

    def _step(self, kind: str, ours: Any, theirs: Any, match: Match
              ) -> list[Goal] | Iterator[list[Goal]] | None:
        """Goals that are equivalent to one, or several ways to reach it; None if it fails."""
        match kind:
            case "atom":
                return self._atom(ours, theirs, match)
            case "stm":
                return self._statement(ours, theirs, match)
            case "lambda":
                lam, order = theirs
                return self._lambda(ours, lam, order, match)
            case "body":
                self.around.learn((), theirs)
                match.inner.update(p.name for stm in theirs.stms for p in stm.pat)
                if any(isinstance(stm.exp, ir.Assert) for stm in theirs.stms):
                    return self._fail(match, "a check, as of an index, stands in a lambda there")
                if len(ours.result) != len(theirs.result):
                    return self._fail(match, "a lambda has other results")
                return pairs("atom", ours.result, theirs.result)
            case "type":
                return self._type(ours, theirs, match)
            case "value":
                value = self._value(ours, match)
                if value == theirs:
                    return []
                return self._fail(match, f"{base_of(theirs)} is given, where the rule has "
                                  f"{shown(self.own[ours])}")
        raise AssertionError(kind)

    def _fail(self, match: Match, reason: str) -> list[Goal] | None:
        """No goals; notes why a match fails if none has come further."""
        size = len(match.locals_) + len(match.atoms)
        if size > self._furthest:
            self._furthest, self.reason = size, reason
        return None

    # Atoms

    def _atom(self, ours: Atom, theirs: Atom, match: Match) -> list[Goal] | None:
        theirs = self._origin(theirs)
        if isinstance(ours, Const):
            if ours == theirs:
                return []
            return self._fail(match, f"{base_of(theirs)} stands where the rule has "
                              f"{base_of(ours)}")
        if ours in self.params:
            return self._parameter(ours, theirs, match)
        if ours in match.locals_:
            if match.locals_[ours] == theirs:
                return []
            return self._fail(match, f"{base_of(theirs)} stands where the rule has "
                              f"{base_of(match.locals_[ours])}")
        stm = self.own.get(ours)
        if stm is None:  # of both sides, where two parts of a program are compared
            return [] if ours == theirs else self._fail(match, f"{ours} is not {theirs}")
        if isinstance(stm.exp, ir.Call):
            return self._application(stm, ours, theirs, match)
        if isinstance(theirs, Const) and isinstance(stm.exp, ir.PrimOp):
            return [("value", ours, theirs)]
        other = self.around.defs.get(theirs) if isinstance(theirs, VName) else None
        if other is None:
            return self._fail(match, f"{base_of(theirs)} is given, where the rule has "
                              f"{shown(stm)}")
        place = [p.name for p in stm.pat].index(ours)
        if len(stm.pat) != len(other.pat) or other.pat[place].name != theirs:
            return self._fail(match, f"{shown(other)} stands where the rule has {shown(stm)}")
        return [("stm", stm, other)]

    def _origin(self, atom: Atom) -> Atom:
        """The atom that an atom of the program is a copy of."""
        while isinstance(atom, VName) and (stm := self.around.defs.get(atom)) is not None and (
                isinstance(stm.exp, ir.AtomExp)):
            atom = stm.exp.atom
        return atom

    def _parameter(self, ours: VName, theirs: Atom, match: Match) -> list[Goal] | None:
        if ours in match.atoms:
            if match.atoms[ours] == theirs:
                return []
            return self._fail(match, f"'{ours.base}' would be {base_of(match.atoms[ours])} and "
                              f"{base_of(theirs)}")
        if theirs in match.inner:
            return self._fail(match, f"'{ours.base}' would be {base_of(theirs)}, which is known "
                              "only in a lambda")
        match.atoms[ours] = theirs
        type_, given = self.params[ours], self.around.type(theirs)
        own, theirs_ = shape_of(type_), shape_of(given)
        if len(own) > len(theirs_) or (
                len(own) < len(theirs_) and elem_of(type_) not in self.markers):
            return self._fail(match, f"'{ours.base}' would be {base_of(theirs)}, an array of "
                              "another rank")
        return [("type", type_, given), *pairs("atom", own, theirs_[:len(own)])]

    def _type(self, ours: Type, theirs: Type, match: Match) -> list[Goal] | None:
        """Elements of types agree; their sizes follow from the sizes of parameters.

        A type parameter stands for the rest of a type: a primitive type, or rows.
        """
        prim, rank = elem_of(ours), len(shape_of(ours))
        if prim not in self.markers:
            if rank != len(shape_of(theirs)):
                return self._fail(match, "an array of another rank stands there")
            if prim is not elem_of(theirs):
                return self._fail(match, f"a value of type {elem_of(theirs)} stands there, not "
                                  f"{prim}")
            return []
        if rank > len(shape_of(theirs)):
            return self._fail(match, "an array of another rank stands there")
        rest = row_of(theirs, rank)
        known = match.types.setdefault(prim, rest)
        if elem_of(known) is not elem_of(rest) or len(shape_of(known)) != len(shape_of(rest)):
            return self._fail(match, "a type parameter would be two types")
        if not match.inner.isdisjoint(a for a in shape_of(rest) if isinstance(a, VName)):
            return self._fail(match, "rows have sizes that are known only in a lambda")
        return []

    def _value(self, ours: Atom, match: Match) -> Const | None:
        """The value of a scalar of the pattern, if its parameters are constants."""
        if isinstance(ours, Const):
            return ours
        if ours in self.params:
            known = match.atoms.get(ours)
            return known if isinstance(known, Const) else None
        stm = self.own.get(ours)
        if stm is None or not isinstance(stm.exp, ir.PrimOp) or stm.exp.may_trap:
            return None
        values = [self._value(arg, match) for arg in stm.exp.args]
        if any(value is None for value in values):
            return None
        op, prim = stm.exp.op, stm.exp.prim
        found = apply(op, prim, *(prim.dtype.type(v.value) for v in values if v is not None))
        return Const(found.item(), OPS[op].result(prim))

    # Functions

    def _application(self, stm: ir.Stm, ours: VName, theirs: Atom, match: Match
                     ) -> list[Goal] | None:
        """Take what computes ``theirs`` for the function that is applied.

        Its free names but for the arguments must be known outside of the matched lambdas.  Of
        several results, the last that is found completes the function.
        """
        assert isinstance(stm.exp, ir.Call)
        match.locals_[ours] = theirs
        if any(p.name not in match.locals_ for p in stm.pat):
            match.open_calls.add(stm.pat[0].name)
            return []
        match.open_calls.discard(stm.pat[0].name)
        results = tuple(match.locals_[p.name] for p in stm.pat)
        args = [match.locals_[arg] for arg in stm.exp.args if isinstance(arg, VName)]
        stms = self._computation(results, {a for a in args if isinstance(a, VName)}, match.inner)
        if stms is None:
            return self._fail(match, f"what stands for '{stm.exp.function.base}' depends on more "
                              "than its arguments")
        params = list[ir.Param]()
        for arg in args:
            name = (arg if isinstance(arg, VName) and all(p.name != arg for p in params) else
                    self.around.names.fresh("unused"))
            params.append(ir.Param(name, self.around.type(arg)))
        types = tuple(map(self.around.type, results))
        lam = ir.Lambda(tuple(params), ir.Body(stms, results), types)
        before = match.functions.setdefault(stm.exp.function, lam)
        if before is not lam and not alike(before, lam, self.around):
            return self._fail(match, f"'{stm.exp.function.base}' would be two functions")
        return pairs("type", [p.type for p in stm.pat], types)

    def _computation(self, wanted: Sequence[Atom], given: set[VName], inner: set[VName]
                     ) -> tuple[ir.Stm, ...] | None:
        """The statements of matched lambdas that compute atoms from ``given`` names, in order.

        None if they need another variable of these lambdas.
        """
        found: dict[VName, ir.Stm] = {}
        complete = True

        def visit(atom: Atom) -> None:
            nonlocal complete
            if not isinstance(atom, VName) or atom in given or atom not in inner or atom in found:
                return
            stm = self.around.defs.get(atom)
            if stm is None:
                complete = False
                return
            for name in sorted(free_vars(stm)):
                visit(name)
            for param in stm.pat:
                found[param.name] = stm

        for each in wanted:
            visit(each)
        stms = {id(stm): stm for stm in found.values()}
        return tuple(stms.values()) if complete else None

    # Expressions

    def _statement(self, ours: ir.Stm, theirs: ir.Stm, match: Match
                   ) -> list[Goal] | Iterator[list[Goal]] | None:
        """Match two statements: their expressions, then the names that they bind."""
        one, two = ours.exp, theirs.exp
        if type(one) is not type(two):
            return self._fail(match, f"{shown(theirs)} stands where the rule has {shown(ours)}")
        for param, other in zip(ours.pat, theirs.pat, strict=True):
            match.locals_[param.name] = other.name
        match.statements[theirs.pat[0].name] = theirs
        types: list[Goal] = [("type", p.type, q.type)
                              for p, q in zip(ours.pat, theirs.pat, strict=True)]
        match one, two:
            case ir.PrimOp(op, prim, args), ir.PrimOp(other_op, other_prim, others):
                if (op, prim) != (other_op, other_prim):
                    return self._fail(match, f"{other_op}.{other_prim} stands where the rule has "
                                      f"{op}.{prim}")
                if OPS[op].commutative:
                    return iter([[*types, *pairs("atom", args, order)]
                                 for order in (others, others[::-1])])
                return [*types, *pairs("atom", args, others)]
            case ir.Map(), ir.Map():
                types.append(("atom", one.width, two.width))
                choices = [[*types, *choice] for choice in inputs_paired(one, two)]
                return iter(choices) if choices else self._fail(match, "a map has other inputs")
            case ir.Index(array, dims, checked), ir.Index(given_array, given_dims, tested):
                if tested and not checked:
                    return self._fail(match, f"{shown(theirs)} checks its index")
                rows = whole_rows(self.around.types[given_array], len(dims), given_dims)
                return self._parts((array, dims), (given_array, given_dims[:len(dims)] if rows else
                                                   given_dims), match, types)
            case ir.Rearrange(perm, array), ir.Rearrange(given_perm, given_array):
                rest = tuple(range(len(perm), len(given_perm)))
                return self._parts((array, (*perm, *rest)), (given_array, given_perm), match, types)
            case ir.Reshape(shape, array), ir.Reshape(given_shape, given_array):
                return self._parts((array, shape), (given_array, given_shape[:len(shape)]), match,
                                   types)
            case ir.Loop(), ir.Loop():
                return self._loop(one, two, match, types)
        mine = [getattr(one, f.name) for f in fields(one)]
        return self._parts(mine, [getattr(two, f.name) for f in fields(two)], match, types)

    def _parts(self, ours: Any, theirs: Any, match: Match, goals: list[Goal]
               ) -> list[Goal] | None:
        """Add goals for the parts of expressions; None if they differ."""
        match ours:
            case VName() | Const():
                if not isinstance(theirs, VName | Const):
                    return self._fail(match, "an index stands where the rule has a slice")
                goals.append(("atom", ours, theirs))
            case ir.Lambda():
                goals.append(("lambda", ours, (theirs, names_of(theirs))))
            case ir.Body():
                goals.append(("body", ours, theirs))
            case Prim() | ArrayType():
                goals.append(("type", ours, theirs))
            case tuple() | list():
                if len(ours) != len(theirs):
                    return self._fail(match, "an operation has other operands there")
                for mine, other in zip(ours, theirs, strict=True):
                    if self._parts(mine, other, match, goals) is None:
                        return None
            case ir.Operator(lam, neutral, comm):
                if comm and not theirs.comm:
                    return self._fail(match, "an operator is not known to be commutative")
                return self._parts((lam, neutral), (theirs.lam, theirs.neutral), match, goals)
            case _ if is_dataclass(ours):
                if type(ours) is not type(theirs):
                    return self._fail(match, "an index stands where the rule has a slice")
                return self._parts([getattr(ours, f.name) for f in fields(ours)],
                                   [getattr(theirs, f.name) for f in fields(theirs)], match, goals)
            case _:
                if ours != theirs:
                    return self._fail(match, f"{theirs} stands where the rule has {ours}")
        return goals

    def _loop(self, ours: ir.Loop, theirs: ir.Loop, match: Match, goals: list[Goal]
              ) -> list[Goal] | None:
        if len(ours.params) != len(theirs.params):
            return self._fail(match, "a loop carries other values")
        for mine, other in zip(ours.params, theirs.params, strict=True):
            goals += [("atom", mine.init, other.init), ("type", mine.param.type, other.param.type)]
            match.locals_[mine.param.name] = other.param.name
            match.inner.add(other.param.name)
            self.around.types[other.param.name] = other.param.type
        match ours.form, theirs.form:
            case ir.ForLoop(index, bound), ir.ForLoop(other_index, other_bound):
                match.locals_[index] = other_index
                match.inner.add(other_index)
                self.around.types[other_index] = Prim.I64
                goals.append(("atom", bound, other_bound))
            case ir.WhileLoop(cond), ir.WhileLoop(other_cond):
                if match.locals_[cond] != other_cond:
                    return self._fail(match, "a loop ends otherwise")
            case _:
                return self._fail(match, "a loop has another form")
        return [*goals, ("body", ours.body, theirs.body)]

    def _lambda(self, ours: ir.Lambda, theirs: ir.Lambda, order: Sequence[VName], match: Match
                ) -> list[Goal] | None:
        """Match two lambdas; ``order`` gives the parameters of the lambda ``theirs`` in order."""
        if len(ours.params) != len(order):
            return self._fail(match, "a lambda has other parameters")
        types = {p.name: p.type for p in theirs.params}
        self.around.learn(theirs.params, theirs.body)
        match.inner.update(binders(theirs))
        goals: list[Goal] = []
        for param, name in zip(ours.params, order, strict=True):
            match.locals_[param.name] = name
            goals.append(("type", param.type, types[name]))
        return [*goals, ("body", ours.body, theirs.body)]
