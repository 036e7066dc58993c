"""Reports of Oclgrind about kernels, as reports about the program that they were made of.

Oclgrind writes them to standard error while it runs kernels.  A line has the kind of mistake.
Indented lines after it have the kernel, the work-items and the line of OpenCL C.  That ends with
its place in the program (:mod:`~runelift.codegen.emit.source_places`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap

from runelift.codegen.emit.source_places import read_place
from runelift.frontend.constructs import constructs
from runelift.ir.base.source import Loc, Source, Span, in_source

CHECKS = {"OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNINITIALIZED": "1"}
"""The environment in which Oclgrind looks for all that it can find."""
_KERNEL = re.compile(r"^\s+Kernel:\s*(\S+)")
_ITEM = re.compile(r"Global(\(\d+,\d+,\d+\))")
_ACCESS = re.compile(r"^\s+(?:%\S+ = )?(?:tail )?(?:load|store|call) ")
_CODE = re.compile(r"^\s+At line \d+")
_ADDRESS = re.compile(r" at (\w+) memory address 0x[0-9a-f]+| address 0x[0-9a-f]+")
_MADE_AT = re.compile(r"^.*? at (?P<file>.+):(?P<line>\d+):(?P<column>\d+)$")


@dataclass(frozen=True, slots=True)
class Report:
    """A mistake of a kernel: its kind, the lines of OpenCL C, and the first work-items.

    Reports are equal if only their work-items differ.
    """

    kind: str
    kernel: str
    lines: tuple[str, ...]
    items: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Told:
    """A report of the sanitizer: a line of the program, if known, and the message."""

    line: int
    message: str


class Teller:
    """Tells reports about a program by their places in it.

    Of each kernel by name, ``made_of`` says from what it was made, mostly with a place.  That
    stands for lines that have no place themselves.  Kernels that the compiler adds have none.
    """

    def __init__(self, source: Source, imports: Iterable[Source] = (),
                 made_of: Mapping[str, str] | None = None) -> None:
        self._sources = (source, *imports)
        self._made_of = made_of or {}
        self._constructs: dict[str, Mapping[tuple[int, int], str]] = {}

    def tell(self, report: Report) -> Told:
        """The report in words: kind, places with their lines, kernel, and its lines."""
        comment = self._made_of.get(report.kernel, "")
        parts = [read_place(line) for line in report.lines]
        locs = list(dict.fromkeys(loc for _, loc in parts if loc is not None))
        if not locs and (found := _MADE_AT.match(comment)):
            locs = [Loc(found["file"], int(found["line"]), int(found["column"]))]
        unknown = "in code that the compiler adds" if comment else "at an unknown place"
        words = [f"{report.kind} {unknown}"] if not locs else []
        for number, loc in enumerate(locs):
            words += self._place("and" if number else f"{report.kind} at", loc)
        kernel = f"{report.kernel} ({comment})" if comment else report.kernel
        items = f", work-item{'s' * (len(report.items) > 1)} {' and '.join(report.items)}" if (
            report.items) else ""
        words += [f"  kernel {kernel}{items}:", *(f"   | {code}" for code, _ in parts)]
        own = (each.line for loc in locs for each in in_source(loc, self._sources[0]))
        return Told(next(own, 1), "\n".join(words))

    def _place(self, before: str, loc: Loc) -> list[str]:
        """A place with its construct, the line of the source, and the calls that led there."""
        span = loc.span(self._sources)
        construct = "" if span is None else self._construct(span)
        return [f"{before} {loc}{f' ({construct})' if construct else ''}",
                *(span.excerpt().split("\n") if span is not None else ()), *loc.trace()]

    def _construct(self, span: Span) -> str:
        if span.source.name not in self._constructs:
            self._constructs[span.source.name] = constructs(span.source)
        return self._constructs[span.source.name].get((span.start, span.end), "")


def reports(text: str) -> Iterator[Report]:
    """The reports in what Oclgrind wrote, each kind of mistake of a line once."""
    yield from dict.fromkeys(filter(None, starmap(_report, complaints(text))))


def complaints(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines that are not indented, each with the indented lines after it.

    Oclgrind does not know locks (:class:`~runelift.ir.imp.Locked`).  Only accesses under a lock are
    volatile, so races of two volatile accesses are left out.
    """
    header, block = "", list[str]()
    for line in (*text.splitlines(), "end"):
        if line[:1].isspace():
            block.append(line)
        elif line:
            if header and not _is_under_lock(header, block):
                yield header, block
            header, block = line, []


def _is_under_lock(header: str, block: list[str]) -> bool:
    """True for a race of two accesses that a lock keeps apart."""
    accesses = [line for line in block if _ACCESS.search(line)]
    return "data race" in header and len(accesses) == 2 and all(
        "volatile" in access for access in accesses)


def _report(header: str, block: list[str]) -> Report | None:
    """The report of a block of lines, if it is one."""
    kernel = next((found[1] for line in block if (found := _KERNEL.match(line))), None)
    if kernel is None:
        return None
    lines = tuple(dict.fromkeys(block[n + 1].strip() for n, line in enumerate(block[:-1])
                                if _CODE.match(line)))
    items = tuple(dict.fromkeys(item for line in block for item in _ITEM.findall(line)))
    kind = _ADDRESS.sub(lambda found: f" in {found[1]} memory" if found[1] else "", header)
    return Report(kind.strip(), kernel, lines, items)
