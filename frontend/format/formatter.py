"""One pass over the tokens of a file: each goes to the end of a line or to the start of one.

A token begins a line if it does so in the source.  Where the line begins is up to the construct
around it (:mod:`~runelift.frontend.format.frames`).  The blank between two tokens of a line is up
to :mod:`~runelift.frontend.format.spacing`.  Both look at tokens and line breaks, which stay as
they are, so text that is formatted already does not change.
"""

from __future__ import annotations

from collections.abc import Callable

from runelift.frontend.format.frames import Frame
from runelift.frontend.format.lines import Lines
from runelift.frontend.format.spacing import ATTRIBUTE, blank_between, is_index
from runelift.frontend.format.words import OPENING, Word

_DECLARATIONS = frozenset({"def", "entry", "type", "module", "open", "import", "local", "val",
                           "include"})
_GOES_ON = frozenset({"local", "module", "open", "=", "->", "(", ":"})
"""Words after which no declaration begins, as they are part of one."""
_INFIX = frozenset({"operator", "qualified_operator", "backtick", "range"})


class Formatter:
    """The state of the formatter: open constructs, the current token, and the lines so far."""

    def __init__(self, given: list[Word]) -> None:
        self._words = given
        self._lines = Lines()
        self._top = Frame("file", 0, "", 0)
        self._top.fresh = False
        self._frames = [self._top]
        self._before = Word("start", "", 0, False, 0)
        self._word = self._before
        self._place = 0
        self._tight = False
        """The token before is a sign, to which its operand sticks."""

    def text(self) -> str:
        """The formatted text."""
        for place, word in enumerate(self._words):
            if word.kind == "comment":
                self._lines.comment(word)
                continue
            self._word, self._place = word, place
            tight = self._tight
            step = _STEPS.get(word.text) if word.kind in _STEPPING else None
            if step is not None:
                step(self)
            elif word.kind in _INFIX:
                self._operator()
            elif word.kind == "field":
                self._field()
            else:
                self._operand()
            if tight:
                self._tight = False
            self._before = word
        return self._lines.text()

    def _put(self, indent: int) -> int:
        """Write the token, at ``indent`` if it begins a line; its column."""
        word, top = self._word, self._top
        top.next = None
        if word.breaks or self._before.kind == "start":
            return self._lines.begin(word, indent)
        return self._lines.go_on(word.text, blank_between(self._before, word, top, self._tight))

    def _ends_line(self) -> bool:
        """True if nothing but a comment follows in the line of the source."""
        following = self._words[self._place + 1:self._place + 2]
        return not following or following[0].breaks > 0 or following[0].kind == "comment"

    def _push(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._top = frame

    def _back_to(self, *wanted: tuple[str, str]) -> Frame | None:
        """Leave what is inside of the innermost construct of a kind in a state; None if no one."""
        for depth in range(len(self._frames) - 1, 0, -1):
            frame = self._frames[depth]
            if (frame.kind, frame.state) in wanted:
                del self._frames[depth + 1:]
                self._top = frame
                return frame
            if frame.kind in OPENING:
                break
        return None

    def _enclosing(self) -> Frame:
        """Leave what is inside of the innermost bracket, or of the file."""
        while self._top.kind not in OPENING and len(self._frames) > 1:
            self._frames.pop()
            self._top = self._frames[-1]
        return self._top

    # Operands and operators

    def _operand(self) -> int:
        """Write the first token of an operand; its column."""
        top = self._top
        column = self._put(top.indent(self._word.column))
        top.operand(self._word, column, self._lines.number)
        return column

    def _field(self) -> None:
        if self._top.fresh:
            self._operand()
        else:
            self._put(self._top.indent(self._word.column))

    def _operator(self) -> None:
        top = self._top
        if top.fresh and self._word.kind != "range":
            top.prefix(self._put(top.indent(self._word.column)))
            self._tight = True
        else:
            self._infix()

    def _infix(self) -> None:
        self._put(self._top.indent_operator(self._word.column))
        self._top.fresh = True

    def _mark(self) -> None:
        self._put(self._top.indent(self._word.column))

    def _exists(self) -> None:
        self._top.prefix(self._put(self._top.indent(self._word.column)))

    def _with(self) -> None:
        top = self._top
        self._put((top.body if top.start is None else top.start) + 2)
        top.fresh = True

    def _equals(self) -> None:
        top = self._top
        if top.state == "head":
            self._put(top.column + 2)
            top.part("value", top.column + (4 if top.kind == "loop" else 2))
        elif top.kind in OPENING:
            self._put(top.inner + 2)
            top.part("field", top.inner + 2)
        else:
            self._infix()
            top.next = (top.body if top.start is None else top.start) + 2

    def _arrow(self) -> None:
        top = self._top
        if top.state != "pattern":
            self._infix()
            return
        self._put(top.column + 2)
        body = top.column + 2
        if top.kind == "lambda" and self._ends_line():
            below = self._below()
            first = next((w for w in self._words[self._place + 1:] if w.kind != "comment"), None)
            if below < top.column and first is not None and first.column < top.source_column:
                body = below  # as the author has it
        top.part("body", body)

    def _below(self) -> int:
        """The column for what a lambda in brackets holds: below the operand that it belongs to."""
        outer = next(f for f in reversed(self._frames[:-1]) if f.kind not in OPENING)
        if outer.head is None or outer.head_line != self._lines.number:
            return self._top.column
        return outer.head + 2

    # Brackets

    def _open(self) -> None:
        word, top = self._word, self._top
        text = word.text
        index = text == "[" and is_index(self._before, word)
        column = self._put(top.indent(self._word.column))
        if top.fresh or not (index or text in (".(", ".[")):
            top.operand(word, column, self._lines.number)
        self._push_bracket(text, column)
        self._top.indexes = index or text == ".[" or self._before.text == "with"

    def _push_bracket(self, text: str, column: int) -> None:
        hanging, line = self._ends_line(), self._lines.indent
        frame = Frame(text, column, "", line + 2 if hanging else column + len(text))
        if self._word.leading and not hanging:
            frame.inner = frame.body = column + len(text) + 1
        elif text == "{":
            following = self._words[self._place + 1]
            if following.text in _DECLARATIONS or following.text in ("let", "#["):
                frame.spaced = True
                frame.inner += not hanging
                frame.body = frame.inner
        if hanging:
            frame.close = line
        self._push(frame)

    def _attribute(self) -> None:
        top = self._top
        if top.fresh:
            column = self._put(top.indent(self._word.column))
            top.prefix(column)
        else:
            column = self._put(self._enclosing().inner)
        self._push_bracket("#[", column)

    def _close(self) -> None:
        frame = self._enclosing()
        self._put(frame.close)
        if frame.kind == "#[":
            self._word.kind = ATTRIBUTE
        if len(self._frames) > 1:
            self._frames.pop()
            self._top = self._frames[-1]

    def _comma(self) -> None:
        frame = self._enclosing()
        self._put(frame.column)
        frame.part("", frame.inner)

    # Declarations

    def _declaration(self) -> None:
        if self._top.kind == "#[" or self._before.text in _GOES_ON:
            self._operand()
        else:
            self._declare()

    def _declare(self) -> None:
        frame = self._enclosing()
        self._put(frame.inner)
        self._push(Frame("declaration", frame.inner, "head", frame.inner + 4))

    # Expressions with words

    def _let(self) -> None:
        top = self._top
        if not top.fresh and (outer := self._back_to(("let", "value"))) is not None:
            self._put(outer.column)
            outer.part("head", outer.column + 4)
            return
        if not top.fresh or (top.kind == "{" and top.state == ""):
            self._declare()
            return
        goes_on = top.kind == "let" and self._before.text == "in" and not self._word.breaks
        column = self._operand()
        column = top.column if goes_on else column
        self._push(Frame("let", column, "head", column + 4))

    def _in(self) -> None:
        frame = self._back_to(("let", "value"), ("loop", "for"))
        if frame is None:
            self._operand()
        elif frame.kind == "let":
            self._put(frame.column)
            frame.part("body", frame.column + 2)
        else:
            self._put(frame.column + 2)
            frame.part("over", frame.column + 4)

    def _if(self) -> None:
        top = self._top
        goes_on = self._before.text == "else" and not self._word.breaks
        column = self._operand()
        column = top.column if goes_on else column
        self._push(Frame("if", column, "condition", column + 3))

    def _then(self) -> None:
        self._next_part(("if", "condition"), state="then")

    def _else(self) -> None:
        self._next_part(("if", "then"), state="else")

    def _loop(self) -> None:
        column = self._operand()
        self._push(Frame("loop", column, "head", column + 4))

    def _for(self) -> None:
        self._next_part(("loop", "head"), ("loop", "value"), state=self._word.text, body=4)

    def _do(self) -> None:
        self._next_part(("loop", "for"), ("loop", "over"), ("loop", "while"), state="body")

    def _match(self) -> None:
        column = self._operand()
        self._push(Frame("match", column, "value", column + 2))

    def _case(self) -> None:
        self._next_part(("match", "value"), ("match", "body"), state="pattern", body=4)

    def _lambda(self) -> None:
        column = self._operand()
        frame = Frame("lambda", column, "pattern", column + 2)
        frame.source_column = self._word.column
        self._push(frame)

    def _next_part(self, *wanted: tuple[str, str], state: str, at: int = 0, body: int = 2) -> None:
        """Put a word that begins another part of a construct; on a line, ``at`` columns further."""
        frame = self._back_to(*wanted)
        if frame is None:
            self._operand()
            return
        self._put(frame.column + at)
        frame.part(state, frame.column + at + body)


_STEPPING = frozenset({"word", "lifted_type", "operator", "punctuation", ATTRIBUTE})
_STEPS: dict[str, Callable[[Formatter], object]] = {
    **dict.fromkeys((*_DECLARATIONS, "type^", "type~"), Formatter._declaration),
    "let": Formatter._let, "in": Formatter._in, "if": Formatter._if, "then": Formatter._then,
    "else": Formatter._else, "loop": Formatter._loop, "for": Formatter._for,
    "while": Formatter._for, "do": Formatter._do, "match": Formatter._match,
    "case": Formatter._case, "with": Formatter._with, "\\": Formatter._lambda,
    "=": Formatter._equals, "->": Formatter._arrow,
    ":": Formatter._infix, ":>": Formatter._infix, "::": Formatter._infix,
    ".": Formatter._mark, "?": Formatter._exists,
    **dict.fromkeys(("(", "[", "{", ".(", ".["), Formatter._open), "#[": Formatter._attribute,
    **dict.fromkeys((")", "]", "}"), Formatter._close), ",": Formatter._comma}
"""Steps for words and marks; all other tokens are operands or operators."""
