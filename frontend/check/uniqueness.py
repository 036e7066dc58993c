"""Uniqueness: an array that was updated in place is not looked at again.

Consumption is by an update (``with``, ``let a[i] =``), by passing to a parameter declared
``*t``, or by a loop that consumes its parameter.  Names that are bound to another name, or to a
slice of one, are aliases of it; aliases through function results are not followed.  Meaning is
by value, so this check finds what Futhark would refuse; programs are right without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from runelift.frontend import ast
from runelift.frontend.types import Array, Arrow
from runelift.ir.errors import Diagnostic, Label
from runelift.ir.source import Span


@dataclass(eq=False, slots=True)
class Origin:
    """What names may be aliases of: its name, whether it may be consumed, how deep it is bound."""

    name: str
    consumable: bool
    depth: int


Env = dict[str, Origin]


def check_uniqueness(dec: ast.ValDec) -> list[Diagnostic]:
    """What a checked declaration does with arrays that are consumed."""
    walk = _Walk()
    env: Env = {}
    for param in dec.params:
        walk.bind(param, env, consumable=_unique(param))
    walk.exp(dec.body, env)
    return walk.errors


def _unique(pattern: ast.Pattern) -> bool:
    match pattern:
        case ast.PatAscript(_, inner, type_exp):
            return isinstance(type_exp, ast.TypeUnique) or _unique(inner)
    return False


@dataclass(slots=True)
class _Walk:
    errors: list[Diagnostic] = field(default_factory=list)
    consumed: dict[Origin, Span] = field(default_factory=dict)
    depth: int = 0

    def bind(self, pattern: ast.Pattern, env: Env, *, consumable: bool = True,
             alias: Origin | None = None) -> None:
        """Bind the names of a pattern to fresh origins, or to that of an alias."""
        match pattern:
            case ast.PatName(_, name):
                # Scalars are copied, so only arrays can be looked at too late.
                free = consumable or not isinstance(pattern.type, Array)
                env[name] = alias or Origin(name, free, self.depth)
            case ast.PatAscript(_, inner, type_exp):
                unique = isinstance(type_exp, ast.TypeUnique)
                self.bind(inner, env, consumable=consumable or unique, alias=alias)
            case ast.PatTuple(_, items) | ast.PatConstr(_, _, items):
                for item in items:
                    self.bind(item, env, consumable=consumable)
            case ast.PatRecord(_, parts):
                for _, item in parts:
                    self.bind(item, env, consumable=consumable)

    def origin(self, exp: ast.Exp, env: Env) -> Origin | None:
        """What ``exp`` is an alias of."""
        match exp:
            case ast.Name(_, name) if not name.quals and isinstance(exp.type, Array):
                return env.get(name.name)
            case ast.IndexExp(_, array) if isinstance(exp.type, Array):
                return self.origin(array, env)
            case ast.Ascript(_, value) | ast.Coerce(_, value) | ast.AttrExp(_, _, value):
                return self.origin(value, env)
        return None

    def consume(self, exp: ast.Exp, env: Env) -> None:
        """Consume what ``exp`` is an alias of."""
        origin = self.origin(exp, env)
        if origin is not None:
            self.consume_origin(origin, exp.span)

    def consume_origin(self, origin: Origin, span: Span) -> None:
        """Mark as consumed, or say why that is not allowed."""
        if not origin.consumable:
            self.errors.append(Diagnostic(
                "not-consumable", span,
                f"'{origin.name}' is consumed here, but its parameter is not unique.",
                hints=(f"Declare the parameter as '*', or update a copy: copy {origin.name}.",)))
        elif origin.depth < self.depth:
            self.errors.append(Diagnostic(
                "consume-free", span,
                f"'{origin.name}' is consumed inside of a function that may run many times.",
                hints=(f"Update a copy: copy {origin.name}.",)))
        else:
            self.consumed.setdefault(origin, span)

    def use(self, origin: Origin, span: Span) -> None:
        """An error if ``origin`` was consumed."""
        if (place := self.consumed.get(origin)) is not None:
            self.errors.append(Diagnostic(
                "use-after-consume", span, f"'{origin.name}' is used after it was consumed.",
                (Label(place, "consumed here"),), (f"Update a copy: copy {origin.name}.",)))

    def exp(self, exp: ast.Exp, env: Env) -> None:
        """Walk an expression in the order of its evaluation."""
        match exp:
            case ast.Name(span, name):
                if not name.quals and name.name in env:
                    self.use(env[name.name], span)
            case ast.UpdateExp(_, array):
                self.parts(exp, env, skip=(array,))
                self.exp(array, env)
                self.consume(array, env)
            case ast.LetWith(span, name, _, _, _, body):
                self.parts(exp, env, skip=(body,))
                if (origin := env.get(name)) is not None:
                    self.use(origin, span)
                    self.consume_origin(origin, span)
                self.exp(body, {**env, name: Origin(name, True, self.depth)})
            case ast.Apply(_, fun, args):
                self.parts(exp, env)
                type_ = fun.type
                for arg in args:
                    if isinstance(type_, Arrow):
                        if type_.consumes:
                            self.consume(arg, env)
                        type_ = type_.codomain
            case ast.LetPat(_, _, pattern, value, body):
                self.exp(value, env)
                inner = dict(env)
                self.bind(pattern, inner, alias=self.origin(value, env))
                self.exp(body, inner)
            case ast.LetFun(_, _, _, params, _, value, body):
                self.function(params, value, env)
                self.exp(body, env)
            case ast.LambdaExp(_, params, _, body):
                self.function(params, body, env)
            case ast.IfExp(_, cond, then_, else_):
                self.exp(cond, env)
                before = dict(self.consumed)
                self.exp(then_, env)
                after, self.consumed = self.consumed, before
                self.exp(else_, env)
                self.consumed = {**after, **self.consumed}
            case ast.MatchExp():
                self.match(exp, env)
            case ast.LoopExp():
                self.loop(exp, env)
            case _:
                self.parts(exp, env)

    def match(self, exp: ast.MatchExp, env: Env) -> None:
        """What any case consumes is consumed; cases do not see each other."""
        self.exp(exp.value, env)
        before, after = dict(self.consumed), dict(self.consumed)
        for case in exp.cases:
            self.consumed = dict(before)
            inner = dict(env)
            self.bind(case.pattern, inner, alias=self.origin(exp.value, env))
            self.exp(case.body, inner)
            after |= self.consumed
        self.consumed = after

    def function(self, params: tuple[ast.Pattern, ...], body: ast.Exp, env: Env) -> None:
        """A function that may run any number of times."""
        inner = dict(env)
        self.depth += 1
        for param in params:
            self.bind(param, inner, consumable=_unique(param))
        self.exp(body, inner)
        self.depth -= 1

    def loop(self, exp: ast.LoopExp, env: Env) -> None:
        """A loop consumes its initial value if its body consumes the parameter."""
        if exp.init is not None:
            self.exp(exp.init, env)
        inner = dict(env)
        self.bind(exp.pattern, inner)
        self.parts(exp.form, env if not isinstance(exp.form, ast.WhileForm) else inner)
        if isinstance(exp.form, ast.ForForm | ast.ForInForm):
            self.bind(exp.form.pattern, inner)
        self.exp(exp.body, inner)
        init = exp.init if exp.init is not None else exp.pattern
        for pattern, value in _pairs(exp.pattern, init):
            carried = inner.get(pattern.name)
            if carried in self.consumed and carried is not None:
                span = self.consumed[carried]
                origin = (self.origin(value, env) if isinstance(value, ast.Exp)
                          else env.get(pattern.name))
                if origin is not None:
                    self.consume_origin(origin, span)

    def parts(self, node: ast.Node, env: Env, skip: tuple[ast.Node, ...] = ()) -> None:
        """Walk the expressions directly inside of ``node``."""
        for item in fields(node):
            self.part(getattr(node, item.name), env, skip)

    def part(self, value: object, env: Env, skip: tuple[ast.Node, ...]) -> None:
        """Walk an expression, or those in a tuple or slice."""
        if isinstance(value, tuple):
            for item in value:
                self.part(item, env, skip)
        elif isinstance(value, ast.Exp):
            if all(value is not s for s in skip):
                self.exp(value, env)
        elif isinstance(value, ast.SliceExp):
            self.parts(value, env)


def _pairs(pattern: ast.Pattern, init: ast.Node) -> list[tuple[ast.PatName, ast.Node]]:
    """The names of a loop's pattern with the parts of its initial value."""
    match pattern, init:
        case ast.PatName(), _:
            return [(pattern, init)]
        case ast.PatAscript(_, inner), _:
            return _pairs(inner, init.pattern if isinstance(init, ast.PatAscript) else init)
        case ast.PatTuple(_, items), (ast.TupleExp(_, values) | ast.PatTuple(_, values)):
            return [pair for p, v in zip(items, values, strict=True) for pair in _pairs(p, v)]
    return []
