"""Names.  Every binder of an IR program is unique, so passes never capture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NAMELESS = "unknown"
"""The name of sizes that have no name in the program."""
SKIP = "skip"
"""The last word of a point that may be left out: the tuner tries both."""


def is_skip_name(name: str) -> bool:
    """True if a name is that of a parameter which leaves a point out if it is 1.

    >>> is_skip_name("main.ys.split_join[0].skip")
    True
    """
    return name.endswith(f"].{SKIP}")


@dataclass(frozen=True, slots=True, order=True)
class VName:
    """A variable, printed ``base_tag``.  ``base`` is for people, ``tag`` makes it unique."""

    base: str
    tag: int

    def __hash__(self) -> int:
        return self.tag

    def __str__(self) -> str:
        return f"{self.base}_{self.tag}"


class Names:
    """A supply of fresh names, deterministic for a given sequence of requests.

    >>> names = Names()
    >>> str(names.fresh("xs")), str(names.fresh("xs"))
    ('xs_1', 'xs_2')
    """

    def __init__(self, start: int = 1) -> None:
        self._next = start

    @classmethod
    def above(cls, used: Iterable[VName]) -> Names:
        """A supply whose names differ from all of ``used``."""
        return cls(max((name.tag for name in used), default=0) + 1)

    def fresh(self, base: str | VName) -> VName:
        """A name that this supply has not given out before."""
        tag = self._next
        self._next = tag + 1
        return VName(base if isinstance(base, str) else base.base, tag)

    def made(self) -> int:
        """The number of tags given out so far: names made from now on have higher tags."""
        return self._next - 1

    def back_to(self, before: Names) -> None:
        """Give out again the tags that were given out after the state ``before``."""
        self._next = before._next
