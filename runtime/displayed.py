"""Objects that notebooks show as HTML.

The looks are the subject of :mod:`runelift.runtime.tools.notebook`, which is imported when a
notebook asks for them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from runelift.ir.base.errors import UserError


class Displayed:
    """Base of objects with a rich display; ``_looks`` is the module that draws them."""

    __slots__ = ()
    _looks = "programs"

    def _repr_html_(self) -> str:
        return str(self._drawn_by().html(self))

    def _text(self) -> str:
        """The text that terminals show, by the module that draws the HTML."""
        return str(self._drawn_by().text(self))

    def _drawn_by(self) -> ModuleType:
        return import_module(f"runelift.runtime.tools.notebook.{self._looks}")


def frame(rows: list[dict[str, Any]]) -> Any:
    """Rows as a frame of pandas; UserError if it is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise UserError("This needs pandas: pip install pandas.  Without it, to_dicts() has the "
                        "rows.") from None
    return pandas.DataFrame(rows)


class Listing(str, Displayed):
    """The text of a program at a stage; it shows itself as it is, in terminals and notebooks."""

    language: str
    heading: str

    def __new__(cls, text: str, language: str = "", heading: str = "") -> Listing:
        """A text in a ``language``: source, core, imp, opencl or python."""
        self = super().__new__(cls, text)
        self.language = language
        self.heading = heading
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Listing, (str(self), self.language, self.heading)

    def __repr__(self) -> str:
        return str(self)
