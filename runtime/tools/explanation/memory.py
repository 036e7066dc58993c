"""The device memory of each version, for people: formulas, bytes for inputs, and live arrays.

Beside the bytes stands the predicted time of a run: what memory buys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from runelift.codegen.plan.memory import Peak, VersionMemory
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.solver.formulas import apart, formula
from runelift.runtime.memory.byte_sizes import show_bytes
from runelift.runtime.memory.memory_run import (
    Held,
    MemoryEstimate,
    VersionNeed,
    largest,
    shown_name,
)
from runelift.runtime.predictions.predict import Totals
from runelift.runtime.records.format import table
from runelift.runtime.tools.predictions.call import at_least
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.size_names import simple_name
from runelift.runtime.versions.version_names import described_version

LEGEND = ("Arguments and results count.  Formulas leave out that buffers are rounded up, and bound "
          "what is decided by sizes.  Names that the source does not have are for what the host "
          "chooses by sizes and the device, or for what kernels compute, such as the sum 'total' "
          "of the lengths of rows.  Where kernels compute sizes, 'at least' is what is allocated "
          "before, and ≥ is as in 'explain cost'.  Times are predicted, not measured.")
WHOLE = "the run by default"
CALLS = ", without what a function that calls itself needs for its calls"


@dataclass(frozen=True)
class ExplainedMemory:
    """The memory of an entry point: formulas, and estimates by input.

    ``totals`` are the predicted costs of runs by input, for each version by site and index, and for
    None by default.  Runs that are impossible have None.
    """

    forest: Forest
    formulas: VersionMemory
    estimates: Mapping[str, MemoryEstimate]
    totals: Mapping[str, Mapping[tuple[str, int] | None, Totals | None]] = field(
        default_factory=dict)

    def timed(self, label: str, version: tuple[str, int] | None, memory: str) -> str:
        """The memory behind the predicted time, if that is known."""
        found = self.totals.get(label, {}).get(version)
        return memory if found is None else f"{at_least(found)}, {memory}"

    def seconds(self, label: str, version: tuple[str, int] | None) -> float | None:
        """The predicted time, if that is known."""
        found = self.totals.get(label, {}).get(version)
        return None if found is None else found.seconds

    @cached_property
    def _name(self) -> Callable[[VName], str]:
        """The names of variables: one for each, in all formulas."""
        peaks = [*self.formulas.peaks, *(peak for _, _, version in self.formulas.walk()
                                         for peak in version.peaks)]
        return apart([size for peak in peaks
                      for size in (peak.bytes, *(each.bytes for each in peak.arrays))],
                     lambda name: simple_name(name, self.forest.shown))

    def formula(self, size: Size) -> str:
        """A number of bytes as a formula; facts about lengths say of which array if need be."""
        return formula(size, self._name)

    def rows(self) -> Iterator[tuple[str, str, int, VersionMemory]]:
        """The versions: name, site, index, and formulas."""
        sites = self.forest.sites()
        for site, index, version in self.formulas.walk():
            yield described_version(sites[site].alternatives[index]), site, index, version


def render(found: ExplainedMemory) -> str:
    """The memory of an entry point as text."""
    return "\n".join(_lines(found))


def _lines(found: ExplainedMemory) -> Iterator[str]:
    yield f"{found.forest.entry}: device memory of a run"
    if found.estimates:
        head = ["version", *found.estimates]
        body = [[WHOLE, *(found.timed(label, None, _whole(each))
                          for label, each in found.estimates.items())]]
        body += [[name, *(_cell(found, label, site, index) for label in found.estimates)]
                 for name, site, index, _ in found.rows()]
        yield table([head, *body], "  ")
    yield from (f"  {line}" for line in _formula_lines(
        found, "outside of choices" if found.formulas.inside else "in all", found.formulas))
    for name, _, _, version in found.rows():
        yield from (f"  {line}" for line in _formula_lines(found, name, version))
    for input_name, estimate in found.estimates.items():
        yield f"  {input_name}: {largest(estimate.alive)} at the peak of {WHOLE}"
        if estimate.unknown:
            yield f"    not all is known before it runs: {estimate.unknown}"


def _formula_lines(found: ExplainedMemory, name: str, version: VersionMemory) -> Iterator[str]:
    sums: dict[str, list[str]] = {}
    for peak in version.peaks:
        sums.setdefault(found.formula(peak.bytes), []).append(_arrays(found, peak))
    if version.recursive:
        name += CALLS
    if len(sums) > 1:
        yield f"{name}: the greatest of {len(sums)} sums"
    for formula_, arrays in sums.items():
        yield f"  {formula_}" if len(sums) > 1 else f"{name}: {formula_}"
        yield from ("  " * (1 + (len(sums) > 1)) + line for line in dict.fromkeys(arrays))


def _arrays(found: ExplainedMemory, peak: Peak) -> str:
    """The arrays of a peak, where equal arrays of one kernel are counted."""
    texts = Counter(f"{shown_name(each.name.base)} {found.formula(each.bytes)}"
                    + (f" ({each.origin})" if each.origin else "") for each in peak.arrays)
    return ", ".join((f"{count} times " if count > 1 else "") + text
                     for text, count in texts.items()) or "nothing"


def _whole(estimate: MemoryEstimate) -> str:
    return ("at least " if estimate.unknown else "") + show_bytes(estimate.bytes)


def _cell(found: ExplainedMemory, label: str, site: str, index: int) -> str:
    """The predicted time and the bytes of a version on an input."""
    estimate = found.estimates[label]
    need = estimate.need_of(site, index)
    if need is None and not any(each.site == site for each in estimate.encounters):
        return "-"
    if need is None or need.fails:
        return "cannot run"
    return found.timed(label, (site, index), f"at least {show_bytes(_sum(need.alive))}"
                       if need.bytes is None else show_bytes(need.bytes))


def _sum(arrays: tuple[Held, ...]) -> int:
    return sum(each.bytes for each in arrays)


def facts(found: ExplainedMemory) -> dict[str, Any]:
    """The device memory of an entry point as a JSON object: outside, versions, inputs."""
    return {
        "outside": _facts_of(found, found.formulas),
        "versions": {f"{site}/{index}": {
            "name": name, **_facts_of(found, version),
            "inputs": {label: _need_facts(each.need_of(site, index),
                                          found.seconds(label, (site, index)))
                       for label, each in found.estimates.items()}}
            for name, site, index, version in found.rows()},
        "inputs": {label: {"bytes": each.bytes, "unknown": each.unknown or None,
                           "predicted_seconds": found.seconds(label, None),
                           "alive": [{"array": a.base, "bytes": a.bytes} for a in each.alive]}
                   for label, each in found.estimates.items()}}


def _facts_of(found: ExplainedMemory, version: VersionMemory) -> dict[str, Any]:
    return {"kind": version.kind, "recursive": version.recursive,
            "greatest_of": list(map(found.formula, version.bytes)),
            "arrays": [[{"array": a.name.base, "bytes": found.formula(a.bytes), "origin": a.origin}
                        for a in peak.arrays] for peak in version.peaks]}


def _need_facts(need: VersionNeed | None, seconds: float | None) -> dict[str, Any] | None:
    return None if need is None else {
        "bytes": need.bytes, "allocated": need.own, "obstacle": need.obstacle or None,
        "predicted_seconds": seconds}
