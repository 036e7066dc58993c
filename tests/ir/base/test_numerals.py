"""Numerals of any length."""

import math

import pytest

from runelift.ir.base.numerals import BEYOND, numeral, whole_number

LONG = "9" * 5000


@pytest.mark.parametrize(("text", "value"), [
    ("12", 12), ("-12", -12), ("+7", 7), ("0x1F", 31), ("-0x1f", -31), ("0b101", 5),
    ("1.5", 1.5), ("1e3", 1000.0), ("0x1.8p1", 3.0), ("0x.8", 0.5), (LONG, BEYOND),
    ("-" + LONG, -BEYOND), ("0" * 5000 + "7", 7), ("0x" + LONG, BEYOND), ("0x1p99999", math.inf),
    ("-0x1p99999", -math.inf), ("0x1p-99999", 0.0), (LONG + ".5", math.inf),
    ("1e" + LONG, math.inf), ("0b" + "1" * 5000, BEYOND)])
def test_values(text: str, value: float) -> None:
    assert numeral(text) == value
    assert type(numeral(text)) is type(value)


@pytest.mark.parametrize("text", ["", "x", "0x", "1e", "--1", "0b2"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        numeral(text)


@pytest.mark.parametrize(("text", "value"), [
    ("0", 0), ("12", 12), ("²", None), ("１", None), ("-1", None), ("", None), (" 1", None),
    ("1\n", None), (LONG, None)])
def test_whole_numbers_of_options(text: str, value: int | None) -> None:
    assert whole_number(text) == value
