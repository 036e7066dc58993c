"""Sum types and match: what they mean, and which programs are refused."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names

SHAPE = "type shape = #circle f64 | #rectangle f64 f64 | #nothing\n"
OPTION = "type option 'a = #some a | #none\n"


def error(text: str) -> str:
    """What is wrong with a program."""
    with pytest.raises(ProgramError) as caught:
        load(Source("test.fut", text), Names())
    return str(caught.value)


MATCHES = [
    ("every constructor in an array", SHAPE + """
def area (s: shape) = match s case #circle r -> r * r * 3 case #rectangle a b -> a * b
                              case #nothing -> 0
def main (n: i64) : []f64 =
  map area (tabulate n (\\i -> if i == 0 then #circle 2 else if i == 1 then #rectangle 2 5
                               else #nothing))
""", 3, [12.0, 10.0, 0.0]),
    ("literals, nested patterns and the first that fits", OPTION + """
def f (o: option (i64, bool)) = match o case #some (0, _) -> 10i64 case #some (x, true) -> x
                                        case #some (-1, false) -> 20 case _ -> 30
def main (n: i64) : []i64 =
  map f [#some (0, true), #some (n, true), #some (-1, false), #some (n, false), #none]
""", 7, [10, 7, 20, 30, 30]),
    ("a polymorphic option without a payload anywhere", OPTION + """
def get 'a (d: a) (o: option a) : a = match o case #some x -> x case #none -> d
def main (n: i64) : []i64 = map (\\_ -> get 4i64 #none) (iota n)
""", 2, [4, 4]),
    ("a loop whose body makes a payload that the start has not", OPTION + """
def main (n: i64) : []i64 =
  match loop o: option ([3]i64) = #none for i < n do #some [i, n, 5]
  case #some xs -> xs case #none -> [0, 0, 0]
""", 4, [3, 4, 5]),
    ("an array that is updated with another constructor", OPTION + """
def main (n: i64) : []i64 =
  let os: [n](option i64) = replicate n #none
  let os = copy os with [1] = #some 8
  in map (\\o -> match o case #some x -> x case #none -> -1) os
""", 3, [-1, 8, -1]),
    ("a name twice, the last of which is meant", OPTION + """
def f (o: option (i64, i64)) = match o case #some (x, x) -> x case #none -> 0
def g (r: {a: i64, b: i64}) = match r case {b = x, a = x} -> x
def main (n: i64) : []i64 =
  [f (#some (n, 2)), g {a = n, b = 2}, match (n, (4, 5)) case (x, (x, x)) -> x]
""", 7, [2, 7, 5]),
    ("literals that wrap to the type of the value", """
def f (x: u8) = match x case 257 -> 10i64 case -1 -> 20 case _ -> 30
def g (x: i8) = match x case 128 -> 10i64 case -129 -> 20 case _ -> 30
def main (n: i64) : []i64 = map f [u8.i64 n, 255, 0] ++ map g [-128, 127, i8.i64 n]
""", 1, [10, 20, 30, 10, 20, 30]),
    ("a reduction to the first that is there", OPTION + """
def first (a: option i64) (b: option i64) : option i64 =
  match (a, b) case (#some x, _) -> #some x case (#none, y) -> y
def main (n: i64) : []i64 =
  match reduce first #none (map (\\i -> if i % 3 == 2 then #some i else #none) (iota n))
  case #some x -> [x] case #none -> [99]
""", 9, [2]),
    ("equality looks at the payload that is there", OPTION + """
def main (n: i64) : []bool =
  let o: option i64 = if n > 2 then #some n else #none
  in [o == #some n, o == #none, o == #some 2, o != #none]
""", 3, [True, False, False, True]),
]


@pytest.mark.parametrize(("what", "text", "arg", "expected"), MATCHES,
                         ids=[m[0] for m in MATCHES])
def test_match(what: str, text: str, arg: int, expected: list[object]) -> None:
    assert np.asarray(runelift.compile(text).main(arg)).tolist() == expected


REFUSED = [
    ("a constructor", SHAPE + "def main (s: shape) = match s case #circle _ -> 1i32 "
     "case #nothing -> 2", "(#rectangle _ _)"),
    ("one of two booleans", "def main (a: bool) (b: bool) = match (a, b) case (true, _) -> 1i32 "
     "case (_, true) -> 2", "(false, false)"),
    ("numbers", "def main (x: i32) = match x case 1 -> 1i32 case 2 -> 2", "'_'"),
    ("a let that may not fit", SHAPE + "def main (s: shape) = let (#circle r) = s in r",
     "#nothing"),
    ("no such constructor", SHAPE + "def main (s: shape) = match s case #square -> 1i32 "
     "case _ -> 2", "#square"),
    ("payload of another type", SHAPE + "def main (b: bool) : shape = #circle b", "bool"),
    ("nothing says which type", "def main (x: i32) = let y = #a x in x", "#a"),
]


@pytest.mark.parametrize(("what", "text", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(what: str, text: str, message: str) -> None:
    assert message in error(text)


def test_fields_of_a_record_are_known_from_its_use() -> None:
    text = "def main (x: i64) (y: i64) : i64 = let f v = v.1 - v.0 in f (x, y)"
    assert runelift.compile(text).main(3, 10) == 7


def test_numbered_fields_are_a_tuple() -> None:
    text = "def main (x: i64) : i64 = let (a, b): {0: i64, 1: i64} = {1 = x, 0 = 2} in a - b"
    assert runelift.compile(text).main(5) == -3
