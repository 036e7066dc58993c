"""Hints that are tried before they are told."""

from __future__ import annotations

import pytest

from runelift.frontend.tried import MOST_TRIED, Trial
from runelift.ir.base.errors import Diagnostic, ProgramError, Replacement
from runelift.ir.base.source import Source, Span

PROGRAM = Source("a.fut", "def f = one + two")
ONE = Span(PROGRAM, 8, 11)


def errors_at(*words: str) -> Trial:
    """A trial in which each of some words is an error, wherever a program has it."""
    def check(source: Source) -> None:
        found = [Diagnostic("syntax-error", Span(source, start, start + len(word)), word)
                 for word in words if (start := source.text.find(word)) >= 0]
        if found:
            raise ProgramError(*found)
    return Trial(PROGRAM, check)


def told(trial: Trial, *hints: str) -> list[tuple[str, str]]:
    """The hints that are told about ``one``, with the texts that they write."""
    (found,) = trial.told([Diagnostic("type-mismatch", ONE, "wrong", hints=hints)])
    return [(str(hint), getattr(hint, "new", "")) for hint in found.hints]


@pytest.mark.parametrize(("words", "hints", "expected"), [
    ((), [Replacement("Write 1.", "1"), "Or not."], [("Write 1.", "1"), ("Or not.", "")]),
    (("bad",), [Replacement("Write bad.", "bad"), "Or not."], [("Or not.", "")]),
    (("two",), [Replacement("Write 1.", "1")], [("Write 1.", "1")]),
    (("bad",), [Replacement("Write bad.", "bad", None, Replacement("Write 1.", "1"))],
     [("Write 1.", "1")]),
    (("bad",), [Replacement("Write bad.", "bad", None, "Think.")], [("Think.", "")]),
    (("= g x",), [Replacement("Write g x.", "g x")], [("Write g x.", "(g x)")]),
    (("+ bad",), [Replacement("Write bad.", "bad", Span(PROGRAM, 14, 17))], [])])
def test_hints_are_told_if_no_error_is_at_their_place(
        words: list[str], hints: list[str], expected: list[tuple[str, str]]) -> None:
    assert told(errors_at(*words), *hints) == expected


def test_unknown_names_may_stay_unknown() -> None:
    def check(source: Source) -> None:
        start = source.text.index("one")
        raise ProgramError(Diagnostic("unknown-name", Span(source, start, start + 3), "unknown"))

    trial = Trial(PROGRAM, check)
    assert told(trial, Replacement("Write f one.", "f one")) == [("Write f one.", "f one")]


def test_hints_about_long_programs_are_told_untried() -> None:
    long = Source("a.fut", "bad" + " " * MOST_TRIED)
    trial = Trial(long, pytest.fail)
    hint = Replacement("Write bad.", "bad")
    (found,) = trial.told([Diagnostic("syntax-error", Span(long, 0, 3), "wrong", hints=(hint,))])
    assert found.hints == (hint,)
