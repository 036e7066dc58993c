"""Uniqueness: an array that was consumed is not looked at again, under any of its names.

Consumption is by an update (``with``, ``let a[i] =``), by passing to a parameter declared ``*t``,
or by a loop that consumes its parameter.  A result of a function that is not declared unique may be
an alias of each argument that it does not consume.  It may also be an alias of anything that the
function refers to.

Meaning is by value, so this check finds what Futhark would refuse; programs are right without it.

Source: Henriksen, Serup, Elsman, Henglein and Oancea, Futhark: Purely Functional GPU-Programming
with Nested Parallelism and In-Place Array Updates, PLDI 2017, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from runelift.frontend.check.aliases import (
    NONE,
    Leaf,
    Origin,
    Origins,
    Parts,
    Tree,
    collect,
    each_leaf,
    flags,
    fresh_enough,
    holds_arrays,
    items_of,
    join,
    leaves,
    origins,
    position,
    rebuild,
    shared,
    together,
    with_component,
)
from runelift.frontend.check.carried import loop
from runelift.frontend.check.forms import tail
from runelift.frontend.check.stars import (
    copied,
    defined,
    parameter,
    reworded,
    unique_parts,
    unique_pattern,
    update_of,
    written_at_once,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.layered import Layered
from runelift.frontend.syntax.nodes import Node, parts
from runelift.frontend.syntax.types import Arrow, Type, Unique
from runelift.ir.base.errors import Code, Diagnostic, Label, Replacement
from runelift.ir.base.source import Span

Env = Layered[str, Tree]

WINDOWS = frozenset(f"lift.{name}" for name in ("slide", "pad", "slide2d", "pad2d"))
"""Functions whose results show elements in places where they are not."""


def check_uniqueness(dec: ast.ValDec, constants: dict[str, Origin]) -> tuple[
        list[Diagnostic], Leaf]:
    """The errors of a declaration that uses consumed arrays, and the uniqueness of its result.

    The leaf says which parts of a function's result are unique.
    """
    walk = Walk(constants)
    if dec.params:
        return walk.errors, walk.function(dec.params, dec.ret, dec.body, Layered())
    tree = walk.exp(dec.body, Layered())
    if unique_parts(dec.ret):
        walk.error("unique-constant", dec.name_span, f'The constant "{dec.name}" cannot be '
                   "unique.", "Leave out the '*', and update copies of it.")
    return walk.errors, tree if isinstance(tree, Leaf) else Leaf()


@dataclass(slots=True)
class Walk:
    """The walk over a declaration, with the arrays that it has consumed and used so far."""

    constants: dict[str, Origin]
    errors: list[Diagnostic] = field(default_factory=list)
    consumed: dict[Origin, Span] = field(default_factory=dict)
    observed: dict[Origin, tuple[str, Span]] = field(default_factory=dict)
    """The arrays that the function or loop around has looked at, each with name and place."""
    depth: int = 0

    def error(self, code: Code, span: Span, message: str, hint: str,
              *labels: Label) -> None:
        """Report an error."""
        self.errors.append(Diagnostic(code, span, message, labels, (hint,)))

    # Names

    def bind(self, pattern: ast.Pattern, tree: Tree, env: Env,
             fixed: str = "") -> Tree:
        """Bind the names of a pattern; return the value's tree, with origins where it had none."""
        match pattern:
            case ast.PatName(_, name):
                env[name] = self.named(name, pattern.type, tree, fixed)
                return env[name]
            case ast.PatAscript(_, inner):
                return self.bind(inner, tree, env, fixed)
            case ast.PatTuple(_, items) if isinstance(tree, Parts) or pattern.type:
                return self._bind_each(items, tree, env, fixed)
            case ast.PatRecord(_, members) if isinstance(tree, Parts) or pattern.type:
                ordered = sorted(members, key=lambda member: member[0])
                return self._bind_each([item for _, item in ordered], tree, env, fixed)
            case ast.PatConstr(_, _, items):
                for item in items:
                    self.bind(item, shared(item.type, origins(tree)), env, fixed)
        return tree

    def _bind_each(self, items: Sequence[ast.Pattern], tree: Tree, env: Env, fixed: str) -> Tree:
        """Bind the patterns in a tuple or record."""
        values = items_of(tree, [item.type for item in items])
        return together([self.bind(item, value, env, fixed)
                         for item, value in zip(items, values, strict=True)])

    def named(self, name: str, type_: Type | None, tree: Tree, fixed: str = "") -> Tree:
        """``tree`` with an origin called ``name`` for each array that nothing refers to."""
        holding = leaves(shared(type_, frozenset({Origin(name, self.depth)})))

        def leaf(old: Leaf) -> Leaf:
            if old.origins or not next(holding).origins:
                return old
            return Leaf(frozenset({Origin(name, self.depth, fixed)}), old.unique, old.arity,
                        old.width)
        return each_leaf(leaf, tree)

    def parameter(self, pattern: ast.Pattern, env: Env, unique: Unique) -> Tree:
        """Bind a parameter: only what is declared unique may be consumed."""
        tree = shared(pattern.type, NONE)
        return self.new(pattern, tree, env, [not flag for flag in flags(tree, unique)],
                        "its parameter is not unique")

    def new(self, pattern: ast.Pattern, tree: Tree, env: Env, kept: list[bool], why: str) -> Tree:
        """Bind a pattern to a value that nothing refers to, parts of which may not be consumed."""
        loose = leaves(self.bind(pattern, tree, env.child()))
        fixed = leaves(self.bind(pattern, tree, env.child(), why))
        chosen = [b if keep else a for a, b, keep in zip(loose, fixed, kept, strict=True)]
        return self.bind(pattern, rebuild(tree, iter(chosen)), env)

    def look(self, name: str, span: Span, env: Env) -> Tree:
        """Use a variable: the tree of its value."""
        tree: Tree | None = env.get(name)
        if tree is None:
            constant = self.constants.get(name)
            return Leaf() if constant is None else Leaf(frozenset({constant}))
        self.observe(name, origins(tree), span)
        return tree

    def observe(self, name: str, found: Origins, span: Span) -> None:
        """Refuse a use of ``name`` if a value in ``found`` was consumed."""
        for origin in found:
            self.observed.setdefault(origin, (name, span))
            if (place := self.consumed.get(origin)) is not None:
                self.used_again(name, origin, span, place)

    def used_again(self, name: str, origin: Origin, span: Span, place: Span) -> None:
        """Report that ``origin``, consumed at ``place``, is used as ``name``."""
        alias = ("but it" if name == origin.name else
                 f"which may be an alias of {origin.shown}, but that")
        kept = None if name == origin.name else copied(name, span)
        if span.start < place.start and place.text != name:  # the loop has another name for it
            kept = Replacement(f"The loop's own name for it is {place.text}.", place.text, span)
        self.error("use-after-consume", span, f'Using "{name}", {alias} was consumed.',
                   kept or update_of(place) or f"Update a copy: copy {origin.name}.",
                   Label(place, "consumed here"),
                   *(defined(kept) if kept is not None and span.start > place.start else ()))

    def consume(self, found: Origins, span: Span) -> None:
        """Mark as consumed, or say why that is not allowed."""
        if (view := next((o.name for o in found if o.window), None)) is not None:
            self.error("write-through-window", span, f"This may be what {view} shows of another "
                       "array, which cannot be overwritten there.", "Update a copy: copy (...).")
            return
        for origin in sorted(found, key=lambda o: o.name):
            hint = f"Update a copy: copy {origin.name}."
            if origin.fixed:
                place = None if origin.depth < 0 else parameter(origin.name, span)
                kept = copied(span.text, span)
                hint = kept or update_of(span) or hint
                self.error("not-consumable", span,
                           f'Consuming variable "{origin.name}", which is not consumable: '
                           f"{origin.fixed}.",
                           hint if place is None else reworded(
                               hint, f"Declare the parameter with a star, {origin.name}: "
                               f"*{place.type}, or "
                               f"{hint[0].lower()}{hint[1:]}"),
                           *defined(kept),
                           *[Label(place.span, "its parameter") for _ in [place] if place])
            elif origin.depth < self.depth:
                self.error("consume-free", span,
                           f'Consuming variable "{origin.name}", which is not consumable here: '
                           "it is bound outside of a function or loop that may run many times.",
                           written_at_once(origin.name, span) or hint)
            else:
                self.consumed.setdefault(origin, span)

    # Expressions

    def exp(self, exp: ast.Exp, env: Env) -> Tree:
        """Walk an expression in the order of its evaluation; the origins its value may share.

        One case per construct makes it long.
        """
        match exp:
            case ast.Name(span, name):
                tree = self.look(str(name), span, env)
                if isinstance(tree, Leaf) and not isinstance(exp.type, Arrow):
                    return shared(exp.type, tree.origins)
                return tree
            case ast.TupleExp(_, items):
                return together([self.exp(item, env) for item in items])
            case ast.RecordExp(_, members):
                values = {name: self.exp(item, env) for name, item in members}
                return together([values[name] for name in sorted(values)])
            case ast.Project(_, record, name):
                return self.project(exp, record, name, env)
            case ast.IndexExp(_, array):
                self.parts(exp, env, skip=(array,))
                return shared(exp.type, origins(self.exp(array, env)))
            case ast.UpdateExp():
                return self.update(exp, env)
            case ast.RecordUpdate(_, record, path, value):
                old = self.exp(record, env)
                return with_component(old, record.type, path, self.exp(value, env))
            case ast.LetWith():
                return self.let_with(exp, env)
            case ast.Apply(_, fun, args):
                return self.apply(exp, self.exp(fun, env), fun.type, args, env, _called(fun))
            case ast.BinExp():
                return self.binary(exp, env)
            case ast.OpSection(_, op, left, right):  # as in Futhark, it consumes no operand
                found = [origins(self.exp(e, env)) for e in (left, right) if e is not None]
                inner = origins(self.look(str(op), exp.span, env))
                return Leaf(inner.union(*found))
            case ast.LetPat(_, _, pattern, value, body):
                tree = self.value(value, env)
                scope = env.child()
                self.bind(pattern, tree, scope)
                return self.exp(body, scope)
            case ast.LetFun(_, name, _, params, ret, value, body):
                function = (self.function(params, ret, value, env) if params
                            else self.value(value, env))
                scope = env.child()
                scope[name] = self.named(name, value.type, function) if not params else function
                return self.exp(body, scope)
            case ast.LambdaExp(_, params, ret, body):
                return self.function(params, ret, body, env)
            case ast.IfExp(_, cond, then_, else_):
                self.exp(cond, env)
                return self.branches([lambda: self.exp(then_, env), lambda: self.exp(else_, env)])
            case ast.MatchExp(_, value, cases):
                tree = self.exp(value, env)
                return self.branches([lambda case=case: self.case(case, tree, env)  # type: ignore[misc]
                                      for case in cases])
            case ast.LoopExp():
                return loop(self, exp, env)
            case ast.Ascript(_, value) | ast.Coerce(_, value) | ast.AttrExp(_, _, value):
                return self.exp(value, env)
            case ast.AssertExp(_, cond, value):
                self.exp(cond, env)
                return self.exp(value, env)
            case ast.Constr(_, _, args):
                return Leaf(NONE.union(*(origins(self.exp(arg, env)) for arg in args)))
        self.parts(exp, env)
        return shared(exp.type, NONE)

    def value(self, exp: ast.Exp, env: Env) -> Tree:
        """A value that is kept; a function must not consume before it is applied."""
        before = len(self.consumed)
        tree = self.exp(exp, env)
        if isinstance(exp.type, Arrow) and len(self.consumed) > before:
            origin, place = list(self.consumed.items())[-1]
            self.error("consume-free", place, "A function may run many times, but making this "
                       f'one involves the consumption of "{origin.name}".',
                       f"Update a copy: copy {origin.name}.")
        return tree

    def project(self, exp: ast.Project, record: ast.Exp, name: str, env: Env) -> Tree:
        """The tree of a record's component; of a variable, only that component counts as used."""
        path = [(record.type, name)]
        while isinstance(record, ast.Project):
            path.append((record.record.type, record.field_name))
            record = record.record
        variable = isinstance(record, ast.Name) and not record.name.quals
        tree = env.get(str(record.name)) if isinstance(record, ast.Name) else None
        if not variable or tree is None:
            tree = self.exp(record, env)
        for type_, label in reversed(path):
            if isinstance(tree, Leaf):
                return shared(exp.type, tree.origins)
            tree = tree.items[position(type_, label)]
        if isinstance(record, ast.Name):
            self.observe(str(record.name), origins(tree), exp.span)
        return tree

    def update(self, exp: ast.UpdateExp, env: Env) -> Tree:
        """``a with [i] = v`` consumes ``a``."""
        self.parts(exp, env, skip=(exp.array, exp.value))
        value = self.exp(exp.value, env)
        array = self.exp(exp.array, env)
        self.overwrite(origins(array), value, exp.array.span, exp.value.span)
        return shared(exp.type, NONE)

    def let_with(self, exp: ast.LetWith, env: Env) -> Tree:
        """``let a[i] = v in e`` consumes the old ``a``."""
        self.parts(exp, env, skip=(exp.body, exp.value))
        value = self.exp(exp.value, env)
        old = self.look(exp.name, exp.name_span, env)
        self.overwrite(origins(old), value, exp.name_span, exp.value.span)
        fresh = Leaf(frozenset({Origin(exp.name, self.depth)}))
        scope = env.child()
        scope[exp.name] = fresh
        return self.exp(exp.body, scope)

    def overwrite(self, array: Origins, value: Tree, span: Span, place: Span) -> None:
        """Consume the array of an update, which the new elements must not be part of."""
        for origin in array & origins(value):
            self.error("self-alias", place, "The new value may be a part of "
                       f'"{origin.name}", which is updated.', "Update with a copy: copy e.",
                       Label(span, "consumed here"))
        self.consume(array, span)

    # Functions

    def apply(self, exp: ast.Exp, function: Tree, type_: Type | None,
              args: tuple[ast.Exp, ...], env: Env, name: str) -> Tree:
        """The tree of the result of a function or operator."""
        trees = self.arguments(type_, args, env, forward=isinstance(exp, ast.BinExp))
        kept: list[Origins] = []
        taken: list[tuple[Origins, Span]] = []
        fresh: Unique = False
        for arg, tree in zip(args, trees, strict=True):
            consumes = type_.consumes if isinstance(type_, Arrow) else False
            for leaf, unique in zip(leaves(tree), flags(tree, consumes), strict=True):
                if unique:
                    taken.append((leaf.origins, arg.span))
                else:
                    kept.append(leaf.origins)
            if isinstance(type_, Arrow):
                self.function_argument(type_.domain, tree, arg)
                fresh, type_ = type_.fresh, type_.codomain
        closure = origins(function)
        self.take(taken, closure.union(*kept))
        rest = function.arity - len(args) if isinstance(function, Leaf) else 0
        known: Unique = False
        if isinstance(function, Leaf) and function.arity:
            known = function.unique
            fresh = known if rest == 0 else fresh
        found = closure.union(*kept)
        if (called := name.strip('"')) in WINDOWS:
            found |= {Origin(called, self.depth, window=True)}
        if isinstance(exp.type, Arrow):
            found = found.union(*(each for each, _ in taken))
            return Leaf(found, known, rest) if rest > 0 else Leaf(found)
        return self.result(exp.type, fresh, found, name)

    def arguments(self, type_: Type | None, args: tuple[ast.Exp, ...], env: Env, *,
                  forward: bool) -> list[Tree]:
        """The values of arguments, evaluated from the last to the first unless ``forward``.

        None looks at what an earlier one consumes.  If it is itself an alias of that,
        :meth:`take` says so.
        """
        consumes: list[Unique] = []
        for _ in args:
            consumes.append(type_.consumes if isinstance(type_, Arrow) else False)
            type_ = type_.codomain if isinstance(type_, Arrow) else None
        trees: list[Tree] = []
        pending: dict[Origin, Span] = {}
        order = 1 if forward else -1
        for arg, marked in zip(args[::order], consumes[::order], strict=True):
            before, self.consumed = self.consumed, {**pending, **self.consumed}
            count = len(self.errors)
            tree = self.value(arg, env)
            if not origins(tree).isdisjoint(pending):
                del self.errors[count:]
            self.consumed = {origin: place for origin, place in self.consumed.items()
                             if origin in before or origin not in pending}
            pending |= {origin: arg.span for leaf, unique in zip(
                leaves(tree), flags(tree, marked), strict=True) if unique
                for origin in leaf.origins}
            trees.append(tree)
        return trees[::order]

    def function_argument(self, wanted: Type, tree: Tree, arg: ast.Exp) -> None:
        """Require a function with a unique result where a parameter wants such a function."""
        arity, fresh, type_ = _result(wanted)
        if not (fresh and isinstance(tree, Leaf)):
            return
        known = _result(arg.type)[:2] if tree.arity == 0 and isinstance(arg, ast.Name) else (
            tree.arity, tree.unique)
        if known[0] == arity and not fresh_enough(known[1], fresh, type_):
            self.error("unique-result", arg.span, "The result of this function must be unique.",
                       "Let the function return a copy: copy e.")

    def take(self, taken: list[tuple[Origins, Span]], kept: Origins) -> None:
        """Consume arguments, which must not alias each other or the other arguments."""
        for k, (found, span) in enumerate(taken):
            others = kept.union(*(each for n, (each, _) in enumerate(taken) if n != k))
            for origin in sorted(found & others, key=lambda o: o.name):
                self.error("self-alias", span, "Argument is consumed, but self-aliased: another "
                           f'one may be an alias of "{origin.name}".',
                           f"Pass a copy: copy {origin.name}.")
            self.consume(found, span)

    def result(self, type_: Type | None, fresh: Unique, found: Origins, name: str) -> Tree:
        """The tree of a call's result: parts that are not unique may be aliases of each other."""
        tree = shared(type_, found)
        unique = flags(tree, fresh)
        if not found and unique.count(False) > 1:
            found = frozenset({Origin(f"the result of applying {name}", self.depth)})
            tree = shared(type_, found)
        return rebuild(tree, iter([Leaf() if flag else leaf for leaf, flag in
                                   zip(leaves(tree), unique, strict=True)]))

    def binary(self, exp: ast.BinExp, env: Env) -> Tree:
        """An operator: a function, or one that applies functions."""
        op = str(exp.op)
        if op == "|>":
            return self.apply(exp, self.value(exp.right, env), exp.right.type, (exp.left,), env,
                              _called(exp.right))
        if op == "<|":
            return self.apply(exp, self.value(exp.left, env), exp.left.type, (exp.right,), env,
                              _called(exp.left))
        if op in ("&&", "||"):
            self.exp(exp.left, env)
            self.branches([lambda: Leaf(), lambda: self.exp(exp.right, env)])
            return Leaf()
        first = exp.op_type.codomain if isinstance(exp.op_type, Arrow) else None
        if isinstance(exp.op_type, Arrow) and isinstance(first, Arrow) and (
                exp.op_type.consumes or first.consumes):
            return self.apply(exp, self.look(op, exp.op_span, env), exp.op_type,
                              (exp.left, exp.right), env, f"({op})")
        left, right = self.exp(exp.left, env), self.exp(exp.right, env)
        inner = origins(self.look(op, exp.op_span, env))
        fresh = first.fresh if isinstance(first, Arrow) else False
        if not holds_arrays(exp.type):
            return shared(exp.type, NONE)
        return self.result(exp.type, fresh, inner | origins(left) | origins(right), f"({op})")

    def function(self, params: tuple[ast.Pattern, ...], ret: ast.TypeExp | None, body: ast.Exp,
                 env: Env) -> Leaf:
        """A function that may run any number of times."""
        inner = env.child()
        around, self.observed = self.observed, {}
        self.depth += 1
        for param in params:
            self.parameter(param, inner, unique_pattern(param))
        tree = self.exp(body, inner)
        unique = self.returned(tree, ret, body)
        self.depth -= 1
        self.consumed = {o: s for o, s in self.consumed.items() if o.depth <= self.depth}
        captured = {o: seen for o, seen in self.observed.items() if o.depth <= self.depth}
        self.observed = {**captured, **around}
        return Leaf(frozenset(captured), unique, len(params))

    def returned(self, tree: Tree, ret: ast.TypeExp | None, body: ast.Exp) -> Unique:
        """The unique parts of a function's result; errors if more are declared so."""
        span, parts = body.span, [leaf.origins for leaf in leaves(tree)]
        for origin in sorted(NONE.union(*parts), key=lambda o: o.name):
            if origin.depth < 0:
                self.error("returns-constant", span, "The result of the function aliases the free "
                           f'variable "{origin.name}".', f"Return a copy: copy {origin.name}.")
        declared = flags(tree, unique_parts(ret)) if ret is not None else [False] * len(parts)
        free: list[bool] = []
        for k, (found, wanted) in enumerate(zip(parts, declared, strict=True)):
            outside = [o for o in found if o.fixed or o.depth < self.depth]
            others = found & NONE.union(*parts[:k], *parts[k + 1:])
            free.append(not outside and not others)
            if wanted and outside:
                place, new = _returning(body, outside[0].name), f"copy {outside[0].name}"
                hint = f"Return a copy: {new}."
                self.error("unique-result", place or span, "The result is declared unique, but it "
                           f'may be aliased to "{outside[0].name}", which is not consumable here.',
                           hint if place is None else Replacement(hint, new))
            elif wanted and others:
                self.error("unique-result", span, "A unique component of the result may be "
                           "aliased to some other component.", "Return a copy: copy e.")
        return unique_parts(ret) if ret is not None else collect(tree, iter(free))

    # Control

    def branches(self, each: list[Callable[[], Tree]]) -> Tree:
        """Walk branches separately; afterwards all is consumed that any branch consumes."""
        before, after = dict(self.consumed), dict(self.consumed)
        result: Tree | None = None
        for branch in each:
            self.consumed = dict(before)
            tree = branch()
            result = tree if result is None else join(result, tree)
            after |= {o: s for o, s in self.consumed.items() if o not in after}
        self.consumed = after
        assert result is not None
        gone = after.keys() - before.keys()
        return each_leaf(lambda leaf: replace(leaf, origins=leaf.origins - gone), result)

    def case(self, case: ast.Case, tree: Tree, env: Env) -> Tree:
        """The tree of the result of a case."""
        inner = env.child()
        self.bind(case.pattern, tree, inner)
        return self.exp(case.body, inner)

    def parts(self, node: Node, env: Env, skip: tuple[Node, ...] = ()) -> None:
        """Walk the expressions directly inside of ``node``."""
        for name in parts(type(node)):
            self.part(getattr(node, name), env, skip)

    def part(self, value: object, env: Env, skip: tuple[Node, ...]) -> None:
        """Walk an expression, or all expressions in a tuple or slice."""
        if isinstance(value, tuple):
            for item in value:
                if not isinstance(item, ast.Literal):
                    self.part(item, env, skip)
        elif isinstance(value, ast.Exp):
            if all(value is not s for s in skip):
                self.exp(value, env)
        elif isinstance(value, ast.SliceExp):
            self.parts(value, env)


def _returning(body: ast.Exp, name: str) -> Span | None:
    """The place of a name that is the result of a body, or of a branch of it."""
    match tail(body):
        case ast.Name(span, found) if str(found) == name:
            return span
        case ast.IfExp(_, _, then_, else_):
            return _returning(then_, name) or _returning(else_, name)
        case ast.MatchExp(_, _, cases):
            return next(filter(None, (_returning(case.body, name) for case in cases)), None)
    return None


def _called(fun: ast.Exp) -> str:
    return f'"{fun.name}"' if isinstance(fun, ast.Name) else "a function"


def _result(type_: Type | None) -> tuple[int, Unique, Type | None]:
    """The number of arguments that a function takes, the unique parts of its result, its type."""
    arity: int = 0
    fresh: Unique = False
    while isinstance(type_, Arrow):
        arity, fresh, type_ = arity + 1, type_.fresh, type_.codomain
    return arity, fresh, type_
