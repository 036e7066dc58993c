"""Lines of formatted text, with comments between and behind them."""

from __future__ import annotations

from runelift.frontend.format.words import Word


class Lines:
    """Lines that grow at the end.  Comments wait until the next line has its indentation."""

    def __init__(self) -> None:
        self._done: list[tuple[str, str]] = []
        """Code and comment of each finished line."""
        self._parts: list[str] = []
        self._trailing = ""
        self._waiting: list[Word] = []
        self._column = 0
        self.indent = 0
        """The column at which the current line begins."""
        self.number = 0
        """The number of the current line, counted among lines with code."""

    def comment(self, word: Word) -> None:
        """Add a comment: behind the current line, or before the next one."""
        if self._parts and not word.breaks:
            self._trailing = word.text
        else:
            self._waiting.append(word)

    def begin(self, word: Word, indent: int) -> int:
        """Begin a line with a token; the column of the token."""
        self._end()
        self._write_waiting(indent)
        if word.breaks > 1 and self._done:
            self._done.append(("", ""))
        self.indent = self._column = indent
        self.number += 1
        self._parts.append(" " * indent)
        return self.go_on(word.text, False)

    def go_on(self, text: str, blank: bool) -> int:
        """Add a token to the line; its column."""
        column = self._column + blank
        self._parts.append(" " + text if blank else text)
        if "\n" in text:
            self._column = len(text) - text.rindex("\n") - 1
        else:
            self._column = column + len(text)
        return column

    def text(self) -> str:
        """All lines; the last one ends as well, unless there is none."""
        self._end()
        self._write_waiting(0)
        _align(self._done)
        return "".join(code + comment + "\n" for code, comment in self._done)

    def _end(self) -> None:
        if self._parts:
            self._done.append(("".join(self._parts), self._trailing))
        self._parts, self._trailing = [], ""

    def _write_waiting(self, indent: int) -> None:
        for word in self._waiting:
            if word.breaks > 1 and self._done:
                self._done.append(("", ""))
            self._done.append((" " * indent + word.text, ""))
        self._waiting = []


def _align(lines: list[tuple[str, str]]) -> None:
    """Let comments behind lines that follow each other stand in one column."""
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end][1]:
            end += 1
        if end > start:
            widths = [len(code.rpartition("\n")[2]) for code, _ in lines[start:end]]
            column = max(widths) + 2
            for place, width in enumerate(widths, start):
                code, comment = lines[place]
                lines[place] = code, " " * (column - width) + comment
        start = max(end, start + 1)
