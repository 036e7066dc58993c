"""Operators of derivatives: nodes of a lambda, its arguments, and tangents or seeds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

from runelift.frontend.elaborate.scalars import Evaluator, Run
from runelift.frontend.elaborate.values import Dynamic, TupleValue, Value, leaves, rebuild
from runelift.ir.analysis.activity import spread
from runelift.ir.base.errors import CompilerLimitation, Diagnostic, ProgramError, ProgramWarning
from runelift.ir.base.source import Span
from runelift.ir.syntax import Jvp, Lambda, Vjp, WithVjp
from runelift.ir.traverse import free_vars, statements_inside
from runelift.ir.types import Atom, Type, shape_of


@dataclass(frozen=True, slots=True)
class _Applied:
    """A function as a core lambda, with its result as a value."""

    lam: Lambda
    result: Value


def _atoms(value: Value) -> tuple[Atom, ...]:
    return tuple(leaf.atom for leaf in leaves(value))


def _lambda(e: Evaluator, f: Value, rows: list[Value], span: Span) -> _Applied:
    """``f`` of values shaped as ``rows``; the sizes of its results are known outside."""
    lam, result, scope = e.arrays.lam(lambda args: e.apply(f, args, span), rows, span)
    for size in (size for type_ in lam.ret for size in shape_of(type_)):
        if not e.builder.release(size, scope):
            raise ProgramError(Diagnostic(
                "irregular-array", span, "The size of this function's result is known only "
                "inside of it, so its derivative has no type.", hints=(
                    "If the size is known, say so in the function: (e :> [n]t).",)))
    return _Applied(replace(lam, body=e.builder.body(scope, lam.body.result)), result)


def _like(value: Value, other: Value, e: Evaluator, span: Span) -> Value:
    """A tangent with all the parts of its value."""
    completed = e.arrays.complete(other, value, span)
    if len(_atoms(completed)) != len(_atoms(value)):
        raise CompilerLimitation(f"{span}: the seed of a derivative has a constructor that the "
                                 "value never has.")
    return completed


def _derived(e: Evaluator, f: Value, x: Value, given: Value, span: Span, *, forward: bool
             ) -> tuple[Value, Value]:
    """The result of ``f x``, and its tangent or the adjoint of ``x``."""
    applied = _lambda(e, f, [x], span)
    given = _like(x if forward else applied.result, given, e, span)
    _warn(applied.lam, span, forward=forward)
    node = (Jvp if forward else Vjp)(applied.lam, _atoms(x), _atoms(given))
    second = applied.result if forward else x
    types: tuple[Type, ...] = (*applied.lam.ret, *(leaf.type for leaf in leaves(second)))
    count = len(applied.lam.ret)
    bases = ("y",) * count + (("y_tan",) if forward else ("x_adj",)) * (len(types) - count)
    found = [Dynamic(name, type_) for name, type_ in zip(
        e.builder.emit(node, types, bases, span), types, strict=True)]
    return (rebuild(applied.result, iter(found[:count])), rebuild(second, iter(found[count:])))


def _warn(lam: Lambda, span: Span, *, forward: bool) -> None:
    """Warn of a derivative that is zero for all arguments, and of adjoints that miss names."""
    varied = {p.name for p in lam.params}
    found: list[Diagnostic] = []
    if not any(spread(lam.body, varied)):
        found.append(Diagnostic(
            "constant-derivative", span, "This derivative is always zero: no path from the "
            "argument to the result can be differentiated.", severity="warning"))
    for stm in () if forward else statements_inside((lam.body,)):
        if isinstance(stm.exp, WithVjp) and not varied.isdisjoint(free_vars(stm.exp.lam)):
            place = None if stm.loc is None else stm.loc.span((span.source,))
            found.append(Diagnostic(
                "custom-adjoint-captures", place or span, "The function of with_vjp reads names "
                "that vary besides its argument.  Its adjoint has no part for them, so the "
                "derivative leaves them out.", hints=("Let its argument have them.",),
                severity="warning"))
    for each in found:
        warnings.warn(ProgramWarning(each), stacklevel=2)


def _operator(*, forward: bool, both: bool) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        f, x, given = args
        pair = _derived(e, f, x, given, span, forward=forward)
        return TupleValue(pair) if both else pair[1]
    return run


def _several(*, forward: bool, both: bool) -> Run:
    """A map over the seeds."""
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        f, x, seeds = args
        found = e.arrays.map(lambda row: _derived(e, f, x, row[0], span, forward=forward)[1],
                             [seeds], span)
        return TupleValue((e.apply(f, (x,), span), found)) if both else found
    return run


def _custom(e: Evaluator, f: Value, back: Value, x: Value, span: Span, *, tape: bool) -> Value:
    """``f x`` with its own adjoint; without a tape, ``back`` gets the result."""
    applied = _lambda(e, f, [x], span)
    kept = result = applied.result
    lam = applied.lam
    if tape:
        assert isinstance(applied.result, TupleValue)
        kept, result = applied.result.items
    else:
        lam = Lambda(lam.params, replace(lam.body, result=lam.body.result * 2), lam.ret * 2)
    rows: list[Value] = [TupleValue((kept, result))] if tape else [kept, result]
    types = tuple(leaf.type for leaf in leaves(result))
    node = WithVjp(lam, _lambda(e, back, rows, span).lam, _atoms(x), len(types))
    names = e.builder.emit(node, types, ("y",) * len(types), span)
    return rebuild(result, map(Dynamic, names, types))


def _with_vjp(*, tape: bool) -> Run:
    def run(e: Evaluator, args: tuple[Value, ...], span: Span) -> Value:
        f, back, x = args
        return _custom(e, f, back, x, span, tape=tape)
    return run


DERIVATIVES: dict[str, tuple[int, Run]] = {
    "jvp": (3, _operator(forward=True, both=False)),
    "jvp2": (3, _operator(forward=True, both=True)),
    "vjp": (3, _operator(forward=False, both=False)),
    "vjp2": (3, _operator(forward=False, both=True)),
    "jmp": (3, _several(forward=True, both=False)),
    "jmp2": (3, _several(forward=True, both=True)),
    "mjp": (3, _several(forward=False, both=False)),
    "mjp2": (3, _several(forward=False, both=True)),
    "with_vjp": (3, _with_vjp(tape=False)),
    "with_vjp_tape": (3, _with_vjp(tape=True)),
}
"""The operators, with the number of their arguments."""
