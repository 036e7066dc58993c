"""Sizes of work-groups, and the chunks of a row that their work-items share.

Contiguous chunks in private memory pay where a row stays there over several operations, as long as
a chunk fits in registers.  So the group is as small as the preferred chunk allows.  Chunks grow
only where the group cannot.
"""

from __future__ import annotations

from functools import lru_cache

from runelift.runtime.devices.limits import LOOP_ELEMENTS, ShareLimits, ceil_div, power_of_two_above

MOST_REMEMBERED = 10_000
"""The most sizes whose launch geometry is remembered."""

ONE_TILE = 4
"""So many tiles of the usual size are one tile where a work-item scans it.

A core scans as many floats in the time of two launches (EPYC, PoCL 3.0, 2026-11-25).  So many
elements of a work-item are scanned before a group that waits for another has its total.
"""

LEAST_TILE = 64
"""The least such tile, so that few kernels are built."""

LEAST_TEAMS = 4
"""The least number of teams in a group if they keep nothing in local memory.

The elements that one team reads, its neighbours find in the cache.
"""

EVEN_PARTS = 8
"""Teams must not load a compute unit more than without them, but for one in so many."""


@lru_cache(MOST_REMEMBERED)
def share_out(limits: ShareLimits, points: tuple[int, ...], loops: tuple[int, ...],
              groups: int, *, rows: tuple[tuple[int, int], ...] = (),
              teams: bool = False, apart: int = 0, scanned: bool = True,
              changing: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The values of :meth:`runelift.codegen.plan.distribution.GroupShape.names` for ``groups``
    groups.

    Of several ``teams``, none has more work-items than it needs, and fewer if the others keep the
    device busy.  ``rows`` are the numbers and lengths of few rows.  Each of these is reduced by a
    sub-group, unless all groups keep the device busy.  Work-items that exchange no values are
    ``apart``: so many indices count their rows.  If nothing is ``scanned``, chunks save little.
    Numbers of ``points`` that are ``changing`` in a loop (by place) are taken not to come out even.
    Building one more kernel for the few that do takes longer than it saves.

    >>> from dataclasses import replace
    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, together=128, short=4)
    >>> share_out(gpu, (4096, 256), (), 4096)
    (256, 1, 1, 16, 1, 1, 1)
    >>> share_out(gpu, (100,), (), 1000)
    (32, 1, 1, 4, 0)
    >>> share_out(replace(gpu, crew=1 << 18), (100,), (), 1000, scanned=False)
    (128, 1, 1, 1, 0)
    >>> share_out(gpu, (), (100,), 1000), share_out(gpu, (), (100,), 1)
    ((32, 1, 1), (128, 1, 1))
    >>> share_out(replace(gpu, subgroup=32), (5,), (), 1000, rows=((5, 1000),))
    (256, 1, 32, 1, 0)
    >>> share_out(replace(gpu, subgroup=32, crew=1 << 15), (5,), (), 1000, rows=((5, 1000),))
    (64, 1, 32, 1, 0)
    >>> share_out(gpu, (1000000,), (), 1000)
    (0, 1, 1, 1024, 0)
    >>> share_out(gpu, (5,), (), 1000), share_out(gpu, (5,), (), 1000, teams=True)
    ((32, 1, 1, 1, 0), (8, 1, 1, 1, 0))
    >>> [share_out(replace(gpu, crew=1 << 18), (n,), (), 1 << 20, teams=True) for n in (4, 16, 64)]
    [(2, 1, 1, 2, 1), (8, 1, 1, 2, 1), (8, 1, 1, 8, 1)]
    >>> share_out(gpu, (1024,), (), 1000), share_out(gpu, (1024,), (), 1)
    ((64, 1, 1, 16, 1), (256, 1, 1, 4, 1))
    >>> share_out(gpu, (1024,), (), 1000, apart=1)
    (256, 1, 1, 4, 1)
    >>> share_out(gpu, (1024, 64), (), 1000, changing=(0,))
    (64, 1, 1, 16, 0, 1, 1)
    >>> [share_out(gpu, (n,), (), 1000, apart=2) for n in (256, 512)]
    [(32, 1, 1, 8, 1), (128, 1, 1, 4, 1)]
    """
    longest, chunk = max(points, default=1), 1
    lanes = limits.lanes_of(groups, longest) if teams else limits.lanes
    enough = limits.chunk_of(longest, groups, apart, scanned=scanned)
    while chunk < enough and ceil_div(longest, chunk) > lanes:
        chunk *= 2
    while chunk < limits.max_chunk and ceil_div(longest, chunk) > limits.max_group:
        chunk *= 2
    alone = LOOP_ELEMENTS if groups >= limits.busy_groups else 1
    busy = [ceil_div(max(loops, default=1), alone)]
    busy += [min(count * min(ceil_div(length, alone), limits.subgroup),
                 ceil_div(limits.crew, max(1, groups)))
             for count, length in rows if count < lanes]
    looping = min(max(busy), limits.group)
    least = 1 if teams and groups >= limits.busy_groups else lanes
    group = min(max(least, power_of_two_above(ceil_div(longest, chunk)),
                    power_of_two_above(looping)),
                limits.max_group)
    sizes = [power_of_two_above(ceil_div(count, group)) for count in points]
    possible = max(sizes, default=1) <= limits.max_chunk
    chunks = (n for place, (size, count) in enumerate(zip(sizes, points, strict=True))
              for n in (size, int(size * group == count and place not in changing)))
    return (group if possible else 0, int(limits.staged), subgroup_of(limits, group), *chunks)


def subgroup_of(limits: ShareLimits, group: int) -> int:
    """The work-items of a group that can hand each other values; 1 if that is of no use to it.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, subgroup=32)
    >>> [subgroup_of(gpu, group) for group in (1, 8, 256, 1024, 2048, 48)]
    [1, 8, 32, 32, 1, 1]
    """
    size = min(group, limits.subgroup)
    return size if group <= limits.subgroup ** 2 and group % size == 0 else 1


def teams(limits: ShareLimits, group: int, groups: int, size: int, local_bytes: int,
          wanted: int = 0, apart: int = 0) -> int:
    """The value of :class:`runelift.codegen.plan.distribution.TeamCount`, if possible as it is
    ``wanted``.

    Groups that are large enough are alone where they know their row only if it is the only one.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 1, 132, together=128)
    >>> [teams(gpu, 8, groups, 64, 48 << 10) for groups in (10, 500, 1000, 1000000)]
    [1, 4, 8, 16]
    >>> teams(gpu, 8, 1000000, 9000, 48 << 10), teams(gpu, 8, 1000000, 64, 48 << 10, 4)
    (4, 4)
    >>> teams(gpu, 128, 2048, 64, 48 << 10), teams(gpu, 128, 2048, 0, 48 << 10)
    (1, 4)
    >>> [teams(gpu, 128, groups, 0, 48 << 10) for groups in (100, 256, 512, 600)]
    [1, 2, 4, 1]
    >>> [teams(gpu, group, 1000, 0, 48 << 10, apart=2) for group in (64, 128)]
    [4, 1]
    """
    most = limits.together // max(1, group)
    if size == 0 and limits.together > 1 and not (apart > 1 and group >= limits.together):
        most = max(most, LEAST_TEAMS)
    count = power_of_two_below(max(1, min(wanted or most, limits.max_group // max(1, group),
                                          local_bytes // max(1, size))))
    least = _load(limits, groups, 1)
    while not wanted and count > 1 and EVEN_PARTS * (_load(limits, groups, count) - least) > least:
        count //= 2
    return count


def _load(limits: ShareLimits, groups: int, count: int) -> int:
    """The most groups that a compute unit has if ``count`` run side by side."""
    return count * ceil_div(ceil_div(groups, count), max(1, limits.busy_groups))


def spread(group: int, points: int, groups: int) -> int:
    """The work-items of a group, ``group`` at most, so that there are ``groups`` groups.

    Compilers make code for each size, so there are few of them.

    >>> [spread(64, points, 8) for points in (2700, 100, 27, 1)]
    [64, 4, 1, 1]
    """
    while group > 1 and points < group * groups:
        group = max(group // 4, 1)
    return group


@lru_cache(MOST_REMEMBERED)
def tile(limits: ShareLimits, points: int, size: int, groups: int,
         local_bytes: int, wanted: tuple[int, ...] = (0, 0)) -> tuple[int, int, int, int]:
    """The values of :class:`runelift.codegen.plan.distribution.ScanTileShape` but for the last.

    Chunks are so short that local memory suffices and that there is work for ``groups`` groups.
    Where chunks go through local memory, a group for each compute unit is enough.  Its work-items
    have many loads under way, and each further tile waits for those before it.
    Where there is no local memory to go through, one work-item has a tile.  Few points are one tile
    there, as two further launches take longer; a group waits for none if it has all.  Small tiles
    take less time than publishing their totals, so groups look back at more of them.  ``wanted``
    are the size of a group and the length of chunks, 0 for the device's own choice.  A wanted chunk
    may leave groups without work.

    >>> gpu = ShareLimits(32, 256, 1024, 16, 32, True, 32, 132, 128)
    >>> tile(gpu, 1 << 24, 4, 1056, 48 << 10)
    (256, 1, 32, 128)
    >>> tile(gpu, 1 << 24, 16, 1056, 48 << 10), tile(gpu, 1 << 24, 128, 1056, 48 << 10)
    ((256, 1, 8, 128), (64, 1, 1, 64))
    >>> tile(gpu, 1 << 24, 12, 1056, 48 << 10)
    (256, 1, 8, 256)
    >>> [tile(gpu, 10 ** n, 4, 1056, 48 << 10) for n in (3, 4, 5, 6)]
    [(256, 1, 4, 256), (256, 1, 1, 256), (256, 1, 2, 256), (256, 1, 16, 256)]
    >>> from dataclasses import replace
    >>> cpu = replace(gpu, staged=False, tile=1024)
    >>> [tile(cpu, points, 4, 8, 48 << 10)[2] for points in (3, 1000, 4096, 5000, 1 << 20)]
    [64, 1024, 4096, 512, 1024]
    """
    group = 1
    if limits.staged:
        group = power_of_two_below(wanted[0]) if wanted[0] else limits.group
    chunk = wanted[1] or limits.tile
    if not (limits.staged or wanted[1]) and points <= ONE_TILE * chunk:
        return group, 0, max(LEAST_TILE, power_of_two_above(points)), group
    if limits.staged and not wanted[1] and points <= ONE_TILE * group:
        groups = 0
        chunk = min(chunk, power_of_two_above(ceil_div(max(1, points), group)))
    elif limits.staged and limits.busy_groups:
        groups = min(groups, limits.busy_groups)
    while chunk > 1 and points < (1 if wanted[1] else groups) * group * chunk:
        chunk //= 2
    while limits.staged and _tile_bytes(group, chunk, size) > local_bytes and group > 1:
        group, chunk = (group, chunk // 2) if chunk > 1 else (group // 2, chunk)
    large = 3 * group * chunk * size >= 2 * local_bytes
    return group, int(limits.staged), chunk, min(limits.window, group) if large else group


def _tile_bytes(group: int, chunk: int, size: int) -> int:
    """The most local memory that a group needs for a tile of elements of ``size`` bytes.

    All of them, padded; one for each work-item in either of two rounds of a scan and in the
    window; and flags.
    """
    return size * (group * chunk * 33 // 32 + 3 * group) + 8 * group + 256


def power_of_two_below(most: int) -> int:
    """The last power of two that is not above ``most``."""
    return 1 << (most.bit_length() - 1)
