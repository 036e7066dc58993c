"""Run the test blocks of programs, and of all programs in directories.

Each case runs on the device and is compared with its output or, where it has none, with what
the interpreter says.  With --all-versions it runs once more for every code version.  Cases
tagged 'compiled' are too large for the interpreter: it skips them, and without an output the
code versions are compared with each other.  Cases tagged 'notest' or 'disable' are skipped.
Failures are counted by cause.  Exits with 0 if nothing failed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, TypeAlias

from runelift.frontend.load import load
from runelift.ir.errors import CompilerLimitation, ProgramError, UserError
from runelift.ir.files import read_source
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.source import Source
from runelift.ir.syntax import Program
from runelift.ir.types import elem_of
from runelift.runtime.commands.open_program import version_names_in_errors
from runelift.runtime.commands.options import (
    add_contract,
    add_device,
    add_entry,
    add_json,
    add_policy,
    add_tuning,
    print_json,
)
from runelift.runtime.compile import compile as compile_program
from runelift.runtime.data.compare import first_difference
from runelift.runtime.host.lifeline import end_with_parent
from runelift.runtime.testing.scripts import evaluate
from runelift.runtime.testing.test_blocks import Block, Case, Failure, parse_blocks
from runelift.runtime.versions.forest import plans
from runelift.runtime.versions.tuning_file import tuning_of
from runelift.runtime.versions.version_names import names_of_plan

SKIPPED_TAGS = frozenset({"notest", "disable", "no_test"})
COMPILED = "compiled"
"""The tag of cases that are too large for the interpreter."""
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OTHER_TEXT = "another error text"
"""The cause of a failure, or of a note, that an error is worded in another way than expected."""

Runner: TypeAlias = Callable[[str, Sequence[Any]], Sequence[Any]]
"""A way to run an entry point on arguments."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift test``."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE|DIRECTORY",
                        help="programs, or directories that are searched for programs")
    parser.add_argument("--all-versions", action="store_true",
                        help="run every code version in turn, too")
    parser.add_argument("--interpreter", action="store_true",
                        help="run with the interpreter only, without a device")
    parser.add_argument("--error-text", choices=("match", "any"), default="match",
                        help="'any': an expected error may have another text; such errors are "
                             "counted apart")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N",
                        help="test N programs at a time (default: 1)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every case")
    add_entry(parser)
    add_device(parser)
    add_tuning(parser)
    add_policy(parser)
    add_contract(parser)
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift test``."""
    outcomes: list[dict[str, Any]] = []
    for found in _tested(args, list(programs(args.paths))):
        outcomes += found
        if not args.json:
            _print(found, args.verbose)
    if args.json:
        print_json(outcomes)
    for line in summary(outcomes):
        print(line, file=sys.stderr if args.json else sys.stdout)
    return 1 if any(outcome["outcome"] == FAILED for outcome in outcomes) else 0


def _tested(args: argparse.Namespace, paths: Sequence[Path]) -> Iterable[list[dict[str, Any]]]:
    """The outcomes of each program, in order."""
    test = partial(_test_program, args)
    if args.jobs <= 1:
        yield from map(test, paths)
        return
    with ProcessPoolExecutor(args.jobs, get_context("spawn"), _end_with_command) as workers:
        yield from workers.map(test, paths)


def _end_with_command() -> None:
    """Let this process end with the command that started it, even if a kernel never ends."""
    parent = parent_process()
    if parent is not None and isinstance(parent.sentinel, int):
        end_with_parent(parent.sentinel)


def _test_program(args: argparse.Namespace, path: Path) -> list[dict[str, Any]]:
    tester = _Tester(args)
    tester.program(path)
    return tester.outcomes


def _print(outcomes: Iterable[dict[str, Any]], verbose: bool) -> None:
    for outcome in outcomes:
        place, message = f"{outcome['file']}:{outcome['line']}", outcome["message"]
        if outcome["outcome"] == FAILED:
            print(f"{place}: {outcome['case']}: FAILED: {message}", flush=True)
        elif verbose:
            print(f"{place}: {outcome['case']}: {outcome['outcome']}", flush=True)


def summary(outcomes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The numbers of cases that failed for each cause, and that passed, failed and were skipped."""
    failed = Counter(o["cause"] for o in outcomes if o["outcome"] == FAILED)
    if len(failed) > 1:
        for cause, count in failed.most_common():
            yield f"{count:5} {cause}"
    counts = Counter(outcome["outcome"] for outcome in outcomes)
    other = sum(o["outcome"] == PASSED and o["cause"] == OTHER_TEXT for o in outcomes)
    yield (f"{counts[PASSED]} passed" + f" ({other} with {OTHER_TEXT})" * bool(other)
           + f", {counts[FAILED]} failed, {counts[SKIPPED]} skipped")


def programs(paths: Sequence[Path]) -> Iterator[Path]:
    """The programs among ``paths`` and below the directories among them."""
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.fut"))
        elif path.is_file():
            yield path
        else:
            raise UserError(f"Cannot read '{path}': No such file or directory.")


class _Mismatch(Exception):
    """A test failed: what is wrong, and what kind of mistake that is."""

    def __init__(self, message: str, cause: str = "wrong result") -> None:
        super().__init__(message)
        self.cause = cause


class _Tester:
    """Runs tests and keeps their outcomes."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self.outcomes: list[dict[str, Any]] = []

    def program(self, path: Path) -> None:
        """Run all test blocks of a program."""
        found: list[tuple[Source, Sequence[Block]]] = []

        def read() -> None:
            source = read_source(path)
            found.append((source, parse_blocks(source)))

        self._guarded(path, 1, "test blocks", read, quiet=True)
        for source, blocks in found:
            self._blocks(path, source, blocks)

    def _blocks(self, path: Path, source: Source, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.error is not None:
                self._guarded(path, block.line, "rejected",
                              partial(_must_reject, source, block))
        todo = []
        for block in blocks:
            for case in block.cases:
                for entry in case.entries:
                    if self._args.entry not in (None, entry):
                        continue
                    tags = block.tags | case.tags
                    if tags & SKIPPED_TAGS or (self._args.interpreter and COMPILED in tags):
                        self._note(path, case.line, f"{entry}: {case.dataset}", SKIPPED)
                    else:
                        todo.append((case, entry))
        if todo:
            self._cases(path, source, todo)

    def _cases(self, path: Path, source: Source, todo: list[tuple[Case, str]]) -> None:
        compiled: list[_Subject] = []

        def compile_it() -> None:
            compiled.append(_Subject(path, source, self._args))

        self._guarded(path, 1, "compile", compile_it, quiet=True)
        for case, entry in todo:
            what = f"{entry}: {case.dataset}"
            if compiled:
                self._guarded(path, case.line, what, partial(compiled[0].test, case, entry))
            else:
                self._note(path, case.line, what, SKIPPED, "the program does not compile")

    def _guarded(self, path: Path, line: int, what: str, body: Callable[[], None],
                 quiet: bool = False) -> None:
        """Run ``body``; whatever it raises is the failure of this test and not of the others."""
        message = cause = ""
        try:
            body()
        except _Mismatch as error:
            message, cause = str(error), error.cause
        except ProgramError as error:
            message, cause = str(error), f"rejected: {error.code}"
        except UserError as error:
            message, cause = str(error), "failed"
        except CompilerLimitation as error:
            message, cause = f"not supported: {error}", "not supported"
        except Exception as error:
            message = f"a bug in Runelift: {type(error).__name__}: {error}"
            cause = "bug in Runelift"
        right = not message or (cause == OTHER_TEXT and self._args.error_text == "any")
        if message or not quiet:
            self._note(path, line, what, PASSED if right else FAILED, message, cause)

    def _note(self, path: Path, line: int, what: str, outcome: str, message: str = "",
              cause: str = "") -> None:
        self.outcomes.append({"file": str(path), "line": line, "case": what, "outcome": outcome,
                              "cause": cause, "message": message})


def _must_reject(source: Source, block: Block) -> None:
    """The program must be wrong, with a message in which the block's pattern is found."""
    try:
        load(source, Names())
    except UserError as error:
        _must_match(block.error or "", str(error))
    else:
        raise _Mismatch("the program should be rejected, but is accepted", "accepted")


def _must_match(pattern: str, message: str) -> None:
    try:
        found = re.search(pattern, message, re.DOTALL)
    except re.error as error:
        raise UserError(f"'{pattern}' is not a regular expression: {error}.") from None
    if not found:
        raise _Mismatch(f"the error should match '{pattern}', but is:\n{message}", OTHER_TEXT)


class _Subject:
    """A compiled program under test."""

    def __init__(self, path: Path, source: Source, args: argparse.Namespace) -> None:
        self._args = args
        if args.interpreter:
            self._core = load(source, Names(), tuning_of(path, args.tuning).values)
            device = None
        else:
            self._program = compile_program(path, device=args.device, tuning=args.tuning,
                                            policy=args.policy,
                                            fp_contract=args.fp_contract, runs=False)
            self._core = self._program.compiled.core
            device = self._program.device_info
        self._evaluate = partial(evaluate, program=source, device=device)

    def test(self, case: Case, entry: str) -> None:
        """Run a case in the ways asked for; _Mismatch if something is wrong."""
        arguments = case.arguments(self._evaluate, _argument_types(self._core, entry))
        expected = case.expected()
        large = COMPILED in case.tags
        if expected is None and not large and not isinstance(case.output, Failure):
            expected = interpret(self._core, entry, arguments)
        for name, run in self._runners(entry):
            try:
                if isinstance(case.output, Failure):
                    _must_fail(case.output.pattern, partial(run, entry, arguments))
                else:
                    found = list(run(entry, arguments))
                    expected = found if expected is None else expected
                    if difference := first_difference(expected, found):
                        raise _Mismatch(difference)
            except _Mismatch as error:
                raise _Mismatch(f"{name}: {error}" if name else str(error), error.cause) from error
            except (UserError, CompilerLimitation) as error:
                if not name:
                    raise
                raise _Mismatch(f"{name}: {error}", "failed in a version") from error

    def _runners(self, entry: str) -> Iterator[tuple[str, Runner]]:
        """The ways to run the entry point, each with its name."""
        if self._args.interpreter:
            yield "", partial(interpret, self._core)
            return
        yield "", self._run({})
        if self._args.all_versions and self._program.device_info is not None:
            for force in plans(self._program.tree.entry(entry)):
                if force:
                    names = names_of_plan(self._program.tree.entry(entry), force)
                    yield f"with {names}", self._run(force)

    def _run(self, force: Mapping[str, int]) -> Runner:
        """Run on the device with these versions forced."""
        def run(entry: str, arguments: Sequence[Any]) -> Sequence[Any]:
            with version_names_in_errors(self._program):
                return self._program.run(entry, arguments, force=force)[0]

        return run


def _argument_types(core: Program, entry: str) -> list[Prim]:
    """The element types of the arguments of an entry point; none if there is no such."""
    return [elem_of(p.type) for fun in core.funs if fun.name == entry
            for p in fun.params[fun.sizes:]]


def _must_fail(pattern: str, body: Callable[[], object]) -> None:
    try:
        body()
    except UserError as error:
        _must_match(pattern, str(error))
    else:
        raise _Mismatch("the program should fail, but does not", "does not fail")
