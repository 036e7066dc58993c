"""The one thing to do next: the change that was measured and gains most."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.statistics import Ratio, median, median_ratio

LEAST = 1.05
"""The least gain that is spoken of."""
LEAST_TIMES, MANY_TIMES, LEAST_OF_FEW = 2, 6, 1.2
"""The least times of a way from which it is sure to gain, if each gains so much; and many times."""
AUTOTUNE = "autotune"
"""The kind of a step for datasets with different best versions."""
FACTOR = 16
"""More data are so many times as many."""


class Kind(StrEnum):
    """A kind of ways: the call as it is, and what may be changed."""

    NOW = "now"
    DEFAULT = "default"
    VERSION = "version"
    CONSTANT = "constant"
    LAYOUT = "layout"
    TILES = "tiles"
    WINDOWS = "windows"
    LARGER = "larger"
    HOST = "host"
    DEVICE = "device"
    NUMPY = "numpy"


ADDED = frozenset({Kind.CONSTANT, Kind.WINDOWS})
"""The kinds of ways that need another entry point."""


@dataclass(frozen=True, slots=True)
class MeasuredWay:
    """A way with its seconds by round; ``refused`` says why there are none."""

    kind: Kind
    name: str
    detail: str = ""
    seconds: tuple[float, ...] = ()
    refused: str = ""

    @property
    def median(self) -> float:
        """The median seconds; NaN if it did not run."""
        return median(self.seconds)

    def gain(self, over: MeasuredWay) -> Ratio:
        """The seconds of another way, which ran in turn with it, over its own seconds."""
        rounds = min(len(self.seconds), len(over.seconds))
        return median_ratio(over.seconds[:rounds], self.seconds[:rounds])


@dataclass(frozen=True, slots=True)
class Step:
    """A change that was measured: seconds ``before`` and ``after``, in words, and as a command.

    ``gain`` is how many times as fast the whole call becomes.
    """

    kind: str
    name: str
    before: float
    after: float
    gain: float
    text: str
    command: str


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to paste into a shell, with a program and options, or into Python.

    ``about`` are options for the entry point and device.  ``options`` also choose the data.
    ``tuning`` is the tuning file in use.  ``text`` is the program's text in Python.
    """

    entry: str
    names: Sequence[str]
    arrays: Sequence[bool]
    program: str | None = None
    options: Sequence[str] = ()
    about: Sequence[str] = ()
    tuning: str = ""
    text: str = "text"

    def of(self, way: MeasuredWay) -> str:
        """The command that makes a call in this way."""
        if way.kind in ADDED and not way.detail.startswith("entry "):
            return way.detail  # the program has such an entry point
        return self._in_shell(way) if self.program is not None else self._in_python(way)

    def _in_shell(self, way: MeasuredWay) -> str:
        assert self.program is not None
        bench = ["runelift", "bench", self.program]
        match way.kind:
            case Kind.VERSION:
                forced = [part for name in way.name.split(", ") for part in ("--force", name)]
                return shlex.join([*bench, *self.options, *forced])
            case Kind.DEFAULT:
                return (f"mv {shlex.quote(self.tuning)} {shlex.quote(f'{self.tuning}.old')}"
                        if self.tuning else shlex.join([*bench, *self.options]))
            case Kind.CONSTANT | Kind.WINDOWS:
                text, path = shlex.quote(way.detail), shlex.quote(self.program)
                return f"printf '\\n%s\\n' {text} >> {path}"
            case Kind.LAYOUT | Kind.TILES:
                file, lines = f"{way.kind}.schedule", shlex.join(way.detail.splitlines())
                made = shlex.join([*bench, *self.options, "--schedule", file])
                return f"printf '%s\\n' {lines} > {file} && {made}"
            case Kind.LARGER:
                made = shlex.join([*bench, *self.about, "--input", "larger.data"])
                return f"runelift dataset {way.detail} -o larger.data && {made}"
            case _:
                return f"program = runelift.compile({self.program!r}); {self._in_python(way)}"

    def _in_python(self, way: MeasuredWay) -> str:
        match way.kind:
            case Kind.VERSION:
                return f"program.run({self.entry!r}, [{', '.join(self.names)}], force={way.detail})"
            case Kind.DEFAULT:
                return "program.thresholds = {}"
            case Kind.CONSTANT | Kind.WINDOWS:
                return f"program = runelift.compile({self.text} + {f'{chr(10)}{way.detail}'!r})"
            case Kind.LAYOUT | Kind.TILES:
                return f"program = runelift.compile({self.text}, schedule={way.detail!r})"
            case Kind.LARGER:
                return f"runelift dataset {way.detail} -o larger.npz"
            case _:
                put = "".join(f"{name} = program.to_device({name}); " for name, array in zip(
                    self.names, self.arrays, strict=True) if array)
                return f"{put}program.{self.entry}({', '.join(self.names)}, device_arrays=True)"


WORDS: Mapping[Kind, str] = {
    Kind.VERSION: "run {name}",
    Kind.DEFAULT: "leave the settings out",
    Kind.CONSTANT: "call {name} as a constant",
    Kind.WINDOWS: "call {name}",
    Kind.LAYOUT: "{name} (a schedule)",
    Kind.TILES: "{name} (a schedule)",
    Kind.LARGER: "give more data in a call ({name})",
    Kind.DEVICE: "keep arrays on the device between calls from Python",
}
"""The changes that a kind of ways is, as a call to do so."""


def steps(ways: Sequence[MeasuredWay], commands: Commands) -> tuple[Step, ...]:
    """The changes that gain :data:`LEAST` or more for sure, by falling gain."""
    return tuple(sorted(_steps([each for each in ways if each.seconds], commands),
                        key=lambda each: -each.gain))


def _steps(ways: Sequence[MeasuredWay], commands: Commands) -> Iterator[Step]:
    kinds = {each.kind: each for each in reversed(ways)}
    if Kind.NOW not in kinds:
        return
    now = kinds[Kind.NOW]
    host = kinds.get(Kind.HOST)
    whole = max(now.median, host.median) if host is not None else now.median
    for way in ways:
        over = host if way.kind is Kind.DEVICE else now
        if way.kind not in WORDS or over is None or len(way.seconds) < LEAST_TIMES:
            continue
        ratio = way.gain(over)
        left = max(whole - (over.median - way.median), way.median)
        low = 1.0 if len(way.seconds) >= MANY_TIMES else LEAST_OF_FEW
        if ratio.value < LEAST or ratio.low <= low or (gain := whole / left) < LEAST:
            continue
        yield Step(way.kind, way.name, over.median, way.median, gain,
                   WORDS[way.kind].format(name=way.name), commands.of(way))


@dataclass(frozen=True, slots=True)
class Next:
    """The step to do next, and the dataset for which it gains most; no step if none gains."""

    step: Step | None
    dataset: str = ""

    @property
    def text(self) -> str:
        """The step in words, and its command in another line."""
        return self.words if self.step is None else f"{self.words}\n  {self.step.command}"

    @property
    def words(self) -> str:
        """The step in words."""
        if self.step is None:
            return NOTHING
        step, of = self.step, f" for {self.dataset}" if self.dataset else ""
        return (f"Next: {step.text}: {show_seconds(step.after)} instead of "
                f"{show_seconds(step.before)}{of}, {times(step.before / step.after)} as fast.")


NOTHING = f"Nothing that was tried is sure to gain {round(100 * (LEAST - 1))} %."


def next_step(found: Mapping[str, Sequence[Step]], autotune: str) -> Next:
    """The step that gains most in the datasets together, by its kind.

    Where different versions gain in different datasets, it is ``autotune``, which chooses by size.
    """
    best = {name: {each.kind: each for each in reversed(each_found)}
            for name, each_found in found.items()}
    gains = defaultdict[str, float](float)
    for by_kind in best.values():
        for kind, step in by_kind.items():
            gains[kind] += math.log(step.gain)
    if not gains:
        return Next(None)
    chosen = max(gains, key=lambda kind: gains[kind])
    dataset = max((name for name in best if chosen in best[name]),
                  key=lambda name: best[name][chosen].gain)
    step = best[dataset][chosen]
    versions = {by_kind[chosen].name if chosen in by_kind else "" for by_kind in best.values()}
    if chosen == Kind.VERSION and len(versions) > 1:
        step = replace(step, kind=AUTOTUNE, command=autotune, text=(
            f"tune, so that sizes choose between versions, such as {step.name}"))
    return Next(step, dataset if len(found) > 1 else "")


def times(ratio: float) -> str:
    """A ratio in words.

    >>> times(1.234), times(28.4)
    ('1.23 times', '28 times')
    """
    return f"{ratio:.2f} times" if ratio < 10 else f"{ratio:.0f} times"
