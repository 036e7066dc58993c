"""Slabs: nests of rows of different lengths that run over parts of their points."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import runelift
from runelift.ir import interpret as interpreter
from runelift.ir import syntax as ir
from runelift.ir.base.errors import ProgramFailure, UserError, VersionUnavailable
from runelift.ir.base.source import Source
from runelift.ir.guards import Kind
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.traverse import statements_at_host
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.memory import elements_of_slab
from runelift.runtime.devices.profiles import profile
from runelift.runtime.execution.run import Run
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import predict_call
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans
from tests.rewrite.flatten.test_ragged import LENGTHS, PROGRAMS, arguments
from tests.runtime.memory.test_memory_run import measured

SCANS = """
  map (\\k -> let ys = scan (+) 0 (map (\\i -> i * i % 7) (iota k))
              in i64.sum (map2 (*) ys (reverse ys))) ks"""
TEXT = f"""
entry main [n] (ks: [n]i64): [n]i64 = {SCANS}

entry nested [a][b] (kss: [a][b]i64): [a][b](i64, [2]i64) =
  map (\\ks -> map (\\k -> let ys = scan (+) 0 (map (% 5) (iota k))
                           let zs = scan i64.max 0 (map (* 3) (iota (k / 2)))
                           in (i64.sum (map2 (*) ys (reverse ys)),
                               [k, i64.sum (map2 (*) zs (reverse zs))])) ks) kss
"""
STORED = ("kept", "two scans", "filter", "concatenation", "update", "scatter into rows")
"""Programs whose flat version stores arrays of elements."""


def slabs_of(program: Program, entry: str = "main") -> dict[str, int]:
    """The choices that make all nests run in slabs that can."""
    return {site.name: [each.kind for each in site.alternatives].index(Kind.SLABS)
            for site in program.tree.entry(entry).sites().values()
            if any(each.kind is Kind.SLABS for each in site.alternatives)}


def in_slabs(versions: ir.Versions) -> int:
    kinds = [each.kind for each in versions.alternatives]
    return kinds.index(Kind.SLABS) if Kind.SLABS in kinds else len(kinds) - 1


@pytest.fixture(scope="module")
def program() -> Program:
    return runelift.compile(TEXT, device="pocl", tuning={})


@pytest.mark.parametrize("name", STORED)
def test_the_interpreter_agrees_about_runs_of_few_elements(name: str) -> None:
    compiled = compile_source(Source(name, PROGRAMS[name]))
    assert parse(pretty(compiled.versioned)) == compiled.versioned
    for shape, lengths in LENGTHS.items():
        if shape in ("huge", "alternating"):
            continue
        args = arguments(name, lengths)
        expected = interpreter.interpret(compiled.core, "main", args)
        found = interpreter.interpret(compiled.versioned, "main", args, choose=in_slabs)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=shape)


LOOPS = """
entry main [n] (ks: [n]i64): [n]i64 =
  map (\\k -> (loop x = k for i < k do
                x + i64.sum (map (\\y -> i64.sum (scan (+) y (iota i))) (iota k)))
             + i64.sum (map (\\y -> i64.sum (filter (< y) (iota k))) (iota k))) ks
"""
"""The loop over active points stores arrays whose size is known only inside of it."""


def test_sizes_that_are_known_only_in_a_loop_are_not_asked_for() -> None:
    compiled = compile_source(Source("loops", LOOPS))
    assert "(slabs)" in pretty(compiled.versioned)
    args = [np.array([3, 0, 5, 1])]
    found = interpreter.interpret(compiled.versioned, "main", args, choose=in_slabs)
    np.testing.assert_array_equal(found[0], interpreter.interpret(compiled.core, "main", args)[0])


@pytest.mark.parametrize("name", ["csr", "squares", "lower"])
def test_nests_that_store_no_elements_have_no_slabs(name: str) -> None:
    versioned = compile_source(Source(name, PROGRAMS[name])).versioned
    assert "(slabs)" not in pretty(versioned)
    assert not any(isinstance(stm.exp, ir.SlabSize)
                   for stm in statements_at_host(versioned.funs[0].body))


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_slabs_of_any_size_agree(program: Program, size: int, monkeypatch: pytest.MonkeyPatch
                                 ) -> None:
    monkeypatch.setattr(Run, "slab_size", lambda self, bytes_each, longest: size)
    for lengths in LENGTHS.values():
        for entry, args in (("main", [np.array(lengths, np.int64)]),
                            ("nested", [np.array([lengths, lengths[::-1]], np.int64)])):
            expected = interpreter.interpret(program.compiled.core, entry, args)
            found, record = program.run(entry, args, force=slabs_of(program, entry), record=True)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
            assert record is not None


def test_a_point_that_fails_fails_in_slabs(program: Program) -> None:
    with pytest.raises(ProgramFailure, match="-3"):
        program.run("main", [np.array([4, 0, -3, 2])], force=slabs_of(program))


OUTSIDE = """
entry main [a][n] (xs: [n]i64) (bs: [a]i64) (ks: [n]i64): [a][n]i64 =
  map (\\b -> let x = xs[b]
              in map (\\k -> let ys = scan (+) 0 (map (* x) (iota k))
                             in i64.sum (map2 (*) ys (reverse ys))) ks) bs
"""


@pytest.mark.parametrize("kind", [Kind.ROW, Kind.GROUP, Kind.SLABS, Kind.MERGE])
def test_what_fails_outside_of_empty_segments_fails_in_every_version(kind: Kind) -> None:
    versioned = compile_source(Source("outside", OUTSIDE)).versioned

    def chosen(versions: ir.Versions) -> int:
        kinds = [each.kind for each in versions.alternatives]
        return kinds.index(kind) if kind in kinds else len(kinds) - 1

    with pytest.raises(ProgramFailure, match=r"\[5\]"):
        interpreter.interpret(versioned, "main", [
            np.array([1, 2, 3]), np.array([0, 5]), np.array([0, 0, 0])], choose=chosen)


def test_slabs_are_named_and_never_run_by_themselves(program: Program) -> None:
    text = program.tree.entry("main").render()
    assert "main.suff_slabs_2: too little memory for others" in text
    assert "V3 (slabs)" in text
    for device in ("h200", "pocl"):
        loaded = modelled(compile_source(Source("main", TEXT)), ModelledDevice(profile(device)))
        for lengths in (np.full(10_000, 1000), np.full(1_000_000, 4), np.array([10**7] + [2] * 99)):
            (choice,) = predict_call(loaded, "main", [lengths.astype(np.int64)]).choices
            seconds = {each.kind: each.seconds for each in choice.versions}
            assert choice.versions[choice.chosen].kind is not Kind.SLABS
            assert seconds[Kind.SLABS] > seconds[Kind.MERGE]


def test_a_nest_runs_in_slabs_where_no_other_version_fits(program: Program) -> None:
    lengths = np.full(20, 500_000, np.int64)  # 80 MB of scans
    expected = program.main(lengths)
    try:
        program.memory = "30MB"
        results, record = program.run("main", [lengths], record=True)
        assert record is not None
        assert [each.chosen for each in record.encounters] == [2]
        assert record.peak_bytes < 30_000_000
        np.testing.assert_array_equal(results[0], expected)
        with pytest.raises(VersionUnavailable, match="device memory"):
            program.run("main", [lengths], force={"main.versions_0": 3})
        program.memory = "3MB"
        with pytest.raises(UserError, match=r"needs .* of device memory|within the bound"):
            program.main(lengths)
    finally:
        program.memory = None


HUGE: dict[str, str] = {
    "several arrays": """[n]i64 =
      map (\\k -> let (as, bs) = unzip (scan (\\(a, b) (c, d) -> (a + c, i64.max b d)) (0, 0)
                                      (map (\\i -> (i % 3, i * 7 % 11)) (iota k)))
                  let cs = scan (+) 0 (map i32.i64 (iota k))
                  in i64.sum (map2 (*) as (reverse bs))
                     + i64.i32 (i32.sum (map2 (*) cs (reverse cs)))) ks""",
    "results that are rows": """[n][3]i64 =
      map (\\k -> let ys = scan (+) 0 (map (% 7) (iota k))
                  in scatter [k, 1, 2] (map (+ 1) (indices ys)) (reverse ys)) ks""",
    "rows that are kept": """[n](i64, i64) =
      map (\\k -> let ys = filter (\\i -> i * i % 7 < 3) (iota k)
                  in (i64.sum (map2 (*) ys (reverse ys)), length ys)) ks""",
    "rows in rows": """[n]i64 =
      map (\\k -> i64.sum (map (\\i -> let ys = scan (+) 0 (map (% 7) (iota (i / 8)))
                                      in i64.sum (map2 (*) ys (reverse ys))) (iota k))) ks""",
}


@pytest.mark.parametrize("name", HUGE)
def test_slabs_keep_within_the_bound(name: str) -> None:
    """Also where a run makes rows whose sizes are not known before it."""
    program = runelift.compile(f"entry main [n] (ks: [n]i64): {HUGE[name]}", device="pocl",
                               tuning={})
    lengths = np.array(([700, 0, 40, 1] if name == "rows in rows" else [40_000, 0, 9_000, 1]) * 25)
    slabs = slabs_of(program)
    last = {site: index + 1 for site, index in slabs.items()}
    gc.collect()  # arrays of other tests that would be freed meanwhile
    others = program.device.pool.live
    expected, whole = program.run("main", [lengths], force=last, record=True)
    assert whole is not None
    for part in (2, 4):
        program.memory = whole.peak_bytes // part
        found, record = program.run("main", [lengths], force=slabs, record=True)
        assert record is not None
        assert record.peak_bytes <= program.memory
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        foreseen = program.estimate_memory("main", [lengths], force=slabs)
        if not foreseen.unknown:  # as much as any run of segments may have
            assert record.peak_bytes - others <= foreseen.bytes <= program.memory


@pytest.mark.parametrize("bound", [None, "60MB", "30MB", "12MB"])
def test_memory_is_foreseen_within_the_bound(program: Program, bound: str | None) -> None:
    lengths = np.full(20, 500_000, np.int64)
    gc.collect()  # arrays of other tests that would be freed meanwhile
    others = program.device.pool.live
    try:
        program.memory = bound
        found = program.estimate_memory("main", [lengths])
        _, record = program.run("main", [lengths], record=True)
        assert record is not None
        (encounter,) = record.encounters
        assert (encounter.chosen == 2) is (bound in ("30MB", "12MB"))
        assert record.peak_bytes - others <= found.bytes <= (program.memory or found.bytes)
        if encounter.chosen != 2:
            assert found.bytes == measured(program, "main", [lengths], {})
    finally:
        program.memory = None


def test_a_row_that_is_too_long_is_refused_with_a_cure(program: Program) -> None:
    try:
        program.memory = "3MB"
        with pytest.raises(UserError, match="the longest has 900,000 elements: split long rows, "
                                            r"or allow more memory \(--memory\)"):
            program.main(np.array([5, 900_000, 3]))
    finally:
        program.memory = None
    with pytest.raises(UserError, match="split long rows, or take a device with more memory"):
        program.main(np.array([5, 1 << 40, 3]))


@pytest.mark.parametrize("lengths", [[1 << 62] * 4, [1 << 60] * 16 + [5], [3, 1 << 61] * 4])
@pytest.mark.parametrize("policy", ["all", "classic", "full"])
def test_lengths_whose_sum_is_beyond_an_i64_are_refused(lengths: list[int], policy: str) -> None:
    """The sum is 2^63 or 2^64, or wraps around to a few elements."""
    program = runelift.compile(TEXT, device="pocl", tuning={}, policy=policy)
    for force in ({}, *plans(program.tree.entry("main"))):
        with pytest.raises((UserError, VersionUnavailable),
                           match=r"Out of device memory|cannot run"):
            program.run("main", [np.array(lengths)], force=force)


def test_a_nest_that_would_need_100_gb_runs_in_slabs(program: Program) -> None:
    lengths = np.full(10_000, 1_250_000, np.int64)
    merge = program.estimate_memory("main", [lengths], force={"main.versions_0": 3})
    need = merge.need_of("main.versions_0", 3)
    assert need is not None
    assert need.bytes is not None
    assert need.bytes > 100_000_000_000
    slabs = program.estimate_memory("main", [lengths], force=slabs_of(program))
    assert not merge.unknown
    assert merge.bytes == slabs.bytes < 200_000_000


@pytest.mark.parametrize("bound", [1 << 20, 1 << 24, 1 << 30])
def test_runs_take_the_memory_that_is_left(bound: int) -> None:
    sizes = [elements_of_slab(bound, each, 1000) for each in (8, 24, 100)]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size * each < bound for size, each in zip(sizes, (8, 24, 100), strict=True))
    assert elements_of_slab(0, 8, 1000) == 1
