"""Programs and entry points, their texts at a stage, and threshold forests as decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CLexer, PythonLexer

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.displayed import Listing
from runelift.runtime.programs.entry_point import EntryPoint
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.notebook.fragments import code, fragment, note, title
from runelift.runtime.tools.pages.document import folded
from runelift.runtime.tools.pages.markup import Markup, element
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer
from runelift.runtime.tools.reports.html.trees import MARKS, decision_table
from runelift.runtime.tuner.analysis.winners import Standing
from runelift.runtime.versions.forest import Forest, Forests

MOST_TREES = 8
"""The most entry points whose versions a program shows: it must compile them for that."""
LEXERS = {"opencl": CLexer, "python": PythonLexer, "source": RuneliftLexer, "core": RuneliftLexer}
"""Lexers by language."""
KERNEL = re.compile(r"^(?://[^\n]*\n)*(?:__attribute__[^\n]*\n)*(?:__)?kernel ", re.M)
"""The beginning of the first kernel."""
NAME = re.compile(r"\bkernel void (\w+)")
MOST = 400_000
"""The most characters that a notebook gets; longer texts are cut."""


def html(shown: Program | EntryPoint | Listing | Forest | Forests) -> Markup:
    """A program or an entry point, its text at a stage, or its versions as decisions."""
    match shown:
        case Program():
            return fragment(*_program(shown))
        case EntryPoint():
            return fragment(*_entry(shown))
        case Listing():
            return fragment(*_listing(shown))
        case Forest():
            return fragment(*forest_parts(shown))
        case Forests():
            return fragment(*(part for forest in shown.entries for part in forest_parts(forest)))


def _program(program: Program) -> Iterator[Markup]:
    info = program.device_info
    yield title("Program", "on the interpreter" if info is None else f"on {info.name}, "
                                                                      f"{info.platform}")
    yield element("table", element("tbody", [element("tr", [
        element("td", code(program[name].type)),
        element("td", program[name].declared.doc)]) for name in program.entries]))
    if program.hidden:
        yield note("No attributes, but items: " + ", ".join(
            f"program[{name!r}]" for name in program.hidden))
    if len(program.entries) <= MOST_TREES:
        yield from _versions(program)
    else:
        yield note("program.tree has the versions.")
    yield folded("Source", [_box(program.compiled.source.text.lstrip("\n"), "source")])


def _versions(program: Program) -> Iterator[Markup]:
    try:
        forests = [forest for forest in program.tree.entries if forest.trees]
    except CompilerLimitation as error:
        yield note(f"Not supported on devices: {error}")
        return
    if forests:
        counts = (f"{len(forest.leaves())} of {forest.entry}" for forest in forests)
        yield folded(f"Versions: {', '.join(counts)}", [
            part for forest in forests for part in forest_parts(forest, program.thresholds)])


def _entry(entry: EntryPoint) -> Iterator[Markup]:
    yield title("Entry point")
    yield code(entry.type)
    yield element("pre", entry.__doc__ or "")


# Threshold forests


def forest_parts(forest: Forest, thresholds: Mapping[str, int] | None = None,
                 standings: Mapping[str, Mapping[str, Standing]] | None = None
                 ) -> Iterator[Markup]:
    """A forest that reads like a program, with the times of versions if they are known."""
    if not forest.trees:
        yield title(forest.entry, "one version, no thresholds")
        return
    yield title(forest.entry, f"{len(forest.leaves())} versions")
    known = {name: thresholds.get(name, 0) for name in forest.guards()} if thresholds else None
    yield decision_table(forest, standings, known)
    if standings:
        yield note(MARKS)


# Texts


def _listing(listing: Listing) -> Iterator[Markup]:
    """A text in a box that scrolls; the prelude of kernels is folded."""
    text, language = str(listing), listing.language
    size = f"{text.count(chr(10)) + 1} lines"
    if len(text) > MOST:
        size += f", of which the first {MOST:,} characters"
        text = text[:MOST]
    begin = match.start() if language == "opencl" and (match := KERNEL.search(text)) else 0
    if language == "opencl":
        size = ", ".join([size, *NAME.findall(text)])
    yield title(listing.heading, size)
    if begin:
        yield folded("Prelude", [_box(text[:begin], language)])
    yield _box(text[begin:], language)


def _box(text: str, language: str) -> Markup:
    return element("pre", list(_coloured(text, language)))


def _coloured(text: str, language: str) -> Iterator[Markup | str]:
    """The text with marked tokens, or as it is if there is no lexer for it."""
    lexer = LEXERS.get(language)
    if lexer is None:
        yield text
    else:
        yield Markup(highlight(text, lexer(stripnl=False), HtmlFormatter(nowrap=True)))
