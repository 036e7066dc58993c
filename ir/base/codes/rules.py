"""Codes of rules from outside."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

CODES = (
    Explanation(
        "malformed-rule", "a rule that has not the form of a rule",
        "A rule has a name, parameters with types, and two sides: rule NAME PARAMETERS = BEFORE "
        "==> AFTER.  The left side must say where the rule applies.  So it is an operation and "
        "not a parameter alone, and all that the right side uses occurs in it.  A parameter that "
        "is a function is applied there to distinct variables of lambdas.",
        wrong="""\
rule shift [n] (c: i32) (d: i32) (xs: [n]i32): [n]i32 =
  map (\\x -> x + c) xs  ==>  map (\\x -> x + d) xs
""", cure="""\
rule shift [n] (c: i32) (d: i32) (xs: [n]i32): [n]i32 =
  map (\\x -> x + d) (map (\\x -> x + c) xs)  ==>  map (\\x -> x + (c + d)) xs
""", suffix=".rules"),
    Explanation(
        "rule-types-differ", "a rule whose sides have different types",
        "What stands in the place of an expression must have the type and the sizes of the "
        "expression.  The message shows both types.",
        wrong="""\
rule total [n] (c: i32) (xs: [n]i32) =
  map (\\x -> c * x) xs  ==>  c * i32.sum xs
""", cure="""\
rule total [n] (c: i32) (xs: [n]i32) =
  i32.sum (map (\\x -> c * x) xs)  ==>  c * i32.sum xs
""", suffix=".rules"),
    Explanation(
        "wrong-rule", "a rule whose sides differ for some arguments",
        "Before a rule is used, both sides are run on random arguments, also on empty arrays.  The "
        "message shows arguments for which they differ, and what each side gives.  Correct the "
        "rule, or say with 'where' for which sizes it holds.",
        wrong="""\
rule first [n] (x: i32) (xs: [n]i32): i32 =
  i32.sum xs + x  ==>  xs[0] + i32.sum (tail xs) + x
""", cure="""\
rule first [n] (x: i32) (xs: [n]i32): i32 =
  i32.sum xs + x  ==>  xs[0] + i32.sum (tail xs) + x
  where n > 0
""", suffix=".rules"),
    Explanation(
        "untestable-rule", "a rule for which there are no arguments to try",
        "A rule that cannot be tested is not used.  Its condition may hold for no small sizes and "
        "numbers, or a parameter may be a function of functions, of which there are no random "
        "ones.",
        wrong="""\
rule twice (x: i32): i32 = x + x  ==>  2 * x where x > 10 && x < 5
""", cure="""\
rule twice (x: i32): i32 = x + x  ==>  2 * x
""", suffix=".rules"),
    Explanation(
        "endless-rule", "a rule that is always applied and makes what it matches",
        "A rule with #[always] is applied wherever it matches, also in what it has made itself.  "
        "This one never ends, so it stops after a number of steps.  Leave out #[always], and ask "
        "for the rule where it is wanted; or change its right side.",
        wrong="""\
#[always]
rule there_and_back [n] (xs: [n]i32): [n]i32 =
  map (\\x -> x + 1) xs  ==>  map (\\x -> x + 1) (map (\\x -> x - 1) (map (\\x -> x + 1) xs))
-- file: program.fut
entry main [n] (xs: [n]i32): [n]i32 = map (\\x -> x + 1) xs
""", cure="""\
#[always]
rule there_and_back [n] (xs: [n]i32): [n]i32 =
  map (\\x -> x - 1) (map (\\x -> x + 1) xs)  ==>  map (\\x -> x) xs
-- file: program.fut
entry main [n] (xs: [n]i32): [n]i32 = map (\\x -> x - 1) (map (\\x -> x + 1) xs)
""", suffix=".rules"),
)
