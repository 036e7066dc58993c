"""Choices that run in turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from runelift.ir.base.errors import CompilerLimitation
from runelift.runtime.tuner.measure.in_turn import InTurn


def test_rounds_go_forwards_and_back_and_short_runs_are_made_together() -> None:
    made = list[str]()

    def time(choice: str) -> float:
        made.append(choice)
        return float(len(made))

    def time_all(choices: Sequence[str]) -> list[float]:
        made.append("|")
        return [time(each) for each in choices]

    turns = InTurn(["a", "b", "c"], time, time_all)
    turns.warm_up()
    assert turns.rounds == 0
    turns.run()
    turns.run(2, together=True)
    assert "".join(made) == "abc" "cba" "|abccba"
    assert turns.rounds == 3
    assert turns.seconds == {"a": [6.0, 8.0, 13.0], "b": [5.0, 9.0, 12.0], "c": [4.0, 10.0, 11.0]}
    assert turns.last == {"a": 13.0, "b": 12.0, "c": 11.0}


def test_a_choice_that_fails_is_known_and_leaves() -> None:
    failures = list[str]()

    def time(choice: str) -> float:
        if choice == "b" and turns.rounds:
            raise CompilerLimitation("no")
        return 1.0

    turns = InTurn(["a", "b"], time, failed=lambda choice, error: failures.append(choice))
    for _ in range(3):
        turns.run()
    assert (turns.choices, failures) == (["a"], ["b"])
    assert {each: len(found) for each, found in turns.seconds.items()} == {"a": 3, "b": 1}
    turns = InTurn(["a", "b"], time)
    turns.run()
    with pytest.raises(CompilerLimitation):
        turns.run()
    assert turns.begun == "b"
