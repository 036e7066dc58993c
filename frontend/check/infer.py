"""Inference of types and sizes, after Hindley and Milner with sizes as polynomials.

Size parameters of a function are rigid names in its body and are solved for at each call.  If no
expression over names in scope describes a size, it is a fresh name.  An example is the length of a
filtered array.

Source: Henriksen and Elsman, Towards Size-Dependent Types for Array Programming, ARRAY 2021.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from runelift.frontend.check import around, foreign
from runelift.frontend.check.advice import of_each, with_piped, without_neutral
from runelift.frontend.check.base import Binding
from runelift.frontend.check.conversions import FOLDS, coerced
from runelift.frontend.check.forms import (
    COMPOSITIONS,
    base_name,
    call_text,
    computes_sizes,
    given_to,
    is_function,
    loosen,
    tail,
)
from runelift.frontend.check.loops import Loops
from runelift.frontend.check.restrictions import later_sizes
from runelift.frontend.check.stars import unique_pattern
from runelift.frontend.check.structure import structure, with_names
from runelift.frontend.check.sums import sum_type
from runelift.frontend.check.types import PRIMS, Scheme
from runelift.frontend.check.unify import SizeMismatch, TypeMismatch
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.prelude import EQUALITY, MEMBERS_ONLY, OPERATORS
from runelift.ir.base.errors import Label, ProgramError
from runelift.ir.base.source import Span
from runelift.ir.names import NAMELESS, VName
from runelift.ir.prim import FLOATS, INTS, NUMBERS, Prim
from runelift.ir.sizes import Size


class Inference(Loops):
    """Infers expressions."""

    # Expressions

    def infer(self, exp: ast.Exp, expected: ty.Type | None = None) -> ty.Type:
        """The type of ``exp``; ``expected`` helps with functions and is not enforced."""
        self._typed.append(exp)
        exp.type = ty.UNIT  # so that a failing expression is still annotated
        exp.type = self._exp(exp, expected)
        return exp.type

    def _exp(self, exp: ast.Exp, expected: ty.Type | None) -> ty.Type:
        """The type of ``exp``; long, with one case per construct."""
        match exp:
            case ast.Literal(_, value, prim):
                if prim is not None:
                    return prim
                if isinstance(value, bool):
                    return Prim.BOOL
                return self.solved.meta(NUMBERS if isinstance(value, int) else FLOATS)
            case ast.Hole():
                return self.solved.meta()
            case ast.StringLit(_, text):
                return ty.Array(Size.of(len(text)), Prim.U8)
            case ast.Name(span, name):
                return self._instantiate(self._lookup(name, span), exp)
            case ast.TupleExp(_, items):
                return ty.Tuple(tuple(self.infer(item) for item in items))
            case ast.RecordExp(span, fields):
                if len({name for name, _ in fields}) < len(fields):
                    raise self._error("duplicate-name", span, "Duplicate fields.")
                return ty.Record(tuple(sorted((name, self.infer(e)) for name, e in fields)))
            case ast.ArrayExp(_, items):
                return self._array(items, exp.span)
            case ast.Range():
                return self._range(exp)
            case ast.Project(span, record, name):
                return self._field(self.infer(record), name, span, record)
            case ast.IndexExp(span, array, dims):
                return self._index(self.infer(array), dims, span)
            case ast.UpdateExp(span, array, dims, value):
                type_ = self.infer(array)
                self._new_element(self._index(type_, dims, span), dims, value)
                return type_
            case ast.RecordUpdate(span, record, path, value):
                type_ = self.infer(record)
                part = self._part(type_, path, span, update=True)
                new = self.infer(value)
                self.expect(loosen(self.solved.resolve(part), self.solved), new, value.span,
                            "a new field")
                return self._with_field(type_, path, new)
            case ast.Apply(_, fun, args):
                self._require_function(exp)
                return self._apply_to(self.infer(fun), args, exp, expected)
            case ast.BinExp():
                return self._binary(exp)
            case ast.Negate(_, arg):
                self._negated.add(id(arg))
                type_ = self.solved.meta(NUMBERS)
                self.expect(type_, self.infer(arg), arg.span, "an operand", call=exp)
                return type_
            case ast.Not(_, arg):
                type_ = self.solved.meta((*INTS, Prim.BOOL))
                self.expect(type_, self.infer(arg), arg.span, "an operand", call=exp)
                return type_
            case ast.LambdaExp():
                return self._lambda(exp, expected)
            case ast.OpSection():
                return self._section(exp)
            case ast.ProjectSection(span, path):
                domain = expected.domain if isinstance(expected, ty.Arrow) else self.solved.meta()
                return ty.Arrow(domain, self._part(domain, path, span))
            case ast.IndexSection(span, dims):
                domain = expected.domain if isinstance(expected, ty.Arrow) else self.solved.meta()
                return ty.Arrow(domain, self._index(domain, dims, span))
            case ast.IfExp(span, cond, then_, else_):
                self.expect(Prim.BOOL, self.infer(cond), cond.span, "a condition")
                return self._branches(then_, else_, span)
            case ast.Constr() | ast.MatchExp():
                return sum_type(self, exp, expected)
            case ast.LetPat(_, sizes, pattern, value, body):
                found = self.infer(value)
                self.distinct((pattern,), sizes)
                with self.inner_scope():
                    self._size_binders(sizes, pattern)
                    self.pattern(pattern, found, size=self._size_of(value))
                    self._check_binders(sizes, found)
                    return self.infer(body)
            case ast.LetFun(_, name, type_params, params, ret, value, body):
                scheme = self._function(type_params, params, ret, value, name)
                self.solved.inner |= ty.params_in(scheme.type) | scheme.written.keys()
                with self.inner_scope():
                    self.scope.values[name] = Binding(scheme, None, exp.span)
                    return self.infer(body)
            case ast.LetWith(span, name, name_span, dims, value, body):
                type_ = self._instantiate(self._lookup(ast.QualName((), name), name_span))
                self._new_element(self._index(type_, dims, span), dims, value)
                with self.inner_scope():
                    self.scope.values[name] = Binding(Scheme(type_), None, span, local=True)
                    return self.infer(body)
            case ast.LoopExp():
                return self._loop(exp)
            case ast.Ascript(span, value, type_exp):
                if foreign.is_python_lambda(value):
                    self.infer(value)
                declared = self._read(type_exp)
                self.expect(declared, self.infer(value), span, "a value")
                return declared
            case ast.Coerce(span, value, type_exp):
                declared = self._read(type_exp, self.solved.unknown_size if self._looping
                                      else self._collected(self._coerced))
                found = self.solved.resolve(self.infer(value))
                self.expect(self._forget_sizes(declared), self._forget_sizes(found), span,
                            "a value", hint=coerced(declared, found, value.span.text, span))
                return declared
            case ast.AssertExp(_, cond, value):
                self.expect(Prim.BOOL, self.infer(cond), cond.span, "a condition")
                return self.infer(value)
            case ast.AttrExp(_, _, value):
                return self.infer(value, expected)
        raise AssertionError(exp)

    def _array(self, items: tuple[ast.Exp, ...], span: Span) -> ty.Type:
        elem: ty.Type = self.solved.meta()
        kinds: dict[object, ty.Type] = {}
        for item in items:
            if isinstance(item, ast.Literal):  # all literals of a kind have one type
                kind = item.prim or type(item.value)
                if (known := kinds.get(kind)) is not None:
                    item.type = known
                    self._typed.append(item)
                    continue
                kinds[kind] = elem
            self.expect(elem, self.infer(item), item.span, "an element", because=items[0].span)
        self.no_function(elem, span, "an element of an array",
                         "One function may return an array: \\x -> [f x, g x]")
        return ty.Array(Size.of(len(items)), elem)

    def _branches(self, then_: ast.Exp, else_: ast.Exp, span: Span) -> ty.Type:
        left, right = self.infer(then_), self.infer(else_)
        joined = self.join(left, right, tail(else_).span, "a branch", tail(then_).span)
        self.no_function(joined, span, "the result of a branch",
                         "One function may branch inside: \\x -> if c then f x else g x")
        return joined

    def _part(self, type_: ty.Type, path: tuple[str, ...], span: Span, *,
              update: bool = False) -> ty.Type:
        """The type of a field of a field ... of a record; of all fields if it is for an update."""
        for name in path:
            if update and isinstance(self.solved.head(type_), ty.MetaVar):
                raise self._error(
                    "ambiguous-type", span, f"The type of the record with field '.{name}' is not "
                    "known here: an update must know all fields.", "Add a type annotation.")
            type_ = self._field(type_, name, span)
        return type_

    def _forget_sizes(self, type_: ty.Type) -> ty.Type:
        """The type with an unknown size in place of each size."""
        type_ = self.solved.resolve(type_)
        fresh = {v: self.solved.size_meta() for v in ty.sizes_in(type_)}
        return loosen(ty.replace_names(type_, {}, fresh), self.solved)

    # Application

    def _require_function(self, exp: ast.Apply) -> None:
        """Refuse what is no function here, but one in other languages, as it is meant there."""
        fun, span = exp.fun, exp.span
        if not isinstance(fun, ast.Name) or fun.name.quals or self._is_known(fun.name.name):
            return
        name = fun.name.name
        if name == "lambda":
            raise self._error("unknown-name", fun.span, f"Unknown variable '{name}'.",
                              *foreign.lambda_of(exp))
        if name in foreign.CONVERSIONS and len(exp.args) == 1:
            (arg,) = exp.args
            found = self.solved.resolve(self.infer(arg))
            raise self._error("unknown-name", fun.span, f"'{name}' is no function"
                              + ", but a type." * (name in PRIMS) + "." * (name not in PRIMS),
                              *around.converted(name, found, arg, span))

    def _apply_to(self, type_: ty.Type, args: tuple[ast.Exp, ...], exp: ast.Exp,
                  expected: ty.Type | None = None) -> ty.Type:
        """Apply a function; arguments that are lambdas are checked after all other arguments."""
        pending: list[tuple[ast.Exp, ty.Arrow]] = []
        for number, arg in enumerate(args):
            type_ = self._arrow(type_, exp, number, args)
            if is_function(arg):
                pending.append((arg, type_))
                codomain = type_.codomain
            else:
                codomain = self._argument(type_, arg, exp)
            type_ = self._result(type_, codomain, given_to(exp, args[:number + 1]))
        if expected is not None:
            self._try_function(type_, expected)
        for arg, arrow in pending:
            try:
                self._argument(arrow, arg, exp)
            except ProgramError:
                self._require_neutral(exp, args)
                raise
        return type_

    def _require_neutral(self, exp: ast.Exp, args: tuple[ast.Exp, ...]) -> None:
        """Refuse ``reduce f xs``, which has an array in place of the neutral element."""
        given = args[1].type if len(args) == 2 else None
        if isinstance(exp, ast.Apply) and exp.fun.span.text in FOLDS and given is not None and (
                isinstance(self.solved.head(given), ty.Array)):
            raise self._error(
                "type-mismatch", args[1].span, f'"{exp.fun.span.text}" lacks its neutral element.',
                "The neutral element stands between the operator and the array.",
                *self._about(exp)[1])

    def _result(self, function: ty.Arrow, codomain: ty.Type, call: tuple[ast.Exp, ...]) -> ty.Type:
        """The type of a function's result, with fresh sizes; equal calls have equal sizes.

        ``call`` are the function and the arguments that it has by now.
        """
        sizes: dict[VName, Size] = {}
        for name in sorted(function.exists):
            key = self._structure_of(name, call) if name in self._computed else None
            if key is None:
                sizes[name] = self.solved.unknown_size(name.base)
            else:
                made, _ = self._written.setdefault(key, (self.names.fresh(NAMELESS), None))
                sizes[name] = Size.var(made)
        return ty.replace_names(self.solved.resolve(codomain), {}, sizes) if sizes else codomain

    def _structure_of(self, size: VName, call: tuple[ast.Exp, ...]) -> Hashable | None:
        """The structure of the expression that a size of a call's result is, or one like it."""
        fun, *args = call
        binding = self.scope.find(str(fun.name)) if isinstance(fun, ast.Name) else None
        _, known = binding.scheme.written.get(size, (0, None)) if binding else (0, None)
        if known is None:
            whole = structure(call, self._identity)
            return None if whole is None else (size, whole)
        given = [structure(arg, self._identity) for arg in args]
        return with_names(known, lambda identity: given[identity] if isinstance(identity, int)
                          else ("name", identity))

    def _arrow(self, type_: ty.Type, exp: ast.Exp, number: int,
               args: tuple[ast.Exp, ...]) -> ty.Arrow:
        """The function type that the rest of ``exp`` after some arguments must have."""
        type_ = self.solved.head(type_)
        if isinstance(type_, ty.MetaVar) and type_.id in self.solved.values:
            raise self._error(
                "function-not-allowed", exp.span, f"{call_text(exp, args[number].span)}What is "
                "applied cannot have a function type, because elsewhere it goes through a loop, a "
                "branch, an array or an equality.")
        if isinstance(type_, ty.MetaVar) and type_.id not in self.solved.allowed:
            arrow = ty.Arrow(self.solved.meta(), self.solved.meta())
            self.expect(arrow, type_, exp.span, "a function")
            return arrow
        if not isinstance(type_, ty.Arrow):
            raise self._not_applicable(exp, type_, number, args)
        return type_

    def _argument(self, arrow: ty.Arrow, arg: ast.Exp, call: ast.Exp | None = None) -> ty.Type:
        """Check one argument; the type of the result, which may have ``arrow.exists`` in it."""
        domain = self.solved.resolve(arrow.domain) if is_function(arg) else arrow.domain
        self.expect(arrow.domain, self.infer(arg, domain), arg.span, "an argument", call)
        self.solved.divide()
        if arrow.param is None:
            return arrow.codomain
        codomain = self.solved.resolve(arrow.codomain)
        if arrow.param not in ty.sizes_in(codomain):
            return arrow.codomain
        size = self._size_of(arg)
        if size is None:
            size = self.solved.unknown_size()
        return ty.substitute_size(codomain, arrow.param, size)

    def _try_function(self, type_: ty.Type, expected: ty.Type) -> None:
        """Unify a function's type with the expected type, but for sizes that calls decide."""
        type_, expected = self.solved.head(type_), self.solved.head(expected)
        own: set[VName | None] = set()
        while (isinstance(type_, ty.Arrow) and isinstance(expected, ty.Arrow)
               and computes_sizes(type_)):
            self._try_unify(type_.domain, expected.domain)
            own.add(type_.param)
            type_, expected = self.solved.head(type_.codomain), self.solved.head(expected.codomain)
        if isinstance(type_, ty.Arrow) and own.isdisjoint(ty.sizes_in(self.solved.resolve(type_))):
            self._try_unify(type_, expected)

    def _try_unify(self, left: ty.Type, right: ty.Type) -> None:
        state = self.solved.snapshot()
        try:
            self.solved.unify(left, right)
        except (TypeMismatch, SizeMismatch):
            self.solved.restore(state)

    def _lambda(self, exp: ast.LambdaExp, expected: ty.Type | None) -> ty.Type:
        self.distinct(exp.params)
        made = self.names.made()
        with self.inner_scope():
            domains: list[ty.Arrow] = []
            own: set[VName] = set()
            rest = expected
            for param in exp.params:
                head = self.solved.head(rest) if rest is not None else None
                given = head.domain if isinstance(head, ty.Arrow) else None
                if given is not None and own & ty.sizes_in(self.solved.resolve(given)):
                    given = None  # the parameter must say so itself
                name = self.names.fresh(base_name(param))
                domain = self.pattern(param, given, size_name=name)
                own.add(name)
                domains.append(ty.Arrow(domain, ty.UNIT, unique_pattern(param), False, name))
                rest = head.codomain if isinstance(head, ty.Arrow) else None
                if isinstance(head, ty.Arrow) and head.param is not None:
                    rest = ty.substitute_size(self.solved.resolve(head.codomain), head.param,
                                           Size.var(name))
            if rest is not None and isinstance(head := self.solved.head(rest), ty.Arrow) and (
                    own & ty.sizes_in(self.solved.resolve(head.domain))):
                rest = None
            result = self.infer(exp.body, rest)
            if exp.ret is not None:
                anonymous: list[VName] = []
                declared = self._read(exp.ret, self._collected(anonymous))
                self.expect_result(declared, result, exp.body, exp.ret.span)
                unknown = {name: self.solved.unknown_size() for name in anonymous}
                result = ty.replace_names(declared, {}, unknown)
            names = [arrow.param for arrow in domains]
            numbers = self._numbered(exp.params)
            self.errors += later_sizes(
                exp.params, names, [self.solved.resolve(arrow.domain) for arrow in domains])
        inner = self._made_inside(result, made).difference(names)
        computed = {name: key for key, (name, _) in self._written.items() if name in inner}
        self._computed |= computed.keys()
        self.solved.inner |= own | {name for name, key in computed.items()
                                    if self._over(key, numbers)[0] > 0}
        for arrow in reversed(domains):
            result = replace(arrow, codomain=result)
        return ty.with_changing(result, inner)

    def _made_inside(self, type_: ty.Type, made: int) -> set[VName]:
        """The sizes in ``type_`` with tags above ``made`` that no expression in scope denotes.

        ``made`` is the last tag that was given out before the type was inferred.
        """
        inside = {size for size in ty.sizes_in(self.solved.resolve(type_)) - self.solved.flexible
                  if size.tag > made}
        return inside - self._written_outside() if inside else inside

    def _with_field(self, type_: ty.Type, path: tuple[str, ...], new: ty.Type) -> ty.Type:
        """A type of records with the field ``path`` of type ``new``, which may have other sizes."""
        head = self.solved.head(type_)
        if not path:
            return new
        name, *rest = path
        match head:
            case ty.Record(fields):
                return ty.Record(tuple((label, self._with_field(field, tuple(rest), new)
                                     if label == name else field) for label, field in fields))
            case ty.Tuple(items):
                return ty.Tuple(tuple(self._with_field(item, tuple(rest), new)
                                   if str(k) == name else item for k, item in enumerate(items)))
        return type_

    # Operators

    def _operator(self, exp: ast.BinExp | ast.OpSection, span: Span) -> ty.Type:
        """The type of an operator, as a curried function."""
        name = exp.op
        arithmetic = not name.quals and self.scope.find(name.name) is None
        if arithmetic and name.name in OPERATORS.keys() - MEMBERS_ONLY:
            _, domain, compares = OPERATORS[name.name]
            operand = self.solved.meta(domain)
            return ty.arrows([operand, operand], Prim.BOOL if compares else operand)
        if arithmetic and name.name in EQUALITY:
            operand = self.solved.meta()
            self.no_function(operand, span, "compared")
            self.solved.compared.add(operand.id)
            return ty.arrows([operand, operand], Prim.BOOL)
        exp.operator = ast.Name(span, name)
        return self.infer(exp.operator)

    def _binary(self, exp: ast.BinExp) -> ty.Type:
        exp.op_type = self._operator(exp, exp.op_span)
        self._operators.append(exp)
        if str(exp.op) == "|>":
            left = self.infer(exp.left)
            fun = self.infer(exp.right, ty.Arrow(left, self.solved.meta()))
            result = self._apply_typed(fun, left, exp.left, exp)
            head = self.solved.head(fun)
            self._check_plain(head, exp.right, exp)
            if isinstance(head, ty.Arrow):  # of this argument: its result may name the argument
                fun = replace(head, codomain=result, param=None, exists=frozenset())
            self.expect(exp.op_type, ty.arrows([left, fun], result), exp.span, "an operator")
            return result
        if str(exp.op) == "<|":
            fun = self.infer(exp.left)
            self._check_plain(fun, exp.left, exp)
            return self._apply_to(fun, (exp.right,), exp)
        made = self.names.made()
        result = self._apply_to(exp.op_type, (exp.left, exp.right), exp)
        if str(exp.op) in COMPOSITIONS:
            self._check_composed(exp.left if str(exp.op) == COMPOSITIONS[0] else exp.right, exp)
            return ty.with_changing(result, self._made_inside(result, made))
        return result

    def _check_plain(self, fun: ty.Type, operand: ast.Exp, pipe: ast.BinExp) -> None:
        """Refuse a pipe into a lambda whose result has the size of its argument."""
        head = self.solved.head(fun)
        if isinstance(head, ty.Arrow) and self.solved.own_sizes(head):
            self.expect(ty.Arrow(self.solved.meta(), self.solved.meta()), head, operand.span,
                        "an argument", pipe)

    def _apply_typed(self, fun: ty.Type, argument: ty.Type, arg: ast.Exp,
                     pipe: ast.BinExp) -> ty.Type:
        head = self.solved.head(fun)
        if not isinstance(head, ty.Arrow):
            result = self.solved.meta()
            self.expect(ty.Arrow(argument, result), head, arg.span, "a function",
                        hint=with_piped(pipe.right))
            return result
        hint = without_neutral(pipe.right) or of_each(pipe.right, self.solved.head(argument))
        if "\n" in arg.span.text:  # the place is the function, which may be lines below
            self.expect(head.domain, argument, pipe.right.span, "a value from the pipe",
                        hint=hint, because=Label(arg.span, "the value"))
        else:
            self.expect(head.domain, argument, arg.span, "an argument", pipe.right, hint)
        codomain = head.codomain
        if head.param is not None:
            size = self._size_of(arg) or self.solved.unknown_size()
            codomain = ty.substitute_size(self.solved.resolve(codomain), head.param, size)
        return self._result(head, codomain, given_to(pipe, (arg,)))

    def _check_composed(self, first: ast.Exp, composition: ast.BinExp) -> None:
        """Refuse a composition if sizes of what ``first`` hands on change with every call."""
        head = self.solved.head(first.type) if first.type is not None else None
        if isinstance(head, ty.Arrow) and ty.sizes_in(self.solved.resolve(head.codomain)) & {
                head.param, *head.exists}:
            raise self._irregular(head, first.span, composition)

    def _section(self, exp: ast.OpSection) -> ty.Type:
        exp.op_type = self._operator(exp, exp.span)
        self._operators.append(exp)
        if exp.left is not None:
            return self._apply_to(exp.op_type, (exp.left,), exp)
        if exp.right is not None:
            first = self._arrow(exp.op_type, exp, 0, (exp.right,))
            second = self._arrow(first.codomain, exp, 1, (exp.right, exp.right))
            return ty.Arrow(first.domain, self._argument(second, exp.right, exp), first.consumes,
                            second.fresh, first.param, second.exists)
        return exp.op_type
