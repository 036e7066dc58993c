"""Manifests: the kernels of an earlier tuning, so that the next one need not collect them.

To collect and print the kernels of all runs takes longer than to load them from the cache.  A
manifest serves runs with equal arguments of a program with equal text, imports and parameters.
Device, driver, options and Runelift's files must be unchanged, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runelift.ir.base.files import read_source
from runelift.runtime.cache import disk
from runelift.runtime.cache.programs import ProgramEntry
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.compilation.reuse import entry_of


@dataclass(frozen=True, slots=True)
class ForcedVersions:
    """Versions by site that runs with a record force; any combination has its kernels built.

    A kernel that merges a loop is for one combination, and not for records: ``merges`` says whether
    a run has such kernels.
    """

    forced: frozenset[tuple[str, int]] = frozenset()
    merges: bool = False

    def add(self, force: Mapping[str, int], *, merges: bool) -> ForcedVersions:
        """Add the versions of one more run."""
        return ForcedVersions(self.forced | force.items(), self.merges or merges)

    def cover(self, force: Mapping[str, int], *, recorded: bool) -> bool:
        """Test whether all kernels of a run are built."""
        return bool(force) and force.items() <= self.forced and (recorded or not self.merges)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The programs of kernels (``sources``: text and further options) that runs need.

    ``request`` identifies the planned runs (:func:`request_key`).  ``runs`` has the runs that need
    nothing else, by :func:`run_key`, with their number of work-items, if known.  ``versions`` has
    the versions that such runs force, by the key of everything else that determines a run.
    ``texts`` are the texts of sources by their origin, as printing them takes long.
    """

    request: str
    sources: tuple[tuple[str, ...], ...]
    runs: Mapping[str, int | None]
    versions: Mapping[str, ForcedVersions]
    texts: Mapping[Hashable, str]

    def covers(self, run: Hashable, unforced: Hashable, force: Mapping[str, int], *, recorded: bool
               ) -> bool:
        """Test whether a run, with or without a record, needs no other kernels.

        ``unforced`` is the run without the versions that it forces.
        """
        versions = self.versions.get(run_key(unforced))
        return run_key(run) in self.runs or (
            versions is not None and versions.cover(force, recorded=recorded))


def request_key(compiled: Compiled, device: str, options: Iterable[str], runs: Iterable[Hashable]
                ) -> str:
    """A key of what determines the kernels of runs, besides the key of the program's entry."""
    return disk.key(*(each.text for each in compiled.imports), repr(compiled.parameters),
                    repr(compiled.numbers), device, *options, *map(repr, runs))


def run_key(run: Hashable) -> str:
    """The key of a run in a manifest."""
    return disk.key(repr(run))


def has_manifest(path: Path, policy: str) -> bool:
    """Test whether a program has been tuned before, on any device and for any runs."""
    return ProgramEntry.of(read_source(path), policy).kernels.exists()


def read_manifests(compiled: Compiled) -> dict[str, Manifest]:
    """The manifests of the last tuning by entry point."""
    return entry_of(compiled).kernels.load() or {}


def write_manifest(compiled: Compiled, entry: str, manifest: Manifest) -> None:
    """Replace the manifest of an entry point."""
    entry_of(compiled).kernels.store(
        {**read_manifests(compiled), entry: manifest})
