"""Run the test blocks of programs, and of all programs in directories.

Each case runs on the device and is compared with its output or, where it has none, with what
the interpreter says.  With --all-versions it runs once more for every code version.  Cases
tagged 'compiled' are too large for the interpreter: it skips them, and without an output the
code versions are compared with each other.  Cases tagged 'notest' or 'disable' are skipped.
A version that cannot run here, or takes longer than its limit, is named at the end with the reason.
With --check-races, the kernels run in their interpreter instead, which finds data races: a report
names the kernel, the array and the lines.  Properties are run on random arguments.  Failures are
counted by cause.  Exits with 0 if nothing failed.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from runelift.frontend.load import checked, load
from runelift.frontend.promises import promise_run, warn
from runelift.frontend.signatures import signatures
from runelift.ir.base.errors import (
    CompilerLimitation,
    Diagnostic,
    ProgramError,
    ProgramFailure,
    UserError,
)
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source, Span
from runelift.ir.interpret import interpret
from runelift.ir.names import Names
from runelift.ir.prim import Prim
from runelift.ir.syntax import Program
from runelift.ir.types import elem_of
from runelift.runtime.data.compare import first_difference
from runelift.runtime.devices.driver.device_spec import INTERPRETER
from runelift.runtime.devices.info import select
from runelift.runtime.host.answering import Answering
from runelift.runtime.tools.commands.open_program import compiled_for, version_names_in_errors
from runelift.runtime.tools.commands.options import (
    COMPILATION,
    add_options,
    print_json,
    programs_in,
)
from runelift.runtime.tools.commands.progress import Display, display
from runelift.runtime.tools.commands.sanitized import require_simulator, tested
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.version_runs import VersionNotRun, VersionRuns
from runelift.runtime.tools.races.mistakes import NO_DEVICE, KernelMistake
from runelift.runtime.tools.testing.block_mistakes import mistake
from runelift.runtime.tools.testing.scripts import evaluate
from runelift.runtime.tools.testing.test_blocks import Block, Case, Failure, parse_blocks
from runelift.runtime.tuner.measure.time_limits import TimeLimit, parse_time_limit
from runelift.runtime.versions.tuning_file import tuning_of

if TYPE_CHECKING:
    from runelift.runtime.tools.commands.race_runs import RaceRuns

EXAMPLES = ("runelift test --all-versions examples/matmul.fut",
            "runelift test --interpreter -j 2 examples/")
SKIPPED_TAGS = frozenset({"notest", "disable", "no_test"})
COMPILED = "compiled"
"""The tag of cases that are too large for the interpreter."""
VERSION_LIMIT = "30s"
"""The time after which a version is given up."""
LEAST_VERSION_SECONDS = 10.0
"""The least time after which a version is given up that takes many times as long as another."""

Result = TypeVar("Result")
Runner: TypeAlias = Callable[[], Sequence[Any]]
"""A way to run an entry point on arguments; its results."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift test``."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE|DIRECTORY",
                        help="programs, or directories that are searched for programs")
    parser.add_argument("--all-versions", action="store_true",
                        help="run every code version in turn, too")
    parser.add_argument("--version-limit", metavar="TIME|FACTORx|none", default=VERSION_LIMIT,
                        help="with --all-versions, when to give a version up: after a time (5s, "
                             "2min), or when it takes so many times as long as the default "
                             "version (50x, but not before 10 s; default: %(default)s)")
    parser.add_argument("--interpreter", action="store_true",
                        help="run with the interpreter only, without a device")
    parser.add_argument("--seed", type=int, metavar="N",
                        help="the seed of the random arguments of properties (default: another "
                             "one each time)")
    parser.add_argument("--sanitize", action="store_true",
                        help="run with Oclgrind, which looks for data races, invalid accesses and "
                             "values that were never written; what it finds fails the test")
    parser.add_argument("--check-races", action="store_true",
                        help="run the kernels in their interpreter, which finds data races in "
                             "kernels for processors and for GPUs; a slow run is given up as "
                             "--version-limit says")
    parser.add_argument("--error-text", choices=("match", "any"), default="match",
                        help="'any': an expected error may have another text; such errors are "
                             "counted apart")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N",
                        help="test N programs at a time (default: 1)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every case")
    add_options(parser, "entries", *COMPILATION, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift test``."""
    limit_of(args)  # an error in it is told before anything runs
    if args.sanitize:
        if args.interpreter:
            raise UserError("--sanitize runs kernels, and --interpreter none.")
        require_simulator()
    if args.check_races and (args.sanitize or args.interpreter):
        raise UserError("--check-races interprets kernels; leave "
                        f"{'--sanitize' if args.sanitize else '--interpreter'} out.")
    if args.check_races and select(args.device) is None:
        raise UserError(NO_DEVICE)
    if not args.interpreter and args.jobs > 1 and select(args.device) is None:
        args.device = INTERPRETER  # which is said here, and by none of the processes
    outcomes: list[dict[str, Any]] = []
    paths = list(programs_in(args.paths))
    with display(0) as shown:
        for number, found in enumerate(_tested(args, paths, shown), 1):
            outcomes += found
            if not args.json:
                with shown.aside():
                    print_outcomes(found, args.verbose)
            if len(paths) > 1:
                shown.counted(f"tested {paths[number - 1]}: {counts(found)}", number, len(paths),
                              counts(outcomes))
    if args.entry is not None and not outcomes:
        raise UserError(f"No test is of an entry point '{args.entry}'.")
    if args.json:
        print_json(outcomes)
    for line in summary(outcomes):
        show(line, sys.stderr if args.json else sys.stdout)
    return 1 if any(outcome["outcome"] == FAILED for outcome in outcomes) else 0


def limit_of(args: argparse.Namespace) -> TimeLimit:
    """The limit of ``--version-limit``.  The first run of a version has the limit of later runs."""
    limit = parse_time_limit(args.version_limit, TimeLimit(least=LEAST_VERSION_SECONDS))
    return replace(limit, first=limit.most)


def _tested(args: argparse.Namespace, paths: Sequence[Path], shown: Display
            ) -> Iterable[list[dict[str, Any]]]:
    if args.jobs <= 1:
        yield from map(partial(_test_program, args, shown=shown), paths)
        return
    with _Workers(args, min(args.jobs, len(paths))) as workers:
        yield from workers.outcomes(paths)


class _Workers:
    """Processes that test programs at the same time."""

    def __init__(self, args: argparse.Namespace, count: int) -> None:
        self._args = args
        self._count = count
        self._ended = False
        self._free = SimpleQueue[Answering]()
        self._all = set[Answering]()
        for _ in range(count):
            self._start()

    def _start(self) -> None:
        worker = Answering(f"{__name__}:_test_program")
        self._all.add(worker)
        self._free.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        for each in self._all:
            each.end()

    def outcomes(self, paths: Sequence[Path]) -> Iterator[list[dict[str, Any]]]:
        pool = ThreadPoolExecutor(max(self._count, 1))
        try:
            yield from pool.map(self._test, paths)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _test(self, path: Path) -> list[dict[str, Any]]:
        worker = self._free.get()
        try:
            found: list[dict[str, Any]] = worker.ask(self._args, path)
        except (EOFError, OSError):
            if not self._ended:
                self._start()  # in place of the one that has ended
            tester = _Tester(self._args, Display())
            tester.note(path, 1, "process", FAILED,
                        f"the process of the test {worker.how_it_ended()}", "ended")
            return tester.outcomes
        self._free.put(worker)
        return found


def _test_program(args: argparse.Namespace, path: Path, *, shown: Display | None = None
                  ) -> list[dict[str, Any]]:
    tester = _Tester(args, shown or Display())
    if args.sanitize:
        tester.sanitized(path)
    else:
        tester.program(path)
    return tester.outcomes


class _Skipped(Exception):
    """The reason why a test cannot run here."""


class _Mismatch(Exception):
    """A test failed: what is wrong, and what kind of mistake that is."""

    def __init__(self, message: str, cause: str = "wrong result") -> None:
        super().__init__(message)
        self.cause = cause


class _Tester:
    """Runs tests and keeps their outcomes."""

    def __init__(self, args: argparse.Namespace, shown: Display) -> None:
        self._args = args
        self._shown = shown
        self.outcomes: list[dict[str, Any]] = []

    def program(self, path: Path) -> None:
        found = self._guarded(path, 1, "test blocks", partial(_read, path), quiet=True)
        if found is not None:
            self._blocks(path, *found)

    def sanitized(self, path: Path) -> None:
        """Run all test blocks of a program under Oclgrind; each of its reports is a failure."""
        found, problems = tested(self._args, path)
        self.outcomes += found
        for each in problems:
            self.note(path, each.line, "sanitizer", FAILED, each.message, "sanitizer")

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
                    interprets = self._args.interpreter or self._args.check_races
                    if tags & SKIPPED_TAGS or (interprets and COMPILED in tags):
                        self.note(path, case.line, f"{entry}: {case.dataset}", SKIPPED)
                    else:
                        todo.append((case, entry))
        asked = [each for block in blocks if not block.tags & SKIPPED_TAGS
                 for each in block.properties if self._args.entry in (None, each[0])]
        if todo or asked:
            self._cases(path, source, todo, asked)
        elif all(block.error is None for block in blocks):
            self._guarded(path, 1, "compile", partial(load, source, Names()), quiet=True)

    def _cases(self, path: Path, source: Source, todo: list[tuple[Case, str]],
               asked: list[tuple[str, int]]) -> None:
        subject = self._guarded(path, 1, "compile", partial(_Subject, path, source, self._args),
                                quiet=True)
        if subject is None:
            for case, entry in todo:
                self.note(path, case.line, f"{entry}: {case.dataset}", SKIPPED,
                          "the program does not compile")
            return
        known = signatures(checked(source))
        for case, entry in todo:
            what = f"{entry}: {case.dataset}"
            if (wrong := mistake(source, case, entry, known)) is not None:
                self.note(path, wrong.span.line, what, FAILED,
                          "\n  hint: ".join([wrong.message, *wrong.hints]), "wrong test")
                continue
            self._guarded(path, case.line, what, partial(subject.test, case, entry))
            self.outcomes[-1]["not_run"] = subject.not_run
            if self.outcomes[-1]["outcome"] == PASSED and not subject.ran:
                self.outcomes[-1]["outcome"] = SKIPPED
        for name, line in asked:
            self._guarded(path, line, f"{name}: property",
                          partial(subject.test_property, source, name))
        subject.close()

    def _guarded(self, path: Path, line: int, what: str, body: Callable[[], Result],
                 quiet: bool = False) -> Result | None:
        """The result of ``body``.  An error that it raises fails this test, and no other test."""
        message, cause, found = "", "", None
        self._shown.begun(f"{path.name}: {what}")
        try:
            found = body()
        except _Skipped as reason:
            self.note(path, line, what, SKIPPED, str(reason))
            return None
        except _Mismatch as error:
            message, cause = str(error), error.cause
        except ProgramError as error:
            message, cause = error.full, f"rejected: {error.code}"
        except UserError as error:
            message, cause = str(error), "failed"
        except CompilerLimitation as error:
            message, cause = f"not supported: {error}", "not supported"
        except Exception as error:
            message = f"a bug in Runelift: {type(error).__name__}: {error}"
            cause = "bug in Runelift"
        right = not message or (cause == OTHER_TEXT and self._args.error_text == "any")
        if message or not quiet:
            self.note(path, line, what, PASSED if right else FAILED, message, cause)
        return found

    def note(self, path: Path, line: int, what: str, outcome: str, message: str = "",
             cause: str = "") -> None:
        self.outcomes.append({"file": str(path), "line": line, "case": what, "outcome": outcome,
                              "cause": cause, "message": message, "not_run": {}})


def _read(path: Path) -> tuple[Source, Sequence[Block]]:
    """A program with its test blocks."""
    source = read_source(path)
    return source, parse_blocks(source)


def _must_reject(source: Source, block: Block) -> None:
    """Require that the program is rejected, with a message that the block's pattern matches."""
    try:
        load(source, Names())
    except UserError as error:
        _must_match(block.error or "", error)
    else:
        raise _Mismatch("the program should be rejected, but is accepted", "accepted")


def _must_match(pattern: str, failure: UserError) -> None:
    """Require that a pattern matches our message, or Futhark's form of it."""
    message = str(failure)
    try:
        found = any(re.search(pattern, text, re.DOTALL) for text in (message, peer_text(failure)))
    except re.error as error:
        raise UserError(f"'{pattern}' is not a regular expression: {error}.") from None
    if not found:
        raise _Mismatch(f"the error should match '{pattern}', but is:\n{message}", OTHER_TEXT)


class _Subject:
    """A compiled program under test."""

    def __init__(self, path: Path, source: Source, args: argparse.Namespace) -> None:
        self._args, self._source = args, source
        self._told: set[Span] = set()
        """The places of promises that have been warned of."""
        if args.interpreter:
            self._core = load(source, Names(), tuning_of(path, args.tuning).values)
            device = None
        else:
            self._program = compiled_for(args, path)
            self._core = self._program.compiled.core
            device = self._program.device_info
        self._versions = VersionRuns(self._program, limit_of(args)) if (
            device is not None and args.all_versions) else None
        self._races: RaceRuns | None = None
        if args.check_races:
            # late: it needs OpenCL, and other tests do not
            from runelift.runtime.tools.commands.race_runs import RaceRuns

            self._races = RaceRuns(self._program, limit_of(args))
        self._evaluate = partial(evaluate, program=source, device=device)
        self.not_run: dict[str, str] = {}
        """The versions that did not run in the last case, and the reasons."""
        self.ran = 0
        """The number of runs in the last case that came to their end."""

    def test(self, case: Case, entry: str) -> None:
        """Run a case in the requested ways; _Mismatch if a result is wrong."""
        self.not_run, self.ran = {}, 0
        arguments = case.arguments(self._evaluate, _argument_types(self._core, entry))
        expected = case.expected()
        large = COMPILED in case.tags
        if expected is None and not large and not isinstance(case.output, Failure):
            expected = list(self._interpreted(entry, arguments))
        for name, run in self._runners(entry, arguments):
            try:
                if isinstance(case.output, Failure):
                    _must_fail(case.output.pattern, run)
                    self.ran += 1
                else:
                    found = list(run())
                    self.ran += 1
                    expected = found if expected is None else expected
                    if difference := first_difference(expected, found):
                        raise _Mismatch(difference)
            except VersionNotRun as error:
                self.not_run[name] = str(error)
            except _Mismatch as error:
                raise _Mismatch(f"with {name}: {error}" if name else str(error),
                                error.cause) from error
            except KernelMistake as error:
                raise _Mismatch(f"with {name}: {error}", error.cause) from error
            except (UserError, CompilerLimitation) as error:
                if not name:
                    raise
                raise _Mismatch(f"with {name}: {error}", "failed in a version") from error

    def _interpreted(self, entry: str, arguments: Sequence[Any]) -> Sequence[Any]:
        """Results of the interpreter, which warns of promises that are broken for these values."""
        def tell(diagnostic: Diagnostic) -> None:
            if diagnostic.span not in self._told:
                self._told.add(diagnostic.span)
                warn([diagnostic])
        return interpret(self._core, entry, arguments, machine=promise_run(self._source, tell))

    def test_property(self, source: Source, name: str) -> None:
        """Look for arguments for which a property is false; _Mismatch if there are any.

        _Skipped without Hypothesis.
        """
        try:
            # late: optional, as the package Hypothesis is that it needs
            from runelift.runtime.tools.testing.properties import PropertyTest, properties
        except ImportError:
            raise _Skipped("properties need Hypothesis: pip install hypothesis") from None
        known = properties(source)
        if name not in known:
            raise UserError(f"'{name}' is no property: declare it with #[prop] entry {name}.")
        seed = secrets.randbelow(1 << 31) if self._args.seed is None else self._args.seed
        run = partial(interpret, self._core) if self._args.interpreter else self._run
        if found := PropertyTest(self._core, known[name], run, seed).counterexample():
            raise _Mismatch(found, "property is false")

    def _runners(self, entry: str, arguments: Sequence[Any]) -> Iterator[tuple[str, Runner]]:
        """The ways to run the entry point, each with the names of its versions."""
        if self._args.interpreter:
            yield "", partial(self._interpreted, entry, arguments)
            return
        if self._races is not None:
            yield from self._races.runners(entry, arguments, every=self._args.all_versions)
            return
        started = time.perf_counter()
        yield "", partial(self._run, entry, arguments)
        seconds = time.perf_counter() - started
        if self._versions is not None:
            yield from self._versions.runners(entry, arguments, seconds)

    def _run(self, entry: str, arguments: Sequence[Any]) -> Sequence[Any]:
        with version_names_in_errors(self._program):
            return self._program.run(entry, arguments)[0]

    def close(self) -> None:
        """End the process that runs versions."""
        if self._versions is not None:
            self._versions.close()


def _argument_types(core: Program, entry: str) -> list[Prim]:
    return [elem_of(p.type) for fun in core.funs if fun.name == entry
            for p in fun.params[fun.sizes:]]


def _must_fail(pattern: str, body: Callable[[], object]) -> None:
    try:
        body()
    except UserError as error:
        _must_match(pattern, error)
    else:
        raise _Mismatch("the program should fail, but does not", "does not fail")


PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OTHER_TEXT = "another error text"
"""The cause of a failure, or of a note, that an error is worded in another way than expected."""


def print_outcomes(outcomes: Iterable[dict[str, Any]], verbose: bool) -> None:
    """Print the cases that failed, or all."""
    for outcome in outcomes:
        place, message = f"{outcome['file']}:{outcome['line']}", outcome["message"]
        if outcome["outcome"] == FAILED:
            show(f"{place}: {outcome['case']}: FAILED: {message}")
        elif verbose:
            show(f"{place}: {outcome['case']}: {outcome['outcome']}")


def summary(outcomes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The numbers of cases that failed or were skipped for each cause, then of all."""
    failed = Counter(o["cause"] for o in outcomes if o["outcome"] == FAILED)
    if len(failed) > 1:
        for cause, count in failed.most_common():
            yield f"{count:5} {cause}"
    other = sum(o["outcome"] == PASSED and o["cause"] == OTHER_TEXT for o in outcomes)
    for (file, version), not_run in _not_run(outcomes).items():
        where = not_run[0][1] + f" and {len(not_run) - 1} more" * (len(not_run) > 1)
        yield f"{file}: {version} did not run: {not_run[0][0]} ({where})"
    for reason, count in Counter(o["message"] for o in outcomes if o["outcome"] == SKIPPED
                                 and o["message"]).items():
        yield f"{count} skipped: {reason}"
    yield counts(outcomes, f" ({other} with {OTHER_TEXT})" * bool(other))


def counts(outcomes: Iterable[dict[str, Any]], remark: str = "") -> str:
    """The numbers of cases that passed, failed and were skipped."""
    found = Counter(outcome["outcome"] for outcome in outcomes)
    return (f"{found[PASSED]} passed{remark}, {found[FAILED]} failed, "
            f"{found[SKIPPED]} skipped")


def _not_run(outcomes: Sequence[dict[str, Any]]
             ) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The versions that did not run: (file, name of the version) to pairs (reason, test case)."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for outcome in outcomes:
        for version, reason in outcome["not_run"].items():
            entry, _, _ = outcome["case"].partition(":")
            name = version if entry == "main" else f"{version} of {entry}"
            found.setdefault((outcome["file"], name), []).append((reason, outcome["case"]))
    return found


_FAILURE = re.compile(r"(?P<place>.+?:\d+:\d+): error\[[a-z-]+\]: (?P<message>.*)")
_CALL = re.compile(r"  in .*, called at (?P<place>.+)")
_WORDING = {"Division by zero.": "division by zero",
            "Negative exponent:": "negative exponent:"}
"""The beginnings of our texts that Futhark words in another way."""
_INVALID_ARGUMENTS = "Error: entry point arguments have invalid sizes."


def peer_text(error: UserError) -> str:
    """The text that Futhark would print, as far as its words are known."""
    if isinstance(error, ProgramError):
        return "\n".join(f"Error at {each.span}:\n{each.message}" for each in error.diagnostics)
    first, *calls = str(error).split("\n")
    found = _FAILURE.match(first) if isinstance(error, ProgramFailure) else None
    if found is None:
        return f"{_INVALID_ARGUMENTS}\nError: {first}"
    message = found["message"]
    for ours, theirs in _WORDING.items():
        if message.startswith(ours):
            message = theirs + message.removeprefix(ours)
    places = [found["place"], *(call["place"] for call in map(_CALL.match, calls) if call)]
    trace = "\n".join(f"{'->' if number == 0 else '  '} #{number}  {place}"
                      for number, place in enumerate(places))
    return f"Error: {message}\n\nBacktrace:\n{trace}\n"
