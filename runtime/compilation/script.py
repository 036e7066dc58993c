"""Compilation of scripts of test blocks, as entry points of their programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.frontend.load import checked, checked_module
from runelift.frontend.scripts import ENTRY, Given, Part, entry_point, given
from runelift.frontend.syntax.ast import ValDec
from runelift.frontend.syntax.module_ast import Module
from runelift.frontend.syntax.parser import parse
from runelift.frontend.syntax.types import Arrow, Tuple, Type
from runelift.ir.base.deep import deeply
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from runelift.rewrite.engine.rule import Rewriting
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.pipeline import compile_module

__all__ = ["ENTRY", "Part", "compile_script", "given", "gives_frames"]


def compile_script(program: Source, script: Source, asked: Sequence[Given], types: Sequence[str],
                   *, policy: str, part: Part = Part.VALUE) -> tuple[Compiled, Type]:
    """Compile ``program`` with an entry point :data:`ENTRY` that computes a script; its type.

    The arguments that the script ``asked`` for have these ``types``.  Another ``part`` of the
    script may be computed.
    """
    def last(module: Module) -> ValDec:
        return entry_point(script, asked, types, module, part)

    module = checked(program, last)
    (entry,) = module.entry_points
    type_ = _applied(entry.type, len(entry.params))
    # kernels on disk are found by the text: two scripts of a program differ in theirs
    whole = Source(program.name, f"{program.text}\n{part} {' '.join(types)}\n{script.text}")
    return compile_module(whole, module, policy=policy, rewriting=Rewriting(Names())), type_


@deeply
def gives_frames(program: Source, script: Source, asked: Sequence[Given], types: Sequence[str]
                 ) -> bool:
    """True if a script is a triple that begins with a function."""
    module = parse(program)
    module.decs += (replace(entry_point(script, asked, types, module), entry=False),)
    found = _applied(next(dec.type for dec in checked_module(module).decs
                          if isinstance(dec, ValDec) and dec.name == ENTRY), len(asked))
    return isinstance(found, Tuple) and len(found.items) == 3 and isinstance(found.items[0], Arrow)


def _applied(type_: Type | None, count: int) -> Type:
    """The type of a function's result behind so many arguments."""
    for _ in range(count):
        assert isinstance(type_, Arrow)
        type_ = type_.codomain
    assert type_ is not None
    return type_
