"""Deletion of barriers: each barrier of a kernel is left out in turn, which must be reported.

A barrier that can be left out without a report at any launch is superfluous there.  A kernel is
run on copies of its arguments for that, so that the program goes on undisturbed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from runelift.codegen.plan.plan import Choose, Interface, Launch, Step, bodies
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug, CompilerLimitation, UserError
from runelift.ir.imp import Kernel, Stm
from runelift.ir.imp import interpret as imp_interpret
from runelift.ir.imp.traverse import statements
from runelift.ir.types import Const
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.races.checks import RaceChecks
from runelift.runtime.tools.races.interpreted_run import InterpretedRun
from runelift.runtime.tools.races.mistakes import RunTooLong

MOST_LAUNCHES = 6
"""The most launches in which a barrier is left out."""
EXTRA = 60
"""The seconds by which a launch without a barrier may take longer; its loops are the same."""


def barriers_of(kernel: Kernel) -> list[imp.Barrier]:
    """The barriers of a kernel in the order of the text."""
    return [stm for stm in statements(kernel.body) if isinstance(stm, imp.Barrier)]


def without(kernel: Kernel, barrier: imp.Barrier) -> Kernel:
    """A kernel without one of its barriers."""
    return replace(kernel, body=_without(kernel.body, barrier))


def _without(code: Sequence[Stm], barrier: imp.Barrier) -> tuple[Stm, ...]:
    found: list[Stm] = []
    for stm in code:
        match stm:
            case imp.Barrier() if stm is barrier:
                continue
            case imp.For() | imp.While():
                found.append(replace(stm, body=_without(stm.body, barrier)))
            case imp.If(_, then_, else_):
                found.append(replace(stm, then_=_without(then_, barrier),
                                     else_=_without(else_, barrier)))
            case _:
                found.append(stm)
    return tuple(found)


@dataclass(slots=True)
class Deletions:
    """The barriers of the kernels that ran, how often each was left out, and what was reported.

    Each is left out in so many ``launches`` at most.  Those that the present version may run into
    are ``open``.
    """

    launches: int
    open: set[tuple[str, int]] = field(default_factory=set)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    tried: dict[tuple[str, int], int] = field(default_factory=dict)
    reported: dict[tuple[str, int], str] = field(default_factory=dict)

    def leave_out(self, kernel: Kernel, number: int, barrier: imp.Barrier,
                  launch: imp_interpret.Launch) -> None:
        """Run a kernel without one of its barriers."""
        key = kernel.name, number
        self.tried[key] = self.tried.get(key, 0) + 1
        try:
            imp_interpret.run(without(kernel, barrier), launch)
        except CompilerBug as error:
            self.reported[key] = str(error)

    def is_settled(self, key: tuple[str, int]) -> bool:
        """True if a barrier need not be left out any more."""
        return key in self.reported or self.tried.get(key, 0) >= self.launches

    @property
    def finished(self) -> bool:
        """True if all is known about the barriers of the present version."""
        return all(map(self.is_settled, self.open))

    def missed(self) -> list[tuple[str, int, imp.Placement]]:
        """The barriers that can be left out: kernel, number from 1 and placement."""
        return [(name, number, barriers_of(self.kernels[name])[number - 1].placement)
                for name, number in self.tried if (name, number) not in self.reported]


class Finished(Exception):
    """Nothing more can be found out in a run."""


def arguments(interface: Interface, sizes: Sequence[int], seed: int = 1) -> list[Any]:
    """Random arguments: arrays whose sizes have these numbers, again and again."""
    random = np.random.default_rng(seed)
    numbers = {name: sizes[place % len(sizes)] for place, name in enumerate(interface.sizes)}
    found: list[Any] = []
    for spec in interface.params:
        shape = tuple(int(n.value) if isinstance(n, Const) else numbers.setdefault(n, sizes[0])
                      for n in spec.shape or ())
        values = random.random(shape) + 0.5 if spec.prim.is_float else random.integers(1, 4, shape)
        array = np.asarray(values).astype(spec.prim.dtype)
        found.append(array if spec.shape is not None else array[()])
    return found


def delete_barriers(program: Program, entry: str, datasets: Sequence[Sequence[Any]],
                    seconds: float, launches: int = MOST_LAUNCHES) -> Mapping[str, Deletions]:
    """Leave each barrier out in turn, in runs of all versions, by the form of kernels.

    A run ends early when all has been found out about the kernels of its version.
    """
    checks = RaceChecks(program)
    found: dict[str, Deletions] = {}
    for form in checks.forms(entry):
        ledger = found[form.form] = Deletions(launches)
        for _, force in checks.versions(entry, each=True):
            ledger.open = {(kernel.name, number) for kernel in reachable(form.plan.steps, force)
                           for number in range(1, len(barriers_of(kernel)) + 1)}
            for values in datasets:
                if not ledger.finished:
                    with suppress(RunTooLong, Finished, CompilerLimitation, UserError):
                        form.run(values, force, seconds, _deleting(ledger))
    return found


def reachable(steps: Sequence[Step], force: Mapping[str, int]) -> Iterator[Kernel]:
    """The kernels that a run with these versions may launch."""
    for step in steps:
        if isinstance(step, Launch):
            yield step.kernel
        elif isinstance(step, Choose) and step.site in force:
            yield from reachable(step.versions[force[step.site]].steps, force)
        else:
            for body in bodies(step):
                yield from reachable(body, force)


def _deleting(ledger: Deletions) -> type[InterpretedRun]:
    """The runs that note in a ledger what is reported without barriers."""
    class DeletingRun(InterpretedRun):
        def interpret(self, kernel: Kernel, launch: imp_interpret.Launch
                      ) -> imp_interpret.Reported | None:
            ledger.kernels[kernel.name] = kernel
            wanted = [(number, barrier) for number, barrier in enumerate(barriers_of(kernel), 1)
                      if not ledger.is_settled((kernel.name, number))]
            met, before = Counter[int](), _copied(launch.args) if wanted else {}
            reported = imp_interpret.run(kernel, replace(launch, met=met))
            for number, barrier in wanted:
                if met[id(barrier)] and launch.group_size > 1:
                    ledger.leave_out(kernel, number, barrier, replace(
                        launch, args=_copied(before), deadline=launch.deadline + EXTRA))
            if ledger.finished:
                raise Finished
            return reported

    return DeletingRun


def _copied(args: Mapping[Any, Any]) -> dict[Any, Any]:
    """Arguments, of which those that are one array stay one array."""
    copies: dict[int, Any] = {}
    found = {}
    for name, arg in args.items():
        if hasattr(arg, "ctypes"):
            pointer = arg.ctypes.data
            copies.setdefault(pointer, arg.view("u1").copy())
            found[name] = copies[pointer].view(arg.dtype)
        else:
            found[name] = arg
    return found
