"""Kernels of an entry point as a page shows them: by version, with the source of each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runelift.codegen.emit.opencl import opencl_lines
from runelift.codegen.emit.source_places import SourceOfStatements
from runelift.codegen.plan import plan
from runelift.codegen.plan.kernel_classes import CLASSES
from runelift.codegen.plan.origins import Origins
from runelift.ir import imp
from runelift.ir.base.lines import places
from runelift.ir.base.source import in_source
from runelift.runtime.tools.explanation.texts import Texts
from runelift.runtime.versions.forest import Forest
from runelift.runtime.versions.version_names import described_version


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
            known[each.name] = _shown(each, origins, texts)
    return [VersionKernels(version, tuple(kernels.values()), failed.get(version, ""))
            for version, kernels in found.items()]


def _shown(kernel: imp.Kernel, origins: Origins, texts: Texts) -> KernelShown:
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
