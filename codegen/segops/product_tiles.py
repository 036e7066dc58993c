"""Product tiles: products of arrays whose elements many work-items need.

At every point (i, j) of such a map, a reduction over k combines elements of two kinds of arrays.
One kind varies with i and k only, the other with j and k only.  Matrix multiplication is the
standard case.  For convolutions, i is an output channel, j is a pixel, and k is a place in a filter
(:mod:`~runelift.codegen.segops.product_operands`).

Kernel ``segmap_tiled``: a work-group computes a block of points and goes through k in slabs.  It
copies the slab's elements to local memory.  Every work-item combines them at ``rows`` x ``columns``
points, whose totals it keeps in registers.  So an element is loaded from global memory once per
block, and from local memory once per row or column of a work-item.  The points of a work-item lie
in runs, whose elements one vector load fetches.  While a slab is combined, the next one is in
flight.  Elements are combined in sequential order, so results are equal to the last bit.

Source: Volkov and Demmel 2008, "Benchmarking GPUs to tune dense linear algebra".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan.shapes import ProductTileShape
from runelift.codegen.plan.views import all_of, ceil_quot, lit, op, unflat_index, volume
from runelift.codegen.segops.coarsen import Lanes, coarsen
from runelift.codegen.segops.product_operands import (
    Address,
    Digits,
    Side,
    address_of,
    element,
    narrowed,
    widened,
)
from runelift.codegen.segops.product_results import ProductResults
from runelift.ir import imp
from runelift.ir.analysis.products import Product
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import Index, SliceDim
from runelift.ir.types import Atom, Const

RUN_LENGTH = 4
"""The number of neighbouring rows or columns in a run of a work-item, if it has as many."""


class ProductTile:
    """The kernel of a product, one block of points per group.

    Parts of places in several dimensions have the type ``index``.  The elements of operands that
    are not ``copied`` to local memory are read where they are.  ``unroll`` is a factor for
    the innermost loop, which compilers choose if it is no variable.
    """

    def __init__(self, lowering: launches.Lowering, product: Product,
                 block: ProductTileShape, index: Prim, copied: Set[VName],
                 unroll: Atom) -> None:
        self.index, self.copied = index, copied
        self.lowering = lowering
        self.product = product
        self.k = lowering.builder()
        self.block = block
        self.k.constants = list(block.constants())
        self.unroll: VName | bool = False
        if isinstance(unroll, VName):
            self.unroll, self.k.settings = unroll, [unroll]
        self.side, self.across, self.rows, self.columns, self.depth = (imp.Var(n) for n in (
            block.side, block.across, block.rows, block.columns, block.depth))
        shape = launches.widths(self.k, product.exp.space)
        self.down, self.along, self.batch = (
            Side(dims, tuple(shape[n] for n in dims))
            for dims in (product.rows, product.columns, product.batch))
        self.height, self.width = (op("mul", self.side, self.rows),
                                   op("mul", self.across, self.columns))
        self.lengths = [self.k.scalar(width) for width in product.lengths]
        self.length = volume(self.lengths)
        self.slabs: dict[VName, VName] = {}
        self.starts: dict[VName, Exp] = {}
        self.ahead: dict[VName, VName] = {}
        self.operands = {o.param.name: o for o in product.operands}
        self.addresses: dict[VName, Address] = {}
        self.bases: dict[VName, list[VName]] = {}
        self.sizes: dict[VName, list[Exp]] = {}
        self.digits: dict[bool, Digits] = {}
        self.fetched_first: dict[bool, tuple[Exp, Exp]] = {}
        self.results = ProductResults(lowering, product, self.batch, self.down, self.along)

    def launch(self) -> None:
        """Add the kernel for whole reductions."""
        self.place(launches.GROUP_ID)
        totals = self.reduce(lit(0), self.length)
        for left, side in ((True, self.down), (False, self.along)):
            self.results.hold(self.k, side, self.points_of(left=left),
                              partial(self.numbered, left=left))
        self.points(lambda r, c: self.finish(totals, r, c))
        self.lowering.launch(self.k, "segmap_tiled", self.blocks(), Size.var(self.block.group),
                             fits=True)

    def blocks(self) -> Size:
        """The number of blocks that cover the product."""
        names = self.block
        return (names.batch
                * ceil_div(names.height, Size.var(names.side) * Size.var(names.rows))
                * ceil_div(names.width, Size.var(names.across) * Size.var(names.columns)))

    def reduce(self, start: Exp, end: Exp) -> list[list[VName]]:
        """Reduce the elements from ``start`` up to ``end``: the totals at the item's points."""
        k, names, product = self.k, self.block, self.product
        for array in sorted(self.copied, key=lambda n: (n in product.left, n.tag)):
            items, points = ((names.side, names.rows) if array in product.left
                             else (names.across, names.columns))
            slab = k.names.fresh("slab")
            k.locals.append(imp.LocalArray(
                slab, self.prim(array), Size.var(names.slabs) * Size.var(names.depth) * (
                    Size.var(items) * Size.var(points) + Size.of(RUN_LENGTH))))
            self.slabs[array] = slab
            self.ahead[array] = k.names.fresh("ahead")
        totals = self.start()
        self.prepare(start, end)
        k.loop(end, lambda first: self.slab(first, end, totals), start=start, step=self.depth,
               base="slab")
        return totals

    def prim(self, array: VName) -> Prim:
        """The type of an array's elements."""
        prim = self.operands[array].param.type
        assert isinstance(prim, Prim)
        return prim

    def side_of(self, array: VName) -> Side:
        """The side that an operand varies with."""
        return self.down if array in self.product.left else self.along

    def place(self, number: Exp) -> None:
        """Set the points of the work-item in block ``number``."""
        k = self.k
        down, along = (k.declare("blocks", Prim.I64, ceil_quot(size, across)) for size, across in (
            (self.down.size, self.height), (self.along.size, self.width)))
        rest = k.declare("rest", Prim.I64, op("quot", number, along))
        self.top = k.declare("top", Prim.I64, op("mul", op("rem", rest, down), self.height))
        self.start_j = k.declare("start", Prim.I64, op("mul", op("rem", number, along), self.width))
        self.number = k.declare("batch", Prim.I64, op("quot", rest, down))
        self.outer = [k.declare("o", Prim.I64, i) for i in unflat_index(
            self.number, self.batch.widths)]
        self.y = k.declare("y", Prim.I64, op("quot", launches.LID, self.across))
        self.x = k.declare("x", Prim.I64, op("rem", launches.LID, self.across))
        self.whole = k.declare("whole", Prim.BOOL, all_of(
            op("le", op("add", self.top, self.height), self.down.size),
            op("le", op("add", self.start_j, self.width), self.along.size)))

    def each(self, bound: Exp, work: Callable[[Exp], None], base: str = "r") -> None:
        """Emit an unrolled loop."""
        index = self.k.names.fresh(base)
        with self.k.block() as code:
            work(imp.Var(index))
        self.k.emit(imp.For(index, lit(0), bound, lit(1), tuple(code), unroll=True))

    def points(self, work: Callable[[Exp, Exp], None]) -> None:
        """Emit ``work`` for all points of the work-item, by row and column."""
        self.each(self.rows, lambda r: self.each(self.columns, lambda c: work(r, c), "c"))

    def total_cell(self, r: Exp, c: Exp) -> Exp:
        """The place of the totals of a point."""
        return op("add", op("mul", r, self.columns), c)

    # Totals

    def start(self) -> list[list[VName]]:
        """Private arrays for the totals, set to the neutral elements."""
        k, totals = self.k, list[list[VName]]()
        for operator in self.product.redomap.ops:
            totals.append([k.names.fresh("total") for _ in operator.neutral])
            for name, atom in zip(totals[-1], operator.neutral, strict=True):
                k.emit(imp.DeclareArray(name, self._atom_prim(atom), self.block.cells))
        self.points(lambda r, c: k.emit(*(
            imp.Store(name, self.total_cell(r, c), k.scalar(atom), self._atom_prim(atom))
            for names, o in zip(totals, self.product.redomap.ops, strict=True)
            for name, atom in zip(names, o.neutral, strict=True))))
        return totals

    def _atom_prim(self, atom: Atom) -> Prim:
        type_ = self.k.type_of(atom)
        assert isinstance(type_, Prim)
        return type_

    # Slabs

    def prepare(self, start: Exp, end: Exp) -> None:
        """Emit the code that fetches the first slab."""
        k = self.k
        self.apart = k.declare("apart", Prim.I64, op("quot", imp.Var(self.block.group), self.depth))
        self.find_addresses(start)
        for array, ahead in self.ahead.items():
            self.first_fetched(array)
            k.emit(imp.DeclareArray(ahead, self.prim(array), self.count(array)))
        with k.when(op("lt", start, end)):
            for array in self.slabs:
                self.fetch(array, start)

    def slab(self, first: Exp, end: Exp, totals: Sequence[Sequence[VName]]) -> None:
        """Combine the elements of a slab at all points, and fetch the next."""
        k, slabs = self.k, imp.Var(self.block.slabs)
        turn = k.declare("turn", Prim.I64, op("rem", op("quot", first, self.depth), slabs))
        for array in self.slabs:
            self.starts[array] = k.declare("start", Prim.I64, op("mul", turn, op(
                "mul", self.depth, op("add", self.extent(array), lit(RUN_LENGTH)))))
            self.store_slab(array)
        if self.slabs:
            k.emit(imp.Barrier(imp.Space.LOCAL))
        rest = k.declare("rest", Prim.I64, op("sub", end, first))
        following = op("add", first, self.depth)
        with k.block() as all_inside:
            for array in self.slabs:
                self.fetch(array, following, inside=True)
        with k.block() as further:
            for digits in self.digits.values():
                digits.move()
            for array in self.slabs:
                self.fetch(array, following)
        beyond = imp.If(op("lt", self.depth, rest), tuple(further))
        k.emit(beyond if self.addresses else imp.If(
            all_of(self.whole, op("le", op("mul", lit(2), self.depth), rest)),
            tuple(all_inside), (beyond,)))
        with k.block() as whole:
            k.loop(self.depth, lambda n: self.combine(first, n, totals), base="n",
                   unroll=self.unroll)
        with k.block() as part:
            k.loop(rest, lambda n: self.combine(first, n, totals), base="n")
        k.emit(imp.If(op("le", self.depth, rest), tuple(whole), tuple(part)))
        if self.slabs:
            k.emit(imp.If(op("eq", slabs, lit(1)), (imp.Barrier(imp.Space.LOCAL),)))

    def extent(self, array: VName) -> Exp:
        """The number of rows or columns of a block in an array."""
        return self.height if array in self.product.left else self.width

    def count(self, array: VName) -> VName:
        """The number of elements of a slab that a work-item fetches."""
        return self.block.down if array in self.product.left else self.block.along

    def first_fetched(self, array: VName) -> tuple[Exp, Exp]:
        """The depth and the offset in a slab of the first element that the work-item fetches."""
        k, along_k = self.k, self.runs_along_steps(array)
        if along_k not in self.fetched_first:
            across = self.depth if along_k else self.apart
            places = (k.declare("high", Prim.I64, op("quot", launches.LID, across)),
                      k.declare("low", Prim.I64, op("rem", launches.LID, across)))
            self.fetched_first[along_k] = places[::-1] if along_k else places
        return self.fetched_first[along_k]

    def fetched(self, array: VName, work: Callable[[Exp, Exp, Exp], None]) -> None:
        """Emit ``work`` for all elements that the work-item fetches, with coalesced reads.

        ``work`` gets the number of an element, its depth, and its offset within the slab.  The
        elements of one work-item have one depth.  They are as far apart as there are work-items for
        a depth.
        """
        k, n = self.k, self.k.names.fresh("load")
        depth, offset = self.first_fetched(array)
        with k.block() as code:
            work(imp.Var(n), depth, op("add", offset, op("mul", imp.Var(n), self.apart)))
        count = self.count(array)
        k.emit(*coarsen(k.names, code, Lanes(((n, count),), count, imp.Var(n))))

    def fetch(self, array: VName, first: Exp, *, inside: bool = False) -> None:
        """Read the elements that the block needs; places beyond the edges are clamped, if there are
        any.
        """
        k, side = self.k, self.side_of(array)
        origin = self.top if array in self.product.left else self.start_j
        if (address := self.addresses.get(array)) is not None:
            digits = self.digits[self.runs_along_steps(array)].inside()
            ahead = [k.declare("ahead", self.index, narrowed(place.advance(digits), self.index))
                     for place in (address.place, *(index for index, _ in address.tests))]
            self.each(imp.Var(self.count(array)), lambda n: k.emit(imp.Store(
                self.ahead[array], n, self.at_address(array, ahead, n), address.prim)), "load")
            return

        def at_most(index: Exp, size: Exp) -> Exp:
            return index if inside else op("min", index, op("sub", size, lit(1)))

        def load(n: Exp, depth: Exp, offset: Exp) -> None:
            point = k.declare("at", Prim.I64, at_most(op("add", origin, offset), side.size))
            step = k.declare("k", Prim.I64, at_most(op("add", first, depth), self.length))
            self.bind_side(side, point)
            k.emit(imp.Store(self.ahead[array], n, element(
                k, self.operands[array], launches.unflat(k, step, self.lengths)),
                self.prim(array)))

        self.fetched(array, load)

    def at_address(self, array: VName, ahead: Sequence[Exp], n: Exp) -> Exp:
        """Element ``n`` of the elements that the work-item fetches ``ahead`` of their bases."""
        k, prim, address = self.k, self.index, self.addresses[array]
        place, *tested = (op("add", imp.Load(base, n, prim), more, prim=prim)
                          for base, more in zip(self.bases[array], ahead, strict=True))
        load = imp.Load(address.mem, widened(place, prim), address.prim)
        if address.value is None:
            return load
        inside: Exp = imp.Lit(Const(True, Prim.BOOL))
        for exp, size in zip(tested, self.sizes[array], strict=True):
            index = k.declare("index", prim, exp)
            inside = all_of(inside, all_of(op("le", imp.Lit(Const(0, prim)), index, prim=prim),
                                           op("lt", index, size, prim=prim)))
        return imp.Select(inside, load, address.value, address.prim)

    def bind_side(self, side: Side, point: Exp) -> None:
        """Bind a row or a column of the product."""
        indices = dict(zip(side.dims, side.indices(self.k, point), strict=True))
        self.bind_point([indices.get(n, lit(0)) for n in range(len(self.product.exp.space))])

    def bind_point(self, indices: Sequence[Exp]) -> None:
        """Bind a point of the batch of the block; ``indices`` have one for each dimension."""
        outer = dict(zip(self.batch.dims, self.outer, strict=True))
        launches.bind_point(self.k, self.product.exp.space, [
            outer.get(n, index) for n, index in enumerate(indices)])

    # Places in several dimensions

    def find_addresses(self, start: Exp) -> None:
        """Find the places of operands as sums of parts, where points or steps have dimensions."""
        k = self.k
        if len(self.lengths) == len(self.down.dims) == len(self.along.dims) == 1:
            return
        for array in self.slabs:
            address = address_of(k, self.product, self.operands[array], self.side_of(array),
                                 self.outer)
            if address is not None:
                self.addresses[array] = address
        for array in self.addresses:
            along_k = self.runs_along_steps(array)
            if along_k not in self.digits:
                self.digits[along_k] = Digits(k, self.index, self.lengths, op(
                    "add", start, self.first_fetched(array)[0]), self.depth)
            self.find_bases(array)

    def find_bases(self, array: VName) -> None:
        """Compute the bases of the elements that the work-item fetches."""
        k, address, side = self.k, self.addresses[array], self.side_of(array)
        places = (address.place, *(index for index, _ in address.tests))
        self.bases[array] = [k.names.fresh("bases") for _ in places]
        k.emit(*(imp.DeclareArray(bases, self.index, self.count(array))
                 for bases in self.bases[array]))
        self.sizes[array] = [k.declare("size", self.index, narrowed(size, self.index))
                             for _, size in address.tests]
        origin = self.top if array in self.product.left else self.start_j
        own = self.first_fetched(array)[1]

        def base(n: Exp) -> None:
            offset = op("add", own, op("mul", n, self.apart))
            point = k.declare("point", Prim.I64, op(
                "min", op("add", origin, offset), op("sub", side.size, lit(1))))
            k.emit(*(imp.Declare(name, Prim.I64, index) for name, index in zip(
                address.point, side.indices(k, point), strict=True)), *address.code,
                *(imp.Store(bases, n, narrowed(place.base, self.index), self.index)
                  for bases, place in zip(self.bases[array], places, strict=True)))

        self.each(imp.Var(self.count(array)), base, "load")

    def store_slab(self, array: VName) -> None:
        """Store the fetched elements as the present slab."""
        prim = self.prim(array)
        self.fetched(array, lambda n, depth, offset: self.k.emit(imp.Store(
            self.slabs[array], self.cell(array, depth, offset),
            imp.Load(self.ahead[array], n, prim), prim)))

    def cell(self, array: VName, depth: Exp, offset: Exp) -> Exp:
        """The place of an element; padded rows put columns in different banks."""
        return op("add", self.starts[array], op("add", op("mul", depth, op(
            "add", self.extent(array), lit(RUN_LENGTH))), offset))

    def points_of(self, *, left: bool) -> VName:
        """The number of rows or columns of a work-item."""
        return self.block.rows if left else self.block.columns

    def position(self, number: Exp, *, left: bool) -> Exp:
        """The place in the block of the work-item's row or column, by runs."""
        items, own = (self.side, self.y) if left else (self.across, self.x)
        run = op("min", imp.Var(self.points_of(left=left)), lit(RUN_LENGTH))
        start = op("mul", op("add", op("mul", op("quot", number, run), items), own), run)
        return op("add", start, op("rem", number, run))

    def runs_along_steps(self, array: VName) -> bool:
        """True if neighbouring work-items fetch the elements of neighbouring steps.

        Otherwise they fetch elements of neighbouring points, which are neighbours in memory.
        """
        if (address := self.addresses.get(array)) is not None:
            return not address.near
        operand, found = self.operands[array], self.operands[array].param.name
        walk = operand.walks[-1]
        picked = [a for p, a in zip(walk.params, walk.arrays, strict=True) if p.name == found]
        made = next((s.exp for s in self.product.before
                     if any(p.name in picked for p in s.pat)), None)
        return not isinstance(made, Index) or isinstance(made.dims[-1], SliceDim)

    def combine(self, first: Exp, n: Exp, totals: Sequence[Sequence[VName]]) -> None:
        """Combine the elements at depth ``n`` of the slab at all points."""
        k, product = self.k, self.product
        mine: dict[VName, VName] = {}
        direct = (product.left | product.right) - self.slabs.keys()
        for array in (*self.slabs, *sorted(direct, key=lambda name: name.tag)):
            mine[array] = k.names.fresh("mine")
            if array in self.slabs:
                self.collect(array, mine[array], n)
            else:
                self.read(array, mine[array], op("add", first, n))
        shared: dict[VName, Exp] = {}
        for array, operand in self.operands.items():
            if array not in mine:
                self.bind_point([lit(0)] * len(product.exp.space))
                shared[array] = k.declare("shared", self.prim(array), element(
                    k, operand, [op("add", first, n)]))

        def point(r: Exp, c: Exp) -> None:
            for array, operand in self.operands.items():
                index = r if array in product.left else c
                k.bind(operand.param, shared[array] if array in shared
                       else k.declare("e", self.prim(array),
                                      imp.Load(mine[array], index, self.prim(array))))
            values = k.body(product.combine)
            for operator, names in zip(product.redomap.ops, totals, strict=True):
                prims = [self._atom_prim(a) for a in operator.neutral]
                found = launches.loaded(k, "total", names, self.total_cell(r, c), prims)
                k.accumulate(operator, found, values[: len(found)])
                values = values[len(found):]
                k.emit(*launches.stores(names, self.total_cell(r, c), found, prims))

        self.points(point)

    def collect(self, array: VName, mine: VName, n: Exp) -> None:
        """Emit loads of the elements at depth ``n`` of a slab that a work-item needs."""
        prim, left = self.prim(array), array in self.product.left
        count = self.points_of(left=left)
        self.k.emit(imp.DeclareArray(mine, prim, count))
        self.each(imp.Var(count), lambda r: self.k.emit(imp.Store(mine, r, imp.Load(
            self.slabs[array], self.cell(array, n, self.position(r, left=left)), prim), prim)))

    def read(self, array: VName, mine: VName, step: Exp) -> None:
        """Emit loads of the elements at a step that a work-item needs, straight to registers."""
        k, side, left = self.k, self.side_of(array), array in self.product.left
        count = self.points_of(left=left)
        k.emit(imp.DeclareArray(mine, self.prim(array), count))

        def load(r: Exp) -> None:
            point = k.declare("at", Prim.I64, op(
                "min", self.numbered(r, left=left), op("sub", side.size, lit(1))))
            self.bind_side(side, point)
            k.emit(imp.Store(mine, r, element(k, self.operands[array], launches.unflat(
                k, step, self.lengths)), self.prim(array)))

        self.each(imp.Var(count), load)

    # Results

    def numbered(self, lane: Exp, *, left: bool) -> Exp:
        """The index of a row or column of the work-item."""
        return op("add", self.top if left else self.start_j, self.position(lane, left=left))

    def numbers(self, r: Exp, c: Exp) -> tuple[Exp, Exp, Exp]:
        """The row and the column of a point of the work-item, and the condition that it exists."""
        k = self.k
        i = k.declare("i", Prim.I64, self.numbered(r, left=True))
        j = k.declare("j", Prim.I64, self.numbered(c, left=False))
        exists = all_of(op("lt", i, self.down.size), op("lt", j, self.along.size))
        return i, j, exists

    def finish(self, totals: Sequence[Sequence[VName]], r: Exp, c: Exp) -> None:
        """Write the results of a point of the work-item, if it exists."""
        k, results = self.k, self.results
        i, j, exists = self.numbers(r, c)
        with k.when(exists):
            results.write(k, results.ordered(
                self.outer, results.held(self.down, i, r), results.held(self.along, j, c)), [
                imp.Load(name, self.total_cell(r, c), self._atom_prim(atom))
                for operator, names in zip(self.product.redomap.ops, totals, strict=True)
                for name, atom in zip(names, operator.neutral, strict=True)])
