"""Programs with one token too few, too many or in the wrong place are answered like any mistake.

The answer is an error of the user's program or none: no crash, no internal error, no endless loop.
The error is not in a declaration before the one that was changed, and hardly ever before the line.
If several declarations have a syntax error, each of them is reported, and no other one.
``RUNELIFT_MUTATIONS`` says how many to try.
"""

from __future__ import annotations

import os
import random
import re
import warnings
from bisect import bisect
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from runelift.frontend.load import load
from runelift.ir.base.codes import CODES
from runelift.ir.base.errors import CompilerLimitation, Diagnostic, ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names
from tests.time_limit import time_limit

MUTATIONS = int(os.environ.get("RUNELIFT_MUTATIONS", "400"))
CHUNK = 50
PATIENCE = 60
"""Seconds after which a program is taken to be checked without end."""

ROOT = Path(__file__).parents[1]
TOKEN = re.compile(r"(?P<comment>--[^\n]*)|#\[[^\]]*\]|\"[^\"\n]*\"|#?[A-Za-z_'][\w']*"
                   r"|\d[\w.]*|[-+*/%=!><|&^:.]+|\S")
DECLARATION = re.compile(r"^(?=\w)", re.M)
PROGRAMS = [text for text in (
    *(path.read_text() for folder in ("examples", "tests/golden")
      for path in sorted((ROOT / folder).glob("*.fut"))),
    *(each.cure for each in CODES.values() if each.suffix == ".fut"))
    if "import" not in text]


@dataclass(frozen=True)
class Mutation:
    """A program with a token changed at ``position``."""

    text: str
    position: int

    @property
    def line(self) -> int:
        """The line of the change."""
        return line_at(self.text, self.position)

    @property
    def declaration(self) -> int:
        """The line in which the declaration that was changed begins."""
        starts = [m.start() for m in DECLARATION.finditer(self.text, 0, self.position + 1)]
        return line_at(self.text, starts[-1]) if starts else 1


def line_at(text: str, position: int) -> int:
    """The line of a position."""
    return text.count("\n", 0, position) + 1


def mutation(seed: int) -> Mutation:
    """A program with a token left out, doubled, swapped with the next one or replaced."""
    rng = random.Random(seed)
    text = rng.choice(PROGRAMS)
    tokens = [(m.start(), m.end()) for m in TOKEN.finditer(text) if m["comment"] is None]
    k = rng.randrange(len(tokens) - 1)
    (start, end), (after, last) = tokens[k], tokens[k + 1]
    token, other = text[start:end], text[slice(*rng.choice(tokens))]
    new = rng.choice([
        text[:start] + text[end:],
        text[:end] + " " + token + text[end:],
        text[:start] + text[after:last] + text[end:after] + token + text[last:],
        text[:start] + other + text[end:]])
    return Mutation(new, start)


def errors_of(mutated: Mutation) -> tuple[Diagnostic, ...]:
    """What is wrong with a program, if anything is."""
    try:
        with time_limit(PATIENCE), warnings.catch_warnings(action="ignore"):
            load(Source("t", mutated.text), Names())
    except ProgramError as error:
        return error.diagnostics
    except CompilerLimitation:
        pass
    return ()


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("start", range(0, MUTATIONS, CHUNK))
def test_mutated_programs(start: int) -> None:
    early: list[str] = []
    for seed in range(start, min(start + CHUNK, MUTATIONS)):
        mutated = mutation(seed)
        try:
            errors = errors_of(mutated)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{mutated.text}") from error
        for each in errors:
            last = line_at(mutated.text, each.span.end)
            assert last >= mutated.declaration, f"seed {seed}: {each.render()}\n{mutated.text}"
            if last < mutated.line:
                early.append(f"seed {seed}, line {mutated.line}: {each.render()}\n{mutated.text}")
    assert len(early) <= 1, "\n\n".join(early)


def declarations(text: str) -> list[str]:
    """A program in pieces: what comes before its declarations, and each of them."""
    starts = [m.start() for m in DECLARATION.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *starts, len(text)])]


def broken(rng: random.Random, declaration: str) -> str:
    """A declaration with a token left out, doubled, swapped or replaced, behind its name."""
    found = [m for m in TOKEN.finditer(declaration) if m["comment"] is None][2:]
    tokens = [m[0] for m in found]
    k = rng.randrange(len(tokens) - 1)
    tokens[k:k + 2] = rng.choice([
        tokens[k + 1:k + 2], [tokens[k], *tokens[k:k + 2]], [tokens[k + 1], tokens[k]],
        [rng.choice(tokens), tokens[k + 1]]])
    # what stands before and behind stays as it is, and so does the line of each token
    start, end = found[k].start(), found[k + 1].end()
    new = " ".join(tokens[k:len(tokens) - len(found) + k + 2])
    return (f"{declaration[:start]} {new} " + "\n" * declaration.count("\n", start, end)
            + declaration[end:])


def syntax_errors(text: str) -> list[int]:
    """The places of the syntax errors of a text."""
    return [each.span.start for each in errors_of(Mutation(text, 0))
            if each.code == "syntax-error"]


SEVERAL = [text for text in PROGRAMS
           if len(declarations(text)) > 3 and all(len(TOKEN.findall(each)) > 4
                                                  for each in declarations(text)[1:])]
"""Programs of at least three declarations."""


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("start", range(0, MUTATIONS, CHUNK))
def test_each_broken_declaration_is_reported(start: int) -> None:
    tried = 0
    for seed in range(start, min(start + CHUNK, MUTATIONS)):
        rng = random.Random(seed)
        whole = declarations(rng.choice(SEVERAL))
        parts = whole[:]
        changed: dict[int, int] = {}  # declarations, and where their errors are
        for k in rng.sample(range(1, len(parts)), rng.choice([2, 3])):
            new = broken(rng, parts[k])
            alone = syntax_errors("".join([*whole[:k], new, *whole[k + 1:]]))
            if len(alone) == 1:
                parts[k], changed[k] = new, alone[0] - len("".join(whole[:k]))
        text = "".join(parts)
        starts = [0, *accumulate(map(len, parts))]
        found = errors_of(Mutation(text, 0))
        said = "\n\n".join([f"seed {seed}", *(each.render() for each in found), text])
        tried += len(changed) > 1
        for each in found:
            k = bisect(starts, each.span.start) - 1
            before = each.span.start == starts[k] and k - 1 in changed  # it is not complete
            assert k in changed or before or k == len(parts), said
        places = {each.span.start for each in found}
        for k, place in changed.items():
            assert starts[k] + place in places, said
    assert tried > CHUNK / 4
