"""Causality: a size must be known before an expression needs it for its type.

``map (filter p xs ++) xss`` makes a function of type ``[m]t -> [n + m]t`` whose ``n`` only its
own operand computes.  Parts are evaluated from left to right, but arguments before the function
that is applied to them, and the last one first.  Source: Futhark's error index, "causality check".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node, parts
from runelift.frontend.syntax.types import Array, Arrow, Sum, params_in, sizes_in
from runelift.ir.base.errors import Diagnostic, Label
from runelift.ir.base.source import Span
from runelift.ir.names import NAMELESS, VName

_COMPUTED = (ast.Apply, ast.BinExp, ast.Range, ast.IndexExp, ast.IfExp, ast.MatchExp, ast.LoopExp)
"""Expressions whose value has sizes that were not known before."""


def check_causality(dec: ast.ValDec, unknown: Collection[VName]) -> list[Diagnostic]:
    """Errors in the order in which sizes of a checked declaration are computed.

    ``unknown`` are the sizes that have no name before they are computed.
    """
    if not unknown:
        return []
    order = _Order(unknown)
    order.exp((*dec.params, dec.body))
    return order.errors


class _Order:
    """Follows the evaluation; ``needed`` are the sizes that were needed before they were known."""

    def __init__(self, unknown: Collection[VName]) -> None:
        self._unknown = unknown
        self.errors: list[Diagnostic] = []
        self._known: set[VName] = set()
        self._needed: dict[VName, tuple[Span, str]] = {}
        self._places: dict[VName, Span] = {}
        """The places that compute sizes."""
        self._elsewhere: set[VName] = set()
        """The sizes that only other branches than this one compute."""

    def exp(self, exp: object) -> None:
        """Note the evaluation of an expression, or of a node inside one."""
        match exp:
            case ast.ArrayExp(span, ()) if isinstance(exp.type, Array):
                self._need(sizes_in(exp.type).intersection(self._unknown), span, "an empty array")
            case ast.Hole(span) if exp.written and exp.type is not None:
                self._need(sizes_in(exp.type).intersection(self._unknown), span, "a hole")
            case ast.Constr(span, name) if isinstance(exp.type, Sum):
                self._parts(exp)
                absent = (sizes_in(field) for other, field in exp.type.fields if other != name)
                self._need(set[VName]().union(*absent).intersection(self._unknown), span,
                           f"a value with #{name}")
            case ast.OpSection(span) if exp.left is not None or exp.right is not None:
                if isinstance(exp.type, Arrow):
                    self._need(sizes_in(exp.type) - params_in(exp.type), span,
                               "an operator section")
                self._parts(exp)
            case ast.LambdaExp(_, params):
                before = set(self._known)
                self._parts(exp)
                for param in params:  # inside, its sizes are known from the argument
                    sizes = set(sizes_in(param.type) if param.type is not None else ()) - before
                    self._known -= sizes
                    self._need(sizes.intersection(self._unknown), param.span, "a parameter")
            case Node():
                self._parts(exp)
                if isinstance(exp, _COMPUTED) and exp.type is not None and not isinstance(
                        exp.type, Arrow):
                    self._compute(sizes_in(exp.type), exp.span)
                elif isinstance(exp, ast.Pattern) and exp.type is not None:
                    self._known |= sizes_in(exp.type)
            case tuple():
                for item in exp:
                    if not isinstance(item, ast.Literal):
                        self.exp(item)

    def _parts(self, exp: Node) -> None:
        names = parts(type(exp))
        if isinstance(exp, ast.IfExp):
            self._branches(exp.cond, (exp.then_, exp.else_))
            return
        if isinstance(exp, ast.MatchExp):
            self._branches(exp.value, exp.cases)
            return
        if isinstance(exp, ast.Apply):  # f x y is (f x) y
            for part in (*reversed(exp.args), exp.fun):
                self.exp(part)
            return
        if isinstance(exp, ast.LetPat):
            names = ("value", "pattern", "body")
        for name in names:
            self.exp(getattr(exp, name))

    def _branches(self, condition: ast.Exp, branches: Sequence[Node]) -> None:
        self.exp(condition)
        before, around, after = self._known, self._elsewhere, set(self._known)
        for branch in branches:
            self._known = set(before)
            self._elsewhere = around | (after & self._places.keys()) - before
            self.exp(branch)
            after |= self._known
        self._known, self._elsewhere = after, around

    def _need(self, sizes: Iterable[VName], span: Span, what: str) -> None:
        for size in sizes:
            if size in self._known:
                continue
            if size in self._elsewhere:
                self._error(size, span, what)
            else:
                self._needed.setdefault(size, (span, what))

    def _compute(self, sizes: Iterable[VName], span: Span) -> None:
        for size in sorted(sizes):
            self._known.add(size)
            self._places.setdefault(size, span)
            if size in self._needed:
                self._error(size, *self._needed.pop(size))

    def _error(self, size: VName, place: Span, what: str) -> None:
        shown = "a size" if size.base == NAMELESS else f'size "{size.base}"'
        self.errors.append(Diagnostic(
            "causality-check", place,
            f"Causality check: {shown} is needed for the type of {what} before it is "
            "computed.", (Label(self._places[size], "it is computed here"),),
            ("Bind the expression that computes it with 'let' beforehand.",)))
