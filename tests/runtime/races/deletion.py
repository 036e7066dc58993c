"""Deletion of barriers: each barrier of a kernel is left out in turn, which must be reported.

A barrier that can be left out without a report at any launch is superfluous there.  A kernel is
run on copies of its arguments for that, so that the program goes on undisturbed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runelift.ir import imp
from runelift.ir.errors import CompilerBug, CompilerLimitation, VersionUnavailable
from runelift.ir.imp import Kernel, Stm
from runelift.ir.imp.interpret import Launch, Reported, TakesTooLong
from runelift.ir.imp.interpret import run as interpret_kernel
from runelift.ir.imp.traverse import statements
from runelift.runtime.program import Program
from runelift.runtime.races.checks import RaceChecks
from runelift.runtime.races.interpreted_run import InterpretedRun
from runelift.runtime.races.mistakes import RunTooLong

MOST_LAUNCHES = 6
"""The most launches in which a barrier is left out."""


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
    """The barriers of the kernels that ran, how often each was left out, and what was reported."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    tried: dict[tuple[str, int], int] = field(default_factory=dict)
    reported: dict[tuple[str, int], str] = field(default_factory=dict)

    def missed(self) -> list[tuple[str, int, imp.Placement]]:
        """The barriers that can be left out: kernel, number from 1 and placement."""
        return [(name, number, barriers_of(self.kernels[name])[number - 1].placement)
                for name, number in self.tried if (name, number) not in self.reported]


def delete_barriers(program: Program, entry: str, datasets: Sequence[Sequence[Any]],
                    seconds: float, *, forms: Sequence[str] = ("processors", "lockstep"),
                    launches: int = MOST_LAUNCHES) -> Mapping[str, Deletions]:
    """Leave each barrier out in turn, in runs of all versions, by the form of kernels."""
    checks = RaceChecks(program)
    found: dict[str, Deletions] = {}
    for form in checks.forms(entry):
        if form.form not in forms:
            continue
        ledger = found[form.form] = Deletions()
        for _, force in checks.versions(entry, each=True):
            for arguments in datasets:
                try:
                    form.run(arguments, force, seconds, _deleting(ledger, launches))
                except (RunTooLong, CompilerLimitation, VersionUnavailable):
                    continue
    return found


def _deleting(ledger: Deletions, launches: int) -> type[InterpretedRun]:
    """The runs that note in a ledger what is reported without barriers."""
    class DeletingRun(InterpretedRun):
        def interpret(self, kernel: Kernel, launch: Launch) -> Reported | None:
            for number, barrier in enumerate(barriers_of(kernel), 1):
                key = kernel.name, number
                ledger.kernels[kernel.name] = kernel
                if key not in ledger.reported and ledger.tried.get(key, 0) < launches:
                    ledger.tried[key] = ledger.tried.get(key, 0) + 1
                    try:
                        interpret_kernel(without(kernel, barrier), replace(
                            launch, args=_copied(launch.args),
                            deadline=min(launch.deadline, time.monotonic() + 2)))
                    except CompilerBug as error:
                        ledger.reported[key] = str(error)
                    except TakesTooLong:
                        pass
            return super().interpret(kernel, launch)

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
