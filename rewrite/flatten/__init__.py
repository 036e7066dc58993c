"""Incremental flattening: the walk over a nested program, and what its rules share."""
