"""Every rule of derivatives, on a function that needs it.

Four answers agree: the pass, the oracle of the interpreter, central differences at two step sizes,
and the product with a random vector from the other side.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from runelift.frontend.load import load
from runelift.ir.base.errors import NoDerivative, ProgramWarning
from runelift.ir.base.source import Source
from runelift.ir.check import check
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Program
from runelift.rewrite.derive.derive import BOOKS, DERIVATIVES, derive
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.passes.fuse import fuse
from runelift.rewrite.pipeline import optimise

IS = np.array([0, 2, 1, 7, 2, -1])
XS = np.array([0.7, -1.3, 2.1, 0.4, 1.9, -0.6])
ENTRIES = """
entry primal [n] (is: [n]i64) (xs: [n]f64) = f is xs
entry forward [n] (is: [n]i64) (xs: [n]f64) (ts: [n]f64) = jvp (f is) xs ts
entry reverse [n] (is: [n]i64) (xs: [n]f64) ys = vjp (f is) xs ys
entry nested [n] (is: [n]i64) (xs: [n]f64) (ts: [n]f64) ys =
  jvp (\\xs -> vjp (f is) xs ys) xs ts
"""
HEAD = "def f [n] (is: [n]i64) (xs: [n]f64): []f64 = "
PAIRS = "let (a, b) = unzip ({}) in a ++ b"
COMBINE = "(\\(a, b) (c, d) -> (a * c, a * d + b))"

LEAST = ("(\\(a, i) (b, j) -> if a < b then (a, i) else if b < a then (b, j) "
         "else (a, i64.min i j))")

REACH: dict[str, str] = {
    "operation": "map (\\x -> f64.sin x * x + f64.exp (x / 3) - f64.max x 1 ** 1.5) xs",
    "conversion": "map (\\x -> f64.f32 (f32.f64 x)) xs",
    "linear": "let ys = copy xs with [1] = xs[0] * xs[2] in ys[1:4] ++ xs[::-1]",
    "copy": "let ys = copy xs let ys[0] = 2 in map2 (*) ys xs",
    "index": "[xs[0] * xs[1], xs[2] * f64.sum xs[1:3]]",
    "update": "let ys = copy xs with [2] = xs[0] * xs[1] in map (** 2) ys",
    "literal": "map (\\x -> x * xs[1]) [xs[0], xs[1] ** 2, 3]",
    "concat": "map (** 2) (xs ++ [xs[0]] ++ xs)",
    "rearrange": "flatten (transpose [xs, map (* 2) xs])",
    "reshape": "flatten (map (map (** 2)) (unflatten (xs :> [2 * 3]f64)))",
    "replicate": "map (\\ys -> ys[0] * f64.sum ys) (replicate 3 xs)",
    "slide": "map (\\ws -> ws[0] * ws[1]) (lift.slide 2 1 xs)",
    "pad": "map (** 2) (lift.pad 2 1 xs[0] xs)",
    "branch": "map (\\x -> if x > 0 then x * xs[0] else xs[1] ** 2) xs",
    "loop": "loop ys = xs for i < 3 do map2 (*) ys (map (+ xs[i]) (rotate 1 ys))",
    "updates": "loop ys = copy xs for i < n - 1 do let ys[i + 1] = ys[i] * ys[i + 1] "
               "in ys with [is[i] % n] = ys[i + 1] + xs[i]",
    "map": "map (\\x -> x * xs[0] + f64.sum (map (* x) xs)) xs",
    "gathers": "map (\\i -> loop s = 0 for j < n do s + xs[(i * j) % n] * xs[j]) is",
    "ragged": "map (\\i -> loop s = 1 for j < i do s * xs[(i * j) % n] + xs[(i + j) % n]) is",
    "ragged_rows": "let xss = map (\\x -> map (* x) xs) xs in map (\\i -> f64.minimum (map "
                   "(\\xs -> loop s = 0 for j < i do s + xs[(i + j) % n] ** 2) xss)) is",
    "ragged_sums": "loop ys = xs for k < 2 do map2 (\\i y -> loop s = y for j < i % 3 do "
                   "if j == 0 then s else s * ys[(i + j) % n]) is ys",
    "segments": "map (\\i -> f64.sum (map (\\j -> xs[(i + j) % n] * xs[j]) (iota (i % 4)))) is",
    "segment_rows": "let xss = map (\\x -> map (* x) xs) xs in map (\\i -> loop s = 1 for j < i "
                    "% 4 do s / 2 + f64.sum (map2 (*) xss[(i + j) % n] xss[i % n])) is",
    "segment_gathers": "let ys = map (** 2) xs in map (\\i -> f64.sum (loop zs = xs[:3] for j < "
                       "i % 4 do map2 (\\z k -> z * ys[(i + j * k) % n] + xs[(i * k) % n]) zs "
                       "(iota 3))) is",
    "segment_slices": "map (\\i -> f64.sum (map2 (\\x k -> x * xs[k % n]) xs[i % 3:i + 1] "
                      "is[i % 3:i + 1])) [0, 2, 1, 3, 4, 0]",
    "slices": "map (\\i -> f64.sum (map (** 2) xs[i:i + 3]) * xs[i]) (iota (n - 2))",
    "parts": "let (a, b) = reduce (\\(a, b) (c, d) -> (a + c, b * d)) (0, 1) "
             "(zip xs (map (+ 1) xs)) in [a * b, f64.maximum (map (* 3) xs)]",
    "sum": "[f64.sum (map (** 2) xs)] ++ reduce (map2 (+)) (replicate 2 0) "
           "(map (\\x -> [x, x * x]) xs)",
    "extreme": "[f64.minimum xs * xs[0], f64.maximum (map f64.abs xs)]",
    "selection": f"let least = {LEAST} let vs = zip xs (iota n) let e = (9, 0) "
                 "let (v, i) = reduce least e vs let (ss, _) = unzip (scan least e vs) "
                 "let (hs, _) = unzip (reduce_by_index (zip (map (/ 2) xs) is) least e is vs) "
                 "in [v * v, f64.i64 i * xs[0]] ++ map (** 2) ss ++ map (** 3) hs",
    "columns": "reduce (map2 (*)) (replicate 2 1) (map (\\x -> [x, x + 1]) xs)",
    "pairs": "[reduce (*) 1 xs]",
    "product": "[reduce (*) 1 xs, f64.product (map (* 2) xs[1:4])]",
    "hist_product": "reduce_by_index (map (* 2) xs) (*) 1 is (rotate 1 xs)",
    "reduction": "let (a, b) = reduce (\\(a, b) (c, d) -> (a * c, a * d + b)) (1, 0) "
                 "(zip xs (rotate 1 xs)) in [a, b]",
    "sequential": "flatten (reduce (\\a b -> map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) "
                  "(transpose b)) a) [[1, 0], [0, 1]] (map (\\x -> [[x, 1], [0, x * x]]) xs))",
    "scan_sum": "scan (+) 0 (map (** 2) xs)",
    "scan": PAIRS.format(f"scan {COMBINE} (1, 0) (zip xs (rotate 1 xs))"),
    "hist_sum": "hist (+) 0 3 is (map (** 2) xs)",
    "hist_extreme": "reduce_by_index [0, -5, 3] f64.max (-9) is (map (* xs[0]) xs)",
    "buckets": "let (a, b) = unzip (reduce_by_index (zip xs (map (+ 1) xs)) "
               "(\\(a, b) (c, d) -> (a * d + b * c, b * d)) (0, 1) is (zip (map (** 2) xs) xs)) "
               "in a ++ b",
    "hist_pairs": "reduce_by_index (map (* 2) xs) (*) 1 is (map (+ 3) xs)",
    "scatter": "scatter (map (* 2) xs) [0, 2, 9] [xs[1] ** 2, xs[0], 3]",
    "accumulate": "reduce_by_index_stream (map (** 2) xs) (+) 0 "
                  "(\\(acc: *intrinsics.acc ([n]f64)) i -> "
                  "if i > 0 then intrinsics.acc_write acc i (xs[i % n] * xs[0]) else acc) is",
    "write": "reduce_by_index_stream (copy xs) (+) 0 (\\(acc: *intrinsics.acc ([n]f64)) x -> "
             "intrinsics.acc_write acc (i64.f64 x) (x * x)) xs",
    "custom": "with_vjp (map (** 2)) (\\_ y -> map2 (*) y (map (* 2) xs)) xs",
}
"""A function for each construct; the rules for it are ``forward_NAME`` and ``reverse_NAME``."""
GENERAL = {"forward_sum", "reverse_sum", "forward_extreme", "reverse_extreme", "forward_selection",
           "reverse_selection", "reverse_product", "reverse_hist_product", "forward_columns",
           "reverse_columns", "forward_scan_sum", "reverse_scan_sum", "reverse_scan",
           "reverse_reduction", "forward_hist_sum", "reverse_hist_sum", "forward_hist_extreme",
           "reverse_hist_extreme", "reverse_buckets"}
"""Rules without which a more general one applies."""
COMBINED = ("map", "ragged_rows", "slices", "sum", "extreme", "selection", "columns", "product",
            "sequential", "scan_sum", "hist_sum", "hist_extreme", "hist_pairs")
"""Functions whose reductions, scans and histograms join with maps before."""
NAMES = [rule.name for rule in DERIVATIVES]
STEPS = (1e-4, 1e-5)
LONG_STEPS = (1.0, 0.5)
"""Steps for functions that are linear, but round to 32 bits."""


class Derived(NamedTuple):
    """A program with derivatives, and after their expansion."""

    core: Program
    expanded: Program
    fired: set[str]


def derived(text: str, off: frozenset[str] = frozenset(), *, fused: bool = False) -> Derived:
    names = Names()
    core = load(Source("t", HEAD + text + ENTRIES), names)
    assert parse(pretty(core)) == core
    if fused:
        core = fuse(core, Rewriting(names))
    rewriting = Rewriting(names, off)
    expanded = derive(core, rewriting)
    check(expanded)
    return Derived(core, expanded, {name for name in rewriting.fired if name in NAMES})


def run(program: Program, entry: str, *args: Any) -> Any:
    (found,) = interpret(program, entry, [IS, *args])
    return found


def slopes(core: Program, ts: Any, steps: tuple[float, float]) -> Any:
    """The derivative along ``ts`` by central differences, which is not at a kink."""
    found = [(run(core, "primal", XS + h * ts) - run(core, "primal", XS - h * ts)) / (2 * h)
             for h in steps]
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)
    return found[1]


def agree(program: Derived, steps: tuple[float, float] = STEPS) -> None:
    rng = np.random.default_rng(3)
    ts = rng.integers(-9, 9, XS.shape) / 4
    expected = run(program.core, "primal", XS)
    ys = rng.integers(-9, 9, expected.shape) / 4
    along = [run(each, "forward", XS, ts) for each in (program.core, program.expanded)]
    back = [run(each, "reverse", XS, ys) for each in (program.core, program.expanded)]
    np.testing.assert_allclose(along[1], along[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back[1], back[0], rtol=1e-12, atol=1e-12)
    assert np.isclose(ys @ along[0], back[0] @ ts, rtol=1e-10)
    np.testing.assert_allclose(along[0], slopes(program.core, ts, steps), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", REACH)
def test_both_modes_agree_with_oracles_and_differences(name: str) -> None:
    program = derived(REACH[name], fused=name == "parts")
    rule = {"updates": "loop", "gathers": "loop", "slices": "index"}.get(name, name)
    assert {f"forward_{rule}", f"reverse_{rule}"} & {*NAMES} <= program.fired
    agree(program, LONG_STEPS if name == "conversion" else STEPS)


@pytest.mark.parametrize("name", REACH)
def test_derivatives_of_derivatives(name: str) -> None:
    program = derived(REACH[name])
    ts, ys = np.random.default_rng(5).normal(size=(2, XS.size * 4))
    ys = ys[:run(program.core, "primal", XS).size]
    found = [run(each, "nested", XS, ts[:XS.size], ys)
             for each in (program.core, program.expanded)]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", sorted(GENERAL))
def test_a_general_rule_is_left(name: str) -> None:
    program = derived(REACH[name.partition("_")[2]], frozenset({name}))
    assert name not in program.fired
    agree(program)


@pytest.mark.parametrize("name", COMBINED)
def test_without_parts_operators_become_loops(name: str) -> None:
    program = derived(REACH[name], frozenset({"reverse_parts"}), fused=True)
    assert "reverse_sequential" in program.fired
    agree(program)


@pytest.mark.parametrize("name", sorted(
    {*NAMES} - GENERAL - {"forward_constant", "reverse_parts"}))
def test_a_derivative_without_its_only_rule_is_refused(name: str) -> None:
    text = REACH[name.partition("_")[2]]
    with pytest.raises(NoDerivative, match=r"^t:\d"):
        derived(text, frozenset({name}), fused="parts" in name)


@pytest.mark.parametrize("name", REACH)
def test_passes_behind_keep_the_meaning(name: str) -> None:
    names = Names()
    core = load(Source("t", HEAD + REACH[name] + ENTRIES), names)
    optimised = optimise(core, names)
    ts = np.random.default_rng(3).normal(size=XS.shape)
    np.testing.assert_allclose(run(optimised, "forward", XS, ts), run(core, "forward", XS, ts),
                               rtol=1e-12, atol=1e-12)


def test_every_rule_has_a_function() -> None:
    fired = set().union(*(derived(text, fused=name == "parts").fired
                          for name, text in REACH.items()))
    assert set(NAMES) == fired | {"forward_constant"}
    assert {rule.name for rule in BOOKS.forward.rules} | {
        rule.name for rule in BOOKS.reverse.rules} == set(NAMES)


@pytest.mark.parametrize(("text", "why"), [
    ("map f64.gamma xs", "gamma"),
    ("scatter_stream (copy xs) (\\(acc: *intrinsics.acc ([n]f64)) x -> "
     "intrinsics.acc_write acc 0 x) xs",
     "scatter_stream"),
])
def test_what_has_no_derivative_is_refused(text: str, why: str) -> None:
    with pytest.raises(NoDerivative, match=why) as error:
        derived(text)
    assert "error[no-derivative]" in str(error.value)


def test_adjoints_of_with_vjp_leave_out_what_they_capture() -> None:
    with pytest.warns(ProgramWarning, match="custom-adjoint-captures"):
        program = derived("with_vjp (map (* xs[0])) (\\_ y -> map (* 3) y) xs")
    for each in (program.core, program.expanded):
        np.testing.assert_array_equal(run(each, "reverse", XS, np.ones(6)), np.full(6, 3))


@pytest.mark.parametrize(("body", "is_constant"), [
    ("map (\\x -> f64.bool (x > 1)) xs", True), ("map (\\i -> f64.i64 (i + n)) is", True),
    ("map (\\x -> if x > 1 then f64.floor x else 2) xs", True),
    ("loop ys = map f64.round xs for i < 3 do map (* 2) ys", True),
    ("loop ys = map f64.round xs for i < 3 do map2 (+) ys xs", False),
    ("map (\\x -> if x > 1 then x else 2) xs", False)])
def test_derivatives_that_are_always_zero_are_warned_of(body: str, is_constant: bool) -> None:
    with warnings.catch_warnings(record=True, action="always") as caught:
        core = load(Source("t", HEAD + body + ENTRIES), Names())
    codes = [w.message.diagnostic.code for w in caught if isinstance(w.message, ProgramWarning)]
    assert codes == ["constant-derivative"] * 3 * is_constant
    assert is_constant is not run(core, "reverse", XS, np.ones(6)).any()


def test_what_does_not_vary_needs_no_derivative() -> None:
    agree(derived("map2 (\\x i -> x * f64.gamma (f64.i64 i + 3)) xs (iota n)"))


@pytest.mark.parametrize("text", [
    "map2 (\\x i -> (x + i) * x % 1000 - (x << 3)) xs is", "scan (*) 1 xs",
    "reduce_by_index (copy xs) (*) 1 is (map (+ 3) xs)", "[reduce (*) 1 xs, i64.maximum xs]",
    "let (a, b) = unzip (scan (\\(a, b) (c, d) -> (a * c, a * d + b)) (1, 0) (zip xs is)) "
    "in a ++ b", "loop ys = xs for i < 4 do map2 (*) ys (rotate i xs)",
])
def test_integers_are_exact(text: str) -> None:
    names, rng = Names(), np.random.default_rng(2)
    core = load(Source("t", (HEAD + text + ENTRIES).replace("f64)", "i64)").replace(
        "[]f64", "[]i64").replace("ys =", "(ys: []i64) =")), names)
    expanded = derive(core, Rewriting(names))
    xs, ts, ys = rng.integers(-2**62, 2**62, (3, 2 * IS.size))
    xs, ts = xs[:IS.size], ts[:IS.size]
    ys = ys[:run(core, "primal", xs).size]
    along, back = run(core, "forward", xs, ts), run(core, "reverse", xs, ys)
    np.testing.assert_array_equal(run(expanded, "forward", xs, ts), along)
    np.testing.assert_array_equal(run(expanded, "reverse", xs, ys), back)
    assert ys @ along == back @ ts


@pytest.mark.filterwarnings("ignore::runelift.ir.base.errors.ProgramWarning")
def test_sizes_have_no_tangents() -> None:
    names = Names()
    core = load(Source("t", "entry main (k: i64) (m: i64): [m]i64 = "
                            "jvp (\\k -> iota k :> [m]i64) k 1"), names)
    rewriting = Rewriting(names)
    (found,) = interpret(derive(core, rewriting), "main", [3, 3])
    assert rewriting.fired["forward_constant"]
    assert not found.any()


@pytest.mark.parametrize("text", [
    REACH["selection"],
    "let (_, w) = reduce (\\(a, u) (b, v) -> if a < b then (a, u) else (b, v)) (9, [0, 0]) "
    "(zip (rotate 1 xs) (map (\\x -> [x, x * x]) xs)) in map (** 2) w",
    "let (v, i) = reduce (\\(a, i) (b, j) -> let w = a < b let k = if w then i else j "
    "in (if w then a else b, k)) (9, -1) (zip xs (iota n)) in [v * f64.i64 i]"])
def test_selections_need_no_general_rule(text: str) -> None:
    program = derived(text)
    assert not program.fired & {"forward_pairs", "forward_hist_pairs", "reverse_reduction",
                                "reverse_scan", "reverse_buckets", "reverse_sequential"}
    agree(program)


@pytest.mark.parametrize("zeros", [[], [2], [1, 4], [0, 1, 2, 3, 4, 5]])
def test_products_with_zeros(zeros: list[int]) -> None:
    program = derived(f"{REACH['product']} ++ {REACH['hist_product']}")
    xs = XS.copy()
    xs[zeros] = 0
    bins = np.array([0, 2, 0, 7, 0, -1])
    for entry, *given in (("reverse", np.arange(1.0, 9)), ("nested", XS, np.arange(1.0, 9))):
        one, other = (interpret(each, entry, [bins, xs, *given])[0]
                      for each in (program.core, program.expanded))
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


def test_mixtures_are_no_selections() -> None:
    program = derived("let (a, b) = reduce (\\(a, b) (c, d) -> if a < c then (a, d) else (c, b)) "
                      "(9, 9) (zip xs (rotate 1 xs)) in [a * b]")
    assert not program.fired & {"forward_selection", "reverse_selection"}


def test_a_branch_not_taken_adds_nothing() -> None:
    text = "map (\\x -> if x > 0 then f64.sqrt x else 0) (copy xs with [0] = 0 * xs[0])"
    program = derived(text)
    for each in (program.core, program.expanded):
        assert run(each, "reverse", XS, np.ones(6))[0] == 0


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", ["map", "sum", "extreme", "scan", "hist_sum", "hist_extreme"])
def test_short_arrays(name: str, size: int) -> None:
    text = {"extreme": "[f64.minimum xs]", "map": "map (** 2) xs", "hist_extreme":
            "reduce_by_index [0, -5, 3] f64.max (-9) is xs"}.get(name, REACH[name])
    program = derived(text)
    args = IS[:size], XS[:size]
    (primal,) = interpret(program.core, "primal", list(args))
    for entry, given in (("forward", XS[:size]), ("reverse", primal)):
        one, other = (interpret(each, entry, [*args, given])
                      for each in (program.core, program.expanded))
        np.testing.assert_allclose(one, other)
