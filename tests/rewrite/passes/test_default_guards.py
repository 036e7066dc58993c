"""Defaults of guards that the bodies of versions tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runelift.ir.guards import Guard, Kind, Rival
from runelift.ir.source import Source
from runelift.rewrite.passes.default_guards import SHARED_POINTS
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.tuner.result import default_thresholds
from runelift.runtime.versions.default_guards import Defaults
from runelift.runtime.versions.forest import forest_of

PRODUCT = """
entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""
SUMS = """
entry main [n][m][p] (xsss: [n][m][p]f32): [n][m]f32 = map (map f32.sum) xsss
"""


def guards_of(text: str, kind: Kind) -> list[Guard]:
    versioned = compile_source(Source("program", text), policy="full").versioned
    return [guard for guard in forest_of(versioned).entry("main").guards().values()
            if guard.kind is kind]


def outer_guards(text: str) -> list[Guard]:
    return guards_of(text, Kind.OUTER)


def group_guards(text: str) -> list[Guard]:
    return guards_of(text, Kind.INTRA)


def test_products_need_fewer_points() -> None:
    one, both = outer_guards(PRODUCT)
    assert one.default is None  # its work-items run through whole rows
    assert both.default == SHARED_POINTS
    assert all(guard.default is None for guard in outer_guards(SUMS))


def test_neighbourhoods_need_fewer_points() -> None:
    one, both = outer_guards("""
        entry main [n][m][p] (xss: [n][m]f32) (fss: [p][p]f32): [][]f32 =
          tabulate_2d (n - p + 1) (m - p + 1) (\\i j ->
            f32.sum (tabulate p (\\k -> f32.sum (tabulate p (\\l ->
              xss[i + k, j + l] * fss[k, l])))))
        """)[:2]
    assert one.default is None
    assert both.default == SHARED_POINTS


@pytest.mark.parametrize(("quotient", "other", "default"), [
    ("x / f32.sqrt (y * y)", "x", SHARED_POINTS), ("x / y", "x", None),
    ("f32.sqrt x / y", "x", None), ("f32.f64 (f64.f32 x / f64.sqrt (f64.f32 y))", "x", None)])
def test_quotients_by_roots_need_fewer_points(quotient: str, other: str,
                                              default: int | None) -> None:
    (guard,) = outer_guards(f"""
        entry main [n][m] (xs: [n]f32) (ys: [m]f32): [n]f32 =
          map (\\x -> {other} + f32.sum (map (\\y -> {quotient}) ys)) xs""")
    assert guard.default == default


def test_no_more_than_the_device_asks_for() -> None:
    _, guard = outer_guards(PRODUCT)
    gpu, cpu = (Defaults(threshold=threshold, groups=1, short=1, long=1)
                for threshold in (200_000, 8))
    assert gpu.holds(guard, SHARED_POINTS, None)
    assert not gpu.holds(guard, SHARED_POINTS - 1, None)
    assert cpu.holds(guard, 8, None)


def test_the_tuner_asks_encounters_for_defaults_that_depend_on_sizes() -> None:
    versioned = compile_source(Source("program", PRODUCT), policy="full").versioned
    forest = forest_of(versioned).entry("main")
    one, both = outer_guards(PRODUCT)
    defaults = default_thresholds(forest, 200_000)
    assert (defaults[one.name], defaults[both.name]) == (0, 0)


def test_products_are_not_done_row_by_row() -> None:
    one, _ = outer_guards(PRODUCT)
    gpu = Defaults(threshold=1000, groups=8, short=64, long=512, together=True)
    cpu = replace(gpu, together=False)
    assert not gpu.holds(one, 5000, (5000, 100))
    assert not cpu.holds(one, 5000, (5000, 100))  # strips of several rows share columns
    by_groups, *_ = group_guards(PRODUCT)
    assert not any(device.holds(by_groups, 100, (100, 100)) for device in (gpu, cpu))
    assert gpu.holds(by_groups, 50, (4, 50))


def test_products_in_tiles_are_not_done_tile_by_tile() -> None:
    """The choice for the elements of tiles stands within those for their rows, and for tiles."""
    guards = group_guards("""
entry main [n][m][k] (xsss: [n][m][k]f32) (ysss: [n][k][m]f32): [n][m][m]f32 =
  map2 (\\xss yss -> map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss)
       xsss ysss
""")
    assert {guard.rival for guard in guards[:-1]} == {Rival.PRODUCT}
    assert guards[-1].rival is None


def test_several_products_are_not_done_row_by_row() -> None:
    text = """
entry main [n][m][k] (xss: [n][m]f32) (yss: [m][m]f32) (zss: [m][k]f32): [n][k]f32 =
  map (\\xs -> let ys = map (\\c -> f32.sum (map2 (*) xs c)) (transpose yss)
              in map (\\c -> 2 * f32.sum (map2 (*) ys c)) (transpose zss)) xss
"""
    assert [guard.rival for guard in group_guards(text)] == [Rival.PRODUCT, None, None]
    with_scan = text.replace("f32.sum (map2 (*) ys c)", "f32.sum (scan (*) 1 (map2 (*) ys c))")
    assert group_guards(with_scan)[0].rival is None


SOFTMAX = """
entry main [n][m][k] (xss: [n][k]f32) (yss: [m][k]f32): [n][m]f32 =
  map (\\xs -> let zs = map (\\ys -> f32.sum (map2 (*) xs ys)) yss
              let most = f32.maximum zs
              in map (\\z -> z / most) zs) xss
"""
NEAREST = """
entry main [n][m][k] (xss: [n][k]f32) (yss: [m][k]f32): [n]f32 =
  map (\\xs -> f32.maximum (map (\\ys -> f32.sum (map2 (*) xs ys)) yss)) xss
"""


@pytest.mark.parametrize(("text", "rival"), [(SOFTMAX, Rival.PRODUCT), (NEAREST, None)])
def test_products_that_are_kept_are_made_before_they_are_reduced(text: str, rival: Rival | None
                                                                  ) -> None:
    (guard,) = guards_of(text, Kind.REDOMAP)
    assert guard.rival is rival
    gpu = Defaults(threshold=1000, groups=8, short=64, long=512, together=True)
    assert gpu.holds(guard, 5000, None) == (rival is None)


@pytest.mark.parametrize(("text", "maps"), [
    ("map (\\xs -> map (* 2) xs) xss", True),
    ("map (\\xs -> map (* (1 + f32.sqrt xs[0])) xs) xss", True),
    ("map (\\xs -> map (\\x -> loop x for i < m do x + xs[i]) xs) xss", False),
    ("map (\\xs -> scan (+) 0 (map (* 2) xs)) xss", False),
])
def test_neighbours_map_side_by_side_where_they_run_together(text: str, maps: bool) -> None:
    (guard,) = outer_guards(f"entry main [n][m] (xss: [n][m]f32): [n][m]f32 = {text}")
    assert guard.rival == (Rival.MAPS if maps else None)
    gpu = Defaults(threshold=1000, groups=8, short=64, long=512, together=True)
    assert gpu.holds(guard, 5000, (5000, 100)) == (not maps)
    assert replace(gpu, together=False).holds(guard, 5000, (5000, 100))


STENCIL = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  {} tabulate_2d n m (\\i j -> xss[i, j] + xss[i64.max 0 (i - 1), j])
"""
SPACE = """
entry main [k][n][m] (xsss: [k][n][m]f32): [k][n][m]f32 =
  loop xsss for _i < 9 do
    tabulate_3d k n m (\\h i j -> xsss[h, i, j] + xsss[h, i64.max 0 (i - 1), j])
"""
LONG_POINTS = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  {} map (\\xs -> map (\\x -> loop y = x for i < m do f32.max y xs[i]) xs) xss
"""
SCANS = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 = {} map (\\xs -> scan (+) 0 (map (* 2) xs)) xss
"""
LOOP = "loop xss for _i < 9 do"


@pytest.mark.parametrize(("text", "rival"), [
    (STENCIL.format(LOOP), Rival.LINES), (STENCIL.format(""), None),
    (LONG_POINTS.format(LOOP), Rival.POINTS), (SCANS.format(LOOP), None), (SPACE, Rival.MAPS),
])
def test_groups_that_only_map_in_loops(text: str, rival: Rival | None) -> None:
    assert group_guards(text)[-1].rival is rival


def test_lines_may_be_merged_too() -> None:
    """Groups that do not divide are as good for small maps, if there are enough rows that suit."""
    (guard,) = group_guards(STENCIL.format(LOOP))
    gpu = Defaults(threshold=200_000, groups=100, short=4096, long=32768, merged=1 << 20,
                   together=True, even=256)
    assert [gpu.holds(guard, m, (n, m)) for n, m in (
        (1024, 1024), (256, 256), (1024, 64), (64, 1024), (1024, 8192))] == [
            True, True, False, False, False]
    assert replace(gpu, together=False, merged=0).holds(guard, 64, (1024, 64))


def test_small_maps_are_merged_where_a_device_can() -> None:
    guard = group_guards(SPACE)[-1]
    gpu, plain = (Defaults(threshold=200_000, groups=100, short=4096, long=32768, merged=merged)
                  for merged in (1 << 20, 0))
    assert not gpu.holds(guard, 1024, (1024, 1024))
    assert gpu.holds(guard, 1024, (1025, 1024))
    assert plain.holds(guard, 1024, (1024, 1024))


def test_what_work_items_run_through_alone_is_work_of_the_group() -> None:
    guard, below = group_guards("""
entry main [n][m] (xss: [n][m]f32) (k: i64): [n][m]f32 =
  map (\\xs -> map (\\x -> loop s = x for _i < k do s + f32.sum (map (f32.max s) xs)) xs) xss
""")
    assert str(guard.group) == "max(m_2, m_2*m_2)"
    assert str(below.group) == "m_2"
    gpu = Defaults(threshold=200_000, groups=100, short=4096, long=32768)
    few, many = (10, 100 * 100), (1000, 100 * 100)
    assert not gpu.holds(guard, 100, few)
    assert gpu.holds(guard, 100, many)


def test_sizes_known_only_inside_do_not_count() -> None:
    guards = group_guards("""
entry main [n][m] (xss: [n][m]i64): [n][m]i64 =
  map (\\xs -> map (\\x -> loop s = x for _i < m do s + i64.sum (map (* s) (iota x))) xs) xss
""")
    assert [str(guard.group) for guard in guards][:1] == ["m_2"]


NEAR_ALL = """
entry main [n][m] (xs: [n]f32) (ys: [m]f32): [n]f32 =
  map (\\x -> f32.sum (map (\\y -> f32.sqrt (y - x)) ys)) xs
"""
WINDOWS = """
entry main [n] (k: i64) (xs: [n]f32) (ys: [n]f32): [n]f32 =
  tabulate n (\\i -> f32.sum (tabulate k (\\j -> xs[(i + j) % n] * ys[j])))
"""
BOXES = """
entry main [n][m] (at: [n]i64) (xss: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\\i j -> let row = xss[at[i]] in f32.sum (map (\\x -> x - xss[i, j]) row))
"""
GATHERED = """
entry main [n][m] (at: [n]i64) (xss: [n][m]f32): [n]f32 =
  map (\\i -> f32.sum xss[at[i]]) (iota n)
"""


@pytest.mark.parametrize(("text", "streams"), [
    (NEAR_ALL, True), (WINDOWS, False), (BOXES, True), (GATHERED, False), (SUMS, False),
    (SCANS.format(""), False),
])
def test_rows_stream_where_neighbours_read_side_by_side(text: str, streams: bool) -> None:
    """The last choice is that of the innermost rows."""
    assert [guards(text)[-1].streams for guards in (outer_guards, group_guards)] == [streams] * 2


def test_rows_that_stream_may_be_long_and_neighbours_may_have_one_each() -> None:
    (outer,), (group,) = outer_guards(NEAR_ALL), group_guards(NEAR_ALL)
    gpu = Defaults(threshold=10_000, groups=8, short=64, long=512, part=10, least=32, even=256,
                   busy=64, together=True)
    assert gpu.holds(group, 5000, (64, 5000))
    assert not gpu.holds(group, 5000, (63, 5000))  # too few to keep the device busy
    assert not gpu.holds(replace(group, streams=False), 5000, (64, 5000))

    def enough(row: int, steps: int) -> int:
        """The least number of rows for which a work-item each pays."""
        guard = replace(outer, steps=steps)
        return next(n for n in range(1, 20_000) if gpu.holds(guard, n, (max(n, 64), row)))

    assert enough(100, 4) < enough(1000, 4) < enough(10_000, 4) <= 10_000
    assert enough(100, 4) < enough(100, 40)  # what groups spend besides matters less
    assert not gpu.holds(replace(outer, streams=False), 9_999, (9_999, 100))


@pytest.mark.parametrize(("element", "steps"), [
    ("x + y", 2), ("x * x + y", 3), ("f32.exp (x * y)", 18), ("y * f32.sqrt (x + y)", 19)])
def test_rows_say_how_long_an_element_takes(element: str, steps: int) -> None:
    text = f"""entry main [n][m] (xs: [m]f32) (ys: [n]f32): [n]f32 =
  map (\\y -> f32.sum (map (\\x -> {element}) xs)) ys"""
    assert [guards(text)[-1].steps for guards in (outer_guards, group_guards)] == [steps] * 2


MADE = """
entry main (n: i64) (m: i64): [n]i32 =
  tabulate n (\\i -> i32.sum (tabulate m (\\j -> i32.i64 (i ^ j))))
"""
BYTES = "entry main [n][m] (xss: [n][m]i8): [n]i8 = map i8.sum xss"
TWO_SCANS = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> scan f32.max f32.lowest (map (* 2) (scan (+) 0 xs))) xss
"""


@pytest.mark.parametrize(("text", "made", "apart"), [
    (SUMS, False, 4), (BYTES, False, 1), (MADE, True, 0), (NEAR_ALL, False, 0),
    (SCANS.format(""), False, 16), (TWO_SCANS, False, 0)])
def test_rows_that_lie_apart_and_rows_of_made_numbers(text: str, made: bool, apart: int) -> None:
    """Of both versions, since they are compared."""
    for found in (outer_guards, group_guards):
        assert (found(text)[-1].made, found(text)[-1].apart) == (made, apart)


def test_work_items_do_not_have_rows_that_lie_apart_and_are_too_long_for_the_cache() -> None:
    gpu = Defaults(threshold=1000, groups=8, short=64, long=512, least=32, together=True, cached=64)
    (outer,), (group,) = outer_guards(BYTES), group_guards(BYTES)
    for row in (64, 65):
        assert gpu.holds(outer, 2000, (2000, row)) == (row == 64)
        assert replace(gpu, cached=100).holds(outer, 2000, (2000, row))
    shorts = replace(group, apart=4)
    assert gpu.holds(shorts, 17, (2000, 17))
    assert not gpu.holds(shorts, 16, (2000, 16))


@pytest.mark.parametrize(("body", "saves"), [
    ("let y = f32.sum xs in map (/ y) xs", 1), ("map (* 2) xs", 0),
    ("let k = loop k = 1 for i < n do k * 3 in map (* (k + f32.sum xs)) xs", 1),
    ("let y = f32.sum xs in map (\\x -> loop x for i < n do x * y) xs", 0),
    ("loop xs = copy xs for i < n do map (/ f32.sum xs) xs", 0)])
def test_short_rows_that_save_launches(body: str, saves: int) -> None:
    (guard,) = outer_guards(
        f"entry main [m][k] (xss: [m][k]f32) (n: i64): [m][k]f32 = map (\\xs -> {body}) xss")
    assert guard.saves == saves
    gpu = Defaults(threshold=1000, groups=8, short=64, long=512, together=True, least=33)
    for n, m, enough in ((20, 32, saves), (1, 33, 0), (100, 32, 0)):
        assert gpu.holds(replace(guard, rival=None), n, (n, m)) == bool(enough)


def test_rows_of_made_numbers_need_fewer_work_items() -> None:
    (outer,) = outer_guards(MADE)
    gpu = Defaults(threshold=270_336, groups=132, short=4096, long=32768, part=16, least=32,
                   even=256, busy=1056, alone=4, together=True)
    for n, m in ((4096, 256), (16_777, 1000), (50_000, 1000), (100_000, 2048)):
        assert gpu.holds(outer, n, (n, m))
        assert not gpu.holds(replace(outer, made=False), n // 4, (n // 4, m))
    for n, m in ((4096, 4096), (16_896, 10_000), (5, 10**7)):
        assert not gpu.holds(outer, n, (n, m))


def test_points_that_go_through_loops_alone_need_no_groups() -> None:
    text = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (\\xs -> map (\\x -> loop s = 0 for k < 3 do
    if x > f32.i64 k then s + f32.sum (map (f32.max x) xs) else s) xs) xss
"""
    guard, below = group_guards(text)
    assert (guard.rival, below.rival) == (Rival.POINTS, None)
    assert outer_guards(text)[0].rival is Rival.POINTS
    gpu = Defaults(threshold=200_000, groups=100, short=4096, long=32768)
    assert not gpu.holds(guard, 100, (1000, 100))
    assert gpu.holds(guard, 60, (10, 60))


@pytest.mark.parametrize(("each", "rival"), [
    ("loop y = x for _i < steps do 2 * y + x", Rival.LADEN), ("2 * x", None)])
def test_few_rows_of_points_that_take_long_are_no_groups(each: str, rival: Rival | None) -> None:
    (group,) = group_guards(f"""
        entry main [n][m] (steps: i32) (xss: [n][m]f32): [n]f32 =
          map (\\xs -> f32.sum (map (\\x -> {each}) xs)) xss""")
    assert group.rival is rival
    gpu = Defaults(threshold=10_000, groups=8, short=4096, long=32768, even=256)
    holds = [gpu.holds(group, m, (n, m)) for n, m in ((7, 257), (7, 256), (8, 257))]
    assert holds == [rival is None, True, True]


def test_few_rows_of_points_that_take_unknown_times_are_no_work_items_of_processors() -> None:
    text = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (map (\\x -> loop y = x while y < 9 do 2 * y + 1)) xss
"""
    (outer,), (group,) = outer_guards(text), group_guards(text)
    assert (outer.rival, group.rival) == (Rival.POINTS, Rival.POINTS)
    cores = Defaults(threshold=10, groups=10, short=64, long=512, shared=3200)
    assert [cores.holds(outer, n, (n, 100)) for n in (3199, 3200)] == [False, True]
    assert not cores.holds(group, 100, (3199, 100))
    assert cores.holds(replace(outer, rival=None), 10, (10, 100))
    for_loop = text.replace("while y < 9", "for _i < 9")
    assert outer_guards(for_loop)[0].rival is not Rival.POINTS


def test_points_that_go_through_loops_alone_need_no_groups_of_rows() -> None:
    text = """
entry main [n][m] (xss: [n][m]f32): [n][m]f32 =
  map (map (\\x -> loop y = x for _i < 99 do 2 * y + 1)) xss
"""
    (outer,), (group,) = outer_guards(text), group_guards(text)
    assert (outer.rival, group.rival) == (None, Rival.POINTS)
    gpu = Defaults(threshold=200_000, groups=100, short=4096, long=32768, even=256, together=True)
    assert [gpu.holds(group, m, (n, m)) for n, m in ((4000, 4000), (50, 300), (50, 200))] == [
        False, False, True]


SOLVES = """
entry main [m][n] (As: [m][n][n]f32): [m][n][n]f32 =
  map (\\A -> loop A for k < n do
    let row = map (/ A[k, k]) A[k]
    in map2 (\\i r -> map2 (\\x y -> if i == k then y else x - r[k] * y) r row) (iota n) A) As
"""


def test_groups_that_go_through_a_loop_may_have_small_operations() -> None:
    (group, *_) = group_guards(SOLVES)
    assert (str(group.par), str(group.looped)) == ("min(n_2, n_2*n_2)", "max(n_2, n_2*n_2)")
    assert all(guard.looped is None for text in (SUMS, SCANS.format(""), NEAR_ALL)
               for guard in group_guards(text))  # their flat versions launch nothing in loops
    gpu = Defaults(threshold=10_000, groups=8, short=64, long=512, least=32, together=True)
    for n, holds in ((3, False), (4, True), (22, True), (23, False)):  # up to 512 elements
        assert gpu.holds(group, n, (1000, n * n, n * n)) == holds
    assert not gpu.holds(group, 16, (1000, 256))  # what is not in a loop does not count
    processor = replace(gpu, together=False)
    assert not processor.holds(group, 16, (1000, 256, 256))
