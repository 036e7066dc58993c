"""The grammar for tree-sitter: it is current, and its parser reads what our own parser reads."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from pathlib import Path

import pytest
from tree_sitter import Language, Parser, Query, QueryCursor

from runelift.frontend.syntax.parser import parse
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from tests.runtime.tools.editors import treesitter

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / treesitter.FOLDER
PROGRAM = b'''\
-- | The sum.
#[noinline] def total [n] 'a (xs: [n]f32) (is: []i64) : f32 = reduce (+) is[0] xs -- of all
module M = { type^ t = #none i32 }
entry main = match #some 'c' case y -> f32.sum [0x1F, -1e3f64] |> f "--" true
'''
AS_NAMES = {"syntax_in_as_name", "syntax_keyword_as_name", "syntax_loop_bound",
            "syntax_while_without_loop"}
"""Programs with a reserved word where only a name may stand, and one whose operator is wrong.

Tree-sitter takes words for names there.
"""


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Language:
    """The parser that stands in the tree, as an editor compiles it."""
    library = tmp_path_factory.mktemp("tree-sitter") / "runelift.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-I", FOLDER / "src", FOLDER / "src" / "parser.c",
                    "-o", library], check=True)
    function = ctypes.CDLL(str(library)).tree_sitter_runelift
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return Language(capsule(function(), b"tree_sitter.Language", None))


def test_the_grammar_and_the_parser_are_current() -> None:
    """``python -m tests.runtime.tools.editors.treesitter`` writes both anew."""
    assert (ROOT / treesitter.FILE).read_text() == treesitter.text()
    assert (ROOT / treesitter.PARSER).read_text().endswith("\n" + treesitter.made_from())


@pytest.mark.filterwarnings("ignore:[^ ]* warning.unknown-attribute")
def test_programs_are_read_as_by_our_parser(language: Language) -> None:
    programs = {path.stem: path.read_text() for folder in ("examples", "frontend", "tests")
                for path in ROOT.glob(f"{folder}/**/*.fut")}
    for page in ROOT.glob("docs/**/*.md"):
        found = re.findall(r"```futhark\n(.*?)```", page.read_text(), re.S)
        programs |= {f"{page.stem} {place}": text for place, text in enumerate(found)}
    parser = Parser(language)

    def reads(text: str) -> bool:
        return not parser.parse(text.encode()).root_node.has_error

    def is_ours(text: str) -> bool:
        try:
            parse(Source("program", text))
        except ProgramError:
            return False
        return True

    ours = {name for name, text in programs.items() if is_ours(text)}
    assert len(ours) > 500
    assert len(programs) - len(ours) > 100
    read = {name for name, text in programs.items() if reads(text)}
    assert not ours - read
    assert {name for name in read - ours if name.startswith("syntax_")} == AS_NAMES


def test_blanks_and_signs_decide(language: Language) -> None:
    """One text for each pair that only blanks or the longest sign tell apart."""

    def tree(text: str) -> str:
        (declaration,) = Parser(language).parse(f"def x = {text}".encode()).root_node.children
        return str(declaration.children[-1])

    assert [tree(text) for text in ("f [1]", "f[1]", "f -1", "(-1)", "(+ 1)", "(.a[0])", "a.b",
                                    "M.(b)", "\"\\\"--\"", "0..<2")] == [
        "(app function: (identifier) argument: (array (integer)))",
        "(index value: (identifier) indices: (dims (integer)))",
        "(chain (identifier) (op) (integer))", "(atom_in_parens (negate (integer)))",
        "(section_right (section_operator (operator)) (integer))",
        "(section_path (member) (dims (integer)))",
        "(project value: (identifier) member: (member))",
        "(local_open (identifier) (identifier))", "(string)",
        "(range (integer) (range_operator) (integer))"]


def test_queries_give_words_and_names_their_classes(language: Language) -> None:
    tree = Parser(language).parse(PROGRAM).root_node
    assert not tree.has_error

    def captures(name: str) -> dict[str, set[str]]:
        query = Query(language, (FOLDER / "queries" / f"{name}.scm").read_text())
        return {kind: {node.text.decode() for node in nodes if node.text}
                for kind, nodes in QueryCursor(query).captures(tree).items()}

    found = captures("highlights")
    assert {kind: found[kind] for kind in found if not kind.startswith("punctuation")} == {
        "comment": {"-- | The sum.", "-- of all"}, "comment.documentation": {"-- | The sum."},
        "attribute": {"noinline"}, "keyword": {"def", "entry", "type^"},
        "keyword.import": {"module"}, "keyword.conditional": {"match", "case"},
        "function": {"total", "main"}, "function.call": {"reduce", "f"}, "module": {"M"},
        "variable.parameter": {"n", "xs", "is", "y"}, "type": {"'a", "f32", "i64", "i32", "t"},
        "variable.member": {".sum"}, "constructor": {"#none", "#some"}, "character": {"'c'"},
        "number": {"0", "0x1F", "1e3f64"}, "string": {'"--"'}, "boolean": {"true"},
        "operator": {"=", "+", "->", "-", "|>"}}
    assert len(captures("folds")["fold"]) == 4 + 2
    assert {"n", "xs", "is", "y", "total", "main"} == {
        name for kind, names in captures("locals").items() if kind.startswith("local.definition")
        for name in names}


@pytest.mark.parametrize(("program", "fields"), [
    ("def f [n] 'a (xs: [n]a) y : i32 = 1",
     {"name": "f", "type_parameter": "[n] 'a", "parameter": "(xs: [n]a) y", "type": "i32",
      "body": "1"}),
    ("def (a, b) <+> c = a", {"name": "<+>", "parameter": "(a, b) c", "body": "a"}),
    ("type^ t 'a = #one a", {"name": "t", "type_parameter": "'a", "type": "#one a"}),
    ("module M (P: S) : T = P", {"name": "M", "parameter": "(P: S)", "type": "T", "body": "P"}),
    ("module type S = { val x : i32 }", {"name": "S", "body": "{ val x : i32 }"}),
    ('import "lib/a"', {"path": '"lib/a"'}),
    ("def x = let f [n] (a: [n]b) : c = d in f",
     {"name": "f", "type_parameter": "[n]", "parameter": "(a: [n]b)", "type": "c", "body": "d",
      "result": "f"}),
    ("def x = let [n] (a: [n]b) = c in a",
     {"size": "[n]", "pattern": "(a: [n]b)", "value": "c", "result": "a"}),
    ("def x = let a[1] = b let c = d in c",
     {"name": "a", "value": "b", "result": "let c = d in c"}),
    ("def x = \\(a: b) c: d -> e", {"parameter": "(a: b) c", "type": "d", "body": "e"}),
    ("def x = f a b", {"function": "f", "argument": "a b"}),
    ("def x = f a \\b -> c", {"function": "f", "argument": "a \\b -> c"}),
    ("def x = if a then b else c", {"condition": "a", "consequence": "b", "alternative": "c"}),
    ("def x = loop a = b for i < n do c", {"pattern": "a", "value": "b", "body": "c"}),
    ("def x = loop a while b do c", {"pattern": "a", "body": "c"}),
    ("def x = match a case b -> c", {"value": "a", "case": "case b -> c"}),
    ("def x = a : []i32", {"value": "a", "type": "[]i32"}),
    ("def x = a.b", {"value": "a", "member": ".b"}),
    ("def x = a[0, i:j]", {"value": "a", "indices": "0, i:j"})])
def test_parts_have_fields(language: Language, program: str, fields: dict[str, str]) -> None:
    (node,) = Parser(language).parse(program.encode()).root_node.children
    if program.startswith("def x ="):
        node = node.child_by_field_name("body")
    assert node is not None
    assert not node.has_error
    found = dict[str, list[str]]()
    for place, child in enumerate(node.children):
        if (field := node.field_name_for_child(place)) is not None:
            found.setdefault(field, []).append((child.text or b"").decode())
    assert {field: " ".join(texts) for field, texts in found.items()} == fields


def test_fields_are_those_of_rules() -> None:
    """Each field of the table is in the grammar: no rule or symbol of it has another name."""
    made = json.loads(treesitter.text())["rules"]
    used = {name: set(re.findall(r'"FIELD", "name": "(\w+)"', json.dumps(rule)))
            for name, rule in made.items()}
    hidden = set().union(*(fields for name, fields in used.items() if name.startswith("_")))
    for rule, parts in treesitter._FIELDS.items():
        wanted = set(" ".join(parts.values()).split())
        assert rule in made
        assert wanted <= used[rule] | hidden


def test_files_name_files_that_exist() -> None:
    (grammar,) = json.loads((FOLDER / "tree-sitter.json").read_text())["grammars"]
    assert all((FOLDER / grammar[kind]).is_file() for kind in ("highlights", "locals"))
    assert re.findall(r'require\("(.*)"\)', (FOLDER / "grammar.js").read_text()) == [
        f"./{treesitter.FILE.relative_to(treesitter.FOLDER)}"]
