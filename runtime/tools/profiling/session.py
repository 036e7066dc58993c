"""Profiling an entry point: runs without a profile, with one, and of each version alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.runtime.cost.peaks import Peaks, measured_peaks
from runelift.runtime.predictions.predict import outlined, predict_call
from runelift.runtime.records.record import Record
from runelift.runtime.tools.profiling.next_step import Commands, steps
from runelift.runtime.tools.profiling.profile import (
    ComparedVersion,
    Profile,
    Runs,
    few,
    profile_of,
    profiled_runs,
)
from runelift.runtime.tools.profiling.way import Call
from runelift.runtime.tools.profiling.ways import difference_from_numpy, measured_ways
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.choose import RequiredVersions
from runelift.runtime.versions.forest import plans
from runelift.runtime.versions.version_names import names_of_plan, version_name, with_version_names

RUNS_ALONE = 3
"""The runs of each version alone."""


def runs_of(call: Call, runs: int,
            seen: Callable[[float, Record | None], None] = lambda seconds, record: None, *,
            warms: bool = True) -> tuple[Runs, list[float]]:
    """Profiled runs of a call, each of them ``seen``, and the seconds of runs without a profile."""
    program, entry, required = call.program, call.entry, RequiredVersions(call.force)
    measured = MeasuredProgram(program)
    resident = measured.place(call.args)
    program.run(entry, resident, force=call.force, device_arrays=True)
    plain = list[float]()
    if warms:
        measured.warm_up(entry, resident, force=required)
        plain += [measured.time(entry, resident, force=required) for _ in few(runs)]
    loaded, sites = program.loaded, program.tree.entry(entry).sites()
    executable = loaded.executable(entry)
    said = predict_call(loaded, entry, outlined(loaded, entry, call.args), program.thresholds,
                        required)
    found = profiled_runs(
        executable, lambda: loaded.bind(executable.plan, list(resident)), runs,
        program.thresholds, required,
        lambda site, index: version_name(sites[site].alternatives[index]), seen)
    return Runs(executable, found, said.totals), plain


def _each_alone(call: Call, peaks: Peaks, begins: Callable[[str], None]
                ) -> Iterator[ComparedVersion]:
    """Each version of an entry point in a few runs, which ``begins`` is told."""
    forest = call.program.tree.entry(call.entry)
    for force in plans(forest):
        name = names_of_plan(forest, force)
        begins(name)
        try:
            runs, _ = runs_of(replace(call, force=force), RUNS_ALONE, warms=False)
        except (UserError, CompilerLimitation) as error:
            reason = with_version_names(str(error).splitlines()[0], forest)
            yield ComparedVersion(name, refused=reason)
            continue
        made = profile_of(runs, (), "", peaks)
        busiest = next((each for each in made.kernels if each.source), None)
        yield ComparedVersion(name, made.wall, busiest)


def profiled(call: Call, measured: tuple[Runs, list[float]], runs: int, dataset: str,
             commands: Commands, *, all_versions: bool, again: bool = False,
             begins: Callable[[str], None] = lambda name: None) -> Profile:
    """The profile of a call that was ``measured``, with ways to make it, in at most ``runs`` runs.

    ``begins`` is told what runs.  The peaks of the device are measured ``again`` if asked for.
    """
    peaks = measured_peaks(call.program.loaded.device, again=again)
    made = profile_of(*measured, dataset, peaks)
    if all_versions:
        made = replace(made, compared=tuple(_each_alone(call, peaks, begins)))
    difference = "" if call.numpy is None else difference_from_numpy(call)
    leaves = {each.label for each in call.program.tree.entry(call.entry).leaves()}
    ways = measured_ways(call, {each.name for each in made.versions} & leaves, runs, begins)
    return replace(made, ways=ways, steps=steps(ways, commands), difference=difference)
