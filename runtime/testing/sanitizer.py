"""Reports of Oclgrind about kernels, as reports about the program that they were made of.

Oclgrind writes them to standard error while it runs kernels.  A line has the kind of mistake.
Indented lines after it have the kernel, the work-items and the line of OpenCL C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

CHECKS = {"OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNINITIALIZED": "1"}
"""The environment in which Oclgrind looks for all that it can find."""
_KERNEL = re.compile(r"^\s+Kernel:\s*(\S+)")
_ITEM = re.compile(r"Global(\(\d+,\d+,\d+\))")
_CODE = re.compile(r"^\s+At line \d+")
_ADDRESS = re.compile(r" at (\w+) memory address 0x[0-9a-f]+| address 0x[0-9a-f]+")
_PLACE = re.compile(r"^(?P<what>.*?) at (?P<place>.+:\d+:\d+)$")


@dataclass(frozen=True, slots=True)
class Report:
    """A mistake of a kernel: its kind, the lines of OpenCL C, and the first work-items.

    Reports are equal if only their work-items differ.
    """

    kind: str
    kernel: str
    code: tuple[str, ...]
    items: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return self.kind, self.kernel, self.code

    def place(self, comments: Mapping[str, str]) -> tuple[int, str]:
        """The line of the source that the kernel was made of, and the report in words.

        ``comments`` say of each kernel by name from what it was made.  The line is 1 if it is not
        known.
        """
        found = _PLACE.match(comments.get(self.kernel, ""))
        made_of = f"{found['what']} at {found['place']}" if found else "an unknown place"
        line = int(found["place"].rsplit(":", 2)[1]) if found else 1
        items = f", work-items {' and '.join(self.items)}" if self.items else ""
        code = "".join(f"\n   | {each}" for each in self.code)
        return line, f"{self.kind} in kernel {self.kernel} of {made_of}{items}{code}"


def reports(text: str) -> Iterator[Report]:
    """The reports in what Oclgrind wrote, each kind of mistake of a line once."""
    yield from dict.fromkeys(_parsed(text.splitlines()))


def _parsed(lines: Iterable[str]) -> Iterator[Report]:
    header, block = "", list[str]()
    for line in (*lines, "end"):
        if line[:1].isspace():
            block.append(line)
            continue
        if not line:
            continue
        if (report := _report(header, block)) is not None:
            yield report
        header, block = line, []


def _report(header: str, block: list[str]) -> Report | None:
    """The report of a block of lines, if it is one."""
    kernel = next((found[1] for line in block if (found := _KERNEL.match(line))), None)
    if kernel is None:
        return None
    code = tuple(dict.fromkeys(block[n + 1].strip() for n, line in enumerate(block[:-1])
                               if _CODE.match(line)))
    items = tuple(dict.fromkeys(item for line in block for item in _ITEM.findall(line)))
    kind = _ADDRESS.sub(lambda found: f" in {found[1]} memory" if found[1] else "", header)
    return Report(kind.strip(), kernel, code, items)
