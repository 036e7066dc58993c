"""Texts that are open or saved, and the newest analysis of each that is of use.

A text that is being typed has mistakes most of the time.  Types come from the last text without
mistakes.  Places before the changes since then stay, and places behind the changes are moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from runelift.frontend.check import Memory
from runelift.frontend.syntax.reparse import common_ends
from runelift.ir.base.source import Source
from runelift.runtime.tools.editors.analysis import Analysis, read

if TYPE_CHECKING:
    from runelift.runtime.tools.editors.code_versions import CodeVersions


@dataclass
class Document:
    """A text.  ``good`` is the last analysis with types, ``parsed`` the last with a tree.

    ``memory`` belongs to the thread that checks.
    """

    source: Source
    checked: Analysis | None = None
    good: Analysis | None = None
    parsed: Analysis | None = None
    versions: CodeVersions | None = None
    memory: Memory = field(default_factory=Memory)
    _tried: str | None = None
    _move: tuple[str, str, Move] | None = None

    @cached_property
    def path(self) -> Path:
        """The file that the text belongs to."""
        return path_of(self.source)

    def take(self, found: Analysis) -> None:
        """Have the result of a check."""
        self.checked = found
        if found.module is not None:
            self.parsed = found
        if found.flat is not None and not any(each.severity == "error"
                                              for each in found.diagnostics):
            self.good = found

    def with_tree(self) -> Analysis | None:
        """The analysis of this very text if it can be parsed, which may take a moment; or None."""
        if self.parsed is not None and self.parsed.source.text == self.source.text:
            return self.parsed
        if self._tried == self.source.text:
            return None
        self._tried = self.source.text
        found = read(self.source, self.parsed)
        if found.module is None:
            return None
        self.parsed = found
        return found

    def move_to(self, analysis: Analysis) -> Move:
        """Places of the text of an analysis for places of the current text."""
        old, new = analysis.source.text, self.source.text
        if self._move is None or self._move[0] is not old or self._move[1] is not new:
            self._move = old, new, Move(old, new)
        return self._move[2]


def path_of(source: Source) -> Path:
    """The absolute path of a file, without symbolic links."""
    return Path(source.name).resolve()


class Move:
    """A change of a text: its common start and end, then by lines, then by characters."""

    def __init__(self, old: str, new: str) -> None:
        self._pieces: list[tuple[int, int, int]] = []
        """Equal pieces: where they begin in the old and new text, and their lengths."""
        start, end = self._ends(old, new, 0, 0)
        one, other = (text[start:len(text) - end].splitlines(keepends=True) for text in (old, new))
        left, right = ([start, *(start + place for place in accumulate(map(len, lines)))]
                       for lines in (one, other))
        for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if tag == "equal":
                self._pieces.append((left[i], right[k], left[j] - left[i]))
            elif tag == "replace":
                self._ends(old[left[i]:left[j]], new[right[k]:right[m]], left[i], right[k])

    def _ends(self, old: str, new: str, old_start: int, new_start: int) -> tuple[int, int]:
        """Note the common start and end of two parts of the texts; their lengths."""
        before, behind = common_ends(old, new)
        self._pieces.append((old_start, new_start, before))
        self._pieces.append((old_start + len(old) - behind, new_start + len(new) - behind, behind))
        return before, behind

    def to_old(self, place: int) -> int | None:
        """The place in the old text; None if it is new."""
        return next((old + place - new for old, new, length in self._pieces
                     if new <= place <= new + length), None)

    def to_new(self, place: int) -> int | None:
        """The place in the new text; None if it is gone."""
        return next((new + place - old for old, new, length in self._pieces
                     if old <= place <= old + length), None)
