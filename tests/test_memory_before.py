"""Results do not depend on what device memory held before: all values that count are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.ir.interpret import interpret
from runelift.runtime.devices.context import Device
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.tools.commands.cli import main
from tests.gpus import gpu
from tests.random_programs.check import forced, results_with
from tests.random_programs.derived import DERIVED
from tests.random_programs.ragged import RAGGED
from tests.random_programs.writer import Family
from tests.test_examples import EXAMPLES

CASES = [(family, seed, byte) for seed in range(8) for family in (RAGGED, DERIVED)
         for byte in (0x5A, 0xFF)]
"""Bytes of an odd integer or a huge float, and of -1 or no number."""


class Filled:
    """Fills the memory of a device whenever it is given out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, device: Device, byte: int) -> None:
        self.device, self.byte, self.count = device, byte, 0
        self.allocate, self.take = device.pool.allocate, device.pool.take
        monkeypatch.setattr(device.pool, "allocate", self.filled_buffer)
        monkeypatch.setattr(device.pool, "take", self.filled_pieces)

    def filled_buffer(self, size: int) -> Any:
        buffer = self.allocate(size)
        self.fill(buffer.handle, buffer.size)
        return buffer

    def filled_pieces(self, size: int, count: int) -> list[Any]:
        pieces = self.take(size, count)
        for each in pieces:
            self.fill(each, size)
        return pieces

    def fill(self, handle: Any, size: int) -> None:
        """Commands that still use the memory end first."""
        self.device.profiled.finish()
        cl.enqueue_fill_buffer(self.device.plain, handle, np.uint8(self.byte), 0, size).wait()
        self.count += 1


@pytest.mark.sweep(every=9)
@pytest.mark.parametrize(("family", "seed", "byte"), CASES)
def test_each_version_writes_what_it_reads(family: Family, seed: int, byte: int,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    program = gpu(family.text(seed))
    executable = program.loaded.executable("main")
    executable.follow(CallPolicy(all_versions=True))
    filled = Filled(monkeypatch, executable.device, byte)
    for args in family.inputs(seed):
        expected = interpret(program.compiled.core, "main", args)
        for force in forced(program.tree.entry("main"), seed):
            results_with(program, args, force, None, expected, family.close)
    assert filled.count


@pytest.mark.sweep(keep=["mapscan"])
@pytest.mark.parametrize("name", ["backprop", "csr", "mapscan", "quicksort", "words"])
def test_examples_write_what_they_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(EXAMPLES / f"{name}.fut")
    device = runelift.compile(path, device="pocl").loaded.executable("main").device
    filled = Filled(monkeypatch, device, 0xFF)
    assert main(["test", "--all-versions", "--device", "pocl", path]) == 0
    assert filled.count


def test_what_is_never_written_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    program = gpu("entry main (n: i64): [n]i32 = #[scratch] replicate n 7i32")
    filled = Filled(monkeypatch, program.loaded.executable("main").device, 0x5A)
    (found,), _ = program.run("main", [3])
    assert found.tolist() == [0x5A5A5A5A] * 3
    assert filled.count == 1
