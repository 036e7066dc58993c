"""Plug-ins: what installed packages add to Runelift, found by their entry points.

A package names its objects in its metadata, in one group for each kind::

    [project.entry-points."runelift.policies"]
    lean = "lean_policy:lean"

It is imported when something of its group is needed.  One that cannot be imported is left out, with
a warning.  ``RUNELIFT_PLUGINS=0`` leaves out all.  See the packaging guide, "Creating and
discovering plugins" (packaging.python.org).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

VARIABLE = "RUNELIFT_PLUGINS"
"""The variable that is 0 if there are to be no plug-ins."""
RULES, POLICIES, STRATEGIES, OBSERVERS = GROUPS = (
    "runelift.rules", "runelift.policies", "runelift.strategies", "runelift.observers")
"""The groups of entry points."""
KINDS = {RULES: "rewrite rule", POLICIES: "policy", STRATEGIES: "tuning strategy",
         OBSERVERS: "observer"}
"""The words for one object of each group."""
MENTION = b"[runelift."
"""Text in the metadata of packages that have plug-ins."""


class PluginWarning(UserWarning):
    """Warns that a plug-in is not used, with the reason."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point: its group and name, its package with the version, and the object's place."""

    group: str
    name: str
    package: str
    place: str
    entry: Any = field(compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The word for the group of the plug-in, such as rule or policy."""
        return KINDS[self.group]

    def left_out(self, why: object) -> None:
        """Warn that the plug-in is not used, and ``why``."""
        text = str(why).splitlines()
        warnings.warn(f"the {self.kind} '{self.name}' of the package {self.package} is not used: "
                      f"{text[0] if text else type(why).__name__}", PluginWarning, stacklevel=2)


def declared(group: str) -> tuple[Plugin, ...]:
    """The plug-ins of a group, which are not imported for that."""
    if os.environ.get(VARIABLE) == "0":
        return ()
    return tuple(each for each in _declared(tuple(sys.path)) if each.group == group)


def loaded(group: str) -> tuple[tuple[Plugin, Any], ...]:
    """The plug-ins of a group, each with its object; warns once of each without an object."""
    return tuple((each, found[0]) for each in declared(group) if (found := imported(each)))


def named(group: str, name: str) -> tuple[Plugin, Any] | None:
    """The plug-in of this name with its object; None if there is none that can be used."""
    for each in declared(group):
        if each.name == name and (found := imported(each)):
            return each, found[0]
    return None


def modules() -> tuple[str, ...]:
    """The modules that plug-ins come from, without their parent packages."""
    return tuple(dict.fromkeys(each.place.partition(":")[0].partition(".")[0]
                               for group in GROUPS for each in declared(group)))


@cache
def imported(plugin: Plugin) -> tuple[Any, ...]:
    """The object of a plug-in, if it can be imported; a warning, once, if not."""
    try:
        return (plugin.entry.load(),)
    except Exception as error:  # modules of others may raise anything
        plugin.left_out(f"{type(error).__name__}: {error}")
        return ()


@cache
def _declared(path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """The plug-ins of all groups that packages on the path declare."""
    if not any(map(_mentions, path)):
        return ()
    # It takes longer to import than to see that there is nothing to find.
    entry_points = import_module("importlib.metadata").entry_points
    found = dict[tuple[str, str], Plugin]()
    for group in GROUPS:
        for each in entry_points(group=group):
            package = "?" if each.dist is None else f"{each.dist.name} {each.dist.version}"
            found.setdefault((group, each.name),
                             Plugin(group, each.name, package, each.value, each))
    return tuple(found.values())


def _mentions(folder: str) -> bool:
    """True if the metadata of a package in a folder of the path mentions one of the groups."""
    return any(MENTION in text for text in _metadata(folder or "."))


def _metadata(folder: str) -> Iterator[bytes]:
    try:
        names = os.listdir(folder)
    except OSError:  # an archive, or no folder
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:
                    yield file.read()
            except OSError:  # it has none
                pass
