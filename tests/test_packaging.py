"""The package is what `pyproject.toml` says, however it is installed."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import runelift

ROOT = Path(__file__).parent.parent
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
FOLDERS = ("ir", "frontend", "rewrite", "codegen", "runtime")


def test_every_source_package_is_declared() -> None:
    found = {".".join([name, *init.parent.relative_to(ROOT / folder).parts])
             for name, folder in SETUPTOOLS["package-dir"].items()
             for init in (ROOT / folder).rglob("__init__.py")}
    found.discard("runelift.runtime.api")  # the package root lives inside of runtime/
    assert found == set(SETUPTOOLS["packages"])


def test_every_file_of_a_package_is_installed() -> None:
    patterns = SETUPTOOLS["package-data"]["*"]
    packages = {ROOT / folder / "/".join(each.removeprefix(name).split(".")[1:])
                for name, folder in SETUPTOOLS["package-dir"].items()
                for each in SETUPTOOLS["packages"] if f"{each}.".startswith(f"{name}.")}
    left_out = [str(path.relative_to(ROOT)) for package in packages for path in package.glob("*")
                if path.is_file() and path.suffix != ".py" and ".tuning" not in path.name
                and not any(path.match(pattern) for pattern in patterns)]
    assert left_out == []
    assert (files("runelift.examples") / "rules" / "chain.rules").read_text()


@pytest.mark.skipif(int(version("setuptools").partition(".")[0]) < 77,
                    reason="pyproject.toml asks for setuptools 77")
def test_an_installation_leaves_nothing_in_the_sources(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(
        ".*", "tests", "docs", "benchmarks", "__pycache__", "*.egg-info", "build"))
    before = set(source.rglob("*"))
    subprocess.run([sys.executable, "setup.py", "-q", "bdist_wheel", "-d", tmp_path],
                   cwd=source, check=True, capture_output=True)
    assert set(source.rglob("*")) == before
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as made:
        assert "runelift/frontend/syntax/grammar.lark" in made.namelist()


def test_no_generic_top_level_name_is_importable(tmp_path: Path) -> None:
    names = [*FOLDERS, "tests", "examples"]
    code = f"import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True,
                         check=True, cwd=tmp_path)
    assert out.stdout.strip() == "[]"


def test_only_public_names_are_completed() -> None:
    assert {name for name in dir(runelift) if not name.startswith("__")} == {*runelift.__all__}


def test_imports_point_one_way() -> None:
    allowed = {
        "ir": {"ir"},
        "frontend": {"ir", "frontend"},
        "rewrite": {"ir", "rewrite"},
        "codegen": {"ir", "codegen"},
    }
    wrong = []
    for folder, may_import in allowed.items():
        for path in (ROOT / folder).rglob("*.py"):
            for line in path.read_text().splitlines():
                words = line.split()
                if words[:1] in (["from"], ["import"]) and words[1].startswith("runelift."):
                    target = words[1].split(".")[1]
                    if target not in may_import:
                        wrong.append(f"{path.relative_to(ROOT)}: {line.strip()}")
    assert wrong == []


def test_start_up_imports_nothing_heavy() -> None:
    code = ("import sys, runelift, runelift.runtime.tools.commands.cli; "
            "print([m for m in ('numpy', 'pyopencl', 'lark', 'sympy', 'networkx', 'rich') "
            "if m in sys.modules])")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         cwd=ROOT.parent)
    assert out.stdout.strip() == "[]"
