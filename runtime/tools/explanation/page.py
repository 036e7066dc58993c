"""The page about a program: source, passes, flattening, versions and kernels of its entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import PurePath

from runelift.codegen.plan.kernel_classes import render, work_of
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Loc
from runelift.ir.pretty import pretty_lines
from runelift.ir.syntax import Program
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.entry_points import FLATTENING_STAGE
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.tools.explanation.history import Firing, History, PassDone
from runelift.runtime.tools.explanation.kernels import VersionKernels, version_kernels
from runelift.runtime.tools.explanation.steps import StepShown, steps_shown
from runelift.runtime.tools.explanation.texts import Texts
from runelift.runtime.tools.pages.document import document
from runelift.runtime.tools.pages.highlight import highlighted
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer
from runelift.runtime.versions.forest import entry_forest

TEMPLATE = "explanation.html"
MOST_OPEN = 400
"""Most lines of an entry point's passes and steps that are shown without being asked for."""
LEXER = RuneliftLexer(stripnl=False, ensurenl=False)
_VERSION = re.compile(r" (V\d+) \(\w+\)")
_PLACE = re.compile(r"\[(\d+):(\d+)\]")


@dataclass(frozen=True, slots=True)
class PassShown:
    """A pass: the number of the text with its changes, None if there are none, and its rules."""

    name: str
    description: str
    changes: int | None
    added: int
    removed: int
    firings: tuple[Firing, ...]


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of the tree of versions, the number of its place or 0, and the version it names."""

    text: str
    place: int
    version: str


@dataclass(slots=True)
class EntryShown:
    """An entry point and the numbers of its texts; ``why_not``: the reason if it has no kernels.

    Passes and steps are ``unfolded`` if they are short.
    """

    name: str
    core: int
    passes: list[PassShown]
    optimised: int
    steps: list[StepShown]
    late_passes: list[PassShown]
    versioned: int
    tree: list[TreeLine]
    unfolded: bool
    work: str = ""
    versions: list[VersionKernels] = field(default_factory=list)
    why_not: str = ""


def explained(compiled: Compiled, history: History, *, entries: Iterable[str], command: str,
              device: DeviceInfo | None) -> str:
    """The text of the page; ``history`` has watched the compilation.

    Kernels are made for ``device``.  If it is None, they are made for GPUs.
    """
    texts = Texts(compiled.source)
    shown = [_entry(compiled, history, name, texts, device) for name in entries]
    kernels = {each.text: each for entry in shown for version in entry.versions
               for each in version.kernels}.values()
    name = PurePath(compiled.source.name).name
    return document(
        f"How {name} becomes kernels", (), template=TEMPLATE, package=__package__, name=name,
        entries=shown, source=highlighted(compiled.source.text.rstrip("\n"), LEXER),
        command=command, policy=compiled.policy,
        device=device.name if device is not None else "GPUs",
        linked=sum(each.linked for each in kernels), lines=sum(each.lines for each in kernels),
        places=texts.places, packed=texts.packed())


def _entry(compiled: Compiled, history: History, name: str, texts: Texts,
           device: DeviceInfo | None) -> EntryShown:
    core = Program(tuple(fun for fun in compiled.core.funs if fun.name == name))
    optimised, versioned = compiled.optimised_entry(name), compiled.versioned_entry(name)
    own = [each for each in history.passes if [fun.name for fun in each.after.funs] == [name]]
    flat = next((k for k, each in enumerate(own) if each.name == FLATTENING_STAGE), len(own))
    forest = entry_forest(versioned.funs[0])
    passes, late = [*_passes(own[:flat], texts)], [*_passes(own[flat + 1:], texts)]
    steps = steps_shown(compiled.derivation(name), texts)
    at_once = texts.lines([*(each.changes for each in (*passes, *late)),
                           *(number for each in steps for number in (each.before, each.after))])
    found = EntryShown(
        name, texts.add(pretty_lines(core)), passes, texts.add(pretty_lines(optimised)), steps,
        late, texts.add(pretty_lines(versioned)),
        [_tree_line(line, texts) for line in forest.render().splitlines()], at_once <= MOST_OPEN)
    try:
        host, origins = compiled.explained_plan(
            name, interleave=device is None or device.interleaves,
            coherent=device is None or device.coherent)
    except CompilerLimitation as limitation:
        found.why_not = str(limitation)
    else:
        found.work = render([(name, work_of(host))])
        found.versions = version_kernels(host, origins, forest, texts)
    return found


def _passes(done: Iterable[PassDone], texts: Texts) -> Iterator[PassShown]:
    """The passes.  Passes in a row that change nothing become one pass, with all their names."""
    shown = (_pass(each, texts) for each in done)
    for idle, group in groupby(shown, lambda each: each.changes is None):
        if idle:
            first, *rest = group
            yield replace(first, name=", ".join([first.name, *(each.name for each in rest)]))
        else:
            yield from group


def _pass(done: PassDone, texts: Texts) -> PassShown:
    changes = done.diff()
    return PassShown(done.name, done.description, texts.add(changes) if changes else None,
                     sum(line.startswith("+") for line in changes),
                     sum(line.startswith("-") for line in changes), done.firings)


def _tree_line(text: str, texts: Texts) -> TreeLine:
    place, version = _PLACE.search(text), _VERSION.search(text)
    loc = place and Loc(texts.source.name, int(place[1]), int(place[2]))
    return TreeLine(text, texts.place(loc), version[1] if version else "")
