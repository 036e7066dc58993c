"""The derivation of a flattening: which rule fired on which expression, and why others did not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from runelift.ir.source import Loc
from runelift.ir.syntax import Stm


@dataclass(frozen=True, slots=True)
class Step:
    """One judgement: ``rule`` fired on ``what``, or was refused because of ``note``."""

    depth: int
    rule: str
    fired: bool
    what: str
    note: str
    loc: Loc | None


@dataclass(slots=True)
class Derivation:
    """The steps of one function's flattening, in order; ``depth`` nests them."""

    fun: str
    steps: list[Step] = field(default_factory=list)
    depth: int = 0

    def fired(self, rule: str, stm: Stm, note: str) -> None:
        """Record that a rule fired on a statement, and what came of it."""
        self.happened(rule, _described(stm), note, stm.loc)

    def refused(self, rule: str, stm: Stm, why: str) -> None:
        """Record that a rule did not apply to a statement, and why."""
        self.steps.append(Step(self.depth, rule, False, _described(stm), why, stm.loc))

    def happened(self, rule: str, what: str, note: str, loc: Loc | None = None) -> None:
        """Record that a rule fired on something else."""
        self.steps.append(Step(self.depth, rule, True, what, note, loc))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Steps recorded in this context are premises of the last one."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def render(self) -> str:
        """The derivation as an indented tree, one step a line."""
        lines = [f"{self.fun}:"]
        for step in self.steps:
            mark = step.rule if step.fired else f"not {step.rule}"
            place = f"  [{step.loc.line}:{step.loc.column}]" if step.loc else ""
            note = f": {step.note}" if step.note else ""
            lines.append("  " * (step.depth + 1) + f"{mark}  {step.what}{note}{place}")
        return "\n".join(lines)


def _described(stm: Stm) -> str:
    """A statement in a few words."""
    names = ", ".join(p.name.base for p in stm.pat)
    return f"{type(stm.exp).__name__.lower()} → {names}" if names else type(stm.exp).__name__
