"""The folder of an exported program: a module, a text of kernels and a plan for each entry point,
and the package that runs them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from runelift import __version__
from runelift.codegen.plan.plan import Plan
from runelift.ir.base.errors import UserError
from runelift.ir.base.written_files import replacing, unwritable
from runelift.runtime.compilation.stages import stage_text
from runelift.runtime.exported.stored import KINDS, PlanKind, StoredEntry, stored
from runelift.runtime.programs.entry_point import documentation, python_names
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.export.bundle import bundle, package_name
from runelift.runtime.versions.size_guards import SizeGuard, size_guards_of

MODULE = '''\
"""Functions of {program}, exported by Runelift {version}.

They take and give NumPy's arrays, and need NumPy, PyOpenCL and the files beside this module:
{package}/, and for each function
  {module}.FUNCTION.plan  what runs
  {module}.FUNCTION.cl    its kernels, to read: a run builds them for its device and sizes
A wrong argument raises ValueError.  A failure of the program raises RuntimeError.

    import {module}
    print({module}.{call})
"""

import importlib.util as _util
import sys as _sys
from importlib import import_module as _import_module
from pathlib import Path as _Path

_DEVICE = {device!r}
"""A part of the name of the device; None: $RUNELIFT_DEVICE, or the best device."""
_THRESHOLDS = {thresholds}
"""Thresholds that choose between versions; predicted times choose where there are none."""
_RUNTIME = {package!r}


def _opened(module):
    """The program of this module; the path of imports stays as it is."""
    if _RUNTIME not in _sys.modules:
        place = module.parent / _RUNTIME / "__init__.py"
        spec = _util.spec_from_file_location(_RUNTIME, place)
        _sys.modules[_RUNTIME] = package = _util.module_from_spec(spec)
        spec.loader.exec_module(package)
    runtime = _import_module(_RUNTIME + ".runtime.exported.program")
    return runtime.ExportedProgram(module, _DEVICE, _THRESHOLDS)


_program = _opened(_Path(__file__))
'''
FUNCTION = '''

_{function} = _program.entry({function!r})


def {function}({params}):
    """{doc}
    """
    return _{function}({args})
'''
KERNELS = """\
// Kernels of '{entry}' in {program} for {kind}, to read.
// A run builds them anew, with the constants of its device and sizes.

"""


class Exported(NamedTuple):
    """The module that was written, its functions by entry point, and the package that runs it."""

    module: Path
    functions: Mapping[str, str]
    package: Path


def export(program: Program, entries: Sequence[str], folder: Path, device: str | None
           ) -> Exported:
    """Write the folder of a program; ``device`` is the default device of the module.

    UserError if it cannot be written.
    """
    source = Path(program.compiled.source.name)
    module, functions = identifier(source.stem), functions_of(entries)
    files: dict[str, bytes] = {}
    for entry, function in functions.items():
        plans = {kind: _plan(program, entry, kind) for kind in KINDS}
        kept = StoredEntry(entry, program.compiled.signatures[entry], _guards(program, entry),
                           {kind: stored(plan) for kind, plan in plans.items()})
        files[f"{module}.{function}.plan"] = stored(kept)
        files[f"{module}.{function}.cl"] = _kernels(program, entry, plans).encode()
    files |= {f"{package_name()}/{path}": content for path, content in bundle().items()}
    files[f"{module}.py"] = _module(program, module, functions, device).encode()
    _write(folder, files)
    return Exported(folder / f"{module}.py", functions, folder / package_name())


def identifier(name: str) -> str:
    """A name that Python allows.

    >>> identifier("mri-q"), identifier("2d"), identifier("lambda"), identifier("main'")
    ('mri_q', '_2d', 'lambda_', 'main_')
    """
    found = re.sub(r"\W", "_", name)
    if not found.isidentifier():
        found = f"_{found}"
    return f"{found}_" if keyword.iskeyword(found) else found


def functions_of(entries: Sequence[str]) -> dict[str, str]:
    """The functions of entry points, with different names.

    >>> functions_of(["main'", "main_", "program"])
    {"main'": 'main_', 'main_': 'main__', 'program': 'program_'}
    """
    found: dict[str, str] = {}
    for entry in entries:
        name = identifier(entry)
        while name in found.values() or f"_{name}" in _OWN or name.startswith("__"):
            name = f"f{name}" if name.startswith("__") else f"{name}_"
        found[entry] = name
    return found


_OWN = frozenset({"_opened", "_program", "_util", "_sys", "_import_module", "_Path"})
"""Names of a module that functions must not take."""


def _plan(program: Program, entry: str, kind: PlanKind) -> Plan:
    return program.compiled.plan(program.interface(entry).entry, interleave=kind.interleave,
                                 coherent=kind.coherent)


def _guards(program: Program, entry: str) -> dict[str, SizeGuard]:
    """The size guards of an entry point's choices, by site."""
    sites = program.tree.entry(entry).sites()
    return {site: each for site, each in size_guards_of(program.thresholds).items()
            if site in sites}


def _kernels(program: Program, entry: str, plans: Mapping[PlanKind, Plan]) -> str:
    info = program.device_info
    kind = KINDS[0] if info is None else PlanKind(info.interleaves, info.coherent)
    return KERNELS.format(
        entry=entry, program=program.compiled.source.name,
        kind="GPUs" if kind.interleave else "processors",
    ) + stage_text(program.compiled, "kernels", lambda: plans[kind])


def _module(program: Program, module: str, functions: Mapping[str, str], device: str | None
            ) -> str:
    declared = program.compiled.signatures
    first, function = next(iter(functions.items()))
    text = MODULE.format(
        program=Path(program.compiled.source.name).name, version=__version__, module=module,
        package=package_name(), device=device, thresholds=_dict(program.thresholds),
        call=f"{function}({', '.join(python_names(declared[first]))})")
    return text + "".join(_functions(program, functions))


def _dict(values: Mapping[str, int]) -> str:
    lines = [f"    {name!r}: {value},\n" for name, value in values.items()]
    return "".join(["{\n", *lines, "}"]) if lines else "{}"


def _functions(program: Program, functions: Mapping[str, str]) -> Iterator[str]:
    for entry, function in functions.items():
        declared = program.compiled.signatures[entry]
        names = ", ".join(python_names(declared))
        doc = indent(documentation(entry, declared, keywords=False), "    ").lstrip()
        yield FUNCTION.format(function=function, params=f"{names}, /" if names else "", args=names,
                              doc=doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'))


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, the module last.

    The name of the package tells its contents, so that files that it has stay.
    """
    for name, content in files.items():
        path = folder / name
        if path.parent != folder and path.exists():
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise UserError(f"Cannot write to '{path.parent}': it is a file, not a folder."
                            ) from None
        except (OSError, ValueError) as error:
            raise unwritable(path.parent, error) from None
        with replacing(path) as file:
            file.write(content)
