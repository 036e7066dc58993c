"""The one thing to do next, from measurements that are given, and from real ones."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source
from runelift.ir.imp.work_counts import Work
from runelift.ir.prim import Prim
from runelift.rewrite.lift.points import BOOK
from runelift.runtime.cost.peaks import Peaks
from runelift.runtime.records.statistics import Summary
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.profiling.next_step import (
    NOTHING,
    Commands,
    Kind,
    MeasuredWay,
    Step,
    next_step,
    steps,
)
from runelift.runtime.tools.profiling.profile import ComparedVersion, KernelProfile, Profile
from runelift.runtime.tools.profiling.quantities import about_ways, refusals, share_of_peak
from runelift.runtime.tools.profiling.schedules import KINDS, MOST, STORED, schedules
from runelift.runtime.tools.profiling.way import Call, Way
from runelift.runtime.tools.profiling.ways import commands_in_python, in_turn
from runelift.runtime.tools.profiling.windows import windowed, windows

SHELL = Commands("f", ["k", "xs"], [False, True], "a b.fut", ["--only", "big", "--entry", "f"],
                 ["--entry", "f"], "a b.fut.tuning")
PYTHON = replace(SHELL, program=None)
ROUNDS = (1.0, 1.02, 0.99, 1.01, 1.0, 0.98, 1.03)


def way(kind: Kind, seconds: float, name: str = "", detail: str = "") -> MeasuredWay:
    return MeasuredWay(kind, name, detail, tuple(seconds * each for each in ROUNDS))


NOW, HOST = way(Kind.NOW, 0.010, "default"), way(Kind.HOST, 0.014)


@pytest.mark.parametrize(("better", "text", "shell", "python"), [
    (way(Kind.VERSION, 0.005, "V2, V4", "{'f.v': 1}"), "run V2, V4",
     "runelift bench 'a b.fut' --only big --entry f --force V2 --force V4",
     "program.run('f', [k, xs], force={'f.v': 1})"),
    (way(Kind.DEFAULT, 0.005, "default"), "leave the settings out",
     "mv 'a b.fut.tuning' 'a b.fut.tuning.old'", "program.thresholds = {}"),
    (way(Kind.CONSTANT, 0.005, "f_k8, with k = 8", "entry f_k8 xs' = f 8 xs'"),
     "call f_k8, with k = 8 as a constant",
     "printf '\\n%s\\n' 'entry f_k8 xs'\"'\"' = f 8 xs'\"'\"'' >> 'a b.fut'",
     "program = runelift.compile(text + \"\\nentry f_k8 xs' = f 8 xs'\")"),
    (way(Kind.WINDOWS, 0.005, "f_slide, with lift.slide", "entry f_slide = 1"),
     "call f_slide, with lift.slide", "printf '\\n%s\\n' 'entry f_slide = 1' >> 'a b.fut'",
     "program = runelift.compile(text + '\\nentry f_slide = 1')"),
    (way(Kind.LAYOUT, 0.005, "store 's' of line 4, transposed", "f.x layout(10)\nfuse\nf.r p()\n"),
     "store 's' of line 4, transposed (a schedule)",
     "printf '%s\\n' 'f.x layout(10)' fuse 'f.r p()' > layout.schedule && "
     "runelift bench 'a b.fut' --only big --entry f --schedule layout.schedule",
     "program = runelift.compile(text, schedule='f.x layout(10)\\nfuse\\nf.r p()\\n')"),
    (way(Kind.TILES, 0.005, "rewrite a loop of line 4 by split_join(16)", "f.x split_join(16)\n"),
     "rewrite a loop of line 4 by split_join(16) (a schedule)",
     "printf '%s\\n' 'f.x split_join(16)' > tiles.schedule && "
     "runelift bench 'a b.fut' --only big --entry f --schedule tiles.schedule",
     "program = runelift.compile(text, schedule='f.x split_join(16)\\n')"),
    (way(Kind.LARGER, 0.005, "a 16th of a call with n = 160", "8i64 '[160]f32'"),
     "give more data in a call (a 16th of a call with n = 160)",
     "runelift dataset 8i64 '[160]f32' -o larger.data && "
     "runelift bench 'a b.fut' --entry f --input larger.data",
     "runelift dataset 8i64 '[160]f32' -o larger.npz"),
    (way(Kind.DEVICE, 0.009, "from Python, device arrays"),
     "keep arrays on the device between calls from Python",
     "program = runelift.compile('a b.fut'); xs = program.to_device(xs); "
     "program.f(k, xs, device_arrays=True)",
     "xs = program.to_device(xs); program.f(k, xs, device_arrays=True)"),
])
def test_each_change_that_gains_is_named_with_its_command(
        better: MeasuredWay, text: str, shell: str, python: str) -> None:
    for commands, command in ((SHELL, shell), (PYTHON, python)):
        (step,) = steps([NOW, HOST, better], commands)
        assert (step.text, step.command) == (text, command)
        assert step.gain == pytest.approx(14 / 9)
        before = "14.0 ms" if better.kind is Kind.DEVICE else "10.0 ms"
        assert f": {better.median * 1e3:.2f} ms instead of {before}, " in next_step(
            {"": [step]}, "").text


def test_what_does_not_gain_for_sure_is_not_named() -> None:
    noisy = replace(way(Kind.VERSION, 0.005, "V2"), seconds=(0.004, 0.005, 0.005, 0.011))
    failed = MeasuredWay(Kind.VERSION, "V3", refused="V3: no memory")
    little, slower = way(Kind.CONSTANT, 0.0096), way(Kind.LARGER, 0.020)
    small_part = way(Kind.VERSION, 0.0098, "V4")
    once = MeasuredWay(Kind.VERSION, "V5", seconds=(0.001,))
    few = replace(way(Kind.VERSION, 0.0085, "V6"), seconds=(0.0085,) * 3)
    ways = [NOW, HOST, noisy, failed, little, slower, small_part, once, few,
            way(Kind.NUMPY, 0.001)]
    assert steps(ways, SHELL) == ()
    assert next_step({"": ()}, "").text == NOTHING == "Nothing that was tried is sure to gain 5 %."
    assert steps([NOW, HOST, replace(few, seconds=few.seconds * 2)], SHELL)
    assert steps([NOW, HOST, replace(few, seconds=(0.005,) * 2)], SHELL)
    # without a call with NumPy arrays, nothing says that device arrays gain
    assert steps([NOW, way(Kind.DEVICE, 0.001)], SHELL) == ()


def test_why_a_version_does_not_run_is_told_once() -> None:
    refused = MeasuredWay(Kind.VERSION, "V2", refused="V2 cannot run here: no room.")
    alone = ComparedVersion("V2", refused="V2 cannot run here: no room.")
    for compared in ([alone], []):
        profile = cast(Profile, SimpleNamespace(ways=[refused], compared=compared, difference=None))
        assert [*refusals(profile), *about_ways(profile)] == ["V2 cannot run here: no room."]


def test_a_gain_in_most_rounds_is_told_as_a_doubt() -> None:
    noisy = replace(way(Kind.CONSTANT, 0.005, "f_k8"), seconds=(0.001, 0.002, 0.002, 0.02))
    wall = Summary(0.01, 0, 0.01, 4)
    found = Profile("f", "", "", wall, wall, Peaks(1.0, {}), (), (), cast(Any, None), 0.01,
                    ways=(NOW, noisy, way(Kind.VERSION, 0.011, "V2")))
    assert about_ways(found) == ["'f_k8' may be 5.03 times as fast, but times vary too much: "
                                 "profile again while no other program runs."]
    sure = steps([NOW, way(Kind.VERSION, 0.005, "V2")], SHELL)
    for changed in (replace(found, steps=sure), replace(found, ways=(NOW, *found.ways[2:]))):
        assert about_ways(changed) == []


def test_the_greatest_gain_is_named_and_different_versions_are_tuned() -> None:
    def version(name: str, seconds: float) -> Step:
        return steps([NOW, way(Kind.VERSION, seconds, name)], SHELL)[0]

    constant = steps([NOW, way(Kind.CONSTANT, 0.004, "k = 8")], SHELL)
    tune = "runelift autotune a.fut"
    found = next_step({"one": [version("V2", 0.002), *constant],
                       "two": [version("V2", 0.005)]}, tune)
    assert found.step is not None
    assert (found.step.kind, found.dataset) == (Kind.VERSION, "one")
    assert found.text.startswith("Next: run V2: 2.00 ms instead of 10.0 ms for one, 5.00 times")
    for others in ([version("V3", 0.005)], []):
        found = next_step({"one": [version("V2", 0.002)], "two": others}, tune)
        assert found.text.splitlines()[1].strip() == tune
        assert "such as V2: 2.00 ms instead of 10.0 ms for one" in found.text
    assert next_step({"one": constant, "two": [version("V3", 0.009)]}, tune).step == constant[0]


@pytest.mark.parametrize(("seconds", "share", "shown", "bound"), [
    (0.5, 1.0, "at roof", ""), (1.25, 0.8, "80 %", "memory"), (4.0, 0.25, "25 %", "")])
def test_no_share_is_above_a_peak_and_far_peaks_do_not_bound(
        seconds: float, share: float, shown: str, bound: str) -> None:
    kernel = KernelProfile("k", "", "a.fut:1:1", "", 1, Summary(seconds, 0, seconds, 3), 1.0,
                           Work(bytes=100.0), Peaks(100.0, {Prim.F32: 1e9}), None)
    assert (kernel.memory_share, kernel.roof_share) == (share, share)
    assert share_of_peak(kernel, kernel.memory_share) == shown
    assert kernel.bound == bound


STRIDED = """
entry main [n][m] (xss: [n][m]f32): [n][n]f32 =
  let s = xss[:, ::8]
  in map (\\a -> map (\\b -> f32.sum (map2 (*) a b)) s) s
entry rows [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
"""


def test_arrays_are_stored_otherwise_where_that_is_predicted_to_gain() -> None:
    program = runelift.compile(STRIDED, device="pocl")
    xss = np.arange(128 * 1024, dtype=np.float32).reshape(128, 1024) % 7
    ways = [*schedules(Call(program, "main", [xss]), [xss])]
    found = {each.name: each.detail for each in ways}
    assert found["store 'xss[:, ::8]' of line 3, transposed"] == "main.x layout(10)\n"
    for detail in found.values():
        scheduled = runelift.compile(STRIDED, device="pocl", schedule=detail)
        np.testing.assert_array_equal(scheduled.main(xss), program.main(xss))
    assert {each.kind for each in schedules(Call(program, "rows", [xss]), [xss])} <= {Kind.TILES}
    assert not [*schedules(Call(program, "main", [xss], {"main.versions_0": 0}), [xss])]
    assert all(each.time() > 0 for each in ways)
    assert {each.name.partition(" ")[0] for each in ways if each.kind is Kind.LAYOUT} == {"store"}


FORCES = """
entry main [n] (xs: [n]f32): [n]f32 =
  map (\\x -> f32.sum (map (\\y -> 1 / ((x - y) * (x - y) + 0.1)) xs)) xs
"""


def test_loops_are_tiled_where_that_is_predicted_to_gain() -> None:
    program = runelift.compile(FORCES, device="pocl")
    xs = (np.arange(2000) % 64).astype(np.float32) / 8
    ways = [*schedules(Call(program, "main", [xs]), [xs])]
    assert 0 < len(ways) <= MOST
    assert all(each.kind is Kind.TILES and each.time() > 0 for each in ways)
    assert {each.name.partition("(")[0] for each in ways} == {
        "rewrite a loop of line 3 by tile_map_reduce"}
    for detail in {each.detail for each in ways}:
        scheduled = runelift.compile(FORCES, device="pocl", schedule=detail)
        np.testing.assert_allclose(scheduled.main(xs), program.main(xs), rtol=1e-4)


def test_each_point_of_the_table_is_one_that_steps_may_have() -> None:
    assert KINDS.keys() - {STORED} <= BOOK.keys()


INDICES = r"""
entry slices [n] (k: i64) (xs: [n]f32): []f32 =
  tabulate (n - k + 1) (\i -> f32.sum xs[i:i + k] / f32.i64 k)
entry counted [n][k] (ws: [k]f32) (xs: [n]f32): [n-k+1]f32 =
  map (\i -> f32.sum (map (\j -> ws[j] * xs[j + i]) (iota k))) (iota (n - k + 1))
entry loops [n] (k: i64) (xs: [n]f32): []f32 =
  tabulate (n - k) (\i -> loop s = 0 for j < k + 1 do s + xs[i+j])
entry offsets [n] (xs: [n]f32): [n-2]f32 = map (\i -> (xs[i] + xs[i+2]) / 2) (iota (n-2))
entry before [n] (xs: [n]f32): []f32 = map (\i -> xs[i] + xs[i64.max 0 (i-1)]) (iota n)
entry counts [n] (xs: [n]f32): []f32 = map (\i -> xs[i] + xs[i+1] * f32.i64 i) (iota (n-1))
entry two [n] (xs: [n]f32) (ys: [n]f32): []f32 = map (\i -> xs[i] + ys[i+1]) (iota (n-1))
entry planes [n][m] (k: i64) (xss: [n][m]f32): [][]f32 =
  tabulate_2d (n - k + 1) (m - 1) (\i j -> f32.sum (flatten xss[i:i+k, j:j + 2]))
entry cross [n][m] (xss: [n][m]f32): [n-2][m-2]f32 =
  tabulate_2d (n-2) (m-2) (\i c -> xss[i, c+1] + xss[i+2, c+1] + xss[i+1, c] * xss[1+i, c+2])
entry rows_below [n][m] (xss: [n][m]f32): [n-1][m]f32 =
  tabulate (n-1) (\i -> map (\j -> xss[i,j] - xss[i+1,j]) (iota m))
entry filtered [n][m] (ws: [3][2]f32) (xss: [n][m]f32): [n-2][m-1]f32 =
  map (\i -> map (\j -> loop s = 0 for a < 3 do loop s for b < 2 do s + ws[a,b] * xss[i+a,j+b])
                (iota (m-1))) (iota (n-2))
entry table [n] (k: i64) (xs: [n]f32): [][]f32 =
  map (\i -> map (\j -> f32.i64 j * xs[i+1]) (iota k)) (iota (n-1))
entry turned [n][m] (xss: [n][m]f32): [][]f32 = tabulate_2d m n (\i j -> xss[j, i])
entry diagonal [n][m] (xss: [n][m]f32): [][]f32 = tabulate_2d n m (\i j -> xss[i, i])
entry fewer [n] (xs: [n]f32): []f32 = map (\i -> xs[i] + xs[i+1]) (iota (n-5))
"""


def test_maps_over_indices_are_tried_as_maps_over_windows() -> None:
    source = Source("indices.fut", INDICES)
    texts = {name: windowed(source, name, f"{name}_slide") or "" for name in (
        "slices", "counted", "loops", "offsets", "before", "counts", "two", "planes", "cross",
        "rows_below", "filtered", "table", "turned", "diagonal", "fewer")}
    assert [name for name, each in texts.items() if not each] == [
        "before", "counts", "two", "turned", "diagonal"]
    assert texts["slices"] == (
        "entry slices_slide [n] (k: i64) (xs: [n]f32): []f32 = "
        "map (\\window -> f32.sum window / f32.i64 k) (lift.slide k 1 xs)")
    assert "ws[j] * window[j]) (iota k))) (lift.slide k 1 xs) :> [n-k+1]f32" in texts["counted"]
    assert "s + window[j]) (lift.slide (k + 1) 1 xs)" in texts["loops"]
    assert "(window[0] + window[2]) / 2) (lift.slide 3 1 xs) :> [n-2]f32" in texts["offsets"]
    assert "map (map (\\window -> f32.sum (flatten window))) (lift.slide2d k 1 2 1 xss)" in (
        texts["planes"])
    assert "window[0, 1] + window[2, 1] + window[1, 0] * window[1, 2])) (lift.slide2d 3 1 3 1" in (
        texts["cross"])
    assert "window[0, 0] - window[1, 0])) (lift.slide2d 2 1 1 1 xss) :> [n-1][m]f32" in (
        texts["rows_below"])
    assert "s + ws[a,b] * window[a, b])) (lift.slide2d 3 1 2 1 xss)" in texts["filtered"]
    assert "f32.i64 j * window[1]) (iota k)) (lift.slide 2 1 xs)" in texts["table"]
    program = runelift.compile(source, device="pocl")
    made = runelift.compile(INDICES + "\n".join(texts.values()), device="pocl")
    xs = np.arange(50, dtype=np.float32)
    xss = (np.arange(63, dtype=np.float32) % 5).reshape(9, 7)
    for name, args in (("slices", (8, xs)), ("counted", (xs[:6], xs)), ("loops", (3, xs)),
                       ("offsets", (xs,)), ("table", (4, xs)), ("planes", (3, xss)),
                       ("cross", (xss,)), ("rows_below", (xss,)), ("filtered", (xss[:3, :2], xss))):
        np.testing.assert_array_equal(made[f"{name}_slide"](*args), program[name](*args))
    (found,) = windows(Call(program, "slices", [8, xs]), [8, xs])
    assert (found.name, found.detail) == ("slices_slide, with lift.slide", texts["slices"])
    assert found.time() > 0
    (found,) = windows(Call(program, "cross", [xss]), [xss])
    assert found.name == "cross_slide, with lift.slide2d"
    (there,) = windows(Call(made, "slices", [8, xs]), [8, xs])
    assert there.detail == "program.slices_slide(k, xs)"
    assert not [*windows(Call(program, "fewer", [xs]), [xs])]  # there are more windows


VALUES = ", ".join(f"{each % 7}f32" for each in range(3000))
MEANS = f"""
-- The means of windows.
-- ==
-- entry: means
-- "windows" input {{ 8i64 [{VALUES}] }}
entry means [n] (k: i64) (xs: [n]f32): []f32 =
  tabulate (n - k + 1) (\\i -> f32.sum xs[i:i + k] / f32.i64 k)
"""
def test_what_larger_random_data_does_to_a_program_is_not_told() -> None:
    def fails() -> float:
        raise UserError("The size of an array is negative.")

    forest = runelift.compile("entry main (x: i32) = x").tree.entry("main")
    ways = [Way(Kind.NOW, "default", lambda: 0.001), Way(Kind.VERSION, "V2", fails),
            Way(Kind.LARGER, "a 16th of a call with n = 160", fails)]
    found = in_turn(ways, 2, lambda _: None, forest)
    assert [each.kind for each in found] == [Kind.NOW, Kind.VERSION]
    assert "negative" in found[1].refused


VARYING = {Kind.LARGER, Kind.VERSION}
"""The kinds of ways that are left out if calls are long, or predicted to be."""
SCRIPT = """
import numpy as np
def means(k, xs): return np.convolve(xs, np.full(k, 1 / k), "valid")
def wrong(k, xs): return xs[k - 1:]
def broken(k): return k
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    peaks = Peaks(1e10, {Prim.F32: 1e11, Prim.I32: 1e11})
    monkeypatch.setattr("runelift.runtime.tools.profiling.session.measured_peaks",
                        lambda *_, **__: peaks)
    monkeypatch.setenv("COLUMNS", "110")
    (tmp_path / "means.fut").write_text(MEANS)
    (tmp_path / "means.py").write_text(SCRIPT)
    return tmp_path


def test_a_profile_ends_in_one_change_or_in_none(
        folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, script = folder / "means.fut", folder / "means.py"
    command = ["profile", str(program), "--device", "pocl", "-r", "4"]
    assert main([*command, "--json", "--numpy", f"{script}:means"]) == 0
    out = capsys.readouterr().out
    found = json.loads(out[out.index("{"):])
    found = found.get("result", found)
    (profile,) = found["profiles"]
    ways = {each["kind"]: each for each in profile["ways"]}
    assert {*ways} >= {"now", "version", "constant", "host", "device", "numpy"}
    assert all(each["seconds"] or each["refused"] for each in profile["ways"])
    assert profile["difference_from_numpy"] is None
    if found["next"] is not None:
        assert found["next"]["after"] < found["next"]["before"]
        assert found["next"]["command"] == profile["steps"][0]["command"]
    way = MeasuredWay(Kind.CONSTANT, ways["constant"]["name"], ways["constant"]["detail"])
    assert way.detail == "entry means_k8 [n] (xs: [n]f32) = means 8 xs"
    pasted = Commands("means", [], [], str(program)).of(way)
    subprocess.run(["/bin/sh", "-c", pasted], check=True)
    xs = np.arange(20, dtype=np.float32)
    made = runelift.compile(program, device="pocl")
    np.testing.assert_array_equal(made.means_k8(xs), made.means(8, xs))

    call = Call(made, "means", [8, np.arange(20)])
    assert commands_in_python(call).text == f"open({str(program)!r}).read()"

    def means(k: int, xs: object) -> object:
        return xs

    xs = np.arange(3000, dtype=np.float32) % 7
    shown = runelift.profile(made.means, 8, xs, runs=3, numpy=means)
    assert {each.kind: each.name for each in shown.profile.ways if each.kind not in VARYING} == {
        kind: each["name"] for kind, each in ways.items() if kind not in VARYING}
    assert " ".join(repr(shown).split()).endswith(" ".join(shown.next.split()))
    pasted = shown.next.partition("\n")[2]
    assert all(len(each) <= 100 for each in repr(shown).splitlines() if each != pasted)
    assert "The results of NumPy differ" in repr(shown)
    assert re.match(r"Next: .* times as fast\.\n  \S|Nothing that was tried", shown.next)
    assert "Ways to make the call" in shown._repr_html_()
    (there,) = (each for each in shown.profile.ways if each.kind is Kind.CONSTANT)
    assert PYTHON.of(there) == "program.means_k8(xs)"

    for name, said in (("none", "no function 'none'"), ("broken", "broken fails"),
                       ("a.b", "SCRIPT.py:NAME")):
        assert main([*command, "--numpy", f"{script}:{name}"]) == 1
        assert said in " ".join(capsys.readouterr().err.split())
