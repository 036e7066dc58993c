"""Kernels for segmented operations over the grid: one module per strategy.

:func:`runelift.codegen.hostplan.dispatch.lower_segop` is the entrance.  It tries the rows for a
construct from top to bottom.  "If" is decided at compile time, "when" by the host plan with the
sizes at hand; if neither holds, the next row is taken.  A copy that is not tiled goes to the last
row for maps, a product without blocks to ``segred_columns``.  Columns are for devices that run
work-items one after the other; the other devices interleave accesses.

| construct | module | if; when |
| --- | --- | --- |
| map | ``transpose`` | it only reads an element, across the memory order; both sides are long |
| map | ``product_tiles`` | it is a product (:mod:`runelift.ir.analysis.products`); blocks pay |
| map | ``segred_blocked`` | its points reduce elements in common; blocks of points pay |
| map | ``segred_columns`` | its points reduce columns, without interleaving; strips pay |
| map | ``segmap_wide`` | its points have neither loops nor arrays; the width is above 1 |
| map | ``hostplan/dispatch`` | always: a work-item per point |
| reduction | ``segred_ragged`` | segments differ in length: as the version says |
| reduction | ``segred_columns`` | its segments are columns, without interleaving; strips pay |
| reduction | ``segred_blocked`` | its segments have elements in common; blocks of segments pay |
| reduction | ``segred`` | always: a work-item, a group or several groups per segment |
| scan | ``segscan_ragged`` | segments differ in length: as the version says |
| scan | ``segscan_two_pass`` | it has several segments; they are short: a work-item per segment |
| scan | ``segscan_single_pass`` | always; groups may wait for each other on the device |
| scan | ``segscan_two_pass`` | always: totals of tiles, a scan of these, tiles again |
| histogram | ``seghist`` | always: sub-histograms, or atomic updates of the result |
| scatter | ``hostplan/dispatch`` | always: a work-item per point |

``product_operands`` and ``product_results`` find places of products in several dimensions.
``segred_bins``, ``merge_path`` and ``merge_parts`` share out ragged segments, ``ragged_facts``
describes them.
``segments`` finds the segments of a map and what they have in common.  ``scan_tiles`` is the part
that both scans share.  ``coarsen`` and ``local_tiles`` transform the code of blocked reductions.
"""
