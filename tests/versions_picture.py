"""The picture of the README: predicted times of three versions of one program by shapes of data."""

from __future__ import annotations

import re

import runelift
from runelift.teaching import Axis, Series, curves, modelled_on, predicted

PROGRAM = "entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss"
NAMES = ("a work-item per row", "a work-group per row", "a work-item per element")
ELEMENTS = 1 << 22
COLOURS = ("#3d8bd4", "#c9772b", "#3c9a4d")
STYLE = ("svg{background:#fff} text{font:12px sans-serif;fill:#1c2b36} "
         ".axis{fill:none;stroke:#1c2b36} .grid{stroke:#dde3e8} "
         "@media (prefers-color-scheme:dark){svg{background:#16181b} text{fill:#e6e8ea} "
         ".axis{stroke:#e6e8ea} .grid{stroke:#3a3f45}} "
         ".line,.dot{fill:none;stroke-width:1.8} " + " ".join(
             f".s{number}{{stroke:{colour}}}" for number, colour in enumerate(COLOURS)))


def picture() -> str:
    """A file in SVG that needs no style sheet."""
    program = modelled_on(runelift.compile(PROGRAM, device="interpreter"), "h200")
    lines = [Series(name, [(rows, 1e6 * predicted(
        program, "main", {"n": rows, "m": ELEMENTS // rows}, {"main.versions_0": number}
        ).totals.seconds) for rows in (1 << k for k in range(0, 23, 2))], number)
        for number, name in enumerate(NAMES)]
    across, up = (Axis(label, "{:,.0f}".format, logarithmic=True)
                  for label in ("rows", "microseconds"))
    drawn = str(curves("Sums of the rows of a matrix of 4 million elements",
                       "Three versions, predicted for an H200.", across, up, lines))
    drawn = re.sub(r"\b(title|description)-\d+", r"\1", drawn)  # numbers count pictures
    start = drawn.index(">") + 1
    return f"{drawn[:start]}<style>{STYLE}</style>{drawn[start:]}\n"
