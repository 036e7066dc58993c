"""Maps of what a scan has made become part of the scan: its post-map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runelift.codegen.plan import plan
from runelift.ir import syntax as ir
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.ir.traverse import statements_at_host
from tests.codegen.harness import CHUNK, PATIENCE, WINDOW
from tests.codegen.test_programs import Choices, ProgramMachine
from tests.gpus import gpu
from tests.programs import agree, compiled, expected, program

JOINED = {
    "scaled": "entry main [n] (xs: [n]i32): [n]i32 = map (\\y -> y * 2 + 1) (scan (+) 0 xs)",
    "exclusive": "entry main [n] (xs: [n]i32): [n]i32 = map2 (-) (scan (+) 0 xs) xs",
    "indexed": """
entry main [n] (xs: [n]i32): [n]i32 =
  map2 (\\i y -> y * i32.i64 i + xs[n - 1 - i]) (iota n) (scan i32.max i32.lowest xs)""",
    "stored": """
entry main [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let ys = scan (+) 0 xs in (ys, map2 (\\i y -> y ^ i32.i64 i) (iota n) ys)""",
    "two_maps": """
entry main [n] (xs: [n]i32): ([n]i32, [n]i64) =
  let ys = scan (+) 0 xs in (map (+ 3) ys, map i64.i32 (map2 (*) ys xs))""",
    "several_scans": """
entry main [n] (xs: [n]i32): [n]i32 =
  map2 (\\y z -> y * 3 - z) (scan (+) 0 xs) (scan i32.max i32.lowest xs)""",
    "pairs": """
entry main [n] (xs: [n]i32): [n]f32 =
  map (\\(a, b) -> f32.i32 a - b)
      (scan (\\(a, b) (c, d) -> (a * c, b * f32.i32 c + d)) (1, 0) (map (\\x -> (x % 2, 1)) xs))""",
    "mapped_besides": """
entry main [n] (xs: [n]i32): ([n]i32, [n]i64) =
  let ks = map (\\x -> i64.i32 x % 5) xs
  let os = scan (+) 0 ks
  in (xs, map2 (\\k o -> if k == 2 then o - k else -1) ks os)""",
    "rows": """
entry main [n] (xs: [n]i32): [][]i32 =
  let f (m: i64) = map (\\i -> map3 (\\j x y -> x * i32.i64 j + y) (iota m) (xs[:m])
    (scan (+) 0 (map (* i32.i64 i) xs[:m]))) (iota 5)
  in f n""",
    "boxes": """
entry main [n] (xs: [n]i32): [][][]i32 =
  map (\\i -> map (\\k -> map2 (\\j y -> y * xs[j] + i32.i64 (i * 10 + k))
    (iota n) (scan (+) 0 (map (\\x -> x * i32.i64 (i + k)) xs))) (iota 3)) (iota 4)""",
    "may_fail": """
entry main [n] (xs: [n]i32): [n]i32 =
  map (\\y -> xs[i64.i32 y % n]) (scan (+) 0 (map i32.abs xs))""",
    "looped": """
entry main [n] (xs: [n]i32): [n]i32 =
  loop xs for i < 5 do map2 (\\y x -> y * 3 - x ^ i) (scan (+) 0 xs) (reverse xs)""",
    "long": """
entry main [n] (xs: [n]i32): [n][2]i32 =
  let f x y = loop z = x for i < 7 do if z % 3 == i then z * y + i else z - y
  in transpose [map2 f (scan (+) 0 xs) xs, xs]""",
    "suffix": """
entry main [n] (xs: [n]i32): [n]i32 = map2 (-) (reverse (scan (+) 0 (reverse xs))) xs""",
    "suffix_rows": """
entry main [n] (xs: [n]i32): [][n]i32 =
  map (\\i -> map3 (\\j x y -> x * i32.i64 j - y) (iota n) xs
    (reverse (scan (+) 0 (map2 (\\j x -> x * i32.i64 (i + j)) (iota n) xs)))) (iota 5)""",
    "suffix_pairs": """
entry main [n] (xs: [n]i32): [n]i32 =
  let f (a, b) (c, d) = (a * d + c, b * d)
  in map3 (\\i (a, b) x -> if i % 3 == 0 then a - x else b ^ x) (iota n)
       (reverse (scan f (0, 1) (zip xs (map (% 3) xs)))) xs""",
    "moved": """
entry main [n] (xs: [n]i32): ([n]i32, [n]i32, i32) =
  let ys = scan (+) 0 xs
  let ls = scan i32.min i32.highest (map (* 3) (rotate 1 xs))
  let last = if n > 1 then ys[n - 1] * 3 else 3
  in (map2 (+) ys (rotate 2 xs), ls, last)""",
}
APART = {
    "shifted": """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 xs in tabulate n (\\i -> if i == 0 then 0 else ys[i - 1])""",
    "total": """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 xs let t = if n > 0 then ys[n - 1] else 0 in map (\\y -> t - y) ys""",
    "loops": """
entry main [n] (xs: [n]i32): [n]i32 =
  map (\\y -> loop z = y for _i < n do z * z % 101) (scan (+) 0 xs)""",
    "arrays": """
entry main [n] (xs: [n]i32): [n][2]i32 = map (\\y -> [y, y + 1]) (scan (+) 0 xs)""",
    "attributed": """
entry main [n] (xs: [n]i32): [n]i32 = let ys = scan (+) 0 xs in #[opaque] (map (+ 1) ys)""",
    "in_place": """
entry main [n] (xs: *[n]i32): *[n]i32 =
  let ys = map (+ 1) (scan (+) 0 (xs[:n / 2]))
  in xs with [n - n / 2:] = (ys :> [n - (n - n / 2)]i32)""",
    "asserted": """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 (map (% 2) xs)
  let ok = n == 0 || ys[n - 1] < 1000000
  in map (\\y -> 7 / (1 + i32.abs y)) (assert ok ys)""",
}
TURNED = {
    "view": "entry main [n] (xs: [n]i32): [n]i32 = reverse (scan (+) 0 (reverse xs))",
    "chain": """
entry main [n] (xs: [n]i32): ([n]i32, i32) =
  let ys = reverse (scan (+) 0 (map2 (\\i x -> x + i32.i64 i) (iota n) xs))
  in (ys, i32.maximum (map2 (*) ys xs))""",
    "after": """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 xs in map (* 2) (reverse (scan i32.max i32.lowest (reverse ys)))""",
} | {name: text for name, text in JOINED.items() if name.startswith("suffix")}
FORWARDS = {
    "both": """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 xs in map3 (\\x y z -> x * y - z) ys (reverse ys) (rotate 1 ys)""",
    "stored": """
entry main [n] (xs: [n]i32): ([n]i32, [n]i32) =
  let ys = scan (+) 0 xs in (ys, map2 (-) (reverse ys) xs)""",
    "shorter": """
entry main [n] (xs: [n]i32): [n]i32 =
  let ys = scan (+) 0 xs in map (\\i -> if i + 2 > n then 0 else ys[n - 2 - i]) (iota n)""",
}
PROGRAMS = JOINED | APART | TURNED | {f"{name}_forwards": text for name, text in FORWARDS.items()}
SIZES = [0, 1, 2, 5, 33, 700]


def _some(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).integers(-9, 20, count).astype(np.int32)


def _scans(text: str) -> list[ir.SegScan]:
    (fun,) = compiled(text).versioned.funs
    return [stm.exp for stm in statements_at_host(fun.body)
            if isinstance(stm.exp, ir.SegScan) and stm.exp.level is ir.Level.GRID]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_version_agrees_with_the_interpreter(name: str) -> None:
    for count in SIZES[2 * (name in ("may_fail",)):]:
        xs = _some(count)
        wanted = expected(PROGRAMS[name], "main", [xs])
        assert agree(program(PROGRAMS[name]), "main", [xs], wanted)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_version_agrees_on_a_processor_taken_for_a_gpu(name: str) -> None:
    found = gpu(PROGRAMS[name])
    for count in SIZES[2 * (name in ("may_fail",)):]:
        xs = _some(count)
        assert agree(found, "main", [xs], expected(PROGRAMS[name], "main", [xs]))


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("patience", [0, 1 << 20], ids=["two passes", "one pass"])
@pytest.mark.parametrize("interleave", [False, True])
@pytest.mark.parametrize("name", sorted((JOINED | TURNED).keys() - {"rows", "moved", "chain"}))
def test_the_kernels_of_small_tiles(name: str, interleave: bool, patience: int) -> None:
    for count in (2, 12, 13, 100):
        code = compiled(PROGRAMS[name]).plan("main", interleave=interleave, coherent=True)
        xs = _some(count)
        (size,), (param,) = code.sizes, code.params
        machine = ProgramMachine(Choices(0), {size: count}, {
            plan.GROUP_SIZE: 4, CHUNK: 3, WINDOW: 3, PATIENCE: patience})
        machine.put(param.name, xs)
        machine.run(code.steps)
        assert machine.failure is None
        wanted = expected(PROGRAMS[name], "main", [xs])
        for result, want in zip(code.results, wanted, strict=True):
            if np.ndim(want):
                np.testing.assert_array_equal(
                    machine.buffers[result.name][:np.size(want)], np.ravel(want))


@pytest.mark.parametrize("name", sorted(JOINED))
def test_maps_of_what_a_scan_has_made_join_it(name: str) -> None:
    assert any(scan.post for scan in _scans(JOINED[name]))


@pytest.mark.parametrize("name", sorted(TURNED))
def test_scans_that_are_read_from_the_last_element_go_backwards(name: str) -> None:
    assert _scans(TURNED[name])[-1].backwards


@pytest.mark.parametrize("name", sorted(FORWARDS))
def test_other_scans_go_forwards(name: str) -> None:
    assert _scans(FORWARDS[name])
    assert not any(scan.backwards for scan in _scans(FORWARDS[name]))


@pytest.mark.parametrize("name", sorted(APART))
def test_other_readers_of_scans_stay_apart(name: str) -> None:
    assert _scans(APART[name])
    assert not any(scan.post for scan in _scans(APART[name]))


@pytest.mark.parametrize(("name", "results"), [
    ("scaled", 1), ("stored", 2), ("two_maps", 2), ("mapped_besides", 1), ("several_scans", 1)])
def test_only_what_is_needed_is_stored(name: str, results: int) -> None:
    (scan,) = _scans(JOINED[name])
    assert len(scan.stored) == results


@pytest.mark.parametrize("name", sorted(JOINED | TURNED))
def test_a_post_map_is_read_as_it_is_printed(name: str) -> None:
    text = pretty(compiled(PROGRAMS[name]).versioned)
    assert pretty(parse(text)) == text
