"""Mistakes in test blocks that show before a test runs: entry points, and types of values.

``check`` warns of them, and ``test`` names them in place of what the failing call says.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from runelift.frontend.signatures import signatures
from runelift.frontend.syntax import ast
from runelift.ir.base.errors import Code, Diagnostic, ProgramError, Replacement, did_you_mean
from runelift.ir.base.source import Source, Span
from runelift.ir.prim import FLOATS, INTS, NUMBERS, Prim
from runelift.ir.signature import Component, Signature
from runelift.runtime.data.text import Reader, prim_of
from runelift.runtime.tools.testing.test_blocks import Case, Failure, parse_blocks

_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:[iuf]\d+)?(?![\w.])")


def mistakes(source: Source, module: ast.Flat) -> list[Diagnostic]:
    """Warnings of the test blocks of a program that is right, ``module``; each mistake once."""
    try:
        blocks = parse_blocks(source)
    except ProgramError as error:
        return [replace(each, severity="warning") for each in error.diagnostics]
    known = signatures(module)
    found = [each for block in blocks if block.error is None for case in block.cases
             for entry in case.entries if (each := mistake(source, case, entry, known)) is not None]
    return list({each.span.start: each for each in found}.values())


def mistake(source: Source, case: Case, entry: str, known: Mapping[str, Signature]
            ) -> Diagnostic | None:
    """The first mistake in a case of an entry point, or None."""
    start = sum(len(line) for line in source.text.splitlines(keepends=True)[:case.line - 1])
    if entry not in known:
        return _unknown(source, start, entry, list(known))
    if isinstance(case.output, Failure):
        return None
    found = _wrong_values(source, start, case, entry, known[entry])
    return next(found, None)


def _unknown(source: Source, start: int, entry: str, known: Sequence[str]) -> Diagnostic:
    places = list(re.finditer(rf"^[ \t]*--[ \t]*entry:[^\n]*?(?<![\w'])({re.escape(entry)})"
                              r"(?![\w'])", source.text[:start], re.MULTILINE))
    span = (Span(source, places[-1].start(1), places[-1].end(1)) if places
            else _line(source, start))
    near = difflib.get_close_matches(entry, known, n=1)
    hint = (did_you_mean(near[0], span, entry) if near and places else
            f"The program has {', '.join(known)}." if known else "Declare it with 'entry'.")
    if known and not places:
        before = source.text[source.text.rfind("\n", 0, span.start) + 1:span.start]
        hint = f"Write before it: -- entry: {' '.join(known)}"
        if len(known) == 1:
            hint = Replacement(hint, f"entry: {known[0]}\n{before}",
                               Span(source, span.start, span.start))
    return _warning("unknown-name", span, f"The test is of an entry point '{entry}', which the "
                    "program does not have.", hint)


def _wrong_values(source: Source, start: int, case: Case, entry: str, signature: Signature
                  ) -> Iterator[Diagnostic]:
    """The mistakes in the numbers and types of values, if these stand in the block."""
    text = re.sub(r"^([ \t]*)--", r"\1  ", source.text, flags=re.MULTILINE)
    place = start
    for word, given, wanted in (("input", case.input, signature.params),
                                ("output", case.output, signature.results)):
        brace = re.compile(rf"[^{{]*?\b{word}\s*{{").match(text, place)
        if not isinstance(given, tuple) or brace is None or any(
                each.opaque or each.parts != 1 for each in wanted):
            return
        reader = Reader(source, brace.end(), None, text)
        if len(given) != len(wanted):
            takes = "takes" if word == "input" else "returns"
            yield _warning(
                "malformed-data", _line(source, brace.end() - 1), f"The test has {len(given)} "
                f"value{'s' * (len(given) != 1)} as {word}, but '{entry}' {takes} {len(wanted)}.",
                f"It {takes} {', '.join(_shown(each) for each in wanted)}.")
            return
        for each in wanted:
            reader.skip_blanks()
            first = reader.position
            value = reader.value()
            span = Span(source, first, reader.position)
            if (type_ := "[]" * np.ndim(value) + prim_of(np.asarray(value)).value) != each.type:
                yield _wrong_type(span, type_, each)
        place = reader.position + 1


def _wrong_type(span: Span, found: str, wanted: Component) -> Diagnostic:
    old, new = Prim(found.lstrip("[]")), wanted.type.lstrip("[]")
    text = span.text
    hint = f"Write a value of type {wanted.written or wanted.type}."
    same_rank = found.count("[]") == wanted.type.count("[]")
    if same_rank and old in NUMBERS and Prim(new) in (NUMBERS if old in INTS else FLOATS) and (
            not re.search(r"[a-z]\.|--", text)):
        value = _NUMBER.sub(rf"\g<1>{new}", text)
        hint = Replacement(f"Write {value}.", value)
    return _warning("malformed-data", span, f"Expected a value of type {wanted.type}"
                    f"{f' for {wanted.name}' * bool(wanted.name)}, found {found}.", hint)


def _shown(each: Component) -> str:
    written = each.written or each.type
    return f"{each.name}: {written}" if each.name else written


def _line(source: Source, place: int) -> Span:
    """The text of the line of a place, without the blanks and the comment mark before it."""
    begin = source.text.rfind("\n", 0, place) + 1
    end = source.text.find("\n", place)
    line = source.text[begin:end if end >= 0 else len(source.text)]
    blanks = len(line) - len(line.lstrip(" \t-"))
    return Span(source, begin + blanks, begin + len(line.rstrip()))


def _warning(code: Code, span: Span, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code, span, message, hints=(hint,), severity="warning")
