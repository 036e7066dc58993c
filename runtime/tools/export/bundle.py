"""The modules that runs of exported programs need, copied as a package with another name.

The compiler, the tuner and what measures stay behind.  All else of a run is Runelift's own code, so
that neither results nor speed can differ.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from runelift.ir.base.errors import CompilerBug
from runelift.runtime.execution.probes import plans
from runelift.runtime.exported import probe_plans
from runelift.runtime.exported.stored import stored

ROOT = "runelift"
ROOTS = ("runelift.runtime.exported.program",
         "runelift.runtime.devices.driver.crash_marks")
"""The modules that a run begins with; the second is imported by its name."""
REPLACED = {"runelift.runtime.execution.probes.plans": "runelift.runtime.exported.probe_plans"}
"""Modules of the compiler, and the modules that stand in for them."""
LEFT_BEHIND = frozenset({
    "runelift.codegen.cost.version_costs",  # costs of whole calls, which only tools ask for
})
"""Modules that runs do not import, though functions that no run calls do."""
DATA = (".cl", ".json")
"""The suffixes of files beside modules that the modules read."""
_NAMED = re.compile(r"\brunelift\.(?=(?:codegen|ir|runtime)\b)")


def bundle() -> dict[str, bytes]:
    """The files of the package by their paths; its name is :func:`package_name`."""
    return _named(package_name())


@cache
def package_name() -> str:
    """The name of the package: another one for other contents, so that packages can lie beside
    one another.
    """
    digest = hashlib.sha256()
    for path, content in _named("_runelift_rt").items():
        digest.update(f"{path} {len(content)}\n".encode() + content)
    return f"_runelift_rt_{digest.hexdigest()[:8]}"


def _named(package: str) -> dict[str, bytes]:
    files = {"__init__.py": b'"""Modules of Runelift that run exported programs."""\n'}
    for module, path in sorted(_modules().items()):
        source = _path(REPLACED.get(module, module)).read_text("utf-8")
        files[_place(module, path)] = _NAMED.sub(f"{package}.", source).encode()
        if path.name == "__init__.py":
            files |= {f"{_folder(module)}/{each.name}": each.read_bytes()
                      for each in sorted(path.parent.iterdir()) if each.suffix in DATA}
    return {**files, **_plans_of_probes()}


@cache
def _plans_of_probes() -> Mapping[str, bytes]:
    """The files that stand in for the compiler in the probes of a device."""
    folder = _folder(plans.__name__.rpartition(".")[0])
    return {f"{folder}/{probe_plans.SCAN}": stored(plans.scan_plan()),
            f"{folder}/{probe_plans.ROWS}": stored(plans.rows_plan())}


@cache
def _modules() -> Mapping[str, Path]:
    """All modules that runs may import, with the packages that they are in."""
    found, left = dict[str, Path](), list(ROOTS)
    while left:
        module = left.pop()
        if module in found or module == ROOT or module in LEFT_BEHIND:
            continue
        found[module] = _path(module)
        left.append(module.rpartition(".")[0])
        left += _imports(_path(REPLACED.get(module, module)))
    return found


def _imports(path: Path) -> Iterator[str]:
    """The modules of Runelift that a module imports, apart from imports for types only."""
    left: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while left:
        node = left.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                left += node.orelse
                continue
            case ast.ImportFrom(module=str(module)) if f"{module}.".startswith(f"{ROOT}."):
                if module == ROOT:
                    raise CompilerBug(f"{path} imports the root of the package")
                for alias in node.names:
                    yield name if _is_module(name := f"{module}.{alias.name}") else module
        left += ast.iter_child_nodes(node)


@cache
def _is_module(name: str) -> bool:
    """True if a name is that of a module, whose package is not imported to find out."""
    return _found(name) is not None


def _path(module: str) -> Path:
    found = _found(module)
    assert found is not None, module
    return found


@cache
def _found(module: str) -> Path | None:
    _, room, *rest = module.split(".")
    spec = find_spec(f"{ROOT}.{room}")
    folders = () if spec is None else spec.submodule_search_locations or ()
    for folder in folders:
        path = Path(folder, *rest)
        for each in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if each.is_file():
                return each
    return None


def _folder(package: str) -> str:
    return "/".join(package.split(".")[1:])


def _place(module: str, path: Path) -> str:
    folder = _folder(module)
    return f"{folder}/__init__.py" if path.name == "__init__.py" else f"{folder}.py"
