"""Wings import in one direction, modules in no circles, and imports inside of functions say why.

Modules that are named in strings count, too: ``import_module("runelift.…")`` and its like.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import networkx as nx

ROOT = Path(__file__).parents[1]
FOLDERS = {f"runelift.{name}": ROOT / name
           for name in ("ir", "frontend", "rewrite", "codegen", "runtime")}
FOLDERS["runelift"] = ROOT / "runtime" / "api"
WINGS = {
    "ir.base": "",
    "ir": "ir.base",
    "frontend": "ir ir.base",
    "rewrite": "ir ir.base",
    "codegen": "ir ir.base",
    "runtime": "ir ir.base frontend rewrite codegen",
    "runtime.tuner": "ir ir.base rewrite codegen runtime",
    "runtime.research": "ir ir.base runtime runtime.tuner",
    "runtime.tools":
        "runelift ir ir.base frontend rewrite codegen runtime runtime.tuner runtime.research",
    "runelift": "ir.base runtime runtime.tools",
}
"""The wings that each wing may import: all packages below it that are no wings themselves."""
EXCUSED = {
    ("runtime.programs.program", "runtime.tuner.autotune"): "Program.tune tunes the program",
    ("runtime.displayed", "runtime.tools.notebook"): "notebooks ask objects for their looks",
    ("runtime.processes.process", "runtime.tuner.workers.worker"): "a process imports what answers",
    ("runtime.tuner.strategies", "runtime.research"): "a strategy is imported by its name",
}
"""Imports against the table, all late or by a string, and why."""
CIRCLES = {
    "frontend.check.base": "hints about unknown names look into the scope of the checker",
    "frontend.check.infer": "expressions contain patterns, loops, sums and indices, and these "
                            "contain expressions",
    "frontend.check.uniqueness": "loops carry arrays that the check follows",
    "frontend.elaborate.exps": "expressions contain loops, sums and arrays, and these contain "
                               "expressions",
    "rewrite.flatten.walk": "rules get the flattener, which has the book of rules",
    "runtime.devices.info": "advice is about a device",
    "runtime.devices.context": "probed results are of an open device",
    "runtime.records.recorder": "a sample belongs to a recorder, which has samples",
    "runtime.execution.run": "a run has an executable, and gives what is left to issue",
    "runtime.tuner.costs.cost_model": "costs correct records, which are parts of costs",
    "runtime.tuner.measure.forced_runs": "a warm-up belongs to the runs that it precedes",
}
"""A module of each circle of modules that types close, and why."""
LATE = 50
"""So many imports inside of functions are enough; most let commands start fast."""
REASON = re.compile(r"# late: \w+")
NAME = re.compile(r"runelift(\.\w+)+(?=$|[.:])")


class Import(NamedTuple):
    """A module imports another one, or something of it.

    ``late`` if inside of a function, or by a string (``named``); ``typing`` if for types only.
    """

    module: str
    line: int
    name: str
    late: bool = False
    typing: bool = False
    named: bool = False


@cache
def modules() -> dict[str, Path]:
    """All modules by their names."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(parts).removesuffix(".__init__")] = path
    return {name: path for name, path in found.items() if "runtime.api" not in name}


@cache
def imports() -> list[Import]:
    """All imports: ordinary ones, those inside of functions, by strings, and for types only."""
    return [each for name, path in modules().items()
            for each in _imports(ast.parse(path.read_text()), Import(name, 0, ""))]


def _imports(tree: ast.AST, here: Import) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        inner = here
        match node:
            case ast.ImportFrom(module=str(module), lineno=line):
                assert node.level == 0, f"{here.module} has a relative import"
                for alias in node.names:
                    whole = f"{module}.{alias.name}"
                    yield here._replace(line=line, name=whole if whole in modules() else module)
            case ast.Import(lineno=line):
                yield from (here._replace(line=line, name=alias.name) for alias in node.names)
            case ast.Constant(value=str(text), lineno=line):
                if (found := _named(text)) is not None and found != here.module:
                    yield here._replace(line=line, name=found, late=True, named=True)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                inner = here._replace(late=True)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                inner = here._replace(typing=True)
        yield from _imports(node, inner)


def _named(text: str) -> str | None:
    """The module that a string names, or the package of the modules that it begins the name of."""
    found = NAME.match(text)
    return found[0] if found and found[0] in modules() else None


def wing(module: str) -> str:
    """The wing of a module: the longest name in the table that its name begins with."""
    short = _short(module)
    return max((each for each in WINGS if f"{short}.".startswith(f"{each}.")),
               key=len, default="runelift")


@cache
def room(module: str) -> str:
    """The package of a module; modules beside packages are rooms of their own."""
    package = module.rpartition(".")[0]
    is_package = modules()[module].name == "__init__.py"
    return module if is_package or any(
        _is_package(each) and each.startswith(f"{package}.") for each in modules()) else package


def _is_package(module: str) -> bool:
    return modules()[module].name == "__init__.py"


def _short(module: str) -> str:
    return module.removeprefix("runelift.")


def _graph(*, typing: bool) -> nx.DiGraph:
    """The modules with what they import when they are imported, with ``typing`` also for types."""
    return nx.DiGraph((each.module, each.name) for each in imports()
                      if each.name in modules() and not each.late and typing >= each.typing)


def _circles(graph: nx.DiGraph) -> list[set[str]]:
    return [each for each in nx.strongly_connected_components(graph) if len(each) > 1]


def test_wings_import_only_what_they_may() -> None:
    wrong = [each for each in imports() if each.name in modules()
             and wing(each.name) not in (wing(each.module), *WINGS[wing(each.module)].split())]
    excused = {each for each in wrong if each.late and _excuse(each) is not None}
    assert [each for each in wrong if each not in excused] == []
    assert {_excuse(each) for each in excused} == EXCUSED.keys(), "nothing is excused in vain"


def _excuse(found: Import) -> tuple[str, str] | None:
    """The excuse of an import."""
    return next(((importer, name) for importer, name in EXCUSED
                 if _short(found.module) == importer
                 and f"{_short(found.name)}.".startswith(f"{name}.")), None)


def test_nothing_is_allowed_in_vain() -> None:
    arrows = {(wing(each.module), wing(each.name)) for each in imports() if each.name in modules()}
    assert {(importer, each) for importer, others in WINGS.items() for each in others.split()
            } - arrows == set()


def test_no_packages_import_one_another() -> None:
    graph = nx.DiGraph((room(module), room(name)) for module, name in _graph(typing=False).edges
                       if room(module) != room(name))
    assert _circles(graph) == []


def test_no_modules_import_one_another() -> None:
    assert _circles(_graph(typing=False)) == []


def test_circles_that_types_close_are_known() -> None:
    circles = _circles(_graph(typing=True))
    assert [each for each in circles if CIRCLES.keys().isdisjoint(map(_short, each))] == []
    assert len(circles) == len(CIRCLES), "each is named once, and none in vain"


def test_late_imports_are_few_and_say_why() -> None:
    late = {(each.module, each.line) for each in imports() if each.late and not each.named}
    assert len(late) <= LATE
    lines = {name: modules()[name].read_text().splitlines() for name, _ in late}
    assert [(name, line) for name, line in sorted(late) if not any(
        REASON.search(lines[name][k]) for k in (line - 1, line - 2))] == []


def test_names_of_modules_in_strings_are_found() -> None:
    named = {(_short(each.module), _short(each.name)) for each in imports() if each.named}
    assert {("runtime.tools.commands.start", "runtime.tools.commands.cli"),
            ("runtime.tools.commands.styles", "runtime.tools.commands.colours"),
            ("runtime.displayed", "runtime.tools.notebook")} <= named
