"""The schedule of a program, the program after each step, and further steps that could be taken."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

from runelift.ir import imp
from runelift.ir.base.files import read_source
from runelift.ir.base.visible import one_line
from runelift.ir.names import Names
from runelift.ir.points import Request, with_rules
from runelift.ir.pretty import pretty
from runelift.ir.syntax import Fun, Program
from runelift.rewrite.engine.rule import Rewriting
from runelift.rewrite.lift.alternatives import Dropped
from runelift.rewrite.lift.blocking import BlockedNest
from runelift.rewrite.lift.candidates import exploring
from runelift.rewrite.lift.outside.apply import OutsideRules
from runelift.rewrite.lift.points import BOOK
from runelift.rewrite.lift.schedule import FUSE, OR, Schedule
from runelift.rewrite.lift.scheduling import Asked, Scheduling
from runelift.rewrite.pipeline import optimise
from runelift.runtime.compilation.entry_points import asked_of
from runelift.runtime.compilation.pipeline import compile_source
from runelift.runtime.rules.load import load_rules
from runelift.runtime.tools.commands.open_program import entries_of, require_entry
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.rewriting_options import rules_of
from runelift.runtime.tools.explanation.copies import blocked_kernels, copied, kernels_of
from runelift.runtime.versions.tuning_file import schedule_of, tuning_of

MOST_WORDS = 8
"""The most words of a choice that a listing shows all of."""


def explain(args: argparse.Namespace, path: Path) -> None:
    """Print a schedule; all else is in comments, so that the output is a schedule again."""
    source = read_source(path)
    chosen = tuning_of(path, args.tuning)
    rules = rules_of(args)
    outside = load_rules(rules)
    steps = schedule_of(args.file) or chosen.schedule_for(source, rules)
    compiled = compile_source(source, policy=args.policy, parameters=chosen.values, schedule=steps,
                              rewriting=Rewriting(Names()), rules=rules)
    require_entry(compiled.interfaces)
    entries = entries_of(args, (fun.name for fun in compiled.core.funs))
    core = compiled.core if args.entry is None else Program(
        tuple(fun for fun in compiled.core.funs if fun.name in entries))
    asked = asked_of(compiled.schedule, compiled.numbers, rules)
    versions = () if asked.schedule is None else asked.schedule.versions
    found = [_Followed.of(core, compiled.names, replace(asked, schedule=each), outside,
                          explores=False, policy=args.policy) for each in versions]
    found.append(_Followed.of(core, compiled.names, asked, outside, explores=True,
                              policy=args.policy))
    if args.json:
        print_json(_facts(found, compiled.dropped))
        return
    print(f"-- The schedule of {one_line(path.name)}: a step a line, PLACE POINT(ARGUMENTS).")
    if not any(each.points.taken for each in found):
        print("-- It has no steps.")
    reasons = {each.schedule: each.why for each in compiled.dropped}
    for number, each in enumerate(found):
        if number:
            print(f"-- '{OR}' stands between schedules, each of a version of the program.\n{OR}")
        for line in _lines(each, each.after if args.steps else {}):
            print(line)
        if why := reasons.get(tuple(map(str, each.points.taken))):
            print(f"-- It gives no version: it {why}.")


@dataclass(frozen=True, slots=True)
class _Followed:
    """The points of a compilation, and the entry point after each step, by the step's identity."""

    points: Scheduling
    after: dict[int, Fun]
    kernels: list[imp.Kernel]

    @classmethod
    def of(cls, core: Program, names: Names, asked: Asked, outside: OutsideRules, *,
           explores: bool, policy: str) -> _Followed:
        """A compilation with these points, and with rules from outside."""
        after: dict[int, Fun] = {}
        points = Scheduling({**BOOK, **outside.points}, asked, needs=[],
                            explore=exploring({**BOOK, **outside.points}) if explores else None,
                            watch=lambda step, fun: after.update({id(step): fun}))
        names = copy(names)
        with with_rules(outside.points):
            done = optimise(core, names, Rewriting(names, outside=outside.always), points=points)
        return cls(points, after, blocked_kernels(done, names, policy)
                   if points.blocking.complete else [])

    def copied(self, nest: BlockedNest) -> list[str]:
        """The arrays of which the kernels of a nest copy elements to local memory."""
        return sorted({name for kernel in kernels_of(self.kernels, nest.original)
                       for name in copied(kernel)})

    def about(self, nest: BlockedNest) -> Iterator[str]:
        """The kernel of a nest, and why it copies nothing."""
        if not kernels_of(self.kernels, nest.original):
            yield (f"{nest.path} has no kernel for its blocks: work-items cannot keep what its "
                   "points need.")
            return
        found = self.copied(nest)
        yield f"{nest.path} is one kernel, for all sizes: {nest.blocks.words(found)}."
        if nest.blocks.copies and not found:
            yield ("Nothing is copied: the work-items of a group read no elements in common, or "
                   "only the data tells which.")


def _facts(followed: Sequence[_Followed], dropped: Iterable[Dropped]) -> dict[str, Any]:
    *versions, last = found = [each.points for each in followed]
    text = Schedule(last.schedule.steps, tuple(each.schedule for each in versions)).text
    return {"schedule": text.splitlines(),
            "needs": [str(need) for each in found for need in each.needs or ()],
            "blocks": {nest.path: str(nest.blocks) for each in found
                       for nest in each.blocking.complete},
            "copied": {nest.path: each.copied(nest) for each in followed
                       for nest in each.points.blocking.complete},
            "said": {str(each.taken[k]): list(said) for each in found
                     for k, said in each.said.items()},
            "no_version": [{"schedule": list(each.schedule), "why": each.why} for each in dropped],
            "left_out": [str(each.taken[k]) for each in found for k in sorted(each.left_out)],
            "possible": [{"step": str(each), "after_fusion": each.fused}
                         for each in last.possible]}


def _lines(followed: _Followed, dumps: Mapping[int, Fun]) -> Iterator[str]:
    """The steps, some with the program after them, and the steps that could follow."""
    points = followed.points
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
            yield from (f"-- {each}." for each in points.said.get(number, ()))
        for nest in points.blocking.complete if fused else ():
            yield from (f"-- {each}" for each in followed.about(nest))
        if fused and points.needs:
            yield f"-- This needs that {' and '.join(dict.fromkeys(map(str, points.needs)))}."
        if possible:
            yield "-- Steps that could follow here, by place (A|B: one of these words):"
            for (place, loc), found in groupby(possible, key=lambda step: (step.place, step.loc)):
                at = f" at {loc.line}:{loc.column}" if loc is not None else ""
                yield f"--   {place}{at}: {'  '.join(_joined(each.request for each in found))}"


def _joined(requests: Iterable[Request]) -> Iterator[str]:
    """The texts of requests.

    The requests of a point become one text if they are all combinations of words.

    >>> from runelift.ir.points import read_request
    >>> list(_joined([read_request("materialise(local)"), read_request("materialise(private)")]))
    ['materialise(local|private)']
    """
    for _, found in groupby(requests, key=lambda each: each.point):
        first, *rest = found
        words = [dict.fromkeys(map(str, column))
                 for column in zip(*(each.arguments for each in (first, *rest)), strict=True)]
        if prod(map(len, words)) == len(rest) + 1:
            yield first.text(tuple(map(_one_of, words)))
        else:
            yield from map(str, (first, *rest))


def _one_of(words: Iterable[str]) -> str:
    """Words that exclude each other, the first of them if they are many.

    >>> _one_of("abcdefghijk")
    'a|b|c|...'
    """
    *shown, = words
    return "|".join(shown if len(shown) <= MOST_WORDS else [*shown[:3], "..."])
