"""Long arrays are read as short ones are."""

import random

import numpy as np
import pytest

from runelift.ir.base.errors import UserError
from runelift.ir.prim import Prim
from runelift.runtime.data import bulk_text
from runelift.runtime.data.text import type_of
from runelift.runtime.data.values import format_values, read_values

PIECES = [" ", "", ",", "-", "i8", "i32", "u16", "f32", ".5", "1e3", "_", "[", "]", "[]", "300",
          "x", "\n", "-- c\n", "9" * 30, "true", "+", "7 7", "i325"]


def outcome(text: str, prim: Prim | None) -> object:
    try:
        found = read_values(text.encode(), "data", [prim] if prim else [])
    except UserError as error:
        return str(error)
    return [(str(type_of(each)), np.asarray(each).tobytes()) for each in found]


def made(choose: random.Random) -> str:
    """A text of an array, some of them with a mistake."""
    shape = choose.choice([(3,), (2, 3), (2, 1, 3), (1,), (4, 2)])
    dtype = choose.choice([p for p in Prim if p.is_int or p in (Prim.F32, Prim.F64)]).dtype
    values = np.array([choose.randrange(100) for _ in range(int(np.prod(shape)))])
    text = format_values([values.reshape(shape).astype(dtype)]).decode()
    if choose.random() < 0.5:
        for prim in Prim:
            text = text.replace(prim.value, "")
    if choose.random() < 0.7:
        at = choose.randrange(len(text))
        text = text[:at] + choose.choice(PIECES) + text[at + choose.choice((0, 1)):]
    return text


def test_long_arrays_are_read_as_short_ones(monkeypatch: pytest.MonkeyPatch, sweeps: bool) -> None:
    quick = 0
    monkeypatch.setattr(bulk_text, "CHUNK", 5)
    for number in range(20_000 if sweeps else 1500):
        choose = random.Random(number)
        text, prim = made(choose), choose.choice([None, None, *Prim])
        monkeypatch.setattr(bulk_text, "LEAST", 0)
        start = len(text) - len(text.lstrip())
        if text[start:start + 1] == "[":
            quick += bulk_text.read_array(text, start, len(text), prim) is not None
        alike = outcome(text, prim)
        monkeypatch.setattr(bulk_text, "LEAST", 1 << 60)
        assert alike == outcome(text, prim), text
    assert quick > 500
