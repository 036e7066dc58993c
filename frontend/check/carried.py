"""The values that a loop carries from one iteration to the next, and which of them it consumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runelift.frontend.check.aliases import (
    NONE,
    Leaf,
    Origin,
    Origins,
    Parts,
    Tree,
    flags,
    leaves,
    origins,
    rebuild,
    shared,
    together,
)
from runelift.frontend.check.stars import typed_pattern, unique_pattern
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.layered import Layered
from runelift.frontend.syntax.nodes import Node
from runelift.ir.base.errors import Label
from runelift.ir.base.source import Span

if TYPE_CHECKING:
    from runelift.frontend.check.uniqueness import Walk


@dataclass(frozen=True, slots=True)
class Carried:
    """The leaves of a loop's values: initial, as parameters, and after the body."""

    init: list[Origins]
    params: list[Origins]
    body: list[Origins]

    @classmethod
    def of(cls, init: Tree, params: Tree, body: Tree) -> Carried:
        """The leaves of three trees of the same form."""
        start, own, end = ([leaf.origins for leaf in leaves(t)] for t in (init, params, body))
        return cls(start, own, end)

    def consumed(self, consumed: dict[Origin, Span], declared: list[bool]) -> set[int]:
        """The leaves that the loop consumes, and the leaves that flow into them.

        As in Futhark, stars alone do not always make a parameter consumed.  They do not if a next
        value that is to be unique has a name in the body.
        """
        found = {k for k, own in enumerate(self.params) if own & consumed.keys()}
        starred = {k for k, flag in enumerate(declared) if flag}
        flow = NONE.union(*(self.body[k] for k in found | starred))
        if flow <= consumed.keys():
            return found | starred
        while True:
            more = {k for k, own in enumerate(self.params) if own & flow} - found
            if not more:
                return found
            found |= more
            flow = NONE.union(*(self.body[k] for k in found))

    def results(self, consumed: set[int]) -> list[Leaf]:
        """The origins that the loop's results may share."""
        every = NONE.union(*self.params)
        found = [NONE if k in consumed else init for k, init in enumerate(self.init)]
        while True:
            after = [old | (body - every) | NONE.union(
                *(found[n] for n, own in enumerate(self.params) if own & body))
                for old, body in zip(found, self.body, strict=True)]
            if after == found:
                return [Leaf(each) for each in found]
            found = after


def loop(walk: Walk, exp: ast.LoopExp, env: Layered[str, Tree]) -> Tree:
    """A loop consumes its initial value if its body consumes the parameter."""
    init = walk.exp(exp.init, env) if exp.init is not None else _start(walk, exp.pattern, env)
    place = exp.init.span if exp.init is not None else exp.pattern.span
    inner = env.child()
    elements = NONE
    if isinstance(exp.form, ast.ForInForm):
        elements = origins(walk.exp(exp.form.array, env))
    elif isinstance(exp.form, ast.ForForm):
        walk.exp(exp.form.bound, env)
    around, walk.observed = walk.observed, {}
    walk.depth += 1
    if isinstance(exp.form, ast.ForInForm):
        walk.bind(exp.form.pattern, shared(exp.form.pattern.type, elements), inner)
    elif isinstance(exp.form, ast.ForForm):
        walk.bind(exp.form.pattern, Leaf(), inner)
    values = shared(exp.pattern.type, NONE)
    declared = flags(values, unique_pattern(exp.pattern))
    kept = [typed and not star for typed, star in zip(
        flags(values, typed_pattern(exp.pattern)), declared, strict=True)]
    params = walk.new(exp.pattern, values, inner, kept, "its type in the loop is not unique")
    if isinstance(exp.form, ast.WhileForm):
        walk.exp(exp.form.cond, inner)
    body = walk.exp(exp.body, inner)
    carried = Carried.of(init, params, body)
    consumed = carried.consumed(walk.consumed, declared)
    _next_values(walk, carried, consumed, exp.body.span)
    walk.depth -= 1
    walk.observed, seen = {**walk.observed, **around}, walk.observed
    _initial_values(walk, exp, init, carried, consumed)
    for k in consumed:
        own = [walk.consumed[o] for o in carried.params[k] if o in walk.consumed]
        walk.consume(carried.init[k], own[0] if own else place)
        for origin in carried.init[k] & seen.keys():
            name, span = seen[origin]
            walk.used_again(name, origin, span, own[0] if own else place)
    return rebuild(params, iter(carried.results(consumed)))


def _start(walk: Walk, pattern: ast.Pattern, env: Layered[str, Tree]) -> Tree:
    """The values in scope that the names of a loop pattern start from."""
    match pattern:
        case ast.PatName(span, name):
            return walk.look(name, span, env)
        case ast.PatAscript(_, inner):
            return _start(walk, inner, env)
        case ast.PatTuple(_, items):
            return together([_start(walk, item, env) for item in items])
        case ast.PatRecord(_, members):
            return together([_start(walk, item, env) for _, item in sorted(
                members, key=lambda member: member[0])])
    return Leaf()


def _initial_values(walk: Walk, exp: ast.LoopExp, init: Tree, carried: Carried,
                   consumed: set[int]) -> None:
    """Check that a consumed parameter starts from a value that nothing else shares."""
    places = _each_place(exp.init if exp.init is not None else exp.pattern, init)
    for k in sorted(consumed):
        others = [n for n in range(len(places)) if n > k or (n < k and n not in consumed)]
        both = next(((n, o) for n in others for o in carried.init[n] & carried.init[k]), None)
        if both is None:
            continue
        labels = [Label(places[both[0]], "the other one")] * (places[both[0]] != places[k])
        labels += [Label(walk.consumed[o], "consumed here")
                   for o in carried.params[k] & walk.consumed.keys()]
        walk.error("loop-self-alias", places[k], "The loop consumes a parameter whose initial "
                   "value is self-aliased: another one may be an alias of "
                   f"{both[1].shown}.", f"Start from a copy: copy {both[1].name}.", *labels)


def _next_values(walk: Walk, carried: Carried, consumed: set[int], span: Span) -> None:
    """Check that the next value of a consumed parameter is shared with nothing else."""
    for k in sorted(consumed):
        outside = [o for o in carried.body[k] if o.fixed or o.depth < walk.depth]
        others = carried.body[k] & NONE.union(
            *(found for n, found in enumerate(carried.body) if n != k))
        if outside:
            walk.error("consume-free", span, "The loop consumes its parameter, whose next "
                       f'value may be an alias of "{outside[0].name}", bound outside.',
                       f"Use a copy: copy {outside[0].name}.")
        elif others:
            walk.error("unique-result", span, "The next value of a parameter that the loop "
                       "consumes may be aliased to some other component.",
                       "Use a copy: copy e.")


def _each_place(node: Node, tree: Tree) -> list[Span]:
    """The place of each leaf of the value ``tree`` in the expression or pattern that writes it."""
    if isinstance(tree, Parts):
        match node:
            case ast.TupleExp(_, items) | ast.PatTuple(_, items):
                return _places(items, tree)
            case ast.RecordExp(_, members) | ast.PatRecord(_, members):
                ordered = sorted(members, key=lambda member: member[0])
                return _places(tuple(item for _, item in ordered), tree)
            case ast.PatAscript(_, inner):
                return _each_place(inner, tree)
    return [node.span for _ in leaves(tree)]


def _places(items: tuple[Node, ...], parts: Parts) -> list[Span]:
    return [span for item, part in zip(items, parts.items, strict=True)
            for span in _each_place(item, part)]
