"""The records of a program as rows: for notebooks, dictionaries and frames of pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from runelift.runtime.displayed import Displayed, frame
from runelift.runtime.records.format import show_seconds, table
from runelift.runtime.records.record import Record

SHOWN = 8
"""The most records that a text shows."""
_TIMES = ("wall", "span", "busy", "host", "issue")


Names: TypeAlias = Callable[[], Mapping[tuple[str, int], str]]
"""A function that finds the names of versions by site and index."""


class Records(list[Record], Displayed):
    """Records of runs, in order; ``names`` of versions make their rows readable."""

    _looks = "records"

    def __init__(self, records: Iterable[Record] = (), names: Names = dict) -> None:
        super().__init__(records)
        self._names = names

    def __reduce__(self) -> tuple[Any, ...]:
        return Records, (list(self),)

    def to_dicts(self, *, choices: bool = False) -> list[dict[str, Any]]:
        """A dictionary for each run, or for each of its ``choices`` of versions; in seconds."""
        if not choices:
            return [_run(number, each) for number, each in enumerate(self)]
        names = self._names()
        return [row for number, each in enumerate(self) for row in _choices(number, each, names)]

    def to_pandas(self, *, choices: bool = False) -> Any:
        """The rows of :meth:`to_dicts` as a frame; UserError if pandas is not installed."""
        return frame(self.to_dicts(choices=choices))

    def __repr__(self) -> str:
        if not self:
            return "[]"
        left = len(self) - SHOWN
        more = [f"… and {left} more: to_dicts(), to_pandas()"] if left > 0 else []
        return "\n".join([table(rows(self[:SHOWN])), *more])


def rows(records: list[Record]) -> list[list[str]]:
    """A head, and a row of text for each record."""
    return [["run", "time", "on the device", "kernels", "launches", "choices"], *(
        [each.entry, show_seconds(each.wall), show_seconds(each.span), show_seconds(each.busy),
         str(each.launches), str(len(each.encounters))] for each in records)]


def _run(number: int, record: Record) -> dict[str, Any]:
    return {"run": number, "entry": record.entry, "device": record.device,
            **{name: getattr(record, name) for name in _TIMES},
            "launches": record.launches, "waits": record.waits, "peak_bytes": record.peak_bytes,
            "choices": len(record.encounters)}


def _choices(number: int, record: Record, names: Mapping[tuple[str, int], str]
             ) -> list[dict[str, Any]]:
    return [{"run": number, "entry": record.entry, "choice": each.number, "parent": each.parent,
             "site": each.site, "version": names.get((each.site, each.chosen), each.chosen),
             "time": each.time, "busy": each.busy, "gap": each.gap, "launches": each.launches,
             "sizes": dict(each.sizes), "parallelism": dict(each.par)}
            for each in record.encounters]
