"""The end of the inference of a declaration: defaults, and checks of whole types."""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import isfinite

from runelift.frontend.check.exhaustive import ANOTHER_CASE, uncovered
from runelift.frontend.check.forms import first_hidden, tail
from runelift.frontend.check.infer import Inference
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.literals import bounds_hint
from runelift.frontend.syntax.prelude import EQUALITY
from runelift.ir.base.errors import Diagnostic, Label, ProgramWarning
from runelift.ir.base.source import Span
from runelift.ir.prim import Prim

_INNER = "Put the inner match in parentheses: case p -> (match e case q -> x)"


class Settling(Inference):
    """The last step of inference: settles types that are still open."""

    def _finish(self) -> None:
        """Give undetermined number types their defaults, and write all types into the tree."""
        self.solved.divide()
        for op in self._operators:
            if op.operator is None and op.op.name in EQUALITY:
                self._check_comparable(op)
        patterns = {id(node.literal) for node in self._typed if isinstance(node, ast.PatLiteral)}
        for node in self._typed:
            assert node.type is not None
            node.type = self._settled(node.type, node.span)
            if isinstance(node, ast.Name):
                node.sizes = {v: self.solved.size(size) for v, size in node.sizes.items()}
                node.types = {v: self._settled(t, node.span) for v, t in node.types.items()}
            if isinstance(node, ast.Literal) and id(node) not in patterns:  # there they wrap
                self._check_literal(node)
            elif isinstance(node, ast.ArrayExp):
                self._check_elements(node)
            elif isinstance(node, ast.Hole) and node.written:
                self._remark_hole(node)
        for binder in self._binders:
            binder.known = self.solved.size(binder.known) if binder.known is not None else None
        self._check_matches()
        for op in self._operators:
            assert op.op_type is not None
            op.op_type = self._settled(op.op_type, op.span)

    def _check_comparable(self, op: ast.BinExp | ast.OpSection) -> None:
        """Refuse comparisons of values whose types are unknown or hidden."""
        assert op.op_type is not None
        compared = self.solved.resolve(op.op_type)
        assert isinstance(compared, ty.Arrow)
        decided = self.solved.allowed.keys() | self.solved.required.keys()
        if any(meta.id not in decided for meta in ty.metas(compared.domain)):
            what = "is not known here"
        elif (hidden := first_hidden(compared.domain)) is not None:
            what = f"may be any: nothing is known about {self._show(hidden)}"
        else:
            return
        self.errors.append(Diagnostic(
            "type-mismatch", op.op_span if isinstance(op, ast.BinExp) else op.span,
            f"Cannot compare with {op.op}: the type of the operands "
            f"{what}.", hints=("Add a type annotation, or take the comparison as an argument.",)))

    def _remark_hole(self, hole: ast.Hole) -> None:
        """Warn of a gap, once, with the type of the expression that belongs there."""
        if hole.span not in self._holes:
            self._holes.add(hole.span)
            assert hole.type is not None
            warnings.warn(ProgramWarning(Diagnostic(
                "hole", hole.span, f"Here is a hole of type {self._show(hole.type)}.",
                hints=("Write an expression of this type; a run that comes here fails.",),
                severity="warning")), stacklevel=2)

    def _check_elements(self, array: ast.ArrayExp) -> None:
        """Check that values of the type of the elements cannot differ in size."""
        assert isinstance(array.type, ty.Array)
        match array.type.elem:
            case ty.TypeVar(name) if name in self.solved.size_lifted | self.solved.lifted:
                self.errors.append(Diagnostic(
                    "lifted-element", array.span, f'Type parameter "{name.base}" is lifted and '
                    "cannot be that of an array element."))

    def _settled(self, type_: ty.Type, span: Span) -> ty.Type:
        """A type with all that is known, and with defaults for all that is unknown."""
        known = self.solved.resolve(type_)
        if isinstance(known, Prim) or not (open_ := ty.metas(known)):
            return known
        for meta in open_:
            head = self.solved.head(meta)
            if isinstance(head, ty.MetaVar):
                self.solved.types[head.id] = self._default(head, span)
        return self.solved.resolve(known)

    def _check_matches(self) -> None:
        """Check that every match covers every value, and that other patterns cannot fail."""
        for node in self._typed:
            if isinstance(node, ast.MatchExp):
                inner = tail(node.cases[-1].body)
                found = uncovered([case.pattern for case in node.cases], node.span, ANOTHER_CASE)
                if found and isinstance(inner, ast.MatchExp) and (
                        inner.span.source.text[inner.span.start - 1] != "("):
                    found = [replace(each, hints=(_INNER,), labels=(Label(
                        inner.value.span, "the cases behind it belong to this match"),))
                        for each in found]
                self.errors += found
            else:
                for pattern in _irrefutable(node):
                    self.errors += uncovered([pattern], pattern.span)

    def _check_literal(self, literal: ast.Literal) -> None:
        """Refuse a number that its type does not have, unless a suffix names the type."""
        prim, value = literal.type, literal.value
        if not isinstance(prim, Prim) or isinstance(value, bool) or literal.prim is not None:
            return
        sign = -1 if id(literal) in self._negated else 1
        if prim.is_int:
            fits = prim.least <= sign * value <= prim.greatest
        else:
            fits = isfinite(prim.nearest(value))
        if not fits:
            self.errors.append(Diagnostic(
                "literal-out-of-range", literal.span,
                f"{'-' if sign < 0 else ''}{value} is out of bounds for type {prim}.",
                hints=bounds_hint(prim)))

    def _default(self, meta: ty.MetaVar, span: Span) -> ty.Type:
        if (required := self.solved.required.get(meta.id)) is not None:
            mark, what = ("#", "constructor") if required.kind is ty.Sum else (".", "field")
            raise self._error("ambiguous-type", span, "The type of the value with "
                              f"{what} '{mark}{required.members[0][0]}' is not known here.",
                              "Add a type annotation.")
        allowed = self.solved.allowed.get(meta.id)
        if allowed is None:
            return ty.UNIT
        order: tuple[Prim, ...] = (Prim.I32, Prim.F64, Prim.BOOL, *Prim)
        return next(p for p in order if p in allowed)


def _irrefutable(node: ast.Exp | ast.Pattern | ast.ValDec) -> tuple[ast.Pattern, ...]:
    """The patterns of an expression that must fit any value."""
    match node:
        case ast.LetPat(_, _, pattern):
            return (pattern,)
        case ast.LambdaExp(_, params) | ast.LetFun(_, _, _, params):
            return params
        case ast.LoopExp(_, pattern, _, ast.ForInForm(_, element)):
            return pattern, element
        case ast.LoopExp(_, pattern):
            return (pattern,)
    return ()
