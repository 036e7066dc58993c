"""Measured configurations in the T4 format: written, read, stale ones noticed, the best adopted."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import runelift
from runelift.ir.base.errors import UserError
from runelift.runtime.research.t4 import (
    T4Result,
    best_configuration,
    of_measurements,
    of_trials,
    read_t4,
    thresholds_of,
    write_t4,
)
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tuner.fit.chain_solver import NEVER
from runelift.runtime.tuner.kernel_parameters.search import Trial
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset
from tests.runtime.tuner.simulated import Simulated, nested, site

NUMBER = (int, float)
TYPES: dict[str, Any] = {
    "schema_version": str, "results": list, "metadata": dict, "metadata.hardware": dict,
    "metadata.environment": dict, "metadata.zenodo": dict}
"""Types of parts of a file by the schemas T4/1.0.0 of results and of metadata."""
TYPES_OF_RESULT: dict[str, Any] = {
    "timestamp": str, "configuration": dict, "objectives": list, "correctness": NUMBER,
    "measurements": list, "times": dict, "times.runtimes": list,
    "times.compilation_time": NUMBER, "times.framework": NUMBER,
    "times.search_algorithm": NUMBER, "times.validation": NUMBER}
"""Types of parts of a result; those of :data:`NEEDED` must be there."""
TYPES_OF_MEASUREMENT: dict[str, Any] = {"name": str, "value": (int, float, str, list), "unit": str}
NEEDED = {"configuration", "times", "invalidity", "correctness"}
INVALIDITIES = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}


def refused(raw: dict[str, Any]) -> Iterator[str]:
    """The parts of a T4 file that its schemas would refuse."""
    yield from mistyped(raw, TYPES)
    if not re.search(r"^[0-9]+.[0-9]+.[0-9]+$", raw["schema_version"]):
        yield "schema_version has another form"
    for result in raw["results"]:
        yield from mistyped(result, TYPES_OF_RESULT)
        yield from sorted(NEEDED - result.keys())
        if result["invalidity"] not in INVALIDITIES:
            yield f"invalidity {result['invalidity']}"
        for each in result.get("measurements", ()):
            yield from mistyped(each, TYPES_OF_MEASUREMENT)


def mistyped(raw: Mapping[str, Any], types: Mapping[str, Any]) -> Iterator[str]:
    """The members of an object that are there, and of another type; a bool is no number."""
    if not isinstance(raw, dict):
        yield f"{raw!r} is no object"
        return
    for path, kind in types.items():
        parent, _, name = path.rpartition(".")
        holder = raw.get(parent) if parent else raw
        if isinstance(holder, dict) and name in holder:
            part = holder[name]
            if isinstance(part, bool) or not isinstance(part, kind):
                yield f"{path} is {part!r}"


def test_forced_versions_are_the_thresholds_that_lead_to_them() -> None:
    sim = Simulated.of(nested(), lambda *_: 1.0)
    measured = measure(sim, sim.forest, [Dataset("d", "main", lambda: [2, 4])], repeats=1)
    for run in measured.runs:
        assert run.record is not None
        again = sim.record("main", [2, 4], thresholds=thresholds_of(sim.forest, run.force))
        assert [(e.site, e.chosen) for e in again.encounters] == [
            (e.site, e.chosen) for e in run.record.encounters]


def test_runs_are_results_with_times_in_milliseconds(tmp_path: Path) -> None:
    sim = Simulated.of([site("s", ("t0", []), (None, []))],
                       lambda where, index, par: [0.5, 0.25][index],
                       fail={("s", 1): UserError("too large")})
    measured = measure(sim, sim.forest, [Dataset("d", "main", lambda: [2])], repeats=2)
    file = tmp_path / "r.json"
    write_t4(file, of_measurements(sim.forest, measured), {"device": "simulated", "written": "now"})
    raw = json.loads(file.read_text())
    assert raw["schema_version"] == "1.0.0"
    bad, good = raw["results"]
    assert good["configuration"] == {"main.t0": 1, "dataset": "d"}
    assert good["times"]["runtimes"] == [1000.0, 1000.0]  # half a second lies outside
    assert good["measurements"] == [{"name": "time", "value": 1000.0, "unit": "ms"}]
    assert (good["invalidity"], good["correctness"]) == ("correct", 1)
    assert bad["configuration"] == {"main.t0": NEVER, "dataset": "d"}
    assert (bad["invalidity"], bad["correctness"], bad["measurements"]) == ("runtime", 0, [])
    assert list(refused(raw)) == []


def test_what_is_written_is_read(tmp_path: Path) -> None:
    results = [T4Result({"a": 1, "b": 2}, "one", (0.5, 0.25), timestamp="now"),
               T4Result({"a": 3}, "two", (), "compile")]
    write_t4(tmp_path / "r.json", results, {"device": "x"})
    found = read_t4(tmp_path / "r.json")
    assert list(found.results) == results
    assert found.metadata == {"device": "x"}
    assert found.skipped == 0


def test_settings_of_an_operation_are_results() -> None:
    trials = [Trial("d", {"g": 32}, 1.0, 2.0), Trial("d", {"g": 32}, 3.0, 2.0),
              Trial("d", {"g": 64}, None, 2.0)]
    assert list(of_trials(trials)) == [T4Result({"g": 32}, "d", (1.0, 3.0)),
                                       T4Result({"g": 64}, "d", (), "constraints")]


def foreign(**changed: Any) -> dict[str, Any]:
    """A file as Kernel Tuner 1.5 writes them: times in milliseconds, names of its own for some."""
    result = {"timestamp": "2026-01-01", "configuration": {"block_size_x": 128},
              "times": {"compilation": 10.0, "benchmark": 1.0, "framework": 1, "validation": 0,
                        "search_algorithm": 0, "runtimes": [2.0, 3.0, 10.0]},
              "invalidity": "correct", "correctness": 1, "objectives": ["time"],
              "measurements": [{"name": "time", "value": 2.0, "unit": "ms"},
                               {"name": "device", "value": "some", "unit": ""}]}
    return {"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"},
            "results": [{**result, **changed}]}


def read(tmp_path: Path, content: Any) -> Any:
    file = tmp_path / "foreign.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_t4(file)


def test_files_of_others(tmp_path: Path) -> None:
    assert read(tmp_path, foreign()).results[0].seconds == (0.002, 0.003, 0.010)
    summed_up = foreign(times={"compilation": 1.0},
                        measurements=[{"name": "time", "value": 5, "unit": "us"}])
    assert read(tmp_path, summed_up).results[0].seconds == (pytest.approx(5e-6),)
    assert read(tmp_path, foreign(configuration={"method": "fast"})).skipped == 1
    assert read(tmp_path, foreign(times={}, measurements=[])).skipped == 1


METADATA = {"schema_version": "1.0.0", "metadata": {"operating_system": "Linux", "hardware": {}}}
"""The other file that Kernel Tuner writes, which has no results."""


@pytest.mark.parametrize("content", [
    METADATA, "{", "[]", "{}", {"schema_version": "2.0.0", "results": []},
    {"schema_version": "1.0.0", "results": [{"configuration": {}}]},
    {"schema_version": "1.0.0", "results": 3}])
def test_damaged_files(tmp_path: Path, content: Any) -> None:
    with pytest.raises(UserError, match="malformed-results"):
        read(tmp_path, content)


def test_the_best_is_valid_everywhere_and_counts_datasets_alike() -> None:
    def result(value: int, dataset: str, *seconds: float) -> T4Result:
        return T4Result({"a": value}, dataset, seconds, "" if seconds else "runtime")

    assert best_configuration([]) == {}
    assert best_configuration([result(1, "d")]) == {}
    assert best_configuration([
        result(1, "long", 100.0), result(1, "short", 2.0),
        result(2, "long", 90.0), result(2, "short", 4.0),
        result(3, "long", 1.0), result(3, "short"),
        result(4, "short", 0.1)]) == {"a": 1}
    assert best_configuration([result(1, "d", 1.0, 9.0, 9.0), result(2, "d", 8.0)]) == {"a": 2}


def names(path: Path) -> tuple[str, str]:
    """A threshold and a parameter of the program."""
    program = runelift.compile(path)
    parameter = next(each.parameter.name for space in program.spaces() for each in space.ranges)
    return next(iter(program.tree.guards())).name, parameter


def test_exported_results_can_be_imported(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = path.with_name("runs.json")
    assert main(["autotune", str(path), "--no-parameters", "--no-verify", "--runs", "1",
                 "--export-t4", str(file)]) == 0
    found = read_t4(file)
    threshold, _ = names(path)
    assert {result.dataset for result in found.results} == {"wide", "tall"}
    assert all(threshold in result.configuration for result in found.results)
    best = best_configuration(found.results)
    path.with_name("rows.fut.tuning").unlink()
    assert main(["autotune", str(path), "--no-verify", "-v", "--import-t4", str(file)]) == 0
    out = capsys.readouterr()
    assert "main: T4" in out.out
    assert "warning" not in out.err
    assert runelift.compile(path).thresholds == best


def test_stale_names_and_values_are_noticed(path: Path, capsys: pytest.CaptureFixture[str]
                                            ) -> None:
    threshold, parameter = names(path)
    file = path.with_name("r.json")
    write_t4(file, [T4Result({threshold: 7, parameter: 3, "main.gone": 1}, "d", (1.0,)),
                    T4Result({threshold: 5, "main.gone": 1}, "d", (2.0,))], {"device": "another"})
    assert main(["autotune", str(path), "--no-verify", "-v", "--import-t4", str(file)]) == 0
    err = capsys.readouterr().err
    assert "measured on another device, another" in err
    assert "no threshold or parameter 'main.gone'" in err
    assert "1 configurations have nothing to set here, or values that are not possible" in err
    assert runelift.compile(path).thresholds[threshold] == 5


def test_parameters_of_another_text_are_ignored(path: Path, capsys: pytest.CaptureFixture[str]
                                                ) -> None:
    threshold, parameter = names(path)
    space = next(space for space in runelift.compile(path).spaces()
                 if space.ranges[0].parameter.name == parameter)
    value = space.ranges[0].values[0]
    file = path.with_name("r.json")
    results = [T4Result({threshold: 7, parameter: value}, "d", (1.0,))]
    write_t4(file, results, {"program_sha256": "0"})
    assert main(["autotune", str(path), "--no-verify", "-v", "--import-t4", str(file)]) == 0
    assert "The program has changed" in capsys.readouterr().err
    assert parameter not in runelift.compile(path).thresholds
    write_t4(file, results, {})
    assert main(["autotune", str(path), "--no-verify", "-v", "--import-t4", str(file)]) == 0
    assert runelift.compile(path).thresholds[parameter] == value


def test_an_import_is_run_beside_the_default(path: Path, capsys: pytest.CaptureFixture[str]
                                             ) -> None:
    threshold, _ = names(path)
    file = path.with_name("r.json")
    default = runelift.compile(path).thresholds.get(threshold, 0)
    write_t4(file, [T4Result({threshold: default}, "d", (1.0,))], {})
    assert main(["autotune", str(path), "--only", "wide", "-v", "--import-t4", str(file)]) == 0
    assert "The defaults stay" in capsys.readouterr().out


def test_results_of_kernel_tuner_are_imported(path: Path) -> None:
    """They have no dataset, other names of times, and no program in their metadata."""
    threshold, _ = names(path)
    slow = foreign(configuration={threshold: 9}, times={"runtimes": [8.0]})
    fails = foreign(configuration={threshold: 11}, invalidity="runtime", times={"runtimes": []},
                    measurements=[{"name": "time", "value": "RuntimeFailedConfig", "unit": "ms"}])
    mixed = foreign(configuration={threshold: 1, "method": "fast", "factor": 2.5})
    file = path.with_name("r.json")
    both = foreign(configuration={threshold: 7})
    both["results"] += [*slow["results"], *fails["results"], *mixed["results"]]
    assert list(refused(both)) == []
    file.write_text(json.dumps(both))
    assert main(["autotune", str(path), "--no-verify", "--import-t4", str(file)]) == 0
    assert runelift.compile(path).thresholds[threshold] == 7


def test_what_is_exported_is_what_the_schema_demands(path: Path) -> None:
    """Runs with forced versions, and trials of parameters."""
    assert main(["autotune", str(path), "--runs", "1", "--budget", "8s",
                 "--export-t4", str(path.with_name("runs.json"))]) == 0
    files = sorted(path.parent.glob("runs*.json"))
    assert len(files) > 1  # thresholds, and a file for each operation that was tried
    for file in files:
        raw = json.loads(file.read_text(), parse_constant=pytest.fail)
        assert raw["results"]
        assert list(refused(raw)) == []


@pytest.mark.parametrize(("changed", "why"), [
    ({"correctness": True}, "correctness is True"), ({"invalidity": "slow"}, "invalidity slow"),
    ({"times": {"runtimes": 3}}, "times.runtimes is 3"), ({"timestamp": 5}, "timestamp is 5"),
    ({"measurements": [{"value": {}}]}, "value is {}"),
    ({"measurements": [3]}, "3 is no object")])
def test_what_the_schema_refuses(changed: dict[str, Any], why: str) -> None:
    assert list(refused(foreign(**changed))) == [why]


def test_nothing_to_import(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = path.with_name("r.json")
    write_t4(file, [T4Result({"block_size_x": 7}, "d", (1.0,))], {})
    assert main(["autotune", str(path), "--import-t4", str(file)]) == 1
    assert "has no configuration of this program" in capsys.readouterr().err
