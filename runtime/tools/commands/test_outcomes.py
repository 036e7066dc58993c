"""The outcomes of tests as text: each of them, and how many there are for each cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from runelift.runtime.tools.commands.styles import show

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OTHER_TEXT = "another error text"
"""The cause of a failure, or of a note, that an error is worded in another way than expected."""


def print_outcomes(outcomes: Iterable[dict[str, Any]], verbose: bool) -> None:
    """Print the cases that failed, or all."""
    for outcome in outcomes:
        place, message = f"{outcome['file']}:{outcome['line']}", outcome["message"]
        if outcome["outcome"] == FAILED:
            show(f"{place}: {outcome['case']}: FAILED: {message}")
        elif verbose:
            show(f"{place}: {outcome['case']}: {outcome['outcome']}")


def summary(outcomes: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The numbers of cases that failed or were skipped for each cause, then of all."""
    failed = Counter(o["cause"] for o in outcomes if o["outcome"] == FAILED)
    if len(failed) > 1:
        for cause, count in failed.most_common():
            yield f"{count:5} {cause}"
    other = sum(o["outcome"] == PASSED and o["cause"] == OTHER_TEXT for o in outcomes)
    for (file, version), not_run in _not_run(outcomes).items():
        where = not_run[0][1] + f" and {len(not_run) - 1} more" * (len(not_run) > 1)
        yield f"{file}: {version} did not run: {not_run[0][0]} ({where})"
    for reason, count in Counter(o["message"] for o in outcomes if o["outcome"] == SKIPPED
                                 and o["message"]).items():
        yield f"{count} skipped: {reason}"
    yield counts(outcomes, f" ({other} with {OTHER_TEXT})" * bool(other))


def counts(outcomes: Iterable[dict[str, Any]], remark: str = "") -> str:
    """The numbers of cases that passed, failed and were skipped."""
    found = Counter(outcome["outcome"] for outcome in outcomes)
    return (f"{found[PASSED]} passed{remark}, {found[FAILED]} failed, "
            f"{found[SKIPPED]} skipped")


def _not_run(outcomes: Sequence[dict[str, Any]]
             ) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """The versions that did not run: (file, name of the version) to pairs (reason, test case)."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for outcome in outcomes:
        for version, reason in outcome["not_run"].items():
            entry, _, _ = outcome["case"].partition(":")
            name = version if entry == "main" else f"{version} of {entry}"
            found.setdefault((outcome["file"], name), []).append((reason, outcome["case"]))
    return found
