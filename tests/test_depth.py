"""Programs many levels deep compile and run, in each construct, also called from deep Python."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

import runelift
from runelift.codegen.emit import opencl
from runelift.codegen.emit.opencl import MOST_BRACES
from runelift.frontend.depth import MOST_LEVELS
from runelift.frontend.load import check
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Source
from tests.deep_programs import HEAD, PROGRAMS, SLOW, wanted


@pytest.mark.parametrize("construct", PROGRAMS)
def test_deep(construct: str) -> None:
    n = 160 if construct in SLOW else 500
    text = PROGRAMS[construct](n)
    found = runelift.compile(text, device="interpreter").main(7)
    assert int(found) == wanted(construct, n)


@pytest.mark.sweep(keep=["[functions]", "[terms]", "[match]", "[if inside]", "[loops inside]",
                         "[map of a match]"])
@pytest.mark.parametrize("construct", PROGRAMS)
def test_deep_on_a_device(construct: str) -> None:
    found = runelift.compile(PROGRAMS[construct](200)).main(7)
    assert int(found) == wanted(construct, 200)


IN_KERNELS: dict[str, Callable[[int], str]] = {
    "match": lambda n: "match x " + " ".join(
        f"case {k} -> {2 * k}" for k in range(n)) + " case _ -> 0",
    "for": lambda n: "".join(
        f"loop x = x for i{k} < (if x < 600 then 1i32 else 2) do " for k in range(n)) + "x + 3",
    "while": lambda n: "loop x = x while x < 508 do " * n + "x + 17",
}


@pytest.mark.sweep(keep=["match", "-40-"])
@pytest.mark.parametrize(("levels", "braces"), [(260, MOST_BRACES), (40, 20)])
@pytest.mark.parametrize("construct", IN_KERNELS)
def test_blocks_of_a_kernel_deeper_than_braces(construct: str, levels: int, braces: int,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl, "MOST_BRACES", braces)
    inside = IN_KERNELS[construct](levels)
    text = HEAD + f"(map (\\x -> {inside}) [x, x + {levels - 13}, x + 500])[1]"
    program = runelift.compile(text)
    wanted = runelift.compile(text, device="interpreter").main(7)
    assert program.main(7) == wanted
    assert "goto" in program.source("kernels")


@pytest.mark.parametrize("construct", ["let", "terms", "parentheses"])
def test_more_than_the_limit(construct: str) -> None:
    with pytest.raises(CompilerLimitation, match=f"more than {MOST_LEVELS} levels"):
        check(Source("p.fut", PROGRAMS[construct](MOST_LEVELS + 10)))


@pytest.mark.parametrize("device", ["interpreter", None])
def test_from_deep_python(device: str | None) -> None:
    def at(depth: int) -> int:
        if depth:
            return at(depth - 1)
        program = runelift.compile(SLOW["match"](12) + f"\n-- {device}", device=device)
        return int(program.main(7)) + int(runelift.compile(
            "entry sum [n] (xs: [n]i32) = i32.sum xs", device=device).sum(np.ones(3, np.int32)))

    before = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 400)
    try:
        assert at(350) == 17
    finally:
        sys.setrecursionlimit(before)
