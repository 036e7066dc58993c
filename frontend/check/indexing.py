"""Inference of ranges, fields, indices and slices."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from runelift.frontend.check import foreign
from runelift.frontend.check.advice import COMPARISONS
from runelift.frontend.check.foreign import argument
from runelift.frontend.check.patterns import Patterns
from runelift.frontend.check.types import PRIMS
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, walk
from runelift.frontend.syntax.prelude import member
from runelift.frontend.syntax.types import Array, Arrow, MetaVar, Record, Tuple, Type
from runelift.ir.base.errors import (
    Diagnostic,
    Label,
    ProgramError,
    Replacement,
    did_you_mean,
)
from runelift.ir.base.numerals import whole_number
from runelift.ir.base.source import Span
from runelift.ir.prim import SIGNED, Prim
from runelift.ir.sizes import Size, applied


class Indexing(Patterns):
    """Infers indices, slices, updates and fields."""

    def _range(self, exp: ast.Range) -> Type:
        elem = self.solved.meta(SIGNED)
        for part in (exp.first, exp.second, exp.last):
            if part is not None:
                self.expect(elem, self.infer(part), part.span, "a bound")
        first, last = self._size_of(exp.first), self._size_of(exp.last)
        size = None
        second = None if exp.second is None else self._size_of(exp.second)
        by_one = exp.second is None or (exp.kind != "..>" and first is not None
                                        and second == first + 1)
        if by_one and first is not None and last is not None and exp.kind != "..>" and (
                self._is_i64(elem)):
            size = last - first + (1 if exp.kind == "..." else 0)
        return Array(size if size is not None else self.solved.unknown_size(), elem)

    def _is_i64(self, type_: Type) -> bool:
        return self.solved.head(type_) is Prim.I64

    def _field(self, type_: Type, name: str, span: Span, record: ast.Exp | None = None) -> Type:
        """The type of a field; ``record`` is the expression that ``span`` has with the field."""
        head = self.solved.head(type_)
        match head:
            case Record(fields):
                for field_name, field_type in fields:
                    if field_name == name:
                        return field_type
            case Tuple(items) if (index := whole_number(name)) is not None and (
                    index < len(items)):
                return items[index]
            case MetaVar() if head.id not in self.solved.allowed:
                member = self.solved.meta()
                self.expect(self.solved.require(Record, name, member), head, span, "a record")
                return member
        raise self._error("unknown-field", span,
                          f"A value of type {self._show(head)} has no field '{name}'.",
                          *_field_advice(head, name, span) or self._other_advice(
                              head, name, span, record),
                          labels=self._hidden_module(record))

    def _other_advice(self, type_: Type, name: str, span: Span, record: ast.Exp | None
                      ) -> list[str]:
        """Hints about a field that is one in other languages, or that is a function."""
        if record is None:
            return ["An index stands in brackets: xs with [0] = x"] * (
                name.isdigit() and isinstance(type_, Array))
        if isinstance(type_, Arrow) and self._is_known(name):
            new = f"{record.span.text} <-< {name}"
            return [Replacement(f"Functions are composed: {new}", new, span)]
        if isinstance(type_, Arrow) and re.search(r"\s\.$", span.text.removesuffix(name)):
            new = f"{record.span.text} (.{name})"
            return [Replacement(f"A function that takes a field is written (.{name}).", new, span)]
        head = self.solved.resolve(type_)
        if self._hidden_module(record):
            return ["Give it another name, so that the module keeps its own."]
        if isinstance(head, Prim) and member(head.value, name) is not None:
            return [foreign.called(f"{head}.{name}", record.span.text, span)]
        if name in ("backward", "grad"):
            return [foreign.METHOD_ADVICE[name]]
        return foreign.method(name, head, record.span.text, span) or [foreign.called(
            name, record.span.text, span)] * self._is_known(name)

    def _hidden_module(self, record: ast.Exp | None) -> tuple[Label, ...]:
        """The place of a definition that hides a module of the library."""
        name = str(record.name) if isinstance(record, ast.Name) else ""
        binding = self.scope.find(name) if name in PRIMS else None
        if binding is None or binding.span is None:
            return ()
        return (Label(binding.span, f"this '{name}' hides the module {name}"),)

    def _index(self, type_: Type, dims: tuple[ast.IndexDim, ...], span: Span) -> Type:
        slices: list[Size] = []
        for number, dim in enumerate(dims):
            head = self.solved.head(type_)
            if isinstance(head, MetaVar):
                fresh = Array(self.solved.size_meta(), self.solved.meta())
                self.expect(fresh, head, span, "an array")
                head = fresh
            if not isinstance(head, Array):
                rank = number
                raise self._error("wrong-rank", span,
                                  f"There are {len(dims)} indices, but the array has only {rank} "
                                  f"dimension{'s' * (rank != 1)}." if rank else
                                  f"A value of type {self._show(head)} cannot be indexed.",
                                  *[f"An array of such is of type []{head}."] * (
                                      isinstance(head, Prim) and not rank),
                                  *["A component is written: e.0"] * isinstance(head, Tuple),
                                  *["A field is written: e.x"] * isinstance(head, Record))
            if isinstance(dim, ast.SliceExp):
                slices.append(self._slice(dim, head.size))
            else:
                try:
                    index = self.infer(dim)
                except ProgramError:
                    self._refuse_mask(dim, span)
                    raise
                self.expect(self.solved.meta(SIGNED), index, dim.span, "an index",
                            hint=self._picked(index, dim, span))
            type_ = head.elem
        for size in reversed(slices):
            type_ = Array(size, type_)
        return type_

    def _refuse_mask(self, dim: ast.Exp, span: Span) -> None:
        """Refuse ``xs[xs > 0]``, a comparison of an array as an index."""
        if not isinstance(dim, ast.BinExp) or str(dim.op) not in COMPARISONS or not isinstance(
                dim.left, ast.Name) or not isinstance(
                    self.solved.head(self.infer(dim.left)), Array):
            return
        text, array = dim.left.span.text, span.text.partition("[")[0]
        holds = f"{dim.op} {dim.right.span.text}"
        new = f"filter ({holds}) {array}"
        hint = Replacement(f"Elements are picked by a condition: {new}", new, span)
        raise self._error(
            "type-mismatch", dim.span, "Expected an index that is a signed integer, found a "
            "comparison of an array.", hint if text == array else "Elements are picked by a "
            f"condition: zip {array} {text} |> filter (\\(_, c) -> c {holds}) |> map (.0)")

    def _picked(self, index: Type, dim: ast.Exp, span: Span) -> str:
        """The hint for an array as an index; nothing for another one."""
        head, array, text = self.solved.head(index), span.text.partition("[")[0], dim.span.text
        if not isinstance(head, Array) or span.text != f"{array}[{text}]":
            return ""
        new = f"map (\\i -> {array}[i]) {argument(text)}"
        if isinstance(dim, ast.Range) and (part := _slice_of(dim)) is not None:
            return Replacement(f"A slice has a colon: {array}[{part}]", part, dim.span)
        if self.solved.head(head.elem) is Prim.BOOL:
            new = f"map (.0) (filter (.1) (zip {array} {argument(text)}))"
        return Replacement(f"Elements are picked by an array: {new}", f"({new})", span)

    def _new_element(self, part: Type, dims: tuple[ast.IndexDim, ...], value: ast.Exp) -> None:
        """Check the value of an update; the running program compares the sizes of slices."""
        for _ in (dim for dim in dims if isinstance(dim, ast.SliceExp)):
            assert isinstance(part, Array)
            part = part.elem
        for _ in (dim for dim in dims if isinstance(dim, ast.SliceExp)):
            part = Array(self.solved.size_meta(), part)
        self.expect(part, self.infer(value), value.span, "a new element")

    def _slice(self, dim: ast.SliceExp, whole: Size) -> Size:
        for part in (dim.start, dim.stop, dim.step):
            if part is not None:
                self.expect(Prim.I64, self.infer(part), part.span, "a bound of a slice")
        size = Size.of(1) if dim.step is None else self._size_of(dim.step)
        step = size.constant if size is not None else None
        if not step:
            return self.solved.unknown_size()
        first, end = (Size.of(0), whole) if step > 0 else (whole - 1, Size.of(-1))
        start = first if dim.start is None else self._size_of(dim.start)
        stop = end if dim.stop is None else self._size_of(dim.stop)
        if start is None or stop is None:
            return self.solved.unknown_size()
        if abs(step) == 1:
            return (stop - start) * step
        rounded = stop - start + step - (1 if step > 0 else -1)
        return applied("//", rounded, Size.of(step))


def _slice_of(dim: ast.Range) -> str | None:
    """The slice that a range means as an index; None if its step is not known or negative."""
    first, last = dim.first.span.text, dim.last.span.text
    if dim.kind == "...":
        last = str(int(last) + 1) if last.isdigit() else f"{last} + 1"
    if dim.second is None:
        return f"{first}:{last}" if dim.kind != "..>" else None
    second = dim.second.span.text
    if not (first.isdigit() and second.isdigit() and int(second) > int(first)):
        return None
    return f"{first}:{last}:{int(second) - int(first)}"


def negative_indices(decs: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Warnings of literal indices before the first element, which other languages count back."""
    for node in walk(decs):
        if not isinstance(node, ast.IndexExp):
            continue
        for place, dim in enumerate(node.dims):
            if isinstance(dim, ast.Negate) and isinstance(dim.arg, ast.Literal):
                yield _negative(node, place, dim)


def _negative(exp: ast.IndexExp, place: int, dim: ast.Negate) -> Diagnostic:
    """The warning of an index that is a negative literal."""
    array, back = exp.array.span.text, dim.arg.span.text
    hints: tuple[str, ...] = ("Indices count from the first element.",)
    if place == 0 and "(" not in array:
        new = f"length {argument(array)} - {back}"
        hints = (Replacement(f"The element that is meant has the index {new}.", new, dim.span),)
    return Diagnostic("index-out-of-bounds", dim.span,
                      f"Index {dim.span.text} is before the first element.", hints=hints,
                      severity="warning")


def _field_advice(type_: Type, name: str, span: Span) -> list[str]:
    """A hint about the fields that exist."""
    match type_:
        case Record(fields):
            known = [label for label, _ in fields]
            near = difflib.get_close_matches(name, known, n=1)
            if near:
                record = span.text.removesuffix(name)
                return [did_you_mean(near[0], span, record + name, record + near[0])]
            return [f"It has {', '.join(known)}."]
        case Tuple(items) if items:
            return [f"Its components are {', '.join(map(str, range(len(items))))}."]
        case Array(_, Record(fields)) if name in dict(fields):
            return [f"Its elements have it: map (.{name}) xs"]
    return []
