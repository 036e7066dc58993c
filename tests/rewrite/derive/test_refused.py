"""Derivatives that no rule makes are errors: never zeros, in no mode."""

from __future__ import annotations

import pytest

import runelift
from runelift.ir.base.errors import NoDerivative

POWER = "def power (x: f64) (n: i64): f64 = if n == 0 then 1 else x * power x (n - 1)\n"


@pytest.mark.parametrize("body", [
    "power x 3",
    "f64.sum (map (\\n -> power x n) (iota 4))",
    "loop y = x for i < 3 do power y i",
    "if x > 0 then power x 2 else x"])
@pytest.mark.parametrize("operator", ["jvp", "vjp"])
def test_calls_of_functions_that_call_themselves(operator: str, body: str) -> None:
    text = f"{POWER}entry main (x: f64): f64 = {operator} (\\x -> {body}) x 1\n"
    with pytest.raises(NoDerivative, match="calls itself"):
        runelift.compile(text).main(2.0)


def test_a_derivative_inside_of_its_own_derivative() -> None:
    text = ("def g (n: i64) (x: f64): f64 = if n == 0 then x else vjp (\\y -> g (n - 1) y) x 1\n"
            "entry main (x: f64): f64 = g 3 x\n")
    with pytest.raises(NoDerivative, match="calls itself"):
        runelift.compile(text).main(2.0)


def test_what_does_not_vary_may_recur() -> None:
    text = f"{POWER}entry main (x: f64): f64 = vjp (\\x -> x * power 2 3) x 1\n"
    assert runelift.compile(text, device="pocl").main(2.0) == 8
