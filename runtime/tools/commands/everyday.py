"""Help that fits a head: everyday options in ``--help``, all of them by theme in ``--help-all``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

HELP_ALL = "--help-all"
EVERYDAY: Mapping[str, frozenset[str]] = {
    "run": frozenset({"--entry", "--input", "--json", "--force", "--record", "--device",
                      "--tuning"}),
    "test": frozenset({"--all-versions", "--interpreter", "--sanitize", "--check-races",
                       "--seed", "--jobs", "--verbose", "--entry", "--device", "--json"}),
    "bench": frozenset({"--entry", "--runs", "--input", "--force", "--device", "--tuning",
                        "--json"}),
    "profile": frozenset({"--entry", "--runs", "--data", "--only", "--html", "--numpy",
                          "--device", "--json"}),
    "autotune": frozenset({"--entry", "--runs", "--input", "--only", "--budget", "--memory",
                           "--schedules", "--output", "--device", "--html", "--verbose"}),
    "tune-compare": frozenset({"--entry", "--strategy", "--seeds", "--budget",
                               "--device", "--html", "--json"}),
    "dataset": frozenset({"--seed", "--binary", "--output", "--i32-bounds", "--f32-bounds"}),
    "dump": frozenset({"--stage", "--preamble", "--entry"}),
    "export": frozenset({"--output"}),
    "literate": frozenset({"--output", "--html", "--stop-on-error"}),
    "explain": frozenset({"--as-device", "--over", "--sizes", "--lengths", "--steps", "--html",
                          "--entry", "--device", "--json"}),
}
"""The options that the help of a command shows.

The help of other commands shows all of theirs.
"""

THEMES: Mapping[str, frozenset[str]] = {
    "rewriting and versions": frozenset({
        "--policy", "--ignore-attributes", "--disable", "--rules", "--schedule", "--fp-contract",
        "--fuel", "--trace-rules", "--trace-rule"}),
    "what runs": frozenset({
        "--tuning", "--force", "--memory", "--param", "--version-limit", "--file", "--kernel"}),
    "devices": frozenset({"--device", "--all-devices", "--scheduler", "--measure-peaks"}),
    "measuring": frozenset({
        "--runs", "--effort", "--time-limit", "--noise", "--no-verify", "--resume", "--replay",
        "--observe"}),
    "search": frozenset({
        "--strategy", "--parameters", "--no-parameters", "--schedules", "--objective", "--guards",
        "--validate", "--leave-one-out", "--seed", "--seeds", "--budget", "--export-t4",
        "--import-t4"}),
    "output": frozenset({"--json", "--html", "--trace", "--error-text", "--verbose", "--dot"}),
}
"""The themes of options in the whole help."""


def arrange(parser: argparse.ArgumentParser, command: str, *, everything: bool) -> None:
    """Hide the options of a command that are not for every day, or show ``everything`` by theme."""
    shown = EVERYDAY.get(command)
    parser.add_argument(HELP_ALL, action="help", help=argparse.SUPPRESS if shown is None else
                        "show all options, by theme, and exit")
    if shown is None:
        return
    given = [each for each in parser._actions if each.option_strings
             and each.help is not argparse.SUPPRESS]
    if not everything:
        for each in given:
            if shown.isdisjoint(each.option_strings) and each.option_strings[-1] not in (
                    "--help", HELP_ALL):
                each.help = argparse.SUPPRESS
        return
    groups = list(parser._action_groups)
    for theme, options in THEMES.items():
        group = parser.add_argument_group(theme)
        for each in given:
            if not options.isdisjoint(each.option_strings):
                for other in groups:
                    if each in other._group_actions:
                        other._group_actions.remove(each)
                group._group_actions.append(each)
