"""Paired comparison: runs with two choices of thresholds in turn, until one wins for certain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from runelift.ir.base.errors import RuneliftError
from runelift.runtime.records.format import show_seconds
from runelift.runtime.records.statistics import Summary, median_ratio, summarise
from runelift.runtime.tuner.measure.in_turn import InTurn, thresholds_in_turn
from runelift.runtime.tuner.measure.measurable import Args, Measurable
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.measure.time_limits import RunStopped
from runelift.runtime.tuner.policy import NORMAL, ComparisonPolicy

BOTH = DEFAULT, TUNED = "default", "tuned"
"""The names of both choices."""
UNTUNED: Mapping[str, int] = {}
"""The thresholds of a run by default, as one object: its command buffer is kept."""


@dataclass(frozen=True, slots=True)
class PairedTimes:
    """Times of a dataset without forced versions, by default and tuned, run in turn.

    ``low`` to ``high`` holds the median of tuned over default time with 95 % confidence.  Unless
    it is ``lasting``, frequent runs are not known.  A ratio is slower beyond the ``tolerance``.
    """

    default: Summary
    tuned: Summary
    low: float
    high: float
    lasting: bool = True
    tolerance: float = NORMAL.comparison.tolerance

    @classmethod
    def of(cls, default: Sequence[float], tuned: Sequence[float],
           policy: ComparisonPolicy = NORMAL.comparison) -> PairedTimes:
        """The comparison of as many times by default as tuned, in the order of measurement."""
        ratio = median_ratio(tuned, default)
        return cls(summarise(default), summarise(tuned), ratio.low, ratio.high,
                   tolerance=policy.tolerance)

    @property
    def gain(self) -> float:
        """The speedup of the tuned program."""
        return self.default.median / self.tuned.median if self.tuned.median else math.inf

    @property
    def faster(self) -> bool:
        """True if the tuned program is faster for certain."""
        return self.high < 1 and self.lasting

    @property
    def slower(self) -> bool:
        """True if the tuned program seems slower by more than chance."""
        worse = 1 + self.tolerance
        return self.low > worse or self.tuned.median > self.default.median * worse

    @property
    def doubtful(self) -> bool:
        """True if it seems slower, which may be chance: its limits hold what is tolerated."""
        return self.slower and self.low <= 1 + self.tolerance

    @property
    def texts(self) -> list[str]:
        """The medians by default and tuned, and the gain, for a row of a table."""
        return [show_seconds(self.default.median), show_seconds(self.tuned.median),
                f"{self.gain:.2f}×"]

    def tells(self, margin: float) -> bool:
        """True if one is faster for certain, by more than a fraction."""
        return self.high < 1 - margin or self.low > 1 + margin

    @property
    def decided(self) -> bool:
        """True if more runs would not change the result."""
        worse = 1 + self.tolerance
        return self.faster or self.low > worse or self.high <= worse


@dataclass(slots=True)
class PairedRun:
    """A dataset's runs by default and tuned, in ``turns``.

    There are ``pairs`` at least, and about none after ``end``.  A run takes about so many
    ``seconds``.
    """

    program: Measurable
    dataset: Dataset
    default: Mapping[str, int]
    tuned: Mapping[str, int]
    pairs: int
    end: float = math.inf
    seconds: float = 0.0
    policy: ComparisonPolicy = NORMAL.comparison
    turns: InTurn[str] | None = None
    _found: PairedTimes | None = None
    _is_compared: bool = False
    _may_lose: bool = False

    def once(self) -> PairedTimes | None:
        """Times until they are decided; None where the program fails.

        A tuned program that is stopped, as it takes far longer, counts with the time until then.
        """
        if not self._is_compared:
            self._compare()
        return self._found

    def surely(self, *, worth: bool = True) -> PairedTimes | None:
        """Times until they are decided; of frequent runs, if the tuned program is no slower.

        Frequent runs are needed only if the default saves more launches then than the tuned
        program does.  If they are not ``worth`` it, the result is not ``lasting``.
        """
        if (found := self.once()) is not None and self._may_lose and not found.slower:
            if worth:
                self._compare(often=True)
            else:
                self._found = replace(found, lasting=False)
        return self._found

    def _compare(self, *, often: bool = False) -> None:
        self._is_compared = True
        values = self.dataset.arguments()
        try:
            args = self.program.place(values)
            self._found = self._compared(args, often=often)
            self._may_lose = not often and self._may_lose_often(args, self._found)
        except RunStopped as stopped:
            self._found = _verdict(stopped, self.turns, self.policy)
        except RuneliftError:
            self._found = None

    def _compared(self, args: Args, *, often: bool) -> PairedTimes:
        """Times of both until they are decided, of frequent runs if ``often``.

        There are no more than enough, unless the tuned program would be dropped by chance.
        """
        policy, program, both = self.policy, self.program, [self.default, self.tuned]
        turns = thresholds_in_turn(program, self.dataset.entry, args,
                                   dict(zip(BOTH, both, strict=True)))
        look, doubted = self.pairs, 0
        if often and self.turns is not None:  # kernels are built for it: no part of the time
            turns.begun, turns.last = TUNED, self.turns.last
            program.time_all(self.dataset.entry, args, both, often=True)
        self.turns = turns
        if not often:
            turns.warm_up()
        started = time.perf_counter()
        end = min(self.end, started + policy.patience_seconds)
        while True:
            left = started + policy.enough_seconds - time.perf_counter()
            many = _affordable(turns.last.values(), left, look - turns.rounds)
            turns.run(many, together=many > 1)
            pair = turns.rounds
            default, tuned = (turns.seconds[each] for each in BOTH)
            now = time.perf_counter()
            fewest = 2 * policy.pairs
            if min(turns.last.values()) > policy.short_seconds:
                fewest = policy.long_pairs if _tied(default, tuned, policy) else policy.pairs
            late = pair >= max(fewest, doubted) and now > started + policy.enough_seconds
            if pair == look or late or now > end:
                verified = PairedTimes.of(default, tuned, policy)
                if now > end or (late and not verified.doubtful) or (
                        verified.decided and _enough(verified, pair, policy)):
                    return verified
                # with a look after each pair, chance would decide some time
                if late:
                    look = doubted = 2 * pair
                else:
                    look = min(2 * look, policy.short_pairs) if look < policy.short_pairs \
                        else 2 * look

    def _may_lose_often(self, args: Args, verified: PairedTimes) -> bool:
        """True if the default may be faster in frequent short runs, as it saves more launches."""
        seconds, policy = verified.default.median, self.policy
        if seconds > policy.short_seconds:
            return False
        one, other = self.program.saved_launches(self.dataset.entry, args,
                                                 (self.default, self.tuned))
        gain = max(0.0, 1 - verified.high) * seconds
        return (one - other) * policy.launch_seconds > policy.tolerance * seconds + gain


def _verdict(stopped: RunStopped, turns: InTurn[str] | None, policy: ComparisonPolicy
             ) -> PairedTimes | None:
    """The result of a run that was stopped; None if it was one by default."""
    if turns is None or turns.begun != TUNED or stopped.seconds < turns.last[DEFAULT]:
        return None
    return PairedTimes.of([turns.last[DEFAULT]], [stopped.seconds], policy)


def compare_paired(program: Measurable, dataset: Dataset, default: Mapping[str, int],
                   tuned: Mapping[str, int], repeats: int,
                   policy: ComparisonPolicy = NORMAL.comparison) -> PairedTimes | None:
    """Times by default and tuned until they are decided; None where the program fails."""
    return PairedRun(program, dataset, default, tuned, max(repeats, policy.pairs),
                     policy=policy).surely()


def compare_all_paired(pairs: Mapping[str, PairedRun], *, anyway: Callable[[], bool],
                       must_last: bool = True) -> dict[str, PairedTimes]:
    """The comparisons of several datasets, where the program does not fail.

    Frequent runs are compared, too, if the tuned program will probably be kept.  That is so if no
    dataset is slower, and some are faster or it is kept ``anyway``.  Kernels for frequent runs take
    long to build.  So a dataset must be faster by the stake of the policy, or a program that is
    kept anyway ``must_last``.  The longest runs come first: at first most is computed meanwhile,
    for which many short runs would have to wait.
    """
    for longest in sorted(pairs.values(), key=lambda each: each.seconds, reverse=True):
        longest.once()
    found = {name: each.once() for name, each in pairs.items()}
    stake = max((each.policy.stake for each in pairs.values()), default=0.0)
    known = [each for each in found.values() if each is not None]
    if not any(each.slower for each in known) and (
            any(each.faster for each in known) or anyway()):
        worth = any(each.high < 1 - stake for each in known) or (must_last and anyway())
        found = {name: each.surely(worth=worth) for name, each in pairs.items()}
    return {name: each for name, each in found.items() if each is not None}


def _enough(verified: PairedTimes, pairs: int, policy: ComparisonPolicy) -> bool:
    """True if so many pairs are enough to be certain."""
    seconds = verified.default.median
    if pairs >= policy.short_pairs or seconds > policy.short_seconds:
        return True
    if seconds > policy.steady_seconds:
        return pairs >= 2 * policy.pairs or verified.tells(policy.tolerance)
    return pairs >= 2 * policy.pairs and verified.tells(policy.jitter_seconds / seconds)


def _tied(default: Sequence[float], tuned: Sequence[float], policy: ComparisonPolicy) -> bool:
    """True if some pairs say that the tuned program is no faster, and some that it is no slower."""
    ratios = [t / d if d else 1.0 for d, t in zip(default, tuned, strict=True)]
    return max(ratios) >= 1 and min(ratios) <= 1 + policy.tolerance


def _affordable(last: Iterable[float], seconds: float, most: int) -> int:
    """The number of pairs, each as long as the last, that take no more than so many seconds."""
    return max(1, min(most, int(seconds / max(sum(last), 1e-6))))
