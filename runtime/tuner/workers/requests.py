"""Requests of the tuner to a worker process, one class each.

:class:`~runelift.runtime.tuner.workers.remote.Remote` sends them, and
:meth:`~runelift.runtime.tuner.workers.worker.Session.answer` answers them.  Requests to processes
that only build kernels are tuples, as those must not import this module before they have to.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from runelift.codegen.plan.plan import Plan  # noqa: F401  (in strings)
    from runelift.runtime.compilation.compiled import Compiled
    from runelift.runtime.records.record import Record, Timing  # noqa: F401
    from runelift.runtime.replay.racing import Race
    from runelift.runtime.replay.replay_records import ReplayRecord  # noqa: F401
    from runelift.runtime.trials.protocol import OperationId, OperationTime  # noqa: F401
    from runelift.runtime.tuner.measure.measurable import Args, Force, Thresholds

Answer_co = TypeVar("Answer_co", covariant=True)
BuilderRequest: TypeAlias = tuple[Any, ...]
"""``("build", source)``, ``("probe_forward_progress",)`` or ``("probe_subgroups",)``."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Answer_co]):
    """A request with an answer of the given type."""


@dataclass(frozen=True, slots=True)
class OpenProgram(Request[bool]):
    """Take a program, or the stored one with this snapshot; the answer is false if there is none.

    With ``outside``, other processes build its kernels.
    """

    compiled: Compiled | str
    policy: str
    contract: bool
    thresholds: Thresholds
    outside: bool


@dataclass(frozen=True, slots=True)
class PlaceArguments(Request[None]):
    """Bring arguments to the device under a number."""

    number: int
    values: Args


@dataclass(frozen=True, slots=True)
class DropArguments(Request[None]):
    """Forget the arguments with these numbers."""

    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class SendPlans(Request["dict[Any, Plan]"]):
    """Send the plans that have been made, except those with known keys."""

    known: Set[Any]


@dataclass(frozen=True, slots=True)
class PrebuildAll(Request[bool]):
    """``Measurable.prebuild_all``."""

    entry: str
    inputs: Sequence[Args]
    forces: Sequence[Force]


@dataclass(frozen=True, slots=True)
class SaveManifest(Request[None]):
    """``Measurable.save_manifest``."""


@dataclass(frozen=True, slots=True)
class RunRequest(Request[Answer_co]):
    """A request about runs of an entry point on the arguments with a number."""

    number: int
    entry: str


@dataclass(frozen=True, slots=True)
class Prebuild(RunRequest["int | None"]):
    """``Measurable.prebuild``."""

    forces: Sequence[Force]
    recorded: Sequence[Force]


@dataclass(frozen=True, slots=True)
class RecordRun(RunRequest["Record"]):
    """``Measurable.record``."""

    force: Force | None
    thresholds: Thresholds | None


@dataclass(frozen=True, slots=True)
class TimeRun(RunRequest["Timing"]):
    """``Measurable.timing``."""

    force: Force | None
    thresholds: Thresholds | None


@dataclass(frozen=True, slots=True)
class MeasureAll(RunRequest[None]):
    """``Measurable.measure_all``; the costs come in messages before the answer."""

    forces: Sequence[Force]
    thresholds: Thresholds | None
    recorded: Sequence[bool]


@dataclass(frozen=True, slots=True)
class TimeAll(RunRequest["Sequence[float]"]):
    """``Measurable.time_all``."""

    choices: Sequence[Thresholds]
    often: bool


@dataclass(frozen=True, slots=True)
class SavedLaunches(RunRequest["Sequence[int]"]):
    """``Measurable.saved_launches``."""

    choices: Sequence[Thresholds]


@dataclass(frozen=True, slots=True)
class Replay(RunRequest["tuple[ReplayRecord, Race]"]):
    """``Measurable.replay``; the answer has the state of the race, too."""

    race: Race


@dataclass(frozen=True, slots=True)
class TrySettings(RunRequest["Sequence[OperationTime]"]):
    """``Measurable.try_settings``, with searches for these operations in the tuner's process."""

    force: Force | None
    thresholds: Thresholds | None
    operations: Sequence[OperationId]


@dataclass(frozen=True, slots=True)
class Difference(RunRequest["str | None"]):
    """``Measurable.difference``."""

    before: Thresholds | None
    after: Thresholds | None


@dataclass(frozen=True, slots=True)
class ResultsOfRun(RunRequest["list[Any]"]):
    """``Remote.results``."""

    force: Force


@dataclass(frozen=True, slots=True)
class Unexpected(RunRequest["str | None"]):
    """``Measurable.unexpected``."""

    expected: Sequence[Any]
