"""Operands of products: how their elements get from global memory to a slab.

An element of an operand is at a point of a row or a column of the product, and at a step of the
reduction.  Where points or steps have several dimensions, a place is made of their indices by
quotients.  So a place is a *base*, which depends on the point, and an *advance*, which depends on
the step.  Bases are computed before the loop over slabs, one for each element that a work-item
fetches at a time.  Advances are sums of *digits*, the indices of a step, which count up like an
odometer.  So nothing is divided in the loop.  Both have 32 bits, which takes half of the registers.
Arrays of more elements are left to other kernels.

Elements of padded arrays are tested: an index has a base and an advance, as a place has.  One that
is outside of its size stands for the value of the pad, and nothing is loaded.

Operands whose places are no such sums have their places computed anew for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.kernel.soacs import SecondOrder
from runelift.codegen.plan.views import View, as_padded, lit, op, volume
from runelift.codegen.segops.coarsen import Sum, as_sum, varies
from runelift.ir import imp
from runelift.ir.analysis.products import Operand, Product
from runelift.ir.imp import Exp
from runelift.ir.imp.traverse import memories, variables
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, greatest
from runelift.ir.sizes import product as multiply
from runelift.ir.syntax import Body, Pad
from runelift.ir.traverse import free_vars, statements_inside
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
    """The rows or the columns of a product: dimensions ``dims`` of its space, joined to one.

    ``size`` is the number of points.
    """

    dims: tuple[int, ...]
    widths: tuple[Exp, ...]

    @property
    def size(self) -> Exp:
        """The number of rows or columns."""
        return volume(self.widths)

    def indices(self, k: KernelBuilder, number: Exp) -> list[Exp]:
        """The indices of point ``number``."""
        return launches.unflat(k, number, self.widths)


@dataclass(frozen=True, slots=True)
class Place:
    """A place: ``base``, which depends on the point, and factors times digits of the step."""

    base: Exp
    factors: tuple[tuple[Exp, int], ...]

    def advance(self, digits: Sequence[Exp]) -> Exp:
        """The part that depends on the step."""
        total: Exp = lit(0)
        for factor, level in self.factors:
            total = op("add", total, op("mul", digits[level], factor))
        return total


@dataclass(frozen=True, slots=True)
class Address:
    """The place of an element of an operand in ``mem``.

    ``code`` makes what bases need of the indices ``point`` of a side.  ``near``: neighbouring
    points are neighbours in memory.  Where an index of ``tests`` is not inside of its size, the
    element is ``value``.
    """

    mem: VName
    prim: Prim
    point: tuple[VName, ...]
    code: tuple[imp.Declare, ...]
    place: Place
    near: bool
    tests: tuple[tuple[Place, Exp], ...] = ()
    value: Exp | None = None


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
    private = {*point, *(stm.name for stm in found.kept)}
    sums = [found.place, *(index for index, _ in found.tests)]
    common = [*(size for _, size in found.tests), *([] if found.value is None else [found.value]),
              *(factor for total in sums for factor, _ in total.lanes)]
    if any(not variables(each).isdisjoint((*private, *digits)) for each in common):
        return None
    place, *tested = (Place(total.same, tuple((factor, digits.index(name))
                                              for factor, names in total.lanes for name in names))
                      for total in sums)
    beside = _parts(code, value, (*digits, point[-1]))
    near = beside is not None and any(
        point[-1] in names and factor == lit(1) for factor, names in beside.place.lanes)
    return Address(found.load.mem, found.load.prim, point, found.kept, place, near, tuple(
        zip(tested, (size for _, size in found.tests), strict=True)), found.value)


def tests_margins(lowering: launches.Lowering, product: Product) -> bool:
    """True if a product reads stored margins, and can test them where it fetches elements.

    Margins that it makes itself are not bounded by arrays, so their places may need 64 bits.
    """
    arrays = [name for name in free_vars(product.exp) if not isinstance(lowering.type(name), Prim)]
    if (all(lowering.env.view(name).stored is None for name in arrays)
            or any(isinstance(stm.exp, Pad) for stm in statements_inside([product.exp.body]))):
        return False
    outer = [imp.Var(lowering.names.fresh("o")) for _ in product.batch]
    lowering.testing = True
    try:
        return all(address_of(
            lowering.builder(), product, operand, Side(
                product.rows if operand.param.name in product.left else product.columns, ()),
            outer) is not None for operand in product.operands)
    finally:
        lowering.testing = False


def is_near(k: SecondOrder, product: Product, operand: Operand) -> bool:
    """True if neighbours along the last dimension are neighbours in memory."""
    point = [k.names.fresh("at") for _ in product.exp.space]
    with k.block() as code:
        launches.bind_point(k, product.exp.space, [*map(imp.Var, point)])
        value = element(k, operand, [imp.Var(k.names.fresh("digit")) for _ in product.walks])
    found = _parts(code, value, point[-1:])
    return found is not None and not found.tests and [
        factor for factor, _ in found.place.lanes] == [lit(1)]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The load of a value, what it needs that does not vary with names, and its place by names.

    ``value`` stands for it where one of ``tests`` is outside of its size.
    """

    load: imp.Load
    kept: tuple[imp.Declare, ...]
    place: Sum
    tests: tuple[tuple[Sum, Exp], ...]
    value: Exp | None


def _parts(code: Sequence[imp.Stm], value: Exp, names: Sequence[VName]) -> _Parts | None:
    """The parts of a value, by names; None if it is none, or its places are no sums."""
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
    padded = as_padded(load)
    element = load if padded is None else padded.load
    if not isinstance(element, imp.Load):
        return None
    place = as_sum(element.index, sums, varying)
    tests = list[tuple[Sum, Exp]]()
    for index, size in () if padded is None else padded.tests:
        total = as_sum(index, sums, varying)
        if total is None:
            return None
        tests.append((total, size))
    return None if place is None else _Parts(
        element, tuple(kept), place, tuple(tests), None if padded is None else padded.value)


class Digits:
    """The indices of a step in nested loops of ``widths``, which a kernel moves on.

    They are numbers of type ``prim``.
    """

    def __init__(self, k: KernelBuilder, prim: Prim, widths: Sequence[Exp], start: Exp,
                 step: Exp) -> None:
        self.k, self.prim = k, prim
        wide = [widths[0], *(
            w if isinstance(w, imp.Lit) else op("max", w, lit(1)) for w in widths[1:])]
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
