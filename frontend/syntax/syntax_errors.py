"""Messages about texts that are no programs: what was found, what is unfinished, what is meant.

The parser knows where it stopped and which terminals could stand there.  The rest is found from the
text before that place.  It shows which brackets and words still wait for another one, and whether
it looks like another language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from runelift.frontend.syntax.advice import ADVICE, COMMENT, ESCAPES, IN, Said, assigned, for_floats
from runelift.frontend.syntax.tokens import RESERVED
from runelift.ir.base.errors import Diagnostic, Label, Replacement
from runelift.ir.base.source import Source, Span

END = "end of the file"

_WORDS = {
    "NAME": "a name", "INT": "a number", "FLOAT": "a number", "STRING": "a string",
    "LSQB": "'['", "RSQB": "']'", "LPAR": "'('", "RPAR": "')'", "LBRACE": "'{'", "RBRACE": "'}'",
    "EQUAL": "'='", "COMMA": "','", "DEF": "a declaration", "$END": f"the {END}",
    "IN": "'in'", "_LET": "'let'", "THEN": "'then'", "ELSE": "'else'", "DO": "'do'",
    "FOR": "'for'", "WHILE": "'while'", "TYPE_VAR": "a type parameter", "CASE": "'case'",
    "__ANON_1": "'->'",
}
_BEGINNINGS = ("def", "entry", "type", "module", "open", "import")
"""Words that declarations begin with."""
_WHOLE = {"in": IN, "else": "A choice has a value in both cases: if c then a else b"}
"""The hint for a construct that lacks a word."""
_INCOMPLETE = "The declaration before is not complete."
_OFTEN = {"OP": "an operator", "MINUS": "an operator", "COLON": "':'", "RANGE": "a range",
          "FIELD": "a field", "WITH": "'with'", "OPEN": "'['"}
"""Terminals that may follow almost everything, and so say little."""

_TOKEN = re.compile(
    r"""--[^\n]*|\#\[[^\]]*\]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'|[A-Za-z_][\w']*|[()\[\]{}]""")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_CLOSED = {"then": "if", "else": "if", "do": "loop", "case": "match", "in": "let"}
"""Words that need another one before them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A bracket or word that waits for ``closing`` (terminals), called ``missing``."""

    word: str
    start: int
    closing: str
    missing: str

    @property
    def text(self) -> str:
        """The mistake, in words."""
        if self.word in _BRACKETS.values():
            return f"this '{self.word}' is not closed"
        return f"this '{self.word}' has no '{self.missing}'"


_WAITS = {"(": ("RPAR", ")"), "[": ("RSQB", "]"), "{": ("RBRACE", "}"), "let": ("IN", "in"),
          "if": ("THEN", "then"), "loop": ("DO", "do"), "match": ("CASE", "case")}


def brace(start: int) -> Opening:
    """The opening brace of a module that waits for its closing one."""
    return Opening("{", start, *_WAITS["{"])


def openings(text: str, begin: int, end: int) -> list[Opening]:
    """The unfinished constructs of ``text`` between two places, innermost last."""
    waiting: list[Opening] = []
    in_for = False
    for match in _TOKEN.finditer(text, begin, end):
        word, start = match[0], match.start()
        first = start == 0 or text[start - 1] == "\n"
        if word in ("def", "entry", "let", "type", "module", "open", "import", "local") and first:
            waiting.clear()
        elif word in _BRACKETS:
            _close(waiting, _BRACKETS[word])
        elif word in _WAITS:
            if word == "let":
                _close(waiting, "let", only_last=True)
            waiting.append(Opening(word, start, *_WAITS[word]))
        elif word == "then" and (opening := _close(waiting, "if")) is not None:
            waiting.append(Opening("if", opening.start, "ELSE", "else"))
        elif word == "for":
            in_for = True
        elif word == "in" and not in_for:
            _close(waiting, "let")
        elif word in ("else", "do", "case"):
            _close(waiting, {"else": "if", "do": "loop", "case": "match"}[word])
        in_for = in_for and word not in ("in", "do")
    return waiting


def _close(waiting: list[Opening], word: str, only_last: bool = False) -> Opening | None:
    """Take the innermost ``word`` away, with what is inside of it."""
    for k in range(len(waiting) - 1, -1, -1):
        if waiting[k].word == word:
            found = waiting[k]
            del waiting[k:]
            return found
        if only_last:
            break
    return None


_COMMENTS = re.compile(
    r"""--[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'
    |(?P<comment>/\*(?P<c>[\s\S]*?)\*/|\(\*(?P<ml>[^()]+)\*\)
    |(?<=\n)\(\*(?P<line>[^\n]+)\*\)(?=\s*\n)|\{-(?P<haskell>[\s\S]*?)-\})""", re.VERBOSE)


@dataclass(frozen=True, slots=True)
class Found:
    """``word`` (nothing: the end of the file) at ``start``, where only ``expected`` can stand."""

    word: str
    start: int
    expected: Collection[str]

    @classmethod
    def of(cls, error: UnexpectedInput, text: str) -> Found:
        """The place at which the parser stopped."""
        if isinstance(error, UnexpectedCharacters):
            start = error.pos_in_stream or 0
            word = text[start:].split(maxsplit=1)[0]
            return cls(word if word[0].isalnum() else word[0], start, error.allowed or ())
        expected: Collection[str] = getattr(error, "expected", ())
        if isinstance(error, UnexpectedToken) and error.token.type != "$END":
            return cls(str(error.token), error.token.start_pos or 0, expected)
        return cls("", len(text.rstrip()), expected)


def syntax_error(source: Source, found: Found, begin: int = 0,
                 around: Sequence[Opening] = ()) -> Diagnostic:
    """The error at a place in the declaration that begins at ``begin``.

    ``around`` are the constructs that the declaration stands in.
    """
    if (said := _comment(source, begin, found.start)) is not None and said.place is not None:
        return Diagnostic("syntax-error", said.place, f"Unexpected '{said.place.text}'.",
                          hints=(said.hint,))
    declared = [each.start() for each in _DECLARED.finditer(source.text, 0, found.start)]
    if (anew := assigned(source, declared[-1] if declared else 0, found.start)) is not None:
        return Diagnostic("syntax-error", anew[0], f"Unexpected '{anew[0].text}'.",
                          hints=(anew[1],))
    waiting = [*around, *openings(source.text, begin, found.start)]
    place = Span(source, found.start, found.start + (len(found.word) or 1))
    incomplete = _is_next(found, place, in_module=bool(around))
    end = len(source.text[:found.start].rstrip()) if incomplete else found.start
    said = _advice(source, end, found.expected)
    if incomplete and (said is None or said.place is None or said.place.end > end):
        said = None  # it is not about the declaration before
    hint = None if said is None else said.hint
    if said is not None and said.place is not None and said.place.text:
        line = said.place.text.partition("\n")[0]
        place = Span(source, said.place.start, said.place.start + len(line)) if line else said.place
    message = f"Unexpected '{place.text or found.word}'." if found.word else f"Unexpected {END}."
    labels: tuple[Label, ...] = ()
    if waiting and waiting[-1].closing in found.expected and (hint is None or not found.word):
        last = waiting[-1]
        opening = Span(source, last.start, last.start + len(last.word))
        bracket = last.word in _BRACKETS.values()
        behind = _behind(source, last, found.start)
        if behind is not None and behind.span is not None:
            if "\n" in source.text[behind.span.end:found.start]:
                return Diagnostic("syntax-error", behind.span, f"T{last.text[1:]}.",
                                  (Label(place, "unexpected here"),), (behind,))
            hint = behind
        if incomplete or (bracket and not found.word):
            ends = "the next declaration begins" if incomplete else "the file ends"
            return Diagnostic(
                "syntax-error", opening, f"T{last.text[1:]}.",
                (Label(place, f"{ends} here"),),
                tuple(filter(None, [f"Write '{last.missing}' where it ends." if bracket else
                                    behind or _WHOLE.get(last.missing)])))
        labels = (Label(opening, last.text),)
        if last.missing == "else":
            hint = hint or _WHOLE["else"]
    if incomplete:
        hint = hint or _INCOMPLETE
    hint = hint or _missing(found.word, found.expected, waiting, source.text[:found.start])
    return Diagnostic("syntax-error", place, message, labels, (hint,) if hint else ())


def _comment(source: Source, begin: int, start: int) -> Said | None:
    """The advice about a comment of C, OCaml or Haskell that begins before an error or at it."""
    for match in _COMMENTS.finditer(source.text, begin):
        if match.start() > start:
            break
        if not match["comment"]:
            continue
        text = next(filter(None, match.group("c", "ml", "line", "haskell")), "")
        if "\n" in text:
            return Said(f"{COMMENT[:-1]}, in each of its lines.",
                        Span(source, match.start(), match.start() + 2))
        place = Span(source, match.start(), match.end())
        ends = re.compile(r"[ \t]*(\n|\Z)").match(source.text, place.end)
        return Said(Replacement(COMMENT, f"-- {text.strip()}", place) if ends else COMMENT, place)
    return None


def _is_next(found: Found, place: Span, *, in_module: bool) -> bool:
    """True if the next declaration begins at a place at which none can."""
    return (found.word in _BEGINNINGS and "DEF" not in found.expected
            and place.indentation == place.column - 1 and (in_module or place.column == 1))


_DECLARED = re.compile(r"^(def|entry)\b", re.MULTILINE)
_GAP = re.compile(r"(?<=[\w')\]])(?:[ \t]*(?:--[^\n]*)?\n\s*|[ \t]+)(?=[\w'(\[\\#])")
"""A place at which an expression may end and another one begin."""


def _behind(source: Source, last: Opening, end: int) -> Replacement | None:
    """The hint where ``then`` or ``do`` is missing behind a condition; None if unclear.

    The end of the first line is likely.  In a line, the last place is tried first.
    """
    head = re.compile(r"if|\b(?:while|for)\b").search(source.text, last.start, end)
    if last.missing not in ("then", "do") or head is None:
        return None
    begin, text = head.start(), source.text[head.start():end]
    gaps = [gap for gap in _GAP.finditer(source.text, begin, end + 1)
            if re.findall(r"[\w']+|$", text[:gap.start() - begin])[-2:][0] not in RESERVED
            and (gap.end() < end or re.compile(r"let\b|if\b|loop\b|match\b|\\").match(
                source.text, end))]
    hint: str = f"Expected '{last.missing}'."
    lines = any("\n" in gap[0] for gap in gaps)
    for gap in gaps if lines else gaps[-6:]:
        before, behind = text[:gap.start() - begin], text[gap.end() - begin:].rstrip()
        new = before + f" {last.missing}" + f" {behind}".rstrip() * (not lines)
        if not lines or ("\n" not in before and "\n" in gap[0]):
            place = Span(source, begin, begin + len(before if lines else text.rstrip()))
            shown = " ".join(new.split())
            hint = Replacement(f"Expected '{last.missing}': {shown}", new, place, hint)
    return hint if isinstance(hint, Replacement) else None


_NAMED = re.compile(r"(\b(def|entry|let|for|loop|type|module|val|case)\s+|[({,\\]\s*)$")
"""A text behind which a name stands."""


def _missing(found: str, expected: Collection[str], waiting: list[Opening], before: str
             ) -> str | None:
    """A message about ``found``, behind a text, that says what is expected.

    None if that may be too many things.
    """
    if found in RESERVED and "NAME" in expected and "IF" not in expected and (
            _NAMED.search(before)):
        return f"'{found}' is a keyword and cannot be a name."
    if found in _BRACKETS and all(each.word != _BRACKETS[found] for each in waiting):
        return f"No '{_BRACKETS[found]}' is open here."
    if not found and waiting and waiting[-1].word == "let":
        return IN
    if (opens := _CLOSED.get(found)) and "IF" in expected and all(
            each.word != opens for each in waiting):
        return f"No '{opens}' is open here."
    if "IF" in expected and (not found or found in _BRACKETS or found in RESERVED):
        return "An expression is missing before it."
    words = sorted({_WORDS[name] for name in expected if name in _WORDS})
    words = words or sorted({_OFTEN[name] for name in expected if name in _OFTEN})
    return f"Expected {' or '.join(words)}." if 0 < len(words) <= 6 else None


def _advice(source: Source, start: int, expected: Collection[str]) -> Said | None:
    """The first advice that fits the place."""
    line = source.text[source.text.rfind("\n", 0, start) + 1:start]
    if (escaped := next((c for c in line if c in ESCAPES), None)) is not None:
        return Said("The text has the character that Python makes of "
                    f"\"{ESCAPES[escaped]}\": write r before the string.")
    said = next(filter(None, (each.applies(source, start, expected) for each in ADVICE)), None)
    return said and said._replace(hint=for_floats(said.hint, source))
