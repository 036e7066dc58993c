"""Codes of mistakes with rewrite points and schedules."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

_PROGRAM = """\
-- file: program.fut
entry main [n] (xs: [n]f32): [n]f32 = map (* 2) xs
"""

CODES = (
    Explanation(
        "unknown-point", "a rewrite point that does not exist",
        "An attribute or a line of a schedule asks for a rewrite by a name that no rewrite has.  "
        "Points are listed by 'runelift explain unknown-point'; an attribute whose name is not "
        "almost that of a point is an unknown attribute, which is a warning only.",
        wrong="""\
entry main [n] (xs: [n]f32): [n]f32 = #[split_jion(16)] map (* 2) xs
""", cure="""\
entry main [n] (xs: [n]f32): [n]f32 = #[split_join(16)] map (* 2) xs
"""),
    Explanation(
        "point-arguments", "a rewrite point with wrong arguments",
        "A point has a fixed number of arguments.  An argument that is a number is from 1 upwards; "
        "in its place may stand the name of a parameter, which 'autotune' and --param set.  Others "
        "are one of a few words.  The word 'skip' may follow: then the point may be left out.",
        wrong="""\
entry main [n] (xs: [n]f32): [n]f32 = #[split_join(0)] map (* 2) xs
""", cure="""\
entry main [n] (xs: [n]f32): [n]f32 = #[split_join(tile)] map (* 2) xs
"""),
    Explanation(
        "conflicting-points", "two points of which a statement can have one only",
        "The first of them changes the statement such that the second has no meaning any more, or "
        "both decide the same.  Fusion may bring the points of two statements together.",
        wrong="""\
entry main [n] (xs: [n]f32): [n]f32 =
  #[materialise(global)] #[materialise(local)] map (* 2) xs
""", cure="""\
entry main [n] (xs: [n]f32): [n]f32 = #[split_join(16)] #[split_join(4)] map (* 2) xs
"""),
    Explanation(
        "point-does-not-match", "a rewrite point at a statement that it cannot rewrite",
        "A point rewrites statements of one form only.  The message says why this one has another "
        "form, or which sizes do not go together.  In a schedule it means that the program or an "
        "earlier step has changed.  It is a warning if the statement is gone by the time of the "
        "rewrite, because nothing uses its result for example.",
        wrong="""\
entry main (xs: [100]f32): [100]f32 = #[split_join(16)] map (* 2) xs
""", cure="""\
entry main (xs: [100]f32): [100]f32 = #[split_join(20)] map (* 2) xs
"""),
    Explanation(
        "malformed-schedule", "a file that is no schedule",
        "A line of a schedule is a step: a place, and a point with its arguments.  The line 'fuse' "
        "stands for fusion.  Lines that begin with '--' are comments.  'runelift explain "
        "schedule' prints the schedule of a program.",
        wrong="split_join(16)\n" + _PROGRAM,
        cure="-- Sixteen elements together.\nmain.ys split_join(16)\n" + _PROGRAM,
        suffix=".schedule"),
    Explanation(
        "unknown-place", "a step of a schedule at a place that the program does not have",
        "A place is the path of a statement: the entry point, then the names of the statements "
        "around it, then its own name.  'runelift explain schedule' lists the places where "
        "points match.  If the program has changed, so may its places.",
        wrong="main.zs split_join(16)\n" + _PROGRAM,
        cure="main.ys split_join(16)\n" + _PROGRAM,
        suffix=".schedule"),
)
