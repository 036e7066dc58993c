"""The derivation of a flattening: which rule fired on which expression, or why it did not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from runelift.ir.base.source import Loc
from runelift.ir.syntax import Stm


@dataclass(frozen=True, slots=True)
class Step:
    """One judgement: ``rule`` fired on ``what``, or was refused because of ``note``.

    Under the nest ``around``, it made the statements ``after`` of the statements ``before``.
    ``unlike`` are the titles of rules for other expressions, each with the reason.  ``later`` are
    the titles of rules that were not tried, because this rule came first.
    """

    depth: int
    rule: str
    fired: bool
    what: str
    note: str
    loc: Loc | None
    before: tuple[Stm, ...] = field(default=(), repr=False)
    after: tuple[Stm, ...] = field(default=(), repr=False)
    around: str = ""
    unlike: tuple[tuple[str, str], ...] = ()
    later: tuple[str, ...] = ()


@dataclass(slots=True)
class Derivation:
    """The steps of one function's flattening, in order; ``depth`` nests them."""

    fun: str
    steps: list[Step] = field(default_factory=list)
    depth: int = 0

    def fired(self, rule: str, stm: Stm, note: str) -> None:
        """Record that a rule fired on a statement, and its outcome."""
        self.happened(rule, _described(stm), note, stm.loc, before=(stm,))

    def refused(self, rule: str, stm: Stm, why: str) -> None:
        """Record that a rule did not apply to a statement, and why."""
        self.steps.append(Step(self.depth, rule, False, _described(stm), why, stm.loc, (stm,)))

    def happened(self, rule: str, what: str, note: str, loc: Loc | None = None, *,
                 before: Sequence[Stm] = (), after: Sequence[Stm] = (), around: str = "") -> None:
        """Record that a rule fired on anything but a statement."""
        self.steps.append(Step(self.depth, rule, True, what, note, loc, tuple(before),
                               tuple(after), around))

    def became(self, since: int, rule: str, after: Iterable[Stm], around: str,
               unlike: Sequence[tuple[str, str]], later: Sequence[str]) -> None:
        """Set the outcome of the first step of ``rule`` at this depth from number ``since`` on.

        Statements that other steps at this depth have made are theirs.
        """
        own = [k for k in range(since, len(self.steps)) if self.steps[k].depth == self.depth]
        theirs = {id(stm) for k in own for stm in self.steps[k].after}
        for k in own:
            if self.steps[k].fired and self.steps[k].rule == rule:
                made = tuple(stm for stm in after if id(stm) not in theirs)
                self.steps[k] = replace(self.steps[k], after=made, around=around,
                                        unlike=tuple(unlike), later=tuple(later))
                return

    def dropped(self, since: int) -> None:
        """Keep of the steps from number ``since`` on what was refused: their result is not used."""
        self.steps[since:] = [step for step in self.steps[since:] if not step.fired]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Steps recorded in this context are premises of the last one."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def __str__(self) -> str:
        return self.render()

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
