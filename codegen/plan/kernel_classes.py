"""Classes of kernels: the forms that operations of a host plan take.

The class of a kernel says how it divides its work and where it keeps elements.  Programs that mean
the same should reach the same classes, however they are written.  ``runelift explain kernels``
prints them for each code version, with launches and stored intermediates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from runelift.codegen.plan import plan
from runelift.ir import imp
from runelift.ir.names import VName

CLASSES = {
    "segmap": "a work-item per point",
    "segmap_small": "a work-item per point",
    "segmap_wide": "a work-item per point",
    "columns": "strips of columns",
    "column_pieces": "strips of columns, in pieces",
    "columns_combined": "strips of columns, in pieces",
    "segmap_tiled": "product by blocks",
    "segmap_pieces": "product by blocks, in pieces",
    "segmap_combined": "product by blocks, in pieces",
    "segmap_coarse": "several points per work-item",
    "segmap_coarse_boxed": "several points per work-item, boxes in local memory",
    "segred_small": "reduction, a work-item per segment",
    "segred_large": "a group per point",
    "segred": "reduction, groups per segment",
    "segred_final": "reduction, groups per segment",
    "segred_coarse": "several points per work-item",
    "segred_coarse_boxed": "several points per work-item, boxes in local memory",
    "ragged_rows": "reduction, a work-item per segment",
    "ragged_lanes": "reduction, neighbours per segment",
    "ragged_groups": "a group per point",
    "ragged_scan_rows": "scan, a work-item per segment",
    "merge_rows": "reduction by lengths, a team per segment",
    "merge_pieces": "reduction by lengths, pieces of long segments",
    "merge_tiles": "along a merge path",
    "merge_parts": "along a merge path",
    "merge_joined": "parts of segments, combined",
    "merge_scan_once": "along a merge path, in one pass",
    "merge_scan_tiles": "along a merge path",
    "merge_scan_parts": "along a merge path",
    "length_facts": "facts about lengths",
    "length_facts_final": "facts about lengths",
    "segscan_small": "scan, a work-item per segment",
    "segscan_once": "scan in one pass",
    "segscan_sums": "scan in two passes",
    "segscan_carries": "scan in two passes",
    "segscan": "scan in two passes",
    "seghist": "histogram, a work-item per element",
    "seghist_local": "histogram in local memory",
    "seghist_global": "histogram, several copies in global memory",
    "seghist_fill": "histogram, bins filled",
    "seghist_locks": "histogram, a work-item per element",
    "seghist_final": "histogram, copies combined",
    "seghist_sequential": "histogram, a work-item per segment",
    "segscatter": "scatter, a work-item per element",
    "segaccumulate": "updates, a work-item per point",
    "transpose": "transposed copy by tiles",
    "transpose_words": "transposed copy by tiles",
    "intragroup": "a group per point",
}
"""The class of each kind of kernel (:attr:`runelift.ir.imp.Kernel.kind`)."""


@dataclass(frozen=True, slots=True)
class Form:
    """The classes that the kernels of one operation may have; the sizes decide among them."""

    name: str
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """The work of some steps: forms of operations, choices of versions, and memory.

    ``launches`` are the fewest and the most; loops and functions that call themselves count once.
    ``stored`` are the arrays that are kept in memory and are no results.  Choices are not counted
    in either.  ``repeats`` are places where launches may run more than once, in words.
    """

    forms: tuple[Form, ...]
    choices: tuple[Choice, ...]
    launches: tuple[int, int]
    stored: tuple[str, ...]
    repeats: tuple[str, ...] = ()

    @property
    def reached(self) -> frozenset[str]:
        """All classes of kernels, in all versions."""
        own = {each for form in self.forms for each in form.classes}
        return frozenset(own.union(*(work.reached for choice in self.choices
                                     for _, work in choice.versions)))

    @property
    def least_stored(self) -> int:
        """The intermediates that are stored if each choice is for the version with fewest."""
        return len(self.stored) + sum(min(work.least_stored for _, work in choice.versions)
                                      for choice in self.choices)

    @property
    def least_launches(self) -> int:
        """The launches if each choice is for the version with fewest."""
        return self.launches[0] + sum(min(work.least_launches for _, work in choice.versions)
                                      for choice in self.choices)

    def lines(self) -> list[str]:
        """The work as text, a line for each operation and version."""
        found = [f"{form.name}: {', or '.join(form.classes)}" for form in self.forms]
        if self.stored:
            found.append(f"stored: {', '.join(self.stored)}")
        for choice in self.choices:
            found.append(f"choice {choice.site}")
            for kind, work in choice.versions:
                found.append(f"  {kind} ({_counted(work)})")
                found += [f"    {line}" for line in work.lines()]
        return found


@dataclass(frozen=True, slots=True)
class Choice:
    """The versions at a site that can run, by kind."""

    site: str
    versions: tuple[tuple[str, Work], ...]


def work_of(entry: plan.Plan) -> Work:
    """The work of an entry point."""
    kept = {spec.name for spec in entry.results}
    binds = [step for step in plan.all_steps(entry.steps) if isinstance(step, plan.Bind)]
    before = 0
    while before != len(kept):
        before = len(kept)
        kept |= {bind.source for bind in binds
                 if bind.target in kept and isinstance(bind.source, VName)}
    return _work(entry.steps, kept)


def render(works: Iterable[tuple[str, Work]]) -> str:
    """The work of entry points as text."""
    found = list(works)
    texts = ["\n".join([f"{name} ({_counted(work)})", *(f"  {line}" for line in work.lines())])
             for name, work in found]
    repeats = dict.fromkeys(each for _, work in found for each in work.repeats)
    return "\n\n".join(texts + ([f"Launches {' and '.join(repeats)} count once, however often they "
                                 "run."] if repeats else []))


def _work(steps: Sequence[plan.Step], kept: Set[VName]) -> Work:
    forms: list[Form] = []
    choices: list[Choice] = []
    stored: list[str] = []

    def visit(some: Sequence[plan.Step]) -> None:
        for step in some:
            match step:
                case plan.Choose(site, versions):
                    choices.append(Choice(site, tuple(
                        (version.kind.value, _work(version.steps, kept)) for version in versions
                        if version.infeasible is None)))
                case plan.Operation(name, _, inner):
                    fills, own = plan.apart_from_fills(inner)
                    visit(fills)
                    forms.append(_form(name, own))
                case plan.Launch(kernel):
                    forms.append(_form(_base_name(kernel), (step,)))
                case plan.Alloc(name) if name not in kept:
                    stored.append(name.base)
                case _:
                    for body in plan.bodies(step):
                        visit(body)

    visit(steps)
    return Work(tuple(forms), tuple(choices), _launches(steps), tuple(stored),
                tuple(dict.fromkeys(_repeats(steps))))


def _repeats(steps: Sequence[plan.Step]) -> Iterator[str]:
    """Places where launches among ``steps`` may run more than once."""
    for step in plan.all_steps(steps):
        match step:
            case plan.CountedLoop() | plan.WhileLoop() if any(plan.kernels(step.body)):
                yield "in a loop"
            case plan.Recursion() if any(plan.kernels(step.body)):
                yield "in a function that calls itself"


def _form(name: str, steps: Sequence[plan.Step]) -> Form:
    return Form(name, tuple(dict.fromkeys(CLASSES[k.kind] for k in plan.kernels(steps))))


def _base_name(kernel: imp.Kernel) -> str:
    """The name of the result without the kind and number around it."""
    return kernel.name.removeprefix(f"{kernel.kind}_").rpartition("_")[0]


def _launches(steps: Sequence[plan.Step]) -> tuple[int, int]:
    """The fewest and the most launches, each loop gone through once, without choices."""
    fewest = most = 0
    for step in steps:
        match step:
            case plan.Launch():
                low = high = 1
            case plan.Branch():
                sides = [_launches(side) for side in plan.bodies(step)]
                low, high = min(side[0] for side in sides), max(side[1] for side in sides)
            case plan.Fill(_, inner):
                low, high = 0, _launches(inner)[1]
            case plan.Choose():
                low = high = 0
            case _:
                inside = [_launches(body) for body in plan.bodies(step)]
                low, high = sum(each[0] for each in inside), sum(each[1] for each in inside)
        fewest, most = fewest + low, most + high
    return fewest, most


def _counted(work: Work) -> str:
    low, high = work.launches
    return f"{low} to {high} launches" if low != high else f"{low} launch{'es' * (low != 1)}"
