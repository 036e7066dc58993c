"""What a loop carries from one iteration to the next, and which of it the loop consumes."""

from __future__ import annotations

from dataclasses import dataclass

from runelift.frontend import ast
from runelift.frontend.check.aliases import NONE, Leaf, Origin, Origins, Parts, Tree, leaves
from runelift.frontend.nodes import Node
from runelift.ir.source import Span


@dataclass(frozen=True, slots=True)
class Carried:
    """The leaves of a loop's values: at first, as parameters, and after its body."""

    init: list[Origins]
    params: list[Origins]
    body: list[Origins]

    @classmethod
    def of(cls, init: Tree, params: Tree, body: Tree) -> Carried:
        """The leaves of three trees of the same form."""
        start, own, end = ([leaf.origins for leaf in leaves(t)] for t in (init, params, body))
        return cls(start, own, end)

    def consumed(self, consumed: dict[Origin, Span], declared: list[bool]) -> set[int]:
        """The leaves that the loop consumes, and those that flow into them.

        As in Futhark, stars alone do not make a parameter consumed if a next value that is to be
        unique has a name in the body.
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
        """What the loop's results may share."""
        every = NONE.union(*self.params)
        found = [NONE if k in consumed else init for k, init in enumerate(self.init)]
        while True:
            after = [old | (body - every) | NONE.union(
                *(found[n] for n, own in enumerate(self.params) if own & body))
                for old, body in zip(found, self.body, strict=True)]
            if after == found:
                return [Leaf(each) for each in found]
            found = after


def each_place(node: Node, tree: Tree) -> list[Span]:
    """Where an expression or pattern writes each leaf of its value ``tree``."""
    if isinstance(tree, Parts):
        match node:
            case ast.TupleExp(_, items) | ast.PatTuple(_, items):
                return _places(items, tree)
            case ast.RecordExp(_, members) | ast.PatRecord(_, members):
                ordered = sorted(members, key=lambda member: member[0])
                return _places(tuple(item for _, item in ordered), tree)
            case ast.PatAscript(_, inner):
                return each_place(inner, tree)
    return [node.span for _ in leaves(tree)]


def _places(items: tuple[Node, ...], parts: Parts) -> list[Span]:
    return [span for item, part in zip(items, parts.items, strict=True)
            for span in each_place(item, part)]
