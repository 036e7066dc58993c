"""The signatures of entry points, as the source declares them."""

from __future__ import annotations

from collections.abc import Iterator

from runelift.frontend.check.forms import whole_name
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.doc_comments import comment_before
from runelift.frontend.syntax.types import Array, Arrow, Record, Sum, Tuple, Type, payload, show
from runelift.ir.names import NAMELESS
from runelift.ir.prim import Prim
from runelift.ir.signature import Component, Signature
from runelift.ir.sizes import Size


def signatures(module: ast.Flat) -> dict[str, Signature]:
    """The signature of each entry point of a checked program, by name."""
    return {dec.name: _signature(dec, dec.type) for dec in module.entry_points
            if dec.type is not None}


def _signature(dec: ast.ValDec, type_: Type) -> Signature:
    params: list[Component] = []
    patterns = iter(dec.params)
    while isinstance(type_, Arrow):  # more of them than patterns if the body is a function
        params.append(_parameter(type_.domain, next(patterns, None)))
        type_ = type_.codomain
    results = [_component(result, text) for result, text in _results(type_, dec.ret)]
    sizes = tuple(each.name for each in dec.type_params if isinstance(each, ast.SizeParam))
    return Signature(tuple(each for each in params if each.parts),
                     tuple(each for each in results if each.parts), sizes, comment_before(dec.span))


def _parameter(type_: Type, pattern: ast.Pattern | None) -> Component:
    written = pattern.type_exp.span.text if isinstance(pattern, ast.PatAscript) else ""
    return _component(type_, written, "" if pattern is None else whole_name(pattern) or "")


def _results(type_: Type, written: ast.TypeExp | None) -> Iterator[tuple[Type, str]]:
    """The results of a type, each with its type as written, if the program writes them."""
    if not isinstance(type_, Tuple):
        yield type_, "" if written is None else written.span.text
        return
    texts = [each.span.text for each in written.items] if isinstance(
        written, ast.TypeTuple) and len(written.items) == len(type_.items) else []
    for number, item in enumerate(type_.items):
        yield item, texts[number] if texts else ""


def _component(type_: Type, written: str, name: str = "") -> Component:
    elem = type_
    while isinstance(elem, Array):
        elem = elem.elem
    return Component(show(type_, lambda _: ""), _parts(type_), not isinstance(elem, Prim), name,
                     " ".join(written.split()) or show(type_, _size))


def _size(size: Size) -> str:
    """A size; nothing if the checker has invented its name."""
    text = size.render(lambda name: name.base)
    return "" if text == NAMELESS else text


def _parts(type_: Type, rank: int = 0) -> int:
    """The number of primitive values and arrays in a value; ``()`` is one where it has a shape."""
    match type_:
        case Array(_, elem):
            return _parts(elem, rank + 1)
        case Tuple(()):
            return int(rank > 0)
        case Tuple(items):
            return sum(_parts(item, rank) for item in items)
        case Record(fields):
            return sum(_parts(field, rank) for _, field in fields)
        case Sum(fields):
            return 1 + sum(_parts(item, rank) for _, f in fields for item in payload(f))
    return 1
