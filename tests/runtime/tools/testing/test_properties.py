"""Properties: ``#[prop]`` entry points on random arguments."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from runelift.runtime.tools.commands.cli import main

RIGHT = """
-- ==
-- property: involution, unzipped
#[prop]
entry involution (xs: []i32) = and (map2 (==) (reverse (reverse xs)) xs)
#[prop]
entry unzipped [n] (p: ([n](i8, f64), bool)): bool = length p.0 == n
"""
MADE = """
-- ==
-- property: short
entry made (size: i64) (seed: i32): []i64 =
  map (\\i -> (i * i64.i32 seed) % 7) (iota (size % 20))
entry half (xs: []i64) (r: u64): []i64 =
  if r % 2 == 0 then xs[:length xs / 2] else xs[1:]
entry text (xs: []i64): []u8 = map (\\x -> 48 + u8.i64 x) (map length (map (const xs) (iota 1)))
#[prop(gen(made), shrink(half), pprint(text), size(30))]
entry short [n] (xs: [n]i64): bool = n < 3
"""
SUM = """
-- ==
-- property: pointed
type shape = #point | #box i32
entry made (size: i64) (seed: i64): shape =
  if seed % 2 == 0 then #point else #box (i32.i64 size)
GEN
entry pointed (s: shape): bool = match s case #point -> true case #box w -> w < 4
"""


def run(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str], *options: str
        ) -> tuple[int, str]:
    (path := tmp_path / "properties.fut").write_text(text)
    status = main(["test", "--seed", "7", *options, str(path)])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("options", [("--device", "pocl"), ("--interpreter",)])
def test_properties_that_hold(tmp_path: Path, options: tuple[str, ...],
                              capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(tmp_path, RIGHT, capsys, *options)
    assert status == 0
    assert "2 passed, 0 failed" in out


@pytest.mark.parametrize("options", [("--device", "pocl"), ("--interpreter",)])
@pytest.mark.parametrize(("body", "smallest"), [
    ("(x: i32): bool = x < 1000", "1000i32"),
    ("[n] (xs: [n]u8): bool = n < 2 || xs[0] <= xs[1]", "[1u8, 0u8]"),
    ("(p: {a: i32, b: []f64}): bool = p.a < 9 || length p.b < 2", "9i32 [0.0f64, 0.0f64]"),
    ("(xs: []i64): bool = assert (length xs < 1) true", "[0i64], where it fails: "),
])
def test_the_smallest_counterexample(body: str, smallest: str, options: tuple[str, ...],
                                     tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(tmp_path, f"-- ==\n-- property: p\n#[prop]\nentry p {body}\n", capsys,
                      *options)
    assert status == 1
    assert f"p: property: FAILED: it is false for {smallest}" in out
    assert "(--seed 7)" in out


def test_arguments_that_the_program_makes_and_shrinks(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(tmp_path, MADE, capsys, "--device", "pocl")
    assert status == 1
    assert "it is false for 3  (--seed 7)" in out, "pprint shows the length"


def test_sums_need_a_generator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(tmp_path, SUM.replace("GEN", "#[prop]"), capsys, "--interpreter")
    assert status == 1
    assert "Name an entry point that makes it: #[prop(gen(f))]" in out
    status, out = run(tmp_path, SUM.replace("GEN", "#[prop(gen(made))]"), capsys, "--interpreter")
    assert status == 1
    assert "it is false for " in out


@pytest.mark.parametrize(("attribute", "name", "text"), [
    ("#[prop]", "q", "'q' is no property"),
    ("#[prop(genn(f))]", "p", "has no option 'genn'"),
    ("#[prop(size(none))]", "p", "size of #[prop] should be a positive number"),
    ("#[prop(gen)]", "p", "options of #[prop] should be as in"),
    ("#[prop(gen(missing))]", "p", "Unknown entry point 'missing'"),
    ("#[prop(gen(p))]", "p", "'p' should take a size and a seed"),
])
def test_wrong_properties(attribute: str, name: str, text: str, tmp_path: Path,
                          capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(tmp_path, f"-- ==\n-- property: {name}\n{attribute}\n"
                                "entry p (x: i32): bool = x == x\n", capsys, "--interpreter")
    assert status == 1
    assert text in out


def test_a_property_is_a_bool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(tmp_path, "-- ==\n-- property: p\n#[prop]\nentry p (x: i32) = x + 1\n", capsys,
                 "--interpreter")
    assert "'p' should return a bool" in out


def test_hypothesis_is_optional(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "hypothesis":
            raise ImportError(name)
        return load(name, *args, **options)

    monkeypatch.delitem(sys.modules, "runelift.runtime.tools.testing.properties", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    status, out = run(tmp_path, RIGHT, capsys, "--interpreter")
    assert status == 0
    assert "2 skipped: properties need Hypothesis: pip install hypothesis" in out
    assert "0 failed, 2 skipped" in out
