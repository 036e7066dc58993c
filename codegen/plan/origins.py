"""Origins of the statements of kernels in the source, noted while kernels are made for explanation.

Statements carry no places: kernels are kept on disk and read often, their places seldom.  So
builders note what they emit only inside of :func:`noting`.

>>> with noting() as origins:
...     assert noted() is origins
>>> noted() is None
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from runelift.ir import imp
from runelift.ir.base.source import Loc
from runelift.ir.imp.traverse import statements
from runelift.ir.names import VName


@dataclass(slots=True)
class Origins:
    """The places that statements stand for, and facts about memory that only builders know.

    ``private`` are buffers of which each work-item has a separate part.  No two iterations of loops
    over ``independent`` indices access the same cells.
    """

    private: set[VName] = field(default_factory=set)
    independent: set[VName] = field(default_factory=set)
    _places: dict[int, tuple[imp.Stm, Loc]] = field(default_factory=dict)
    """By identity; the statements are kept alive for that."""
    _names: dict[VName, Loc] = field(default_factory=dict)

    def note(self, code: Iterable[imp.Stm], loc: Loc) -> None:
        """Note the place of statements and of statements inside, unless they have one already."""
        for stm in statements(code):
            self._places.setdefault(id(stm), (stm, loc))
            if isinstance(stm, imp.Declare):
                self._names.setdefault(stm.name, loc)

    def of(self, stm: imp.Stm) -> Loc | None:
        """The place of a statement, which a pass may have put into another form."""
        if (known := self._places.get(id(stm))) is not None:
            return known[1]
        if isinstance(stm, imp.Declare | imp.Assign):
            return self._names.get(stm.name)
        return next((known[1] for inner in statements((stm,))
                     if (known := self._places.get(id(inner))) is not None), None)


_NOTING: ContextVar[Origins | None] = ContextVar("origins", default=None)


def noted() -> Origins | None:
    """The origins that are being noted, if any are."""
    return _NOTING.get()


@contextmanager
def noting() -> Iterator[Origins]:
    """Note the origins of all kernels that are made while the context lasts."""
    origins = Origins()
    token = _NOTING.set(origins)
    try:
        yield origins
    finally:
        _NOTING.reset(token)
