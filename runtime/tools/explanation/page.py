"""The page about a program: source, passes, flattening, versions and kernels of its entries."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import PurePath
from typing import TypeAlias

from runelift.codegen.emit.opencl import opencl_lines
from runelift.codegen.emit.source_places import SourceOfStatements
from runelift.codegen.plan import plan
from runelift.codegen.plan.kernel_classes import CLASSES, render, work_of
from runelift.codegen.plan.origins import Origins
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.lines import places
from runelift.ir.base.source import Loc, Source, in_source
from runelift.ir.pretty import pretty_lines, stm_lines
from runelift.ir.syntax import Program, Stm
from runelift.rewrite.engine.rule import without_marks
from runelift.rewrite.flattening import FLATTENING, Derivation, FlatteningRule, Step
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.entry_points import FLATTENING_STAGE
from runelift.runtime.devices.info import DeviceInfo
from runelift.runtime.tools.explanation.history import Firing, History, PassDone
from runelift.runtime.tools.explanation.segments import drawing_lines, drawn
from runelift.runtime.tools.pages.document import document
from runelift.runtime.tools.pages.highlight import highlighted
from runelift.runtime.tools.pages.pygments_lexer import RuneliftLexer
from runelift.runtime.versions.forest import Forest, entry_forest
from runelift.runtime.versions.version_names import described_version

TEMPLATE = "explanation.html"
MOST_OPEN = 400
"""Most lines of an entry point's passes and steps that are shown without being asked for."""
LEXER = RuneliftLexer(stripnl=False, ensurenl=False)
ROWS = (3, 0, 5, 1)
"""The lengths of the rows in pictures."""
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
    pictures: str = ""
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
    found.pictures = "\n".join(drawing_lines(drawn(forest, ROWS), ROWS))
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


# Texts

Numbers: TypeAlias = int | list[int]
"""Numbers of places: none (0), one, or several.

In a list, 0 stands before the places of calls around.
"""


@dataclass(slots=True)
class Texts:
    """The texts of a page about a program, by number; equal texts are one.

    Places are numbered from 1.  Each has the line and column of its first and last characters.
    """

    source: Source
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    kept: list[tuple[str, list[Numbers]]] = field(default_factory=list)
    _known: dict[tuple[str, str], int] = field(default_factory=dict)
    _numbers: dict[Loc, int] = field(default_factory=dict)

    def add(self, lines: Iterable[str]) -> int:
        """Add a text, unless an equal text is there; the number of the text."""
        lines = list(lines)
        text, numbers = "\n".join(lines), [self._of(line) for line in lines]
        key = text, str(numbers)
        if key not in self._known:
            self._known[key] = len(self.kept)
            self.kept.append((text, numbers))
        return self._known[key]

    def lines(self, numbers: Iterable[int | None]) -> int:
        """The lines of some texts together."""
        return sum(len(self.kept[each][1]) for each in numbers if each is not None)

    def place(self, loc: Loc | None) -> int:
        """The number of a place, or of the call nearest to it in the source; 0 if there is none."""
        return next(map(self._number, in_source(loc, self.source)), 0) if loc else 0

    def _of(self, line: str) -> Numbers:
        chains = [in_source(loc, self.source) for loc in places(line)]
        own = [*dict.fromkeys(self._number(chain[0]) for chain in chains if chain)]
        around = dict.fromkeys(self._number(loc) for chain in chains for loc in chain[1:])
        calls = [number for number in around if number not in own]
        found = [*own, 0, *calls] if calls else own
        return found if len(found) > 1 else found[0] if found else 0

    def _number(self, loc: Loc) -> int:
        key = Loc("", loc.line, loc.column)
        if key not in self._numbers:
            self.places.append((loc.line, loc.column, *(loc.last or (loc.line, loc.column))))
            self._numbers[key] = len(self.places)
        return self._numbers[key]

    def packed(self) -> str:
        """Places and texts as compressed JSON in base64, which browsers unpack."""
        data = json.dumps({"places": self.places, "texts": self.kept}, ensure_ascii=False,
                          separators=(",", ":"))
        return b64encode(gzip.compress(data.encode(), 9, mtime=0)).decode()


# Steps

@dataclass(frozen=True, slots=True)
class OtherRule:
    """A rule for the same expression that did not fire, and why."""

    name: str
    title: str
    why: str


@dataclass(slots=True)
class StepShown:
    """A flattening step, by the numbers of its texts, and ``premises``: the steps it depends on."""

    rule: str
    title: str
    fired: bool
    what: str
    note: str
    place: int
    law: tuple[str, str] | None
    nest: str
    before: int | None
    after: int | None
    others: list[OtherRule] = field(default_factory=list)
    inside: list[StepShown] = field(default_factory=list)


def steps_shown(derivation: Derivation, texts: Texts) -> list[StepShown]:
    """The steps of a derivation as a tree.

    A refusal that stands in front of the step that fired on the same statement belongs to it.
    """
    roots: list[StepShown] = []
    path: list[tuple[int, StepShown]] = []
    waiting: list[Step] = []

    def siblings(depth: int) -> list[StepShown]:
        """The steps of a depth that are inside of the last one around them."""
        while path and path[-1][0] >= depth:
            path.pop()
        return path[-1][1].inside if path else roots

    for step in derivation.steps:
        if not step.fired:
            waiting.append(step)
            continue
        refused = [each for each in waiting if _same(each, step)]
        for each in (*(other for other in waiting if other not in refused), step):
            made = _shown(each, refused if each is step else (), texts)
            siblings(each.depth).append(made)
            path.append((each.depth, made))
        waiting = []
    for each in waiting:
        siblings(each.depth).append(_shown(each, (), texts))
    return roots


def _same(refused: Step, fired: Step) -> bool:
    return (refused.depth == fired.depth and len(fired.before) == 1
            and fired.before[0] is refused.before[0])


def _shown(step: Step, refused: Sequence[Step], texts: Texts) -> StepShown:
    rule = rule_of(step)
    others = [OtherRule(each.rule, _title(each), each.note) for each in refused]
    others += [_other(title, why) for title, why in step.unlike]
    others += [_other(title, "not tried, as this rule came first") for title in step.later]
    return StepShown(
        step.rule, rule.title.replace("_", " ") if rule else "", step.fired, step.what, step.note,
        texts.place(step.loc), readable(rule.law) if rule else None, step.around,
        _text(step.before, texts), _text(step.after, texts) if step.fired else None, others)


def _text(stms: Sequence[Stm], texts: Texts) -> int | None:
    return texts.add(line for stm in stms for line in stm_lines(stm)) if stms else None


def rule_of(step: Step) -> FlatteningRule | None:
    """The rule of a step; several have the name of one rule of the paper."""
    named = [rule for rule in FLATTENING if rule.name == step.rule
             or step.rule.startswith(f"{rule.name} ")]
    heads = [rule for rule in named if step.before and type(step.before[0].exp) in rule.heads]
    return next(iter(heads or named), None)


def _title(step: Step) -> str:
    rule = rule_of(step)
    return rule.title.replace("_", " ") if rule else ""


def _other(title: str, why: str) -> OtherRule:
    return OtherRule(next(rule.name for rule in FLATTENING if rule.title == title),
                     title.replace("_", " "), why)


def readable(law: str) -> tuple[str, str]:
    """A law without the marks of docstrings: the inference rule, and what is said of it.

    >>> readable("a ⇒ b\\n    ⇒ c\\n\\n    Kinds (:mod:`~a.b.mapping`)\\n    of ``x``.")
    ('a ⇒ b\\n⇒ c', 'Kinds (mapping) of x.')
    """
    rule, _, said = without_marks(law).partition("\n\n")
    first, *rest = rule.splitlines()
    return "\n".join([first, *(line.removeprefix("    ") for line in rest)]), " ".join(said.split())


# Kernels


@dataclass(frozen=True, slots=True)
class KernelShown:
    """A kernel: its class, what it is made for, and the number of its text.

    Its body has ``lines`` lines, of which ``linked`` lines have a place in the source.
    """

    name: str
    kind: str
    origin: str
    text: int
    linked: int
    lines: int


@dataclass(frozen=True, slots=True)
class VersionKernels:
    """The kernels of a version, or of what runs in any case; or why the version cannot run."""

    version: str
    kernels: tuple[KernelShown, ...]
    why_not: str = ""


def version_kernels(host: plan.Plan, origins: Origins, forest: Forest, texts: Texts
                    ) -> list[VersionKernels]:
    """The kernels of a plan by version, in the order of the versions."""
    found: dict[str, dict[str, KernelShown]] = {}
    failed: dict[str, str] = {}
    for version, each in _launches(host.steps, forest, ""):
        known = found.setdefault(version, {})
        if isinstance(each, str):
            failed[version] = each
        elif each.name not in known:
            known[each.name] = _kernel_shown(each, origins, texts)
    return [VersionKernels(version, tuple(kernels.values()), failed.get(version, ""))
            for version, kernels in found.items()]


def _kernel_shown(kernel: imp.Kernel, origins: Origins, texts: Texts) -> KernelShown:
    lines = opencl_lines(kernel, locate=SourceOfStatements(kernel, origins))
    body = lines[lines.index("{") + 1:len(lines) - lines[::-1].index("}") - 1]
    linked = sum(any(in_source(loc, texts.source) for loc in places(line)) for line in body)
    return KernelShown(kernel.name, CLASSES[kernel.kind], kernel.comment, texts.add(lines),
                       linked, len(body))


def _launches(steps: Sequence[plan.Step], forest: Forest, version: str
              ) -> Iterator[tuple[str, imp.Kernel | str]]:
    """The kernels by version; for one that cannot run, the reason."""
    for step in steps:
        match step:
            case plan.Choose(site, versions):
                alternatives = forest.sites()[site].alternatives
                for each, alternative in zip(versions, alternatives, strict=True):
                    name = described_version(alternative)
                    if each.infeasible is not None:
                        yield name, each.infeasible
                    else:
                        yield from _launches(each.steps, forest, name)
            case plan.Launch(kernel):
                yield version, kernel
            case _:
                for body in plan.bodies(step):
                    yield from _launches(body, forest, version)
