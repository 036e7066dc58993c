"""The evaluator: typed expressions to values, emitting core statements on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from runelift.frontend import ast
from runelift.frontend.elaborate.arrays import Arrays
from runelift.frontend.elaborate.builder import BUDGET, Builder, Scope
from runelift.frontend.elaborate.intrinsics import arithmetic, intrinsic, unflatten
from runelift.frontend.elaborate.sums import (
    construct,
    match_value,
    parts_of,
    value_of,
    whole,
)
from runelift.frontend.elaborate.values import (
    Dynamic,
    Env,
    Function,
    RecordValue,
    Sizes,
    TupleValue,
    Value,
    each_leaf,
    leaves,
    outer_size,
    project,
    rebuild,
    sizes_by_type,
)
from runelift.frontend.prelude import EQUALITY, OPERATORS
from runelift.frontend.types import Array, Arrow, Record, Sum, Tuple, Type
from runelift.ir.errors import CompilerBug, CompilerLimitation, Diagnostic, ProgramError
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Applied, Size
from runelift.ir.source import Loc, Span
from runelift.ir.syntax import (
    FALSE,
    TRUE,
    ArrayLit,
    Assert,
    Atom,
    Const,
    Dim,
    ForLoop,
    Fun,
    If,
    Loop,
    LoopParam,
    Param,
    PrimOp,
    Program,
    SliceDim,
    WhileLoop,
    array_of,
    elem_of,
    i64,
    shape_of,
)


def elaborate(module: ast.Flat, names: Names) -> Program:
    """The entry points of a checked module as core functions.

    Without an ``entry`` declaration, a function called ``main`` is the entry point.
    """
    entries = [d for d in module.decs if isinstance(d, ast.ValDec) and d.entry]
    if not entries:
        entries = [d for d in module.decs if isinstance(d, ast.ValDec) and d.name == "main"]
    return Program(tuple(_entry(module, dec, names) for dec in entries))


def _entry(module: ast.Flat, entry: ast.ValDec, names: Names) -> Fun:
    builder = Builder(names)
    evaluator = Evaluator(builder)
    env: dict[str | VName, Value] = {}
    for dec in module.decs:
        if isinstance(dec, ast.ValDec) and not dec.specified:
            if dec is entry:
                break
            env[dec.name] = evaluator.globals[dec.name] = evaluator.declaration(dec, env)
    sizes: dict[VName | Size, Param] = {}
    params: list[Param] = []
    args: list[Value] = []
    type_ = entry.type
    bases = map(_base, entry.params)
    while isinstance(type_, Arrow):  # more of them than parameters if the body is a function
        value = evaluator.argument(type_.domain, sizes, params, next(bases, "arg"))
        args.append(value)
        if isinstance(value, Dynamic) and type_.param is not None and value.type is Prim.I64:
            assert isinstance(value.atom, VName)
            sizes[type_.param] = Param(value.atom, Prim.I64)
        type_ = type_.codomain
    hidden = [p for p in sizes.values() if p not in params]
    function = evaluator.declaration(entry, env)
    result = evaluator.apply(function, tuple(args), entry.span) if args else function
    assert type_ is not None
    result = whole(evaluator, result, type_, entry.span)
    outs = list(leaves(result))
    known = {p.name for p in (*hidden, *params)}
    results: list[Param] = []
    atoms: list[Atom] = []
    renamed: dict[Atom, Atom] = {}
    for leaf in outs:
        shape: list[Atom] = []
        for size in shape_of(leaf.type):
            if isinstance(size, VName) and size not in known and size not in renamed:
                results.append(Param(names.fresh(size), Prim.I64))
                atoms.append(size)
                renamed[size] = results[-1].name
            shape.append(renamed.get(size, size))
        results.append(Param(names.fresh("result"), array_of(tuple(shape), elem_of(leaf.type))))
        atoms.append(leaf.atom)
    body = builder.body(builder.scopes[0], tuple(atoms))
    return Fun(entry.name, (*hidden, *params), tuple(results), body, len(hidden))


def _base(pattern: ast.Pattern) -> str:
    match pattern:
        case ast.PatName(_, name):
            return name
        case ast.PatAscript(_, inner):
            return _base(inner)
    return "arg"


def _bind_by_type(pattern: ast.Pattern, value: Value, env: dict[str | VName, Value]) -> None:
    """Note what the sizes in the type of a pattern are in the value that it is bound to."""
    if pattern.type is not None and not isinstance(pattern.type, Prim):
        for name, atom in sizes_by_type(pattern.type, value):
            env.setdefault(name, Dynamic(atom, Prim.I64))


def _name_sizes(params: tuple[ast.SizeParam | ast.TypeParam, ...], env: dict[str | VName, Value],
                free: set[str]) -> None:
    """Give size parameters that are still free the values that their names in types have."""
    for param in params:
        if isinstance(param, ast.SizeParam) and param.size is not None:
            if param.name in free and param.size in env:
                env[param.name] = env[param.size]
                free.discard(param.name)
            elif param.name not in free:
                env.setdefault(param.size, env[param.name])


class Evaluator:
    """Evaluates expressions in an environment; what cannot be known now is emitted."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.arrays = Arrays(builder)
        self.globals: dict[str, Value] = {}
        self._size_params: set[str] = set()

    # Declarations and functions

    def declaration(self, dec: ast.ValDec, env: Env) -> Value:
        """The value of a top-level declaration in the environment before it."""
        return self._function(dec.name, dec.type_params, dec.params, dec.ret, dec.body, dict(env))

    def _function(self, name: str, type_params: tuple[ast.SizeParam | ast.TypeParam, ...],
                  params: tuple[ast.Pattern, ...], ret: ast.TypeExp | None, body: ast.Exp,
                  env: Env) -> Value:
        sizes = {p.name for p in type_params if isinstance(p, ast.SizeParam)}
        self._size_params |= sizes

        def run(given: Sizes, args: tuple[Value, ...], span: Span) -> Value:
            if self.builder.emitted > BUDGET:
                raise CompilerLimitation(f"{span}: the program has more than {BUDGET} statements "
                                         "after inlining.")
            inner = dict(env)
            for size, value in given.items():
                inner[size] = value
            free = set(sizes)
            for pattern, arg in zip(params, args, strict=True):
                self.bind(pattern, arg, inner, free)
                _name_sizes(type_params, inner, free)
            _name_sizes(type_params, inner, free)
            with self._call(span):
                result = self.exp(body, inner)
                return self._conform(ret, result, inner, body.span)

        def instantiate(given: Sizes) -> Value:
            if not params:
                return run(given, (), body.span)
            return Function(len(params), partial(run, given))

        if not params and not sizes:
            return self._conform(ret, self.exp(body, dict(env)), env, body.span)
        return Function(len(params), partial(run, {}), (), instantiate)

    @contextmanager
    def _call(self, span: Span) -> Iterator[None]:
        calls = self.builder.calls
        self.builder.calls = (Loc.of(span), *calls)
        try:
            yield
        finally:
            self.builder.calls = calls

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

    def argument(self, type_: Type, sizes: dict[VName | Size, Param], params: list[Param],
                 base: str) -> Value:
        """The value of an entry parameter: fresh core parameters for its leaves."""
        def size(length: Size) -> Atom:
            if length.constant is not None:
                return i64(length.constant)
            match length.terms:
                case ((((VName() as name),), 1),):
                    key: VName | Size = name
                case _:  # computed: where it matters, the program compares it
                    key, name = length, VName("size", 0)
            if key not in sizes:
                sizes[key] = self.builder.fresh(name.base, Prim.I64)
            return sizes[key].name

        def leaf(type_: Type, outer: tuple[Atom, ...]) -> Value:
            match type_:
                case Prim():
                    params.append(self.builder.fresh(base, array_of(outer, type_)))
                    return Dynamic(params[-1].name, params[-1].type)
                case Array(length, elem):
                    return leaf(elem, (*outer, size(length)))
                case Tuple(items):
                    return TupleValue(tuple(leaf(item, outer) for item in items))
                case Record(fields):
                    return RecordValue(tuple((n, leaf(t, outer)) for n, t in fields))
                case Sum(fields):
                    return value_of(fields, lambda part: leaf(part, outer))
            raise CompilerBug(f"entry parameter of type {type_}")

        return leaf(type_, ())

    # Patterns and type expressions

    def bind(self, pattern: ast.Pattern, value: Value, env: dict[str | VName, Value],
              sizes: set[str]) -> None:
        """Bind the names of ``pattern``; ``sizes`` are size names that are still free."""
        _bind_by_type(pattern, value, env)
        match pattern:
            case ast.PatName(_, name):
                env[name] = value
                if pattern.size is not None and pattern.type is Prim.I64:
                    env[pattern.size] = value
            case ast.PatTuple(_, items) if items:
                assert isinstance(value, TupleValue)
                for item, part in zip(items, value.items, strict=True):
                    self.bind(item, part, env, sizes)
            case ast.PatRecord(_, fields):
                for name, item in fields:
                    self.bind(item, project(value, name), env, sizes)
            case ast.PatConstr():
                for item, part in zip(pattern.items, parts_of(value, pattern.name), strict=True):
                    self.bind(item, part, env, sizes)
            case ast.PatAscript(span, inner, type_exp):
                if not isinstance(value, Function):
                    self._bind_sizes(type_exp, value, 0, env, sizes)
                    value = self._conform(type_exp, value, env, span)
                self.bind(inner, value, env, sizes)

    def _bind_sizes(self, exp: ast.TypeExp, value: Value, depth: int, env: dict[str | VName, Value],
                    sizes: set[str]) -> None:
        """Give the free size names in ``exp`` their values from the shape of ``value``."""
        match exp:
            case ast.TypeArray(_, size, elem):
                if isinstance(size, ast.Name) and str(size.name) in sizes:
                    shape = shape_of(next(leaves(value)).type)
                    env[str(size.name)] = Dynamic(shape[depth], Prim.I64)
                    sizes.discard(str(size.name))
                self._bind_sizes(elem, value, depth + 1, env, sizes)
            case ast.TypeUnique(_, inner):
                self._bind_sizes(inner, value, depth, env, sizes)
            case ast.TypeTuple(_, items) if isinstance(value, TupleValue):
                for item, part in zip(items, value.items, strict=True):
                    self._bind_sizes(item, part, depth, env, sizes)
            case ast.TypeRecord(_, fields):
                for name, item in fields:
                    self._bind_sizes(item, project(value, name), depth, env, sizes)

    def _conform(self, exp: ast.TypeExp | None, value: Value, env: Env, span: Span,
                 check: bool = False) -> Value:
        """``value`` with the sizes that ``exp`` names; ``check``: they may differ at run time."""
        match exp:
            case ast.TypeUnique(_, inner):
                return self._conform(inner, value, env, span, check)
            case ast.TypeTuple(_, items) if isinstance(value, TupleValue):
                return TupleValue(tuple(self._conform(item, part, env, span, check)
                                        for item, part in zip(items, value.items, strict=True)))
            case ast.TypeArray():
                wanted = self._declared_sizes(exp, env)
                if check:
                    for atom, size in zip(wanted, shape_of(next(leaves(value)).type),
                                          strict=False):
                        if atom is not None:
                            self._check_size(atom, size, span)
                return each_leaf(lambda leaf: self._with_sizes(leaf, wanted, span), value)
        return value

    def _check_size(self, wanted: Atom, size: Atom, span: Span) -> None:
        if wanted == size:
            return
        equal = self.builder.op("eq", Prim.I64, (size, wanted), span)
        if equal != TRUE:
            self.builder.emit_stm((), Assert(
                equal, "Value of shape [{}] cannot match shape [{}].", (size, wanted)), span)

    def _declared_sizes(self, exp: ast.TypeExp, env: Env) -> list[Atom | None]:
        """The sizes that nested array types name; None where one is not given."""
        sizes: list[Atom | None] = []
        while isinstance(exp, ast.TypeArray):
            known = exp.size is not None and self._in_scope(exp.size, env)
            value = self.exp(exp.size, env) if exp.size is not None and known else None
            sizes.append(value.atom if isinstance(value, Dynamic) else None)
            exp = exp.elem
        return sizes

    def _in_scope(self, exp: ast.Exp, env: Env) -> bool:
        match exp:
            case ast.Name(_, name):
                return bool(name.quals) or name.name in env or (
                    intrinsic(self, (), name.name) is not None)
            case ast.BinExp(_, _, left, right):
                return self._in_scope(left, env) and self._in_scope(right, env)
            case ast.Apply(_, fun, args):
                return all(self._in_scope(e, env) for e in (fun, *args))
        return True

    def _with_sizes(self, leaf: Dynamic, wanted: list[Atom | None], span: Span) -> Dynamic:
        shape = shape_of(leaf.type)
        if len(shape) < len(wanted):
            return leaf
        front = tuple(w if w is not None else s for w, s in zip(wanted, shape, strict=False))
        return self.arrays.retype(leaf, (*front, *shape[len(wanted):]), span)

    # Expressions

    def exp(self, exp: ast.Exp, env: Env) -> Value:
        """The value of ``exp``."""
        match exp:
            case ast.Literal(_, value):
                prim = exp.type
                assert isinstance(prim, Prim)
                return Dynamic(_constant(value, prim), prim)
            case ast.StringLit(span, text):
                atoms = tuple(Const(byte, Prim.U8) for byte in text)
                return self._array_literal([Dynamic(a, Prim.U8) for a in atoms], span)
            case ast.Name():
                return self._variable(exp, env)
            case ast.TupleExp(_, items):
                return TupleValue(tuple([self.exp(item, env) for item in items]))
            case ast.RecordExp(_, fields):
                values = {name: self.exp(item, env) for name, item in fields}
                return RecordValue(tuple(sorted(values.items(), key=lambda f: f[0])))
            case ast.ArrayExp(span, items):
                return self._array(exp, items, env, span)
            case ast.Range():
                return self._range(exp, env)
            case ast.Project(_, record, name):
                return project(self.exp(record, env), name)
            case ast.IndexExp(span, array, dims):
                indexed = self.exp(array, env)
                return self.arrays.index(indexed, self._dims(dims, indexed, env), span)
            case ast.UpdateExp(span, array, dims, new):
                old = self.exp(array, env)
                return self.arrays.update(old, self._dims(dims, old, env),
                                          self.exp(new, env), span)
            case ast.RecordUpdate(_, record, path, new):
                return _update_field(self.exp(record, env), path, self.exp(new, env))
            case ast.Apply(span, fun, args):
                return self._application(fun, args, env, span)
            case ast.BinExp():
                return self._binary(exp, env)
            case ast.Negate(span, arg):
                operand = self._scalar(arg, env)
                prim = elem_of(operand.type)
                return Dynamic(self.builder.op("neg", prim, (operand.atom,), span), prim)
            case ast.Not(span, arg):
                operand = self._scalar(arg, env)
                prim = elem_of(operand.type)
                return Dynamic(self.builder.op("not", prim, (operand.atom,), span), prim)
            case ast.LambdaExp(_, params, ret, body):
                return self._function("lambda", (), params, ret, body, dict(env))
            case ast.OpSection():
                return self._section(exp, env)
            case ast.ProjectSection(_, path):
                return Function(1, lambda args, span: _project_path(args[0], path))
            case ast.IndexSection(_, dims):
                return Function(1, lambda args, span: self.arrays.index(
                    args[0], self._dims(dims, args[0], env), span))
            case ast.IfExp(span, cond, then_, else_):
                return self.branch(self._scalar(cond, env), lambda: self.exp(then_, env),
                                   lambda: self.exp(else_, env), span)
            case ast.Constr():
                return construct(self, exp, env)
            case ast.MatchExp():
                return match_value(self, exp, self.exp(exp.value, env), env)
            case ast.LetPat(_, sizes, pattern, value, body):
                inner = dict(env)
                free = {s.name for s in sizes}
                self.bind(pattern, self.exp(value, env), inner, free)
                for size in sizes:
                    if size.name in free and size.known is not None:
                        atom = self._size(size.known, inner, size.span)
                        if atom is not None:
                            inner[size.name] = Dynamic(atom, Prim.I64)
                return self.exp(body, inner)
            case ast.LetFun(_, name, type_params, params, ret, value, body):
                inner = dict(env)
                inner[name] = self._function(name, type_params, params, ret, value, env)
                return self.exp(body, inner)
            case ast.LetWith(span, name, _, dims, value, body):
                inner = dict(env)
                whole = env[name]
                inner[name] = self.arrays.update(whole, self._dims(dims, whole, env),
                                                 self.exp(value, env), span)
                return self.exp(body, inner)
            case ast.LoopExp():
                return self._loop(exp, env)
            case ast.Ascript(span, value, type_exp):
                return self._conform(type_exp, self.exp(value, env), env, span)
            case ast.Coerce(span, value, type_exp):
                return self._conform(type_exp, self.exp(value, env), env, span, check=True)
            case ast.AssertExp(span, cond, value):
                condition = self._scalar(cond, env)
                self.builder.emit_stm((), Assert(
                    condition.atom, f"Assertion is false: ({cond.span.text})"), span)
                return self.exp(value, env)
            case ast.AttrExp(_, attr, value):
                with self._attribute(attr):
                    return self.exp(value, env)
        raise CompilerBug(f"{exp.span}: expression {type(exp).__name__}")

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

    def _scalar(self, exp: ast.Exp, env: Env) -> Dynamic:
        value = self.exp(exp, env)
        assert isinstance(value, Dynamic)
        return value

    def _application(self, fun: ast.Exp, args: tuple[ast.Exp, ...], env: Env,
                     span: Span) -> Value:
        """A call; the sizes of its arguments may be implicit arguments as well."""
        if not (isinstance(fun, ast.Name) and fun.sizes):
            return self.apply(self.exp(fun, env), tuple([self.exp(a, env) for a in args]), span)
        values = tuple([self.exp(arg, env) for arg in args])
        return self.apply(self.exp(fun, _with_sizes_of(args, values, env)), values, span)

    def _variable(self, exp: ast.Name, env: Env) -> Value:
        """The value of a name, for the sizes that the type checker has found for it."""
        if exp.name.quals or exp.name.name not in env:
            rank = _UNFLATTEN.get(str(exp.name))
            if rank is not None:
                return self._unflatten(exp, rank, env)
        value = self._name(exp.name, env, exp.span)
        if isinstance(value, Function) and value.instantiate is not None and exp.sizes:
            found = {name: self._size(size, env, exp.span) for name, size in exp.sizes.items()}
            return value.instantiate({name: Dynamic(atom, Prim.I64)
                                      for name, atom in found.items() if atom is not None})
        return value

    def _size(self, size: Size, env: Env, span: Span) -> Atom | None:
        """A size of a type as the program computes it; None if it has parts that nothing names."""
        op = self.builder.op
        total: Atom = i64(0)
        for monomial, coefficient in size.terms:
            term: Atom = i64(coefficient)
            for factor in monomial:
                atom: Atom | None = None
                if isinstance(factor, VName):
                    known = env.get(factor)
                    atom = known.atom if isinstance(known, Dynamic) else None
                elif isinstance(factor, Applied):
                    atom = self._applied_size(factor, env, span)
                if atom is None:
                    return None
                term = op("mul", Prim.I64, (term, atom), span)
            total = op("add", Prim.I64, (total, term), span)
        return total

    def _applied_size(self, factor: Applied, env: Env, span: Span) -> Atom | None:
        atoms = [self._size(arg, env, span) for arg in factor.args]
        args = tuple(Dynamic(atom, Prim.I64) for atom in atoms if atom is not None)
        if len(args) < len(atoms):
            return None
        if factor.op in OPERATORS:
            value = arithmetic(self, factor.op, args[0], args[1], span)
        else:
            value = self.apply(self.globals[factor.op], args, span)
        return value.atom if isinstance(value, Dynamic) else None

    def _name(self, name: ast.QualName, env: Env, span: Span) -> Value:
        if not name.quals and name.name in env:
            return env[name.name]
        value = intrinsic(self, name.quals, name.name)
        if value is None and name.name in self._size_params:
            raise ProgramError(Diagnostic(
                "ambiguous-size", span, f"Nothing decides which size '{name}' stands for here.",
                hints=("Say it in a type annotation where the function is used.",)))
        if value is None:
            raise ProgramError(Diagnostic("recursive-function", span,
                                          f"'{name}' is not defined before its use here.",
                                          hints=("Functions cannot be recursive.",)))
        return value

    # Operators

    def _binary(self, exp: ast.BinExp, env: Env) -> Value:
        op = str(exp.op)
        if op in env:
            return self.apply(env[op], (self.exp(exp.left, env), self.exp(exp.right, env)),
                              exp.span)
        if op in ("&&", "||"):
            return self._lazy(op, exp, env)
        if op in OPERATORS or op in EQUALITY:
            return arithmetic(self, op, self.exp(exp.left, env), self.exp(exp.right, env), exp.span)
        fun = self._name(exp.op, env, exp.op_span)
        left = self.exp(exp.left, env)
        if op == "|>":
            env = _with_sizes_of((exp.left,), (left,), env)
        return self.apply(fun, (left, self.exp(exp.right, env)), exp.span)

    def _lazy(self, op: str, exp: ast.BinExp, env: Env) -> Value:
        """``&&`` and ``||``: the right operand runs only when it matters."""
        left = self._scalar(exp.left, env)
        if left.atom == (FALSE if op == "&&" else TRUE):
            return left
        with self.builder.scope() as scope:
            right = self._scalar(exp.right, env)
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
        op = str(exp.op)
        if op in env:
            fun: Value = env[op]
        elif op in OPERATORS or op in EQUALITY:
            fun = Function(2, lambda args, span: arithmetic(self, op, args[0], args[1], span))
        else:
            fun = self._name(exp.op, env, exp.span)
        if exp.left is not None:
            return self.apply(fun, (self.exp(exp.left, env),), exp.span)
        if exp.right is not None:
            right = self.exp(exp.right, env)
            return Function(1, lambda args, span: self.apply(fun, (args[0], right), span))
        return fun

    # Arrays

    def _array(self, exp: ast.ArrayExp, items: tuple[ast.Exp, ...], env: Env, span: Span) -> Value:
        if not items:
            assert isinstance(exp.type, Array)
            return self._empty(exp.type, span)
        return self._array_literal([self.exp(item, env) for item in items], span)

    def _empty(self, type_: Type, span: Span) -> Value:
        def leaf(type_: Type, outer: tuple[Atom, ...]) -> Value:
            match type_:
                case Prim():
                    return self.arrays.blank(array_of(outer, type_), span)
                case Array(size, elem):
                    return leaf(elem, (*outer, i64(size.constant or 0)))
                case Tuple(items):
                    return TupleValue(tuple(leaf(item, outer) for item in items))
                case Record(fields):
                    return RecordValue(tuple((n, leaf(t, outer)) for n, t in fields))
                case Sum(fields):
                    return value_of(fields, lambda part: leaf(part, outer))
            raise CompilerLimitation(f"{span}: an empty array whose element type is not known.")
        return leaf(type_, ())

    def _array_literal(self, items: list[Value], span: Span) -> Value:
        if not items:
            return self.arrays.blank(array_of((i64(0),), Prim.U8), span)
        items = self.arrays.aligned(items, span)
        columns = zip(*(leaves(item) for item in items), strict=True)
        parts: list[Dynamic] = []
        for column in columns:
            row = column[0].type
            for other in column[1:]:
                for a, b in zip(shape_of(row), shape_of(other.type), strict=True):
                    self.arrays.require_equal(a, b, span)
            type_ = array_of((i64(len(items)),), row)
            node = ArrayLit(tuple(part.atom for part in column), row)
            parts.append(Dynamic(self.builder.emit1(node, type_, "xs", span), type_))
        return rebuild(items[0], iter(parts))

    def _unflatten(self, exp: ast.Name, rank: int, env: Env) -> Value:
        """``unflatten`` to the sizes that the type checker has found."""
        factors = sorted(exp.sizes, key=lambda name: name.tag)
        sizes = [self._size(exp.sizes[name], env, exp.span) for name in factors]
        known = tuple(size for size in sizes if size is not None)
        if len(known) != rank:
            raise CompilerLimitation(
                f"{exp.span}: '{exp.name}' needs to be told the sizes: write "
                f"{exp.name} (e :> [{'*'.join('nmop'[:rank])}]t).")
        return Function(1, lambda args, span: unflatten(self, known, args[0], span))

    def _range(self, exp: ast.Range, env: Env) -> Value:
        op, span = self.builder.op, exp.span
        first, last = self._scalar(exp.first, env), self._scalar(exp.last, env)
        prim = elem_of(first.type)

        def wide(atom: Atom) -> Atom:
            return self.builder.convert(prim, Prim.I64, atom, span)

        span_ = op("sub", Prim.I64, (wide(last.atom), wide(first.atom)), span)
        if exp.second is None:
            down = exp.kind == "..>"
            step: Atom = Const(-1 if down else 1, prim)
            count = op("sub", Prim.I64, (i64(0), span_), span) if down else span_
            if exp.kind == "...":
                count = op("add", Prim.I64, (count, i64(1)), span)
        else:
            second = self._scalar(exp.second, env)
            step = op("sub", prim, (second.atom, first.atom), span)
            stride = wide(step)
            if exp.kind == "...":
                steps = op("quot", Prim.I64, (span_, stride), span)
                count = op("add", Prim.I64, (steps, i64(1)), span)
            else:
                sign = op("sgn", Prim.I64, (stride,), span)
                reach = op("add", Prim.I64, (span_, op("sub", Prim.I64, (stride, sign), span)),
                           span)
                count = op("quot", Prim.I64, (reach, stride), span)
            count = op("max", Prim.I64, (count, i64(0)), span)
        return self.arrays.iota(count, first.atom, step, prim, span)

    def _dims(self, dims: tuple[ast.IndexDim, ...], array: Value, env: Env) -> list[Dim]:
        shape = shape_of(next(leaves(array)).type)
        return [self._slice(dim, size, env) if isinstance(dim, ast.SliceExp)
                else self._index(dim, env) for dim, size in zip(dims, shape, strict=False)]

    def _index(self, exp: ast.Exp, env: Env) -> Atom:
        value = self._scalar(exp, env)
        return self.builder.convert(elem_of(value.type), Prim.I64, value.atom, exp.span)

    def _slice(self, dim: ast.SliceExp, size: Atom, env: Env) -> SliceDim:
        op, span = self.builder.op, dim.span
        step = self._index(dim.step, env) if dim.step is not None else i64(1)
        backwards = isinstance(step, Const) and step.value < 0
        start = self._index(dim.start, env) if dim.start is not None else (
            op("sub", Prim.I64, (size, i64(1)), span) if backwards else i64(0))
        stop = self._index(dim.stop, env) if dim.stop is not None else (
            i64(-1) if backwards else size)
        reach = op("sub", Prim.I64, (stop, start), span)
        if step == i64(1):
            return SliceDim(start, reach, step)
        sign = op("sgn", Prim.I64, (step,), span)
        rounded = op("add", Prim.I64, (reach, op("sub", Prim.I64, (step, sign), span)), span)
        count = op("max", Prim.I64, (op("quot", Prim.I64, (rounded, step), span), i64(0)), span)
        return SliceDim(start, count, step)

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

    def _loop(self, exp: ast.LoopExp, env: Env) -> Value:
        init = self.exp(exp.init, env) if exp.init is not None else _pattern_value(exp.pattern, env)
        init = self._init_sizes(exp.pattern, init, env)
        varying: set[tuple[int, int]] = set()
        while True:
            result = self._loop_with(exp, env, init, varying)
            if isinstance(result, set):
                varying |= result
            elif isinstance(result, _Wider):
                init = result.init
            else:
                return result

    def _init_sizes(self, pattern: ast.Pattern, init: Value, env: Env) -> Value:
        """The initial value with the sizes that the pattern's annotation names."""
        if isinstance(pattern, ast.PatAscript):
            return self._conform(pattern.type_exp, init, env, pattern.span)
        if isinstance(pattern, ast.PatTuple) and isinstance(init, TupleValue):
            return TupleValue(tuple(self._init_sizes(p, v, env) for p, v in
                                    zip(pattern.items, init.items, strict=True)))
        return init

    def _loop_with(self, exp: ast.LoopExp, env: Env, init: Value,
                   varying: set[tuple[int, int]]) -> Value | set[tuple[int, int]] | _Wider:
        """The loop, if only the sizes in ``varying`` (leaf, dimension) change; else which do."""
        builder, span = self.builder, exp.span
        parts = list(leaves(init))
        bound: Atom | None = None
        array: Value | None = None
        bound_prim = Prim.I64
        if isinstance(exp.form, ast.ForForm):
            limit = self._scalar(exp.form.bound, env)
            bound_prim = elem_of(limit.type)
            bound = builder.convert(bound_prim, Prim.I64, limit.atom, span)
        elif isinstance(exp.form, ast.ForInForm):
            array = self.exp(exp.form.array, env)
            bound = outer_size(array)
        with builder.scope() as body_scope:
            sizes: list[LoopParam] = []
            params: list[LoopParam] = []
            for k, part in enumerate(parts):
                shape = list(shape_of(part.type))
                for d in range(len(shape)):
                    if (k, d) in varying:
                        size = builder.fresh("n", Prim.I64)
                        sizes.append(LoopParam(size, shape[d]))
                        shape[d] = size.name
                type_ = array_of(tuple(shape), elem_of(part.type))
                params.append(LoopParam(builder.fresh("loop", type_), part.atom))
            carried = rebuild(init, iter([Dynamic(p.param.name, p.param.type) for p in params]))
            index = builder.names.fresh("i")
            body_scope.bound.add(index)
            inner = dict(env)
            self.bind(exp.pattern, carried, inner, {s.name for s in exp.sizes})
            if isinstance(exp.form, ast.ForForm):
                counter = builder.convert(Prim.I64, bound_prim, index, span)
                self.bind(exp.form.pattern, Dynamic(counter, bound_prim), inner, set())
            elif array is not None and isinstance(exp.form, ast.ForInForm):
                element = self.arrays.index(array, [index], span, checked=False)
                self.bind(exp.form.pattern, element, inner, set())
            result = self.arrays.complete(self.exp(exp.body, inner), init, span)
            after = list(leaves(result))
            cond: Dynamic | None = None
            if isinstance(exp.form, ast.WhileForm):
                inner = dict(env)
                self.bind(exp.pattern, result, inner, {s.name for s in exp.sizes})
                cond = self._scalar(exp.form.cond, inner)
        if len(after) > len(parts):
            return _Wider(self.arrays.complete(init, result, span, body_scope))
        changed = {(k, d) for k, (p, a) in enumerate(zip(params, after, strict=True))
                   for d, (m, n) in enumerate(zip(shape_of(p.param.type), shape_of(a.type),
                                                  strict=True))
                   if m != n and (k, d) not in varying}
        if changed:
            return changed
        next_sizes = tuple(shape_of(after[k].type)[d] for k, part in enumerate(parts)
                           for d in range(len(shape_of(part.type))) if (k, d) in varying)
        next_values = (*next_sizes, *(a.atom for a in after))
        all_params = [*sizes, *params]
        form: ForLoop | WhileLoop
        if cond is not None:
            start = self._while_start(exp, env, init)
            flag = builder.fresh("continue", Prim.BOOL)
            all_params.insert(0, LoopParam(flag, start))
            next_values = (cond.atom, *next_values)
            form = WhileLoop(flag.name)
        else:
            assert bound is not None
            form = ForLoop(index, bound)
        return self._emit_loop(init, all_params, form, body_scope, next_values, span)

    def _while_start(self, exp: ast.LoopExp, env: Env, init: Value) -> Atom:
        assert isinstance(exp.form, ast.WhileForm)
        inner = dict(env)
        self.bind(exp.pattern, init, inner, {s.name for s in exp.sizes})
        return self._scalar(exp.form.cond, inner).atom

    def _emit_loop(self, init: Value, params: list[LoopParam], form: ForLoop | WhileLoop,
                   scope: Scope, result: tuple[Atom, ...], span: Span) -> Value:
        """Emit a loop; its results are named after its parameters, sizes included."""
        builder = self.builder
        renamed: dict[Atom, Atom] = {}
        pat: list[Param] = []
        for p in params:
            shape = tuple(renamed.get(size, size) for size in shape_of(p.param.type))
            out = builder.fresh(p.param.name.base, array_of(shape, elem_of(p.param.type)))
            renamed[p.param.name] = out.name
            pat.append(out)
        builder.emit_stm(tuple(pat), Loop(tuple(params), form, builder.body(scope, result)), span)
        values = pat[len(pat) - len(list(leaves(init))):]
        return rebuild(init, iter([Dynamic(p.name, p.type) for p in values]))


@dataclass(frozen=True, slots=True)
class _Wider:
    """The initial value of a loop with payloads that the body can make."""

    init: Value


def _constant(value: int | float | bool, prim: Prim) -> Const:
    if prim is Prim.BOOL:
        return Const(bool(value), prim)
    if prim.is_float:
        return Const(float(prim.dtype.type(value)), prim)
    wrapped = int(value) & ((1 << prim.bits) - 1)
    if prim.is_signed and wrapped > prim.greatest:
        wrapped -= 1 << prim.bits
    return Const(wrapped, prim)


def _with_sizes_of(exps: tuple[ast.Exp, ...], values: tuple[Value, ...], env: Env) -> Env:
    """``env`` that knows the sizes in the types of evaluated expressions."""
    inner = dict(env)
    for exp, value in zip(exps, values, strict=True):
        if isinstance(exp.type, Array | Tuple | Record):
            for size, atom in sizes_by_type(exp.type, value):
                inner.setdefault(size, Dynamic(atom, Prim.I64))
    return inner


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


def _pattern_value(pattern: ast.Pattern, env: Env) -> Value:
    match pattern:
        case ast.PatName(_, name):
            return env[name]
        case ast.PatTuple(_, items):
            return TupleValue(tuple(_pattern_value(item, env) for item in items))
        case ast.PatRecord(_, fields):
            return RecordValue(tuple(sorted(((n, _pattern_value(p, env)) for n, p in fields),
                                            key=lambda f: f[0])))
        case ast.PatAscript(_, inner):
            return _pattern_value(inner, env)
    raise CompilerBug(f"{pattern.span}: loop pattern")


_UNFLATTEN = {"unflatten": 2, "unflatten_3d": 3, "unflatten_4d": 4}
"""How many sizes the result has."""
