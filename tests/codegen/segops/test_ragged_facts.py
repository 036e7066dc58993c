"""Facts about the lengths of segments agree with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.plan import plan
from runelift.codegen.segops.ragged_facts import lower_facts
from runelift.ir.length_facts import length_facts
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Fact
from runelift.ir.sizes import Size
from runelift.ir.syntax import ArrayLit, Param, Stm
from runelift.ir.types import ArrayType, i64
from tests.codegen.harness import (
    COHERENT,
    DEVICE,
    LOCKSTEP,
    MODEL,
    DeviceMachine,
    Host,
    ModelMachine,
    usable,
)


def expected(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The facts by NumPy; a length below 0 is 0, and the greatest sum is 2^62."""
    found = np.maximum(lengths, 0)
    return np.array([min(sum(map(int, found)), 1 << 62), found.max(initial=0), (found > 0).sum(),
                     (found ** 2).sum()], np.int64)


def found_by(lengths: np.ndarray[Any, Any], device: dict[VName, int], on: str) -> Any:
    """The facts by the kernels."""
    n, out, lens = (VName(base, tag) for tag, base in enumerate(("n", "facts", "len"), 1))
    types = {n: Prim.I64, lens: ArrayType(Prim.I64, (n,)),
             out: ArrayType(Prim.I64, (i64(len(Fact)),))}
    host = Host(types, interleave=bool(device[LOCKSTEP]), coherent=bool(device[COHERENT]))
    stm = Stm((Param(out, types[out]),), ArrayLit((), Prim.I64))
    lowering = launches.Lowering(stm, host, Names(100))
    lower_facts(lowering, lens, Size.var(n))
    machine = ModelMachine({n: len(lengths)}, device) if on == MODEL else DeviceMachine(
        usable(on), {n: len(lengths)}, device)
    machine.put(lens, lengths)
    machine.put(out, np.full(len(Fact), -1))
    machine.run(lowering.done())
    return machine.get(out, Prim.I64, (len(Fact),))


@pytest.mark.parametrize("group", [1, 4, 64])
@pytest.mark.parametrize(("on", "lockstep", "coherent"), [
    (MODEL, 0, 0), (MODEL, 0, 1), (MODEL, 1, 0), (MODEL, 1, 1), ("Portable", 0, 0)])
def test_facts_are_those_of_numpy(group: int, lockstep: int, coherent: int, on: str) -> None:
    """Portable has the plan of processors only: it builds kernels of other plans for minutes."""
    device = {**DEVICE, plan.GROUP_SIZE: group, LOCKSTEP: lockstep, COHERENT: coherent}
    random = np.random.default_rng(group)
    for lengths in ([], [0], [7], [0] * 50, [-3, 2, -1], [1 << 20, 1, 2, 3, 4, 5, 8, 9, 1 << 29],
                    [5] * 300, random.geometric(0.05, 200), [1 << 45], [1 << 61, 5, 1 << 60],
                    [1 << 62] * 4, [(1 << 63) - 1] * 3, [1 << 57] * 128):
        given = np.array(lengths, np.int64)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found_by(given, device, on), expected(given))
            np.testing.assert_array_equal(length_facts(given), expected(given))


def test_processors_share_many_lengths() -> None:
    lengths = np.random.default_rng(1).integers(0, 40, 40_000)
    found = found_by(lengths, {**DEVICE, LOCKSTEP: 0, COHERENT: 0}, "Portable")
    np.testing.assert_array_equal(found, expected(lengths))
