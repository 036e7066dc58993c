"""The highlighter for Pygments and the grammar for TextMate: what they say of words and tokens."""

from __future__ import annotations

import json
import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Error

from runelift.frontend.syntax.parse_tables import SOURCE
from runelift.frontend.syntax.tokens import RESERVED
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer
from tests.runtime.tools.editors import textmate

ROOT = Path(__file__).parents[4]
VSCODE = ROOT / "docs" / "editors" / "vscode"
PROGRAM = '''\
-- | The sum.
#[noinline] def total [n] 'a (xs: [n]f32) : f32 = reduce (+) 0 xs  -- of all
module M = { type t = i32 }
entry main = match #some 'c' case _ -> f32.sum [0x1F, 1e3f64] |> M.f "--" 0..<n
'''


def test_keywords_are_those_of_the_grammar() -> None:
    (words,) = re.findall(r"\(\?!\(([a-z|_]+)\)\(\?!", SOURCE.text)
    assert set(words.split("|")) - {"_"} == RESERVED


def test_classes_of_tokens() -> None:
    found = {text: str(kind).removeprefix("Token.")
             for kind, text in RuneliftLexer().get_tokens(PROGRAM)}
    assert {text: found[text] for text in (
        "-- | The sum.", "-- of all", "noinline", "def", "total", "'a", "f32", "reduce", "+", "M",
        "t", "match", "#some", "'c'", ".sum", "0x1F", "1e3f64", "|>", '"--"', "..<", "xs")} == {
        "-- | The sum.": "Literal.String.Doc", "-- of all": "Comment.Single",
        "noinline": "Name.Decorator", "def": "Keyword.Declaration", "total": "Name.Function",
        "'a": "Name.Variable", "f32": "Keyword.Type", "reduce": "Name.Builtin", "+": "Operator",
        "M": "Name", "t": "Name.Class", "match": "Keyword", "#some": "Name.Constant",
        "'c'": "Literal.String.Char", ".sum": "Name.Attribute", "0x1F": "Literal.Number.Integer",
        "1e3f64": "Literal.Number.Float", "|>": "Operator", '"--"': "Literal.String.Double",
        "..<": "Operator", "xs": "Name"}


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.fut"))[::4], ids=lambda p: p.stem)
def test_programs_have_no_unknown_tokens(path: Path) -> None:
    text = path.read_text()
    found = list(RuneliftLexer(stripnl=False).get_tokens(text))
    assert "".join(part for _, part in found) == text
    assert not [part for kind, part in found if kind is Error]


def test_pygments_finds_the_lexer() -> None:
    if not any(each.name == "runelift" for each in entry_points(group="pygments.lexers")):
        pytest.skip("installed before the lexer was there")
    assert get_lexer_by_name("runelift").name == "Runelift"
    assert get_lexer_for_filename("a.fut").name == "Runelift"


def test_the_grammar_of_the_extension_is_current() -> None:
    """``python -m tests.runtime.tools.editors.textmate`` writes it anew."""
    assert (ROOT / textmate.FILE).read_text() == textmate.text()


def test_the_grammar_gives_first_words_their_scopes() -> None:
    """Try the patterns in order, as an editor does at each place of a line."""
    patterns = [(re.compile(each.get("match") or each["begin"]), each)
                for each in textmate.grammar()["patterns"]]

    def scope(line: str) -> str:
        found = min(((match.start(), place, each) for place, (pattern, each) in enumerate(patterns)
                     if (match := pattern.search(line))), key=lambda item: item[:2])[2]
        scope: str = found.get("name") or found["captures"]["2"]["name"]
        return scope.removesuffix(".runelift")

    assert [scope(line) for line in (
        "def f x = 1", "type t = i32", "module type T = {}", "module M = {}", "if a",
        "-- >>> f 1", "-- a", "f32", "reduce f", "'a'", "'a", "#a", "1.5", "12", "true", "xs'",
        '"a"', "|> f")] == [
        "entity.name.function", "entity.name.type", "keyword.other.module",
        "entity.name.namespace", "keyword.control",
        "comment.block.evaluation", "comment.line.double-dash", "storage.type",
        "support.function", "string.quoted.single", "variable.parameter.type",
        "constant.other.constructor", "constant.numeric.float", "constant.numeric.integer",
        "constant.language", "variable.other", "string.quoted.double", "keyword.operator"]


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((VSCODE / "package.json").read_text())
    contributes = package["contributes"]
    for name in (package["main"], contributes["languages"][0]["configuration"],
                 contributes["grammars"][0]["path"]):
        assert (VSCODE / name).is_file()
    json.loads((VSCODE / "language-configuration.json").read_text())
    assert contributes["grammars"][0]["scopeName"] == textmate.SCOPE
