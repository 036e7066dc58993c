"""Programs and entry points."""

from __future__ import annotations

from collections.abc import Iterator

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.programs.entry_point import EntryPoint
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.notebook.fragments import code, fragment, note, title
from runelift.runtime.tools.notebook.listings import box
from runelift.runtime.tools.notebook.trees import forest_parts
from runelift.runtime.tools.pages.document import folded
from runelift.runtime.tools.pages.markup import Markup, element

MOST_TREES = 8
"""The most entry points whose versions a program shows: it must compile them for that."""


def html(shown: Program | EntryPoint) -> Markup:
    """A program with its entry points and versions, or one entry point with its arguments."""
    return fragment(*(_program(shown) if isinstance(shown, Program) else _entry(shown)))


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
    yield folded("Source", [box(program.compiled.source.text, "source")])


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
