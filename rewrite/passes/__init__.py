"""Passes from core or versioned IR to the same language, one module each.

They import ``engine``, ``analysis``, ``rules`` and ``flatten``.  Their order is in
:mod:`runelift.rewrite.pipeline`.
"""
