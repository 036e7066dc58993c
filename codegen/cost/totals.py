"""The totals that formulas of work and cost functions give, and what reads them needs to know."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

SECTOR = 32
"""The bytes that memory moves at least."""
LINE = 128
"""The bytes of a line of a compute unit's cache, which each work-item may need one of."""
ENTRY = "cost"
"""The name of the function that follows a whole entry point."""


class Work(NamedTuple):
    """The work of one launch of a kernel; bytes and counts are sums over all work-items.

    ``items`` do something useful: they pass the test of bounds.  ``read`` and ``written`` are the
    bytes that loads and stores move between memory and chip.  Sub-groups of 32 work-items share
    sectors of 32 bytes.  Sectors stay in the cache from an iteration of the innermost loop to the
    next; ``apart`` are further bytes if they do not.  ``random`` accesses are
    to places that elements decide; they are in neither.  Of these, ``walked`` go to the sector
    behind that of the work-item's last access.  ``lookups`` are accesses to the sector of the last
    access itself, by work-items that are alone in a line of the cache.  ``distinct`` are the bytes
    that are reached at least once.  ``touched`` are the bytes of the elements of all accesses.

    ``accesses`` are to global memory.  ``local`` accesses are to local memory, and shuffles.
    ``private`` accesses are to private arrays that are in memory, since they have indices that
    vary.  ``arithmetic`` are operations that compute data.  ``operations`` are all steps, in steps
    of a 32-bit operation.  They leave out ``special`` operations, such as roots, and operations on
    ``doubles``.

    ``steps`` are the steps of the longest work-item.  ``waits`` are its loads that follow one
    another: one in each iteration of a loop.  ``streams`` are its loads in loops that do nothing
    but load and compute.  A work-item asks for several such loads at a time.  ``barriers`` are
    passed by a group.

    If loops have announced their iterations, ``steps``, ``waits`` and ``streams`` are numbers of a
    mean work-item.  The longest work-item is ``uneven`` times as long.
    """

    items: float
    read: float
    apart: float
    random: float
    walked: float
    lookups: float
    written: float
    distinct: float
    touched: float
    accesses: float
    arithmetic: float
    operations: float
    special: float
    doubles: float
    private: float
    local: float
    atomics: float
    local_atomics: float
    steps: float
    waits: float
    streams: float
    barriers: float
    uneven: float = 0.0


class KernelCost:
    """The formula of a kernel's work as text; the function is compiled when it is first called."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def function(self) -> Callable[..., tuple[float, ...]]:
        """The function, which returns the fields of a Work in order."""
        scope: dict[str, Any] = {}
        exec(compile(self.source, "<work>", "exec"), scope)
        found: Callable[..., tuple[float, ...]] = scope["work"]
        return found

    def __call__(self, groups: int, group: int, *sizes: int) -> Work:
        """The work of a launch of ``groups`` groups of ``group`` work-items."""
        return Work._make(self.function(groups, group, *sizes))
