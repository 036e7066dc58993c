"""Directives that run: values as text, and files with pictures, plots, videos and sounds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from runelift.frontend.syntax.types import Array, Arrow, Record, Tuple, Type
from runelift.ir.base.errors import Diagnostic, ProgramError, ProgramFailure, UserError
from runelift.ir.base.numerals import whole_number
from runelift.ir.base.source import Source
from runelift.ir.base.visible import shortened
from runelift.ir.prim import Prim
from runelift.runtime.compilation.script import Part, given, gives_frames
from runelift.runtime.data.pictures import Pixels, pixels, png
from runelift.runtime.data.sounds import RATE, wav
from runelift.runtime.data.text import Value
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.host.outside_tools import answer, has
from runelift.runtime.tools.interactive.values import show_type, show_value
from runelift.runtime.tools.literate.blocks import LOOKS, Directive
from runelift.runtime.tools.pages.charts import Series, curves
from runelift.runtime.tools.pages.markup import read
from runelift.runtime.tools.pages.scales import Axis
from runelift.runtime.tools.testing.scripts import compiled, type_of, value_of

LONGEST = 20_000
"""The most characters of a value that are shown."""
FPS = 30
"""The frames of a second, unless something else is said."""
MOST_FPS = 1000
_MARKS = re.compile(r"([\\`*_\[\]<>&!#])")


class Shown(NamedTuple):
    """A file that a directive makes: its content, and its name unless it gets a number."""

    content: bytes
    suffix: str
    name: str = ""


class Column(NamedTuple):
    """Arrays of the same length, by the name of their field; "" if they are no record's."""

    name: str
    arrays: Sequence[Value]


class Directives:
    """Runs directives of a program, and keeps the files that they make."""

    def __init__(self, program: Source, device: DeviceInfo | None, folder: str) -> None:
        self._program = program
        self._device = device
        self._folder = folder
        self.files: dict[str, bytes] = {}
        """The contents of files by their paths, which begin with the name of the folder."""

    def markdown(self, directive: Directive) -> str:
        """The result of a directive; UserError or CompilerLimitation if it fails."""
        kinds: Mapping[str, Callable[[Directive], Shown]] = {
            "img": self._img, "plot2d": self._plot2d, "gnuplot": self._gnuplot,
            "video": self._video, "audio": self._audio}
        try:
            if not _expression(directive):
                raise UserError("An expression is missing.")
            if not directive.kind:
                return self._value(directive)
            if directive.kind not in kinds:
                raise UserError(f"There is no directive ':{directive.kind}': there are "
                                f"{', '.join(f':{each}' for each in (*kinds, *LOOKS))}.")
            return self._link(directive, kinds[directive.kind](directive))
        except (ProgramError, ProgramFailure):
            raise
        except UserError as error:
            raise ProgramError(Diagnostic("malformed-data", directive.span, str(error))) from None

    def _value(self, directive: Directive) -> str:
        _parameters(directive)
        type_, parts = self._run(directive)
        return fenced(shortened(show_value(type_, parts), LONGEST))

    def _link(self, directive: Directive, shown: Shown) -> str:
        """A link to a file that is kept, with the expression for readers who do not see it."""
        name = shown.name or f"{directive.kind}-{len(self.files) + 1}.{shown.suffix}"
        path = f"{self._folder}/{name}"
        if path in self.files:
            raise UserError(f"There is another file '{name}'.")
        self.files[path] = shown.content
        said = _MARKS.sub(r"\\\1", _expression(directive))
        return f"![{said}]({quote(path)})\n"

    def _run(self, directive: Directive) -> tuple[Type, list[Value]]:
        script = compiled(directive.script, self._program, self._device)
        if isinstance(script.type, Arrow):
            raise UserError("This is a function: give it arguments.")
        return script.type, script.run()

    def _array(self, directive: Directive, *ranks: int) -> Value:
        """The value of a directive, which must be an array with one of these ranks."""
        type_, parts = self._run(directive)
        if _rank(type_) not in ranks:
            raise _unfit(directive, type_, "an array of numbers with "
                         f"{' or '.join(map(str, ranks))} dimensions")
        return np.asarray(parts[0])

    def _img(self, directive: Directive) -> Shown:
        asked = _parameters(directive, "file")
        return Shown(png([pixels(self._array(directive, 2))]), "png", _name(asked))

    def _plot2d(self, directive: Directive) -> Shown:
        asked = _parameters(directive, "size")
        columns = self._columns(directive)
        if any(len(each.arrays) != 2 for each in columns):
            raise UserError("A plot has pairs of arrays (xs, ys).")
        size = [whole_number(each.strip()) for each in asked.get("size", "").strip("()").split(",")]
        if "size" in asked and (len(size) != 2 or not all(size)):
            raise UserError("A size is (WIDTH, HEIGHT).")
        return Shown(plot(_expression(directive),
                          [(each.name, *each.arrays) for each in columns],
                          (size[0], size[1]) if "size" in asked else None), "svg")

    def _gnuplot(self, directive: Directive) -> Shown:
        with TemporaryDirectory() as folder:
            lines = ["set terminal png enhanced"]
            for number, column in enumerate(self._columns(directive)):
                path = Path(folder, str(number))
                path.write_text("".join(" ".join(f"{float(v):.17g}" for v in row) + "\n"
                                        for row in zip(*column.arrays, strict=True)))
                lines.append(f"{column.name or 'data'}='{path}'")
            script = "\n".join([*lines, *directive.rest, ""])
            content = answer("gnuplot", given=script.encode(), need="':gnuplot'")
        if not content:
            raise UserError("'gnuplot' made no picture: the script has no 'plot'.")
        return Shown(content, "png")

    def _columns(self, directive: Directive) -> list[Column]:
        """The arrays of a tuple, or of each field of a record; arrays of one field are as long."""
        type_, parts = self._run(directive)
        left = iter(parts)
        found = []
        for name, each in type_.fields if isinstance(type_, Record) else (("", type_),):
            items = each.items if isinstance(each, Tuple) else ()
            if not items or any(_rank(item) != 1 for item in items):
                raise _unfit(directive, type_, "a tuple of arrays of numbers, or a record of such")
            found.append(Column(name, [next(left) for _ in items]))
            if len({len(array) for array in found[-1].arrays}) > 1:
                raise UserError(f"The arrays{f' of {name}' * bool(name)} differ in length.")
        return found

    def _video(self, directive: Directive) -> Shown:
        asked = _parameters(directive, "repeat", "loop", "autoplay", "fps", "format", "file")
        form = asked.get("format", "webm" if has("ffmpeg") else "png")
        if form not in ("webm", "gif", "png"):
            raise UserError(f"There is no format '{form}' of videos: there are webm, gif, png.")
        fps = _number(asked, "fps", FPS)
        if fps > MOST_FPS:
            raise UserError(f"'fps' is at most {MOST_FPS}.")
        repeats = "false" not in (asked.get("repeat"), asked.get("loop"))
        frames = list(self._frames(directive))
        content = png(frames, fps, repeat=repeats)  # it checks the sizes as well
        if form != "png":
            height, width, *colours = frames[0].shape
            as_form = (["-f", "gif", "-loop", "0" if repeats else "-1"] if form == "gif" else
                       ["-f", "webm", "-c:v", "libvpx-vp9", "-b:v", "2M", "-pix_fmt", "yuv420p"])
            content = answer(
                "ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt",
                "rgb24" if colours else "gray", "-s", f"{width}x{height}", "-r", str(fps), "-i",
                "pipe:", *as_form, "pipe:", given=b"".join(each.tobytes() for each in frames),
                need=f"A video of the format {form} (there is 'format: png' without)")
        return Shown(content, form, _name(asked))

    def _frames(self, directive: Directive) -> Iterator[Pixels]:
        """The frames of an array with three dimensions, or of a triple (step, state, count)."""
        script, program = directive.script, self._program
        inputs = given(script)
        types = [type_of(value_of(each, program)) for each in inputs]
        if not gives_frames(program, script, inputs, types):
            yield from map(pixels, self._array(directive, 3))
            return
        start, step = (compiled(script, program, self._device, part)
                       for part in (Part.START, Part.STEP))
        if not isinstance(step.type, Tuple) or [_rank(each) for each in step.type.items[:1]] != [2]:
            raise _unfit(directive, step.type, "a step that gives a picture and the next state")
        *state, count = start.run()
        for _ in range(int(count)):
            picture, *state = step.run(*state)
            yield pixels(np.asarray(picture))

    def _audio(self, directive: Directive) -> Shown:
        asked = _parameters(directive, "sampling_frequency", "codec", "file")
        codec = asked.get("codec", "wav")
        content = wav(np.atleast_2d(self._array(directive, 1, 2)),
                      _number(asked, "sampling_frequency", RATE))
        if codec != "wav":
            content = answer("ffmpeg", "-loglevel", "error", "-i", "pipe:", "-f", codec, "pipe:",
                             given=content, need=f"The codec '{codec}'")
        return Shown(content, codec, _name(asked))


def fenced(text: str, language: str = "") -> str:
    """A block of code in Markdown.

    >>> print(fenced("1i32"), end="")
    ```
    1i32
    ```
    """
    fence = max([2, *map(len, re.findall("`+", text))]) + 1
    return f"{'`' * fence}{language}\n{text}\n{'`' * fence}\n"


def _expression(directive: Directive) -> str:
    return " ".join(directive.script.text.split())


def _rank(type_: Type) -> int | None:
    """The dimensions of an array of numbers; None for another type."""
    rank = 0
    while isinstance(type_, Array):
        type_, rank = type_.elem, rank + 1
    return rank if isinstance(type_, Prim) else None


def _unfit(directive: Directive, type_: Type, wanted: str) -> UserError:
    return UserError(f"':{directive.kind}' shows {wanted}; this is of type {show_type(type_)}.")


def _parameters(directive: Directive, *known: str) -> dict[str, str]:
    """The parameters of a directive; UserError for a name that is not ``known``."""
    found = dict[str, str]()
    for line in directive.rest:
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon or key not in known:
            raise UserError(f"There is no parameter '{key:.40}': " + (
                f"there are {', '.join(known)}." if known else "a value has none."))
        found[key] = value
    return found


def _number(asked: Mapping[str, str], name: str, default: int) -> int:
    if (found := whole_number(asked.get(name, str(default)))) is None or found < 1:
        raise UserError(f"'{name}' is a number from 1.")
    return found


def _name(asked: Mapping[str, str]) -> str:
    """The name of a file that is asked for; it has no folder."""
    name = asked.get("file", "")
    if name and (Path(name).name != name or "\\" in name or name.startswith(".")):
        raise UserError(f"'{name}' is no name of a file in the folder of the pictures.")
    return name


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
