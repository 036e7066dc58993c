"""Programs and entry points."""

from __future__ import annotations

from collections.abc import Iterator

from runelift.runtime.entry_point import EntryPoint
from runelift.runtime.notebook.fragments import code, fragment, note, title
from runelift.runtime.notebook.listings import box
from runelift.runtime.notebook.trees import forest_parts
from runelift.runtime.pages.document import folded
from runelift.runtime.pages.markup import Markup, element
from runelift.runtime.program import Program


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
    forests = program.tree.entries
    versions = {forest.entry: len(forest.leaves()) for forest in forests if forest.trees}
    if versions:
        yield folded("Versions: " + ", ".join(f"{count} of {name}"
                                              for name, count in versions.items()),
                     [part for forest in forests if forest.trees
                      for part in forest_parts(forest, program.thresholds)])
    yield folded("Source", [box(program.compiled.source.text, "source")])


def _entry(entry: EntryPoint) -> Iterator[Markup]:
    yield title("Entry point")
    yield code(entry.type)
    yield element("pre", entry.__doc__ or "")
