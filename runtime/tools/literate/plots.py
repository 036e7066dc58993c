"""Plots of points as SVG files that need no style sheet."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from runelift.runtime.data.text import Value
from runelift.runtime.tools.pages.charts import Series, curves
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.pages.templates import read

_SIZE = re.compile(r' width="[^"]*" height="[^"]*">')
_PAPER = "svg { background: var(--paper); }"


def plot(title: str, columns: Sequence[tuple[str, Value, Value]],
         size: tuple[int | None, int | None] | None) -> bytes:
    """The file with a line for each column (name, xs, ys); ``size`` are its width and height."""
    def series(number: int, name: str, xs: Value, ys: Value) -> Series:
        points = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)
                  if math.isfinite(x) and math.isfinite(y)]
        return Series(name or "y", points, number, dots=len(points) == 1)

    made = [series(number, *column) for number, column in enumerate(columns)]
    said = "; ".join(f"{each.name}: {len(each.points)} points" for each in made)
    x, y = (Axis(label, "{:g}".format, zero=False) for label in ("x", ""))
    chart = str(curves(title, said, x, y, made))
    shape = "" if size is None else f' width="{size[0]}" height="{size[1]}"'
    style = f"<style>{read('page.css')}{_PAPER}</style>"
    return _SIZE.sub(lambda found: (shape + ">" if size else found[0]) + style, chart,
                     count=1).encode()
