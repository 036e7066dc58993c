"""Verdicts on versions that need not be run again, or at all."""

import math

import pytest

from runelift.runtime.records.pruning import (
    NORMAL_PRUNING,
    Decision,
    Evidence,
    PruningPolicy,
    Source,
    verdict,
)


@pytest.mark.parametrize(("source", "seconds", "best", "decision"), [
    (Source.KERNELS, 2.0, 1.0, "keep"), (Source.KERNELS, 2.1, 1.0, "run once"),
    (Source.FIRST_RUN, 0.1, 0.001, "keep"), (Source.FIRST_RUN, 0.11, 0.001, "run once"),
    (Source.FIRST_RUN, 10.0, 1.0, "keep"), (Source.FIRST_RUN, 10.1, 1.0, "run once"),
    (Source.RUN, 1.9, 1.0, "keep"), (Source.RUN, 2.0, 1.0, "run once"),
    (Source.SMALLER_INPUTS, 7.9, 1.0, "keep"),
    (Source.SMALLER_INPUTS, 8.0, 1.0, "skip"),
    (Source.OTHER_INPUTS, 0.1, 0.001, "keep"),
    (Source.OTHER_INPUTS, 0.11, 0.001, "skip"),
    (Source.OTHER_INPUTS, 100.0, math.inf, "keep"),
    (Source.FEW_ITEMS, 0.02, 0.001, "keep"),
    (Source.FEW_ITEMS, 0.021, 0.001, "skip"),
    (Source.SIMILAR_SIZES, 20.0, 1.0, "keep"),
    (Source.SIMILAR_SIZES, 20.1, 1.0, "skip")])
def test_each_source_has_its_limit(source: Source, seconds: float, best: float,
                                   decision: Decision) -> None:
    found = verdict(Evidence(source, seconds, best), NORMAL_PRUNING)
    assert found.decision == decision
    assert found.keeps == (decision == "keep") == (not found.why)


def test_reasons_are_in_plain_words() -> None:
    found = verdict(Evidence(Source.SMALLER_INPUTS, 25.2), NORMAL_PRUNING)
    assert found.why == "skipped: expected to be more than 25x slower, judging by smaller inputs"


def test_the_policy_decides() -> None:
    evidence = Evidence(Source.SMALLER_INPUTS, 25.0)
    assert verdict(evidence, PruningPolicy(smaller_inputs_factor=30.0)).keeps
