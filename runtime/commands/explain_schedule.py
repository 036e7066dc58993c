"""The schedule of a program, the program after each step, and further steps that could be taken."""

from __future__ import annotations

import argparse
from copy import copy
from pathlib import Path

from runelift.ir.errors import unknown_entry
from runelift.ir.files import read_source
from runelift.ir.names import Names
from runelift.ir.points import with_rules
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Fun, Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import FUSE, Schedule, Step
from runelift.rewrite.lift.scheduling import Scheduling
from runelift.rewrite.pipeline import optimise
from runelift.runtime.commands.options import print_json
from runelift.runtime.commands.rewriting_options import rules_of
from runelift.runtime.compilation.entry_points import asked_of
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.rules.read import load_rules
from runelift.runtime.versions.tuning_file import schedule_of, tuning_of


def explain_schedule(args: argparse.Namespace, path: Path) -> None:
    """Print a schedule; all else is in comments, so that the output is a schedule again."""
    source = read_source(path)
    chosen = tuning_of(path, args.tuning)
    rules = rules_of(args)
    outside = load_rules(rules)
    steps = schedule_of(args.file) or chosen.schedule_for(source, rules)
    compiled = compile_source(source, policy=args.policy, parameters=chosen.values, schedule=steps,
                              rewriting=Rewriting(Names()), rules=rules)
    core = compiled.core
    if args.entry is not None:
        core = Program(tuple(fun for fun in core.funs if fun.name == args.entry))
        if not core.funs:
            raise unknown_entry(args.entry, (fun.name for fun in compiled.core.funs))
    after: list[tuple[Step, Fun]] = []
    points = Scheduling({**BOOK, **outside.points},
                        asked_of(compiled.schedule, compiled.numbers, rules), explores=True,
                        watch=lambda step, fun: after.append((step, fun)))
    names = copy(compiled.names)
    with with_rules(outside.points):
        optimise(core, names, Rewriting(names, outside=outside.always), points=points)
    if args.json:
        print_json({"schedule": points.schedule.text.splitlines(),
                    "left_out": [str(points.taken[number]) for number in sorted(points.left_out)],
                    "possible": [{"step": str(each), "after_fusion": each.fused}
                                 for each in points.possible]})
        return
    if args.steps:
        _print_steps(points, after)
    else:
        print(points.schedule.text, end="")
    for number in sorted(points.left_out):
        print(f"-- left out: {points.taken[number]}")
    for fused in (False, True):
        found = [each for each in points.possible if each.fused is fused]
        if found:
            print(f"-- Steps that match {'after' if fused else 'before'} '{FUSE}':")
            print("".join(f"-- {each}\n" for each in found), end="")


def _print_steps(points: Scheduling, after: list[tuple[Step, Fun]]) -> None:
    """The steps, each with the program after it."""
    dumps = {id(step): fun for step, fun in after}
    steps = sorted(points.taken, key=lambda step: step.fused)
    for number, step in enumerate(steps):
        lines = Schedule((step,)).text.splitlines()
        if number and steps[number - 1].fused:
            lines = lines[1:]
        print("\n".join(lines))
        if (fun := dumps.get(id(step))) is not None:
            print("".join(f"--   {line}\n" for line in pretty(Program((fun,))).splitlines()),
                  end="")
