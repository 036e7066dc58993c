"""Programs many levels deep compile and run, in each construct, also called from deep Python."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

import runelift
from runelift.frontend.depth import MOST_LEVELS
from runelift.frontend.load import check
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Source

HEAD = "entry main (x: i32): i32 = "


def lets(n: int, line: Callable[[int], str], first: str = "") -> str:
    return first + "\n".join(line(k) for k in range(1, n + 1)) + f"\n  in x{n}"


def cases(n: int) -> str:
    return HEAD + "match x " + " ".join(f"case {k} -> {2 * k}" for k in range(n)) + " case _ -> x"


SLOW: dict[str, Callable[[int], str]] = {
    "if": lambda n: HEAD + "".join(f"if x == {k} then {2 * k} else " for k in range(n)) + "x",
    "if inside": lambda n: HEAD + "if x != -1 then " * n + "x" + " else 0" * n,
    "match": cases,
    "map of a match": lambda n: (
        "entry main (x: i32): i32 = (map (\\x -> match x "
        + " ".join(f"case {k} -> {2 * k}" for k in range(n)) + " case _ -> x) [x])[0]"),
    "loops": lambda n: HEAD + lets(
        n, lambda k: f"  let x{k} = loop y = x{k - 1} for i < 2 do y + i", "let x0 = x\n"),
    "loops inside": lambda n: HEAD + "".join(f"loop x = x for i{k} < 1 do " for k in range(n))
    + "x + 1",
    "maps": lambda n: HEAD + "(" + "map (+ 1) (" * n + "[x]" + ")" * n + ")[0]",
    "joined arrays": lambda n: HEAD + "i32.sum (" + " ++ ".join(["[x]"] * n) + ")",
}
FAST: dict[str, Callable[[int], str]] = {
    "let": lambda n: HEAD + lets(n, lambda k: f"  let x{k} = x{k - 1} + {k}", "let x0 = x\n"),
    "parentheses": lambda n: HEAD + "(" * n + "x" + " + 1)" * n,
    "terms": lambda n: HEAD + " + ".join(["x"] * n),
    "terms on the right": lambda n: HEAD + "x - (" * n + "x" + ")" * n,
    "functions": lambda n: "def f0 (x: i32) = x + 1\n" + "".join(
        f"def f{k} (x: i32) = f{k - 1} x * 3\n" for k in range(1, n)) + HEAD + f"f{n - 1} x",
    "calls": lambda n: "def f (x: i32) = x + 1\n" + HEAD + "f (" * n + "x" + ")" * n,
    "pipes": lambda n: HEAD + "x" + " |> (+ 1)" * n,
    "compositions": lambda n: HEAD + "(" + " >-> ".join(["(+ 1)"] * n) + ") x",
    "signs": lambda n: HEAD + "- " * n + "x",
    "tuples": lambda n: HEAD + "(" * n + "x" + ", 1).0" * n,
    "records": lambda n: HEAD + "{a = " * n + "x" + ", b = 1}.a" * n,
    "indices": lambda n: HEAD + "let xs = [0i64, 1] in i32.i64 (" + "xs[" * n + "1" + "]" * n + ")",
    "updates": lambda n: HEAD + "([x, 2]" + " with [1] = 1" * n + ")[0]",
    "lambdas": lambda n: HEAD + "".join(f"(\\x{k} -> " for k in range(n)) + f"x{n - 1}" + "".join(
        f") (x{k - 1} + 1)" for k in reversed(range(1, n))) + ") x",
    "local functions": lambda n: HEAD + "let f0 (y: i32) = y\n" + "".join(
        f"let f{k} (y: i32) = f{k - 1} y + 1\n" for k in range(1, n)) + f"in f{n - 1} x",
    "assertions": lambda n: HEAD + "assert (x < 1000) (" * n + "x" + ")" * n,
    "ascriptions": lambda n: HEAD + "(" * n + "x" + " : i32)" * n,
    "conditions": lambda n: HEAD + "if " + " && ".join(["x > 1"] * n) + " then 1 else 0",
}
WANTED: dict[str, Callable[[int], int]] = {
    "if": lambda n: 14, "match": lambda n: 14, "map of a match": lambda n: 14,
    "if inside": lambda n: 7, "loops": lambda n: 7 + n, "loops inside": lambda n: 8,
    "maps": lambda n: 7 + n, "joined arrays": lambda n: 7 * n,
    "let": lambda n: 7 + n * (n + 1) // 2, "parentheses": lambda n: 7 + n, "terms": lambda n: 7 * n,
    "terms on the right": lambda n: 7 * (1 - n % 2), "functions": lambda n: 8 * 3**(n - 1),
    "calls": lambda n: 7 + n, "pipes": lambda n: 7 + n, "compositions": lambda n: 7 + n,
    "signs": lambda n: 7 * (-1)**n, "tuples": lambda n: 7, "records": lambda n: 7,
    "indices": lambda n: 1, "updates": lambda n: 7, "lambdas": lambda n: 6 + n,
    "local functions": lambda n: 6 + n, "assertions": lambda n: 7, "ascriptions": lambda n: 7,
    "conditions": lambda n: 1,
}


@pytest.mark.parametrize("construct", [*SLOW, *FAST])
def test_deep(construct: str) -> None:
    n = 160 if construct in SLOW else 500
    text = (SLOW | FAST)[construct](n)
    found = runelift.compile(text, device="interpreter").main(7)
    assert int(found) == (WANTED[construct](n) + 2**31) % 2**32 - 2**31


@pytest.mark.sweep(keep=["[functions]", "[terms]", "[match]", "[if inside]", "[loops inside]",
                         "[map of a match]"])
@pytest.mark.parametrize("construct", [*SLOW, *FAST])
def test_deep_on_a_device(construct: str) -> None:
    found = runelift.compile((SLOW | FAST)[construct](200)).main(7)
    assert int(found) == (WANTED[construct](200) + 2**31) % 2**32 - 2**31


IN_KERNELS: dict[str, Callable[[int], str]] = {
    "match": lambda n: "match x " + " ".join(
        f"case {k} -> {2 * k}" for k in range(n)) + " case _ -> 0",
    "for": lambda n: "".join(
        f"loop x = x for i{k} < (if x < 600 then 1i32 else 2) do " for k in range(n)) + "x + 3",
    "while": lambda n: "loop x = x while x < 508 do " * n + "x + 17",
}


@pytest.mark.parametrize("construct", IN_KERNELS)
def test_blocks_of_a_kernel_deeper_than_braces(construct: str) -> None:
    text = HEAD + f"(map (\\x -> {IN_KERNELS[construct](260)}) [x, x + 247, x + 500])[1]"
    program = runelift.compile(text)
    wanted = runelift.compile(text, device="interpreter").main(7)
    assert program.main(7) == wanted
    assert "goto" in program.source("kernels")


@pytest.mark.parametrize("construct", ["let", "terms", "parentheses"])
def test_more_than_the_limit(construct: str) -> None:
    with pytest.raises(CompilerLimitation, match=f"more than {MOST_LEVELS} levels"):
        check(Source("p.fut", (SLOW | FAST)[construct](MOST_LEVELS + 10)))


@pytest.mark.parametrize("device", ["interpreter", None])
def test_from_deep_python(device: str | None) -> None:
    def at(depth: int) -> int:
        if depth:
            return at(depth - 1)
        program = runelift.compile(SLOW["match"](12) + f"\n-- {device}", device=device)
        return int(program.main(7)) + int(runelift.compile(
            "entry sum [n] (xs: [n]i32) = i32.sum xs", device=device).sum(np.ones(3, np.int32)))

    before = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 400)
    try:
        assert at(350) == 17
    finally:
        sys.setrecursionlimit(before)
