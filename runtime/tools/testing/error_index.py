"""The explanations of error codes by ``runelift explain CODE``.

The message shown for the example of a code is made by running the example.
"""

from __future__ import annotations

import tempfile
import textwrap
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from runelift.frontend.load import load
from runelift.frontend.manifest import read_manifest
from runelift.frontend.promises import broken_promises, warn
from runelift.ir import parse as ir_text
from runelift.ir.base.codes import CODES, GROUPS
from runelift.ir.base.codes.explanation import Explanation, files
from runelift.ir.base.errors import CompilerLimitation, ProgramWarning, UserError
from runelift.ir.base.files import read_source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.points import is_point
from runelift.ir.traverse import statements_inside
from runelift.runtime.compilation.diagnostics import as_text
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.data.values import load_values
from runelift.runtime.devices.profiles import profile
from runelift.runtime.programs.compile import compile as compile_program
from runelift.runtime.research.t4 import read_t4
from runelift.runtime.rules.load import load_rules
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import parse_blocks
from runelift.runtime.tuner.costs.log import read_log
from runelift.runtime.versions.tuning_file import read_tuning, schedule_of

PAGE_WIDTH = 96
MOST_EXAMPLE_LINES = 16
"""The most lines of an example that are shown.  The middle of a longer example is left out."""

def message(explanation: Explanation, text: str) -> str:
    """The messages about an example of a code; empty if there are none."""
    main = f"program{explanation.suffix}"
    with (tempfile.TemporaryDirectory() as folder,
          warnings.catch_warnings(record=True, action="always") as caught):
        for name, content in files(text, main).items():
            (Path(folder) / name).write_text(content)
        error = ""
        try:
            _READERS[explanation.suffix](Path(folder) / main)
        except (UserError, CompilerLimitation) as failure:
            error = as_text(failure)
        warned = [str(w.message) for w in caught if isinstance(w.message, ProgramWarning)]
        places = {f"{Path(folder).resolve()}/": "", f"{folder}/": ""}
    messages = "\n".join(filter(None, [error, *warned]))
    for place, shown in places.items():
        messages = messages.replace(place, shown)
    return messages


def _run(path: Path) -> None:
    """Compile a program, and run it on the inputs of its test blocks."""
    source = read_source(path)
    program = load(source, Names())
    warn(broken_promises(program, source))
    if any(is_point(each) for fun in program.funs for stm in statements_inside([fun.body])
           for each in stm.attrs):
        _ = compile_source(source).optimised
    scripts = partial(evaluate, program=source, device=None)
    for block in parse_blocks(source):
        for case in block.cases:
            for entry in case.entries:
                interpret(program, entry, case.arguments(scripts))


def _tune(path: Path) -> None:
    """Read a tuning file, and compile the program beside it with its values."""
    values, program = read_tuning(path), path.with_suffix(".fut")
    if program.exists():
        compile_program(program, tuning={}, settings=values, runs=False)


def _rewrite(path: Path) -> None:
    """Read a file of rules, and compile the program beside it with them."""
    load_rules(read_source(path))
    program = path.with_suffix(".fut")
    if program.exists():
        compile_program(program, tuning={}, runs=False, rules=path)


def _schedule(path: Path) -> None:
    compiled = compile_source(read_source(path.with_suffix(".fut")), schedule=schedule_of(path))
    _ = compiled.optimised


_READERS: dict[str, Callable[[Path], object]] = {
    ".fut": _run,
    ".in": load_values,
    ".rules": _rewrite,
    ".tuning": _tune,
    ".schedule": _schedule,
    ".log": read_log,
    ".pkg": read_manifest,
    ".t4": read_t4,
    ".json": lambda path: profile(str(path)),
    ".core": lambda path: ir_text.parse(path.read_text(), str(path)),
}
"""The reader of files by their suffix."""


def page(code: str) -> str:
    """The explanation of a code for a terminal."""
    found = CODES[code]

    def shown(text: str) -> str:
        return textwrap.indent(abridged(text), "    ")

    return "\n".join([
        f"{found.code}: {found.title}", "", textwrap.fill(found.meaning, PAGE_WIDTH), "",
        "For example,", "", shown(found.wrong), "is answered by", "",
        shown(message(found, found.wrong)), "Without the mistake:", "", shown(found.cure)])


def index() -> str:
    """All error codes with their titles, as text."""
    width = max(map(len, CODES))
    return "\n\n".join("\n".join([f"{group}:", *(f"  {each.code:<{width}}  {each.title}"
                                                 for each in codes)])
                       for group, codes in GROUPS.items())


def abridged(text: str) -> str:
    """An example without the middle of it, if it is long."""
    lines = text.splitlines()
    if len(lines) > MOST_EXAMPLE_LINES:
        lines = [*lines[:4], "  ...", *lines[-4:]]
    return "\n".join(lines) + "\n"
