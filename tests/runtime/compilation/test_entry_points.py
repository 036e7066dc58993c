"""Entry points go through the compiler one by one, when they are asked for."""

from __future__ import annotations

import gc
import pickle

import numpy as np

import runelift
from runelift.codegen.plan.plan import kernels
from runelift.ir.base.source import Source
from runelift.runtime.cache.fast_pickle import dumps
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source

SOURCE = """
entry sums [n][m] (xss: [n][m]i32): [n]i32 = map (\\xs -> reduce (+) 0 (map (* 2) xs)) xss
entry scans [n][m] (xss: [n][m]i32): [n][m]i32 = map (scan (+) 0) xss
entry small (x: i32): i32 = x + 1
"""
ENTRIES = ("sums", "scans", "small")


def made(compiled: Compiled) -> set[str]:
    """The entry points that have gone through all stages."""
    return set(compiled.stages()[1])


def source() -> Compiled:
    return compile_source(Source("program", SOURCE))


def test_a_call_compiles_its_entry_point_only() -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    assert made(program.compiled) == set()
    assert program.entries == ENTRIES
    assert list(program.sums(np.array([[1, 2], [3, 4]], np.int32))) == [6, 14]
    assert made(program.compiled) == {"sums"}


def test_a_program_with_one_entry_point_is_compiled_at_once() -> None:
    assert made(compile_source(Source("program", "entry main (x: i32) = x + 1"))) == {"main"}


def test_plans_do_not_depend_on_the_order_of_calls() -> None:
    one, other = source(), source()
    plans = {entry: one.plan(entry) for entry in ENTRIES}
    assert {entry: other.plan(entry) for entry in reversed(ENTRIES)} == plans


def test_costs_are_added_to_a_plan_when_they_are_asked_for() -> None:
    one = source()
    before = one.plan("sums", costed=False)
    assert not before.works
    assert one.plan("sums", costed=False) is before
    whole = one.plan("sums")
    assert whole.works
    assert one.plan("sums", costed=False) is one.plan("sums") is whole
    assert list(map(id, kernels(whole.steps))) == list(map(id, kernels(before.steps)))
    assert whole == source().plan("sums")


def test_kernels_are_shown_without_costs() -> None:
    program = runelift.compile(SOURCE, device="interpreter")
    program.source("kernels", "sums")
    program.source("imp", "scans")
    assert len(program.compiled.uncosted) == len(program.compiled.plans) == 2
    program.source("host", "sums")
    assert len(program.compiled.uncosted) == 1


def test_costs_of_a_program_that_was_stored_without_them() -> None:
    before = source()
    before.plan("sums", costed=False)
    found: Compiled = pickle.loads(dumps(before))
    assert found.plan("sums") == source().plan("sums")


def test_a_program_that_was_stored_early_makes_the_other_entry_points() -> None:
    before = source()
    before.plan("sums")
    found: Compiled = pickle.loads(dumps(before))
    assert made(found) == {"sums"}
    assert found.plan("scans") == source().plan("scans")


def test_all_entry_points_are_there_when_all_are_asked_for() -> None:
    compiled = source()
    assert [fun.name for fun in compiled.versioned.funs] == list(ENTRIES)
    assert made(compiled) == set(ENTRIES)


def test_compiling_leaves_garbage_collection_as_it_was() -> None:
    before = gc.get_threshold()
    runelift.compile(SOURCE, device="interpreter")
    assert gc.get_threshold() == before
