"""What an earlier tuning of a program had built, so that the next one need not find out.

To find out what runs will want, each is rehearsed (:mod:`.rehearsal`) and its kernels are printed.
Where all of them are in the cache, that takes longer than to load them: so what was wanted is kept
beside the program, and where the same runs are to be made again, it is loaded at once.  Nothing
depends on it: a kernel is used only if its text is what a run asks for.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path

from runelift.frontend.files import read_source
from runelift.runtime import cache as disk
from runelift.runtime import kept
from runelift.runtime.compiled import Compiled

FORESEEN = "foreseen"
"""Where it lies in the cache."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """``sources`` are the programs of kernels (text and further options) that runs wanted.

    ``asked`` stands for those runs (:func:`question`).
    """

    asked: str
    sources: tuple[tuple[str, ...], ...]


def question(compiled: Compiled, device: str, options: Iterable[str], runs: Iterable[Hashable]
             ) -> str:
    """What determines what these runs want, but for what the file is kept for."""
    return disk.key(*(each.text for each in compiled.imports), repr(compiled.parameters), device,
                    *options, *map(repr, runs))


def is_foreseen(path: Path, policy: str) -> bool:
    """Whether this program has been tuned before, on whatever device and for whatever runs."""
    return kept.is_kept(read_source(path), policy, FORESEEN)


def read(compiled: Compiled) -> dict[str, Foreseen]:
    """What was wanted the last time, by entry point, if anything is known."""
    content = kept.load(compiled.source, compiled.policy, FORESEEN)
    return {} if content is None else pickle.loads(content)


def write(compiled: Compiled, entry: str, found: Foreseen) -> None:
    """Keep what runs of an entry point want."""
    kept.store(compiled.source, compiled.policy, pickle.dumps(
        {**read(compiled), entry: found}, pickle.HIGHEST_PROTOCOL), FORESEEN)
