"""The language server, asked as an editor asks it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.editors.client import Client

pytest.importorskip("pygls")

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
    for name in ("total", "let", "2x"):
        assert "message" in client.about("rename", uri, *where, newName=name)


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


def test_answers_about_500_lines_are_quick(client: Client, tmp_path: Path) -> None:
    """At most 150 ms for a person; ten times that where other tests run as well."""
    function = TEXT.partition("-- >>>")[0].replace("-- | Sums of rows.", "-- A sum.")
    text = "".join(function.replace("total", f"total{number}") for number in range(166)) + TEXT
    assert text.count("\n") > 500
    uri = (tmp_path / "long.fut").as_uri()
    assert client.open(uri, text) == []
    client.change(uri, text.replace("x * 2", "x * 3"))
    times = []
    for method in ("hover", "definition", "completion"):
        begin = client.now()
        assert client.about(method, uri, *place(text, "total xss"))
        times.append(client.now() - begin)
    assert max(times) < 1.5, times
