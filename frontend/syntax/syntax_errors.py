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
_OFTEN = {"OP": "an operator", "MINUS": "an operator", "COLON": "':'", "RANGE": "a range",
          "FIELD": "a field", "WITH": "'with'", "OPEN": "'['"}
"""Terminals that may follow almost everything, and so say little."""

_TOKEN = re.compile(
    r"""--[^\n]*|\#\[[^\]]*\]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])'|[A-Za-z_][\w']*|[()\[\]{}]""")
_BRACKETS = {")": "(", "]": "[", "}": "{"}


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


@dataclass(frozen=True, slots=True)
class Advice:
    """A hint for a text that matches ``before`` up to the place of an error, and ``at`` from it.

    ``expected``: a terminal that could stand at the place; with a ``-``, one that could not.
    ``new`` replaces the text from the place to the end of ``at``.  A group ``start`` of ``before``
    is an earlier beginning, a group ``end`` of it another end.  ``new`` may name groups.
    """

    hint: str
    before: str = ""
    at: str = ""
    expected: str = ""
    new: str = ""

    def applies(self, source: Source, start: int, expected: Collection[str]) -> str | None:
        """The hint if it is about this place, where only ``expected`` can stand."""
        text, low = source.text, max(0, start - 400)
        before = re.search(self.before, text[low:start])
        at = re.compile(self.at).match(text, start)
        if before is None or at is None:
            return None
        if not (self.expected in ("", *expected)
                or (self.expected[0] == "-" and self.expected[1:] not in expected)):
            return None
        if not self.new:
            return self.hint
        groups = {name: " ".join(each.replace(",", " ").split()) for name, each in
                  (before.groupdict() | at.groupdict()).items()}
        span = Span(source, low + before.start("start") if "start" in groups else start,
                    low + before.end("end") if "end" in groups else at.end())
        return Replacement(self.hint, self.new.format(**groups), span)


_FUNCTION = r"A function is written: \x -> e"
_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v", "\0": r"\0"}
"""Characters that are in a program only if a string of Python has made them."""

_MATCH = "A match is written: match e case p -> e"
_LOOP = "A loop is written: loop x = a for i < n do e"

_ADVICE = (
    Advice(_MATCH, before=r"\b(match\b[^\n]*\{[^\n]*|case\b[^\n]*)=?$", at=r"=?>"),
    Advice("An element is replaced in a copy, or in an array that is yours alone: xs with [i] = x",
           before=r"\]\s*:$", at="="),
    Advice(_LOOP, before=r"\bfor\s*\([^\n)]*$", at="="),
    Advice("A field is written: e.x", before=r"[\w')\]]$", at=r"->\s*[a-z_]"),
    Advice("A component-wise operator is map2: map2 (*) xs ys", before=r"\s$", at=r"\.[-+*/^]"),
    Advice("Arguments stand behind the function without commas: f x y",
           before=r"(^|\n)(def|entry|let)\b[^\n]*=\s*[\w.']+\s[^\n(\[{]*$", at=","),
    Advice("A type argument stands behind its type, and an array is written []t.", at="<",
           before=r":\s*[A-Z]\w*$"),
    Advice("A character is one sign, and a text stands in double quotes.", at="'"),
    Advice("A body stands behind '=', without braces.",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*\{[^=\n]*$"),
    Advice("Fields are parted by commas.", before=r"\{[^{}\n]*$", at=";", new=","),
    Advice("A choice has no ';' before 'else'.", before=r"\bthen\b[^\n]*$", at=r";(?=\s*else\b)"),
    Advice("A definition is written with '='.", before=r":\s*[\w.\[\]]+\s*$", at=":="),
    Advice(_FUNCTION, before=r"(?P<start>\blambda\s+(?P<x>[\w', ]+?)\s*(?P<end>:))[^:\n]*$",
           new=r"\{x} ->"),
    Advice(_FUNCTION, before=r"(?P<start>\b(fun|fn|function)\s+)(?P<x>[\w' ]+?)\s*$", at="->",
           new=r"\{x} ->"),
    Advice('In a string of Python, "\\n" is a new line: write r before the string.',
           before=r"\(\n\s*$", at="->"),
    Advice("A number has a digit before its point.", at=r"(?P<digits>\.\d+)", new="0{digits}"),
    Advice("A number has a digit behind its point.", before=r"(?P<start>\b(?P<digits>\d+))$",
           at=r"\.(?!\.)", new="{digits}.0"),
    Advice("A product of matrices is written: map (\\row -> map (\\col -> f32.sum (map2 (*) row "
           "col)) (transpose b)) a", at="@"),
    Advice(r"An array of results is written: map (\x -> e) xs", before=r"\[[^\[\]]*$", at=r"for\b"),
    Advice("A choice is written: if c then a else b",
           before=r"\bif\b(?![^\n]*\bthen\b)[^\n]*[{:][^\n]*$"),
    Advice("An operator that counts up is no part of the language: write i + 1.",
           before=r"\w\s*$", at=r"\+\+\s*(?=[;)\n]|$)"),
    Advice("Write '#[unsafe] e' instead of 'unsafe e'.", before=r"\bunsafe\s*$"),
    Advice(_FUNCTION, at="=>"),
    Advice(_FUNCTION, before=r"\\[\w ()]+$", at=r"\."),
    Advice(_FUNCTION, before=r"\((?P<start>\s*(?P<x>[\w']+)\s*)$", at="->", new=r"\{x} ->"),
    Advice("A record type is written: {x: t, y: u}", before=r"\btype\b[^={]*=\s*\(\s*[\w']+\s*$",
           at=":"),
    Advice("A record type is written: {x: t, y: u}",
           before=r"\btype\b[^={]*=\s*\(\s*[\w']+\s*:[^()]*$", at=","),
    Advice("An array type is written: []t or [n]t", before=r":\s*\[\s*[\w'.]+\s*\]\s*$",
           at=r"[),=}]"),
    Advice("An element in front is written: [x] ++ xs", before=r"[ \t]$", at="::"),
    Advice("A member of a module is written: M.x", at="::"),
    Advice("A tuple has commas: (a, b)", before=r"\blet\s+\(\s*[\w']+\s+$", at=r"[A-Za-z_]"),
    Advice("A comment begins with --.", at=r"//|/\*"),
    Advice("A comment begins with --.", before=r"(^|\n)\s*$", at=r"#(?!\[)"),
    Advice("A comment begins with --.", at=r"#\s"),
    Advice("No ';' stands between a definition and what follows it.", at=";"),
    Advice("A name keeps its value; define it anew: let x = x + 1", before=r"\blet\s+[\w']+\s*$",
           at=r"[-+*/%]="),
    Advice("A definition is written with '='.", before=r":\s*$", at="="),
    Advice("A name is defined with 'let': let x = e",
           before=r"\b(var|val|const|auto|int|float|double|[iuf]\d\d?)\s+[\w']+\s*$", at="="),
    Advice(_LOOP, before=r"\bfor\s+[\w']+\s*$", at="="),
    Advice("A name is defined before its use: let x = e in ...",
           before=r"\bwhere\s+[\w']+\s*$", at="="),
    Advice("The body of a loop stands behind 'do'.",
           before=r"\b(while|for)\b(?![^\n]*\bdo\b)[^\n]*\{[^\n}]*$"),
    Advice("Bits are inverted by '!'.", at="~", new="!"),
    Advice("Each size has its own brackets: [n][m]t", before=r":\s*\[\s*[\w']+\s*$", at=","),
    Advice("Parentheses group: (e).  Braces make records: {x = e}",
           before=r"(=|\bin|\bdo|\bthen|\belse)\s*\{[^{}=,:\n]*$"),
    Advice("The type of a result stands behind a colon: (x: t): u",
           before=r"(^|\n)\s*(def|entry|let)\b[^=\n]*\)\s*$", at="->", new=":"),
    Advice("Equality is written '=='.", at=r"=(?!=)", expected="OP"),
    Advice("A choice is written: if c then a else b", at=r"\?"),
    Advice("Write 'else if'.", before=r"\belif\b[^\n]*$"),
    Advice("The value of a function is its body: there is no 'return'.",
           before=r"\breturn\b[^\n]*$"),
    Advice("A loop is written: loop x = a while c do e", at=r"while\b", expected="-WHILE"),
    Advice(_LOOP, at=r"for\b", expected="-FOR"),
    Advice(_MATCH, at=r"case\b", expected="-CASE"),
    Advice(_MATCH,
           before=r"\bmatch\b([^|]*\||[^\n]*\bwith\b)[^|]*$", at="->"),
    Advice("A range ends before a number or with it: 0..<10 or 0...9",
           before=r"\bfor\s+[\w']+\s+in\b[^\n]*[^.]\.\.[^\n.<>]*$", at=r"do\b"),
    Advice("A case is written: case p -> e", before=r"\bcase\b[^:>]*:\s*$"),
    Advice('A string is written in straight quotes: "text"', at="[“”‘’]"),
    Advice("The string has no end.", at='"'),
    Advice("Constructors begin with '#': #red | #green", before=r"\btype\b[^=]*=[^=#]*$",
           at=r"\|"),
    Advice("A parameter is written with its type behind it: (x: i32)",
           before=r"\(\s*(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool|int|float|double|char)"
                  r"[ \t]+$",
           at=r"[A-Za-z_]"),
    Advice("A size parameter is a name: [n]", before=r"\bdef\b[^=]*\[\s*[\w']+\s*$",
           at=r"[-+*/]"),
    Advice("Inside of an expression, functions are defined with 'let'.", before=r"[ \t]$",
           at=r"(def|entry)\b", expected="-DEF"),
    Advice("A declaration begins with def, entry, type, module, open or import.",
           before=r"(^|\n)[ \t]*$", at=r"[A-Za-z_]", expected="DEF"),
)


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
    waiting = [*around, *openings(source.text, begin, found.start)]
    place = Span(source, found.start, found.start + (len(found.word) or 1))
    incomplete = _is_next(found, place, in_module=bool(around))
    hint = None if incomplete else _advice(source, found.start, found.expected)
    if isinstance(hint, Replacement) and hint.span is not None:
        place = hint.span
    labels: tuple[Label, ...] = ()
    if waiting and waiting[-1].closing in found.expected and (hint is None or not found.word):
        last = waiting[-1]
        labels = (Label(Span(source, last.start, last.start + len(last.word)), last.text),)
    if incomplete:
        hint = "The declaration before is not complete."
    hint = hint or _missing(found.word, found.expected, waiting)
    message = f"Unexpected '{place.text or found.word}'." if found.word else f"Unexpected {END}."
    return Diagnostic("syntax-error", place, message, labels, (hint,) if hint else ())


def _is_next(found: Found, place: Span, *, in_module: bool) -> bool:
    """True if the next declaration begins at a place at which none can."""
    return (found.word in _BEGINNINGS and "DEF" not in found.expected
            and place.indentation == place.column - 1 and (in_module or place.column == 1))


def _missing(found: str, expected: Collection[str], waiting: list[Opening]) -> str | None:
    """A message about ``found`` that says what is expected; None if that may be too many things."""
    if found in RESERVED and "NAME" in expected and "IF" not in expected:
        return f"'{found}' is a keyword and cannot be a name."
    if found in _BRACKETS and all(each.word != _BRACKETS[found] for each in waiting):
        return f"No '{_BRACKETS[found]}' is open here."
    if "IF" in expected and (not found or found in _BRACKETS or found in RESERVED):
        return "An expression is missing before it."
    words = sorted({_WORDS[name] for name in expected if name in _WORDS})
    words = words or sorted({_OFTEN[name] for name in expected if name in _OFTEN})
    return f"Expected {' or '.join(words)}." if 0 < len(words) <= 6 else None


def _advice(source: Source, start: int, expected: Collection[str]) -> str | None:
    """The first advice that fits the place."""
    line = source.text[source.text.rfind("\n", 0, start) + 1:start]
    if (escaped := next((c for c in line if c in _ESCAPES), None)) is not None:
        return (f"The text has the character that Python makes of \"{_ESCAPES[escaped]}\": "
                "write r before the string.")
    return next(filter(None, (each.applies(source, start, expected) for each in _ADVICE)), None)
