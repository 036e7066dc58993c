"""Mappings: the levels at which the loops of a perfect nest of maps run.

A mapping gives each loop a level of the versioned IR, outermost first, or None if a work-item runs
it sequentially.  Neighbouring loops of one level are one index space.  Rule G3 asks for the
mappings of a map and of the parallelism inside it: each is a kind of version.

>>> for each in mappings(2):
...     print(*(level.value if level else "sequential" for level in each), kind_of(each).value)
grid sequential outer
group local intra
grid grid flat

Source: Mogers 2023, chapter 5, whose rules are about three dimensions; launches here have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from runelift.ir.guards import Kind
from runelift.ir.syntax import Level

Levels: TypeAlias = tuple[Level | None, ...]
"""A level for each loop of a chain, the outermost first."""

ALL: tuple[Level | None, ...] = (None, *Level)


def legal(chain: Sequence[Level | None]) -> bool:
    """True if the parallel loops of a chain are over the grid, or over groups and inside of them.

    A loop over the work-items of a group stands inside of a loop over groups.  Loops at grid level
    do not occur together with either.
    """
    parallel = [level for level in chain if level is not None]
    if Level.GRID in parallel:
        return set(parallel) == {Level.GRID}
    groups = parallel.count(Level.GROUP)
    return parallel[:groups] == [Level.GROUP] * groups and (bool(groups) or not parallel)


def useful(chain: Sequence[Level | None]) -> bool:
    """True if a loop is parallel, and the work-items of groups have work in common."""
    return {level for level in chain if level is not None} in (
        {Level.GRID}, {Level.GROUP, Level.LOCAL})


def launched_once(chain: Sequence[Level | None]) -> bool:
    """True if no loop over the grid or groups stands in a sequential one, a loop of launches."""
    return all(level in (None, Level.LOCAL)
               for level in chain[list(chain).index(None):]) if None in chain else True


@lru_cache
def mappings(depth: int, *, inside_group: bool = False) -> tuple[Levels, ...]:
    """The useful mappings of a perfect nest, on the host or in a kernel that a group executes.

    None has a loop of launches.  Mappings with few loops over the grid or groups come first, as
    they store the least in global memory.  Of equal mappings, a mapping without barriers comes
    first.
    """
    around, levels = ((Level.GROUP,), (None, Level.LOCAL)) if inside_group else ((), ALL)

    def cost(chain: Levels) -> tuple[int, bool]:
        launched = sum(level in (Level.GRID, Level.GROUP) for level in chain)
        return launched, Level.LOCAL in chain

    return tuple(sorted((
        each for each in product(levels, repeat=depth)
        if legal((*around, *each)) and useful((*around, *each)) and launched_once(each)), key=cost))


@lru_cache
def further(depth: int) -> tuple[Levels, ...]:
    """The mappings of a perfect nest of ``depth`` loops inside of a group that rule G3 adds.

    At least one loop is sequential and one local.  Mappings with the fewest sequential loops come
    first.  Of these, the mapping whose sequential loops are innermost is first: it stores the
    least.

    >>> for each in further(2):
    ...     print(in_words((Level.GROUP, *each)))
    group, local, sequential
    group, sequential, local
    """
    inside = [each[1:] for each in mappings(depth + 1) if each.count(Level.GROUP) == 1
              and each[0] is Level.GROUP and None in each]
    return tuple(sorted(inside, key=lambda each: (
        each.count(None), [level is None for level in each])))


def in_words(levels: Sequence[Level | None]) -> str:
    """A mapping in words, the outermost loop first."""
    return ", ".join(level.value if level else "sequential" for level in levels)


def kind_of(levels: Levels) -> Kind:
    """The kind of version that runs a map, and what is inside it, at two levels."""
    outer, inner = levels
    if inner is None:
        return Kind.OUTER
    return Kind.FLAT if inner is outer else Kind.INTRA
