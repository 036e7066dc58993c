"""Charts as inline SVG: curves over an axis, dots in rows, spreads, and heat maps.

Series differ in colour, in dashes and in the shape of their marks, so that they can be told apart
without colours.  Every chart has a title and a description for readers who cannot see it.  It fits
the screen of a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TypeAlias

from runelift.runtime.tools.pages.document import figure
from runelift.runtime.tools.pages.markup import Markup, element, joined
from runelift.runtime.tools.pages.scales import Axis, Scale

WIDTH, HEIGHT = 430.0, 300.0
"""Size of curves without their legend."""
LEFT, RIGHT, TOP, BOTTOM = 72.0, 26.0, 14.0, 48.0
LEGEND_ROW = 18.0
STYLES, MARKS = 8, 5
"""Numbers of colours and dashes, as in the style sheet, and of shapes of marks."""
LETTER = 6.6
"""Width of a letter, about."""
ROW = 22.0
NAMES, DOTS_NAMES = 190.0, 150.0
"""The most room for names of rows, and where a row has marks of many series."""
CELL_WIDTH, CELL_HEIGHT = 40.0, 26.0
NARROWEST = 31.0
"""Width of a cell that has room for its number."""
FAINTEST, DEEPEST = 0.08, 0.7
"""The opacity of the slowest and of the fastest cell of a heat map."""
SHADES = 5
"""Shades of a heat map that its legend shows."""
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Series:
    """Some points by name; ``style`` is the number of its looks.

    ``lines`` join the points; with ``steps`` each holds until the next, and the last is marked.
    Points are marked by ``dots``.  ``band`` has a lower and an upper value for each x, and ``tips``
    a text for each point.
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: int
    lines: bool = True
    steps: bool = False
    dots: bool = True
    band: Sequence[tuple[float, float, float]] = ()
    tips: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A value on the horizontal axis that is marked by a vertical line."""

    value: float
    label: str
    kind: str = "chosen"


def picture(title: str, description: str, width: float, height: float,
            content: Sequence[Markup]) -> Markup:
    """An SVG element with a title and a description for readers who do not see it."""
    number = next(_numbers)
    names = f"title-{number}", f"description-{number}"
    return element("svg", [element("title", title, id=names[0]),
                           element("desc", description, id=names[1]), *content],
                   xmlns="http://www.w3.org/2000/svg", role="img",
                   aria_labelledby=" ".join(names), viewBox=f"0 0 {width:g} {height:g}",
                   width=width, height=height)


def curves(title: str, description: str, x: Axis, y: Axis, series: Sequence[Series],
           marks: Sequence[Mark] = (), good: tuple[float, float] | None = None) -> Markup:
    """Points over an axis, with the names of the series below.

    From the lower to the upper end of ``good``, all values are equally good.
    """
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    values = [p[0] for s in series for p in (*s.points, *s.band)] + [m.value for m in marks]
    across = Scale.over([*values, *(good or ())], LEFT, right, x.logarithmic, x.zero)
    up = Scale.over([v for s in series for p in (*s.points, *s.band) for v in p[1:]], bottom, TOP,
                    y.logarithmic, y.zero)
    content = [*_frame(x, y, across, up, right, bottom)]
    if good:
        low, high = map(across, good)
        content.insert(0, element("rect", x=low, width=max(1.0, high - low), y=TOP,
                                  height=bottom - TOP, class_="band"))
    content += [_area(each, across, up) for each in series if len(each.band) > 1]
    for each in series:
        content += _series(each, across, up)
    content += [element("line", x1=across(m.value), x2=across(m.value), y1=TOP, y2=bottom,
                        class_=f"mark {m.kind}") for m in marks]
    entries = [*_legend(series, marks, good is not None)]
    content += _placed(entries, HEIGHT + 4)
    return picture(title, description, WIDTH, HEIGHT + _legend_height(entries), content)


def _frame(x: Axis, y: Axis, across: Scale, up: Scale, right: float, bottom: float
           ) -> Iterator[Markup]:
    """The axes with what is written beside them."""
    yield from _ticks_below(x, across, bottom)
    for value, text in _written(y, up):
        yield element("line", x1=LEFT, x2=right, y1=up(value), y2=up(value), class_="grid")
        yield element("text", text, x=LEFT - 6, y=up(value) + 4, text_anchor="end", class_="tick")
    yield element("path", d=f"M{LEFT:g} {TOP:g}V{bottom:g}H{right:g}", class_="axis")
    yield element("text", x.label, x=(LEFT + right) / 2, y=bottom + 36, text_anchor="middle",
                  class_="label")
    middle = (TOP + bottom) / 2
    yield element("text", y.label, x=14, y=middle, text_anchor="middle", class_="label",
                  transform=f"rotate(-90 14 {middle:g})")


def _ticks_below(x: Axis, across: Scale, bottom: float) -> Iterator[Markup]:
    """The values of an axis below a chart, with lines through it."""
    for value, text in _written(x, across):
        yield element("line", x1=across(value), x2=across(value), y1=TOP, y2=bottom, class_="grid")
        yield element("text", text, x=across(value), y=bottom + 16, text_anchor="middle",
                      class_="tick")


def _written(axis: Axis, scale: Scale) -> list[tuple[float, str]]:
    """The values beside an axis; words come before numbers that are too near."""
    numbers = [(value, axis.write(value)) for value in scale.ticks()]
    return [*((value, text) for value, text in numbers if all(
        abs(scale(value) - scale(other)) > LETTER * (len(text) + len(word)) / 2 + 4
        for other, word in axis.names)), *axis.names]


def _series(series: Series, across: Scale, up: Scale) -> Iterator[Markup]:
    tips = series.tips or [""] * len(series.points)
    places = [(across(x), up(y), tip) for (x, y), tip in zip(series.points, tips, strict=True)
              if math.isfinite(y)]
    if series.lines and len(places) > 1:
        yield element("path", d=_path([each[:2] for each in places], series.steps),
                      class_=f"line s{series.style % STYLES}")
    if series.dots:
        yield from (_dot(x, y, series.style, tip) for x, y, tip in (
            places[-1:] if series.steps else places))


def _area(series: Series, across: Scale, up: Scale) -> Markup:
    low = [(across(x), up(least)) for x, least, _ in series.band]
    high = [(across(x), up(most)) for x, _, most in series.band]
    there = _path(low, series.steps)
    if series.steps:  # back from right to left: first up or down, then along
        back = f"V{high[-1][1]:.1f}" + "".join(f"V{y:.1f}H{x:.1f}" for x, y in high[-2::-1])
    else:
        back = "".join(f"L{x:.1f} {y:.1f}" for x, y in reversed(high))
    return element("path", d=f"{there}{back}z", class_=f"area s{series.style % STYLES}")


def _path(places: Sequence[tuple[float, float]], steps: bool) -> str:
    first, *others = places
    join = "H{0:.1f}V{1:.1f}" if steps else "L{0:.1f} {1:.1f}"
    return f"M{first[0]:.1f} {first[1]:.1f}" + "".join(join.format(*place) for place in others)


def _dot(x: float, y: float, style: int, tip: str = "") -> Markup:
    """A mark: round, square, diamond, triangle or cross; ``tip`` is shown by a mouse above it."""
    look = f"dot s{style % STYLES}"
    content = element("title", tip) if tip else ""
    match style % MARKS:
        case 0:
            return element("circle", content, cx=x, cy=y, r=3.5, class_=look)
        case 1:
            return element("rect", content, x=x - 3, y=y - 3, width=6, height=6, class_=look)
        case 2:
            shape = f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"
        case 3:
            shape = f"M{x:.1f} {y - 4:.1f}l4 7.5h-8z"
        case _:
            shape = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return element("path", content, d=shape, class_=look)


# Legends: symbols are drawn from the upper left corner of a row


_Entry: TypeAlias = tuple[str, Callable[[float, float], Markup]]
"""A text of a legend, and how to draw its symbol in the middle of a line that begins at x, y."""


def _legend(series: Sequence[Series], marks: Sequence[Mark], good: bool) -> Iterator[_Entry]:
    for each in series:
        yield each.name, partial(_sample, each)
    for mark in marks:
        yield mark.label, lambda x, y, mark=mark: element(  # type: ignore[misc]
            "line", x1=x + 11, x2=x + 11, y1=y - 7, y2=y + 7, class_=f"mark {mark.kind}")
    if good:
        yield "equally good", lambda x, y: element("rect", x=x, y=y - 6, width=22, height=12,
                                                   class_="band")


def _sample(series: Series, x: float, y: float) -> Markup:
    stroke = element("line", x1=x, x2=x + 22, y1=y, y2=y, class_=f"line s{series.style % STYLES}")
    dot = _dot(x + 11, y, series.style)
    return joined([*([stroke] if series.lines else []), *([dot] if series.dots else [])])


def _columns(entries: Sequence[_Entry]) -> int:
    """The columns of a legend: as many as the longest text allows."""
    longest = max((len(text) for text, _ in entries), default=1)
    return max(1, min(3, int(WIDTH / (LETTER * longest + 42))))


def _legend_height(entries: Sequence[_Entry]) -> float:
    return LEGEND_ROW * -(-len(entries) // _columns(entries)) + 4 if entries else 0.0


def _placed(entries: Sequence[_Entry], top: float) -> Iterator[Markup]:
    """A legend from ``top`` on, row by row."""
    columns = _columns(entries)
    room = WIDTH / columns
    for number, (text, symbol) in enumerate(entries):
        x = 8 + room * (number % columns)
        y = top + LEGEND_ROW * (number // columns + 0.5)
        shown = _short(text, room - 36)
        yield symbol(x, y)
        yield element("text", [shown, element("title", text)] if shown != text else shown,
                      x=x + 28, y=y + 4, class_="tick")


def _short(text: str, room: float) -> str:
    """As much of a text as there is room for."""
    letters = int(room / LETTER)
    return text if len(text) <= letters else text[: letters - 1] + "…"


def dots(title: str, description: str, x: Axis, rows: Sequence[str],
         series: Sequence[Series]) -> Markup:
    """A chart of marks in named rows; a point is a pair of a value and the number of a row."""
    def marks(across: Scale, places: Sequence[float]) -> Iterator[Markup]:
        for each in series:
            tips = each.tips or [""] * len(each.points)
            for (value, row), tip in zip(each.points, tips, strict=True):
                if math.isfinite(value):
                    yield _dot(across(value), places[int(row)], each.style, tip)

    return _in_rows(title, description, x, rows,
                    [value for each in series for value, _ in each.points], marks,
                    DOTS_NAMES, [*_legend(series, (), False)])


def ranges(title: str, description: str, x: Axis,
           rows: Sequence[tuple[str, float, float, float]], line: float) -> Markup:
    """A value with its limits in rows by name, and a vertical line at one value."""
    def marks(across: Scale, places: Sequence[float]) -> Iterator[Markup]:
        yield element("line", x1=across(line), x2=across(line), y1=TOP,
                      y2=TOP + ROW * len(rows), class_="mark default")
        for (_, value, low, high), y in zip(rows, places, strict=True):
            yield element("line", x1=across(low), x2=across(high), y1=y, y2=y, class_="line s0")
            yield _dot(across(value), y, 0, f"{value:.2f} ({low:.2f} to {high:.2f})")

    return _in_rows(title, description, x, [row[0] for row in rows],
                    [line, *(v for row in rows for v in row[1:])], marks)


def spreads(title: str, description: str, x: Axis,
            rows: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """A row of marks by name: how far values lie apart."""
    def marks(across: Scale, places: Sequence[float]) -> Iterator[Markup]:
        for (_, values), y in zip(rows, places, strict=True):
            yield from (element("line", x1=across(v), x2=across(v), y1=y - 6, y2=y + 6,
                                class_="sample") for v in values)

    return _in_rows(title, description, x, [name for name, _ in rows],
                    [v for _, values in rows for v in values], marks)


def _in_rows(title: str, description: str, x: Axis, names: Sequence[str], values: Iterable[float],
             marks: Callable[[Scale, Sequence[float]], Iterator[Markup]], widest: float = NAMES,
             legend: Sequence[_Entry] = ()) -> Markup:
    """Named rows over an axis; ``marks`` get the scale and the height of each row."""
    left = min(widest, 12 + LETTER * max(map(len, names), default=0))
    bottom = TOP + ROW * len(names)
    across = Scale.over(values, left, WIDTH - 20, x.logarithmic)
    places = [TOP + ROW * (number + 0.5) for number in range(len(names))]
    content = [*_ticks_below(x, across, bottom),
               element("text", x.label, x=(left + WIDTH - 20) / 2, y=bottom + 36,
                       text_anchor="middle", class_="label")]
    for name, place in zip(names, places, strict=True):
        content += _row(name, place, left)
    content += [*marks(across, places), *_placed(legend, bottom + BOTTOM)]
    return picture(title, description, WIDTH, bottom + BOTTOM + _legend_height(legend), content)


def _row(name: str, place: float, left: float) -> Iterator[Markup]:
    """The name of a row, and a line through it."""
    shown = _short(name, left - 10)
    yield element("line", x1=left, x2=WIDTH - 20, y1=place, y2=place, class_="grid")
    yield element("text", [shown, element("title", name)] if shown != name else shown,
                  x=left - 8, y=place + 4, text_anchor="end", class_="tick")


def heat_map(title: str, description: str, across: tuple[str, Sequence[int]],
             down: tuple[str, Sequence[int]], cells: Sequence[Sequence[float | None]],
             refused: Sequence[Sequence[bool]] = ()) -> Markup:
    """Cells by two parameters, darker where the value is less, with a legend.

    ``cells`` has a row for each value of the second parameter.  Where there is no value, a cross
    says that it was ``refused``; what was not tried is empty.
    """
    known = [math.log(v) for row in cells for v in row if v]
    low, high = min(known, default=0.0), max(known, default=0.0)
    left, top = 60.0, 34.0
    longest = max((len(str(value)) for value in across[1]), default=0)
    wide = max(NARROWEST, LETTER * longest + 8,
               min(CELL_WIDTH, (WIDTH - left - 10) / max(1, len(across[1]))))
    width = max(WIDTH, left + wide * len(across[1]) + 10)
    bottom = top + CELL_HEIGHT * len(down[1])
    content = [element("text", f"{across[0]} →", x=left + wide * len(across[1]), y=14,
                       text_anchor="end", class_="label"),
               element("text", f"{down[0]} ↓", x=4, y=14, class_="label")]
    for column, value in enumerate(across[1]):
        content.append(element("text", str(value), x=left + wide * (column + 0.5),
                               y=top - 6, text_anchor="middle", class_="tick"))
    for number, (value, row) in enumerate(zip(down[1], cells, strict=True)):
        y = top + CELL_HEIGHT * number
        content.append(element("text", str(value), x=left - 8, y=y + CELL_HEIGHT / 2 + 4,
                               text_anchor="end", class_="tick"))
        for column, found in enumerate(row):
            no = bool(refused) and refused[number][column]
            content += _cell(left + wide * column, y, wide, found, low, high, refused=no)
    content += _shades(left, bottom + 14, low, high, any(map(any, refused)))
    return picture(title, description, width, bottom + 14 + CELL_HEIGHT + 22, content)


def _shades(left: float, y: float, low: float, high: float, refused: bool) -> Iterator[Markup]:
    """The legend of a heat map: shades from the least to the greatest value, and other cells."""
    for number in range(SHADES):
        value = math.exp(low + (high - low) * number / (SHADES - 1))
        yield from _cell(left + CELL_WIDTH * number, y, CELL_WIDTH, value, low, high)
    middle = left + CELL_WIDTH * SHADES / 2
    yield element("text", "fast to slow", x=middle, y=y + CELL_HEIGHT + 14, text_anchor="middle",
                  class_="tick")
    x = left + CELL_WIDTH * (SHADES + 0.5)
    for text, no in (("not tried", False), *([("refused", True)] if refused else [])):
        yield from _cell(x, y, CELL_WIDTH, None, low, high, refused=no)
        yield element("text", text, x=x + CELL_WIDTH / 2 - 1, y=y + CELL_HEIGHT + 14,
                      text_anchor="middle", class_="tick")
        x += CELL_WIDTH * 1.5


def _cell(x: float, y: float, width: float, value: float | None, low: float, high: float,
          *, refused: bool = False) -> Iterator[Markup]:
    shade = 0.0 if not value or high == low else (high - math.log(value)) / (high - low)
    yield element("rect", x=x, y=y, width=width - 2, height=CELL_HEIGHT - 2,
                  class_="cell" if value else "cell empty",
                  fill_opacity=FAINTEST + (DEEPEST - FAINTEST) * shade if value else None)
    if value or refused:
        yield element("text", f"{value:.2f}" if value else "×", x=x + width / 2 - 1,
                      y=y + CELL_HEIGHT / 2 + 3, text_anchor="middle", class_="tick")


def courses_figure(title: str, text: str, over: str, best: Axis,
                   courses: Mapping[str, Sequence[tuple[float, float]]], note: str) -> Markup:
    """A step curve for each course by name, over runs or seconds; ``best`` is the other axis."""
    return figure(curves(
        title, text, Axis(over, lambda v: f"{v:g}"), best,
        [Series(name, [(float(x), y) for x, y in course], style, steps=True)
         for style, (name, course) in enumerate(courses.items())]), note)
