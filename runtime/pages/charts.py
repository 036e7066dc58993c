"""Charts as inline SVG: curves over an axis, spreads, and heat maps.

Series differ in colour, in dashes and in the shape of their marks, so that they can be told apart
without colours.  Every chart has a title and a description for those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from runelift.runtime.pages.markup import Markup, element, joined
from runelift.runtime.pages.scales import Axis, Scale

WIDTH, HEIGHT = 720.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 176.0, 14.0, 52.0
STYLES, MARKS = 8, 5
"""Numbers of colours and dashes, as in the style sheet, and of shapes of marks."""
LETTER = 6.6
"""Width of a letter, about."""
ROW = 22.0
CELL_WIDTH, CELL_HEIGHT = 62.0, 26.0
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Series:
    """Some points by name; ``style`` is the number of its looks.

    ``lines`` join the points; with ``steps`` each holds until the next, and the last is marked.
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: int
    lines: bool = True
    steps: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A value on the horizontal axis that is marked by a vertical line."""

    value: float
    label: str
    kind: str = "chosen"


def picture(title: str, description: str, width: float, height: float,
            content: Sequence[Markup]) -> Markup:
    """An SVG element that says what it shows."""
    number = next(_numbers)
    names = f"title-{number}", f"description-{number}"
    return element("svg", [element("title", title, id=names[0]),
                           element("desc", description, id=names[1]), *content],
                   xmlns="http://www.w3.org/2000/svg", role="img",
                   aria_labelledby=" ".join(names), viewBox=f"0 0 {width:g} {height:g}",
                   width=width, height=height)


def curves(title: str, description: str, x: Axis, y: Axis, series: Sequence[Series],
           marks: Sequence[Mark] = (), good: tuple[float, float] | None = None) -> Markup:
    """Points over an axis, with the names of the series at the right.

    From the lower to the upper end of ``good``, all values are equally good.
    """
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    values = [p[0] for s in series for p in s.points] + [m.value for m in marks]
    across = Scale.over([*values, *(good or ())], LEFT, right, x.logarithmic)
    up = Scale.over([p[1] for s in series for p in s.points], bottom, TOP, y.logarithmic)
    content = [*_frame(x, y, across, up, right, bottom)]
    if good:
        low, high = map(across, good)
        content.insert(0, element("rect", x=low, width=max(1.0, high - low), y=TOP,
                                  height=bottom - TOP, class_="band"))
    for each in series:
        content += _series(each, across, up)
    content += [element("line", x1=across(m.value), x2=across(m.value), y1=TOP, y2=bottom,
                        class_=f"mark {m.kind}") for m in marks]
    content += _legend(series, marks, good is not None, right + 14)
    return picture(title, description, WIDTH, HEIGHT, content)


def _frame(x: Axis, y: Axis, across: Scale, up: Scale, right: float, bottom: float
           ) -> Iterator[Markup]:
    """The axes with what is written beside them."""
    for value, text in _written(x, across):
        yield element("line", x1=across(value), x2=across(value), y1=TOP, y2=bottom, class_="grid")
        yield element("text", text, x=across(value), y=bottom + 16, text_anchor="middle",
                      class_="tick")
    for value, text in _written(y, up):
        yield element("line", x1=LEFT, x2=right, y1=up(value), y2=up(value), class_="grid")
        yield element("text", text, x=LEFT - 6, y=up(value) + 4, text_anchor="end", class_="tick")
    yield element("path", d=f"M{LEFT:g} {TOP:g}V{bottom:g}H{right:g}", class_="axis")
    yield element("text", x.label, x=(LEFT + right) / 2, y=bottom + 40, text_anchor="middle",
                  class_="label")
    middle = (TOP + bottom) / 2
    yield element("text", y.label, x=14, y=middle, text_anchor="middle", class_="label",
                  transform=f"rotate(-90 14 {middle:g})")


def _written(axis: Axis, scale: Scale) -> list[tuple[float, str]]:
    """The values beside an axis; words come before numbers that are too near."""
    numbers = [(value, axis.write(value)) for value in scale.ticks()]
    return [*((value, text) for value, text in numbers if all(
        abs(scale(value) - scale(other)) > LETTER * (len(text) + len(word)) / 2 + 4
        for other, word in axis.names)), *axis.names]


def _series(series: Series, across: Scale, up: Scale) -> Iterator[Markup]:
    places = [(across(x), up(y)) for x, y in series.points if math.isfinite(y)]
    if series.lines and len(places) > 1:
        yield element("path", d=_path(places, series.steps),
                      class_=f"line s{series.style % STYLES}")
    yield from (_dot(x, y, series.style) for x, y in (places[-1:] if series.steps else places))


def _path(places: Sequence[tuple[float, float]], steps: bool) -> str:
    first, *others = places
    join = "H{0:.1f}V{1:.1f}" if steps else "L{0:.1f} {1:.1f}"
    return f"M{first[0]:.1f} {first[1]:.1f}" + "".join(join.format(*place) for place in others)


def _dot(x: float, y: float, style: int) -> Markup:
    """A mark: round, square, diamond, triangle or cross."""
    look = f"dot s{style % STYLES}"
    match style % MARKS:
        case 0:
            return element("circle", cx=x, cy=y, r=3.5, class_=look)
        case 1:
            return element("rect", x=x - 3, y=y - 3, width=6, height=6, class_=look)
        case 2:
            shape = f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"
        case 3:
            shape = f"M{x:.1f} {y - 4:.1f}l4 7.5h-8z"
        case _:
            shape = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return element("path", d=shape, class_=look)


def _legend(series: Sequence[Series], marks: Sequence[Mark], good: bool, left: float
            ) -> Iterator[Markup]:
    rows = count()

    def row(text: str, *symbol: Markup) -> Markup:
        return joined([*symbol, element("text", _short(text, WIDTH - left - 30), x=left + 28,
                                        y=place(0) + 4, class_="tick")])

    def place(offset: float) -> float:
        return TOP + 8 + 18 * line + offset

    for each in series:
        line = next(rows)
        stroke = element("line", x1=left, x2=left + 22, y1=place(0), y2=place(0),
                         class_=f"line s{each.style % STYLES}")
        yield row(each.name, *([stroke] if each.lines else []),
                  _dot(left + 11, place(0), each.style))
    for mark in marks:
        line = next(rows)
        yield row(mark.label, element("line", x1=left + 11, x2=left + 11, y1=place(-7),
                                      y2=place(7), class_=f"mark {mark.kind}"))
    if good:
        line = next(rows)
        yield row("equally good", element("rect", x=left, y=place(-6), width=22, height=12,
                                      class_="band"))


def _short(text: str, room: float) -> str:
    """As much of a text as there is room for."""
    letters = int(room / LETTER)
    return text if len(text) <= letters else text[: letters - 1] + "…"


def spreads(title: str, description: str, x: Axis,
            rows: Sequence[tuple[str, Sequence[float]]]) -> Markup:
    """A row of marks by name: how far values lie apart."""
    left = min(280.0, 12 + LETTER * max((len(name) for name, _ in rows), default=0))
    bottom = TOP + ROW * len(rows)
    across = Scale.over([v for _, values in rows for v in values], left, WIDTH - 20, True)
    content = list[Markup]()
    for value, text in _written(x, across):
        content.append(element("line", x1=across(value), x2=across(value), y1=TOP, y2=bottom,
                               class_="grid"))
        content.append(element("text", text, x=across(value), y=bottom + 16, text_anchor="middle",
                               class_="tick"))
    for number, (name, values) in enumerate(rows):
        place = TOP + ROW * (number + 0.5)
        content.append(element("text", _short(name, left - 10), x=left - 8, y=place + 4,
                               text_anchor="end", class_="tick"))
        content += [element("line", x1=across(v), x2=across(v), y1=place - 6, y2=place + 6,
                            class_="sample") for v in values]
    content.append(element("text", x.label, x=(left + WIDTH - 20) / 2, y=bottom + 38,
                           text_anchor="middle", class_="label"))
    return picture(title, description, WIDTH, bottom + BOTTOM, content)


def heat_map(title: str, description: str, across: tuple[str, Sequence[int]],
             down: tuple[str, Sequence[int]], cells: Sequence[Sequence[float | None]]) -> Markup:
    """Cells by two parameters, darker where the value is less; what was not tried is empty.

    ``cells`` has a row for each value of the second parameter.
    """
    known = [math.log(v) for row in cells for v in row if v]
    low, high = min(known, default=0.0), max(known, default=0.0)
    left, top = 80.0, 34.0
    width = left + CELL_WIDTH * len(across[1]) + 10
    height = top + CELL_HEIGHT * len(down[1]) + 30
    content = [element("text", across[0], x=(left + width) / 2, y=height - 6,
                       text_anchor="middle", class_="label"),
               element("text", down[0], x=4, y=14, class_="label")]
    for column, value in enumerate(across[1]):
        content.append(element("text", str(value), x=left + CELL_WIDTH * (column + 0.5),
                               y=top - 6, text_anchor="middle", class_="tick"))
    for number, (value, row) in enumerate(zip(down[1], cells, strict=True)):
        y = top + CELL_HEIGHT * number
        content.append(element("text", str(value), x=left - 8, y=y + CELL_HEIGHT / 2 + 4,
                               text_anchor="end", class_="tick"))
        for column, found in enumerate(row):
            content += _cell(left + CELL_WIDTH * column, y, found, low, high)
    return picture(title, description, max(width, 280.0), height, content)


def _cell(x: float, y: float, value: float | None, low: float, high: float) -> Iterator[Markup]:
    shade = 0.0 if not value or high == low else (high - math.log(value)) / (high - low)
    yield element("rect", x=x, y=y, width=CELL_WIDTH - 2, height=CELL_HEIGHT - 2,
                  class_="cell" if value else "cell empty",
                  fill_opacity=0.08 + 0.62 * shade if value else None)
    if value:
        yield element("text", f"{value:.2f}", x=x + CELL_WIDTH / 2 - 1, y=y + CELL_HEIGHT / 2 + 3,
                      text_anchor="middle", class_="tick")
