"""Run the command of a result again, and say what differs.

RESULT is the .json file beside a tuning file, or what a command with --json printed, in a file.
Both hold their command, the versions of packages, and the device.  The command runs in the present
folder.  A tuning writes to another folder; the files of the result stay as they are.

A result may come from another person.  So options that import code, write files or open
connections are asked about first.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import read_text, require_file
from runelift.ir.base.json_shape import MisshapenJson, parse
from runelift.runtime.host.children import finished_command
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.reports.environment import versions
from runelift.runtime.tools.reports.two_tunings import (
    TimesOfTwo,
    TwoTunings,
    are_seconds,
    facts_of_two,
    render_two,
    two_tunings,
)
from runelift.runtime.versions.tuning_file import facts_path

EXAMPLES = ("runelift rerun matmul.fut.tuning.json",
            "runelift rerun times.json --json  # of 'runelift bench FILE --json > times.json'")
COMMANDS = frozenset({"autotune", "bench", "check", "test", "tune-compare"})
"""The commands whose results can be repeated."""
ELSEWHERE = ("-o", "--output", "--html", "--export-t4")
"""Options with names of files that would be overwritten; they are left out."""
ALLOWED = frozenset({
    "-e", "--entry", "-r", "--runs", "-i", "--input", "--only", "-v", "--verbose", "-j", "--jobs",
    "--all-devices", "--all-versions", "--budget", "--check-races", "--device", "--disable",
    "--effort", "--error-text", "--force", "--fp-contract", "--guards", "--ignore-attributes",
    "--import-t4", "--interpreter", "--json", "--leave-one-out", "--memory", "--no-parameters",
    "--no-verify", "--noise", "--objective", "--parameters", "--policy", "--replay", "--resume",
    "--rules", "--sanitize", "--sarif", "--schedule", "--schedules", "--seed", "--seeds",
    "--strategy", "--time-limit", "--tuning", "--validate", "--version-limit"})
"""Options of commands that only read, and import nothing."""
ATTACHED = re.compile(r"(-[erij])[^-].*|-\d[\d.]*")
"""An option of one letter with its value behind it, or a negative number."""
MOST = 40
"""Values that differ and are shown at most."""
NAMES = ("recorded", "now")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift rerun``."""
    parser.add_argument("result", type=Path, metavar="RESULT",
                        help="the result of a command, a JSON file")
    parser.add_argument("-y", "--yes", action="store_true",
                        help="run the command even if its options import code, write files or "
                             "open connections: you trust who made the result")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift rerun``."""
    path = require_file(args.result)
    recorded = _read(path)
    command = command_of(recorded, path)
    if not args.yes:
        _ask(path, command)
    print(f"runelift: running: runelift {shlex.join(command)}", file=sys.stderr)
    found = _repeated_tuning(path, command) if command[0] == "autotune" else _repeated(
        recorded, command)
    about = _versions(recorded)
    found = replace(found, facts=[*found.facts, *about])
    if args.json:
        print_json(facts_of_two(found))
    else:
        show(render_two(found))
    return 0


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = parse(read_text(path))
    except (MisshapenJson, UnicodeDecodeError) as error:
        raise UserError(f"{path}: this is no result: {error}.") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: this is no result: it should be a JSON object.")
    return found


def command_of(recorded: Mapping[str, Any], path: Path) -> list[str]:
    """The command that made a result; UserError if there is none that may be repeated."""
    command = recorded.get("command")
    if not isinstance(command, list) or not command or not all(
            isinstance(each, str) for each in command):
        raise UserError(f"{path}: this result does not say by which command it was made.")
    if command[0] not in COMMANDS:
        raise UserError(f"{path}: the command '{command[0]}' is not repeated; only "
                        f"{', '.join(sorted(COMMANDS))} are.")
    return command


def _ask(path: Path, command: Sequence[str]) -> None:
    """Ask the user about options that are not known to be harmless; UserError if not allowed."""
    if not (asked := list(doubtful(without_files(command)))):
        return
    what = (f"{path}: the command is 'runelift {shlex.join(command)}'.  It has "
            f"{', '.join(map(repr, asked))}, which may import code, write files or open "
            "connections.")
    if sys.stdin is not None and sys.stdin.isatty():
        print(f"{what}  Run it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UserError(f"{what}  Give --yes if you trust who made this result.")


def doubtful(command: Sequence[str]) -> Iterator[str]:
    """The parts of a command that are not known to be harmless.

    >>> list(doubtful(["autotune", "a.fut", "--seed", "-1", "--htm", "x", "--strategy", "a.B"]))
    ['--htm', '--strategy a.B']
    """
    for number, each in enumerate(command):
        name, has_value, value = each.partition("=")
        if name == "--strategy":
            chosen = value if has_value else next(iter(command[number + 1:]), "")
            if "." in chosen.partition(":")[0]:  # such a name is imported
                yield f"{name} {chosen}"
        elif each.startswith("-") and name not in ALLOWED and not ATTACHED.fullmatch(each):
            yield each


def _versions(recorded: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    given = recorded.get("versions")
    before = {str(name).lower(): str(value) for name, value in given.items()} if isinstance(
        given, Mapping) else {}
    for name, now in versions().items():
        if before.get(name.lower(), now) != now:
            yield name, before[name.lower()], now


def _run(command: Sequence[str]) -> str:
    """The output of a command; UserError if it fails otherwise than by its findings."""
    done = finished_command(*command, shows_errors=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise UserError(f"The command failed now, with exit status {done.returncode}.")
    return done.stdout


# Tunings


def _repeated_tuning(path: Path, command: Sequence[str]) -> TwoTunings:
    before = path.with_name(path.name.removesuffix(".json"))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "now.tuning"
        _run([*without_files(command), "--output", str(output)])
        if not before.exists() or facts_path(before) != path or not output.exists():
            raise UserError(f"{path}: there is no tuning file beside this result, or nothing could "
                            "be tuned now.")
        return replace(two_tunings(before, output), names=NAMES)


def without_files(command: Sequence[str]) -> list[str]:
    """A command without options that name files to write.

    >>> without_files(["autotune", "a.fut", "-o", "b", "--html=c", "--seed", "1"])
    ['autotune', 'a.fut', '--seed', '1']
    """
    kept, skip = list[str](), False
    for each in command:
        if skip:
            skip = False
        elif each in ELSEWHERE:
            skip = True
        elif not each.startswith(tuple(f"{option}=" for option in ELSEWHERE)):
            kept.append(each)
    return kept


# Other results


def _repeated(recorded: Mapping[str, Any], command: Sequence[str]) -> TwoTunings:
    output = _run(without_files(command))
    try:
        now = parse(output)
    except MisshapenJson:
        raise UserError("The command did not print JSON; use --json.") from None
    if command[0] != "check" and isinstance(now, dict) and now.get("errors"):
        raise UserError(f"The command failed now: {now['errors'][0].get('message')}")
    before, after = (each.get("result", each) if isinstance(each, Mapping) else each
                     for each in (recorded, now))
    times = list(_times(before, after))
    values = [(name, _shown(one), _shown(other)) for name, one, other in _differing(before, after)
              if not times or not name.startswith("results.")]
    more = [("…", f"{len(values) - MOST} more", "")] if len(values) > MOST else []
    return TwoTunings(NAMES, [], [*values[:MOST], *more], times, "runs of the program")


def _times(before: Any, after: Any) -> Iterator[TimesOfTwo]:
    """The times of each dataset of ``bench``, if these are results of it."""
    def by_dataset(result: Any) -> dict[str, list[float]]:
        rows = result.get("results", []) if isinstance(result, Mapping) else []
        return {f"{row['entry']}: {row['dataset']}": row["wall"]
                for row in (rows if isinstance(rows, list) else ())
                if isinstance(row, Mapping) and {"entry", "dataset"} <= row.keys()
                and are_seconds(row.get("wall"))}

    one, other = by_dataset(before), by_dataset(after)
    for name in one:
        if name in other:
            yield TimesOfTwo(name.removeprefix("main: "), (one[name], other[name]))


def _differing(one: Any, other: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The leaves of two results that differ, by their paths; measured numbers are left out."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            yield from _differing(one.get(key), other.get(key), f"{name}.{key}" if name else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differing(left, right, f"{name}.{number}")
    elif one != other and not (isinstance(one, float) and isinstance(other, float)
                               and math.isfinite(one + other)):
        yield name, one, other


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)[:60]
