"""Files of rules: what is read, what is refused and how, and how they reach programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.frontend.rule_files import read_rules
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.data.values import read_values
from runelift.runtime.rules.draws import Draws, monoids
from runelift.runtime.rules.load import load_rules
from runelift.runtime.rules.verify import ELEMENTS
from runelift.runtime.tools.commands.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples" / "rules"
PROGRAM = """
entry main [n] (k: i32) (xs: [n]i32): i32 = #[total] i32.sum (map (\\x -> x * k) xs)
"""
TOTAL = """
rule total [n] (c: i32) (xs: [n]i32): i32 =
  i32.sum (map (\\x -> c * x) xs)  ==>  c * i32.sum xs
"""

WRONG = {
    "off by one": (
        "rule f [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs ==> "
        "map (\\i -> i32.sum (map (\\j -> if j < i then xs[j] else 0) (iota n))) (iota n)",
        ["n = 1, xs = [-1i32]", "this gives [-1i32]", "this gives [0i32]"]),
    "forgets size 0": (
        "rule f 'a [n] (op: a -> a -> a) (ne: a) (xs: [n]a): a = "
        "reduce op ne xs ==> last (scan op ne xs) where associative op ne",
        ["n = 0, xs = empty([0]i32)", "this gives ", "this fails: Index [-1] out of bounds"]),
    "takes operators for associative": (
        "rule f 'a [n] (op: a -> a -> a) (ne: a) (xs: [n]a): a = "
        "reduce op ne xs ==> op (reduce op ne xs) ne",
        ["op = \\x0 x1 -> ", "where associative op ne."]),
    "takes operators for commutative": (
        "rule f 'a [n] (op: a -> a -> a) (ne: a) (xs: [n]a): a = "
        "reduce op ne xs ==> reduce op ne (reverse xs) where associative op ne",
        ["op = \\x y -> if "]),
    "forgets a function": (
        "rule f 'a 'b [n] (g: a -> a) (f: a -> b) (xs: [n]a) = map f (map g xs) ==> "
        "map (\\x -> if true then f x else f (g x)) xs",
        ["a = i32, b = ", "g = \\x -> ", "f = \\x -> "]),
    "wrong for sizes that are no multiple": (
        "rule f [n] (xs: [n]i32): i32 = i32.sum xs ==> i32.sum (map (\\i -> xs[2 * i] + "
        "xs[2 * i + 1]) (iota (n / 2)))",
        ["n = 1, xs = [-1i32]", "this gives -1i32", "this gives 0i32"]),
    "wrong for one type": (
        "rule f [n] 'a (eq: a -> a -> bool) (xs: [n]a) (ys: [n]a) = map2 eq xs ys ==> "
        "map (\\_x -> true) xs", ["eq = \\x0 x1 -> "]),
    "forgets that integers wrap": (
        "rule f (x: i32): bool = x < x + 1 ==> x == x", ["x = 2147483647i32"]),
    "fails at other places": (
        "rule f (x: i32) (y: i32): i32 = x / y ==> if y == 0 then 0 else x / y",
        ["y = 0i32", "this fails: Division by zero.", "this gives 0i32"]),
    "floats that are not nearly equal": (
        "rule f [n] (xs: [n]f32): f32 = f32.sum xs ==> f32.sum xs + 0.01", ["n = 0"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_refused_with_a_counterexample(name: str) -> None:
    text, said = WRONG[name]
    with pytest.raises(ProgramError) as caught:
        load_rules(Source("w.rules", text))
    message = str(caught.value)
    assert caught.value.code == "wrong-rule", message
    for each in said:
        assert each in message


def test_counterexamples_are_written_as_values() -> None:
    with pytest.raises(ProgramError) as caught:
        load_rules(Source("w.rules", WRONG["off by one"][0]))
    (text,) = re.findall(r"xs = (\[[^]]*\])", str(caught.value))
    assert read_values(text.encode(), "v")[0].tolist() == [-1]


RIGHT = {
    "sizes that divide": (
        "rule f [n] (xs: [n]i32): i32 = i32.sum xs ==> i32.sum (map (\\i -> xs[2 * i] + "
        "xs[2 * i + 1]) (iota (n / 2))) where n % 2 == 0"),
    "large sizes only": (
        "rule f [n] (xs: [n]i32): i32 = i32.sum (map (+ 1) xs) ==> i32.sum (tail xs) + xs[0] + "
        "i32.i64 n where n > 9"),
    "sizes that are computed": (
        "rule f [n][m] (xss: [n][m]i32) (ys: [n * m]i32): [n * m]i32 = "
        "map2 (+) (flatten (map (map (+ 1)) xss)) ys ==> "
        "map2 (\\x y -> x + 1 + y) (flatten xss) ys"),
    "a size that is an argument": (
        "rule f (n: i64) (xs: [n]i32): [n]i32 = map (\\x -> x + i32.i64 n) xs ==> "
        "map (\\x -> i32.i64 n + x) xs"),
    "records and tuples": (
        "rule f [n] (p: {x: i32, y: i32}) (xs: [n](i32, bool)) = map (\\x -> x.0 + p.x + p.y) xs "
        "==> map (\\x -> x.0 + (p.x + p.y)) xs"),
    "both fail": "rule f [n] (xs: [n]i32): i32 = xs[n] + xs[0] ==> xs[n] + xs[1]",
    "a type that is inferred": "rule f [n] (xs: [n]i32) = map (+ 1) xs ==> map (\\x -> 1 + x) xs",
    "a helper of its own name for a condition": (
        "def commutative (x: i32): bool = x > 0\n"
        "rule f (x: i32): i32 = x + 1 ==> i32.abs x + 1 where commutative x"),
}


@pytest.mark.parametrize("name", [name for name in RIGHT if name != "both fail"])
def test_right_rules_are_accepted(name: str) -> None:
    assert set(load_rules(Source("r.rules", RIGHT[name])).points) == {"f"}


def test_a_rule_whose_sides_always_fail_is_not_tested() -> None:
    with pytest.raises(ProgramError) as caught:
        load_rules(Source("r.rules", RIGHT["both fail"]))
    assert caught.value.code == "untestable-rule"


MALFORMED = {
    "rule f (x: i32) = x ==> x + 0": "it is a parameter",
    "rule f 'a (g: a -> a) (x: a) = g x ==> g x": "matches everything",
    "rule f [n] (xs: [n]i32) (y: i32) = map (+ 1) xs ==> map (+ y) xs": "'y' does not occur",
    "rule f [n] (xs: [n]i32) = (map (+ 1) xs, i32.sum xs) ==> (map (+ 1) xs, i32.sum xs)":
        "several array operations",
    "rule f [n] 'a (g: a -> a) (xs: [n]a) = map (\\x -> g (g x)) xs ==> map g (map g xs)":
        "distinct variables",
    "rule f [n] (xs: [n]i32) = filter (> 0) xs ==> filter (>= 1) xs": "only the running program",
    "rule f": "two sides",
    "rule f (x: i32) = x + 1": "two sides",
    "rule f (x: i32) = ==> x": "empty",
    "rule": "has a name",
    "def f (x: i32) = x": "no rule in this file",
    "rule unroll (x: i32) = x + 1 ==> 1 + x": "is an attribute already",
    "rule interchange (x: i32) = x + 1 ==> 1 + x": "is an attribute already",
    "#[sometimes] rule f (x: i32) = x + 1 ==> 1 + x": "no attribute #[sometimes]",
    "rule f x = x + 1i32 ==> 1 + x": "has a name and a type",
    "rule f 'a [n] (op: a -> a -> a) (xs: [n]a) = map (\\x -> op x x) xs ==> "
    "map (\\x -> op x x) xs where associative op 3": "",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_rules_are_refused(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_rules(Source("m.rules", text))
    assert MALFORMED[text] in str(caught.value)
    assert all(each.span.source.name == "m.rules" for each in caught.value.diagnostics)


@pytest.mark.parametrize(("text", "code"), [
    ("rule f (x: i32) = x + 1 ==> x + y", "unknown-name"),
    ("rule f (x: i32) = x + 1 ==> (x", "syntax-error"),
    ("rule f (x: i32) = x + 1 ==> 1 + x where x", "type-mismatch"),
    ("rule f (x: i32): f32 = x + 1 ==> 1 + x", "type-mismatch"),
    ("rule f [n] (xs: [n]i32) = i32.sum xs ==> map (+ 1) xs", "rule-types-differ"),
    ("rule f [n][m] (xs: [n]i32) (ys: [m]i32) = (map (+ 1) xs, ys) ==> (xs, ys)", "malformed-rule"),
    ("rule f (x: i32) = x + 1 ==> 1 + x rule f (x: i32) = x + 2 ==> 2 + x", "duplicate-name"),
    ("rule f (g: (i32 -> i32) -> i32) (n: i64) = map (\\_i -> g (+ 1)) (iota n) ==> "
     "map (\\_i -> g (+ 1)) (iota n)", "untestable-rule"),
])
def test_errors_have_their_codes(text: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        load_rules(Source("m.rules", text))
    assert caught.value.code == code


def test_sides_with_different_sizes_differ_in_type() -> None:
    with pytest.raises(ProgramError, match=r"\[n\]i32 before and \[m\]i32 after"):
        load_rules(Source("m.rules", "rule f [n][m] (xs: [n]i32) (ys: [m]i32) = "
                                     "map (+ ys[0]) xs ==> map (+ xs[0]) ys"))


def test_places_in_files_stay() -> None:
    text = "-- a rule\ndef g (x: i32) = x + 1  -- ==> no\n\n\n#[always] rule f (x: i32) =\n  " \
           "let s = \"==> where\" in g x  ==>  x + 1\ndef h (x: i32) = x\n"
    file = read_rules(Source("m.rules", text))
    (rule,) = file.rules
    assert (rule.before.text, rule.after.text) == ('let s = "==> where" in g x', "x + 1")
    assert rule.always
    assert rule.result is None
    assert len(file.helpers) == len(text)
    assert "rule" not in file.helpers.replace("a rule", "")
    assert "def h" in file.helpers


def test_operators_that_are_drawn_are_what_they_should_be() -> None:
    for prim in ELEMENTS:
        for monoid in monoids(prim):
            laws = (f"entry main (x: {prim}) (y: {prim}) (z: {prim}): bool =\n"
                    f"  let op = {monoid.op}\n  let e : {prim} = {monoid.neutral}\n"
                    "  in op (op x y) z == op x (op y z) && op e x == x && op x e == x"
                    + (" && op x y == op y x" if monoid.commutative else ""))
            program = runelift.compile(laws, device="interpreter")
            draws = Draws("monoids", {})
            for _ in range(30):
                args = [draws.values(prim, {})[0] for _ in range(3)]
                assert program.main(*args), (prim, monoid, args)


def test_draws_are_the_same_each_time() -> None:
    text = WRONG["takes operators for associative"][0]
    messages = []
    for name in ("one.rules", "one.rules"):
        with pytest.raises(ProgramError) as caught:
            load_rules(Source(name, text))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


# From the command line and from Python


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    program, rules = tmp_path / "p.fut", tmp_path / "p.rules"
    program.write_text("-- ==\n-- input { 3i32 [1i32, 2i32] }\n-- output { 9i32 }\n" + PROGRAM)
    rules.write_text(TOTAL)
    return str(program), str(rules)


def test_commands_take_rules(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    program, rules = files
    for command in (["dump", "--stage", "opt", program], ["explain", program],
                    ["explain", "schedule", program], ["test", program],
                    ["test", "--all-versions", program], ["rules"]):
        assert main([*command, "--rules", rules]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "main.r total()" in said
    assert "1 passed" in said


def test_rules_are_listed_with_laws(files: tuple[str, str],
                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--rules", files[1], "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["result"]
    assert listed["name"] == "total"
    assert listed["law"] == "i32.sum (map (\\x -> c * x) xs) ⇒ c * i32.sum xs"


def test_errors_of_rules_are_no_tracebacks(files: tuple[str, str], tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    program, _ = files
    wrong = tmp_path / "wrong.rules"
    wrong.write_text(TOTAL.replace("c * i32.sum xs", "c + i32.sum xs"))
    for bad in (str(wrong), str(tmp_path / "none.rules"), program):
        assert main(["dump", program, "--rules", bad]) == 1
        said = capsys.readouterr().err
        assert "Traceback" not in said
    assert main(["rules", "--rules", str(wrong)]) == 1
    assert "error[wrong-rule]" in capsys.readouterr().err


def test_compiled_programs_are_kept_for_each_text_of_rules(files: tuple[str, str]) -> None:
    program, rules = files
    arguments = np.int32(3), np.array([1, 2, 3], np.int32)
    sources = [Source(rules, text) for text in (TOTAL, f"{TOTAL}-- changed\n")]
    entries = [ProgramEntry.of(Source(program, Path(program).read_text()), "all", "", each)
               for each in sources]
    made = runelift.compile(program, rules=rules, device="interpreter")
    assert made.main(*arguments) == 18
    assert made.compiled.rules == sources[0]
    plain = runelift.compile("\n" + PROGRAM.replace("#[total]", ""), device="interpreter")
    assert plain.main(*arguments) == 18
    assert plain.identity.program != made.identity.program
    assert entries[0].key == entries[1].key
    assert entries[0].key != ProgramEntry.of(entries[0].compiled.source or sources[0], "all").key


def test_the_example_needs_no_product_of_matrices() -> None:
    program, rules = EXAMPLES / "chain.fut", EXAMPLES / "chain.rules"
    assert len(rules.read_text().splitlines()) < 15
    stages = [runelift.compile(str(program), device="interpreter", **options)
              .compiled.optimised.funs[0].body.stms for options in ({}, {"rules": str(rules)})]
    depth = [max(len(getattr(p.type, "shape", ())) for stm in stms for p in stm.pat)
             for stms in stages]
    assert depth == [2, 1]
    assert main(["test", str(program), "--rules", str(rules)]) == 0
