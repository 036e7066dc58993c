"""The policy of a tuning: every number that decides how often, how long and what is measured.

A policy is immutable.  It is part of what measures and of the costs that are measured, so
processes and machines that share the work have it, too.  The JSON file of a tuning records it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from runelift.runtime.records.pruning import PruningPolicy


@dataclass(frozen=True, slots=True)
class RepetitionPolicy:
    """The number of runs of each version on each dataset."""

    short_seconds: float = 0.02
    """Runs that take fewer seconds are repeated more often: noise distorts them most."""
    short_factor: int = 3
    """Times as many repetitions that short runs get at most, ..."""
    enough_seconds: float = 0.1
    """... for so many seconds at most, all that a repetition takes included."""
    most_runs: int = 36
    """Runs of a dataset at most, over all its versions."""
    certain_runs: int = 3
    """Runs that are enough if they agree."""
    steady: float = 0.05
    """Fraction by which times that agree may differ.

    Runs that are not short then need one repetition less.
    """
    alike: float = 0.02
    """Fraction by which two times of runs that are not brief may differ to be enough."""
    brief_seconds: float = 0.005
    """Runs with fewer seconds are brief.  Longer runs have enough launches to average chance."""
    records: int = 3
    """Repetitions of a brief run that are also recorded.

    Of a longer run, only one repetition is recorded.  Records of long runs hardly differ, and a
    short run takes longer between records.
    """
    kept_bytes: int = 1 << 28
    """Bytes of inputs that the host keeps until they are measured.

    Kernels for these are built together.  Random arrays are made later and do not count.
    """
    device_bytes: int = 1 << 29
    """Bytes of all inputs that may wait on the device while other datasets are measured."""
    replay_runs: int = 3
    """Runs without a record beside a replayed one, and times as many replays of short runs."""
    divide_seconds: float = 10.0
    """Seconds of measuring after which several devices divide a dataset: sooner it costs more."""
    measuring_part: float = 0.75
    """Part of the time for measuring; the rest is for running the result."""


@dataclass(frozen=True, slots=True)
class ComparisonPolicy:
    """Paired runs by default and tuned, and the gains that are worth a change."""

    tolerance: float = 0.01
    """Fraction by which a dataset may seem slower than by default: less is chance."""
    pairs: int = 6
    """Pairs of runs at least: with fewer no result is certain with 95 % confidence."""
    long_pairs: int = 3
    """Pairs of long runs at least, if these already say that there is no difference."""
    short_pairs: int = 30
    """Pairs of short runs at least."""
    short_seconds: float = 0.02
    """Runs that take no more seconds are short: noise distorts them."""
    steady_seconds: float = 0.002
    """Short runs with more seconds need twice the fewest pairs, or the fewest if one is faster."""
    jitter_seconds: float = 2e-5
    """Seconds by which chance changes a run.

    Twice the fewest pairs are enough for shorter runs whose difference is certainly larger.
    """
    patience_seconds: float = 3.0
    """Seconds of running after which a dataset is decided by what there is."""
    enough_seconds: float = 0.1
    """Seconds of running after which the fewest pairs are enough; twice as many for short runs."""
    loaded_spread: float = 0.1
    """Median deviation of runs by default, relative to their median, on a machine under load."""
    most_patience: float = 3.0
    """Times as long that runs in turn may go on under full load."""
    final_rounds: int = 15
    """Rounds of default, tuned and best version at least, if they are short, in the end."""
    final_seconds: float = 15.0
    """Seconds that these rounds take at most, over all datasets, ..."""
    final_part: float = 0.1
    """... and the part of a budget that they may take from the report."""
    launch_seconds: float = 1e-5
    """Seconds of the host that a launch takes at most."""
    stake: float = 0.03
    """Fraction that a dataset must gain before kernels for frequent runs are built.

    Building them takes about a second.
    """
    worthwhile: float = 0.01
    """Fraction that all datasets together must gain by thresholds: less is chance."""
    alike: float = 0.07
    """Fraction by which versions differ that are told apart in the end.

    Of versions that are alike, a fixed one is chosen: repeated tunings then agree, also under load,
    which disturbs runs by a few percent.
    """
    guard_datasets: int = 3
    """Datasets at least that say how size guards serve datasets left out of the fit."""
    guard_gain: float = 0.02
    """Fraction that a dataset must gain by size guards: less is not worth the runs."""
    guard_harm: float = 0.1
    """Fraction by which size guards may be slower than thresholds on datasets left out.

    With few datasets, the sizes of a dataset left out lie outside of all known sizes.
    """


@dataclass(frozen=True, slots=True)
class FitPolicy:
    """The fit of thresholds and size guards to measured costs."""

    noise: float = 0.01
    """Fraction by which a dataset may be slower than by default: less is chance."""
    rounding: float = 1e-9
    """Fraction by which sums of equal costs may differ."""
    sets: int = 50_000
    """Sets of encounters that an exact solution looks at before it gives up."""
    trade_offs: int = 5_000
    """Sets of encounters, times trade-offs, that a search between datasets looks at."""
    memory_levels: int = 16
    """Amounts of memory at most for which thresholds are fitted, for the front of both."""
    memory_slack: float = 0.25
    """Fraction by which a choice may score worse than the best if it needs less memory."""
    regret_parts: tuple[float, ...] = (0.01, 0.1)
    """Parts of the default regret below which the least regret is looked for first.

    The smaller the regret may be, the fewer sets of encounters are looked at.
    """
    raises: int = 6
    """Times that the weight of a dataset is raised which got slower than by default, ..."""
    raise_factor: float = 4
    """... and the factor of each time."""
    steepness: float = 0.02
    """Least power of the parallelism at which two fitted lines say where they cross."""
    preference: float = 0.05
    """Fraction by which other versions cost more than the versions that a dataset keeps."""
    unlike_devices: float = 1.25
    """Ratio of speeds from which on times of two devices are not compared."""
    guard_depth: int = 3
    """Questions that a decision tree asks one after the other at most."""
    guard_worthwhile: float = 0.03
    """Fraction that size guards must gain at a site: less is chance."""
    guard_alone: float = 0.01
    """Fraction of the objective that a single size guard must gain."""
    guard_question: float = 0.01
    """Fraction of the cost that a question of a decision tree must gain."""
    guard_rounds: int = 4
    """Fits of size guards, each without the datasets that the one before slowed down."""
    guard_splits: int = 40
    """Questions that a decision tree looks at in one place; at the last level all."""
    guard_sizes: int = 100
    """Sizes of a site that are kept for nearest sizes."""


@dataclass(frozen=True, slots=True)
class ParameterPolicy:
    """The search for parameters of kernels."""

    seconds: float = 40.0
    """Seconds that all trials of a program may take; 0 leaves the parameters as they are."""
    by: float = 45.0
    """Seconds from the start of a tuning after which trials end, ..."""
    least: float = 10.0
    """... unless thresholds left them fewer seconds than these."""
    thorough: int = 1
    """Times as many settings as usual are tried."""
    rival_factor: float = 3.0
    """Versions with up to so many times the best time can still win by their parameters, ..."""
    decide: bool = False
    """... if parameters decide about versions: else versions are chosen without them."""
    version_runs: int = 3
    """Runs that time a version, ..."""
    once_seconds: float = 0.5
    """... of which only one is made if it takes so many seconds."""
    share: float = 0.03
    """Part of a run's device time from which on an operation is worth trying."""
    occasions: int = 3
    """Executions of an operation in a run at most that its settings are tried at."""
    single: int = 2
    """Operations that are looked at alone if all settings together gain nothing."""
    exhaustive: int = 30
    """Settings of the largest space that is tried in whole."""
    drawn: int = 20
    """Settings that are drawn of a larger space, ..."""
    predicted: int = 400
    """... and settings whose times are predicted there, ..."""
    likely: int = 10
    """... of which so many are tried that are predicted to be the best."""
    finalists: int = 3
    """Settings that are left when halving ends, ..."""
    repeats: int = 5
    """... and trials of each of them at least."""
    handed_on: int = 6
    """Settings that were best on some inputs and are tried on other inputs."""
    exploring_part: float = 0.7
    """Part of the time for other strategies to explore; the rest goes to the best they found."""
    worthwhile: float = 0.02
    """Fraction by which an operation must get faster: less is chance."""
    tolerance: float = 0.02
    """Fraction by which an operation may seem slower on a dataset."""
    batch: int = 10
    """Settings that random search draws at a time."""
    population: int = 12
    """Settings that genetic search takes parents from."""
    children: int = 8
    """Settings that genetic search makes of these."""
    mutation: float = 0.25
    """Probability that such a setting has a value that neither parent has."""
    window: int = 100
    """Latest tries by which the techniques of an ensemble are judged."""
    exploration: float = 0.1
    """Weight of the bonus for techniques that are used little."""

    def end(self, begun: float, now: float) -> float:
        """The time when trials end that begin ``now``, in a tuning that has ``begun``.

        >>> policy = ParameterPolicy(seconds=40, by=45, least=10)
        >>> [policy.end(0, now) for now in (1, 20, 200)]
        [41, 45, 210]
        """
        return min(now + self.seconds, max(begun + self.by, now + self.least))


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """The seconds of a tuning where none are given, and how they are divided."""

    seconds: float = 60.0
    """Seconds of a whole tuning without ``--budget``."""
    schedules: float = 0.5
    """The part for the search over schedules, if there is one; the rest is for its result."""
    unused: float = 0.6
    """The part of the rest for tuning all that it found; what is left is for the versions used."""
    twice: float = 4.0
    """Times the longest measurement of the search: with less time, that tuning is the only one."""
    tuning: float = 0.85
    """The part of the budget that is not for the report."""
    thresholds: float = 0.5
    """The part for thresholds where parameters are tuned, too.

    After a search over schedules, versions come first: all of the time is for them.
    """
    trials: float = 0.75
    """The part of the rest for trying settings; what is left is for running the result."""


@dataclass(frozen=True, slots=True)
class SchedulePolicy:
    """The search over schedules."""

    seconds: float = 240.0
    """Seconds that it may take unless a budget is given."""
    ranked: int = 120
    """Schedules that are ranked by predicted time before the best few are measured, ..."""
    ranking: float = 0.15
    """... unless that takes this part of the time."""
    near: float = 0.5
    """Part of the drawn schedules that are near the best schedules so far, ..."""
    parents: int = 3
    """... of which there are so many."""
    exploring: float = 0.7
    """Part of the time for new schedules; the rest is for the best of them, ..."""
    finalists: int = 2
    """... of which there are so many times as many as a program has versions."""
    rounds: int = 3
    """Rounds in which all of these in a program run at first; twice as many for the better half."""
    worthwhile: float = 0.03
    """Fraction that a schedule must gain on a dataset: less is not worth a version."""


@dataclass(frozen=True, slots=True)
class TuningPolicy:
    """All numbers that decide how a program is tuned."""

    repetition: RepetitionPolicy = field(default_factory=RepetitionPolicy)
    comparison: ComparisonPolicy = field(default_factory=ComparisonPolicy)
    fit: FitPolicy = field(default_factory=FitPolicy)
    pruning: PruningPolicy = field(default_factory=PruningPolicy)
    parameters: ParameterPolicy = field(default_factory=ParameterPolicy)
    schedules: SchedulePolicy = field(default_factory=SchedulePolicy)
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)


NORMAL = TuningPolicy()
"""The policy of ``--effort normal``, and where none is given."""
QUICK = replace(NORMAL, parameters=ParameterPolicy(seconds=0.0, thorough=0))
"""The policy of ``--effort quick``: no parameters."""
FULL = replace(NORMAL, parameters=ParameterPolicy(seconds=300.0, by=3600.0, thorough=4,
                                                  decide=True),
               budget=BudgetPolicy(seconds=900.0))
"""The policy of ``--effort full``: four times as many settings, for five times as long."""
