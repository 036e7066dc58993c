"""One rewrite point at one place: the program after it, or the reason why it does not match."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

from runelift.ir.analysis.consumption import consumed_names
from runelift.ir.base.errors import CompilerBug, CompilerLimitation
from runelift.ir.check import check
from runelift.ir.constraints import Constraint
from runelift.ir.names import Names, VName
from runelift.ir.points import Choice, Request, settings
from runelift.ir.syntax import Body, Fun, Lambda, Program, Stm
from runelift.ir.traverse import body_of, lambda_of, map_inside, statements_inside, stm_of
from runelift.ir.types import i64
from runelift.rewrite.engine.forward import ForwardWalk, copy_propagation
from runelift.rewrite.engine.rule import Rewriting, RuleBook
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.lift.conditions import Refuted, settled, under
from runelift.rewrite.lift.point import Arguments, Point, Rewrite

_NO_RULES = RuleBook([])
KINDS = {"AtomExp": "a copy", "PrimOp": "an operation on scalars", "Convert": "a conversion",
         "ArrayLit": "an array literal", "Redomap": "a reduction", "Scanomap": "a scan",
         "Hist": "a histogram", "Accumulate": "a scatter with an accumulator",
         "If": "a branch", "Index": "an access to an array", "Update": "an update",
         "Iota": "a row of numbers"}
"""Expressions in words, where their own names would not do."""


class At(ForwardWalk):
    """A walk that rewrites the statement that binds a name, and changes nothing else."""

    def __init__(self, fun: Fun, names: Names, target: VName) -> None:
        super().__init__(_NO_RULES, Rewriting(names, frozenset({copy_propagation.name})),
                         consumed_names(Program((fun,))))
        self.target = target

    def statement(self, stm: Stm, out: list[Stm], steps: int) -> None:
        """Append the statement to ``out`` unchanged, or as :meth:`reached` rewrites it."""
        if stm.pat and stm.pat[0].name == self.target:
            for each in self.reached(stm):
                self.scope.define(each)
                out.append(each)
        else:
            super().statement(stm, out, steps)

    def reached(self, stm: Stm) -> tuple[Stm, ...]:
        """The statements that stand in place of it."""
        raise NotImplementedError


class _Applying(At):
    """The walk that applies a point."""

    def __init__(self, fun: Fun, names: Names, target: VName, point: Point, given: Arguments,
                 rest: tuple[str, ...], needs: list[Constraint] | None) -> None:
        super().__init__(fun, names, target)
        self.point, self.given, self.rest = point, given, rest
        self.needs = needs
        self.known = {p.name for p in fun.params}
        self.reason = ""
        self.inner: VName | None = None

    def reached(self, stm: Stm) -> tuple[Stm, ...]:
        """The rewritten statements, if the point matches."""
        plain = replace(stm, attrs=settings(stm))
        found = rewritten(self.scope, plain, self.point, self.given)
        if isinstance(found, str):
            self.reason = found
            return (stm,)
        made, self.inner = found.stms, found.inner
        if self.rest:
            made = _with_points(made, self.rest, found.inner or stm.pat[0].name)
        if self.needs is not None and all(
                each.variables() <= self.known for each in found.constraints):
            self.needs += found.constraints
            return made
        return under(self.scope, plain, made, found.constraints)


def _in_words(head: type) -> str:
    return KINDS.get(head.__name__, f"a {head.__name__.lower()}")


def rewritten(scope: Scope, stm: Stm, point: Point, given: Arguments) -> Rewrite | str:
    """The rewrite of a statement by a point, with the constraints that are not known to hold.

    Else the reason why it does not match; CompilerBug unless equal names and types are bound.
    """
    if not isinstance(stm.exp, point.heads):
        wanted = " or ".join(map(_in_words, point.heads))
        return f"it is for {wanted}, and this is {_in_words(type(stm.exp))}"
    try:
        found = point.apply(scope, stm, given)
    except CompilerLimitation as error:
        return str(error)
    if isinstance(found, str):
        return found
    bound = {p.name: p.type for each in found.stms for p in each.pat}
    if any(bound.get(p.name) != p.type for p in stm.pat):
        raise CompilerBug(f"point '{point.name}' changes the names or types that a statement "
                          "binds")
    left = [settled(scope, each) for each in found.constraints]
    if reasons := [each.reason for each in left if isinstance(each, Refuted)]:
        return "; ".join(reasons)
    return replace(found, constraints=tuple(
        each for each in left if each is not None and not isinstance(each, Refuted)))


def given_of(point: Point, request: Request, values: Mapping[str, int]) -> Arguments:
    """The values of the parameters of a point, with ``values`` for names."""
    return {kind.name: str(each) if isinstance(kind, Choice) else i64(
                values[each] if isinstance(each, str) else each)
            for kind, each in zip(point.parameters, request.arguments, strict=True)}


@dataclass(frozen=True, slots=True)
class Applied:
    """A function after a point, and ``inner``: a name bound by the statement for further points."""

    fun: Fun
    inner: VName | None


def apply_point(fun: Fun, names: Names, target: VName, point: Point, given: Arguments,
                rest: tuple[str, ...] = (), needs: list[Constraint] | None = None
                ) -> Applied | str:
    """``fun`` with a point applied to the statement that binds ``target`` first, or the reason.

    ``rest`` are the points that follow; the rewrite says which statement gets them.  Where a
    condition is not known to hold, the statement stays as it is, behind a test.  If there are
    ``needs``, conditions about arguments are added to them instead.
    """
    before = copy(names)
    walk = _Applying(fun, names, target, point, given, rest, needs)
    try:
        new = walk.fun(fun)
    except CompilerLimitation as error:
        names.back_to(before)
        return str(error)
    if walk.reason:
        names.back_to(before)
        return walk.reason
    try:
        check(Program((new,)), "core")
    except CompilerBug as bug:
        raise CompilerBug(f"after point '{point.name}' at {target}: {bug}") from bug
    return Applied(new, walk.inner)


def with_attributes(fun: Fun, change: Mapping[VName, tuple[str, ...]]) -> Fun:
    """``fun`` with other attributes of the statements that bind these names first."""
    if not change:
        return fun

    def body(old: Body) -> Body:
        stms = []
        for stm in old.stms:
            new = stm_of(stm, map_inside(stm.exp, body, lambda_))
            if new.pat and (name := new.pat[0].name) in change:
                new = replace(new, attrs=change[name])
            stms.append(new)
        return body_of(old, stms, old.result)

    def lambda_(old: Lambda) -> Lambda:
        return lambda_of(old, old.params, body(old.body), old.ret)

    return replace(fun, body=body(fun.body))


def _with_points(stms: tuple[Stm, ...], points: tuple[str, ...], name: VName) -> tuple[Stm, ...]:
    """Statements of which the one that binds ``name`` has further points in front."""
    found = next((each for each in statements_inside([Body(stms, ())])
                  if any(p.name == name for p in each.pat)), None)
    if found is None:
        raise CompilerBug(f"no statement of a rewrite binds {name}, which gets further points")
    holder = Fun("", (), (), Body(stms, ()))
    return with_attributes(holder, {found.pat[0].name: (*points, *found.attrs)}).body.stms
