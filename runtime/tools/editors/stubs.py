"""Stubs of programs for type checkers: entry points as functions with types of NumPy."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent

from runelift.ir.prim import Prim
from runelift.ir.signature import Component, Signature
from runelift.runtime.programs.derivatives import ON_DEVICE
from runelift.runtime.programs.entry_point import (
    documentation,
    option_names,
    python_names,
    size_names,
)
from runelift.runtime.programs.program import Program

HEAD = '''\
"""Entry points of {file}, for type checkers; 'runelift stubs' writes this file anew."""

from typing import Literal, overload

import numpy as np
import numpy.typing as npt

import runelift
'''
_TAKEN = frozenset({"np", "npt", "runelift", "program", "Program", "Literal", "overload"})
"""The names that a stub has already."""
_SCALARS = {"f": "float", "i": "int", "u": "int", "b": "bool"}
"""Python's type of scalars, by the first letter of theirs."""


def stub(file: str, signatures: Mapping[str, Signature]) -> str:
    """The text of the stub of a program in ``file``."""
    callable_, hidden = list[str](), list[str]()
    for name in signatures:
        usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
        (callable_ if usable and not hasattr(Program, name) else hidden).append(name)
    members = [f"{name}: _{name}" for name in callable_]
    members += [f'# program["{name}"] is not typed.' for name in hidden]
    return "\n".join([
        HEAD.format(file=file), *(_class(name, signatures[name]) for name in callable_),
        "class Program(runelift.Program):", indent("\n".join(members or ["pass"]), "    "), "",
        "program: Program",
        *(f"{name} = program.{name}" for name in callable_ if name not in _TAKEN)]) + "\n"


def _class(name: str, declared: Signature) -> str:
    """The class of an entry point, which has derivatives and more from its base.

    Calls differ in the place that arrays come out at, and in the types that are converted.
    """
    options = option_names(declared)
    text = documentation(name, declared).replace("\\", "\\\\").replace('"""', "'''")
    forms = [_definition(declared, options, on_device=place, converts=converts)
             for converts in ((False, True) if "convert" in options else (False,))
             for place in ((False, True) if _has_arrays(declared) else (False,))]
    forms[0] = forms[0].removesuffix(" ...") + indent(f'\n"""{text}\n"""', "    ")
    if len(forms) > 1:
        forms = ["@overload\n" + form for form in forms]
    head, _, rest = "\n".join(forms).partition("\n")
    body = indent("\n".join([f"{head}  # type: ignore[override]", rest]), "    ")
    return f"class _{name}(runelift.EntryPoint):\n{body}\n"


def _has_arrays(declared: Signature) -> bool:
    """Test whether there are arrays among the results."""
    return any("[" in each.type and not each.opaque for each in declared.results)


def _definition(declared: Signature, options: Sequence[str], *, on_device: bool, converts: bool
                ) -> str:
    params = ["self", *(f"{python}: {_argument(param, converts)}" for python, param in zip(
        python_names(declared), declared.params, strict=True))]
    no = "Literal[False] = False"
    place = "Literal[True]" if on_device else no if _has_arrays(declared) else "bool = False"
    keywords = [*(f"{size}: int = ..." for size in size_names(declared)), f"{ON_DEVICE}: {place}"]
    if "convert" in options:
        keywords.append(f"convert: {'Literal[True]' if converts else no}")
    if "out" in options and not on_device:
        keywords.append(f"out: {_outs(declared)} = None")
    head = f"def __call__({', '.join([*params, '*', *keywords])})"
    return f"{head} -> {_results(declared, on_device)}: ..."


def _outs(declared: Signature) -> str:
    """The annotation of the arrays that take results."""
    found = ["None" if each.opaque else f"npt.NDArray[{_prim(each)}] | None"
             for each in declared.results]
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found) or '()'}] | None"


def _argument(param: Component, converts: bool) -> str:
    """The annotation of a parameter."""
    if param.opaque:
        return "runelift.Opaque"
    if converts:
        return "npt.ArrayLike | runelift.DeviceArray"
    prim = _prim(param)
    if "[" in param.type:
        return f"npt.NDArray[{prim}] | runelift.DeviceArray"
    return f"{_SCALARS[param.type[0]]} | {prim}"


def _results(declared: Signature, on_device: bool) -> str:
    found = list(_each_result(declared, on_device))
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found) or '()'}]"


def _each_result(declared: Signature, on_device: bool) -> Iterator[str]:
    for each in declared.results:
        if each.opaque:
            yield "runelift.Opaque"
        elif "[" in each.type:
            yield "runelift.DeviceArray" if on_device else f"npt.NDArray[{_prim(each)}]"
        else:
            yield _prim(each)


def _prim(component: Component) -> str:
    """The NumPy type of a scalar or of elements."""
    prim = Prim(component.type.lstrip("[]"))
    return "np.bool_" if prim is Prim.BOOL else f"np.{prim.dtype}"
