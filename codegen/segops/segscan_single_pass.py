"""Scans in one pass, with decoupled look-back.

A group takes the next tile in order, scans it, and publishes its *aggregate*.  Then it waits until
some earlier tile has published its *prefix*, and all tiles after that one their aggregates.  A
prefix is the total of all elements up to the end of a tile.  Combined, they give the total before
the tile.  So every element is read once and written once.  Unlike the source, a group looks back at
a fixed window of tiles and combines totals from the left.  So results are equal in every run, to
the last bit.

Kernel ``segscan_once``: take a tile (a ticket by an atomic addition), scan it, publish, wait,
combine the window, write.  Each work-item watches one tile of the window.

Tiles publish *words* of 64 bits, each written and read as a whole: a status and 32 bits of a value.
A value of several words is complete when all have the same status, so no fences are needed.  A
status is the kind of total and the *epoch* of the scan.  Every scan on a device is a new epoch, so
statuses need no clearing.  Element 0 of the buffer holds the epoch and the number of taken tiles.
The group that takes the last tile begins the next epoch.

Source: Merrill and Garland 2016, "Single-pass parallel prefix scan with decoupled look-back".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from runelift.codegen.kernel.collectives import combine, combined
from runelift.codegen.kernel.launch_builder import GROUP_COUNT, GROUP_ID, LID, LSIZE, Lowering
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import all_of, any_of, lit, negated, op
from runelift.codegen.segops.scan_tiles import Scan, ScanTile
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import SAME_BITS, Prim
from runelift.ir.sizes import Size, least
from runelift.ir.types import Const

LATE_MESSAGE = ("The device did not finish an earlier part of a scan in time; "
                "the part that waited for it is number {}.")

FIRST_STATUS = 16
"""The distance of the statuses from the count of tiles: another cache line."""

MOST_LOADED_WORDS = 16
"""The most words of totals that a work-item loads before it combines them."""

AGGREGATE, PREFIX = 1, 2
"""Kinds of totals: of the tile's elements, and of all elements up to its end.

If a segment starts inside of a tile, its total after that is at once of the second kind.
"""
IS_LAST = op("eq", LID, op("sub", LSIZE, lit(1)))


def scan_single_pass(lowering: Lowering, scan: Scan) -> None:
    """Add the kernel of a single-pass scan, and its launch."""
    statuses = lowering.names.fresh("statuses")
    lowering.steps.append(plan.AllocScanStatus(statuses, status_words(scan)))
    tile = ScanTile(lowering, scan)
    k = tile.k
    k.constants.append(scan.tile_shape.window)
    with k.block() as code:
        _run(tile, LookBack(k, scan, tile.number, statuses))
    groups = Size.var(scan.tiles)
    if k.scratch:
        groups = least(groups, lowering.groups)
        code = [imp.For(k.names.fresh("turn"), GROUP_ID, imp.Var(scan.tiles), GROUP_COUNT,
                        (*code, imp.Barrier(imp.Space.LOCAL)))]
    k.emit(*code)
    tile.launch("segscan_once", groups)


def _run(tile: ScanTile, back: LookBack) -> None:
    """Emit the work of a group: take a tile, scan it, look back, and write its results."""
    k = tile.k
    back.take_tile()
    tile.begin()
    tile.take(lambda indices, position: tile.compute(indices, position, stored=True))
    totals, fresh = tile.run()
    carries = tile.exchange(totals, fresh)
    later: Exp = op("lt", lit(0), tile.number)
    if fresh is None:
        open_ = own = k.declare("open", Prim.BOOL, later)
    else:
        open_ = k.declare("open", Prim.BOOL, all_of(later, op("lt", lit(0), tile.column)))
        own = k.declare("own", Prim.BOOL, all_of(later, negated(tile.starts_within(tile.length()))))
    earlier = back.join(totals, open_, own, lambda: tile.complete(totals, carries, fresh))
    tile.finish(carries, tile.linked(fresh), earlier)


# Words


def status_words(scan: Scan) -> Size:
    """The words by which the tiles of a scan learn of each other."""
    words = Size.of(sum(_words(p) for p in scan.values()))
    return Size.var(scan.tiles) * words + Size.of(FIRST_STATUS)


def _words(prim: Prim) -> int:
    """The number of words of a value."""
    return 2 if prim.bits == 64 else 1


def _halves(value: Exp, prim: Prim) -> list[Exp]:
    """A value as u32s, the low one first."""
    if prim.is_float:
        value, prim = imp.Apply("bits", prim, (value,)), SAME_BITS[prim]
    if _words(prim) == 1:
        return [imp.Convert(prim, Prim.U32, value)]
    wide = imp.Convert(prim, Prim.U64, value)
    return [imp.Convert(Prim.U64, Prim.U32, wide), _high(wide)]


def _value(words: Sequence[Exp], prim: Prim) -> Exp:
    """The value that words hold; undoes :func:`_halves`."""
    bits = SAME_BITS[prim] if prim.is_float else prim
    if _words(prim) == 1:
        found: Exp = imp.Convert(Prim.U32, bits, imp.Convert(Prim.U64, Prim.U32, words[0]))
    else:
        high = imp.Apply("shl", Prim.U64, (words[1], _u64(32)))
        found = imp.Convert(Prim.U64, bits, imp.Apply("or", Prim.U64, (high, _low(words[0]))))
    return imp.Apply("bits", bits, (found,)) if prim.is_float else found


def _low(word: Exp) -> Exp:
    return imp.Apply("and", Prim.U64, (word, _u64((1 << 32) - 1)))


def _high(word: Exp) -> Exp:
    return imp.Convert(Prim.U64, Prim.U32, imp.Apply("shr", Prim.U64, (word, _u64(32))))


def _u64(value: int) -> Exp:
    return imp.Lit(Const(value, Prim.U64))


def _u32(value: int) -> Exp:
    return imp.Lit(Const(value, Prim.U32))


def _i32(value: int) -> Exp:
    return imp.Lit(Const(value, Prim.I32))


class LookBack:
    """Emits the code by which a group takes tile ``number``, and learns the total before it."""

    def __init__(self, k: KernelBuilder, scan: Scan, number: imp.Var, statuses: VName) -> None:
        self.k = k
        self.scan = scan
        self.number = number
        self.statuses = statuses
        self.window = imp.Var(self.scan.tile_shape.window)
        prims, window = self.scan.values(), Size.var(self.scan.tile_shape.window)
        self.told = self._local("told", Prim.U64, Size.of(1))
        self.latest = self._local("latest", Prim.I32, Size.of(2))
        self.kinds = self._local("kinds", Prim.I32, window)
        self.seen = [self._local("seen", p, window) for p in prims]
        self.before = [self._local("before", p, Size.of(1)) for p in prims]

    def _local(self, base: str, prim: Prim, length: Size) -> VName:
        name = self.k.names.fresh(base)
        self.k.locals.append(imp.LocalArray(name, prim, length))
        return name

    def join(self, totals: Sequence[Sequence[imp.Var]], open_: Exp, own: Exp,
             complete: Callable[[], None]) -> list[list[Exp]]:
        """The total before the tile, in each work-item, if it is ``open_``.

        ``complete`` makes the last work-item's ``totals`` the totals of the tile.  They are
        published as an aggregate if they are its ``own``, else as a prefix.
        """
        k = self.k
        with k.when(IS_LAST):
            complete()
            self._publish(imp.Select(own, _u32(AGGREGATE), _u32(PREFIX), Prim.U32), totals)
        latest = self._wait(open_)
        with k.block() as fold:
            self._fold(latest, totals, own)
        k.emit(imp.If(all_of(IS_LAST, open_), tuple(fold)), imp.Barrier(imp.Space.LOCAL))
        before = iter(self.before)
        return [[imp.Load(next(before), lit(0), p) for p in ps] for ps in self.scan.prims]

    def take_tile(self, before: Sequence[imp.Stm] = ()) -> None:
        """Emit the code by which a group gets the number of its next tile, and the epoch.

        The first work-item runs ``before``, and the group sees what it stores.
        """
        k, taken = self.k, self.k.names.fresh("taken")
        last = op("eq", imp.Convert(Prim.U64, Prim.I64, _low(imp.Var(taken))),
                  op("sub", imp.Var(self.scan.tiles), lit(1)))
        rest = imp.Apply("sub", Prim.U64, (
            _u64(1 << 32), imp.Convert(Prim.I64, Prim.U64, imp.Var(self.scan.tiles))))
        k.emit(imp.If(IS_FIRST, (
            *before,
            imp.Atomic("add", Prim.U64, self.statuses, lit(0), _u64(1), imp.Space.GLOBAL, taken),
            imp.If(last, (imp.Atomic("add", Prim.U64, self.statuses, lit(0), rest,
                                     imp.Space.GLOBAL),)),
            imp.Store(self.told, lit(0), imp.Var(taken), Prim.U64),
            imp.Store(self.latest, lit(0), _i32(-1), Prim.I32))))
        k.emit(imp.Barrier(imp.Space.LOCAL))
        ticket = k.declare("ticket", Prim.U64, imp.Load(self.told, lit(0), Prim.U64))
        k.emit(imp.Declare(self.number.name, Prim.I64, imp.Convert(
            Prim.U64, Prim.I64, _low(ticket))))
        self.epoch = k.declare("epoch", Prim.U32, imp.Apply("mul", Prim.U32, (
            _high(ticket), _u32(4))))

    def _place(self, word: int, number: Exp) -> Exp:
        """The position of a word of a tile; words of neighbouring tiles are next to each other."""
        return op("add", op("add", op("mul", lit(word), imp.Var(self.scan.tiles)), number),
                  lit(FIRST_STATUS))

    def _publish(self, kind: Exp, totals: Sequence[Sequence[imp.Var]]) -> None:
        """Emit stores that publish the totals of a tile to later tiles."""
        k = self.k
        status = k.declare("status", Prim.U64, imp.Apply("shl", Prim.U64, (
            imp.Convert(Prim.U32, Prim.U64, imp.Apply("add", Prim.U32, (self.epoch, kind))),
            _u64(32))))
        halves = [half for t, p in zip((t for ts in totals for t in ts), self.scan.values(),
                                       strict=True) for half in _halves(t, p)]
        k.emit(*(imp.Atomic("xchg", Prim.U64, self.statuses, self._place(n, self.number),
                            imp.Apply("or", Prim.U64, (
                                status, imp.Convert(Prim.U32, Prim.U64, half))),
                            imp.Space.GLOBAL)
                 for n, half in enumerate(halves)))

    # Waiting

    def _wait(self, open_: Exp) -> imp.Var:
        """Poll the window of earlier tiles until the total before this one is known.

        A work-item watches a tile of the window.  The result is odd and not negative on success.
        Then half of it is the place in the window of the last prefix, and all tiles after it have
        aggregates.
        """
        k, patience = self.k, imp.Var(self.scan.tile_shape.patience)
        latest = k.declare("latest", Prim.I32, _i32(1))
        going = k.declare("going", Prim.BOOL, open_)
        polls = k.declare("polls", Prim.I64, lit(0))
        kind = k.declare("kind", Prim.I32, _i32(0))
        watches = op("lt", LID, self.window)
        turn = op("and", polls, lit(1))
        with k.block() as round_:
            with k.when(all_of(watches, imp.Apply("lt", Prim.I32, (kind, _i32(PREFIX))))):
                self._look(kind)
            k.emit(imp.Barrier(imp.Space.LOCAL))
            k.emit(imp.If(IS_FIRST, (imp.Store(
                self.latest, op("and", op("add", polls, lit(1)), lit(1)), _i32(-1), Prim.I32),)))
            k.emit(imp.If(all_of(watches, self._is_followed(kind)), (
                imp.Atomic("max", Prim.I32, self.latest, turn, self._mark(kind),
                           imp.Space.LOCAL),)))
            k.emit(imp.Barrier(imp.Space.LOCAL),
                   imp.Assign(latest.name, imp.Load(self.latest, turn, Prim.I32)),
                   imp.Assign(polls.name, op("add", polls, lit(1))),
                   imp.Assign(going.name, all_of(negated(_is_found(latest)),
                                                 op("lt", polls, patience))))
        k.emit(imp.While(going, tuple(round_)))
        return latest

    def _look(self, kind: imp.Var) -> None:
        """Read the status of the tile that the work-item watches, and its total if there is one."""
        k, prims = self.k, self.scan.values()
        number = k.declare("watched", Prim.I64, op("add", op("sub", self.number, self.window), LID))
        count = sum(map(_words, prims))
        with k.when(op("le", lit(0), number)):
            words = [imp.Var(k.names.fresh("word")) for _ in range(count)]
            k.emit(*(imp.Peek(w.name, Prim.U64, self.statuses, self._place(n, number))
                     for n, w in enumerate(words)))
            status = k.declare("status", Prim.U32, _high(words[0]))
            found = k.declare("found", Prim.U32, imp.Apply("sub", Prim.U32, (status, self.epoch)))
            known: Exp = imp.Apply("le", Prim.U32, (found, _u32(PREFIX)))
            for word in words[1:]:
                known = all_of(known, imp.Apply("eq", Prim.U32, (_high(word), status)))
            ends = list(accumulate(map(_words, prims)))
            keep = tuple(imp.Store(m, LID, _value(words[end - _words(p):end], p), p)
                         for m, p, end in zip(self.seen, prims, ends, strict=True))
            k.emit(imp.If(known, (
                imp.Assign(kind.name, imp.Convert(Prim.U32, Prim.I32, found)), *keep)))
        k.emit(imp.Store(self.kinds, LID, kind, Prim.I32))

    def _is_followed(self, kind: imp.Var) -> Exp:
        """True if the watched total is no aggregate, and the next one, if any, is.

        Mostly one work-item is in that position, and tells the other work-items.
        """
        after = op("add", LID, lit(1))
        following = imp.Load(self.kinds, after, Prim.I32)
        return all_of(negated(op("eq", kind, _i32(AGGREGATE), prim=Prim.I32)),
                      any_of(op("eq", after, self.window),
                             op("eq", following, _i32(AGGREGATE), prim=Prim.I32)))

    def _mark(self, kind: imp.Var) -> Exp:
        """A number that grows along the window, and is odd for prefixes."""
        return imp.Apply("add", Prim.I32, (
            imp.Apply("mul", Prim.I32, (imp.Convert(Prim.I64, Prim.I32, LID), _i32(2))),
            imp.Select(imp.Apply("eq", Prim.I32, (kind, _i32(PREFIX))), _i32(1), _i32(0),
                       Prim.I32)))

    # Combining

    def _fold(self, latest: imp.Var, totals: Sequence[Sequence[imp.Var]], own: Exp) -> None:
        """Combine the totals of the window, publish the tile's prefix, and tell the group."""
        k = self.k
        k.fail_unless(_is_found(latest), LATE_MESSAGE, [self.number])
        first = k.declare("first", Prim.I64, imp.Apply("div", Prim.I64, (
            imp.Convert(Prim.I32, Prim.I64, imp.Apply("max", Prim.I32, (latest, _i32(0)))),
            lit(2))))
        before = iter([k.declare("before", p, imp.Load(m, first, p))
                       for m, p in zip(self.seen, self.scan.values(), strict=True)])
        sums = [[next(before) for _ in ps] for ps in self.scan.prims]

        def add(place: Exp, count: int) -> None:
            loaded = [iter([k.declare("x", p, imp.Load(m, op("add", place, lit(n)), p))
                            for m, p in zip(self.seen, self.scan.values(), strict=True)])
                      for n in range(count)]
            for seen in loaded:
                for op_, sum_ in zip(self.scan.exp.ops, sums, strict=True):
                    combine(k, op_, sum_, [next(seen) for _ in sum_], sum_)

        start, together = op("add", first, lit(1)), self._together()
        single = k.declare("single", Prim.I64, op("add", start, op(
            "rem", op("sub", self.window, start), lit(together))))
        k.loop(single, lambda w: add(w, 1), start=start, base="w")
        k.loop(self.window, lambda w: add(w, together), start=single, step=lit(together), base="w")
        with k.when(own):
            k.emit(*combined(k, self.scan.exp.ops, sums, totals))
            self._publish(_u32(PREFIX), totals)
        k.emit(*(imp.Store(m, lit(0), s, p) for m, s, p in zip(
            self.before, (s for ss in sums for s in ss), self.scan.values(), strict=True)))

    def _together(self) -> int:
        """The number of totals that are loaded before they are combined, since local memory is
        slow.
        """
        return max(1, MOST_LOADED_WORDS // sum(map(_words, self.scan.values())))


def _is_found(latest: imp.Var) -> Exp:
    """True if :meth:`LookBack._wait` found the total before the tile."""
    odd = op("and", latest, _i32(1), prim=Prim.I32)
    return all_of(op("le", _i32(0), latest, prim=Prim.I32), op("eq", odd, _i32(1), prim=Prim.I32))
