"""A program in this process, measured: the tuner's view of ``Program``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from runelift.runtime.data.compare import first_difference
from runelift.runtime.records.record import Record, Timing
from runelift.runtime.tuner.measure.measurable import Args, Force, Measurable, Thresholds
from runelift.runtime.tuner.workers.placed import Placed, bound

if TYPE_CHECKING:
    from runelift.runtime.execution.calls import Call
    from runelift.runtime.execution.executable import Executable
    from runelift.runtime.execution.submitting import CommandBuffer
    from runelift.runtime.geometry.parameter_space import ParameterSpace
    from runelift.runtime.programs.program import Program
    from runelift.runtime.tuner.replay.racing import Race
    from runelift.runtime.tuner.replay.replay_records import ReplayRecord
    from runelift.runtime.tuner.trials.protocol import OperationTime, Searches
    from runelift.runtime.tuner.workers.result_checks import ResultChecks

UNDISTURBED_RUNS = 3
"""The most runs for one time, until no kernels are built meanwhile."""
BUILD_SHARE = 0.01
"""The part of a run's time that builds may take without disturbing it."""
ISSUE_SHARE = 0.25
"""The part of a run's time that the host is busy at most if it cannot have delayed the device."""
NOTABLE_SECONDS = 0.01
"""Shorter runs are not worth a message to the process that watches the time."""
WARM_UP_SECONDS = 0.02
"""The time after which calls are warm: longer calls gain nothing by the warm-up of short calls."""


class Preparation(NamedTuple):
    """All that happens before the time of a request counts.

    ``source`` is a form of the plan that is needed beside the usual one.  Kernels that fuse
    launches take long to build, up to a second, so only a run that comes often ``fuses``.  A run by
    default is ``patient`` with builds.  If nothing ``runs``, probes by other processes are not
    awaited, but their results presumed: they seldom differ.
    """

    source: str | None = None
    fuses: bool = False
    runs: bool = True
    patient: bool = False


def _patient_by_default(*, force: Force | None = None, thresholds: Thresholds | None = None
                        ) -> Preparation:
    return Preparation(patient=not (force or thresholds))


def _usual(*args: Any, **options: Any) -> Preparation:
    return Preparation()


PREPARATIONS: Mapping[str, Callable[..., Preparation]] = {
    "record": _patient_by_default,
    "timing": _patient_by_default,
    "time": _patient_by_default,
    "time_all": lambda choices, *, often=False: Preparation(fuses=often),
    "unexpected": lambda expected: Preparation(patient=True),
    "replay": lambda race: Preparation("replaying"),
    "try_settings": lambda **options: Preparation("main_of_trials"),
    "predicted": _usual,
    "prebuild": _usual,
    "difference": _usual,
    "results": _usual,
}
"""The preparation of each method of :class:`MeasuredProgram`, by its further arguments."""


class MeasuredProgram(Measurable):
    """A program that runs in this process; ``checks`` compare the results of its versions."""

    def __init__(self, program: Program, checks: ResultChecks | None = None) -> None:
        self.program = program
        self._checks = checks

    @property
    def thresholds(self) -> Thresholds:  # type: ignore[override]  # read only
        """The thresholds of the program."""
        return self.program.thresholds

    @property
    def occupancy(self) -> float:
        """The number of work-items that keep all of the device busy."""
        info = self.program.device_info
        return math.inf if info is None else info.full_items

    @property
    def builders(self) -> int:
        """The number of programs of kernels that are built at the same time."""
        info = self.program.device_info
        return 1 if info is None else info.builders

    def place(self, args: Args) -> Args:
        """The arguments on the device: runs need not check, copy or bind them again."""
        return Placed(self.program, args)

    def prebuild_all(self, entry: str, inputs: Sequence[Args], forces: Sequence[Force]) -> bool:
        """Have other processes begin to build what runs need, as far as shapes tell."""
        return self.program.loaded.prebuilder.prebuild_all(entry, inputs, forces)

    def prebuild(self, entry: str, args: Args, forces: Sequence[Force],
                 recorded: Sequence[Force] = ()) -> int | None:
        """Build what runs need, several programs of kernels at a time."""
        return self.program.loaded.prebuilder.prebuild(entry, args, forces, recorded)

    def save_manifest(self) -> None:
        """Keep what was built for the next tuning."""
        self.program.loaded.prebuilder.save_manifest()

    def predicted(self, entry: str, args: Args, forces: Sequence[Force],
                  thresholds: Thresholds | None = None) -> Sequence[float]:
        """The predicted seconds of runs with each of these versions."""
        # late: start-up; only the tuner predicts forced versions
        from runelift.runtime.predictions.predict import predicted_seconds

        about = *self._bound(entry, args), self._chosen(thresholds)
        return [predicted_seconds(*about, force) for force in forces]

    def record(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None, samples: bool = True) -> Record:
        """The record of a run, whose results are thrown away.

        With ``samples``, it leaves long loops early: a few iterations tell the times of all.
        """
        chosen = self._chosen(thresholds)
        self.program.loaded.prepare_first_run(entry, args, force or {}, chosen)
        executable, bound = self._bound(entry, args)
        outcome = self._call(executable, bound, chosen, force).record(bound, samples=samples)
        found = outcome.record
        assert found is not None
        if not found.skipped:  # else the results are of a few iterations
            self._check(entry, args, force, chosen, outcome.results)
        return found

    def timing(self, entry: str, args: Args, *, force: Force | None = None,
               thresholds: Thresholds | None = None) -> Timing:
        """The seconds of a run without a record, and the seconds until all commands were issued.

        A run that builds kernels is made again.  So is a short run that is slower than the runs
        after it (:meth:`~runelift.runtime.execution.calls.Call.prepare`), unless the device is
        late.
        """
        loaded = self.program.loaded
        chosen = self._chosen(thresholds)
        for _ in range(UNDISTURBED_RUNS):
            executable, bound = self._bound(entry, args)
            least = self._call(executable, bound, chosen, force).prepare(bound)
            loaded.device.plain.finish()
            built = executable.build_seconds
            outcome = self._call(executable, bound, chosen, force).perform(bound)
            timing = Timing(outcome.seconds, outcome.issue)
            self._check(entry, args, force, chosen, outcome.results)
            del outcome  # the next run may have its buffers
            steady = timing.seconds >= least or timing.issue < ISSUE_SHARE * timing.seconds
            if steady and executable.build_seconds - built <= BUILD_SHARE * timing.seconds:
                break
            if timing.seconds > NOTABLE_SECONDS:
                executable.watch.alive()
        return timing

    def warm_up(self, entry: str, args: Args, *, force: Force | None = None,
                thresholds: Thresholds | None = None) -> None:
        """Run until short calls are as fast as they become."""
        self.time(entry, args, force=force, thresholds=thresholds)  # it may build kernels
        spent, count, most = 0.0, 1, self.program.loaded.command_buffer.WARM_UP_RUNS
        while count < most and spent < WARM_UP_SECONDS:
            spent += self.time(entry, args, force=force, thresholds=thresholds)
            count += 1

    def time_all(self, entry: str, args: Args, choices: Sequence[Thresholds], *,
                 often: bool = False) -> Sequence[float]:
        """The seconds of runs with each of these thresholds; ``often``: of fused launches."""
        if often:
            each_once = {id(each): each for each in choices}.values()
            self.program.loaded.executable(entry).make_ready(
                source for each in each_once if (commands := self._commands(entry, args, each))
                for source in commands.fused_programs())
            for thresholds in each_once:
                self.warm_up(entry, args, thresholds=thresholds)
        return super().time_all(entry, args, choices)

    def saved_launches(self, entry: str, args: Args, choices: Sequence[Thresholds]
                       ) -> Sequence[int]:
        """The number of launches and copies that each run saves when it comes often."""
        return [commands.savings() if (commands := self._commands(entry, args, each)) else 0
                for each in choices]

    def replay(self, entry: str, args: Args, race: Race) -> ReplayRecord:
        """Run every version at every encounter, one after the other on equal inputs."""
        # late: start-up; few programs are replayed
        from runelift.runtime.tuner.replay.replay_run import replay

        return replay(*self._bound(entry, args), self.program.thresholds, race)[1]

    def spaces(self, entry: str | None = None) -> Sequence[ParameterSpace]:
        """The possible values of the kernels' parameters."""
        return self.program.spaces(entry)

    def try_settings(self, entry: str, args: Args, *, force: Force | None = None,
                     thresholds: Thresholds | None = None, searches: Searches | None = None,
                     ) -> Sequence[OperationTime]:
        """Run an entry point, and settings of its operations as searches ask for them."""
        # late: start-up; only the tuner tries settings
        from runelift.runtime.tuner.trials.trial_run import TrialRun

        executable, bound = self._bound(entry, args)
        run = TrialRun(executable, self._chosen(thresholds), force or {}, searches or {})
        run.call(executable.forms.main_of_trials, bound)
        return run.met()

    def results(self, entry: str, args: Args, force: Force) -> list[Any]:
        """The results of a run with these versions, all of which must run."""
        return self.program.run(entry, list(args), force=force)[0]

    def difference(self, entry: str, args: Args, before: Thresholds | None,
                   after: Thresholds | None) -> str | None:
        """The difference of results with two choices, if it is more than rounding."""
        one, other = (self.program.run(entry, list(args), thresholds=each)[0]
                      for each in (before, after))
        return first_difference(one, other)

    def unexpected(self, entry: str, args: Args, expected: Sequence[Any]) -> str | None:
        """The first difference of the results by default from the ``expected`` results."""
        return first_difference(list(expected), self.program.run(entry, list(args))[0])

    def _check(self, entry: str, args: Args, force: Force | None, thresholds: Thresholds,
               results: Sequence[Any]) -> None:
        """WrongResults if the results of a run differ from the results by default."""
        if self._checks is not None:
            self._checks.check(self.program, entry, args, force or {}, thresholds,
                               self.program.thresholds, results)

    def _call(self, executable: Executable, bound: dict[str, Any], thresholds: Thresholds,
              force: Force | None) -> Call:
        found: Call = self.program.loaded.command_buffer.call_of(
            executable, bound, thresholds, force or {})
        return found

    def _commands(self, entry: str, args: Args, thresholds: Thresholds) -> CommandBuffer | None:
        """The captured commands of a run with these thresholds, if there are any."""
        return self._call(*self._bound(entry, args), thresholds, None).commands

    def _chosen(self, thresholds: Thresholds | None) -> Thresholds:
        return self.program.thresholds if thresholds is None else thresholds

    def _bound(self, entry: str, args: Args) -> tuple[Executable, dict[str, Any]]:
        return self.program.loaded.executable(entry), bound(self.program, entry, args)
