"""Time the answers of the language server: wall time, and processor time of the server.

``python -m benchmarks.editors [PROGRAM...] [--lines N] [--times N] [--json OUT]``

Without programs, one is made with about ``--lines`` lines, and the longest examples are taken.
*At rest*: the text has been checked.  *Typing*: the question follows a change at once, that of a
function in the middle.
Diagnostics are timed from a change until they arrive, with the pause before a check.
Numbers are medians in milliseconds, with the greatest wall time.  Processor time needs Linux.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.made_program import made
from runelift.frontend.syntax.tokens import RESERVED, scan
from tests.runtime.tools.editors.client import Client

EXAMPLES = Path(__file__).parents[1] / "examples"
LONGEST = 3
"""The number of examples that are taken."""
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 100_000, "character": 0}}
OPTIONS = {"tabSize": 2, "insertSpaces": True}


class Row(NamedTuple):
    """The times of one question about one program, in milliseconds."""

    program: str
    question: str
    state: str
    wall: float
    most: float
    processor: float


def questions(text: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The questions about a program: methods, and what they say beside the document.

    The place is the last one of the function that the text names most often.
    """
    places: dict[str, list[int]] = {}
    for match in scan(text):
        if match.lastgroup == "word" and len(match[0]) > 1:
            places.setdefault(match[0], []).append(match.start())
    defined = {following for word, following in _pairs(text)
               if word in ("def", "entry") and following in places}
    often = max(sorted(defined), key=lambda name: len(places[name]))
    there = _position(text, places[often][-1])
    about: dict[str, dict[str, Any]] = {
        "hover": {}, "definition": {}, "completion": {},
        "references": {"context": {"includeDeclaration": True}}}
    found = {name: (name, {"position": there, **more}) for name, more in about.items()}
    found["rename, new name"] = "rename", {"position": there, "newName": "another_name"}
    local = max(sorted(places.keys() - defined - RESERVED), key=lambda name: len(places[name]))
    found["rename, name in use"] = "rename", {"position": there, "newName": local}
    found["formatting"] = "formatting", {"options": OPTIONS}
    found["inlay hints"] = "inlayHint", {"range": WHOLE}
    found["code lens"], found["outline"] = ("codeLens", {}), ("documentSymbol", {})
    return found


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """The words that follow each other."""
    before = ""
    for match in scan(text):
        if match.lastgroup == "word":
            yield before, match[0]
        if match.lastgroup != "blank":
            before = match[0]


def _position(text: str, place: int) -> dict[str, int]:
    start = text.rfind("\n", 0, place) + 1
    return {"line": text.count("\n", 0, place), "character": place - start}


class Timer:
    """The wall time of a block, and the processor time of the server in it."""

    def __init__(self, client: Client) -> None:
        self._clock = (~client.process.pid << 3) | 2  # Linux: the clock of a process
        self.samples: list[tuple[float, float]] = []

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), time.clock_gettime(self._clock)

    def __enter__(self) -> None:
        self._begin = self._now()

    def __exit__(self, *_: object) -> None:
        wall, processor = (1e3 * (end - begin)
                           for begin, end in zip(self._begin, self._now(), strict=True))
        self.samples.append((wall, processor))


def changed(text: str, number: int) -> str:
    """A program with another function in its middle, of which no two are equal."""
    places = [found.end() for found in re.finditer(r"\n\n(?=def|entry)", text)] or [len(text)]
    place = min(places, key=lambda each: abs(each - len(text) // 2))
    return f"{text[:place]}def added (x: i32) = x + {number}\n\n{text[place:]}"


def measure(client: Client, name: str, uri: str, text: str, times: int) -> Iterator[Row]:
    """The rows of a program, which is changed before each question."""
    version = 1
    asked = questions(changed(text, version))
    timers: dict[tuple[str, str], Timer] = {}
    client.open(uri, changed(text, version))
    for turn in range(-2, times):  # the first ones are not counted
        for question, (method, more) in asked.items():
            version += 1
            client.change(uri, changed(text, version), version)
            for state in ("typing", "at rest"):
                timer = timers.setdefault((question, state), Timer(client))
                with timer:
                    client.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})
                if state == "typing":
                    client.wait_for_diagnostics(uri)
            version += 1
            timer = timers.setdefault(("diagnostics", "typing"), Timer(client))
            with timer:
                client.change(uri, changed(text, version), version)
                client.wait_for_diagnostics(uri)
        if turn < 0:
            timers = {}
    for (question, state), timer in timers.items():
        walls, processor = zip(*timer.samples, strict=True)
        yield Row(name, question, state, median(walls), max(walls), median(processor))


def main() -> None:
    """Print a row for each question about each program."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    texts = {path.name: path.read_text() for path in options.programs}
    if not texts:
        texts = {f"made-{options.lines}.fut": made(options.lines)}
        examples = {path.name: path.read_text() for path in EXAMPLES.glob("*.fut")}
        longest = sorted(examples, key=lambda name: -examples[name].count("\n"))
        texts |= {name: examples[name] for name in longest[:LONGEST]}
    rows: list[Row] = []
    print(f"{'program':22}{'question':22}{'state':9}{'wall':>7}{'most':>7}{'processor':>11}  ms")
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        for name, text in texts.items():
            path = Path(folder) / name
            path.write_text(text)
            for row in measure(client, name, path.as_uri(), text, options.times):
                print(f"{row.program:22}{row.question:22}{row.state:9}{row.wall:7.1f}"
                      f"{row.most:7.1f}{row.processor:11.1f}", flush=True)
                rows.append(row)
        client.end()
    if options.json:
        options.json.write_text(json.dumps([row._asdict() for row in rows], indent=1))


if __name__ == "__main__":
    main()
