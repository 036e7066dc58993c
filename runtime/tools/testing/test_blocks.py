"""Test blocks: comments of a program with inputs and expected outputs.

A block is a sequence of comment lines with a line ``-- ==``.  The text before that line describes
the test, the text after it has cases::

    block  ::= description '==' tags? entries? (case | 'error:' regex | 'property:' word*)*
    case   ::= ['"' name '"'] tag* input [output]
    tags   ::= 'tags' '{' word* '}'
    entries::= 'entry:' word*
    input  ::= 'input' '{' value* '}' | 'input' '@' file
             | 'random' 'input' '{' (type | value)* '}'
             | 'script' 'input' ('{' expression '}' | '@' file)
    output ::= 'output' '{' value* '}' | 'output' '@' file | 'auto' 'output' | 'error:' regex
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from runelift.ir.base.errors import ProgramError, RuneliftError
from runelift.ir.base.files import read_source, require_file
from runelift.ir.base.source import Source
from runelift.ir.prim import Prim
from runelift.runtime.data.dataset import Generator, RandomArray
from runelift.runtime.data.text import Reader, Spec, Value, format_value
from runelift.runtime.data.values import load_values

SMALL_FILE = 1 << 22
"""Bytes of a file that is read before it is needed, to see if it is damaged."""
_FORM = ("A test is written: input { 1i32 [2f32, 3f32] } output { 4f32 }, with commas only inside "
         "of arrays.")
_LOADED = re.compile(r'\$(?:loaddata|loadbytes|loadimg|loadaudio)\s+"([^"]*)"')
NAME_WIDTH = 50
"""The greatest length of a dataset's name that is made from its values."""


@dataclass(frozen=True, slots=True)
class Random:
    """Values and types; a random value is generated for each type."""

    specs: tuple[Spec | Value, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """The program must fail with a message that ``pattern`` is found in."""

    pattern: str


Input: TypeAlias = tuple[Value, ...] | Path | Random | Source
"""Values that stand in the block, a file with values, random values, or a script.

A script is an expression with the names of the program; the text around it is blanked.
"""
Output: TypeAlias = tuple[Value, ...] | Path | Failure | Literal["auto"] | None
"""The expected values, a file with them, or a failure; ``"auto"`` is what the interpreter says."""
Evaluate: TypeAlias = Callable[[Source], list[Value]]
"""A function that runs a script (:func:`runelift.runtime.tools.testing.scripts.evaluate`)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One input of some entry points, and the expected output.

    ``named``: the name ``dataset`` was given, not made from the input.
    """

    entries: tuple[str, ...]
    dataset: str
    tags: frozenset[str]
    input: Input
    output: Output
    line: int
    named: bool = False

    def arguments(self, evaluate: Evaluate, preferred: Sequence[Prim] = ()) -> list[Value]:
        """The values of the input; ``preferred`` as in :func:`.values.load_values`."""
        match self.input:
            case Source() as script:
                return evaluate(script)
            case tuple(values):
                return list(values)
            case Path() as path:
                return load_values(path, preferred)
            case Random(specs):
                return Generator().values(specs)
            case _:
                assert_never(self.input)

    def recipes(self, evaluate: Evaluate, preferred: Sequence[Prim] = ()
                ) -> list[Value | RandomArray]:
        """The values of the input, where random arrays are not made yet."""
        if isinstance(self.input, Random):
            return Generator().recipes(self.input.specs)
        return self.arguments(evaluate, preferred)

    def expected(self) -> list[Value] | None:
        """The values of the output, if they are given."""
        match self.output:
            case tuple(values):
                return list(values)
            case Path() as path:
                return load_values(path)
            case Failure() | "auto" | None:
                return None
            case _:
                assert_never(self.output)


@dataclass(frozen=True, slots=True)
class Block:
    """One test block.  ``error`` is the pattern of the message that rejects the program.

    ``properties`` are the names of entry points, each with the line of its test.
    """

    description: str
    tags: frozenset[str]
    cases: tuple[Case, ...]
    error: str | None
    line: int
    properties: tuple[tuple[str, int], ...] = ()


def unreadable(case: Case, source: Source) -> str | None:
    """The reason why a file of a case cannot be read; None if all can, or there are none.

    Small files are read whole.  Names in scripts count from the folder of the program.
    """
    named = [each for each in (case.input, case.output) if isinstance(each, Path)]
    if isinstance(case.input, Source):
        named += [Path(source.name).parent / match[1] for match in _LOADED.finditer(
            case.input.text)]
    for path in named:
        try:
            require_file(path)
            if path in (case.input, case.output) and path.is_file() and (
                    path.stat().st_size <= SMALL_FILE):
                load_values(path)
        except RuneliftError as error:
            return str(error)
    return None


def parse_blocks(source: Source) -> tuple[Block, ...]:
    """The test blocks of a program; ProgramError if one is malformed."""
    try:
        return tuple(_BlockReader(source, *extent).block() for extent in _extents(source.text))
    except ProgramError as error:
        raise ProgramError(*(replace(each, hints=each.hints or (_FORM,))
                             for each in error.diagnostics)) from None


def cases_of(source: Source, entry: str | None = None, without: frozenset[str] = frozenset(),
             within: frozenset[str] | None = None) -> Iterator[Case]:
    """The cases of a program, or of one entry point, that do not ask for a failure.

    They have no tag of ``without``.  They have a tag of ``within``, if it is given.
    """
    for block in parse_blocks(source):
        for case in block.cases:
            tags = case.tags | block.tags
            if not (tags & without or isinstance(case.output, Failure)) and (
                    within is None or tags & within) and (entry is None or entry in case.entries):
                yield case


_COMMENT = re.compile(r"[ \t]*--[^\n]*\n?")
_BRACE_OR_STRING = re.compile(r'[{}]|"(?:[^"\\]|\\.)*"')
_SEPARATOR = re.compile(r"[ \t]*--[ \t]*==[ \t]*(?:\n|$)")


def _extents(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, separator and end of every run of comment lines that is a test block."""
    position = start = 0
    separator: int | None = None
    while position <= len(text):
        comment = _COMMENT.match(text, position)
        if comment:
            if separator is None and (found := _SEPARATOR.match(text, position)):
                separator = found.end()
            position = comment.end()
            if position < len(text):
                continue
        if separator is not None:
            yield start, separator, position
        following = text.find("\n", position)
        position = start = len(text) + 1 if following < 0 else following + 1
        separator = None


class _BlockReader:
    """Parses one block.

    Comment marks become blanks so that positions are the positions in the file.
    """

    def __init__(self, source: Source, start: int, separator: int, end: int) -> None:
        self._source = source
        self._start, self._separator = start, separator
        text = source.text[:start] + re.sub(
            r"^([ \t]*)--", r"\1  ", source.text[start:end], flags=re.MULTILINE)
        self._end = len(text.rstrip())
        self._reader = Reader(source, separator, self._end, text)
        self._text = text

    def block(self) -> Block:
        description, _, _ = self._text[self._start : self._separator].rpartition("==")
        tags: frozenset[str] = frozenset()
        entries: tuple[str, ...] = ("main",)
        cases: list[Case] = []
        error = None
        properties: list[tuple[str, int]] = []
        while not self._reader.at_end():
            word = self._word()
            if word == "tags":
                tags = frozenset(self._words("{", "}"))
            elif word == "entry:":
                entries = tuple(self._line().replace(",", " ").split())
            elif word == "property:":
                line = self._source.text.count("\n", 0, self._reader.position) + 1
                properties += ((name, line) for name in self._line().replace(",", " ").split())
            elif word == "structure":
                self._structure()
            elif word == "warning:":
                self._line()
            elif word == "error:":
                error = self._line()
            else:
                cases.append(self._case(word, entries))
        lines = (line.strip() for line in description.strip().splitlines())
        line = self._source.text.count("\n", 0, self._start) + 1
        return Block("\n".join(lines), tags, tuple(cases), error, line, tuple(properties))

    def _case(self, word: str, entries: tuple[str, ...]) -> Case:
        start = self._reader.position - len(word)
        line = self._source.text.count("\n", 0, start) + 1
        name, tags, kind = "", set(), ""
        while word != "input":
            if word.startswith('"'):
                name = word[1:-1]
            elif word in ("random", "script"):
                kind = word
            elif not re.fullmatch(r"[\w-]+", word):
                self._reader.fail(f"Expected a test case, but found '{word}'.", start)
            else:
                tags.add(word)
            start = self._reader.position
            if self._reader.at_end():
                self._reader.fail("Expected 'input', but the test block ends here.", start)
            start = self._reader.position
            word = self._word()
        read: dict[str, Callable[[], Input]] = {
            "": self._values_or_file, "random": self._random, "script": self._script}
        found = read[kind]()
        return Case(entries, name or _name(found), frozenset(tags), found, self._output(), line,
                    named=bool(name))

    def _output(self) -> Output:
        if self._keyword("output"):
            return self._values_or_file()
        if self._keyword("auto"):
            self._reader.expect("output")
            return "auto"
        if self._reader.accept("error:"):
            return Failure(self._line())
        return None

    def _keyword(self, word: str) -> bool:
        return bool(re.compile(rf"{word}\b").match(self._after_blanks())) and (
            self._reader.accept(word))

    def _values_or_file(self) -> tuple[Value, ...] | Path:
        if self._reader.accept("@"):
            name = self._word()
            return Path(self._source.name).parent / name
        self._reader.expect("{")
        start = self._reader.position
        values = []
        for value in self._reader.values("}"):
            values.append(value)
            self._ended(start)
        self._ended(start)
        self._reader.expect("}")
        return tuple(values)

    def _ended(self, start: int) -> None:
        """Fail if the brace before ``start`` is not closed where its values end."""
        if self._reader.at_end() or any(map(self._reader.looking_at, ("input", "output"))):
            self._reader.fail("The values have no end: a '}' is missing.", start - 1)

    def _random(self) -> Random:
        self._reader.expect("{")
        specs = []
        start = self._reader.position
        while not self._reader.looking_at("}"):
            self._ended(start)
            specs.append(self._reader.spec_or_value())
        self._reader.expect("}")
        return Random(tuple(specs))

    def _script(self) -> Source:
        if self._reader.accept("@"):
            return read_source(Path(self._source.name).parent / self._word())
        self._reader.expect("{")
        start, depth = self._reader.position, 1
        for match in _BRACE_OR_STRING.finditer(self._text, start, self._end):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if not depth:
                self._reader.position = match.end()
                before = re.sub(r"[^\n]", " ", self._text[:start])
                return Source(self._source.name, before + self._text[start : match.start()])
        self._reader.fail("The script has no end: a '}' is missing.", start - 1)

    def _structure(self) -> None:
        while not self._reader.accept("{"):
            self._word()
        while not self._reader.accept("}"):
            self._word()

    def _words(self, opening: str, closing: str) -> Iterator[str]:
        self._reader.expect(opening)
        while not self._reader.accept(closing):
            yield self._word()

    def _after_blanks(self) -> str:
        self._reader.skip_blanks()
        return self._text[self._reader.position : self._end]

    def _word(self) -> str:
        match = re.match(r'"[^"\n]*"|\{|\}|[^\s{}]+', self._after_blanks())
        if not match:
            self._reader.fail("The test block ends too early.")
        self._reader.position += match.end()
        return match[0]

    def _line(self) -> str:
        line, _, _ = self._text[self._reader.position : self._end].partition("\n")
        self._reader.position += len(line)
        return line.strip()


def _name(found: Input) -> str:
    """The name of a dataset that is given none."""
    match found:
        case Path():
            return found.name
        case Random(specs):
            text = " ".join(str(s) if isinstance(s, Spec) else format_value(s) for s in specs)
        case tuple():
            text = " ".join(map(_short, found))
        case Source():
            text = " ".join(found.text.split())
        case _:
            assert_never(found)
    return text if len(text) <= NAME_WIDTH else text[: NAME_WIDTH - 3] + "..."


def _short(value: Value) -> str:
    return format_value(value) if value.size <= NAME_WIDTH else format_value(value.ravel()[:9])


def datasets_of(source: Source, entry: str | None = None,
                without: frozenset[str] = frozenset()) -> list[Case]:
    """The cases to measure: the cases with a name or a file.

    If there is no such case, all cases.
    """
    cases = list(cases_of(source, entry, without))
    worth = [case for case in cases if case.named or isinstance(case.input, Path)]
    return worth or cases


TUNE, NOTUNE, DISABLE = (frozenset((tag,)) for tag in ("tune", "notune", "disable"))


def training_of(source: Source, entry: str | None = None) -> list[Case]:
    """The datasets to tune for: those tagged ``tune``, or all but those tagged ``notune``.

    Source: Breddam 2019, section 5.1, for the tags.
    """
    marked = list(cases_of(source, entry, NOTUNE | DISABLE, TUNE))
    return marked or datasets_of(source, entry, NOTUNE | DISABLE)


def validation_of(source: Source, entry: str | None = None) -> list[Case]:
    """The datasets that are kept out of tuning, to validate its result."""
    used = {(case.line, case.dataset) for case in training_of(source, entry)}
    return [case for case in cases_of(source, entry, DISABLE)
            if (case.line, case.dataset) not in used
            and (case.named or isinstance(case.input, Path))]
