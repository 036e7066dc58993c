"""Inference of patterns, which bind names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from runelift.frontend.check.base import Binding, SizeMaker
from runelift.frontend.check.forms import names_bound
from runelift.frontend.check.restrictions import own_size
from runelift.frontend.check.size_exps import SizeExps
from runelift.frontend.check.sums import refutable_type
from runelift.frontend.check.types import Scheme
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import UNIT, MetaVar, Record, Tuple, Type
from runelift.ir.base.errors import Label, Replacement
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import INTS
from runelift.ir.sizes import Size

Bindings: TypeAlias = dict[str, Binding]
"""The names of a pattern, each with its binding."""


class Patterns(SizeExps):
    """Binds the names of patterns."""

    def pattern(self, pattern: ast.Pattern, type_: Type | None = None, *,
                anonymous: SizeMaker | None = None, size: Size | None = None,
                size_name: VName | None = None) -> Type:
        """Bind the names of ``pattern``; its type, which is ``type_`` if that is given.

        They are in scope behind it: a size in its annotations is something around it.
        """
        bound: Bindings = {}
        result = self.part_type(pattern, bound, type_, anonymous, size, size_name)
        self.scope.values.update(bound)
        return result

    def part_type(self, pattern: ast.Pattern, bound: Bindings, type_: Type | None,
                  anonymous: SizeMaker | None = None, size: Size | None = None,
                  size_name: VName | None = None) -> Type:
        """The type of a pattern or of an inner pattern, whose names are added to ``bound``."""
        self._typed.append(pattern)
        pattern.type = self._pattern_type(pattern, bound, type_, anonymous, size, size_name)
        return pattern.type

    def distinct(self, patterns: Iterable[ast.Pattern],
                 others: Iterable[ast.SizeParam | ast.TypeParam] = ()) -> None:
        """Refuse patterns that bind a name twice, or that of a size parameter, or need it before.

        Patterns of cases may bind one twice: the last one is meant, as in Futhark.
        """
        patterns = tuple(patterns)
        seen = {other.name: other.span for other in others if isinstance(other, ast.SizeParam)}
        for each in names_bound(patterns):
            if (first := seen.setdefault(each.name, each.span)) is not each.span:
                raise self._error("duplicate-name", each.span, f"'{each.name}' is bound twice.",
                                  labels=(Label(first, "bound here as well"),))
        self.sizes_outside(patterns)

    def sizes_outside(self, patterns: Iterable[ast.Pattern]) -> None:
        """Refuse a pattern in which a size is a name that the pattern itself binds."""
        for pattern in patterns:
            if (size := own_size(pattern)) is not None and not self._is_known(size.name.name):
                raise self._error("unknown-name", size.span, f"Unknown variable '{size.name}': "
                                  "the pattern that binds it ends only after this.",
                                  f"Make it a size parameter, [{size.name}], or a parameter of its "
                                  "own.")

    def _pattern_type(self, pattern: ast.Pattern, bound: Bindings, type_: Type | None,
                      anonymous: SizeMaker | None, size: Size | None,
                      size_name: VName | None) -> Type:
        match pattern:
            case ast.PatName(span, name):
                found = type_ if type_ is not None else self.solved.meta()
                if size is None:
                    size = Size.var(size_name or self.names.fresh(name))
                kind = self.solved.head(found)
                is_size = kind in INTS or isinstance(kind, MetaVar)
                pattern.size = size.variable
                if pattern.size is not None:
                    self._bound.add(pattern.size)
                bound[name] = Binding(Scheme(found), size if is_size else None, span, local=True)
                return found
            case ast.PatWild():
                return type_ if type_ is not None else self.solved.meta()
            case ast.PatAscript(span, inner, type_exp):
                declared = self._read(type_exp, anonymous)
                if type_ is not None:
                    self.expect(declared, type_, span, "a value")
                self.part_type(inner, bound, declared, anonymous, size, size_name)
                return declared
            case ast.PatTuple(span, items):
                given = self._components(type_, len(items), span)
                return Tuple(tuple(
                    self.part_type(item, bound, given[k] if given else None, anonymous)
                    for k, item in enumerate(items)))
            case ast.PatRecord(span, fields):
                if len({name for name, _ in fields}) < len(fields):
                    raise self._error("duplicate-name", span, "Duplicate fields.")
                head = self.solved.head(type_) if type_ is not None else None
                known = dict(head.fields) if isinstance(head, Record) else {}
                if known and (other := set(known) ^ {name for name, _ in fields}):
                    raise self._error("bad-pattern", span, "The pattern does not have the fields "
                                      f"of {self._show(head or UNIT)}.",
                                      f"They differ in {', '.join(sorted(other))}.")
                made = Record(tuple(sorted(
                    (name, self.part_type(item, bound, known.get(name), anonymous))
                    for name, item in fields)))
                if type_ is not None and not known:
                    self._require_record(head, made, span)
                return made
            case ast.PatConstr() | ast.PatLiteral():
                return refutable_type(self, pattern, bound, type_)
        raise AssertionError(pattern)

    def _require_record(self, head: Type | None, pattern: Record, span: Span) -> None:
        """Refuse a pattern of a record for a value of another type."""
        if (value := self._defined(span)) is not None:
            self._require_seed(value)
        if isinstance(head, MetaVar | Record):
            self.expect(pattern, head, span, "a value")
            return
        new = f"({', '.join(name for name, _ in pattern.fields)})"
        raise self._error("bad-pattern", span, "A pattern of a record cannot match a value of "
                          f"type {self._show(head or UNIT)}.",
                          *[f"A tuple has a pattern like {new}."] * isinstance(head, Tuple))

    def _components(self, type_: Type | None, count: int, span: Span) -> list[Type]:
        if type_ is None:
            return []
        head = self.solved.head(type_)
        if isinstance(head, MetaVar):
            fresh: list[Type] = [self.solved.meta() for _ in range(count)]
            self.expect(Tuple(tuple(fresh)), head, span, "a tuple")
            return fresh
        if not isinstance(head, Tuple) or len(head.items) != count:
            if (value := self._defined(span)) is not None:
                self._require_seed(value)
            raise self._error("bad-pattern", span,
                              f"A pattern of {count} components cannot match "
                              f"a value of type {self._show(head)}.",
                              *_parameters(span, head))
        return list(head.items)


def _parameters(span: Span, type_: Type) -> list[str]:
    """The hint about a pattern of a tuple where a value is a record, or a lambda's parameter."""
    before = span.source.text[:span.start].rstrip()
    if isinstance(type_, Record):
        given, labels = re.findall(r"[\w']+", span.text), [label for label, _ in type_.fields]
        same = sorted(given) == sorted(labels)
        new = f"{{{', '.join(given if same else labels)}}}"
        of_each = re.search(r"\b(map\d?|filter|all|any|partition|reduce|scan)\s*\(\\[^\n>]*$",
                            before)
        hint = rf"The elements are records: \{new} -> e" if of_each else (
            f"It is a record: its pattern is {new}.")
        return [Replacement(hint, new, span, hint) if same else hint]
    if re.search(r"\b(reduce|reduce_comm|scan|foldl|foldr|map2)\s*\(\\\($", before):
        return ["A function of two arguments has a parameter for each: \\(a, b) (c, d) -> e"]
    if not before.endswith("\\"):
        return []
    if re.search(r"\b(map|filter|all|any|partition)\s*\(\\$", before):
        return ["The elements are no tuples: map f (zip xs ys) gets pairs of two arrays."]
    return ["A function of several arguments has a parameter for each: \\x y -> e"]
