"""The language server, asked as an editor asks it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runelift.frontend.load import check
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from tests.runtime.tools.editors.client import Client

uris = pytest.importorskip("pygls.uris")

TEXT = '''\
-- | Sums of rows.
def total [n] (xs: [n]f32): f32 = reduce (+) 0 xs

-- >>> total [1, 2, 3]
entry main [n][m] (xss: [n][m]f32) =
  let sums = map total xss
  in map (\\x -> x * 2) sums
'''


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A server for all tests: it takes a second to start."""
    found = Client()
    yield found
    assert found.end() == 0


@pytest.fixture
def uri(client: Client, tmp_path: Path) -> str:
    """An open document with the program above."""
    found = (tmp_path / "rows.fut").as_uri()
    assert client.open(found, TEXT) == []
    return found


def place(text: str, part: str) -> tuple[int, int]:
    """The line and column of the first occurrence of a part of a text."""
    before = text[:text.index(part)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def at(found: Any) -> tuple[int, int, int, int]:
    """The four numbers of a range."""
    return (found["start"]["line"], found["start"]["character"],
            found["end"]["line"], found["end"]["character"])


def edited(text: str, edits: list[Any]) -> str:
    """A text after edits, whose columns are code points here."""
    def offset(where: Any) -> int:
        lines = text.split("\n")[:where["line"]]
        return sum(len(line) + 1 for line in lines) + where["character"]

    for each in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        start, end = offset(each["range"]["start"]), offset(each["range"]["end"])
        text = text[:start] + each["newText"] + text[end:]
    return text


def refusal(client: Client, uri: str, where: tuple[int, int], name: str) -> str:
    """The reason why something is not renamed."""
    message: str = client.about("rename", uri, *where, newName=name)["message"]
    return message


def opened(client: Client, uri: str, text: str) -> tuple[Client, str]:
    """An open document, after a change."""
    client.change(uri, text)
    return client, uri


def test_mistakes_are_reported_as_typed(client: Client, uri: str) -> None:
    wrong = TEXT.replace("xss\n", "xs\n")
    client.change(uri, wrong)
    (found,) = client.wait_for_diagnostics(uri)
    assert found["code"] == "unknown-name"
    assert "Unknown variable 'xs'" in found["message"]
    assert at(found["range"]) == (5, 23, 5, 25)
    client.change(uri, TEXT.replace("x * 2", "x *"))
    assert client.wait_for_diagnostics(uri)[0]["code"] == "syntax-error"
    broken = ["def f = )", "def g (x: i32): bool = x", "module m = {", "  def h = ]", "}"]
    client.change(uri, "\n".join(broken))
    found = client.wait_for_diagnostics(uri)
    assert [(each["range"]["start"]["line"], each["code"]) for each in found] == [
        (0, "syntax-error"), (3, "syntax-error"), (1, "type-mismatch")]
    client.change(uri, "def f (x: i32) = #[inlin] x")
    (remark,) = client.wait_for_diagnostics(uri)
    assert (remark["code"], remark["severity"]) == ("unknown-attribute", 2)
    client.change(uri, TEXT)
    assert client.wait_for_diagnostics(uri) == []


def test_places_count_in_utf_16(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "wide.fut").as_uri()
    (found,) = client.open(uri, 'def s = "\U0001d6fc" ++ unknown')
    assert at(found["range"]) == (0, 16, 0, 23)


def test_mistakes_of_imported_files_are_at_the_start(client: Client, tmp_path: Path) -> None:
    (tmp_path / "other.fut").write_text("def f = 1 +")
    (found,) = client.open((tmp_path / "main.fut").as_uri(), 'import "other"\ndef g = f')
    assert at(found["range"]) == (0, 0, 0, 0)
    assert "other.fut:1:12: Unexpected end" in found["message"]


@pytest.mark.parametrize(("part", "texts"), [
    ("total xss", ["def total [n] (xs: [n]f32): f32", "here: [m]f32 -> f32", "Sums of rows."]),
    ("sums", ["sums: [n]f32"]),
    ("x * 2", ["x: f32"]),
    ("reduce", ["reduce: (a -> a -> a) -> a -> [n]a -> a"]),
    ("n][m]f32", ["a size"]),
])
def test_hover(client: Client, uri: str, part: str, texts: list[str]) -> None:
    found = client.about("hover", uri, *place(TEXT, part))["contents"]["value"]
    assert [text for text in texts if text not in found] == []


def test_comments_end_before_examples_and_tests(client: Client, uri: str) -> None:
    text = ('import "std/stats"\n'
            "-- | Twice x.\n--\n-- >>> twice 2\n-- 4\ndef twice (x: i64) = 2 * x\n"
            "-- | Four times x.\n-- ==\n-- input { 1i64 } output { 4i64 }\n"
            "entry main (x: i64): i64 = twice (twice x)\ndef f xs = map main (bincount 3 xs)\n")
    client.change(uri, text)
    for part, said in (("bincount 3", "How often each"), ("twice (", "Twice x."),
                       ("main (bin", "Four times x.")):
        found = client.about("hover", uri, *place(text, part))["contents"]["value"]
        assert said in found
        assert not any(word in found for word in (">>>", "==", "[1, 0, 2]", "\n4", "input"))


def test_hover_shows_versions(client: Client, uri: str) -> None:
    client.change(uri, TEXT)
    for _ in range(600):
        construct = client.about("hover", uri, *place(TEXT, "map (\\x"))["contents"]["value"]
        if "Versions" in construct:
            break
        client.pause(0.05)
    assert "- V1 (outer) if `main.suff_outer_par_0` ≤ `n`" in construct
    entry = client.about("hover", uri, *place(TEXT, "main"))["contents"]["value"]
    assert "false: V3 (flat)" in entry


def test_answers_survive_a_mistake(client: Client, uri: str) -> None:
    broken = TEXT.replace("-- >>>", "\n-- >>>").replace("x * 2", "x * ")
    client.change(uri, broken)
    found = client.about("hover", uri, *place(broken, "sums"))["contents"]["value"]
    assert "sums: [n]f32" in found
    target = client.about("definition", uri, *place(broken, "total xss"))
    assert at(target["range"]) == (1, 4, 1, 9)
    client.change(uri, TEXT)


def test_definition_in_another_file(client: Client, tmp_path: Path) -> None:
    (tmp_path / "other.fut").write_text("-- first\nmodule M = { def f (x: i32) = x }")
    text = 'import "other"\ndef g = M.f 1'
    uri = (tmp_path / "main.fut").as_uri()
    assert client.open(uri, text) == []
    target = client.about("definition", uri, 1, 10)
    assert target["uri"].endswith("/other.fut")
    assert at(target["range"]) == (1, 17, 1, 18)


def test_references_and_rename(client: Client, uri: str) -> None:
    where = place(TEXT, "sums")
    found = client.about("references", uri, *where, context={"includeDeclaration": True})
    assert [at(each["range"])[:2] for each in found] == [(5, 6), (6, 23)]
    changes = client.about("rename", uri, *where, newName="totals")["changes"][uri]
    assert edited(TEXT, changes) == TEXT.replace("sums =", "totals =").replace(
        ") sums", ") totals")
    changes = client.about("rename", uri, *place(TEXT, "total"), newName="summed")["changes"][uri]
    assert edited(TEXT, changes) == TEXT.replace("total", "summed")
    tested = "-- ==\n-- entry: main other\n" + TEXT
    client.change(uri, tested)
    changes = client.about("rename", uri, *place(tested, "main ["), newName="sums_of")["changes"]
    assert edited(tested, changes[uri]) == tested.replace("main", "sums_of")
    client.change(uri, TEXT)
    for name in ("let", "2x", "_x"):
        assert "cannot be a name" in refusal(client, uri, where, name)
    assert "Operators" in refusal(*opened(client, uri, "def (+++) a b = a - b"), (0, 5), "plus")


def test_a_name_that_exists_elsewhere_is_taken_where_it_changes_no_meaning(
        client: Client, uri: str) -> None:
    changes = client.about("rename", uri, *place(TEXT, "sums"), newName="total")["changes"][uri]
    assert edited(TEXT, changes) == TEXT.replace("sums =", "total =").replace(") sums", ") total")


@pytest.mark.parametrize(("text", "part", "name", "message"), [
    (TEXT, "xss:", "total", "The name at rows.fut:6:18 would mean another definition."),
    (TEXT, "total [n] (", "main", "'main' is defined at rows.fut:2:5 already."),
    ("def f (x: i32) (y: i32) = x", "y", "x", "'x' is defined at rows.fut:1:8 already."),
    ("def f (x: i32) = let y = x in \\z -> x + y + z", "y", "z", "rows.fut:1:41"),
    ("def f (x: i32) = x\ndef g = map f [1]", "f (", "map", "rows.fut:2:9"),
    ("def g = map (\\x -> x) [1]", "map", "mine", "'map' belongs to the prelude"),
    ("def g = f32.sqrt 2", "sqrt", "mine", "'f32.sqrt' belongs to the prelude"),
    ("def g = 2 + 2", "2 +", "mine", "Nothing that this program defines"),
    ("module m: numeric = f32\nmodule n (p: numeric) = { def h = p.i32 1 }", "i32 1", "mine",
     "prelude wants the name 'i32'"),
    ("def f = 1 +", "f", "mine", "cannot be parsed"),
    ('import "std/sort"\ndef f = sort_i32 [1]', "sort_i32", "mine", "Runelift's library"),
])
def test_names_that_would_mean_something_else_are_refused(
        client: Client, uri: str, text: str, part: str, name: str, message: str) -> None:
    opened(client, uri, text)
    folder = str(Path(uris.to_fs_path(uri) or "").parent) + "/"
    assert message in refusal(client, uri, place(text, part), name).replace(folder, "")


LIBRARY = """\
module type pair = {
  type t
  val make: i32 -> t
  val first: t -> i32
}
module plain: pair = {
  type t = (i32, i32)
  def hidden = 0i32
  def make (x: i32): t = (x, hidden)
  def first (p: t) = p.0
}
def twice (x: i32) = 2 * x
"""
FILES = {
    "lib/pairs.fut": LIBRARY,
    "lib/again.fut": 'open import "pairs"\ndef four = twice 2\n',
    "other.fut": """\
import "lib/pairs"
module use (p: pair) = { def sum (x: i32) = p.first (p.make x) + twice x }
module used = use plain
module type more = { type t  include pair with t = t }
module third: pair with t = i32 = {
  type t = i32
  def make (x: i32) = x
  def first (x: t) = x
}
""",
    "main.fut": """\
module again = import "lib/again"
import "lib/again"
-- ==
-- input { 1 } output { 4 }
-- >>> twice 2
entry main (x: i32) =
  again.twice x + (plain.make x |> plain.first) + again.plain.first (plain.(make x))
""",
    "around.fut": """\
module type pair = { val one: i32 }
module type outer = { module inner: pair -> pair }
module around (p: outer) = {
  module it = p.inner {def one = 1i32}
  def two = it.one + 1
}
""",
    "apart.fut": "def twice (x: i32) = x\ndef first = twice\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[tuple[Client, Path]]:
    """A server for a folder with programs that import each other."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = Client(tmp_path)
    yield found, tmp_path
    assert found.end() == 0


def changed(client: Client, root: Path, name: str, part: str, new: str) -> dict[str, str]:
    """The files that a renaming changes, with their new texts."""
    uri = (root / name).as_uri()
    answer = client.about("rename", uri, *place(FILES[name], part), newName=new)
    assert "changes" in answer, answer
    found = {}
    for each, edits in answer["changes"].items():
        path = Path(uris.to_fs_path(each) or "")
        found[str(path.relative_to(root))] = edited(path.read_text(), edits)
    return found


def is_right(root: Path, texts: dict[str, str]) -> bool:
    """True if the programs of a folder are right after changes."""
    for name, text in texts.items():
        (root / name).write_text(text)
    for name in FILES:
        check(read_source(root / name))
    return True


def test_renaming_reaches_all_files_that_import_a_definition(
        folder: tuple[Client, Path]) -> None:
    client, root = folder
    found = changed(client, root, "lib/pairs.fut", "twice", "double")
    assert found == {name: FILES[name].replace("twice", "double")
                     for name in FILES if name not in {"apart.fut", "around.fut"}}
    assert is_right(root, found)


def test_renaming_starts_where_a_definition_is_used(folder: tuple[Client, Path]) -> None:
    client, root = folder
    found = changed(client, root, "main.fut", "twice x", "double")
    assert set(found) == {"lib/pairs.fut", "lib/again.fut", "other.fut", "main.fut"}
    assert is_right(root, found)


@pytest.mark.parametrize(("part", "new", "files"), [
    ("first: t", "head", {"lib/pairs.fut", "other.fut", "main.fut"}),
    ("make (x", "build", {"lib/pairs.fut", "other.fut", "main.fut"}),
    ("t = (", "couple", {"lib/pairs.fut", "other.fut"}),
    ("plain:", "flat", {"lib/pairs.fut", "other.fut", "main.fut"}),
    ("pair =", "duo", {"lib/pairs.fut", "other.fut"}),
    ("hidden", "zero", {"lib/pairs.fut"}),
])
def test_members_are_renamed_with_those_of_their_module_types(
        folder: tuple[Client, Path], part: str, new: str, files: set[str]) -> None:
    client, root = folder
    found = changed(client, root, "lib/pairs.fut", part, new)
    assert set(found) == files
    old = re.match(r"\w+", part)
    assert old is not None
    for name, text in found.items():
        assert text == re.sub(rf"(?<![\w\"/]){old[0]}\b", new, FILES[name])
    assert is_right(root, found)


def test_parts_of_a_path_are_renamed(folder: tuple[Client, Path]) -> None:
    client, root = folder
    found = changed(client, root, "around.fut", "inner:", "within")
    assert found == {"around.fut": FILES["around.fut"].replace("inner", "within")}
    assert is_right(root, found)


def test_definitions_and_uses_are_found_in_other_files(folder: tuple[Client, Path]) -> None:
    client, root = folder
    uri = (root / "main.fut").as_uri()
    target = client.about("definition", uri, *place(FILES["main.fut"], "first)"))
    assert target["uri"] == (root / "lib/pairs.fut").as_uri()
    assert at(target["range"])[:2] == place(LIBRARY, "first (p")
    found = client.about("references", uri, *place(FILES["main.fut"], "twice x"),
                         context={"includeDeclaration": False})
    assert sorted((Path(each["uri"]).name, at(each["range"])[:2]) for each in found) == [
        ("again.fut", (1, 11)), ("main.fut", (6, 8)), ("other.fut", (1, 65))]


def test_open_texts_stand_for_their_files(folder: tuple[Client, Path]) -> None:
    client, root = folder
    text = "-- a line more\n" + FILES["other.fut"].replace("twice x", "twice (twice x)")
    uri = (root / "other.fut").as_uri()
    assert client.open(uri, text) == []
    library = (root / "lib/pairs.fut").as_uri()
    where = place(LIBRARY, "twice")
    changes = client.about("rename", library, *where, newName="double")["changes"]
    assert edited(text, changes[uri]) == text.replace("twice", "double")
    client.change(uri, text.replace("def sum", "def"))
    assert "'other.fut' may use 'twice' and cannot be parsed" in refusal(
        client, library, where, "double")
    later = FILES["other.fut"] + "def triple = 3i32\n"
    client.change(uri, later)
    changes = client.about("rename", library, *where, newName="triple")
    assert "would mean" not in str(changes)


@pytest.mark.parametrize(("more", "line", "message"), [
    ('import "lib/pairs"\ndef f (double: i32) = twice double\n', 2, "would mean another"),
    ('import "lib/three"\nimport "lib/pairs"\ndef f = double + twice 1\n', 3, "would mean another"),
    ('open import "lib/pairs"\ndef double = 1i32\ndef f = twice double\n', 3, "would mean another"),
])
def test_other_files_can_forbid_a_name(folder: tuple[Client, Path], more: str, line: int,
                                       message: str) -> None:
    client, root = folder
    (root / "lib/three.fut").write_text("def double = 3i32")
    (root / "more.fut").write_text(more)
    found = refusal(client, (root / "lib/pairs.fut").as_uri(), place(LIBRARY, "twice"), "double")
    assert message in found
    assert f"more.fut:{line}:" in found


def test_files_outside_of_the_folder_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer.fut").write_text("def twice (x: i32) = 2 * x")
    text = 'import "../outer"\ndef f = twice 1'
    client = Client(tmp_path / "inner")
    uri = (tmp_path / "inner" / "main.fut").as_uri()
    assert client.open(uri, text) == []
    assert "which is not in the folder that is open" in refusal(
        client, uri, place(text, "twice"), "double")
    assert client.end() == 0


def test_formatting(client: Client, uri: str) -> None:
    messy = TEXT.replace("let sums = map", "   let  sums=map").replace("x * 2", "x*2")
    client.change(uri, messy)
    ask = {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}}
    assert edited(messy, client.ask("textDocument/formatting", ask)) == TEXT
    client.change(uri, messy + "def")
    assert client.ask("textDocument/formatting", ask) == []


def test_types_of_arrays_are_shown_at_names(client: Client, uri: str) -> None:
    client.change(uri, TEXT)
    client.wait_for_diagnostics(uri)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    found = client.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
    assert [(each["position"], each["label"]) for each in found] == [
        ({"line": 5, "character": 10}, ": [n]f32")]


def test_comments_are_run(client: Client, uri: str) -> None:
    (lens,) = client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert lens["command"]["title"] == "Run total [1, 2, 3]"
    text = TEXT
    for expression, result in (("total [1, 2, 3]", "-- = 6.0f32"),
                               ("map total [[1], [2]]", "-- = [1.0f32, 2.0f32]"),
                               ("total 1", "-- ! ")):
        text = re.sub(r"-- >>> .*", lambda _, e=expression: f"-- >>> {e}", text)
        client.change(uri, text)
        client.ask("workspace/executeCommand", {
            "command": lens["command"]["command"], "arguments": lens["command"]["arguments"]})
        text = edited(text, client.wait_for_edit()[uri])
        assert text.count("-- =") + text.count("-- !") == 1
        assert text.split("\n")[4].startswith(result)


def test_symbols_and_completion(client: Client, uri: str) -> None:
    client.change(uri, TEXT)
    found = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
    assert [each["name"] for each in found] == ["total", "main"]
    names = {each["label"] for each in client.about("completion", uri, 5, 13)}
    assert {"total", "sums", "map", "let", "f32"} <= names
    client.change(uri, TEXT.replace("map total", "map f32."))
    members = {each["label"] for each in client.about("completion", uri, 5, 21)}
    assert "sqrt" in members
    assert "map" not in members


def test_completion_has_kinds_and_comments(client: Client, uri: str) -> None:
    client.change(uri, TEXT)
    client.wait_for_diagnostics(uri)
    found = {each["label"]: each for each in client.about("completion", uri, 5, 13)}
    kinds = {name: found[name]["kind"] for name in ("total", "sums", "map", "let", "f32", "n")}
    assert kinds == {"total": 3, "sums": 6, "map": 3, "let": 14, "f32": 22, "n": 21}
    assert found["total"]["detail"] == "def total [n] (xs: [n]f32): f32"
    assert found["total"]["documentation"]["value"] == "Sums of rows."
    assert found["sums"]["detail"] == "[n]f32"
    assert found["map"]["detail"] .startswith("(a -> x) -> [n]a")


def test_members_of_modules_complete(folder: tuple[Client, Path]) -> None:
    client, root = folder
    uri, text = (root / "main.fut").as_uri(), FILES["main.fut"]
    client.open(uri, text)
    for path, members in (("again.", ["four", "pair", "plain", "twice"]),
                          ("again.plain.", ["first", "make", "t"]), ("none.", []),
                          ("i32.m", None), ("", None)):
        client.change(uri, f"{text}\n  + {path}", 3)
        items = client.about("completion", uri, 8, 4 + len(path))
        found = {each["label"]: each for each in items}
        if members is not None:
            assert sorted(found) == members
        elif path:
            assert "max" in found
        else:
            assert (found["twice"]["detail"], found["plain"]["kind"]) == ("def twice (x: i32)", 9)


CALLS = """\
-- | Scales.
def scaled [n] 'a (k: f32) ({x, y}: {x: f32, y: f32}) zs : [n]f32 = map (\\z -> k * x + y * z) zs
def other (f: f32 -> f32) = f 1
"""


@pytest.mark.parametrize(("typed", "name", "parameter"), [
    ("scaled ", "scaled", "(k: f32)"),
    ("scaled 1 {x = 1, y = f32.sqrt 2} ", "scaled", "zs"),
    ("scaled 1 {x = 1, y = f32.sqrt ", "f32.sqrt", "f32"),
    ("scaled (1 +", "scaled", "(k: f32)"),
    ("scaled k", "scaled", "(k: f32)"),
    ("scaled 1 p xs[i] ", "", ""),
    ("scaled xs[0] (", "scaled", "({x, y}: {x: f32, y: f32})"),
    ("1 + reduce (+) ", "reduce", "a"),
    ("reduce (\\x y -> ", "reduce", "(a -> a -> a)"),
    ("other ", "other", "(f: f32 -> f32)"),
    ("unknown 1 ", "", ""),
    ("scaled", "", ""),
    ("if scaled 1 p zs then 2 ", "", ""),
])
def test_parameters_are_shown_while_a_call_is_typed(client: Client, uri: str, typed: str,
                                                    name: str, parameter: str) -> None:
    client.change(uri, CALLS)
    client.wait_for_diagnostics(uri)
    text = f"{CALLS}def main (xs: []f32) = {typed}"
    client.change(uri, text)
    found = client.about("signatureHelp", uri, 3, len(text.split("\n")[3]))
    if not name:
        assert found is None
        return
    (shown,) = found["signatures"]
    start, end = shown["parameters"][found["activeParameter"]]["label"]
    assert (name in shown["label"], shown["label"][start:end]) == (True, parameter)
    assert shown.get("documentation", {}).get("value", "") == "Scales." * (name == "scaled")


def test_names_are_checked_before_they_are_renamed(client: Client, uri: str) -> None:
    client.change(uri, TEXT)
    assert at(client.about("prepareRename", uri, *place(TEXT, "total xss"))) == (5, 17, 5, 22)
    assert "prelude" in client.about("prepareRename", uri, *place(TEXT, "reduce"))["message"]


def test_tokens_have_classes(client: Client, uri: str) -> None:
    text = TEXT + 'def point = {x = "\U0001d6fc", y = #some 1i32}\ndef at p = point.x\n'
    client.change(uri, text)
    client.wait_for_diagnostics(uri)
    legend = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
    data = client.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": uri}})["data"]
    line = column = 0
    found = []
    lines = [each.encode("utf-16-le") for each in text.split("\n")]
    for place_ in range(0, len(data), 5):
        lines_on, start, length, kind, bits = data[place_:place_ + 5]
        line, column = line + lines_on, start + (0 if lines_on else column)
        word = lines[line][2 * column:2 * (column + length)].decode("utf-16-le")
        found.append((line, word, legend[kind], bits))
    assert found[:7] == [(1, "def", "keyword", 0), (1, "total", "function", 1),
                         (1, "n", "variable", 1), (1, "xs", "parameter", 1),
                         (1, "n", "variable", 0), (1, "f32", "type", 2), (1, "f32", "type", 2)]
    assert {(5, "map", "function", 2), (5, "total", "function", 0), (6, "*", "operator", 0),
            (6, "sums", "variable", 0), (7, "point", "variable", 1),
            (7, '"\U0001d6fc"', "string", 0), (7, "#some", "enumMember", 0),
            (7, "1i32", "number", 0), (8, "x", "property", 0)} <= set(found)


def test_ranges_can_be_folded(client: Client, uri: str) -> None:
    text = ('import "std/sort"\nimport "std/fft"\n\n-- one\n-- two\nmodule m = {\n'
            "  def f =\n    let x = 1\n\n    in x\n  def g = 2\n}\n")
    client.change(uri, text)
    found = client.ask("textDocument/foldingRange", {"textDocument": {"uri": uri}})
    assert [(each["startLine"], each["endLine"], each.get("kind")) for each in found] == [
        (0, 1, "imports"), (3, 4, "comment"), (5, 10, None), (6, 9, None)]


def test_hints_are_offered_as_edits(client: Client, tmp_path: Path) -> None:
    text = "entry main [n] (xs: [n]f32): f32 = xs.sum() / f32 n\n"
    uri = (tmp_path / "hints.fut").as_uri()
    (found,) = client.open(uri, text)
    assert found["code"] == "unknown-field"
    (action,) = client.ask("textDocument/codeAction", {
        "textDocument": {"uri": uri}, "range": found["range"], "context": {"diagnostics": [found]}})
    assert action["kind"] == "quickfix"
    assert action["title"] == "Functions stand before their arguments: f32.sum xs"
    (edits,) = action["edit"]["changes"].values()
    assert edited(text, edits) == "entry main [n] (xs: [n]f32): f32 = f32.sum xs / f32 n\n"
    elsewhere = {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}}
    assert client.ask("textDocument/codeAction", {
        "textDocument": {"uri": uri}, "range": elsewhere, "context": {"diagnostics": []}}) == []


def test_the_first_answer_comes_soon(tmp_path: Path) -> None:
    client = Client()
    uri = (tmp_path / "first.fut").as_uri()
    client.open(uri, TEXT)
    assert "total" in client.about("hover", uri, 1, 5)["contents"]["value"]
    assert client.processor_seconds() < 1.5
    assert client.end() == 0


def test_garbage_is_collected_in_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    server = pytest.importorskip("runelift.runtime.tools.editors.server")
    collected = list[float]()
    monkeypatch.setattr(server.gc, "collect", lambda: collected.append(time.monotonic()))
    monkeypatch.setattr(server, "RESTING", 0.1)
    monkeypatch.setattr(server.RuneliftServer, "_publish", lambda self, uri, found: None)
    monkeypatch.setattr(server.RuneliftServer, "_refresh", lambda self: None)

    async def typing() -> float:
        made = server.RuneliftServer()
        texts = iter(["def f = ", "def f = 1", "def f = 1 +"])
        monkeypatch.setattr(made, "_source", lambda uri: Source("a.fut", next(texts)))
        for _ in range(3):
            made.changed("a.fut")
            await asyncio.sleep(0.06)
        last = time.monotonic()
        await asyncio.sleep(0.5)
        return last

    last = asyncio.run(typing())
    assert [each > last for each in collected] == [True]
