"""``runelift test``: run the test blocks of programs."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runelift.frontend.load import read_source
from runelift.ir.errors import CompilerLimitation, RuneliftError, UserError
from runelift.ir.interpret import interpret
from runelift.runtime.commands.options import add_json, print_json
from runelift.runtime.program import Program, compile
from runelift.runtime.testblocks import Case, parse_blocks
from runelift.runtime.values import mismatch


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="programs or folders")
    parser.add_argument("--all-versions", action="store_true",
                        help="force every code version in turn")
    parser.add_argument("--interpreter", action="store_true", help="run the interpreter only")
    parser.add_argument("--device", help="the device, as for 'run'")
    parser.add_argument("--policy", default="all", choices=["all", "classic", "moderate"])
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case in one version: ``verdict`` is passed, failed or skipped."""

    file: str
    case: str
    version: str
    verdict: str
    reason: str = ""


def run(options: argparse.Namespace) -> int:
    """Run the tests; 1 if one fails."""
    outcomes: list[Outcome] = []
    for path in _programs(options.files):
        for outcome in _file(path, options):
            outcomes.append(outcome)
            if outcome.verdict == "failed" and not options.json:
                print(f"{outcome.file}: {outcome.case} [{outcome.version}]: {outcome.reason}",
                      file=sys.stderr)
    counts = {v: sum(o.verdict == v for o in outcomes) for v in ("passed", "failed", "skipped")}
    if options.json:
        print_json([{k: getattr(o, k) for k in o.__slots__} for o in outcomes])
    print(", ".join(f"{n} {v}" for v, n in counts.items()),
          file=sys.stderr if options.json else sys.stdout)
    return 1 if counts["failed"] else 0


def _programs(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.fut"))
        elif path.exists():
            yield path
        else:
            raise UserError(f"There is no file '{path}'.")


def _file(path: Path, options: argparse.Namespace) -> Iterator[Outcome]:
    block = parse_blocks(read_source(path).text, path)
    device = "interpreter" if options.interpreter else options.device
    try:
        program = compile(path, device=device, policy=options.policy)
    except RuneliftError as error:
        if block.error is not None and isinstance(error, UserError):
            matched = re.search(block.error, str(error)) is not None
            yield Outcome(str(path), "compile", "", "passed" if matched else "failed",
                          "" if matched else f"rejected, but not with '{block.error}': {error}")
        elif isinstance(error, CompilerLimitation):
            yield Outcome(str(path), "compile", "", "skipped", str(error))
        else:
            yield Outcome(str(path), "compile", "", "failed", str(error))
        return
    if block.error is not None:
        yield Outcome(str(path), "compile", "", "failed",
                      f"accepted, but should be rejected with '{block.error}'")
        return
    for case in block.cases:
        yield from _case(path, case, program, options)


def _case(path: Path, case: Case, program: Program,
          options: argparse.Namespace) -> Iterator[Outcome]:
    label = f"{case.entry} {case.name}"
    if case.kind == "script" or "notest" in case.tags:
        yield Outcome(str(path), label, "", "skipped", "not for testing")
        return
    try:
        args = case.arguments()
        expected = case.expected()
        if expected is None and case.error is None:
            expected = interpret(program.compiled.core, case.entry, args)
    except UserError as error:
        yield Outcome(str(path), label, "", "failed", str(error))
        return
    for version, force in _forces(program, case.entry, options):
        reason = _run(program, case, args, expected, force)
        yield Outcome(str(path), label, version, "failed" if reason else "passed", reason or "")


def _forces(program: Program, entry: str,
            options: argparse.Namespace) -> Iterator[tuple[str, dict[str, int]]]:
    if not options.all_versions or program.device_info is None or entry not in program.entries:
        yield "default", {}
        return
    for number, force in enumerate(program.tree.assignments(entry), start=1):
        yield f"run {number}", force


def _run(program: Program, case: Case, args: list[Any], expected: list[Any] | None,
         force: dict[str, int]) -> str | None:
    """Why a case fails; None if it passes."""
    try:
        results, _ = program.run(case.entry, args, force=force)
    except UserError as error:
        if case.error is not None and re.search(case.error, str(error)):
            return None
        return f"failed with: {error}"
    except CompilerLimitation as error:
        return f"not supported: {error}"
    if case.error is not None:
        return f"succeeded, but should fail with '{case.error}'"
    assert expected is not None
    if len(results) != len(expected):
        return f"{len(results)} results, expected {len(expected)}"
    for number, (found, wanted) in enumerate(zip(results, expected, strict=True)):
        if (difference := mismatch(found, wanted)) is not None:
            return f"result {number}: {difference}"
    return None
