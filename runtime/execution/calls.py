"""One life of a call: plan, capture, submit, bind, fuse.

The commands of a plan follow from the sizes and scalars that it is given, and from values that it
reads back on the way.  So calls that agree in sizes and scalars are one :class:`Call`, which climbs
a ladder:

- Call 1 runs the plan: :func:`run_plan`.
- Call 2 runs the plan and captures its commands: :func:`capture`.
- Call 3 submits the commands: :meth:`Call.repeat`, ``CommandBuffer.issue_unbound``.
- Call 4 binds the commands to their buffers and submits them: ``CommandBuffer.bind``.
- Call 5 and later calls set the arguments that differ: ``BoundCalls.issue``.
- Call 10 fuses launches, on a GPU: ``CommandBuffer.fuse``.

Calls with arguments of unknown kinds take the rung :func:`submit` from call 3 on.  Buffers that are
new are bound anew.  The plan runs again if a value that is read differs, or if memory is short.
CUDA graphs and OpenCL's ``cl_khr_command_buffer`` are the same idea; drivers seldom have this
extension.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from runelift.codegen.plan.plan import ValueSpec
from runelift.runtime.devices.memory import Buffer
from runelift.runtime.execution.arguments import check_argument
from runelift.runtime.execution.capturing import CapturingRun, DryCapture
from runelift.runtime.execution.decision_cache import Decisions
from runelift.runtime.execution.delivery import Delivery
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.execution.executable import Executable
from runelift.runtime.execution.run import Force, Outcome, Run
from runelift.runtime.execution.submitting import SUBMITS_BEFORE_FUSION, CommandBuffer, bits
from runelift.runtime.records.record import Record

WARM_UP_RUNS = SUBMITS_BEFORE_FUSION + 4
"""The number of runs before the first run that is like all later runs."""
CAPTURE_COST = 0.1
"""Runs of fewer seconds take longer while they are captured."""
SWITCH_COST = 0.001
"""Runs of fewer seconds take longer after runs of other kernels (by 3 %, on one GPU)."""
MOST_COLD_RUNS = 2
"""The most runs before the one with a record, until none of them builds or begins anything."""
COLD_SHARE = 0.01
"""The part of a run's time that builds and first launches may take."""
FIRST_LAUNCH_SECONDS = 0.001
"""The time that first launches of a run cost at most, apart from what a driver builds then."""
NO_SCALARS: Mapping[str, Any] = {}
SCALARS = (float, int, np.generic)
"""The types of scalars; bool is an int."""


# The ladder: a rung makes a call on bound arguments, and sets the rung of the next call.

def run_plan(call: Call, args: dict[str, Any], deliver: Delivery | None) -> Outcome:
    """Run the plan; the first run that captures its commands moves the call to the next rung."""
    if call.executable.policy.captures_first:
        return capture(call, args, deliver)
    call.rung = capture
    return call.run().call(call.executable.forms.main, args, deliver=deliver)


def capture(call: Call, args: dict[str, Any], deliver: Delivery | None) -> Outcome:
    """Run the plan, and capture its commands."""
    run = CapturingRun(call.executable, call.decisions.thresholds, call.decisions.force, args)
    outcome = run.call(call.executable.forms.main, args, deliver=deliver)
    call.captured(run.command_buffer())
    return outcome


def run_plan_again(call: Call, args: dict[str, Any], deliver: Delivery | None) -> Outcome:
    """Run the plan, as commands that cannot be repeated ask for."""
    return call.run().call(call.executable.forms.main, args, deliver=deliver)


def submit(call: Call, args: dict[str, Any], deliver: Delivery | None) -> Outcome:
    """Submit the captured commands on other buffers."""
    commands = call.commands
    assert commands is not None
    given = commands.given(args)
    args.clear()
    started = time.perf_counter()
    results = commands.submit(*given, deliver)
    return Outcome(results, None, time.perf_counter() - started, commands.run.issued - started)


Rung: TypeAlias = Callable[["Call", dict[str, Any], Delivery | None], Outcome]


class Call:
    """Calls of a plan under certain decisions that agree in sizes, scalars and equal buffers.

    The next call is on ``rung``.  ``commands`` are there once they are captured.
    """

    __slots__ = ("commands", "decisions", "device", "executable", "free", "has_record", "rung")

    def __init__(self, executable: Executable, decisions: Decisions) -> None:
        self.executable, self.decisions = executable, decisions
        self.device, self.free = executable.device, executable.forms.free
        self.rung: Rung = run_plan
        self.commands: CommandBuffer | None = None
        self.has_record = False

    def run(self, *, record: bool = False, samples: bool = False) -> Run:
        """A new run of the plan; ``record`` and ``samples`` say what it measures."""
        return Run(self.executable, self.decisions.thresholds, self.decisions.force, record,
                   samples=samples and self.executable.forms.foreseeable)

    def captured(self, commands: CommandBuffer | None) -> None:
        """Submit these commands from now on; without any, run the plan each time."""
        self.commands = commands
        self.rung = run_plan_again if commands is None else submit

    def perform(self, args: dict[str, Any], deliver: Delivery | None = None) -> Outcome:
        """Make a call on bound arguments, which are taken out of ``args``.

        The results are raw, or what ``deliver`` makes of them.
        """
        return self.rung(self, args, deliver)

    def repeat(self, args: Sequence[Any], deliver: Delivery,
               upload: Callable[[Any, list[Any] | None], Buffer]) -> tuple[Any, ...]:
        """Submit the commands on arguments of known kinds; ``upload`` makes buffers of arrays.

        The run waits for the copies of arguments, unless Ctrl-C may end its wait.
        """
        device, commands, free = self.device, self.commands, self.free
        assert commands is not None
        copies: list[Any] = []  # no call, which takes longer
        device.check()
        buffers = []
        for place in free.arrays:
            arg = args[place]
            buffers.append(arg.buffer if type(arg) is DeviceArray else upload(
                arg, None if commands.run.waits_long else copies))
        scalars = {name: _number(spec, args[n]) for n, name, spec in free.places} if (
            free.places) else NO_SCALARS
        if commands.warms:
            commands.warm()
        return commands.submit(buffers, scalars, deliver)

    # For who measures

    def prepare(self, args: Mapping[str, Any]) -> float:
        """Build the kernels that make a call on these arguments faster, if it comes often enough.

        The result is for measuring, in seconds: a shorter run takes longer than the runs after it.
        It may be captured, follow other runs, or be the first with a persistent kernel.
        """
        executable, is_new = self.executable, False
        measures = executable.policy.captures_first
        if self.rung is capture and measures and executable.forms.foreseeable:
            dry = DryCapture(executable, self.decisions.thresholds, self.decisions.force, args)
            commands = dry.capture(dict(args))
            if not dry.first_launches:  # else a run is captured, as commands that are submitted
                self.captured(commands)  # again tell nobody when a driver compiles
                is_new = True
        if self.commands is not None:
            self.commands.warm()
            if not measures or self.commands.ready(args):
                return 0.0
            return CAPTURE_COST if is_new and self.commands.has_loop else SWITCH_COST
        return CAPTURE_COST if measures and self.rung is not run_plan_again else 0.0

    def record(self, args: dict[str, Any], *, samples: bool = False) -> Outcome:
        """Run with a record.  The run is made again if builds or first launches are in its times.

        For who captures first, it counts as the run before the captured one.
        """
        outcome, record = self._record(args, samples)
        if (self.executable.policy.captures_first and self.rung is run_plan
                and record.infeasible == self.executable.infeasible):
            self.rung = capture
        return outcome

    def _record(self, args: dict[str, Any], samples: bool) -> tuple[Outcome, Record]:
        executable = self.executable
        for _ in range(0 if self.has_record else MOST_COLD_RUNS):
            before = executable.build_seconds
            outcome, made = self._run_with_record(dict(args), samples)
            built = executable.build_seconds - before
            if not _is_cold(made, outcome.first_launches, built):
                break
            del outcome  # the next run may have its buffers
            if made.wall - built > CAPTURE_COST:
                executable.watch.alive()
        else:
            outcome, made = self._run_with_record(args, samples)
        self.has_record = True
        return outcome, made

    def _run_with_record(self, args: dict[str, Any], samples: bool) -> tuple[Outcome, Record]:
        outcome = self.run(record=True, samples=samples).call(self.executable.forms.main, args)
        assert outcome.record is not None
        return outcome, outcome.record


def _is_cold(made: Record, first_launches: int, built: float) -> bool:
    """True if a run took notably longer because it was the first: it built kernels for ``built``
    seconds, or launched kernels for the first time.
    """
    idle = made.span - made.busy
    return built > COLD_SHARE * made.wall or (first_launches > 0 and (
        made.span < FIRST_LAUNCH_SECONDS / COLD_SHARE or idle > COLD_SHARE * made.span))


# Finding a call

def call_of(executable: Executable, args: Mapping[str, Any], thresholds: Mapping[str, int],
            force: Force) -> Call:
    """The call on bound arguments like these, which is new if there was none."""
    decisions, key = executable.decisions.under(thresholds, force), key_of(executable, args)
    if (found := decisions.calls.get(key)) is None:
        found = decisions.calls[key] = Call(executable, decisions)
    return found


def key_of(executable: Executable, args: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """The sizes and scalars among arguments, floats by their bits, and the buffers that are one.

    The values of free scalars are no part of it.
    """
    key = list[Hashable]()
    handles, free = list[int](), executable.forms.free.names
    for name, value in args.items():
        if isinstance(value, Buffer):
            handles.append(id(value.handle))
        elif name not in free:
            key.append(bits(value))
    return (*key, *_equal_buffers(handles))


def _equal_buffers(handles: Sequence[int]) -> tuple[Hashable, ...]:
    """Nothing if all buffers differ, else for each buffer the place of the first equal buffer."""
    if len(set(handles)) == len(handles):
        return ()
    return (tuple(map(handles.index, handles)),)


def kinds_of(args: Sequence[Any], executable: Executable) -> Hashable | None:
    """The kinds of a caller's arguments; None if calls with them are not known by kinds.

    Kinds are types and sizes of arrays, values of scalars, and the arrays that are one.  Free
    scalars (:mod:`runelift.codegen.plan.free_scalars`) are of a kind if they have the same type.
    """
    kinds: list[Hashable] = []
    arrays = 0
    for place, arg in enumerate(args):
        if type(arg) is DeviceArray:
            kinds.append(arg.kind)
            arrays += 1
        elif (kind := _kind(arg, place in executable.forms.free.specs)) is not None:
            kinds.append(kind)
        else:
            return None
    if arrays > 1:
        kinds += _equal_buffers([id(arg.buffer.handle) for arg in args
                                 if type(arg) is DeviceArray])
    return tuple(kinds)


def _kind(arg: Any, is_free: bool) -> Hashable | None:
    """The kind of an argument that is not on the device."""
    type_ = type(arg)
    if type_ is np.ndarray:
        return (arg.dtype, arg.shape) if arg.ndim else None
    if not issubclass(type_, SCALARS):
        return None
    if is_free:
        return (type_,)
    if type_ is float:
        return struct.pack("d", arg)  # 0 and -0 differ, and NaN equals itself
    return type_, (arg.tobytes() if isinstance(arg, np.generic) else arg)


def _number(spec: ValueSpec, arg: Any) -> Any:
    """A scalar argument as Python's number; UserError if it is too large for its type."""
    value = arg if isinstance(arg, np.generic) else check_argument(spec, arg)
    return value.item()
