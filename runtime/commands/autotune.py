"""Find the best thresholds for the datasets of a program.

Runs every code version on every dataset, solves for the thresholds that are best for all of
them together, checks the result against the default, and writes PROGRAM.tuning, which 'run',
'bench' and 'test' then use, and facts about it in PROGRAM.tuning.json.  Every run is logged in
PROGRAM.tuning.log as soon as it is over.  Ctrl-C ends the measuring: the thresholds are then
fitted to what has been measured.  Datasets tagged 'notune' or 'disable' are left out; cases
without a name are used only if there are no others.

With --strategy, other ways to tune are used, which run the program with thresholds and have no
log ('runelift tune-compare --help' lists them).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runelift.ir.errors import UserError
from runelift.runtime.commands.bench import inputs
from runelift.runtime.commands.options import (
    add_contract,
    add_device,
    add_entry,
    add_json,
    add_only,
    add_policy,
    add_program,
    open_program,
    print_json,
    warn,
)
from runelift.runtime.program import Program
from runelift.runtime.tuner import searched
from runelift.runtime.tuner.autotune import (
    Tuning,
    autotune,
    conclude,
    default_thresholds,
)
from runelift.runtime.tuner.measure import Dataset, Log, Progress, read_log
from runelift.runtime.tuner.report import facts, render
from runelift.runtime.tuner.strategies import Strategy, parse_strategy
from runelift.runtime.tuner.strategies.trials import Step, parse_budget
from runelift.runtime.tuner.tuning_file import read_tuning, tuning_path, write_tuning

COMPLETE = "instrumentation"
"""The strategy that has records to fit to."""
EXCLUDED_TAGS = frozenset({"notune", "disable"})
INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``runelift autotune``."""
    add_program(parser)
    add_entry(parser)
    parser.add_argument("-r", "--runs", type=int, default=3, metavar="N",
                        help="how often to repeat each run (default: %(default)s)")
    parser.add_argument("-i", "--input", type=Path, metavar="FILE",
                        help="tune for this input instead of the datasets of the program")
    add_only(parser)
    parser.add_argument("--no-verify", action="store_true",
                        help="do not run the tuned program beside the default one")
    parser.add_argument("--replay", type=Path, metavar="LOG",
                        help="fit to the runs in a log instead of running anything")
    parser.add_argument("--strategy", default=COMPLETE, metavar="NAME",
                        help="how to search for thresholds (default: %(default)s)")
    parser.add_argument("--budget", type=parse_budget, metavar="N|SECONDS",
                        help="end the search of another strategy after N runs, or after a time "
                             "such as 30s")
    parser.add_argument("--seed", type=int, default=0, metavar="N",
                        help="what a strategy draws from (default: %(default)s)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="the tuning file to write (default: PROGRAM.tuning)")
    add_device(parser)
    add_policy(parser)
    add_contract(parser)
    add_json(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift autotune``."""
    if args.runs < 1:
        raise UserError("--runs must be at least 1.")
    strategy = parse_strategy(args.strategy)
    if strategy.name == COMPLETE and args.budget is not None:
        raise UserError(f"--budget is for other strategies than '{COMPLETE}', which runs every "
                        "version once; it ends with Ctrl-C.")
    if strategy.name != COMPLETE and args.replay:
        raise UserError(f"--replay fits to a log, which is what '{COMPLETE}' does; 'runelift "
                        "tune-compare' simulates other strategies on a log.")
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError("Tuning needs an OpenCL device; 'runelift doctor' says what is missing.")
    output = args.output or tuning_path(args.program)
    if not any(forest.trees for forest in program.tree.entries):
        print("The program has one version only: there is nothing to tune.",
              file=sys.stderr if args.json else sys.stdout)
        return 0
    if strategy.name != COMPLETE:
        return _search(args, program, output, strategy)
    tuning = _replay(args, program) if args.replay else _measure(args, program, output)
    measured = any(entry.costs.datasets for entry in tuning.entries)
    if measured:
        _write(output, tuning.thresholds, facts(tuning, **_about(program)), program)
    if args.json:
        print_json(facts(tuning, **_about(program)))
    else:
        print(f"{args.program} on {program.device_info.label}\n")
        print(render(tuning))
        if measured:
            print(f"\nWritten to {output}.")
    if not tuning.interrupted:
        return 0
    print("runelift: interrupted; " + (
        f"the thresholds in {output} are fitted to what was measured." if measured else
        "nothing was measured completely, so nothing was written."), file=sys.stderr)
    return INTERRUPTED


def _measure(args: argparse.Namespace, program: Program, output: Path) -> Tuning:
    assert program.device_info is not None
    datasets = tuning_datasets(args, program)
    log = Log(output.with_name(output.name + ".log"))
    try:
        return autotune(program, program.tree, datasets, program.device_info.choice.threshold,
                        repeats=args.runs, verify=not args.no_verify, log=log,
                        progress=_show if sys.stderr.isatty() else lambda _: None)
    finally:
        log.close()


def tuning_datasets(args: argparse.Namespace, program: Program) -> list[Dataset]:
    """The datasets that the command line asks to tune for."""
    return [Dataset(name, entry, arguments)
            for entry, name, arguments in inputs(args, program, EXCLUDED_TAGS)]


def _show(progress: Progress) -> None:
    end = "\n" if progress.done == progress.total else ""
    print(f"\r\x1b[K{progress.what}: run {progress.done} of {progress.total}", end=end,
          file=sys.stderr, flush=True)


def _replay(args: argparse.Namespace, program: Program) -> Tuning:
    assert program.device_info is not None
    recorded = read_log(args.replay)
    entries = []
    for forest in program.tree.entries:
        if forest.entry in recorded and args.entry in (None, forest.entry):
            defaults = default_thresholds(forest, program.device_info.choice.threshold)
            entries.append(conclude(forest, defaults, recorded[forest.entry]))
    if not entries:
        raise UserError(f"'{args.replay}' has no runs of this program's entry points.")
    return Tuning(tuple(entries))


def _search(args: argparse.Namespace, program: Program, output: Path, strategy: Strategy) -> int:
    """Tune with a strategy that runs the program with thresholds."""
    assert program.device_info is not None
    found = searched.tune_by_search(
        program, program.tree, tuning_datasets(args, program), program.device_info.choice.threshold,
        strategy, budget=args.budget, seed=args.seed, repeats=args.runs,
        verify=not args.no_verify, progress=_show_step if sys.stderr.isatty() else lambda _: None)
    about = searched.facts(found, **_about(program))
    _write(output, {name: value for each in found for name, value in each.thresholds.items()},
           about, program)
    if args.json:
        print_json(about)
    else:
        print(f"{args.program} on {program.device_info.label}\n")
        print(searched.render(found))
        print(f"\nWritten to {output}.")
    return INTERRUPTED if about["interrupted"] else 0


def _show_step(step: Step) -> None:
    print(f"\r\x1b[Krun {step.runs}, best score {step.score:.4g}", end="\r", file=sys.stderr,
          flush=True)


def _write(output: Path, thresholds: Mapping[str, int], about: Mapping[str, Any],
           program: Program) -> None:
    """Write the thresholds; those of entry points that were not tuned now are kept."""
    kept: dict[str, int] = {}
    if output.exists():
        known = {guard.name for guard in program.tree.guards()}
        try:
            kept = {name: value for name, value in read_tuning(output).items() if name in known}
        except UserError as error:
            warn(f"the old tuning file is replaced: {error}")
    write_tuning(output, {**kept, **thresholds}, about)


def _about(program: Program) -> dict[str, str]:
    """What the tuning holds for: the program, the device, and when it was made."""
    assert program.device_info is not None
    info = program.device_info
    text = program.compiled.source.text
    return {"program": program.compiled.source.name,
            "program_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "device": info.name, "platform": info.platform, "driver": info.driver,
            "policy": program.policy,
            "written": datetime.now(UTC).isoformat(timespec="seconds")}
