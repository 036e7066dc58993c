"""Schedules: their text, their replay, and what is wrong with them."""

from __future__ import annotations

import re
import warnings
from copy import copy

import numpy as np
import pytest

from runelift.codegen.emit.opencl import opencl_program
from runelift.codegen.emit.python import python_source
from runelift.codegen.plan.plan import kernels
from runelift.frontend.load import load
from runelift.ir.base.errors import CompilerLimitation, ProgramError, ProgramWarning
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.points import POINTS, Request, read_request
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Versions
from runelift.rewrite.lift import scheduling
from runelift.rewrite.lift.candidates import candidates
from runelift.rewrite.lift.places import find, places
from runelift.rewrite.lift.points import BOOK, LATE
from runelift.rewrite.lift.schedule import Schedule, Step, read_schedule
from runelift.rewrite.lift.scheduling import Asked, Scheduling
from runelift.rewrite.pipeline import optimise, possible_steps
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source

PROGRAM = """\
entry main [n] (xs: [n]f32) (ys: [n]f32): ([n]f32, f32) =
  let doubled = #[split_join(16)] #[split_join(u)] map2 (\\x y -> x * 2 + y) xs ys
  let inside = #[split_join(t, skip)] map (\\x -> map (\\i -> x + f32.i64 i) (iota 4)) doubled
  let total = reduce (+) 0 (map (* 3) doubled)
  in (map f32.sum inside, total)

entry other [n] (xs: [n]i32): [n]i32 = #[split_join(8)] map (* 2) xs
"""
ONE = "entry main [n] (xs: [n]i32): [n]i32 = map (* 2) xs\n"
VALUES = {"u": 4, "t": 8, "main.inside.split_join[0].skip": 1}


def without_points(text: str) -> str:
    """The program with blanks in place of its attributes, so that places stay."""
    return re.sub(r"#\[.*?\]", lambda match: " " * len(match[0]), text)


def compiled(text: str, schedule: str | None = None, **values: int) -> Compiled:
    return compile_source(Source("p.fut", text), parameters=values,
                          schedule=None if schedule is None else Source("p.schedule", schedule))


def texts(program: Compiled) -> list[str]:
    """Everything that is made of a program."""
    found = [pretty(program.optimised), pretty(program.versioned)]
    for entry in program.interfaces:
        plan = program.plan(entry)
        found += [opencl_program(kernels(plan.steps), {}), python_source(plan).source]
    return found


@pytest.mark.parametrize("values", [{}, {"u": 4}, VALUES], ids=["default", "number", "skip"])
def test_a_printed_schedule_gives_the_same_kernels_to_the_letter(values: dict[str, int]) -> None:
    written = compiled(PROGRAM, **values)
    text = Schedule(written.steps).text
    assert text.count("split_join") == 4
    replayed = compiled(without_points(PROGRAM), text, **values)
    assert texts(replayed) == texts(written)
    assert Schedule(replayed.steps).text == text
    assert texts(compiled(PROGRAM, text, **values)) == texts(written), "it replaces attributes"


def test_an_empty_schedule_leaves_points_out() -> None:
    plain = texts(compiled(without_points(PROGRAM)))
    assert texts(compiled(PROGRAM, "-- Nothing.\n")) == plain != texts(compiled(PROGRAM))


def test_points_change_nothing_before_their_turn() -> None:
    """A pass that looked at points would make a schedule differ from attributes."""
    program = PROGRAM.replace("split_join(16)", "privatise").replace(
        "#[split_join(u)]", "#[interchange]")
    core = compiled(program).core
    assert "#[privatise]" in pretty(core)
    names = Names(1_000_000)
    done = optimise(core, names, points=Scheduling({}, Asked(Schedule())))
    assert pretty(done) == pretty(optimise(compiled(without_points(program)).core,
                                           Names(1_000_000)))


@pytest.mark.parametrize(("text", "request_"), [
    ("split_join(16)", Request("split_join", (16,))),
    (" split_join ( 1_6 , skip ) ", Request("split_join", (16,), skip=True)),
    ("ab_tile(ta,4)", Request("ab_tile", ("ta", 4, "none"))),
    ("interchange", Request("interchange")),
    ("interchange()", Request("interchange")),
    ("interchange(skip)", Request("interchange", (), skip=True)),
    ("materialise(local)", Request("materialise", ("local",))),
])
def test_requests_are_read_and_printed(text: str, request_: Request) -> None:
    assert read_request(text) == request_
    assert read_request(str(request_)) == request_


def test_a_schedule_is_read_and_printed() -> None:
    text = "\n-- A comment.\n  main.ys[1].r   split_join( 16 )\nfuse\nmain.ys split_join(t,skip)\n"
    found = read_schedule(Source("s", text))
    assert found.text == "main.ys[1].r split_join(16)\nfuse\nmain.ys split_join(t, skip)\n"
    assert read_schedule(Source("s", found.text)) == found
    assert found.numbers == {"t": 16}
    assert [step.fused for step in found.steps] == [False, True]


def test_fusion_comes_before_the_first_point_that_needs_it() -> None:
    text = "main.a split_join(16)\nmain.b privatise()\nmain.c split_join(16)\n"
    found = read_schedule(Source("s", text), {"privatise"})
    assert [step.fused for step in found.steps] == [False, True, True]
    assert found.text == text.replace("main.b", "fuse\nmain.b")


@pytest.mark.parametrize(("text", "code", "part"), [
    ("split_join(16)", "malformed-schedule", "split_join(16)"),
    ("main.ys", "malformed-schedule", "main.ys"),
    ("main split_join(16)", "malformed-schedule", "main split_join(16)"),
    ("fuse\nfuse", "malformed-schedule", "fuse"),
    ("main.ys split_jion(16)", "unknown-point", "split_jion(16)"),
    ("main.ys split_join(16", "point-arguments", "split_join(16"),
    ("main.ys split_join(16) split_join(4)", "point-arguments", "split_join(16) split_join(4)"),
    ("main.ys split_join()", "point-arguments", "split_join()"),
    ("main.ys split_join(0)", "point-arguments", "split_join(0)"),
    ("main.ys split_join(-1)", "point-arguments", "split_join(-1)"),
    ("main.ys split_join(1.5)", "point-arguments", "split_join(1.5)"),
    ("main.ys split_join(" + "9" * 5000 + ")", "point-arguments", ""),
    ("main.ys materialise(globl)", "point-arguments", "materialise(globl)"),
    ("main.zs split_join(16)", "unknown-place", "main.zs split_join(16)"),
    ("nope.ys split_join(16)", "unknown-place", "nope.ys split_join(16)"),
    ("main.ys\u00a0split_join(\u00b2)", "point-arguments", ""),
    ("main.ys split_join(16)\n" * 1001, "malformed-schedule", "main.ys split_join(16)"),
])
def test_mistakes_in_schedules_are_told_with_their_place(text: str, code: str, part: str) -> None:
    with pytest.raises(ProgramError) as caught:
        _ = compiled(ONE, text).optimised
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.span.source.name == "p.schedule"
    assert part in ("", found.span.text)


def test_a_step_that_no_longer_matches_says_why_and_where() -> None:
    with pytest.raises(ProgramError) as caught:
        _ = compiled("entry main (xs: [100]i32): [100]i32 = map (* 2) xs",
                     "-- Stale.\nmain.ys split_join(20)\nmain.ys.ys[1] split_join(16)\n").optimised
    text = str(caught.value)
    assert "p.schedule:3:1: error[unknown-place]" in text
    with pytest.raises(ProgramError) as caught:
        _ = compiled("entry main (xs: [100]i32): [100]i32 = map (* 2) xs",
                     "-- Stale.\nmain.ys split_join(16)\n").optimised
    text = str(caught.value)
    assert "p.schedule:2:1: error[point-does-not-match]" in text
    assert "16 does not divide 100" in text
    assert "p.fut:1:" in text


@pytest.mark.parametrize(("attribute", "code"), [
    ("#[split_jion(16)]", "unknown-point"),
    ("#[split_join]", "point-arguments"),
    ("#[split_join(0)]", "point-arguments"),
    ("#[split_join(16, 4)]", "point-arguments"),
    ("#[split_join(f(x))]", "point-arguments"),
    ("#[materialise(everywhere)]", "point-arguments"),
    ("#[privatise] #[split_join(4)] #[privatise]", "conflicting-points"),
    ("#[layout(10)] #[layout(102)]", "conflicting-points"),
])
def test_mistakes_in_attributes_are_told_with_their_place(attribute: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        _ = compiled(ONE.replace("map", f"{attribute} map")).optimised
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.span.text in attribute


@pytest.mark.parametrize("program", [
    "entry main [n] (xs: [n]i32): [n]i32 = xs |> #[split_join(4)] map (* 2)",
    "#[split_join(4)] entry main [n] (xs: [n]i32): [n]i32 = map (* 2) xs",
    "entry main [n] (xs: [n]i32): [n]i32 = #[split_join(4)] xs",
    "entry main (x: i32): i32 = #[split_join(4)] 3 + x",
    "entry main [n] (xs: [n]i32): [n]i32 = #[split_join(4)] scan (+) 0 xs",
    "entry main (xs: [7]i32): [7]i32 = #[split_join(2)] map (* 2) xs",
])
def test_points_without_a_match(program: str) -> None:
    with pytest.raises(ProgramError) as caught:
        _ = compiled(program).optimised
    (found,) = caught.value.diagnostics
    assert found.code == "point-does-not-match"
    assert found.span.text.strip("#[]").startswith("split_join(")


def test_too_many_points_are_a_limitation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "MOST_STEPS", 3)
    text = ("def f [n] (xs: [n]i32): [n]i32 = #[split_join(4)] map (* 2) xs\n"
            "entry main [n] (xs: [n]i32): [n]i32 = f (f (f xs))\n")
    with pytest.raises(CompilerLimitation, match="more than 3 rewrite points"):
        _ = compiled(text).optimised


def test_a_point_of_a_statement_that_is_gone_is_a_warning() -> None:
    text = ("entry main [n] (xs: [n]i32): i32 =\n"
            "  let unused = #[join_split] map (* 2) xs in i32.sum xs\n")
    with warnings.catch_warnings(record=True, action="always") as caught:
        _ = compiled(text).optimised
    (found,) = (each.message for each in caught if isinstance(each.message, ProgramWarning))
    assert found.diagnostic.code == "point-does-not-match"
    assert found.diagnostic.span.text == "#[join_split]"


def test_a_number_with_a_name_is_a_program_parameter() -> None:
    text = "entry main [n] (xs: [n]i32): [n]i32 = #[split_join(t)] map (+ (#[param(t)] 6)) xs"
    assert compiled(text).parameters == {"t": None}
    assert "needs (6 divides n_1" in pretty(compiled(text).optimised)
    assert "needs (5 divides n_1" in pretty(compiled(text, t=5).optimised)
    assert "5i32" in pretty(compiled(text, t=5).optimised), "both are the same parameter"
    assert "needs (16 divides n_1" in pretty(compiled(text.replace("#[param(t)]", "")).optimised)


def test_skip_is_a_parameter_with_the_name_of_the_step() -> None:
    text = ONE.replace("map", "#[split_join(16, skip)] #[split_join(8)] map")
    program = compiled(text)
    assert program.skips == ("main.ys.split_join[0].skip",)
    assert "16i64" in pretty(program.optimised)
    skipped = pretty(compiled(text, **{"main.ys.split_join[0].skip": 1}).optimised)
    assert "16i64" not in skipped
    assert "8i64" in skipped, "points that follow are about the statement as it is"


def test_places_are_paths() -> None:
    core = load(Source("p", PROGRAM), Names())
    found = [each.path for each in places(core.funs[0])]
    assert len(set(found)) == len(found)
    for place in places(core.funs[0]):
        again = find(core.funs[0], place.path)
        assert again is not None
        assert again.stm is place.stm


def test_variables_of_the_source_name_places() -> None:
    found = [each.path for each in places(load(Source("p", PROGRAM), Names()).funs[0])]
    assert {"main.doubled", "main.inside", "main.inside.ys", "main.total"} <= set(found)
    more = PROGRAM.replace("  let doubled", "  let before = map (+ 1) ys\n  let doubled")
    more = more.replace("in (map", "in (map (+ f32.sum before) <| map")
    again = [each.path for each in places(load(Source("p", more), Names()).funs[0])]
    assert {"main.before", "main.doubled", "main.inside", "main.inside.ys"} <= set(again)


def test_places_outside_do_not_depend_on_what_stands_inside() -> None:
    more = PROGRAM.replace("x + f32.i64 i", "x + f32.i64 i + f32.sum (map f32.i64 (iota i))")
    one, two = (load(Source("p", text), Names()).funs[0] for text in (PROGRAM, more))
    assert [e.path for e in places(one) if e.path.count(".") == 1] == [
        e.path for e in places(two) if e.path.count(".") == 1]


def test_candidates_are_steps_that_can_be_taken() -> None:
    names = Names()
    core = load(Source("p.fut", without_points(PROGRAM)), names)
    before = names.made()
    found = possible_steps(core, names)
    assert names.made() == before
    assert {each.request.point for each in found} >= {"split_join"}
    for step in found:
        done = optimise(core, copy(names), points=Scheduling(BOOK, Asked(Schedule((step,)))))
        assert done.funs


def test_candidates_that_can_never_hold_are_not_listed() -> None:
    names = Names()
    core = load(Source("p.fut", "entry main (xs: [101]i32): [101]i32 = map (* 2) xs"), names)
    points = {"split_join": BOOK["split_join"]}
    assert candidates(core, names, points, fused=False) == []
    core = load(Source("p.fut", "entry main (xs: [64]i32): [64]i32 = map (* 2) xs"), names)
    assert [str(each) for each in candidates(core, names, points, fused=False)] == [
        "main.ys split_join(16)"]


def test_every_point_of_the_book_has_a_signature() -> None:
    assert BOOK.keys() <= POINTS.keys()
    assert BOOK.keys() >= LATE
    for name, each in BOOK.items():
        assert each.name == name
        assert " ⇒ " in each.law, "a docstring begins with the law"
        assert any(kind == "Source" for kind, _ in each.notes)


def test_steps_are_about_the_program_after_the_steps_before_them() -> None:
    text = ONE
    first = Step("main.ys", Request("split_join", (4,)))
    names = Names()
    core = load(Source("p.fut", text), names)
    more = possible_steps(core, names, Asked(Schedule((first,))))
    inner = [each for each in more if each.place.startswith("main.ys.")]
    assert inner
    xs = np.arange(32, dtype=np.int32)
    for each in inner:
        two = Schedule((first, each))
        done = compiled(text, two.text).optimised
        assert any(isinstance(s.exp, Versions) for s in done.funs[0].body.stms)
        np.testing.assert_array_equal(interpret(done, "main", [xs])[0], xs * 2)
