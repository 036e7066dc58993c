"""Rewrite rules.

A rule is a partial function on statements' expressions, None meaning that it does not apply.
Its docstring's first line is the law it implements, ``lhs ⇒ rhs``.  A rule sees what its
operands stand for through ``defs``, the definitions in scope; it never traverses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.ir.names import VName
from runelift.ir.syntax import Exp, Stm

Defs: TypeAlias = Mapping[VName, Stm]
Apply: TypeAlias = Callable[[Exp, Defs], Exp | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, its law, the node types it starts from, and the function."""

    name: str
    law: str
    heads: tuple[type, ...]
    apply: Apply = field(repr=False)


def rule(*heads: type) -> Callable[[Apply], Rule]:
    """Make a rule that is tried on expressions of the types ``heads``."""

    def make(apply: Apply) -> Rule:
        law, *_ = (apply.__doc__ or "").strip().splitlines()
        return Rule(getattr(apply, "__name__", "rule"), law, heads, apply)

    return make


class RuleBook:
    """An ordered set of rules, indexed by the node type they start from."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.by_head: dict[type, list[Rule]] = {}
        for each in self.rules:
            for head in each.heads:
                self.by_head.setdefault(head, []).append(each)

    def __add__(self, other: RuleBook) -> RuleBook:
        return RuleBook((*self.rules, *other.rules))


@dataclass(slots=True)
class Rewriting:
    """One use of a book: which rules are off, and how often each fired."""

    book: RuleBook
    disabled: frozenset[str] = frozenset()
    fired: Counter[str] = field(default_factory=Counter)

    def normalise(self, exp: Exp, defs: Defs, *, fuel: int = 100) -> Exp:
        """``exp`` after rules until none applies at its root."""
        for _ in range(fuel):
            new = self._step(exp, defs)
            if new is None:
                return exp
            exp = new
        raise RuntimeError(f"rewriting does not terminate; last rules: {self.fired.most_common(3)}")

    def _step(self, exp: Exp, defs: Defs) -> Exp | None:
        for each in self.book.by_head.get(type(exp), ()):
            if each.name not in self.disabled and (new := each.apply(exp, defs)) is not None:
                self.fired[each.name] += 1
                return new
        return None
