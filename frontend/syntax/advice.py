"""Advice about texts that are no programs: forms of other languages, and what is written here."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from runelift.ir.base.errors import Replacement
from runelift.ir.base.source import Source, Span


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
        # how a thing is written is true, even if the text does not cure
        return Said(Replacement(self.hint, self.new.format(**words), span,
                                self.hint if " is written: " in self.hint else ""), span)


def for_floats(hint: str, source: Source) -> str:
    """A hint with f64 in place of f32 if that is the type of the program's floats."""
    if "f64" not in source.text or "f32" in source.text or "f32" not in hint:
        return hint
    if isinstance(hint, Replacement):
        return Replacement(hint.replace("f32", "f64"), hint.new.replace("f32", "f64"), hint.span,
                           for_floats(hint.otherwise, source))
    return hint.replace("f32", "f64")


FUNCTION = r"A function is written: \x -> e"
ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\v": r"\v", "\0": r"\0"}
"""Characters that are in a program only if a string of Python has made them."""

ANEW = "A name keeps its value; define it anew: let x = x + 1"
_ASSIGNED = re.compile(r"^[ \t]+(?P<all>(?P<name>[\w']+)[ \t]*(?P<op>\*\*|[-+*%])=[ \t]+"
                       r"(?P<value>(?:(?!--)[^\n])*(?!--)[^\s]))", re.MULTILINE)


def assigned(source: Source, begin: int, end: int) -> tuple[Span, Replacement] | None:
    """The first ``x += e`` in a line between two places, and the definition that is meant.

    None if there is no such line, or the program defines such an operator.  ``/=`` may be meant as
    ``!=``.
    """
    found = _ASSIGNED.search(source.text, begin, end)
    if found is None or f"({found['op']}=)" in source.text:
        return None
    place = Span(source, found.start("all"), found.end("all"))
    new = f"let {found['name']} = {found['name']} {found['op']} {found['value']}"
    follows = re.compile(r"(\s|--[^\n]*)*(in|let)\b").match(source.text, found.end())
    return place, Replacement(f"A name keeps its value; define it anew: {new}",
                              new if follows else f"{new} in", place, ANEW)


IN = "Behind a definition stands 'in' with what it is for: let x = e in x"
_ELEMENT = ("An element is replaced in a copy, or in an array that is yours alone: "
            "xs with [i] = x")
_MATCH = "A match is written: match e case p -> e"
_LOOP = "A loop is written: loop x = a for i < n do e"
_SECTION = r"A section has one operator, and a function has more: \x -> x > 0 && x < 5"
_TUPLE_LOOP = "Several values of a loop are a tuple: loop (x, y) = (a, b) for i < n do e"
_ADDED = "An update says the whole new value: xs with [i] = xs[i] + x"
_DO = "The body of a loop stands behind 'do'."

SIGNATURE = "Types are written in the definition: def f (x: t) (y: t): u = e"

COMMENT = "A comment begins with --."
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

_NAMED = "axis|axes|dims?|keepdims|dtype|key|order|reverse|init|initial|default|start|stop|step"
"""Names of arguments in calls of other languages."""

ADVICE = (
    Advice("All along a dimension is written ':', as in xs[:, 0].", before=r"\w\[([^\[\]]*,\s*)?$",
           at=r"\.\.\.?\s*[,\]]"),
    Advice("Each parameter has its own type: (x: t) (y: t)",
           before=r"\b(def|entry|let)\b[^=\n]*\(\s*[\w']+\s*(,\s*[\w']+\s*)+$",
           at=r"([iuf](8|16|32|64)|bool)\s*[,)]"),
    *(Advice(f"Write {new}", at=sign, new=new) for sign, new in _UNICODE.items()),
    Advice(COMMENT, before=r"(?:^|\n)[ \t]*(?P<start>(?://|%+)(?P<end>))[^\n]*$", new="--"),
    Advice(COMMENT, before=r"\s(?P<start>//(?P<end>))[ \t]+[A-Za-z']+[ \t][^\n]*$", new="--"),
    Advice(COMMENT, before=_LINE, at=r"(//+|%+)(?=[ \t]*[A-Za-z])", new="--"),
    Advice(COMMENT, before=_LINE, at='"""'),
    *(Advice(FUNCTION, before=rf"[(=,]\s*(?P<start>\|\s*(?P<first>{first})\s*)$", at=at, new=new)
      for first, at, new in (
          (r"[\w']+", r",(?P<x>[\w', ]*)\|", r"\{first} {x} ->"),
          (r"[\w']+", r":(?P<type>[^|\n,]+)\|", r"\({first}: {type}) ->"),
          (r"&?[\w']+", r"[,:][^|\n]*\|", None), (r"\(?", r"(?P<x>_)\s*\|", r"\{x} ->"))),
    Advice("An absolute value is written: f32.abs x", before=r"[-+*/(=]\s*$",
           at=r"\|[^|\n]+\|(?!\s*[\w({\[])"),
    Advice(FUNCTION, before=r"[(=]\s*$", at=r"\|(?P<x>[\w', ]+)\|", new=r"\{x} ->"),
    Advice(FUNCTION, before=r"=\s*$", at=r"\|\|", new=r"\_ ->"),
    Advice(SIGNATURE, before=r"(^|\n)(?P<start>(?P<name>[a-z_][\w']*)\s+)$",
           at=r"::(?P<type>[^\n]*)", new="-- {name} :: {type}"),
    *(Advice(hint, at=at, before=r"\bcase\s+[\w'#() ]+$") for hint, at in (
        ("A case has one pattern, and each pattern its own case.", r"\|\s*[\d#'\"_]"),
        ("A condition on a case is a choice in it: case n -> if n > 3 then a else b",
         r"\||(when|if|where)\b|\.\."))),
    Advice(r"A function makes a tuple: \x y -> (x, y)", before=r"\(\s*$", at=r",\s*\)"),
    Advice(r"A tuple with an open place is a function: \x -> (x, 1)", before=r"\(\s*$", at=","),
    Advice("Indices are parted by commas: xss[i, j]", at=";",
           before=r"([\w')\]]|\bwith\s*)\[[^\[\]\n]*$",
           new=","),
    Advice("The body stands behind 'do', without braces.",
           before=r"\b(while|for)\b(?:(?!\b(do|let|in\s*\{)\b)[^\n{}])*(?<=[\s)])"
                  r"(?P<start>\{(?P<end>))(?!\s*[\w']+\s*=(?!=))[^{}]*$"),
    *(Advice("Arrays have no patterns: let (x, y) = (xs[0], xs[1])",
             before=r"\blet\s+(?P<start>\[\s*(?P<p0>[\w']+)\s*)$",
             at="".join(rf",\s*(?P<p{k}>[\w']+)\s*" for k in range(1, count))
                + r"\]\s*=\s*(?P<xs>[\w']+)(?=\s*(\n|in\b))",
             new=f"({', '.join(f'{{p{k}}}' for k in range(count))}) = "
                 f"({', '.join(f'{{xs}}[{k}]' for k in range(count))})") for count in (2, 3, 4)),
    *(Advice("Arrays have no patterns: let x = xs[0]", before=before, at=at) for before, at in (
        (r"\blet\s+\[\s*[\w']+\s*$", r",[^\[\]=\n]*\]\s*="),
        (r"\blet\s+\[\s*[\w']+\s*\]\s*$", "="), (r"\bloop\s*\(?$", r"\[[^\[\]\n]*\]"))),
    Advice(r"Arrays have no patterns: \xs -> xs[0]", before=r"\\[^\n>]*$",
           at=r"\[[^\[\]\n]*\]"),
    Advice("A size parameter of a type stands in brackets: type t [n] = [n]e", new="[{name}]",
           before=r"\btype[~^]?\s+[\w'\[\] ]+$",
           at=r"(?P<name>[a-z]\w*)(?=[^\n]*\[\s*(?P=name)\s*\])", expected="TYPE_VAR"),
    Advice("A type parameter has an apostrophe: type t 'a = e", expected="TYPE_VAR",
           before=r"\b(type[~^]?|module\s+type)\s+[\w']+\s+(\[\w+\]\s*|'\w+\s+)*$",
           at=r"(?P<name>[a-z]\w*)", new="'{name}"),
    Advice("An array has no pattern: write if null xs then a else b", before=r"\bcase\s+$",
           at=r"\["),
    Advice(r"A parameter has one name or a pattern: \(x, y) -> e", before=r"[\w']$", at=r"@\("),
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
    Advice(_DO, at=",", new=" do", before=r"\b(while|for)\b(?:(?!\bdo\b)[^\n,])*$"),
    Advice(_TUPLE_LOOP, at="=", before=r"\bloop\s*\(\s*[\w']+\s*$"),
    Advice(_TUPLE_LOOP, at=",",
           before=r"\bloop\s+[\w']+(\s*=(?:(?!\b(?:while|for)\b)[^\n\[({])*)?$"),
    Advice("Each parameter stands in parentheses: def f (x: t) (y: u): v = e", at=",",
           before=r"(^|\n)(def|entry)\s+[\w']+[^\n=()]*:[^\n=()]*$"),
    Advice("A number has no comma.", at=r",(?P<b>\d{3})\b", new="{a}{b}",
           before=r"=\s*(?P<start>(?P<a>\d{1,3}))$"),
    Advice("A number has a point: 3.14", at=r",(?P<b>\d{1,2}|\d{4,})\b(?!\s*,)", new="{a}.{b}",
           before=r"=\s*(?P<start>(?P<a>\d+))$"),
    Advice("A per cent is a hundredth, as in 0.19, and % is the rest of a division.",
           before=r"[^\w'.](?P<start>\d[\d.]*\s*%(?P<end>))\s*$",
           at=r"(in|then|else|let|def)\b|\)|$"),
    Advice("A tuple stands in parentheses: (a, b)", at=",", before=r"\bdo\s[^\n\[({]*$"),
    Advice(_DO, new=" do", before=r"\b(?:while|for)\b(?:(?!\bdo\b)[^\n():]|\([^\n]*?\))*"
           r"(?P<start>\s*:(?P<end>))(?=\s)(?:(?!\bdo\b)[\s\S])*$"),
    Advice("A parameter has no default value: each call gives it.", at=r"=(?![=>])[^()\n]*(?=\))",
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
    Advice("A slice has a colon: xs[:b]", before=r"[\w')\]]\[\s*$", at=r"\.\.", new=":"),
    Advice("A slice has a colon: xs[a:]", before=rf"[\w')\]]\[{_BOUND}(?P<start>\.\.)$", at=r"\]",
           new=":]"),
    Advice("A range with a step has its second number: 1..3...9", at=r"\]", new="({a}..{b}...{c})",
           before=rf"(?<![\w')\]])(?P<start>\[(?P<a>{_BOUND}),(?P<b>{_BOUND})\.\.(?P<c>{_BOUND}))$"),
    *(Advice(RANGE, at=r"[\])]", new="({first}...{last})",
             before=rf"(?<![\w')\]])(?P<start>[\[(]\s*(?P<first>{first})\s*\.\.(?P<last>{last}))$")
      for first, last in (("1", _BOUND), (_BOUND, rf"{_BOUND}-\s*1\s*"))),
    Advice(RANGE, before=rf"(?<![\w')\]])[\[(]{_BOUND}\.\.{_BOUND}$", at=r"[\])]"),
    Advice(RANGE, before=rf"(?P<start>[\w')]+\s*\.\.\s*{_BOUND})$",
           at=r"(?=\s*(\Z|\n|[)\],]|in\b|\.\.(?![.<>])))", expected="RANGE"),
    Advice("A range with a step has its second number: 0..2..<n", before=r"(?<!case )\b\d+:$",
           at=r"\d+:"),
    Advice(RANGE, before=r"(?<!case )\b(?P<start>0:)$", at=r"(?=\d)", new="0..<"),
    Advice(RANGE, at=r"(?=\d|[-+*/])", new="{first}...{last}",
           before=r"(?<!case )\b(?P<start>(?P<first>\d+):"
                  r"(?P<last>((?![iuf]\d|bool)[a-z][\w']*\s*)?))$"),
    Advice("Arguments have no names: f x y, in the order of the parameters.", at=r"=(?!=)",
           before=r"(?<!['\w])(?!(?:if|for|loop|while|in|do|then|else)\b)[\w'.]+ ?"
                  r"\((?:[^()\n]*,)?\s*(?P<start>[A-Za-z_]\w*\s*)$"),
    Advice(_VALUES, before=r"\{(?:[^{}]*,)?\s*[\w']+(?P<start>\s*)$", at=r":(?![:>])", new=" ="),
    Advice(_VALUES, before=r"\{(?:[^{}]*,)?\s*$", at=r"([\"'])(?P<name>\w+)\1\s*:",
           new="{name} ="),
    Advice(_VALUES, before=r"\{(?:[^{}]*,)?\s*$", at=r"\.(?P<name>[A-Za-z_][\w']*)\s*=",
           new="{name} ="),
    Advice(_UPDATE, before=r"(?P<start>\{\s*(?P<name>[\w']+)\s*)$",
           at=r"with\b(?P<rest>[^{}\n]*)\}", new="{name} with {rest}"),
    Advice(_UPDATE, before=r"(?P<start>\{\s*)$", new="{name} with {rest}",
           at=r"\.{2,3}(?P<name>[\w']+)\s*,\s*(?P<rest>[^{}\n,]*)\}"),
    Advice(_UPDATE, before=r"\{[^{}\n]*$", at=r"\.\.|\|"),
    Advice(_UPDATE, before=r"\bwith\s*$", new="{rest}",
           at=r"\{\s*(?P<rest>[^{},\n]*[^{},\s])\s*\}"),
    Advice(_ARRAY, before=r"(?P<start>\{\s*)$", at=r"(?P<items>-?\s*\.?\d[^{}\n]*)\}",
           new="[{items}]"),
    Advice(_ARRAY, before=r"(?P<start>\{\s*(?P<first>\d[\w.]*)\s*)$",
           at=r",\s*(?P<rest>[^{}\n]*)\}", new="[{first}, {rest}]"),
    Advice(_MATRIX, before=r"\{\s*$", at=r"\{\s*[-\d.]"),
    Advice(_LOOP, before=r"\b(loop|for)\b[^\n\[]*$", at=";"),
    Advice("The body of a loop is the next value, without 'x ='.", at=r"=(?!=)\s*", new="",
           before=r"\bdo\s+(?P<start>[\w']+\s*)$"),
    *(Advice("An update is defined so: let xs[i] = x", at=at, new=new,
             before=r"(?<!\bdo)(?<!\bthen)(?<!\belse)\n[ \t]*"
                    r"(?P<start>(?P<xs>[\w']+)\[(?P<i>[^\[\]\n]*)\]\s*)$")
      for at, new in (
          (r"=(?!=)(?=[^\n]*\n[ \t]+((let|in)\b|[\w']+(\[[^\]\n]*\])?\s*=(?!=)))",
           "let {xs}[{i}] ="),
          (r"=(?!=)(?P<value>[^\n]*)\n[ \t]+(?P<next>\S)",
           "let {xs}[{i}] = {value}\n  in {next}"))),
    Advice("Many elements are written at once: scatter xs is vs", at=r"=(?!=)",
           before=r"\bmap\d?\s*\(\\[^\n>]*->\s*(?P<start>[\w']+\[[^\[\]\n]*\]\s*)$"),
    Advice(_ELEMENT, at=r"=(?!=)", new="{xs} with [{i}] =",
           before=r"(\n|\b(do|in|then|else)|->|\(|(?<!bool )=)\s*"
                  r"(?P<start>(?P<xs>[\w']+)\[(?P<i>[^\[\]\n]*)\]\s*)$"),
    *(Advice(hint, at=r"=(?!=)", before=rf"{front}\s*(?P<start>(?P<xs>[\w']+){path}\s*)$",
             new=f"let {{xs}} = {new}" if front == r"\n" else new)
      for hint, path, new in (
          (_ELEMENT, r"\[(?P<i>[^\[\]\n]*)\]\[(?P<j>[^\[\]\n]*)\]", "{xs} with [{i}, {j}] ="),
          ("A field is replaced in a copy: r with x = e", r"\.(?P<f>[a-z_][\w'.]*)",
           "{xs} with {f} ="))
      for front in (r"\b(?:do|then|else)", r"\n", r"(?<!bool )(?<!bool)=")),
    Advice("Type parameters are declared so: def f 'a 'b (x: a) (y: b): a = e",
           before=r"(^|\n)(def|entry)\s+[\w']+\s*<[^>\n]*$"),
    Advice("A type parameter is declared with a quote and used without: def f 'a (x: a): a = e",
           before=r"[:,(\])>]\s*$", at=r"'(?P<name>[a-z]\w*)(?!')", new="{name}"),
    Advice("A constructor begins with '#': case #some x -> e", at=r"(?=[a-z_(\d])", new="#{name} ",
           before=r"\bcase\s+(?P<start>(?P<name>[a-z]\w*)\s+)$"),
    Advice("A constructor begins with '#': case #some x -> e", at=r"(?=[a-z_(\d])",
           before=r"\bcase\s+(?P<start>[A-Z]\w*\s+)$"),
    Advice("Sizes are declared before the parameters: def f [n] (xs: [n]t): u = e", at=r"\[",
           before=r"(^|\n)(def|entry)\s+[\w']+[^=\n]*\)\s*$"),
    Advice("Parameters stand directly behind the name.", at=":", new="",
           before=r"(^|\n)(def|entry)\s+[\w']+(?P<start>:(?P<end>))\s*\([^()\n]*\)\s*$"),
    Advice("A name stands behind 'def' or 'entry': entry main (x: t): u = e", at=":",
           before=r"(^|\n)(def|entry)\s*\([^()\n]*\)\s*$"),
    Advice("A definition is written with '='.", at="==", new="=",
           before=r"(^|\n)[ \t]*(def|entry|let)\b[^=\n]*$"),
    Advice(FUNCTION, before=r"\\[\w']+\s+$", at=r"[-+*/%<>=&|^]+(?<!->)\s"),
    Advice("An entry point is declared: entry f (x: t): u = e", before=_LINE, expected="DEF",
           at=r"(Entry|ENTRY|export|public|extern|__global__)\b(?!\s+(void|int|float|double)\b)"),
    Advice("A name is defined before its use: let x = e in ...",
           before=r"(?P<start>\bwhere(?P<end>))\s+[\w'() ]+$", at="="),
    Advice(ANEW, at="=",
           before=r"(\bin|\bdo|;|\n)\s*[\w']+\s*:$"),
    Advice("Unequal is written !=.", at="~=", new="!="),
    Advice(SIGNATURE, at=":",
           before=r"(^|\n)def\s+[\w']+\s*:$"),
    Advice(_MATCH, before=r"\bmatch\b[^\n]*(?P<start>\bwith(?P<end>))\s*$", at=r"\|"),
    Advice("The last case fits all other values: case _ -> e", at="->", new="case _ ->",
           before=r"\bcase\b[^\n]*\s+(?P<start>(default|otherwise|_|else)\s*)$"),
    Advice("Nothing stands between cases.", before=r"\bcase\b[\s\S]*$", at=r"[,;](?=\s*case\b)",
           new=""),
    Advice("The last case fits all other values: case _ -> e", at=r"else\s*->", new="case _ ->",
           before=r"\bcase\b[^\n]*\n?\s*$"),
    Advice("A module is defined by '=': module m = { ... }", at=r"def\b",
           before=r"\bmodule\s+[\w']+\s*:\s*\{[^{}=]*$"),
    Advice(_MATCH, before=r"\bmatch\b(?:(?!\bcase\b)[^=])*$", at="->"),
    Advice("Rows and columns stand in brackets: xss[i, :]", at=r":(?P<rest>[^()\n]*)\)",
           before=r"(?P<start>\b(?P<xs>[\w']+)\((?P<first>[^()\n]*))$",
           new="{xs}[{first}:{rest}]"),
    Advice("A member of a type is written with a point.", before=r"\b[iuf]\d\d?$",
           at=r"::(?=[A-Za-z])", new="."),
    Advice("An array of equal elements is written: replicate n x", before=r"(?P<start>\bvec)$",
           at=r"!\[(?P<e>[^;\]\n]*);\s*(?P<n>[^\]\n]*)\]", new="(replicate {n} {e})"),
    Advice(_ARRAY, before=r"(?P<start>\bvec)$", at=r"!(?=\[)", new=""),
    Advice("A program has no output but its result.", at="!",
           before=r"\b(println|print|panic|dbg)$"),
    Advice("An array type is written: []t or [n]t", at=r";\s*(?P<n>\w+)\s*\]", new="[{n}]{t}",
           before=r":\s*&?(?P<start>\[(?P<t>\w+))$"),
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
    Advice("A body stands behind '='.", at="=>", new="=",
           before=r"(^|\n)[ \t]*(def|entry|let)\b[^=\\\n(]*(\([^()\n]*\)[^=\\\n(]*)*$"),
    Advice(FUNCTION, before=r"[(=]\s*$", at=r"\|[^|\n]+\|"),
    Advice(r"Parameters have no commas, \x y -> e, and a tuple has parentheses, \(x, y) -> e",
           before=r"\\\s*[\w']+\s*$", at=","),
    *(Advice("An arrow is written '->'.", before=before, at="=>", new="->")
      for before in (r"\\[\w' (),:]+$", r"\([\w']+\s*:[^()\n=]*$")),
    Advice("A case is written: case p -> e", before=r"\bcase\b[^\n=]*$", at="=>", new="->"),
    Advice("An operator of all elements is mapped: map (** 2) xs, or map2 (*) xs ys",
           at=r"\.[-+*/^]", before=r"(\s|[A-Za-z_)\]'][\w']*)$"),
    Advice(_MATRIX, before=r"\[[^\]\n]*[\w'.)][ ,]\s*[\w'.(-][^\]\n]*$", at=";"),
    Advice("Elements of an array are parted by commas.", before=r"\[[^\[\]\n]*$", at=";"),
    Advice("A function is applied to all that follows it by <|: f <| g x", at=r"\$(?=[\s(])",
           new="<|"),
    Advice("A field is written: e.x", before=r"[\w')\]]$", at=r"\$(?=[A-Za-z_])", new="."),
    Advice("A name has no sign in front.", at=r"\$(?=[A-Za-z_])", new=""),
    Advice(FUNCTION, at=r"@\((?P<x>[\w', ]*)\)", new=r"\{x} ->"),
    *(Advice("An attribute is written #[name].", before=_LINE, at=rf"@{name}\b", new=f"#[{name}]")
      for name in ("noinline", "inline", "sequential", "unroll", "unsafe")),
    Advice("There are no decorators: leave it out.", before=_LINE, at=r"@[^\n]*", new=""),
    Advice("Functions are composed: f <-< g, or g >-> f", before=r"[\w')]\s+$", at=r"\.(?=\s)",
           new="<-<"),
    Advice(SIGNATURE, before=r"(^|\n)$",
           at=r"(?P<line>(val\s+)?[a-z_][\w']*\s*::?[^=\n]*)(?=\n)", new="-- {line}"),
    Advice("A record type is declared: type t = {x: f32, y: f32}", before=_LINE,
           at=r"(typedef\s+)?(struct|record|interface)\s+(?P<name>\w+)\s*=?\s*\{"
              r"(?=\s*[\w']+\s*:)", new="type {name} = {{"),
    Advice("A record type is declared: type t = {x: f32, y: f32}", before=_LINE,
           at=r"(typedef\s+)?(struct|record|interface)\b"),
    Advice("A sum type is declared: type t = #red | #green", before=_LINE,
           at=r"(data|enum|newtype|union|variant)\b"),
    Advice("There are no classes: 'type' declares data, and 'def' functions.", before=_LINE,
           at=r"(class|impl|trait|instance)\b"),
    Advice("A body stands behind '=': def f (x: t): u = e", new=" =",
           before=r"(^|\n)def\s+[\w']+\s*\([^()\n]*\)(?P<start>:(?P<end>))[ \t]*\n[^=]*$"),
    Advice("A body stands behind '=', without braces.", new="=",
           before=r"(^|\n)(def|entry|let)\b[^={\n]*(?P<start>\{(?P<end>))\s*\n[^={}]*$"),
    Advice("A declaration has no word before it: leave it out.", before=_LINE, expected="DEF",
           at=r"[a-z]+\s+(?=(def|entry|type|module)\s)", new=""),
    Advice(_DECLARED, before=_LINE, at=r"(pub\s+)?(fn|fun|func|function)\b", expected="DEF",
           new="def"),
    Advice("A value is missing between two operators.", before=r"[\w)\]]\s*[-+*/%]\s+$",
           at=r"[*/%+<>=&|]"),
    Advice(_DECLARED, before=_LINE, expected="DEF",
           at=r"((__\w+__|static|inline|const|template\s*<[^>\n]*>)\s+)*"
              r"(void|int|float|double|long|auto|bool|[iuf]\d\d)\*?\s+\w+\s*\("),
    Advice(_CONSTANT, before=_LINE, at=r"#define\s+(?P<name>\w+)\s+(?P<value>[^\n]+)",
           new="def {name} = {value}"),
    Advice(_CONSTANT, before=_LINE, expected="DEF", new="def",
           at=r"(const|var|val|static|final)(\s+(const|static|final|auto))*\b"),
    *(Advice("Functions of numbers need no import: f32.sqrt, f64.exp.", before=before, new="",
             at=rf"{at}\b(c?math|Math|numpy|np|std::f(32|64))\b[^\n]*", expected=expected)
      for before, at, expected in (
          (_LINE, r"(#include|using|use|from|require|library|include)\b[^\n]*", "DEF"),
          (r"(?:^|\n)(?P<start>import\s+)$", "", ""))),
    Advice(_IMPORT, before=_LINE,
           at=r"#include|(using|use|from|require|library|include)\b", expected="DEF"),
    Advice("The members of a file are kept behind a name so: module m = import \"std/sort\"",
           before=r"(^|\n)[ \t]*(?P<start>(?:open\s+)?(?P<path>import\s+\"[^\"\n]*\")\s*)$",
           at=r"(qualified\s+)?as\s+(?P<name>[\w']+)", new="module {name} = {path}"),
    Advice(_IMPORT, before=r"\bimport\s+$", at=r"[A-Za-z_]"),
    Advice(_ADDED, new="{xs} with [{i}] = {xs}[{i}] {op}", at=r"(?P<op>[-+*/]|\*\*)=",
           before=r"(?P<start>\b(?P<xs>[\w']+)\s+with\s*\[(?P<i>[^\]\n]*)\]\s*)$"),
    Advice(_ADDED, new="{xs}[{i}] = {xs}[{i}] {op}", at=r"(?P<op>[-+*/]|\*\*)=",
           before=r"\blet\s+(?P<start>(?P<xs>[\w']+)\s*\[(?P<i>[^\]\n]*)\]\s*)$"),
    Advice("An update is defined so: let xs[i] = x", new="{xs}[{i}]",
           before=r"\blet\s+(?P<start>(?P<xs>[\w']+)\s+)$", at=r"with\s*\[(?P<i>[^\]\n]*)\]"),
    Advice("A body stands behind '=': def f (x: t): u = e", new="{last} =",
           before=r"(^|\n)(def|entry)\s+[\w']+[^=\n]*:\s*(?P<start>(?P<last>"
                  r"(?:[^=:()\n]|\([^=:()\n]*\))*(?:[^\s=:()]|\([^=:()\n]*\)))[ \t]*"
                  r"(?P<end>))\n[ \t]+[^=|]*$", at=r"(?!\|)"),
    Advice("An update is written with '=': xs with [i] = x", before=r"\bwith\s*\[[^\]\n]*\]\s*$",
           at=r"<-|:=", new="="),
    Advice("A definition is written with '='.", at=r"<-|:=",
           before=r"\blet\s+[\w']+\s*(\[[^\]\n]*\]\s*)*$",
           new="="),
    Advice("Write 'else if'.", before=r"(?P<start>\b(elif|elseif|elsif)\b(?P<end>))[^\n:]*$",
           new="else if"),
    Advice("A choice is written: if c then a else b", expected="EQUAL", at=r"\|",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*\n?\s*$"),
    Advice("No ';' stands at the end of a line.", at=r";+(?=[ \t]*(\n|$))", new=""),
    Advice(_MATCH, before=r"\b(match\b[^\n]*\{[^{}]*|case\b[^\n]*)=?$", at=r"=?>"),
    Advice(_ELEMENT,
           before=r"\]\s*:$", at="="),
    Advice(_LOOP, before=r"\bfor\s*\([^\n)]*$"),
    Advice("The type of a result stands behind a colon: (x: t): u",
           before=r"(^|\n)\s*(def|entry|let)\b[^=\n]*\)\s*$", at="->", new=":"),
    Advice("A field is written: e.x", before=r"[\w')\]]$", at=r"->\s*[a-z_]"),
    Advice("Arguments stand behind the function without commas: f x y",
           before=r"(^|\n)(def|entry|let)\b[^\n]*=\s*(?!(match|if|loop|let)\b)[\w.']+"
                 r"([ \t]+(?!with\b)[\w.']+)+\s*$", at=","),
    Advice("Each definition has its own 'let'.", before=r"\blet\b[^\n]*=[^\n]*$", new=" let ",
           at=r",\s*(?=(?!let\b)[a-z_][\w']*\s*=(?!=))"),
    Advice("Each update has its own 'with': r with x = 1 with y = 2", at=",", new=" with",
           before=r"\bwith\s*(\[[^\]\n]*\]|[\w'.]+)\s*=[^=\n]*$"),
    Advice("A tuple stands in parentheses: (a, b)", at=",",
           before=r"(^|\n)[ \t]*(def|entry|let|in)\b[^\n\[\]{}]*$"),
    Advice("A type argument stands behind its type, and an array is written []t.", at="<",
           before=r":\s*[A-Z]\w*$"),
    Advice("A character is one sign, and a text stands in double quotes.", at="'"),
    Advice("A body stands behind '=', without braces.",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*(\)|:[^=\n{]*)\s*\{[^=\n]*$"),
    Advice("A parameter with its type stands in parentheses: (p: t)", at=":",
           before=r"(^|\n)(def|entry|let)\s+[\w']+[^=\n()]*[\w'}]\s*$"),
    Advice("A module type specifies values: val f: t -> u", at=r"def\b", new="val",
           before=r"\bmodule\s+type\b[^={}]*=\s*\{[^{}]*$"),
    Advice("Declarations of a module are taken over by 'open'.", at=r"include\b", new="open",
           before=r"\bmodule\b(?!\s+type\b)[^={}]*=\s*\{[^{}]*$"),
    Advice("The type of a member stands behind a colon: val x: t", at=r"=(?!=)\s*", new=": ",
           before=r"\bval\s+\S+(?P<start>\s*)$"),
    Advice("Fields of a type have a colon: {x: t}", at=r"=(?!=)\s*", new=": ",
           before=r"\btype\b[^=]*=\s*(?:[^={}]*)\{[^{}=]*?[\w'](?P<start>\s*)$"),
    Advice("Declarations of a module have nothing between them.", at=";", new="",
           before=r"\bmodule\b[^\n{}]*\{[^{}]*$"),
    Advice("Fields are parted by commas.", before=r"\{[^{}\n]*$", at=";", new=","),
    Advice("Fields are parted by commas.", at=r"=(?!=)", new=", {name} =",
           before=r"\{[^{}]*=\s*[^,{}]*[\w')\]]\s(?P<start>(?P<name>[\w']+)\s*)$"),
    Advice("A value in a record has a name: {x = e}", expected="EQUAL", at=r"[^\s=:]",
           before=r"\{[^{}]*,\s*[\w']+\s*$"),
    Advice("An element is written: xs[i]", before=r"[\w')\]]$", at=r"\.\[", new="["),
    Advice("A choice has no ';' before 'else'.", before=r"\bthen\b[^\n]*$", at=r";(?=\s*else\b)"),
    Advice("A definition is written with '='.", before=r":\s*[\w.\[\]]+\s*$", at=":="),
    Advice(FUNCTION, before=r"(?P<start>\blambda\s+(?P<x>[\w', ]+?)\s*(?P<end>:))[^:\n]*$",
           new=r"\{x} ->"),
    Advice(FUNCTION, before=r"(?P<start>\b(fun|fn|function)\s+)(?P<x>[a-z_][\w' ]*?)\s*$", at="->",
           new=r"\{x} ->"),
    Advice('In a string of Python, "\\n" is a new line: write r before the string.',
           before=r"\(\n\s*$", at="->"),
    Advice("A number has a digit before its point.", at=r"(?P<digits>\.\d+)", new="0{digits}"),
    Advice("A number has a digit behind its point.", before=r"(?P<start>\b(?P<digits>\d+))$",
           at=r"\.(?!\.)", new="{digits}.0"),
    Advice("A product of matrices is written: map (\\row -> map (\\col -> f32.sum (map2 (*) row "
           "col)) (transpose b)) a", before=r"[\w')\]]\s+$", at=r"@\s"),
    *(Advice(hint, before=_RESULT, new=new.replace("{xs}", array),
             at=rf"for\s+(?P<p>[\w']+)\s+in\s+(?P<xs>{xs}){more}\s*\]")
      for hint, more, new in _COMPREHENSIONS
      for xs, array in ((r"[\w'.]+", "{xs}"), (r"[\w'.]+\([^()\n]*\)", "({xs})"))),
    Advice(_RESULTS, before=r"\[[^\[\]]*$", at=r"for\b"),
    Advice(_RESULTS, before=r"(?P<start>\((?P<e>[^()]*?)\s*)$", new=r"(map (\{p} -> {e}) {xs})",
           at=r"for\s+(?P<p>[\w']+)\s+in\s+(?P<xs>[\w'.]+)\s*\)"),
    *(Advice("An element is searched by: any (== x) xs", new=new, expected="-IN",
             before=rf"(^|\n)(?:(?!\bthen\b)[^\n])*?(?P<start>\b(?P<e>[\w'.]+)[ \t]+{word})$",
             at=r"in%?[ \t]+(?P<xs>[\w'.]+|\"[^\"\n]*\")(?![^\n]*\bdo\b)")
      for word, new in ((r"not[ \t]+", "!(any (== {e}) {xs})"), ("%?", "any (== {e}) {xs}"))),
    Advice("A choice is written: if c then a else b", new="if {c} then {a} else {b}",
           before=r"(?P<start>\bif\s*\((?P<c>[^(),\n]*),(?P<a>[^(),\n]*),(?P<b>[^(),\n]*)\)"
                  r"(?P<end>))\s*$"),
    Advice("A choice is written: if c then a else b",
           before=r"\bif\b(?![^\n]*\bthen\b)[^\n]*[{:][^\n]*$"),
    Advice("An operator that counts up is no part of the language: write i + 1.",
           before=r"\w\s*$", at=r"\+\+\s*(?=[;)\n]|$)"),
    Advice("An operator that counts up is no part of the language: write i + 1.", new="+ 1 ",
           before=r"[\w')\]]\s*(?P<start>\+\+\s*)$", at=r"(?=(in|do|then|else)\b|\s*\Z|[),;])"),
    Advice(FUNCTION, at="=>"),
    Advice(FUNCTION, before=r"\\[\w ()]+$", at=r"\."),
    Advice(FUNCTION, before=r"\((?P<start>\s*(?P<x>[\w']+)\s*)$", at="->", new=r"\{x} ->"),
    Advice("A record type is written: {x: t, y: u}",
           before=r"\btype\b[^={]*=\s*\(\s*[\w']+\s*:[^()]*$", at=","),
    Advice("The type of a pair is written: (t, u)", before=r":\s*[\w'.\[\]]+\s*$",
           at=r"\*(?=\s*[\w(\[])"),
    Advice("An array type is written: []t or [n]t", before=r":\s*(?P<start>(?P<t>[\w']+)\s*)$",
           at=r"\*(?=\s*[),=])", new="[]{t}"),
    Advice("An array type is written: []t or [n]t", before=r":\s*\[\s*[\w'.]+\s*\]\s*$",
           at=r"[),=}]"),
    Advice("An element in front is written: [x] ++ xs", before=r"[ \t]$", at="::"),
    Advice("A member of a module is written M.x, and a constructor #x.", at="::"),
    Advice("A tuple has commas: (a, b)", before=r"\blet\s+\(\s*[\w']+\s+$", at=r"[A-Za-z_]"),
    Advice("A comment begins with --.", at=r"//|/\*"),
    Advice("A comment begins with --.", before=r"(^|\n)\s*$", at=r"#(?!\[)"),
    Advice("A comment begins with --.", at=r"#\s"),
    Advice("No ';' stands between a definition and what follows it.", at=";"),
    Advice(ANEW, before=r"\blet\s+[\w']+\s*$",
           at=r"[-+*/%]="),
    Advice("A definition is written with '='.", before=r":\s*$", at="="),
    Advice(_CONSTANT, at="=",
           before=r"\n((static|const|final|constexpr|var|val)\s+)+([\w']+\s+)*[\w']+\s*$"),
    Advice("An attribute is written #[name].", at=r"(?=[a-z])", new="#[{name}] ",
           before=r"(?P<start>(?<![\w')\]#])\[(?P<name>unroll|sequential|unsafe)\]\s*)$"),
    Advice("A name is defined with 'let': let x = e",
           before=r"\b(var|val|const|auto|int|float|double|[iuf]\d\d?)\s+[\w']+\s*$", at="="),
    Advice(_LOOP, before=r"\bfor\s+[\w']+\s*$", at="="),
    Advice("Bits are inverted by !x, and -x is the negative number.", at="~", new="!"),
    Advice("An array type is written: []t or [n]t", before=r":\s*(?:\[[\w']*\])*\[\s*$", at=":",
           new=""),
    *(Advice(f"Each size has its own brackets: {new}", before=rf"{head}\s*\[\s*[\w']+\s*$", at=",")
      for head, new in ((":", "[n][m]t"), (r"(^|\n)(def|entry)\s+[\w']+", "[n] [m]"))),
    Advice("Parentheses group: (e).  Braces make records: {x = e}",
           before=r"(?<!\w)(?<!\bmodule \w =)(=|\bin|\bdo|\bthen|\belse)\s*\{[^{}=,:]*$"),
    Advice("A definition begins with 'def'.", at=r"=(?!=)", expected="OP", new="def {word}",
           before=r"\n(?P<start>(?P<word>(?!(if|let|loop|match|assert)\b)[a-z_][\w']*))(?P<end>)"
                  r"[^=\n]*$"),
    Advice("Each definition has its own 'let'.", at=r"=(?!=)", new="let {name} =",
           before=r"(?:\n[ \t]+|\blet [\w']+ =[^\n]* )"
                  r"(?P<start>(and|let|also)\s+(?P<name>[a-z_][\w']*)\s*)$"),
    Advice("Each name has its own definition: let b = e let a = b", at=r"=(?!=)", expected="OP",
           before=r"\blet\s+[\w']+\s*=\s*[\w']+\s*$"),
    Advice("Arguments have no names: f x y, in the order of the parameters.", at=r"=\w",
           before=rf"[\w')\]] +({_NAMED})$"),
    Advice("Equality is written '=='.", at=r"=(?!=)", expected="OP",
           before=r"(=|[({,&|]|\b(if|while|then|else|in|do)\b|->)[^\n]*$"),
    Advice("A choice is written: if c then a else b", at=r"\?"),
    Advice("The value of a function is its body: there is no 'return'.",
           before=r"\breturn\b[^\n]*$"),
    Advice("A loop is written: loop x = a while c do e", at=r"while\b", expected="-WHILE"),
    Advice(_LOOP, at=r"for\b", expected="-FOR"),
    Advice("A match has no 'with': match e case p -> e", at=r"case\b", new="",
           before=r"\bmatch\b[^\n]*(?P<start>\bwith(?P<end>))\s*$"),
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
    Advice("A colon stands before the type of a parameter: (x: t)", at=r"(?=\*?[\w'\[])",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*\(\s*(?!([iuf]\d\d?|bool|int|float|double|char)\b)"
                  r"(?P<start>(?P<x>[\w']+)\s+)$", new="{x}: "),
    Advice("There is no sign '+' of a number: leave it out.", at=r"\+(?=[\w(])", new="",
           expected="-OP"),
    Advice("A parameter is written with its type behind it: (x: i32)",
           before=r"(^|\n)(def|entry|let)\b[^=\n]*\(\s*(i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool|int|float|double|char)"
                  r"[ \t]+$",
           at=r"[A-Za-z_]"),
    Advice("A size parameter is a name: [n]", before=r"\bdef\b[^=]*\[\s*[\w']+\s*$",
           at=r"[-+*/]"),
    Advice("A module is opened by its name.", before=r"\bopen\s+$", at=r"module\s+", new=""),
    Advice("Types and modules are declared outside of functions.",
           before=r"(=|\n|\bin)[ \t]+$",
           at=r"(type|module|open|import)\b", expected="-DEF"),
    Advice("An attribute is closed by ']': #[name]", before=r"#\[[^\]\n]*$", at=r"[a-z]"),
    Advice("Inside of an expression, functions are defined with 'let'.",
           before=r"(=|\n|\bin)[ \t]+$", at=r"(def|entry)\b", expected="-DEF"),
    Advice(IN, before=r"\n[ \t]*$", at=r"(?!(else|then|do|case)\b)(?=[a-z(])", expected="IN",
           new="in "),
    Advice("A definition begins with 'def'.", before=r"(^|\n)$", expected="DEF",
           at=r"(?P<name>[a-z_][\w']*)(?![\w'])(?=([^\n=]*[\w')\]])?\s*=(?!=))", new="def {name}"),
    Advice("A declaration begins with def, entry, type, module, open or import.",
           before=r"(^|\n)[ \t]*$", at=r"[A-Za-z_]", expected="DEF"),
)
"""Forms of other languages and wrong forms, with what is written; the first that fits counts."""
