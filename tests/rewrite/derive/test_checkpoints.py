"""Loops in segments: the derivatives of the full tape bit for bit, from a smaller tape."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import load
from runelift.ir import syntax as ir
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.base.source import Source
from runelift.ir.interpret import Interpreter, interpret
from runelift.ir.names import Names
from runelift.ir.values import Env
from runelift.rewrite.derive.derive import derive
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.pipeline import optimise
from runelift.runtime.versions.forest import plans

XS = np.array([0.7, -1.3, 2.1, 0.4, 1.9])
LOOPS = {
    "for": "for i < k do map2 (\\y x -> f64.sin (y * x) + y) ys (rotate i xs)",
    "while": "while ys[0] < f64.i64 k do map (\\y -> y + 0.3 * f64.abs (f64.sin y) + 0.1) ys",
}
TEXT = """
def f (k: i64) (xs: [5]f64) = {} loop ys = xs {}
entry main (k: i64) (xs: [5]f64) = vjp (f k) xs (replicate 5 1)
"""


class Tapes(Interpreter):
    """An interpreter that notes the rows of the largest array of states."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0

    def exp(self, exp: ir.Exp, env: Env, stm: ir.Stm) -> list[object]:
        found = super().exp(exp, env, stm)
        if isinstance(exp, ir.Replicate) and np.ndim(found[0]) == 2:
            self.rows = max(self.rows, len(found[0]))
        return found


def rows(attribute: str, loop: str, k: int) -> tuple[int, np.ndarray]:
    names, machine = Names(), Tapes()
    core = load(Source("t", TEXT.format(attribute, LOOPS[loop])), names)
    (before,) = interpret(derive(core, Rewriting(names)), "main", [k, XS], machine=machine)
    (after,) = interpret(optimise(core, names), "main", [k, XS])
    np.testing.assert_array_equal(before, after)
    return machine.rows, before


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("k", [0, 1, 2, 10, 27])
def test_checkpoints_change_no_bit(loop: str, k: int) -> None:
    _, full = rows("", loop, k)
    for attribute in ("stripmine(1)", "stripmine(2)", "bound(200)"):
        _, found = rows(f"#[{attribute}]", loop, k)
        np.testing.assert_array_equal(found, full)


def test_a_bound_is_the_size_of_the_tape_and_is_checked() -> None:
    # the loop has more than 9 iterations, and less than 50
    kept, _ = rows("#[bound(50)]", "while", 10)
    assert kept == 50
    text = TEXT.format("#[bound(9)]", LOOPS["while"])
    core = load(Source("t", text), names := Names())
    for program in (core, derive(core, Rewriting(names))):
        with pytest.raises(ProgramFailure, match=r"t:2:\d+: error\[bound-too-small\]: .* 9 "):
            interpret(program, "main", [10, XS])


def test_fewer_states_are_kept() -> None:
    most = [rows(attribute, "for", 1000)[0]
            for attribute in ("", "#[stripmine(1)]", "#[stripmine(2)]")]
    assert most[0] == 1000
    assert most[1] == 32
    assert most[2] == 10


LAYERS = """
def f [n] (k: i64) (xs: [n]f64) = loop ys = xs for i < k do map2 (\\y x -> f64.sin (y * x)) ys xs
entry main [n] (k: i64) (xs: [n]f64) = vjp (f k) xs (replicate n 1)
"""


def test_a_bound_of_memory_chooses_checkpoints() -> None:
    args = [400, np.linspace(-1, 2, 500)]
    counts = [len(plans(runelift.compile(LAYERS, device="pocl", **options).tree.entry("main")))
              for options in ({}, {"policy": "full"}, {"memory": "1GB"})]
    assert counts == [1, 3, 3]
    program = runelift.compile(LAYERS, device="pocl", memory="1GB")
    estimate = program.estimate_memory("main", args)
    needs = [estimate.need_of("main.schedules_0", version) for version in range(3)]
    two, one, full = sorted(need.bytes for need in needs if need and need.bytes)
    assert full > 400 * 500 * 8 > 5 * one
    assert one > 40 * 500 * 8 > two
    expected = None
    for bound, version in ((full, 2), (full - 1, 1), (one - 1, 0)):
        program.memory = bound
        found, record = program.run("main", args, record=True)
        assert record is not None
        assert [each.chosen for each in record.encounters] == [version]
        expected = found[0] if expected is None else expected
        np.testing.assert_array_equal(found[0], expected)


def test_the_length_of_segments_is_a_parameter_that_changes_no_bit() -> None:
    program = runelift.compile(LAYERS.replace("= loop", "= #[stripmine(2)] loop"), device="pocl")
    args = [100, np.linspace(-1, 2, 50)]
    names = [each.parameter.name for space in program.spaces("main") for each in space.ranges
             if each.parameter.name.endswith(".segment")]
    assert len(names) == 2
    expected, usual = program.main(*args), program.estimate_memory("main", args).bytes
    for lengths in ((4, 4), (128, 8), (4096, 4)):
        chosen = dict(zip(names, lengths, strict=True))
        np.testing.assert_array_equal(program.run("main", args, thresholds=chosen)[0][0], expected)
        program.thresholds = chosen
        assert program.estimate_memory("main", args).bytes != usual


def test_derivatives_of_entry_points_keep_the_bound() -> None:
    text = LAYERS.replace("entry main", "entry other").replace("def f", "entry main")
    program = runelift.compile(text.partition("entry other")[0], device="pocl", memory="200kB")
    xs = np.linspace(-1, 2, 50)
    found = program.main.vjp(400, xs, seed=np.ones(50), argnums=1)
    np.testing.assert_array_equal(found[1], runelift.compile(LAYERS, device="pocl").main(400, xs))
