"""Functions of shipped files, called from Python on PoCL and in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from runelift.runtime.devices.info import select
from runelift.runtime.programs.program import Program
from tests.programs import compiled

DEVICES = ("pocl", "interpreter")


@lru_cache(maxsize=100)
def program(text: str, device: str) -> Program:
    """A program in its default versions, on a device."""
    if (info := select(device)) is None and device != "interpreter":
        pytest.skip(f"{device} is not installed")
    return Program(compiled(text), info, policy="all")


def function(text: str, device: str) -> Callable[..., Any]:
    """The entry point ``f`` of a program: it returns one value, or a list of them."""
    def call(*args: Any) -> Any:
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
        found = program(text, device).run("f", given)[0]
        return found[0] if len(found) == 1 else found
    return call


def sizes(device: str, *large: int) -> tuple[int, ...]:
    """Lengths to try: the smallest, odd ones, and on devices ``large`` ones."""
    return (0, 1, 2, 37, *(large if device != "interpreter" else ()))
