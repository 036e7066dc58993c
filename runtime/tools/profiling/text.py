"""A profile as text that fits the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from runelift.ir.base.visible import visible
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.profiling import quantities
from runelift.runtime.tools.profiling.profile import KernelProfile, Profile

HELP_WIDTH = 96
BAR = 24
"""The length of the longest bar."""
ENDLESS = 100_000
"""A width of the terminal at which nothing is cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of kernels; shown if the terminal has at least ``width`` characters.

    Columns of the greatest ``width`` are left out where names would be cut.
    """

    head: str
    cell: Callable[[KernelProfile], str]
    width: int = 0


COLUMNS = (
    Column("time", lambda k: show_seconds(k.time.median)),
    Column("predicted", lambda k: quantities.predicted_text(k.predicted), 110),
    Column("± MAD", lambda k: show_seconds(k.time.mad), 160),
    Column("share", lambda k: quantities.percent(k.share)),
    Column("launches", lambda k: str(k.launches)),
    Column("bytes", lambda k: quantities.marked(k, quantities.scaled(k.moved, "B")), 150),
    Column("bandwidth", lambda k: quantities.marked(k, quantities.scaled(k.bandwidth, "B/s")), 120),
    Column("of peak\nB/s", lambda k: quantities.share_of_peak(k, k.memory_share)),
    Column("operations", lambda k: quantities.marked(k, quantities.scaled(k.operations, "")), 150),
    Column("rate", lambda k: quantities.marked(
        k, quantities.scaled(k.operation_rate, "op/s")), 120),
    Column("of peak\nop/s", lambda k: quantities.share_of_peak(k, k.compute_share)),
    Column("bound", lambda k: k.bound, 90),
)


def print_profile(profile: Profile, console: Console) -> None:
    """Print a profile."""
    name = f"{profile.entry}: {profile.dataset}" if profile.entry != "main" else profile.dataset
    console.print(Text(visible(f"{name}: {quantities.call_text(profile)}"), style="bold"))
    console.print(visible(quantities.verdict(profile)))
    _show_parts(profile, console)
    tables = [_fitting(profile, console)] if profile.kernels else []
    tables += [_versions(profile)] if profile.versions else []
    if profile.compared:
        head = [each.replace("of peak ", "of peak\n") for each in quantities.VERSIONS_HEAD]
        tables.append(_filled(head, ("version", "busiest kernel"), quantities.compared(profile)))
    if profile.ways:
        tables.append(_filled(quantities.WAYS_HEAD, quantities.WAYS_HEAD[:1],
                              quantities.ways(profile)))
    for table in tables:
        console.print()
        console.print(table)
    for reason in (*quantities.refusals(profile), *quantities.about_ways(profile)):
        console.print(visible(reason))
    console.print()
    console.print(f"Measured peaks: {quantities.peaks_text(profile)}.")
    console.print("Bytes and operations are counted from kernels and sizes "
                  "('runelift profile --help').  ~ depends on elements.",
                  style="dim")


def _show_parts(profile: Profile, console: Console) -> None:
    whole = profile.shown.parts.whole or 1.0
    grid = Table.grid(padding=(0, 2))
    for name, seconds in quantities.parts_of_call(profile):
        bar = "━" * max(1, round(BAR * seconds / whole))
        grid.add_row(f"  {name}", Text(show_seconds(seconds), justify="right"),
                     Text(quantities.percent(seconds / whole), justify="right"),
                     Text(bar, style="cyan"))
    console.print(grid)


def _fitting(profile: Profile, console: Console) -> Table:
    """The table of kernels with as many columns as fit beside whole names."""
    widths = sorted({column.width for column in COLUMNS if column.width <= console.width})
    tables = (_kernels(profile, width) for width in reversed(widths))
    endless = console.options.update(max_width=ENDLESS)
    return next((table for table in tables if Measurement.get(
        console, endless, table).maximum <= console.width), _kernels(profile, 0))


def _kernels(profile: Profile, width: int) -> Table:
    chosen = [column for column in COLUMNS if width >= column.width]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column("kernel", overflow="fold")
    table.add_column("version", no_wrap=True)
    for column in chosen:
        table.add_column(column.head, justify="right", no_wrap=True)
    for kernel in profile.kernels:
        place = f"\n{visible(quantities.short_place(kernel.source))}" if kernel.source else ""
        table.add_row(Text.assemble(kernel.name, (place, "dim")), kernel.version,
                      *(column.cell(kernel) for column in chosen))
    return table


def _versions(profile: Profile) -> Table:
    return _filled(
        ("version", "choice", "times run", "time", "± MAD", "share", "launches"),
        ("version", "choice"),
        [(each.name, each.site, str(each.encounters), show_seconds(each.time.median),
          show_seconds(each.time.mad), quantities.percent(each.share), str(each.launches))
         for each in profile.versions])


def _filled(head: Sequence[str], left: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of rows below a head; columns that are not at the ``left`` are numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in head:
        table.add_column(name, overflow="fold", justify="left" if name in left else "right")
    for row in rows:
        table.add_row(*map(visible, row))
    return table


def rules_of_counting() -> str:
    """The rules of counting, as text for the help of the command."""
    return "\n".join(textwrap.fill(f"* {each}", HELP_WIDTH, subsequent_indent="  ")
                     for each in quantities.COUNTED)
