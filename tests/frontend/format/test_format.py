"""The formatter: it changes blanks only, and formatted text not at all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runelift.frontend.format import format_source
from runelift.frontend.format.words import Word, words
from runelift.frontend.syntax.nodes import Node, parts
from runelift.frontend.syntax.parser import parse
from runelift.frontend.syntax.tokens import scan
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source, Span
from tests.random_programs.nests import NESTS
from tests.random_programs.updates import UPDATES

ROOT = Path(__file__).parents[3]
PROGRAMS = sorted([*sorted(ROOT.glob("examples/*.fut"))[::6],
                   *sorted(ROOT.glob("tests/**/*.fut"))[::2], ROOT / "frontend" / "library.fut"])
PLACES = {"span", "name_span", "op_span"}


def shape(node: object) -> object:
    """A syntax tree without places."""
    if isinstance(node, Node):
        return type(node).__name__, *(shape(getattr(node, name)) for name in parts(type(node))
                                      if name not in PLACES)
    if isinstance(node, tuple | list):
        return tuple(shape(each) for each in node)
    return None if isinstance(node, Span) else str(node)


def tokens(text: str) -> list[str]:
    """The tokens and comments of a text, each without the blanks that may be inside of it."""
    return ["type" + word.text[-1] if word.kind == "lifted_type" else word.text
            for word in words(text)]


def formatted(text: str) -> str:
    """The formatted text, which has the tokens and the tree of ``text``, and stays as it is."""
    result = format_source(Source("program.fut", text))
    assert tokens(result) == tokens(text)
    assert shape(parse(Source("", result))) == shape(parse(Source("", text)))
    assert format_source(Source("program.fut", result)) == result
    assert not any(line != line.rstrip() for line in result.split("\n") if '"' not in line)
    return result


@pytest.mark.filterwarnings("ignore::runelift.ir.base.errors.ProgramWarning")
def test_programs_keep_their_meaning_and_are_formatted_once_for_all() -> None:
    count = 0
    for path in PROGRAMS:
        source = read_source(path)
        try:
            parse(source)
        except ProgramError:
            continue
        formatted(source.text)
        count += 1
    assert count > 70


@cache
def _random_words(family: str, seed: int) -> list[Word]:
    return words({"nests": NESTS, "updates": UPDATES}[family].text(seed))


def _spread(given: Sequence[Word], choices: Sequence[int]) -> str:
    """The tokens with other blanks, line breaks and comments between them."""
    between = (" ", "  ", "\n", "\n\n\n", " \t ", " -- note\n", "\n  -- ==\n", "\n-- a -- b\n")
    text = ""
    for place, word in enumerate(given):
        choice = choices[place % len(choices)]
        if word.kind == "comment":
            text += "\n" + word.text + "\n"
        elif word.glued and (word.text == "[" or word.kind in ("field", "range")
                             or word.text in (".(", ".[")):
            text += word.text
        else:
            text += between[choice % len(between) if choice < 64 else 0] + word.text
    return text + "\n"


def test_what_is_shipped_is_formatted() -> None:
    changed = [path.name for folder in ("examples", "frontend/std")
               for path in (ROOT / folder).rglob("*.fut")
               if format_source(read_source(path)) != path.read_text()]
    assert changed == []


def test_arguments_of_attributes_follow_without_a_blank() -> None:
    text = "entry f (xs: []i32) = #[stripmine (1)]   map (+ 1) xs\n"
    assert formatted(text) == "entry f (xs: []i32) = #[stripmine(1)] map (+ 1) xs\n"


@settings(max_examples=20)
@given(family=st.sampled_from(["nests", "updates"]), seed=st.integers(0, 40),
       choices=st.lists(st.integers(0, 127), min_size=1, max_size=40))
def test_other_blanks_and_comments_are_no_obstacle(family: str, seed: int,
                                                   choices: list[int]) -> None:
    formatted(_spread(_random_words(family, seed), choices))


MESSY = '''\
-- ==
--   input { 1i64 }   
#[noinline]   def   f  (x:i32)(  y :i32 ) :i32=
        -- the sum
      x+y  -- of both
         *2 -- and more
type~ t=  ?[n]. [ n ]i32


module   M={
def g (a : *[]f32) = a  with [ 0 ]=1 with [1:2] = [ -1,- 2 ]
        let h = ( + 1 )
}
entry main[n] (xs: [n]i32) : []i32=let a=1
    let b =xs[ 0 ]- -a
      in if a>b
  then map(\\x->
     loop s=x for i<n do
  s+ f (i32.i64 i) x)
  xs
    else if b == 2 then [1 , 2]
        else match a
              case 1->[]
      case _ ->
           xs[1 : n]
'''
CLEAN = '''\
-- ==
--   input { 1i64 }
#[noinline] def f (x: i32) (y: i32): i32 =
  -- the sum
  x + y  -- of both
  * 2    -- and more
type~ t = ?[n]. [n]i32

module M = {
  def g (a: *[]f32) = a with [0] = 1 with [1:2] = [-1, -2]
  let h = (+ 1)
}
entry main[n] (xs: [n]i32): []i32 = let a = 1
                                    let b = xs[0] - -a
                                    in if a > b
                                       then map (\\x ->
                                              loop s = x for i < n do
                                                s + f (i32.i64 i) x)
                                              xs
                                       else if b == 2 then [1, 2]
                                       else match a
                                            case 1 -> []
                                            case _ ->
                                              xs[1:n]
'''
LONG = """\
entry main [n] (xs: [n]f32) (scale: f32): f32 = let ys = map (\\x -> x * scale) xs let s = reduce (+) 0 ys in if s > 1 then s else s + ys[0] * 2
def g (aaaaaaaaaaaaaa: i32) (bbbbbbbbbbbbbbbb: i32) (cccccccccccccc: i32) (dddddddddddddddd: i32): i32 = case_of aaaaaaaaaaaaaa + bbbbbbbbbbbbbbbb
def h (x: i32) = match x case 1 -> "a long string to make it long" case _ -> x |> map (\\y -> y * 1000) |> filter (\\y -> y > 1)
"""  # noqa: E501
BROKEN = """\
entry main [n] (xs: [n]f32) (scale: f32): f32 =
  let ys = map (\\x -> x * scale) xs
  let s = reduce (+) 0 ys
  in if s > 1 then s else s + ys[0] * 2
def g (aaaaaaaaaaaaaa: i32) (bbbbbbbbbbbbbbbb: i32) (cccccccccccccc: i32)
      (dddddddddddddddd: i32): i32 =
  case_of aaaaaaaaaaaaaa + bbbbbbbbbbbbbbbb
def h (x: i32) =
  match x
  case 1 -> "a long string to make it long"
  case _ -> x |> map (\\y -> y * 1000) |> filter (\\y -> y > 1)
"""


@pytest.mark.parametrize(("text", "result"), [
    pytest.param(MESSY, CLEAN, id="style"),
    pytest.param(LONG, BROKEN, id="long lines"),
    ("", ""),
    ("\n\n-- only a comment  \n\n\n", "-- only a comment\n"),
    ("def s = \"a\n  -- b\n\"  def t=1", "def s = \"a\n  -- b\n\" def t = 1\n"),
    ("def f 'a  'b[n] (x:a)= x", "def f 'a 'b[n] (x: a) = x\n"),
    ("def f (a:*[3]i32)= (a [0],a[0])", "def f (a: *[3]i32) = (a [0], a[0])\n"),
    ("def (+++) x y = -x-(-1)", "def (+++) x y = -x - (-1)\n"),
    ("def f (a: i32\n,  b: i32\n) = [ a\n , b]",
     "def f ( a: i32\n      , b: i32\n      ) = [ a\n          , b]\n"),
    ("def a = [1,2,3,4,5,6,7,\n  8,- 9]", "def a = [1, 2, 3, 4, 5, 6, 7,\n         8, -9]\n"),
    ("def f x = x |>map (.0)|> (.1) |> (.[0,1:])",
     "def f x = x |> map (.0) |> (.1) |> (.[0, 1:])\n"),
    ("def f x =x`g`1\ndef h (x:{a:i32 ,b :bool}) = {a=1,b=x .b}",
     "def f x = x `g` 1\ndef h (x: {a: i32, b: bool}) = {a = 1, b = x .b}\n"),
])
def test_a_text_is_formatted(text: str, result: str) -> None:
    assert formatted(text) == result


def test_text_that_is_no_program_is_refused() -> None:
    with pytest.raises(ProgramError, match="Unexpected end of the file"):
        format_source(Source("program.fut", "def f (x: i32) ="))


def test_tokens_cover_the_text() -> None:
    text = "".join(path.read_text() for path in PROGRAMS[:40])
    assert "".join(match[0] for match in scan(text)) == text
