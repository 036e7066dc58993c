"""Names of versions: V1, V2, ... as in the threshold tree, instead of sites and indices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from runelift.ir.base.errors import UserError
from runelift.ir.base.numerals import whole_number

if TYPE_CHECKING:
    from runelift.runtime.versions.forest import Alternative, Forest, Site

_NAME = re.compile(r"[Vv][1-9]\d*")
_INDEXED = re.compile(r"(?:\bversion )?(?<![^\s,(])"
                      r"(?P<first>[^\s,:/]+/\d+)(?P<more>(?:, [^\s,:/]+/\d+)*)")
"""Versions as SITE/INDEX, between spaces or commas: paths of files have other characters around."""


def labels(alternative: Alternative) -> list[str]:
    """The label of a version, or the labels of the versions inside it."""
    if alternative.label:
        return [alternative.label]
    return [each.label for site in alternative.sites for inner in site.walk()
            for each in inner.alternatives if each.label]


def version_name(alternative: Alternative) -> str:
    """The label of a version, or the first and last label of versions inside it: ``V2 to V4``."""
    found = labels(alternative)
    return f"{found[0]} to {found[-1]}" if len(found) > 1 else found[0]


def described_version(alternative: Alternative) -> str:
    """The name of a version, and its kind if there is no choice inside of it."""
    kind = f" ({alternative.kind.value})" if alternative.label else ""
    return version_name(alternative) + kind


def names_of_plan(forest: Forest, force: Mapping[str, int]) -> str:
    """The versions that a plan runs, such as ``V2, V6``; ``default`` if it forces none."""
    return ", ".join(_running(forest.trees, force)) or "default"


def _running(sites: tuple[Site, ...], force: Mapping[str, int]) -> Iterator[str]:
    for site in sites:
        if (index := force.get(site.name)) is not None:
            alternative = site.alternatives[index]
            if alternative.label:
                yield alternative.label
            yield from _running(alternative.sites, force)


def plan_of(forest: Forest, text: str) -> dict[str, int]:
    """The versions that ``V3``, ``SITE=V3`` or ``SITE=2`` forces: site to index.

    A version inside another version forces the choices around it, too, from the site on if one is
    given.  UserError if the program has no such site or version.
    """
    site, _, version = text.rpartition("=")
    sites = forest.sites()
    index = whole_number(version)
    if not (_NAME.fullmatch(version) or (site and index is not None)):
        raise UserError(f"'{text}' should be a version, such as V3, or SITE=VERSION.")
    if site and site not in sites:
        raise UserError(f"The program has no site '{site}'; it has {', '.join(sites) or 'none'}.")
    trees = (sites[site],) if site else forest.trees
    if index is not None:
        if index < len(sites[site].alternatives):
            return {site: index}
    elif path := _path(trees, version.upper()):
        return path
    known = [label for tree in trees for each in tree.alternatives for label in labels(each)]
    where = f"Site '{site}'" if site else "The program"
    raise UserError(f"{where} has {_range(known)}, not {version}.")


def ways_to_versions(sites: tuple[Site, ...], around: Mapping[str, int] | None = None
                     ) -> Iterator[tuple[str, int, dict[str, int]]]:
    """The site and index of each version, and the choices that lead to it."""
    for site in sites:
        for index, alternative in enumerate(site.alternatives):
            way = {**(around or {}), site.name: index}
            yield site.name, index, way
            yield from ways_to_versions(alternative.sites, way)


def _path(sites: tuple[Site, ...], label: str) -> dict[str, int]:
    """The choices, site to index, that lead to the version ``label``."""
    for site in sites:
        for index, alternative in enumerate(site.alternatives):
            if label in labels(alternative):
                return {site.name: index, **_path(alternative.sites, label)}
    return {}


def _range(known: list[str]) -> str:
    if len(known) < 2:
        return f"the version {known[0]}" if known else "one version only"
    return f"the versions {known[0]} to {known[-1]}"


def without_versions(text: str) -> str:
    """A message without the versions, given as SITE/INDEX, that it begins with.

    >>> without_versions("main.a/1, main.b/0: timeout: not over after 2 s")
    'timeout: not over after 2 s'
    >>> without_versions("no memory")
    'no memory'
    """
    found = _INDEXED.match(text)
    return text[found.end():].removeprefix(":").lstrip() if found else text


def _innermost(found: Sequence[Alternative]) -> Iterator[Alternative]:
    """Versions in which no other version stands: a version around another one says no more."""
    for each in found:
        if not any(set(labels(other)) < set(labels(each)) for other in found):
            yield each


def with_version_names(text: str, *forests: Forest) -> str:
    """A message in which versions, given as SITE/INDEX, have their names.

    Of versions in a row that stand in each other, the innermost is named.

    >>> from runelift.ir.guards import Kind
    >>> site = Site("main.versions_0", 0, (Alternative(None, Kind.FLAT, "V1", ()),))
    >>> with_version_names("version main.versions_0/0: too large", Forest("main", (site,)))
    'V1: too large'
    """
    sites = {name: site for forest in forests for name, site in forest.sites().items()}

    def named(match: re.Match[str]) -> str:
        found: list[Alternative] = []
        for part in (match["first"] + match["more"]).split(", "):
            name, _, index = part.rpartition("/")
            site = sites.get(name)
            if site is None or int(index) >= len(site.alternatives):
                return match[0]
            found.append(site.alternatives[int(index)])
        return ", ".join(dict.fromkeys(map(version_name, _innermost(found))))

    return _INDEXED.sub(named, text)
