"""Rules from outside: where they match, and that programs compute as before."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.errors import ProgramError, ProgramFailure, ProgramWarning
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.syntax import Program
from runelift.ir.traverse import statements_inside
from runelift.ir.types import Const
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.pipeline import optimise
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.compare import first_difference
from runelift.runtime.rules.load import load_rules
from tests.random_programs.nests import nests

SIZES = (0, 1, 2, 3, 4, 7, 8)
NESTS = nests()

MATRICES = """
def dot [n] (x: [n]f32) (y: [n]f32): f32 = f32.sum (map2 (*) x y)
def matvec [n][m] (a: [n][m]f32) (x: [m]f32): [n]f32 = map (\\row -> dot row x) a
def matmul [n][m][k] (a: [n][m]f32) (b: [m][k]f32): [n][k]f32 =
  map (\\row -> map (dot row) (transpose b)) a
rule chain [n][m][k] (a: [n][m]f32) (b: [m][k]f32) (x: [k]f32) =
  matvec (matmul a b) x  ==>  matvec a (matvec b x)
"""
FUSE = """
rule fuse [n] 'a 'b 'c (f: b -> c) (g: a -> b) (xs: [n]a): [n]c =
  map f (map g xs)  ==>  map (\\x -> f (g x)) xs
"""
PULL = """
rule pull [n] (c: i32) (xs: [n]i32): i32 =
  i32.sum (map (\\x -> c * x) xs)  ==>  c * i32.sum xs
"""
LAST = """
rule last_of_scan [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): a =
  last (scan op ne xs)  ==>  reduce op ne xs
  where associative op ne && n > 0
"""
ASSOCIATE = """
rule associate [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a) (ys: [n]a) (zs: [n]a) =
  map2 op (map2 op xs ys) zs  ==>  map2 op xs (map2 op ys zs)
  where associative op ne
"""


@dataclass(frozen=True)
class Case:
    """A rule, a program, and the statements that the rule leaves in the body, by kind."""

    rules: str
    program: str
    left: str


CASES = {
    "chain": Case(MATRICES, """
def times [n][m][k] (f: [n][m]f32) (g: [m][k]f32) =
  let columns = transpose g
  in map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) ys xs)) columns) f
entry main [n][m][k] (f: [n][m]f32) (g: [m][k]f32) (x: [k]f32): [n]f32 =
  #[chain] map (\\xs -> reduce (+) 0 (map2 (*) xs x)) (times f g)""", "map map"),
    "chain, twice": Case(f"{MATRICES.replace('rule chain', '#[always] rule chain')}", """
def times [n][m][k] (f: [n][m]f32) (g: [m][k]f32) =
  map (\\xs -> map (\\ys -> reduce (+) 0 (map2 (*) xs ys)) (transpose g)) f
entry main [n][m] (f: [n][m]f32) (g: [m][n]f32) (h: [n][m]f32) (x: [m]f32): [n]f32 =
  map (\\xs -> reduce (+) 0 (map2 (*) xs x)) (times (times f g) h)""", "map map map"),
    "functions of several statements, with a variable from outside": Case(FUSE, """
entry main [n] (k: i64) (xs: [n]i64): [n]i64 =
  #[fuse] map (\\x -> if x > 3 then x * k else k) (map (\\x -> x * x + k) xs)""", "map"),
    "the identity": Case(FUSE, """
entry main [n] (xs: [n]i64): [n]f32 = #[fuse] map f32.i64 (map (\\x -> x - 1) xs)""", "map"),
    "inside of a lambda": Case(FUSE, """
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  map (\\xs -> i32.sum (#[fuse] map (+ xs[0]) (map (* 2) xs))) xss""", "map"),
    "results that are tuples": Case("""
rule fuse2 [n] 'a 'b 'c (f: (a, b) -> c) (g: a -> (a, b)) (xs: [n]a): [n]c =
  map f (map g xs)  ==>  map (\\x -> f (g x)) xs""", """
entry main [n] (xs: [n]i32): [n]i32 =
  #[fuse2] map (\\(a, b) -> a * i32.bool b) (map (\\x -> (x + 1, x > 2)) xs)""", "map"),
    "functions of rows": Case("""
rule turn [n][m] 'a 'b (f: [m]a -> b) (xss: [n][m]a): [n]b =
  map f (reverse xss)  ==>  reverse (map f xss)""", """
entry main [n][m] (xss: [n][m]i32): [n]i32 = #[turn] map (reduce (+) 0) (reverse xss)""",
                               "sub index map"),
    "rows for a type parameter": Case(FUSE, """
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  #[fuse] map (reduce (+) 0) (map (map (* 2)) xss)""", "map"),
    "rows of rows, and their reductions": Case(LAST, """
entry main [n][m] (xss: [n][m]i32): [m]i32 =
  #[last_of_scan] last (scan (\\xs ys -> if xs[0] > 2 then xs else ys) (replicate m 0) xss)""",
                                               "replicate versions"),
    "layouts of rows": Case("""
rule apart [n][m] 'a 'b (f: [n]a -> b) (xss: [n][m]a): [m]b =
  map f (transpose (reverse xss))  ==>  map (\\xs -> f (reverse xs)) (transpose xss)
""", """
entry main [n][m][k] (xsss: [n][m][k]i32): [m]i32 =
  #[apart] map (\\xss -> i32.sum (map i32.sum xss)) (transpose (reverse xsss))""",
                            "rearrange sub map"),
    "operands in another order": Case(PULL, """
entry main [n] (k: i32) (xs: [n]i32): i32 = #[pull] reduce (+) 0 (map (\\x -> x * k) xs)""",
                                      "redomap mul"),
    "inputs in another order": Case("""
rule weigh [n] (xs: [n]i32) (ys: [n]i32) =
  map2 (\\x y -> x - 2 * y) xs ys  ==>  map2 (\\x y -> x - y - y) xs ys""", """
entry main [n] (xs: [n]i32) (ys: [n]i32): [n]i32 =
  #[weigh] map2 (\\a b -> b - a * 2) xs ys""", "map"),
    "one array for two": Case("""
rule scale [n] (c: i32) (xs: [n]i32) (ys: [n]i32) =
  i32.sum (map2 (\\x y -> c * x * y) xs ys)  ==>  c * i32.sum (map2 (\\x y -> x * y) xs ys)""", """
entry main [n] (c: i32) (xs: [n]i32): i32 =
  #[scale] i32.sum (map (\\x -> c * x * x) xs)""", "redomap mul"),
    "a test at run time": Case(LAST, """
entry main [n] (xs: [n]i32): i32 = #[last_of_scan] last (scan (+) 0 xs)""", "versions"),
    "a test at run time, in a lambda": Case(LAST, """
entry main [n][m] (xss: [n][m]i32): [n]i32 =
  map (\\xs -> #[last_of_scan] last (scan (+) 0 xs)) xss""", "versions"),
    "a test of numbers": Case(f"{PULL} where c > 0 && n < 5", """
entry main [n] (k: i32) (xs: [n]i32): i32 = #[pull] reduce (+) 0 (map (\\x -> x * k) xs)""",
                              "lt lt and if"),
    "a test wherever a rule matches": Case(f"#[always] {LAST.strip()}", """
entry main [n] (xs: [n]i32): i32 = last (scan (+) 0 xs)""", "lt if"),
    "a condition that is known": Case(LAST, """
entry main (xs: [5]i32): i32 = #[last_of_scan] last (scan i32.max i32.lowest xs)""", "redomap"),
    "a loop": Case("""
rule power (x: i32) (k: i64): i32 =
  loop y = 1 for _i < k do y * x  ==>  loop y = 1 for _i < k do x * y""", """
entry main (x: i32) (k: i64): i32 = #[power] (loop y = 1 for _i < k do y * x)""", "loop"),
    "branches": Case("""
rule clamp [n] (c: i32) (xs: [n]i32) =
  map (\\x -> if x < c then c else x) xs  ==>  map (\\x -> i32.max c x) xs""", """
entry main [n] (c: i32) (xs: [n]i32): [n]i32 =
  #[clamp] map (\\x -> if x < c then c else x) xs""", "map"),
    "products of many maps": Case(FUSE.replace("rule", "#[always] rule", 1), """
entry main [n] (xs: [n]f32): [n]f32 =
  map (+ 1) (map f32.sqrt (map (* 2) (map f32.abs xs)))""", "map"),
    "an operator that the compiler knows": Case(ASSOCIATE, """
entry main [n] (xs: [n]i32) (ys: [n]i32): [n]i32 =
  #[associate] map2 (\\x y -> y + x) (map2 (\\x y -> y + x) xs ys) xs""", "map"),
    "an operator of the program": Case("""
rule back [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): a =
  reduce op ne (reverse xs)  ==>  reduce op ne xs
  where associative op ne && commutative op""", """
entry main [n] (xs: [n]i64): i64 = #[back] reduce (\\x y -> i64.max x y) i64.lowest (reverse xs)""",
                                        "redomap"),
}


def compiled(rules: str, program: str) -> tuple[Compiled, Rewriting]:
    rewriting = Rewriting(Names())
    return compile_source(Source("p.fut", program), rules=Source("r.rules", rules),
                          rewriting=rewriting), rewriting


def kinds(program: Program) -> str:
    """The kinds of the statements of the only entry point."""
    (fun,) = program.funs
    return " ".join(stm.exp.op if isinstance(stm.exp, ir.PrimOp) else type(stm.exp).__name__.lower()
                    for stm in fun.body.stms)


def arguments(program: Program) -> Iterator[list[Any]]:
    """Random arguments of the only entry point, of several sizes."""
    (fun,) = program.funs
    draw = np.random.default_rng(7)
    for size in SIZES:
        sizes = {p.name: int(draw.choice([size, *SIZES[1:4]])) if k else size
                 for k, p in enumerate(fun.params[:fun.sizes])}
        args: list[Any] = []
        for param in fun.params[fun.sizes:]:
            shape = tuple(int(s.value) if isinstance(s, Const) else sizes[s]
                          for s in ir_shape(param))
            values = draw.integers(-4, 5, shape)
            args.append(values.astype(elem(param)) if shape else elem(param).type(abs(int(values))))
        yield args


def ir_shape(param: ir.Param) -> tuple[Any, ...]:
    return getattr(param.type, "shape", ())


def elem(param: ir.Param) -> Any:
    return getattr(param.type, "elem", param.type).dtype


def outcome(program: Program, args: Sequence[Any]) -> list[Any] | None:
    try:
        return interpret(program, program.funs[0].name, args)
    except ProgramFailure:
        return None


@pytest.mark.parametrize("name", CASES)
def test_programs_compute_as_before(name: str) -> None:
    case = CASES[name]
    made, _ = compiled(case.rules, case.program)
    assert kinds(made.optimised) == case.left
    check(made.versioned, "versioned")
    ran = 0
    for args in arguments(made.core):
        expected = outcome(made.core, args)
        for stage in (made.optimised, made.versioned):
            found = outcome(stage, args)
            assert (found is None) == (expected is None)
            if expected is not None and found is not None:
                assert first_difference(expected, found) is None
                if all(np.shape(arg) and np.size(arg) for arg in args):  # what the versions need
                    first = interpret(stage, "main", args, choose=lambda _: 0)
                    assert first_difference(expected, first) is None
        ran += expected is not None
    assert ran


REFUSED = {
    "another operation": (PULL, "#[pull] i32.sum (map (\\x -> k + x) xs)",
                          "add.i32 stands where the rule has mul.i32"),
    "no such operation": (PULL, "#[pull] i32.sum xs", "xs is given, where the rule has map"),
    "two values for a parameter": (
        "rule same [n] (c: i32) (xs: [n]i32) = map (+ c) (map (* c) xs) ==> "
        "map (\\x -> x * c + c) xs",
        "i32.sum (#[same] map (+ 3) (map (* k) xs))", "'c' would be k and 3i32"),
    "an element for a parameter": (
        "rule shift [n] (c: i32) (xs: [n]i32) = map (\\x -> x * x + c) xs ==> "
        "map (\\x -> c + x * x) xs",
        "i32.sum (#[shift] map (\\x -> x * x + x) xs)", "known only in a lambda"),
    "a function that depends on more": (
        "rule part [n] (f: i32 -> i32) (xs: [n]i32) (ys: [n]i32) = "
        "map2 (\\x y -> f x * y) xs ys ==> map2 (\\x y -> y * f x) xs ys",
        "i32.sum (#[part] map2 (\\x y -> (x + y) * (x - y)) xs (reverse xs))", "depends on more"),
    "a type": (
        "rule conv [n] (xs: [n]i64) = map (\\x -> x + 1) xs ==> map (\\x -> 1 + x) xs",
        "i32.sum (#[conv] map (+ 1) xs)", "a value of type i32 stands there, not i64"),
    "a condition that fails": (
        "rule few [n] (xs: [n]i32) = i32.sum (map (+ 1) xs) ==> i32.sum xs + 3 where n == 3",
        "#[few] i32.sum (map (+ 1) (take 4 xs :> [4]i32))", "does not hold there"),
    "a check in a lambda": (
        "rule pick [n] (xs: [n]i32) (ys: [n]i32) = map2 (\\x y -> x * y) xs ys ==> "
        "map2 (\\x y -> y * x) xs ys",
        "i32.sum (#[pick] map2 (\\x y -> assert (y > 0) x * y) xs xs)", ""),
    "an operator that is not known to commute": (
        "rule back [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): a = reduce op ne (reverse xs) ==> "
        "reduce op ne xs where associative op ne && commutative op",
        "#[back] reduce (\\x y -> if x == 0 then y else x) 0 (reverse xs)",
        "'op' is not known to be commutative"),
    "an operator that is not known to be associative": (
        ASSOCIATE, "i32.sum (#[associate] map2 (-) (map2 (-) xs (reverse xs)) xs)",
        "'op' is not known to be associative"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_point_without_a_match_is_an_error_with_the_reason(name: str) -> None:
    rules, body, reason = REFUSED[name]
    with pytest.raises(ProgramError) as caught:
        _ = compiled(rules, f"entry main [n] (k: i32) (xs: [n]i32): i32 = {body}")[0].optimised
    assert caught.value.code == "point-does-not-match"
    assert reason in str(caught.value)


def test_arrays_that_are_changed_in_place_live_no_longer() -> None:
    program = """
entry main [n] (xs: *[n]i32): ([n]i32, [n]i32) =
  let ys = map (+ 1) xs
  let zs = xs with [0] = 5
  in (#[again] map (* 2) ys, zs)"""
    rules = FUSE.replace("fuse", "again")
    with pytest.raises(ProgramError, match="'xs' is changed in place"):
        _ = compiled(rules, program)[0].optimised


def test_what_is_needed_besides_is_not_computed_twice() -> None:
    always = FUSE.replace("rule", "#[always] rule", 1)
    made, rewriting = compiled(always, """
entry main [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let ys = map (+ 1) xs
  in (map (* 2) ys, ys)""")
    assert rewriting.fired["fuse"] == 0
    assert len(made.optimised.funs[0].results) == 2


def test_a_rule_without_end_stops_and_says_so() -> None:
    rules = """
#[always]
rule there_and_back [n] (xs: [n]i32) =
  map (\\x -> x + 1) xs  ==>  map (\\x -> x + 1) (map (\\x -> x - 1) (map (\\x -> x + 1) xs))"""
    program = "entry main [n] (xs: [n]i32): [n]i32 = map (\\x -> x + 1) xs"
    with warnings.catch_warnings(record=True, action="always") as caught:
        made, rewriting = compiled(rules, program)
    said = [w.message for w in caught if isinstance(w.message, ProgramWarning)]
    assert [each.diagnostic.code for each in said] == ["endless-rule"]
    assert rewriting.fired["there_and_back"] == 100
    xs = np.array([1, 2], np.int32)
    assert interpret(made.optimised, "main", [xs])[0].tolist() == [2, 3]


def test_a_rule_that_swaps_comes_to_an_end() -> None:
    rules = "#[always] rule swap (x: i32) (y: i32): i32 = x - y * 3  ==>  x - 3 * y"
    made, rewriting = compiled(rules, "entry main (x: i32) (y: i32): i32 = x - y * 3")
    assert 1 <= rewriting.fired["swap"] <= 2
    assert interpret(made.optimised, "main", [np.int32(1), np.int32(2)])[0] == -5


def test_rules_can_be_left_out_and_fuel_counts_them() -> None:
    always = Source("r.rules", FUSE.replace("rule", "#[always] rule", 1))
    program = Source("p.fut", "entry main [n] (xs: [n]f32): [n]f32 = "
                              "map (+ 1) (map f32.sqrt (map (* 2) xs))")
    for options, fired in (({"disabled": frozenset({"fuse"})}, 1), ({}, 2)):
        rewriting = Rewriting(Names(), **options)  # type: ignore[arg-type]
        _ = compile_source(program, rules=always, rewriting=rewriting).optimised
        assert rewriting.fired["fuse"] == (0 if options else fired)


def test_schedules_place_rules() -> None:
    program = Source("p.fut", "entry main [n] (xs: [n]f32): [n]f32 = map (+ 1) (map (* 2) xs)")
    schedule = Source("s", "main.ys[1] fuse()\n")
    made = compile_source(program, rules=Source("r.rules", FUSE), schedule=schedule)
    assert [str(step) for step in made.steps] == ["main.ys[1] fuse()"]
    assert kinds(made.optimised) == "map"


def test_calls_never_reach_programs() -> None:
    for case in CASES.values():
        made, _ = compiled(case.rules, case.program)
        assert not any(isinstance(stm.exp, ir.Call) for fun in made.versioned.funs
                       for stm in statements_inside([fun.body]))


EVERYWHERE = """
#[always]
rule fuse [n] 'a 'b 'c (f: b -> c) (g: a -> b) (xs: [n]a): [n]c =
  map f (map g xs)  ==>  map (\\x -> f (g x)) xs
#[always]
rule by_index [n] 'a 'b 'c (f: a -> b -> c) (xs: [n]a) (ys: [n]b): [n]c =
  map2 f xs ys  ==>  map (\\i -> f xs[i] ys[i]) (iota n)
#[always]
rule again [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): [n]a =
  scan op ne xs  ==>  map (\\x -> op ne x) (scan op ne xs)
  where associative op ne
#[always]
rule minus (x: i32) (y: i32): i32 = x - y  ==>  x + (-1) * y
"""


def test_random_programs_compute_as_before(sweeps: bool) -> None:
    always = load_rules(Source("r.rules", EVERYWHERE)).always
    fired = Counter[str]()
    for seed in range(12 if sweeps else 2):
        names = Names()
        core = load(Source(f"seed {seed}", NESTS.text(seed)), names)
        rewriting = Rewriting(names, outside=always)
        with warnings.catch_warnings(action="ignore"):  # of rules without an end
            made = optimise(core, names, rewriting)
        fired += rewriting.fired
        for args in NESTS.inputs(seed):
            expected, found = outcome(core, args), outcome(made, args)
            assert (expected is None) == (found is None), f"seed {seed}"
            if expected is not None and found is not None:
                assert first_difference(expected, found) is None, f"seed {seed}"
    assert {each.name for each in always} & fired.keys() >= {"by_index", "fuse"}
