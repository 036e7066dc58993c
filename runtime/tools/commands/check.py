"""Check programs: parse them, infer types and sizes, and report every error and warning.

Prints nothing when there is none.  Programs get JSON, or SARIF, which services and editors read.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from runelift.frontend.load import check
from runelift.ir.base.errors import Diagnostic, ProgramError, ProgramWarning, Replacement
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source, Span
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.tools.commands.options import (
    add_json_or_sarif,
    print_json,
    programs_in,
)
from runelift.runtime.tools.commands.styles import show

EXAMPLES = ("runelift check examples/matmul.fut",
            "runelift check examples",
            "runelift check --sarif examples/matmul.fut",
            "runelift check --promises examples/matmul.fut",
            "runelift check --fix examples/matmul.fut")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift check``."""
    parser.add_argument("programs", type=Path, nargs="+", metavar="FILE|FOLDER",
                        help="programs (.fut), or folders with programs")
    parser.add_argument("--promises", action="store_true",
                        help="try operators of reduce, scan and the like on random small values: "
                             "it is an error if one is not associative, or its neutral element is "
                             "not neutral")
    parser.add_argument("--fix", action="store_true",
                        help="write what hints say into the program, as far as a hint is a text "
                             "for a place; then check again")
    add_json_or_sarif(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift check``."""
    wrong = list[Diagnostic]()
    for path in programs_in(args.programs):
        if args.fix:
            fixed = fix(path)
            if fixed and not (args.json or args.sarif):
                show(f"{path}: {fixed} place{'s' * (fixed != 1)} changed.")
        try:
            source = read_source(path)
            for each in _checked(source, promises=args.promises):
                warnings.warn(ProgramWarning(each), stacklevel=1)
        except ProgramError as error:
            wrong += error.diagnostics
    if wrong:
        raise ProgramError(*wrong)
    if args.json or args.sarif:
        print_json(None)
    return 0


_TEST_BLOCK = re.compile(r"^[ \t]*--[ \t]*==", re.MULTILINE)


def _checked(source: Source, *, promises: bool = False) -> list[Diagnostic]:
    """Check a program; the mistakes in its test blocks."""
    module = check(source, promises=promises)
    if _TEST_BLOCK.search(source.text) is None:
        return []
    # late: start-up; values of test blocks need NumPy
    from runelift.runtime.tools.testing.block_mistakes import mistakes

    return mistakes(source, module)


DOUBTFUL = frozenset({"size-mismatch"})
"""Errors whose hints have a choice, which people make."""
MOST_ROUNDS = 30
"""The most checks of a program: a mistake may hide another one."""


def fix(path: Path) -> int:
    """Write the texts of hints into a program until no hint has one; the number of places."""
    changed = 0
    for _ in range(MOST_ROUNDS):
        source = read_source(path)
        edits = _edits(source, diagnostics_of(source))
        if not edits:
            break
        text, count = _edited(source, edits), len(edits)
        if count > 1 and _errors(Source(source.name, text)) > _errors(source) - count:
            text, count = _edited(source, edits[:1]), 1  # one may have cured two mistakes
        write_atomically(path, text, path.stat().st_mode & 0o777)
        changed += count
    return changed


def _edited(source: Source, edits: Sequence[tuple[Span, str]]) -> str:
    """The text of a program with other texts at some places."""
    text = source.text
    for span, new in reversed(edits):
        text = text[:span.start] + new + text[span.end:]
    return text


def _errors(source: Source) -> int:
    """The number of errors in a program."""
    return sum(each.severity == "error" for each in diagnostics_of(source))


def diagnostics_of(source: Source) -> list[Diagnostic]:
    """The errors and warnings of a program."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        found = list[Diagnostic]()
        try:
            found += _checked(source)
        except ProgramError as error:
            found += error.diagnostics
    return found + [each.message.diagnostic for each in caught
                    if isinstance(each.message, ProgramWarning)]


def _edits(source: Source, diagnostics: Iterable[Diagnostic]) -> list[tuple[Span, str]]:
    """The first text of each diagnostic with its place, in order; places do not overlap."""
    wanted = {}
    for each in diagnostics:
        if each.code in DOUBTFUL:
            continue
        hint = next((hint for hint in each.hints if isinstance(hint, Replacement)), None)
        if hint is not None and (hint.span or each.span).source == source:
            span = hint.span or each.span
            wanted[span.start, span.end] = span, hint.new
    edits, end = list[tuple[Span, str]](), 0
    for place, edit in sorted(wanted.items(), key=lambda item: item[0]):
        if place[0] >= end:
            edits.append(edit)
            end = place[1]
    return edits
