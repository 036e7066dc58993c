"""Attributes: which versions they leave, and that they never change what a program means."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir.base.errors import ProgramWarning
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Program
from runelift.rewrite.flattening import flatten
from runelift.rewrite.pipeline import clean, optimise
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.versions.forest import forest_of, plans

ROWS = "map (\\xs -> let ys = scan (+) 0 xs in reduce i32.max 0 (map2 (*) xs ys)) xss"
HEAD = "entry main [n][m] (xss: [n][m]i32) ="
XSS = np.arange(12, dtype=np.int32).reshape(3, 4) - 5


def optimised(text: str, names: Names) -> Program:
    """The core program of a text after the optimiser."""
    return optimise(load(Source("a.fut", text), names), names)


def kinds(attribute: str) -> list[Kind]:
    """The kinds of version of a map over rows with an attribute; empty if there is no choice."""
    names = Names()
    program = clean(flatten(optimised(f"{HEAD} {attribute} {ROWS}", names), names), names)
    sites = forest_of(program).entry("main").sites().values()
    return [version.kind for site in sites for version in site.alternatives]


def loops(program: Program) -> int:
    """How many loops there are in a program."""
    return pretty(program).count("= loop (")


@pytest.mark.parametrize(("attribute", "expected"), [
    ("", [Kind.OUTER, Kind.INTRA, Kind.FLAT]),
    ("#[noinline]", [Kind.OUTER, Kind.INTRA, Kind.FLAT]),
    ("#[incremental_flattening(no_outer)]", [Kind.INTRA, Kind.FLAT]),
    ("#[incremental_flattening(no_intra)]", [Kind.OUTER, Kind.FLAT]),
    ("#[incremental_flattening(only_intra)]", []),
    ("#[incremental_flattening(only_inner)]", []),
    ("#[flattening(sequentialise_nonuniform)]", [Kind.OUTER, Kind.INTRA, Kind.FLAT]),
    ("#[sequential_inner]", []),
    ("#[sequential]", []),
    ("#[sequential_outer]", []),
])
def test_an_attribute_leaves_some_versions(attribute: str, expected: list[Kind]) -> None:
    assert kinds(attribute) == expected


@pytest.mark.parametrize("name", ["flattening", "incremental_flattening"])
@pytest.mark.parametrize("body", [
    "map (\\k -> i64.sum (map (* 2) (iota k))) ks",
    "map (\\k -> i64.sum (filter (> k) (iota (k + k)))) ks",
    "i64.sum (map (\\k -> i64.sum (map (\\i -> i64.sum (iota (k - i))) (iota k))) ks)",
    "#[flattening(only_inner)] map (\\k -> i64.sum (map (* 2) (iota k))) ks"])
def test_rows_of_different_lengths_stay_in_their_work_items(name: str, body: str) -> None:
    program = compile_source(Source("t", f"entry main [n] (ks: [n]i64) = #[{name}("
                                    f"sequentialise_nonuniform)] {body}"))
    flat = pretty(program.versioned)
    assert flat.count("seg") == 1
    assert flat.count(".grid") == 1
    assert not forest_of(program.versioned).entry("main").trees


def test_sequential_inner_means_the_operator_and_not_the_reduction() -> None:
    names = Names()
    sums = "reduce (map2 (+)) (replicate m 0) (map (\\xs -> map (\\x -> x * x) xs) xss)"
    for text in (sums, f"#[sequential_inner] {sums}"):
        flat = clean(flatten(optimised(f"{HEAD} {text}", names), names), names)
        assert "segred.grid" in pretty(flat)


@pytest.mark.parametrize("body", [
    "#[sequential] " + ROWS,
    "#[sequential_outer] " + ROWS,
    "#[sequential_outer] map (\\xs -> scan (+) 0 xs) xss",
    "#[sequential_outer] reduce (map2 (+)) (replicate m 0) xss",
    "#[sequential_outer] scan (map2 (+)) (replicate m 0) xss",
    "#[sequential_outer] reduce (+) 0 (map (\\xs -> reduce (*) 1 xs) xss)",
    "map (\\xs -> #[sequential_outer] map (\\x -> reduce (+) 0 (map (* x) xs)) xs) xss",
    "map (\\xs -> #[unroll] loop a = 1 for i < 5 do i32.i64 i ^ reduce (+) 0 (map (* a) xs)) xss",
    "map (\\xs -> #[unroll] map (\\i -> #[unsafe] xs[i %% m]) (iota 4)) xss",
    "#[sequential_inner] reduce (map2 (+)) (replicate m 0) (map (\\xs -> scan (+) 0 xs) xss)",
    "#[sequential_inner] map (\\xs -> #[noinline] reduce (+) 0 xs) xss",
    "#[no_such] #[unroll] map (\\xs -> #[sequential] scan (*) 1 xs) xss",
])
@pytest.mark.filterwarnings("ignore::runelift.ir.base.errors.ProgramWarning")
def test_a_program_means_the_same_with_attributes(body: str, simulator: str) -> None:
    program = runelift.compile(f"{HEAD} {body}", device=simulator)
    expected = interpret(program.compiled.core, "main", [XSS])
    for force in plans(program.tree.entry("main")):
        found, _ = program.run("main", [XSS], force=force)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_unroll_writes_a_loop_out_and_not_those_inside() -> None:
    inner = "loop b = a for j < 1000 do b * 3 + i32.i64 j"
    plain, unrolled = (
        loops(optimised(f"entry main (x: i32) = {attr} loop a = x for i < 4 do {inner}", Names()))
        for attr in ("", "#[unroll]"))
    assert (plain, unrolled) == (2, 4)


def test_unroll_of_a_map_reaches_the_kernel(simulator: str) -> None:
    text = f"{HEAD} map (\\xs -> #[unroll] map (\\i -> xs[i %% m]) (iota 4)) xss"
    assert "#pragma unroll" in runelift.compile(text, device=simulator).source("kernels")


def test_unsafe_leaves_out_checks() -> None:
    text = f"{HEAD} map (\\i -> {{}} xss[i, i * i]) (iota n)"
    checked, unchecked = (repr(load(Source("a.fut", text.format(attr)), Names()))
                          for attr in ("", "#[unsafe]"))
    assert "checked=True" in checked
    assert "checked=True" not in unchecked


def test_each_unknown_attribute_gives_one_warning_with_its_place() -> None:
    text = ("#[strange]\nentry main (x: i32) = #[unroll] #[odd(1)] x + #[flattening(none)] x\n"
            "def f (x: i32) = #[stripmine(k)] loop #[true_dep(1)] y = x for i < 9 do y\n"
            "def g (x: i32) = #[bound(0)] loop y = x while y < 9 do y")
    with warnings.catch_warnings(record=True, action="always") as caught:
        load(Source("a.fut", text), Names())
    remarks = sorted((w.message.diagnostic for w in caught
                      if isinstance(w.message, ProgramWarning)), key=lambda d: d.span.start)
    assert [(d.code, d.severity, d.span.line, d.span.column, d.message) for d in remarks] == [
        ("unknown-attribute", "warning", 1, 1, "Unknown attribute 'strange'; it is ignored."),
        ("unknown-attribute", "warning", 2, 33, "Unknown attribute 'odd(1)'; it is ignored."),
        ("unknown-attribute", "warning", 2, 47,
         "Attribute 'flattening' does not take 'none'; it is ignored."),
        ("unknown-attribute", "warning", 3, 18,
         "Attribute 'stripmine' does not take 'k'; it is ignored."),
        ("unknown-attribute", "warning", 3, 39,
         "Attribute 'true_dep' does not take '1'; it is ignored."),
        ("unknown-attribute", "warning", 4, 18,
         "Attribute 'bound' does not take '0'; it is ignored."),
    ]


def test_the_command_line_shows_a_warning_once(tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.fut"
    path.write_text("entry main (x: i32) = #[strange] x\n")
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().err.count("a.fut:1:23: warning[unknown-attribute]: ") == 1
    assert main(["check", "--json", str(path)]) == 0
    out, err = capsys.readouterr()
    (remark,) = json.loads(out)["warnings"]
    assert (remark["severity"], remark["line"], remark["column"]) == ("warning", 1, 23)
    assert err == ""
