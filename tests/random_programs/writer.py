"""The making of random texts from a seed and a grammar.

A grammar has for each kind of text the templates that make it.  In a template ``$s`` is a text of
kind s, ``${s x y}`` one that may use the names x and y, and ``%x`` a fresh name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

STEMS = {"xs": "n", "ys": "n", "row": "n", "v": "one", "b": "some", "bs": "some",
         **dict.fromkeys(("l", "m", "w"), "w"),
         **dict.fromkeys(("h", "hx", "hy", "hz"), "half")}
"""The kind of a name by its stem; others are numbers (i32), kind ``a``."""

@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of text: templates that end it, templates that nest, and the use of names.

    ``named`` is how often a name in scope is taken instead of a leaf.  A text that is ``plain``
    is no expression and gets no parentheses.  A kind that is ``once`` has one text in all holes
    of a template.
    """

    leaves: tuple[str, ...]
    rules: tuple[str, ...] = ()
    named: float = 0
    plain: bool = False
    once: bool = False


PART = re.compile(r"\$\{(\w+)((?: \w+)*)\}|\$(\w+)|%(\w+)")
"""A hole with names that it may use, a hole, or a fresh name."""


class Writer:
    """Writes texts of any kind over the names in scope (name to kind)."""

    def __init__(self, seed: int, grammar: Mapping[str, Kind]) -> None:
        self.random = random.Random(seed)
        self.grammar = grammar
        self.count = 0

    def text(self, kind: str, scope: Mapping[str, str], depth: int) -> str:
        """A text of a kind, with templates that nest up to ``depth``."""
        given = self.grammar[kind]
        names = [name for name, other in scope.items() if other == kind]
        if given.rules and (depth > 0 or not given.leaves):
            chosen = self.random.choice(given.rules)
        elif names and self.random.random() < given.named:
            # A name of late is as likely as all together, so that steps follow from each other.
            return self.random.choice([names[-1], self.random.choice(names)])
        else:
            chosen = self.random.choice(given.leaves)
        written = self.filled(chosen, scope, depth - 1)
        closed = given.plain or re.fullmatch(r"[\w.]+|\([^()]*\)", chosen)
        return written if closed else f"({written})"

    def filled(self, template: str, scope: Mapping[str, str], depth: int) -> str:
        """A template with its holes filled."""
        fresh: dict[str, str] = {}
        once: dict[str, str] = {}

        def named(stem: str) -> str:
            if stem not in fresh:
                self.count += 1
                fresh[stem] = f"{stem}_{self.count}"  # i8 hides a module
            return fresh[stem]

        def part(found: re.Match[str]) -> str:
            inner, stems, hole, stem = found.groups()
            if stem:
                return named(stem)
            bound = {named(each): STEMS.get(each, "a") for each in (stems or "").split()}
            kind = inner or hole
            if kind in once:
                return once[kind]
            text = self.text(kind, {**scope, **bound}, depth)
            if self.grammar[kind].once:
                once[kind] = text
            return text

        return PART.sub(part, template)


@dataclass(frozen=True, slots=True)
class Family:
    """Programs of one grammar: names that all may use, nesting and arguments by seed.

    ``settings``: some programs also run with other parameters of kernels.  Floats may differ by
    ``close``, relative and absolute.
    """

    grammar: Mapping[str, Kind]
    scope: Mapping[str, str]
    depth: Callable[[int], int]
    inputs: Callable[[int], list[list[Any]]]
    settings: bool = False
    close: float = 0

    def text(self, seed: int) -> str:
        """The program of a seed."""
        return Writer(seed, self.grammar).text("program", self.scope, self.depth(seed))
