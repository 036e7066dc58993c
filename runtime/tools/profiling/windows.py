"""An entry point where a map over indices becomes a map over windows.

Windows are of one dimension, ``lift.slide``, or of two, ``lift.slide2d``.
"""

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
            made = "lift.slide2d" if "(lift.slide2d " in text else "lift.slide"
            yield Way(Kind.WINDOWS, f"{name}, with {made}",
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
        found = next(filter(None, (_over_windows(exp, *each) for each in _over_indices(exp))), None)
        if dec is None or found is None:
            continue
        if exp is dec.body and isinstance(dec.ret, ast.TypeArray) and dec.ret.size is not None:
            found += f" :> {dec.ret.span.text}"
        before, after = dec.name_span.end, dec.span.end
        text = (f"entry {name}{source.text[before:exp.span.start]}{found}"
                f"{source.text[exp.span.end:after]}")
        return None if "--" in text else " ".join(text.split())
    return None


class _Read(NamedTuple):
    """A read at indices: of which array, how wide its windows are, and the window instead.

    A width is a number if that is known, or else an expression.  ``uses`` counts the indices.
    """

    span: Span
    array: str
    widths: tuple[int | str, ...]
    instead: str
    uses: int


def _over_windows(exp: Node, fun: ast.LambdaExp, names: Sequence[str]) -> str | None:
    """A map of a function of one or two indices as a map over windows; None if it has none."""
    uses = sum(isinstance(each, ast.Name) and str(each.name) in names for each in walk(fun.body))
    window = "window" if "window" not in fun.span.text else "window_"
    reads = sorted(_reads(fun.body, names, window), key=lambda each: each.span.start)
    widths = [_common(each) for each in zip(*(each.widths for each in reads), strict=True)]
    if (len({each.array for each in reads}) != 1 or sum(each.uses for each in reads) != uses
            or 0 in widths or {*widths} == {1}):
        return None
    source, text = exp.span.source.text, ""
    end = source.index("->", fun.params[-1].span.end) + 2
    for each in reads:
        text += f"{source[end:each.span.start]}{each.instead}"
        end = each.span.end
    text = f"\\{window} ->{text}{source[end:fun.span.end]}"
    sizes = " 1 ".join(map(str, widths))
    one, two = f"map ({text})", f"map (map ({text}))"
    return (f"{one} (lift.slide {sizes} 1 {reads[0].array})" if len(names) == 1 else
            f"{two} (lift.slide2d {sizes} 1 {reads[0].array})")


def _over_indices(exp: Node) -> Iterator[tuple[ast.LambdaExp, tuple[str, ...]]]:
    """The functions that maps apply to two indices or one, with the names of these."""
    match exp:
        case ast.Apply(fun=ast.Name(name=mapped), args=(
                ast.LambdaExp(params=(ast.PatName(name=index),), ret=None) as fun,
                ast.Apply(fun=ast.Name(name=made)))) if (str(mapped), str(made)) == ("map", "iota"):
            pass
        case ast.Apply(fun=ast.Name(name=mapped), args=(
                _, ast.LambdaExp(params=(ast.PatName(name=index),), ret=None) as fun)) if (
                str(mapped) == "tabulate"):
            pass
        case ast.Apply(fun=ast.Name(name=mapped), args=(_, _, ast.LambdaExp(
                params=(ast.PatName(name=index), ast.PatName(name=second)), ret=None) as fun)) if (
                str(mapped) == "tabulate_2d"):
            yield fun, (index, second)
            return
        case _:
            return
    for inner, names in _over_indices(fun.body):
        if len(names) == 1:
            yield inner, (index, *names)
    yield fun, (index,)


def _common(widths: Sequence[int | str]) -> int | str:
    """The width of windows for all reads of an array; 0 if there is none."""
    named = {each for each in widths if isinstance(each, str)}
    known = [each for each in widths if isinstance(each, int)]
    return max(known, default=0) if not named else named.pop() if (
        len(named) == 1 and not known) else 0


def _reads(body: ast.Exp, names: Sequence[str], window: str) -> Iterator[_Read]:
    """The reads of arrays by all indices, or by indices and offsets that are not negative."""
    bounds = dict(_bounds(body))
    for node in walk(body):
        match node:
            case ast.IndexExp(array=ast.Name(name=array), dims=dims) if len(dims) == len(names):
                found = [_width(dim, name, bounds) for dim, name in zip(dims, names, strict=True)]
                known = [each for each in found if each is not None]
                slices = [isinstance(each, ast.SliceExp) for each in dims]
                if len(known) == len(names) and (all(slices) or not any(slices)):
                    places = ", ".join(text for _, text in known)
                    yield _Read(node.span, str(array), tuple(width for width, _ in known),
                                window if all(slices) else f"{window}[{places}]",
                                len(names) * (2 if all(slices) else 1))


def _width(place: Node, index: str, bounds: Mapping[str, str]) -> tuple[int | str, str] | None:
    """The width of windows that an index or a slice needs, and the index inside of the window."""
    if isinstance(place, ast.SliceExp):
        size = _offset(place.stop, index) if _is(place.start, index) else None
        return None if place.step is not None or size is None or any(
            _is(each, index) for each in walk(size)) else (argument(size.span.text), "")
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


def _offset(exp: Node | None, index: str) -> ast.Exp | None:
    """The other part of a sum with an index."""
    match exp:
        case ast.BinExp(op=op, left=left, right=right) if str(op) == "+":
            return right if _is(left, index) else left if _is(right, index) else None
    return None


def _is(node: Node | None, name: str) -> bool:
    """Test whether a node is the variable of a name."""
    return isinstance(node, ast.Name) and str(node.name) == name
