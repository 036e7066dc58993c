"""Steps of a flattening as a page shows them: a tree, with the rule and the text of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from runelift.ir.pretty import stm_lines
from runelift.ir.syntax import Stm
from runelift.rewrite.flattening import FLATTENING, Derivation, FlatteningRule, Step
from runelift.runtime.tools.explanation.texts import Texts

_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")


@dataclass(frozen=True, slots=True)
class OtherRule:
    """A rule for the same expression that did not fire, and why."""

    name: str
    title: str
    why: str


@dataclass(slots=True)
class StepShown:
    """A flattening step, by the numbers of its texts, and ``premises``: the steps it depends on."""

    rule: str
    title: str
    fired: bool
    what: str
    note: str
    place: int
    law: tuple[str, str] | None
    nest: str
    before: int | None
    after: int | None
    others: list[OtherRule] = field(default_factory=list)
    inside: list[StepShown] = field(default_factory=list)


def steps_shown(derivation: Derivation, texts: Texts) -> list[StepShown]:
    """The steps of a derivation as a tree.

    A refusal that stands in front of the step that fired on the same statement belongs to it.
    """
    roots: list[StepShown] = []
    path: list[tuple[int, StepShown]] = []
    waiting: list[Step] = []

    def siblings(depth: int) -> list[StepShown]:
        """The steps of a depth that are inside of the last one around them."""
        while path and path[-1][0] >= depth:
            path.pop()
        return path[-1][1].inside if path else roots

    for step in derivation.steps:
        if not step.fired:
            waiting.append(step)
            continue
        refused = [each for each in waiting if _same(each, step)]
        for each in (*(other for other in waiting if other not in refused), step):
            made = _shown(each, refused if each is step else (), texts)
            siblings(each.depth).append(made)
            path.append((each.depth, made))
        waiting = []
    for each in waiting:
        siblings(each.depth).append(_shown(each, (), texts))
    return roots


def _same(refused: Step, fired: Step) -> bool:
    return (refused.depth == fired.depth and len(fired.before) == 1
            and fired.before[0] is refused.before[0])


def _shown(step: Step, refused: Sequence[Step], texts: Texts) -> StepShown:
    rule = rule_of(step)
    others = [OtherRule(each.rule, _title(each), each.note) for each in refused]
    others += [_other(title, why) for title, why in step.unlike]
    others += [_other(title, "not tried, as this rule came first") for title in step.later]
    return StepShown(
        step.rule, rule.title.replace("_", " ") if rule else "", step.fired, step.what, step.note,
        texts.place(step.loc), readable(rule.law) if rule else None, step.around,
        _text(step.before, texts), _text(step.after, texts) if step.fired else None, others)


def _text(stms: Sequence[Stm], texts: Texts) -> int | None:
    return texts.add(line for stm in stms for line in stm_lines(stm)) if stms else None


def rule_of(step: Step) -> FlatteningRule | None:
    """The rule of a step; several have the name of one rule of the paper."""
    named = [rule for rule in FLATTENING if rule.name == step.rule
             or step.rule.startswith(f"{rule.name} ")]
    heads = [rule for rule in named if step.before and type(step.before[0].exp) in rule.heads]
    return next(iter(heads or named), None)


def _title(step: Step) -> str:
    rule = rule_of(step)
    return rule.title.replace("_", " ") if rule else ""


def _other(title: str, why: str) -> OtherRule:
    return OtherRule(next(rule.name for rule in FLATTENING if rule.title == title),
                     title.replace("_", " "), why)


def readable(law: str) -> tuple[str, str]:
    """A law without the marks of docstrings: the inference rule, and what is said of it.

    >>> readable("a ⇒ b\\n    ⇒ c\\n\\n    Kinds (:mod:`~a.b.mapping`)\\n    of ``x``.")
    ('a ⇒ b\\n⇒ c', 'Kinds (mapping) of x.')
    """
    rule, _, said = _ROLE.sub(r"\1", law).replace("``", "").partition("\n\n")
    first, *rest = rule.splitlines()
    return "\n".join([first, *(line.removeprefix("    ") for line in rest)]), " ".join(said.split())
