"""Packages import in one direction, and what is imported inside of functions says why.

Modules that are named in strings are not seen.  The command line imports commands by their names,
and so do processes with the tuner's worker.
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
EVERYWHERE = {"ir", "ir.imp"}
"""Packages that all may import but ``ir`` itself."""
ALLOWED = {
    "ir.imp": "ir",
    "ir.codes": "ir",
    "frontend.modules": "frontend.syntax",
    "frontend.check": "frontend.syntax",
    "frontend.elaborate": "frontend.syntax frontend.modules frontend.check",
    "frontend.format": "frontend.syntax frontend",
    "frontend": "frontend.syntax frontend.modules frontend.check frontend.elaborate",
    "rewrite.analysis": "rewrite.engine",
    "rewrite.rules": "rewrite.engine",
    "rewrite.flatten.rules": "rewrite.engine rewrite.flatten",
    "rewrite.lift": "rewrite.engine",
    "rewrite.lift.points": "rewrite.engine rewrite.flatten rewrite.lift",
    "rewrite.passes": "rewrite.engine rewrite.analysis rewrite.rules rewrite.flatten",
    "rewrite.lift.outside": "rewrite.engine rewrite.rules rewrite.passes rewrite.lift",
    "rewrite":
        "rewrite.engine rewrite.analysis rewrite.rules rewrite.flatten rewrite.flatten.rules "
        "rewrite.passes rewrite.lift rewrite.lift.outside rewrite.lift.points",
    "codegen.passes": "codegen.plan",
    "codegen.plan": "codegen.plan.shapes",
    "codegen.emit": "codegen.plan codegen.plan.shapes codegen.passes",
    "codegen.kernel": "codegen.plan codegen.plan.shapes codegen.passes",
    "codegen.cost": "codegen.plan codegen.emit",
    "codegen.segops": "codegen.plan codegen.plan.shapes codegen.passes codegen.kernel",
    "codegen.intragroup":
        "codegen.plan codegen.plan.shapes codegen.passes codegen.kernel codegen.segops",
    "codegen.hostplan":
        "codegen.plan codegen.plan.shapes codegen.kernel codegen.segops codegen.intragroup",
    "data": "codegen.plan",
    "displayed": "",
    "versions": "displayed",
    "records": "codegen.plan displayed",
    "host": "cache",
    "compilation":
        "frontend.syntax frontend.elaborate frontend rewrite.engine rewrite.lift "
        "rewrite.lift.points rewrite codegen.plan codegen.emit codegen.cost codegen.hostplan cache "
        "rules",
    "rules":
        "frontend.syntax frontend.elaborate frontend rewrite.lift.outside rewrite cache data",
    "devices.driver": "cache host",
    "devices": "codegen.emit cache host devices.driver",
    "devices.profiles": "devices",
    "geometry": "codegen.plan codegen.plan.shapes devices",
    "processes": "cache host compilation devices.driver devices",
    "execution":
        "frontend.syntax codegen.plan codegen.plan.shapes codegen.passes codegen.emit "
        "codegen.cost versions records "
        "cache cost host devices.driver devices execution.host_scalars geometry displayed",
    "execution.probes": "codegen.plan codegen.emit codegen.hostplan devices execution",
    "replay": "codegen.plan codegen.emit versions records host devices execution",
    "trials": "codegen.emit records host devices geometry cost execution",
    "memory":
        "codegen.plan codegen.emit versions records devices execution",
    "profiling":
        "codegen.plan versions displayed entry_point records cost cost.predict devices "
        "execution pages program "
        "tuner.workers",
    "execution.host_scalars": "",
    "cost":
        "codegen.cost codegen.plan cache devices devices.profiles execution.host_scalars geometry "
        "versions",
    "cost.measure": "cost devices devices.profiles execution.probes",
    "cost.predict":
        "codegen.cost codegen.plan cost devices execution loaded_program versions",
    "cost.modelled_device": "compilation devices devices.profiles execution loaded_program",
    "cost.explained": "cost.predict memory pages records versions",
    "prebuild":
        "codegen.emit versions cache compilation devices.driver devices processes execution "
        "execution.probes",
    "running": "devices execution execution.probes memory prebuild",
    "loaded_program":
        "codegen.plan compilation devices execution memory prebuild records running",
    "entry_point": "frontend.syntax compilation execution loaded_program displayed",
    "program":
        "codegen.plan versions records compilation devices geometry execution memory prebuild "
        "displayed entry_point loaded_program tuner.autotune",
    "races.mistakes": "",
    "races":
        "codegen.plan codegen.emit versions devices execution execution.probes program "
        "races.mistakes",
    "compile": "versions host compilation devices processes prebuild program",
    "interchange": "devices execution execution.probes",
    "functions": "compile entry_point",
    "importer": "compile",
    "stubs": "frontend.syntax entry_point program",
    "runelift":
        "entry_point execution functions importer interchange notebook profiling program records "
        "compile",
    "tuner.policy": "records",
    "tuner.costs": "versions records tuner.policy",
    "tuner.prune": "versions records tuner.costs",
    "tuner.measure":
        "versions records host geometry replay trials tuner.policy tuner.costs tuner.prune",
    "tuner.fit": "versions records tuner.policy tuner.costs",
    "tuner.analysis": "versions records tuner.costs tuner.fit",
    "tuner.result": "displayed versions tuner.costs tuner.measure tuner.fit",
    "tuner.workers":
        "codegen.plan codegen.segops versions records data cache host compilation "
        "devices.driver devices geometry processes execution execution.probes cost.predict replay "
        "trials prebuild program tuner.policy tuner.costs tuner.prune tuner.measure",
    "tuner.job": "versions tuner.policy tuner.costs tuner.measure tuner.fit tuner.result",
    "tuner.thresholds":
        "versions host tuner.policy tuner.costs tuner.measure tuner.fit tuner.result tuner.job",
    "tuner.autotune":
        "versions host program tuner.measure tuner.fit tuner.result tuner.workers tuner.job "
        "tuner.thresholds tuner.confirm_size_guards tuner.kernel_parameters tuner.final_choice",
    "tuner.final_choice": "versions tuner.costs tuner.measure tuner.result tuner.job",
    "tuner.confirm_size_guards":
        "versions records host tuner.policy tuner.costs tuner.measure tuner.fit tuner.result "
        "tuner.job",
    "tuner.kernel_parameters":
        "codegen.plan versions records geometry trials tuner.policy tuner.costs tuner.measure "
        "tuner.fit tuner.result tuner.job tuner.thresholds tuner.technique_bandit",
    "tuner.strategies":
        "versions records tuner.policy tuner.costs tuner.measure tuner.fit tuner.job "
        "tuner.technique_bandit",
    "tuner.technique_bandit": "",
    "tuner.report":
        "memory versions records tuner.costs tuner.measure tuner.fit tuner.analysis tuner.result "
        "tuner.confirm_size_guards tuner.kernel_parameters tuner.strategies",
    "pages": "versions",
    "explanation":
        "rewrite.engine rewrite codegen.plan codegen.emit compilation versions devices pages "
        "editors.pygments_lexer",
    "tuner.report.html":
        "versions records pages tuner.costs tuner.measure tuner.fit tuner.analysis tuner.result "
        "tuner.confirm_size_guards tuner.kernel_parameters tuner.strategies tuner.report "
        "tuner.schedules",
    "notebook":
        "displayed editors.pygments_lexer entry_point execution memory pages profiling program "
        "records tuner.analysis tuner.report tuner.report.html tuner.result versions compile",
    "tuner.schedules":
        "rewrite.lift rewrite.lift.points rewrite compilation versions records host "
        "tuner.policy tuner.costs tuner.measure tuner.result",
    "tuner.t4": "versions records tuner.costs tuner.fit tuner.kernel_parameters",
    "tuner.import_t4": "versions geometry tuner.job tuner.strategies tuner.t4",
    "testing":
        "ir.codes frontend codegen.emit versions data compilation devices devices.profiles program "
        "compile rules "
        "tuner.costs tuner.t4",
    "commands":
        "ir.codes frontend frontend.format rewrite.engine rewrite.lift rewrite.lift.outside "
        "rewrite.lift.points rewrite.passes rewrite codegen.plan codegen.passes versions records "
        "data cache host compilation rules cost cost.measure "
        "devices.driver devices explanation geometry memory pages processes profiling program "
        "compile cost.predict cost.modelled_device cost.explained devices.profiles loaded_program "
        "runelift tuner.policy tuner.costs tuner.measure tuner.fit tuner.analysis tuner.result "
        "tuner.workers tuner.job tuner.autotune tuner.confirm_size_guards tuner.kernel_parameters "
        "tuner.strategies tuner.report tuner.report.html tuner.t4 tuner.import_t4 tuner.schedules "
        "tuner.thresholds testing races races.mistakes stubs interactive "
        "editors.pygments_lexer",
    "editors.pygments_lexer": "frontend.syntax",
    "interactive":
        "frontend.syntax frontend.elaborate frontend rewrite.engine versions data compilation "
        "devices program editors.pygments_lexer",
    "editors":
        "frontend.syntax frontend.check frontend.elaborate frontend frontend.format versions "
        "compilation runelift interactive",
    "__main__": "commands",
}
"""The packages that each package may import, and no others, all without ``runelift.runtime``.

Modules that have a line here are rooms, too.
"""
LATE = 35
"""So many imports inside of functions are enough."""
REASON = re.compile(r"# late: \w+")


class Import(NamedTuple):
    """A module imports another one, or something of it; ``late`` if inside of a function."""

    module: str
    line: int
    name: str
    late: bool


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
    """All imports: ordinary ones, those inside of functions, and those for types only."""
    return [each for name, path in modules().items()
            for each in _imports(name, ast.parse(path.read_text()), late=False)]


def _imports(module: str, tree: ast.AST, *, late: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield Import(module, node.lineno, whole if whole in modules() else
                             str(node.module), late)
        elif isinstance(node, ast.Import):
            yield from (Import(module, node.lineno, alias.name, late) for alias in node.names)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(module, node, late=late or inside)


def room(module: str) -> str:
    """The package of a module as the table names it, or the module if it has a line there."""
    short = module.removeprefix("runelift.").removeprefix("runtime.")
    is_package = modules()[module].name == "__init__.py"
    return short if short in ALLOWED or is_package else short.rpartition(".")[0]


def arrows() -> dict[tuple[str, str], list[str]]:
    """Imports of one package by another, with their places."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in imports():
        if each.name in modules() and room(each.module) != room(each.name):
            found.setdefault((room(each.module), room(each.name)), []).append(
                f"{each.module}:{each.line}")
    return found


def allowed() -> set[tuple[str, str]]:
    """The arrows of the table."""
    return {(importer, each) for importer, others in ALLOWED.items() for each in others.split()}


def test_packages_import_only_what_they_may() -> None:
    wrong = {arrow: places for arrow, places in arrows().items() if arrow not in allowed()
             and (arrow[1] not in EVERYWHERE or arrow[0].startswith("ir"))}
    assert wrong == {}


def test_nothing_is_allowed_in_vain() -> None:
    assert allowed() - arrows().keys() == set()


def test_there_are_no_circles() -> None:
    """But for ``Program.tune``, by which a user tunes without knowing the tuner."""
    graph = nx.DiGraph(arrows().keys())
    graph.remove_edge("program", "tuner.autotune")
    assert list(nx.simple_cycles(graph)) == []


def test_late_imports_are_few_and_say_why() -> None:
    late = {(each.module, each.line) for each in imports() if each.late}
    assert len(late) <= LATE
    lines = {name: modules()[name].read_text().splitlines() for name, _ in late}
    assert [(name, line) for name, line in sorted(late) if not any(
        REASON.search(lines[name][k]) for k in (line - 1, line - 2))] == []
