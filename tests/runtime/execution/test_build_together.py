"""Kernels of all versions in one program, where all versions will run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.codegen.emit.opencl import opencl_source
from runelift.ir.interpret import interpret
from runelift.runtime.devices.build import Infeasible
from runelift.runtime.execution.kernels import Kernels
from runelift.runtime.execution.policy import CallPolicy
from runelift.runtime.versions.forest import plans
from tests.gpus import gpu

ROWS = """\
entry main [n][m] (xss: [n][m]i32): ([n][m]i32, [n]i32) =
  unzip (map (\\xs -> (scan (+) 0 (map (* 3) xs), i32.maximum xs)) xss)
"""
XSS = np.arange(12, dtype=np.int32).reshape(3, 4) % 7


def test_fewer_builds_give_equal_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where programs with kernels of several versions do not build."""
    built, most = list[int](), 99
    make = Kernels._program

    def program(self: Any, source: str, *further: str, needed: bool = True) -> Any:
        kernels = source.count("__kernel")
        if kernels > most:
            raise Infeasible("too long", at_any_size=True)
        built.append(kernels)
        return make(self, source, *further, needed=needed)

    def run(policy: CallPolicy) -> list[int]:
        """The numbers of kernels in programs."""
        loaded = gpu(ROWS, optimised_size=float("inf"), locked_compiler=True)
        executable = loaded.loaded.executable("main")
        executable.follow(policy)
        for force in plans(loaded.tree.entry("main")):
            for got, want in zip(loaded.run("main", [XSS], force=force)[0], expected, strict=True):
                np.testing.assert_array_equal(got, want)
        found = built[:]
        built.clear()
        return found

    expected = interpret(gpu(ROWS).compiled.core, "main", [XSS])
    monkeypatch.setattr(Kernels, "_program", program)
    apart = run(CallPolicy())
    together = run(CallPolicy(all_versions=True))
    assert len(together) < len(apart)
    assert max(together) > max(apart)
    most = max(apart)
    assert max(run(CallPolicy(all_versions=True))) <= most


def test_constants_of_another_kernel_do_not_count() -> None:
    """A kernel may be built for a size that is an argument of a kernel beside it."""
    kernels = [each.launch.kernel for each in gpu(ROWS).loaded.executable("main").kernels.sites]
    for kernel in kernels:
        own = dict.fromkeys(kernel.built_for, 1)
        foreign = {name: 1 for each in kernels for name in (
            *each.built_for, *(param.name for param in each.params))}
        assert opencl_source(kernel, 0, foreign | own) == opencl_source(kernel, 0, own)
