"""An entry point where a map over indices becomes a map over windows, ``lift.slide``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from runelift.frontend.check.foreign import argument
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, walk
from runelift.frontend.syntax.parser import parse
from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.source import Source, Span
from runelift.runtime.data.compare import first_difference
from runelift.runtime.programs.entry_point import python_names
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.profiling.next_step import Kind
from runelift.runtime.tools.profiling.way import Call, Way
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram


def windows(call: Call, resident: Sequence[Any]) -> Iterator[Way]:
    """The call of an entry point with windows, if one can be made and has equal results."""
    program, name = call.program, f"{call.entry}_slide"
    text = None if call.force else windowed(program.compiled.source, call.entry, name)
    if text is None:
        return
    names = ", ".join(python_names(program.compiled.signatures[call.entry]))
    detail = f"program.{name}({names})" if name in program.entries else text
    try:
        if name not in program.entries:
            added = program[call.entry].with_text(lambda _: (name, f"\n{text}\n")).program
            assert isinstance(added, Program)
            program = added
        measured = MeasuredProgram(program)
        arguments = measured.place(resident)
        own, other = (program.run(each, arguments)[0] for each in (call.entry, name))
        if first_difference(own, other) is None:
            yield Way(Kind.WINDOWS, f"{name}, with lift.slide",
                      partial(measured.time, name, arguments), detail)
    except (UserError, CompilerLimitation):
        return


def windowed(source: Source, entry: str, name: str) -> str | None:
    """The text of an entry point ``name`` like another one, but with windows.

    None if it has no map over indices whose function reads neighbours of one array by its index.
    The text may be wrong if a name stands for several variables: the caller compares results.
    """
    dec = next((each for each in parse(source).decs
                if isinstance(each, ast.ValDec) and each.name == entry), None)
    for exp in () if dec is None else walk(dec.body):
        if dec is None or (found := _over_windows(exp)) is None:
            continue
        if exp is dec.body and isinstance(dec.ret, ast.TypeArray) and dec.ret.size is not None:
            found += f" :> {dec.ret.span.text}"
        before, after = dec.name_span.end, dec.span.end
        text = (f"entry {name}{source.text[before:exp.span.start]}{found}"
                f"{source.text[exp.span.end:after]}")
        return None if "--" in text else " ".join(text.split())
    return None


class _Read(NamedTuple):
    """A read at an index: of which array, how wide its windows are, and the window instead.

    ``width`` is a number if that is known, or else an expression.
    """

    span: Span
    array: str
    width: int | str
    instead: str


def _over_windows(exp: Node) -> str | None:
    """A map over indices as a map over windows; None if it is no such map."""
    match exp:
        case ast.Apply(fun=ast.Name(name=mapped), args=(
                ast.LambdaExp(params=(ast.PatName(name=index),), ret=None) as fun,
                ast.Apply(fun=ast.Name(name=made)))) if (str(mapped), str(made)) == ("map", "iota"):
            pass
        case ast.Apply(fun=ast.Name(name=mapped), args=(
                _, ast.LambdaExp(params=(ast.PatName(name=index),), ret=None) as fun)) if (
                str(mapped) == "tabulate"):
            pass
        case _:
            return None
    uses = [each for each in walk(fun.body) if _is(each, index)]
    window = "window" if "window" not in fun.span.text else "window_"
    reads = sorted(_reads(fun.body, index, window), key=lambda each: each.span.start)
    wide = {each.width for each in reads if isinstance(each.width, str)}
    known = [each.width for each in reads if isinstance(each.width, int)]
    width = wide.pop() if len(wide) == 1 and not known else max(known, default=0) if not wide else 0
    if len({each.array for each in reads}) != 1 or len(reads) != len(uses) - sum(
            each.instead == window for each in reads) or width in (0, 1):
        return None
    text, end = "", exp.span.source.text.index("->", fun.params[0].span.end) + 2
    for each in reads:
        text += f"{exp.span.source.text[end:each.span.start]}{each.instead}"
        end = each.span.end
    text += exp.span.source.text[end:fun.span.end]
    return f"map (\\{window} ->{text}) (lift.slide {width} 1 {reads[0].array})"


def _reads(body: ast.Exp, index: str, window: str) -> Iterator[_Read]:
    """The reads of arrays by an index, or by an index and an offset that is not negative."""
    bounds = dict(_bounds(body))
    for node in walk(body):
        match node:
            case ast.IndexExp(array=ast.Name(name=array), dims=(
                    ast.SliceExp(start=start, stop=stop, step=None),)):
                if (_is(start, index) and (size := _offset(stop, index)) is not None
                        and not any(_is(each, index) for each in walk(size))):
                    yield _Read(node.span, str(array), argument(size.span.text), window)
            case ast.IndexExp(array=ast.Name(name=array), dims=(ast.Exp() as place,)):
                found = _width(place, index, bounds)
                if found is not None:
                    width, text = found
                    yield _Read(node.span, str(array), width, f"{window}[{text}]")


def _width(place: ast.Exp, index: str, bounds: Mapping[str, str]) -> tuple[int | str, str] | None:
    """The width of windows that an index needs, and the index inside of the window."""
    if _is(place, index):
        return 1, "0"
    match _offset(place, index):
        case ast.Literal(value=int() as value):
            return value + 1, str(value)
        case ast.Name(name=name) if str(name) in bounds:
            return bounds[str(name)], str(name)
    return None


def _bounds(body: ast.Exp) -> Iterator[tuple[str, str]]:
    """The variables that count from 0, and below what, as text."""
    for node in walk(body):
        match node:
            case ast.ForForm(pattern=ast.PatName(name=name), bound=bound):
                yield name, argument(bound.span.text)
            case ast.Apply(fun=ast.Name(), args=(
                    ast.LambdaExp(params=(ast.PatName(name=name),)),
                    ast.Apply(fun=ast.Name(name=made), args=(bound,)))) if str(made) == "iota":
                yield name, argument(bound.span.text)


def _offset(exp: ast.Exp | None, index: str) -> ast.Exp | None:
    """The other part of a sum with an index."""
    match exp:
        case ast.BinExp(op=op, left=left, right=right) if str(op) == "+":
            return right if _is(left, index) else left if _is(right, index) else None
    return None


def _is(node: Node | None, name: str) -> bool:
    """Test whether a node is the variable of a name."""
    return isinstance(node, ast.Name) and str(node.name) == name
