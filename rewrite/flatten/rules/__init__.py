r"""The rules of incremental flattening, G0 to G23.

Each rule is one function.  Its docstring is the inference rule: ``Σ ⊢ e ⇒ s`` reads "under the
map nest Σ, the expression e becomes the host statements s".  It returns None when it fired,
else the reason why it did not (empty if there is nothing to say).  G0 and G6, which make kernels
of what the other rules leave and distribute Σ over a body, are performed by the walk
(:mod:`~runelift.rewrite.flatten.walk`).

Source: Henriksen et al., Incremental Flattening for Nested Data Parallelism, PPoPP 2019,
section 3, with the implementation's extensions (spec B.2).  Rules from G10 on are about widths
that differ between the points of Σ (:mod:`~runelift.rewrite.flatten.segments`).
"""

from __future__ import annotations

from runelift.rewrite.flatten import walk
from runelift.rewrite.flatten.book import FlatteningRule, performed_by_walk
from runelift.rewrite.flatten.rules import (
    active,
    attributed,
    branches,
    calls,
    control,
    layouts,
    maps,
    ragged,
    ragged_versions,
    ragged_writes,
    reductions,
    sequential,
    writes,
)

FLATTENING: tuple[FlatteningRule, ...] = (
    performed_by_walk("G6", walk.distribution),
    performed_by_walk("G0", walk.sequential_code),
    attributed.maps_in_blocks,
    attributed.loop_of_elements,
    ragged.appended_rows,
    control.loop_interchange,
    active.loop_over_active_points,
    control.branch_interchange,
    control.versions_at_top,
    branches.branch_partition,
    calls.recursion_over_points,
    calls.recursion_at_top,
    calls.call_over_points,
    layouts.layout_under_nest,
    sequential.sequential_at_top,
    maps.map_without_inner_parallelism,
    ragged.map_over_segments,
    ragged_versions.map_with_ragged_parallelism,
    maps.map_with_inner_parallelism,
    reductions.vector_operator_interchange,
    reductions.redomap_with_inner_parallelism,
    reductions.reduction_without_inner_parallelism,
    ragged.reduction_of_segments,
    ragged_writes.scan_of_segments,
    writes.scatter_under_nest,
    ragged_writes.scatter_of_segments,
    writes.accumulate_under_nest,
    writes.vector_hist_interchange,
    writes.hist_under_nest,
    ragged_writes.hist_of_segments,
    writes.update_under_nest,
    ragged_writes.update_of_segments,
    writes.concat_under_nest,
    ragged_writes.concat_of_segments,
)
"""All rules; rules with the same head are tried in this order."""

RULES: dict[type, tuple[FlatteningRule, ...]] = {
    head: tuple(rule for rule in FLATTENING if head in rule.heads)
    for rule in FLATTENING for head in rule.heads
}
"""The rules by the expression they start from, in the order in which they are tried."""
