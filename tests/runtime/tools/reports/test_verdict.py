"""The verdict of a tuning: its lines, and how certain each gain is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.tools.reports.verdict import (
    Change,
    _changes,
    changes,
    sentences,
    verdict,
    written_line,
)
from runelift.runtime.tuner.confirm_size_guards import ConfirmedSizeGuards
from runelift.runtime.tuner.fit.size_guards import SizeGuardKind
from runelift.runtime.tuner.kernel_parameters.tune import ParameterTuning
from runelift.runtime.tuner.measure.paired_comparison import PairedTimes
from runelift.runtime.tuner.measure.side_by_side import BEST, DEFAULT, TUNED, SideBySide, speedup
from runelift.runtime.tuner.thresholds import tune_thresholds
from runelift.runtime.versions.size_guards import SizeTable
from tests.runtime.tuner.simulated import CHAIN, Simulated, inputs, job_for


def change(number: int, gain: float) -> Change:
    return Change(f"d{number}", gain * 1e-3, 1e-3, "certain")


def test_a_row_per_dataset() -> None:
    found = [Change("10x1024", 1.2e-3, 0.4e-3, "certain"), Change("a", 1e-3, 1e-3, "no change")]
    assert verdict("p.fut on pocl", found, "Written: x").splitlines() == [
        "p.fut on pocl",
        "Tuned, 2 datasets take 1.40 ms instead of 2.20 ms in all: 1.57× as fast; "
        "1 certainly faster, 1 as before.",
        "  dataset  default    tuned   gain",
        "  10x1024  1.20 ms   400 µs  3.00×  certain",
        "  a        1.00 ms  1.00 ms  1.00×  no change",
        "Written: x"]


@pytest.mark.parametrize("count", [1, 5, 6, 13])
def test_nine_lines_are_enough(count: int) -> None:
    found = [change(number, 1 + number % 5) for number in range(count)]
    lines = verdict("p.fut on pocl", found, "Written: x").splitlines()
    assert len(lines) <= 9
    assert f"{count} dataset" in lines[1]
    assert (lines[-2] == f"  … and {count - 4} more (-v shows all)") == (count > 5)


def test_the_largest_changes_are_shown_in_order() -> None:
    found = [change(number, 1 + number) for number in range(6)]
    text = verdict("p", found, "")
    assert [name for name in ("d0", "d1", "d2", "d3", "d4", "d5") if f"  {name} " in text] == [
        "d2", "d3", "d4", "d5"]


def cost(where: str, index: int, par: int) -> float:
    return [100.0 / par, 200.0, 20.0][index]


@pytest.mark.parametrize(("verify", "certainty"), [(True, "certain"), (False, "predicted")])
def test_only_direct_comparisons_are_certain(verify: bool, certainty: str) -> None:
    sim = Simulated.of(CHAIN, cost)
    tuning = tune_thresholds(job_for(sim, inputs(a=[16]), repeats=1, verify=verify))
    (found,) = changes(tuning)
    assert found.certainty == certainty
    assert found.before > found.after


@pytest.mark.parametrize(("guards", "gain", "certainty"), [
    ([2e-3] * 9, 2.0, "certain"), ([1e-3] * 9, 4.0, "certain"), ([4e-3] * 9, 1.0, "no change")])
def test_gains_of_stages_multiply(guards: list[float], gain: float, certainty: str) -> None:
    """Each is relative to the choice before it, which may be slower when it is run again."""
    stages = PairedTimes.of([4e-3] * 9, [2e-3] * 9), PairedTimes.of([2e-3] * 9, guards)
    (found,) = _changes("main", {}, [{"a": each} for each in stages])
    assert found.before == 4e-3
    assert found.before / found.after == pytest.approx(gain)
    assert found.certainty == certainty


def test_times_with_what_was_dropped_do_not_count() -> None:
    sim = Simulated.of(CHAIN, cost)
    tuning = tune_thresholds(job_for(sim, inputs(a=[16]), repeats=1))
    fast = {"a": PairedTimes.of([4e-3] * 9, [1e-3] * 9)}
    name, finer = tuning.entries[0].forest.entry, {"main.versions_0": SizeTable(("n",), {(16,): 0})}
    kept, dropped = (ConfirmedSizeGuards(name, SizeGuardKind.MEMO, each, verified=fast)
                     for each in (finer, {}))
    settings, none = (ParameterTuning(name, chosen=each, verified=fast)
                      for each in ({"main.r_0.group": 64}, {}))
    (plain,) = changes(tuning)
    assert changes(tuning, [none], [dropped]) == [plain]
    for parameters, guards in (([settings], [dropped]), ([none], [kept])):
        (found,) = changes(tuning, parameters, guards)
        assert found.before / found.after == pytest.approx(4 * plain.before / plain.after)


def test_what_stays_is_no_change() -> None:
    sim = Simulated.of(CHAIN, lambda *_: 1e-3)
    tuning = tune_thresholds(job_for(sim, inputs(a=[16]), repeats=1))
    assert [each.certainty for each in changes(tuning)] == ["no change"]


def test_datasets_that_could_not_be_measured_are_named() -> None:
    sim = Simulated.of(CHAIN, cost, fail={("s", k): CompilerLimitation("no") for k in range(3)})
    tuning = tune_thresholds(job_for(sim, inputs(a=[16]), repeats=1))
    (found,) = changes(tuning)
    assert found.certainty == "not measured"
    assert "  a              -      -     -  not measured" in verdict("p", [found], "")


def beside_best(*ratios: float) -> str:
    """The last sentence where the best single version was so many times as fast in each round."""
    found = SideBySide("a", "main", {DEFAULT: (2.0,) * len(ratios), TUNED: ratios,
                                     BEST: (1.0,) * len(ratios)}, {})
    return sentences([Change("a", 2.0, found.median(TUNED), "certain", found)])[-1]


@pytest.mark.parametrize(("ratios", "begins", "limits"), [
    ((1.05, 1.1, 1.3), "The best single version of each dataset would be 1.10×", "1.05× to 1.30×"),
    ((1.01, 1.1, 1.3), "The best single version of each dataset would be 1.10×", "1.01× to 1.30×"),
    ((0.99, 0.8, 0.5), "That is 1.25× as fast as the best", "1.01× to 2.00×"),
    ((1.01, 1.02, 1.03), "That is as fast as the best", ""),
    ((0.97, 0.98, 0.99), "That is as fast as the best", ""),
    ((0.99, 1.1, 1.3), "Whether the best", "0.99× to 1.30×")])
def test_the_best_single_version_is_judged_by_the_limits(
        ratios: tuple[float, ...], begins: str, limits: str) -> None:
    """Nothing is said to be unknown beside limits on one side of 1."""
    said = beside_best(*5 * ratios)
    assert said.startswith(begins)
    assert limits in said
    assert ("95 %" in said) == bool(limits)


@given(st.lists(st.floats(0.5, 2.0), min_size=3, max_size=20))
def test_what_cannot_be_told_has_limits_on_both_sides(ratios: list[float]) -> None:
    found = SideBySide("a", "main", {TUNED: tuple(ratios), BEST: (1.0,) * len(ratios)}, {})
    _, low, high = speedup([found], BEST, TUNED)
    said = beside_best(*ratios)
    assert not ("cannot be told" in said and (low > 1 or high < 1))
    assert not ("The best single" in said and low <= 1)
    assert not (said.startswith("That is 1") and high >= 1)


def test_files() -> None:
    assert written_line(Path("a.tuning"), used=True, log=True) == (
        "Written: a.tuning (used from now on), .json, .log")
    assert written_line(Path("b"), used=False, log=False, pages=[Path("c.html")]) == (
        "Written: b (use it with --tuning b), .json, c.html")


@pytest.mark.parametrize("versions", [(), ("V1",)])
def test_thresholds_decide_nothing_where_no_choice_is_met(versions: tuple[str, ...]) -> None:
    final = SideBySide("a", "main", dict.fromkeys((DEFAULT, TUNED), (1e-3,) * 9),
                       dict.fromkeys((DEFAULT, TUNED), versions))
    text = verdict("p", [Change("a", 1e-3, 1e-3, "no change", final)], "")
    assert ("met no choice between versions, so thresholds decide nothing." in text) is (
        not versions)
    assert ("  runs\n" in text) is bool(versions)
    assert "best version" not in text
