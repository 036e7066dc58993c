"""Rewrite rules, rule books, and the driver that applies them.

A rule is a partial function on statements: it returns what stands in the statement's place, or
None where it does not apply.  Its docstring is its law::

    @rule(Rearrange)
    def rearrange_nothing(scope: Scope, stm: Stm) -> Replacement:
        '''rearrange id xs ⇒ xs

        Because: the identity permutation moves nothing.
        '''

The first line is the law ``lhs ⇒ rhs``; lines that start with ``Provided:``, ``Because:``,
``Does not handle:`` or ``Source:`` are its notes.  A rule looks through the operands of its
statement with the :class:`~runelift.rewrite.engine.scope.Scope` and never traverses further than
its own statement.  A :class:`Rewriting` says which rules run and how often, and has the trace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runelift.ir.base.errors import CompilerBug
from runelift.ir.names import Names
from runelift.ir.prim import OPS
from runelift.ir.syntax import Exp, PrimOp, Program, Stm
from runelift.rewrite.engine.scope import Scope

Replacement: TypeAlias = Exp | tuple[Stm, ...] | None
"""Another expression, statements that bind the same names, or nothing to do."""
Apply: TypeAlias = Callable[[Scope, Stm], Replacement]

_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")
NOTES = ("Provided", "Because", "Does not handle", "Source")
"""The kinds of notes that a law may have, as they are spelled in docstrings."""

MOST_REWRITES = 10_000
"""The most rewrites of one statement; after that its rules are taken not to terminate."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, its law with notes, the nodes it starts from, and the function.

    ``ops`` are the primitive operations that it may apply to; all of them if there are none.
    ``apply`` is what the pass that owns the rule calls; for the rules of a :class:`RuleBook`
    it is an :data:`Apply`.
    """

    name: str
    law: str
    notes: tuple[tuple[str, str], ...]
    heads: tuple[type, ...]
    apply: Callable[..., Any] = field(repr=False)
    ops: frozenset[str] = frozenset()


def rule(*heads: type, ops: Iterable[str] = ()) -> Callable[[Callable[..., Any]], Rule]:
    """Make a rule that starts from expressions of the types ``heads``.

    Primitive operations are most of a program, so that a rule for some ``ops`` only is looked up by
    these.
    """

    def make(apply: Callable[..., Any]) -> Rule:
        law, notes = read_law(apply.__doc__ or "")
        return Rule(apply.__name__, law, notes, heads, apply, frozenset(ops))

    return make


def without_marks(text: str) -> str:
    """A docstring without its marks, for people.

    >>> without_marks("``x``, or (:func:`~a.b.read`) at most :data:`MOST`")
    'x, or (read) at most MOST'
    """
    return _ROLE.sub(r"\1", text).replace("``", "")


def read_law(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The law and the notes of a docstring."""
    law, *rest = [line.strip() for line in text.strip().splitlines()]
    notes: list[tuple[str, str]] = []
    for line in filter(None, rest):
        kind, colon, said = line.partition(":")
        if colon and kind in NOTES:
            notes.append((kind, said.strip()))
        elif notes:
            notes[-1] = (notes[-1][0], f"{notes[-1][1]} {line}")
        else:
            law = f"{law} {line}"
    return law, tuple(notes)


class RuleBook:
    """An ordered set of rules, indexed by the node type they start from."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self.by_head: dict[type, list[Rule]] = {}
        for each in self.rules:
            for head in each.heads:
                self.by_head.setdefault(head, []).append(each)
        self._by_op = {op: [each for each in self.by_head.get(PrimOp, ())
                            if not each.ops or op in each.ops] for op in OPS}

    def rules_for(self, exp: Exp) -> Sequence[Rule]:
        """The rules that may apply to an expression, in order."""
        if isinstance(exp, PrimOp):
            return self._by_op[exp.op]
        return self.by_head.get(type(exp), ())

    def __add__(self, other: RuleBook) -> RuleBook:
        return RuleBook((*self.rules, *other.rules))


Trace: TypeAlias = Callable[[Rule, tuple[Stm, ...], tuple[Stm, ...]], None]
"""Called with a rule that fired, the statements before, and the statements after."""

Watch: TypeAlias = Callable[[str, Program, Program], None]
"""Called with the name of each pass, and the programs before and after it."""


@dataclass(slots=True)
class Rewriting:
    """One run of the optimiser: the rules that may fire, a count of their firings, and a trace.

    ``derived`` has the rules that expanded each operator of derivatives, by its statement.
    ``fuel`` is the number of firings left (None: as many as it takes), so that a wrong rule can
    be found by bisection.  ``outside`` are rules that files bring; each applies itself to a
    function (:mod:`runelift.rewrite.lift.outside.apply`).  ``watch`` sees all passes.
    """

    names: Names
    disabled: frozenset[str] = frozenset()
    fuel: int | None = None
    trace: Trace | None = None
    fired: Counter[str] = field(default_factory=Counter)
    derived: list[tuple[Stm, Counter[str]]] = field(default_factory=list)
    outside: tuple[Rule, ...] = ()
    watch: Watch | None = None

    @property
    def is_limited(self) -> bool:
        """True if some rules may not fire, or not as often as they can."""
        return self.fuel is not None or bool(self.disabled)

    @property
    def is_watched(self) -> bool:
        """True if the firing of rules is limited, traced or watched."""
        return self.is_limited or self.trace is not None or self.watch is not None

    def permits(self, each: Rule) -> bool:
        """True if ``each`` may fire."""
        return self.fuel != 0 and each.name not in self.disabled

    def record(self, each: Rule, before: tuple[Stm, ...], after: tuple[Stm, ...]) -> None:
        """Note that ``each`` fired."""
        self.fired[each.name] += 1
        if self.fuel is not None:
            self.fuel -= 1
        if self.trace is not None:
            self.trace(each, before, after)

    def tried(self, each: Rule, before: tuple[Stm, ...], *given: Any) -> tuple[Stm, ...] | None:
        """The statements that ``each`` makes of those ``before``; None if it does not fire."""
        after: tuple[Stm, ...] | None = each.apply(*given) if self.permits(each) else None
        if after is not None:
            self.record(each, before, after)
        return after

    def step(self, book: RuleBook, scope: Scope, stm: Stm) -> tuple[Stm, ...] | None:
        """The statements that the first rule that applies makes of ``stm``; None if none does."""
        choosy = self.is_limited
        for each in book.rules_for(stm.exp):
            if choosy and not self.permits(each):
                continue
            new: Replacement = each.apply(scope, stm)
            if new is None:
                continue
            after = new if isinstance(new, tuple) else (Stm(stm.pat, new, stm.attrs, stm.loc),)
            self.record(each, (stm,), after)
            return after
        return None

    def too_long(self) -> CompilerBug:
        """The error for a statement whose rules do not come to an end."""
        often = ", ".join(f"{name} ({count})" for name, count in self.fired.most_common(4))
        return CompilerBug(f"rewriting does not terminate; the rules that fired most: {often}")
