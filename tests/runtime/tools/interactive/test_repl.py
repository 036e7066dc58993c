"""``runelift repl``: values, definitions that are kept, and commands."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import ProgramError, UserError
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.interactive.answers import HELP, Answers
from runelift.runtime.tools.interactive.session import Session, is_declaration, is_unfinished


@pytest.fixture
def answers() -> Answers:
    return Answers(Session(), "interpreter")


@pytest.mark.parametrize(("text", "said"), [
    ("1 + 2", "3i32 : i32"),
    ("(1, 2.5, true)", "(1i32, 2.5f64, true) : (i32, f64, bool)"),
    ("{b = [1u8], a = ()}", "{a = (), b = [1u8]} : {a: (), b: [1]u8}"),
    ("zip [1, 2] [[3f32], [4]]", "[(1i32, [3.0f32]), (2i32, [4.0f32])] : [2](i32, [1]f32)"),
    ("[#some (1, 2), #none] : []#none | #some (i32, i32)",
     "[#some (1i32, 2i32), #none] : [2]#none | #some (i32, i32)"),
    ("[[{a = #x}]] : [][]{a: #x}", "[[{a = #x}]] : [1][1]{a: #x}"),
    ("map (+ 1)", "a function : [n]i32 -> [n]i32"),
    ("let x = 1 in x", "1i32 : i32"),
    ("-- a comment", ""),
    (":type map", "map : (a -> x) -> [n]a -> *[n]x"),
    (":type iota 3", "iota 3 : [3]i64"),
    (":type (\\xs -> xs) : []i32 -> []i32", "(\\xs -> xs) : []i32 -> []i32 : []i32 -> []i32"),
    (":defs", "Nothing is defined yet."),
    (":he", HELP),
])
def test_answers(answers: Answers, text: str, said: str) -> None:
    assert answers.answer(text) == said


def test_definitions_are_kept_and_replaced(answers: Answers, tmp_path: Path) -> None:
    assert answers.answer("def f (x: i32) = x + 1") == "Defined f."
    assert answers.answer("let two = f 1\ntype t = i32\nmodule M = { def g = 3 }") == (
        "Defined two, t, M.")
    assert answers.answer("(two, M.g) : (t, t)") == "(2i32, 3i32) : (i32, i32)"
    (tmp_path / "other.fut").write_text("def h = 5\n")
    (tmp_path / "file.fut").write_text('import "other"\nentry main (x: i32) = x * h\n')
    assert answers.answer(f":load {tmp_path / 'file.fut'}") == "Defined main."
    answers.answer("def f (x: i32) = x + 10")
    assert answers.answer("(two, main 3)") == "(11i32, 15i32) : (i32, i32)"
    answers.answer("def last = two")
    answers.answer("def M' = last")
    answers.answer("def two = 7")
    assert answers.answer("M'") == "7i32 : i32"
    answers.answer("def main (x: i32) = x + last")  # comes before 'last' if it stays in its place
    assert answers.answer("main 1") == "8i32 : i32"
    assert answers.answer(":defs") == "M M' f last main t two"


def test_a_wrong_definition_changes_nothing(answers: Answers) -> None:
    answers.answer("def f (x: i32) = x")
    answers.answer("def g = f 1")
    for wrong in ("def f = true", "def h = f true", "def"):
        with pytest.raises(ProgramError):
            answers.answer(wrong)
    assert answers.answer("g") == "1i32 : i32"


def test_mistakes_name_places_of_the_input(answers: Answers) -> None:
    answers.answer("def f (x: i32) = x")
    with pytest.raises(ProgramError, match=r"^input:1:7: error\[unknown-name\]"):
        answers.answer("1 + f y")
    with pytest.raises(UserError, match=r"Did you mean ':kernel'\?"):
        answers.answer(":kernels 1")
    for wrong in (":nonsense", ":load", ":load /no/such/file.fut", ":type", ":time", ":"):
        with pytest.raises(UserError):
            answers.answer(wrong)


def test_programs_are_shown(answers: Answers) -> None:
    answers.answer("def sums [n][m] (xss: [n][m]i32) = map (reduce (+) 0) xss")
    assert "redomap" in answers.answer(":ir sums")
    assert answers.answer(":ir core 1 + 2").startswith("entry input :")
    assert "V1 (outer)" in answers.answer(":ir tree sums")
    assert "__kernel" in answers.answer(":kernel sums [[1, 2], [3, 4]]")
    assert "median of" in answers.answer(":time sums [[1, 2], [3, 4]]")
    with pytest.raises(UserError, match="needs arguments"):
        answers.answer(":time sums")


def test_input_that_could_go_on() -> None:
    for text in ("def f x =", "map (\\x ->", "[1,", "1 +", "let x = 1 in", "{a = ",
                 "if true then 1", "module M = {"):
        assert is_unfinished(text), text
    for text in ("1", "def f = 1", "1 + )", "", "foo bar", "\"a"):
        assert not is_unfinished(text), text
    assert is_declaration("let x = 1")
    assert is_declaration("#[noinline] def f = 1")
    assert not is_declaration("let x = 1 in x")
    assert not is_declaration("define")


@given(st.text(alphabet="def (x)=1+[],:\\->\"'#{}\n ", max_size=30))
def test_anything_may_be_typed(text: str) -> None:
    is_unfinished(text)
    with suppress(UserError):
        Answers(Session(), "interpreter").answer(text)


def test_a_pipe_is_answered_line_by_line(monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("def f (x: i32) =\n  x + 1\nf 1\n:quit\nf 2\n"))
    assert main(["repl"]) == 0
    assert capsys.readouterr().out == "Defined f.\n2i32 : i32\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("f 1\n2"))
    assert main(["repl"]) == 1
    assert capsys.readouterr().out.endswith("2i32 : i32\n")


def test_names_are_completed() -> None:
    rich_prompt = pytest.importorskip("runelift.runtime.tools.interactive.rich_prompt")
    document = pytest.importorskip("prompt_toolkit.document")
    session = Session()
    Answers(session).answer("def mapped = 1")

    def found(text: str) -> set[str]:
        return {each.text for each in rich_prompt.Names(session).get_completions(
            document.Document(text), None)}

    assert {"map", "map2", "mapped"} <= found("1 + ma")
    assert "f32.sqrt" in found("f32.sq")
    assert found(":t") == {":type", ":time"}
    assert not found("")
