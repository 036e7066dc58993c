"""Floats of 16 bits: the interpreter, devices, data and NumPy have one meaning of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.ir.meaning import apply, convert
from runelift.ir.prim import SCALARS, Prim
from runelift.runtime.data.text import format_value
from runelift.runtime.data.values import format_values, load_values, read_values, save_values

ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
"""All numbers."""
SOME = ALL[::23]
"""Some of them, for the interpreter, which computes one after the other."""
RNG = np.random.default_rng(16)
XS, YS, ZS = (RNG.integers(0, 1 << 16, 1 << 14).astype(np.uint16).view(np.float16)
              for _ in range(3))
DEVICES = ["interpreter", None]


def bits(values: Any) -> np.ndarray:
    """The bits of numbers, those of NaN all alike."""
    array = np.asarray(values)
    return np.where(np.isnan(array), 0x7e00, array.view(np.uint16))


def between() -> np.ndarray:
    """Numbers halfway between two f16, and those beside."""
    positive = ALL[:0x7c01].astype(np.float64)
    positive[-1] = 65536
    middle = (positive[1:] + positive[:-1]) / 2
    return np.concatenate([each * sign for sign in (1, -1) for each in (
        middle, np.nextafter(middle, np.inf), np.nextafter(middle, 0))])


@pytest.mark.parametrize(("name", "meaning"), [
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)])
def test_arithmetic_by_f32_rounds_as_that_of_numpy_on_f16(name: str, meaning: Any) -> None:
    with np.errstate(all="ignore"):
        assert np.array_equal(bits(apply(name, Prim.F16, XS, YS)), bits(meaning(XS, YS)))
        assert np.array_equal(bits(apply("sqrt", Prim.F16, ALL)), bits(np.sqrt(ALL)))


def test_constants_are_the_nearest_numbers() -> None:
    numbers = between()
    with np.errstate(over="ignore"):
        wanted = numbers.astype(np.float16)
    found = np.array([Prim.F16.nearest(x) for x in numbers], np.float16)
    assert np.array_equal(bits(found), bits(wanted))
    assert Prim.F16.nearest(10**400) == np.inf
    assert Prim.F16.nearest(-70000) == -np.inf


@pytest.mark.parametrize("device", DEVICES)
def test_operations_on_all_numbers(device: str | None) -> None:
    calls = {"sqrt": np.sqrt, "abs": np.abs, "floor": np.floor, "ceil": np.ceil,
             "trunc": np.trunc, "round": np.rint, "neg": np.negative}
    text = "".join(f"entry {name}_ (xs: []f16) = map f16.{name} xs\n" for name in calls)
    program = runelift.compile(text, device=device)
    numbers = SOME if device else ALL
    for name, meaning in calls.items():
        with np.errstate(all="ignore"):
            wanted = meaning(numbers)
        assert np.array_equal(bits(getattr(program, f"{name}_")(numbers)), bits(wanted)), name


@pytest.mark.parametrize("device", DEVICES)
def test_operations_on_two_numbers(device: str | None) -> None:
    calls = {"x + y": np.add, "x - y": np.subtract, "x * y": np.multiply, "x / y": np.divide,
             "x % y": np.fmod, "f16.min x y": np.fmin, "f16.max x y": np.fmax,
             "f16.copysign x y": np.copysign, "f16.nextafter x y": np.nextafter}
    text = "".join(f"entry f{n} (xs: []f16) (ys: []f16) = map2 (\\x y -> {call}) xs ys\n"
                   for n, call in enumerate(calls))
    program = runelift.compile(text, device=device)
    xs, ys = (XS[:2000], YS[:2000]) if device else (XS, YS)
    for n, (call, meaning) in enumerate(calls.items()):
        with np.errstate(all="ignore"):
            wanted = meaning(xs, ys)
        found = np.asarray(getattr(program, f"f{n}")(xs, ys))
        differ = bits(found) != bits(wanted)
        if "min" in call or "max" in call:  # either zero is the smaller one
            differ &= (found != 0) | (wanted != 0)
        if "copysign" in call:  # devices do not keep the sign of NaN
            differ &= ~np.isnan(ys)
        assert not differ.any(), call


@pytest.mark.parametrize("device", DEVICES)
def test_fused_multiplication_is_rounded_once(device: str | None) -> None:
    text = "entry f (xs: []f16) (ys: []f16) (zs: []f16) = map3 f16.fma xs ys zs"
    program = runelift.compile(text, device=device)
    count = 2000 if device else len(XS)
    with np.errstate(all="ignore"):
        zs = np.where(RNG.random(count) < 0.5, ZS[:count], -XS[:count] * YS[:count])
    args = XS[:count], YS[:count], zs
    assert np.array_equal(bits(program.f(*args)), bits(apply("fma", Prim.F16, *args)))


@pytest.mark.parametrize("prim", [p for p in SCALARS if p is not Prim.F16], ids=str)
def test_conversions(prim: Prim) -> None:
    program = runelift.compile(f"entry down (xs: []f16) = map {prim}.f16 xs\n"
                               f"entry into (xs: []{prim}) = map f16.{prim} xs")
    numbers = RNG.integers(-(1 << 62), 1 << 62, 5000) >> RNG.integers(0, 62, 5000)
    given: Any = between() if prim.is_float else numbers
    given = given.astype(prim.dtype)
    assert np.array_equal(bits(program.into(given)), bits(convert(given, Prim.F16)))
    found, wanted = np.asarray(program.down(ALL)), convert(ALL, prim)
    assert np.array_equal(found, wanted, equal_nan=prim.is_float)


PROGRAM = """
entry scans [n] (xs: [n]f16) (ys: [n]f16) =
  (f16.maximum xs, scan f16.max (-f16.inf) xs, f16.sum (map2 (*) xs ys), xs[n / 2],
   reduce_by_index (replicate 7 0.5f16) (+) 0 (map (% 7) (iota n)) ys, scatter (copy xs) [3] [9])
entry loops [n] (k: i32) (step: f16) (xs: [n]f16) =
  (loop (x, xs) = (step, xs) for _i < k do (x / 3 + step, map (+ x) xs)).1
entry rows [n][m] (xss: [n][m]f16) = map (\\xs -> scan (+) 0 xs) xss
"""


@pytest.mark.parametrize("n", [1, 5, 300, 5000])
def test_programs_on_devices(n: int) -> None:
    xs, ys = (RNG.integers(-3, 3, n).astype(np.float16) / 2 for _ in range(2))
    program, model = (runelift.compile(PROGRAM, device=each) for each in (None, "interpreter"))
    for name, args in {"scans": (xs, ys), "loops": (np.int32(9), np.float16(0.3), xs),
                       "rows": (xs[: n // 5 * 5].reshape(-1, 5),)}.items():
        found, wanted = getattr(program, name)(*args), getattr(model, name)(*args)
        for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, wanted)),
                              strict=True):
            assert np.asarray(one).dtype == np.float16
            assert np.array_equal(one, other), name


def test_numpy_values_go_in_and_out() -> None:
    program = runelift.compile("entry f (x: f16) (ys: []f16) = (x * 2, map (+ x) ys)")
    for x in (np.float16(0.1), 0.1):
        double, ys = program.f(x, np.array([1, 2], np.float16))
        assert double == np.float16(0.2)
        assert np.asarray(ys).dtype == np.float16
    with pytest.raises(UserError, match=r"should be .*f16, but has type \[1\]f32"):
        program.f(1, np.ones(1, np.float32))


def test_data_files(tmp_path: Path) -> None:
    (again,) = read_values(format_value(ALL).encode(), "text")
    assert np.array_equal(bits(again), bits(ALL))
    data = format_values([ALL], binary=True)
    assert data[3:7] == b" f16"
    for name in ("x.data", "x.npy", "x.npz", "x.in.gz"):
        save_values(tmp_path / name, [ALL])
        (again,) = load_values(tmp_path / name)
        assert np.array_equal(bits(again), bits(ALL))
    assert format_value(np.array([65504, 0.1, 1, np.nan], np.float16)) == (
        "[65504.0f16, 0.1f16, 1.0f16, f16.nan]")


def test_members_of_the_module() -> None:
    program = runelift.compile("entry f = (f16.epsilon, f16.highest, f16.pi, f16.num_bits)")
    assert [np.asarray(x).item() for x in program.f()] == [2.0**-10, np.inf, 3.140625, 16]
    generic = runelift.compile("""
module type number = { type t val +: t -> t -> t val f64: f64 -> t val to_f64: t -> f64 }
module twice (R: real) = { def f (x: R.t) = R.(x + sqrt x) }
module half = twice f16
entry f (x: f16) = half.f x""")
    assert generic.f(np.float16(4)) == 6
