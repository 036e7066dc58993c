"""Programs for PoCL with only those declarations of OpenCL C that they use, and optimised or not.

PoCL has Clang read a file of a megabyte of declarations for each program, which takes more than
half of the time of a small build.  Here a program begins with the lines of this file that declare
functions it names.

To optimise a kernel with barriers takes seven times as long as to build it without.  So folders
do without whose subject is what comes before kernels, or around them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyopencl as cl

UNOPTIMISED = ("rewrite/", "frontend/", "codegen/hostplan/", "runtime/execution/",
               "runtime/memory/", "runtime/predictions/", "runtime/programs/",
               "runtime/versions/")
"""The folders whose kernels are not optimised, but for cases that the quick suite leaves out.

Tests of kernels, examples, families and random programs show what PoCL's optimiser makes of them.
"""
optimises = True
"""Whether PoCL optimises what this process builds."""
GUARD = "_OPENCL_H_"
"""The macro that keeps the file from being read."""
PLAIN_BUILD = cl.Program.build
"""The method of the bindings."""
_NAME = re.compile(r"(\w+)\s*\(")
_WORD = re.compile(r"\w+")


class Piece(NamedTuple):
    """Lines of the file: a declaration of a function, or a directive, which has no name."""

    name: str
    text: str


def pieces_of(header: str) -> list[Piece]:
    """The declarations and directives of a file in order, without its guard and what it includes.
    """
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.replace("\\\n", " "), flags=re.DOTALL)
    lines = [line.rstrip() for line in code.splitlines() if line.strip()]
    assert lines[0].split() == ["#ifndef", GUARD]
    assert lines[-1] == "#endif"
    found, pending = list[Piece](), ""
    for line in lines[2:-1]:
        if line.startswith("#include") or line.endswith("all : disable"):
            continue  # PoCL includes the types itself, and enables extensions afterwards
        if line.startswith("#"):
            assert not pending
            found.append(Piece("", line))
            continue
        pending += line + "\n"
        if line.endswith(";"):
            (name, *_) = [each for each in _NAME.findall(pending) if each != "__attribute__"]
            found.append(Piece(name, pending))
            pending = ""
    return found


def declarations(pieces: list[Piece], source: str) -> str:
    """The pieces that a program needs."""
    words = set(_WORD.findall(source))
    return "\n".join(each.text for each in pieces if not each.name or each.name in words)


@cache
def _pieces() -> list[Piece]:
    """The pieces of PoCL's file; none if it is not where PoCL's wheel has it."""
    spec = find_spec("pocl_binary_distribution")
    if spec is None or spec.origin is None:
        return []
    (header, *_) = [*Path(spec.origin).parent.glob(".libs/share/pocl/include/opencl-c.h"), None]
    return [] if header is None else pieces_of(header.read_text())


def install() -> None:
    """Have programs for PoCL be built so in this process."""
    def with_declarations(self: Any, options: Any = None, *rest: Any, **named: Any) -> Any:
        source = vars(self).get("_source")
        if source is not None and self._prg is None and _is_pocl(self._context) and _pieces():
            self._source = f"{declarations(_pieces(), source)}\n#line 1\n{source}"
            given = [options] if isinstance(options, str) else list(options or [])
            options = [*given, f"-D{GUARD}", *([] if optimises else ["-cl-opt-disable"])]
        return PLAIN_BUILD(self, options, *rest, **named)

    cl.Program.build = with_declarations


def _is_pocl(context: Any) -> bool:
    return context.devices[0].platform.name == "Portable Computing Language"
