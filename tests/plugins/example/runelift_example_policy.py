"""A policy: the outermost versions alone, for devices with few work-items."""

from runelift.ir.guards import Kind
from runelift.rewrite.flatten.policy import Candidates


def lean(site: Candidates) -> frozenset[Kind]:
    """A work-item for each point of the outermost map, and no other version."""
    return frozenset({Kind.OUTER})
