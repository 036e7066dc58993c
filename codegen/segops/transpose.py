"""Transposed copies: tiles go through local memory, so that reads and writes are both coalesced.

Strategy: a map that only reads an element is a transposed copy if neighbouring work-items would
read far apart.  If one of both sides has a single element, the copy has the order of its source,
and the host plan copies the buffer.  Otherwise the runtime chooses a tile, or the plain map.

Kernel ``transpose``: a work-group reads a tile along one dimension, and writes it along the other.
Rows of the tile are padded, so that elements of a column lie in different banks.  A tile is a
square where both sides of the array are long.  A short side lies in the tile as a whole, and the
tile is so much longer the other way (:mod:`runelift.runtime.geometry.transpose_tile`).
Work-items that run apart copy a tile each, by loops.

Kernel ``transpose_words``: elements of one or two bytes, where both sides are whole words.

Source: Ruetsch and Micikevicius 2009, "Optimizing Matrix Transpose in CUDA".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import TransposeTileShape
from runelift.codegen.plan.views import View, all_of, any_of, ceil_quot, lit, op, unflat_index
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div, least, product
from runelift.ir.syntax import Index, SegMap
from runelift.ir.types import Const, elem_of, i64

WORD = Prim.U32
"""Small elements are read and written by words of this type."""
WORDS_BESIDE = 8
"""The words of a sector of memory: so many neighbours read, or write, one together."""
MOST_BLOCK_BYTES = 32
"""The bytes that a work-item reads before it writes."""


@dataclass(frozen=True, slots=True)
class Transposition:
    """A map that only reads an element.

    Neighbours along dimension ``fast`` of the space are neighbours in the memory that is read.
    Neighbours along the last dimension are neighbours in the memory that is written.
    """

    exp: SegMap
    fast: int


def transposition_of(lowering: launches.Lowering, exp: SegMap) -> Transposition | None:
    """The map as a transposed copy; None for other maps."""
    match exp.body.stms, exp.body.result:
        case (stm,), (result,) if isinstance(stm.exp, Index) and stm.pat[0].name == result:
            read = stm.exp
        case _:
            return None
    place = {dim.index: k for k, dim in enumerate(exp.space)}
    dims = [place[d] for d in read.dims if isinstance(d, VName) and d in place]
    order = lowering.view(read.array).order
    all_once = len(dims) == len(read.dims) and sorted(dims) == [*range(len(exp.space))]
    if read.checked or order is None or not all_once or dims[order[-1]] == len(dims) - 1:
        return None
    return Transposition(exp, dims[order[-1]])


def lower_transposition(lowering: launches.Lowering, found: Transposition,
                        otherwise: tuple[plan.Step, ...]) -> None:
    """Add a copy of the buffer if the order stays, else tiles if they pay, else other steps."""
    fast, last = (lowering.size(found.exp.space[k].width) for k in (found.fast, -1))
    sides = fast, last
    tiled = launches.branch(lowering, lambda: _tiled(lowering, found, sides, otherwise))
    copied = _buffer_copy(lowering, found)
    if copied is None:
        lowering.steps += tiled
    else:
        launches.choose_by_length(lowering, least(*sides), (copied,), tiled, i64(1))


def _buffer_copy(lowering: launches.Lowering, found: Transposition) -> plan.CopyBuffer | None:
    """The copy of the whole buffer, if that is the transposition where a side has one element.

    None in loops: one kernel may run all iterations, but no copies of buffers.
    """
    (param,) = lowering.stm.pat
    (stm,) = found.exp.body.stms
    assert isinstance(stm.exp, Index)
    source, result = lowering.view(stm.exp.array), lowering.view(param.name)
    if source.mem is None or source.order is None or result.mem is None or not result.dense:
        return None
    if lowering.env.loops:
        return None
    dims = [d for d in stm.exp.dims if isinstance(d, VName)]
    inside = [[dim.index for dim in found.exp.space].index(dims[d]) for d in source.order]
    last = len(inside) - 1
    for unit in (found.fast, last):
        others = [d for d in inside if d != unit]
        if others != sorted(others):
            return None
    return plan.CopyBuffer(result.mem, source.mem, source.prim,
                           launches.total(lowering, found.exp.space))


def _tiled(lowering: launches.Lowering, found: Transposition, sides: tuple[Size, Size],
           otherwise: tuple[plan.Step, ...]) -> None:
    """Add the tiled copy, or other steps if the runtime wants no tiles."""
    (param,) = lowering.stm.pat
    height, width, pitch, word = (lowering.names.fresh(base)
                                  for base in ("height", "width", "pitch", "words"))
    prim = elem_of(param.type)
    shape = TransposeTileShape(height, width, pitch, word, *sides, prim.bytes, lowering.group)
    tiled = launches.branch(lowering, lambda: _launch(lowering, found, sides, shape), "tiles")
    if lowering.interleave and prim.bytes < WORD.bytes and lowering.view(param.name).dense:
        words = launches.branch(lowering, lambda: _launch_words(lowering, found, sides), "words")
        whole = lowering.names.fresh("whole")
        tiled = (plan.Compute(whole, "eq", Prim.I64, (shape.words, i64(1))),
                 plan.Branch(whole, words, tiled))
    plain = lowering.names.fresh("plain")
    lowering.steps += [shape, plan.Compute(plain, "eq", Prim.I64, (shape.height, i64(0)))]
    launches.choose(lowering, plain, otherwise, tiled)


def _launch(lowering: launches.Lowering, found: Transposition, sides: tuple[Size, Size],
            shape: TransposeTileShape) -> None:
    k = lowering.builder()
    name = lowering.names.fresh("group")
    group = lowering.group if lowering.interleave else Size.of(1)
    lowering.steps.append(plan.ComputeSize(name, group))
    k.constants = [name, *shape.constants()]
    tile = (_LocalTile if lowering.interleave else _LoneTile)(lowering, k, found, shape)
    tile.move()
    groups = product([lowering.size(found.exp.space[d].width) for d in tile.batch]
                     + [ceil_div(side, Size.var(length)) for side, length in zip(
                         sides, (shape.height, shape.width), strict=True)])
    lowering.launch(k, "transpose", groups, group, fits=True)


def _launch_words(lowering: launches.Lowering, found: Transposition,
                  sides: tuple[Size, Size]) -> None:
    k = lowering.builder()
    group = lowering.names.fresh("group")
    lowering.steps.append(plan.ComputeSize(group, lowering.group))
    k.constants = [group]
    blocks = _WordBlocks(lowering, k, found)
    blocks.move()
    along = Size.var(group) * blocks.count
    tiles = [ceil_div(sides[0], Size.of(blocks.per * WORDS_BESIDE)),
             ceil_div(sides[1] * WORDS_BESIDE, along * blocks.per)]
    lowering.launch(k, "transpose_words",
                    product([*(lowering.size(found.exp.space[d].width) for d in blocks.batch),
                             *tiles]), aliases=blocks.aliases)


class _Copy:
    """A copy that is being emitted; ``batch`` are the dimensions that are not turned."""

    def __init__(self, lowering: launches.Lowering, k: KernelBuilder,
                 found: Transposition) -> None:
        self.k, self.found, self.space = k, found, found.exp.space
        (param,) = lowering.stm.pat
        self.prim, self.result = elem_of(param.type), lowering.view(param.name)
        self.shape = launches.widths(k, self.space)
        self.batch = [d for d in range(len(self.space) - 1) if d != found.fast]
        self.sides = [self.shape[d] for d in (found.fast, -1)]
        self.outer: dict[int, Exp] = {}

    def place(self, tiles: Sequence[Exp]) -> list[Exp]:
        """The row and column of a group's tile, among ``tiles`` along both sides."""
        *outer, down, along = (self.k.declare("o", Prim.I64, index) for index in unflat_index(
            launches.GROUP_ID, [*(self.shape[d] for d in self.batch), *tiles]))
        self.outer = dict(zip(self.batch, outer, strict=True))
        return [down, along]

    def point(self, *places: Exp) -> list[Exp]:
        """The indices of a place along ``fast`` and along the last dimension."""
        point = self.outer | {self.found.fast: places[0], len(self.space) - 1: places[1]}
        return [point[d] for d in range(len(self.space))]


class _WordBlocks(_Copy):
    """Square blocks of small elements, read and written word by word, without local memory.

    A block has as many rows as a word has elements, so it is transposed in registers.  Of the
    work-items that run together, some are neighbours along rows, and more along columns.
    """

    def __init__(self, lowering: launches.Lowering, k: KernelBuilder,
                 found: Transposition) -> None:
        super().__init__(lowering, k, found)
        self.per = WORD.bytes // self.prim.bytes
        self.count = MOST_BLOCK_BYTES // (WORD.bytes * self.per)
        (stm,) = found.exp.body.stms
        assert isinstance(stm.exp, Index)
        self.read = stm.exp
        self.source = lowering.view(self.read.array)
        assert self.source.mem is not None
        assert self.result.mem is not None
        self.given, self.made = k.names.fresh("given"), k.names.fresh("made")
        self.aliases = {self.given: self.source.mem, self.made: self.result.mem}

    def move(self) -> None:
        """Emit the blocks of a work-item."""
        k, group = self.k, imp.Var(self.k.constants[0])
        ends = [k.declare("end", Prim.I64, op("quot", side, lit(self.per))) for side in self.sides]
        across = op("quot", group, lit(WORDS_BESIDE))
        tiles = [k.declare("tiles", Prim.I64, ceil_quot(ends[0], lit(WORDS_BESIDE))),
                 k.declare("tiles", Prim.I64,
                           ceil_quot(ends[1], op("mul", across, lit(self.count))))]
        down, along = self.place(tiles)
        beside, apart = self._places(group)
        row = k.declare("row", Prim.I64, op("add", op("mul", down, lit(WORDS_BESIDE)), beside))
        column = k.declare("column", Prim.I64, op(
            "add", op("mul", along, op("mul", across, lit(self.count))), apart))
        for number in range(self.count):
            place = k.declare("place", Prim.I64, op("add", column, op("mul", across, lit(number))))
            with k.when(all_of(op("lt", row, ends[0]), op("lt", place, ends[1]))):
                self._block(row, place)

    def _places(self, group: Exp) -> list[Exp]:
        """The places of a work-item: beside its neighbours in a row, apart from them in a column.

        Neighbouring work-items take half a sector of a row, and whole sectors of columns.  The next
        work-items take the other half of the row.  Small groups are simpler.
        """
        item, half, sector = launches.LID, lit(WORDS_BESIDE // 2), lit(WORDS_BESIDE)
        large = op("le", op("mul", sector, sector), group)
        high = op("quot", item, op("mul", half, sector))
        beside = op("add", op("rem", item, half), op("mul", op("rem", high, lit(2)), half))
        apart = op("add", op("rem", op("quot", item, half), sector),
                   op("mul", op("quot", high, lit(2)), sector))
        return [imp.Select(large, beside, op("rem", item, sector), Prim.I64),
                imp.Select(large, apart, op("quot", item, sector), Prim.I64)]

    def _block(self, row: Exp, column: Exp) -> None:
        """Read the words of a block, and write its columns."""
        k, per = self.k, lit(self.per)
        top, left = op("mul", row, per), op("mul", column, per)
        words = [k.declare("word", WORD, imp.Load(self.given, self._word(
            self.source.at(self._source_indices(top, op("add", left, lit(n))))), WORD))
            for n in range(self.per)]
        for n in range(self.per):
            parts = [self._part(word, n, at) for at, word in enumerate(words)]
            made = parts[0]
            for part in parts[1:]:
                made = op("or", made, part, prim=WORD)
            place = self.result.at(self.point(op("add", top, lit(n)), left))
            k.emit(imp.Store(self.made, self._word(place), made, WORD))

    def _source_indices(self, *places: Exp) -> list[Exp]:
        """The indices that the map reads."""
        point = dict(zip((dim.index for dim in self.space), self.point(*places), strict=True))
        return [point[dim] for dim in self.read.dims if isinstance(dim, VName)]

    def _word(self, element: Exp) -> Exp:
        """The place of the word that begins with an element."""
        return op("quot", element, lit(self.per))

    def _part(self, word: Exp, number: int, place: int) -> Exp:
        """Element ``number`` of a word, moved to ``place``."""
        bits = self.prim.bytes * 8
        low = op("lshr", word, _bits(number * bits), prim=WORD) if number else word
        kept = op("and", low, _bits((1 << bits) - 1), prim=WORD)
        return op("shl", kept, _bits(place * bits), prim=WORD) if place else kept


def _bits(value: int) -> Exp:
    return imp.Lit(Const(value, WORD))


class _Tile(_Copy):
    """The tile of a group: its columns go along dimension ``fast``, its rows along the last one."""

    def __init__(self, lowering: launches.Lowering, k: KernelBuilder, found: Transposition,
                 tile: TransposeTileShape) -> None:
        super().__init__(lowering, k, found)
        self.lengths = [imp.Var(tile.height), imp.Var(tile.width)]
        tiles = [k.declare("tiles", Prim.I64, ceil_quot(side, length))
                 for side, length in zip(self.sides, self.lengths, strict=True)]
        down, along = self.place(tiles)
        self.top = k.declare("top", Prim.I64, op("mul", down, self.lengths[0]))
        self.left = k.declare("left", Prim.I64, op("mul", along, self.lengths[1]))

    def move(self) -> None:
        """Emit the code that copies the elements."""
        raise NotImplementedError

    def _are_inside(self, row: Exp, column: Exp) -> Exp:
        """True if a place is in the array."""
        return all_of(*(op("lt", place, side)
                       for place, side in zip((row, column), self.sides, strict=True)))

    def _element(self, point: list[Exp]) -> Exp:
        """The element that the map reads at a point."""
        launches.bind_point(self.k, self.space, point)
        (value,) = self.k.body(self.found.exp.body)
        assert not isinstance(value, View)
        return value


class _LoneTile(_Tile):
    """A tile that one work-item copies; its elements stay in the cache."""

    def move(self) -> None:
        """Emit two loops, the longer one inside."""
        ends = [self.k.declare("end", Prim.I64, op("min", op("add", corner, length), side))
                for corner, length, side in zip(
                    (self.top, self.left), self.lengths, self.sides, strict=True)]
        self.k.emit(imp.If(op("lt", self.lengths[0], self.lengths[1]),
                           self._loops(ends, inner=1), self._loops(ends, inner=0)))

    def _loops(self, ends: Sequence[Exp], inner: int) -> tuple[imp.Stm, ...]:
        k, corners = self.k, (self.top, self.left)

        def copy(outside: Exp, inside: Exp) -> None:
            point = self.point(*((outside, inside) if inner else (inside, outside)))
            k.emit(self.result.write(point, self._element(point)))

        with k.block() as code:
            k.loop(ends[1 - inner], lambda one: k.loop(
                ends[inner], lambda other: copy(one, other), start=corners[inner], base="in"),
                   start=corners[1 - inner], base="out")
        return tuple(code)


class _LocalTile(_Tile):
    """A tile that goes through local memory."""

    def __init__(self, lowering: launches.Lowering, k: KernelBuilder, found: Transposition,
                 tile: TransposeTileShape) -> None:
        super().__init__(lowering, k, found, tile)
        self.memory = k.names.fresh("tile")
        k.locals.append(imp.LocalArray(self.memory, self.prim,
                                       Size.var(tile.pitch) * Size.var(tile.width)))
        self.group, self.pitch = imp.Var(k.constants[0]), imp.Var(tile.pitch)
        self.elements = op("mul", *self.lengths)
        self.whole = k.declare("whole", Prim.BOOL, self._are_inside(
            *(op("add", corner, op("sub", length, lit(1)))
              for corner, length in zip((self.top, self.left), self.lengths, strict=True))))

    def move(self) -> None:
        """Load the tile, wait, and store it."""
        self.load()
        self.k.emit(imp.Barrier(imp.Space.LOCAL))
        self.store()

    def load(self) -> None:
        """Emit copies of the tile from the source to local memory, with coalesced reads."""
        self._each(lambda point, cell: imp.Store(
            self.memory, cell, self._element(point), self.prim), down=True)

    def store(self) -> None:
        """Emit copies of the tile from local memory to the result, with coalesced writes."""
        self._each(lambda point, cell: self.result.write(
            point, imp.Load(self.memory, cell, self.prim)), down=False)

    def _each(self, move: Callable[[list[Exp], Exp], imp.Stm], *, down: bool) -> None:
        """Move the element at each point, which has a cell in local memory.

        Neighbouring work-items are ``down`` a column, or in a row.  Whole tiles need no bounds
        checks, so a work-item has several elements in flight.
        """
        k = self.k
        run = self.lengths[0] if down else self.lengths[1]
        # Where runs divide a group, a work-item stays at its place in them.
        divides = op("eq", op("rem", self.group, run), lit(0))
        first = k.declare("first", Prim.I64, op("quot", launches.LID, run))
        beside = k.declare("beside", Prim.I64, op("sub", launches.LID, op("mul", first, run)))
        even = op("eq", op("rem", self.elements, self.group), lit(0))

        def turn(number: Exp, *, guarded: bool) -> None:
            item = k.declare("e", Prim.I64, op("add", op("mul", number, self.group), launches.LID))
            slow = k.declare("slow", Prim.I64, imp.Select(
                divides, op("add", first, op("mul", number, op("quot", self.group, run))),
                _short_quotient(item, run), Prim.I64))
            quick = k.declare("quick", Prim.I64, imp.Select(
                divides, beside, op("sub", item, op("mul", slow, run)), Prim.I64))
            row, column = (quick, slow) if down else (slow, quick)
            places = op("add", self.top, row), op("add", self.left, column)
            with k.block() as code:
                k.emit(move(self.point(*places), op("add", op("mul", column, self.pitch), row)))
            inside = op("lt", item, self.elements)
            there = all_of(inside, self._are_inside(*places)) if guarded else any_of(even, inside)
            k.emit(imp.If(there, tuple(code)))

        turns = ceil_quot(self.elements, self.group)
        blocks: list[tuple[imp.Stm, ...]] = []
        for guarded in (False, True):
            with k.block() as code:
                k.loop(turns, partial(turn, guarded=guarded), base="turn", unroll=not guarded)
            blocks.append(tuple(code))
        k.emit(imp.If(self.whole, *blocks))


def _short_quotient(number: Exp, part: Exp) -> Exp:
    """The quotient of numbers below 2^31, whose division is quicker."""
    short = (imp.Convert(Prim.I64, Prim.I32, each) for each in (number, part))
    return imp.Convert(Prim.I32, Prim.I64, imp.Apply("quot", Prim.I32, tuple(short)))
