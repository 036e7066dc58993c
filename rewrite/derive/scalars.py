"""Derivatives of primitive operations and conversions."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.analysis.operands import passes
from runelift.ir.base.errors import NoDerivative
from runelift.ir.partials import PARTIALS, UNKNOWN, Partial
from runelift.ir.types import Atom
from runelift.rewrite.derive.emitter import Atoms, Emitter
from runelift.rewrite.derive.walk import Forward, Reverse, forward, transposed


def _partials(emit: Emitter, stm: ir.Stm, exp: ir.PrimOp) -> tuple[Partial[Atom] | None, ...]:
    """The partial derivatives of a primitive operation, by each operand."""
    if exp.op in UNKNOWN:
        raise NoDerivative(f"The function {exp.op} has no derivative here.", stm.loc)
    return PARTIALS[exp.op](Atoms(emit, exp.prim), exp.args, stm.pat[0].name)


def _reinterpreted(emit: Emitter, exp: ir.PrimOp, tangent: Atom) -> Atom:
    """The bits of a tangent, for an operation that passes bits."""
    prim = emit.type(tangent)
    return emit.op("bits", prim, tangent) if exp.op == "bits" else tangent  # type: ignore[arg-type]


@forward(ir.PrimOp)
def forward_operation(walk: Forward, stm: ir.Stm, exp: ir.PrimOp) -> None:
    """y = op(x, ...) ⇒ ẏ = ∂₁op · ẋ + ...

    Provided: the table of partial derivatives has a row for op.
    Because: the chain rule; operands without a tangent add nothing.
    """
    walk.emit.add(stm)
    total: Atom | None = None
    for partial, arg in zip(_partials(walk.emit, stm, exp), exp.args, strict=True):
        tangent = walk.tangent(arg)
        if partial is None or tangent is None:
            continue
        part = walk.emit.scaled(partial, _reinterpreted(walk.emit, exp, tangent))
        total = part if total is None else walk.emit.plus(total, part)
    if total is not None:
        walk.tan[stm.pat[0].name] = total


@transposed(ir.PrimOp)
def reverse_operation(walk: Reverse, stm: ir.Stm, exp: ir.PrimOp, adjoint: Atom) -> None:
    """y = op(x, ...) ⇒ x̄ += ∂₁op · ȳ, ...

    Provided: the table of partial derivatives has a row for op.
    Because: the transposition of forward_operation.
    """
    adjoint = _reinterpreted(walk.emit, exp, adjoint)
    for partial, arg in zip(_partials(walk.emit, stm, exp), exp.args, strict=True):
        if partial is not None and walk.varies(arg):
            walk.add(arg, walk.emit.scaled(partial, adjoint))


@forward(ir.Convert)
def forward_conversion(walk: Forward, stm: ir.Stm, exp: ir.Convert) -> None:
    """y = convert x ⇒ ẏ = convert ẋ

    Provided: x and y are numbers, and not y alone is an integer.  Else the tangent is zero.
    """
    walk.emit.add(stm)
    tangent = walk.tangent(exp.arg)
    if passes(exp) and tangent is not None:
        walk.tan[stm.pat[0].name] = walk.emit.one(
            ir.Convert(exp.from_, exp.to, tangent), exp.to, "t_tan")


@transposed(ir.Convert)
def reverse_conversion(walk: Reverse, stm: ir.Stm, exp: ir.Convert, adjoint: Atom) -> None:
    """y = convert x ⇒ x̄ += convert ȳ

    Provided: as for forward_conversion.
    """
    walk.add(exp.arg, walk.emit.one(ir.Convert(exp.to, exp.from_, adjoint), exp.from_))
