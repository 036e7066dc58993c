"""Files that register OpenCL runtimes, right and wrong ones, as ``doctor`` and ``devices`` tell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from runelift.runtime.devices.registrations import (
    VARIABLE,
    library_problem,
    registration,
    registrations,
)

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="no gcc to build libraries")
NO_DRIVER = "int nothing;\n"
NO_PLATFORMS = "void *clGetExtensionFunctionAddress(const char *name) { return 0; }\n"
NO_DEVICES = "int clIcdGetPlatformIDsKHR(unsigned n, void *p, unsigned *m) { return -1001; }\n"
CRASHES = "#include <stdlib.h>\n__attribute__((constructor)) void begin(void) { abort(); }\n"
WRONG_PATH = "/opt/anaconda1anaconda2anaconda3/lib/libintelocl.so"


def built(code: str, library: Path) -> Path:
    """A shared library."""
    assert GCC is not None
    library.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([GCC, "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"], input=code,
                   text=True, check=True)
    return library


def registered(library: Path | str, file: Path) -> Path:
    """A file that registers a library."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{library}\n")
    return file


def packaged(name: str) -> Path:
    """The driver of a package, by the name of its file."""
    found = [each for each in registrations() if Path(each.file).stem == name and not each.problem]
    if not found:
        pytest.skip(f"no package with {name}")
    return Path(found[0].path)


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run([sys.executable, "-m", "runelift", *arguments], capture_output=True,
                          text=True, check=False, env={**kept, **environment})


def test_the_driver_of_a_package_has_no_problem() -> None:
    assert library_problem(str(packaged("pocl"))) is None


# Mistakes


@needs_gcc
@pytest.mark.parametrize(("code", "why"), [
    (NO_DRIVER, "is no OpenCL driver: it lacks 'clGetExtensionFunctionAddress'"),
    (NO_PLATFORMS, "lacks 'clIcdGetPlatformIDsKHR', so no loader can use it"),
    (NO_DEVICES, "finds no device of its kind (status -1001)"),
    (CRASHES, "crashes (SIGABRT)")])
def test_libraries_that_are_no_drivers(code: str, why: str, tmp_path: Path) -> None:
    library = built(code, tmp_path / "libx.so")
    found = registration(registered(library, tmp_path / "x.icd"))
    assert found.library == str(library)
    assert why in str(found.problem)
    assert found.hint == (f"install the runtime that 'x.icd' belongs to again, or delete "
                          f"'{tmp_path / 'x.icd'}'")


@pytest.fixture
def vendors(tmp_path: Path) -> Path:
    """A folder with a file for each mistake that does not keep others from being used."""
    folder = tmp_path / "vendors"
    registered("/nowhere/libmissing.so", folder / "missing.icd")
    registered("libunknown.so.9", folder / "unknown.icd")
    (tmp_path / "text.so").write_text("this is no library")
    registered(tmp_path / "text.so", folder / "text.icd")
    registered("", folder / "empty.icd")
    if GCC is not None:
        registered(built(NO_DRIVER, tmp_path / "libother.so"), folder / "other.icd")
    return folder


def test_each_mistake_is_told_with_its_cure(vendors: Path) -> None:
    why = {"missing": "the library '/nowhere/libmissing.so' does not exist",
           "unknown": "the library 'libunknown.so.9' cannot be loaded: libunknown.so.9: ",
           "text": "text.so' cannot be loaded: ", "empty": "the file names no library"}
    if GCC is not None:
        why["other"] = "libother.so' is no OpenCL driver"
    doctor, devices = (run(command, **{VARIABLE: str(vendors)}) for command in (
        "doctor", "devices"))
    assert devices.returncode == 0
    for told in (doctor.stdout, devices.stderr):
        lines = [line.strip() for line in told.splitlines()]
        for name, reason in why.items():
            start = next(n for n, line in enumerate(lines)
                         if line.startswith(f"{vendors / name}.icd: "))
            assert lines[start + 1].startswith("not usable: ")
            assert reason in lines[start + 1]
            assert lines[start + 2].startswith("hint: ")
            assert "delete" in lines[start + 2]


def test_mistakes_leave_other_devices(vendors: Path) -> None:
    packaged("pocl")
    found = result(run("doctor", "--json", **{VARIABLE: str(vendors)}))
    wrong = {Path(each["file"]).stem: bool(each["problem"]) for each in found["runtimes"]}
    assert wrong["missing"]
    assert wrong["text"]
    assert wrong["empty"]
    assert not wrong["pocl"]
    assert any("Portable" in each["platform"] for each in found["devices"])
    assert found["vendors"] == str(vendors)


def result(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)["result"]


@needs_gcc
def test_a_driver_that_crashes_is_named_before(tmp_path: Path) -> None:
    library = built(CRASHES, tmp_path / "libx.so")
    registered(library, tmp_path / "vendors" / "x.icd")
    for command in ("doctor", "devices"):
        done = run(command, **{VARIABLE: str(tmp_path / "vendors")})
        assert f"not usable: the driver '{library}' crashes (SIGABRT)" in done.stdout + done.stderr


# Intel's package: its library is in the environment, and its file names another folder


def in_environment(prefix: Path) -> dict[str, str]:
    """The environment of processes whose Python is in another folder."""
    registered(WRONG_PATH, prefix / "etc" / "OpenCL" / "vendors" / "intel64.icd")
    (prefix / "sitecustomize.py").write_text(f"import sys\nsys.prefix = {str(prefix)!r}\n")
    return {"PYTHONPATH": str(prefix), "RUNELIFT_CACHE": str(prefix / "cache"),
            "LD_LIBRARY_PATH": str(dependencies_of_pocl())}


def dependencies_of_pocl() -> Path:
    """The folder with the libraries that the package's driver loads."""
    spec = find_spec("pocl_binary_distribution")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / ".libs"


def test_a_driver_in_the_environment_is_registered(tmp_path: Path) -> None:
    """As Intel's; a driver under its name."""
    driver = packaged("pocl")
    library = tmp_path / "lib" / "libintelocl.so"
    library.parent.mkdir()
    library.symlink_to(driver)
    environment = in_environment(tmp_path)
    told = run("doctor", **environment).stdout
    assert f"intel64.icd: {WRONG_PATH}\n" in told
    assert f"not usable: the library '{WRONG_PATH}' does not exist\n" in told
    assert f"hint: Runelift takes '{library}', unless {VARIABLE} is set" in told
    assert f"done for this run: registered the intel runtime ({library})\n" in told
    assert f"does not exist\n  hint: Runelift takes '{library}'" in run(
        "devices", **environment).stderr


@needs_gcc
def test_a_library_in_the_environment_that_is_no_driver(tmp_path: Path) -> None:
    library = built(NO_DRIVER, tmp_path / "lib" / "libintelocl.so")
    told = run("doctor", **in_environment(tmp_path)).stdout
    assert f"'{WRONG_PATH}' does not exist; the library '{library}' is no OpenCL driver" in told
    assert "hint: install the runtime that 'intel64.icd' belongs to again" in told
    assert "registered the intel" not in told


def test_without_its_library_the_package_is_incomplete(tmp_path: Path) -> None:
    told = run("doctor", **in_environment(tmp_path)).stdout
    assert f"not usable: the library '{WRONG_PATH}' does not exist\n" in told
    assert "hint: install the runtime that 'intel64.icd' belongs to again" in told
    assert "registered the intel" not in told


def test_a_wrong_file_of_the_system_does_not_hide_the_driver(tmp_path: Path) -> None:
    library = tmp_path / "lib" / "libintelocl.so"
    library.parent.mkdir()
    library.symlink_to(packaged("pocl"))
    registered(WRONG_PATH, tmp_path / "vendors" / "intel64.icd")
    code = ("from pathlib import Path; from runelift.runtime.devices import info; "
            f"info.SYSTEM = Path({str(tmp_path / 'vendors')!r}); print(info.register_runtimes())")
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**environment, **in_environment(tmp_path)})
    assert f"registered the intel runtime ({library})" in done.stdout


# Runtimes that are there more than once


def test_a_library_that_several_files_name_is_used_once(tmp_path: Path) -> None:
    driver = packaged("pocl")
    for name in ("a", "b"):
        registered(driver, tmp_path / f"{name}.icd")
    found = result(run("devices", "--json", **{VARIABLE: str(tmp_path)}))
    assert sum("Portable" in each["platform"] for each in found) == 1
    told = run("doctor", **{VARIABLE: str(tmp_path)}).stdout
    assert f"hint: '{tmp_path / 'b.icd'}' and '" in told
    assert "name this library, too; one file is enough" in told


def test_platforms_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """A copy of a driver is a platform of its own if the other one keeps its names to itself."""
    driver = packaged("oclgrind")
    registered(shutil.copy(driver, tmp_path / "libsecond.so"), tmp_path / "second.icd")
    (tmp_path / "sitecustomize.py").write_text(f"import ctypes\nctypes.CDLL({str(driver)!r})\n")
    environment = {VARIABLE: str(tmp_path), "PYTHONPATH": str(tmp_path)}
    found = result(run("devices", "--json", **environment))
    names = [each["name"] for each in found if "Oclgrind" in each["platform"]]
    assert len(names) == 2
    for command in ("devices", "doctor"):
        told = run(command, **environment).stdout
        for number in range(2):
            assert f"--device '{names[0]}:{number}'" in told
    (program := tmp_path / "p.fut").write_text(
        "-- ==\n-- input { 1i32 } output { 2i32 }\nentry main (x: i32): i32 = x + 1\n")
    for number in range(3):
        done = run("test", "--device", f"{names[0]}:{number}", str(program), **environment)
        assert done.returncode == (number == 2)
    assert "No device matches" in done.stdout + done.stderr
