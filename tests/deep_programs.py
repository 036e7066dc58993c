"""Programs that are many levels deep in one construct each, and their results for 7."""

from __future__ import annotations

from collections.abc import Callable

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
PROGRAMS = SLOW | FAST

_WANTED: dict[str, Callable[[int], int]] = {
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


def wanted(construct: str, levels: int) -> int:
    """The i32 that a program gives for 7."""
    return int((_WANTED[construct](levels) + 2**31) % 2**32 - 2**31)
