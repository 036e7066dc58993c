"""Every partial derivative agrees with central differences at two step sizes, or is a kink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.ir.meaning import apply
from runelift.ir.partials import PARTIALS, UNKNOWN
from runelift.ir.prim import OPS, Prim

STEPS = (1e-4, 1e-6)
POINTS = (-2.3, -0.7, 0.3, 0.6, 1.7, 2.9)
FLOAT_OPS = sorted(name for name, op in OPS.items()
                   if Prim.F64 in op.domain and not op.predicate and not op.reinterprets
                   and name not in UNKNOWN)


class Numbers:
    """The algebra of NumPy numbers."""

    def __init__(self, prim: Prim) -> None:
        self.prim = prim

    def op(self, name: str, *args: Any) -> Any:
        return apply(name, self.prim, *args)

    def const(self, value: float) -> Any:
        return self.prim.dtype.type(value)

    def either(self, left: Any, right: Any) -> Any:
        return left or right


def partials(name: str, prim: Prim, args: tuple[Any, ...]) -> list[Any]:
    """The partial derivatives as numbers: what each does with a tangent of 1."""
    found = []
    for each in PARTIALS[name](Numbers(prim), args, apply(name, prim, *args)):
        value = prim.dtype.type(1)
        if each is None or (each.when is not None and not each.when):
            found.append(prim.dtype.type(0))
            continue
        if each.factor is not None:
            value = apply("mul", prim, value, each.factor)
        if each.divisor is not None:
            value = apply("div", prim, value, each.divisor)
        found.append(apply("neg", prim, value) if each.negated else value)
    return found


def test_every_operation_has_a_row() -> None:
    assert {*PARTIALS, *UNKNOWN} == set(OPS)


@pytest.mark.parametrize("name", FLOAT_OPS)
def test_partials_are_limits_of_differences(name: str) -> None:
    rng, compared = np.random.default_rng(7), 0
    for _ in range(60):
        args = tuple(np.float64(x) for x in rng.choice(POINTS, OPS[name].arity, replace=False))
        with np.errstate(all="ignore"):
            found = partials(name, Prim.F64, args)
            for place, given in enumerate(found):
                slopes = []
                for step in STEPS:
                    ends = [apply(name, Prim.F64, *(x + sign * step * (k == place)
                                                    for k, x in enumerate(args)))
                            for sign in (1, -1)]
                    slopes.append((ends[0] - ends[1]) / (2 * step))
                if np.isfinite(slopes).all() and np.isclose(*slopes, rtol=1e-4, atol=1e-6):
                    assert np.isclose(given, slopes[1], rtol=1e-4, atol=1e-6), (name, args, place)
                    compared += 1
    assert compared


@pytest.mark.parametrize(("name", "args", "answers"), [
    ("abs", (0.0,), (0,)), ("min", (2.0, 2.0), (1, 0)), ("max", (2.0, 2.0), (1, 0)),
    ("min", (np.nan, 1.0), (0, 0)), ("max", (1.0, np.nan), (0, 0)),
    ("pow", (0.0, 1.0), (1, 0)), ("pow", (0.0, 0.0), (0, 0)), ("pow", (0.0, 2.0), (0, 0)),
    ("pow", (-2.0, 3.0), (12, 0)), ("sqrt", (0.0,), (np.inf,)), ("floor", (1.5,), (0,)),
])
def test_kinks_have_one_answer(name: str, args: tuple[float, ...], answers: tuple[float, ...]
                               ) -> None:
    with np.errstate(all="ignore"):
        assert partials(name, Prim.F64, tuple(map(np.float64, args))) == list(answers)


@pytest.mark.parametrize(("name", "args", "answers"), [
    ("mul", (3, 5), (5, 3)), ("pow", (3, 4), (108, 0)), ("div", (9, 4), (0, 0)),
    ("mod", (9, 4), (1, 0)), ("shl", (3, 4), (16, 0)), ("and", (3, 5), (0, 0)),
    ("sub", (3, 4), (1, -1)), ("abs", (-3,), (-1,)), ("not", (3,), (-1,)),
])
def test_integers_are_derived_too(name: str, args: tuple[int, ...], answers: tuple[int, ...]
                                  ) -> None:
    assert partials(name, Prim.I32, tuple(map(np.int32, args))) == list(answers)
