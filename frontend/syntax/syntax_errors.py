"""Messages about texts that are no programs: what was found, what is unfinished, what is meant.

The parser knows where it stopped and which terminals could stand there.  The rest is found from the
text before that place.  It shows which brackets and words still wait for another one, and whether
it looks like another language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
_IN = "Behind a definition stands 'in' with what it is for: let x = e in x"
_INCOMPLETE = "The declaration before is not complete."
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


class Said(NamedTuple):
    """A hint, and the place of the mistake if that is another place than the error's."""

    hint: str
    place: Span | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """A hint for a text that matches ``before`` up to the place of an error, and ``at`` from it.

    ``expected``: a terminal that could stand at the place; with a ``-``, one that could not.
    ``new`` replaces the text from the place to the end of ``at``.  A group ``start`` of ``before``
    is an earlier beginning, a group ``end`` of it another end.  ``new`` may name groups; a group
    ``x`` is of names with blanks or commas between them.
    """

    hint: str
    before: str = ""
    at: str = ""
    expected: str = ""
    new: str | None = None

    def applies(self, source: Source, start: int, expected: Collection[str]) -> Said | None:
        """The hint if it is about this place, where only ``expected`` can stand."""
        text, low = source.text, max(0, start - 400)
        before = re.search(self.before, text[low:start])
        at = re.compile(self.at).match(text, start)
        if before is None or at is None:
            return None
        if not (self.expected in ("", *expected)
                or (self.expected[0] == "-" and self.expected[1:] not in expected)):
            return None
        groups = before.groupdict() | at.groupdict()
        if self.new is None and "start" not in groups:
            return Said(self.hint)
        span = Span(source, low + before.start("start") if "start" in groups else start,
                    low + before.end("end") if "end" in groups else at.end())
        if self.new is None:
            return Said(self.hint, span)
        words = {name: " ".join((each.replace(",", " ") if name == "x" else each).split())
                 for name, each in groups.items()}
        return Said(Replacement(self.hint, self.new.format(**words), span), span)


_FUNCTION = r"A function is written: \x -> e"
_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v", "\0": r"\0"}
"""Characters that are in a program only if a string of Python has made them."""

_ELEMENT = ("An element is replaced in a copy, or in an array that is yours alone: "
            "xs with [i] = x")
_MATCH = "A match is written: match e case p -> e"
_LOOP = "A loop is written: loop x = a for i < n do e"
_SECTION = r"A section has one operator, and a function has more: \x -> x > 0 && x < 5"
_TUPLE_LOOP = "Several values of a loop are a tuple: loop (x, y) = (a, b) for i < n do e"
_ADDED = "An update says the whole new value: xs with [i] = xs[i] + x"
_DO = "The body of a loop stands behind 'do'."

_COMMENT = "A comment begins with --."
_DECLARED = "A function is declared: def f (x: t) (y: t): u = e"
_CONSTANT = "A constant is declared: def n = 3"
_ARRAY = "An array is written in brackets: [1, 2, 3]"
_MATRIX = "A matrix has brackets around each row: [[1, 2], [3, 4]]"
_VALUES = "Fields of a value are written with '=': {x = e}"
_UPDATE = "A field is replaced without braces: r with x = e"
_IMPORT = 'Another file is imported by its path: import "std/sort"'
_LINE = r"(^|\n)[ \t]*$"
RANGE = "A range is written 0..<n without its end, or 1...n with it."
_RESULT = r"(?P<start>\[(?P<e>[^\[\]]*?)\s*)$"
"""An array's bracket and an expression behind it."""
_RESULTS = r"An array of results is written: map (\x -> e) xs"
_COMPREHENSIONS = (
    (_RESULTS, "", r"(map (\{p} -> {e}) {xs})"),
    (r"Some elements are taken by filter: map (\x -> e) (filter (\x -> c) xs)",
     r"\s+if\s+(?P<c>[^\[\]\n]+)", r"(map (\{p} -> {e}) (filter (\{p} -> {c}) {xs}))"),
    (r"Results of all pairs are: flatten (map (\x -> map (\y -> e) ys) xs)",
     r"\s+for\s+(?P<q>[\w']+)\s+in\s+(?P<ys>[\w'.]+)",
     r"(flatten (map (\{p} -> map (\{q} -> {e}) {ys}) {xs}))"))
"""The hint for each kind of list comprehension of Python, what follows its array, and its cure."""
_BOUND = r"[^\[\](),.\n]+"
"""A number at which a range begins or ends."""
_VALUE = r"(?:[^(),\n]|\([^()\n]*\))*"
"""The start of a loop."""
_ALONG = r"(?P<start>\b(?P<f>[\w'.]+)\s*\(\s*(?P<xs>[\w']+)\s*,\s*(axis|dims?)\s*)$"
"""A call that says along which dimension of a matrix it goes."""
_UNICODE = {"≤": "<=", "≥": ">=", "≠": "!=", "×": "*", "·": "*", "÷": "/", "−": "-", "∘": "<-<",
            "→": "->", "λ": "\\", "∧": "&&", "∨": "||", "¬": "!"}
"""Signs of mathematics, and what is written for them."""

_FOREIGN = (
    *(Advice(f"Write {new}", at=sign, new=new) for sign, new in _UNICODE.items()),
    Advice(_COMMENT, before=r"(?:^|\n)[ \t]*(?P<start>(?://|%+)(?P<end>))[^\n]*$", new="--"),
    Advice(_COMMENT, before=r"\s(?P<start>//(?P<end>))[ \t]+[A-Za-z']+[ \t][^\n]*$", new="--"),
    Advice(_COMMENT, before=_LINE, at=r"(//+|%+)(?=[ \t]*[A-Za-z])", new="--"),
    Advice(_COMMENT, before=_LINE, at='"""'),
    Advice("A function of columns works on the rows of the transposed matrix: "
           "map f (transpose xss)", before=_ALONG, at=r"=\s*0\s*\)",
           new="map {f} (transpose {xs})"),
    Advice("A function of rows is mapped: map f xss", before=_ALONG, at=r"=\s*-?\s*1\s*\)",
           new="map {f} {xs}"),
    *(Advice("The start of a loop has no parentheses: loop x = a for i < n do e",
             before=rf"\bloop{blank}(?P<start>\((?P<name>[\w':\s]+|\s*\([^()]*\)\s*))$",
             at=rf"=(?P<value>{_VALUE})\)(\s*=)?(?=\s*(for|while)\b)",
             new=f"{front}{{name}} = {{value}}")
      for blank, front in ((r"\s+", ""), ("", " "))),
    Advice(_TUPLE_LOOP, at="=", before=r"\bloop\s*\(\s*[\w']+\s*$"),
    Advice(_TUPLE_LOOP, at=",", before=r"\bloop\s+[\w']+(\s*=[^\n\[({]*)?$"),
    Advice("A tuple stands in parentheses: (a, b)", at=",", before=r"\bdo\s[^\n\[({]*$"),
    Advice(_DO, new=" do", before=r"\b(?:while|for)\b(?:(?!\bdo\b)[^\n():]|\([^\n]*?\))*"
           r"(?P<start>\s*:(?P<end>))(?=\s)(?:(?!\bdo\b)[\s\S])*$"),
    Advice("A parameter has no default value: each call gives it.", at=r"=(?!=)[^()\n]*(?=\))",
           new="", before=r"(^|\n)[ \t]*(def|entry|let)\b[^=\n]*\(\s*[\w']+\s*:[^()=\n]*?"
                          r"(?P<start>\s*)$"),
    Advice("A choice is an expression, and its value gets the name: let x = if c then a else b",
           before=r"\b(then|else)\s+let\s[^\n]*\n?\s*$", at=r"else\b"),
    Advice(_SECTION, new=r"(\x -> x {first} {op} x {rest})", at=r"(?P<rest>[<>=!]=?[^()\n]*)\)",
           before=r"(?P<start>\(\s*(?P<first>[<>=!]=?[^()\n&|]*?)\s*(?P<op>&&|\|\|)\s*)$"),
    Advice("A type gets its meaning without 'type': M with t = i32", at=r"type\s+(?=[\w'])", new="",
           before=r"\bwith\s+$"),
    Advice("A slice has a colon: xs[a:b]", at=r"\]", new=":",
           before=rf"[\w')\]]\[{_BOUND}(?P<start>\.\.(?P<end>)){_BOUND}$"),
    *(Advice(RANGE, at=r"[\])]", new="({first}...{last})",
             before=rf"(?<![\w')\]])(?P<start>[\[(]\s*(?P<first>{first})\s*\.\.(?P<last>{last}))$")
      for first, last in (("1", _BOUND), (_BOUND, rf"{_BOUND}-\s*1\s*"))),
    Advice(RANGE, before=rf"(?<![\w')\]])[\[(]{_BOUND}\.\.{_BOUND}$", at=r"[\])]"),
    Advice("A range with a step has its second number: 0..2..<n", before=r"(?<!case )\b\d+:$",
           at=r"\d+:"),
    Advice(RANGE, before=r"(?<!case )\b(?P<start>0:)$", at=r"(?=\d)", new="0..<"),
    Advice(RANGE, at=r"(?=\d|[-+*/])", new="{first}...{last}",
           before=r"(?<!case )\b(?P<start>(?P<first>\d+):"
                  r"(?P<last>((?![iuf]\d|bool)[a-z][\w']*\s*)?))$"),
    Advice("Arguments have no names: f x y, in the order of the parameters.", at=r"=(?!=)",
           before=r"(?<!\bif)(?<!while)(?<=[\w'])\((?:[^()\n]*,)?\s*(?P<start>[A-Za-z_]\w*\s*)$"),
    Advice(_VALUES, before=r"\{(?:[^{}]*,)?\s*[\w']+(?P<start>\s*)$", at=r":(?![:>])", new=" ="),
    Advice(_VALUES, before=r"\{(?:[^{}]*,)?\s*$", at=r"([\"'])(?P<name>\w+)\1\s*:",
           new="{name} ="),
    Advice(_UPDATE, before=r"(?P<start>\{\s*(?P<name>[\w']+)\s*)$",
           at=r"with\b(?P<rest>[^{}\n]*)\}", new="{name} with {rest}"),
    Advice(_UPDATE, before=r"(?P<start>\{\s*)$", new="{name} with {rest}",
           at=r"\.{2,3}(?P<name>[\w']+)\s*,\s*(?P<rest>[^{}\n,]*)\}"),
    Advice(_UPDATE, before=r"\{[^{}\n]*$", at=r"\.\.|\|"),
    Advice(_ARRAY, before=r"(?P<start>\{\s*)$", at=r"(?P<items>-?\s*\.?\d[^{}\n]*)\}",
           new="[{items}]"),
    Advice(_ARRAY, before=r"(?P<start>\{\s*(?P<first>\d[\w.]*)\s*)$",
           at=r",\s*(?P<rest>[^{}\n]*)\}", new="[{first}, {rest}]"),
    Advice(_MATRIX, before=r"\{\s*$", at=r"\{\s*[-\d.]"),
    Advice(_LOOP, before=r"\b(loop|for)\b[^\n]*$", at=";"),
    Advice("The body of a loop is the next value, without 'x ='.", at=r"=(?!=)\s*", new="",
           before=r"\bdo\s+(?P<start>[\w']+\s*)$"),
    Advice(_ELEMENT, at=r"=(?!=)", new="{xs} with [{i}] =",
           before=r"(\n|\bdo|\bin)\s*(?P<start>(?P<xs>[\w']+)\[(?P<i>[^\[\]\n]*)\]\s*)$"),
    Advice("Type parameters are declared so: def f 'a 'b (x: a) (y: b): a = e",
           before=r"(^|\n)(def|entry)\s+[\w']+\s*<[^>\n]*$"),
    Advice("A type parameter is declared with a quote and used without: def f 'a (x: a): a = e",
           before=r"[:,(\])>]\s*$", at=r"'(?P<name>[a-z]\w*)(?!')", new="{name}"),
    Advice("A constructor begins with '#': case #some x -> e", at=r"(?=[a-z_(])", new="#{name} ",
           before=r"\bcase\s+(?P<start>(?P<name>[a-z]\w*)\s+)$"),
    Advice("A name stands behind 'def' or 'entry': entry main (x: t): u = e", at=":",
           before=r"(^|\n)(def|entry)\s*\([^()\n]*\)\s*$"),
    Advice("Parameters stand directly behind the name.", at=":", new="",
           before=r"(^|\n)(def|entry)\s+[\w']+(?P<start>:(?P<end>))\s*\([^()\n]*\)\s*$"),
    Advice("A definition is written with '='.", at="==", new="=",
           before=r"(^|\n)[ \t]*(def|entry|let)\b[^=\n]*$"),
    Advice(_FUNCTION, before=r"\\[\w']+\s+$", at=r"[-+*/%<>=&|^]+(?<!->)\s"),
    Advice("A value is missing between two operators.", before=r"[\w)\]]\s*[-+*/%]\s+$",
           at=r"[*/%+<>=&|]"),
    Advice(_DECLARED, before=_LINE, expected="DEF",
           at=r"(Entry|Def|ENTRY|DEF|define|defun|method|proc|public|export)\b"),
    Advice("A name is defined before its use: let x = e in ...",
           before=r"(?P<start>\bwhere(?P<end>))\s+[\w'() ]+$", at="="),
    Advice("A name keeps its value; define it anew: let x = x + 1", at="=",
           before=r"(\bin|\bdo|;|\n)\s*[\w']+\s*:$"),
    Advice("Unequal is written !=.", at="~=", new="!="),
    Advice("Types are written in the definition: def f (x: t) (y: t): u = e", at=":",
           before=r"(^|\n)def\s+[\w']+\s*:$"),
    Advice(_MATCH, before=r"\bmatch\b[^\n]*(?P<start>\bwith(?P<end>))\s*$", at=r"\|"),
    Advice("The last case fits all other values: case _ -> e", at="->", new="case _ ->",
           before=r"\bcase\b[^\n]*\n\s*(?P<start>(default|otherwise|_|else)\s*)$"),
    Advice(_MATCH, before=r"\bmatch\b(?:(?!\bcase\b)[^=])*$", at="->"),
    Advice("Rows and columns stand in brackets: xss[i, :]", at=r":(?P<rest>[^()\n]*)\)",
           before=r"(?P<start>\b(?P<xs>[\w']+)\((?P<first>[^()\n]*))$",
           new="{xs}[{first}:{rest}]"),
    Advice("A member of a type is written with a point.", before=r"\b[iuf]\d\d?$",
           at=r"::(?=[A-Za-z])", new="."),
    Advice(_ARRAY, before=r"(?P<start>\bvec)$", at=r"!(?=\[)", new=""),
    Advice("A program has no output but its result.", at="!",
           before=r"\b(println|print|panic|dbg)$"),
    Advice("An array is an argument as it is.", before=r"\(\s*$", at=r"\.\.\.(?=[\w'])", new=""),
    Advice("Arrays are joined: xs ++ ys", before=r"[\[,]\s*$", at=r"\.\.\.(?=[\w'])"),
    Advice("An array of equal elements is written: replicate n x",
           before=r"(?P<start>\[(?P<elem>[^\[\],;\n]+))$", at=r";\s*(?P<count>[\w']+)\s*\]",
           new="(replicate {count} {elem})"),
    Advice('A file is opened by: open import "std/stats"', before=r"\bopen\s+$", at='"',
           new='import "'),
    Advice("A name is defined with 'let': let x = e in ...", at=r"=(?!=)", new="let {name} =",
           before=r"\n[ \t]+(?P<start>(?P<name>[a-z_][\w']*)\s*)$"),
    Advice("A choice is written: if c then a else b", before=r"[\w')\]][ \t]+$",
           at=r"if\b(?![^\n]*\bthen\b)[^\n]*\belse\b"),
    Advice("A body stands behind '='.", before=r"(^|\n)[ \t]*(def|entry|let)\b[^=\\\n]*$",
           at="=>", new="="),
    Advice(_FUNCTION, at=r"\|\s*(?P<name>\w+)\s*:\s*(?P<type>[^|\n,]+)\|",
           new=r"\({name}: {type}) ->"),
    Advice(_FUNCTION, before=r"[(=]\s*$", at=r"\|[^|\n]+\|"),
    Advice("A function is mapped: map (** 2) xs, or map2 (*) xs ys", at=r"\.[-+*/^]",
           before=r"[A-Za-z_)\]'][\w']*$"),
    Advice(_MATRIX, before=r"\[[^\]\n]*$", at=";"),
    Advice("A function is applied to all that follows it by <|: f <| g x", at=r"\$(?=[\s(])",
           new="<|"),
    Advice("A field is written: e.x", before=r"[\w')\]]$", at=r"\$(?=[A-Za-z_])", new="."),
    Advice("A name has no sign in front.", at=r"\$(?=[A-Za-z_])", new=""),
    Advice(_FUNCTION, at=r"@\((?P<x>[\w', ]*)\)", new=r"\{x} ->"),
    Advice("There are no decorators: leave it out.", before=_LINE, at=r"@[^\n]*", new=""),
    Advice("Functions are composed: f <-< g, or g >-> f", before=r"[\w')]\s+$", at=r"\.(?=\s)",
           new="<-<"),
    Advice("Types are written in the definition: def f (x: t) (y: t): u = e", before=r"(^|\n)$",
           at=r"(?P<line>(val\s+)?[a-z_][\w']*\s*::?[^=\n]*)(?=\n)", new="-- {line}"),
    Advice("A record type is declared: type t = {x: f32, y: f32}", before=_LINE,
           at=r"(typedef\s+)?(struct|record|interface)\s+(?P<name>\w+)\s*=?\s*\{",
           new="type {name} = {{"),
    Advice("A sum type is declared: type t = #red | #green", before=_LINE,
           at=r"(data|enum|newtype|union|variant)\b"),
    Advice("There are no classes: 'type' declares data, and 'def' functions.", before=_LINE,
           at=r"(class|impl|trait|instance)\b"),
    Advice("A body stands behind '=': def f (x: t): u = e", new=" =",
           before=r"(^|\n)def\s+[\w']+\s*\([^()\n]*\)(?P<start>:(?P<end>))[ \t]*\n[^=]*$"),
    Advice("A body stands behind '=', without braces.", new="=",
           before=r"(^|\n)(def|entry|let)\b[^={\n]*(?P<start>\{(?P<end>))\s*\n[^={}]*$"),
    Advice(_DECLARED, before=_LINE, at=r"(pub\s+)?(fn|fun|func|function)\b", expected="DEF",
           new="def"),
    Advice(_DECLARED, before=_LINE, expected="DEF",
           at=r"((__\w+__|static|inline|const|template\s*<[^>\n]*>)\s+)*"
              r"(void|int|float|double|long|auto|bool|[iuf]\d\d)\*?\s+\w+\s*\("),
    Advice(_CONSTANT, before=_LINE, at=r"#define\s+(?P<name>\w+)\s+(?P<value>[^\n]+)",
           new="def {name} = {value}"),
    Advice(_CONSTANT, before=_LINE, at=r"(const|var|static|final)\b", expected="DEF", new="def"),
    Advice(_IMPORT, before=_LINE,
           at=r"#include|(using|use|from|require|library|include)\b", expected="DEF"),
    Advice(_IMPORT, before=r"\bimport\s+$", at=r"[A-Za-z_]"),
    Advice(_ADDED, new="{xs} with [{i}] = {xs}[{i}] {op}", at=r"(?P<op>[-+*/]|\*\*)=",
           before=r"(?P<start>\b(?P<xs>[\w']+)\s+with\s*\[(?P<i>[^\]\n]*)\]\s*)$"),
    Advice(_ADDED, new="{xs}[{i}] = {xs}[{i}] {op}", at=r"(?P<op>[-+*/]|\*\*)=",
           before=r"\blet\s+(?P<start>(?P<xs>[\w']+)\s*\[(?P<i>[^\]\n]*)\]\s*)$"),
    Advice("An update is defined so: let xs[i] = x", new="{xs}[{i}]",
           before=r"\blet\s+(?P<start>(?P<xs>[\w']+)\s+)$", at=r"with\s*\[(?P<i>[^\]\n]*)\]"),
    Advice("A body stands behind '=': def f (x: t): u = e", new="{last} =",
           before=r"(^|\n)(def|entry)\s+[\w']+[^=\n]*:\s*(?P<start>(?P<last>[^=:\n]*[^\s=:])[ \t]*"
                  r"(?P<end>))\n[ \t]+[^=]*$"),
    Advice("An update is written with '=': xs with [i] = x", before=r"\bwith\s*\[[^\]\n]*\]\s*$",
           at=r"<-|:=", new="="),
    Advice("A definition is written with '='.", before=r"\blet\s+[\w']+\s*$", at=r"<-|:=",
           new="="),
    Advice("Write 'else if'.", before=r"(?P<start>\b(elif|elseif|elsif)\b(?P<end>))[^\n:]*$",
           new="else if"),
    Advice("A choice is written: if c then a else b", at=r"\|", expected="EQUAL",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*\n?\s*$"),
    Advice("No ';' stands at the end of a line.", at=r";+(?=[ \t]*(\n|$))", new=""),
)
"""Forms of other languages, with the forms here."""

_ADVICE = (
    *_FOREIGN,
    Advice(_MATCH, before=r"\b(match\b[^\n]*\{[^\n]*|case\b[^\n]*)=?$", at=r"=?>"),
    Advice(_ELEMENT,
           before=r"\]\s*:$", at="="),
    Advice(_LOOP, before=r"\bfor\s*\([^\n)]*$", at="="),
    Advice("A field is written: e.x", before=r"[\w')\]]$", at=r"->\s*[a-z_]"),
    Advice("A component-wise operator is map2: map2 (*) xs ys", before=r"\s$", at=r"\.[-+*/^]"),
    Advice("Arguments stand behind the function without commas: f x y",
           before=r"(^|\n)(def|entry|let)\b[^\n]*=\s*[\w.']+\s[^\n(\[{]*$", at=","),
    Advice("A tuple stands in parentheses: (a, b)", at=",",
           before=r"(^|\n)[ \t]*(def|entry|let|in)\b[^\n\[\]{}]*$"),
    Advice("A type argument stands behind its type, and an array is written []t.", at="<",
           before=r":\s*[A-Z]\w*$"),
    Advice("A character is one sign, and a text stands in double quotes.", at="'"),
    Advice("A body stands behind '=', without braces.",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*\{[^=\n]*$"),
    Advice("A module type specifies values: val f: t -> u", at=r"def\b", new="val",
           before=r"\bmodule\s+type\b[^={}]*=\s*\{[^{}]*$"),
    Advice("Declarations of a module have nothing between them.", at=";", new="",
           before=r"\bmodule\b[^\n{}]*\{[^{}]*$"),
    Advice("Fields are parted by commas.", before=r"\{[^{}\n]*$", at=";", new=","),
    Advice("Fields are parted by commas.", at=r"=(?!=)", new=", {name} =",
           before=r"\{[^{}]*=\s*[^,{}]*[\w')\]]\s(?P<start>(?P<name>[\w']+)\s*)$"),
    Advice("An element is written: xs[i]", before=r"[\w')\]]$", at=r"\.\[", new="["),
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
    *(Advice(hint, before=_RESULT, new=new.replace("{xs}", array),
             at=rf"for\s+(?P<p>[\w']+)\s+in\s+(?P<xs>{xs}){more}\s*\]")
      for hint, more, new in _COMPREHENSIONS
      for xs, array in ((r"[\w'.]+", "{xs}"), (r"[\w'.]+\([^()\n]*\)", "({xs})"))),
    Advice(_RESULTS, before=r"\[[^\[\]]*$", at=r"for\b"),
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
    Advice("A member of a module is written: M.x", before=r"\w$", at="::(?=[A-Za-z])", new="."),
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
    Advice(_DO,
           before=r"\b(while|for)\b(?![^\n]*\bdo\b)[^\n]*\{[^\n}]*$"),
    Advice("Bits are inverted by '!'.", at="~", new="!"),
    Advice("Each size has its own brackets: [n][m]t", before=r":\s*\[\s*[\w']+\s*$", at=","),
    Advice("Parentheses group: (e).  Braces make records: {x = e}",
           before=r"(=|\bin|\bdo|\bthen|\belse)\s*\{[^{}=,:]*$"),
    Advice("The type of a result stands behind a colon: (x: t): u",
           before=r"(^|\n)\s*(def|entry|let)\b[^=\n]*\)\s*$", at="->", new=":"),
    Advice("A definition begins with 'def'.", at=r"=(?!=)", expected="OP", new="def {word}",
           before=r"\n(?P<start>(?P<word>(?!(if|let|loop|match|assert)\b)[a-z_][\w']*))(?P<end>)"
                  r"[^=\n]*$"),
    Advice("Equality is written '=='.", at=r"=(?!=)", expected="OP"),
    Advice("A choice is written: if c then a else b", at=r"\?"),
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
    Advice(_IN, before=r"\n[ \t]*$", at=r"(?!(else|then|do|case)\b)(?=[a-z(])", expected="IN",
           new="in "),
    Advice("A definition begins with 'def'.", before=r"(^|\n)$", expected="DEF",
           at=r"(?P<name>[a-z_][\w']*)(?![\w'])(?=([^\n=]*[\w')\]])?\s*=(?!=))", new="def {name}"),
    Advice("A declaration begins with def, entry, type, module, open or import.",
           before=r"(^|\n)[ \t]*$", at=r"[A-Za-z_]", expected="DEF"),
)


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
    waiting = [*around, *openings(source.text, begin, found.start)]
    place = Span(source, found.start, found.start + (len(found.word) or 1))
    incomplete = _is_next(found, place, in_module=bool(around))
    said = None if incomplete else _advice(source, found.start, found.expected)
    hint = None if said is None else said.hint
    if said is not None and said.place is not None and said.place.text:
        place = said.place
    message = f"Unexpected '{place.text or found.word}'." if found.word else f"Unexpected {END}."
    labels: tuple[Label, ...] = ()
    if waiting and waiting[-1].closing in found.expected and (hint is None or not found.word):
        last = waiting[-1]
        opening = Span(source, last.start, last.start + len(last.word))
        bracket = last.word in _BRACKETS.values()
        if incomplete or (bracket and not found.word):
            ends = "the next declaration begins" if incomplete else "the file ends"
            return Diagnostic(
                "syntax-error", opening, f"T{last.text[1:]}.",
                (Label(place, f"{ends} here"),),
                (f"Write '{last.missing}' where it ends." if bracket else _IN,)
                * (bracket or last.word == "let"))
        labels = (Label(opening, last.text),)
    if incomplete:
        hint = _INCOMPLETE
    hint = hint or _missing(found.word, found.expected, waiting)
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
            return Said(f"{_COMMENT[:-1]}, in each of its lines.",
                        Span(source, match.start(), match.start() + 2))
        place = Span(source, match.start(), match.end())
        ends = re.compile(r"[ \t]*(\n|\Z)").match(source.text, place.end)
        return Said(Replacement(_COMMENT, f"-- {text.strip()}", place) if ends else _COMMENT, place)
    return None


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
    if not found and waiting and waiting[-1].word == "let":
        return _IN
    if "IF" in expected and (not found or found in _BRACKETS or found in RESERVED):
        return "An expression is missing before it."
    words = sorted({_WORDS[name] for name in expected if name in _WORDS})
    words = words or sorted({_OFTEN[name] for name in expected if name in _OFTEN})
    return f"Expected {' or '.join(words)}." if 0 < len(words) <= 6 else None


def _advice(source: Source, start: int, expected: Collection[str]) -> Said | None:
    """The first advice that fits the place."""
    line = source.text[source.text.rfind("\n", 0, start) + 1:start]
    if (escaped := next((c for c in line if c in _ESCAPES), None)) is not None:
        return Said("The text has the character that Python makes of "
                    f"\"{_ESCAPES[escaped]}\": write r before the string.")
    return next(filter(None, (each.applies(source, start, expected) for each in _ADVICE)), None)
