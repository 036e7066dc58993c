"""Incremental flattening: the walk over a nested program, and the things that its rules share.

Read :mod:`~runelift.rewrite.flatten.nest` (the context Σ), then
:mod:`~runelift.rewrite.flatten.rules` (G0 to G23), then :mod:`~runelift.rewrite.flatten.walk`
(which performs G0 and G6).  The pass itself is :mod:`runelift.rewrite.flattening`.
"""
