"""The tables of ``collection.py``: by program, and the rows where the peer is faster."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from runelift.ir.base.errors import UserError

SLOWER = 0.9
"""Rows with a smaller ratio are listed one by one."""
UNTUNED = 1.25
"""A default that takes so many times the time of its best forced version is listed."""
MORE_MEMORY = 1.2
"""A default that needs so many times the peer's memory is listed."""
LITTLE_MEMORY = 1e6
"""Defaults that need fewer bytes are not listed."""


def joined(files: Sequence[Path]) -> dict[str, Any]:
    """The rows of all sittings: the newest of each row.  All must be of one device."""
    sittings = [each for file in files if file.exists() for each in json.loads(file.read_text())]
    devices = {each["device"] for each in sittings if each["rows"]}
    if len(devices) > 1:
        raise UserError(f"Ratios of different devices: {', '.join(sorted(devices))}.")
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    cold: dict[str, Any] = {}
    for sitting in sittings:
        for row in sitting["rows"]:
            rows[row["program"], row["entry"], row["dataset"]] = row
        cold |= sitting["cold"]
    return {"rows": list(rows.values()), "cold": cold, "device": next(iter(devices), None),
            "sittings": [(each["date"], each["loop"]) for each in sittings if each["rows"]]}


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean, NaN of nothing."""
    every = list(ratios)
    return geometric_mean(every) if every else math.nan


def with_least(found: dict[str, Any]) -> dict[str, Any]:
    """The results with the least times of each side instead of the medians: for loaded hosts."""
    rows = [{**row, **row.get("least", {})} for row in found["rows"]]
    return {**found, "rows": [
        {**row, "best": row["default"] if row["best_version"] == "default" else row["best"]}
        if "error" not in row else row for row in rows]}


def by_program(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows that were measured, by program."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if "error" not in row:
            found.setdefault(row["program"], []).append(row)
    return found


def ratio(row: dict[str, Any], which: str) -> float:
    """The speedup of ``which`` of ours over the peer.

    A tuned row is compared with the peer's tuned time where there is one.
    """
    peer = row.get("peer_tuned", row["peer"]) if which == "tuned" else row["peer"]
    return float(peer / row[which])


def memory(row: dict[str, Any]) -> float:
    """The most device memory of ours, in parts of the peer's; NaN if one is not known."""
    return float(row["peak"] / row["peer_peak"]) if row.get("peer_peak") else math.nan


def _most_memory(rows: Iterable[dict[str, Any]]) -> float:
    """The largest share of the peer's memory among rows that need a notable amount."""
    known = [memory(row) for row in rows if row.get("peer_peak") and row["peak"] > LITTLE_MEMORY]
    return max(known, default=math.nan)


def print_tables(found: dict[str, Any]) -> None:
    """Print everything that results tell."""
    rows, cold = found["rows"], found["cold"]
    measured = [row for row in rows if "error" not in row]
    print(f"\ndevice: {found['device']}; sittings (date, seconds of a Python loop): "
          + ", ".join(f"{date} {loop:.2f}" for date, loop in found["sittings"]))
    programs = by_program(rows)
    tuned = all("tuned" in row for row in measured) and bool(measured)
    which = ["default", "best", *(["tuned"] if tuned else [])]
    print(f"{'program':36}{'rows':>5}" + "".join(f"{'/ ' + each:>10}" for each in which)
          + f"{'least':>8}{'< 0.9':>7}{'memory':>8}{'cold':>8}{'peer':>8}")
    for name, its in sorted(programs.items()):
        seconds = cold.get(name, {})
        print(f"{name:36}{len(its):>5}"
              + "".join(f"{mean(ratio(row, each) for row in its):>10.2f}" for each in which)
              + f"{min(ratio(row, 'default') for row in its):>8.2f}"
              + f"{sum(ratio(row, 'default') < SLOWER for row in its):>7}"
              + f"{_most_memory(its):>8.2f}"
              + f"{seconds.get('ours', math.nan):>8.1f}{seconds.get('peer', math.nan):>8.1f}")
    for each in which:
        print(f"geometric mean of peer / {each}: "
              f"{mean(mean(ratio(row, each) for row in its) for its in programs.values()):.2f} by "
              f"program ({len(programs)}), {mean(ratio(row, each) for row in measured):.2f} by row "
              f"({len(measured)})")
    _print_slower(measured)
    _print_untuned(measured)
    _print_memory(measured)
    for row in rows:
        if "error" in row:
            print(f"not measured: {_label(row)}: {row['error']}")


def _label(row: dict[str, Any]) -> str:
    entry = "" if row["entry"] == "main" else f"{row['entry']} "
    return f"{row['program']} {entry}{row['dataset']}"


def _print_slower(rows: Sequence[dict[str, Any]]) -> None:
    slower = sorted((row for row in rows if ratio(row, "default") < SLOWER),
                    key=lambda row: ratio(row, "default"))
    print(f"\n{len(slower)} of {len(rows)} rows below {SLOWER} by default "
          f"({sum(ratio(row, 'default') < 0.7 for row in slower)} below 0.7)")
    print(f"{'row':64}{'peer':>9}{'default':>9}{'best':>9}{'ratio':>7}{'launches':>9}{'waits':>6}"
          f"{'host':>6}{'MB':>8}{'GB/s':>7}")
    for row in slower:
        host = 1 - min(1.0, row["busy"] / row["default"])
        print(f"{_label(row)[:63]:64}{row['peer']:>9.0f}{row['default']:>9.0f}{row['best']:>9.0f}"
              f"{ratio(row, 'default'):>7.2f}{row['launches']:>9}{row['waits']:>6}{host:>6.0%}"
              f"{row['bytes'] / 1e6:>8.1f}{row['bytes'] / row['default'] / 1e3:>7.0f}")


def _print_untuned(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows whose default is far behind a forced version."""
    behind = [row for row in rows if row["default"] > UNTUNED * row["best"]]
    print(f"\n{len(behind)} defaults above {UNTUNED} times the best version")
    for row in sorted(behind, key=lambda row: row["best"] / row["default"]):
        print(f"{_label(row)[:63]:64}{row['default']:>9.0f}{row['best']:>9.0f}  "
              f"{row['best_version']}")


def _print_memory(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows whose default needs far more memory than the peer."""
    known = [row for row in rows if row.get("peer_peak")]
    more = [row for row in known
            if memory(row) > MORE_MEMORY and row["peak"] > LITTLE_MEMORY]
    print(f"\n{len(more)} of {len(known)} rows need more than {MORE_MEMORY} times the peer's "
          "memory")
    print(f"{'row':64}{'MB peak':>9}{'peer':>9}{'ratio':>7}")
    for row in sorted(more, key=memory, reverse=True):
        print(f"{_label(row)[:63]:64}{row['peak'] / 1e6:>9.1f}{row['peer_peak'] / 1e6:>9.1f}"
              f"{memory(row):>7.2f}")
