"""Snapshots have everything that they were made from."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source
from runelift.ir.names import VName
from runelift.runtime.cache.fast_pickle import dumps
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_source

EXAMPLES = Path(__file__).parents[3] / "examples"


@dataclass(frozen=True, slots=True)
class Plain:
    """Made by its call."""

    value: Any
    hidden: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class Noted(Plain):
    """With something that no call gives."""

    note: int | None = field(default=None, init=False)


@dataclass(slots=True)
class Named:
    """With something that is given by name, and changes."""

    value: Any
    name: str = field(default="", kw_only=True)


class Child(Plain):
    """With attributes of its own."""


def noted() -> Noted:
    found = Noted(2, 3)
    object.__setattr__(found, "note", 4)
    return found


@pytest.mark.parametrize("value", [
    Plain(1), Plain((Plain(2, 5), [Plain(3)])), noted(), Named(1, name="x"), Child(6),
    VName("x", 3), Source("a.fut", "x\ny\n"), {"a": Plain(1)}, ValueError("wrong")])
def test_what_is_read_is_what_was_written(value: Any) -> None:
    found = pickle.loads(dumps(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    if isinstance(value, Plain):
        assert found.hidden == value.hidden
    if isinstance(value, Noted):
        assert found.note == 4
    if isinstance(value, Source):
        assert found.line(3) == value.line(3)


def test_what_is_shared_stays_shared() -> None:
    name = VName("x", 1)
    first, second = pickle.loads(dumps((Plain(name), Plain(name))))
    assert first.value is second.value


def test_arrays_are_handed_over_beside_it() -> None:
    buffers: list[pickle.PickleBuffer] = []
    array = np.arange(5)
    text = dumps(Plain(array), buffers.append)
    assert len(buffers) == 1
    assert np.array_equal(pickle.loads(text, buffers=buffers).value, array)


@pytest.mark.parametrize("name", ["lud", "kmeans", "matmul"])
def test_programs_come_back_with_their_plans(name: str) -> None:
    compiled = compile_source(read_source(EXAMPLES / f"{name}.fut"))
    compiled.plan("main")
    found: Compiled = pickle.loads(dumps(compiled))
    assert isinstance(found.stages._stages, bytes)  # nobody has looked at them
    assert found.plans == compiled.plans
    assert isinstance(found.stages._stages, bytes)
    assert found == compiled
    assert found.versioned == compiled.versioned
    assert len(dumps(compiled)) < len(pickle.dumps(compiled))
