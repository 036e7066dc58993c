"""Policies: which of the candidate versions of a map or redomap are kept.

Flattening always builds every candidate; a policy prunes them afterwards (DESIGN 3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runelift.ir.analysis.placement import is_stored
from runelift.ir.base import plugins
from runelift.ir.base.errors import UserError
from runelift.ir.base.plugins import Plugin
from runelift.ir.base.policies import base_policy, policies
from runelift.ir.guards import Kind
from runelift.ir.syntax import Body, Map, Redomap, Scanomap, Stm
from runelift.ir.types import Const
from runelift.rewrite.flatten.mapping import Levels, further
from runelift.rewrite.flatten.parallelism import (
    INTRA_WIDTH,
    has_own_widths,
    is_perfect_nest,
    only_moves,
    worth_intragroup,
    worth_sequentialising,
)

Policy: TypeAlias = Callable[["Candidates"], frozenset[Kind]]
"""From the candidates of a site to the kinds that stay."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The kinds of version that exist for ``stm``, whose lambda has the body ``body``.

    There are ``depth`` maps around ``stm``.
    """

    stm: Stm
    body: Body
    kinds: frozenset[Kind]
    depth: int = 0


def full(site: Candidates) -> frozenset[Kind]:
    """Everything, as in the thesis (Breddam 2019, figure 1.6)."""
    return site.kinds


def divided(site: Candidates) -> frozenset[Kind]:
    """Everything, and versions with groups have versions inside (:func:`divides_groups`).

    There is one with a work-item for each point of a nested map, and one with a work-item for each
    innermost element.
    """
    return site.kinds


def all_versions(site: Candidates) -> frozenset[Kind]:
    """All kinds of versions but versions of perfect nests that differ only in the order of points.

    Work-items of a group have nothing to share there, and an inner map has no results to keep.
    There remain the flat version and a work-item for each point of the outermost map.  A copy that
    is asked for is made by as many work-items as it has elements.
    """
    if is_stored(site.stm) and only_moves(site.body) and Kind.FLAT in site.kinds:
        return frozenset({Kind.FLAT})
    if not is_perfect_nest(site.body) or Kind.FLAT not in site.kinds:
        return site.kinds
    return site.kinds - ({Kind.INTRA} if site.depth == 0 else {Kind.INTRA, Kind.OUTER})


def classic(site: Candidates) -> frozenset[Kind]:
    """The versions that Futhark 0.26 keeps: a version is kept for a score above 1 (spec B.3)."""
    if Kind.REDOMAP in site.kinds:
        return site.kinds
    keep = {Kind.FLAT}
    if worth_sequentialising(site.body) > 1:
        keep.add(Kind.OUTER)
    if worth_intragroup(site.body) > 1:
        keep.add(Kind.INTRA)
    return site.kinds & keep or site.kinds


def moderate(site: Candidates) -> frozenset[Kind]:
    """One version: flatten map nests, leave reductions and scans inside them sequential."""
    if Kind.REDOMAP in site.kinds:
        return frozenset({Kind.REDOMAP})
    if worth_sequentialising(site.body) > 1 or Kind.FLAT not in site.kinds:
        return frozenset({Kind.OUTER})
    return frozenset({Kind.FLAT})


MOST_MAPPINGS = 6
"""The most mappings of the loops inside of a group that a site has beside the usual one."""


def further_mappings(keep: Policy, chain: Sequence[Stm]) -> tuple[Levels, ...]:
    """The further mappings of the loops of a perfect nest inside of a group, under a policy.

    ``full`` keeps all.  ``all`` keeps a mapping if exactly its narrow loops are sequential.  A
    narrow loop has a constant width that is not worth the work-items of a group.  Other policies
    keep none.
    """
    if len(chain) < 2 or keep not in (full, all_versions):
        return ()
    widths = [stm.exp.width for stm in chain if isinstance(stm.exp, Map | Redomap | Scanomap)]
    narrow = [isinstance(width, Const) and int(width.value) < INTRA_WIDTH for width in widths]
    return tuple(levels for levels in further(len(chain)) if keep is full or all(
        (level is None) == small for level, small in zip(levels, narrow, strict=True))
        )[:MOST_MAPPINGS]


_POLICIES: dict[str, Policy] = {"all": all_versions, "full": full, "divided": divided,
                                "classic": classic, "moderate": moderate}


def divides_groups(policy: Policy) -> bool:
    """True if versions with groups choose how their work-items divide what is inside."""
    return policy is divided


def keeps_lanes(policy: Policy) -> bool:
    """True if there are versions in which neighbours share a segment.

    None of eight distributions of lengths gained by them (H200, 2026-11-29).
    """
    return policy is full


def policy(name: str) -> Policy:
    """The policy called ``name``, of Runelift or of a package; UserError if there is none."""
    base = base_policy(name)
    if (known := _POLICIES.get(base)) is not None:
        return known
    if (found := plugins.named(plugins.POLICIES, base)) is None:
        raise UserError(f"Unknown policy '{base}'.  The policies are {', '.join(policies())}.")
    return _of_package(*found)


def _of_package(plugin: Plugin, keeps: Policy) -> Policy:
    """The policy of a package, which keeps at least one of the candidates."""
    def chosen(site: Candidates) -> frozenset[Kind]:
        try:
            return site.kinds & frozenset(keeps(site)) or site.kinds
        except Exception as error:
            raise UserError(f"The policy '{plugin.name}' of the package {plugin.package} failed: "
                            f"{type(error).__name__}: {error}.") from error

    return chosen


_INCREMENTAL = re.compile(r"(?:incremental_)?flattening\((\w+)\)")


def obey_attributes(stm: Stm, kinds: frozenset[Kind]) -> frozenset[Kind]:
    """The kinds that the attributes of ``stm`` leave: no_outer, no_intra, only_intra, only_inner.

    ``sequential_inner`` keeps the outer version alone.  So does ``sequentialise_nonuniform``, if
    widths inside differ, whatever else is written.  An attribute that would leave nothing
    is ignored.
    """
    dropped: set[Kind] = set()
    choices = [match[1] for attr in stm.attrs if (match := _INCREMENTAL.fullmatch(attr))]
    if "sequentialise_nonuniform" in choices and has_own_widths(stm):
        return kinds & {Kind.OUTER, Kind.REDOMAP} or kinds
    if "sequential_inner" in stm.attrs:
        dropped |= {Kind.INTRA, Kind.FLAT}
    for choice in choices:
        dropped |= {
            "no_outer": {Kind.OUTER, Kind.REDOMAP},
            "no_intra": {Kind.INTRA},
            "only_intra": {Kind.OUTER, Kind.FLAT},
            "only_inner": {Kind.OUTER, Kind.INTRA},
        }.get(choice, set())
    return kinds - dropped or kinds
