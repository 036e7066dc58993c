"""The three kinds of failure, kept apart: the user's error, our limitation, our bug.

After the type checker has accepted a program, every problem that is not a run-time error of
the program is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from runelift.ir.base.brevity import MOST_LINES, brief_lines, callers_line, keeps_frames
from runelift.ir.base.source import Loc, Source, Span

Code: TypeAlias = Literal[
    "syntax-error", "unsupported-feature", "literal-out-of-range", "unknown-attribute",
    "hole", "broken-promise", "too-many-constructors", "too-large", "no-derivative",
    "constant-derivative", "custom-adjoint-captures",
    "unknown-name", "recursive-function", "unknown-type", "duplicate-name", "not-definable",
    "type-mismatch", "ambiguous-type", "not-a-function", "too-many-arguments",
    "function-not-allowed", "unknown-field", "wrong-rank", "bad-pattern", "incomplete-match",
    "bad-entry", "type-arguments", "lifted-element",
    "lifted-abbreviation",
    "size-mismatch", "ambiguous-size", "unused-size", "anonymous-size",
    "anonymous-nonconstructive", "unused-existential", "inaccessible-size", "unknown-param-size",
    "causality-check", "irregular-array", "size-polymorphic-entry", "use-after-consume",
    "not-consumable", "write-through-window", "consume-free", "self-alias", "loop-self-alias",
    "unique-result", "unique-constant", "returns-constant",
    "unknown-module", "unknown-module-type", "missing-member", "not-a-module",
    "not-a-structure", "not-parametric", "missing-import", "cyclic-import",
    "index-out-of-bounds", "division-by-zero", "negative-size", "unequal-sizes",
    "invalid-windows", "assertion-failed", "recursion-depth", "bound-too-small",
    "rule-types-differ", "wrong-rule", "untestable-rule", "malformed-rule",
    "endless-rule",
    "unknown-parameter", "impossible-setting",
    "unknown-point", "point-arguments", "conflicting-points", "point-does-not-match",
    "malformed-schedule", "unknown-place",
    "malformed-data", "malformed-tuning", "malformed-log", "malformed-results", "malformed-ir",
    "malformed-profile", "malformed-manifest",
]
"""A kind of mistake: a stable name, which :mod:`runelift.ir.base.codes` explains."""


FAILURE = re.compile(r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): error\[(?P<code>[a-z-]+)\]: "
                     r"(?P<message>.*)")
"""The first line of a failure of a running program."""


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that an error speaks about, and what happened there."""

    span: Span
    text: str


class Replacement(str):
    """A hint that is followed by writing ``new`` in place of the text that the error is about.

    The text is that of ``span`` if the hint has one, else that of the diagnostic.  ``otherwise`` is
    the hint to give if the program is wrong at that place with the new text, too.
    """

    new: str
    span: Span | None
    otherwise: str

    def __new__(cls, hint: str, new: str, span: Span | None = None, otherwise: str = ""
                ) -> Replacement:
        """Make a hint with the text ``new`` that a tool may put in place of the span."""
        made = super().__new__(cls, hint)
        made.new = new
        made.span = span
        made.otherwise = otherwise
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.new, self.span, self.otherwise)


def did_you_mean(near: str, span: Span, old: str, new: str | None = None) -> str:
    """The hint that ``near`` is meant: a replacement by ``new`` if the text of ``span`` is ``old``.

    ``new`` is ``near`` if it is not given.
    """
    hint = f"Did you mean '{near}'?"
    return Replacement(hint, near if new is None else new) if span.text == old else hint


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about the user's program: what is wrong, where, why, what to do.

    >>> from runelift.ir.base.source import Source
    >>> src = Source("dot.fut", "entry main (xs: []i32) = map (+1) ys")
    >>> print(Diagnostic("unknown-name", Span(src, 34, 36), "Unknown variable 'ys'.",
    ...                  hints=("Did you mean 'xs'?",)).render())
    dot.fut:1:35: error[unknown-name]: Unknown variable 'ys'.
       1 | entry main (xs: []i32) = map (+1) ys
         |                                   ^^
      hint: Did you mean 'xs'?
    """

    code: Code
    span: Span
    message: str
    labels: tuple[Label, ...] = ()
    hints: tuple[str, ...] = ()
    severity: str = "error"

    def render(self, width: int | None = None) -> str:
        """The diagnostic as a person reads it, with program lines of at most ``width`` columns."""
        lines = [f"{self.span}: {self.severity}[{self.code}]: {self.message}",
                 self.span.excerpt(width=width)]
        lines += [f"{label.span}: note: {label.text}\n{label.span.excerpt(width=width)}"
                  for label in self.labels]
        lines += [f"  hint: {hint}" for hint in self.hints]
        return "\n".join(lines)


def in_order(errors: Iterable[Diagnostic], main: Source) -> list[Diagnostic]:
    """Errors by their places: errors in the text ``main`` first, then each other text's errors."""
    return sorted(errors, key=lambda each: (each.span.source is not main, each.span.source.name,
                                            each.span.start))


class RuneliftError(Exception):
    """Base class of all exceptions that Runelift raises on purpose."""


class _Brief(RuneliftError):
    """An error that notebooks show with the caller's line in place of a traceback."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython prints."""
        head = type(self).__name__ + callers_line(self.__traceback__)
        return [head, *brief_lines(str(self).split("\n"), MOST_LINES - 1)]


class UserError(_Brief):
    """The user's program, data or command is wrong.  Exit status 1, no traceback.

    ``code`` is what ``runelift explain CODE`` knows, ``span`` the place in the source, and ``hint``
    the cure; they are empty where there is none.
    """

    @property
    def code(self) -> str:
        """The code of the mistake, for programs that read it."""
        return ""

    @property
    def span(self) -> Span | None:
        """The place of the mistake in the source."""
        return None

    @property
    def hint(self) -> str:
        """Advice how to correct the mistake."""
        return ""


class ArgumentError(UserError, TypeError):
    """An argument of a call is wrong.  ``parameter`` is the name of its parameter, or ""."""

    def __init__(self, message: str, parameter: str = "", hint: str = "") -> None:
        super().__init__(message, parameter, hint)
        self.message = message
        self.parameter = parameter
        self._hint = hint

    @property
    def hint(self) -> str:
        """Advice how to correct the mistake in Python code."""
        return self._hint

    def __str__(self) -> str:
        return self.message + (f"\n  hint: {self._hint}" if self._hint else "")


def unknown_entry(name: str, known: Iterable[str]) -> UserError:
    """An error: of the entry points ``known`` none is called ``name``."""
    names = ", ".join(known) or "none: declare a function with 'entry'"
    return UserError(f"Unknown entry point '{name}'.  The program has {names}.")


MOST_SHOWN = 20
"""The most errors of a program that a text has: an error often explains further errors."""


def rendered(diagnostics: Sequence[Diagnostic], width: int | None = None) -> str:
    """The first errors as text, and the number of those left out."""
    shown = [each.render(width) for each in diagnostics[:MOST_SHOWN]]
    if (more := len(diagnostics) - MOST_SHOWN) > 0:
        shown.append(f"… and {more} more error{'s' * (more != 1)}")
    return "\n\n".join(shown)


class ProgramError(UserError):
    """The source program is wrong; carries one diagnostic or more."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(rendered(diagnostics))
        self.diagnostics = diagnostics
        self.is_brief = False
        """The text has a few lines about the first diagnostic only."""

    @property
    def full(self) -> str:
        """The text of the first :data:`MOST_SHOWN` diagnostics."""
        return str(self.args[0])

    @property
    def code(self) -> str:
        """The code of the first diagnostic; "" if there is none."""
        return self.diagnostics[0].code if self.diagnostics else ""

    @property
    def span(self) -> Span | None:
        """The place of the first diagnostic."""
        return self.diagnostics[0].span if self.diagnostics else None

    @property
    def hint(self) -> str:
        """The hints of the first diagnostic."""
        return "\n".join(self.diagnostics[0].hints) if self.diagnostics else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.diagnostics

    def __str__(self) -> str:
        more = len(self.diagnostics) - 1
        if not self.is_brief or not self.diagnostics:
            return self.full
        note = [f"… and {more} more: see the field 'diagnostics'"] if more else []
        first = self.diagnostics[0]
        shown = [*first.render().splitlines()[:3], *(f"  hint: {hint}" for hint in first.hints)]
        return "\n".join([*brief_lines(shown, MOST_LINES - len(note)), *note])


class ProgramWarning(UserWarning):
    """A part of a right program has no effect; carries the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        return self.diagnostic.render()


class HiddenEntryWarning(UserWarning):
    """Python code cannot call an entry point as an attribute; carries the text."""


class RunFailure(_Brief):
    """A run failed at a place of the program.

    The message holds the reason with its values and the source position; the interpreter gives
    the position as a second argument as well.  With the ``sources`` of the program, the text has
    the line of the source.
    """

    sources: tuple[Source, ...] = ()

    @property
    def code(self) -> str:
        """The kind of failure; "" for a failure without a place."""
        return "" if (found := FAILURE.match(str(self.args[0]))) is None else found["code"]

    @property
    def span(self) -> Span | None:
        """The place of the failure; None if its text is not among the ``sources``."""
        if (found := FAILURE.match(str(self.args[0]))) is None:
            return None
        return Loc(found["file"], int(found["line"]), int(found["column"])).span(self.sources)

    def __str__(self) -> str:
        first, *calls = str(self.args[0]).split("\n")
        excerpt = [] if (span := self.span) is None else span.excerpt().split("\n")
        return "\n".join([first, *excerpt, *calls])


class ProgramFailure(RunFailure, UserError):
    """The program failed while it ran: an index out of bounds, a failed assertion, ..."""


class BriefErrors:
    """A context whose errors of users come out with a few lines, and without frames inside."""

    def __enter__(self) -> None:
        """Prepare nothing."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ProgramError):
            error.is_brief = True
        if isinstance(error, UserError | CompilerLimitation) and not keeps_frames():
            error.__traceback__ = None


class CompilerLimitation(_Brief):
    """The program is right, but this compiler cannot compile it yet.  Exit status 2."""


class TooLarge(CompilerLimitation):
    """A program has no mistakes, but is too large once its calls are inlined."""

    def __init__(self, span: Span, message: str) -> None:
        super().__init__(span, message)
        self.diagnostic = Diagnostic("too-large", span, message)

    def __str__(self) -> str:
        return self.diagnostic.render()


class RunTooLarge(RunFailure, CompilerLimitation):
    """The program is right, but a run of it has more rows or calls than Runelift supports."""


class NoDerivative(CompilerLimitation):
    """A program has no mistakes, but asks for a derivative that no rule gives."""

    def __init__(self, what: str, loc: Loc | None) -> None:
        super().__init__(what, loc)
        self.what = what
        self.loc = loc

    def __str__(self) -> str:
        place = "" if self.loc is None else f"{self.loc}: "
        calls = [] if self.loc is None else self.loc.trace()
        return "\n".join([f"{place}error[no-derivative]: {self.what}", *calls])


class VersionUnavailable(UserError):
    """A version that a run should use cannot run here; the message has the reason.

    ``version`` is its name, ``site/index``.
    """

    def __init__(self, version: str, reason: str) -> None:
        super().__init__(version, reason)
        self.version = version
        self.reason = reason

    def __str__(self) -> str:
        return f"version {self.version} cannot run here: {self.reason}."


class CompilerBug(RuneliftError):
    """An invariant of the compiler does not hold.  Exit status 3; please report."""
