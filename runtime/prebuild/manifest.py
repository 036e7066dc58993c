"""What an earlier tuning of a program had built, so that the next one need not find out.

To find out what runs will want, each is rehearsed (:mod:`~runelift.runtime.prebuild.rehearsal`)
and its kernels are printed. Where all of them are in the cache, that takes longer than to load
them: so what was wanted is kept beside the program, and where the same runs are to be made again,
it is loaded at once.  It holds for the same text of the program and of all it imports, the same
files of Runelift, device, driver and options.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runelift.ir.files import read_source
from runelift.runtime.cache import disk
from runelift.runtime.cache import programs as kept
from runelift.runtime.compilation.compiled import Compiled

FORESEEN = "foreseen"
"""Where it lies in the cache."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A run whose kernels are in the cache, and the number of its work-items, if that is known."""

    items: int | None


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions by site that runs with a record force: those of different runs, in any combination.

    Their kernels are the same in all of these, but for those that stand for loops, if one
    ``merges`` any: these are of all versions inside together, and are not for records.
    """

    forced: frozenset[tuple[str, int]] = frozenset()
    merges: bool = False

    def add(self, force: Mapping[str, int], *, merges: bool) -> Versions:
        """The same with those of one more run."""
        return Versions(self.forced | force.items(), self.merges or merges)

    def show(self, force: Mapping[str, int], *, recorded: bool) -> bool:
        """Whether a run wants nothing that these do not want."""
        return bool(force) and force.items() <= self.forced and (recorded or not self.merges)


@dataclass(frozen=True, slots=True)
class Manifest:
    """``sources`` are the programs of kernels (text and further options) that runs wanted.

    ``asked`` stands for the runs that were to be made (:func:`question`).  Of the ``runs`` that
    want nothing else it has the number of work-items, if that is known, by :func:`name_of`, and
    the ``versions`` that such runs force, by the same of what they are given.  ``texts`` are those
    of the sources by what they are made from: to write them takes a tenth of a second.
    """

    asked: str
    sources: tuple[tuple[str, ...], ...]
    runs: Mapping[str, int | None]
    versions: Mapping[str, Versions]
    texts: Mapping[Hashable, str]

    def recall(self, run: Hashable, given: Hashable, force: Mapping[str, int], *, recorded: bool
               ) -> Recalled | None:
        """What is known of a run, if it wants nothing else than these; maybe with a record."""
        if (name := name_of(run)) in self.runs:
            return Recalled(self.runs[name])
        versions = self.versions.get(name_of(given))
        shown = versions is not None and versions.show(force, recorded=recorded)
        return Recalled(None) if shown else None


def question(compiled: Compiled, device: str, options: Iterable[str], runs: Iterable[Hashable]
             ) -> str:
    """What determines what these runs want, but for what the file is kept for."""
    return disk.key(*(each.text for each in compiled.imports), repr(compiled.parameters), device,
                    *options, *map(repr, runs))


def name_of(run: Hashable) -> str:
    """What stands for a run."""
    return disk.key(repr(run))


def is_known(path: Path, policy: str) -> bool:
    """Whether this program has been tuned before, on whatever device and for whatever runs."""
    return kept.is_kept(read_source(path), policy, FORESEEN)


def read(compiled: Compiled) -> dict[str, Manifest]:
    """What was wanted the last time, by entry point, if anything is known."""
    content = kept.load(compiled.source, compiled.policy, FORESEEN)
    return {} if content is None else pickle.loads(content)


def write(compiled: Compiled, entry: str, found: Manifest) -> None:
    """Keep what runs of an entry point want."""
    kept.store(compiled.source, compiled.policy, pickle.dumps(
        {**read(compiled), entry: found}, pickle.HIGHEST_PROTOCOL), FORESEEN)
