"""Ways to make a call, measured in turn: settings, versions, other programs, more data, NumPy."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from runelift.ir.base.errors import CompilerLimitation, RuneliftError, UserError
from runelift.ir.names import VName
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.dataset import Generator
from runelift.runtime.data.text import Spec
from runelift.runtime.execution.calls import WARM_UP_RUNS
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.programs.entry_point import python_names
from runelift.runtime.programs.program import Program
from runelift.runtime.records.format import show_seconds
from runelift.runtime.tools.profiling.next_step import FACTOR, Commands, Kind, MeasuredWay
from runelift.runtime.tools.profiling.profile import SECONDS
from runelift.runtime.tools.profiling.schedules import schedules
from runelift.runtime.tools.profiling.way import Call, Way
from runelift.runtime.tools.profiling.windows import windows
from runelift.runtime.tuner.measure.in_turn import InTurn
from runelift.runtime.tuner.workers.measured_program import WARM_UP_SECONDS, MeasuredProgram
from runelift.runtime.versions.choose import RequiredVersions
from runelift.runtime.versions.forest import Forest, plans
from runelift.runtime.versions.version_names import names_of_plan, with_version_names

MOST_VERSIONS = 16
"""The most versions that are tried.  They have the least predicted time."""
LONG, SECOND = 5.0, 1.0
"""Versions predicted to take so many times as long as the best, and so long, are not tried."""
SLOW, SHORT = 3.0, 0.05
"""Ways that take so many times as long as the call, and so many seconds, run once."""
MORE, ENOUGH, LEAST_ROUNDS = 3, 1.0, 2
"""There are so many times as many rounds if all take so few seconds, and so many at least."""
MOST_CONSTANT = 4096
"""The greatest number that is tried as a constant."""
SHORT_CALL, MOST_BYTES = 0.002, 256 << 20
"""More data are tried for calls of so few seconds, and are of so many bytes at most."""


def measured_ways(call: Call, ran: Set[str], runs: int,
                  begins: Callable[[str], None] = lambda name: None) -> tuple[MeasuredWay, ...]:
    """All ways to make a call, in turn for ``runs`` rounds or more, if rounds are short.

    It ``ran`` these versions.  ``begins`` is told the name of each way.
    """
    measured = MeasuredProgram(call.program)
    resident = measured.place(call.args)
    required = RequiredVersions(call.force)
    timed = partial(measured.time, call.entry, resident)
    now = "forced" if call.force else "tuned" if call.program.thresholds else "default"
    ways = [Way(Kind.NOW, f"{now}, {', '.join(sorted(ran))}" if ran else now,
                partial(timed, force=required))]
    if call.force:
        ways.append(Way(Kind.DEFAULT, "without --force", timed))
    elif call.program.thresholds:
        ways.append(Way(Kind.DEFAULT, "default", partial(timed, thresholds={})))
    begins("layouts and tiles, by predicted times")
    versions, left_out = _versions(call, measured, resident, ran)
    ways += [*versions, *_from_python(call, resident), *_constant(call, resident),
             *windows(call, resident), *schedules(call, resident)]
    ways += _larger(call, timed(force=required))
    return (*in_turn(ways, runs, begins, call.program.tree.entry(call.entry)), *left_out)


def in_turn(ways: Sequence[Way], runs: int, begins: Callable[[str], None], forest: Forest
            ) -> tuple[MeasuredWay, ...]:
    """Ways that run in turn, the first one of which is the call as it is now.

    Larger data is random, so a program that refuses it says nothing about the call.
    """
    refused = dict[Way, str]()

    def failed(way: Way, error: RuneliftError) -> None:
        refused[way] = with_version_names(str(error).splitlines()[0], forest)

    turns = InTurn(list(ways), lambda way: way.time(), failed=failed)
    for way in ways:
        begins(way.name)
        _warm_up(turns, way)
    started = time.monotonic()
    for number in range(max(MORE * runs, LEAST_ROUNDS)):
        allowed = SECONDS if number < runs else ENOUGH
        if number >= LEAST_ROUNDS and time.monotonic() > started + allowed:
            break
        turns.run()
        if number == 0:
            most = max(SHORT, SLOW * turns.last[ways[0]])
            turns.choices = [each for each in turns.choices if turns.last[each] <= most]
    return tuple(MeasuredWay(each.kind, each.name, each.detail,
                             () if each in refused else tuple(turns.seconds.get(each, ())),
                             refused.get(each, ""))
                 for each in ways if each.kind is not Kind.LARGER or each not in refused)


def _warm_up(turns: InTurn[Way], way: Way) -> None:
    """Run a way until it is as fast as it becomes, as :meth:`MeasuredProgram.warm_up` does."""
    turns.choices, all_ways = [way], turns.choices
    spent = 0.0
    for number in range(WARM_UP_RUNS):
        turns.warm_up()
        if not turns.choices:
            all_ways = [each for each in all_ways if each is not way]
            break
        spent += turns.last[way] if number else 0.0
        if spent >= WARM_UP_SECONDS:
            break
    turns.choices = all_ways


def _versions(call: Call, measured: MeasuredProgram, resident: Sequence[Any], ran: Set[str]
              ) -> tuple[list[Way], list[MeasuredWay]]:
    """The versions to try, and versions that are left out, as they are predicted to take long.

    Versions that ``ran`` are not tried again.
    """
    forest = call.program.tree.entry(call.entry)
    forces = [each for each in plans(forest)
              if each and not (ran and ran <= set(names_of_plan(forest, each).split(", ")))]
    seconds = measured.predicted(call.entry, resident, forces)
    order = sorted(range(len(forces)), key=lambda number: (seconds[number], number))
    ways, left_out = list[Way](), list[MeasuredWay]()
    for place, number in enumerate(order):
        force, name = forces[number], names_of_plan(forest, forces[number])
        if place >= MOST_VERSIONS or seconds[number] > max(SECOND, LONG * seconds[order[0]]):
            left_out.append(MeasuredWay(
                Kind.VERSION, name,
                refused=f"{name} was not tried: {show_seconds(seconds[number])} predicted"))
            continue
        ways.append(Way(Kind.VERSION, name, partial(
            measured.time, call.entry, resident, force=RequiredVersions(force)), repr(force)))
    return ways, left_out


def _from_python(call: Call, resident: Sequence[Any]) -> Iterator[Way]:
    """The call from Python with arrays on the device, with NumPy arrays, and NumPy's function."""
    there = list(resident)
    yield Way(Kind.DEVICE, "from Python, device arrays",
              lambda: call.seconds_from_python(there, to_host=False))
    host = call.on_host()
    if not any(isinstance(each, DeviceArray) for each in call.args):
        yield Way(Kind.HOST, "from Python, NumPy arrays",
                  lambda: call.seconds_from_python(host, to_host=True))
    if call.numpy is not None:
        own, function = [np.copy(each)[()] for each in host], call.numpy.function

        def timed() -> float:
            started = time.perf_counter()
            function(*own)
            return time.perf_counter() - started

        yield Way(Kind.NUMPY, f"NumPy: {call.numpy.name}", timed)


def _constant(call: Call, resident: Sequence[Any]) -> Iterator[Way]:
    """An entry point where integers, which are no sizes of arguments, are constants."""
    declared = call.program.compiled.signatures[call.entry]
    specs = call.program.interface(call.entry).params
    if not call.transparent or call.force:
        return
    sizes = {size for each in specs for size in each.shape or ()}
    fixed = {number: int(value) for number, (each, value) in enumerate(zip(
        specs, call.args, strict=True)) if each.shape is None and each.prim.is_int
        and each.name not in sizes and abs(int(value)) <= MOST_CONSTANT}
    if not fixed or len(fixed) == len(specs):
        return
    names = python_names(declared)
    kept = [number for number in range(len(specs)) if number not in fixed]
    name = "_".join([call.entry, *(f"{names[each]}{value}".replace("-", "m")
                                   for each, value in fixed.items())])
    said = ", ".join(f"{names[each]} = {value}" for each, value in fixed.items())
    program, text = call.program, f"program.{name}({', '.join(names[each] for each in kept)})"
    if name not in program.entries:
        types = " ".join(f"({names[each]}: {declared.params[each].written})" for each in kept)
        sizes_of = "".join(f"[{each}] " for each in declared.sizes if f"[{each}]" in types)
        given = " ".join(names[each] if each in kept else f"{fixed[each]}" if fixed[each] >= 0
                         else f"({fixed[each]})" for each in range(len(specs)))
        text = f"entry {name} {sizes_of}{types} = {call.entry} {given}"
        try:
            added = program[call.entry].with_text(lambda _: (name, f"\n{text}\n"))
        except (UserError, CompilerLimitation):
            return
        assert isinstance(added.program, Program)
        program = added.program
    elif len(program.interface(name).params) != len(kept):
        return
    measured = MeasuredProgram(program)
    arguments = measured.place([resident[number] for number in kept])
    yield Way(Kind.CONSTANT, f"{name}, with {said}", partial(measured.time, name, arguments), text)


def _larger(call: Call, seconds: float) -> Iterator[Way]:
    """Random data where one size is larger, for a share of the time."""
    specs = call.program.interface(call.entry).params
    arrays = [(math.prod(np.shape(value)) * spec.prim.bytes, spec.shape)
              for spec, value in zip(specs, call.args, strict=True) if spec.shape]
    whole = sum(size for size, _ in arrays)
    if seconds > SHORT_CALL or not call.transparent or not whole or call.force:
        return
    grown = max(arrays, key=lambda each: each[0])[1][0]
    if (not isinstance(grown, VName) or FACTOR * whole > MOST_BYTES
            or any(shape.count(grown) > 1 for _, shape in arrays)):
        return
    length = next(np.shape(value)[0] for spec, value in zip(specs, call.args, strict=True)
                  if spec.shape and spec.shape[0] == grown)
    wanted = [Spec(tuple(length * (FACTOR if size == grown else 1) for length, size in zip(
        np.shape(value), spec.shape, strict=True)), spec.prim) if spec.shape else
        spec.prim.dtype.type(FACTOR * value if spec.name == grown else value)
        for spec, value in zip(specs, call.args, strict=True)]
    text = " ".join(f"'{each}'" if isinstance(each, Spec) else
                    f"{each}{spec.prim.value}" for each, spec in zip(wanted, specs, strict=True))
    measured = MeasuredProgram(call.program)
    there = list[Any]()

    def timed() -> float:
        if not there:
            there.append(measured.place(Generator().recipes(wanted)))
        return measured.time(call.entry, there[0]) / FACTOR

    yield Way(Kind.LARGER, f"a {FACTOR}th of a call with {grown.base} = {FACTOR * length}", timed,
              text)


def difference_from_numpy(call: Call) -> str:
    """The first difference of the results of NumPy's function in words; empty if there is none."""
    assert call.numpy is not None
    own = call.program.run(call.entry, list(call.args))[0]
    try:
        found = call.numpy.function(*(np.copy(each)[()] for each in call.on_host()))
    except Exception as error:
        raise UserError(f"{call.numpy.name} fails: {type(error).__name__}: {error}") from error
    theirs = list(found) if isinstance(found, tuple) else [found]
    if len(own) == len(theirs):  # NumPy likes wider types
        theirs = [np.asarray(each).astype(np.asarray(like).dtype)[()]
                  for each, like in zip(theirs, own, strict=True)]
    return first_difference(theirs, own) or ""


def commands_in_python(call: Call) -> Commands:
    """Commands for a program in Python."""
    declared, name = call.program.compiled.signatures[call.entry], call.program.compiled.source.name
    return Commands(call.entry, python_names(declared),
                    ["[" in each.type for each in declared.params],
                    text=f"open({name!r}).read()" if Path(name).is_file() else "text")
