"""Stubs of programs for type checkers: entry points as functions with types of NumPy."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from textwrap import indent

from runelift.ir.prim import Prim
from runelift.ir.signature import Component, Signature
from runelift.runtime.programs.derivatives import ON_DEVICE
from runelift.runtime.programs.entry_point import documentation, python_names, size_names
from runelift.runtime.programs.program import Program

HEAD = '''\
"""Entry points of {file}, for type checkers; 'runelift stubs' writes this file anew."""

from typing import Literal, overload

import numpy as np
import numpy.typing as npt

import runelift

class Program(runelift.Program):
'''
_SCALARS = {"f": "float", "i": "int", "u": "int", "b": "bool"}
"""Python's type of scalars, by the first letter of theirs."""


def stub(file: str, signatures: Mapping[str, Signature]) -> str:
    """The text of the stub of a program in ``file``."""
    callable_, hidden = list[str](), list[str]()
    for name in signatures:
        usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
        (callable_ if usable and not hasattr(Program, name) else hidden).append(name)
    methods = [_method(name, signatures[name]) for name in callable_]
    methods += [f'# program["{name}"] is not typed.' for name in hidden]
    lines = [HEAD.format(file=file), indent("\n".join(methods or ["pass"]), "    "), "",
             "program: Program", *(f"{name} = program.{name}" for name in callable_)]
    return "\n".join(lines).replace("\n\n    #", "\n    #") + "\n"


def _method(name: str, declared: Signature) -> str:
    """An entry point as a method, once for each place that arrays can come out at."""
    if not any("[" in each.type and not each.opaque for each in declared.results):
        return _definition(name, declared, "bool = False", on_device=False)
    return "\n".join(["@overload", _definition(name, declared, "Literal[False] = False",
                                               on_device=False),
                      "@overload", _definition(name, declared, "Literal[True]", on_device=True)])


def _definition(name: str, declared: Signature, flag: str, *, on_device: bool) -> str:
    params = ["self", *(f"{python}: {_argument(param)}" for python, param in zip(
        python_names(declared), declared.params, strict=True))]
    keywords = [*(f"{size}: int = ..." for size in size_names(declared)), f"{ON_DEVICE}: {flag}"]
    head = f"def {name}({', '.join([*params, '*', *keywords])}) -> {_results(declared, on_device)}:"
    if on_device:
        return f"{head} ..."
    text = documentation(name, declared).replace("\\", "\\\\").replace('"""', "'''")
    return "\n".join([head, indent(f'"""{text}\n"""', "    ")])


def _argument(param: Component) -> str:
    """The annotation of a parameter."""
    if param.opaque:
        return "runelift.Opaque"
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
