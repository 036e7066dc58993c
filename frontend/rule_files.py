"""Files of rewrite rules, ``NAME.rules``: declarations of the language, and rules among them.

A rule has a head like a function, and two expressions::

    rule name [n] 'a (f: a -> a) (xs: [n]a): [n]a = before ==> after where condition

The type of the result and the condition may be missing.  A declaration begins with its keyword,
so that a rule ends at the next one.  A rule is read as two functions of its parameters, and its
condition as a third.  The rest of the file is blank then, so that places stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.attributes import KNOWN
from runelift.frontend.syntax.parser import parse, parse_type
from runelift.ir.base.errors import Diagnostic, Label, ProgramError
from runelift.ir.base.source import Source, Span
from runelift.ir.points import POINTS

ALWAYS = "always"
"""The attribute of a rule that is applied wherever it matches."""
BEFORE, AFTER, WHERE = "before", "after", "where"
"""The functions of a rule."""
PRELUDE = """\
def associative 'a (_op: a -> a -> a) (_neutral: a): bool = true
def commutative 'a (_op: a -> a -> a): bool = true
"""
"""The conditions about functions: the compiler knows what they mean."""

_ARROW = "==>"
_WORD, _DEF = "rule", "def "
"""The keyword of a rule, and that of a function, which takes as much room."""
_DECLARATION = frozenset({_WORD, "def", "entry", "type", "module", "open", "import", "local"})
_TOKEN = re.compile(r"""
    (?P<blank> \s+ | --[^\n]* )
  | (?P<text> "(?:\\.|[^"\\])*" | '(?:\\(?:\d+|.)|[^'\\\n])' )
  | (?P<attribute> \#\[ [^\]]* \] )
  | (?P<word> [A-Za-z_][\w']* )
  | (?P<open> [(\[{] ) | (?P<close> [)\]}] )
  | (?P<operator> [-+*/%=!><|&^.:]+ )
  | (?P<other> . )
""", re.VERBOSE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule as a file has it; the spans of its expressions have no blanks around them."""

    name: str
    name_span: Span
    span: Span
    head: Span
    equals: Span
    result: Span | None
    """The colon and the type of the result."""
    before: Span
    after: Span
    where: Span | None
    always: bool
    conversion: str = ""
    """The type to which the right side is converted; "" if it has this type anyway."""

    @property
    def law(self) -> str:
        """The law on one line."""
        return f"{_one_line(self.before)} ⇒ {_one_line(self.after)}"

    @property
    def condition(self) -> str:
        """The condition on one line; "" if there is none."""
        return "" if self.where is None else _one_line(self.where)

    def of(self, part: str) -> str:
        """The name of the function that is a part of the rule."""
        return f"{self.name}'{part}"


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules of a file; ``helpers`` is its text without them."""

    source: Source
    rules: tuple[WrittenRule, ...]
    helpers: str = field(repr=False)

    def module(self, rules: Iterable[WrittenRule], types: Mapping[str, str] | None = None, *,
               typed: bool = True) -> module_ast.Module:
        """The file as a program in which ``rules`` are functions.

        ``types`` are given to the type parameters of the rules; without them the functions are
        polymorphic.  The types of results are left out unless the functions are ``typed``.
        """
        found = parse(self.source, self.helpers)
        decs: list[module_ast.Dec] = [*found.decs]
        for rule in rules:
            functions = list(self._functions(rule, typed=typed))
            if types is not None:
                decs += [ast.TypeDec(rule.span, name, (), parse_type(type_))
                         for name, type_ in types.items()]
                for dec in functions:
                    dec.type_params = tuple(p for p in dec.type_params
                                            if isinstance(p, ast.SizeParam))
            decs += functions
        prelude = parse(Source("rules", PRELUDE)).decs
        own = {dec.name for dec in decs if isinstance(dec, ast.ValDec)}
        return module_ast.Module(found.span, (
            *(dec for dec in prelude if isinstance(dec, ast.ValDec) and dec.name not in own),
            *_in_order(decs)))

    def _functions(self, rule: WrittenRule, *, typed: bool) -> Iterator[ast.ValDec]:
        parts = {BEFORE: rule.before, AFTER: rule.after}
        if rule.where is not None:
            parts[WHERE] = rule.where
        for part, body in parts.items():
            text = [" " if char != "\n" else char for char in self.source.text]
            kept = [rule.head, rule.equals, body]
            if typed and rule.result is not None and part != WHERE:
                kept.append(rule.result)
            for span in kept:
                text[span.start:span.end] = span.text
            text[rule.span.start:rule.span.start + len(_WORD)] = _DEF
            (dec,) = parse(self.source, "".join(text)).decs
            assert isinstance(dec, ast.ValDec)
            dec.name = rule.of(part)
            if part == AFTER and rule.conversion:
                dec.body = ast.Coerce(body, dec.body, parse_type(rule.conversion))
            if part == WHERE:
                dec.ret = ast.TypeName(body, ast.QualName((), "bool"))
            yield dec


def read_rules(source: Source) -> RuleFile:
    """The rules of a file; ProgramError if one has not the form of a rule."""
    tokens = list(_tokens(source))
    starts = [number for number, each in enumerate(tokens) if each.depth == 0
              and (each.kind, each.text) in {("word", word) for word in _DECLARATION}]
    helpers = list(source.text)
    rules: list[WrittenRule] = []
    for number, start in enumerate(starts):
        if tokens[start].text != _WORD:
            continue
        following = starts[number + 1] if number + 1 < len(starts) else len(tokens)
        end, first = _without_attributes(tokens, following), _without_attributes(tokens, start)
        attributes = [each.text for each in tokens[first:start]]
        rule = _rule(source, tokens[start:end], attributes)
        _check_name(rule, rules)
        rules.append(rule)
        for place in range(tokens[first].start, tokens[end - 1].end):
            helpers[place] = "\n" if helpers[place] == "\n" else " "
    if not rules:
        raise ProgramError(Diagnostic(
            "malformed-rule", Span(source, 0, 0), "There is no rule in this file.",
            hints=("A rule is written: rule NAME PARAMETERS = BEFORE ==> AFTER.",)))
    return RuleFile(source, tuple(rules), "".join(helpers))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int
    depth: int


def _tokens(source: Source) -> Iterator[_Token]:
    """The words of a file with the number of brackets around them, without comments."""
    depth = 0
    for match in _TOKEN.finditer(source.text):
        kind = str(match.lastgroup)
        if kind == "close":
            depth = max(0, depth - 1)
        if kind != "blank":
            yield _Token(kind, match[0], match.start(), match.end(), depth)
        if kind == "open":
            depth += 1


def _without_attributes(tokens: list[_Token], place: int) -> int:
    """The first of the attributes that end at a place."""
    while place and tokens[place - 1].kind == "attribute":
        place -= 1
    return place


def _rule(source: Source, tokens: list[_Token], attributes: list[str]) -> WrittenRule:
    span = Span(source, tokens[0].start, tokens[-1].end)
    if len(tokens) < 2 or tokens[1].kind != "word":
        raise malformed(span, "A rule has a name.")
    name = Span(source, tokens[1].start, tokens[1].end)
    for attribute in attributes:
        if attribute != f"#[{ALWAYS}]":
            raise malformed(name, f"A rule has no attribute {attribute}.",
                            f"#[{ALWAYS}] is the only one: the rule is applied wherever it "
                            "matches.")
    equals = _find(tokens, "operator", "=")
    arrow = _find(tokens, "operator", _ARROW)
    if equals is None or arrow is None or arrow < equals:
        raise malformed(name, "A rule has two sides.",
                        "It is written: rule NAME PARAMETERS = BEFORE ==> AFTER.")
    where = _find(tokens, "word", WHERE, arrow)
    last = len(tokens) if where is None else where
    colon = _find(tokens[:equals], "operator", ":")
    sides = [tokens[equals + 1:arrow], tokens[arrow + 1:last],
             tokens[last + 1:] if where is not None else None]
    if any(side is not None and not side for side in sides):
        raise malformed(name, "A side or the condition of this rule is empty.")

    def spanned(part: list[_Token]) -> Span:
        return Span(source, part[0].start, part[-1].end)

    return WrittenRule(
        name.text, name, span, spanned(tokens[:equals if colon is None else colon]),
        spanned([tokens[equals]]), None if colon is None else spanned(tokens[colon:equals]),
        spanned(sides[0] or []), spanned(sides[1] or []),
        spanned(sides[2]) if sides[2] else None, bool(attributes))


def _find(tokens: list[_Token], kind: str, text: str, start: int = 0) -> int | None:
    """The first token of a kind and text outside of brackets, from ``start`` on."""
    return next((number for number, each in enumerate(tokens) if number >= start
                 and each.depth == 0 and each.kind == kind and each.text == text), None)


def _check_name(rule: WrittenRule, before: Iterable[WrittenRule]) -> None:
    """Refuse a rule's name that another attribute or an earlier rule has."""
    for other in before:
        if other.name == rule.name:
            raise ProgramError(Diagnostic(
                "duplicate-name", rule.name_span, f"Duplicate definition of rule '{rule.name}'.",
                (Label(other.name_span, "first defined here"),)))
    if rule.name in KNOWN or rule.name in POINTS:
        raise malformed(rule.name_span, f"#[{rule.name}] is an attribute already, so no rule "
                        "can have this name.")


def malformed(span: Span, message: str, *hints: str) -> ProgramError:
    """The error for a rule that cannot be what it says."""
    return ProgramError(Diagnostic("malformed-rule", span, message, hints=hints))


def _in_order(decs: Iterable[module_ast.Dec]) -> list[module_ast.Dec]:
    """Declarations in the order of their places."""
    return sorted(decs, key=lambda dec: dec.span.start)


def _one_line(span: Span) -> str:
    """The text of a span on one line, without comments."""
    return " ".join(re.sub(r"--[^\n]*", "", span.text).split())
