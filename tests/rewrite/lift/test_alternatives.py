"""Schedules as versions of one program: what differs, when a version runs, and what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerBug, VersionUnavailable
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.constraints import Constraint, at_least, divides, equal
from runelift.ir.guards import Kind
from runelift.ir.interpret import interpret
from runelift.ir.names import VName
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.sizes import Size
from runelift.ir.syntax import Fun, Program, Versions
from runelift.ir.traverse import statements_inside
from runelift.rewrite.flattening import flatten
from runelift.rewrite.lift.alternatives import MOST_VERSIONS, Merged, Reason
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.tools.commands.version_runs import plans
from runelift.runtime.versions.forest import forest_of
from tests.replays import replayed
from tests.rewrite.lift.versions_of import compiled, merged, nothing

SITE, FIRST, SECOND = "main.schedules_0", "main.suff_schedule_0_0", "main.suff_schedule_0_1"
SUMS = """
entry main [n][m] (xss: [n][m]f32) (k: f32): [n]f32 =
  let yss = map (map (* 2)) xss
  in map f32.sum (map2 (\\ys i -> scan (+) 0 (map (+ f32.i64 i * k) ys)) yss (iota n))
"""
SIZES = [(0, 0), (1, 1), (3, 4), (5, 8), (3, 0), (0, 8), (9, 7), (33, 24)]


def in_parts(parts: int) -> str:
    """The sums of rows, of parts of a row first."""
    return f"""
entry main [n][m] (xss: [n][m]f32) (k: f32): [n]f32 =
  let yss = map (map (* 2)) xss
  let zss = map2 (\\ys i -> scan (+) 0 (map (+ f32.i64 i * k) ys)) yss (iota n)
  let q = m / {parts}
  in map (\\zs -> f32.sum (map f32.sum (unflatten (zs :> [q * {parts}]f32)))) zss
"""


def whole(parts: int) -> Any:
    def needs(fun: Fun) -> Sequence[Constraint]:
        return [divides(Size.of(parts), Size.var(fun.params[1].name), "by_hand", "main.ys")]
    return needs


def two() -> tuple[Merged, Any]:
    return merged(SUMS, (in_parts(4), whole(4)), (in_parts(8), whole(8)))


def versions(program: Program) -> list[Versions]:
    return [stm.exp for stm in statements_inside(fun.body for fun in program.funs)
            if isinstance(stm.exp, Versions) and stm.exp.by_schedules]


def rows(n: int, m: int) -> list[Any]:
    return [np.random.default_rng(n).random((n, m)).astype(np.float32), np.float32(0.5)]


def expected(args: Sequence[Any]) -> Any:
    xss, k = args
    ys = np.asarray(xss * 2 + np.arange(len(xss), dtype=np.float32)[:, None] * k)
    return np.cumsum(ys, axis=1).sum(axis=1)


def test_text_is_read_back_before_and_after_flattening() -> None:
    made, names = two()
    core = Program((made.fun,))
    check(core, "core")
    flat = clean(flatten(core, names), names)
    for program in (core, flat):
        assert parse(pretty(program)) == program
        assert pretty(parse(pretty(program))) == pretty(program)
    assert "needs (4 divides m_2 \"by_hand\" \"main.ys\") (rewritten) by \"main.ys" in pretty(core)


def test_only_what_differs_is_repeated() -> None:
    made, _ = two()
    (choice,) = versions(Program((made.fun,)))
    assert [v.kind for v in choice.alternatives] == [Kind.REWRITTEN, Kind.REWRITTEN, Kind.ORIGINAL]
    assert [len(v.body.stms) for v in choice.alternatives][-1] == 1
    assert [type(stm.exp) for stm in made.fun.body.stms] == [ir.Iota, Versions]
    assert [v.schedule for v in choice.alternatives] == [
        ("main.ys by_hand(0)",), ("main.ys by_hand(1)",), ()]


@pytest.mark.parametrize("size", SIZES)
def test_every_version_computes_as_much(size: tuple[int, int]) -> None:
    made, names = two()
    args = rows(*size)
    want = expected(args)
    for chosen in range(3):
        got = interpret(Program((made.fun,)), "main", args, choose=lambda v, k=chosen: k)
        np.testing.assert_allclose(got[0], want, rtol=1e-4)
    program = compiled(SUMS, made, names)
    results, found = replayed(program, "main", args)
    np.testing.assert_allclose(results[0], want, rtol=1e-4)
    assert found.banned == {}
    parts = [4, 8, 1]
    feasible = tuple(k for k in range(3) if size[1] % parts[k] == 0)
    for force in plans(program.tree.entry("main")):
        chosen = force[SITE]
        if chosen in feasible:
            got, record = program.run("main", args, force=force, record=True)
            assert record.path[0] == (SITE, chosen)
            assert record.encounters[0].feasible == feasible
            np.testing.assert_allclose(got[0], want, rtol=1e-4)
        else:
            why = f"{parts[chosen]} does not divide m = {size[1]}, .*by_hand; from main.ys"
            with pytest.raises(VersionUnavailable, match=why):
                program.run("main", args, force=force)


def test_the_original_runs_by_default_and_thresholds_choose_among_what_is_possible() -> None:
    made, names = two()
    program = compiled(SUMS, made, names)

    def path(m: int, **thresholds: int) -> int:
        args = rows(6, m)
        got, record = program.run("main", args, thresholds={
            {"first": FIRST, "second": SECOND}[name]: value
            for name, value in thresholds.items()}, record=True)
        np.testing.assert_allclose(got[0], expected(args), rtol=1e-4)
        return int(record.path[0][1])

    assert path(16) == 2
    assert path(16, first=1) == 0
    assert path(16, first=97, second=1) == 1  # 6 * 16 is less than the first asks for
    assert path(20, first=97, second=1) == 0
    assert path(12, first=97, second=1) == 2  # 8 does not divide 12
    assert path(15, first=1, second=1) == 2


def test_calls_without_records_follow_sizes() -> None:
    """Command buffers are kept for each size."""
    made, names = two()
    program = compiled(SUMS, made, names)
    program.thresholds = {FIRST: 1}
    for m in (8, 7, 8, 7, 8, 7, 12):
        args = rows(6, m)
        np.testing.assert_allclose(program.main(*args), expected(args), rtol=1e-4)


def test_the_tree_has_the_schedules_above_the_versions_of_each() -> None:
    made, names = two()
    forest = forest_of(clean(flatten(Program((made.fun,)), names), names)).entry("main")
    (site,) = forest.trees
    assert site.name == SITE
    assert [len(alternative.sites) for alternative in site.alternatives] == [1, 1, 1]
    assert len(forest.leaves()) > 6


def test_schedules_that_give_equal_programs_count_once() -> None:
    made, _ = merged(SUMS, (in_parts(4), whole(4)), (SUMS, nothing), (in_parts(4), whole(4)))
    assert made.counts == {Reason.EQUAL: 1, Reason.UNCHANGED: 1}
    assert len(versions(Program((made.fun,)))[0].alternatives) == 2


def test_a_site_has_few_versions() -> None:
    made, _ = merged(SUMS, *((in_parts(k), whole(k)) for k in range(2, 10)))
    assert made.counts == {Reason.MANY: 8 - (MOST_VERSIONS - 1)}
    assert len(versions(Program((made.fun,)))[0].alternatives) == MOST_VERSIONS


def test_needs_that_hold_or_fail_are_settled_before() -> None:
    def always(fun: Fun) -> Sequence[Constraint]:
        m = Size.var(fun.params[1].name)
        return [divides(Size.of(4), m * 8), at_least(m, Size.of(0)), *whole(4)(fun)]

    def never(fun: Fun) -> Sequence[Constraint]:
        return [divides(Size.of(5), Size.of(112), "split_join", "main.ys")]

    def hidden(fun: Fun) -> Sequence[Constraint]:
        inner = next(p for stm in statements_inside([fun.body]) for p in stm.pat
                     if p.name.base == "t")
        return [equal(Size.var(inner.name), Size.of(3))]

    made, _ = merged(SUMS, (in_parts(4), always), (in_parts(5), never), (in_parts(6), hidden))
    assert made.counts == {Reason.IMPOSSIBLE: 1, Reason.UNKNOWN: 1}
    (choice,) = versions(Program((made.fun,)))
    guard = choice.alternatives[0].guard
    assert guard is not None
    assert [str(need) for need in guard.needs] == ["4 divides m"]
    assert [each.details for each in made.dropped] == [
        "5 does not divide 112, 112 % 5 = 2 (split_join; from main.ys)", "t"]


def test_what_is_asked_for_runs_wherever_it_can() -> None:
    made, names = merged(SUMS, (in_parts(4), whole(4)), asked=True)
    program = compiled(SUMS, made, names)
    for m, chosen in ((8, 0), (7, 1)):
        args = rows(3, m)
        got, record = program.run("main", args, record=True)
        assert record.path[0] == (SITE, chosen)
        np.testing.assert_allclose(got[0], expected(args), rtol=1e-4)
    made, names = merged(SUMS, (in_parts(4), nothing), asked=True)
    assert not versions(Program((made.fun,)))
    check(Program((made.fun,)))
    args = rows(3, 8)
    got = interpret(Program((made.fun,)), "main", args)
    np.testing.assert_allclose(got[0], expected(args), rtol=1e-4)


TWICE = """
entry main [n] (k: i64) (xs: [n]i32): (i32, [n]i32) =
  let big = loop ys = map (\\x -> x + 1) xs for i < k do
    scan (+) 0 (map (\\y -> y % 1000 + i32.i64 i) ys)
  let most = i32.maximum {most}
  in (most, map (\\x -> {last}) big)
"""


def twice(most: str, last: str) -> str:
    return TWICE.format(most=most, last=last)


def test_statements_apart_have_sites_of_their_own() -> None:
    text = twice("(map (* 3) big)", "x - most")
    first = twice("(map (\\x -> x + x + x) big)", "x - most")
    last = twice("(map (* 3) big)",
                 "let s = loop s = x for j < 2 do s - most / 2 in s + most / 2 * 2 - most")
    made, names = merged(text, (first, nothing), (last, nothing))
    assert [choice.site for choice in versions(Program((made.fun,)))] == [
        "main.schedules_0", "main.schedules_1"]
    program = compiled(text, made, names)
    for n in (1, 2, 31):
        args = [np.int64(3), np.arange(n, dtype=np.int32)]
        want = interpret(optimise(Program((made.fun,)), names), "main", args)
        for force in plans(program.tree.entry("main")):
            for got, right in zip(program.run("main", args, force=force)[0], want, strict=True):
                np.testing.assert_array_equal(got, right)


def test_a_program_may_be_rewritten_as_a_whole() -> None:
    """Also if other sizes are returned, which the types of other results name."""
    text = "entry main (xs: []i32): []i32 = filter (> 2) (map (+ 1) xs)"
    other = "entry main (xs: []i32): []i32 = map (+ 1) (filter (\\x -> x > 1) xs)"
    made, names = merged(text, (other, nothing))
    assert len(versions(Program((made.fun,)))) == 1
    check(Program((made.fun,)))
    program = compiled(text, made, names)
    for n in (0, 1, 40):
        xs = np.arange(n, dtype=np.int32) % 7
        for force in plans(program.tree.entry("main")):
            np.testing.assert_array_equal(program.run("main", [xs], force=force)[0][0],
                                          (xs + 1)[xs + 1 > 2])


PRODUCT = """
entry main [c][h][w][m] (image: [c][h][w]f32) (filters: [m][c][3][3]f32): [m][h][w]f32 =
  let padded = map (lift.pad2d 1 1 1 1 0) image
  let windows = map (\\plane -> lift.slide2d 3 1 3 1 plane :> [h][w][3][3]f32) padded
  let pixels = map flatten_3d (flatten (lift.transpose_nd_120 windows))
  let rows = map flatten_3d filters
  let sums = map (\\row -> map (\\pixel -> f32.sum (map2 (*) row pixel)) pixels) rows
  in map unflatten sums
"""


def test_readers_of_a_view_belong_to_the_versions_that_make_it() -> None:
    """Else each version would store it, since results of versions are."""
    schedule = Source("s", "main.pixels materialise(global)\nor\n"
                      "main.padded materialise(global)\n")
    made = compile_source(Source("t", PRODUCT), schedule=schedule)
    (choice,) = versions(made.optimised)
    for version in choice.alternatives:
        makers = {p.name: stm.exp for stm in version.body.stms for p in stm.pat}
        assert any(isinstance(exp, ir.Map) for exp in makers.values())
        assert not any(isinstance(makers.get(out), ir.Reshape | ir.Rearrange | ir.Slide)
                       for out in version.body.result if isinstance(out, VName))


def test_loops_hold_choices_and_optimisation_keeps_them() -> None:
    """All passes meet the node, and a loop with a choice in it stays on the grid."""
    made, names = two()
    body = made.fun.body
    (choice,) = (stm for stm in body.stms if isinstance(stm.exp, Versions))
    again = optimise(Program((made.fun,)), names)
    assert len(versions(again)) == 1
    args = rows(4, 8)
    np.testing.assert_allclose(interpret(again, "main", args, choose=lambda v: 0)[0],
                               expected(args), rtol=1e-4)
    lam = ir.Lambda((), ir.Body((choice,), ()), ())
    broken = ir.Fun("main", made.fun.params, (), ir.Body(
        (*body.stms[:-1], ir.Stm((), ir.Map(made.fun.params[0].name, lam, ()))), ()),
        made.fun.sizes)
    with pytest.raises(CompilerBug, match="versions by schedules in a lambda"):
        check(Program((broken,)))
