"""Histograms of all types and operators, of few and many bins, in rows or not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import runelift
from runelift.ir.base.source import Source
from runelift.ir.interpret import interpret
from runelift.ir.prim import Prim
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.devices.info import DeviceInfo, select
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.races.checks import RaceChecks
from runelift.runtime.versions.forest import plans


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a table: text with the type ``t``, a neutral element, what an element adds."""

    text: str
    neutral: str
    element: str
    parts: int = 1


PRODUCT = Operator("\\(a, b) (c, d) -> (a * c - b * d, a * d + b * c)", "(1, 0)", "(x, x + 1)", 2)
"""A product of complex numbers, whose components need each other."""
SERIES = Operator("\\(a, b, c) (d, e, f) -> (a * d, a * e + b * d, a * f + b * e + c * d)",
                  "(1, 0, 0)", "(1, x, x + 1)", 3)
"""A product of power series."""
FARTHEST = Operator("\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j)",
                    "(t.lowest, -1i64)", "(x, i)", 2)
"""The greatest element and the first place that has it: components of different types."""
MIXED = Operator("\\(a, i, p) (b, j, q) -> if i > j then (a, i, p || q) else (b, j, q || p)",
                 "(0, i64.lowest, false)", "(x, i, x > 1)", 3)
"""What comes last, with a part that does not depend on the others, and three widths."""
NUMBERS = {"add": Operator("(+)", "0", "x"), "max": Operator("t.max", "t.lowest", "x"),
           "min": Operator("t.min", "t.highest", "x"), "farthest": FARTHEST, "mixed": MIXED}
INTEGERS = {"join": Operator("\\a b -> a + b + a * b", "0", "x"), "both": Operator("(|)", "0", "x"),
            "product": PRODUCT, "series": SERIES}
TRUTHS = {"any": Operator("(||)", "false", "x"), "odd": Operator("(!=)", "false", "x"),
          "last": Operator("\\(a, i) (b, j) -> if i > j then (a, i) else (b, j)",
                           "(false, -1i64)", "(x, i)", 2)}


def operators(prim: Prim) -> dict[str, Operator]:
    """The operators of a type."""
    if prim is Prim.BOOL:
        return TRUTHS
    return NUMBERS | INTEGERS if prim.is_int else NUMBERS


@cache
def source(prim: Prim, name: str) -> str:
    """A program with two entry points for an operator: one histogram, and rows of them."""
    op = operators(prim)[name]
    words = [op.text.replace("t.", f"{prim}."), op.neutral.replace("t.", f"{prim}."), op.element]
    apart = f"unzip{'' if op.parts == 2 else op.parts}" if op.parts > 1 else ""
    return "\n".join([
        f"def f [n] (k: i64) (is: [n]i64) (xs: [n]{prim}) =",
        f"  hist ({words[0]}) {words[1]} k is (map2 (\\x i -> {words[2]}) xs (iota n))",
        f"entry one [n] (k: i64) (is: [n]i64) (xs: [n]{prim}) =",
        f"  {apart} (f k is xs)",
        f"entry rows [m][n] (k: i64) (is: [m][n]i64) (xs: [m][n]{prim}) =",
        "  map2 (f k) is xs"
        if not apart else
        f"  {apart} (map2 (\\i x -> {apart} (f k i x)) is xs)"]) + "\n"


def inputs(prim: Prim, shape: tuple[int, ...], k: int) -> list[Any]:
    """Bins, some of them outside, and elements whose sums are exact."""
    numbers = np.random.default_rng([*shape, k])
    values = numbers.integers(0, 2 if prim is Prim.BOOL else 5, shape).astype(prim.dtype)
    return [np.int64(k), numbers.integers(-1, k + 1, shape), values]


ALONE = [(0, 3), (1, 1), (7, 0), (37, 5), (100, 150), (300, 70), (600, 3000), (5000, 5),
         (5000, 300)]
"""Elements and bins of one histogram."""
ROWS = [((0, 4), 3), ((3, 0), 2), ((3, 5), 40), ((2, 300), 7), ((40, 3), 2)]
"""Rows and elements, and bins of several ones."""


class Case(NamedTuple):
    """An entry point, its arguments, and the results of the interpreter."""

    entry: str
    args: list[Any]
    expected: list[Any]


@cache
def cases(prim: Prim, name: str, most: int) -> list[Case]:
    """Cases of at most so many elements."""
    core = compile_source(Source("<test>", source(prim, name))).core
    given = [("one", inputs(prim, (n,), k)) for n, k in ALONE if n <= most]
    given += [("rows", inputs(prim, shape, k)) for shape, k in ROWS if math.prod(shape) <= most]
    return [Case(entry, args, interpret(core, entry, args)) for entry, args in given]


def small(info: DeviceInfo, lockstep: bool) -> DeviceInfo:
    """A device with little local memory, so that few bins are many.

    PoCL optimises the kernels that are meant for it; that takes most of the time of others.
    """
    return replace(info, interleaves=lockstep, coherent=lockstep, num_groups=4, group_size=8,
                   max_group=16, local_bytes=1 << 10,
                   optimised_size=0 if lockstep else info.optimised_size)


def agree(case: Case, found: list[Any]) -> None:
    """The results are those of the interpreter."""
    for one, other in zip(found, case.expected, strict=True):
        np.testing.assert_array_equal(
            np.asarray(one), np.asarray(other),
            f"{case.entry} of {case.args[1].shape} in {case.args[0]} bins")


FORMS = {"processors": ("pocl", False, 5000), "lockstep": ("pocl", True, 5000),
         "simulator": ("oclgrind", True, 120)}
"""Device, form of kernels, and the most elements."""
KINDS = [(form, prim, name) for form in FORMS for prim in Prim for name in operators(prim)]


@pytest.mark.sweep(every=14)
@pytest.mark.parametrize(("form", "prim", "name"), KINDS)
def test_kinds(form: str, prim: Prim, name: str) -> None:
    device, lockstep, most = FORMS[form]
    info = select(device)
    if info is None:
        pytest.skip(f"{device} is not installed")
    made = runelift.compile(source(prim, name), device=device, tuning={})
    program = Program(made.compiled, small(info, lockstep))
    for case in cases(prim, name, most):
        for force in plans(program.tree.entry(case.entry)):
            found, _ = program.run(case.entry, case.args, force=force)
            agree(case, found)


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize(("prim", "name"), [(p, name) for p in Prim for name in operators(p)])
def test_no_races(prim: Prim, name: str) -> None:
    checks = RaceChecks(runelift.compile(source(prim, name), device="pocl", tuning={}))
    for case in cases(prim, name, 40):
        for form in checks.forms(case.entry):
            form.device.info = replace(form.device.info, local_bytes=200)
            for _, force in checks.versions(case.entry, each=True):
                agree(case, form.run(case.args, force, 60))
