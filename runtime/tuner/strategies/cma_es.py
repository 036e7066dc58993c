"""Covariance matrix adaptation, on thresholds and on indices (Breddam 2019, section 3.3).

CMA-ES (Hansen and Ostermeier 2001) draws generations of vectors from a normal distribution that
it adapts to the better half of each.  It comes from the package ``cma``, an optional extra.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from types import ModuleType

import numpy as np

from runelift.ir.base.errors import UserError
from runelift.ir.base.project_links import install
from runelift.runtime.tuner.strategies.indices import IndexSpace
from runelift.runtime.tuner.strategies.nodes import ALWAYS
from runelift.runtime.tuner.strategies.trials import SearchState, strategy

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
FAILED = 1e9
"""The score of a failing run: CMA-ES cannot rank infinities."""


@strategy("cma")
def cma(trials: SearchState, *, sigma: float = 0.25, tries: int = 300) -> dict[str, int]:
    """CMA-ES on the thresholds themselves.

    It starts from the middle of what is compared, with a spread of ``sigma`` times its range.  Most
    tries repeat the choices of earlier tries, as the score is a step function.
    """
    trials.scout()
    space = IndexSpace.of(trials)
    greatest = np.array([choice[-2] + 1 for choice in space.choices], np.float64)

    def thresholds(vector: Vector) -> dict[str, int]:
        values = np.clip(np.rint(vector * greatest), ALWAYS, greatest)
        return dict(zip(space.names, map(int, values), strict=True))

    middle = np.array([np.mean(choice[:-1]) for choice in space.choices]) / greatest
    return _minimise(trials, thresholds, middle, sigma, tries)


@strategy("cma-indices")
def cma_indices(trials: SearchState, *, sigma: float = 0.4, tries: int = 300) -> dict[str, int]:
    """CMA-ES on indices into the values that are compared.

    It starts with no guard holding, so that a guard near the root does not hide the guards below
    it.
    """
    trials.scout()
    space = IndexSpace.of(trials)
    greatest = (space.lengths - 1).astype(np.float64)
    return _minimise(trials, lambda vector: space.thresholds(space.nearest(vector * greatest)),
                     np.ones(len(greatest)), sigma, tries)


def _minimise(trials: SearchState, thresholds: Callable[[Vector], dict[str, int]], start: Vector,
              sigma: float, tries: int) -> dict[str, int]:
    """Generations in the unit cube until ``tries`` are used up or the distribution is a point."""
    if not len(start):
        return trials.best
    search = load_cma().CMAEvolutionStrategy(start, sigma, {
        "bounds": [0, 1], "seed": int(trials.random.integers(1, 1 << 31)), "verbose": -9,
        "maxfevals": tries})
    while not search.stop():
        vectors = search.ask()
        search.tell(vectors, [min(trials.score(thresholds(v)), FAILED) for v in vectors])
    return trials.best


def has_cma() -> bool:
    """True if the package is there."""
    return importlib.util.find_spec("cma") is not None


def load_cma() -> ModuleType:
    """The package ``cma``; UserError where it is not installed."""
    try:
        with warnings.catch_warnings(action="ignore"):  # that it cannot plot
            return importlib.import_module("cma")
    except ImportError:
        raise UserError("The strategies 'cma' and 'cma-indices' need the package 'cma': "
                        f"{install('cma')}.") from None
