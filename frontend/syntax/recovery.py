"""Recovery from syntax errors: parsing goes on at the next declaration.

This is panic mode (Aho, Lam, Sethi and Ullman, Compilers, 2nd edition, 4.8.3).  The parser's stack
knows the lists of declarations around an error: the list of the file, and of each module.  Their
indentation says in which of them the next declaration stands.  The stack shrinks to that list, and
the token ``BROKEN`` takes the place of the text that is passed over.

An error may follow from an earlier one: a brace, say, that closes a module whose begin was passed
over.  Such errors are not reported.  It is not sure then what the other declarations are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from lark import Token, Tree, UnexpectedInput
from lark.parsers.lalr_parser_state import ParserState

from runelift.frontend.syntax.syntax_errors import Found, brace, syntax_error
from runelift.ir.base.errors import Diagnostic
from runelift.ir.base.source import Source, Span

MOST_ERRORS = 100
"""The most syntax errors of a file that are reported."""

_MARK = re.compile(r"""
    --[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])'
  | (?P<brace>[{}])
  | ^[ \t]* (?P<start> (?:\#\[[^\]\n]*\]\s*)*
      (?P<word> (?:def|entry|type|module|open|import|local|let)(?![\w'])))
""", re.VERBOSE | re.MULTILINE)
_SPECIFYING = frozenset({"type", "module"})
"""Words that also begin lines of module types; these may be indented as little as declarations."""
_FOLLOWING = frozenset({"in", "val", "include", "}"})
"""Words inside of declarations: behind one that is complete they follow from an earlier error."""
_FRONT = re.compile(r"(?:.*[{}])?[ \t]*(?:local\s+)?\Z")
"""The begin of a line before a declaration."""
_DEF = re.compile(r"^[ \t]*def(?![\w'])", re.MULTILINE)
_VAL = re.compile(r"^val(?![\w'])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _List:
    """A list of declarations that is being parsed, at ``depth`` of the parser's stack.

    The declaration that is being read begins at ``start``, in a line indented by ``column``.
    """

    depth: int
    start: int
    column: int


class Recovery:
    """Handler of the parser's errors: it changes the parser's state and is true if that can go on.

    ``errors`` are those found so far.  See :class:`~.module_ast.Module` for ``in_doubt``.
    """

    def __init__(self, source: Source, text: str) -> None:
        self.errors: list[Diagnostic] = []
        self.in_doubt = False
        self._source = source
        self._text = text

    def __call__(self, error: UnexpectedInput) -> bool:
        """Note the error, and go to the next declaration."""
        parser = getattr(error, "interactive_parser", None)
        assert parser is not None
        state: ParserState[int] = parser.parser_state
        position = parser.lexer_thread.state.line_ctr
        found = Found.of(error, self._text)
        lists = self._lists(state, found)
        if not lists:
            return False
        if self._follows(found, lists):
            self.in_doubt = True
            if found.word == "}":
                position.char_pos = found.start + 1
                return True
        else:
            around = [brace(each.start_pos or 0) for each in state.value_stack[:lists[-1].depth]
                      if isinstance(each, Token) and each.type == "LBRACE"]
            said = syntax_error(self._source, found, lists[-1].start, around)
            self.in_doubt |= said.span.start < lists[-1].start  # that one is not as it seems
            self.errors += [said] * (said not in self.errors)
        if not _FRONT.match(self._text, self._line(lists[-1].start), lists[-1].start):
            self.in_doubt = True  # what stands before may have become part of another one
        end, depth = self._next(found, lists)
        if len(self.errors) == MOST_ERRORS:
            end, depth, self.in_doubt = len(self._text), 0, True
        broken = next(each for each in lists if each.depth >= depth)
        del state.state_stack[broken.depth + 1:], state.value_stack[broken.depth:]
        state.feed_token(Token("BROKEN", self._text[broken.start:end], broken.start, 1, 1, 1, 1,
                               end))
        position.char_pos = end
        return True

    def _lists(self, state: ParserState[int], found: Found) -> list[_List]:
        """The lists of declarations around an error, innermost last."""
        states, values = state.parse_conf.states, state.value_stack
        depths = [k for k, each in enumerate(state.state_stack) if "dec" in states[each]]
        lists: list[_List] = []
        for depth, following in pairwise((*depths, -1)):
            if following == depth + 1:  # declarations before, or 'local'
                continue
            start = _start(values[depth]) if depth < len(values) else found.start
            lists.append(_List(depth, start, Span(self._source, start, start).indentation))
        return lists

    def _follows(self, found: Found, lists: list[_List]) -> bool:
        """True if the error may follow from an earlier one."""
        if not self.errors:
            return False
        if not found.word:  # a module is not closed
            return len(lists) > 1 and self.errors[-1].span.start >= lists[0].start
        if found.word == "in" and not self._let_declares:
            return False
        return found.word in _FOLLOWING and "DEF" in found.expected

    def _next(self, found: Found, lists: list[_List]) -> tuple[int, int]:
        """The place at which to go on, and the depth of the list that goes on there."""
        last, braces = lists[-1], 0
        for mark in _MARK.finditer(self._text, last.start):
            if mark["brace"] == "{":
                braces += 1
            elif mark["brace"]:
                indentation = mark.start() - self._line(mark.start())
                outside = indentation < last.column and not self._text[
                    self._line(mark.start()):mark.start()].strip()
                if mark.start() >= found.start and len(lists) > 1 and (outside or not braces):
                    return mark.start(), last.depth
                braces = max(0, braces - 1)
            elif mark["word"] and mark.start("word") >= found.start:
                indentation = mark.start("start") - mark.start()
                if indentation <= last.column and self._begins(mark["word"], braces):
                    first = "start" if mark.start("start") >= found.start else "word"
                    return mark.start(first), _list_at(indentation, lists).depth
        return len(self._text), 0

    def _line(self, place: int) -> int:
        """The place at which a line begins."""
        return self._text.rfind("\n", 0, place) + 1

    def _begins(self, word: str, braces: int) -> bool:
        """True if a word begins a declaration; ``braces`` are open before it."""
        if word == "let":
            return not braces and self._let_declares
        return not braces or word not in _SPECIFYING or not self._specifies

    @cached_property
    def _let_declares(self) -> bool:
        """True if ``let`` may begin declarations; in files with ``def`` it begins expressions."""
        return not _DEF.search(self._text)

    @cached_property
    def _specifies(self) -> bool:
        """True if lines of module types are not indented."""
        return _VAL.search(self._text) is not None


def _start(value: Token | Tree[Token]) -> int:
    """The place at which a part of a declaration begins."""
    return value.start_pos or 0 if isinstance(value, Token) else value.meta.start_pos


def _list_at(column: int, lists: list[_List]) -> _List:
    """The list of a declaration that is indented so far."""
    inner = len(lists) - 1
    while inner and lists[inner].column > column and lists[inner - 1].column >= column:
        inner -= 1
    return lists[inner]
