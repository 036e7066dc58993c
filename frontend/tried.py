"""Hints are tried before they are told: a text that leaves an error in its place is no cure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from runelift.ir.base.errors import (
    CompilerLimitation,
    Diagnostic,
    ProgramError,
    Replacement,
)
from runelift.ir.base.source import Source, Span

MOST_TRIED = 40_000
"""The most characters of programs that are checked again for the hints of one report."""


class Trial:
    """Programs with the texts of hints in them; ``check`` raises what is wrong with a program."""

    def __init__(self, source: Source, check: Callable[[Source], object]) -> None:
        self._source = source
        self._check = check
        self._left = MOST_TRIED

    def told(self, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """The diagnostics, without hints that do not cure, or with what these say otherwise."""
        for each in diagnostics:
            hints = filter(None, (self._hint(hint, each.span) for hint in each.hints))
            yield replace(each, hints=tuple(hints))

    def _hint(self, hint: str, span: Span) -> str:
        """A hint that cures, perhaps with parentheses around its text; "" if there is none.

        Of several texts, one that leaves no error anywhere comes first.
        """
        kept: Replacement | None = None
        while isinstance(hint, Replacement):
            place = hint.span or span
            for new in (hint.new, f"({hint.new})")[:1 + (" " in hint.new)]:
                if (left := self._left_by(new, place)) is not _HERE:
                    told = Replacement(hint, new, hint.span)
                    if left is _NOWHERE or not (kept or isinstance(hint.otherwise, Replacement)):
                        return told
                    kept = kept or told
                    break
            hint = hint.otherwise
        return kept or hint

    def _left_by(self, new: str, span: Span) -> str:
        """The place of the errors with a new text; nowhere also if trying would take too long.

        A name that was unknown before may still be unknown there.
        """
        old = self._source.text
        if span.source != self._source or len(old) > self._left:
            return _NOWHERE
        self._left -= len(old)
        text = old[:span.start] + new + old[span.end:]
        try:
            self._check(Source(self._source.name, text))
        except ProgramError as error:
            end = span.start + len(new)
            return _HERE if any(each.span.source.text == text and each.span.start <= end
                                and span.start < each.span.end
                                and not (each.code == "unknown-name"
                                         and each.span.text in span.text)
                                for each in error.diagnostics) else _ELSEWHERE
        except CompilerLimitation:
            pass
        return _NOWHERE


_NOWHERE, _ELSEWHERE, _HERE = "nowhere", "elsewhere", "here"
