"""Operands of products: how their elements get from global memory to a slab.

An element of an operand is at a point of a row or a column of the product, and at a step of the
reduction.  Where points or steps have several dimensions, a place is made of their indices by
quotients.  So a place is a *base*, which depends on the point, and an *advance*, which depends on
the step.  Bases are computed before the loop over slabs, one for each element that a work-item
fetches at a time.  Advances are sums of *digits*, the indices of a step, which count up like an
odometer.  So nothing is divided in the loop.  Both have 32 bits, which takes half of the registers.
Arrays of more elements are left to other kernels.

Operands whose places are no such sums have their places computed anew for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.kernel.soacs import SecondOrder
from runelift.codegen.plan.views import View, lit, op, volume
from runelift.codegen.segops.coarsen import Sum, as_sum, varies
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import memories, variables
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.products import Operand, Product
from runelift.ir.sizes import Size, greatest
from runelift.ir.sizes import product as multiply
from runelift.ir.syntax import Body
from runelift.ir.traverse import free_vars
from runelift.ir.types import Const, shape_of


def element(k: SecondOrder, operand: Operand, steps: Sequence[Exp]) -> Exp:
    """The element of an operand at the point that is bound, and at a step."""
    k.body(Body(operand.before, ()))
    for walk, step in zip(operand.walks, steps, strict=True):
        for param, array in zip(walk.params, walk.arrays, strict=True):
            k.bind(param, k.element(array, step))
        k.body(Body(walk.stms, ()))
    value: Value = k.value(operand.param.name)
    assert not isinstance(value, View)
    return value


@dataclass(frozen=True, slots=True)
class Side:
    """The rows or the columns of a product: some dimensions of its space, as one.

    ``size`` is the number of points.
    """

    dims: tuple[int, ...]
    widths: tuple[Exp, ...]

    @property
    def size(self) -> Exp:
        """The number of points."""
        return volume(self.widths)

    def indices(self, k: KernelBuilder, number: Exp) -> list[Exp]:
        """The indices of point ``number``."""
        return launches.unflat(k, number, self.widths)


@dataclass(frozen=True, slots=True)
class Address:
    """The place of an element of an operand in ``mem``: ``base``, and factors times digits.

    ``code`` makes what ``base`` needs of the indices ``point`` of a side.  ``near``: neighbouring
    points are neighbours in memory.
    """

    mem: VName
    prim: Prim
    point: tuple[VName, ...]
    code: tuple[imp.Declare, ...]
    base: Exp
    factors: tuple[tuple[Exp, int], ...]
    near: bool

    def advance(self, digits: Sequence[Exp]) -> Exp:
        """The part of the place that depends on the step."""
        total: Exp = lit(0)
        for factor, level in self.factors:
            total = op("add", total, op("mul", digits[level], factor))
        return total


def address_of(k: KernelBuilder, product: Product, operand: Operand, side: Side,
               batch: Sequence[Exp]) -> Address | None:
    """The place of an element as a sum of parts, or None if it is none."""
    point = tuple(k.names.fresh("at") for _ in side.dims)
    digits = tuple(k.names.fresh("digit") for _ in product.walks)
    with k.block() as code:
        indices = dict(zip((*product.batch, *side.dims), (*batch, *map(imp.Var, point)),
                           strict=True))
        launches.bind_point(k, product.exp.space, [
            indices.get(n, lit(0)) for n in range(len(product.exp.space))])
        value = element(k, operand, [imp.Var(d) for d in digits])
    found = _parts(code, value, digits)
    if found is None:
        return None
    load, kept, total = found
    private = {*point, *(stm.name for stm in kept)}
    factors = tuple((factor, digits.index(name)) for factor, names in total.lanes
                    for name in names)
    if any(not variables(factor).isdisjoint(private) for factor, _ in factors):
        return None
    beside = _parts(code, value, (*digits, point[-1]))
    near = beside is not None and any(
        point[-1] in names and factor == lit(1) for factor, names in beside[2].lanes)
    return Address(load.mem, load.prim, point, kept, total.same, factors, near)


def is_near(k: SecondOrder, product: Product, operand: Operand) -> bool:
    """True if neighbours along the last dimension are neighbours in memory."""
    point = [k.names.fresh("at") for _ in product.exp.space]
    with k.block() as code:
        launches.bind_point(k, product.exp.space, [*map(imp.Var, point)])
        value = element(k, operand, [imp.Var(k.names.fresh("digit")) for _ in product.walks])
    found = _parts(code, value, point[-1:])
    return found is not None and [factor for factor, _ in found[2].lanes] == [lit(1)]


def _parts(code: Sequence[imp.Stm], value: Exp, names: Sequence[VName]
           ) -> tuple[imp.Load, tuple[imp.Declare, ...], Sum] | None:
    """The load of a value, what it needs that does not vary with names, and its place by names."""
    sums, varying = {name: Sum.of(name) for name in names}, set(names)
    kept, load = list[imp.Declare](), value
    for stm in code:
        if not isinstance(stm, imp.Declare) or stm.init is None:
            return None
        if value == imp.Var(stm.name):
            load = stm.init
        elif varies(stm.init, varying, set()):
            total = None if memories(stm.init) else as_sum(stm.init, sums, varying)
            if total is None:
                return None
            sums[stm.name] = total
            varying.add(stm.name)
        else:
            kept.append(stm)
    if not isinstance(load, imp.Load):
        return None
    place = as_sum(load.index, sums, varying)
    return None if place is None else (load, tuple(kept), place)


class Digits:
    """The indices of a step in nested loops of ``widths``, which a kernel moves on.

    They are numbers of type ``prim``.
    """

    def __init__(self, k: KernelBuilder, prim: Prim, widths: Sequence[Exp], start: Exp,
                 step: Exp) -> None:
        self.k, self.prim = k, prim
        wide = [widths[0], *(w if isinstance(w, imp.Lit) else imp.Apply("max", Prim.I64, (
            w, lit(1))) for w in widths[1:])]
        self.widths = [k.declare("width", prim, narrowed(w, prim)) for w in wide]
        self.values, self.steps = (
            [k.declare(base, prim, narrowed(each, prim)) for each in launches.unflat(k, at, wide)]
            for base, at in (("digit", start), ("pace", step)))

    def move(self) -> None:
        """Go on by a step: digits and a carry, as an odometer adds."""
        k, prim = self.k, self.prim
        none, one = (imp.Lit(Const(n, prim)) for n in (0, 1))
        carry: Exp = none
        for n in reversed(range(len(self.values))):
            digit = self.values[n]
            more = op("add", op("add", digit, self.steps[n], prim=prim), carry, prim=prim)
            k.emit(imp.Assign(digit.name, more))
            if n:
                over = k.declare("over", Prim.BOOL, imp.Apply("le", prim, (self.widths[n], digit)))
                carry = imp.Select(over, one, none, prim)
                k.emit(imp.Assign(digit.name, op("sub", digit, imp.Select(
                    over, self.widths[n], none, prim), prim=prim)))

    def inside(self) -> list[Exp]:
        """The digits, the first one clamped: steps beyond the end become steps."""
        k, prim = self.k, self.prim
        first: Exp = imp.Apply("min", prim, (self.values[0], op(
            "sub", self.widths[0], imp.Lit(Const(1, prim)), prim=prim)))
        return [k.declare("step", Prim.I64, widened(each, prim))
                for each in [first, *self.values[1:]]]


def narrowed(exp: Exp, prim: Prim) -> Exp:
    """An i64 as a number of another type."""
    return exp if prim is Prim.I64 else imp.Convert(Prim.I64, prim, exp)


def widened(exp: Exp, prim: Prim) -> Exp:
    """A number of a type as an i64."""
    return exp if prim is Prim.I64 else imp.Convert(prim, Prim.I64, exp)


def most_elements(lowering: launches.Lowering, product: Product) -> Size | None:
    """The most elements of an operand's memory, and of a reduction; None if that is not known."""
    found = multiply(map(lowering.size, product.lengths))
    outside = sorted(free_vars(product.exp), key=lambda name: name.tag)
    for array in outside:
        if not isinstance(type_ := lowering.type(array), Prim):
            if lowering.view(array).order is None:
                return None
            found = greatest(found, multiply(map(lowering.size, shape_of(type_))))
    return found
