"""Words of other command lines are answered with the words that are right here."""

from __future__ import annotations

import argparse
import re

import pytest

from runelift.runtime.tools.commands.cli import COMMANDS, main, make_parser
from runelift.runtime.tools.commands.habits import HABITS

TAGS = {"notest", "nobench", "notune"}


def _parser(command: str) -> argparse.ArgumentParser:
    made = make_parser(command)
    (commands,) = (each for each in made._actions if isinstance(each.choices, dict))
    found = commands.choices[command]
    assert isinstance(found, argparse.ArgumentParser)
    return found


@pytest.mark.parametrize("word", HABITS)
def test_a_word_is_answered(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", f"{word}=x" if word.startswith("--") else word, "x.fut"]
    with pytest.raises(SystemExit):
        main(arguments if word.startswith("-") else [word, "x.fut"])
    assert f"There is no '{word}' here: {HABITS[word]}." in capsys.readouterr().err


def test_answers_name_what_there_is() -> None:
    options = {option for command in COMMANDS for action in _parser(command)._actions
               for option in action.option_strings}
    for word, answer in HABITS.items():
        assert word not in COMMANDS
        for quoted in re.findall(r"'([^']*)'", answer):
            first, *rest = quoted.split()
            assert first in COMMANDS or first in options or first in TAGS, quoted
            assert all(each in options for each in rest if each.startswith("--")), quoted


@pytest.mark.parametrize(("arguments", "said"), [
    (["hash", "x.fut"], "There is no 'hash'.  'runelift --help' lists the commands."),
    (["bench", "--json=out", "x.fut"], "--json takes no value.  It prints: write '> FILE'"),
    (["test", "--verbose=3", "x.fut"], "--verbose takes no value.\n"),
    (["run"], "required: FILE\n"), (["tune-compare"], "required: SOURCE\n"),
    (["pkg"], "required: action\n")])
def test_other_slips(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err
