"""The ledger: what the model of cost says of the families, a text file for each of them.

A row is an entry point at some sizes on a device that need not be there.  Nothing is run, so the
rows are equal on all machines.  Numbers have two digits, so that small changes do not show.

Below its rows, a file has the reasons of entry points whose predicted time is far from the least
that memory and launches allow (:data:`ROOF`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

from runelift.ir.base.files import read_source
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.profiles import profile
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import Prediction, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.versions.forest import Alternative, Forest, Site, forest_of, plans
from tests.ledger.shapes import Shape, shapes

DEVICES = ("h200", "pocl")
"""The devices of the ledger, by their profiles."""
HEAD = ("entry", "sizes", "device", "versions", "launches", "bytes", "longest", "time", "bound",
        "best", "roof")
"""The columns.  ``longest`` are the steps of the longest work-item.  ``best`` is the predicted time
by that of the best plan of versions; ``roof`` by that of launches that only move the bytes."""
BEST, ROOF = 1.25, 4.0
"""The greatest values of the columns ``best`` and ``roof``.  A CPU computes and follows loops too
slowly for a roof of memory, so that ``roof`` has no limit on ``pocl``."""
ROOFED = ("h200",)
KEPT = 2.0
"""A reason is needed above :data:`ROOF`, and may stay down to here: it should not come and go."""
MOST_PLANS = 40
"""The plans of versions that are compared, at most."""
ROWS = Path(__file__).parent / "rows"
REASONS = "Reasons for rows above the roof:"
MISSING = "to be written"
"""Stands for a reason that there is not yet."""


@dataclass(frozen=True, slots=True)
class Row:
    """The texts of a row, as :data:`HEAD` has them."""

    entry: str
    sizes: str
    device: str
    versions: str
    launches: str
    bytes: str
    longest: str
    time: str
    bound: str
    best: str
    roof: str

    @property
    def above_the_roof(self) -> bool:
        """True if the predicted time needs a reason."""
        return self.device in ROOFED and float(self.roof) > ROOF

    @property
    def explicable(self) -> bool:
        """True if the predicted time may have a reason."""
        return self.device in ROOFED and float(self.roof) > KEPT


def rows_of(family: Path, device: str) -> list[Row]:
    """The rows of a family on a device."""
    compiled = compiled_family(family)
    loaded = modelled(compiled, ModelledDevice(profile(device)))
    return [row(loaded, shape, device) for shape in shapes(family)]


@cache
def compiled_family(family: Path) -> Compiled:
    """The compiled program of a family."""
    return compile_source(read_source(family))


def forest(loaded: LoadedProgram, entry: str) -> Forest:
    """The versions of an entry point."""
    return forest_of(loaded.compiled.versioned_entry(entry)).entry(entry)


def row(loaded: LoadedProgram, shape: Shape, device: str) -> Row:
    """The row of an entry point at some sizes."""
    args = shape.outlined(loaded.interface(shape.entry))
    tree = forest(loaded, shape.entry)
    found = predict_call(loaded, shape.entry, args)
    best = min((predict_call(loaded, shape.entry, args, force=plan).totals.seconds
                for plan in plans(tree)[:MOST_PLANS]), default=math.inf)
    total = found.totals
    versions = ", ".join(f"{each.label} {each.kind.value}" for each in running(tree, found))
    return Row(shape.entry, shape.text, device, versions or "-", short(total.launches),
               short(total.bytes), short(total.longest), short(total.seconds, "s"), total.bound,
               ratio(total.seconds, best), ratio(total.seconds, roof(loaded, shape.entry, found)))


def roof(loaded: LoadedProgram, entry: str, found: Prediction) -> float:
    """The seconds of launches that only move the bytes of a prediction, without any wait."""
    costs = loaded.executable(entry).predictor.costs
    return found.totals.launches * costs.launch + found.totals.bytes / costs.bandwidth


def ratio(seconds: float, least: float) -> str:
    """A time by the least possible one."""
    return _digits(seconds / least if least > 0 else float(seconds > 0) or 1.0)


def short(value: float, unit: str = "") -> str:
    """A number with two digits and a prefix of the SI.

    >>> short(80_000_000), short(0.0000243, "s"), short(3)
    ('80M', '24us', '3')
    """
    if not math.isfinite(value) or value <= 0:
        return f"0{unit}" if value <= 0 else "-"
    power = math.floor(math.log10(_rounded(value)) + 1e-9)
    thousands = max(-3, min(5, power // 3)) if unit or power >= 3 else 0
    prefix = {-3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}[thousands]
    return f"{_digits(value / 1000.0 ** thousands)}{prefix}{unit}"


def _rounded(value: float) -> float:
    """Two digits of a number; what the last bits say does not decide."""
    return float(f"{float(f'{value:.9g}'):.2g}")


def _digits(value: float) -> str:
    return f"{_rounded(value):g}" if abs(value) < 1e5 else f"{value:.1e}"


# Files


@dataclass(frozen=True, slots=True)
class Page:
    """The file of a family: rows as lines, below their head, and reasons by entry point."""

    title: str
    lines: tuple[str, ...]
    reasons: Mapping[str, str]

    def rows(self) -> list[Row]:
        """The rows that the lines have."""
        return [Row(*re.split(r" {2,}", line.strip())) for line in self.lines[1:]]


def page_of(family: Path) -> Path:
    """The file with the rows of a family."""
    return ROWS / f"{family.stem}.txt"


def page(family: Path, reasons: Mapping[str, str]) -> Page:
    """The file of a family as it should be, with a place for each reason that is needed."""
    rows = [each for device in DEVICES for each in rows_of(family, device)]
    order = {(each.entry, each.text): number for number, each in enumerate(shapes(family))}
    rows.sort(key=lambda each: order[each.entry, each.sizes])
    return Page(family.read_text().splitlines()[0].removeprefix("-- "), lines(rows), {
        each.entry: reasons.get(each.entry, MISSING) for each in rows
        if each.above_the_roof or (each.explicable and each.entry in reasons)})


def lines(rows: Iterable[Row]) -> tuple[str, ...]:
    """The head and the rows as lines of columns, to the left."""
    cells = [HEAD, *map(astuple, rows)]
    widths = [max(len(each[k]) for each in cells) for k in range(len(HEAD))]
    return tuple("  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=True)
                           ).rstrip() for each in cells)


def written(found: Page) -> str:
    """The text of a file."""
    reasons = [f"{entry}: {reason}" for entry, reason in found.reasons.items()]
    return "\n".join([found.title, "", *found.lines,
                      *(["", REASONS, *reasons] if reasons else [])]) + "\n"


def read(path: Path) -> Page:
    """The file of a family as it is; an empty one if there is none."""
    if not path.exists():
        return Page("", (), {})
    body, _, below = path.read_text().partition(f"\n\n{REASONS}\n")
    title, _, *found = body.rstrip("\n").split("\n")
    reasons = (line.partition(": ") for line in below.splitlines())
    return Page(title, tuple(found), {entry: reason for entry, _, reason in reasons})


def running(forest: Forest, prediction: Prediction) -> list[Alternative]:
    """The versions without choices in them that run, in the order of their numbers."""
    chosen: dict[str, set[int]] = {}
    for choice in prediction.choices:
        chosen.setdefault(choice.site, set()).add(choice.chosen)
    return list(_running(forest.trees, chosen))


def _running(sites: Sequence[Site], chosen: dict[str, set[int]]) -> Iterator[Alternative]:
    for site in sites:
        for index, alternative in enumerate(site.alternatives):
            if index in chosen.get(site.name, ()):
                if alternative.label:
                    yield alternative
                yield from _running(alternative.sites, chosen)
