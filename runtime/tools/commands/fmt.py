"""Format programs: spaces, indentation, blank lines and the places of comments.

Lines are broken where they are in the file, and where they are longer than 100 columns.  Tokens
and comments stay as they are.  Files are written anew if they change, and each of them is named.
Without files, or for '-', the program comes from standard input, and the result goes to standard
output.
"""

from __future__ import annotations

import argparse
import difflib
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from runelift.frontend.format import format_source
from runelift.ir.base.errors import ProgramError, ProgramWarning, UserError
from runelift.ir.base.files import MOST_SOURCE, read_source, read_stream
from runelift.ir.base.source import Source
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.tools.commands.options import add_options, print_json, programs_in

EXAMPLES = ("runelift fmt prog.fut", "runelift fmt --diff examples/")
STDIN = Path("-")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift fmt``."""
    parser.add_argument("programs", type=Path, nargs="*", metavar="FILE",
                        help="programs (.fut), or folders with programs (default: standard input)")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; name the files that would change, with exit status 1 "
                             "if there is one")
    parser.add_argument("--diff", action="store_true",
                        help="write nothing; print what would change")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift fmt``."""
    changed: list[dict[str, str]] = []
    wrong: list[ProgramError] = []
    for source in _sources(args.programs or [STDIN]):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ProgramWarning)
                text = format_source(source)
        except ProgramError as error:
            wrong.append(error)
            continue
        writes = not (args.check or args.diff)
        is_file = source.name != "<stdin>"
        if not is_file and writes and not args.json:
            sys.stdout.write(text)
        if text == source.text:
            continue
        diff = _diff(source, text) if args.diff or args.json else ""
        changed.append({"file": source.name, "diff": diff})
        if writes and is_file:
            _write(Path(source.name), text)
        if not args.json and (is_file or not writes):
            _tell(changed[-1], args)
    if wrong:
        raise ProgramError(*(each for error in wrong for each in error.diagnostics))
    if args.json:
        print_json({"changed": changed})
    return 1 if changed and args.check else 0


def _tell(change: dict[str, str], args: argparse.Namespace) -> None:
    if args.diff:
        sys.stdout.write(change["diff"])
    else:
        print(f"{change['file']} {'would change' if args.check else 'is formatted'}.")


def _diff(source: Source, text: str) -> str:
    old, new = (each.splitlines(keepends=True) for each in (source.text, text))
    return "".join(difflib.unified_diff(old, new, source.name, source.name))


def _sources(paths: Sequence[Path]) -> Iterator[Source]:
    for path in dict.fromkeys(paths):
        if path == STDIN:
            yield _stdin()
        else:
            yield from map(read_source, programs_in([path]))


def _stdin() -> Source:
    try:
        text = read_stream(sys.stdin.buffer, "<stdin>", MOST_SOURCE).decode()
    except UnicodeDecodeError:
        raise UserError("Standard input is not text in UTF-8.") from None
    return Source("<stdin>", text.replace("\r\n", "\n"))


def _write(path: Path, text: str) -> None:
    """Replace a file at once, so that an interruption leaves one of the two texts."""
    target = path.resolve()
    write_atomically(target, text, target.stat().st_mode & 0o7777)
