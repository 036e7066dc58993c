"""Get packages of programs, which 'import "lib/PACKAGE/FILE"' reads.

    init PACKAGE           make this folder a package, such as github.com/user/name
    add PACKAGE [VERSION]  require a package in futhark.pkg, by default in its newest version
    remove PACKAGE         require a package no longer
    upgrade                require the newest versions
    sync                   fill lib/ with what futhark.pkg requires, and what that requires
    list [PACKAGE]         list the required packages, or the versions of one

In place of a package, 'add' takes the folder of a Git repository or its URL, also file:///PATH.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runelift.frontend.manifest import (
    FOLDER,
    MANIFEST,
    Manifest,
    Requirement,
    Version,
    is_package,
    read_manifest,
    version_of,
)
from runelift.ir.base.errors import UserError
from runelift.ir.base.written_files import write_atomically
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.packages.install import install, selected
from runelift.runtime.tools.packages.repositories import Repositories, is_source

EXAMPLES = ("runelift pkg add github.com/diku-dk/sorts", "runelift pkg add ../my-package 1.0.0",
            "runelift pkg sync")
SYNC = "Run 'runelift pkg sync' to bring lib/ up to date."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift pkg``."""
    parser.add_argument("action", choices=tuple(_ACTIONS), help="what to do, as above")
    parser.add_argument("words", nargs="*", metavar="PACKAGE",
                        help="the package, and perhaps its version")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift pkg``."""
    action, least, most = _ACTIONS[args.action]
    if not least <= len(args.words) <= most:
        raise UserError(f"'pkg {args.action}' takes {_COUNTS[least, most]}.")
    lines, found = action(args.words)
    if args.json:
        print_json(found)
    else:
        for line in lines:
            show(line)
    return 0


Answer = tuple[list[str], dict[str, Any]]
"""Lines for a person, and the result for a program."""


def _init(words: list[str]) -> Answer:
    package = _package(words[0])
    if Path(MANIFEST).exists():
        raise UserError(f"'{MANIFEST}' exists already.")
    folder = Path(FOLDER) / package
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"Cannot make the folder '{folder}': {error.strerror}.") from None
    _write(Manifest(package))
    return [f"Written: {MANIFEST}.  Write the package's programs in {folder}/."], {
        "package": package}


def _add(words: list[str]) -> Answer:
    version = None if len(words) < 2 else version_of(words[1])
    if len(words) > 1 and version is None:
        raise UserError(f"'{words[1]:.80}' is not a version such as 1.0.0.")
    manifest, source, package = _manifest(), "", words[0]
    with _repositories(manifest) as repositories:
        if is_source(package):
            source = package
            ref = "HEAD" if version is None else version.ref
            package = repositories.at(source).manifest(ref).package
            if not package:
                raise UserError(f"'{source}/{MANIFEST}' does not say which package it is.")
    old = manifest.required.get(_package(package))
    manifest = manifest.requiring(Requirement(package, version or Version(0, 0, 0)), source)
    with _repositories(manifest) as repositories:
        new = _pinned(package, version or repositories.of(package).newest(package), repositories)
        manifest = manifest.requiring(new)
        selected(manifest, repositories)
    _write(manifest)
    before = f" instead of {old.version}" if old and old.version != new.version else ""
    return [f"{MANIFEST} requires {package} {new.version}{before}.", SYNC], _as_json(new)


def _pinned(package: str, version: Version, repositories: Repositories) -> Requirement:
    """A requirement with the hash of its commit, unless the version tells it."""
    commit = repositories.of(package).commit(package, version)
    return Requirement(package, version, "" if version.is_unreleased else commit)


def _remove(words: list[str]) -> Answer:
    manifest = _manifest()
    old = manifest.required.get(words[0])
    if old is None:
        known = ", ".join(manifest.required) or "no package"
        raise UserError(f"{MANIFEST} does not require '{words[0]:.80}'.  It requires {known}.")
    _write(manifest.without(old.package))
    return [f"{MANIFEST} no longer requires {old.package}.", SYNC], _as_json(old)


def _upgrade(_: list[str]) -> Answer:
    manifest, lines, changed = _manifest(), list[str](), list[Any]()
    with _repositories(manifest) as repositories:
        for package, old in manifest.required.items():
            new = _pinned(package, repositories.of(package).newest(package), repositories)
            if new.version != old.version:
                lines.append(f"{package} {old.version} becomes {new.version}.")
                changed.append(_as_json(new))
            manifest = manifest.requiring(new)
    _write(manifest)
    return [*lines, SYNC] if lines else ["All packages are the newest."], {"changed": changed}


def _sync(_: list[str]) -> Answer:
    manifest = _manifest()
    with _repositories(manifest) as repositories:
        found = install(manifest, repositories)
    return [f"{FOLDER}/{package}  {version}" for package, version in found.items()] or [
        f"{MANIFEST} requires no package."], {
            "packages": {package: str(version) for package, version in found.items()}}


def _list(words: list[str]) -> Answer:
    manifest = _manifest()
    if words:
        package = _package(words[0])
        with _repositories(manifest) as repositories:
            versions = [*map(str, repositories.of(package).versions(package))]
        return versions or ["No version is released."], {"versions": versions}
    lines = [f"{each.package}  {each.version}" + f"  (not in {FOLDER}/)" * (not _is_there(each))
             for each in manifest.required.values()]
    if not all(map(_is_there, manifest.required.values())):
        lines.append(SYNC)
    return lines or [f"{MANIFEST} requires no package."], {
        "package": manifest.package or None,
        "required": [{**_as_json(each), "in_lib": _is_there(each)}
                     for each in manifest.required.values()]}


_ACTIONS: dict[str, tuple[Callable[[list[str]], Answer], int, int]] = {
    "init": (_init, 1, 1), "add": (_add, 1, 2), "remove": (_remove, 1, 1),
    "upgrade": (_upgrade, 0, 0), "sync": (_sync, 0, 0), "list": (_list, 0, 1)}
"""The function for each action, and the least and most words behind it."""
_COUNTS = {(0, 0): "no package", (1, 1): "one package", (0, 1): "at most one package",
           (1, 2): "a package and perhaps a version"}


def _is_there(each: Requirement) -> bool:
    return (Path(FOLDER) / each.package).is_dir()


def _as_json(each: Requirement) -> dict[str, Any]:
    return {"package": each.package, "version": str(each.version), "hash": each.commit or None}


def _package(text: str) -> str:
    """A package path; UserError if the text is none."""
    if not is_package(text) or "/" not in text or "." not in text.partition("/")[0]:
        raise UserError(f"'{text:.80}' is not a package path such as github.com/user/name.")
    return text


def _manifest() -> Manifest:
    return read_manifest(Path(MANIFEST)) if Path(MANIFEST).exists() else Manifest()


def _write(manifest: Manifest) -> None:
    write_atomically(Path(MANIFEST), str(manifest))


@contextmanager
def _repositories(manifest: Manifest) -> Iterator[Repositories]:
    with tempfile.TemporaryDirectory(prefix="runelift-pkg") as folder:
        yield Repositories(Path(folder), manifest.sources)
