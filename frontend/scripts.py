"""Scripts: the expressions that compute the inputs of test cases, as in FutharkScript.

A script is an expression of the language, with the names of the program that it stands in.  It may
also have what the language does not:

* values from files (``$loaddata "FILE"``, ``$loadbytes "FILE"``), and pictures and sounds
  (``$loadimg "FILE"``, ``$loadaudio "FILE"``),
* lengths of rows (``$ragged "N SHAPE CAP"``), drawn at random,
* ``empty([0]f32)``,
* functions of several parameters that are applied to one tuple.

A script becomes an entry point at the end of its program, with a parameter for each value of the
first two kinds.  Its source has the places of the program's, and is blank where no script is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.parser import parse_exp, parse_type
from runelift.ir.base.errors import Diagnostic, ProgramError
from runelift.ir.base.source import Source, Span

ENTRY = "script'input"
"""The name of the entry point."""
STATE = "state'"
"""The parameter of a step: the state before it."""
BUILTINS = {**dict.fromkeys(("loaddata", "loadbytes", "loadimg", "loadaudio"), "FILE"),
            "ragged": "N SHAPE CAP"}
"""The functions that give values, and what stands in their quotes."""

_GIVEN = re.compile(r"""
    "(?: [^"\\] | \\. )*"
  | \$ (?P<builtin> [\w']* ) (?: \s* "(?P<quoted> [^"\n]* )" )?
  | \b empty \s* \( (?P<type> [^()]* ) \)
""", re.VERBOSE)


@dataclass(frozen=True, slots=True)
class Given:
    """An input of a script: the value of ``builtin`` applied to ``argument``, or an empty array."""

    name: str
    builtin: str
    argument: str
    span: Span


def given(script: Source) -> list[Given]:
    """The values that a script needs; ProgramError if one cannot be found out."""
    found: list[Given] = []
    for match in _GIVEN.finditer(script.text):
        span = Span(script, match.start(), match.end())
        if match["type"] is not None:
            found.append(Given(_name(found), "empty", match["type"], span))
        elif match["builtin"] is not None:
            if match["builtin"] not in BUILTINS or match["quoted"] is None:
                raise ProgramError(Diagnostic(
                    "malformed-data", span, f"'{match[0].strip()}' is no input: there are "
                    + ", ".join(f'${name} "{quoted}"' for name, quoted in BUILTINS.items())
                    + "."))
            found.append(Given(_name(found), match["builtin"], match["quoted"], span))
    return found


def _name(before: Sequence[Given]) -> str:
    return f"given'{len(before)}"


class Part(Enum):
    """A part of a script that is an entry point.

    That is its value.  Of a triple (step, state, count), START is the state with the count, and
    STEP gives a picture and the next state for a state.
    """

    VALUE = auto()
    START = auto()
    STEP = auto()


def entry_point(script: Source, values: Sequence[Given], types: Sequence[str],
                program: module_ast.Module, part: Part = Part.VALUE) -> ast.ValDec:
    """A part of the script as a declaration for the end of the program.

    ``values`` are its inputs, ``types`` their types.
    """
    text = script.text
    for value in reversed(values):
        hidden = value.name.ljust(value.span.end - value.span.start)
        text = text[: value.span.start] + hidden + text[value.span.end :]
    body = parse_exp(script, text)
    _uncurry(body, {dec.name: len(dec.params) for dec in program.decs
                    if isinstance(dec, ast.ValDec)})
    params: tuple[ast.Pattern, ...] = tuple(
        ast.PatAscript(value.span, ast.PatName(value.span, value.name), parse_type(type_))
        for value, type_ in zip(values, types, strict=True))
    if part is Part.STEP:
        params += (ast.PatName(body.span, STATE),)
    return ast.ValDec(body.span, ENTRY, body.span, True, (), params, None, _part(body, part))


def _part(script: ast.Exp, part: Part) -> ast.Exp:
    """The expression for a part of a script.  A start has the type that a step asks for."""
    if part is Part.VALUE:
        return script
    span = script.span
    step, first, count = (ast.Name(span, ast.QualName((), f"{name}'"))
                          for name in ("step", "first", "count"))
    taken = ast.PatTuple(span, tuple(ast.PatName(span, each.name.name)
                                     for each in (step, first, count)))
    if part is Part.STEP:
        state = ast.Name(span, ast.QualName((), STATE))
        return ast.LetPat(span, (), taken, script, ast.Apply(span, step, (state,)))
    return ast.LetPat(span, (), taken, script, ast.LetPat(
        span, (), ast.PatWild(span), ast.Apply(span, step, (first,)),
        ast.TupleExp(span, (first, count))))


def _uncurry(body: ast.Exp, parameters: dict[str, int]) -> None:
    """Take tuples apart that a function of several ``parameters`` is applied to.

    A script has no use for a function that still waits for arguments.
    """
    for node in walk(body):
        match node:
            case ast.Apply(_, ast.Name(span, name) as fun, (_,)) if (
                    (count := parameters.get(str(name), 1)) > 1):
                parts = [f"part'{number}" for number in range(count)]
                taken = ast.PatTuple(span, tuple(ast.PatName(span, part) for part in parts))
                node.fun = ast.LambdaExp(span, (taken,), None, ast.Apply(span, fun, tuple(
                    ast.Name(span, ast.QualName((), part)) for part in parts)))
