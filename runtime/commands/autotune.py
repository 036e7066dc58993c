"""Find the best thresholds for the datasets of a program.

Runs every code version on every dataset, solves for the thresholds that are best for all of
them together, checks the result against the default, and writes PROGRAM.tuning, which 'run',
'bench' and 'test' then use, and facts about it in PROGRAM.tuning.json.  Every run is logged in
PROGRAM.tuning.log as soon as it is over.  Ctrl-C ends the measuring: the thresholds are then
fitted to what has been measured.  Datasets tagged 'notune' or 'disable' are left out; cases
without a name are used only if there are no others.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from datetime import UTC, datetime
from pathlib import Path

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
from runelift.runtime.tuner.autotune import (
    Tuning,
    autotune,
    conclude,
    default_thresholds,
)
from runelift.runtime.tuner.measure import Dataset, Log, Progress, read_log
from runelift.runtime.tuner.report import facts, render
from runelift.runtime.tuner.tuning_file import read_tuning, tuning_path, write_tuning

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
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError("Tuning needs an OpenCL device; 'runelift doctor' says what is missing.")
    output = args.output or tuning_path(args.program)
    if not any(forest.trees for forest in program.tree.entries):
        print("The program has one version only: there is nothing to tune.",
              file=sys.stderr if args.json else sys.stdout)
        return 0
    tuning = _replay(args, program) if args.replay else _measure(args, program, output)
    measured = any(entry.costs.datasets for entry in tuning.entries)
    if measured:
        _write(output, tuning, program)
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
    datasets = [Dataset(name, entry, arguments)
                for entry, name, arguments in inputs(args, program, EXCLUDED_TAGS)]
    log = Log(output.with_name(output.name + ".log"))
    try:
        return autotune(program, program.tree, datasets, program.device_info.choice.threshold,
                        repeats=args.runs, verify=not args.no_verify, log=log,
                        progress=_show if sys.stderr.isatty() else lambda _: None)
    finally:
        log.close()


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


def _write(output: Path, tuning: Tuning, program: Program) -> None:
    """Write the thresholds; those of entry points that were not tuned now are kept."""
    kept: dict[str, int] = {}
    if output.exists():
        known = {name for guard in program.tree.guards() for name in guard.parameters}
        try:
            kept = {name: value for name, value in read_tuning(output).items() if name in known}
        except UserError as error:
            warn(f"the old tuning file is replaced: {error}")
    write_tuning(output, kept | tuning.thresholds, facts(tuning, **_about(program)))


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
