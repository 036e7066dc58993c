"""Several errors of one program: each declaration that is broken, and nothing that follows from it.

Each program marks the lines of its errors: ``-- ! CODE``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runelift.frontend.load import checked
from runelift.frontend.syntax.parser import parse, parse_exp, parse_recovering
from runelift.frontend.syntax.recovery import MOST_ERRORS
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source


def errors(text: str) -> list[tuple[int, str]]:
    """The lines and codes of what is wrong with a program."""
    try:
        checked(Source("t", text))
    except ProgramError as error:
        return [(each.span.line, each.code) for each in error.diagnostics]
    return []


def marked(text: str) -> list[tuple[int, str]]:
    """The lines and codes that a program says it is wrong in."""
    return [(number, code) for number, line in enumerate(text.split("\n"), 1)
            for code in re.findall(r"-- ! ([\w-]+)", line)]


PROGRAMS = {
    "two": """
def f (x: i32): i32 = x + )  -- ! syntax-error
def g (x: i32): i32 = x * 2
def h (x: i32): i32 = (x]  -- ! syntax-error
def k (x: i32): i32 = g (h x)
""",
    "three, and types": """
def f (x: i32): i32 = x + )  -- ! syntax-error
def g (x: i32): i64 = x  -- ! type-mismatch
type t = {x: i32,, y: i32}  -- ! syntax-error
def h (p: t): i32 = p.x
def k (x: i32): i32 = z + f x  -- ! unknown-name
entry main (x: i32): i32 = if x then 1 else  -- ! syntax-error
""",
    "the place is the bracket that is not closed": """
def f (x: i32): i32 = (x +  -- ! syntax-error
def g (x: i32): i32 = x
def h (x: i32): bool = g x  -- ! type-mismatch
""",
    "what the parser's builder finds": """
def f (x: i32): i32 = _y  -- ! syntax-error
def g (x: u8): u8 = x + 300  -- ! literal-out-of-range
type t = #a + #b  -- ! syntax-error
def h (x: i32): i64 = x  -- ! type-mismatch
""",
    "uses of what is broken": """
def n: i64 =   -- the body is missing
type t = (i32  -- ! syntax-error -- ! syntax-error
module m = { def x = ] type t = i32 }  -- ! syntax-error
module type s = { val x }  -- ! syntax-error
def (+^) (x: i32) (y: i32) = x y)  -- ! syntax-error
def f (xs: [n]i32) (y: t): [n]i32 = map (+^ m.x) xs
def g (xs: [n]m.t): m.t = m.(xs[0])
module a : s = { def x = 1i32 }
module b = m
def h (x: t): i32 = a.x + b.y
""",
    "a definition that is broken hides others": """
def map (f: i32 -> i32) = f )  -- ! syntax-error
def f (x: i32): i32 = map (+ 1) x
""",
    "an operator between its operands": """
def (a: i32, b: i32) + (c: i32, d: i32) = (a, b  -- ! syntax-error
def f (x: i32) = (x, x) + (x, x)
def g (x: i32): i32 = true  -- ! type-mismatch
""",
    "a misspelt keyword": """
deff f (x: i32): i32 = x  -- ! syntax-error
def g (x: i32): i32 = f x
def h (x: i32): i32 = x && true  -- ! type-mismatch
""",
    "a name that is missing may be any": """
def = 3  -- ! syntax-error
def f (x: i32): i32 = x + y
""",
    "a module that is opened may have any name": """
def a (x: i32): i64 = x  -- ! type-mismatch
open (import "x"  -- ! syntax-error
def f (x: i32): i32 = x + y
def g (x: i32): i32 = (x  -- ! syntax-error
def h = 1
""",
    "inside of a module": """
module m = {
  def a = 1 +  -- the operand
  def b = 2i32  -- ! syntax-error
  def c = ]  -- ! syntax-error
  type t = i32
  def d (x: t): bool = x  -- ! type-mismatch
}
def f (x: m.t): bool = m.b + m.a + m.c  -- quiet: m.a is broken
def g (x: m.t): bool = x + m.b  -- ! type-mismatch
def h (x: i32): i32 = m.e  -- ! unknown-name
""",
    "a module whose lines are not indented": """
module m = {
def a = )  -- ! syntax-error
def b = 2i32
}
def f (x: i32): bool = m.b  -- ! type-mismatch
def g = m.a + m.b
""",
    "the end of a module on the line of the error": """
module m = { def a = ( }  -- ! syntax-error
def f (x: i32): bool = x  -- ! type-mismatch
""",
    "a record that is not closed, in a module": """
module m = {
  def a = {x = 1, y = )  -- ! syntax-error
}
def f (x: i32): bool = x  -- ! type-mismatch
""",
    "a module without its opening brace": """
module m =
  def a = 1  -- ! syntax-error
  def b = 2
}
def f (x: i32): i32 = x + m.a
""",
    "a module without its opening brace or indentation": """
module m =
def a = 1  -- ! syntax-error
def b = 2
}
def f (x: i32): i32 = x + m.a
def g (x: i32): i32 = )  -- ! syntax-error
""",
    "a module that is not closed": """
module m = {
  def a = )  -- ! syntax-error
  def b = 2

def f (x: i32): i32 = x + m.a
""",
    "a module type, indented or not": """
module type s = {
type t
val f : t -> )  -- ! syntax-error
type u
val g : u
}
module type r = { val f : ] }  -- ! syntax-error
module m : s = { type t = i32 }
""",
    "attributes belong to what follows": """
#[noinline]
def f (x: i32) = )  -- ! syntax-error
#[noinline]
def g (x: i32): bool = x  -- ! type-mismatch
#[1.5] def h (x: i32): bool = true  -- ! syntax-error
""",
    "definitions with let, and expressions": """
let f (x: i32) =
  let y = )  -- ! syntax-error
  let z = 3
  in y + z
let g (x: i32) = x x x]  -- ! syntax-error
let h (x: i32): bool = x  -- ! type-mismatch
""",
    "expressions that are not indented": """
let f (x: i32) =
let y = )  -- ! syntax-error
let z = x + 3
in y + z
let g (x: i32): i32 = (  -- the rest
""" + "let h = 1 in )  -- ! syntax-error\n",
    "let in a file with def": """
def f (x: i32) =
let y = )  -- ! syntax-error
let (a, b) = y
in a + b
def g (x: i32): bool = x  -- ! type-mismatch
""",
    "brackets in strings and comments": """
def f = ) "}"  -- ! syntax-error
-- def g = (
def h (x: i32): bool = x  -- ! type-mismatch
""",
    "local declarations": """
local def f (x: i32) = )  -- ! syntax-error
local module m = { def a = ] }  -- ! syntax-error
def g (x: i32): i32 = f x + m.a
def h (x: i32): bool = x  -- ! type-mismatch
""",
    "errors of modules stand beside others": """
def f (x: i32): i32 = i.(m.x)  -- ! unknown-module
def g (x: i32): bool = x  -- ! type-mismatch
module a : nothing = { def x = 1i32 }  -- ! unknown-module-type
def h (x: i32): bool = a.x
def g (x: i32): i32 = x  -- ! duplicate-name
def k (x: i32): bool = x  -- ! type-mismatch
module b : { val x : bool } = { def y = 1i32 }  -- ! missing-member
def l (x: i32): i32 = b.z
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_each_error_and_no_other(text: str) -> None:
    assert errors(text) == marked(text)


def test_places_labels_and_hints_are_those_of_single_errors() -> None:
    parts = ["def f (x: i32) = (x\n", "def g (x: i32) = x + ]\n", "def h = if true then 1\n"]
    with pytest.raises(ProgramError) as together:
        parse(Source("t", "".join(parts)))
    for number, found in enumerate(together.value.diagnostics):
        text = "".join("\n" if k < number else part for k, part in enumerate(parts[:number + 2]))
        with pytest.raises(ProgramError) as alone:
            parse(Source("t", text))
        single = alone.value.diagnostics[0]
        assert found.render() == single.render()
    assert number == 2


def test_what_can_be_parsed_is_in_the_tree() -> None:
    text = "def f = 1\ndef g = )\nmodule m = {\n  def a = ]\n  def b = 1\n}\n"
    module = parse_recovering(Source("t", text))
    kinds = [(type(dec).__name__, dec.span.text.rstrip()) for dec in module.decs]
    assert kinds == [("ValDec", "def f = 1"), ("BrokenDec", "def g = )"),
                     ("ModDec", text[text.index("module"):].rstrip())]
    assert len(module.errors) == 2
    assert not module.in_doubt


def test_expressions_have_one_error() -> None:
    with pytest.raises(ProgramError) as caught:
        parse_exp(Source("t", "x + ) ]"))
    assert len(caught.value.diagnostics) == 1


def test_errors_are_no_more_than_a_screen_can_show() -> None:
    found = errors("def f = )\n" * 300)
    assert found == [(number + 1, "syntax-error") for number in range(MOST_ERRORS)]


def test_errors_of_imported_files(tmp_path: Path) -> None:
    library, main = tmp_path / "library.fut", tmp_path / "main.fut"
    library.write_text("def f (x: i32): i32 = )\ndef g (x: i32): i32 = x\n"
                       "def h (x: i32): bool = x\n")
    main.write_text('import "library"\nimport "library"\ndef a (x: i32): bool = g x\n'
                    "def b (x: i32): bool = f (h x)\ndef c = (\n")
    with pytest.raises(ProgramError) as caught:
        checked(Source(str(main), main.read_text()))
    assert [(Path(each.span.source.name).name, each.span.line, each.code)
            for each in caught.value.diagnostics] == [
        ("main.fut", 3, "type-mismatch"), ("main.fut", 5, "syntax-error"),
        ("library.fut", 1, "syntax-error"), ("library.fut", 3, "type-mismatch")]


def test_an_import_that_fails_is_reported_once(tmp_path: Path) -> None:
    main = tmp_path / "main.fut"
    main.write_text('module a = import "no"\nmodule b = import "no"\ndef f (x: i32): bool = x\n')
    with pytest.raises(ProgramError) as caught:
        checked(Source(str(main), main.read_text()))
    assert [(each.span.line, each.code) for each in caught.value.diagnostics] == [
        (1, "missing-import"), (3, "type-mismatch")]
