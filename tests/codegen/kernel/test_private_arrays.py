"""Arrays of a work-item on devices that run work-items in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.imp.traverse import statements
from runelift.runtime.programs.program import Program
from tests.codegen.harness import lockstep
from tests.replays import results_agree

SOURCE = """
def walk [m] (k: i64) (xs: [m]i32): [m]i32 =
  #[sequential] loop ys = xs for i < k do
    map2 (\\y j -> y * 3 + ys[(j * 7 + i) % m]) ys (iota m)

entry short [n] (xss: [n][91]i32): [n]i32 =
  #[sequential_inner] map (\\xs -> let ys = walk 3 xs in ys[1] + ys[90]) xss

entry rows [n] (xss: [n][91]i32): [n][91]i32 =
  #[sequential_inner] map (walk 2) xss

entry long [n] (xss: [n][2100]i32): [n]i32 =
  #[sequential_inner] map (\\xs -> let ys = walk 2 xs in ys[1] + ys[90]) xss

entry many [n] (xss: [n][1500]i32): [n]i32 =
  #[sequential_inner]
  map (\\xs -> let as = walk 1 xs
               let bs = walk 2 as
               let cs = walk 3 bs
               in as[5] + bs[6] + cs[7] + reduce (+) 0 (map2 (*) as bs)) xss

entry folded [n] (xss: [n][91]i32): i32 =
  i32.sum (#[sequential_inner] map (\\xs -> let ys = walk 2 xs in ys[1] + ys[90]) xss)
"""
LENGTHS = {"short": 91, "rows": 91, "long": 2100, "many": 1500, "folded": 91}


@pytest.fixture(scope="module")
def reference() -> Program:
    return runelift.compile(SOURCE, device="interpreter")


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {name: lockstep(SOURCE, name) for name in ("oclgrind", "Portable")}


def bytes_of(program: Program, entry: str) -> list[tuple[int, bool]]:
    """The bytes of private arrays in each kernel of an entry point, and if it has scratch memory.
    """
    steps = program.compiled.plan(entry, interleave=True).steps
    scratch = {step.name for step in plan.all_steps(steps) if isinstance(step, plan.Alloc)}
    found = []
    for step in plan.all_steps(steps):
        if isinstance(step, plan.Launch):
            arrays = [s for s in statements(step.kernel.body) if isinstance(s, imp.DeclareArray)]
            found.append((sum(s.length * s.prim.bytes for s in arrays if isinstance(s.length, int)),
                          any(p.name in scratch and p.name.base == "loop"
                              for p in step.kernel.params)))
    return found


@pytest.mark.parametrize("device", ["oclgrind", "Portable"])
@pytest.mark.parametrize("entry", LENGTHS)
def test_results(reference: Program, programs: dict[str, Program], device: str,
                 entry: str) -> None:
    rng = np.random.default_rng(7)
    xss = rng.integers(-9, 9, (3 if device == "oclgrind" else 21, LENGTHS[entry])).astype(np.int32)
    expected, _ = reference.run(entry, [xss])
    results_agree(programs[device], entry, [xss], [np.asarray(e) for e in expected])


@pytest.mark.parametrize("entry", ["short", "folded"])
def test_arrays_of_constant_size_are_private(reference: Program, entry: str) -> None:
    for size, _ in bytes_of(reference, entry):
        assert size in (0, *(91 * 4 * k for k in range(1, 6)))
    assert any(size for size, _ in bytes_of(reference, entry))
    assert not any(scratch for _, scratch in bytes_of(reference, entry))


def test_large_arrays_are_not_private(reference: Program) -> None:
    """A single one above the limit, and several that together exceed the memory there is."""
    assert all(size == 0 for size, _ in bytes_of(reference, "long"))
    assert any(scratch for _, scratch in bytes_of(reference, "long"))
    assert all(size <= 16384 for size, _ in bytes_of(reference, "many"))
    assert any(size > 0 for size, _ in bytes_of(reference, "many"))
