"""Transformations of programs: simplification, fusion and incremental flattening.

Its packages, from the bottom: ``engine``, ``analysis``, ``rules``, ``flatten``, ``passes``.  It
imports :mod:`runelift.ir` only.  Entry points: :func:`~runelift.rewrite.pipeline.optimise`,
:func:`~runelift.rewrite.flattening.flatten`, :func:`~runelift.rewrite.pipeline.clean`.
"""
