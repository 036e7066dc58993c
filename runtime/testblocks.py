"""Test blocks: the ``-- ==`` comments of a program, with inputs, outputs and errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir.errors import UserError
from runelift.runtime.values import generate, read_file, read_values

SEED = 42
"""The seed of ``random input``; a fixed one makes runs repeatable."""


@dataclass(frozen=True, slots=True)
class Case:
    """One input of an entry point, with what is expected of it.

    ``kind`` says what ``input_text`` is: ``text`` values, a ``file``'s name, ``random`` types, or
    a ``script`` (not supported).  ``error`` is the pattern that a failure's message must match.
    Without an expectation the interpreter's answer is expected.
    """

    entry: str
    name: str
    input_text: str
    kind: str
    folder: Path
    expected_text: str | None = None
    expected_file: str | None = None
    error: str | None = None
    tags: frozenset[str] = frozenset()

    def arguments(self) -> list[Any]:
        """The input values."""
        if self.kind == "file":
            return read_file(self.folder / self.input_text)
        if self.kind == "random":
            rng = np.random.default_rng(SEED)
            return [generate(spec, rng) for spec in split_specs(self.input_text)]
        return read_values(self.input_text.encode(), f"input of '{self.name}'")

    def expected(self) -> list[Any] | None:
        """The expected values, if they are written down."""
        if self.expected_file is not None:
            return read_file(self.folder / self.expected_file)
        if self.expected_text is not None:
            return read_values(self.expected_text.encode(), f"output of '{self.name}'")
        return None


@dataclass(slots=True)
class Blocks:
    """All cases of a file, its tags, and the error that its compilation must give."""

    cases: list[Case] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    error: str | None = None


def split_specs(text: str) -> list[str]:
    """The types and literals of a ``random input``, separated by blanks outside of brackets."""
    found, depth, word = [], 0, ""
    for char in text:
        if char.isspace() and depth == 0:
            if word:
                found.append(word)
            word = ""
        else:
            word += char
            depth += (char in "([") - (char in ")]")
    return [*found, word] if word else found


def parse_blocks(text: str, path: Path) -> Blocks:
    """The test blocks in a program's source text; UserError where one is malformed."""
    blocks = Blocks()
    for line, comment in _comments(text):
        _Reader(comment, path, line, blocks).read()
    return blocks


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """What follows ``-- ==`` in each comment that has it, and the number of its line."""
    lines = text.splitlines()
    position = 0
    while position < len(lines):
        position += 1
        if re.fullmatch(r"--\s*==\s*", lines[position - 1]):
            start = position
            while position < len(lines) and lines[position].startswith("--"):
                position += 1
            yield start, "\n".join(line[2:] for line in lines[start:position])


_WORD = re.compile(r"\s*(?:\"(?P<name>[^\"]*)\"|(?P<word>[A-Za-z_]+:?)|(?P<other>\S))")


class _Reader:
    """Reads one block; every clause amends the cases of the block's entry points."""

    def __init__(self, text: str, path: Path, line: int, blocks: Blocks) -> None:
        self.text = text
        self.path = path
        self.line = line
        self.blocks = blocks
        self.place = 0
        self.entries = ["main"]
        self.fresh()

    def fresh(self) -> None:
        self.name: str | None = None
        self.tags: set[str] = set()
        self.kind = "text"

    def read(self) -> None:
        while (match := _WORD.match(self.text, self.place)) is not None:
            self.place = match.end()
            if match["name"] is not None:
                self.name = match["name"]
            elif match["other"] is not None:
                raise self.malformed(f"unexpected '{match['other']}'")
            else:
                self.clause(match["word"])

    def clause(self, word: str) -> None:
        match word:
            case "tags":
                self.blocks.tags |= set(self.braces().split())
            case "entry:":
                self.entries = self.rest_of_line().split()
            case "nobench" | "notune" | "notest" | "compiled":
                self.tags.add(word)
            case "random" | "script":
                self.kind = word
            case "input":
                self.input()
            case "auto":
                pass  # `auto output`: the interpreter's answer, which is the default
            case "output":
                if re.match(r"\s*[{@]", self.text[self.place:]):
                    text, file = self.braces_or_file()
                    self.amend(expected_text=text, expected_file=file)
            case "error:":
                pattern = self.rest_of_line().strip()
                if self.blocks.cases:
                    self.amend(error=pattern)
                else:
                    self.blocks.error = pattern
            case "structure":
                self.place = self.text.find("{", self.place)
                self.braces()
            case _:
                raise self.malformed(f"unexpected '{word}'")

    def input(self) -> None:
        text, file = self.braces_or_file()
        for entry in self.entries:
            count = sum(case.entry == entry for case in self.blocks.cases)
            self.blocks.cases.append(Case(
                entry, self.name or f"#{count}", file or (text or "").strip(),
                "file" if file else self.kind, self.path.parent, tags=frozenset(self.tags)))
        self.fresh()

    def amend(self, **changes: Any) -> None:
        """Say what is expected of the last case of each entry point."""
        cases = self.blocks.cases
        for entry in self.entries:
            for position in reversed(range(len(cases))):
                if cases[position].entry == entry:
                    cases[position] = replace(cases[position], **changes)
                    break

    def rest_of_line(self) -> str:
        rest, _, _ = self.text[self.place:].partition("\n")
        self.place += len(rest)
        return rest

    def braces_or_file(self) -> tuple[str | None, str | None]:
        match = re.compile(r"\s*@\s*(\S+)").match(self.text, self.place)
        if match is None:
            return self.braces(), None
        self.place = match.end()
        return None, match[1]

    def braces(self) -> str:
        match = re.compile(r"\s*\{").match(self.text, self.place)
        if match is None:
            raise self.malformed("expected '{'")
        depth, at = 1, match.end()
        while depth:
            if at >= len(self.text):
                raise self.malformed("a '{' is not closed")
            depth += (self.text[at] == "{") - (self.text[at] == "}")
            at += 1
        self.place = at
        return self.text[match.end() : at - 1]

    def malformed(self, what: str) -> UserError:
        row = self.line + self.text.count("\n", 0, self.place) + 1
        return UserError(f"{self.path}:{row}: malformed test block: {what}.")
