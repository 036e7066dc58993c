"""Colours of code on pages: tokens of Pygments in few classes, which the style sheet colours."""

from __future__ import annotations

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, String

from runelift.runtime.tools.pages.markup import Markup, element, joined

CLASSES = ((Comment, "com"), (String.Doc, "com"), (String, "str"), (Number, "num"),
           (Keyword.Type, "typ"), (Keyword, "key"), (Name.Function, "fun"))
"""Kinds of tokens and their classes in ``page.css``, of which the first counts."""


def highlighted(text: str, lexer: Lexer) -> list[Markup]:
    """The lines of a text with its tokens marked; the lexer keeps blank lines.

    >>> from pygments.lexers.c_cpp import CLexer
    >>> highlighted("x = 1;\\n/* a\\nb */", CLexer(stripnl=False))[1:3]
    [Markup('<span class="com">/* a</span>'), Markup('<span class="com">b */</span>')]
    """
    lines: list[list[str]] = [[]]
    for kind, value in lexer.get_tokens(text):
        look = next((name for token, name in CLASSES if kind in token), None)
        first, *rest = value.split("\n")
        lines[-1].append(_marked(first, look))
        lines += [[_marked(part, look)] for part in rest]
    return [joined(line) for line in lines]


def _marked(text: str, look: str | None) -> str:
    return element("span", text, class_=look) if look is not None and text else text
