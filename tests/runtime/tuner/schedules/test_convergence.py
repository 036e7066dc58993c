"""How a search over schedules converges, beside random drawing."""

from __future__ import annotations

from itertools import product

import pytest

from runelift.rewrite.lift.schedule import Schedule
from runelift.runtime.tools.reports.html.schedules import schedule_sections
from runelift.runtime.tuner.policy import SchedulePolicy
from runelift.runtime.tuner.schedules.drawing import Drawn
from runelift.runtime.tuner.schedules.search import Candidate, ScheduleSearch
from runelift.runtime.tuner.search.trace import Best, expected_least, least_quantile

SCORES = [0.2, 0.5, 0.6, 0.9, 1.0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_random_drawing_is_that_of_all_drawings(count: int) -> None:
    least = sorted(min(each) for each in product(SCORES, repeat=count))
    assert expected_least(SCORES, count) == pytest.approx(sum(least) / len(least))
    for part in (0.1, 0.5, 0.9):
        place = next(k for k in range(1, len(least) + 1) if k / len(least) >= part - 1e-12)
        assert least_quantile(SCORES, count, part) == least[place - 1]


def search_of(*scores: tuple[float, bool]) -> ScheduleSearch:
    """A search that has measured candidates with these scores, some of them drawn near others."""
    search = ScheduleSearch(None, None, None, ["d"], 9,  # type: ignore[arg-type]
                            SchedulePolicy())
    for number, (score, near) in enumerate(scores, 1):
        drawn = Drawn(Schedule(), at_random=not near)
        search.candidates.append(Candidate(drawn, {"d": score}, times=1,
                                           first=Best(4 * number, 0.0, score)))
    search.candidates.append(Candidate(Drawn(Schedule())))  # there was no time for it
    return search


def test_the_best_so_far_falls_and_only_random_candidates_are_drawn_at_random() -> None:
    found = search_of((0.8, False), (1.0, False), (0.5, True), (0.6, True)).convergence
    assert found.search == [(4, 0.8), (8, 0.8), (12, 0.5), (16, 0.5)]
    assert [score for _, score in found.random_mean] == pytest.approx([0.9, 0.85, 0.825, 0.8125])
    assert found.random_unlucky[0] == (4, 1.0)
    assert found.random_lucky[0] == (4, 0.8)
    assert found.runs_at_random() is None
    assert search_of((0.7, False), (0.9, False)).convergence.runs_at_random() is None
    assert search_of((0.7, False), (0.7, False)).convergence.runs_at_random() == 4


def test_the_page_has_the_curves_and_their_numbers() -> None:
    search = search_of((0.8, False), (0.5, True))
    search.winners = search.candidates[1:2]
    page = "".join(map(str, schedule_sections({"main": search})))
    assert "Schedules of main" in page
    assert page.count("<svg") == 1
    assert "random, mean" in page
    assert "Search: 0.5 after 8 runs; random drawing: 0.8." in page
    assert search.convergence.facts()["search"] == [(4, 0.8), (8, 0.5)]
