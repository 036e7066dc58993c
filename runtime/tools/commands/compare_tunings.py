"""The part of ``runelift tune-compare`` that compares two tunings of a program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from runelift.ir.base.errors import UserError
from runelift.ir.base.files import require_file
from runelift.runtime.programs.program import Program
from runelift.runtime.records.format import dataset_label
from runelift.runtime.tools.commands.open_program import open_program
from runelift.runtime.tools.commands.options import print_json, warn
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.commands.tuning_data import tuning_datasets
from runelift.runtime.tools.pages.document import document, write_page
from runelift.runtime.tools.reports.html.compared import page_of_two
from runelift.runtime.tools.reports.two_tunings import (
    TimesOfTwo,
    TwoTunings,
    beside_default,
    facts_of_two,
    render_two,
    two_tunings,
)
from runelift.runtime.tuner.measure.machine_load import busy_part
from runelift.runtime.tuner.measure.paired_comparison import UNTUNED
from runelift.runtime.tuner.measure.side_by_side import DEFAULT, TUNED, Choice
from runelift.runtime.tuner.measure.turns import Turns, run_until_decided
from runelift.runtime.tuner.policy import NORMAL
from runelift.runtime.tuner.workers.runners import running
from runelift.runtime.versions.size_guards import GuardedThresholds
from runelift.runtime.versions.tuning_file import read_size_guards, read_tuning

PROGRAM = ".fut"


def compare_tunings(args: argparse.Namespace) -> int:
    """Compare two tuning files or logs by their content, or by runs of a program with both."""
    if args.strategy or args.parameters or args.replay or args.noise:
        raise UserError("To compare two tunings, give no --strategy, --parameters, --replay and "
                        "--noise.")
    first, *others = [require_file(path) for path in (args.source, *args.others)]
    if first.suffix == PROGRAM:
        if len(others) > 2:
            raise UserError("Give a program and one or two tuning files.")
        found = _run_both(args, first, others)
    elif len(others) == 1:
        found = two_tunings(first, others[0])
    else:
        raise UserError("Give two tuning files, two logs, or a program and its tuning files.")
    if args.html is not None:
        write_page(args.html, document("Two tunings", page_of_two(found)))
    if args.json:
        print_json(facts_of_two(found))
    else:
        show(render_two(found))
    return 0


def _run_both(args: argparse.Namespace, source: Path, tunings: Sequence[Path]) -> TwoTunings:
    """Run a program with two tunings in turn; of one tuning, beside the default."""
    args.program = source
    program = open_program(args, tuned=False)
    if program.device_info is None:
        raise UserError("Runs need an OpenCL device; 'runelift doctor' says what is missing.")
    known = two_tunings(tunings[0], tunings[-1])
    choices = [Choice(_thresholds(program, path)) for path in tunings]
    if len(tunings) == 1:
        choices = [Choice(UNTUNED), *choices]
        known = beside_default(tunings[0])
    times, busy = list[TimesOfTwo](), busy_part()
    with running(program, args.time_limit) as runner:
        for dataset in tuning_datasets(args, program):
            found = run_until_decided(
                runner, dataset, dict(zip((DEFAULT, TUNED), choices, strict=True)),
                Turns([TUNED], NORMAL.comparison, busy))
            if found is not None:
                label = dataset_label(dataset.entry, dataset.name)
                times.append(TimesOfTwo(label, (found.seconds.get(DEFAULT, ()),
                                                found.seconds.get(TUNED, ())), paired=True))
    return replace(known, times=times, what="runs in turn, now")


def _thresholds(program: Program, path: Path) -> GuardedThresholds:
    """The values of a tuning file with its size guards, as far as they hold here."""
    guards, why = read_size_guards(path, program.identity, program.policy, program.tree)
    if why:
        warn(f"{path}: {why}")
    return GuardedThresholds(read_tuning(path), guards)
