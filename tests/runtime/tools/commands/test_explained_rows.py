"""``explain`` about rows of different lengths: what decides, predicted times, and pictures."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runelift.runtime.data.lengths import draw
from runelift.runtime.tools.commands.cli import main

Run = Callable[..., SimpleNamespace]
EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def execute(*arguments: object) -> SimpleNamespace:
        status = main([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return SimpleNamespace(status=status, out=out, err=err)

    return execute


RAGGED = """-- ==
-- entry: squares
-- "even" notest script input { ($ragged "3000 equal 20") }
-- "one" notest script input { ($ragged "100000 one 1000000") }
entry squares [n] (ks: [n]i64): [n]i64 = map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks
"""


WIDTHS = """-- ==
-- entry: both
-- script input { ($ragged "500 uniform 20", $ragged "500 one 1000 3") }
entry both [n] (a: [n]i64) (b: [n]i64): [n]i64 =
  map2 (\\x y -> i64.sum (map (\\i -> i * i) (iota x)) + i64.maximum (map (% 5) (iota y))) a b

-- ==
-- entry: nested
-- input { [[3i64, 0i64], [5i64, 1i64]] }
entry nested [n][m] (kss: [n][m]i64): [n][m]i64 =
  map (map (\\k -> i64.sum (map (% 7) (iota k)))) kss

-- ==
-- entry: triangle
-- input { 100i64 }
entry triangle (n: i64): [n]i64 = tabulate n (\\i -> i64.sum (map (% 9) (iota (i + 1))))

-- ==
-- entry: kept
-- input { 100i64 }
entry kept (n: i64): []i64 =
  map (\\k -> i64.sum (map (% 9) (iota k))) (filter (\\i -> i % 3 > 0) (iota n))
"""


def test_what_decides_for_rows_of_different_lengths_is_explained(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(RAGGED)
    text = run("explain", path, "--ragged", "--as-device", "h200").out
    assert "even: 3,000 rows\n  ks has lengths 20 alone" in text
    assert f"up to 32  {40 * '█'} 3,000" in text
    assert "one: 100,000 rows\n  ks has lengths 0 to 1,000,000, mean 12" in text
    found = json.loads(run("explain", path, "--ragged", "--as-device", "h200", "--json").out)
    even, one = found["result"]["choices"]
    assert (even["total"], even["longest"], even["live"], even["counts"]["ks"][5]) == (
        60_000, 20, 3000, 3000)
    assert even["chosen"] == "V1"
    assert even["versions"][0]["parallelism"] == even["rows"]
    assert even["versions"][0]["waste"] == pytest.approx(3008 / 3000)
    assert one["chosen"] == "V3"
    assert "V3 runs" in one["why"]
    costs = json.loads(run("explain", "cost", path, "--as-device", "h200", "--json").out)
    for each in (even, one):
        (choice,) = costs["result"]["entries"]["squares"]["inputs"][each["dataset"]]["choices"]
        assert choice["chosen"] == each["chosen"]
        assert [(v["kind"], v["predicted_seconds"]) for v in choice["versions"]] == [
            (v["kind"], v["predicted_seconds"]) for v in each["versions"]]
    (only,) = json.loads(run("explain", path, "--ragged", "--as-device", "h200", "--only", "one",
                             "--json").out)["result"]["choices"]
    assert only == one
    path.write_text("entry main (xs: []i32) = map (+ 1) xs")
    assert "No choice of" in run("explain", path, "--ragged", "--as-device", "h200").err


@pytest.mark.parametrize("command", [("cost",), ("--ragged",)])
def test_lengths_stand_in_place_of_datasets(run: Run, tmp_path: Path, command: tuple[str]) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(RAGGED)
    options = "--as-device", "h200", "--json", "--lengths"

    def facts(text: str) -> dict[str, Any]:
        found = json.loads(run("explain", *command, path, *options, text).out)["result"]
        inputs = found.get("entries", {}).get("squares", {}).get("inputs")
        return found["choices"][0] if inputs is None else next(iter(inputs.values()))["choices"][0]

    for text, said in (("0 equal 5", "ks has no lengths"), ("3,3", "ks has lengths 3 alone"),
                       ("3,4", "ks has lengths 3 to 4, mean 3.5")):
        assert command == ("cost",) or said in run(
            "explain", *command, path, "--as-device", "h200", "--lengths", text).out
    listed, even, one = map(facts, ("3,0,5,1", "100000 equal 2", "100000 one 1000000"))
    assert listed.get("sizes", {"squares": listed.get("squares")}).popitem()[1] == 35
    assert (even["chosen"], one["chosen"]) == ("V1", "V3")
    assert all("lengths from 0 on" in run("explain", *command, path, *options, text).out
               for text in ("3,-1", "", f"3,{1 << 64}"))
    assert "the greatest length from 0 to" in run(
        "explain", *command, path, *options, f"3 equal {1 << 64}").out
    assert "shape of lengths" in run("explain", *command, path, *options, "3 odd 1").out
    path.write_text("entry main [n] (xs: [n]i32) = map (+ 1) xs")
    assert run("explain", *command, path, *options, "3,1").status == 1


def test_the_number_of_lengths_is_no_size_to_give(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "shared.fut"
    path.write_text(RAGGED.replace("(ks: [n]i64)", "[k] (ks: [n]i64) (xs: [k]i64)").replace(
        "i * i", "i * xs[0]"))
    asked = "explain", path, "--ragged", "--as-device", "h200", "--lengths", "3,1"
    assert "The other sizes of 'squares' are k, and --sizes gives none.  Write --sizes k=N." in run(
        *asked).err
    assert "'n' is the number of --lengths, 2" in run(*asked, "--sizes", "k=1", "n=2").err
    assert "rows of 3,1: 2 rows" in run(*asked, "--sizes", "k=1").out


def test_labels_of_many_lengths_are_short(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(RAGGED)
    many = ",".join(["0", "1000"] * 100)
    text = run("explain", "cost", path, "--as-device", "h200", "--lengths", many).out
    assert "rows of 0,1000,0,1000,0,1000,0,1000, … (200): predicted" in text


def test_facts_are_told_of_each_width_and_of_computed_lengths(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "widths.fut"
    path.write_text(WIDTHS)

    def choices(entry: str) -> list[dict[str, Any]]:
        told = run("explain", path, "--ragged", "--as-device", "h200", "--json", "-e", entry).out
        found: list[dict[str, Any]] = json.loads(told)["result"]["choices"]
        return found

    (both,) = choices("both")
    a, b = draw(500, "uniform", 20), draw(500, "one", 1000, 3)
    assert list(both["counts"]) == ["a", "b"]
    assert (both["rows"], both["total"], both["longest"], both["squares"]) == (
        500, int((a + b).sum()), 20 + 1000, int((a * a + b * b).sum()))
    issued = [sum(32 * int(each[k:k + 32].max()) for k in range(0, 500, 32)) for each in (a, b)]
    assert both["versions"][0]["waste"] == pytest.approx(sum(issued) / both["total"])
    assert both["versions"][0]["parallelism"] == -(-(500 + both["total"]) // (1 + 20 + 1000))
    (triangle,) = choices("triangle")
    assert triangle["counts"] == {}
    assert (triangle["total"], triangle["longest"], triangle["live"], triangle["squares"]) == (
        5050, 100, 100, 338350)
    assert triangle["versions"][0]["waste"] is None
    text = run("explain", path, "--ragged", "--as-device", "h200").out
    assert "100 rows, computed lengths up to 100, mean 50.5" in text
    for entry in ("kept", "nested"):
        said = run("explain", path, "--ragged", "--as-device", "h200", "-e", entry).err
        assert "facts about lengths are found when the program runs" in said


def test_pages_have_the_pictures_of_choices_by_lengths(run: Run, tmp_path: Path) -> None:
    path, page = tmp_path / "squares.fut", tmp_path / "page.html"
    path.write_text(RAGGED)
    assert run("explain", path, "--html", page).status == 0
    drawn = run("explain", path, "--lengths", "3,0,5,1").out
    assert drawn.strip() in html.unescape(page.read_text())
    path.write_text("entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss")
    assert run("explain", path, "--html", page).status == 0
    assert "Pictures" not in page.read_text()


def test_slabs_have_no_parallelism(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "scans.fut"
    path.write_text(RAGGED.replace("i64.sum (", "i64.maximum (scan (+) 0 (").replace(
        ")) ks", "))) ks"))
    found = json.loads(run("explain", path, "--ragged", "--as-device", "h200", "--json",
                           "--only", "even").out)["result"]["choices"][0]["versions"]
    assert {each["kind"]: each["parallelism"] for each in found}["slabs"] is None
    text = run("explain", path, "--lengths", "3,0,5,1").out
    assert text.index("(group)") < text.index("(slabs)") < text.index("(merge)")


def test_no_version_ran_in_place_of_others_where_a_call_failed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "scans.fut"
    path.write_text(RAGGED.replace("i64.sum (", "i64.maximum (scan (+) 0 (").replace(
        ")) ks", "))) ks").replace("100000 one 1000000", "3 one 400000"))
    asked = "bench", path, "-r", "1", "--device", "pocl", "--only", "one", "--memory"
    found = run(*asked, "1MB")
    assert found.status == 1
    assert "the longest has 400,000 elements" in found.out + found.err
    assert "V4 could not run: " in found.err
    assert "in its place" not in found.err
    found = run(*asked, "4MB")
    assert found.status == 0
    assert "so others ran in its place: " in found.err


def test_all_commands_predict_alike_for_rows_of_different_lengths(
        run: Run, tmp_path: Path) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(RAGGED.replace("1000000", "1000"))
    inputs = json.loads(run("explain", "cost", path, "--device", "pocl", "--json").out)["result"][
        "entries"]["squares"]["inputs"]
    timed = json.loads(run("bench", path, "--device", "pocl", "-r", "1", "--json").out)["result"]
    profiled = json.loads(run("profile", path, "--device", "pocl", "-r", "1", "--json").out)
    assert len(timed["results"]) == len(inputs) == 2
    for found in (timed["results"], profiled["result"]["profiles"]):
        assert [each["predicted_seconds"] for each in found] == pytest.approx(
            [each["predicted_seconds"] for each in inputs.values()])


def test_versions_for_rows_of_different_lengths_are_drawn(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "squares.fut"
    path.write_text("entry squares [n] (ks: [n]i64): [n]i64 =\n"
                    "  map (\\k -> i64.sum (map (\\i -> i * i) (iota k))) ks\n")
    text = run("explain", path, "--lengths", "3,0,5,1").out
    assert "rows of 3, 0, 5, 1 elements" in text
    row, merge = text.index("(row)"), text.index("(merge)")
    assert row < text.index(" 0 aaa..") < text.index(" 2 ccccc") < merge
    assert merge < text.index(" 0 aaa|") < text.index(" 2 bbbcc|")
    found = json.loads(run("explain", path, "--lengths", "3,0,5,1", "--json").out)["result"]
    assert (found[0]["name"], found[0]["version"]) == ("V1", "row")
    assert [each["waste"] for each in found] == pytest.approx([20 / 9, 16 / 9, 16 / 9])
    assert "16 steps for 9 elements: waste 1.78" in text
    assert "should be lengths" in run("explain", path, "--lengths", "3,-1").err
    assert "at most 120 elements in a row" in run("explain", path, "--lengths", "3,121").err
    assert "rows of 3, 3 elements" in run("explain", path, "--lengths", "2 equal 3").out
    path.write_text("entry main (xs: []i32) = map (+ 1) xs")
    assert "No choice of" in run("explain", path, "--lengths", "3").err


def test_memory_of_slabs_is_that_of_a_part(run: Run, tmp_path: Path) -> None:
    """The ends of a part are two sizes, although both are called by one name."""
    path = tmp_path / "kept.fut"
    path.write_text("entry main [n] (ks: [n]i64): [n]i64 =\n"
                    "  map (\\k -> let xs = scan (+) 0 (iota k)"
                    " in i64.sum (map2 (*) xs (reverse xs))) ks\n")
    text = run("explain", "memory", path).out
    slabs = text[text.index("(slabs): "):text.index("(merge): ")]
    assert re.search(r"min\(-first(_\d)? \+ first_\d, |min\(first_\d - first(_\d)?, ", slabs)
    assert "min(0" not in text


@pytest.mark.parametrize(("options", "said"), [
    (["kernels", "--lengths", "3"], "--lengths goes with"),
    (["rules", "--ragged", "--sizes", "n=3"], "--sizes goes with"),
    (["cost", "--ragged"], "leave out 'cost'"), (["rules", "--ragged"], "leave out 'rules'"),
    (["rules", "--ragged", "--html"], "--ragged"), (["memory", "--html"], "leave out memory"),
    (["kernels", "--html", "a.html"], "leave out kernels"),
    (["rules", "--lengths", "3", "--html"], "leave out --lengths"),
    (["cost", "--lengths", "3", "--over", "n"], "give one")])
def test_options_that_do_not_fit_are_refused(run: Run, tmp_path: Path, options: list[str],
                                             said: str) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(RAGGED)
    found = run("explain", options[0], path, *options[1:])
    assert not list(tmp_path.glob("*.html"))
    assert (found.status, found.out) == (1, "")
    assert said in found.err


def test_memory_is_that_of_given_lengths(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "squares.fut"
    path.write_text(RAGGED)
    found = json.loads(run("explain", "memory", path, "--device", "pocl", "--json", "--lengths",
                           "1000 one 5000").out)["result"]["squares"]
    assert list(found["inputs"]) == ["rows of 1000 one 5000"]
    assert [each["inputs"]["rows of 1000 one 5000"]["bytes"] >= 16_000
            for each in found["versions"].values()] == [True] * 3
    text = run("explain", "memory", path, "--device", "pocl", "--sizes", "n=1000").out
    assert "not all is known before it runs" in text  # without lengths


def test_memory_is_at_least_what_comes_before_sizes_that_kernels_compute(
        run: Run, tmp_path: Path) -> None:
    path = tmp_path / "kept.fut"
    path.write_text("entry main [n][m] (ks: [n]i64) (xs: [m]i64): [n]i64 =\n"
                    "  map (\\k -> i64.sum (map (+ 1) (scan (+) 0 (filter (> k) xs)))) ks\n")
    text = run("explain", "memory", path, "--device", "pocl", "--sizes", "n=100", "m=10000").out
    (flat,) = [line for line in text.splitlines() if "(flat)  " in line]
    assert "at least 16.1 MiB" in flat  # the scan of counts has 2 * 8 * n * m bytes
    assert "the sum 'total' of the lengths" in text


def test_a_record_names_facts_as_the_tree_does(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "widths.fut"
    path.write_text(WIDTHS)
    said = run("run", path, "-e", "both", "--device", "pocl", "--record", "--force", "V3",
               "[3,0,5]", "[1,0,1000]").err
    assert "versions_0 V3: " in said
    assert ("(n = 3, total(a) = 8, longest(a) = 5, live(a) = 2, squares(a) = 34, total(b) = 1,001, "
            "longest(b) = 1,000, live(b) = 2, squares(b) = 1,000,001)") in said


REPEATED = """entry rounds (n: i64): i64 =
  i64.sum (loop xs = iota n while i64.sum xs > 0 do map (/ 2) xs)

def fib (n: i64): i64 = if n < 2 then n else fib (n - 1) + fib (n - 2)
entry recursion [n] (ns: [n]i64): [n]i64 = map fib ns

entry plain [n] (xs: [n]i64): i64 = i64.sum xs
"""


@pytest.mark.parametrize(("entry", "least", "where"), [
    ("rounds", True, "Launches in a loop count once"),
    ("recursion", True, "Launches in a function that calls itself count once"),
    ("plain", False, None)])
def test_what_repeats_unknown_times_is_said_to_count_once(
        run: Run, tmp_path: Path, entry: str, least: bool, where: str | None) -> None:
    path = tmp_path / "repeated.fut"
    path.write_text(REPEATED)
    sizes = {"rounds": "n=100"}.get(entry, "n=1000")
    cost = run("explain", "cost", path, "-e", entry, "--as-device", "h200", "--sizes", sizes).out
    assert (f"{entry}, {sizes}: predicted ≥ " in cost) is least
    assert ("count once, and so do functions" in cost) is least
    text = run("explain", "kernels", path, "-e", entry).out
    assert ("count once" in text) is (where is not None)
    assert (where or "") in text
    memory = run("explain", "memory", path, "-e", entry, "--device", "pocl").out
    assert "outside of choices" not in memory
    assert ("without what a function that calls itself needs" in memory) is (entry == "recursion")


def test_bench_says_that_a_prediction_is_the_least(run: Run, tmp_path: Path) -> None:
    path, given = tmp_path / "repeated.fut", tmp_path / "n.in"
    path.write_text(REPEATED)
    given.write_text("1000i64")
    for command in ("bench", "profile"):
        text = run(command, path, "-e", "rounds", "--device", "pocl", "-r", "1", "-i", given).out
        assert re.search(r"≥ [\d.]+ (µs|ms)", text)
    assert re.search(r" [\d.]+ KiB$", run("bench", path, "-e", "rounds", "--device", "pocl", "-r",
                                         "1", "-i", given).out.strip())


def test_a_factor_is_the_least_where_sizes_are_unknown(run: Run) -> None:
    """The last version of the search parts its points: how many there are, is known later."""
    text = run("explain", "cost", EXAMPLES / "bfs.fut", "-e", "main", "--device", "pocl",
               "--sizes", "r=1000", "k=5000", "s=0").out
    assert re.search(r"V3 \(flat\) .*≥", text)
    assert re.search(r"V2 runs: V3 takes at least [\d.]+ times as long", text)
    assert re.search("V2 to V3 take |V2 to V3 run: V1 takes", text)
    assert "With ≥" in text


def test_arrays_of_a_formula_have_its_names(run: Run, tmp_path: Path) -> None:
    """A name in a sum stands for one size in its arrays and in other sums, too."""
    path = tmp_path / "ends.fut"
    path.write_text("""entry main [n] (xs: [n]i64): i64 =
  let ys = filter (> 1) xs
  let zs = filter (> 2) (map (* 2) ys ++ xs)
  in i64.sum (scan (+) 0 zs) + length ys
""")
    text = run("explain", "memory", path, "--device", "pocl").out
    counts = set(re.findall(r"\bcount(?:_\d)?\b", text))
    assert len(counts) > 1
    for formula, arrays in re.findall(r"^    (\S.*)\n      (\S.*)$", text, re.MULTILINE):
        assert set(re.findall(r"\bcount(?:_\d)?\b", formula)) <= set(
            re.findall(r"\bcount(?:_\d)?\b", arrays))
