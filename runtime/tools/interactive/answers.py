"""Answers to what is typed: values, definitions, and commands that begin with a colon."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from runelift.frontend.scripts import ENTRY
from runelift.frontend.syntax.prelude import signature
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source
from runelift.ir.base.visible import shortened
from runelift.runtime.tools.interactive.session import NAME, Session, is_declaration
from runelift.runtime.tools.interactive.values import show_type, show_value

if TYPE_CHECKING:
    from runelift.runtime.programs.program import Program

STAGES = ("core", "opt", "flat", "tree", "host")
"""The stages that ``:ir`` can show."""
TIMED = 0.5
"""The seconds for which ``:time`` repeats an expression."""
LEAST_RUNS, MOST_RUNS = 3, 1000
LONGEST = 4000
"""The most characters of a value that are shown."""
HELP = """\
EXPRESSION             its value and type, by the interpreter
def NAME ... = ...     a definition (let, type, module, import as well); it is kept
:type EXPRESSION       the type
:ir [STAGE] EXPRESSION the program at a stage: core, opt, flat, tree or host
:kernel EXPRESSION     the OpenCL kernels
:time EXPRESSION       the time of a run on the device, after a first one
:load FILE             the definitions of a file; those there are stay
:defs                  the names that are defined
:help                  this text
:quit                  the end (also Ctrl-D)

An EXPRESSION that is the name of a function means the function, after :ir and :kernel.
Input goes on in the next line as long as it is unfinished; an empty line ends it."""


class Quit(Exception):
    """The user wants to end the session."""


class Answers:
    """The answers of a session, some of which need a device."""

    def __init__(self, session: Session, device: str | None = None) -> None:
        self.session = session
        self._device = device
        self.language = ""
        """The language of the last answer, if it is a program."""

    def answer(self, text: str) -> str:
        """The answer to a line of input; UserError or CompilerLimitation for a wrong line."""
        self.session.warnings, self.language = [], ""
        text = text.strip()
        if not text or all(line.lstrip().startswith("--") for line in text.splitlines()):
            return ""
        if text.startswith(":"):
            word, _, rest = text[1:].partition(" ")
            return self._command(word)(rest.strip())
        if is_declaration(text):
            return self._defined(self.session.define(Source(NAME, text)))
        found = self.session.evaluate(Source(NAME, text))
        value = "a function" if found.parts is None else shortened(
            show_value(found.type, found.parts), LONGEST)
        return f"{value} : {show_type(found.type)}"

    def _command(self, word: str) -> Callable[[str], str]:
        commands = {"type": self._type, "ir": self._ir, "kernel": self._kernel,
                    "time": self._time, "load": self._load, "defs": self._defs,
                    "help": self._help, "quit": self._quit}
        found = next((name for name in commands if name.startswith(word)), "") if word else ""
        if not found:
            near = difflib.get_close_matches(word, commands, n=1)
            raise UserError(f"There is no command ':{word:.40}'.  " + (
                f"Did you mean ':{near[0]}'?" if near else ":help lists the commands."))
        return commands[found]

    def _type(self, text: str) -> str:
        type_ = show_type(self.session.type_of(_expression(text)))
        *modules, name = text.split(".")
        if text not in self.session.names():
            type_ = signature(tuple(modules), name) or type_
        return f"{' '.join(text.split())} : {type_}"

    def _ir(self, text: str) -> str:
        first, _, rest = text.partition(" ")
        stage, text = (first, rest.strip()) if first in STAGES and rest.strip() else ("opt", text)
        program, entry = self._program(_expression(text))
        shown: str = (program.tree.entry(entry).render() if stage == "tree"
                      else program.source(stage, entry))
        self.language = {"tree": "", "host": "python"}.get(stage, "core")
        return shown.replace(ENTRY, NAME).rstrip()

    def _kernel(self, text: str) -> str:
        program, entry = self._program(_expression(text))
        shown = program.source("kernels", entry).replace(ENTRY, NAME).rstrip()
        self.language = "opencl"
        return shown or "There are no kernels: the host does it."

    def _time(self, text: str) -> str:
        program, entry = self._program(_expression(text))
        if program.compiled.signatures[entry].params:
            raise UserError(f"'{text}' needs arguments: write them behind it.")
        begin = time.perf_counter()
        program.run(entry, [])
        first = time.perf_counter() - begin
        taken: list[float] = []
        while len(taken) < MOST_RUNS and (len(taken) < LEAST_RUNS or sum(taken) < TIMED):
            begin = time.perf_counter()
            program.run(entry, [])
            taken.append(time.perf_counter() - begin)
        show_seconds = import_module("runelift.runtime.records.format").show_seconds
        where = program.device_info.name if program.device_info is not None else "the interpreter"
        return (f"{show_seconds(sorted(taken)[len(taken) // 2])} (median of {len(taken)} runs on "
                f"{where}; the first, with building kernels: {show_seconds(first)})")

    def _load(self, text: str) -> str:
        if not text:
            raise UserError("Which file?  :load FILE")
        return self._defined(self.session.load(Path(text.strip('"')).expanduser()))

    def _defs(self, _: str) -> str:
        return " ".join(self.session.names()) or "Nothing is defined yet."

    @staticmethod
    def _help(_: str) -> str:
        return HELP

    @staticmethod
    def _quit(_: str) -> str:
        raise Quit

    @staticmethod
    def _defined(names: list[str]) -> str:
        if not names:
            return "Its names can be used."
        return f"Defined {', '.join(dict.fromkeys(names))}."

    def _program(self, source: Source) -> tuple[Program, str]:
        """The compiled program for an expression, and its entry point."""
        flat, entry = self.session.entry(source)
        compiling = import_module("runelift.runtime.tools.interactive.compiling")
        program: Program = compiling.program(source, flat, self._device)
        return program, entry


def _expression(text: str) -> Source:
    if not text:
        raise UserError("Which expression?  Write it behind the command.")
    return Source(NAME, text)
