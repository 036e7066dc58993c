"""What each pass does, and above all what it must not do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.errors import CompilerBug, ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names, VName
from runelift.ir.pretty import pretty
from runelift.ir.prim import Prim
from runelift.ir.syntax import (
    Assert,
    AtomExp,
    Body,
    Exp,
    Loop,
    Map,
    Param,
    PrimOp,
    Program,
    Redomap,
    Scanomap,
    Stm,
)
from runelift.ir.traverse import bodies_of, lambdas_of
from runelift.ir.types import i64
from runelift.rewrite import pipeline
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.pipeline import optimise, run_passes
from runelift.rewrite.registry import HOIST, Pass

I32 = np.int32
XS = np.array([3, 1, 4], I32)


def compiled(text: str, **options: Any) -> tuple[Program, Program]:
    names = Names()
    core = load(Source("t", text), names)
    return core, optimise(core, names, Rewriting(names, **options))


def shape(body: Body) -> str:
    """The array operations of a body with what is inside, as ``map(redomap) scan``."""
    parts = []
    for stm in body.stms:
        inner = " ".join(filter(None, (
            shape(b) for b in (*bodies_of(stm.exp), *(lam.body for lam in lambdas_of(stm.exp))))))
        kind = type(stm.exp).__name__.lower()
        if kind in ("map", "redomap", "scanomap", "scatter", "hist", "loop", "if"):
            parts.append(f"{kind}({inner})" if inner else kind)
    return " ".join(parts)


def optimised_shape(text: str) -> str:
    return shape(compiled(text)[1].funs[0].body)


def expressions(body: Body) -> Iterator[Exp]:
    for stm in body.stms:
        yield stm.exp
        for inner in (*bodies_of(stm.exp), *(lam.body for lam in lambdas_of(stm.exp))):
            yield from expressions(inner)


VECTOR = "entry main [n] (xs: [n]i32) = "
VECTORS = "entry main [n] [m] (xs: [n]i32) (ys: [n]i32) (zs: [m]i32) = "
MATRIX = "entry main [n][m] (xss: [n][m]i32) = "


@pytest.mark.parametrize(("text", "expected"), [
    ("entry main [n][m][p] (xs: [n][m]f32) (ys: [m][p]f32) = "
     "map (\\xr -> map (\\yc -> reduce (+) 0 (map2 (*) xr yc)) (transpose ys)) xs",
     "map(map(redomap))"),
    (VECTOR + "scan (+) 0 (map (+ 1) (map (* 2) xs))", "scanomap"),
    (MATRIX + "map (\\r -> i32.sum (map (* 2) r)) (map (map (+ 1)) xss)", "map(redomap)"),
    (VECTOR + "let ys = map (* 2) xs in (i32.sum ys, i32.maximum ys, ys)", "redomap"),
    (VECTOR + "let ys = map (* 2) xs in (map (+ 1) ys, map (+ 2) ys)", "map"),
    (MATRIX + "(map i32.sum xss, map i32.maximum xss)", "map(redomap) map(redomap)"),
    # reductions that the host launches need not share an array
    (VECTORS + "(i32.sum xs, i32.maximum ys)", "redomap"),
    (VECTORS + "loop s = 0 for _i < 3 do i32.sum (map (+ s) xs) * i32.maximum (map (* s) ys)",
     "loop(redomap)"),
    (VECTORS + "map (\\x -> i32.sum xs + x * i32.maximum ys) zs", "redomap map"),
    ("entry main [n][m] (xss: [n][m]i32) (yss: [n][m]i32) = "
     "map2 (\\xs ys -> i32.sum xs * i32.maximum ys) xss yss", "map(redomap redomap)"),
    (VECTORS + "(i32.sum xs, i32.maximum zs)", "redomap redomap"),
    (VECTORS + "let s = i32.sum xs in (s, i32.maximum (map (+ s) ys))", "redomap redomap"),
    (VECTORS + "let ys = map (+ 1) ys in (i32.sum xs, i32.maximum ys, ys)", "redomap redomap"),
    # a result that is read at other indices, or inside of a lambda, blocks
    (VECTOR + "let ys = map (* 2) xs in map (\\i -> ys[n - 1 - i]) (iota n)", "map map"),
    (VECTOR + "let ys = map (* 2) xs in map (\\y -> y + i32.sum ys) ys", "redomap map"),
    (VECTOR + "let ys = map (* 2) xs let s = i32.sum ys in map (\\y -> y + s) ys",
     "redomap map"),
    (VECTOR + "let ys = scan (+) 0 xs in map (* 2) ys", "scanomap map"),
    # a scatter has no further results
    ("entry main [n] (is: [n]i64) (xs: [n]i32) = let ys = map (* 2) xs "
     "in (scatter (replicate 4 0) is ys, ys)", "map scatter"),
    ("entry main [n] (xs: [n]i32) = #[sequential] map (+ 1) (map (* 2) xs)", "map map"),
])
def test_fusion(text: str, expected: str) -> None:
    if "#[sequential]" in text:
        text = text.replace("(map (* 2) xs)", "ys").replace("= #", "= let ys = map (* 2) xs in #")
    assert optimised_shape(text) == expected


def test_fusion_does_not_read_what_was_consumed() -> None:
    """The map over xs must not move behind the update of xs."""
    text = ("entry main [n] (xs: *[n]i32) (k: i32) = let ys = map (* 2) xs "
            "let zs = loop zs = xs for i < n do zs with [i] = zs[i] + k "
            "let s = zs[0] in (map (+ s) ys, zs)")
    core, optimised = compiled(text)
    assert optimised_shape(text).count("map") == 2
    for a, b in zip(interpret(core, "main", [XS, I32(5)]),
                    interpret(optimised, "main", [XS, I32(5)]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_fusion_keeps_an_assertion_in_front_of_what_relies_on_it() -> None:
    text = (VECTOR + "let ys = map (* 2) xs let ok = assert (ys[0] > 0) true "
            "in map (\\y -> if ok then y + 1 else y) ys")
    _, optimised = compiled(text)
    with pytest.raises(ProgramFailure):
        interpret(optimised, "main", [-XS])


# Hoisting


def test_sizes_leave_the_nest() -> None:
    text = ("entry main [n] (xs: [n]i32) (k: i64) = map (\\x -> "
            "i32.sum (map (+ x) (map i32.i64 (iota (k * k + 1))))) xs")
    body = compiled(text)[1].funs[0].body
    assert [type(stm.exp).__name__ for stm in body.stms][:2] == ["PrimOp", "PrimOp"]


@pytest.mark.parametrize("inside", [
    "x / k", "x + ys[7]", "assert (k > 0) x", "i32.i64 (length (iota (i64.i32 k))) + x",
    "loop x for _i < k do x / k", "if k > 0 then x / k else x",
])
def test_what_may_fail_stays_where_it_is(inside: str) -> None:
    text = (f"entry main [n] (xs: [n]i32) (ys: []i32) (k: i32) = map (\\x -> {inside}) xs")
    _, optimised = compiled(text)
    (found,) = interpret(optimised, "main", [XS[:0], XS, I32(-1 if "iota" in inside else 0)])
    assert len(found) == 0


QUOTIENT = ("entry main [n] (xs: [n]i32) (k: i64) (m: i64) = map (\\x -> "
            "loop x for _i < 2 do i32.sum (map (+ x) (map i32.i64 (iota (k OP m))))) xs")


@pytest.mark.parametrize("op", ["/", "%", "//", "%%"])
@pytest.mark.parametrize(("k", "m"), [(7, 2), (7, -8), (-7, -2), (0, 3)])
def test_divided_sizes_leave_the_nest(op: str, k: int, m: int) -> None:
    core, optimised = compiled(QUOTIENT.replace("OP", op))
    text = pretty(optimised)
    assert text.index("safe") < text.index("map n")
    args = [XS, np.int64(k), np.int64(m)]
    try:
        (want,) = interpret(core, "main", args)
    except ProgramFailure as failure:
        with pytest.raises(ProgramFailure, match=str(failure).split(":")[0]):
            interpret(optimised, "main", args)
    else:
        np.testing.assert_array_equal(interpret(optimised, "main", args)[0], want)


def test_a_divided_size_fails_only_if_there_are_elements() -> None:
    _, optimised = compiled(QUOTIENT.replace("OP", "/"))
    assert len(interpret(optimised, "main", [XS[:0], np.int64(3), np.int64(0)])[0]) == 0
    with pytest.raises(ProgramFailure, match="Division by zero"):
        interpret(optimised, "main", [XS, np.int64(3), np.int64(0)])


def test_branches_keep_their_work() -> None:
    text = ("entry main (x: f32) (b: bool) = if b then f32.exp x else f32.sin x")
    (fun,) = compiled(text)[1].funs
    assert [type(s.exp).__name__ for s in fun.body.stms] == ["If"]


def test_invariant_array_operations_leave_loops() -> None:
    text = (VECTOR + "loop s = 0 for _i < 5 do s + i32.sum (map (+ 1) xs)")
    assert optimised_shape(text) == "redomap loop"


# Common subexpressions and dead code


def test_equal_reductions_are_computed_once() -> None:
    text = ("entry main [n] (xs: [n]f32) = let mean = reduce (+) 0 xs / f32.i64 n "
            "in map (\\x -> x - reduce (+) 0 xs / f32.i64 n * mean) xs")
    assert optimised_shape(text) == "redomap map"


def test_what_is_not_needed_goes() -> None:
    text = (VECTOR + "let ys = map (\\x -> x / 0) xs let _z = xs[100] in xs")
    core, optimised = compiled(text)
    assert optimised.funs[0].body.stms == ()
    with pytest.raises(ProgramFailure):
        interpret(core, "main", [XS])


@pytest.mark.parametrize("text", [
    VECTOR + "let _ys = map (\\x -> assert (x > 3) x) xs in n",
    VECTOR + "let _y = loop y = 0 for i < n do assert (xs[i] > 3) y in n",
    VECTOR + "let _y = if xs[0] > 2 then assert (n > 7) 1 else 2 in n",
    VECTOR + "let _y = reduce (\\x y -> assert (x > y) x) 0 xs in n",
])
def test_assertions_stay(text: str) -> None:
    _, optimised = compiled(text)
    assert any(isinstance(exp, Assert) for exp in expressions(optimised.funs[0].body))
    with pytest.raises(ProgramFailure):
        interpret(optimised, "main", [XS])


def test_known_indices_are_not_checked() -> None:
    text = (MATRIX + "map (\\i -> loop s = 0 for j < m do s + xss[i, j]) (iota n)")
    assert "checked" not in pretty(compiled(text)[1])


def test_a_branch_knows_its_condition() -> None:
    text = ("entry main (x: i32) = let c = x < 3 in "
            "if c then (if c then x else x / 0) else (if c then x / 0 else x * 2)")
    assert shape(compiled(text)[1].funs[0].body) == "if"


def test_sizes_that_are_equal_become_one() -> None:
    text = ("entry main [n][m] (xs: [n]i32) (ys: [m]i32) = "
            "let zs = ys :> [n]i32 in map2 (+) xs zs")
    core, optimised = compiled(text)
    assert "reshape" not in pretty(optimised)
    with pytest.raises(ProgramFailure):
        interpret(optimised, "main", [XS, XS[:2]])
    for a, b in zip(interpret(core, "main", [XS, XS]), interpret(optimised, "main", [XS, XS]),
                    strict=True):
        np.testing.assert_array_equal(a, b)


# The pipeline


FUSED = VECTOR + "i32.sum (map (+ 1) (map (* 2) xs))"


def test_fuel_bounds_the_number_of_firings() -> None:
    whole: Counter[str] = Counter()
    compiled(FUSED, trace=lambda rule, _b, _a: whole.update([rule.name]))
    for fuel in range(whole.total() + 1):
        fired: Counter[str] = Counter()
        core, optimised = compiled(FUSED, fuel=fuel,
                                   trace=lambda rule, _b, _a, f=fired: f.update([rule.name]))
        assert fired.total() == fuel
        assert interpret(core, "main", [XS]) == interpret(optimised, "main", [XS])


def test_passes_can_be_left_out_and_watched() -> None:
    seen: list[str] = []
    _, optimised = compiled(FUSED, disabled=frozenset({"fuse"}),
                            watch=lambda name, _before, _after: seen.append(name))
    assert "fuse" not in seen
    assert len(seen) == sum(each.name != "fuse" for each in pipeline.STANDARD)
    assert shape(optimised.funs[0].body) == "map map redomap"


@pytest.mark.parametrize("every", [False, True])
def test_a_pass_that_breaks_the_program_is_named(every: bool,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "EVERY_PASS", every)

    def breaks(program: Program, rewriting: Rewriting) -> Program:
        (fun,) = program.funs
        wrong = Stm((Param(rewriting.names.fresh("y"), Prim.I32),), AtomExp(VName("nowhere", 99)))
        return Program((replace(fun, body=Body((*fun.body.stms, wrong), fun.body.result)),))

    names = Names()
    core = load(Source("t", FUSED), names)
    with pytest.raises(CompilerBug, match=r"in pass 2, 'breaks'.*nowhere_99"):
        run_passes((HOIST, Pass("breaks", "", breaks)), core, names, phase="core")


def test_long_programs_take_few_rounds() -> None:
    """Work per statement does not grow with the program: rules fire once per place."""
    names = Names()
    lines = [f"let x{k + 1} = (x{k} ^ x{k}) + x{k} * y{k % 3}" for k in range(300)]
    text = "entry main (x0: i32) (y0: i32) (y1: i32) (y2: i32) = " + " ".join(lines) + " in x300"
    core = load(Source("t", text), names)
    fired: Counter[str] = Counter()
    optimise(core, names, Rewriting(names, trace=lambda rule, _b, _a: fired.update([rule.name])))
    assert fired["same_operands"] == 300
    assert fired.total() <= 4 * 300 + 10


@pytest.mark.parametrize("node", [Map, Redomap, Scanomap, Loop])
def test_attributes_and_places_survive(node: type) -> None:
    text = (VECTOR + "#[opaque] map (+ 1) xs" if node is Map else
            VECTOR + "#[opaque] reduce (+) 0 xs" if node is Redomap else
            VECTOR + "#[opaque] scan (+) 0 xs" if node is Scanomap else
            VECTOR + "#[opaque] loop s = 0 for i < n do s * xs[i] + 1")
    stms = compiled(text)[1].funs[0].body.stms
    (stm,) = [s for s in stms if isinstance(s.exp, node)]
    assert "opaque" in stm.attrs
    assert stm.loc is not None


def test_index_arithmetic_is_exact() -> None:
    exp = PrimOp("add", Prim.I64, (i64(2**62), i64(2**62)))
    names = Names()
    y = Param(names.fresh("y"), Prim.I64)
    core = load(Source("t", "entry main (x: i64) = x"), names)
    (fun,) = core.funs
    program = Program((replace(fun, body=Body((Stm((y,), exp),), (y.name,))),))
    assert interpret(optimise(program, names), "main", [np.int64(0)]) == [np.int64(-(2**63))]
