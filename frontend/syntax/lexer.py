"""The lexer under the parser: one expression for all tokens, where Lark's has one for each context.

The parser knows which terminals may stand at a place.  Lark's contextual lexer makes an expression
of just these, for each such set.  To compile them all takes longer than to read most programs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cached_property, partial
from itertools import islice
from typing import Any

from lark.common import LexerConf
from lark.lexer import BasicLexer, ContextualLexer, LexerState, Token

_BLANKS: Any = re.compile(r"\s*").match
"""Blanks are no tokens, and no token begins with one."""


class SharedLexer(ContextualLexer):
    """Finds the tokens that Lark's contextual lexer finds, with places but without lines.

    Both lexers try the terminals in one order.  This lexer takes the first terminal that matches,
    if it may stand here.  Lark's lexer tries only terminals that may stand here, so it would take
    this terminal, too.  In all other cases Lark's lexer decides.
    """

    def __init__(self, conf: LexerConf, states: dict[int, Collection[str]],
                 always_accept: Collection[str] = ()) -> None:
        self._make = partial(ContextualLexer, conf, states, always_accept)
        self._shared = self.root_lexer = BasicLexer(conf)

    @cached_property
    def _contextual(self) -> ContextualLexer:
        """Lark's lexer, which few texts need."""
        return self._make()

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        """The tokens of a text.  The parser has taken each before the next one is looked for."""
        at, text = lexer_state.line_ctr, lexer_state.text
        match, ignored = self._shared.scanner.match, self._shared.ignore_types
        states, stack = parser_state.parse_conf.states, parser_state.state_stack
        while at.char_pos < text.end:
            start = at.char_pos = _BLANKS(text.text, at.char_pos, text.end).end()
            if start == text.end:
                return
            value, kind = match(text, start) or ("", "")
            if kind in ignored:
                at.char_pos += len(value)
            elif kind in states[stack[-1]]:
                end = at.char_pos = start + len(value)
                token = Token(kind, value, start, 1, 1, 1, 1, end)
                lexer_state.last_token = token
                yield token
            else:
                for token in islice(self._contextual.lex(lexer_state, parser_state), 1):
                    if kind == "NAME" and len(token) < len(value):  # `openM` is no `open M`
                        token = Token(kind, value, start, 1, 1, 1, 1, start + len(value))
                    yield token
