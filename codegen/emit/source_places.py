"""Places in the source of the lines of kernels, also as comments that reports of devices repeat.

Oclgrind's reports have lines of OpenCL C, but not the statements that these were made of.  So lines
for simulators end with their place: ``// p.fut:4:7-4:11, in f called at p.fut:9:3-9:10``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from runelift.codegen.emit.inlining import used_once
from runelift.codegen.plan.origins import Origins
from runelift.ir import imp
from runelift.ir.base.lines import places
from runelift.ir.base.source import Loc
from runelift.ir.base.visible import one_line
from runelift.ir.imp.traverse import expressions, statements, subexpressions
from runelift.ir.names import VName

_COMMENT, _CALLED = "  // ", " called at "
_CALL = re.compile(rf", in (?P<callee>\S*){_CALLED}")
_PLACE = re.compile(r"(?P<file>.+):(\d+):(\d+)-(\d+):(\d+)")


class SourceOfStatements:
    """The places of a kernel's statements.

    A variable may be written where it is used.  Its place is then added to the statement there.
    """

    def __init__(self, kernel: imp.Kernel, origins: Origins) -> None:
        self._origins = origins
        inlined = used_once(kernel.body)
        self._inlined = {stm.name: stm for stm in statements(kernel.body)
                         if isinstance(stm, imp.Declare) and stm.name in inlined}

    def __call__(self, stm: imp.Stm) -> Iterable[Loc]:
        """The places, that of the statement itself first."""
        own = self._origins.of(stm)
        used = (self(self._inlined[name]) for name in _variables(stm) if name in self._inlined)
        return dict.fromkeys([*([own] if own is not None else []),
                              *(loc for locs in used for loc in locs)])


def _variables(stm: imp.Stm) -> Iterator[VName]:
    return (part.name for exp in expressions(stm) for part in subexpressions(exp)
            if isinstance(part, imp.Var))


def annotated(lines: Iterable[str]) -> Iterator[str]:
    """The lines, each with its most important place as a comment, if it has any.

    >>> from runelift.ir.base.lines import placed
    >>> [line] = annotated(placed(["x = y;"], Loc("p.fut", 4, 7, last=(4, 11))))
    >>> line
    'x = y;  // p.fut:4:7-4:11'
    """
    for line in lines:
        locs = places(line)
        yield f"{line}{_COMMENT}{_text(locs[0])}" if locs else line


def _text(loc: Loc) -> str:
    first, *calls = ((each, "{}:{}:{}-{}:{}".format(
        one_line(each.file), each.line, each.column, *(each.last or (each.line, each.column))))
        for each in (loc, *loc.calls))
    return first[1] + "".join(f", in {call.callee}{_CALLED}{place}" for call, place in calls)


def read_place(line: str) -> tuple[str, Loc | None]:
    """The code of an annotated line, and its place in the source; None without an annotation.

    >>> read_place("x = y;  // p.fut:4:7-4:11, in f called at p.fut:9:3-9:10")[1].trace()
    ['  in f, called at p.fut:9:3']
    """
    code, comment, text = line.rpartition(_COMMENT)
    first, *rest = _CALL.split(text)
    found = [_read(each) for each in (first, *rest[1::2])]
    if not comment or None in found:
        return line, None
    loc, *calls = (each for each in found if each is not None)
    named = (replace(call, callee=callee) for call, callee in zip(calls, rest[::2], strict=True))
    return code, replace(loc, calls=tuple(named))


def _read(text: str) -> Loc | None:
    if (found := _PLACE.fullmatch(text)) is None:
        return None
    line, column, *last = map(int, found.groups()[1:])
    return Loc(found["file"], line, column, last=(last[0], last[1]))
