"""Predicted costs for people: tables, facts, curves over a size, and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runelift.ir.base.source import Source
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.outline import arguments_of_sizes
from runelift.runtime.devices.profiles import profile
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import predict_call
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.predictions.call import advantage
from runelift.runtime.tools.predictions.curves import GRID
from runelift.runtime.versions.forest import entry_forest, plans
from tests.ledger.ledger import running
from tests.screens import MISSING, PROGRAM, screens

ROWS = """-- ==
-- entry: main
-- "few" random input { [10][1000]f32 } auto output
entry main [n][m] (xss: [n][m]f32): [n]f32 = map f32.sum xss
"""
NESTED = """entry main [n][m][p] (xsss: [n][m][p]f32): [n][m]f32 =
  map (map (\\xs -> f32.sum (scan (+) 0 xs))) xsss
"""
LOOP = """entry main [n] (k: i64) (xs: [n]f32): [n]f32 =
  loop ys = xs for i < k do map (\\y -> y * 0.5 + f32.i64 i) ys
"""
Explain = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.fut"
    path.write_text(ROWS)
    return path


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    def execute(*arguments: object) -> tuple[int, str, str]:
        return main(["explain", "cost", *map(str, arguments)]), *capsys.readouterr()

    return execute


def result(printed: tuple[int, str, str]) -> Any:
    assert printed[0] == 0, printed[2]
    return json.loads(printed[1])["result"]


def test_the_default_is_the_version_that_takes_least(explain: Explain, rows: Path) -> None:
    _, text, _ = explain(rows, "--as-device", "h200", "--sizes", "n=64", "m=1000")
    facts = result(explain(rows, "--as-device", "h200", "--sizes", "n=64,m=1000", "--json"))
    assert facts["device"] == "NVIDIA H200"
    ((_, call),) = facts["entries"]["main"]["inputs"].items()
    (choice,) = call["choices"]
    times = {each["name"]: each["predicted_seconds"] for each in choice["versions"]}
    best, following, _ = sorted(times, key=lambda name: times[name])
    assert (choice["chosen"], choice["next"]["version"]) == (best, following)
    assert choice["next"]["factor"] == pytest.approx(times[following] / times[best])
    assert call["predicted_seconds"] == pytest.approx(times[best])
    assert choice["sizes"] == {"n_1": 64, "m_2": 1000}
    assert f"* {best} (" in text
    assert f"{best} runs: {following} takes {times[following] / times[best]:.2f} times" in text
    assert "main.versions_0 [4:46]: n = 64, m = 1,000" in text


@pytest.mark.parametrize(("program", "sizes"), [
    (ROWS, {"n": 1, "m": 1 << 20}), (ROWS, {"n": 0, "m": 3}), (ROWS, {"n": 1 << 20, "m": 3}),
    (NESTED, {"n": 7, "m": 100, "p": 1000}), (NESTED, {"n": 1000, "m": 1, "p": 1}),
    (LOOP, {"n": 1000, "k": 100})])
def test_forced_versions_cost_what_the_table_says(program: str, sizes: dict[str, int]) -> None:
    compiled = compile_source(Source("p.fut", program))
    loaded = modelled(compiled, ModelledDevice(profile("h200")))
    forest = entry_forest(compiled.versioned_entry("main").funs[0])
    args = arguments_of_sizes(loaded.interface("main"), sizes)
    default = predict_call(loaded, "main", args)
    for force in plans(forest):
        found = predict_call(loaded, "main", args, force=force)
        assert default.totals.seconds <= found.totals.seconds * (1 + 1e-9)
        for choice in found.choices:
            if choice.site in force and choice.versions[force[choice.site]].totals is not None:
                assert choice.chosen == force[choice.site]
    labels = [each.label for each in running(forest, default)]
    assert labels or not forest.trees
    assert len(set(labels)) == len(labels)
    for choice in default.choices:
        factor, other = advantage(choice)
        assert factor >= 1 - 1e-9
        assert other != choice.chosen


def test_versions_with_nothing_to_do_are_alike(explain: Explain, rows: Path) -> None:
    given = rows, "--as-device", "h200", "--sizes", "n=0,m=5"
    call = result(explain(*given, "--json"))["entries"]["main"]["inputs"]["n=0,m=5"]
    assert call["predicted_seconds"] == 0
    assert call["choices"][0]["next"]["factor"] == 1
    _, text, _ = explain(*given)
    assert "inf" not in text


def test_versions_that_cannot_run_say_why(explain: Explain, tmp_path: Path) -> None:
    path = tmp_path / "scans.fut"
    path.write_text("entry main [n][m] (xss: [n][m]f64): [n][m]f64 = map (scan (+) 0) xss\n")
    given = path, "--as-device", "h200", "--sizes", "n=10,m=10000000"
    call = result(explain(*given, "--json"))["entries"]["main"]["inputs"]["n=10,m=10000000"]
    stuck = [each for each in call["choices"][0]["versions"] if each["obstacle"]]
    assert stuck
    assert all("predicted_seconds" not in each for each in stuck)
    _, text, _ = explain(*given)
    assert "cannot run" in text
    assert f"{stuck[0]['name']}: {stuck[0]['obstacle']}" in text


def test_datasets_stand_for_sizes_and_bench_predicts_as_much(
        explain: Explain, rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = result(explain(rows, "--device", "pocl", "--json"))["entries"]["main"]["inputs"]
    assert main(["bench", str(rows), "--device", "pocl", "-r", "1", "--json"]) == 0
    (measured,) = json.loads(capsys.readouterr().out)["result"]["results"]
    assert measured["predicted_seconds"] == pytest.approx(inputs["few"]["predicted_seconds"])
    assert main(["profile", str(rows), "--device", "pocl", "-r", "1", "--json"]) == 0
    (profiled,) = json.loads(capsys.readouterr().out)["result"]["profiles"]
    assert profiled["predicted_seconds"] == pytest.approx(measured["predicted_seconds"])
    assert sum(each["predicted_seconds"] for each in profiled["kernels"]) == pytest.approx(
        profiled["predicted_seconds"])
    assert main(["bench", str(rows), "--device", "interpreter", "-r", "1", "--json"]) == 0
    (interpreted,) = json.loads(capsys.readouterr().out)["result"]["results"]
    assert interpreted["predicted_seconds"] is None


def test_the_default_changes_where_the_curves_say(explain: Explain, rows: Path) -> None:
    over = result(explain(rows, "--as-device", "h200", "--sizes", "n=64", "--over", "m",
                          "--json"))["entries"]["main"]["over"]
    (site,) = over["sites"]
    sizes = [each["size"] for each in site["points"]]
    assert sizes == list(GRID)
    changes = [each for each in site["changes"] if each["of"] == "default"]
    assert changes
    for change in changes:
        for size, name in ((change["size"], "after"), (int(change["size"] * 0.98) - 1, "before")):
            call = result(explain(rows, "--as-device", "h200", "--sizes", f"n=64,m={size}",
                                  "--json"))["entries"]["main"]["inputs"][f"n=64,m={size}"]
            assert call["choices"][0]["chosen"] == change[name]
    _, text, _ = explain(rows, "--as-device", "h200", "--sizes", "n=64", "--over", "m")
    assert f"from m = {changes[0]['size']:,} on" in text


def test_sizes_whose_arrays_do_not_fit_are_left_out(explain: Explain, rows: Path) -> None:
    sizes = {device: [each["size"] for each in result(explain(
        rows, "--as-device", device, "--sizes", "n=1000", "--over", "m", "--json"))[
            "entries"]["main"]["over"]["calls"]] for device in ("h200", "pocl")}
    for device, found in sizes.items():
        limits = profile(device).limits
        assert 4000 * found[-1] <= min(limits.max_alloc, limits.global_bytes)
    assert sizes["pocl"] == list(GRID)[:len(sizes["pocl"])]
    assert len(sizes["pocl"]) < len(sizes["h200"]) < len(GRID)


@pytest.mark.parametrize(("options", "said"), [
    (["--as-device", "h200", "--sizes", "n=3"],
     "The sizes of 'main' are m, n, and --sizes gives n."),
    (["--as-device", "h200", "--sizes", "n=3,m"], "'m' should be NAME=N"),
    (["--as-device", "b17"], "No profile of a device 'b17'.  There are h100, h200, pocl"),
    (["--as-device", "broken.json"], "error[malformed-profile]"),
    (["--as-device", "h200", "--over", "k", "--sizes", "n=3,m=3"],
     "The sizes of 'main' are m, n, and --sizes gives k, m, n."),
    (["--as-device", "h200", "--over", "m"], "and --sizes gives m."),
    (["--as-device", "h200", "--over", "m", "--sizes", f"n={10**14}"], "do not fit the device"),
    (["--as-device", "h200", "--html", "p.html"], "--over NAME says which"),
    (["--as-device", "h200", "--entry", "other"], "other"),
    (["--device", "interpreter"], "--as-device NAME stands for one: h100, h200, pocl")])
def test_what_is_wrong_is_said(explain: Explain, rows: Path, options: list[str], said: str,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(rows.parent)
    Path("broken.json").write_text("{}")
    status, out, err = explain(rows, *options)
    assert (status, out) == (1, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_options_go_together(capsys: pytest.CaptureFixture[str], rows: Path) -> None:
    assert main(["explain", str(rows), "--as-device", "h200"]) == 1
    assert "--as-device and --over go with 'explain cost'." in capsys.readouterr().err


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a program with a choice inside of another one."""
    folder = tmp_path_factory.mktemp("cost")
    path, out = folder / "nested.fut", folder / "nested.html"
    path.write_text(NESTED)
    assert main(["explain", "cost", str(path), "--as-device", "h200", "--sizes",
                 "n=10,m=10,p=64", "--over", "p", "--html", str(out)]) == 0
    return out


def test_the_page_names_crossings_and_the_device(page: Path) -> None:
    text = page.read_text()
    assert "NVIDIA H200" in text
    assert "default changes at " in text
    assert text.count("<svg") >= 2
    assert text.count("Versions at main.versions_") == text.count("Times at main.versions_")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.skipif(PROGRAM is None, reason=MISSING)
def test_the_page_fits_screens(page: Path) -> None:
    assert screens(page, widths=(480, 1280)) == []


def test_what_the_program_computes_is_said_to_be_unknown(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kept.fut"
    path.write_text("entry main [n] (ks: [n]i64) =\n"
                    "  map (\\k -> i64.sum (map (% 9) (iota k))) (filter (> 2) ks)\n")
    wanted = ["explain", "cost", str(path), "--sizes", "n=1000", "--as-device", "h200"]
    assert main(wanted) == 0
    text = capsys.readouterr().out
    assert "main, n=1000: predicted ≥ " in text
    assert "main.versions_0 [2:3]: what decides is found when the program runs" in text
    assert "runs by default" not in text, "there is no table, so no star"
    assert main([*wanted, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["result"]["entries"]["main"]["inputs"].values()
    assert f"({found['unknown_launches']:.0f} of unknown size)" in text
    assert found["launches"] > found["unknown_launches"] > 0
    path.write_text(ROWS)
    assert main(["explain", "cost", str(path), "--as-device", "h200"]) == 0
    known = capsys.readouterr().out
    assert "* runs by default." in known
    assert "unknown size" not in known
    assert "≥" not in known
