"""Inference of types and sizes, after Hindley and Milner with sizes as polynomials.

Size parameters of a function are rigid names in its body and are solved for at each call.  A
size that no expression over names in scope describes (the length of a filtered array) is a
fresh name of its own.  Sources: Henriksen and Elsman, Towards Size-Dependent Types for Array
Programming, ARRAY 2021.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from runelift.frontend import ast
from runelift.frontend.check.aliases import Origin, holds_arrays, with_unique_result
from runelift.frontend.check.exhaustive import uncovered
from runelift.frontend.check.sums import refutable_type, sum_type
from runelift.frontend.check.types import (
    Abbreviation,
    Scheme,
    TypeReader,
    prelude_scheme,
)
from runelift.frontend.check.unify import (
    FunctionalType,
    SizeMismatch,
    Substitution,
    TypeMismatch,
    metas,
    params_in,
    products_in,
    replace_names,
    sizes_in,
    substitute_size,
)
from runelift.frontend.check.uniqueness import check_uniqueness, unique_pattern
from runelift.frontend.prelude import EQUALITY, FUNCTIONS, OPERATORS
from runelift.frontend.types import (
    UNIT,
    Array,
    Arrow,
    MetaVar,
    Record,
    Sum,
    Tuple,
    Type,
    TypeVar,
    arrows,
    show,
)
from runelift.ir.errors import Diagnostic, Label, ProgramError
from runelift.ir.names import Names, VName
from runelift.ir.prim import FLOATS, INTS, NUMBERS, Prim
from runelift.ir.sizes import Size, applied
from runelift.ir.source import Span

SizeMaker: TypeAlias = Callable[[], Size]
"""Makes the size of an array type that does not name one."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name in scope stands for.  ``size`` is its value as a size, if it is an i64."""

    scheme: Scheme
    size: Size | None = None
    span: Span | None = None
    local: bool = False
    top: bool = False


@dataclass(slots=True)
class Scope:
    """The names in scope, innermost last."""

    values: dict[str, Binding] = field(default_factory=dict)
    sizes: dict[str, Size] = field(default_factory=dict)
    types: dict[str, VName] = field(default_factory=dict)

    def copy(self) -> Scope:
        """A scope that can be extended without changing this one."""
        return Scope(dict(self.values), dict(self.sizes), dict(self.types))


def check_module(module: ast.Flat) -> None:
    """Check ``module`` and fill in the types of its nodes; ProgramError with what is wrong."""
    checker = Checker()
    for dec in module.decs:
        try:
            checker.declaration(dec)
        except ProgramError as error:
            checker.errors += error.diagnostics
            checker.forget(dec)
    if checker.errors:
        raise ProgramError(*dict.fromkeys(checker.errors))


class Checker:
    """The state of checking one module."""

    def __init__(self) -> None:
        self.names = Names()
        self.solved = Substitution(self.names)
        self.scope = Scope()
        self.abbreviations: dict[str, Abbreviation] = {}
        self.errors: list[Diagnostic] = []
        self.broken: set[str] = set()
        self._typed: list[ast.Exp | ast.Pattern | ast.ValDec] = []
        self._binders: list[ast.SizeParam] = []
        self._operators: list[ast.BinExp | ast.OpSection] = []
        self._negated: set[int] = set()
        self._constants: dict[str, Origin] = {}

    # Declarations

    def declaration(self, dec: ast.CoreDec) -> None:
        """Check one declaration and add it to the scope."""
        match dec:
            case ast.TypeDec():
                self._abbreviation(dec)
            case ast.ValDec():
                self._value(dec)

    def _abbreviation(self, dec: ast.TypeDec) -> None:
        with self.inner_scope():
            types, sizes = self._type_params(dec.type_params)
            body = self._read(dec.definition)
        self.abbreviations[dec.name] = Abbreviation(tuple(sizes), tuple(types), body, dec.kind)
        if dec.kind != "^":
            try:
                self.solved.no_function(body)
            except FunctionalType:
                raise self._error(
                    "function-not-allowed", dec.span, "Non-lifted type abbreviations may not "
                    "contain functions.", f"Declare it as type^ {dec.name}.") from None
        for unused in sorted(set(sizes) - sizes_in(body)):
            raise self._error("unused-size", dec.span,
                              f'Size parameter "[{unused.base}]" is not used in the type.')

    def forget(self, dec: ast.CoreDec) -> None:
        """Avoid errors that follow from a wrong declaration."""
        self.broken.add(dec.name)

    def _value(self, dec: ast.ValDec) -> None:
        self._typed, self._operators, self._binders = [], [], []
        self.solved.products.clear()
        scheme = self._function(dec.type_params, dec.params, dec.ret, dec.body, dec.name)
        dec.type = scheme.type
        self._finish(dec.span)
        for param in dec.params:
            self.errors += uncovered([param], param.span)
        dec.type = self.solved.resolve(scheme.type)
        errors, function = check_uniqueness(dec, self._constants)
        self.errors += errors
        dec.type = with_unique_result(dec.type, function.arity, function.unique)
        if not isinstance(dec.type, Arrow) and holds_arrays(dec.type):
            self._constants[dec.name] = Origin(dec.name, -1, "it is a constant")
        if dec.entry:
            self._check_entry(dec, dec.type)
        self.scope.values[dec.name] = Binding(
            Scheme(dec.type, scheme.types, scheme.sizes, scheme.unknown, scheme.lifted),
            self._constant_size(dec), dec.name_span, top=True)
        self.broken.discard(dec.name)

    def _constant_size(self, dec: ast.ValDec) -> Size | None:
        if dec.params or dec.type is not Prim.I64:
            return None
        return self._size_of(dec.body) or Size.var(self.names.fresh(dec.name))

    def _function(self, type_params: tuple[ast.SizeParam | ast.TypeParam, ...],
                  params: tuple[ast.Pattern, ...], ret: ast.TypeExp | None, body: ast.Exp,
                  name: str) -> Scheme:
        """The scheme of ``name params : ret = body``."""
        with self.inner_scope():
            types, sizes = self._type_params(type_params)
            domains: list[Arrow] = []
            for param in params:
                size_name = self.names.fresh(_base(param))
                domain = self.pattern(param, anonymous=self.solved.parameter_size,
                                       size_name=size_name)
                domains.append(Arrow(domain, UNIT, unique_pattern(param), False, size_name))
            result = self.infer(body)
            if ret is not None:
                declared = self._read(ret)  # the body says which sizes ``[]`` stand for
                self.expect(declared, result, body.span, "the declared result")
                result = declared
        type_: Type = result
        for arrow in reversed(domains):
            type_ = Arrow(arrow.domain, type_, arrow.consumes, False, arrow.param)
        type_ = self._generalise(self.solved.resolve(type_), types)
        inputs = set().union(*(sizes_in(self.solved.resolve(a.domain)) for a in domains), sizes)
        inputs |= {a.param for a in domains if a.param}
        if _has_function(type_):
            inputs |= self._undecided()
        outer = {v for b in self.scope.values.values() if b.size for v in b.size.variables()}
        outer |= {v for size in self.scope.sizes.values() for v in size.variables()}
        free = sizes_in(type_) - outer
        return Scheme(type_, tuple(types), tuple(sorted(free & inputs)),
                      tuple(sorted(free - inputs)), frozenset(self.solved.lifted & set(types)))

    def _undecided(self) -> set[VName]:
        """The sizes that inference has yet to find, apart from those of names in scope."""
        local = [b.scheme.type for b in self.scope.values.values() if b.local]
        used = set[VName]().union(*(sizes_in(self.solved.resolve(type_)) for type_ in local))
        return self.solved.flexible - used

    def _generalise(self, type_: Type, types: list[VName]) -> Type:
        """Unconstrained type variables of a function become type parameters."""
        if not _has_function(type_):
            return type_
        parts = {m for meta in metas(type_) if meta.id in self.solved.required
                 for _, member in self.solved.required[meta.id].members
                 for m in metas(self.solved.resolve(member))}
        scope_metas = {m for b in self.scope.values.values() if b.local
                       for m in metas(self.solved.resolve(b.scheme.type))}
        for meta in sorted(metas(type_) - scope_metas - parts, key=lambda m: m.id):
            if meta.id not in self.solved.allowed and meta.id not in self.solved.required:
                name = self.names.fresh("t")
                types.append(name)
                if meta.id not in self.solved.values:
                    self.solved.lifted.add(name)
                self.solved.types[meta.id] = TypeVar(name)
        return self.solved.resolve(type_)

    def _check_entry(self, dec: ast.ValDec, type_: Type) -> None:
        while isinstance(type_, Arrow):
            if not _first_order(type_.domain):
                raise self._error("bad-entry", dec.name_span, f"Entry point '{dec.name}' must "
                                  "not have a parameter that is a function or polymorphic.")
            type_ = type_.codomain
        if not _first_order(type_):
            raise self._error("bad-entry", dec.name_span,
                              f"Entry point '{dec.name}' must not return a function.")

    def _type_params(self, params: tuple[ast.SizeParam | ast.TypeParam, ...]) -> tuple[
            list[VName], list[VName]]:
        types: list[VName] = []
        sizes: list[VName] = []
        for param in params:
            name = self.names.fresh(param.name)
            if isinstance(param, ast.SizeParam):
                sizes.append(name)
                param.size = name
                self._bind_size(param.name, Size.var(name), param.span)
            else:
                types.append(name)
                self.scope.types[param.name] = name
                if param.kind == "^":
                    self.solved.lifted.add(name)
        return types, sizes

    def _size_binders(self, sizes: tuple[ast.SizeParam, ...]) -> None:
        """Bind the sizes of a ``let`` or loop, which the pattern's type decides."""
        for size in sizes:
            size.known = self.solved.size_meta(size.name)
            self._bind_size(size.name, size.known, size.span)
            self._binders.append(size)

    def _bind_size(self, name: str, size: Size, span: Span) -> None:
        self.scope.values[name] = Binding(Scheme(Prim.I64), size, span)

    @contextmanager
    def inner_scope(self) -> Iterator[None]:
        """A scope whose names are forgotten at its end."""
        outer, self.scope = self.scope, self.scope.copy()
        try:
            yield
        finally:
            self.scope = outer

    def _finish(self, span: Span) -> None:
        """Give undetermined number types their defaults, and write all types into the tree."""
        self.solved.factorise()
        for node in self._typed:
            assert node.type is not None
            node.type = self._settled(node.type, node.span)
            if isinstance(node, ast.Name):
                node.sizes = {v: self.solved.size(size) for v, size in node.sizes.items()}
            if isinstance(node, ast.Literal):
                self._check_literal(node)
        for binder in self._binders:
            binder.known = self.solved.size(binder.known) if binder.known is not None else None
        self._check_matches()
        for op in self._operators:
            assert op.op_type is not None
            op.op_type = self._settled(op.op_type, op.span)

    def _settled(self, type_: Type, span: Span) -> Type:
        """A type with all that is known and defaults for the rest."""
        known = self.solved.resolve(type_)
        if isinstance(known, Prim) or not (open_ := metas(known)):
            return known
        for meta in open_:
            head = self.solved.head(meta)
            if isinstance(head, MetaVar):
                self.solved.types[head.id] = self._default(head, span)
        return self.solved.resolve(known)

    def _check_matches(self) -> None:
        """Every match covers every value, and other patterns fit any value of their type."""
        for node in self._typed:
            if isinstance(node, ast.MatchExp):
                self.errors += uncovered([case.pattern for case in node.cases], node.span)
            elif isinstance(node, ast.LetPat):
                self.errors += uncovered([node.pattern], node.pattern.span)
            elif isinstance(node, ast.LambdaExp):
                for pattern in node.params:
                    self.errors += uncovered([pattern], pattern.span)

    def _check_literal(self, literal: ast.Literal) -> None:
        """A number that its type does not have is an error."""
        prim, value = literal.type, literal.value
        if not isinstance(prim, Prim) or isinstance(value, bool):
            return
        sign = -1 if id(literal) in self._negated else 1
        if prim.is_int:
            fits = prim.least <= sign * value <= prim.greatest
        else:
            fits = abs(value) <= float(np.finfo(prim.dtype).max)
        if not fits:
            self.errors.append(Diagnostic(
                "literal-out-of-range", literal.span,
                f"{'-' if sign < 0 else ''}{value} is out of bounds for type {prim}."))

    def _default(self, meta: MetaVar, span: Span) -> Type:
        if (required := self.solved.required.get(meta.id)) is not None:
            mark, what = ("#", "constructor") if required.kind is Sum else (".", "field")
            raise self._error("ambiguous-type", span, "The type of the value with "
                              f"{what} '{mark}{required.members[0][0]}' is not known here.",
                              "Add a type annotation.")
        allowed = self.solved.allowed.get(meta.id)
        if allowed is None:
            return UNIT
        order: tuple[Prim, ...] = (Prim.I32, Prim.F64, Prim.BOOL, *Prim)
        return next(p for p in order if p in allowed)

    # Types and sizes

    def _read(self, exp: ast.TypeExp, anonymous: SizeMaker | None = None) -> Type:
        make = anonymous or self.solved.size_meta
        reader = TypeReader(self.abbreviations, self.scope.types, self._size, make, self.names,
                            self.solved.lifted)
        return reader.read(exp)

    def _size(self, exp: ast.Exp) -> Size:
        """A size expression in a type: checked as an i64."""
        self.expect(Prim.I64, self.infer(exp), exp.span, "a size")
        size = self._size_of(exp)
        return size if size is not None else self.solved.unknown_size()

    def _size_of(self, exp: ast.Exp) -> Size | None:
        """The polynomial that ``exp`` is; an opaque name for quotients; None for the rest."""
        match exp:
            case ast.Literal(_, value) if isinstance(value, int) and not isinstance(value, bool):
                return Size.of(value)
            case ast.Name(_, name) if not name.quals:
                binding = self.scope.values.get(name.name)
                return binding.size if binding else None
            case ast.Ascript(_, value) | ast.AttrExp(_, _, value):
                return self._size_of(value)
            case ast.Negate(_, arg):
                inner = self._size_of(arg)
                return None if inner is None else inner * -1
            case ast.Apply(_, ast.Name(_, ast.QualName((), "length")), (array,)):
                type_ = self.solved.resolve(array.type) if array.type else None
                return type_.size if isinstance(type_, Array) else None
            case ast.Apply(_, ast.Name(_, name), args) if self._is_size_function(name, exp):
                sizes = [self._size_of(arg) for arg in args]
                known = tuple(size for size in sizes if size is not None)
                return applied(str(name), *known) if len(known) == len(sizes) else None
            case ast.BinExp(_, op, left, right):
                a, b = self._size_of(left), self._size_of(right)
                if a is None or b is None:
                    return None
                match str(op):
                    case "+":
                        return a + b
                    case "-":
                        return a - b
                    case "*":
                        self.solved.products.append((*self._factors(left), b))
                        return a * b
                return applied(str(op), a, b)
        return None

    def _is_size_function(self, name: ast.QualName, exp: ast.Apply) -> bool:
        """Whether a call is one of a function that the whole program knows under its name."""
        binding = self.scope.values.get(name.name)
        if name.quals or binding is None or not binding.top or exp.type is None:
            return False
        return self.solved.head(exp.type) is Prim.I64 and all(
            arg.type is not None and self.solved.head(arg.type) is Prim.I64 for arg in exp.args)

    def _factors(self, exp: ast.Exp) -> tuple[Size, ...]:
        """The factors of a size, as they are written."""
        if isinstance(exp, ast.BinExp) and str(exp.op) == "*":
            last = self._size_of(exp.right)
            return (*self._factors(exp.left), *(() if last is None else (last,)))
        size = self._size_of(exp)
        return () if size is None else (size,)

    # Errors

    def _error(self, code: str, span: Span, message: str, *hints: str,
               labels: tuple[Label, ...] = ()) -> ProgramError:
        return ProgramError(Diagnostic(code, span, message, labels, hints))

    def expect(self, expected: Type, found: Type, span: Span, what: str,
               call: str = "") -> None:
        """Unify, or say which type was expected (as ``what``) and which was found.

        ``call`` says of which function this is an argument.
        """
        try:
            self.solved.unify(expected, found)
            return
        except FunctionalType:
            raise self._error("function-not-allowed", span, f"{call}A value of functional type "
                              f"cannot be {what} here.") from None
        except TypeMismatch:
            code, why = "type-mismatch", ""
            hints = []
        except SizeMismatch as error:
            left, right = (s.render(lambda v: v.base) for s in (error.left, error.right))
            code, why = "size-mismatch", f'Sizes "{left}" and "{right}" do not match. '
            hints = [f"If they are equal, say so with a size coercion: e :> [{left}]t."]
        wanted, given = self._show(expected), self._show(found)
        start = f"{call}{why}"
        if what in _WHOLE:
            text = f"{start}{_WHOLE[what]} does not have expected type {wanted}, but {given}."
        else:
            text = f"{start}Expected {what} of type {wanted}, found {given}."
        raise self._error(code, span, text, *hints)

    def _show(self, type_: Type) -> str:
        type_ = self.solved.resolve(type_)
        if isinstance(type_, MetaVar):
            allowed = self.solved.allowed.get(type_.id)
            if (required := self.solved.required.get(type_.id)) is not None:
                known = required.kind(tuple((name, self.solved.resolve(member))
                                            for name, member in required.members))
                return show(known).removesuffix("}") + ("" if required.kind is Sum else ", ...}")
            if allowed is not None:
                return "a float" if allowed <= set(FLOATS) else (
                    "an integer" if allowed <= set(INTS) else "a number")
        return show(type_)

    # Patterns

    def pattern(self, pattern: ast.Pattern, type_: Type | None = None, *,
                 anonymous: SizeMaker | None = None, size: Size | None = None,
                 size_name: VName | None = None) -> Type:
        """Bind the names of ``pattern``; its type, which is ``type_`` if that is given."""
        self._typed.append(pattern)
        result = self._pattern_type(pattern, type_, anonymous, size, size_name)
        pattern.type = result
        return result

    def _pattern_type(self, pattern: ast.Pattern, type_: Type | None, anonymous: SizeMaker | None,
                      size: Size | None, size_name: VName | None) -> Type:
        match pattern:
            case ast.PatName(span, name):
                found = type_ if type_ is not None else self.solved.meta()
                if size is None:
                    size = Size.var(size_name or self.names.fresh(name))
                is_size = self.solved.head(found) is Prim.I64 or isinstance(
                    self.solved.head(found), MetaVar)
                pattern.size = _variable(size)
                self.scope.values[name] = Binding(Scheme(found), size if is_size else None, span,
                                                   local=True)
                return found
            case ast.PatWild():
                return type_ if type_ is not None else self.solved.meta()
            case ast.PatAscript(span, inner, type_exp):
                declared = self._read(type_exp, anonymous)
                if type_ is not None:
                    self.expect(declared, type_, span, "a value")
                self.pattern(inner, declared, anonymous=anonymous, size=size,
                              size_name=size_name)
                return declared
            case ast.PatTuple(span, items):
                given = self._components(type_, len(items), span)
                return Tuple(tuple(
                    self.pattern(item, given[k] if given else None, anonymous=anonymous)
                    for k, item in enumerate(items)))
            case ast.PatRecord(span, fields):
                if len({name for name, _ in fields}) < len(fields):
                    raise self._error("duplicate-name", span, "Duplicate fields.")
                head = self.solved.head(type_) if type_ is not None else None
                known = dict(head.fields) if isinstance(head, Record) else {}
                if known and set(known) != {name for name, _ in fields}:
                    raise self._error("bad-pattern", span, "The pattern does not have the fields "
                                      f"of {self._show(head or UNIT)}.")
                return Record(tuple(sorted(
                    (name, self.pattern(item, known.get(name), anonymous=anonymous))
                    for name, item in fields)))
            case ast.PatConstr() | ast.PatLiteral():
                return refutable_type(self, pattern, type_)
        raise AssertionError(pattern)

    def _components(self, type_: Type | None, count: int, span: Span) -> list[Type]:
        if type_ is None:
            return []
        head = self.solved.head(type_)
        if isinstance(head, MetaVar):
            fresh: list[Type] = [self.solved.meta() for _ in range(count)]
            self.expect(Tuple(tuple(fresh)), head, span, "a tuple")
            return fresh
        if not isinstance(head, Tuple) or len(head.items) != count:
            raise self._error("bad-pattern", span,
                              f"A pattern of {count} components cannot match "
                              f"a value of type {self._show(head)}.")
        return list(head.items)

    # Expressions

    def infer(self, exp: ast.Exp, expected: Type | None = None) -> Type:
        """The type of ``exp``; ``expected`` helps with functions and is not enforced."""
        self._typed.append(exp)
        exp.type = UNIT  # so that a failing expression is still annotated
        exp.type = self._exp(exp, expected)
        return exp.type

    def _exp(self, exp: ast.Exp, expected: Type | None) -> Type:
        match exp:
            case ast.Literal(_, value, prim):
                if prim is not None:
                    return prim
                if isinstance(value, bool):
                    return Prim.BOOL
                return self.solved.meta(NUMBERS if isinstance(value, int) else FLOATS)
            case ast.StringLit(_, text):
                return Array(Size.of(len(text)), Prim.U8)
            case ast.Name(span, name):
                type_ = self._instantiate(self._lookup(name, span), exp)
                self._note_products(exp, type_)
                return type_
            case ast.TupleExp(_, items):
                return Tuple(tuple(self.infer(item) for item in items))
            case ast.RecordExp(span, fields):
                if len({name for name, _ in fields}) < len(fields):
                    raise self._error("duplicate-name", span, "Duplicate fields.")
                return Record(tuple(sorted((name, self.infer(e)) for name, e in fields)))
            case ast.ArrayExp(_, items):
                elem: Type = self.solved.meta()
                for item in items:
                    self.expect(elem, self.infer(item), item.span, "an element")
                self.no_function(elem, exp.span, "an array")
                return Array(Size.of(len(items)), elem)
            case ast.Range():
                return self._range(exp)
            case ast.Project(span, record, name):
                return self._field(self.infer(record), name, span)
            case ast.IndexExp(span, array, dims):
                return self._index(self.infer(array), dims, span)
            case ast.UpdateExp(span, array, dims, value):
                type_ = self.infer(array)
                self._new_element(self._index(type_, dims, span), dims, value)
                return type_
            case ast.RecordUpdate(span, record, path, value):
                type_ = self.infer(record)
                part = type_
                for name in path:
                    part = self._field(part, name, span)
                self.expect(part, self.infer(value), value.span, "a new field")
                return type_
            case ast.Apply():
                return self._apply(exp, expected)
            case ast.BinExp():
                return self._binary(exp)
            case ast.Negate(_, arg):
                self._negated.add(id(arg))
                type_ = self.solved.meta(NUMBERS)
                self.expect(type_, self.infer(arg), arg.span, "an operand")
                return type_
            case ast.Not(_, arg):
                type_ = self.solved.meta((*INTS, Prim.BOOL))
                self.expect(type_, self.infer(arg), arg.span, "an operand")
                return type_
            case ast.LambdaExp():
                return self._lambda(exp, expected)
            case ast.OpSection():
                return self._section(exp)
            case ast.ProjectSection(span, path):
                domain = expected.domain if isinstance(expected, Arrow) else self.solved.meta()
                part = domain
                for name in path:
                    part = self._field(part, name, span)
                return Arrow(domain, part)
            case ast.IndexSection(span, dims):
                domain = expected.domain if isinstance(expected, Arrow) else self.solved.meta()
                return Arrow(domain, self._index(domain, dims, span))
            case ast.IfExp(span, cond, then_, else_):
                self.expect(Prim.BOOL, self.infer(cond), cond.span, "a condition")
                left, right = self.infer(then_), self.infer(else_)
                joined = self.join(left, right, else_.span, "a branch")
                self.no_function(joined, span, "a branch")
                return joined
            case ast.Constr() | ast.MatchExp():
                return sum_type(self, exp, expected)
            case ast.LetPat(_, sizes, pattern, value, body):
                found = self.infer(value)
                with self.inner_scope():
                    self._size_binders(sizes)
                    self.pattern(pattern, found, size=self._size_of(value))
                    return self.infer(body)
            case ast.LetFun(_, name, type_params, params, ret, value, body):
                scheme = self._function(type_params, params, ret, value, name)
                with self.inner_scope():
                    self.scope.values[name] = Binding(scheme, None, exp.span)
                    return self.infer(body)
            case ast.LetWith(span, name, name_span, dims, value, body):
                type_ = self._instantiate(self._lookup(ast.QualName((), name), name_span))
                self._new_element(self._index(type_, dims, span), dims, value)
                return self.infer(body)
            case ast.LoopExp():
                return self._loop(exp)
            case ast.Ascript(span, value, type_exp):
                declared = self._read(type_exp)
                self.expect(declared, self.infer(value), span, "a value")
                return declared
            case ast.Coerce(span, value, type_exp):
                declared = self._read(type_exp)
                found = self.solved.resolve(self.infer(value))
                self.expect(self._forget_sizes(declared), self._forget_sizes(found), span,
                             "a value")
                return declared
            case ast.AssertExp(_, cond, value):
                self.expect(Prim.BOOL, self.infer(cond), cond.span, "a condition")
                return self.infer(value)
            case ast.AttrExp(_, _, value):
                return self.infer(value, expected)
        raise AssertionError(exp)

    def _forget_sizes(self, type_: Type) -> Type:
        type_ = self.solved.resolve(type_)
        fresh = {v: self.solved.size_meta() for v in sizes_in(type_)}
        return _loosen(replace_names(type_, {}, fresh), self.solved)

    def join(self, left: Type, right: Type, span: Span, what: str) -> Type:
        """The type of a value of either type; ``what`` has the second."""
        try:
            return self.solved.join(left, right)
        except (TypeMismatch, SizeMismatch):
            self.expect(left, right, span, what)
        raise self._error("type-mismatch", span, f"{what.capitalize()} of type "
                          f"{self._show(right)} does not go with {self._show(left)}.")

    def no_function(self, type_: Type, span: Span, where: str) -> None:
        """An error if a value is or will be a function."""
        try:
            self.solved.no_function(type_)
        except FunctionalType:
            raise self._error(
                "function-not-allowed", span,
                f"A value of functional type cannot be that of {where}.") from None

    def _lookup(self, name: ast.QualName, span: Span) -> Scheme:
        if not name.quals and (binding := self.scope.values.get(name.name)):
            return binding.scheme
        if str(name) in self.broken:
            raise ProgramError()
        if (scheme := prelude_scheme(name.quals, name.name)) is not None:
            return scheme
        known = [*self.scope.values, *FUNCTIONS]
        near = difflib.get_close_matches(name.name, known, n=1)
        hints = (f"Did you mean '{near[0]}'?",) if near and not name.quals else ()
        raise self._error("unknown-name", span, f"Unknown variable '{name}'.", *hints)

    def _instantiate(self, scheme: Scheme, name: ast.Name | None = None) -> Type:
        if not (scheme.types or scheme.sizes or scheme.unknown):
            return scheme.type
        metas_ = {v: self.solved.meta() for v in scheme.types}
        self.solved.values |= {m.id for v, m in metas_.items() if v not in scheme.lifted}
        types: dict[VName, Type] = dict(metas_)
        bound = params_in(scheme.type)
        sizes = {v: Size.var(self.names.fresh(v.base)) if v in bound
                 else self.solved.size_meta(v.base) for v in scheme.sizes}
        if name is not None:
            name.sizes = sizes
            if name.name.name.startswith("unflatten"):
                self.solved.ordered |= {v for size in sizes.values() for v in size.variables()}
        sizes = sizes | {v: self.solved.unknown_size(v.base) for v in scheme.unknown}
        return replace_names(scheme.type, types, sizes)

    # Application

    def _apply(self, exp: ast.Apply, expected: Type | None) -> Type:
        type_ = self._apply_to(self.infer(exp.fun), exp.args, exp, expected)
        self._note_products(exp.fun, type_)
        self._written_factors(exp)
        return type_

    def _written_factors(self, exp: ast.Apply) -> None:
        """``unflatten (e :> [n*m]t)`` says which sizes are meant."""
        match exp:
            case ast.Apply(_, ast.Name(_, name) as fun, (ast.Coerce(_, _, type_exp)
                                                         | ast.Ascript(_, _, type_exp), )):
                if not isinstance(type_exp, ast.TypeArray) or type_exp.size is None:
                    return
                factors = self._factors(type_exp.size)
                if name.name.startswith("unflatten") and len(factors) == len(fun.sizes):
                    for size, factor in zip(fun.sizes.values(), factors, strict=True):
                        self.solved.unify_sizes(size, factor)

    def _note_products(self, fun: ast.Exp, type_: Type) -> None:
        """Note the products in what a function of the program is or returns."""
        if not isinstance(fun, ast.Name) or fun.name.quals:
            return
        binding = self.scope.values.get(fun.name.name)
        if binding is not None and binding.top and any(products_in(binding.scheme.type)):
            self.solved.note_products(self.solved.resolve(type_))
        elif binding is None and fun.name.name.startswith("flatten"):
            self.solved.products.append(tuple(fun.sizes.values()))

    def _apply_to(self, type_: Type, args: tuple[ast.Exp, ...], exp: ast.Exp,
                  expected: Type | None = None) -> Type:
        """Apply a function; arguments that are lambdas are checked after the others."""
        pending: list[tuple[ast.Exp, Arrow]] = []
        for number, arg in enumerate(args):
            type_ = self.solved.head(type_)
            if isinstance(type_, MetaVar):
                arrow = Arrow(self.solved.meta(), self.solved.meta())
                self.expect(arrow, type_, exp.span, "a function")
                type_ = arrow
            if not isinstance(type_, Arrow):
                raise self._error(
                    "not-a-function" if number == 0 else "too-many-arguments", arg.span,
                    f"A value of type {self._show(type_)} cannot be applied to an argument.")
            if _is_function(arg):
                pending.append((arg, type_))
                type_ = type_.codomain
            else:
                type_ = self._argument(type_, arg, _call(exp, arg))
        if expected is not None and isinstance(self.solved.head(type_), Arrow):
            self._try_unify(type_, expected)
        for arg, arrow in pending:
            self._argument(arrow, arg, _call(exp, arg))
        return type_

    def _argument(self, arrow: Arrow, arg: ast.Exp, call: str = "") -> Type:
        """Check one argument; the type of the result."""
        domain = self.solved.resolve(arrow.domain) if _is_function(arg) else arrow.domain
        self.expect(arrow.domain, self.infer(arg, domain), arg.span, "an argument", call)
        self.solved.factorise()
        if arrow.param is None:
            return arrow.codomain
        codomain = self.solved.resolve(arrow.codomain)
        if arrow.param not in sizes_in(codomain):
            return arrow.codomain
        size = self._size_of(arg)
        if size is None:
            size = self.solved.unknown_size()
        return substitute_size(codomain, arrow.param, size)

    def _try_unify(self, left: Type, right: Type) -> None:
        state = self.solved.snapshot()
        try:
            self.solved.unify(left, right)
        except (TypeMismatch, SizeMismatch):
            self.solved.restore(state)

    def _lambda(self, exp: ast.LambdaExp, expected: Type | None) -> Type:
        with self.inner_scope():
            domains: list[Arrow] = []
            rest = expected
            for param in exp.params:
                head = self.solved.head(rest) if rest is not None else None
                given = head.domain if isinstance(head, Arrow) else None
                name = self.names.fresh(_base(param))
                domain = self.pattern(param, given, size_name=name)
                domains.append(Arrow(domain, UNIT, unique_pattern(param), False, name))
                rest = head.codomain if isinstance(head, Arrow) else None
            result = self.infer(exp.body, rest)
            if exp.ret is not None:
                declared = self._read(exp.ret)
                self.expect(declared, result, exp.body.span, "the declared result")
                result = declared
        for arrow in reversed(domains):
            result = Arrow(arrow.domain, result, arrow.consumes, False, arrow.param)
        return result

    # Operators

    def _operator(self, name: ast.QualName, span: Span) -> Type:
        """The type of an operator, as a curried function."""
        if not name.quals and name.name in self.scope.values:
            return self._instantiate(self._lookup(name, span))
        if not name.quals and name.name in OPERATORS:
            _, domain, compares = OPERATORS[name.name]
            operand = self.solved.meta(domain)
            return arrows([operand, operand], Prim.BOOL if compares else operand)
        if not name.quals and name.name in EQUALITY:
            operand = self.solved.meta()
            self.no_function(operand, span, "an equality")
            return arrows([operand, operand], Prim.BOOL)
        return self._instantiate(self._lookup(name, span))

    def _binary(self, exp: ast.BinExp) -> Type:
        exp.op_type = self._operator(exp.op, exp.op_span)
        self._operators.append(exp)
        if str(exp.op) == "|>":
            left = self.infer(exp.left)
            fun = self.infer(exp.right, Arrow(left, self.solved.meta()))
            result = self._apply_typed(fun, left, exp.left)
            self.expect(exp.op_type, arrows([left, fun], result), exp.span, "an operator")
            return result
        if str(exp.op) == "<|":
            fun = self.infer(exp.left)
            return self._apply_to(fun, (exp.right,), exp)
        return self._apply_to(exp.op_type, (exp.left, exp.right), exp)

    def _apply_typed(self, fun: Type, argument: Type, arg: ast.Exp) -> Type:
        head = self.solved.head(fun)
        if not isinstance(head, Arrow):
            result = self.solved.meta()
            self.expect(Arrow(argument, result), head, arg.span, "a function")
            return result
        self.expect(head.domain, argument, arg.span, "an argument")
        if head.param is not None:
            size = self._size_of(arg) or self.solved.unknown_size()
            return substitute_size(self.solved.resolve(head.codomain), head.param, size)
        return head.codomain

    def _section(self, exp: ast.OpSection) -> Type:
        exp.op_type = self._operator(exp.op, exp.span)
        self._operators.append(exp)
        if exp.left is not None:
            return self._apply_to(exp.op_type, (exp.left,), exp)
        if exp.right is not None:
            head = self.solved.head(exp.op_type)
            assert isinstance(head, Arrow)
            second = self.solved.head(head.codomain)
            assert isinstance(second, Arrow)
            return Arrow(head.domain, self._argument(second, exp.right))
        return exp.op_type

    # Arrays and records

    def _range(self, exp: ast.Range) -> Type:
        elem = self.solved.meta(INTS)
        for part in (exp.first, exp.second, exp.last):
            if part is not None:
                self.expect(elem, self.infer(part), part.span, "a bound")
        first, last = self._size_of(exp.first), self._size_of(exp.last)
        size = None
        second = None if exp.second is None else self._size_of(exp.second)
        by_one = exp.second is None or (exp.kind != "..>" and first is not None
                                        and second == first + 1)
        if by_one and first is not None and last is not None:
            size = last - first + (1 if exp.kind == "..." else 0) if exp.kind != "..>" else None
            if size is not None and size.constant is None and not self._is_i64(elem):
                size = None
        return Array(size if size is not None else self.solved.unknown_size(), elem)

    def _is_i64(self, type_: Type) -> bool:
        return self.solved.head(type_) is Prim.I64

    def _field(self, type_: Type, name: str, span: Span) -> Type:
        head = self.solved.head(type_)
        match head:
            case Record(fields):
                for field_name, field_type in fields:
                    if field_name == name:
                        return field_type
            case Tuple(items) if name.isdigit() and int(name) < len(items):
                return items[int(name)]
            case MetaVar():
                member = self.solved.meta()
                self.expect(self.solved.require(Record, name, member), head, span, "a record")
                return member
        raise self._error("unknown-field", span,
                          f"A value of type {self._show(head)} has no field '{name}'.")

    def _index(self, type_: Type, dims: tuple[ast.IndexDim, ...], span: Span) -> Type:
        slices: list[Size] = []
        for dim in dims:
            head = self.solved.head(type_)
            if isinstance(head, MetaVar):
                fresh = Array(self.solved.size_meta(), self.solved.meta())
                self.expect(fresh, head, span, "an array")
                head = fresh
            if not isinstance(head, Array):
                raise self._error("wrong-rank", span,
                                  f"A value of type {self._show(head)} cannot be indexed.",
                                  "There are more indices than dimensions.")
            if isinstance(dim, ast.SliceExp):
                slices.append(self._slice(dim, head.size))
            else:
                index = self.infer(dim)
                self.expect(self.solved.meta(INTS), index, dim.span, "an index")
            type_ = head.elem
        for size in reversed(slices):
            type_ = Array(size, type_)
        return type_

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
        if dim.step is not None:
            step = self._size_of(dim.step)
            backwards = step is not None and step.constant == -1
            if backwards and dim.start is None and dim.stop is None:
                return whole
            return self.solved.unknown_size()
        start = Size.of(0) if dim.start is None else self._size_of(dim.start)
        stop = whole if dim.stop is None else self._size_of(dim.stop)
        return self.solved.unknown_size() if start is None or stop is None else stop - start

    # Loops

    def _loop(self, exp: ast.LoopExp) -> Type:
        init = self._loop_init(exp)
        state, typed, operators = self.solved.snapshot(), len(self._typed), len(self._operators)
        result, body = self._loop_body(exp, init)
        try:
            joined = self.solved.join(result, body)
        except TypeMismatch:
            self.expect(result, body, exp.body.span, "the next value of the loop")
            raise
        if self._same_sizes(joined, result):
            return joined
        self.solved.restore(state)
        del self._typed[typed:], self._operators[operators:]
        loose = self._vary(init, joined)
        result, body = self._loop_body(exp, loose)
        self.join(result, body, exp.body.span, "the next value of the loop")
        return self._vary(loose, joined)

    def _loop_init(self, exp: ast.LoopExp) -> Type:
        if exp.init is not None:
            return self.infer(exp.init)
        return self._pattern_value(exp.pattern)

    def _pattern_value(self, pattern: ast.Pattern) -> Type:
        """The type of the values in scope that the names of a loop pattern start from."""
        match pattern:
            case ast.PatName(span, name):
                return self._instantiate(self._lookup(ast.QualName((), name), span))
            case ast.PatTuple(_, items):
                return Tuple(tuple(self._pattern_value(item) for item in items))
            case ast.PatAscript(_, inner):
                return self._pattern_value(inner)
            case ast.PatRecord(_, fields):
                return Record(tuple(sorted((n, self._pattern_value(p)) for n, p in fields)))
        raise self._error("bad-pattern", pattern.span, "A loop without '=' needs names.")

    def _loop_body(self, exp: ast.LoopExp, init: Type) -> tuple[Type, Type]:
        """The type of the loop's values, and of what its body makes of them."""
        bound = self.infer(exp.form.bound) if isinstance(exp.form, ast.ForForm) else None
        array = self.infer(exp.form.array) if isinstance(exp.form, ast.ForInForm) else None
        with self.inner_scope():
            self._size_binders(exp.sizes)
            result = self.pattern(exp.pattern, init, anonymous=self.solved.size_meta)
            match exp.form:
                case ast.ForForm(_, pattern):
                    assert bound is not None
                    self.expect(self.solved.meta(INTS), bound, exp.form.bound.span, "a bound")
                    self.pattern(pattern, bound)
                case ast.ForInForm(_, pattern):
                    assert array is not None
                    elem = self.solved.meta()
                    self.expect(Array(self.solved.size_meta(), elem), array,
                                 exp.form.array.span, "an array")
                    self.pattern(pattern, self.solved.head(elem))
                case ast.WhileForm(_, cond):
                    self.expect(Prim.BOOL, self.infer(cond), cond.span, "a condition")
            body = self.infer(exp.body)
        self.no_function(result, exp.span, "a loop")
        return result, body

    def _same_sizes(self, joined: Type, result: Type) -> bool:
        return self.solved.resolve(joined) == self.solved.resolve(result)

    def _vary(self, init: Type, joined: Type) -> Type:
        """``init`` with a fresh unknown size wherever ``joined`` disagrees with it."""
        init, joined = self.solved.resolve(init), self.solved.resolve(joined)
        match init, joined:
            case Array(m, s), Array(n, t):
                return Array(m if m == n else self.solved.unknown_size(), self._vary(s, t))
            case Tuple(xs), Tuple(ys):
                return Tuple(tuple(self._vary(x, y) for x, y in zip(xs, ys, strict=True)))
            case (Record(xs), Record(ys)) | (Sum(xs), Sum(ys)):
                make = Record if isinstance(init, Record) else Sum
                return make(tuple((n, self._vary(x, y))
                                  for (n, x), (_, y) in zip(xs, ys, strict=True)))
        return init


def _is_function(exp: ast.Exp) -> bool:
    """Whether an argument profits from knowing the types of the others first."""
    match exp:
        case ast.LambdaExp() | ast.ProjectSection() | ast.IndexSection():
            return True
        case ast.AttrExp(_, _, value):
            return _is_function(value)
        case ast.BinExp(_, op):
            return str(op) in (">->", "<-<")
        case ast.Apply(_, fun, args):
            return isinstance(fun, ast.Name) and any(map(_is_function, args))
    return False


def _call(exp: ast.Exp, arg: ast.Exp) -> str:
    """How a message about an argument starts."""
    fun = exp.fun if isinstance(exp, ast.Apply) else exp
    match fun:
        case ast.Name(_, name) | ast.BinExp(_, name) | ast.OpSection(_, name):
            return f'Cannot apply "{name}" to "{arg.span.text}". '
    return ""


def _base(pattern: ast.Pattern) -> str:
    match pattern:
        case ast.PatName(_, name):
            return name
        case ast.PatAscript(_, inner):
            return _base(inner)
    return "arg"


def _variable(size: Size) -> VName | None:
    match size.terms:
        case ((((VName() as name),), 1),):
            return name
    return None


_WHOLE = {"a value": "Expression", "the declared result": "Function body",
          "the next value of the loop": "Loop body"}
"""What an expression of a wrong type is called."""


def _has_function(type_: Type) -> bool:
    match type_:
        case Arrow():
            return True
        case Tuple(items):
            return any(map(_has_function, items))
        case Record(fields):
            return any(_has_function(f) for _, f in fields)
    return False


def _first_order(type_: Type) -> bool:
    match type_:
        case Arrow() | TypeVar() | MetaVar():
            return False
        case Array(_, elem):
            return _first_order(elem)
        case Tuple(items):
            return all(map(_first_order, items))
        case Record(fields) | Sum(fields):
            return all(_first_order(f) for _, f in fields)
    return True


def _loosen(type_: Type, solved: Substitution) -> Type:
    """``type_`` with a fresh flexible size everywhere."""
    match type_:
        case Array(_, elem):
            return Array(solved.size_meta(), _loosen(elem, solved))
        case Tuple(items):
            return Tuple(tuple(_loosen(item, solved) for item in items))
        case Record(fields) | Sum(fields):
            return type(type_)(tuple((n, _loosen(f, solved)) for n, f in fields))
    return type_
