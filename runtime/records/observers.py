"""Observers of runs: functions of installed packages that are called after each run.

``--observe NAME`` of ``run``, ``bench`` and ``profile`` asks for one: an entry point of the group
``runelift.observers``, or MODULE.NAME.  Energy, accuracy or a log of all times are found that way,
as with the observers of Kernel Tuner (van Werkhoven 2019).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from runelift.ir.base import plugins
from runelift.ir.base.errors import UserError
from runelift.ir.base.plugins import PluginWarning
from runelift.runtime.records.record import Record


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A run that is over: what ran, the seconds of the call, and its record if it has one."""

    program: str
    entry: str
    dataset: str
    device: str
    seconds: float
    record: Record | None = None


Observer: TypeAlias = Callable[[ObservedRun], object]


class Observers:
    """Observers by their names; one that fails is called no more, with a warning."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._all = {name: _observer(name) for name in names}

    def __bool__(self) -> bool:
        return bool(self._all)

    def of(self, program: object, entry: str, dataset: str, device: str
           ) -> Callable[[float, Record | None], None]:
        """A function that is told the seconds and the record of each run on a dataset."""
        def seen(seconds: float, record: Record | None) -> None:
            self(ObservedRun(str(program), entry, dataset, device, seconds, record))

        return seen

    def __call__(self, run: ObservedRun) -> None:
        """Call all observers after a run."""
        for name, observer in tuple(self._all.items()):
            try:
                observer(run)
            except Exception as error:  # code of others may raise anything
                del self._all[name]
                warnings.warn(f"the observer '{name}' failed, and is called no more: "
                              f"{type(error).__name__}: {error}", PluginWarning, stacklevel=2)


def _observer(name: str) -> Observer:
    """An observer by its name, or as MODULE.NAME; UserError if there is none."""
    if (found := plugins.named(plugins.OBSERVERS, name)) is not None:
        observer = found[1]
    elif "." in name:
        module, _, attribute = name.rpartition(".")
        try:
            observer = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UserError(f"The observer '{name}' cannot be imported: {error}.") from None
    else:
        known = ", ".join(each.name for each in plugins.declared(plugins.OBSERVERS))
        raise UserError(f"No observer is called '{name}'.  " + (
            f"There are {known}." if known else
            "Installed packages have none; MODULE.NAME imports one."))
    if not callable(observer):
        raise UserError(f"The observer '{name}' is no function.")
    made: Observer = observer() if isinstance(observer, type) else observer
    return made
