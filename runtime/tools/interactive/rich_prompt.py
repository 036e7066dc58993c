"""The prompt with prompt_toolkit: several lines, completion, history, and highlighting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import platformdirs
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from runelift.frontend.syntax.prelude import FUNCTIONS, members
from runelift.frontend.syntax.tokens import PRIMITIVE_TYPES, RESERVED
from runelift.runtime.tools.interactive.session import Session, is_unfinished
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer

COMMANDS = (":type", ":ir", ":kernel", ":time", ":load", ":defs", ":help", ":quit")


class Names(Completer):
    """Commands, files behind ``:load``, members of the numeric types, and names."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent
                        ) -> Iterable[Completion]:
        """The names that the text before the cursor may become."""
        text = document.text_before_cursor
        if text.startswith(":load "):
            rest = Document(text.removeprefix(":load ").lstrip())
            yield from self._paths.get_completions(rest, complete_event)
            return
        if text.startswith(":") and " " not in text:
            known: Iterable[str] = COMMANDS
            word = text
        else:
            word = _last_word(text)
            module, dot, _ = word.rpartition(".")
            if dot:
                known = ([f"{module}.{name}" for name in members(module)]
                         if module in PRIMITIVE_TYPES else ())
            else:
                known = {*self._session.names(), *RESERVED, *PRIMITIVE_TYPES,
                         *(name for name in FUNCTIONS if name.isidentifier())}
        yield from (Completion(name, start_position=-len(word))
                    for name in sorted(known) if name.startswith(word) and word)


def _last_word(text: str) -> str:
    start = len(text)
    while start and (text[start - 1].isalnum() or text[start - 1] in "_'."):
        start -= 1
    return text[start:]


def inputs(session: Session) -> Iterator[str]:
    """The inputs until Ctrl-D."""
    prompt: PromptSession[str] = PromptSession(
        "> ", completer=Names(session), lexer=PygmentsLexer(RuneliftLexer), history=_history(),
        multiline=True, key_bindings=_keys(), prompt_continuation=". ",
        complete_while_typing=Condition(lambda: False))
    while True:
        try:
            yield prompt.prompt()
        except EOFError:
            return
        except KeyboardInterrupt:
            continue


def _keys() -> KeyBindings:
    """Enter ends the input, unless it is unfinished and its last line is not empty."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = buffer.text
        at_end = buffer.document.is_cursor_at_the_end
        if (not text.startswith(":") and at_end and is_unfinished(text)
                and text.rpartition("\n")[2].strip()):
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    return keys


def _history() -> History:
    """The inputs of earlier sessions, if they can be kept."""
    folder = Path(platformdirs.user_state_dir("runelift"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "repl-history"
        file.touch(mode=0o600)
        return FileHistory(str(file))
    except OSError:
        return InMemoryHistory()
