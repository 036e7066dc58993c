"""Exported programs run without Runelift, and give the results of the program."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import runelift
from runelift.codegen.plan.plan import kernels
from runelift.ir.base.errors import ProgramFailure
from runelift.runtime.devices.info import find_devices
from runelift.runtime.exported.stored import KINDS, load
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.export.bundle import bundle, package_name
from runelift.runtime.tools.export.folder import export
from runelift.runtime.versions.size_guards import GuardedThresholds, SizeTable

EXAMPLES = Path(__file__).parents[4] / "examples"
RUNNER = '''
import json, sys

REFUSED = {"runelift", "lark", "jinja2", "markupsafe", "pygments", "rich"}

class Refuse:
    """An environment without Runelift and without what only Runelift needs."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Refuse())
folder, out = sys.argv[1:]
sys.path.insert(0, folder)
import importlib
import numpy as np

with open(f"{out}/cases.json") as file:
    cases = json.load(file)
for name, (module, function, count) in cases.items():
    with np.load(f"{out}/{name}.npz") as file:
        args = [file[f"arr_{k}"] for k in range(count)]
    args = [each if each.ndim else each[()] for each in args]
    call = getattr(importlib.import_module(module), function)
    for turn in range(6):
        found = call(*args)
    found = found if type(found) is tuple else (found,)
    np.savez(f"{out}/{name}.results.npz", *found)
assert REFUSED.isdisjoint(each.partition(".")[0] for each in sys.modules)
'''
OWN = {
    "hist": """
entry main [n] (k: i64) (is: [n]i64) (vs: [n]i32): [k]i32 =
  reduce_by_index (replicate k 0) (+) 0 is vs
""",
    "kinds": r'''
-- | Types of few bytes, and "quotes", \ and """.
entry main [n] (xs: [n]u8) (flags: [n]bool) (ys: [n]f64) (by: f64): ([n]u8, [n]bool, [n]f64, f64) =
  (map2 (\x f -> if f then x * 3 else x) xs flags,
   map2 (\x f -> f && x > 100) xs flags,
   map (* by) ys,
   reduce (+) 0 ys)
''',
    "points": """
type point = {x: f32, at: (i32, bool)}
entry make (x: f32) (i: i32): point = {x, at = (i, i > 3)}
entry take (p: point) (xs: []f32): f32 = p.x * f32.sum xs + (if p.at.1 then f32.i32 p.at.0 else 0)
entry both (xs: []f32): ([]f32, point) = (map (+ 1) xs, {x = f32.maximum xs, at = (7, true)})
""",
    "fails": """
def pick (xs: []i32) (i: i64): i32 = xs[i]
entry main [n] (xs: [n]i32) (by: i64): [n]i32 = map (\\i -> pick xs (i + by)) (iota n)
""",
}
"""Programs by the name of their file; the others are examples."""


class Case(NamedTuple):
    """An entry point of a program, with arguments."""

    program: str
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    entry: str = "main"


def f32(rng: np.random.Generator, *shape: int) -> Any:
    return rng.random(shape).astype(np.float32)


CASES: Mapping[str, Case] = {
    "scan": Case("mapscan", lambda rng: (rng.integers(0, 9, (7, 3000)).astype(np.int32),)),
    "histogram": Case("hist", lambda rng: (100, rng.integers(0, 100, 5000),
                                           rng.integers(0, 9, 5000).astype(np.int32))),
    "matmul": Case("matmul", lambda rng: (f32(rng, 90, 70), f32(rng, 70, 50))),
    "intra": Case("rows", lambda rng: (f32(rng, 30, 500),)),
    "while": Case("kmeans", lambda rng: (5, np.int32(20), f32(rng, 400, 3))),
    "loop": Case("lud", lambda rng: (f32(rng, 40, 40) + 40 * np.eye(40, dtype=np.float32),)),
    "several": Case("nn", lambda rng: (4, np.float32(0.5), np.float32(0.2), f32(rng, 900),
                                       f32(rng, 900))),
    "kinds": Case("kinds", lambda rng: (rng.integers(0, 256, 800).astype(np.uint8),
                                        rng.random(800) < 0.5, rng.random(800), 2.5)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, with what is exported of them in a folder."""
    found = tmp_path_factory.mktemp("export")
    for name in {case.program for case in CASES.values()} | OWN.keys():
        text = OWN.get(name) or (EXAMPLES / f"{name}.fut").read_text()
        (found / f"{name}.fut").write_text(text)
    tree = runelift.compile(found / "rows.fut").tree
    guards = [each.name for each in tree.guards()]
    assert len(guards) == 2
    (found / "rows.fut.tuning").write_text(f"{guards[0]}={10**9}\n{guards[1]}=1\n")
    for name in {case.program for case in CASES.values()} | OWN.keys():
        assert main(["export", str(found / f"{name}.fut"), "-o", str(found / "out")]) == 0
    return found


def arguments(name: str) -> tuple[Any, ...]:
    """The same arguments each time."""
    return CASES[name].arguments(np.random.default_rng(len(name)))


def alone(folder: Path, script: str, *given: str, **environment: str
          ) -> subprocess.CompletedProcess[str]:
    """A process with a script, isolated from the folder and the variables of this one."""
    return subprocess.run([sys.executable, "-I", "-c", script, *given], check=False,
                          capture_output=True, text=True, cwd=folder, timeout=500,
                          env={**os.environ, **environment})


@pytest.fixture(scope="module")
def results(folder: Path) -> Mapping[str, list[Any]]:
    """The results of all cases in one process without Runelift."""
    cases = {}
    for name, case in CASES.items():
        args = arguments(name)
        np.savez(folder / f"{name}.npz", *args)
        cases[name] = case.program, case.entry, len(args)
    (folder / "cases.json").write_text(json.dumps(cases))
    done = alone(folder, RUNNER, str(folder / "out"), str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    found = {}
    for name in CASES:
        with np.load(folder / f"{name}.results.npz") as file:
            found[name] = [file[each] for each in file.files]
    return found


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_program(name: str, folder: Path,
                                          results: Mapping[str, list[Any]]) -> None:
    program = runelift.compile(folder / f"{CASES[name].program}.fut")
    expected = program[CASES[name].entry](*arguments(name))
    wanted = expected if isinstance(expected, tuple) else (expected,)
    assert len(results[name]) == len(wanted)
    for found, want in zip(results[name], wanted, strict=True):
        assert (found.dtype, found.shape) == (want.dtype, np.shape(want))
        assert np.array_equal(found, want)


def test_thresholds_are_inside(folder: Path) -> None:
    text = (folder / "out" / "rows.py").read_text()
    thresholds = runelift.compile(folder / "rows.fut").thresholds
    assert len(thresholds) == 2
    assert all(f"{name!r}: {value},\n" in text for name, value in thresholds.items())
    assert "_THRESHOLDS = {}" in (folder / "out" / "matmul.py").read_text()


def test_size_guards_are_inside(folder: Path, tmp_path: Path) -> None:
    program = runelift.compile(folder / "rows.fut")
    (site,) = program.tree.entry("main").sites()
    names = tuple(map(str, program.loaded.plan("main").sizes))
    guard = SizeTable(names, {(3, 4): 2})
    program.thresholds = GuardedThresholds(program.thresholds, {site: guard, "other": guard})
    export(program, ["main"], tmp_path, None)
    assert load(tmp_path / "rows.main.plan").guards == {site: guard}
    assert said(tmp_path, """
import rows
rows.main(np.ones((3, 4), np.float32))
(built,) = {each.version for each in rows._main._executable.sites if each.kernel}
print(built)
""", place="") == [f"{site}/2"]


BEGIN = RUNNER.partition("folder, out")[0] + "sys.path.insert(0, sys.argv[1])\n"


def said(folder: Path, script: str, *, place: str = "out", **environment: str) -> list[str]:
    """The lines that a script prints; it can import the modules and nothing of Runelift."""
    done = alone(folder, f"{BEGIN}import numpy as np\n{script}", str(folder / place),
                 **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_failure_has_the_place_and_the_calls(folder: Path) -> None:
    found = said(folder, """
import fails
xs = np.arange(5, dtype=np.int32)
print(fails.main(xs, 0).tolist())
for turn in range(3):
    try:
        fails.main(xs, 3)
    except RuntimeError as error:
        text = str(error)
print(text)
print(fails.main(xs, 0).tolist())
""")
    with pytest.raises(ProgramFailure) as failure:
        runelift.compile(folder / "fails.fut").main(np.arange(5, dtype=np.int32), 3)
    assert found[0] == found[-1] == "[0, 1, 2, 3, 4]"
    assert found[1:-1] == str(failure.value.args[0]).split("\n")
    assert re.search(r"fails\.fut:2:\d+", found[1])


def test_wrong_arguments(folder: Path) -> None:
    assert said(folder, """
import matmul
one = np.ones((2, 3), np.float32)
for args in [(one, one), (one.astype(float), one), (one,)]:
    try:
        matmul.main(*args)
    except (ValueError, TypeError) as error:
        print(type(error).__name__, str(error).partition(chr(10))[0])
""")[:2] == ["ValueError Argument 'yss' has shape [2, 3], but its type is [m][p]f32 and size 'm' "
             "is 3.",
             "ValueError Argument 'xss' should be [n][m]f32, but has type [2][3]f64."]


def test_records_go_from_one_function_to_another(folder: Path) -> None:
    assert said(folder, """
import points
xs = np.array([1, 2, 4], np.float32)
print(points.take(points.make(2.0, 5), xs), tuple(map(float, points.make(2.0, 1))))
more, point = points.both(xs)
print(more.tolist(), points.take(point, xs))
""") == ["19.0 (1.0, 0.0, 2.0)", "[2.0, 3.0, 5.0] 35.0"]


def test_probes_need_no_compiler(folder: Path, tmp_path: Path) -> None:
    """A device without a known result of a probe is probed by the plans in the package."""
    script = f"""
from pathlib import Path
import mapscan
mapscan.main(np.ones((2, 3), np.int32))
from {package_name()}.runtime.execution.probes import forward_progress, subgroups
from {package_name()}.runtime.devices.info import select
from {package_name()}.runtime.execution.probes.on_demand import open_device
print(forward_progress.works(open_device(select())))
print(len(subgroups.probe_plan().steps) > 0)
"""
    assert said(folder, script, RUNELIFT_CACHE=str(tmp_path)) == ["True", "True"]


def test_a_simulated_gpu_has_its_own_plan(folder: Path, simulator: str) -> None:
    """It interleaves accesses, so its plan is another one than that of processors."""
    assert said(folder, """
import hist, rows
print(rows.main(np.ones((3, 4), np.float32)).tolist())
print(hist.main(3, np.array([0, 1, 1]), np.array([1, 2, 3], np.int32)).tolist())
""", RUNELIFT_DEVICE=simulator) == ["[4.0, 4.0, 4.0]", "[1, 5, 0]"]


def test_the_package_is_small_and_has_no_compiler() -> None:
    files = bundle()
    modules = {name for name in files if name.endswith(".py")}
    assert len(modules) < 190
    assert not any(name.startswith(("frontend/", "rewrite/", "codegen/hostplan",
                                    "codegen/segops", "codegen/kernel", "runtime/tuner",
                                    "runtime/tools", "runtime/compilation"))
                   for name in modules)
    assert not any(re.search(rb"^\s*(?:from|import) runelift\b", content, re.M)
                   for content in files.values())
    for name in modules:
        compile(files[name], name, "exec")


def test_other_contents_have_another_name() -> None:
    assert re.fullmatch(r"_runelift_rt_[0-9a-f]{8}", package_name())
    assert all(package_name().encode() in content for name, content in bundle().items()
               if name == "runtime/exported/program.py")


def test_functions_tell_their_types(folder: Path) -> None:
    found = said(folder, """
import inspect, kinds, points
print(inspect.signature(kinds.main))
print(kinds.main.__doc__)
print(sorted(each for each in vars(points) if not each.startswith("_")))
""")
    assert found[0] == "(xs, flags, ys, by, /)"
    assert found[1] == 'Types of few bytes, and "quotes", \\ and """.'
    assert "      flags  array of bool, 1-d" in found
    assert found[-1] == "['both', 'make', 'take']"


def test_kernels_are_readable(folder: Path) -> None:
    text = (folder / "out" / "matmul.main.cl").read_text()
    assert text.startswith("// Kernels of 'main' in ")
    plan = runelift.compile(folder / "matmul.fut").loaded.plan("main")
    assert re.findall(r"__kernel void (\w+)", text) == [
        each.name for each in kernels(plan.steps)]


def test_a_second_export_changes_nothing(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "out").rglob("*.py")}
    assert main(["export", str(folder / "points.fut"), "-o", str(folder / "out")]) == 0
    changed = {path.name for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed == {"points.py"}


@pytest.mark.sweep(keep=["csr", "mri-q"])
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.fut")), ids=lambda path: path.stem)
def test_examples_are_exported(path: Path, tmp_path: Path) -> None:
    """The plans of all kinds of devices are those of the program, and the module is Python."""
    assert main(["export", str(path), "-o", str(tmp_path)]) == 0
    compiled = runelift.compile(path).compiled
    (module,) = tmp_path.glob("*.py")
    text = module.read_text()
    compile(text, module.name, "exec")
    entries = {each.name: each for each in map(load, tmp_path.glob("*.plan"))}
    assert entries.keys() == compiled.interfaces.keys()
    for name, entry in entries.items():
        assert f"\ndef {name}(" in text
        assert entry.signature == compiled.signatures[name]
        for kind in KINDS:
            assert entry.plan(*kind) == compiled.plan(
                name, interleave=kind.interleave, coherent=kind.coherent)


@pytest.mark.parametrize(("command", "message"), [
    (["--entry", "nothing"], "Unknown entry point 'nothing'"),
    (["--device", "interpreter"], "needs an OpenCL device"),
    (["-o", "points.fut"], "it is a file, not a folder"),
])
def test_mistakes(command: list[str], message: str, folder: Path, tmp_path: Path,
                  capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert main(["export", "points.fut", "-o", str(tmp_path / "out"), *command]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_entry_and_a_device(folder: Path, tmp_path: Path,
                                capsys: pytest.CaptureFixture[str]) -> None:
    device = find_devices()[0].name
    assert main(["export", str(folder / "points.fut"), "-o", str(tmp_path / "a" / "b"),
                 "--entry", "take", "--device", device]) == 0
    assert capsys.readouterr().out.startswith("points.take: take (p: point)")
    assert f"_DEVICE = {device!r}" in (tmp_path / "a" / "b" / "points.py").read_text()
    assert sorted(each.name for each in (tmp_path / "a" / "b").iterdir()) == sorted(
        [package_name(), "points.py", "points.take.cl", "points.take.plan"])
