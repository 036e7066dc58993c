"""The versions of packages that a manifest leads to, and the folder ``lib`` with their files.

Of each package the least version is taken that satisfies all packages that are reached.  ``lib`` is
made anew beside the old one, which is removed at the end.

Source: Cox, Minimal version selection, 2018.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from runelift.frontend.manifest import FOLDER, Manifest, Requirement, Version
from runelift.ir.base.errors import UserError
from runelift.runtime.tools.packages.repositories import Repositories

Dependencies = Callable[[Requirement], Iterable[Requirement]]
"""Tells what a version of a package requires."""


class _Chosen(NamedTuple):
    version: Version
    requires: list[str]


def solve(required: Mapping[str, Requirement], dependencies: Dependencies) -> dict[str, Version]:
    """The version of each package that is reached from the required packages."""
    chosen: dict[str, _Chosen] = {}
    waiting = _later_first(required.values())
    while waiting:
        wanted = waiting.pop()
        known = chosen.get(wanted.package)
        if known is not None and known.version.order >= wanted.version.order:
            continue
        further = list(dependencies(wanted))
        chosen[wanted.package] = _Chosen(wanted.version, [each.package for each in further])
        waiting += _later_first(further)
    reached: dict[str, Version] = {}
    left = list(required)
    while left:
        package = left.pop()
        if package not in reached:
            reached[package] = chosen[package].version
            left += chosen[package].requires
    return dict(sorted(reached.items()))


def _later_first(found: Iterable[Requirement]) -> list[Requirement]:
    return sorted(found, key=lambda each: each.package, reverse=True)


def selected(manifest: Manifest, repositories: Repositories) -> dict[str, Version]:
    """The versions for a manifest; UserError if a commit is not that of a kept hash."""
    def dependencies(wanted: Requirement) -> Iterable[Requirement]:
        repository = repositories.of(wanted.package)
        commit = repository.commit(wanted.package, wanted.version)
        if wanted.commit not in ("", commit):
            raise UserError(
                f"The package {wanted.package} {wanted.version} has changed: its commit is "
                f"{commit}, but the manifest has the hash {wanted.commit}.\n"
                f"  hint: If you trust the change, run 'runelift pkg add {wanted.package} "
                f"{wanted.version}'.")
        return repository.manifest(commit).required.values()

    return solve(manifest.required, dependencies)


def install(manifest: Manifest, repositories: Repositories, folder: Path = Path()) -> dict[
        str, Version]:
    """Fill ``lib`` with the packages of a manifest; their versions.

    Files of the package that the folder itself is stay.  UserError if ``lib`` has files of no
    package, which would be lost.
    """
    lib, new, old = (folder / f"{FOLDER}{end}" for end in ("", "~new", "~old"))
    _refuse_strangers(lib)
    versions = selected(manifest, repositories)
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        for package, version in versions.items():
            repository = repositories.of(package)
            for file in repository.files(repository.commit(package, version)):
                place = new / package / file.path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.content)
        if lib.exists():
            shutil.rmtree(old, ignore_errors=True)
            os.rename(lib, old)
        os.rename(new, lib)
        if manifest.package and (own := old / manifest.package).is_dir():
            place = lib / manifest.package
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(own, place)
    except OSError as error:
        raise UserError(f"Cannot write '{error.filename or lib}': {error.strerror}.") from None
    shutil.rmtree(old, ignore_errors=True)
    return versions


def _refuse_strangers(lib: Path) -> None:
    """Raise UserError if ``lib`` is a link, or has something that is no folder of a host."""
    if lib.is_symlink():
        raise UserError(f"'{lib}' is a link, which is not followed.")
    for each in sorted(lib.iterdir()) if lib.is_dir() else ():
        if "." not in each.name or not each.is_dir():
            raise UserError(f"'{each}' is of no package and would be removed.\n"
                            f"  hint: Move it out of '{lib}'.")
