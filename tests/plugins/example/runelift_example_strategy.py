"""A tuning strategy: a few random thresholds."""

from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.trials import SearchState, strategy


@strategy("few")
def few(trials: SearchState, *, tries: int = 5) -> dict[str, int]:
    """The best of so many ``tries``."""
    trials.scout()
    space = IndexSpace.of(trials)
    for _ in range(tries):
        trials.score(space.thresholds(space.draw(trials.random)))
    return dict(trials.best)
