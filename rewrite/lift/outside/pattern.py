"""The sides of a rule from outside, and the conditions that its left side must fulfil.

A parameter of a rule stands for an expression of a program.  One that is a function stands for a
lambda, as far as it is applied to distinct variables that lambdas of the left side bind.  Then
there is at most one such lambda.

Source: Miller, A logic programming language with lambda-abstraction, function variables, and simple
unification, Journal of Logic and Computation 1(4), 1991.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from runelift.ir import syntax as ir
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import bodies_inside, free_vars, lambdas_of, statements_inside
from runelift.ir.types import shape_of


class NoPattern(Exception):
    """The left side of a rule cannot be looked for in programs; the reason in words."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A condition about functions: parameter ``op`` is ``associative`` or ``commutative``.

    ``neutral`` is the parameter that is its neutral element.
    """

    law: str
    op: VName
    neutral: VName | None = None


@dataclass(frozen=True, slots=True)
class OutsideRule:
    """A rule: its sides as functions of core IR with the same parameters.

    ``functions`` are those parameters that are functions.  The condition ``where`` is a function
    that returns a bool.  ``markers`` are primitive types that stand for the rule's type parameters.
    ``span`` is the rule's name in its file.
    """

    name: str
    law: str
    condition: str
    always: bool
    span: Span
    before: ir.Fun
    after: ir.Fun
    where: ir.Fun | None
    functions: frozenset[VName]
    markers: frozenset[Prim]
    promises: tuple[Promise, ...]
    root: ir.Stm = field(init=False)
    """The statement of ``before`` that computes its results."""
    given: frozenset[tuple[VName, VName | None]] = field(init=False)
    """Functions that are operators of reductions or scans of ``before``, with neutral elements."""

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """The notes of the law."""
        return (("Provided", self.condition),) if self.condition else ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", _root(self.before))
        _check_calls(self.before.body, self.functions, frozenset())
        _check_parameters(self)
        object.__setattr__(self, "given", frozenset(_operators(self.before.body)))


def _root(fun: ir.Fun) -> ir.Stm:
    """The statement that computes all results of the left side."""
    results = fun.body.result
    for stm in fun.body.stms:
        if results and {p.name for p in stm.pat} == set(results):
            if isinstance(stm.exp, ir.Call):
                raise NoPattern("it is a function of the rule applied, so it matches everything")
            return stm
    made = {p.name for stm in fun.body.stms for p in stm.pat}
    if not made & set(results):
        raise NoPattern("it is a parameter or constant, so it matches everything")
    raise NoPattern("several array operations compute its result, and a match begins at one")


def _check_calls(body: ir.Body, functions: frozenset[VName], bound: frozenset[VName]) -> None:
    """Raise NoPattern unless functions are applied to distinct variables that lambdas bind."""
    for stm in body.stms:
        match stm.exp:
            case ir.Call(function, args) if function in functions and (
                    len(set(args)) < len(args) or not bound.issuperset(args)):
                raise NoPattern(
                    f"'{function.base}' is applied to something else than distinct variables of "
                    "the lambdas around, so that a program does not say which function it is")
            case ir.Assert():
                if bound:
                    raise NoPattern("it checks something in a lambda, such as an index")
        for lam in lambdas_of(stm.exp):
            _check_calls(lam.body, functions, bound | {p.name for p in lam.params})
        for inner in set(bodies_inside(stm.exp)) - {lam.body for lam in lambdas_of(stm.exp)}:
            _check_calls(inner, functions, bound)


def _check_parameters(rule: OutsideRule) -> None:
    """Raise NoPattern if other parts need a parameter that the left side does not decide about."""
    decided = names_in(rule.before)
    for fun in (rule.after, rule.where):
        if fun is None:
            continue
        for param, own in zip(rule.before.params, fun.params, strict=True):
            if own.name in names_in(fun) and param.name not in decided:
                raise NoPattern(f"parameter '{param.name.base}' does not occur in it")


def names_in(fun: ir.Fun) -> set[VName]:
    """The names that ``fun``, one side of a rule, uses.

    These are variables, called functions, and the sizes in the types of used parameters.
    """
    used = free_vars(fun.body) | {stm.exp.function for stm in statements_inside((fun.body,))
                                  if isinstance(stm.exp, ir.Call)}
    return used | {size for p in fun.params if p.name in used for size in shape_of(p.type)
                   if isinstance(size, VName)}


def _operators(body: ir.Body) -> Iterator[tuple[VName, VName | None]]:
    """Functions that are operators of a reduction or scan, each with its neutral element."""
    for stm in statements_inside((body,)):
        if isinstance(stm.exp, ir.Redomap | ir.Scanomap):
            for op in stm.exp.ops:
                found = applied(op.lam)
                if found is not None:
                    neutral, *more = op.neutral
                    yield found, neutral if isinstance(neutral, VName) and not more else None


def applied(lam: ir.Lambda) -> VName | None:
    """The function that a lambda is: it applies the function to its parameters in order."""
    match lam.body:
        case ir.Body((ir.Stm(pat, ir.Call(function, args)),), result) if (
                args == tuple(p.name for p in lam.params)
                and result == tuple(p.name for p in pat)):
            return function
    return None


def definitions(bodies: Iterable[ir.Body]) -> dict[VName, ir.Stm]:
    """The statement that binds each name, also inside of lambdas."""
    return {p.name: stm for stm in statements_inside(bodies) for p in stm.pat}
