"""Constructs that are open at a place of the text, and where their further lines begin."""

from __future__ import annotations

from runelift.frontend.format.words import Word

HEADER = 40
"""Parameters on further lines stand below the first one if it is no further right than this."""


class Frame:
    """An open construct: a declaration, a bracket, ``let``, ``if``, ``loop``, ``match``, a lambda.

    ``column`` is where it begins, ``state`` the part of it that has been reached.  That part is a
    chain of operands and operators.  ``body`` is where it begins on a new line, ``start`` where its
    first operand stands, ``head`` the last operand, ``argument`` the first argument of that.
    ``fresh``: an operand comes next.
    """

    __slots__ = ("argument", "argument_source", "body", "close", "column", "fresh", "head",
                 "head_line", "indexes", "inner", "kind", "next", "source_column", "spaced",
                 "start", "state")

    def __init__(self, kind: str, column: int, state: str, body: int) -> None:
        self.kind = kind
        self.column = column
        self.close = column
        """For a bracket: the column of the closing one at the start of a line."""
        self.inner = body
        """For a bracket: the column of what it holds."""
        self.spaced = False
        """For a brace: blanks stand inside of it."""
        self.indexes = False
        """For a bracket: it holds indices."""
        self.source_column = 0
        """For a lambda: the column in the source."""
        self.next: int | None = None
        """The column of the next token, if it begins a line."""
        self.part(state, body)

    def part(self, state: str, body: int) -> None:
        """Come to a part of the construct that begins at ``body`` if it begins a line."""
        self.state = state
        self.body = body
        self.start: int | None = None
        self.head: int | None = None
        self.head_line = 0
        self.argument: int | None = None
        self.argument_source = 0
        self.fresh = True

    def operand(self, word: Word, column: int, line: int) -> None:
        """Note an operand or argument at a place of the result."""
        fresh, self.fresh = self.fresh, False
        if self.state == "head" and self.head is not None:
            if word.text != "(":
                return
        elif fresh:
            if self.start is None:
                self.start = column
            self.head, self.head_line, self.argument = column, line, None
            return
        if self.argument is None:
            self.argument, self.argument_source = column, word.column

    def prefix(self, column: int) -> None:
        """Note a sign or attribute before an operand."""
        if self.start is None:
            self.start = column

    def indent(self, source: int) -> int:
        """The column of an operand or argument that begins a line, and has a column in the source.

        Arguments stand below the first one, or further left if the author has them there.
        """
        if self.next is not None:
            return self.next
        if self.state == "head":
            return self._below(source, self.column + 4, HEADER)
        if self.fresh:
            return self.body if self.start is None else self.start
        return self._below(source, self.body if self.head is None else self.head + 2)

    def _below(self, source: int, other: int, most: int | None = None) -> int:
        """The column of the first argument, or the column ``other`` further left.

        Where that is in the source, compared with the first argument, it is in the result as well.
        """
        below = self.argument
        if below is None or (most is not None and below - self.column > most):
            return other
        return other if source < self.argument_source and other < below else below

    def indent_operator(self, source: int) -> int:
        """The column of an operator that begins a line: that of the chain.

        The type of a result is below the parameters.
        """
        if self.state == "head":
            return max(self.indent(source + 2) - 2, self.column + 4)
        return self.indent(source) if self.start is None else self.start
