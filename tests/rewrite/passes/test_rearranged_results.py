"""Results that are rearranged where they are made, and those that are copied."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from runelift.ir.base.errors import VersionUnavailable
from runelift.runtime.versions.forest import plans
from tests.programs import agree, expected, program
from tests.sanitized import check_sanitized

WRITTEN = {
    "columns of blocks": """
entry main [n][m][k] (a: [n][m][k]i32) =
  transpose (map (\\b -> map (\\r -> map (+ 1) r) b) a)""",
    "and reshaped": """
entry main [n][m][k] (a: [n][m][k]i32) =
  map flatten (transpose (map (\\b -> map (\\r -> scan (+) 0 r) b) a))""",
    "short rows": """
entry main [n][m][k] (a: [n][m][k]i32) =
  transpose (map (\\b -> map (\\r -> [i32.sum r, i32.maximum r, r[0]]) b) a)""",
    "two results": """
entry main [n][m][k] (a: [n][m][k]i32) =
  let (b, c) = unzip (map (\\b -> unzip (map (\\r -> (map (+ 1) r, scan (+) 0 r)) b)) a)
  in (transpose b, map flatten (transpose c))""",
    "blocks of sums": """
entry main [n][m][k] (a: [n][m][k]i32) =
  let p = map (\\b -> map (\\r -> map (\\s -> i32.sum (map2 (*) r s)) b) b) a
  in transpose p""",
    "in a branch": """
entry main [n][m][k] (a: [n][m][k]i32) : [m][n][k]i32 =
  if n > 2 then transpose (map (\\b -> map (\\r -> scan (+) 0 r) b) a)
  else transpose (map (\\b -> map (\\r -> map (* 2) r) b) a)""",
    "carried by a loop": """
entry main [n][k] (a: [n][n][k]i32): [n][n][k]i32 =
  loop b = a for _i < 3 do transpose (map (\\b -> map (\\r -> scan (+) 0 r) b) b)""",
}
COPIED = {
    "a transposed matrix": """
entry main [n][m][k] (a: [n][m][k]i32) = transpose (map (\\b -> map i32.sum b) a)""",
    "the last dimension becomes another": """
entry main [n][m][k] (a: [n][m][k]i32) =
  map transpose (map (\\b -> map (\\r -> scan (+) 0 r) b) a)""",
    "also a result itself": """
entry main [n][m][k] (a: [n][m][k]i32) =
  let b = map (\\b -> map (\\r -> scan (+) 0 r) b) a in (b, transpose b)""",
    "also read": """
entry main [n][m][k] (a: [n][m][k]i32) =
  let b = map (\\b -> map (\\r -> scan (+) 0 r) b) a
  in (map (\\i -> b[n - 1 - i]) (iota n), transpose b)""",
    "twice": """
entry main [n][m][k] (a: [n][m][k]i32) =
  let b = transpose (map (\\b -> map (\\r -> scan (+) 0 r) b) a) in (b, map flatten b)""",
    "given": "entry main [n][m][k] (a: [n][m][k]i32) = transpose a",
}
TILED = """
entry main [n][m][k] (a: [n][k]i32) (b: [k][m]i32) : [n][m]i32 =
  #[ab_tile(4, 8)] map (\\r -> map (\\c -> i32.sum (map2 (*) r c)) (transpose b)) a"""
TEXTS = WRITTEN | COPIED
SHAPES = [(0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 1, 1), (7, 5, 3), (3, 4, 17)]


def cube(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-50, 50, shape).astype(np.int32)


def placed(text: str) -> int:
    return program(text).source("flat").count("#[placed]")


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_in_its_order(name: str) -> None:
    assert placed(WRITTEN[name]) > 0


@pytest.mark.parametrize("name", COPIED)
def test_what_is_not(name: str) -> None:
    assert placed(COPIED[name]) == 0


def test_nothing_is_copied() -> None:
    """Every version of a map writes the result, which is the only array in memory."""
    blocks = program(WRITTEN["columns of blocks"])
    host = blocks.source("host")
    assert host.count("rt.allocate(") == 1
    assert host.count("rt.launch_built(") == len(plans(blocks.tree.entry("main")))


def test_a_tiled_product_is_written_once() -> None:
    tiled = program(TILED)
    assert "#[placed]" in tiled.source("flat")
    a, b = cube((8, 5)), cube((5, 16))
    runs = sum(agree(tiled, "main", [x, y], [x @ y], but=(VersionUnavailable,))
               for x, y in ((a, b), (a[:7], b), (a[:0], b), (a[:, :0], b[:0])))
    assert runs > 8  # a tile need not divide a size


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", TEXTS)
def test_every_version_gives_the_same(name: str) -> None:
    text = TEXTS[name]
    for shape in SHAPES:
        if name == "carried by a loop":
            shape = (shape[0], shape[0], shape[2])
        if name == "short rows" and not shape[2]:
            continue
        agree(program(text), "main", [cube(shape)], expected(text, "main", [cube(shape)]))


def test_no_races(tmp_path: Path, simulator: str) -> None:
    """Also with the layouts of a GPU, which the simulator has."""
    entries = ""
    for number, (name, text) in enumerate(TEXTS.items()):
        array = str(cube((3, 3, 2) if name == "carried by a loop" else (5, 3, 2)).tolist())
        literal = re.sub(r"(\d+)", r"\1i32", array)
        entries += f"-- ==\n-- entry: e{number}\n-- input {{ {literal} }}\n-- auto output\n"
        entries += text.strip().replace("entry main", f"entry e{number}") + "\n\n"
    path = tmp_path / "all.fut"
    path.write_text(entries)
    check_sanitized(path, simulator)
