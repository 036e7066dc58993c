"""Texts that are parsed again after a change: as if they had not been parsed before."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.frontend.load import checked_module
from runelift.frontend.syntax import module_ast, parser, reparse
from runelift.frontend.syntax.nodes import Node, parts
from runelift.frontend.syntax.parser import parse, parse_recovering
from runelift.ir.base.source import Source, Span

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.fut"))
PIECES = ("", "\n", " ", "-- c\n", "x", "def f = 1\n", "let y = 2\n", "#[noinline]\n", "in", "(",
          ")", "= 3", "type t = i32\n", "module m = {", "}", "-- | doc\n", '"', "[1]", "import",
          "entry g (x: i32) = x\n", ": i32", "\\x -> ", "local ", "open ")


def tree(node: object, source: Source) -> object:
    """A tree with places, all of which must be in one text."""
    if isinstance(node, Node):
        return type(node).__name__, tree(node.span, source), *(
            tree(getattr(node, name), source) for name in parts(type(node)))
    if isinstance(node, tuple):
        return tuple(tree(each, source) for each in node)
    if isinstance(node, Span):
        assert node.source is source
        return node.start, node.end
    return node


def outcome(source: Source, old: module_ast.Module | None = None) -> object:
    """The tree of a text, and its errors."""
    found = parse_recovering(source) if old is None else reparse.reparse(source, old)
    return tree(found, source), tuple(map(str, found.errors))


@pytest.mark.filterwarnings("ignore::runelift.ir.base.errors.ProgramWarning")
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_change_gives_the_tree_of_the_new_text(data: st.DataObject) -> None:
    old = Source("old.fut", data.draw(st.sampled_from(EXAMPLES)).read_text())
    start = data.draw(st.integers(0, len(old.text)))
    end = min(len(old.text), start + data.draw(st.sampled_from((0, 0, 1, 5, 40, 400))))
    piece = data.draw(st.sampled_from(PIECES))
    new = Source("new.fut", old.text[:start] + piece + old.text[end:])
    assert outcome(new, parse(old)) == outcome(new)


def test_only_what_is_near_the_change_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"def f{k} (x: i32) = x + {k}\n" for k in range(50))
    old = parse(Source("old.fut", text))
    checked_module(old)  # which must leave the tree as it is
    read: list[str] = []

    def watched(source: Source, text: str | None = None) -> object:
        read.append(source.text if text is None else text.strip())
        return parser.parse(source, text)

    monkeypatch.setattr(reparse, "parse", watched)
    new = Source("new.fut", text.replace("x + 20", "x * 2000"))
    found = outcome(new, old)
    assert read == [new.text[new.text.index("def f19"):new.text.index("def f22")].strip()]
    assert found == outcome(new)
