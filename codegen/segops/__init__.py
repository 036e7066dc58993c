"""Segmented operations over the grid: segmap, segred, segscan, seghist and transposition.

A module is named after its operation and strategy.  They import ``kernel`` and all below.
"""
