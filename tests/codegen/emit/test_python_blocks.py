"""Host plans whose blocks are inner functions, in all forms of a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.codegen.emit import python_blocks
from runelift.codegen.emit.python import python_source
from runelift.codegen.emit.python_blocks import Blocks
from tests import programs
from tests.replays import results_agree

TEXT = """
entry rows [n][m] (xss: [n][m]i32) (k: i64): ([n]i32, i32) =
  loop (ys, s) = (replicate n 0, 1) for i < k do
    let zs = map2 (\\xs y -> i32.sum xs + y) xss ys
    in if i % 2 == 0 then (zs, s + zs[0])
       else loop (zs, s) while s < 100 do (map (+ s) zs, s + 1 + i32.abs zs[0] % 7)
entry halves (xs: []i32): []i32 =
  loop ys = xs while length ys > 4 do filter (\\y -> y % 3 != 1) (map (+ 1) ys[1:])
entry steps [n] (xs: [n]f32) (k: i64): [n]f32 =
  (loop (xs, a) = (copy xs, 1) for i < k do (map (* a) xs with [0] = f32.i64 i, a * 0.5)).0
"""


@pytest.fixture(params=[(1, 99), (99, 0)])
def least(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are functions although they are not deep."""
    levels, controls = request.param
    monkeypatch.setattr(python_blocks, "MOST_LEVELS", levels)
    monkeypatch.setattr(python_blocks, "MOST_CONTROLS", controls)


XSS = np.arange(12, dtype=np.int32).reshape(3, 4) % 5
CASES: list[tuple[str, list[Any]]] = [
    ("rows", [XSS, np.int64(5)]), ("halves", [np.arange(40, dtype=np.int32)]),
    ("steps", [np.ones(5, np.float32), np.int64(4)])]


@pytest.mark.parametrize(("entry", "args"), CASES)
@pytest.mark.usefixtures("least")
def test_every_form(entry: str, args: list[Any]) -> None:
    program = programs.program(TEXT)
    wanted = programs.expected(TEXT, entry, args)
    assert "def block0():" in python_source(program.loaded.plan(entry), replay=True).source
    programs.agree(program, entry, args, wanted)
    results_agree(program, entry, args, wanted)
    assert program.estimate_memory(entry, args).bytes > 0


@pytest.mark.parametrize(("entry", "args"), CASES)
def test_memory_is_free_as_soon(entry: str, args: list[Any],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    plain = programs.program(TEXT).estimate_memory(entry, args)
    monkeypatch.setattr(python_blocks, "MOST_LEVELS", 1)
    assert programs.program(TEXT).estimate_memory(entry, args) == plain


def _count(blocks: Blocks, levels: int) -> None:
    """Lines that count in as many loops inside of each other, where only one goes round twice."""
    if levels:
        blocks.line(f"for own_{levels} in range({2 if levels == 7 else 1}):")
        with blocks.block(1):
            blocks.line(f"seen_{levels} = own_{levels}")
            _count(blocks, levels - 1)
            blocks.line(f"last_1 = seen_{levels}")
    else:
        blocks.line("count_1 = count_1 + 1")


@pytest.mark.parametrize("levels", [10, 200])
def test_variables_of_blocks(levels: int) -> None:
    blocks = Blocks()
    blocks.depth = 1
    blocks.line("count_1 = 0")
    _count(blocks, levels)
    blocks.line("return count_1, last_1")
    lines = blocks.taken()
    space = dict[str, Any]()
    exec("\n".join(["def main():", *lines]), space)
    assert space["main"]() == (2, 0)
    assert ("        nonlocal count_1, last_1" in lines) == (levels == 200)


def test_places_differ() -> None:
    blocks, places = Blocks(), list[int]()

    def write(levels: int) -> None:
        places.append(blocks.place)
        blocks.line("while True:")
        with blocks.block(1):
            if levels:
                write(levels - 1)
            places.append(blocks.place)
            blocks.line("break")

    write(90)
    write(40)
    assert len(set(places)) == len(places)
