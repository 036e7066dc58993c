"""Repositories of packages: what Git knows of them.

A repository is cloned without its files, once for each command.  Nothing of it is executed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from runelift.frontend.manifest import (
    FOLDER,
    MANIFEST,
    Manifest,
    Version,
    base_path,
    majors,
    parse_manifest,
    version_of,
)
from runelift.ir.base.errors import UserError
from runelift.ir.base.source import Source

_URL = re.compile(r"(https?|ssh|git|file)://.+")
_FILES = frozenset({"100644", "100755"})
"""Modes of files in a tree of Git; links and submodules have further modes."""
_SAFE = {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
         "LC_ALL": "C"}
"""Settings of Git: it asks no questions, starts no other programs, and answers in English."""

ADVICE = "Without a network, name the folder of a copy: 'runelift pkg add FOLDER'."
NOT_GIT = "The folder must be a repository of Git: 'git init', 'git add .', 'git commit'."
NO_FOLDER = "There is no such folder."


class File(NamedTuple):
    """A file of a package: its path in the package's folder, and its content."""

    path: PurePosixPath
    content: bytes


def is_source(text: str) -> bool:
    """True for the URL of a repository or the path of its folder, in place of a package path."""
    return bool(_URL.fullmatch(text)) or text.startswith((".", "/"))


class Repositories:
    """Clones of repositories in a ``folder``, which is removed afterwards.

    ``sources`` are URLs or folders of packages that are not at ``https://PACKAGE``.
    """

    def __init__(self, folder: Path, sources: Mapping[str, str]) -> None:
        self._folder = folder
        self._sources = sources
        self._clones: dict[str, Path] = {}

    def at(self, source: str) -> Repository:
        """The repository at a URL or in a folder."""
        url = source if _URL.fullmatch(source) else str(Path(source).resolve())
        if url not in self._clones:
            clone = self._folder / str(len(self._clones))
            try:
                git(self._folder, "clone", "--quiet", "--bare", "--", url, clone.name)
            except UserError as error:
                advice = (ADVICE if _URL.fullmatch(source) else
                          NOT_GIT if Path(url).is_dir() else NO_FOLDER)
                raise UserError(f"Cannot read the repository '{url}'.  {error}\n  hint: {advice}"
                                ) from None
            self._clones[url] = clone
        return Repository(self._clones[url], source)

    def of(self, package: str) -> Repository:
        """The repository of a package."""
        base = base_path(package)
        return self.at(self._sources.get(base, f"https://{base}"))


class Repository(NamedTuple):
    """The clone of a repository, and where the original is."""

    clone: Path
    source: str

    def versions(self, package: str) -> list[Version]:
        """The released versions of a package, the oldest first."""
        tags = git(self.clone, "tag").decode(errors="replace").splitlines()
        found = (version_of(tag[1:]) for tag in tags if tag.startswith("v"))
        return sorted((each for each in found if each and each.major in majors(package)),
                      key=lambda each: each.order)

    def newest(self, package: str) -> Version:
        """The newest version of a package, or that of the newest commit if none is released."""
        if released := self.versions(package):
            return released[-1]
        commit, seconds = git(self.clone, "log", "-1", "--format=%H %ct", "HEAD",
                              "--").decode().split()
        stamp = datetime.fromtimestamp(int(seconds), UTC).strftime("%Y%m%d%H%M%S")
        return Version(0, 0, 0, stamp, commit)

    def commit(self, package: str, version: Version) -> str:
        """The commit that a version of a package is."""
        released = self.versions(package)
        if version.ref == f"v{version}" and version not in released:
            known = ", ".join(map(str, released)) or "none"
            advice = "" if version.major in majors(package) else (
                f"\n  hint: Version {version.major} has the path "
                f"{base_path(package)}@{version.major}.")
            raise UserError(f"The package {package} has no version {version}.  Its versions: "
                            f"{known}.{advice}")
        return git(self.clone, "log", "-1", "--format=%H", version.ref, "--").decode().strip()

    def manifest(self, commit: str) -> Manifest:
        """The manifest of a commit, or of the newest for "HEAD"."""
        text = git(self.clone, "show", f"{commit}:{MANIFEST}").decode(errors="replace")
        return parse_manifest(Source(f"{self.source}/{MANIFEST}", text.replace("\r\n", "\n")))

    def files(self, commit: str) -> Iterator[File]:
        """The files of the package that a commit is; links are left out."""
        package = self.manifest(commit).package
        if not package:
            raise UserError(f"'{self.source}/{MANIFEST}' does not say which package it is.")
        tree = git(self.clone, "ls-tree", "-r", "-z", f"{commit}:{FOLDER}/{package}")
        listed = [line.partition("\t") for line in tree.decode(errors="surrogateescape").split("\0")
                  if line]
        files = [(path, facts.split()[2]) for facts, _, path in listed
                 if facts.split()[0] in _FILES]
        contents = git(self.clone, "cat-file", "--batch", given="".join(
            f"{name}\n" for _, name in files).encode())
        for path, _ in files:
            if path.startswith("/") or ".." in path.split("/"):
                raise UserError(f"'{self.source}' has a file outside of its package: '{path}'.")
            head, _, contents = contents.partition(b"\n")
            size = int(head.split()[2])
            yield File(PurePosixPath(path), contents[:size])
            contents = contents[size + 1:]


def git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """The answer of Git to a command in a folder; UserError with its reason if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], input=given, check=False,
                              capture_output=True, env={**os.environ, **_SAFE})
    except FileNotFoundError:
        raise UserError("Packages need the program 'git', which is not found.\n"
                        "  hint: Install it from git-scm.com.") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it was stopped"]
        reason = next((each for each in said if each.startswith("fatal:")), said[-1])
        raise UserError(f"'git {shlex.join(words)}' failed: {reason.removeprefix('fatal: ')}.")
    return done.stdout
