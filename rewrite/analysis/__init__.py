"""Analyses of indices and regions of arrays: bounds that hold, accesses that overlap.

It imports ``engine``.
"""
