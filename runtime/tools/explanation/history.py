"""Passes of a compilation: what each changed, and which of its rules fired."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from runelift.ir.base.lines import indent
from runelift.ir.pretty import pretty_lines
from runelift.ir.syntax import Program
from runelift.rewrite.engine.rule import Rewriting, Rule
from runelift.rewrite.registry import PASSES, RULES

CONTEXT = 2
"""Lines around a change that are shown."""
_DESCRIPTIONS = {each.name: each.description for each in PASSES}
_LAWS = {each.name: each.law for each in RULES}


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule that fired ``count`` times, and its law."""

    rule: str
    count: int
    law: str


@dataclass(frozen=True, slots=True)
class PassDone:
    """A pass, the programs before and after it, and the rules that fired."""

    name: str
    before: Program
    after: Program
    firings: tuple[Firing, ...]

    @property
    def description(self) -> str:
        """The purpose of the pass, in a few words."""
        return _DESCRIPTIONS.get(self.name, "")

    def diff(self) -> list[str]:
        """The changes of the pass as lines with a sign in front; empty without changes."""
        return [] if self.before is self.after else [*difference(
            [*pretty_lines(self.before)], [*pretty_lines(self.after)])]


@dataclass(slots=True)
class History:
    """The passes of a compilation, noted as they run."""

    rewriting: Rewriting
    passes: list[PassDone] = field(default_factory=list)
    _fired: Counter[str] = field(default_factory=Counter)
    _laws: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        told = self.rewriting.trace

        def trace(rule: Rule, *stms: tuple[object, ...]) -> None:
            self._laws[rule.name] = rule.law
            if told is not None:
                told(rule, *stms)  # type: ignore[arg-type]

        self.rewriting.trace = trace
        self.rewriting.watch = self._passed

    def _passed(self, name: str, before: Program, after: Program) -> None:
        """Note a pass, with the rules that fired since the last one."""
        new = self.rewriting.fired - self._fired
        self._fired = self.rewriting.fired.copy()
        laws = _LAWS | self._laws
        self.passes.append(PassDone(name, before, after, tuple(
            Firing(rule, count, laws.get(rule, "")) for rule, count in new.most_common())))


def difference(before: list[str], after: list[str]) -> Iterator[str]:
    """Lines that are new or gone, and some around them, with a sign in front.

    >>> list(difference(["a", "b", "c"], ["a", "x", "c"]))
    [' a', '-b', '+x', ' c']
    """
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            yield f"@ from line {group[0][3] + 1}"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from indent(after[j1:j2], " ")
            else:
                yield from indent(before[i1:i2], "-")
                yield from indent(after[j1:j2], "+")
