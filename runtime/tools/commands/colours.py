"""Colours for text that is laid out already, by rich: errors, tables, trees and programs."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.highlighter import RegexHighlighter
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from runelift.ir.base.visible import visible
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer

OWN = "runelift"
"""The language of programs, and that of the IR, which is like it."""

STYLES = Theme({
    "said.bad": "bold red", "said.warning": "bold yellow", "said.place": "bold",
    "said.caret": "bold red", "said.line": "dim", "said.note": "cyan", "said.head": "bold",
    "said.tree": "dim", "said.version": "bold cyan", "said.good": "green", "said.unsure": "yellow",
    "said.same": "dim", "said.option": "cyan"}, inherit=False)
_HEADS = ("dataset|version|name|device|operation|strategy|left out|not tuned for|parameter|"
          "program|kernel|entry")
"""The first columns of tables."""


class _Highlighter(RegexHighlighter):
    """The parts of messages, tables and trees that have a colour."""

    base_style = "said."
    highlights = [  # noqa: RUF012 - the interface of the base class
        r"(?m)^(?:runelift: )?(?P<place>\S+:\d+:\d+): (?:(?P<bad>error\[[a-z-]+\])"
        r"|(?P<warning>warning\[[a-z-]+\])|(?P<note>note)):",
        r"(?m)^(?P<line> *\d* \| )",
        r"(?m)^ *\| *(?P<caret>\^+)",
        r"(?m)^ *(?P<note>hint:|done for this run:)",
        r"(?m)^(?P<bad>runelift:) ",
        r"(?m)^runelift: (?P<warning>warning:)",
        rf"(?m)^ *(?P<head>(?:{_HEADS})  .*)$",
        r"(?m)^(?P<head>(?:== .*|[A-Z]\w+: +(?=\S)))",
        r"(?P<tree>[│├└─]+(?: (?:true|false):)?)",
        r"\b(?P<version>V\d+)\b",
        r"(?<![\d.])(?P<good>(?:[2-9]|\d{2,}|1\.[1-9]|1\.0[5-9])[\d.]*×)",
        r"(?<![\d.])(?P<bad>0\.[0-8]\d*×)",
        r"(?P<same>(?<![\d.])1\.0[0-4]×|\bno change\b)",
        r"(?<=  )(?P<good>certain)\b",
        r"(?P<unsure>\bnot certain|not measured)\b",
        r"(?P<good>\b[1-9]\d* passed\b)",
        r"(?P<bad>\b[1-9]\d* failed\b|\bFAILED\b|\bnot usable\b)",
        r"(?P<good>: usable)\b",
        r"(?P<option>'runelift [^']*')",
    ]


def write(text: str, stream: TextIO) -> None:
    """Write a text with colours, and a newline."""
    styled = Text(visible(text))
    _Highlighter().highlight(styled)
    _console(stream).print(styled, soft_wrap=True)


def write_code(text: str, language: str, stream: TextIO) -> None:
    """Write a program with colours."""
    lexer = RuneliftLexer() if language == OWN else language
    code = Syntax(visible(text), lexer, theme="ansi_dark", background_color="default",
                  word_wrap=False)
    styled = code.highlight(code.code)
    styled.rstrip()
    _console(stream).print(styled, soft_wrap=True)


def _console(stream: TextIO) -> Console:
    """A console of sixteen colours, which are the terminal's, that writes escapes unchanged."""
    return Console(file=getattr(stream, "raw_text", stream), force_terminal=True,
                   color_system="standard", highlight=False, theme=STYLES, legacy_windows=False)
