"""The evaluator: typed expressions to values, emitting core statements on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType

from runelift.frontend.elaborate.array_exps import (
    array_exp,
    array_of_values,
    hole,
    range_exp,
    selection,
)
from runelift.frontend.elaborate.arrays import Arrays
from runelift.frontend.elaborate.builder import FULL_EFFORT, STATEMENT_BUDGET, Builder, Effort
from runelift.frontend.elaborate.environment import Environment, inside
from runelift.frontend.elaborate.intrinsics import intrinsic, unflatten
from runelift.frontend.elaborate.loops import loop
from runelift.frontend.elaborate.points import attach, with_points_inside
from runelift.frontend.elaborate.recursion import recursive_function
from runelift.frontend.elaborate.scalars import arithmetic
from runelift.frontend.elaborate.sizes import (
    bind_by_type,
    bind_sizes,
    check_sizes,
    computed,
    conform,
    name_sizes,
    note_written,
    result_sizes,
    size_atom,
    with_sizes_of,
    written_sizes,
)
from runelift.frontend.elaborate.sums import construct, match_value, parts_of
from runelift.frontend.elaborate.values import (
    UNIT,
    Dynamic,
    Env,
    Function,
    RecordValue,
    TupleValue,
    TypeArg,
    Value,
    leaves,
    project,
    rebuild,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.attributes import parameter
from runelift.frontend.syntax.literals import constant
from runelift.frontend.syntax.types import Record, Sum, Tuple, Type, facts, type_variables
from runelift.ir.base import failures
from runelift.ir.base.errors import (
    CompilerBug,
    CompilerLimitation,
    Diagnostic,
    ProgramError,
    TooLarge,
)
from runelift.ir.base.source import Loc, Span
from runelift.ir.names import VName
from runelift.ir.points import is_point
from runelift.ir.prim import Prim
from runelift.ir.syntax import Assert, If, Param, PrimOp
from runelift.ir.types import FALSE, TRUE, Atom, Const, array_of, elem_of, shape_of

NO_PARAMETERS: Mapping[str, int] = MappingProxyType({})


class Evaluator:
    """Evaluates expressions in an environment; what cannot be known now is emitted.

    ``parameters`` are the values of expressions with the attribute ``#[param(name)]``.
    It raises TooLarge where more than ``effort`` is needed.
    """

    def __init__(self, builder: Builder, parameters: Mapping[str, int] = NO_PARAMETERS,
                 effort: Effort = FULL_EFFORT) -> None:
        self.builder = builder
        self._effort = effort
        self._parameters = parameters
        self.arrays = Arrays(builder)
        self.globals: dict[str, Value] = {}
        self.written: dict[ast.TypeExp | ast.Exp, tuple[ast.Exp, ...]] = {}
        self._size_params: set[str] = set()
        self.entry: Span | None = None
        """The declaration that is elaborated; nothing in the program calls it."""

    # Declarations and functions

    def declaration(self, dec: ast.ValDec, env: Env) -> Value:
        """The value of a top-level declaration in the environment before it."""
        assert dec.type is not None
        polymorphic = bool(type_variables(dec.type))

        def inlined(known: Env) -> Value:
            return self._function(dec.type_params, dec.params, dec.ret, dec.body, inside(known),
                                  polymorphic, dec.name)

        return recursive_function(self, dec, env, inlined) if dec.recursive else inlined(env)

    def _function(self, type_params: tuple[ast.SizeParam | ast.TypeParam, ...],
                  params: tuple[ast.Pattern, ...], ret: ast.TypeExp | None, body: ast.Exp,
                  env: Env, polymorphic: bool = False, name: str = "",
                  fun: ast.LambdaExp | None = None) -> Value:
        """The value of a function in the environment before it.

        Declarations, local functions and lambdas (``fun``) have these parts in different nodes of
        the syntax, so there are many parameters.
        """
        sizes = {p.name for p in type_params if isinstance(p, ast.SizeParam)}
        self._size_params |= sizes

        def run(given: Env, args: tuple[Value, ...], span: Span) -> Value:
            self.builder.inlined += 1
            if self.builder.emitted > STATEMENT_BUDGET:
                raise TooLarge(span, "Not supported: the program has more than "
                               f"{STATEMENT_BUDGET} statements after inlining.")
            if self.builder.inlined > self._effort.calls:
                raise TooLarge(span, "Not supported: the program has more than "
                               f"{self._effort.calls} calls after inlining.")
            for type_ in (*(param.type for param in params), body.type):
                self._check_components(type_, span)
            inner = inside(env)
            inner.update(given)
            free = set(sizes)
            for pattern, arg in zip(params, args, strict=True):
                self.bind(pattern, arg, inner, free)
                name_sizes(type_params, inner, free)
            name_sizes(type_params, inner, free)
            calls = self.builder.calls
            if span != self.entry:  # a call that the program has, for the locations of what it does
                self.builder.calls = (Loc.of(span, callee=name), *calls)
            within = written_sizes(self, ret, inner)
            result = self.exp(body, result_sizes(self, fun, within) if fun else within)
            result = conform(self, ret, result, inner, body.span)
            self.builder.calls = calls
            return result

        def instantiate(given: Env) -> Value:
            if not params:
                return run(given, (), body.span)
            return Function(len(params), partial(run, given))

        if not params and not sizes and not polymorphic:
            inner = written_sizes(self, ret, env)
            return conform(self, ret, self.exp(body, inner), inner, body.span)
        return Function(len(params), partial(run, {}), (), instantiate)

    def apply(self, function: Value, args: tuple[Value, ...], span: Span) -> Value:
        """``function args``, partially if there are too few."""
        if not args:
            return function
        assert isinstance(function, Function)
        given = (*function.args, *args)
        if len(given) < function.arity:
            return Function(function.arity, function.run, given)
        result = function.run(given[: function.arity], span)
        return self.apply(result, given[function.arity :], span)

    # Patterns and type expressions

    def bind(self, pattern: ast.Pattern, value: Value, env: Environment,
             sizes: set[str]) -> None:
        """Bind the names of ``pattern``; ``sizes`` are size names that are still free.

        The names are in scope behind the pattern.  A size in its types means a name around it.
        """
        names: dict[str | VName, Value] = {}
        self._bind_part(pattern, value, env, sizes, names)
        env.update(names)

    def _bind_part(self, pattern: ast.Pattern, value: Value, env: Environment, sizes: set[str],
                   names: dict[str | VName, Value]) -> None:
        """Note what the names in a part of a pattern stand for; the sizes in ``env``."""
        if isinstance(pattern, ast.PatAscript):
            note_written(self, pattern.type_exp, env)
        bind_by_type(self, pattern, value, env)
        match pattern:
            case ast.PatName(_, name):
                names[name] = value
                if pattern.size is not None and isinstance(pattern.type, Prim):
                    env[pattern.size] = value
            case ast.PatTuple(_, items) if items:
                assert isinstance(value, TupleValue)
                for item, part in zip(items, value.items, strict=True):
                    self._bind_part(item, part, env, sizes, names)
            case ast.PatRecord(_, fields):
                for name, item in fields:
                    self._bind_part(item, project(value, name), env, sizes, names)
            case ast.PatConstr():
                for item, part in zip(pattern.items, parts_of(value, pattern.name), strict=True):
                    self._bind_part(item, part, env, sizes, names)
            case ast.PatAscript(span, inner, type_exp):
                if not isinstance(value, Function):
                    bind_sizes(type_exp, value, 0, env, sizes)
                    value = conform(self, type_exp, value, env, span)
                self._bind_part(inner, value, env, sizes, names)

    # Expressions

    def exp(self, exp: ast.Exp, env: Env) -> Value:
        """The value of ``exp``; long, with one case per construct."""
        if exp.as_size is not None and (known := env.get(computed(exp.as_size))) is not None:
            return known
        match exp:  # the most frequent expressions come first
            case ast.Name():
                return self._variable(exp, env)
            case ast.Apply(span, fun, args):
                return self._application(fun, args, env, span)
            case ast.BinExp():
                return self._binary(exp, env)
            case ast.Literal(_, value):
                prim = exp.type
                assert isinstance(prim, Prim)
                return Dynamic(constant(value, prim), prim)
            case ast.LetPat():
                return self.exp(exp.body, self._let(exp, env))
            case ast.IfExp(span, cond, then_, else_):
                return self.branch(self.scalar(cond, env), lambda: self.exp(then_, env),
                                   lambda: self.exp(else_, env), span)
            case ast.Project(_, record, name):
                return project(self.exp(record, env), name)
            case ast.Hole(span):
                return hole(self, exp, env)
            case ast.StringLit(span, text):
                atoms = tuple(Const(byte, Prim.U8) for byte in text)
                return array_of_values(self, [Dynamic(a, Prim.U8) for a in atoms], span)
            case ast.TupleExp(_, items):
                return TupleValue(tuple([self.exp(item, env) for item in items])) if items else UNIT
            case ast.RecordExp(_, fields):
                values = {name: self.exp(item, env) for name, item in fields}
                return RecordValue(tuple(sorted(values.items(), key=lambda f: f[0])))
            case ast.ArrayExp():
                return array_exp(self, exp, env)
            case ast.Range():
                return range_exp(self, exp, env)
            case ast.IndexExp(span, array, dims):
                indexed = self.exp(array, env)
                return self.arrays.index(indexed, selection(self, dims, indexed, env), span)
            case ast.UpdateExp(span, array, dims, new):
                return self._updated(self.exp(array, env), dims, new, env, span)
            case ast.RecordUpdate(_, record, path, new):
                return _update_field(self.exp(record, env), path, self.exp(new, env))
            case ast.Negate(span, arg):
                return self._unary("neg", self.scalar(arg, env), span)
            case ast.Not(span, arg):
                return self._unary("not", self.scalar(arg, env), span)
            case ast.LambdaExp(_, params, ret, body):
                return self._function((), params, ret, body, inside(env), fun=exp)
            case ast.OpSection():
                return self._section(exp, env)
            case ast.ProjectSection(_, path):
                return Function(1, lambda args, span: _project_path(args[0], path))
            case ast.IndexSection(_, dims):
                return Function(1, lambda args, span: self.arrays.index(
                    args[0], selection(self, dims, args[0], env), span))
            case ast.Constr():
                return construct(self, exp, env)
            case ast.MatchExp():
                return match_value(self, exp, self.exp(exp.value, env), env)
            case ast.LetFun(_, name, type_params, params, ret, value, body):
                inner = inside(env)
                inner[name] = self._function(type_params, params, ret, value, env, False, name)
                return self.exp(body, inner)
            case ast.LetWith(span, name, _, dims, value, body):
                inner = inside(env)
                inner[name] = self._updated(env[name], dims, value, env, span)
                return self.exp(body, inner)
            case ast.LoopExp():
                return loop(self, exp, env)
            case ast.Ascript(span, value, type_exp):
                within = written_sizes(self, type_exp, env)
                return conform(self, type_exp, self.exp(value, within), within, span)
            case ast.Coerce():
                return self._coerced(exp, env)
            case ast.AssertExp(span, cond, value):
                holds = self.scalar(cond, env).atom
                if self.arrays.checked:
                    self.builder.emit_stm((), Assert(
                        holds, failures.assertion(cond.span.text)), span)
                return self.exp(value, env)
            case ast.AttrExp(_, attr, _) if (
                    name := parameter(attr)) in self._parameters and isinstance(exp.type, Prim):
                return Dynamic(constant(self._parameters[name], exp.type), exp.type)
            case ast.AttrExp(_, attr) if is_point(attr) and (
                    typed := with_points_inside(exp)) is not exp:
                return self.exp(typed, env)
            case ast.AttrExp(_, attr, value) if is_point(attr) and self.builder.steered:
                found = self.exp(value, env)
                attach(self.builder, attr, found, exp.span)
                return found
            case ast.AttrExp(_, attr, value):
                with self._attribute(attr):
                    return self.exp(value, env)
        raise CompilerBug(f"{exp.span}: expression {type(exp).__name__}")

    def _let(self, exp: ast.LetPat, env: Env) -> Environment:
        """The environment inside of a ``let``."""
        inner = inside(env)
        free = {s.name for s in exp.sizes}
        self._check_components(exp.value.type, exp.value.span)
        value = self.exp(exp.value, env)
        if isinstance(exp.pattern, ast.PatName) and isinstance(value, Dynamic):
            self.builder.note_name(value.atom, exp.pattern.name)
        self.bind(exp.pattern, value, inner, free)
        for size in exp.sizes:
            if size.name in free and size.known is not None:
                atom = size_atom(self, size.known, inner, size.span)
                if atom is not None:
                    inner[size.name] = Dynamic(atom, Prim.I64)
        return inner

    def _check_components(self, type_: Type | None, span: Span) -> None:
        """Refuse a type with too many components, as each gets a variable."""
        most = self._effort.components
        if isinstance(type_, Tuple | Record | Sum) and facts(type_).variables > most:
            raise TooLarge(span, f"Not supported: this value has more than {most} components.")

    def _updated(self, array: Value, dims: tuple[ast.IndexDim, ...], new: ast.Exp, env: Env,
                 span: Span) -> Value:
        """``array with [dims] = new``."""
        selected = selection(self, dims, array, env)
        return self.arrays.update(array, selected, self.exp(new, env), span)

    def _unary(self, op: str, operand: Dynamic, span: Span) -> Dynamic:
        prim = elem_of(operand.type)
        return Dynamic(self.builder.op(op, prim, (operand.atom,), span), prim)

    def _coerced(self, exp: ast.Coerce, env: Env) -> Value:
        """A value whose sizes are checked when the program runs."""
        within = written_sizes(self, exp.type_exp, env)
        value = self.exp(exp.value, within)
        if exp.type is not None:
            check_sizes(self, exp.type, value, within, exp.span)
        return conform(self, exp.type_exp, value, within, exp.span)

    @contextmanager
    def _attribute(self, attr: str) -> Iterator[None]:
        if attr != "unsafe":
            with self.builder.attribute(attr):
                yield
            return
        checked, self.arrays.checked = self.arrays.checked, False
        try:
            yield
        finally:
            self.arrays.checked = checked

    def scalar(self, exp: ast.Exp, env: Env) -> Dynamic:
        """The value of an expression of a primitive type."""
        value = self.exp(exp, env)
        assert isinstance(value, Dynamic)
        return value

    def _application(self, fun: ast.Exp, args: tuple[ast.Exp, ...], env: Env,
                     span: Span) -> Value:
        """A call; the sizes of its arguments may be implicit arguments as well."""
        if not isinstance(fun, ast.Name):
            return self.apply(self.exp(fun, env), tuple([self.exp(a, env) for a in args]), span)
        values = tuple([self.exp(arg, env) for arg in args])
        if fun.sizes:
            return self.apply(self.exp(fun, with_sizes_of(args, values, env)), values, span)
        name = str(fun.name)
        if not fun.types and name in self.globals and env.get(name) is self.globals[name]:
            return self.call(name, values, span)
        return self.apply(self.exp(fun, env), values, span)

    def call(self, name: str, args: tuple[Value, ...], span: Span) -> Value:
        """Inline a function of the program; sizes computed from sizes are computed only once."""
        atoms = [arg.atom for arg in args if isinstance(arg, Dynamic) and arg.type is Prim.I64]
        key = (name, *atoms)
        if len(atoms) == len(args) and (found := self.builder.computed(key)) is not None:
            return Dynamic(found, Prim.I64)
        result = self.apply(self.globals[name], args, span)
        if len(atoms) == len(args) and isinstance(result, Dynamic) and result.type is Prim.I64:
            self.builder.remember(key, result.atom)
        return result

    def _variable(self, exp: ast.Name, env: Env) -> Value:
        """The value of a name, for the sizes that the type checker has found for it."""
        value = None if exp.name.quals else env.get(exp.name.name)
        if value is None:
            rank = _UNFLATTEN.get(str(exp.name))
            if rank is not None:
                return self._unflatten(exp, rank, env)
            value = self._intrinsic(exp.name, exp.span)
        if isinstance(value, Function) and value.instantiate is not None and (
                exp.sizes or exp.types):
            found = {name: size_atom(self, size, env, exp.span) for name, size in exp.sizes.items()}
            given: dict[str | VName, Value] = {name: Dynamic(atom, Prim.I64)
                                               for name, atom in found.items() if atom is not None}
            given |= {name: TypeArg(type_, env) for name, type_ in exp.types.items()}
            return value.instantiate(given)
        return value

    def _intrinsic(self, name: ast.QualName, span: Span) -> Value:
        value = intrinsic(self, name.quals, name.name)
        if value is None and name.name in self._size_params:
            raise ProgramError(Diagnostic(
                "ambiguous-size", span, f"Nothing decides which size '{name}' stands for here.",
                hints=("Say it in a type annotation where the function is used.",
                       *(f"It is called at {call}." for call in self.builder.calls[:1]))))
        if value is None:
            raise CompilerBug(f"{span}: '{name}' has no value")
        return value

    # Operators

    def _binary(self, exp: ast.BinExp, env: Env) -> Value:
        op = str(exp.op)
        if exp.operator is None and op in ("&&", "||"):
            return self._lazy(op, exp, env)
        left = self.exp(exp.left, env)
        if op == "|>":
            env = with_sizes_of((exp.left,), (left,), env)
        right = self.exp(exp.right, env)
        if exp.operator is None:
            return arithmetic(self, op, left, right, exp.span)
        if exp.operator.sizes:
            env = with_sizes_of((exp.left, exp.right), (left, right), env)
        return self.apply(self.exp(exp.operator, env), (left, right), exp.span)

    def _lazy(self, op: str, exp: ast.BinExp, env: Env) -> Value:
        """``&&`` and ``||``: the right operand runs only when it matters."""
        left = self.scalar(exp.left, env)
        if left.atom == (FALSE if op == "&&" else TRUE):
            return left
        with self.builder.scope() as scope:
            right = self.scalar(exp.right, env)
        if len(scope.stms) <= 2 and all(_cheap(stm.exp) for stm in scope.stms):
            self.builder.scopes[-1].stms.extend(scope.stms)
            self.builder.scopes[-1].bound |= scope.bound
            name = "and" if op == "&&" else "or"
            return Dynamic(self.builder.op(name, Prim.BOOL, (left.atom, right.atom), exp.span),
                           Prim.BOOL)
        with self.builder.scope() as other:
            pass
        decided = self.builder.body(other, (FALSE if op == "&&" else TRUE,))
        evaluated = self.builder.body(scope, (right.atom,))
        then_, else_ = (evaluated, decided) if op == "&&" else (decided, evaluated)
        node = If(left.atom, then_, else_, (Prim.BOOL,))
        return Dynamic(self.builder.emit1(node, Prim.BOOL, "c", exp.span), Prim.BOOL)

    def _section(self, exp: ast.OpSection, env: Env) -> Value:
        fun: Value = self.exp(exp.operator, env) if exp.operator is not None else Function(
            2, lambda args, span: arithmetic(self, str(exp.op), args[0], args[1], span))
        if exp.left is not None:
            return self.apply(fun, (self.exp(exp.left, env),), exp.span)
        if exp.right is not None:
            right = self.exp(exp.right, env)
            return Function(1, lambda args, span: self.apply(fun, (args[0], right), span))
        return fun

    # Arrays

    def _unflatten(self, exp: ast.Name, rank: int, env: Env) -> Value:
        """``unflatten`` to the sizes that the type checker has found.

        One size may be unknown: it follows from the length of the array and the other sizes.
        """
        factors = sorted(exp.sizes, key=lambda name: name.tag)
        sizes = [size_atom(self, exp.sizes[name], env, exp.span) for name in factors]
        if sizes.count(None) > 1 or len(sizes) != rank:
            raise CompilerLimitation(
                f"{exp.span}: '{exp.name}' needs to be told the sizes: write "
                f"{exp.name} (e :> [{'*'.join('nmop'[:rank])}]t).")
        return Function(1, lambda args, span: unflatten(self, sizes, args[0], span))

    # Control

    def branch(self, cond: Dynamic, then_: Callable[[], Value], else_: Callable[[], Value],
               span: Span) -> Value:
        """``if cond then then_() else else_()``."""
        if cond.atom == TRUE:
            return then_()
        if cond.atom == FALSE:
            return else_()
        builder = self.builder
        with builder.scope() as left:
            yes = then_()
        with builder.scope() as right:
            no = else_()
        with builder.reopen(left):
            yes = self.arrays.complete(yes, no, span, right)
        with builder.reopen(right):
            no = self.arrays.complete(no, yes, span, left)
        pat: list[Param] = []
        results: tuple[list[Atom], list[Atom]] = ([], [])
        outs: list[Dynamic] = []
        sizes: dict[tuple[Atom, Atom], VName] = {}
        for a, b in zip(leaves(yes), leaves(no), strict=True):
            shape: list[Atom] = []
            for m, n in zip(shape_of(a.type), shape_of(b.type), strict=True):
                if m == n:
                    shape.append(m)
                    continue
                if (m, n) not in sizes:
                    sizes[m, n] = builder.fresh("size", Prim.I64).name
                    pat.append(Param(sizes[m, n], Prim.I64))
                    results[0].append(m)
                    results[1].append(n)
                shape.append(sizes[m, n])
            param = builder.fresh("r", array_of(tuple(shape), elem_of(a.type)))
            pat.append(param)
            results[0].append(a.atom)
            results[1].append(b.atom)
            outs.append(Dynamic(param.name, param.type))
        node = If(cond.atom, builder.body(left, tuple(results[0])),
                  builder.body(right, tuple(results[1])), tuple(p.type for p in pat))
        builder.emit_stm(tuple(pat), node, span)
        return rebuild(yes, iter(outs))


def _cheap(exp: object) -> bool:
    return isinstance(exp, PrimOp) and not (exp.op in ("div", "mod", "quot", "rem")
                                            and exp.prim.is_int)


def _update_field(value: Value, path: tuple[str, ...], new: Value) -> Value:
    if not path:
        return new
    if isinstance(value, RecordValue):
        return RecordValue(tuple((n, _update_field(v, path[1:], new) if n == path[0] else v)
                                 for n, v in value.fields))
    assert isinstance(value, TupleValue)
    return TupleValue(tuple(_update_field(v, path[1:], new) if str(k) == path[0] else v
                            for k, v in enumerate(value.items)))


def _project_path(value: Value, path: tuple[str, ...]) -> Value:
    for name in path:
        value = project(value, name)
    return value


_UNFLATTEN = {"unflatten": 2, "unflatten_3d": 3, "unflatten_4d": 4}
"""The number of sizes that the result has."""
