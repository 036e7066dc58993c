"""The schedule of a program, the program after each step, and further steps that could be taken."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from itertools import groupby
from math import prod
from pathlib import Path

from runelift.ir.errors import unknown_entry
from runelift.ir.files import read_source
from runelift.ir.names import Names
from runelift.ir.points import Request, with_rules
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Fun, Program
from runelift.ir.visible import one_line
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import FUSE, Step
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
                        needs=[], watch=lambda step, fun: after.append((step, fun)))
    names = copy(compiled.names)
    with with_rules(outside.points):
        optimise(core, names, Rewriting(names, outside=outside.always), points=points)
    if args.json:
        print_json({"schedule": points.schedule.text.splitlines(),
                    "left_out": [str(points.taken[number]) for number in sorted(points.left_out)],
                    "possible": [{"step": str(each), "after_fusion": each.fused}
                                 for each in points.possible]})
        return
    print(f"-- The schedule of {one_line(path.name)}: a step a line, PLACE POINT(ARGUMENTS).")
    if not points.taken:
        print("-- It has no steps.")
    dumps = {id(step): fun for step, fun in after} if args.steps else {}
    for line in _lines(points, dumps):
        print(line)


def _lines(points: Scheduling, dumps: Mapping[int, Fun]) -> Iterator[str]:
    """The steps, some with the program after them, and the steps that could follow."""
    for fused in (False, True):
        steps = [(number, step) for number, step in enumerate(points.taken) if step.fused is fused]
        possible = [each for each in points.possible if each.fused is fused]
        if fused and (steps or possible):
            yield f"-- '{FUSE}' stands for fusion: what follows sees reductions with their maps."
            yield FUSE
        for number, step in steps:
            yield str(step)
            if number in points.left_out:
                yield f"-- It is left out, as {step.skip_name(points.taken[:number])} is 1."
            elif id(step) in dumps:
                text = pretty(Program((dumps[id(step)],)))
                yield from (f"--   {line}".rstrip() for line in text.splitlines())
        if possible:
            yield "-- Steps that could follow here, by place (A|B: one of these words):"
            for (place, loc), found in groupby(possible, key=lambda step: (step.place, step.loc)):
                at = f" at {loc.line}:{loc.column}" if loc is not None else ""
                yield f"--   {place}{at}: {'  '.join(_joined(each.request for each in found))}"


def _joined(requests: Iterable[Request]) -> Iterator[str]:
    """The texts of requests; those of one point become one if they are all combinations of words.

    >>> from runelift.ir.points import read_request
    >>> list(_joined([read_request("materialise(local)"), read_request("materialise(private)")]))
    ['materialise(local|private)']
    """
    for _, found in groupby(requests, key=lambda each: each.point):
        first, *rest = found
        words = [dict.fromkeys(map(str, column))
                 for column in zip(*(each.arguments for each in (first, *rest)), strict=True)]
        if prod(map(len, words)) == len(rest) + 1:
            yield first.text(tuple(map("|".join, words)))
        else:
            yield from map(str, (first, *rest))
