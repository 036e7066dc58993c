"""The file ``futhark.pkg``: the package that a folder is, and the packages that it requires.

The format is that of Futhark's package manager.  Comments stay where they are.  A comment
``-- source: github.com/user/name ../name`` names the repository of a package; Futhark skips it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from runelift.ir.base.errors import Diagnostic, ProgramError, UserError
from runelift.ir.base.files import read_source
from runelift.ir.base.source import Source, Span

MANIFEST = "futhark.pkg"
FOLDER = "lib"
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-(\d+))?(?:\+([a-zA-Z0-9]+))?")
_PATH = re.compile(r"[\w@.:~-]+(/[\w@.:~-]+)*", re.ASCII)
_SOURCE = re.compile(r"\s*source:\s+(\S+)\s+(\S.*?)\s*")
_TOKEN = re.compile(r"--(?P<comment>[^\n]*)|(?P<token>[{}]|#?[^\s{}#]+)|#")


class Version(NamedTuple):
    """A semantic version; ``0.0.0-yyyymmddhhmmss+commit`` stands for a commit without release."""

    major: int
    minor: int
    patch: int
    stamp: str = ""
    build: str = ""

    @property
    def order(self) -> tuple[int, int, int, bool, str]:
        """A key by which older versions come first; a stamp makes a version older."""
        return *self[:3], not self.stamp, self.stamp

    @property
    def is_unreleased(self) -> bool:
        """True for versions 0.0.0, whose commits are not kept as hashes."""
        return self[:3] == (0, 0, 0)

    @property
    def ref(self) -> str:
        """The commit or tag of a repository that has this version."""
        return self.build if self.is_unreleased and self.stamp and self.build else f"v{self}"

    def __str__(self) -> str:
        return (f"{self.major}.{self.minor}.{self.patch}" + (f"-{self.stamp}" if self.stamp else "")
                + (f"+{self.build}" if self.build else ""))


def version_of(text: str) -> Version | None:
    """The version that a text is."""
    if (found := _VERSION.fullmatch(text)) is None:
        return None
    major, minor, patch, stamp, build = found.groups("")
    return Version(int(major), int(minor), int(patch), stamp, build)


def is_package(text: str) -> bool:
    """True for a package path, such as ``github.com/user/name@2``."""
    return bool(_PATH.fullmatch(text)) and {".", ".."}.isdisjoint(text.split("/"))


class Requirement(NamedTuple):
    """A package with the least version wanted, and the commit that it was; "" if not known."""

    package: str
    version: Version
    commit: str = ""

    def __str__(self) -> str:
        return f"{self.package} {self.version}" + f" #{self.commit}" * bool(self.commit)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a ``futhark.pkg``, whose comments are texts."""

    package: str = ""
    entries: tuple[Requirement | str, ...] = ()
    above: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    @property
    def required(self) -> dict[str, Requirement]:
        """The required packages by their paths."""
        return {each.package: each for each in self.entries if isinstance(each, Requirement)}

    @property
    def sources(self) -> dict[str, str]:
        """The repositories that comments name, by packages without major versions."""
        texts = (*self.above, *self.between, *self.below,
                 *(each for each in self.entries if isinstance(each, str)))
        return {found[1]: found[2] for each in texts if (found := _SOURCE.fullmatch(each))}

    def requiring(self, new: Requirement, source: str = "") -> Manifest:
        """The manifest with a requirement instead of any other of its package.

        ``source`` is its repository; "" leaves what is known of it.
        """
        base = base_path(new.package)
        kept = [each for each in self.entries if not (source and _is_source(each, base))]
        added = [f" source: {base} {source}", new] if source else [new]
        at = next((at for at, each in enumerate(kept) if isinstance(each, Requirement)
                   and each.package == new.package), len(kept))
        return replace(self, entries=(*kept[:at], *added, *kept[at + 1:]))

    def without(self, package: str) -> Manifest:
        """The manifest without a requirement, and without its source if no other needs it."""
        base = base_path(package)
        needed = any(base_path(each) == base for each in self.required if each != package)
        return replace(self, entries=tuple(
            each for each in self.entries
            if not (isinstance(each, Requirement) and each.package == package)
            and (needed or not _is_source(each, base))))

    def __str__(self) -> str:
        lines = [f"--{each}" for each in self.above]
        lines += [f"package {self.package}", ""] if self.package else []
        lines += [f"--{each}" for each in self.between]
        lines.append("require {")
        for each in self.entries:
            lines.append(f"  --{each}" if isinstance(each, str) else f"  {each}")
        return "\n".join([*lines, "}", *(f"--{each}" for each in self.below), ""])


def base_path(package: str) -> str:
    """A package path without its major version."""
    return re.sub(r"@\d+$", "", package)


def majors(package: str) -> tuple[int, ...]:
    """The major versions that a package path stands for."""
    found = re.fullmatch(r"[^@]*@(\d+)", package)
    return (0, 1) if found is None else (int(found[1]),)


def _is_source(entry: Requirement | str, base: str) -> bool:
    """True for the comment with the source of a package."""
    found = _SOURCE.fullmatch(entry) if isinstance(entry, str) else None
    return found is not None and found[1] == base


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file; ProgramError with what is wrong with it."""
    return parse_manifest(read_source(path))


def parse_manifest(source: Source) -> Manifest:
    """The manifest that a text is; ProgramError with what is wrong with it."""
    return _Parser(source).manifest()


class _Token(NamedTuple):
    text: str
    span: Span
    is_comment: bool = False


class _Parser:
    def __init__(self, source: Source) -> None:
        end = len(source.text)
        self._tokens = [*_tokens(source), _Token("", Span(source, end, end))]
        self._at = 0

    def manifest(self) -> Manifest:
        above, package = self._comments(), ""
        if self._found("package"):
            package = self._package()
        between, entries = self._comments(), list[Requirement | str]()
        if self._found("require"):
            self._expect("{")
            while not self._found("}"):
                entries += self._comments() or [self._requirement()]
        below = self._comments()
        self._expect("")
        return Manifest(package, tuple(entries), tuple(above), tuple(between), tuple(below))

    def _requirement(self) -> Requirement:
        line = self._next.span.line
        package = self._package()
        token = self._next
        if token.span.line != line or (version := version_of(token.text)) is None:
            raise self._wrong("a version such as 1.0.0, on the line of its package")
        self._at += 1
        commit = self._next
        if commit.is_comment or not commit.text.startswith("#") or commit.span.line != line:
            return Requirement(package, version)
        self._at += 1
        return Requirement(package, version, commit.text[1:])

    def _package(self) -> str:
        package = self._next.text.rstrip("/")
        if self._next.is_comment or not is_package(package):
            raise self._wrong("a package path such as github.com/user/name")
        self._at += 1
        return package

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _comments(self) -> list[str]:
        first = self._at
        while self._next.is_comment:
            self._at += 1
        return [each.text for each in self._tokens[first:self._at]]

    def _found(self, text: str) -> bool:
        """True if this token is next, which is read."""
        found = not self._next.is_comment and self._next.text == text
        self._at += found
        return found

    def _expect(self, text: str) -> None:
        if not self._found(text):
            raise self._wrong(f"'{text}'" if text else "the end of the file")

    def _wrong(self, wanted: str) -> ProgramError:
        token = self._next
        found = f"'{token.text:.80}'" if token.text else "the end of the file"
        return ProgramError(Diagnostic("malformed-manifest", token.span,
                                       f"Expected {wanted}, but found {found}."))


def _tokens(source: Source) -> Iterator[_Token]:
    for found in _TOKEN.finditer(source.text):
        span = Span(source, found.start(), found.end())
        comment = found["comment"]
        yield _Token(found[0] if comment is None else comment, span, comment is not None)


def missing_package(place: Path, here: Path) -> str:
    """Advice how to get an imported file that is missing, in a program run in ``here``.

    "" unless ``place`` is that of a file of a package.
    """
    above = place.parts[:-1]
    roots = [at for at, part in enumerate(above[:-1])
             if part == FOLDER and "." in above[at + 1].strip(".")]
    if not roots:
        return ""
    root, inside = Path(*above[:roots[-1]]), above[roots[-1] + 1:]
    manifest = Manifest()
    with suppress(UserError):  # it is not there yet, or 'pkg' says what is wrong with it
        manifest = read_manifest(root / MANIFEST)
    known = next((each for each in (manifest.package, *manifest.required)
                  if each and inside[:each.count("/") + 1] == tuple(each.split("/"))), "")
    package = known or "/".join(inside[:3])
    if package == manifest.package or (root / FOLDER / package).is_dir():
        return ""
    where = "" if root == here.resolve() else f" in the folder '{root}'"
    if known:
        return f"{MANIFEST} requires the package {package}: run 'runelift pkg sync'{where}."
    return (f"It belongs to the package {package}: run 'runelift pkg add {package}' and "
            f"'runelift pkg sync'{where}.")
