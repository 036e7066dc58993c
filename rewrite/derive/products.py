"""Derivatives of products of floats, by one division for each element."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, elem_of, i64, zero
from runelift.rewrite.derive.emitter import Atoms, Emitter
from runelift.rewrite.derive.operators import is_plain, operator_of
from runelift.rewrite.derive.walk import Back, Reverse
from runelift.rewrite.engine.rule import rule


def _multiplies(walk: Reverse, exp: ir.Redomap | ir.Hist) -> bool:
    """True if a plain node multiplies floats, and nothing around derives what it makes.

    The factor 0 for elements beside a zero is right, but its own derivative is not.
    """
    found = operator_of(exp).primitive if is_plain(exp) else None
    return found is not None and found[0] == "mul" and found[1].is_float and not walk.is_inner


def _parts(emit: Emitter, xs: VName) -> tuple[VName, ...]:
    """For each element, 1 if it is zero, and itself or 1 in place of a zero."""
    number = Atoms(emit, elem_of(emit.types[xs]))

    def parts(x: VName) -> tuple[VName, ...]:
        return emit.choice(number.op("eq", x, number.const(0)),
                           lambda: (i64(1), number.const(1)), lambda: (i64(0), x))

    return emit.map([xs], parts, "parts")


def _others(emit: Emitter, x: Atom, zeros: Atom, product: Atom) -> Atom:
    """The product of all elements but ``x``, by the count of zeros and the product without."""
    number = Atoms(emit, elem_of(emit.type(x)))

    def unless(count: int, value: Atom) -> tuple[VName, ...]:
        return emit.choice(emit.size_op("eq", zeros, i64(count)), lambda: (value,),
                           lambda: (number.const(0),))

    return emit.choice(number.op("eq", x, number.const(0)), lambda: unless(1, product),
                       lambda: unless(0, number.op("div", product, x)))[0]


@rule(ir.Redomap)
def reverse_product(walk: Reverse, stm: ir.Stm, exp: ir.Redomap) -> Back | None:
    """r = reduce (*) 1 xs ⇒ x̄s = map (λx → r̄ * (product of all but x)) xs, for floats

    Provided: no operator of derivatives is around.
    Because: p is the product without zeros, which are counted.  Without a zero the product of all
    but x is p / x.  With one zero it is p for x = 0, else 0.  With two zeros it is 0.
    """
    if not _multiplies(walk, exp):
        return None
    walk.emit.add(stm)

    def back() -> None:
        emit, (xs,) = walk.emit, exp.arrays
        adjoint, prim = walk.take(stm.pat[0].name), elem_of(emit.types[xs])
        assert adjoint is not None
        counts, factors = _parts(emit, xs)
        zeros = emit.fold("add", Prim.I64, counts, i64(0))
        product = emit.fold("mul", prim, factors, Atoms(emit, prim).const(1))
        walk.add(xs, emit.map([xs], lambda x: (
            emit.op("mul", prim, adjoint, _others(emit, x, zeros, product)),), "adjs")[0])

    return back


@rule(ir.Hist)
def reverse_hist_product(walk: Reverse, stm: ir.Stm, exp: ir.Hist) -> Back | None:
    """h = hist (*) d is vs ⇒ v̄s[k] += h̄[b] * (product of all but vs[k] in bin b), d̄ likewise

    Provided: values are floats, and no operator of derivatives is around.
    Because: as reverse_product, with zeros and products for each bin.
    """
    if not _multiplies(walk, exp):
        return None
    walk.emit.add(stm)

    def back() -> None:
        emit, (bins, values), (hist,) = walk.emit, exp.arrays, exp.ops
        adjoint, prim = walk.take(stm.pat[0].name), elem_of(emit.types[values])
        assert isinstance(adjoint, VName)
        product = emit.again(hist.op)
        totals = []
        for op, dest, part in zip((emit.addition(Prim.I64), product),
                                  _parts(emit, hist.dests[0]), _parts(emit, values), strict=True):
            node = ir.Hist(exp.width, (ir.HistOp(hist.bins, (dest,), op),),
                           emit.identity([Prim.I64, *op.lam.ret]), (bins, part))
            totals.append(emit.one(node, emit.types[dest], "totals"))

        def scaled(x: Atom, seed: Atom, zeros: Atom, product: Atom) -> tuple[Atom]:
            return (emit.op("mul", prim, seed, _others(emit, x, zeros, product)),)

        def value(bin_: VName, x: VName) -> tuple[VName, ...]:
            return emit.choice(
                emit.inside((bin_,), (hist.bins,)),
                lambda: scaled(x, *(emit.index(a, bin_) for a in (adjoint, *totals))),
                lambda: (zero(prim),))

        if walk.varies(hist.dests[0]):
            arrays = [hist.dests[0], adjoint, *totals]
            walk.add(hist.dests[0], emit.map(arrays, scaled, "adjs")[0])
        if walk.varies(values):
            walk.add(values, emit.map([bins, values], value, "adjs")[0])

    return back
