"""Programs of tests: compiled once, run on a device, compared with the interpreter.

For tests that leave the compiler and what it makes as they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.ir.base.source import Source
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import select
from runelift.runtime.programs.program import Program
from runelift.runtime.versions.forest import plans


@lru_cache(maxsize=100)
def compiled(text: str, policy: str = "all") -> Compiled:
    """A compiled program, with its plans, which the tests of a process have in common."""
    return compile_source(Source("<source>", text), policy=policy)


def program(text: str, device: str = "pocl", policy: str = "all", **changes: Any) -> Program:
    """A program on a device; ``changes`` are to what is known of the device."""
    info = select(device)
    if changes:
        if info is None:
            pytest.skip(f"{device} is not installed")
        info = replace(info, **changes)
    return Program(compiled(text, policy), info, policy=policy)


def expected(text: str, entry: str, args: Sequence[Any]) -> list[Any]:
    """The results of the interpreter, which runs once for all devices and versions."""
    key = text, entry, *(_key(each) for each in args)
    if key not in _RESULTS:
        if len(_RESULTS) == MOST_RESULTS:
            del _RESULTS[next(iter(_RESULTS))]
        _RESULTS[key] = program(text, "interpreter").run(entry, _copies(args))[0]
    return _copies(_RESULTS[key])


MOST_RESULTS = 200
_RESULTS: dict[Hashable, list[Any]] = {}


def _key(value: Any) -> Hashable:
    """What tells an argument from others: zeros with a sign differ, and so do types."""
    array = np.asarray(value)
    return type(value), array.dtype.str, array.shape, array.tobytes()


def kernel_names(program: Program, entry: str = "main") -> list[str]:
    """The names of the kernels of an entry point."""
    return [kernel.name for kernel in plan.kernels(program.loaded.plan(entry).steps)]


def agree(program: Program, entry: str, args: Sequence[Any], wanted: Sequence[Any],
          versions: Iterable[Mapping[str, int]] | None = None,
          but: tuple[type[Exception], ...] = ()) -> int:
    """Check that versions, all of them by default, have the wanted results; how many ran.

    Versions that cannot run here may raise the errors ``but``.
    """
    ran = 0
    for force in plans(program.tree.entry(entry)) if versions is None else versions:
        try:
            found, _ = program.run(entry, _copies(args), force=dict(force))
        except but:
            continue
        ran += 1
        for one, other in zip(found, wanted, strict=True):
            assert np.shape(one) == np.shape(other)
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other),
                                          f"{entry} in versions {force}")
    return ran


def _copies(args: Sequence[Any]) -> list[Any]:
    """Arguments, of which a program may consume arrays, or results."""
    return [each.copy() if isinstance(each, np.ndarray) else each for each in args]
